//! The walk through the rules. `decide` and `explain` are the same walk; they differ in who listens.

use std::sync::Arc;

use pi_extproto::capability::{Capability, DeclaredBy};

use crate::{
    answers::{Answers, Said, Term},
    explain::{Check, Fit},
    glob::{PathPatterns, Purpose, Touch},
    grant::{Decision, Reason, Ruling, Undeclared},
    place::Place,
    policy::{Entry, Mode, OwnRules, Policy, Ruleset},
    request::{Action, Extension, Provenance, Request, Requirement, Subject},
    risk::{Assessment, Choice, Feature, assess},
    rule::Rule,
    target::{Admission, Target},
};

/// What everybody has unless it is denied explicitly.
pub const GIVEN: [Capability; 4] = [Capability::Log, Capability::Events, Capability::Ui, Capability::Session];

/// Environment variables that everybody may read unless `env` is denied explicitly.
pub const GIVEN_VARIABLES: [&str; 7] = ["HOME", "PATH", "LANG", "TERM", "USER", "SHELL", "TMPDIR"];

/// Listens to the walk. Two implementations: [`Silent`] for deciding, and the journal of `explain`. Whatever costs
/// something is a closure, so that the silent walk pays nothing for it.
pub(crate) trait Recorder {
    /// A grant, deny or requirement was compared with the action.
    fn check(&mut self, check: impl FnOnce() -> Check);
    /// A grant was given to another extension of the same name, which comes from there.
    fn passed_over(&mut self, origin: &str);
    /// Why the rule has, or has not, an answer.
    fn note(&mut self, note: impl FnOnce() -> String);
    fn assessed(&mut self, assessment: &Assessment);
    /// The rule is done. Everything since the last call belongs to it.
    fn close(&mut self, rule: Rule, ruling: Option<&Ruling>);
}

/// Listens to nothing.
pub(crate) struct Silent;

impl Recorder for Silent {
    fn check(&mut self, _: impl FnOnce() -> Check) {}
    fn passed_over(&mut self, _: &str) {}
    fn note(&mut self, _: impl FnOnce() -> String) {}
    fn assessed(&mut self, _: &Assessment) {}
    fn close(&mut self, _: Rule, _: Option<&Ruling>) {}
}

/// Asks each rule in turn; the first answer counts.
pub(crate) fn walk<R: Recorder>(policy: &Policy, request: &Request, recorder: &mut R) -> Decision {
    let (rules, own) = policy.rules(&request.action.subject);
    let answers = &policy.answers;
    let mut walk = Walk { rules, own, answers, request, action: &request.action, recorder, withheld: Vec::new() };
    for rule in Rule::ORDER {
        let ruling = walk.ask(rule);
        walk.recorder.close(rule, ruling.as_ref());
        if let Some(ruling) = ruling {
            return ruling.decide(&request.action, rule, walk.withheld);
        }
    }
    unreachable!("the last rule always answers")
}

struct Walk<'a, R> {
    rules: &'a Ruleset,
    own: Option<&'a OwnRules>,
    answers: &'a Answers,
    request: &'a Request,
    action: &'a Action,
    recorder: &'a mut R,
    withheld: Vec<Arc<PathPatterns>>,
}

impl<'a, R: Recorder> Walk<'a, R> {
    fn ask(&mut self, rule: Rule) -> Option<Ruling> {
        match rule {
            Rule::Trust => self.trust(),
            Rule::ExtensionDeny => self.deny(self.own.map_or(&[], |own| &own.denies)),
            Rule::GlobalDeny => self.deny(&self.rules.global_denies),
            Rule::Given => self.given(),
            Rule::Declaration => match &self.action.subject {
                Subject::Agent => {
                    self.recorder.note(|| "the agent declares nothing".to_owned());
                    None
                }
                Subject::Extension(extension) => self.declaration(extension),
            },
            Rule::ExtensionGrant => self.grant(self.own.map_or(&[], |own| &own.grants)),
            Rule::DefaultDeny => self.default_deny(),
            Rule::DefaultCapability => self.default_capability(),
            Rule::Mode => Some(self.mode()),
        }
    }

    fn trust(&mut self) -> Option<Ruling> {
        let provenance = match &self.action.subject {
            Subject::Agent => Provenance::Trusted,
            Subject::Extension(extension) => extension.provenance(),
        };
        match provenance {
            Provenance::Trusted => {
                self.recorder.note(|| "trusted to run".to_owned());
                None
            }
            Provenance::UntrustedProject => {
                self.recorder.note(|| "it comes with a project that is not trusted".to_owned());
                Some(Ruling::Deny(Reason::Untrusted))
            }
        }
    }

