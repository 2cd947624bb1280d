//! People write policy, extensions write calls, projects bring settings: settings on the first line, a host call on the
//! second, the settings of a project on the third.
//!
//! Settings that are accepted mean the same when they are written and read again; a decision and its explanation agree;
//! one more deny, or a project, never allows more; and a folder that may be moved holds nothing that may not be written.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use pi_extproto::capability::{Capability, Declared, Method};
use pi_extproto::host::HostCall;
use pi_policy::config::{self, DenyEntry, Settings};
use pi_policy::{
    Action, Decision, Extension, Extent, Location, Moment, PathStyle, Places, Policy, Provenance, Request, Root,
    Subject, Target, Verdict, decide, explain,
};

/// The home folder is the project, so that every place lies in it or beside it.
static PLACES: LazyLock<Places> = LazyLock::new(|| {
    let places = Places::new(PathStyle::Unix, "/home/me").and_then(|places| places.with_home("/home/me"));
    let roots = [
        (Root::Agent, "/home/me/.pi/agent"),
        (Root::Own, "/home/me/.pi/extensions/guard"),
        (Root::Data, "/home/me/.pi/agent/data/guard"),
        (Root::Temporary, "/tmp/pi-guard"),
    ];
    let places = places.expect("absolute paths are folders");
    roots.into_iter().fold(places, |places, (root, folder)| places.with(root, folder).expect("an absolute path"))
});

/// A file of every place.
const FILES: [&str; 7] = [
    "notes.txt",
    ".pi/settings.json",
    ".pi/agent/settings.json",
    ".pi/agent/auth.json",
    ".pi/extensions/guard/index.js",
    "/tmp/pi-guard/a",
    "/etc/hosts",
];

fuzz_target!(|text: &str| {
    let mut lines = text.splitn(3, '\n');
    let [written, call, project] = [(); 3].map(|()| lines.next().unwrap_or_default());
    let Ok(settings) = config::parse(written.as_bytes()) else { return };
    let settings = settings.value;
    let written = serde_json::to_vec(&settings).expect("settings that were read can be written");
    let again = config::parse(&written).expect("what we write we accept");
    assert_eq!(again.value, settings);

    let Ok(policy) = settings.resolve() else {
        assert!(again.value.resolve().is_err(), "the verdict does not depend on the spelling");
        return;
    };
    let policy = policy.value;
    let Some(request) = request(call) else { return };
    let explained = explain(&policy, &request);
    let verdict = decide(&policy, &request).verdict();
    assert_eq!(explained.verdict, verdict, "{explained}");
    assert_eq!(explained.steps.last().map(|step| step.rule), Some(explained.rule), "the last rule asked decided");
    assert_eq!(decide(&again.value.resolve().expect("it resolved before").value, &request).verdict(), verdict);

    for capability in [request.action.capability.clone(), Capability::from("*")] {
        let stricter = with_deny(settings.clone(), capability).resolve().expect("a deny can always be added").value;
        let stricter = decide(&stricter, &request).verdict();
        assert!(stricter <= verdict, "a deny made {verdict:?} {stricter:?}");
        assert_eq!(stricter, Verdict::Deny);
    }
    check_project(&policy, &request, verdict, project);
    check_moves(&policy, &request);
});

fn request(call: &str) -> Option<Request> {
    let call = serde_json::from_str::<HostCall>(call).ok()?.check().ok()?;
    let extension = Extension::new("guard", "1.2.0", Provenance::Trusted, &Declared::new(None, None));
    let action = Action::from_host_call(Subject::Extension(Arc::new(extension)), &PLACES, &call).ok()?;
    Some(Request::new(action, Moment::from_unix_millis(1_800_000_000_000)))
}

fn with_deny(mut settings: Settings, capability: Capability) -> Settings {
    let policy = settings.extensions.get_or_insert_default().policy.get_or_insert_default();
    let deny = DenyEntry { capability, methods: None, scope: None, versions: None };
    policy.denies.entry("guard".to_owned()).or_default().push(deny);
    settings
}

fn check_project(policy: &Policy, request: &Request, verdict: Verdict, project: &str) {
    let Ok(project) = config::parse(project.as_bytes()) else { return };
    let Ok(restricted) = policy.restrict_by(&project.value) else { return };
    let after = decide(&restricted.value, request).verdict();
    assert!(after <= verdict, "a project made {verdict:?} {after:?}");
    assert!(restricted.value.mode() <= policy.mode() && restricted.value.max_memory_mb() <= policy.max_memory_mb());
}

/// The folder that is asked for, moved away and put into its place: what is in it must be writable by itself.
fn check_moves(policy: &Policy, request: &Request) {
    let (from, to) = match &request.action.target {
        Target::Path(location) => (location.absolute(), "elsewhere"),
        Target::Move { from, to } => (from.absolute(), to.absolute()),
        _ => return,
    };
    let at = |path: &str, extent| PLACES.locate(path, extent).expect("a path that was located before");
    let verdict = |target: Target| {
        let action = Action { capability: Capability::Write, method: Method::Fs, target, ..(*request.action).clone() };
        decide(policy, &Request::new(action, request.now))
    };
    for (from, to) in [(from, to), (to, from)] {
        let (from, to) = (at(from, Extent::Tree), at(to, Extent::Tree));
        let Decision::Allow(_) = verdict(Target::Move { from: from.clone(), to: to.clone() }) else { continue };
        for file in FILES.map(|path| at(path, Extent::File)) {
            if is_below(&from, &file) || is_below(&to, &file) {
                let single = verdict(Target::Path(file.clone())).verdict();
                assert_eq!(single, Verdict::Allow, "{file} moves with {from} to {to}");
            }
        }
    }
}

fn is_below(folder: &Location, file: &Location) -> bool {
    let rest = file.absolute().strip_prefix(folder.absolute().trim_end_matches('/'));
    rest.is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
}
