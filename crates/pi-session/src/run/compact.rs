//! Makes room: the older part of a conversation becomes a summary.

use std::sync::Arc;

use pi_envelope::{Origin, Prompt, Provenance, Purpose, Said, SystemPart, SystemText};
use pi_exthost::verdict::CompactionVerdict;
use pi_extproto::hook::{
    Hook,
    event::{
        Event,
        payload::{self, CompactionPreparation, OtherEvent, SessionBeforeCompactEvent, SessionCompactEvent},
    },
};
use pi_provider::{Attempts, Options};
use pi_transcript::{
    AgentEvent, Block, EntryId, Message, StopReason, Usage,
    event::{CompactionReason, CompactionResult},
    json::Open,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Run,
    desk::{Gone, Terms},
    inquiry::{Inquiry, Reply},
    to_value,
    turn::words,
};
use crate::{
    cut::{self, Cut, Keep},
    draft::{Author, Draft},
    retry::{Fault, LeftAlone},
    tree::Kept,
};

/// What a person can do where a prompt does not fit and nothing before it can be made shorter.
const NOTHING_TO_COMPACT: &str = include_str!("too-long.txt");
/// The same where that was done already.
pub(super) const STILL_TOO_LONG: &str = include_str!("still-too-long.txt");

/// What follows a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Settle,
    /// The turn that did not fit is made again.
    Retry,
}

/// What came of a compaction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Compacted {
    Done(Box<CompactionResult>),
    /// There was nothing to summarise.
    Nothing,
    /// Somebody stopped it, or an extension objected.
    Aborted,
    /// The model was to write it, and is not asked now.
    LeftAlone(LeftAlone),
    Failed(String),
}

/// Why a compaction is made, with what wishes, and what follows it.
#[derive(Clone, Copy)]
struct Occasion<'a> {
    reason: CompactionReason,
    instructions: Option<&'a str>,
    next: Next,
}

/// A summary, and who wrote it.
struct Summary {
    text: String,
    keep: Keep,
    tokens_before: u64,
    details: Option<Value>,
    by: Author,
}

/// Why there is no summary.
pub(super) enum NoSummary {
    Aborted,
    LeftAlone(LeftAlone),
    Failed(String),
}

impl Run {
    /// Compacts if the conversation leaves too little of the model's window free.
    pub(super) async fn compact_if_due(&mut self) -> Result<(), Gone> {
        let terms = self.desk.terms().await?;
        let path = self.desk.path().await?;
        if terms.compaction.is_due(cut::context_tokens(&path), terms.choice.model().context_window) {
            self.compact(CompactionReason::Threshold, None, Next::Settle).await?;
        }
        Ok(())
    }

    /// Compacts and tells of it.
    pub(super) async fn compact(
        &mut self,
        reason: CompactionReason,
        instructions: Option<&str>,
        next: Next,
    ) -> Result<Compacted, Gone> {
        let terms = self.desk.terms().await?;
        let path = self.desk.path().await?;
        let window = terms.choice.model().context_window;
        let cut = match next {
            Next::Settle => cut::prepare(&path, &terms.compaction, window),
            Next::Retry => cut::prepare_to_retry(&path, &terms.compaction, window),
        };
        let cut = match (cut, next) {
            (None, Next::Settle) => return Ok(Compacted::Nothing),
            (cut, _) => cut,
        };
        let leave_whole = Arc::clone(&self.leave_whole);
        // Before anybody is told of it: whoever hears it may end it.
        let mut left = std::pin::pin!(leave_whole.notified());
        self.tell(AgentEvent::AutoCompactionStart { reason: Open::Known(reason) }).await?;
        let compacted = match cut {
            None => Compacted::Failed(NOTHING_TO_COMPACT.trim_end().to_owned()),
            Some(cut) => {
                let occasion = Occasion { reason, instructions, next };
                let found = tokio::select! {
                    found = self.find_summary(&terms, &path, cut, occasion) => found,
                    () = &mut left => Err(NoSummary::Aborted),
                };
                match found {
                    Ok(summary) => self.write_compaction(summary, heard(reason), next).await?,
                    Err(NoSummary::Aborted) => Compacted::Aborted,
                    Err(NoSummary::LeftAlone(left)) => Compacted::LeftAlone(left),
                    Err(NoSummary::Failed(message)) => Compacted::Failed(message),
                }
            }
        };
        self.hear_failure(&compacted, reason, next).await;
        let (result, error_message) = match &compacted {
            Compacted::Done(result) => (Some(result.clone()), None),
            Compacted::Nothing | Compacted::Aborted => (None, None),
            Compacted::LeftAlone(left) => (None, Some(left.to_string())),
            Compacted::Failed(message) => (None, Some(message.clone())),
        };
        self.tell(AgentEvent::AutoCompactionEnd {
            reason: Some(Open::Known(reason)),
            will_retry: next == Next::Retry && result.is_some(),
            result,
            aborted: compacted == Compacted::Aborted,
            error_message,
        })
        .await?;
        self.desk.durable().await?;
        Ok(compacted)
    }

