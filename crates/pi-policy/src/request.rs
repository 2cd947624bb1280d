//! Who asks for what: the question that a policy answers.

use std::{fmt, sync::Arc};

use semver::Version;

use pi_extproto::capability::{Capability, Declared, DeclaredBy, Method};

use crate::{
    config::Problem,
    moment::Moment,
    resolve,
    risk::Evidence,
    target::{Scope, Target},
};

/// Everything that a decision depends on besides the policy.
#[derive(Debug, Clone)]
pub struct Request {
    pub action: Arc<Action>,
    /// What is known about the extension; ignored for the agent.
    pub evidence: Evidence,
    pub now: Moment,
}

/// Somebody wants to do something. Shared, because the grant that answers it carries it on to the executor.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    pub subject: Subject,
    pub capability: Capability,
    pub method: Method,
    pub target: Target,
}

/// Who wants it.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// The agent itself: the tool calls of the model.
    Agent,
    Extension(Arc<Extension>),
}

/// Who brought an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// The user installed it, or the project that brings it is trusted.
    Trusted,
    /// It came with a project that nobody trusted yet.
    UntrustedProject,
}

/// An extension as policy sees it: its name, version and announcements, read once when it is loaded.
#[derive(Debug)]
pub struct Extension {
    id: String,
    version: String,
    parsed: Option<Version>,
    provenance: Provenance,
    origins: Vec<String>,
    declared_by: DeclaredBy,
    requirements: Vec<Requirement>,
    /// What it said itself that it needs, if it said anything.
    said: Option<Vec<Requirement>>,
    problems: Vec<Problem>,
}

/// One announced need with its scope compiled.
#[derive(Debug)]
pub(crate) struct Requirement {
    pub(crate) capability: Capability,
    pub(crate) methods: Option<Vec<Method>>,
    pub(crate) scope: Scope,
}

impl Request {
    /// A request of an extension about which nothing is known yet, or of the agent.
    pub fn new(action: Action, now: Moment) -> Self {
        Self { action: Arc::new(action), evidence: Evidence::unknown(), now }
    }

    #[must_use]
    pub fn with_evidence(self, evidence: Evidence) -> Self {
        Self { evidence, ..self }
    }
}

impl Extension {
    /// A version that is not three numbers is kept, but no grant that names versions covers it.
    pub fn new(id: &str, version: &str, provenance: Provenance, declared: &Declared) -> Self {
        let mut problems = Vec::new();
        let requirements = compiled(declared, &mut problems);
        Self {
            id: id.to_owned(),
            version: version.to_owned(),
            parsed: Version::parse(version).ok(),
            provenance,
            origins: Vec::new(),
            declared_by: declared.by(),
            requirements,
            said: None,
            problems,
        }
    }

    /// The same, held to what it said itself that it needs: what its manifest announces and it does not, it may not do. Saying
    /// nothing holds it to nothing.
    #[must_use]
    pub fn held_to(mut self, said: &Declared) -> Self {
        self.said = (said.by() != DeclaredBy::Nothing).then(|| compiled(said, &mut self.problems));
        self
    }

    /// The same, from somewhere: a grant that names an origin covers it if it names one of these. The one that a new grant
    /// would name comes first.
    #[must_use]
    pub fn coming_from(self, origins: Vec<String>) -> Self {
        Self { origins, ..self }
    }

    /// Where it comes from. Nothing if nobody knows, and then no grant that names an origin covers it.
    pub fn origins(&self) -> &[String] {
        &self.origins
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// Patterns of the announcement that cannot be understood. They cover nothing.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub(crate) fn parsed_version(&self) -> Option<&Version> {
        self.parsed.as_ref()
    }

    pub(crate) fn declared_by(&self) -> DeclaredBy {
        self.declared_by
    }

    pub(crate) fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    pub(crate) fn said(&self) -> Option<&[Requirement]> {
        self.said.as_deref()
    }
}

fn compiled(declared: &Declared, problems: &mut Vec<Problem>) -> Vec<Requirement> {
    let compiled = declared.requirements().iter().enumerate().map(|(index, requirement)| Requirement {
        capability: requirement.capability.clone(),
        methods: requirement.methods.clone(),
        scope: resolve::declared_scope(requirement.scope.as_ref(), index, problems),
    });
    compiled.collect()
}

/// Two values are one extension if they have the same name and version and come from the same place: an artifact does not
/// change under its version.
impl PartialEq for Extension {
    fn eq(&self, other: &Self) -> bool {
        (&self.id, &self.version, self.provenance, &self.origins)
            == (&other.id, &other.version, other.provenance, &other.origins)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent => f.write_str("the agent"),
            Self::Extension(extension) => write!(f, "extension {} {}", extension.id, extension.version),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} asks for {} through {}", self.subject, self.capability, self.method)?;
        match &self.target {
            Target::Nothing => Ok(()),
            target => write!(f, ": {target}"),
        }
    }
}
