//! From what was written to what it means: patterns compiled, defaults filled in, a project's restrictions added.

use std::{collections::HashMap, sync::Arc};

use semver::VersionReq;

use pi_extproto::capability::{self, Capability, Method};

use crate::{
    answers::Answers,
    command::CommandPattern,
    config::{
        AgentPolicy, DenyEntry, ExtensionPolicy, Fault, GrantEntry, Invalid, Noted, Problem, ScopeEntry, Settings,
    },
    explain::quote,
    glob::{PathPatterns, Purpose},
    host::HostPattern,
    moment::Moment,
    policy::{AGENT, Entry, Mode, OwnRules, Policy, Ruleset},
    target::Scope,
};

/// What extensions may do unless settings say otherwise.
pub const DEFAULT_CAPABILITIES: [Capability; 3] = [Capability::Read, Capability::Write, Capability::Http];
/// What the agent may do unless settings say otherwise.
pub const AGENT_CAPABILITIES: [Capability; 3] = [Capability::Read, Capability::Write, Capability::Exec];
/// What extensions may not do without a grant, as long as nobody wrote `deny_caps`.
pub const DEFAULT_DENIES: [Capability; 2] = [Capability::Exec, Capability::Env];
/// What nobody may do without a grant, whatever is written.
pub const ALWAYS_DENIED: Capability = Capability::Credentials;

const DEFAULT_MEMORY_MB: u64 = 256;
const EXTENSIONS: &str = "extensions.policy";
const AGENT_POLICY: &str = "agent.policy";
const EVERYBODY: &str = "*";
/// Where decisions stand that nobody wrote into settings.
const REMEMBERED: &str = "remembered";
/// What makes such a decision: people know them by the command, and not by the place in a file that programs write.
pub(crate) const DENIED_WITH: &str = "pi ext deny";
pub(crate) const ALLOWED_WITH: &str = "pi ext allow";
/// What takes them back.
pub(crate) const FORGOTTEN_WITH: &str = "pi ext forget";

impl Settings {
    /// Compiles the settings; refuses them with every problem if anything in them cannot be understood.
    pub fn resolve(&self) -> Result<Noted<Policy>, Invalid> {
        let mut resolver = Resolver::default();
        let policy = resolver.policy(self);
        resolver.finish(policy)
    }

    fn extensions(&self) -> ExtensionPolicy {
        self.extensions.as_ref().and_then(|section| section.policy.clone()).unwrap_or_default()
    }

    fn agent(&self) -> AgentPolicy {
        self.agent.as_ref().and_then(|section| section.policy.clone()).unwrap_or_default()
    }
}

impl Policy {
    /// Adds what a project says. It can only take away: its grants are noted and ignored, its lists of capabilities are
    /// cut with ours, its denies are added, and of two modes the stricter holds.
    pub fn restrict_by(&self, project: &Settings) -> Result<Noted<Self>, Invalid> {
        let mut resolver = Resolver::default();
        let theirs = resolver.policy(project);
        let (extensions, agent) = (project.extensions(), project.agent());
        for name in extensions.grants.keys() {
            resolver.notice(format!("{EXTENSIONS}.grants[{name:?}]"), Fault::NotForProjects);
        }
        if !agent.grants.is_empty() {
            resolver.notice(format!("{AGENT_POLICY}.grants"), Fault::NotForProjects);
        }
        // What is shadowed or ignored there says nothing about the result here.
        resolver.notices.retain(|notice| !matches!(notice.fault, Fault::Shadowed(_) | Fault::StrictDefaults));
        let policy = Self {
            extensions: self.extensions.restricted(
                theirs.extensions,
                extensions.mode,
                extensions.default_caps.as_deref(),
            ),
            agent: self.agent.restricted(theirs.agent, agent.mode, agent.default_caps.as_deref()),
            max_memory_mb: extensions.max_memory_mb.map_or(self.max_memory_mb, |size| size.min(self.max_memory_mb)),
            answers: self.answers.clone(),
        };
        resolver.finish(policy)
    }
}

