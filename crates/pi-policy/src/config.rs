//! What people write about policy: `extensions.policy` and `agent.policy` of a settings file.
//!
//! [`parse`] reads the text and keeps what was written; [`Settings::resolve`] compiles it into a [`Policy`]. Both report
//! everything that is wrong at once, each with the path to it. What is wrong is refused; what is merely odd is noted.
//!
//! In the schema an optional member has the type of its content, because `null` is refused: absent is the only way to say nothing.

mod reader;

use std::{collections::BTreeMap, fmt};

use schemars::{JsonSchema, Schema};
use serde::Serialize;

use pi_extproto::capability::{Capability, Method};

use crate::{
    command::CommandFault,
    glob::GlobFault,
    host::HostFault,
    moment::NoMoment,
    policy::{Mode, Policy},
};

/// The parts of a settings file that speak of policy, as written.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "pi policy settings")]
pub struct Settings {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "ExtensionSection")]
    pub extensions: Option<ExtensionSection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "AgentSection")]
    pub agent: Option<AgentSection>,
}

/// What a settings file says about extensions, as far as policy is concerned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ExtensionSection {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "ExtensionPolicy")]
    pub policy: Option<ExtensionPolicy>,
}

/// What a settings file says about the agent itself, as far as policy is concerned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct AgentSection {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "AgentPolicy")]
    pub policy: Option<AgentPolicy>,
}

/// Who among the extensions may do what.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ExtensionPolicy {
    /// What happens where nothing else decides. `prompt` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "Mode")]
    pub mode: Option<Mode>,
    /// The memory that one extension may use. 256 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    #[schemars(default, with = "u64")]
    pub max_memory_mb: Option<u64>,
    /// What every extension may do. `read`, `write` and `http` if absent; nothing in `strict`, whatever is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "Vec<Capability>")]
    pub default_caps: Option<Vec<Capability>>,
    /// What no extension may do, not even with a grant. If absent, `exec` and `env` need a grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "Vec<Capability>")]
    pub deny_caps: Option<Vec<Capability>>,
    /// Grants by the name of the extension.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default)]
    pub grants: BTreeMap<String, Vec<GrantEntry>>,
    /// Denies by the name of the extension; those under `*` are for all.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default)]
    pub denies: BTreeMap<String, Vec<DenyEntry>>,
}

/// What the agent may do by itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct AgentPolicy {
    /// What happens where nothing else decides. `prompt` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "Mode")]
    pub mode: Option<Mode>,
    /// What it may do. `read`, `write` and `exec` if absent; nothing in `strict`, whatever is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "Vec<Capability>")]
    pub default_caps: Option<Vec<Capability>>,
    /// What it may not do, not even with a grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "Vec<Capability>")]
    pub deny_caps: Option<Vec<Capability>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub grants: Vec<GrantEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub denies: Vec<DenyEntry>,
}

/// Something is allowed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct GrantEntry {
    pub capability: Capability,
    /// The only methods that are meant. Any if absent, none if empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "Vec<Method>")]
    pub methods: Option<Vec<Method>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "ScopeEntry")]
    pub scope: Option<ScopeEntry>,
    /// The versions of the extension for which it holds, as in `^1.2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "String")]
    pub versions: Option<String>,
    /// When it ends, as in `2026-12-31T00:00:00Z`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "String")]
    pub expires: Option<String>,
    /// The one extension of that name that is meant: its file or its folder, or `key:` and the public key that
    /// signed it. Whichever has the name, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "String")]
    pub origin: Option<String>,
}

/// Something is forbidden. A deny does not expire: time alone never allows more.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DenyEntry {
    /// The capability; `*` is every capability.
    pub capability: Capability,
    /// The only methods that are meant. Any if absent, none if empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "Vec<Method>")]
    pub methods: Option<Vec<Method>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "ScopeEntry")]
    pub scope: Option<ScopeEntry>,
    /// The versions of the extension for which it holds, as in `<2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "String")]
    pub versions: Option<String>,
}

/// How far a grant or deny reaches. An absent list does not narrow it; an empty list leaves nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ScopeEntry {
    /// For `read` and `write`: patterns relative to the project, or absolute. For grants of `exec`: folders in which the
    /// commands may run, beside the project itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "Vec<String>")]
    pub paths: Option<Vec<String>>,
    /// For `http`: hosts, with `*.` for everything below a domain and an optional port.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "Vec<String>")]
    pub hosts: Option<Vec<String>>,
    /// For `env`: names of variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "Vec<String>")]
    pub env: Option<Vec<String>>,
    /// For `exec`: programs, or programs with their first arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default, with = "Vec<String>")]
    pub commands: Option<Vec<String>>,
}

/// Something that is wrong or odd in settings or in a declaration, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `extensions.policy.grants["x"][0].scope.paths[1]`, or the empty string for the whole text.
    pub path: String,
    pub fault: Fault,
}

/// What is wrong or odd.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("not JSON: {reason} at line {line}, column {column}")]
    NotJson { reason: String, line: usize, column: usize },
    #[error("expected {wanted}")]
    Unexpected { wanted: &'static str },
    #[error("required member is missing")]
    Missing,
    #[error("unknown key")]
    UnknownKey,
    #[error(transparent)]
    Path(#[from] GlobFault),
    #[error(transparent)]
    Host(#[from] HostFault),
    #[error(transparent)]
    Command(#[from] CommandFault),
    #[error("the name of a variable is not empty and contains neither '=' nor NUL")]
    Variable,
    #[error(transparent)]
    Moment(#[from] NoMoment),
    #[error("not a range of versions: {0}")]
    Versions(String),
    #[error("{capability} is not narrowed by {list}")]
    PointlessScope { capability: Capability, list: &'static str },
    #[error("'*' stands for all only in denies")]
    Star,
    #[error("the agent has no versions")]
    AgentVersion,
    #[error("the agent comes from nowhere else")]
    AgentOrigin,
    #[error("{0} is not a capability that we know")]
    UnknownCapability(Capability),
    #[error("{0} stays denied: it is in the list of default denies, which comes first")]
    Shadowed(Capability),
    #[error("strict mode has no default capabilities; this list is ignored")]
    StrictDefaults,
    #[error("a project may restrict but not grant; this is ignored")]
    NotForProjects,
}

/// Settings that cannot be used, with every reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Invalid {
    pub problems: Vec<Problem>,
}

/// Something usable, and what was odd about it.
#[derive(Debug, Clone)]
pub struct Noted<T> {
    pub value: T,
    pub notices: Vec<Problem>,
}

/// Reads settings from JSON. Keys inside a policy that we do not know are noted; inside a grant, deny or scope they are
/// refused, because passing over a misspelt bound would widen it.
pub fn parse(text: &[u8]) -> Result<Noted<Settings>, Invalid> {
    reader::read(text)
}

/// Reads and resolves in one step.
pub fn load(text: &[u8]) -> Result<Noted<Policy>, Invalid> {
    let settings = parse(text)?;
    let resolved = settings.value.resolve()?;
    let notices = [settings.notices, resolved.notices].concat();
    Ok(Noted { value: resolved.value, notices })
}

/// The JSON schema of [`Settings`], for editors.
pub fn schema() -> Schema {
    schemars::schema_for!(Settings)
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(f, "{}", self.fault),
            path => write!(f, "{path}: {}", self.fault),
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}
