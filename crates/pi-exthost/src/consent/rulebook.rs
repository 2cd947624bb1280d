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
    file: Option<GrantsFile>,
    /// A lock and no task: every call looks here, and it is held for a copy of a pointer.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What the person's own settings say.
    base: Policy,
    /// What the project takes away.
    project: Option<config::Settings>,
    policy: Arc<Policy>,
    stamp: Option<Stamp>,
    /// How often it was put together anew. Who read the disk for one that is not in force any more reads it again.
    revision: u64,
    looked: Moment,
}

/// A policy that was put together from what the disk said, to take the place of the one that was in force then.
struct Draft {
    base: Policy,
    project: Option<config::Settings>,
    policy: Policy,
    stamp: Option<Stamp>,
    instead_of: u64,
}

/// Another policy came into force meanwhile.
struct Outdated;

impl Rulebook {
    /// Settings alone; answers hold for the session, and nothing is remembered.
    pub fn new(base: Policy) -> Self {
        let policy = Arc::new(base.clone());
        Self::of(Shared { file: None, state: Mutex::new(State::of(base, policy)) })
    }

    /// With decisions that are remembered in a file, and with what a project takes away. A file that cannot be understood
    /// is refused: it may have been meant to forbid something. Looks at the disk.
    pub fn open(base: Policy, project: Option<&config::Settings>, file: GrantsFile) -> Result<Self, GrantsFault> {
        let given = Arc::new(base.clone());
        let state = Mutex::new(State::of(base, Arc::clone(&given)));
        let book = Self::of(Shared { file: Some(file), state });
        book.amend(&given, project)?;
        Ok(book)
    }

    fn of(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    /// Other settings of person and project count from here on; answers, and what is remembered, stay. Looks at the disk.
    pub(crate) fn amend(&self, base: &Policy, project: Option<&config::Settings>) -> Result<(), GrantsFault> {
        loop {
            let revision = self.shared.state().revision;
            let draft = self.shared.draft(base.clone(), project.cloned(), revision)?;
            if self.shared.enact(draft).is_ok() {
                return Ok(());
            }
        }
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
            Lasting::Grants { grants, now } => Change::Allow { grants, now },
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

    /// Whether it is the one that was last seen under its name, or nobody was. Looks at the disk.
    pub(crate) fn knows(&self, identity: &Identity) -> bool {
        let Some(file) = &self.shared.file else { return true };
        let seen = SeenFile::beside(file).read();
        seen.get(identity.id.as_str()).is_none_or(|seen| seen.origin.as_ref() == identity.origins.first())
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
        Self { base, project: None, policy, stamp: None, revision: 0, looked: Moment::from_unix_millis(0) }
    }
}

impl Shared {
    fn refresh(&self) -> bool {
        let Some(file) = &self.file else { return false };
        loop {
            let stamp = file.stamp();
            let (base, project, revision) = {
                let state = self.state();
                if stamp == state.stamp {
                    return false;
                }
                (state.base.clone(), state.project.clone(), state.revision)
            };
            match self.draft(base, project, revision).map(|draft| self.enact(draft)) {
                Ok(Ok(())) => return true,
                Ok(Err(Outdated)) => {}
                Err(fault) => {
                    tracing::warn!(%fault, "what was decided about extensions cannot be read; the last reading counts");
                    self.state().stamp = stamp;
                    return false;
                }
            }
        }
    }

    /// Reads what is remembered, and puts it together with settings and with what a project takes away.
    fn draft(&self, base: Policy, project: Option<config::Settings>, instead_of: u64) -> Result<Draft, GrantsFault> {
        let (remembered, stamp) = match &self.file {
            Some(file) => file.load()?,
            None => (config::Settings::default(), None),
        };
        let invalid = |invalid: config::Invalid| GrantsFault::Invalid { problems: invalid.problems };
        let mut policy = base.with_remembered(&remembered).map_err(invalid)?.value;
        if let Some(project) = &project {
            policy = policy.restrict_by(project).map_err(invalid)?.value;
        }
        Ok(Draft { base, project, policy, stamp, instead_of })
    }

    /// Puts a policy into force, with the answers that were heard until now, unless another came into force since the disk
    /// was read: whichever of the two was put together from older rules would take rules of the other away.
    fn enact(&self, Draft { base, project, policy, stamp, instead_of }: Draft) -> Result<(), Outdated> {
        let mut state = self.state();
        if state.revision != instead_of {
            return Err(Outdated);
        }
        let answers = state.policy.answers().clone();
        state.policy = Arc::new(policy.with_answers(answers));
        (state.base, state.project, state.stamp) = (base, project, stamp);
        state.revision += 1;
        Ok(())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A decision that outlives the session.
pub(crate) enum Lasting {
    /// Given now.
    Grants {
        grants: Vec<GrantEntry>,
        now: Moment,
    },
    Deny(DenyEntry),
}

#[cfg(test)]
mod tests {
    use pi_extproto::capability::Capability;

    use super::*;

    fn settings(memory: u64) -> Policy {
        let text = format!(r#"{{"extensions":{{"policy":{{"max_memory_mb":{memory}}}}}}}"#);
        let parsed = config::parse(text.as_bytes()).expect("settings");
        parsed.value.resolve().expect("a policy").value
    }

    #[test]
    fn look_at_the_disk_that_took_long_takes_no_rules_away() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = GrantsFile::in_folder(folder.path());
        let book = Rulebook::open(settings(1), None, file.clone()).expect("a book");
        let deny = DenyEntry { capability: Capability::Exec, methods: None, scope: None, versions: None };
        file.change("guard", Change::Deny(deny)).expect("a decision");

        let revision = book.shared.state().revision;
        let slow = book.shared.draft(settings(1), None, revision).expect("a look");
        book.amend(&settings(2), None).expect("other settings");
        assert!(book.shared.enact(slow).is_err(), "it was put together from the settings before");
        assert_eq!(book.policy().max_memory_mb(), 2);

        let revision = book.shared.state().revision;
        let slow = book.shared.draft(settings(3), None, revision).expect("a look");
        file.change("guard", Change::Forget(Capability::Exec)).expect("a decision");
        assert!(book.shared.refresh(), "the file is another one");
        assert!(book.shared.enact(slow).is_err(), "it was put together from the decisions before");
    }
}
