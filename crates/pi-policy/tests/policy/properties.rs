//! What holds for every policy and every request: Deny < Ask < Allow, and nothing that restricts ever moves up.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use pi_extproto::capability::{Capability, CapabilityManifest, Declared, Method, Requirement};
use pi_policy::{
    Action, Answer, Breadth, Command, Decision, Evidence, Extension, Extent, Grant, Host, Location, Mode, Moment,
    PathStyle, Places, Policy, Provenance, Remembered, Request, Root, Rule, Subject, Target, Term, Verdict,
    config::{
        AgentPolicy, AgentSection, DenyEntry, ExtensionPolicy, ExtensionSection, GrantEntry, ScopeEntry, Settings,
    },
    decide, explain, risk,
};
use proptest::{collection::vec, option, prelude::*, sample::select, strategy::ValueTree, test_runner::TestRunner};

const PATTERNS: &[&str] = &[
    "**",
    "src/**",
    "src/*",
    "src/a.rs",
    "docs",
    "**/*.rs",
    "secrets/**",
    "{src,docs}/**",
    "/etc/**",
    "/etc/hosts",
    "/home/u/**",
    "/**",
    "/home/u/.pi/agent/auth.json",
    ".pi/**",
    ".pi/settings.json",
];
const PATHS: &[&str] = &[
    ".",
    "src",
    "src/a.rs",
    "src/b/c.rs",
    "SRC/a.rs",
    "docs/x.md",
    "docs",
    "secrets/key",
    "../other",
    "/",
    "/etc/hosts",
    "/etc/x",
    "~",
    "~/.pi",
    "~/.pi/agent",
    "~/.pi/agent/auth.json",
    "~/.pi/agent/settings.json",
    "/home/u/work/.pi",
    "/home/u/work/.pi/x/index.js",
    "/home/u/work/.pi/settings.json",
    "~/.pi/settings.json",
    "/data/x/a",
    "/tmp/pi-x/a",
];
const HOST_PATTERNS: &[&str] =
    &["api.github.com", "*.github.com", "localhost", "example.org:8443", "10.0.0.1", "example.org:*"];
const URLS: &[&str] = &[
    "https://api.github.com/",
    "https://github.com/",
    "https://example.org:8443/",
    "http://localhost/",
    "http://10.0.0.1/",
    "https://[::ffff:127.0.0.1]/",
];
const VARIABLES: &[&str] = &["HOME", "PATH", "TOKEN", "token"];
const COMMAND_PATTERNS: &[&str] = &["git", "git log", "rm", "cargo test"];
const COMMANDS: &[&str] = &[
    "git log",
    "git push",
    "git log | rm x",
    "rm -rf .",
    "cargo test",
    "git log $(rm x)",
    "bash -c 'rm x'",
    "git -C a push",
];
const NAMES: &[&str] = &["x", "y"];

/// One request and the settings that it meets.
#[derive(Debug, Clone)]
struct Case {
    settings: Settings,
    who: Who,
    project: &'static str,
    capability: Capability,
    method: Method,
    target: Target,
    evidence: Evidence,
    now: u64,
}

#[derive(Debug, Clone)]
struct Who {
    name: Option<&'static str>,
    version: &'static str,
    provenance: Provenance,
    manifest: Option<CapabilityManifest>,
}

impl Case {
    fn request(&self) -> Request {
        let subject = match self.who.name {
            None => Subject::Agent,
            Some(name) => {
                let declared = Declared::new(self.who.manifest.as_ref(), None);
                Subject::Extension(Arc::new(Extension::new(name, self.who.version, self.who.provenance, &declared)))
            }
        };
        let (capability, method, target) = (self.capability.clone(), self.method.clone(), self.target.clone());
        let action = Action { subject, capability, method, target };
        Request::new(action, Moment::from_unix_millis(self.now)).with_evidence(self.evidence)
    }

    fn policy(&self) -> Policy {
        self.settings.resolve().expect("generated settings are valid").value
    }

    fn decision(&self) -> Decision {
        decide(&self.policy(), &self.request())
    }

    fn verdict(&self) -> Verdict {
        self.decision().verdict()
    }

    fn extensions(&mut self) -> &mut ExtensionPolicy {
        let section = self.settings.extensions.get_or_insert_default();
        section.policy.get_or_insert_default()
    }