impl Policy {
    /// Adds what a person decided about extensions elsewhere than in the settings: grants and denies by name, which are
    /// called by the command that makes them where a decision names its source. Everything else that is written there is
    /// ignored.
    pub fn with_remembered(&self, remembered: &Settings) -> Result<Noted<Self>, Invalid> {
        let mut resolver = Resolver::default();
        let (mut policy, written) = (self.clone(), remembered.extensions());
        for (name, entries) in &written.denies {
            let denies = resolver.denies(&format!("{REMEMBERED}.denies[{name:?}]"), entries);
            let denies = called(denies, DENIED_WITH, name);
            match name.as_str() {
                EVERYBODY => policy.extensions.global_denies.extend(denies),
                name => policy.extensions.by_name.entry(name.to_owned()).or_default().denies.extend(denies),
            }
        }
        for (name, entries) in &written.grants {
            let source = format!("{REMEMBERED}.grants[{name:?}]");
            if name == EVERYBODY {
                resolver.problem(source, Fault::Star);
                continue;
            }
            let grants = called(resolver.grants(&source, entries), ALLOWED_WITH, name);
            policy.extensions.by_name.entry(name.to_owned()).or_default().grants.extend(grants);
        }
        resolver.finish(policy)
    }
}

/// Entries that were just made, called by the command that would make them.
fn called(entries: Vec<Arc<Entry>>, command: &str, name: &str) -> Vec<Arc<Entry>> {
    let called = |entry: Arc<Entry>| {
        let entry = Arc::into_inner(entry)?;
        let capability = entry.capability.as_ref().map_or(EVERYBODY, Capability::as_str);
        let source = format!("{command} {} {}", quote(name), quote(capability)).into();
        Some(Arc::new(Entry { source, ..entry }))
    };
    entries.into_iter().filter_map(called).collect()
}

impl Default for Policy {
    /// The policy of a machine without settings.
    fn default() -> Self {
        Resolver::default().policy(&Settings::default())
    }
}

impl Ruleset {
    /// The default denies stay ours: a list that a project writes is added to them and does not replace them.
    fn restricted(&self, theirs: Self, mode: Option<Mode>, default_caps: Option<&[Capability]>) -> Self {
        let mut result = self.clone();
        result.mode = mode.map_or(self.mode, |mode| mode.min(self.mode));
        if let Some(kept) = default_caps {
            result.default_capabilities.retain(|capability| kept.contains(capability));
        }
        result.global_denies.extend(theirs.global_denies);
        for (name, rules) in theirs.by_name {
            result.by_name.entry(name).or_default().denies.extend(rules.denies);
        }
        result
    }
}

/// The scope of a declared requirement. A pattern that cannot be understood is reported and covers nothing.
pub(crate) fn declared_scope(scope: Option<&capability::Scope>, index: usize, problems: &mut Vec<Problem>) -> Scope {
    let Some(scope) = scope else { return Scope::default() };
    let at = |list: &str, item: usize| format!("capability_manifest.capabilities[{index}].scope.{list}[{item}]");
    let paths = scope.paths.as_ref().map(|written| {
        let mut good = Vec::new();
        for (item, pattern) in written.iter().enumerate() {
            match PathPatterns::compile(std::slice::from_ref(pattern), Purpose::Grant) {
                Ok(_) => good.push(pattern.clone()),
                Err((_, fault)) => problems.push(Problem { path: at("paths", item), fault: fault.into() }),
            }
        }
        let compiled =
            PathPatterns::compile(&good, Purpose::Grant).or_else(|_| PathPatterns::compile(&[], Purpose::Grant));
        Arc::new(compiled.expect("an empty list compiles"))
    });
    let hosts = scope.hosts.as_ref().map(|written| {
        let mut good = Vec::new();
        for (item, pattern) in written.iter().enumerate() {
            match HostPattern::read(pattern) {
                Ok(pattern) => good.push(pattern),
                Err(fault) => problems.push(Problem { path: at("hosts", item), fault: fault.into() }),
            }
        }
        good
    });
    Scope { paths, hosts, env: scope.env.clone(), commands: None }
}

#[derive(Default)]
struct Resolver {
    problems: Vec<Problem>,
    notices: Vec<Problem>,
}

/// What a grant and a deny have in common.
struct Written<'a> {
    capability: &'a Capability,
    methods: Option<&'a Vec<Method>>,
    scope: Option<&'a ScopeEntry>,
    versions: Option<&'a String>,
    expires: Option<&'a String>,
    origin: Option<&'a String>,
}

