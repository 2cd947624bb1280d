//! What a session has from files: what its model is told, what is allowed, and how it goes on by itself.
//!
//! It is given with the [`Blueprint`](crate::Blueprint) and can be given anew while the session runs, by whoever reads the
//! files: a session reads none of them itself.

use std::{fmt, sync::Arc, time::Duration};

use pi_envelope::SystemPart;
use pi_policy::Policy;
use tokio::sync::mpsc;

use crate::{cut, input::Composer, mailbox::Letter, models::scope::Scope, queue::Delivery, retry::RetrySettings};

/// What was read.
#[derive(Clone)]
pub struct Furnishing {
    /// Makes messages of what is typed: skills and templates.
    pub composer: Arc<Composer>,
    /// Everything that the model may be told beside the conversation.
    pub system: Arc<[SystemPart]>,
    pub policy: Arc<Policy>,
    pub habits: Habits,
    /// Which models are gone through.
    pub scope: Scope,
}

/// How a session goes on by itself. Whoever holds it may choose otherwise, until the files say something else than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Habits {
    pub retry: RetrySettings,
    pub compaction: cut::Settings,
    pub steering: Delivery,
    pub follow_up: Delivery,
    /// How long the first request waits for servers that are still starting.
    pub server_wait: Duration,
}

/// The way to give a session what was read anew. It does not keep the session alive.
#[derive(Debug, Clone)]
pub struct Furnisher(pub(crate) mpsc::WeakSender<Letter>);

impl Furnisher {
    /// Takes effect at the next turn and for what is typed next. A session that is gone needs nothing.
    pub async fn furnish(&self, furnishing: Furnishing) {
        if let Some(letters) = self.0.upgrade() {
            drop(letters.send(Letter::Furnished(Box::new(furnishing))).await);
        }
    }
}

impl fmt::Debug for Furnishing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Furnishing").field("habits", &self.habits).finish_non_exhaustive()
    }
}
