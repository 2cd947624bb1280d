//! What nothing else may go on beside: a run, a compaction, a way through the tree. There is one at a time.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use pi_transcript::event::CompactionResult;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Letter, Mailbox, answer};
use crate::{
    queue::{Saying, When},
    run::{Ending, Run, Signals, compact::Compacted, desk::Desk},
    session::{CompactError, Journey, NavigateError, PromptError, Prompted, Went},
};

/// Whoever waits for what becomes of a prompt.
pub(super) type Prompter = oneshot::Sender<Result<Prompted, PromptError>>;

/// The job that is in flight.
pub(crate) struct Running {
    signals: Signals,
    /// Told how it ends.
    waiting: Vec<Prompter>,
    /// Whether listeners have heard of its end, which it may still make durable.
    has_told_end: bool,
}

impl Running {
    pub(super) fn has_told_end(&self) -> bool {
        self.has_told_end
    }

    pub(super) fn note_told_end(&mut self) {
        self.has_told_end = true;
    }

    pub(super) fn cancel(&self) {
        self.signals.cancel.cancel();
    }

    /// Ends only the waiting for another try.
    pub(super) fn give_up(&self) {
        self.signals.give_up.cancel();
    }

    /// Ends only a compaction that is being made.
    pub(super) fn leave_whole(&self) {
        self.signals.leave_whole.notify_waiters();
    }

    /// Told when it is over.
    pub(super) fn ended(&mut self) -> oneshot::Receiver<Result<Prompted, PromptError>> {
        let (ended, end) = oneshot::channel();
        self.waiting.push(ended);
        end
    }
}

impl Mailbox {
    /// Begins a run with what somebody said.
    pub(super) fn start_run(&mut self, opening: Vec<Saying>, reply: Option<Prompter>) {
        // An extension may have begun it, and then nobody has said a word before the model does.
        self.scribe.begin();
        self.start_job(reply, |run| async move { run.go(opening).await });
    }

    /// Compacts, unless a run is in flight.
    pub(super) fn compact(
        &mut self,
        instructions: Option<String>,
        reply: oneshot::Sender<Result<CompactionResult, CompactError>>,
    ) {
        if self.running.is_some() {
            return answer(reply, Err(CompactError::Busy));
        }
        self.start_job(None, |run| async move {
            let compacted = run.compact_by_hand(instructions).await;
            let is_aborted = compacted == Compacted::Aborted;
            answer(reply, compacted.into());
            if is_aborted { Ending::Aborted } else { Ending::Done }
        });
    }

    pub(super) fn navigate(&mut self, journey: Journey, reply: oneshot::Sender<Result<Went, NavigateError>>) {
        if self.running.is_some() {
            return answer(reply, Err(NavigateError::Busy));
        }
        self.start_job(None, |run| async move {
            let went = run.navigate(journey).await;
            let is_aborted = matches!(went, Err(NavigateError::Aborted));
            answer(reply, went);
            if is_aborted { Ending::Aborted } else { Ending::Done }
        });
    }

    /// Begins something that nothing else may go on beside. Its task belongs to the session, which waits for its last
    /// letter before it ends.
    fn start_job<F: Future<Output = Ending> + Send + 'static>(
        &mut self,
        reply: Option<Prompter>,
        job: impl FnOnce(Run) -> F,
    ) {
        // Whoever waits is told by the reply that is dropped.
        let Some(letters) = self.letters.upgrade().filter(|_| !self.is_closing) else { return };
        let cancel = CancellationToken::new();
        let signals = Signals { give_up: cancel.child_token(), cancel, leave_whole: Arc::default() };
        let job = job(Run::new(Arc::clone(&self.parts), Desk::new(letters.clone()), signals.clone()));
        tokio::spawn(async move {
            // Whoever waits must hear of the end, whatever happens to the run.
            let ending = AssertUnwindSafe(job).catch_unwind().await.unwrap_or_else(|_| {
                tracing::error!("a run ended in a panic");
                let message = "something in pi itself broke; the conversation is kept".to_owned();
                Ending::Failed { message, cause: None }
            });
            // A session that is gone has nobody left to be told.
            drop(letters.send(Letter::Ended(Box::new(ending))).await);
        });
        self.running = Some(Running { signals, waiting: reply.into_iter().collect(), has_told_end: false });
    }

    pub(super) fn end_run(&mut self, ending: &Ending) {
        let Some(running) = self.running.take() else { return };
        self.say_what_ran();
        self.queues.settle();
        for waiting in running.waiting {
            answer(waiting, Ok(Prompted::Ran(ending.clone())));
        }
        if !self.queues.is_empty() && *ending == Ending::Done && !self.is_closing {
            // It came after the run had looked for the last time.
            let when = if self.queues.waiting().steering.is_empty() { When::FollowUp } else { When::Steer };
            let due = self.due(when);
            self.start_run(due, None);
        }
        // What was said stands in the conversation now, and waits no more.
        self.keep_queues_aside();
        self.look_whether_idle();
    }
}
