//! The policy in force for the guests of a session.

use std::sync::{Arc, Mutex, PoisonError};

use pi_policy::{
    Moment, Policy, Remembered,
    config::{self, DenyEntry, GrantEntry},
};

use super::{
    grants::{Change, GrantsFault, GrantsFile, Stamp},
    seen::{Seen, SeenFile},
};
use crate::launcher::Identity;

/// A decision that somebody wrote elsewhere is noticed after so many milliseconds at the latest.
const GLANCE: u64 = 1000;

/// Settings, remembered decisions and answers, put together. A project takes away from all of them and adds nothing.
///
/// Deciding reads memory only; whoever wants to know what others have written meanwhile waits for the disk.
#[derive(Debug)]
pub struct Rulebook {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    project: Option<config::Settings>,
    file: Option<GrantsFile>,
    /// A lock and no task: every call looks here, and it is held for a copy of a pointer.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What the person's own settings say.
    base: Policy,
    policy: Arc<Policy>,
    stamp: Option<Stamp>,
    looked: Moment,
}

impl Rulebook {
    /// Settings alone; answers hold for the session, and nothing is remembered.
    pub fn new(base: Policy) -> Self {
        let policy = Arc::new(base.clone());
        Self::of(Shared { project: None, file: None, state: Mutex::new(State::of(base, policy)) })
    }

    /// With decisions that are remembered in a file, and with what a project takes away. A file that cannot be understood
    /// is refused: it may have been meant to forbid something. Looks at the disk.
    pub fn open(base: Policy, project: Option<config::Settings>, file: GrantsFile) -> Result<Self, GrantsFault> {
        let policy = Arc::new(base.clone());
        let state = Mutex::new(State::of(base.clone(), policy));
        let book = Self::of(Shared { project, file: Some(file), state });
        book.amend(base)?;
        Ok(book)
    }

    fn of(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    /// Other settings count from here on; answers, and what is remembered, stay. Looks at the disk.
    pub(crate) fn amend(&self, base: Policy) -> Result<(), GrantsFault> {
        let (policy, stamp) = self.shared.compile(&base)?;
        let mut state = self.shared.state();
        let answers = state.policy.answers().clone();
        state.policy = Arc::new(policy.with_answers(answers));
        (state.base, state.stamp) = (base, stamp);
        Ok(())
    }

    /// The policy as it was last read.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.shared.state().policy)
    }

    /// Looks now and then whether somebody changed what is remembered.
    pub(crate) async fn glance(&self, now: Moment) {
        let is_due = {
            let mut state = self.shared.state();
            let is_due = now.unix_millis().saturating_sub(state.looked.unix_millis()) >= GLANCE;
            if is_due {
                state.looked = now;
            }
            is_due
        };
        if is_due {
            self.refresh().await;
        }
    }

    /// Looks whether somebody changed what is remembered; answers whether somebody did. Dropping the future does not stop the
    /// look.
    pub(crate) async fn refresh(&self) -> bool {
        if self.shared.file.is_none() {
            return false;
        }
        let shared = Arc::clone(&self.shared);
        off_thread(move || shared.refresh()).await.unwrap_or(false)
    }

    /// Hears an answer that holds for the session.
    pub(crate) fn hear(&self, answer: Remembered) {
        let mut state = self.shared.state();
        let policy = Policy::clone(&state.policy).with_answer(answer);
        state.policy = Arc::new(policy);
    }

    /// Writes down a decision for good. Answers whether there is a place for it. Dropping the future does not stop the
    /// writing.
    pub(crate) async fn remember(&self, guest: &str, decision: Lasting) -> Result<bool, GrantsFault> {
        let Some(file) = self.shared.file.clone() else { return Ok(false) };
        let change = match decision {
            Lasting::Grants(grants) => Change::Allow(grants),
            Lasting::Deny(deny) => Change::Deny(deny),
        };
        let (shared, guest) = (Arc::clone(&self.shared), guest.to_owned());
        let written = off_thread(move || {
            file.change(&guest, change)?;
            shared.refresh();
            Ok(true)
        });
        written.await.unwrap_or(Ok(false))
    }

    /// Remembers who was there, so that decisions by name are about them. Looks at the disk.
    pub(crate) fn saw(&self, identity: &Identity) {
        let Some(file) = &self.shared.file else { return };
        let name = identity.id.as_str();
        if let Err(error) = SeenFile::beside(file).record(name, &Seen::from(identity)) {
            // Decisions can be made all the same; whoever makes one is told that nobody was seen.
            tracing::warn!(%error, extension = name, "that an extension was here is not remembered");
        }
    }
}

/// Disks and locks take as long as they do. Nothing if the work broke off, which is told.
async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Some(done),
        Err(broken) => {
            tracing::warn!(%broken, "what is decided about extensions could not be looked at");
            None
        }
    }
}

impl State {
    fn of(base: Policy, policy: Arc<Policy>) -> Self {
        Self { base, policy, stamp: None, looked: Moment::from_unix_millis(0) }
    }
}

impl Shared {
    fn refresh(&self) -> bool {
        let Some(file) = &self.file else { return false };
        if file.stamp() == self.state().stamp {
            return false;
        }
        let base = self.state().base.clone();
        match self.compile(&base) {
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

    fn compile(&self, base: &Policy) -> Result<(Policy, Option<Stamp>), GrantsFault> {
        let (remembered, stamp) = match &self.file {
            Some(file) => file.load()?,
            None => (config::Settings::default(), None),
        };
        let invalid = |invalid: config::Invalid| GrantsFault::Invalid { problems: invalid.problems };
        let mut policy = base.with_remembered(&remembered).map_err(invalid)?.value;
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
