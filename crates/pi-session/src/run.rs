//! A run: from what somebody said to the model's last word, with everything that goes on in between.
//!
//! One task per run, beside the mailbox. It owns nothing of the conversation: what it needs it asks for at its
//! [`Desk`], and what happens it tells there. A run is a row of *attempts* (an answer that fails is tried again as a
//! whole), an attempt is a row of *turns*, a turn is one answer of the model and the calls in it.

pub(crate) mod aside;
pub(crate) mod bash;
mod calls;
pub(crate) mod compact;
pub(crate) mod desk;
pub(crate) mod hooks;
mod intercept;
mod navigate;
mod permission;
pub(crate) mod tools;
mod turn;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use pi_envelope::SystemPart;
use pi_exthost::{Guests, Questions, verdict::MessageVerdict};
use pi_extproto::hook::{
    Hook,
    event::payload::{BeforeAgentStartEvent, MessageEvent, TurnEndEvent},
};
use pi_policy::Moment;
use pi_provider::CallError;
use pi_redact::Redactor;
use pi_transcript::{AgentEvent, EntryId, Message, RequestId, SessionId, event::CompactionReason};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use self::{
    compact::{Compacted, Next},
    desk::{Desk, Gone},
    hooks::Position,
    turn::Turned,
};
use crate::{
    archive::Archive,
    draft::{self, Draft},
    file::Reader,
    models::Models,
    queue::{Saying, When},
    resources::assembly,
    retry::Fault,
};

/// What all runs of a session share.
pub(crate) struct Parts {
    pub(crate) session: SessionId,
    pub(crate) models: Models,
    pub(crate) guests: Arc<Guests>,
    pub(crate) questions: Questions,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) archive: Archive,
    /// Reads what is in the file and not held; a conversation without a file holds everything.
    pub(crate) reader: Option<Arc<Reader>>,
    /// Requests to models so far.
    pub(crate) requests: AtomicU64,
    pub(crate) now: fn() -> Moment,
}

/// How a run is stopped from outside.
#[derive(Debug, Clone)]
pub(crate) struct Signals {
    /// Ends the run.
    pub(crate) cancel: CancellationToken,
    /// Ends only the waiting for another try.
    pub(crate) give_up: CancellationToken,
}

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

pub(crate) struct Run {
    parts: Arc<Parts>,
    desk: Desk,
    cancel: CancellationToken,
    give_up: CancellationToken,
    /// The first entry that the current attempt appended.
    first: Option<EntryId>,
    /// Counted over the whole run, as extensions count.
    turns: u64,
    /// Which attempt at its first turn this is; later turns are attempted for the first time.
    attempt: u32,
    /// The system text of this run, where an extension replaced it.
    system: Option<Arc<[SystemPart]>>,
}

/// How an attempt ended.
enum Attempt {
    Done,
    Aborted,
    Failed(Trouble),
}

/// Why an answer is no good.
struct Trouble {
    fault: Fault,
    message: String,
    cause: Option<Cause>,
}

impl Cause {
    fn new(error: CallError) -> Self {
        Self(Arc::new(error))
    }