impl Resolver {
    fn finish(self, policy: Policy) -> Result<Noted<Policy>, Invalid> {
        match self.problems.is_empty() {
            true => Ok(Noted { value: policy, notices: self.notices }),
            false => Err(Invalid { problems: self.problems }),
        }
    }

    fn policy(&mut self, settings: &Settings) -> Policy {
        let extensions = settings.extensions();
        let max_memory_mb = extensions.max_memory_mb.unwrap_or(DEFAULT_MEMORY_MB);
        let (extensions, agent) = (self.extensions(&extensions), self.agent(&settings.agent()));
        Policy { extensions, agent, max_memory_mb, answers: Answers::default() }
    }

    fn extensions(&mut self, written: &ExtensionPolicy) -> Ruleset {
        let mut by_name: HashMap<String, OwnRules> = HashMap::new();
        let mut global_denies = self.denied_capabilities(EXTENSIONS, written.deny_caps.as_deref());
        for (name, entries) in &written.denies {
            let source = format!("{EXTENSIONS}.denies[{name:?}]");
            let denies = self.denies(&source, entries);
            match name.as_str() {
                EVERYBODY => global_denies.extend(denies),
                name => by_name.entry(name.to_owned()).or_default().denies.extend(denies),
            }
        }
        for (name, entries) in &written.grants {
            let source = format!("{EXTENSIONS}.grants[{name:?}]");
            if name == EVERYBODY {
                self.problem(source, Fault::Star);
                continue;
            }
            let grants = self.grants(&source, entries);
            by_name.entry(name.to_owned()).or_default().grants.extend(grants);
        }
        let mut default_denies = vec![ALWAYS_DENIED];
        if written.deny_caps.is_none() {
            default_denies.extend(DEFAULT_DENIES);
        }
        let mode = written.mode.unwrap_or(Mode::Prompt);
        let written = written.default_caps.as_deref();
        let default_capabilities =
            self.default_capabilities(EXTENSIONS, written, &DEFAULT_CAPABILITIES, mode, &default_denies);
        Ruleset { mode, by_name, global_denies, default_denies, default_capabilities }
    }

    fn agent(&mut self, written: &AgentPolicy) -> Ruleset {
        for (list, versions) in [
            ("grants", written.grants.iter().map(|entry| entry.versions.is_some()).collect::<Vec<_>>()),
            ("denies", written.denies.iter().map(|entry| entry.versions.is_some()).collect()),
        ] {
            for (index, _) in versions.iter().enumerate().filter(|(_, written)| **written) {
                self.problem(format!("{AGENT_POLICY}.{list}[{index}].versions"), Fault::AgentVersion);
            }
        }
        for (index, _) in written.grants.iter().enumerate().filter(|(_, entry)| entry.origin.is_some()) {
            self.problem(format!("{AGENT_POLICY}.grants[{index}].origin"), Fault::AgentOrigin);
        }
        let own = OwnRules {
            denies: self.denies(&format!("{AGENT_POLICY}.denies"), &written.denies),
            grants: self.grants(&format!("{AGENT_POLICY}.grants"), &written.grants),
        };
        let global_denies = self.denied_capabilities(AGENT_POLICY, written.deny_caps.as_deref());
        let by_name = HashMap::from([(AGENT.to_owned(), own)]);
        let default_denies = vec![ALWAYS_DENIED];
        let mode = written.mode.unwrap_or(Mode::Prompt);
        let written = written.default_caps.as_deref();
        let default_capabilities =
            self.default_capabilities(AGENT_POLICY, written, &AGENT_CAPABILITIES, mode, &default_denies);
        Ruleset { mode, by_name, global_denies, default_denies, default_capabilities }
    }

    /// The default capabilities, and a word about those that have no effect.
    fn default_capabilities(
        &mut self,
        path: &str,
        written: Option<&[Capability]>,
        otherwise: &[Capability],
        mode: Mode,
        default_denies: &[Capability],
    ) -> Vec<Capability> {
        for (index, capability) in written.unwrap_or_default().iter().enumerate() {
            let source = format!("{path}.default_caps[{index}]");
            if default_denies.contains(capability) {
                self.notice(source, Fault::Shadowed(capability.clone()));
            } else {
                self.note_unknown(source, capability);
            }
        }
        if mode == Mode::Strict && written.is_some_and(|written| !written.is_empty()) {
            self.notice(format!("{path}.default_caps"), Fault::StrictDefaults);
        }
        written.unwrap_or(otherwise).to_vec()
    }

