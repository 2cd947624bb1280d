//! What the events of a manifest mean: the second half of the way from a frame to a [`StreamEvent`].
//!
//! Rules may say the same thing twice, in other words, or in an order of their own. What is a fact (usage, the end, that a
//! call has begun) is therefore said once; what is a piece (text, arguments) is handed on as often as it comes.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{
    Classifier,
    call::{CallPiece, OpenCalls},
    finish::FinishWords,
    rule::{Found, Kind, Match, Role},
    usage::{Counts, UsagePaths},
};
use crate::{
    event::{Finish, StreamEvent, Termination, TokenUsage, UNKNOWN_USAGE},
    path::tree::{Scalar, Tree},
    tape::View,
};

/// Nobody asks for more answers at once; what is beyond counts as the last of them.
const MOST_CANDIDATES: u32 = 128;

/// What is known of the answer so far.
pub(super) struct Interpreter {
    calls: OpenCalls,
    candidates: Vec<Candidate>,
    counts: Counts,
    /// As it was last told.
    usage: TokenUsage,
    /// That a usage is not known was told.
    wondered: bool,
    response_id: Option<String>,
    model: Option<String>,
    /// The number of the frame that is read, from 1.
    frame: u64,
    /// The frame is all that there is.
    is_whole: bool,
    pub(super) ended: bool,
    pub(super) failed: bool,
}

/// How far the answer was before a frame.
pub(super) struct Standing {
    /// Candidates with a reason for their end.
    finished: usize,
    usage: TokenUsage,
}

#[derive(Debug, Clone, Default)]
struct Candidate {
    called: bool,
    /// What it says is why it says nothing else.
    refused: bool,
    /// Why it ended, as far as is known: some servers write a reason into every frame.
    finish: Option<Finish>,
    /// The frame in which the reason stood, and the place among the events where it is told if nothing else was said there.
    finished_in: u64,
    place: usize,
    /// That this is the reason was told.
    is_told: bool,
    /// The last frame that said something; 0 if none has.
    spoke_in: u64,
    /// It has gone on behind a reason, so that its reasons are no ends.
    goes_on: bool,
    text: Told,
    thoughts: Told,
    calls: Told,
}

/// How something has been said so far. Some servers say everything twice, in pieces and then as a whole, and some only as a
/// whole: what repeats counts where nothing else was said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Told {
    #[default]
    Nothing,
    Pieces,
    /// One whole item after the other.
    Items,
    /// All of them at once, at the end.
    Answer,
}

/// What does not change during a stream.
#[derive(Clone, Copy)]
pub(super) struct Knowledge<'k> {
    pub(super) finish: &'k FinishWords,
    pub(super) usage: &'k UsagePaths,
    pub(super) classify: &'k Classifier,
}

impl Interpreter {
    pub(super) fn new(random: fastrand::Rng) -> Self {
        Self {
            calls: OpenCalls::new(random),
            candidates: Vec::new(),
            counts: Counts::default(),
            usage: TokenUsage::default(),
            wondered: false,
            response_id: None,
            model: None,
            frame: 0,
            is_whole: false,
            ended: false,
            failed: false,
        }
    }

    /// Reads an answer that is one frame: what stands in it is all, and is told in its order.
    pub(super) fn read_whole(&mut self) {
        self.is_whole = true;
    }

    pub(super) fn begin_frame(&mut self) {
        self.frame += 1;
    }

    /// Tells the reasons for the end behind which nothing was said. One that came with a text waits for the next frame, or for
    /// the end: text may follow it. `from` is the place where the events of this frame begin.
    pub(super) fn end_frame(&mut self, from: usize, out: &mut Vec<StreamEvent>) {
        for number in (0..self.candidates.len()).rev() {
            let candidate = &self.candidates[number];
            if candidate.is_told || candidate.finish.is_none() || candidate.spoke_in == self.frame {
                continue;
            }
            let place = if candidate.finished_in == self.frame { candidate.place } else { from };
            let mut told = Vec::new();
            self.tell(number, &mut told);
            out.splice(place..place, told);
        }
    }

    pub(super) fn apply(&mut self, event: Match<'_, '_>, knowledge: Knowledge<'_>, out: &mut Vec<StreamEvent>) {
        match event.kind() {
            Kind::Content => self.content(event, out),
            Kind::Thinking => self.thinking(event, out),
            Kind::CallStarted | Kind::CallPiece => self.call(event, out),
            Kind::CallEnded => {
                let id = call_id(event);
                self.calls.end(candidate(event), event.number(Role::Index), id.as_deref(), out);
            }
            Kind::Metadata | Kind::FinalCandidate => self.metadata(event, knowledge, out),
            Kind::End => {
                self.metadata(event, knowledge, out);
                self.ended = true;
            }
            Kind::Error => {
                self.failed = true;
                out.push(StreamEvent::StreamError { failure: (knowledge.classify)(&error(event)) });
            }
            Kind::Other => {
                let emission = event.to_emission();
                out.push(StreamEvent::Other { name: emission.name, fields: emission.fields });
            }
        }
    }