    pub fn error(&self) -> &CallError {
        &self.0
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Cause {}

impl Parts {
    /// A name that no other request of the session has, in this process or an earlier one.
    pub(crate) fn next_request(&self) -> RequestId {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let now = (self.now)().unix_millis();
        RequestId::from(format!("{}-{now:x}-{number}", self.session))
    }
}

impl Run {
    pub(crate) fn new(parts: Arc<Parts>, desk: Desk, signals: Signals) -> Self {
        let Signals { cancel, give_up } = signals;
        Self { parts, desk, cancel, give_up, first: None, turns: 0, attempt: 1, system: None }
    }

    /// Runs to the end. Cancelling ends it early and in order; dropping the future ends it at once.
    pub(crate) async fn go(mut self, opening: Vec<Saying>) -> Ending {
        let ending = self.attempts(opening).await;
        // A session that is gone has nobody left to be told.
        ending.unwrap_or(Ending::Aborted)
    }

    /// Compacts because somebody asked for it.
    pub(crate) async fn compact_by_hand(mut self, instructions: Option<String>) -> Compacted {
        let compacted = self.compact(CompactionReason::Manual, instructions.as_deref(), Next::Settle).await;
        // A session that is gone has nobody left to be told.
        compacted.unwrap_or(Compacted::Aborted)
    }

    async fn attempts(&mut self, opening: Vec<Saying>) -> Result<Ending, Gone> {
        self.compact_if_due().await?;
        let mut sayings = self.hear_start(opening).await?;
        let (mut tries, mut is_compacted) = (0u32, false);
        let ending = loop {
            let attempt = self.attempt(std::mem::take(&mut sayings)).await?;
            let trouble = match attempt {
                Attempt::Failed(trouble) => trouble,
                Attempt::Done | Attempt::Aborted => {
                    if tries > 0 {
                        let success = matches!(attempt, Attempt::Done);
                        self.tell(AgentEvent::AutoRetryEnd { success, attempt: tries.into(), final_error: None })
                            .await?;
                    }
                    break if matches!(attempt, Attempt::Done) { Ending::Done } else { Ending::Aborted };
                }
            };
            let plan = self.desk.plan().await?;
            let wait = match trouble.fault {
                Fault::Passing { wait } => wait,
                Fault::Overflow if !is_compacted => {
                    is_compacted = true;
                    match self.compact(CompactionReason::Overflow, None, Next::Retry).await? {
                        Compacted::Done(_) => continue,
                        Compacted::Aborted => break Ending::Aborted,
                        Compacted::Nothing | Compacted::Failed(_) => break self.give_up_trying(tries, trouble).await?,
                    }
                }
                Fault::Overflow | Fault::Lasting => break self.give_up_trying(tries, trouble).await?,
            };
            let Some(delay) = plan.retry.delay(tries + 1, wait) else {
                break self.give_up_trying(tries, trouble).await?;
            };
            tries += 1;
            self.attempt = tries + 1;
            if !self.wait_for_retry(tries, plan.retry.most, delay, &trouble.message).await? {
                break self.give_up_trying(tries, trouble).await?;
            }
        };
        if ending == Ending::Done {
            self.compact_if_due().await?;
        }
        self.tell(AgentEvent::AgentSettled { aborted: Some(ending == Ending::Aborted) }).await?;
        self.desk.durable().await?;
        Ok(ending)
    }

    /// Counts down to another try; says whether it is to be made.
    async fn wait_for_retry(&self, attempt: u32, most: u32, delay: Duration, message: &str) -> Result<bool, Gone> {
        self.tell(AgentEvent::AutoRetryStart {
            attempt: attempt.into(),
            max_attempts: most.into(),
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            error_message: message.to_owned(),
        })
        .await?;
        Ok(tokio::select! {
            biased;
            () = self.cancel.cancelled() => false,
            () = self.give_up.cancelled() => false,
            () = tokio::time::sleep(delay) => true,
        })
    }

    async fn give_up_trying(&self, tries: u32, trouble: Trouble) -> Result<Ending, Gone> {
        let Trouble { fault: _, message, cause } = trouble;
        if tries > 0 {
            let final_error = Some(message.clone());
            self.tell(AgentEvent::AutoRetryEnd { success: false, attempt: tries.into(), final_error }).await?;
        }
        Ok(if self.cancel.is_cancelled() { Ending::Aborted } else { Ending::Failed { message, cause } })
    }

    /// Turns until the model has nothing more to say and nobody else has either.
    async fn attempt(&mut self, opening: Vec<Saying>) -> Result<Attempt, Gone> {
        self.first = None;
        self.tell(AgentEvent::AgentStart).await?;
        let mut sayings = opening;
        let attempt = loop {
            self.tell(AgentEvent::TurnStart).await?;
            for saying in std::mem::take(&mut sayings) {
                self.say(saying).await?;
            }
            let turned = self.turn().await?;
            self.turns += 1;
            let goes_on = match turned {
                Turned::Aborted => break Attempt::Aborted,
                Turned::Failed(trouble) => break Attempt::Failed(trouble),
                Turned::Answered { goes_on } => goes_on,
            };
            if self.cancel.is_cancelled() {
                break Attempt::Aborted;
            }
            sayings = self.desk.due(When::Steer).await?;
            if !goes_on && sayings.is_empty() {
                sayings = self.desk.due(When::FollowUp).await?;
            }
            if !goes_on && sayings.is_empty() {
                break Attempt::Done;
            }
        };
        let messages = match self.first.clone() {
            Some(first) => self.desk.since(first).await?,
            None => Vec::new(),
        };
        self.tell(AgentEvent::AgentEnd { messages, will_retry: None }).await?;
        Ok(attempt)
    }

    /// Lets extensions add to what a run begins with.
    async fn hear_start(&mut self, mut opening: Vec<Saying>) -> Result<Vec<Saying>, Gone> {
        if !self.parts.guests.listens(Hook::BeforeAgentStart) {
            return Ok(opening);
        }
        let prompt = opening.first().map(Saying::text).unwrap_or_default();
        let system = self.desk.plan().await?.system;
        let event = || BeforeAgentStartEvent {
            prompt,
            images: None,
            system_prompt: system.iter().map(SystemPart::sent).collect(),
            system_prompt_options: None,
            message_type: None,
        };
        let verdict = self.parts.guests.before_agent_start(event, &self.cancel).await;
        let now = self.now().unix_millis();
        opening.extend(verdict.messages.into_iter().map(|(by, said)| Saying::new(draft::custom(&by, said, now))));
        let replaced = verdict.system_prompt;
        // What the extension left alone keeps its origin.
        self.system = replaced.map(|(by, text)| assembly::replace(system.to_vec(), &text, by.as_str()).into());
        Ok(opening)
    }

    /// Says something that is not the model's.
    async fn say(&mut self, saying: Saying) -> Result<(), Gone> {
        let Saying { message, spans } = saying;
        self.tell(AgentEvent::MessageStart { message: message.clone() }).await?;
        let message = self.finish_message(message).await;
        let draft = Draft::of_message(message.clone(), spans);
        self.append(Vec::new(), vec![draft], vec![AgentEvent::MessageEnd { message }]).await
    }

    /// Lets extensions put another message of the same role in the place of a complete one.
    async fn finish_message(&self, message: Message) -> Message {
        let event = || MessageEvent { message: to_value(&message) };
        // A message that was broken off is complete as well.
        match self.parts.guests.message_end(event, &CancellationToken::new()).await {
            MessageVerdict::Keep => message,
            MessageVerdict::Replaced { by: _, message } => *message,
        }
    }

    async fn end_turn(&self, message: Message, results: Vec<Message>) -> Result<bool, Gone> {
        let event = || TurnEndEvent {
            turn_index: self.turns,
            message: to_value(&message),
            tool_results: results.iter().map(to_value).collect(),
            message_entry_id: None,
            tool_result_entry_ids: None,
            outcome: None,
            entries: None,
            resume: None,
            context: None,
        };
        // The end of a turn is heard after an abort as well.
        let verdict = self.parts.guests.turn_end(event, &CancellationToken::new()).await;
        self.desk.tell(AgentEvent::TurnEnd { message, tool_results: results }).await?;
        self.desk.durable().await?;
        Ok(verdict.resume == Some(true))
    }

    /// Tells of something: extensions first, then everybody.
    async fn tell(&self, event: AgentEvent) -> Result<(), Gone> {
        self.hear(&event).await;
        self.desk.tell(event).await
    }

    /// Lets extensions hear of something that everybody is told of in a moment.
    async fn hear(&self, event: &AgentEvent) {
        let position = Position { turn: self.turns, now: self.now().unix_millis() };
        hooks::notice(&self.parts.guests, event, position, &self.cancel).await;
    }

    async fn append(
        &mut self,
        before: Vec<AgentEvent>,
        drafts: Vec<Draft>,
        after: Vec<AgentEvent>,
    ) -> Result<(), Gone> {
        let ids = self.desk.append(before, drafts, after).await?;
        self.first = self.first.take().or_else(|| ids.into_iter().next());
        Ok(())
    }

    fn now(&self) -> Moment {
        (self.parts.now)()
    }
}

fn to_value(message: &Message) -> Value {
    serde_json::to_value(message).expect("a message is JSON")
}
