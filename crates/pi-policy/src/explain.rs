//! A decision with every reason on the way to it, as data and as text.

use std::fmt;

use serde::Serialize;
use serde_json::json;

use pi_extproto::{
    capability::{Capability, DeclaredBy, Method},
    unseen,
};

use crate::{
    chain::{Recorder, walk},
    config::ScopeEntry,
    glob::Purpose,
    grant::{Decision, Reason, Ruling, Undeclared, Verdict, naming},
    moment::Moment,
    policy::{Entry, Mode, Policy},
    request::{Action, Extension, Request, Requirement, Subject},
    resolve::{ALLOWED_WITH, DENIED_WITH, FORGOTTEN_WITH},
    risk::{Assessment, Choice, PRIOR, WEIGHTS},
    rule::Rule,
    target::{Admission, Target},
};

/// How an origin begins that is a key.
const KEY: &str = "key:";

/// A decision and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    pub subject: String,
    pub capability: Capability,
    pub method: Method,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    pub mode: Mode,
    /// Every rule that was asked, in order; the last one decided.
    pub steps: Vec<Step>,
    pub verdict: Verdict,
    pub rule: Rule,
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Moment>,
    /// Denied paths below a folder that was granted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
    /// Where another extension of the same name comes from, to which such a grant was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grantee: Option<String>,
    pub hint: Hint,
}

/// One rule and its answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    pub index: usize,
    pub rule: Rule,
    /// Nothing if the rule had no answer.
    pub verdict: Option<Verdict>,
    pub note: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assessment: Option<Assessment>,
}

/// One grant, deny or requirement that speaks of the capability, compared with the action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    pub source: String,
    pub fit: Fit,
    pub note: String,
}

/// How a grant, deny or requirement fits an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    Fits,
    /// A deny of something below the folder that is asked for.
    FitsPartly,
    /// A grant that was given to another extension of the same name.
    OtherOrigin,
    OtherMethod,
    OtherVersion,
    Expired,
    OutOfScope,
    /// It has no scope, and the target lies beyond what a capability gives by itself.
    OutOfReach,
}

/// What would change the decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hint {
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Decides, and says why. The decision in it is the one that [`crate::decide`] gives: it is the same walk.
pub fn explain(policy: &Policy, request: &Request) -> Explanation {
    let mut journal = Journal::default();
    let decision = walk(policy, request, &mut journal);
    let action = &request.action;
    let (expires, withheld) = match &decision {
        Decision::Allow(grant) => (grant.expires(), grant.withheld().map(str::to_owned).collect()),
        Decision::Ask(question) => (None, question.withheld().map(str::to_owned).collect()),
        Decision::Deny(_) => (None, Vec::new()),
    };
    let reason = match &decision {
        Decision::Deny(denial) => denial.reason().to_string(),
        Decision::Allow(_) | Decision::Ask(_) => journal.steps.last().map(|step| step.note.clone()).unwrap_or_default(),
    };
    let grantee = journal.grantee.take().filter(|_| decision.verdict() != Verdict::Allow);
    Explanation {
        subject: action.subject.to_string(),
        capability: action.capability.clone(),
        method: action.method.clone(),
        target: (action.target != Target::Nothing).then(|| action.target.to_string()),
        mode: policy.rules(&action.subject).0.mode,
        steps: journal.steps,
        verdict: decision.verdict(),
        rule: decision.rule(),
        reason,
        expires,
        withheld,
        hint: hint(action, &decision, grantee.is_some()),
        grantee,
    }
}

/// Writes down what the walk reports.
#[derive(Default)]
struct Journal {
    steps: Vec<Step>,
    checks: Vec<Check>,
    note: String,
    assessment: Option<Assessment>,
    grantee: Option<String>,
}

impl Recorder for Journal {
    fn check(&mut self, check: impl FnOnce() -> Check) {
        self.checks.push(check());
    }

    fn passed_over(&mut self, origin: &str) {
        self.grantee.get_or_insert_with(|| origin.to_owned());
    }

    fn note(&mut self, note: impl FnOnce() -> String) {
        self.note = note();
    }

    fn assessed(&mut self, assessment: &Assessment) {
        self.assessment = Some(*assessment);
    }

    fn close(&mut self, rule: Rule, ruling: Option<&Ruling>) {
        self.steps.push(Step {
            index: rule.index(),
            rule,
            verdict: ruling.map(|ruling| match ruling {
                Ruling::Allow { .. } => Verdict::Allow,
                Ruling::Ask(_) => Verdict::Ask,
                Ruling::Deny(_) => Verdict::Deny,
            }),
            note: std::mem::take(&mut self.note),
            checks: std::mem::take(&mut self.checks),
            assessment: self.assessment.take(),
        });
    }
}

