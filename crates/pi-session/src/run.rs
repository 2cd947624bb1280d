//! A run: from what somebody said to the model's last word, with everything that goes on in between.
//!
//! One task per run, beside the mailbox. It owns nothing of the conversation: what it needs it asks for at its
//! [`Desk`], and what happens it tells there. A run is a row of *attempts* (an answer that fails is tried again as a
//! whole), an attempt is a row of *turns*, a turn is one answer of the model and the calls in it.

mod answering;
pub(crate) mod aside;
pub(crate) mod bash;
mod blocked;
mod calls;
pub(crate) mod compact;
mod context;
pub(crate) mod desk;
mod ending;
mod foreign;
pub(crate) mod hooks;
mod inquiry;
mod intercept;
mod navigate;
mod parts;
mod permission;
mod servers;
pub(crate) mod tools;
mod turn;
pub(crate) mod variables;

use std::{sync::Arc, time::Duration};

use pi_envelope::SystemPart;
use pi_exthost::{
    GuestId,
    verdict::{MessageVerdict, TurnVerdict},
};
use pi_extproto::{
    Object,
    hook::{
        Hook,
        event::payload::{AgentBeforeSettleEvent, BeforeAgentStartEvent, MessageEvent, TurnEndEvent},
    },
};
use pi_policy::Moment;
use pi_transcript::{AgentEvent, EntryId, Message, event::CompactionReason};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub use self::ending::{Cause, Ending};
pub(crate) use self::parts::Parts;
use self::{
    answering::Hand,
    compact::{Compacted, Next, STILL_TOO_LONG},
    desk::{Desk, Gone, Terms},
    ending::{Attempt, Retried, Trouble},
    hooks::Position,
    turn::Turned,
};
use crate::{
    draft::{self, Draft},
    queue::{Saying, When},
    resources::assembly,
    retry::Fault,
};

/// How a run is stopped from outside.
#[derive(Debug, Clone)]
pub(crate) struct Signals {
    /// Ends the run.
    pub(crate) cancel: CancellationToken,
    /// Ends only the waiting for another try.
    pub(crate) give_up: CancellationToken,
    /// Ends only a compaction that is being made.
    pub(crate) leave_whole: Arc<Notify>,
}

pub(crate) struct Run {
    parts: Arc<Parts>,
    desk: Desk,
    cancel: CancellationToken,
    give_up: CancellationToken,
    leave_whole: Arc<Notify>,
    /// The first entry that the current attempt appended.
    first: Option<EntryId>,
    /// Counted over the whole run, as extensions count.
    turns: u64,
    /// How often in a row a turn was tried again and has no good answer yet.
    tries: u32,
    /// The system text of this run, where an extension replaced it.
    system: Option<Arc<[SystemPart]>>,
}

/// A message that is in the file, and the entry that it is in.
struct Written {
    id: EntryId,
    message: Message,
}

impl Run {
    pub(crate) fn new(parts: Arc<Parts>, desk: Desk, signals: Signals) -> Self {
        let Signals { cancel, give_up, leave_whole } = signals;
        Self { parts, desk, cancel, give_up, leave_whole, first: None, turns: 0, tries: 0, system: None }
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
        let ending = loop {
            let ending = self.try_to_the_end(std::mem::take(&mut sayings)).await?;
            if ending != Ending::Done {
                break ending;
            }
            self.compact_if_due().await?;
            if !self.hear_settling().await? {
                break ending;
            }
        };
        self.tell(AgentEvent::AgentSettled { aborted: Some(ending == Ending::Aborted) }).await?;
        self.desk.durable().await?;
        Ok(ending)
    }