    fn deny(&mut self, entries: &'a [Arc<Entry>]) -> Option<Ruling> {
        let Action { capability, method, target, .. } = self.action;
        let mut spoken = 0;
        let before = self.withheld.len();
        for entry in entries.iter().filter(|entry| entry.speaks_of(capability)) {
            spoken += 1;
            let fit = if !entry.has_method(method) {
                Fit::OtherMethod
            } else if !entry.touches_version(self.action) {
                Fit::OtherVersion
            } else {
                match entry.scope.touches(target) {
                    Touch::Whole => Fit::Fits,
                    Touch::Part => Fit::FitsPartly,
                    Touch::Nothing => Fit::OutOfScope,
                }
            };
            self.recorder.check(|| Check::of_entry(entry, fit, self.action, Purpose::Deny));
            match fit {
                Fit::Fits => {
                    self.recorder.note(|| format!("{capability} is denied here"));
                    return Some(Ruling::Deny(Reason::Denied { source_path: Arc::clone(&entry.source) }));
                }
                Fit::FitsPartly => self.withheld.extend(entry.scope.paths.clone()),
                Fit::OtherOrigin
                | Fit::OtherMethod
                | Fit::OtherVersion
                | Fit::Expired
                | Fit::OutOfScope
                | Fit::OutOfReach => {}
            }
        }
        let parts = self.withheld.len() - before;
        self.recorder.note(|| match (spoken, parts) {
            (0, _) => format!("no deny of {capability} is written here"),
            (_, 0) => "no deny fits".to_owned(),
            (_, _) => "denied parts of the folder are withheld".to_owned(),
        });
        None
    }

    fn given(&mut self) -> Option<Ruling> {
        let Action { capability, target, .. } = self.action;
        let variable = match target {
            Target::Variable(name) if *capability == Capability::Env => GIVEN_VARIABLES.contains(&name.as_str()),
            _ => false,
        };
        if variable || GIVEN.contains(capability) {
            self.recorder.note(|| {
                let what = if variable { target.to_string() } else { capability.to_string() };
                format!("everybody has {what}")
            });
            return Some(Ruling::Allow { expires: None, entry: None, warning: None });
        }
        self.recorder.note(|| format!("{capability} is not given to everybody"));
        None
    }

    fn declaration(&mut self, extension: &'a Extension) -> Option<Ruling> {
        let capability = &self.action.capability;
        match extension.declared_by() {
            DeclaredBy::Nothing => {
                self.recorder.note(|| "the extension declares nothing, so nothing is ruled out".to_owned());
            }
            DeclaredBy::FlatList | DeclaredBy::Manifest => {
                if let Some(lacking) = self.lacking("declaration", extension.requirements()) {
                    self.recorder.note(|| lacking.to_string());
                    return Some(Ruling::Deny(Reason::NotDeclared(lacking)));
                }
                self.recorder.note(|| format!("{capability} is declared"));
            }
        }
        if extension.said().and_then(|said| self.lacking("its own words", said)).is_some() {
            self.recorder.note(|| Undeclared::Said.to_string());
            return Some(Ruling::Deny(Reason::NotDeclared(Undeclared::Said)));
        }
        None
    }

    /// What an announcement lacks of the action; nothing if it covers it.
    fn lacking(&mut self, source: &'static str, requirements: &'a [Requirement]) -> Option<Undeclared> {
        let Action { capability, method, .. } = self.action;
        let mut lacking = Undeclared::Capability;
        for (index, requirement) in requirements.iter().enumerate() {
            if requirement.capability != *capability {
                continue;
            }
            let fit = if requirement.methods.as_ref().is_some_and(|methods| !methods.contains(method)) {
                Fit::OtherMethod
            } else if self.is_declared(requirement) {
                Fit::Fits
            } else {
                Fit::OutOfScope
            };
            self.recorder.check(|| Check::of_requirement((source, index), requirement, fit, self.action));
            match (fit, lacking) {
                (Fit::Fits, _) => return None,
                (Fit::OutOfScope, _) => lacking = Undeclared::Scope,
                (Fit::OtherMethod, Undeclared::Capability) => lacking = Undeclared::Method,
                (Fit::OtherMethod, Undeclared::Method | Undeclared::Scope | Undeclared::Said)
                | (Fit::FitsPartly | Fit::OtherOrigin | Fit::OtherVersion | Fit::Expired | Fit::OutOfReach, _) => {}
            }
        }
        Some(lacking)
    }

    /// An extension cannot know the names of its own folders, so a declared scope need not name them.
    fn is_declared(&self, requirement: &Requirement) -> bool {
        let owned = |place| matches!(place, Place::Own | Place::Data | Place::Temporary);
        let target = &self.action.target;
        let mut locations = target.locations().peekable();
        requirement.scope.admits(target, &self.action.capability) != Admission::Refused
            || (locations.peek().is_some() && locations.all(|location| owned(location.place())))
    }