    /// Whether the provider has said why it stopped, in every answer that has begun.
    pub(super) fn is_finished(&self) -> bool {
        self.ended || self.is_each(|candidate| candidate.finish.is_some())
    }

    /// Whether nothing but counts is to be expected: each answer has said why it stopped, and nothing else with it or since.
    pub(super) fn is_settled(&self) -> bool {
        self.ended || self.is_each(|candidate| candidate.is_told && !candidate.goes_on)
    }

    /// Whether an answer has gone on behind a reason for its end.
    pub(super) fn goes_on(&self) -> bool {
        !self.ended && self.candidates.iter().any(|candidate| candidate.goes_on)
    }

    /// Whether there are answers, and it is so for each.
    fn is_each(&self, is_so: impl Fn(&Candidate) -> bool) -> bool {
        let mut begun = self.candidates.iter().filter(|candidate| candidate.has_begun()).peekable();
        begun.peek().is_some() && begun.all(is_so)
    }

    pub(super) fn standing(&self) -> Standing {
        Standing { finished: self.finished(), usage: self.usage.clone() }
    }

    /// Whether the frame since then said why an answer ended, so that other answers, or the counts, may still follow.
    pub(super) fn awaits_counts(&self, before: &Standing) -> bool {
        let is_told = self.finished() > before.finished;
        is_told && (self.candidates.len() > 1 || self.usage == before.usage)
    }

    fn finished(&self) -> usize {
        self.candidates.iter().filter(|candidate| candidate.finish.is_some()).count()
    }

    /// Calls that are open end here.
    pub(super) fn flush_calls(&mut self, out: &mut Vec<StreamEvent>) {
        self.calls.end_all(out);
    }

    /// The proper end of the stream.
    pub(super) fn end(&mut self, out: &mut Vec<StreamEvent>) {
        self.tell_rest(out);
        self.calls.end_all(out);
        let finish = self.candidates.first().and_then(|candidate| {
            let refusal = || candidate.refused.then(Finish::refusal);
            candidate.ending().or_else(refusal)
        });
        out.push(StreamEvent::StreamEnd { finish });
    }

    /// Tells the reasons behind which something might have followed, and did not.
    pub(super) fn tell_rest(&mut self, out: &mut Vec<StreamEvent>) {
        for number in 0..self.candidates.len() {
            let Candidate { finish, is_told, .. } = &self.candidates[number];
            if finish.is_some() && !is_told {
                self.tell(number, out);
            }
        }
    }

    /// Tells why an answer ended. Calls of it that are open end with it.
    fn tell(&mut self, place: usize, out: &mut Vec<StreamEvent>) {
        let candidate = &mut self.candidates[place];
        candidate.is_told = true;
        let finish = candidate.ending();
        let number = u32::try_from(place).unwrap_or(MOST_CANDIDATES);
        self.calls.end_all_of(number, out);
        out.push(StreamEvent::FinalCandidate { candidate: number, finish });
    }

    /// Remembers that an answer says something in this frame.
    fn speak(&mut self, number: u32) {
        let frame = self.frame;
        let candidate = self.candidate(number);
        candidate.goes_on |= candidate.finish.is_some() && candidate.finished_in < frame;
        candidate.spoke_in = frame;
    }

    fn candidate(&mut self, number: u32) -> &mut Candidate {
        let place = number as usize;
        if self.candidates.len() <= place {
            self.candidates.resize(place + 1, Candidate::default());
        }
        &mut self.candidates[place]
    }

    /// Remembers that an answer is a refusal, where the rule says so.
    fn refuse(&mut self, candidate: u32, event: Match<'_, '_>) {
        if event.field(Role::Refused).is_some_and(Found::is_true) {
            self.candidate(candidate).refused = true;
        }
    }

    /// Hands on a piece of text, or the whole of it where no piece came.
    fn content(&mut self, event: Match<'_, '_>, out: &mut Vec<StreamEvent>) {
        let content = event.field(Role::Content).and_then(|found| text(found, "")).unwrap_or_default();
        let (candidate, says) = (candidate(event), !content.is_empty());
        if says && !self.candidate(candidate).text.admits(Told::by(event)) {
            return;
        }
        let signature = event.field(Role::Signature).map(Found::to_text);
        if says || signature.is_some() {
            let block = event.number(Role::Index);
            self.calls.settle(candidate, out);
            out.push(StreamEvent::PartialContentDelta { candidate, block, content, signature });
        }
        if says {
            self.speak(candidate);
            self.refuse(candidate, event);
        }
    }