    /// Attempts until one ends well or none will.
    async fn try_to_the_end(&mut self, mut sayings: Vec<Saying>) -> Result<Ending, Gone> {
        let mut is_compacted = false;
        let ending = loop {
            let attempt = self.attempt(std::mem::take(&mut sayings)).await?;
            let trouble = match attempt {
                Attempt::Failed(trouble) => trouble,
                Attempt::Done => break Ending::Done,
                Attempt::Aborted => {
                    self.end_retry(Retried::InVain { error: None }).await?;
                    break Ending::Aborted;
                }
            };
            let terms = self.desk.terms().await?;
            let wait = match trouble.fault {
                Fault::Passing { wait } => wait,
                Fault::Overflow if !is_compacted => {
                    is_compacted = true;
                    match self.compact(CompactionReason::Overflow, None, Next::Retry).await? {
                        Compacted::Done(_) => continue,
                        Compacted::Aborted => break Ending::Aborted,
                        Compacted::Nothing => break self.give_up_trying(trouble).await?,
                        Compacted::LeftAlone(left) => {
                            break self.give_up_trying(trouble.with(&left.to_string())).await?;
                        }
                        Compacted::Failed(why) => break self.give_up_trying(trouble.with(&why)).await?,
                    }
                }
                Fault::Overflow => break self.give_up_trying(trouble.with(STILL_TOO_LONG.trim_end())).await?,
                Fault::Lasting => break self.give_up_trying(trouble).await?,
            };
            let Some(delay) = terms.retry.delay(self.tries + 1, wait) else {
                break self.give_up_trying(trouble).await?;
            };
            self.tries += 1;
            if !self.wait_for_retry(terms.retry.most(wait), delay, &trouble.message).await? {
                // The try that was waited for is not made.
                let error = Some(trouble.message.clone());
                self.end_retry(Retried::Unmade { error }).await?;
                break self.give_up_trying(trouble).await?;
            }
        };
        Ok(ending)
    }

    /// Lets extensions add something before nothing goes on any more; says whether the model is to go on.
    async fn hear_settling(&mut self) -> Result<bool, Gone> {
        let event = || AgentBeforeSettleEvent { entries: Vec::new(), resume: false, context: None };
        let TurnVerdict { entries, resume } = self.parts.guests.before_settle(event, &self.cancel).await;
        self.add_entries(Hook::AgentBeforeSettle, entries).await?;
        Ok(resume == Some(true) && !self.cancel.is_cancelled())
    }

    /// Adds what extensions hand over at the end of a turn or of a run. What cannot be read is reported.
    async fn add_entries(&mut self, hook: Hook, entries: Vec<(GuestId, Object)>) -> Result<(), Gone> {
        let mut drafts = Vec::new();
        for (by, entry) in entries {
            match Draft::of_guest(&by, entry) {
                Ok(draft) => drafts.push(draft),
                Err(problem) => self.parts.guests.object(&by, hook, problem),
            }
        }
        if !drafts.is_empty() {
            self.append(Vec::new(), drafts, Vec::new()).await?;
        }
        Ok(())
    }