    fn denied_capabilities(&mut self, path: &str, capabilities: Option<&[Capability]>) -> Vec<Arc<Entry>> {
        let entry = |(index, capability): (usize, &Capability)| {
            let source = format!("{path}.deny_caps[{index}]");
            let all = capability.as_str() == EVERYBODY;
            if !all {
                self.note_unknown(source.clone(), capability);
            }
            let capability = (!all).then(|| capability.clone());
            let scope = Scope::default();
            let source = source.into();
            Arc::new(Entry { source, capability, methods: None, scope, versions: None, expires: None, origin: None })
        };
        capabilities.unwrap_or_default().iter().enumerate().map(entry).collect()
    }

    fn grants(&mut self, source: &str, entries: &[GrantEntry]) -> Vec<Arc<Entry>> {
        let read = |(index, entry): (usize, &GrantEntry)| {
            let source = format!("{source}[{index}]");
            if entry.capability.as_str() == EVERYBODY {
                self.problem(format!("{source}.capability"), Fault::Star);
            }
            let GrantEntry { capability, methods, scope, versions, expires, origin } = entry;
            let (methods, scope, versions) = (methods.as_ref(), scope.as_ref(), versions.as_ref());
            let (expires, origin) = (expires.as_ref(), origin.as_ref());
            let written = Written { capability, methods, scope, versions, expires, origin };
            self.entry(source, &written, Purpose::Grant)
        };
        entries.iter().enumerate().map(read).collect()
    }

    fn denies(&mut self, source: &str, entries: &[DenyEntry]) -> Vec<Arc<Entry>> {
        let read = |(index, entry): (usize, &DenyEntry)| {
            let DenyEntry { capability, methods, scope, versions } = entry;
            let (methods, scope, versions) = (methods.as_ref(), scope.as_ref(), versions.as_ref());
            let written = Written { capability, methods, scope, versions, expires: None, origin: None };
            self.entry(format!("{source}[{index}]"), &written, Purpose::Deny)
        };
        entries.iter().enumerate().map(read).collect()
    }

    fn entry(&mut self, source: String, written: &Written<'_>, purpose: Purpose) -> Arc<Entry> {
        let all = written.capability.as_str() == EVERYBODY;
        if !all {
            self.note_unknown(format!("{source}.capability"), written.capability);
        }
        let versions = written.versions.and_then(|range| match VersionReq::parse(range) {
            Ok(range) => Some(range),
            Err(error) => {
                self.problem(format!("{source}.versions"), Fault::Versions(error.to_string()));
                None
            }
        });
        let expires = written.expires.and_then(|text| match text.parse::<Moment>() {
            Ok(moment) => Some(moment),
            Err(fault) => {
                self.problem(format!("{source}.expires"), fault.into());
                None
            }
        });
        let scope =
            written.scope.map(|scope| self.scope(&source, written.capability, scope, purpose)).unwrap_or_default();
        let capability = (!all).then(|| written.capability.clone());
        Arc::new(Entry {
            source: source.into(),
            capability,
            methods: written.methods.cloned(),
            scope,
            versions,
            expires,
            origin: written.origin.cloned(),
        })
    }

    fn scope(&mut self, source: &str, capability: &Capability, written: &ScopeEntry, purpose: Purpose) -> Scope {
        self.refuse_pointless(source, capability, written, purpose);
        let paths = written.paths.as_ref().and_then(|patterns| match PathPatterns::compile(patterns, purpose) {
            Ok(compiled) => Some(Arc::new(compiled)),
            Err((item, fault)) => {
                self.problem(format!("{source}.scope.paths[{item}]"), fault.into());
                None
            }
        });
        let hosts = self.each(source, "hosts", written.hosts.as_deref(), |text| Ok(HostPattern::read(text)?));
        let env = self.each(source, "env", written.env.as_deref(), |name| {
            match name.is_empty() || name.contains(['=', '\0']) {
                true => Err(Fault::Variable),
                false => Ok(name.to_owned()),
            }
        });
        let commands =
            self.each(source, "commands", written.commands.as_deref(), |text| Ok(CommandPattern::read(text)?));
        Scope { paths, hosts, env, commands }
    }