    /// Hands on a piece of thinking, or the whole of it where no piece came. What comes with one whole item, such as its
    /// signature, is not said in pieces.
    fn thinking(&mut self, event: Match<'_, '_>, out: &mut Vec<StreamEvent>) {
        let (candidate, way) = (candidate(event), Told::by(event));
        let is_new = self.candidate(candidate).thoughts.admits(way);
        if !is_new && way == Told::Answer {
            return;
        }
        let thinking = event.field(Role::Thinking).filter(|_| is_new).and_then(|found| text(found, "\n\n"));
        let thinking = thinking.unwrap_or_default();
        let signature = event.field(Role::Signature).map(Found::to_text).filter(|signature| !signature.is_empty());
        let redacted = event.field(Role::Redacted).is_some_and(Found::is_true);
        if !thinking.is_empty() || signature.is_some() {
            let block = event.number(Role::Index);
            if !thinking.is_empty() {
                self.speak(candidate);
            }
            self.calls.settle(candidate, out);
            out.push(StreamEvent::ThinkingDelta { candidate, block, thinking, signature, redacted });
        }
    }

    fn call(&mut self, event: Match<'_, '_>, out: &mut Vec<StreamEvent>) {
        let candidate = candidate(event);
        if !self.candidate(candidate).calls.admits(Told::by(event)) {
            return;
        }
        let before = out.len();
        self.take_calls(event, candidate, out);
        if out.len() > before {
            self.speak(candidate);
        }
    }

    fn take_calls(&mut self, event: Match<'_, '_>, candidate: u32, out: &mut Vec<StreamEvent>) {
        let is_complete = event.field(Role::Complete).is_some_and(Found::is_true);
        let signature = || event.field(Role::Signature).map(Found::to_text);
        let index = event.number(Role::Index);
        let Some(Found::InFrame(calls)) = event.field(Role::Calls) else {
            let piece = CallPiece {
                index,
                id: call_id(event),
                name: event.text(Role::ToolName).filter(|name| !name.is_empty()),
                arguments: event.field(Role::Arguments),
                whole_arguments: event.field(Role::WholeArguments),
                signature: signature(),
                begins: event.kind() == Kind::CallStarted,
                is_foreign: event.field(Role::Foreign).is_some_and(Found::is_true),
                is_complete,
            };
            self.candidate(candidate).called |= self.calls.take(candidate, piece, out);
            return;
        };
        let mut called = false;
        let mut take = |call: View<'_>| {
            let mut piece = CallPiece::read(call);
            if let (Some(id), Some(item)) = (&piece.id, event.text(Role::ItemId)) {
                piece.id = Some(both_ids(id, item));
            }
            piece.index = piece.index.or(index);
            piece.signature = piece.signature.or_else(signature);
            piece.is_complete = is_complete;
            called |= self.calls.take(candidate, piece, out);
        };
        match calls.scalar() {
            Scalar::Array => calls.elements().for_each(&mut take),
            Scalar::Object => take(calls),
            Scalar::Null | Scalar::Bool(_) | Scalar::Number(_) | Scalar::Text(_) => {}
        }
        self.candidate(candidate).called |= called;
    }

    fn metadata(&mut self, event: Match<'_, '_>, knowledge: Knowledge<'_>, out: &mut Vec<StreamEvent>) {
        self.refuse(candidate(event), event);
        let mut told = (None, None, None);
        let counted = event.count(knowledge.usage, &mut self.counts);
        let [prompt, completion, total] =
            [Role::PromptTokens, Role::CompletionTokens, Role::TotalTokens].map(|role| event.number(role));
        self.counts.raise(prompt, completion, total);
        // Most frames name the answer once more and count nothing.
        if counted.is_some() || prompt.or(completion).or(total).is_some() {
            let usage = self.counts.to_usage();
            if usage != self.usage {
                self.usage = usage.clone();
                told.0 = Some(usage);
            }
            self.wonder(counted, out);
        }
        for (role, known, told) in
            [(Role::ResponseId, &mut self.response_id, &mut told.1), (Role::Model, &mut self.model, &mut told.2)]
        {
            // Some servers name every frame anew; the first name counts.
            if known.is_none()
                && let Some(text) = event.text(role).filter(|text| !text.is_empty())
            {
                *known = Some(text.to_owned());
                told.clone_from(known);
            }
        }
        if let (usage, response_id, model) = told
            && (usage.is_some() || response_id.is_some() || model.is_some())
        {
            out.push(StreamEvent::Metadata { usage, response_id, model });
        }
        // Some servers write the name of nothing where they mean nothing.
        if let Some(found) = event.field(Role::FinishReason)
            && let Some(word) = found.as_str().filter(|word| !word.is_empty() && *word != "null")
        {
            let number = candidate(event);
            // Where the provider has said why it stopped, a literal of the manifest says less.
            if matches!(found, Found::InFrame(_)) || self.candidate(number).finish.is_none() {
                self.finish(number, knowledge.finish.read(word), out);
            }
        }
    }

    /// Tells of a usage that says something, and nothing that is known. Most frames that count have counted by then.
    fn wonder(&mut self, counted: Option<Found<'_, '_>>, out: &mut Vec<StreamEvent>) {
        if self.wondered || self.counts != Counts::default() {
            return;
        }
        let says = |usage: &Value| usage.as_object().is_some_and(|members| !members.is_empty());
        if let Some(usage) = counted.map(Found::to_value).filter(says) {
            self.wondered = true;
            let fields = Map::from_iter([("usage".to_owned(), usage)]);
            out.push(StreamEvent::Other { name: UNKNOWN_USAGE.to_owned(), fields });
        }
    }

    /// Takes a reason for the end. In one frame the first counts. One of a later frame takes its place, unless it is the word
    /// for an ordinary end, where nothing was said since.
    fn finish(&mut self, number: u32, finish: Finish, out: &mut Vec<StreamEvent>) {
        let (frame, is_whole) = (self.frame, self.is_whole);
        let candidate = self.candidate(number);
        if let Some(known) = &candidate.finish {
            let says_less = finish.reason == Termination::EndTurn && candidate.spoke_in <= candidate.finished_in;
            if candidate.finished_in == frame || says_less {
                return;
            }
            candidate.is_told &= *known == finish;
        }
        candidate.finish = Some(finish);
        (candidate.finished_in, candidate.place) = (frame, out.len());
        if is_whole {
            self.tell(number as usize, out);
        }
    }
}