impl Check {
    pub(crate) fn of_entry(entry: &Entry, fit: Fit, action: &Action, purpose: Purpose) -> Self {
        let note = match fit {
            Fit::Fits | Fit::OutOfScope => entry.scope.describe(&action.target, &action.capability, purpose),
            Fit::FitsPartly => format!("something below {} is denied", action.target),
            Fit::OtherOrigin => {
                let origin = entry.origin.as_deref().unwrap_or_default();
                format!("given to another extension of this name, the one from {origin}")
            }
            Fit::OtherMethod => format!("not for the method {}", action.method),
            Fit::OtherVersion => match &entry.versions {
                Some(range) => format!("only for versions {range}"),
                None => String::new(),
            },
            Fit::Expired => entry.expires.map(|end| format!("expired at {end}")).unwrap_or_default(),
            Fit::OutOfReach => format!("without a scope it does not lead to {}", action.target),
        };
        Self { source: entry.source.to_string(), fit, note }
    }

    /// Of an announcement, by its name and its place there.
    pub(crate) fn of_requirement(
        (source, index): (&str, usize),
        requirement: &Requirement,
        fit: Fit,
        action: &Action,
    ) -> Self {
        let note = match fit {
            Fit::OtherMethod => format!("not for the method {}", action.method),
            Fit::Fits if requirement.scope.admits(&action.target, &action.capability) == Admission::Refused => {
                "the extension need not name its own folders".to_owned()
            }
            Fit::Fits
            | Fit::FitsPartly
            | Fit::OtherOrigin
            | Fit::OtherVersion
            | Fit::Expired
            | Fit::OutOfScope
            | Fit::OutOfReach => requirement.scope.describe(&action.target, &action.capability, Purpose::Grant),
        };
        Self { source: format!("{source}, capabilities[{index}]"), fit, note }
    }
}

/// The one thing that would change the decision. Where another extension has the name, a grant must say which is meant.
fn hint(action: &Action, decision: &Decision, has_namesake: bool) -> Hint {
    let plain = |text: String| Hint { text, command: None };
    match decision {
        Decision::Allow(_) => match &action.subject {
            Subject::Agent => {
                plain(format!("deny it: add {{\"capability\": \"{}\"}} to agent.policy.denies", action.capability))
            }
            Subject::Extension(extension) => Hint {
                text: "deny it".to_owned(),
                command: Some(format!("{DENIED_WITH} {}", named(extension, action))),
            },
        },
        Decision::Ask(_) => grant_hint(action, has_namesake),
        Decision::Deny(denial) => match denial.reason() {
            Reason::Untrusted => plain("trust the project first".to_owned()),
            Reason::Denied { source_path } => match source_path.strip_prefix(DENIED_WITH) {
                Some(what) => {
                    let command = Some(format!("{FORGOTTEN_WITH}{what}"));
                    Hint { text: "take back what was decided".to_owned(), command }
                }
                None => plain(format!("remove {source_path} from the settings")),
            },
            Reason::NotDeclared(Undeclared::Said) => {
                plain(format!("have it name {} when it registers", action.capability))
            }
            Reason::NotDeclared(lacking) => plain(declaration(action, *lacking)),
            Reason::DeniedByDefault | Reason::Secret | Reason::Strict => grant_hint(action, has_namesake),
            Reason::Refused | Reason::Dismissed | Reason::Unanswered => grant_hint(action, has_namesake),
        },
    }
}

/// What its author has to write, and where.
fn declaration(action: &Action, lacking: Undeclared) -> String {
    let Action { capability, method, .. } = action;
    let (file, is_flat) = match &action.subject {
        Subject::Agent => (None, false),
        Subject::Extension(extension) => {
            let folder = extension.origins().iter().find(|origin| !origin.starts_with(KEY));
            (folder, extension.declared_by() == DeclaredBy::FlatList)
        }
    };
    let file = file.map_or_else(|| "its extension.json".to_owned(), |folder| format!("{folder}/extension.json"));
    if is_flat {
        return format!("declare it: add \"{capability}\" to capabilities in {file}");
    }
    let mut entry = json!({ "capability": capability, "methods": [method] });
    let scope = naming(action).and_then(|entry| entry.scope).filter(|_| lacking == Undeclared::Scope);
    if let Some(scope) = scope {
        // A declaration does not narrow commands.
        entry["scope"] = json!(ScopeEntry { commands: None, ..scope });
    }
    format!("declare it: add {entry} to capability_manifest.capabilities in {file}")
}

/// An extension and a capability, as commands take them.
fn named(extension: &Extension, action: &Action) -> String {
    format!("{} {}", quote(extension.id()), quote(action.capability.as_str()))
}

/// The command that grants one thing of a capability to an extension; `option` says of which kind the thing is.
pub fn command_to_allow(extension: &str, capability: &Capability, (option, value): (&str, &str)) -> String {
    format!("{ALLOWED_WITH} {} {} {option} {}", quote(extension), quote(capability.as_str()), quote(value))
}