    fn agent(&mut self) -> &mut AgentPolicy {
        self.settings.agent.get_or_insert_default().policy.get_or_insert_default()
    }

    /// All grants of the settings, whoever they are for.
    fn grants(&mut self) -> Vec<&mut GrantEntry> {
        let Settings { extensions, agent } = &mut self.settings;
        let extensions = extensions.iter_mut().filter_map(|section| section.policy.as_mut());
        let agent = agent.iter_mut().filter_map(|section| section.policy.as_mut());
        extensions
            .flat_map(|policy| policy.grants.values_mut().flatten())
            .chain(agent.flat_map(|policy| &mut policy.grants))
            .collect()
    }
}

fn capability() -> impl Strategy<Value = Capability> {
    prop_oneof![
        6 => select(vec![Capability::Read, Capability::Write, Capability::Http, Capability::Exec]),
        3 => select(vec![Capability::Env, Capability::Tool, Capability::Credentials, Capability::from("teleport")]),
        1 => select(vec![Capability::Log, Capability::Ui, Capability::Session, Capability::Events]),
    ]
}

fn words(pool: &'static [&'static str]) -> impl Strategy<Value = Option<Vec<String>>> {
    option::of(vec(select(pool).prop_map(str::to_owned), 0..4))
}

/// A scope that speaks about targets of the capability.
fn scope(capability: &Capability) -> BoxedStrategy<Option<ScopeEntry>> {
    let none = ScopeEntry::default;
    match capability {
        Capability::Read | Capability::Write => {
            option::of(words(PATTERNS).prop_map(move |paths| ScopeEntry { paths, ..none() })).boxed()
        }
        Capability::Http => {
            option::of(words(HOST_PATTERNS).prop_map(move |hosts| ScopeEntry { hosts, ..none() })).boxed()
        }
        Capability::Env => option::of(words(VARIABLES).prop_map(move |env| ScopeEntry { env, ..none() })).boxed(),
        Capability::Exec => {
            option::of(words(COMMAND_PATTERNS).prop_map(move |commands| ScopeEntry { commands, ..none() })).boxed()
        }
        _ => Just(None).boxed(),
    }
}

fn methods() -> impl Strategy<Value = Option<Vec<Method>>> {
    prop_oneof![4 => Just(None), 1 => vec(select(Method::KNOWN), 0..4).prop_map(Some)]
}

fn versions() -> impl Strategy<Value = Option<String>> {
    prop_oneof![4 => Just(None), 1 => select(vec!["^1", "<2", ">=2"]).prop_map(|range| Some(range.to_owned()))]
}

fn expires() -> impl Strategy<Value = Option<String>> {
    prop_oneof![3 => Just(None), 1 => (0..100u64).prop_map(|at| Some(Moment::from_unix_millis(at).to_string()))]
}

fn grant() -> impl Strategy<Value = GrantEntry> {
    capability().prop_flat_map(|capability| {
        (Just(capability.clone()), methods(), scope(&capability), versions(), expires()).prop_map(
            |(capability, methods, scope, versions, expires)| GrantEntry {
                capability,
                methods,
                scope,
                versions,
                expires,
                origin: None,
            },
        )
    })
}

fn deny() -> impl Strategy<Value = DenyEntry> {
    let capability = prop_oneof![20 => capability(), 1 => Just(Capability::from("*"))];
    capability.prop_flat_map(|capability| {
        (Just(capability.clone()), methods(), scope(&capability), versions())
            .prop_map(|(capability, methods, scope, versions)| DenyEntry { capability, methods, scope, versions })
    })
}

fn mode() -> impl Strategy<Value = Option<Mode>> {
    option::of(select(vec![Mode::Strict, Mode::Prompt, Mode::Permissive]))
}

fn by_name<T: std::fmt::Debug + Clone>(
    names: Vec<&'static str>,
    entry: impl Strategy<Value = T>,
    most: usize,
) -> impl Strategy<Value = BTreeMap<String, Vec<T>>> {
    vec((select(names), vec(entry, 0..=most)), 0..3)
        .prop_map(|pairs| pairs.into_iter().map(|(name, list)| (name.to_owned(), list)).collect())
}