impl Candidate {
    fn has_begun(&self) -> bool {
        self.spoke_in > 0 || self.finish.is_some()
    }

    /// Why it ended, by all that is known of it.
    fn ending(&self) -> Option<Finish> {
        let mut finish = self.finish.clone()?;
        if self.called {
            finish.reason = finish.reason.of_calls();
        } else if self.refused {
            finish = finish.of_refusal();
        }
        Some(finish)
    }
}

impl Told {
    /// How an event says something. Items have a number, the answer as a whole has none.
    fn by(event: Match<'_, '_>) -> Self {
        if !event.field(Role::Repeats).is_some_and(Found::is_true) {
            return Self::Pieces;
        }
        match event.number(Role::Index) {
            Some(_) => Self::Items,
            None => Self::Answer,
        }
    }

    /// Whether what comes in this way is new, and remembers that it came.
    fn admits(&mut self, way: Self) -> bool {
        if way == Self::Pieces || *self == Self::Nothing {
            *self = way;
        }
        *self == way
    }
}

fn candidate(event: Match<'_, '_>) -> u32 {
    event.candidate().min(MOST_CANDIDATES - 1)
}

/// A provider that has two ids for a call wants both back.
fn call_id<'m, 'a: 'm>(event: Match<'m, 'a>) -> Option<Cow<'m, str>> {
    let id = event.text(Role::CallId).filter(|id| !id.is_empty())?;
    Some(event.text(Role::ItemId).map_or(Cow::Borrowed(id), |item| both_ids(id, item)))
}

fn both_ids(id: &str, item: &str) -> Cow<'static, str> {
    Cow::Owned(format!("{id}|{item}"))
}

/// A text, or the texts in a list of parts.
fn text(found: Found<'_, '_>, joint: &str) -> Option<String> {
    if let Some(text) = found.as_str() {
        return Some(text.to_owned());
    }
    let Found::InFrame(view) = found else { return None };
    if view.scalar() != Scalar::Array {
        return None;
    }
    let part = |part: View<'_>| {
        let inner = ["text", "refusal"].iter().find_map(|name| part.member(name));
        part.as_str().or_else(|| inner.and_then(View::as_str)).map(str::to_owned)
    };
    Some(view.elements().filter_map(part).collect::<Vec<_>>().join(joint))
}

/// What went wrong, in the form in which answers that are refused say it.
fn error(event: Match<'_, '_>) -> Value {
    if let Some(error) = event.field(Role::Error) {
        return json!({ "error": error.to_value() });
    }
    let parts = [("code", Role::ErrorCode), ("type", Role::ErrorType), ("message", Role::ErrorMessage)];
    let parts = parts.into_iter().filter_map(|(name, role)| Some((name.to_owned(), event.field(role)?.to_value())));
    json!({ "error": parts.collect::<Map<_, _>>() })
}