    /// Lets extensions hear that nothing came of it; an abort is heard as well.
    async fn hear_failure(&self, compacted: &Compacted, reason: CompactionReason, next: Next) {
        let error = match compacted {
            Compacted::Failed(message) => Some(message.clone()),
            Compacted::LeftAlone(left) => Some(left.to_string()),
            Compacted::Aborted => None,
            Compacted::Done(_) | Compacted::Nothing => return,
        };
        let event = || {
            let members = [
                ("reason", json!(heard(reason))),
                ("willRetry", json!(next == Next::Retry)),
                ("aborted", json!(error.is_none())),
                ("errorMessage", json!(error)),
            ];
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            let data = members.map(|(name, value)| (name.to_owned(), value)).collect();
            Event::Other(OtherEvent { name: Hook::SessionCompactFailed.as_str().to_owned(), data: Some(data) })
        };
        self.parts.guests.notice(Hook::SessionCompactFailed, event, &CancellationToken::new()).await;
    }

    /// Takes an extension's summary, or asks the model for one.
    async fn find_summary(
        &mut self,
        terms: &Terms,
        path: &[Arc<Kept>],
        cut: Cut,
        occasion: Occasion<'_>,
    ) -> Result<Summary, NoSummary> {
        let Occasion { reason, instructions, next } = occasion;
        let entries = path.iter().map(|kept| serde_json::to_value(kept.to_entry()).expect("an entry is JSON"));
        let event = || SessionBeforeCompactEvent {
            preparation: preparation(&cut, terms),
            branch_entries: entries.collect(),
            custom_instructions: instructions.map(str::to_owned),
            reason: Some(heard(reason)),
            will_retry: Some(next == Next::Retry),
        };
        match self.parts.guests.before_compact(event, &self.cancel).await {
            CompactionVerdict::Cancelled { .. } => Err(NoSummary::Aborted),
            CompactionVerdict::Replaced { by: _, summary } => Ok(Summary {
                text: summary.summary,
                keep: Keep::From(summary.first_kept_entry_id),
                tokens_before: summary.tokens_before,
                details: summary.details,
                by: Author::Extension,
            }),
            CompactionVerdict::Proceed => {
                // One that a run needs waits like the run itself.
                if reason == CompactionReason::Manual {
                    self.parts.refuse(&terms.choice).map_err(NoSummary::LeftAlone)?;
                }
                self.summarise(terms, cut, instructions).await
            }
        }
    }

    async fn write_compaction(
        &mut self,
        summary: Summary,
        reason: payload::CompactionReason,
        next: Next,
    ) -> Result<Compacted, Gone> {
        let Summary { text, keep, tokens_before, details, by } = summary;
        let from_extension = by == Author::Extension;
        let usage = match &by {
            Author::Model(usage) => Some(Usage::clone(usage)),
            Author::Extension => None,
        };
        let draft = Draft::Compaction {
            summary: text.clone(),
            keep: keep.clone(),
            tokens_before,
            details: details.clone(),
            by,
        };
        let id = self.desk.append(Vec::new(), vec![draft], Vec::new()).await?.into_iter().next();
        let own = id.unwrap_or_else(|| EntryId::from(""));
        let event = || {
            let entry = json!({ "type": "compaction", "id": own, "summary": text, "tokensBefore": tokens_before });
            Event::SessionCompact(SessionCompactEvent {
                compaction_entry: entry,
                from_extension,
                reason: Some(reason),
                will_retry: Some(next == Next::Retry),
            })
        };
        self.parts.guests.notice(Hook::SessionCompact, event, &self.cancel).await;
        let first_kept_entry_id = match keep {
            Keep::From(id) => id,
            Keep::Nothing => own,
        };
        let after = self.desk.path().await?;
        Ok(Compacted::Done(Box::new(CompactionResult {
            summary: text,
            first_kept_entry_id,
            tokens_before,
            details,
            estimated_tokens_after: Some(cut::context_tokens(&after)),
            usage,
        })))
    }