fn settings() -> impl Strategy<Value = Settings> {
    let caps = || option::of(vec(capability(), 0..4));
    let rare = || prop_oneof![3 => Just(None), 1 => vec(capability(), 0..3).prop_map(Some)];
    let extensions =
        (mode(), caps(), rare(), by_name(vec!["x", "y"], grant(), 4), by_name(vec!["x", "y", "*"], deny(), 1));
    let agent = (mode(), caps(), rare(), vec(grant(), 0..3), vec(deny(), 0..2));
    (extensions, agent).prop_map(|(extensions, agent)| {
        let (mode, default_caps, deny_caps, grants, denies) = extensions;
        let policy = ExtensionPolicy { mode, max_memory_mb: None, default_caps, deny_caps, grants, denies };
        let (mode, default_caps, deny_caps, mut grants, mut denies) = agent;
        grants.iter_mut().for_each(|entry| entry.versions = None);
        denies.iter_mut().for_each(|entry| entry.versions = None);
        Settings {
            extensions: Some(ExtensionSection { policy: Some(policy) }),
            agent: Some(AgentSection { policy: Some(AgentPolicy { mode, default_caps, deny_caps, grants, denies }) }),
        }
    })
}

/// A project beside the agent directory, and the home folder itself as the project.
const PROJECTS: &[&str] = &["/home/u/work", "/home/u"];

fn places(project: &str) -> Places {
    let places = Places::new(PathStyle::Unix, project).and_then(|places| places.with_home("/home/u"));
    let roots = [
        (Root::Agent, "/home/u/.pi/agent"),
        (Root::Own, "/home/u/work/.pi/x"),
        (Root::Data, "/data/x"),
        (Root::Temporary, "/tmp/pi-x"),
    ];
    roots
        .into_iter()
        .fold(places.expect("folders"), |places, (root, folder)| places.with(root, folder).expect("a folder"))
}

fn target(capability: &Capability, project: &'static str) -> BoxedStrategy<(Method, Target)> {
    let file = || {
        (select(PATHS), select(vec![Extent::File, Extent::Tree]))
            .prop_map(move |(path, extent)| places(project).locate(path, extent).expect("a path"))
    };
    let tree = || select(PATHS).prop_map(move |path| places(project).locate(path, Extent::Tree).expect("a path"));
    let through = || select(vec![Method::Tool, Method::Fs]);
    match capability {
        Capability::Read => (through(), file().prop_map(Target::Path)).boxed(),
        Capability::Write => {
            let moved = (tree(), tree()).prop_map(|(from, to)| Target::Move { from, to });
            (through(), prop_oneof![4 => file().prop_map(Target::Path), 1 => moved]).boxed()
        }
        Capability::Http => {
            select(URLS).prop_map(|url| (Method::Http, Target::Host(Host::from_url(url).expect("a URL")))).boxed()
        }
        Capability::Env => {
            let name = select(VARIABLES).prop_map(|name| Target::Variable(name.to_owned()));
            prop_oneof![4 => name, 1 => Just(Target::Environment)].prop_map(|target| (Method::Env, target)).boxed()
        }
        Capability::Exec => (
            select(vec![Method::Tool, Method::Exec]),
            (select(COMMANDS), option::of(select(PATHS))).prop_map(move |(line, folder)| {
                let folder = folder.map(|path| places(project).locate(path, Extent::File).expect("a path"));
                let command = Command::shell(line);
                Target::Command(match folder {
                    Some(folder) => command.within(folder),
                    None => command,
                })
            }),
        )
            .boxed(),
        Capability::Tool => Just((Method::Tool, Target::Tool("deploy".to_owned()))).boxed(),
        other => Just((Method::from(other.as_str()), Target::Nothing)).boxed(),
    }
}

fn manifest() -> impl Strategy<Value = CapabilityManifest> {
    let requirement = capability().prop_flat_map(|capability| {
        (Just(capability.clone()), methods(), scope(&capability)).prop_map(|(capability, methods, scope)| {
            let scope = scope.map(|scope| {
                let mut written = serde_json::to_value(scope).expect("JSON");
                written.as_object_mut().expect("an object").remove("commands");
                serde_json::from_value(written).expect("a scope")
            });
            Requirement { methods, scope, ..Requirement::coarse(capability) }
        })
    });
    vec(requirement, 0..6).prop_map(CapabilityManifest::new)
}