    /// Counts down to another try; says whether it is to be made.
    async fn wait_for_retry(&self, most: u32, delay: Duration, message: &str) -> Result<bool, Gone> {
        self.tell(AgentEvent::AutoRetryStart {
            attempt: self.tries.into(),
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

    /// Tells what trying again came to, if anything was; the next failure is a first one.
    async fn end_retry(&mut self, retried: Retried) -> Result<(), Gone> {
        let tries = match std::mem::take(&mut self.tries) {
            0 => return Ok(()),
            tries => tries,
        };
        let (success, made, final_error) = match retried {
            Retried::Helped => (true, tries, None),
            Retried::InVain { error } => (false, tries, error),
            Retried::Unmade { error } => (false, tries - 1, error),
        };
        self.tell(AgentEvent::AutoRetryEnd { success, attempt: made.into(), final_error }).await
    }

    async fn give_up_trying(&mut self, trouble: Trouble) -> Result<Ending, Gone> {
        let Trouble { fault: _, message, cause } = trouble;
        self.end_retry(Retried::InVain { error: Some(message.clone()) }).await?;
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
            Box::pin(self.wait_for_servers()).await?;
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
        let will_retry = Some(self.will_retry(&attempt).await?);
        self.tell(AgentEvent::AgentEnd { messages, will_retry }).await?;
        Ok(attempt)
    }

    /// Whether another try follows on its own. What follows a compaction is told at the end of that.
    async fn will_retry(&self, attempt: &Attempt) -> Result<bool, Gone> {
        match attempt {
            Attempt::Failed(Trouble { fault: Fault::Passing { wait }, .. }) => {
                Ok(self.desk.terms().await?.retry.delay(self.tries + 1, *wait).is_some())
            }
            Attempt::Failed(Trouble { fault: Fault::Overflow | Fault::Lasting, .. })
            | Attempt::Done
            | Attempt::Aborted => Ok(false),
        }
    }

    /// Lets extensions add to what a run begins with.
    async fn hear_start(&mut self, mut opening: Vec<Saying>) -> Result<Vec<Saying>, Gone> {
        if !self.parts.guests.listens(Hook::BeforeAgentStart) {
            return Ok(opening);
        }
        let prompt = opening.first().map(Saying::text).unwrap_or_default();
        let Terms { system, tools, .. } = self.desk.terms().await?;
        let event = || BeforeAgentStartEvent {
            prompt,
            images: None,
            system_prompt: system.iter().map(SystemPart::sent).collect(),
            system_prompt_options: Some(assembly::options(&system, &tools)),
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
        let Saying { message, spans, typed: _ } = saying;
        self.tell(AgentEvent::MessageStart { message: message.clone() }).await?;
        let (message, _) = self.finish_message(message).await;
        let draft = Draft::of_message(message.clone(), spans);
        self.append(Vec::new(), vec![draft], vec![AgentEvent::MessageEnd { message }]).await.map(drop)
    }

    /// Writes a message down and tells that it is complete.
    async fn write(&mut self, steps: Vec<AgentEvent>, message: Message) -> Result<Written, Gone> {
        let end = vec![AgentEvent::MessageEnd { message: message.clone() }];
        let ids = self.append(steps, vec![Draft::message(message.clone())], end).await?;
        let id = ids.into_iter().next().ok_or(Gone)?;
        Ok(Written { id, message })
    }

    /// Lets extensions put another message of the same role in the place of a complete one. Tells which calls in it they put in
    /// or changed.
    async fn finish_message(&self, message: Message) -> (Message, Vec<Hand>) {
        let event = || MessageEvent { message: to_value(&message) };
        // A message that was broken off is complete as well.
        match self.parts.guests.message_end(event, &CancellationToken::new()).await {
            MessageVerdict::Keep => (message, Vec::new()),
            MessageVerdict::Replaced { by: _, message, calls } => {
                (*message, calls.into_iter().map(|(guest, call)| Hand { guest, call: call.id }).collect())
            }
        }
    }

    /// Ends a turn; says whether an extension wants the model to go on.
    async fn end_turn(&mut self, message: Written, results: Vec<Written>) -> Result<bool, Gone> {
        let event = || TurnEndEvent {
            turn_index: self.turns,
            message: to_value(&message.message),
            tool_results: results.iter().map(|result| to_value(&result.message)).collect(),
            message_entry_id: Some(message.id.clone()),
            tool_result_entry_ids: Some(results.iter().map(|result| result.id.clone()).collect()),
            outcome: None,
            entries: None,
            resume: None,
            context: None,
        };
        // The end of a turn is heard after an abort as well.
        let TurnVerdict { entries, resume } = self.parts.guests.turn_end(event, &CancellationToken::new()).await;
        let tool_results = results.into_iter().map(|result| result.message).collect();
        self.desk.tell(AgentEvent::TurnEnd { message: message.message, tool_results }).await?;
        self.add_entries(Hook::TurnEnd, entries).await?;
        self.desk.durable().await?;
        Ok(resume == Some(true))
    }

    /// Tells of something: extensions first, then everybody.
    async fn tell(&self, event: AgentEvent) -> Result<(), Gone> {
        self.parts.brake.wait(&self.cancel).await;
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
    ) -> Result<Vec<EntryId>, Gone> {
        let ids = self.desk.append(before, drafts, after).await?;
        self.first = self.first.take().or_else(|| ids.first().cloned());
        Ok(ids)
    }

    fn now(&self) -> Moment {
        (self.parts.now)()
    }
}

fn to_value(message: &Message) -> Value {
    serde_json::to_value(message).expect("a message is JSON")
}