fn grant_hint(action: &Action, has_namesake: bool) -> Hint {
    let narrow = naming(action);
    match &action.subject {
        Subject::Agent => {
            let entry = narrow.and_then(|entry| serde_json::to_string(&entry).ok());
            let entry = entry.unwrap_or_else(|| format!("{{\"capability\":\"{}\"}}", action.capability));
            Hint { text: format!("grant it: add {entry} to agent.policy.grants"), command: None }
        }
        Subject::Extension(extension) => {
            let mut command = format!("{ALLOWED_WITH} {}", named(extension, action));
            let text =
                if narrow.is_some() { "grant it" } else { "grant the capability; no scope can name this target" };
            let scope = narrow.and_then(|entry| entry.scope).unwrap_or_default();
            let options =
                [("--path", scope.paths), ("--host", scope.hosts), ("--env", scope.env), ("--command", scope.commands)];
            for (option, values) in options {
                for value in values.unwrap_or_default() {
                    command.push_str(&format!(" {option} {}", quote(&value)));
                }
            }
            if let Some(origin) = extension.origins().first().filter(|_| has_namesake) {
                command.push_str(&format!(" --from {}", quote(origin)));
            }
            Hint { text: text.to_owned(), command: Some(command) }
        }
    }
}

/// Makes one word of a text for a shell, in one line that can be read: what a terminal would not show stands as its number.
pub(crate) fn quote(text: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./:@%+=,".contains(sign);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    if unseen::shown(text).all(|(_, is_shown)| is_shown) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let escaped = unseen::shown(text).fold(String::new(), |mut escaped, (sign, is_shown)| {
        match sign {
            '\'' | '\\' => escaped.extend(['\\', sign]),
            '\n' => escaped.push_str("\\n"),
            sign if is_shown => escaped.push(sign),
            sign => escaped.push_str(&format!("\\U{:08x}", u32::from(sign))),
        }
        escaped
    });
    format!("$'{escaped}'")
}

/// A page for a person: a line per rule, indented what was compared, the numbers, and at the end the decision.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} asks for {} through {}", self.subject, self.capability, self.method)?;
        if let Some(target) = &self.target {
            write!(f, ": {target}")?;
        }
        writeln!(f)?;
        for step in &self.steps {
            let verdict = step.verdict.map_or_else(|| "-".to_owned(), |verdict| verdict.to_string());
            writeln!(f, "  {} {:<19}{verdict:<6} {}", step.index, step.rule, step.note)?;
            for check in &step.checks {
                writeln!(f, "      {}: {}", check.source, check.note)?;
            }
            if let Some(assessment) = &step.assessment {
                write_assessment(f, assessment)?;
            }
        }
        write!(f, "{}: {} (rule {}, {})", self.verdict, self.reason, self.rule.index(), self.rule)?;
        if let Some(end) = self.expires {
            write!(f, ", until {end}")?;
        }
        if !self.withheld.is_empty() {
            write!(f, ", without {}", self.withheld.join(", "))?;
        }
        match &self.hint.command {
            Some(command) => write!(f, "\nto change it, {}: {command}", self.hint.text),
            None => write!(f, "\nto change it, {}", self.hint.text),
        }
    }
}

fn write_assessment(f: &mut fmt::Formatter<'_>, it: &Assessment) -> fmt::Result {
    writeln!(f, "      {:<17}{PRIOR:>7.2}", "prior")?;
    for line in WEIGHTS {
        let level = it.evidence.level(line.feature);
        if level > 0.0 {
            writeln!(f, "      {:<17}{:>+7.2} = {level:.2} x {:.2}", line.name, level * line.weight, line.weight)?;
        }
    }
    writeln!(f, "      {:<17}{:>7.2}, malicious with p = {:.4}", "log-odds", it.log_odds, it.probability)?;
    let (losses, p) = (it.losses, it.probability);
    let sum = |benign: f64, malicious: f64| format!("{:.4} x {benign} + {p:.4} x {malicious}", 1.0 - p);
    let (grant, deny) =
        (sum(losses.benign_grant, losses.malicious_grant), sum(losses.benign_deny, losses.malicious_deny));
    writeln!(f, "      {:<17}{:>7.3} = {grant}", "loss of granting", it.loss_of_grant)?;
    writeln!(f, "      {:<17}{:>7.3} = {deny}", "loss of denying", it.loss_of_deny)?;
    match it.choice {
        Choice::Grant => writeln!(f, "      granting costs less"),
        Choice::Deny => writeln!(f, "      denying costs less"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell_stay_in_their_line() {
        for (text, expected) in [
            ("a/b.rs", "a/b.rs"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("a\n'b\\", r"$'a\n\'b\\'"),
            ("a\u{1b}[2J", r"$'a\U0000001b[2J'"),
            ("a\u{202e}b", r"$'a\U0000202eb'"),
            // Whatever counts as unseen where servers describe themselves.
            ("a\u{3164}b", r"$'a\U00003164b'"),
            ("❤\u{fe0f}.md", "'❤\u{fe0f}.md'"),
        ] {
            assert_eq!(quote(text), expected);
        }
    }
}