    async fn summarise(&mut self, terms: &Terms, cut: Cut, instructions: Option<&str>) -> Result<Summary, NoSummary> {
        let mut usage = Usage::default();
        let mut answers = [None, None];
        let questions = [cut.history(&terms.compaction, instructions), cut.beginning(&terms.compaction)];
        for (question, answer) in questions.into_iter().zip(&mut answers) {
            if let Some(asked) = question {
                let (text, used) = self.ask_aside(terms, asked, Purpose::Compaction).await?;
                usage.add(&used);
                *answer = Some(text);
            }
        }
        let [history, beginning] = &answers;
        Ok(Summary {
            text: cut.summary(history.as_deref(), beginning.as_deref()),
            tokens_before: cut.tokens_before,
            details: Some(cut.files.details()),
            keep: cut.keep,
            by: Author::Model(Box::new(usage)),
        })
    }

    /// Asks the model something beside the conversation, again if that may help.
    pub(super) async fn ask_aside(
        &mut self,
        terms: &Terms,
        asked: cut::Asked,
        purpose: Purpose,
    ) -> Result<(String, Usage), NoSummary> {
        let prompt = Arc::new(Prompt {
            tools: Vec::new(),
            system: vec![SystemPart {
                id: "summary".to_owned(),
                provenance: Provenance::usual(Origin::BuiltIn),
                text: SystemText::Instructions { text: asked.system.to_owned() },
            }],
            messages: vec![Said::new(
                EntryId::from("summary"),
                Message::user(asked.text.as_str(), self.now().unix_millis()),
                Provenance::usual(Origin::BuiltIn),
            )],
        });
        let window = terms.choice.model().max_tokens.max(1);
        let mut options = Options::plain();
        options.parameters.insert("max_tokens".to_owned(), asked.most_tokens.min(window).into());
        let mut tries = 0;
        loop {
            options.attempts = Attempts::Caller { attempt: tries + 1 };
            let (error, fault) = match self.hear_aside(terms, &prompt, &options, purpose).await {
                Ok(answer) => return Ok(answer),
                Err(_) if self.cancel.is_cancelled() => return Err(NoSummary::Aborted),
                Err(refused) => refused,
            };
            let wait = match fault {
                Fault::Passing { wait } => wait,
                Fault::Overflow | Fault::Lasting => return Err(NoSummary::Failed(error)),
            };
            tries += 1;
            let Some(delay) = terms.retry.delay(tries, wait) else { return Err(NoSummary::Failed(error)) };
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(NoSummary::Aborted),
                () = tokio::time::sleep(delay) => {}
            }
        }
    }

    async fn hear_aside(
        &mut self,
        terms: &Terms,
        prompt: &Arc<Prompt>,
        options: &Options,
        purpose: Purpose,
    ) -> Result<(String, Usage), (String, Fault)> {
        let inquiry = Inquiry { choice: &terms.choice, prompt, options, purpose, steps: None, cancel: &self.cancel };
        let asked = inquiry.ask(&self.parts).await;
        let Reply { message, usage, fault } = asked.map_err(|error| (words(&error), Fault::of_call(&error)))?;
        let text: String = message.content.iter().filter_map(Block::as_text).collect();
        match (message.stop_reason, fault) {
            (_, Some(fault)) => Err((message.error_message.unwrap_or_default(), fault)),
            (Open::Known(StopReason::Stop | StopReason::Length), None) if !text.trim().is_empty() => {
                Ok((text, usage.unwrap_or_default()))
            }
            (_, None) => Err(("the model gave no summary".to_owned(), Fault::Lasting)),
        }
    }
}

fn preparation(cut: &Cut, terms: &Terms) -> CompactionPreparation {
    let values = |messages: &[crate::context::Spoken]| messages.iter().map(|(_, message)| to_value(message)).collect();
    CompactionPreparation {
        first_kept_entry_id: match &cut.keep {
            Keep::From(id) => id.clone(),
            Keep::Nothing => EntryId::from(""),
        },
        messages_to_summarize: values(&cut.history),
        turn_prefix_messages: values(&cut.beginning),
        is_split_turn: !cut.beginning.is_empty(),
        tokens_before: cut.tokens_before,
        previous_summary: cut.previous_summary.clone(),
        file_ops: Some(cut.files.details()),
        settings: Some(json!({
            "enabled": terms.compaction.enabled,
            "reserveTokens": terms.compaction.reserve_tokens,
            "keepRecentTokens": terms.compaction.keep_recent_tokens,
        })),
    }
}

fn heard(reason: CompactionReason) -> payload::CompactionReason {
    match reason {
        CompactionReason::Manual => payload::CompactionReason::Manual,
        CompactionReason::Threshold => payload::CompactionReason::Threshold,
        CompactionReason::Overflow => payload::CompactionReason::Overflow,
    }
}
