//! One question to a model beside the conversation, from the prompt to the last word.

use std::sync::Arc;

use pi_envelope::{Prompt, meta};
use pi_provider::{
    CallError, Options,
    assembly::{Assembly, End},
};
use pi_transcript::{AssistantMessageEvent, Usage, json::Loose, message::AssistantMessage};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Parts, turn::words};
use crate::{
    archive::{Counted, Shown},
    models::Choice,
    retry::Fault,
};

/// Who is asked, and what.
pub(super) struct Inquiry<'a> {
    pub(super) choice: &'a Choice,
    pub(super) prompt: &'a Arc<Prompt>,
    pub(super) options: &'a Options,
    pub(super) purpose: meta::Purpose,
    /// Where the answer goes while it comes.
    pub(super) steps: Option<&'a mpsc::Sender<AssistantMessageEvent>>,
    pub(super) cancel: &'a CancellationToken,
}

/// What came of it.
pub(super) struct Reply {
    /// As much of it as there is.
    pub(super) message: AssistantMessage,
    pub(super) usage: Option<Usage>,
    /// Why it is not a good answer.
    pub(super) fault: Option<Fault>,
}

impl Inquiry<'_> {
    /// Asks and hears the answer to its end. What the model is shown is kept like any other prompt. An error means that
    /// nothing was answered.
    pub(super) async fn ask(self, parts: &Parts) -> Result<Reply, CallError> {
        let id = parts.next_request().to_string();
        let time = (parts.now)().unix_millis();
        let (provider, model) = (self.choice.provider().clone(), self.choice.id().into());
        let request = meta::Request { id: id.clone(), provider, model, time, purpose: self.purpose };
        parts.archive.show(Shown { prompt: Arc::clone(self.prompt), request, entry: None }).await;
        let mut assembly = Assembly::new(self.choice.asked(self.options.thinking, time));
        let mut answer = parts.ask(self.choice, self.prompt, self.options, None, self.cancel).await?;
        let (mut grown, mut end, mut fault) = (Vec::new(), End::Proper, None);
        while let Some(event) = answer.next().await {
            match event {
                Ok(event) => assembly.push(event, &mut grown),
                Err(CallError::Cancelled) => end = End::Aborted,
                Err(error) => {
                    fault = Some(Fault::of_call(&error));
                    end = End::Broken(words(&error));
                }
            }
            self.tell(&mut grown).await;
        }
        fault = assembly.failure().map(Fault::of_failure).or(fault);
        let message = assembly.finish(end, &mut grown);
        self.tell(&mut grown).await;
        let usage = match &message.usage {
            Loose::Known(usage) => Some(usage.clone()),
            Loose::Other(_) => None,
        };
        parts.archive.count(Counted { request: id, usage: usage.clone(), replaced: None });
        Ok(Reply { message, usage, fault })
    }

    /// Hands steps to whoever wants them; one that has gone away wants none.
    async fn tell(&self, grown: &mut Vec<AssistantMessageEvent>) {
        let Some(steps) = self.steps else { return grown.clear() };
        for step in grown.drain(..) {
            if steps.send(step).await.is_err() {
                break;
            }
        }
    }
}