fn case() -> impl Strategy<Value = Case> {
    let who = (
        prop_oneof![1 => Just(None), 5 => select(NAMES).prop_map(Some)],
        select(vec!["1.2.0", "2.0.0", "1.9.0-beta", "nightly"]),
        prop_oneof![1 => Just(Provenance::UntrustedProject), 9 => Just(Provenance::Trusted)],
        prop_oneof![2 => Just(None), 1 => manifest().prop_map(Some)],
    );
    let who = who.prop_map(|(name, version, provenance, manifest)| Who { name, version, provenance, manifest });
    let asked = (capability(), select(PROJECTS))
        .prop_flat_map(|(capability, project)| (Just((capability.clone(), project)), target(&capability, project)));
    (settings(), who, asked, evidence(), 0..100u64).prop_map(
        |(settings, who, ((capability, project), (method, target)), evidence, now)| Case {
            settings,
            who,
            project,
            capability,
            method,
            target,
            evidence,
            now,
        },
    )
}

fn evidence() -> impl Strategy<Value = Evidence> {
    let level = prop_oneof![6 => Just(0.0), 1 => 0.0..=1.0, 1 => Just(f64::NAN)];
    vec(level, risk::WEIGHTS.len()).prop_map(|levels| {
        risk::WEIGHTS
            .iter()
            .zip(levels)
            .fold(Evidence::CLEAN, |evidence, (line, level)| evidence.with(line.feature, level))
    })
}

fn granted(decision: Decision) -> Option<Grant> {
    match decision {
        Decision::Allow(grant) => Some(grant),
        Decision::Ask(_) | Decision::Deny(_) => None,
    }
}

fn files(project: &str) -> impl Iterator<Item = Location> {
    let places = places(project);
    PATHS.iter().map(move |path| places.locate(path, Extent::File).expect("a path"))
}

/// Whether a file lies in a folder and is not the folder.
fn is_below(folder: &Location, file: &Location) -> bool {
    let rest = file.absolute().strip_prefix(folder.absolute().trim_end_matches('/'));
    rest.is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
}

/// Makes a grant narrower in one of several ways, if it can be.
fn narrow(entry: &mut GrantEntry, how: usize) {
    let lists =
        |scope: &mut ScopeEntry| [scope.paths.take(), scope.hosts.take(), scope.env.take(), scope.commands.take()];
    match how {
        0 => match &mut entry.methods {
            Some(methods) => drop(methods.pop()),
            none => *none = Some(vec![Method::Tool]),
        },
        1 => {
            let Some(scope) = &mut entry.scope else { return };
            let mut shortened = lists(scope);
            shortened.iter_mut().flatten().for_each(|list| drop(list.pop()));
            [scope.paths, scope.hosts, scope.env, scope.commands] = shortened;
        }
        2 => {
            let Some(scope) = &mut entry.scope else { return };
            let mut narrowed = lists(scope);
            for text in narrowed.iter_mut().flatten().flatten() {
                let narrower = match text.as_str() {
                    "**" | "{src,docs}/**" => "src/**",
                    "src/**" => "src/*",
                    "src/*" | "**/*.rs" => "src/a.rs",
                    "/**" | "/etc/**" => "/etc/x",
                    "/home/u/**" => "/home/u/work/src/**",
                    "*.github.com" => "api.github.com",
                    "example.org:*" => "example.org:8443",
                    "git" => "git log",
                    same => same,
                };
                *text = narrower.to_owned();
            }
            [scope.paths, scope.hosts, scope.env, scope.commands] = narrowed;
        }
        3 if entry.versions.is_some() => {}
        3 => entry.versions = Some("=1.2.0".to_owned()),
        4 => entry.expires = Some(Moment::from_unix_millis(0).to_string()),
        _ if entry.scope.is_some() => {}
        _ => {
            let some = |word: &str| Some(vec![word.to_owned()]);
            let none = ScopeEntry::default();
            entry.scope = Some(match entry.capability {
                Capability::Read | Capability::Write => ScopeEntry { paths: some("**"), ..none },
                Capability::Http => ScopeEntry { hosts: some("*.github.com"), ..none },
                Capability::Env => ScopeEntry { env: some("TOKEN"), ..none },
                Capability::Exec => ScopeEntry { commands: some("git"), ..none },
                _ => return,
            });
        }
    }
}

