//! What people said in this session, so that nobody is asked the same thing twice.
//!
//! Pure data: the session owns it, hands it to [`Policy::with_answers`](crate::Policy::with_answers), and drops it when it
//! ends. Answers are heard only where the mode decides, so they never override a rule, and never lift `strict`.

use std::sync::Arc;

use crate::{
    grant::{Answer, Question},
    moment::Moment,
    request::Action,
    target::Target,
};

/// How far an answer reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breadth {
    /// This target through this method.
    Target,
    /// The capability. A yes leads as far as the capability does by itself, and to this target; a no is for all of it.
    Capability,
}

/// How long a yes holds. A no holds until the session ends: time alone never allows more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    Session,
    Until(Moment),
}

/// Everything that was answered for longer than one action.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    kept: Vec<Remembered>,
}

/// An answer that holds for longer than one action. Only [`Question::keep`] makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    action: Arc<Action>,
    breadth: Breadth,
    said: Said,
}

/// What was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Yes(Term),
    No,
}

impl Question {
    /// What to remember of an answer; nothing if nobody answered, or if the target could not be told from others.
    pub fn keep(&self, answer: Answer, breadth: Breadth, term: Term) -> Option<Remembered> {
        let said = match answer {
            Answer::Yes => Said::Yes(term),
            Answer::No => Said::No,
            Answer::Dismissed | Answer::Nobody => return None,
        };
        let action = self.shared_action();
        let kept = breadth == Breadth::Capability || is_distinct(&action.target);
        kept.then(|| Remembered { action: Arc::clone(action), breadth, said })
    }
}

impl Answers {
    /// The same with one more.
    #[must_use]
    pub fn with(mut self, answer: Remembered) -> Self {
        if !self.kept.contains(&answer) {
            self.kept.push(answer);
        }
        self
    }

    /// What was said about an action. One no outweighs every yes; of several that hold, the one that holds longest counts.
    pub(crate) fn about(&self, action: &Action, now: Moment) -> Option<Said> {
        let said = self.kept.iter().filter(|kept| kept.covers(action)).map(|kept| kept.said);
        said.fold(None, |found, said| match (found, said) {
            (Some(Said::No), _) | (_, Said::No) => Some(Said::No),
            (found, Said::Yes(Term::Until(end))) if end <= now => found,
            (Some(Said::Yes(Term::Session)), Said::Yes(_)) => found,
            (Some(Said::Yes(Term::Until(one))), Said::Yes(Term::Until(other))) => {
                Some(Said::Yes(Term::Until(one.max(other))))
            }
            (None | Some(Said::Yes(Term::Until(_))), Said::Yes(_)) => Some(said),
        })
    }
}

impl Remembered {
    fn covers(&self, action: &Action) -> bool {
        let asked = &*self.action;
        let same = asked.method == action.method && asked.target == action.target && is_distinct(&action.target);
        let reached = match (self.breadth, self.said) {
            (Breadth::Target, _) => same,
            (Breadth::Capability, Said::Yes(_)) => same || action.target.is_within_reach(&action.capability),
            (Breadth::Capability, Said::No) => true,
        };
        reached && asked.subject == action.subject && asked.capability == action.capability
    }
}

/// Whether an equal target is the same thing: a command also depends on what we did not read, its input included.
fn is_distinct(target: &Target) -> bool {
    match target {
        Target::Command(command) => command.is_distinct(),
        // Calls that name no target differ in what they ask for.
        Target::Nothing => false,
        Target::Path(_)
        | Target::Move { .. }
        | Target::Host(_)
        | Target::Variable(_)
        | Target::Environment
        | Target::Tool(_) => true,
    }
}
