//! People write policy, extensions write calls: settings on the first line, a host call on the second.
//!
//! Settings that are accepted mean the same when they are written and read again; a decision and its explanation agree;
//! and one more deny never allows more.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use pi_extproto::capability::{Capability, Declared};
use pi_extproto::host::HostCall;
use pi_policy::config::{self, DenyEntry, Settings};
use pi_policy::{Action, Extension, Moment, PathStyle, Places, Provenance, Request, Subject, Verdict, decide, explain};

static PLACES: LazyLock<Places> =
    LazyLock::new(|| Places::new(PathStyle::Unix, "/home/me/project").expect("an absolute path is a project"));

fuzz_target!(|text: &str| {
    let (written, call) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(settings) = config::parse(written.as_bytes()) else { return };
    let settings = settings.value;
    let written = serde_json::to_vec(&settings).expect("settings that were read can be written");
    let again = config::parse(&written).expect("what we write we accept");
    assert_eq!(again.value, settings);

    let Ok(policy) = settings.resolve() else {
        assert!(again.value.resolve().is_err(), "the verdict does not depend on the spelling");
        return;
    };
    let Some(request) = request(call) else { return };
    let explained = explain(&policy.value, &request);
    let verdict = decide(&policy.value, &request).verdict();
    assert_eq!(explained.verdict, verdict, "{explained}");
    assert_eq!(explained.steps.last().map(|step| step.rule), Some(explained.rule), "the last rule asked decided");
    assert_eq!(decide(&again.value.resolve().expect("it resolved before").value, &request).verdict(), verdict);

    for capability in [request.action.capability.clone(), Capability::from("*")] {
        let stricter = with_deny(settings.clone(), capability).resolve().expect("a deny can always be added").value;
        let stricter = decide(&stricter, &request).verdict();
        assert!(stricter <= verdict, "a deny made {verdict:?} {stricter:?}");
        assert_eq!(stricter, Verdict::Deny);
    }
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
