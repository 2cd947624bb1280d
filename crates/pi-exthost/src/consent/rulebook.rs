//! The policy in force for the guests of a session.

use std::sync::{Arc, Mutex, PoisonError};

use pi_policy::{
    Moment, Policy, Remembered,
    config::{self, DenyEntry, GrantEntry},
};

use super::grants::{Change, GrantsFault, GrantsFile, Stamp};

/// A decision that somebody wrote elsewhere is noticed after so many milliseconds at the latest.
const GLANCE: u64 = 1000;

/// Settings, remembered decisions and answers, put together. A project takes away from all of them and adds nothing.
#[derive(Debug)]
pub struct Rulebook {
    /// What the person's own settings say.
    base: Policy,
    project: Option<config::Settings>,
    file: Option<GrantsFile>,
    /// A lock and no task: every call looks here, and it is held for a copy of a pointer.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    policy: Arc<Policy>,
    stamp: Option<Stamp>,
    looked: Moment,
}

impl Rulebook {
    /// Settings alone; answers hold for the session, and nothing is remembered.
    pub fn new(base: Policy) -> Self {
        let state = State { policy: Arc::new(base.clone()), stamp: None, looked: Moment::from_unix_millis(0) };
        Self { base, project: None, file: None, state: Mutex::new(state) }
    }

    /// With decisions that are remembered in a file, and with what a project takes away. A file that cannot be understood
    /// is refused: it may have been meant to forbid something. Looks at the disk.
    pub fn open(base: Policy, project: Option<config::Settings>, file: GrantsFile) -> Result<Self, GrantsFault> {
        let mut book = Self { project, file: Some(file), ..Self::new(base) };
        let (policy, stamp) = book.compile()?;
        let state = State { policy: Arc::new(policy), stamp, looked: Moment::from_unix_millis(0) };
        book.state = Mutex::new(state);
        Ok(book)
    }

    /// The policy as it stands. Now and then looks whether somebody changed what is remembered.
    pub(crate) fn policy(&self, now: Moment) -> Arc<Policy> {
        let is_due = {
            let mut state = self.state();
            let is_due = now.unix_millis().saturating_sub(state.looked.unix_millis()) >= GLANCE;
            if is_due {
                state.looked = now;
            }
            is_due
        };
        if is_due {
            self.refresh();
        }
        Arc::clone(&self.state().policy)
    }

    /// Looks whether somebody changed what is remembered; answers whether somebody did.
    pub(crate) fn refresh(&self) -> bool {
        let Some(file) = &self.file else { return false };
        if file.stamp() == self.state().stamp {
            return false;
        }
        match self.compile() {
            Ok((policy, stamp)) => {
                let mut state = self.state();
                let answers = state.policy.answers().clone();
                state.policy = Arc::new(policy.with_answers(answers));
                state.stamp = stamp;
                true
            }
            Err(fault) => {
                tracing::warn!(%fault, "what was decided about extensions cannot be read; the last reading counts");
                self.state().stamp = file.stamp();
                false
            }
        }
    }

    /// Hears an answer that holds for the session.
    pub(crate) fn hear(&self, answer: Remembered) {
        let mut state = self.state();
        let policy = Policy::clone(&state.policy).with_answer(answer);
        state.policy = Arc::new(policy);
    }

    /// Writes down a decision for good. Answers whether there is a place for it.
    pub(crate) fn remember(&self, guest: &str, decision: Lasting) -> Result<bool, GrantsFault> {
        let Some(file) = &self.file else { return Ok(false) };
        let change = match decision {
            Lasting::Grants(grants) => Change::Allow(grants),
            Lasting::Deny(deny) => Change::Deny(deny),
        };
        file.change(guest, change)?;
        self.refresh();
        Ok(true)
    }

    fn compile(&self) -> Result<(Policy, Option<Stamp>), GrantsFault> {
        let (remembered, stamp) = match &self.file {
            Some(file) => file.load()?,
            None => (config::Settings::default(), None),
        };
        let invalid = |invalid: config::Invalid| GrantsFault::Invalid { problems: invalid.problems };
        let mut policy = self.base.with_remembered(&remembered).map_err(invalid)?.value;
        if let Some(project) = &self.project {
            policy = policy.restrict_by(project).map_err(invalid)?.value;
        }
        Ok((policy, stamp))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A decision that outlives the session.
pub(crate) enum Lasting {
    Grants(Vec<GrantEntry>),
    Deny(DenyEntry),
}
