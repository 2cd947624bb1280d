//! How a run, or a part of it, ended, and why.

use std::{sync::Arc, time::Duration};

use pi_provider::CallError;

use crate::retry::Fault;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The model had nothing more to say.
    Done,
    /// Somebody stopped it.
    Aborted,
    /// The model could not be asked, or not to the end.
    Failed {
        message: String,
        /// The call that failed, if it was one.
        cause: Option<Cause>,
    },
}

/// The error of a call to a model, shared by everybody who waits for the run. Two are the same if they are one.
#[derive(Debug, Clone)]
pub struct Cause(Arc<CallError>);

/// How an attempt ended.
pub(super) enum Attempt {
    Done,
    Aborted,
    Failed(Trouble),
}

/// What trying again came to.
pub(super) enum Retried {
    Helped,
    InVain {
        error: Option<String>,
    },
    /// Somebody did not wait for the last one.
    Unmade {
        error: Option<String>,
    },
}

/// Why an answer is no good.
pub(super) struct Trouble {
    pub(super) fault: Fault,
    pub(super) message: String,
    pub(super) cause: Option<Cause>,
}

impl Trouble {
    /// The same with what else there is to say.
    pub(super) fn with(self, words: &str) -> Self {
        Self { message: format!("{}: {words}", self.message), ..self }
    }
}

impl Cause {
    pub(super) fn new(error: CallError) -> Self {
        Self(Arc::new(error))
    }

    pub fn error(&self) -> &CallError {
        &self.0
    }

    /// How long the provider is not asked any more, if that is why: it failed too often.
    pub fn recovery(&self) -> Option<Duration> {
        if let CallError::CircuitOpen { retry_in, .. } = &*self.0 { Some(*retry_in) } else { None }
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Cause {}