fn cases() -> u32 {
    std::env::var("PI_TEST_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(128)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn explanation_agrees_with_the_decision_and_both_are_repeatable(case in case()) {
        let (policy, request) = (case.policy(), case.request());
        let (first, second) = (decide(&policy, &request), decide(&policy, &request));
        let explanation = explain(&policy, &request);
        prop_assert_eq!(format!("{first:?}"), format!("{second:?}"));
        prop_assert_eq!(&explanation, &explain(&policy, &request));
        prop_assert_eq!((explanation.verdict, explanation.rule), (first.verdict(), first.rule()));
        let asked: Vec<Rule> = explanation.steps.iter().map(|step| step.rule).collect();
        prop_assert_eq!(asked.as_slice(), &Rule::ORDER[..explanation.rule.index()]);
        let answers: Vec<_> = explanation.steps.iter().filter_map(|step| step.verdict).collect();
        prop_assert_eq!(answers, vec![first.verdict()]);
        prop_assert!(explanation.steps.iter().all(|step| !step.note.is_empty()));
        if let Decision::Deny(denial) = &first {
            prop_assert_eq!(denial.reason().to_string(), explanation.reason);
        }
    }

    #[test]
    fn adding_a_deny_never_allows_more(case in case(), entry in deny(), name in select(vec!["x", "y", "*"])) {
        let mut after = case.clone();
        after.extensions().denies.entry(name.to_owned()).or_default().push(entry.clone());
        after.agent().denies.push(DenyEntry { versions: None, ..entry.clone() });
        if let Some(list) = &mut after.extensions().deny_caps {
            list.push(entry.capability);
        }
        prop_assert!(after.verdict() <= case.verdict());
        // A folder may stay granted, but then nothing new turns up in it.
        if let (Some(before), Some(after)) = (granted(case.decision()), granted(after.decision())) {
            for path in PATHS {
                let file = places(case.project).locate(path, Extent::File).expect("a path");
                prop_assert!(!after.permits(&file) || before.permits(&file), "{}", path);
            }
        }
    }

    #[test]
    fn narrowing_a_grant_never_allows_more(case in case(), which in any::<prop::sample::Index>(), how in 0usize..6) {
        let mut after = case.clone();
        let mut grants = after.grants();
        prop_assume!(!grants.is_empty());
        let chosen = which.index(grants.len());
        narrow(grants[chosen], how);
        // The agent has no versions, so that way of narrowing is not open to its grants.
        after.agent().grants.iter_mut().for_each(|entry| entry.versions = None);
        prop_assert!(after.verdict() <= case.verdict());
    }

    #[test]
    fn removing_a_grant_never_allows_more(case in case(), name in select(NAMES)) {
        let mut after = case.clone();
        after.extensions().grants.remove(name);
        after.agent().grants.pop();
        prop_assert!(after.verdict() <= case.verdict());
    }

    #[test]
    fn time_only_takes_away(case in case(), later in 0..100u64) {
        let after = Case { now: case.now + later, ..case.clone() };
        prop_assert!(after.verdict() <= case.verdict());
    }

    #[test]
    fn stricter_mode_never_allows_more(case in case()) {
        let with = |mode| {
            let mut case = case.clone();
            case.extensions().mode = Some(mode);
            case.agent().mode = Some(mode);
            case.verdict()
        };
        let [strict, prompt, permissive] = [Mode::Strict, Mode::Prompt, Mode::Permissive].map(with);
        prop_assert!(strict <= prompt && prompt <= permissive);
    }

    #[test]
    fn project_never_widens(case in case(), project in settings()) {
        let policy = case.policy();
        let restricted = policy.restrict_by(&project).expect("valid settings").value;
        let (before, after) = (decide(&policy, &case.request()).verdict(), decide(&restricted, &case.request()).verdict());
        prop_assert!(after <= before);
        prop_assert!(restricted.mode() <= policy.mode() && restricted.max_memory_mb() <= policy.max_memory_mb());
    }

    #[test]
    fn declaring_never_allows_more(case in case(), manifest in manifest()) {
        let with = |manifest| Case { who: Who { manifest, ..case.who.clone() }, ..case.clone() }.verdict();
        let mut fewer = manifest.clone();
        fewer.capabilities.pop();
        let (nothing, some, fewer) = (with(None), with(Some(manifest)), with(Some(fewer)));
        prop_assert!(fewer <= some && some <= nothing);
    }

    #[test]
    fn more_evidence_never_allows_more(case in case(), more in evidence()) {
        let worse = risk::WEIGHTS.iter().fold(case.evidence, |evidence, line| {
            evidence.with(line.feature, evidence.level(line.feature).max(more.level(line.feature)))
        });
        let after = Case { evidence: worse, ..case.clone() };
        prop_assert!(after.verdict() <= case.verdict());
    }

    #[test]
    fn distrust_allows_nothing(case in case()) {
        let after = Case { who: Who { provenance: Provenance::UntrustedProject, ..case.who.clone() }, ..case.clone() };
        prop_assert!(after.verdict() == Verdict::Deny || case.who.name.is_none());
    }

    #[test]
    fn what_a_granted_folder_permits_would_be_granted_by_itself(case in case()) {
        let Some(grant) = granted(case.decision()) else { return Ok(()) };
        let Target::Path(folder) = &case.target else { return Ok(()) };
        for file in files(case.project).filter(|file| grant.permits(file) && is_below(folder, file)) {
            let single = Case { target: Target::Path(file.clone()), ..case.clone() };
            prop_assert_eq!(single.verdict(), Verdict::Allow, "{}", file);
        }
    }

    #[test]
    fn what_is_removed_or_moved_with_a_folder_could_be_written_by_itself(case in case(), from in select(PATHS), to in select(PATHS)) {
        let at = |path| places(case.project).locate(path, Extent::Tree).expect("a path");
        let (from, to) = (at(from), at(to));
        let with = |target| Case { capability: Capability::Write, method: Method::Fs, target, ..case.clone() };
        let single = |file: &Location| with(Target::Path(file.clone())).verdict();
        if let Some(grant) = granted(with(Target::Path(from.clone())).decision()) {
            for file in files(case.project).filter(|file| is_below(&from, file) && grant.permits(file)) {
                prop_assert_eq!(single(&file), Verdict::Allow, "removing {} with {}", file, from);
            }
        }
        let moving = with(Target::Move { from: from.clone(), to: to.clone() });
        if moving.verdict() == Verdict::Allow {
            for file in files(case.project).filter(|file| is_below(&from, file) || is_below(&to, file)) {
                prop_assert_eq!(single(&file), Verdict::Allow, "moving {} with {} to {}", file, from, to);
            }
        }
    }

    #[test]
    fn what_pi_loads_is_written_only_if_it_is_named(case in case(), path in select(&[".pi", ".pi/settings.json", ".pi/a/b"][..])) {
        let target = Target::Path(places(case.project).locate(path, Extent::File).expect("a path"));
        let mut case = Case { capability: Capability::Write, method: Method::Fs, target, ..case };
        let forget = |entry: &mut GrantEntry| {
            if let Some(paths) = entry.scope.as_mut().and_then(|scope| scope.paths.as_mut()) {
                paths.retain(|pattern| !pattern.starts_with(['.', '/']));
            }
        };
        let vague = ScopeEntry { paths: Some(vec!["**".to_owned(), "*/*".to_owned()]), ..ScopeEntry::default() };
        let vague = GrantEntry { capability: Capability::Write, methods: None, scope: Some(vague), versions: None, expires: None, origin: None };
        for name in NAMES {
            case.extensions().grants.entry((*name).to_owned()).or_default().push(vague.clone());
        }
        case.extensions().mode = Some(Mode::Prompt);
        case.extensions().grants.values_mut().flatten().for_each(forget);
        case.agent().grants.push(vague);
        case.agent().mode = Some(Mode::Prompt);
        case.agent().grants.iter_mut().for_each(forget);
        prop_assert_ne!(case.verdict(), Verdict::Allow);
    }

    #[test]
    fn what_is_granted_is_opened_from_a_folder_around_it(case in case()) {
        let Some(grant) = granted(case.decision()) else { return Ok(()) };
        for file in files(case.project) {
            let root = grant.root(&file);
            prop_assert_eq!(root.is_some(), grant.permits(&file), "{}", file);
            let joined = root.map(|(root, below)| format!("{}/{below}", root.trim_end_matches('/')));
            prop_assert!(joined.is_none_or(|joined| joined.trim_end_matches('/') == file.absolute().trim_end_matches('/')));
        }
    }

    #[test]
    fn what_is_remembered_is_not_asked_again(case in case()) {
        let Decision::Ask(question) = case.decision() else { return Ok(()) };
        let Some(entry) = question.remember() else { return Ok(()) };
        let mut after = case.clone();
        match case.who.name {
            None => after.agent().grants.push(entry),
            Some(name) => after.extensions().grants.entry(name.to_owned()).or_default().push(entry),
        }
        prop_assert_eq!(after.verdict(), Verdict::Allow);
    }
}

