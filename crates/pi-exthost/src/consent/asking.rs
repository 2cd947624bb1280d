//! Asks a person what no rule decides: once per capability, whoever and however many want to know.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::Mutex as Turn;

use pi_extproto::capability::Capability;
use pi_policy::{
    Answer, Breadth, Moment, Question, Term,
    config::{DenyEntry, GrantEntry},
};
use pi_transcript::{
    ToolCallId,
    question::{self, Approval, Asked},
};

use super::{
    rulebook::{Lasting, Rulebook},
    wording,
};
use crate::port::{Conversation, Settled};

/// A person who did not answer is left in peace for so long.
const PEACE: Duration = Duration::from_secs(300);
/// How long a yes holds that is to be remembered.
const LASTING: Duration = Duration::from_secs(30 * 24 * 3600);

const ONCE: &str = "Yes, this once";
const NO: &str = "No, not in this session";
const NEVER: &str = "Never";

/// How much of where an extension comes from is shown: the end says which one it is.
const MOST: usize = 80;

/// The questions of one guest about what it may do.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    /// A lock and no task: it is held for a look-up.
    gates: Mutex<HashMap<Capability, Arc<Gate>>>,
}

/// One capability: whoever holds the turn may ask about it.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub(crate) turn: Turn<()>,
    /// A lock and no task: it is held for an assignment.
    silence: Mutex<Option<(Answer, Moment)>>,
}

impl Gates {
    pub(crate) fn of(&self, capability: &Capability) -> Arc<Gate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(gates.entry(capability.clone()).or_default())
    }
}

impl Gate {
    /// What came of asking not long ago, if it was not an answer.
    pub(crate) fn silence(&self, now: Moment) -> Option<Answer> {
        let silence = *self.silence.lock().unwrap_or_else(PoisonError::into_inner);
        silence.filter(|(_, until)| now < *until).map(|(answer, _)| answer)
    }

    fn fell_silent(&self, answer: Answer, now: Moment) {
        let until = later(now, PEACE);
        *self.silence.lock().unwrap_or_else(PoisonError::into_inner) = Some((answer, until));
    }
}

/// Who wants something, for the person who is asked.
pub(crate) struct Petitioner<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    /// Where it comes from, as a grant for it names it.
    pub(crate) origin: Option<&'a str>,
    /// The call of its tool that waits for the answer.
    pub(crate) call: Option<&'a ToolCallId>,
}

/// Puts the question before a person, and remembers the answer as the person wants it. Call it with the turn of the gate.
pub(crate) async fn ask(
    question: &Question,
    petitioner: &Petitioner<'_>,
    gate: &Gate,
    conversation: &Conversation,
    rulebook: &Rulebook,
    now: Moment,
) -> Answer {
    let has_person = conversation.state().await.is_ok_and(|state| state.mode.has_ui());
    if !has_person {
        return Answer::Nobody;
    }
    let capability = question.action().capability.clone();
    let (session, lasting) = (format!("Yes, {capability} for this session"), format!("Yes, {capability} for 30 days"));
    let asked = question::Question::Select {
        title: title(question, petitioner),
        // Whoever presses enter without reading has allowed nothing.
        options: [NO, ONCE, &session, &lasting, NEVER].map(str::to_owned).to_vec(),
        timeout: None,
    };
    let asked = Asked::try_from(asked).expect("five different options can be asked for");
    let approval = Approval {
        extension_id: Some(petitioner.name.to_owned()),
        origin: petitioner.origin.map(ending),
        tool_call_id: petitioner.call.cloned(),
        ..wording::approval(question)
    };
    let settled = conversation.ask_approval(approval, asked).await;
    let chosen = match settled {
        Ok(Settled::Answered(question::Answer::Select { value })) => value,
        Ok(Settled::Answered(_)) => NO.to_owned(),
        Ok(Settled::Dismissed | Settled::Cancelled) => return silent(gate, Answer::Dismissed, now),
        Ok(Settled::TimedOut) => return silent(gate, Answer::Nobody, now),
        Err(refusal) => {
            tracing::debug!(%refusal, "nobody could be asked");
            return Answer::Nobody;
        }
    };
    let keep = |answer| question.keep(answer, Breadth::Capability, Term::Session).map(|kept| rulebook.hear(kept));
    match chosen.as_str() {
        ONCE => Answer::Yes,
        NEVER => {
            keep(Answer::No);
            let deny = DenyEntry { capability, methods: None, scope: None, versions: None };
            write_down(rulebook, petitioner, Lasting::Deny(deny)).await;
            Answer::No
        }
        chosen if chosen == session => {
            keep(Answer::Yes);
            Answer::Yes
        }
        chosen if chosen == lasting => {
            keep(Answer::Yes);
            write_down(rulebook, petitioner, Lasting::Grants { grants: grants(question, petitioner, now), now }).await;
            Answer::Yes
        }
        _ => {
            keep(Answer::No);
            Answer::No
        }
    }
}

/// Who asks for what, on a line each. The words of whoever asks cannot begin a line of their own.
fn title(question: &Question, petitioner: &Petitioner<'_>) -> String {
    let wanted = format!("Extension {} asks for {}", petitioner.name, wording::wanted(question));
    match petitioner.origin {
        Some(origin) => format!("{wanted}\nIt comes from {}", ending(origin)),
        None => wanted,
    }
}

fn ending(origin: &str) -> String {
    let letters: Vec<char> =
        origin.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect();
    match letters.len().checked_sub(MOST) {
        None | Some(0) => letters.into_iter().collect(),
        Some(surplus) => std::iter::once('…').chain(letters.into_iter().skip(surplus)).collect(),
    }
}

fn silent(gate: &Gate, answer: Answer, now: Moment) -> Answer {
    gate.fell_silent(answer, now);
    answer
}

/// The capability as far as it leads by itself, and what was asked for in particular.
fn grants(question: &Question, petitioner: &Petitioner<'_>, now: Moment) -> Vec<GrantEntry> {
    let bounded = |entry: GrantEntry| GrantEntry {
        // An update within the same line of versions need not ask again; another one has to.
        versions: semver_range(petitioner.version),
        expires: Some(later(now, LASTING).to_string()),
        origin: petitioner.origin.map(str::to_owned),
        ..entry
    };
    let capability = question.action().capability.clone();
    let whole = GrantEntry { capability, methods: None, scope: None, versions: None, expires: None, origin: None };
    let named = question.remember().filter(|entry| entry.scope.is_some());
    std::iter::once(whole).chain(named).map(bounded).collect()
}

/// `^1.2.3` for a version that is one; without it a grant holds for every version.
fn semver_range(version: &str) -> Option<String> {
    let numbers = version.split(['-', '+']).next().unwrap_or(version);
    let is_version = numbers.split('.').count() == 3 && numbers.split('.').all(|part| part.parse::<u64>().is_ok());
    is_version.then(|| format!("^{version}"))
}

async fn write_down(rulebook: &Rulebook, petitioner: &Petitioner<'_>, decision: Lasting) {
    match rulebook.remember(petitioner.name, decision).await {
        Ok(_) => {}
        // It holds for the session all the same.
        Err(fault) => tracing::warn!(%fault, extension = petitioner.name, "a decision was not remembered"),
    }
}

fn later(now: Moment, by: Duration) -> Moment {
    Moment::from_unix_millis(now.unix_millis().saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)))
}
