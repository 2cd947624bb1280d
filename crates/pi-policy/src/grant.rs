//! The three answers: a grant to act with, a question for a person, a denial with its reason.

use std::{fmt, net::IpAddr, sync::Arc};

use serde::Serialize;

use crate::{
    config::{GrantEntry, ScopeEntry},
    glob::{self, PathPatterns, Touch},
    host::{self, HostName},
    moment::Moment,
    place::{Location, Place},
    policy::Entry,
    request::Action,
    resolve::DENIED_WITH,
    risk::Assessment,
    rule::Rule,
    target::{Target, is_place_within_reach},
};

/// The answer to a request.
#[derive(Debug)]
pub enum Decision {
    Allow(Grant),
    Ask(Question),
    Deny(Denial),
}

/// The kind of a [`Decision`], from the narrowest to the widest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Deny,
    Ask,
    Allow,
}

/// The proof that an action was allowed. An executor takes it by value and does what it says, not what the caller wrote.
///
/// Only this crate makes one, in [`crate::decide`] and [`Question::answer`]; it cannot be copied, read or written:
///
/// ```compile_fail
/// let grant = pi_policy::Grant { action: todo!(), rule: todo!(), expires: None, entry: None, withheld: vec![], warning: None };
/// ```
/// ```compile_fail
/// fn copy(grant: &pi_policy::Grant) -> pi_policy::Grant { grant.clone() }
/// ```
/// ```compile_fail
/// fn forge(json: &str) -> pi_policy::Grant { serde_json::from_str(json).unwrap() }
/// ```
#[derive(Debug)]
pub struct Grant {
    action: Arc<Action>,
    rule: Rule,
    expires: Option<Moment>,
    /// The grant of the settings whose scope names the target; otherwise it lies in the default reach, or nobody set bounds.
    entry: Option<Arc<Entry>>,
    /// Denied parts of a folder that was granted.
    withheld: Vec<Arc<PathPatterns>>,
    warning: Option<Assessment>,
}

/// What a person has to be asked. Nothing is granted until [`Question::answer`].
#[derive(Debug)]
pub struct Question {
    grant: Grant,
    assessment: Option<Assessment>,
}

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Yes,
    No,
    /// A person put the question away without saying anything.
    Dismissed,
    /// Nobody was there, or nobody answered in time.
    Nobody,
}

/// An action that must not happen.
#[derive(Debug, Clone, PartialEq)]
pub struct Denial {
    action: Arc<Action>,
    rule: Rule,
    reason: Reason,
}

/// Why an action must not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("the project that brings the extension is not trusted")]
    Untrusted,
    #[error("denied by {}", cited(source_path))]
    Denied { source_path: Arc<str> },
    #[error("{0}")]
    NotDeclared(Undeclared),
    #[error("denied unless it is granted by name")]
    DeniedByDefault,
    #[error("what holds credentials or keys is denied unless its path is granted in full")]
    Secret,
    #[error("nothing grants it, and the mode is strict")]
    Strict,
    #[error("a person said no")]
    Refused,
    #[error("a person dismissed the question")]
    Dismissed,
    #[error("nobody answered")]
    Unanswered,
}

/// What the announcement of an extension lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Undeclared {
    #[error("not declared")]
    Capability,
    #[error("not declared for this method")]
    Method,
    #[error("outside the declared scope")]
    Scope,
    #[error("the extension said itself that it does not need it")]
    Said,
}

impl Decision {
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Allow(_) => Verdict::Allow,
            Self::Ask(_) => Verdict::Ask,
            Self::Deny(_) => Verdict::Deny,
        }
    }

    /// The rule that decided.
    pub fn rule(&self) -> Rule {
        match self {
            Self::Allow(grant) => grant.rule,
            Self::Ask(question) => question.grant.rule,
            Self::Deny(denial) => denial.rule,
        }
    }
}

/// What the walk through the rules found, before it becomes a [`Decision`].
pub(crate) enum Ruling {
    Allow { expires: Option<Moment>, entry: Option<Arc<Entry>>, warning: Option<Assessment> },
    Ask(Option<Assessment>),
    Deny(Reason),
}