    fn each<T>(
        &mut self,
        source: &str,
        list: &str,
        written: Option<&[String]>,
        read: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<Vec<T>> {
        let mut all = Vec::new();
        for (item, text) in written?.iter().enumerate() {
            match read(text) {
                Ok(value) => all.push(value),
                Err(fault) => self.problem(format!("{source}.scope.{list}[{item}]"), fault),
            }
        }
        Some(all)
    }

    /// A list that says nothing about a capability of ours is a mistake: the entry would reach further than meant.
    fn refuse_pointless(&mut self, source: &str, capability: &Capability, written: &ScopeEntry, purpose: Purpose) {
        let fitting: &[&str] = match capability {
            Capability::Read | Capability::Write => &["paths"],
            Capability::Http => &["hosts"],
            Capability::Env => &["env"],
            // Beside the project a command runs where a grant says; a deny holds in every folder.
            Capability::Exec => match purpose {
                Purpose::Grant => &["commands", "paths"],
                Purpose::Deny => &["commands"],
            },
            Capability::Tool
            | Capability::Session
            | Capability::Ui
            | Capability::Events
            | Capability::Log
            | Capability::Credentials
            | Capability::Other(_) => &[],
        };
        let lists = [
            ("paths", written.paths.is_some()),
            ("hosts", written.hosts.is_some()),
            ("env", written.env.is_some()),
            ("commands", written.commands.is_some()),
        ];
        for (list, _) in lists.into_iter().filter(|(list, written)| *written && !fitting.contains(list)) {
            let fault = Fault::PointlessScope { capability: capability.clone(), list };
            self.problem(format!("{source}.scope.{list}"), fault);
        }
    }

    fn note_unknown(&mut self, path: String, capability: &Capability) {
        if matches!(capability, Capability::Other(_)) {
            self.notice(path, Fault::UnknownCapability(capability.clone()));
        }
    }

    fn problem(&mut self, path: String, fault: Fault) {
        self.problems.push(Problem { path, fault });
    }

    fn notice(&mut self, path: String, fault: Fault) {
        self.notices.push(Problem { path, fault });
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Decision, Extension, Provenance, Request, Subject, Target, config, decide, explain, moment::Moment,
        request::Action,
    };
    use pi_extproto::capability::{Capability, Declared, Method};

    use super::Policy;

    fn settings(policy: &str) -> config::Settings {
        config::parse(format!(r#"{{"extensions":{{"policy":{policy}}}}}"#).as_bytes()).expect("settings").value
    }

    fn request() -> Request {
        let extension = Extension::new("g", "1.0.0", Provenance::Trusted, &Declared::new(None, None));
        let subject = Subject::Extension(extension.into());
        let target = Target::Variable("A".to_owned());
        let action = Action { subject, capability: Capability::Env, method: Method::Env, target };
        Request::new(action, Moment::from_unix_millis(0))
    }

    #[test]
    fn remembered_decisions_count_like_written_ones_and_a_project_still_takes_away() {
        let granted = settings(r#"{"grants":{"g":[{"capability":"env","scope":{"env":["A"]}}]},"mode":"permissive"}"#);
        let denied = settings(r#"{"denies":{"g":[{"capability":"env"}]}}"#);
        let with =
            |remembered: &config::Settings| Policy::default().with_remembered(remembered).expect("they fit").value;

        let policy = with(&granted);
        assert_eq!(policy.mode(), Policy::default().mode());
        let Decision::Allow(grant) = decide(&policy, &request()) else { panic!("not allowed") };
        assert!(grant.is_named());
        let restricted = policy.restrict_by(&denied).expect("it fits").value;
        assert!(matches!(decide(&restricted, &request()), Decision::Deny(_)));

        let explanation = explain(&with(&denied), &request());
        assert_eq!(explanation.reason, "denied by `pi ext deny g env`");
        assert_eq!(explanation.hint.command.as_deref(), Some("pi ext forget g env"));
        let everybody = settings(r#"{"denies":{"*":[{"capability":"env"}]}}"#);
        assert!(matches!(decide(&with(&everybody), &request()), Decision::Deny(_)));
    }
}