/// What somebody was asked in `case`, made likely by asking for what no rule speaks of, and what was said.
fn remembered(case: &Case, said: (Answer, Breadth, Term)) -> Option<(Case, Remembered)> {
    let mut asked = Case { evidence: Evidence::unknown(), ..case.clone() };
    asked.extensions().mode = Some(Mode::Prompt);
    asked.extensions().default_caps = Some(Vec::new());
    asked.agent().mode = Some(Mode::Prompt);
    asked.agent().default_caps = Some(Vec::new());
    match asked.decision() {
        Decision::Ask(question) => Some((asked, question.keep(said.0, said.1, said.2)?)),
        Decision::Allow(_) | Decision::Deny(_) => None,
    }
}

fn said() -> impl Strategy<Value = (Answer, Breadth, Term)> {
    let until = (0..120u64).prop_map(|at| Term::Until(Moment::from_unix_millis(at)));
    (
        select(vec![Answer::Yes, Answer::No]),
        select(vec![Breadth::Target, Breadth::Capability]),
        prop_oneof![Just(Term::Session), until],
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases() * 2, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_heard_only_where_the_mode_decides(case in case(), said in said(), other in case(), same_target in any::<bool>()) {
        let Some((asked, kept)) = remembered(&case, said) else { return Ok(()) };
        // Somebody else's settings, and half of the time another target.
        let target = if same_target { asked.clone() } else { other.clone() };
        let case = Case { settings: other.settings, who: asked.who.clone(), now: other.now, ..target };
        let (policy, request) = (case.policy(), case.request());
        let (before, after) = (decide(&policy, &request), decide(&policy.clone().with_answer(kept.clone()), &request));
        prop_assert_eq!(after.rule(), before.rule());
        let (old, new) = (before.verdict(), after.verdict());
        match said.0 {
            _ if before.rule() != Rule::Mode => prop_assert_eq!(format!("{before:?}"), format!("{after:?}")),
            Answer::Yes => prop_assert!(new == old || (old, new) == (Verdict::Ask, Verdict::Allow)),
            Answer::No | Answer::Dismissed | Answer::Nobody => prop_assert!(new <= old),
        }
        if said.1 == Breadth::Target && new != old {
            prop_assert_eq!(&*request.action, &*asked.request().action);
        }
        let later = Case { now: case.now + 50, ..case.clone() };
        prop_assert!(decide(&policy.clone().with_answer(kept.clone()), &later.request()).verdict() <= new);
        let under = |mode| {
            let mut case = case.clone();
            case.extensions().mode = Some(mode);
            case.agent().mode = Some(mode);
            decide(&case.policy().with_answer(kept.clone()), &case.request()).verdict()
        };
        prop_assert!(under(Mode::Strict) <= under(Mode::Prompt) && under(Mode::Prompt) <= under(Mode::Permissive));
    }

    #[test]
    fn what_was_answered_is_not_asked_again(case in case(), said in said()) {
        let Some((asked, kept)) = remembered(&case, said) else { return Ok(()) };
        let again = decide(&asked.policy().with_answer(kept), &asked.request()).verdict();
        let expected = match said {
            (Answer::Yes, _, Term::Until(end)) if end.unix_millis() <= asked.now => Verdict::Ask,
            (Answer::Yes, Breadth::Capability, _) if again == Verdict::Ask => {
                // Only what cannot be recognised, in a folder beyond the reach of the capability.
                prop_assert!(matches!(&asked.target, Target::Command(command) if !command.is_clear()));
                Verdict::Ask
            }
            (Answer::Yes, _, _) => Verdict::Allow,
            (Answer::No | Answer::Dismissed | Answer::Nobody, _, _) => Verdict::Deny,
        };
        prop_assert_eq!(again, expected);
    }
}

/// Texts made of the pieces that readers of paths, URLs and commands trip over.
fn text() -> impl Strategy<Value = String> {
    let pieces = select(vec![
        "..",
        ".",
        "/",
        "\\",
        "~",
        "a",
        "B",
        "C:",
        ":",
        "*",
        "**",
        "[",
        "{",
        "?",
        "\0",
        "\n",
        " ",
        "é",
        "\u{212a}",
        "İ",
        "https://",
        "@",
        "%2e",
        "127.0.0.1",
        "[::1]",
        ":443",
        "#",
        "'",
        "\"",
        "$(",
        "`",
        ";",
        "&&",
        "|",
        ">",
        "=",
        "git",
        "nul",
        "home",
        "u",
        "work",
        "1",
    ]);
    prop_oneof![9 => vec(pieces, 0..12).prop_map(|pieces| pieces.concat()), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases() * 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_place_without_steps_or_a_fault(written in text(), style in select(vec![PathStyle::Unix, PathStyle::Mac, PathStyle::Windows])) {
        let project = if style == PathStyle::Windows { "C:\\home\\u\\work" } else { "/home/u/work" };
        let places = Places::new(style, project).and_then(|places| places.with(Root::Agent, project)).expect("folders");
        let Ok(location) = places.locate(&written, Extent::Tree) else { return Ok(()) };
        prop_assert!(location.absolute().split('/').all(|name| name != ".." && name != "."), "{}", location.absolute());
        let again = places.locate(location.absolute(), Extent::Tree);
        prop_assert_eq!(again.as_ref(), Ok(&location));
    }

    #[test]
    fn any_text_is_a_host_that_can_be_named_or_a_fault(written in text()) {
        let Ok(host) = Host::from_url(&format!("https://{written}")) else { return Ok(()) };
        let url = format!("https://{host}/x");
        prop_assert_eq!(Host::from_url(&url), Ok(host));
    }

    #[test]
    fn any_text_is_a_command_and_any_pattern_is_compiled_or_refused(written in text()) {
        let line = Command::shell(&written);
        prop_assert!(!line.is_clear() || !written.contains(['$', '`', '>', '<']) || written.contains(['\'', '"', '\\']));
        let scope = ScopeEntry { paths: Some(vec![written.clone()]), ..ScopeEntry::default() };
        let entry = GrantEntry { capability: Capability::Read, methods: None, scope: Some(scope), versions: Some(written.clone()), expires: Some(written), origin: None };
        let policy = ExtensionPolicy { grants: BTreeMap::from([("x".to_owned(), vec![entry])]), ..ExtensionPolicy::default() };
        let settings = Settings { extensions: Some(ExtensionSection { policy: Some(policy) }), agent: None };
        drop(settings.resolve());
    }
}

#[test]
fn generated_cases_reach_every_rule_with_every_answer_it_has() {
    let mut runner = TestRunner::deterministic();
    let strategy = case();
    let mut counts: HashMap<(Rule, Verdict), u32> = HashMap::new();
    for _ in 0..800 {
        let decision = strategy.new_tree(&mut runner).expect("a case").current().decision();
        *counts.entry((decision.rule(), decision.verdict())).or_default() += 1;
    }
    let expected = [
        (Rule::Trust, Verdict::Deny),
        (Rule::ExtensionDeny, Verdict::Deny),
        (Rule::GlobalDeny, Verdict::Deny),
        (Rule::Given, Verdict::Allow),
        (Rule::Declaration, Verdict::Deny),
        (Rule::ExtensionGrant, Verdict::Allow),
        (Rule::DefaultDeny, Verdict::Deny),
        (Rule::DefaultCapability, Verdict::Allow),
        (Rule::Mode, Verdict::Deny),
        (Rule::Mode, Verdict::Ask),
        (Rule::Mode, Verdict::Allow),
    ];
    for reached in expected {
        let count = counts.remove(&reached).unwrap_or_default();
        assert!(count >= 8, "{reached:?} was reached {count} times");
    }
    assert!(counts.is_empty(), "answers that no rule has: {counts:?}");
}