impl Ruling {
    pub(crate) fn decide(self, action: &Arc<Action>, rule: Rule, withheld: Vec<Arc<PathPatterns>>) -> Decision {
        let action = Arc::clone(action);
        match self {
            Self::Allow { expires, entry, warning } => {
                Decision::Allow(Grant { action, rule, expires, entry, withheld, warning })
            }
            Self::Ask(assessment) => {
                // A person who says yes to a public name has not said yes to wherever that name may lead.
                let grant = Grant { action, rule, expires: None, entry: None, withheld, warning: None };
                Decision::Ask(Question { grant, assessment })
            }
            Self::Deny(reason) => Decision::Deny(Denial { action, rule, reason }),
        }
    }
}

impl Grant {
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// The rule that allowed it.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// When it ends; an action that is still running then may finish, a new one may not begin.
    pub fn expires(&self) -> Option<Moment> {
        self.expires
    }

    /// In `permissive` mode: the evidence, for the warning that the log gets.
    pub fn warning(&self) -> Option<&Assessment> {
        self.warning.as_ref()
    }

    /// Whether somebody named the target itself in a grant: it does not merely lie where the capability leads.
    pub fn is_named(&self) -> bool {
        self.entry.is_some()
    }

    /// Whether this grant is for `action`, and still holds.
    pub fn covers(&self, action: &Action, now: Moment) -> bool {
        self.holds(now) && *self.action == *action
    }

    /// Whether it has not expired.
    pub fn holds(&self, now: Moment) -> bool {
        self.expires.is_none_or(|end| now < end)
    }

    /// Whether a file that turns up below a granted folder may be touched: it is not if a deny names it, if it holds
    /// credentials, or if it belongs to a place where the capability does not lead.
    pub fn permits(&self, file: &Location) -> bool {
        self.action.target.locations().any(|granted| {
            let same = granted.absolute() == file.absolute();
            let reached =
                granted.place() == file.place() || is_place_within_reach(file.place(), &self.action.capability);
            granted.contains(file)
                && (same || (reached && file.place() != Place::Secret))
                && self.withheld.iter().all(|patterns| patterns.touches(file) == Touch::Nothing)
        })
    }

    /// From which folder to open a file that this grant permits, and the way from there. No link on that way may lead out
    /// of the folder. In a place of its own that is the root of the place; elsewhere it is what the pattern that granted it
    /// names without a wildcard, or else the folder that was asked for.
    pub fn root<'a>(&self, file: &'a Location) -> Option<(&'a str, &'a str)> {
        let granted = self.action.target.locations().find(|granted| granted.contains(file));
        // The folder that was granted is opened even if parts of it are withheld.
        let granted = granted.filter(|granted| granted.absolute() == file.absolute() || self.permits(file))?;
        if let Some(own) = file.root().zip(file.below_root()) {
            return Some(own);
        }
        let patterns = self.entry.as_ref().and_then(|entry| entry.scope.paths.as_ref());
        let divided = patterns.and_then(|patterns| patterns.divide(granted, &self.action.capability));
        let (folder, _) = divided.or_else(|| granted.divide_at(granted.absolute()))?;
        file.divide_at(folder)
    }

    /// Whether the executor may connect to an address that the granted host led to. A public name that leads into the
    /// private network is refused unless the settings name the host.
    pub fn may_connect(&self, address: IpAddr) -> bool {
        match &self.action.target {
            Target::Host(granted) => match granted.name() {
                HostName::Address(named) => *named == address.to_canonical(),
                HostName::Name(_) => self.entry.is_some() || !granted.is_public() || host::is_public(address),
            },
            Target::Nothing
            | Target::Path(_)
            | Target::Move { .. }
            | Target::Variable(_)
            | Target::Environment
            | Target::Command(_)
            | Target::Tool(_) => false,
        }
    }

    /// Patterns of denied paths below the granted folder.
    pub fn withheld(&self) -> impl Iterator<Item = &str> {
        self.withheld.iter().flat_map(|patterns| patterns.written()).map(String::as_str)
    }
}

impl Question {
    pub fn action(&self) -> &Action {
        &self.grant.action
    }

    pub(crate) fn shared_action(&self) -> &Arc<Action> {
        &self.grant.action
    }

