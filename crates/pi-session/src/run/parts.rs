//! What all runs of a session share: whom they ask, whom they tell, and where things are kept.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use pi_envelope::Prompt;
use pi_exthost::{Drawings, Guests, Questions};
use pi_policy::Moment;
use pi_provider::{
    Call, CallError, Options,
    client::{Answer, Interceptor},
};
use pi_redact::Redactor;
use pi_tools::ShellWatch;
use pi_transcript::{RequestId, SessionId};
use tokio_util::sync::CancellationToken;

use super::foreign::GuestStream;
use crate::{
    archive::Archive,
    file::Reader,
    finished::Notebook,
    herald::Brake,
    models::{Choice, Models},
    queue::slate::Slate,
    retry::{LeftAlone, Patience},
};

/// What all runs of a session share.
pub(crate) struct Parts {
    pub(crate) session: SessionId,
    pub(crate) models: Models,
    pub(crate) guests: Arc<Guests>,
    pub(crate) questions: Questions,
    pub(crate) drawings: Drawings,
    pub(crate) redactor: Arc<Redactor>,
    /// Held while somebody reads every event and is far behind.
    pub(crate) brake: Brake,
    pub(crate) archive: Archive,
    /// Where results are until they stand in the file.
    pub(crate) notebook: Notebook,
    /// Where a server writes down what waits to be said.
    pub(crate) slate: Option<Arc<Slate>>,
    /// Reads what is in the file and not held; a conversation without a file holds everything.
    pub(crate) reader: Option<Arc<Reader>>,
    /// Whether servers that were starting were waited for.
    pub(crate) has_waited: AtomicBool,
    /// Requests to models so far.
    pub(crate) requests: AtomicU64,
    pub(crate) now: fn() -> Moment,
    /// Who watches over the shell commands of models.
    pub(crate) shell: Option<Arc<dyn ShellWatch>>,
    /// Whether what is asked of a provider that is left alone waits for it.
    pub(crate) patience: Patience,
}

impl Parts {
    /// A name that no other request of the session has, in this process or an earlier one.
    pub(crate) fn next_request(&self) -> RequestId {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let now = (self.now)().unix_millis();
        RequestId::from(format!("{}-{now:x}-{number}", self.session))
    }

    /// Why nothing new may be asked of a model now. What is refused for it is counted.
    pub(crate) fn refuse(&self, choice: &Choice) -> Result<(), LeftAlone> {
        if self.patience == Patience::Waits || choice.extension().is_some() {
            return Ok(());
        }
        let provider = choice.provider().clone();
        match self.models.client().breakers().refuse(&provider) {
            Some(wait) => Err(LeftAlone { provider, wait }),
            None => Ok(()),
        }
    }

    /// Asks a model, over the network or through the extension that brings it. Cancelling the token, or dropping the future
    /// or the answer, ends the call.
    pub(crate) async fn ask(
        &self,
        choice: &Choice,
        prompt: &Prompt,
        options: &Options,
        interceptor: Option<Arc<dyn Interceptor>>,
        cancel: &CancellationToken,
    ) -> Result<Answer, CallError> {
        match choice.extension() {
            None => self.models.ask(choice, prompt, options, interceptor, cancel).await,
            Some(guest) => {
                let foreign = GuestStream::new(self, choice, guest);
                self.models.ask_foreign(choice, &foreign, Call { prompt, options }, cancel).await
            }
        }
    }
}