    fn grant(&mut self, entries: &'a [Arc<Entry>]) -> Option<Ruling> {
        let Action { capability, method, target, .. } = self.action;
        let mut spoken = 0;
        for entry in entries.iter().filter(|entry| entry.speaks_of(capability)) {
            spoken += 1;
            let admission = entry.scope.admits(target, capability);
            let fit = if !entry.admits_origin(self.action) {
                Fit::OtherOrigin
            } else if !entry.has_method(method) {
                Fit::OtherMethod
            } else if !entry.admits_version(self.action) {
                Fit::OtherVersion
            } else if entry.expires.is_some_and(|end| end <= self.request.now) {
                Fit::Expired
            } else {
                match admission {
                    Admission::Admitted => Fit::Fits,
                    Admission::Refused => Fit::OutOfScope,
                    Admission::Silent if target.is_within_reach(capability) => Fit::Fits,
                    Admission::Silent => Fit::OutOfReach,
                }
            };
            self.recorder.check(|| Check::of_entry(entry, fit, self.action, Purpose::Grant));
            if let Some(origin) = entry.origin.as_deref().filter(|_| fit == Fit::OtherOrigin) {
                self.recorder.passed_over(origin);
            }
            if fit == Fit::Fits {
                self.recorder.note(|| format!("{capability} is granted here"));
                let named = (admission == Admission::Admitted).then(|| Arc::clone(entry));
                return Some(Ruling::Allow { expires: entry.expires, entry: named, warning: None });
            }
        }
        self.recorder.note(|| match spoken {
            0 => format!("no grant of {capability} is written for it"),
            _ => "no grant fits".to_owned(),
        });
        None
    }

    fn default_deny(&mut self) -> Option<Ruling> {
        let Action { capability, target, .. } = self.action;
        if target.is_secret() {
            self.recorder.note(|| format!("{target} holds credentials"));
            return Some(Ruling::Deny(Reason::Secret));
        }
        if self.rules.default_denies.contains(capability) {
            self.recorder.note(|| format!("{capability} is denied by default"));
            return Some(Ruling::Deny(Reason::DeniedByDefault));
        }
        self.recorder.note(|| format!("{capability} is not denied by default"));
        None
    }

    fn default_capability(&mut self) -> Option<Ruling> {
        let Action { capability, target, .. } = self.action;
        if self.rules.mode == Mode::Strict {
            self.recorder.note(|| "strict has no default capabilities".to_owned());
            return None;
        }
        if !self.rules.default_capabilities.contains(capability) {
            self.recorder.note(|| format!("{capability} is not a default capability"));
            return None;
        }
        if !target.is_within_reach(capability) {
            self.recorder.note(|| format!("{capability} does not lead to {target} by default"));
            return None;
        }
        self.recorder.note(|| format!("{capability} is a default capability"));
        Some(Ruling::Allow { expires: None, entry: None, warning: None })
    }

    fn mode(&mut self) -> Ruling {
        let assessment = match &self.action.subject {
            Subject::Agent => None,
            Subject::Extension(_) => Some(self.assess()),
        };
        // Permissive is about what an extension may do here and on the public network. What this machine and its neighbours
        // serve, cloud metadata among it, is nobody's to give by a mode.
        let is_inside = matches!(&self.action.target, Target::Host(host) if !host.is_public());
        let mode = match self.rules.mode {
            Mode::Permissive if is_inside => Mode::Prompt,
            mode => mode,
        };
        let choice = assessment.map(|it| it.choice);
        let said = self.answers.about(self.action, self.request.now);
        self.recorder.note(|| why(mode, said, choice).to_owned());
        let allow = |expires, warning| Ruling::Allow { expires, entry: None, warning };
        match (mode, said) {
            (Mode::Strict, _) => Ruling::Deny(Reason::Strict),
            (Mode::Prompt | Mode::Permissive, Some(Said::No)) => Ruling::Deny(Reason::Refused),
            (Mode::Prompt, Some(Said::Yes(Term::Session))) => allow(None, None),
            (Mode::Prompt, Some(Said::Yes(Term::Until(end)))) => allow(Some(end), None),
            (Mode::Prompt, None) => match choice {
                Some(Choice::Grant) => allow(None, None),
                Some(Choice::Deny) | None => Ruling::Ask(assessment),
            },
            (Mode::Permissive, Some(Said::Yes(_)) | None) => allow(None, assessment),
        }
    }

    fn assess(&mut self) -> Assessment {
        let outside = !self.action.target.is_within_reach(&self.action.capability);
        let evidence = match outside {
            true => self.request.evidence.with(Feature::OutsideReach, 1.0),
            false => self.request.evidence,
        };
        let assessment = assess(&evidence);
        self.recorder.assessed(&assessment);
        assessment
    }
}

/// What the mode makes of an action that no rule decided.
fn why(mode: Mode, said: Option<Said>, choice: Option<Choice>) -> &'static str {
    match (mode, said, choice) {
        (Mode::Strict, _, _) => "strict denies what nothing allows",
        (Mode::Prompt | Mode::Permissive, Some(Said::No), _) => "a person said no in this session",
        (Mode::Prompt, Some(Said::Yes(_)), _) => "a person said yes in this session",
        (Mode::Prompt, None, Some(Choice::Grant)) => "granting is the smaller expected loss",
        (Mode::Prompt, None, Some(Choice::Deny)) => "denying is the smaller expected loss, so a person is asked",
        (Mode::Prompt, None, None) => "a person is asked",
        (Mode::Permissive, Some(Said::Yes(_)) | None, Some(Choice::Deny)) => {
            "permissive allows it with a warning, although denying is the smaller expected loss"
        }
        (Mode::Permissive, Some(Said::Yes(_)) | None, Some(Choice::Grant) | None) => {
            "permissive allows it with a warning"
        }
    }
}