    /// The evidence that was weighed; nothing for the agent.
    pub fn assessment(&self) -> Option<&Assessment> {
        self.assessment.as_ref()
    }

    /// Patterns of denied paths below the folder that is asked for: a yes does not include them.
    pub fn withheld(&self) -> impl Iterator<Item = &str> {
        self.grant.withheld()
    }

    /// Turns what a person said into a grant for this one action, or a denial. [`Self::keep`] is for the actions after it.
    pub fn answer(self, answer: Answer) -> Result<Grant, Denial> {
        let Grant { action, rule, .. } = &self.grant;
        let denial = |reason| Denial { action: Arc::clone(action), rule: *rule, reason };
        match answer {
            Answer::Yes => Ok(self.grant),
            Answer::No => Err(denial(Reason::Refused)),
            Answer::Dismissed => Err(denial(Reason::Dismissed)),
            Answer::Nobody => Err(denial(Reason::Unanswered)),
        }
    }

    /// What to write into the settings so that this is not asked again; nothing if no scope can name the target.
    pub fn remember(&self) -> Option<GrantEntry> {
        naming(&self.grant.action)
    }
}

/// The narrowest grant that covers an action.
pub(crate) fn naming(action: &Action) -> Option<GrantEntry> {
    let scope = match &action.target {
        Target::Nothing | Target::Tool(_) | Target::Environment => None,
        Target::Path(_) | Target::Move { .. } => {
            let paths = action.target.locations().map(glob::naming).collect::<Option<Vec<_>>>()?;
            Some(ScopeEntry { paths: Some(paths), ..ScopeEntry::default() })
        }
        Target::Host(host) => Some(ScopeEntry { hosts: Some(vec![host.to_string()]), ..ScopeEntry::default() }),
        Target::Variable(name) => Some(ScopeEntry { env: Some(vec![name.clone()]), ..ScopeEntry::default() }),
        Target::Command(command) => {
            let paths = command.folder().map(|folder| glob::naming(folder).map(|path| vec![path]));
            let paths = paths.map_or(Some(None), |paths| paths.map(Some))?;
            Some(ScopeEntry { commands: Some(command.naming()?), paths, ..ScopeEntry::default() })
        }
    };
    let methods = Some(vec![action.method.clone()]);
    let capability = action.capability.clone();
    Some(GrantEntry { capability, methods, scope, versions: None, expires: None, origin: None })
}

/// A command among words.
fn cited(source: &str) -> String {
    if source.starts_with(DENIED_WITH) { format!("`{source}`") } else { source.to_owned() }
}

impl Denial {
    pub fn action(&self) -> &Action {
        &self.action
    }

    pub fn rule(&self) -> Rule {
        self.rule
    }

    pub fn reason(&self) -> &Reason {
        &self.reason
    }
}

/// `deny write: not declared`
impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deny {}: {}", self.action.capability, self.reason)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        })
    }
}

#[cfg(test)]
mod tests {
    use pi_extproto::Object;

    use super::*;
    use crate::{
        config, decide,
        place::{Extent, PathStyle, Places},
        request::{Request, Subject},
    };

    #[test]
    fn granted_folder_is_opened_even_if_parts_of_it_are_withheld() {
        let denies = r#"{"agent":{"policy":{"denies":[{"capability":"read","scope":{"paths":["secret"]}}]}}}"#;
        let policy = config::load(denies.as_bytes()).expect("settings").value;
        let places = Places::new(PathStyle::Unix, "/p").expect("a folder");
        let action = Action::from_tool_use(Subject::Agent, &places, "ls", &Object::new()).expect("an action");
        let Decision::Allow(grant) = decide(&policy, &Request::new(action, Moment::from_unix_millis(0))) else {
            panic!("not allowed")
        };
        let locations = [(".", Extent::Tree), ("a", Extent::File), ("secret", Extent::File), ("secret", Extent::Tree)]
            .map(|(path, extent)| places.locate(path, extent).expect("a path"));
        let roots = [Some(("/p", "")), Some(("/p", "a")), None, None];
        assert_eq!(locations.each_ref().map(|location| grant.root(location)), roots);
    }
}
