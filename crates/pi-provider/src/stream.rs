//! From bytes to events.
//!
//! A [`Pipeline`] is compiled once from a manifest and its dialect; [`Pipeline::start`] gives a [`Decoder`] for one answer.
//! Bytes are cut into [frames](framing), each is read onto a [tape](crate::tape), [rules](rule) find what is in it, and an
//! interpreter turns that into [`StreamEvent`]s. Memory is used again from frame to frame and bounded by the largest
//! frame. Nothing is dropped silently: what cannot be read is an event or is counted in [`Ending`].

mod call;
mod dialect;
mod finish;
pub mod framing;
mod halves;
mod interpreter;
pub mod rule;
mod thought;
pub mod usage;

use std::{
    fmt,
    sync::{Arc, LazyLock},
    time::SystemTime,
};

use pi_redact::Redactor;
use serde_json::{Value, json};

pub use self::framing::FrameTooLarge;
use self::{
    dialect::DialectRules,
    finish::FinishWords,
    framing::{ERROR, FRAME_LIMIT, Form, Frame, Framing},
    halves::Halves,
    interpreter::{Interpreter, Knowledge},
    rule::{FrameCondition, Mapping, Match, Recipe, RuleError, Selection},
    thought::Thought,
    usage::UsagePaths,
};
use crate::{
    classify::classify_event,
    condition::Condition,
    dialect::Dialect,
    error::{ErrorCode, Failure},
    event::StreamEvent,
    manifest::{Manifest, streaming},
    path::{
        syntax::SyntaxError,
        tree::{Scalar, Tree},
    },
    secret::hiding,
    tape::{Shape, Tape, View},
};

/// Says what an error inside a stream means. The argument has a member `error`, as in answers that are refused.
pub type Classifier = Box<dyn Fn(&Value) -> Failure + Send + Sync>;

/// How the streams of a provider are read. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Pipeline {
    compiled: Arc<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    manifest: Manifest,
    form: Form,
    frame_limit: usize,
    mapping: Mapping,
    uses_envelope: bool,
    selector: Option<FrameCondition>,
    stop: Option<FrameCondition>,
    /// The dialect's: nothing follows a frame that fulfils it.
    last: Option<FrameCondition>,
    flush: Option<FrameCondition>,
    done: Vec<String>,
    finish: FinishWords,
    usage: UsagePaths,
}

/// Reads one answer.
pub struct Decoder {
    compiled: Arc<Compiled>,
    framing: Framing,
    reader: Reader,
    /// Finds thinking that the model writes as text.
    thought: Option<Thought>,
}

/// A manifest's stream section cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error("{member}: {source}")]
    Expression {
        member: &'static str,
        #[source]
        source: SyntaxError,
    },
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    pub outcome: Outcome,
    /// Frames that should have been JSON and were not; each was a [`StreamEvent::StreamError`].
    pub malformed: u64,
    /// Frames of plain text that no rule reads, and half a frame or half a character at the end of the bytes.
    pub unread: u64,
    /// Frames after the end that came with it, but for signals that say it once more.
    pub late: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A done signal, a stop condition or a reason for the end was seen; the last event is the end.
    Complete,
    /// The bytes stopped before the answer did.
    Truncated,
    /// The stream reported an error, or a frame could not be read.
    Failed,
}

/// What may follow what has come of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// Anything: an answer is under way, or has gone on behind a reason for its end.
    More,
    /// Most likely nothing: every answer that has begun has said why it stopped, one of them together with its text, as
    /// servers do that write a reason into every frame.
    Silence,
    /// Counts: every answer that has begun has said why it stopped, and nothing else with it or since, or has fulfilled the
    /// stop condition.
    Counts,
}

/// What a decoder knows beside the bytes that it has not read yet.
struct Reader {
    tape: Tape,
    halves: Halves,
    meaning: Meaning,
    /// Nothing follows: the provider said so, and the end was said.
    done: bool,
    /// The bytes are over: a frame that comes now was never closed, and may be half of one.
    is_last: bool,
    malformed: u64,
    unread: u64,
    late: u64,
}

/// What is made of frames once they are read.
struct Meaning {
    interpreter: Interpreter,
    classify: Classifier,
    /// What the rules find in frames like the last one.
    recipe: Option<Recipe>,
    /// A stop condition was fulfilled.
    stopped: bool,
    /// Nothing follows this frame.
    is_over: bool,
}

impl Pipeline {
    /// Compiles the rules of a manifest together with those of the dialect.
    ///
    /// Where the manifest has rules and names a strategy that nobody knows, only its own rules count.
    pub fn compile(manifest: &Manifest, dialect: Dialect) -> Result<Self, CompileError> {
        Self::compile_with_limit(manifest, dialect, FRAME_LIMIT)
    }

    /// Like [`compile`](Self::compile), with another limit for the bytes of a frame.
    pub fn compile_with_limit(manifest: &Manifest, dialect: Dialect, frame_limit: usize) -> Result<Self, CompileError> {
        let streaming = manifest.streaming.as_ref();
        let decoder = streaming.map(|streaming| streaming.decoder.clone()).unwrap_or_default();
        let is_foreign = decoder.strategy.as_deref().is_some_and(|strategy| Dialect::from_word(strategy).is_none());
        let has_rules = streaming.is_some_and(|streaming| !streaming.event_map.is_empty());
        let rules = (!(is_foreign && has_rules)).then(|| DialectRules::of(dialect));

        let finish = manifest.termination.source_field.as_deref();
        let mut mapping = Mapping::new(dialect::combine(rules, streaming, finish)?);
        let condition = |member, text: Option<&String>| {
            text.map(|text| Condition::parse(text)).transpose().map_err(CompileError::of(member))
        };
        let selector = condition("frame_selector", streaming.and_then(|streaming| streaming.frame_selector.as_ref()))?;
        let stop = condition("stop_condition", streaming.and_then(|streaming| streaming.stop_condition.as_ref()))?;
        let accumulator = streaming.and_then(|streaming| streaming.accumulator.as_ref());
        // A dialect says of each call where it ends, and that is more exact: of two calls that are open, a frame ends one.
        let flush_on = accumulator.filter(|accumulator| accumulator.stateful_tool_parsing && rules.is_none());
        let flush = condition("accumulator.flush_on", flush_on.and_then(|accumulator| accumulator.flush_on.as_ref()))?;
        let last = rules.and_then(|rules| rules.last.clone());
        let is_envelope = |condition: &Option<Condition>| {
            condition.as_ref().is_some_and(|condition| {
                condition.any_path(&mut |path| path.starts_at("event") || path.starts_at("data"))
            })
        };
        let uses_envelope = mapping.uses_envelope() || [&selector, &stop, &flush].into_iter().any(is_envelope);
        let [selector, stop, last, flush] =
            [selector, stop, last, flush].map(|condition| condition.map(|condition| mapping.condition(condition)));
        let fields = &manifest.contract.capability_contracts.generative.token_usage_fields;
        let compiled = Compiled {
            form: Form::of(&decoder),
            frame_limit,
            mapping,
            uses_envelope,
            selector,
            stop,
            last,
            flush,
            done: done_signals(manifest, &decoder, rules),
            finish: FinishWords::new(manifest, &DialectRules::of(dialect).finish),
            usage: UsagePaths::new(fields).map_err(CompileError::of("token_usage_fields"))?,
            manifest: manifest.clone(),
        };
        Ok(Self { compiled: Arc::new(compiled) })
    }

    /// A decoder for one answer. Errors in it are judged by the manifest; see [`Decoder::classify_with`].
    pub fn start(&self) -> Decoder {
        self.start_with(fastrand::Rng::new())
    }

    /// Like [`start`](Self::start), with the given source for ids that the provider leaves out.
    pub fn start_with(&self, random: fastrand::Rng) -> Decoder {
        let compiled = Arc::clone(&self.compiled);
        let framing = Framing::new(&compiled.form, compiled.frame_limit);
        let judge = Arc::clone(&self.compiled);
        let classify: Classifier =
            Box::new(move |error| classify_event(&judge.manifest, error, &SHAPES, SystemTime::UNIX_EPOCH));
        let interpreter = Interpreter::new(random);
        let meaning = Meaning { interpreter, classify, recipe: None, stopped: false, is_over: false };
        let reader = Reader {
            tape: Tape::new(),
            halves: Halves::default(),
            meaning,
            done: false,
            is_last: false,
            malformed: 0,
            unread: 0,
            late: 0,
        };
        let tags = &compiled.manifest.contract.capability_contracts.generative.reasoning_mode.text_tags;
        let thought = Thought::new(tags);
        Decoder { compiled, framing, reader, thought }
    }

    /// Reads an answer that was not streamed.
    pub fn read_whole(&self, body: &str, out: &mut Vec<StreamEvent>) -> Ending {
        let mut decoder = self.start();
        decoder.reader.tape = Tape::for_one_text();
        decoder.reader.meaning.interpreter.read_whole();
        let from = out.len();
        decoder.reader.take(&decoder.compiled, Frame { event: "", id: "", data: body }, out);
        decoder.end(from, out)
    }
}

impl Decoder {
    /// Judges errors inside the stream with the caller's knowledge: the clock, and the secrets that must not be repeated.
    #[must_use]
    pub fn classify_with(mut self, classify: Classifier) -> Self {
        self.reader.meaning.classify = classify;
        self
    }

    /// Takes the next bytes and appends the events that they complete. After an error the stream is of no further use.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), FrameTooLarge> {
        let from = out.len();
        let Self { compiled, framing, reader, thought } = self;
        let pushed = framing.push(bytes, &mut |frame| reader.take(compiled, frame, out));
        if let Some(thought) = thought {
            thought.apply(out, from);
        }
        pushed
    }

    /// The bytes are over. Appends what was not closed properly, and the end if there was one.
    pub fn finish(mut self, out: &mut Vec<StreamEvent>) -> Result<Ending, FrameTooLarge> {
        let from = out.len();
        let Self { compiled, framing, reader, .. } = &mut self;
        reader.is_last = true;
        framing.finish(&mut |frame| reader.take(compiled, frame, out))?;
        Ok(self.end(from, out))
    }

    /// The provider said that nothing follows; further bytes are not worth waiting for.
    pub fn is_done(&self) -> bool {
        self.reader.done
    }

    /// What may follow.
    pub(crate) fn outlook(&self) -> Outlook {
        let Meaning { interpreter, stopped, .. } = &self.reader.meaning;
        let is_stopped = *stopped && interpreter.is_finished();
        if interpreter.failed {
            Outlook::More
        } else if self.reader.done || is_stopped || interpreter.is_settled() {
            Outlook::Counts
        } else if interpreter.is_finished() && !interpreter.goes_on() {
            Outlook::Silence
        } else {
            Outlook::More
        }
    }

    /// An answer has gone on behind a reason for its end: only the end of the stream is its end.
    pub(crate) fn goes_on(&self) -> bool {
        !self.reader.done && self.reader.meaning.interpreter.goes_on()
    }

    /// The bytes that it holds for frames; what has been handed on belongs to the caller.
    pub fn memory(&self) -> usize {
        self.framing.memory() + self.reader.tape.memory() + self.thought.as_ref().map_or(0, Thought::memory)
    }

    /// Says the end, and decides what is still held back of the events from this place on.
    fn end(&mut self, from: usize, out: &mut Vec<StreamEvent>) -> Ending {
        let reader = &mut self.reader;
        let outcome = match reader.is_complete() {
            _ if reader.meaning.interpreter.failed => Outcome::Failed,
            true => Outcome::Complete,
            false => Outcome::Truncated,
        };
        match outcome {
            Outcome::Complete => reader.end(out),
            // One of several answers may have come to its end.
            Outcome::Truncated => reader.meaning.interpreter.tell_rest(out),
            Outcome::Failed => {}
        }
        if let Some(thought) = &mut self.thought {
            thought.apply(out, from);
            thought.finish(out);
        }
        let unread = reader.unread + u64::from(reader.halves.is_waiting());
        Ending { outcome, malformed: reader.malformed, unread, late: reader.late }
    }
}

impl Reader {
    fn take(&mut self, compiled: &Compiled, frame: Frame<'_>, out: &mut Vec<StreamEvent>) {
        let data = trimmed(frame.data);
        let is_signal = compiled.done.iter().any(|signal| signal == data);
        if self.done {
            self.late += u64::from(!is_signal);
            return;
        }
        if is_signal {
            self.end(out);
            return;
        }
        let members = [("event", frame.event), ("data", frame.data)];
        let members = if frame.event.is_empty() { &members[1..] } else { &members[..] };
        let added = if compiled.uses_envelope { members } else { &[] };
        let read = self.tape.read_wanted(data, compiled.mapping.wanted(), added);
        match read.map(|view| (view, view.scalar())) {
            Ok((view, Scalar::Object)) => {
                self.meaning.map(compiled, view, view.shape(), out);
            }
            Ok((view, Scalar::Array)) => view.elements().for_each(|element| {
                self.meaning.map(compiled, element, None, out);
            }),
            Err(fault) if data.starts_with(['{', '[']) => match self.halves.mend(data) {
                Some(mended) => self.take(compiled, Frame { data: &mended, ..frame }, out),
                None if self.is_last => self.unread += 1,
                None => self.malformed(&fault, out),
            },
            Ok((_, Scalar::Null | Scalar::Bool(_) | Scalar::Number(_) | Scalar::Text(_))) | Err(_) => {
                let is_read = self.meaning.map(compiled, self.tape.object(members), None, out);
                if !is_read && frame.event != ERROR {
                    self.unread += 1;
                }
            }
        }
        if frame.event == ERROR && !self.meaning.interpreter.failed {
            self.meaning.fail(data, out);
        }
        if self.meaning.is_over {
            self.end(out);
        }
    }

    fn is_complete(&self) -> bool {
        let interpreter = &self.meaning.interpreter;
        !interpreter.failed && (self.done || interpreter.is_finished())
    }

    /// Says the end, once; of an answer that failed there is none.
    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        if !self.done && !self.meaning.interpreter.failed {
            self.meaning.interpreter.end(out);
        }
        self.done = true;
    }

    fn malformed(&mut self, fault: &serde_json::Error, out: &mut Vec<StreamEvent>) {
        self.malformed += 1;
        self.meaning.interpreter.failed = true;
        let failure = Failure {
            code: ErrorCode::ServerError,
            status: None,
            provider_code: None,
            message: format!("the stream cannot be read: a frame is not JSON: {fault}"),
            retry_after: None,
            request_id: None,
            limits: None,
            is_anonymous: false,
        };
        out.push(StreamEvent::StreamError { failure });
    }
}

impl Meaning {
    /// A frame that is called an error is one, also where no rule knows its words.
    fn fail(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        let said = serde_json::from_str(data).ok().filter(Value::is_object);
        let error = said.unwrap_or_else(|| json!({ "error": data }));
        self.interpreter.failed = true;
        out.push(StreamEvent::StreamError { failure: (self.classify)(&error) });
    }

    /// Applies the rules; whether one applied. `shape` is that of the frame, where frames like it came before.
    fn map(&mut self, compiled: &Compiled, frame: View<'_>, shape: Option<Shape>, out: &mut Vec<StreamEvent>) -> bool {
        let holds =
            |condition: &Option<FrameCondition>| condition.as_ref().is_some_and(|condition| condition.holds(frame));
        let is_passed = compiled.selector.is_none() || holds(&compiled.selector);
        let selection = if is_passed { Selection::Passed } else { Selection::HeldBack };
        let knowledge = Knowledge { finish: &compiled.finish, usage: &compiled.usage, classify: &self.classify };
        let interpreter = &mut self.interpreter;
        let from = out.len();
        interpreter.begin_frame();
        let stops = holds(&compiled.stop);
        let before = stops.then(|| interpreter.standing());
        let mut applied = false;
        let mut apply = |event: Match<'_, '_>| {
            applied = true;
            interpreter.apply(event, knowledge, out);
        };
        match self.recipe.as_ref().filter(|recipe| recipe.is_for(shape, selection)) {
            Some(recipe) => compiled.mapping.follow(recipe, frame, &mut apply),
            None => {
                compiled.mapping.each(frame, selection, &mut apply);
                let shape = shape.filter(|_| compiled.selector.as_ref().is_none_or(FrameCondition::is_of_shape));
                let learn = |shape| compiled.mapping.recipe(frame, shape, selection, &compiled.usage);
                self.recipe = shape.and_then(learn);
            }
        }
        if holds(&compiled.flush) {
            interpreter.flush_calls(out);
        }
        interpreter.end_frame(from, out);
        self.stopped |= stops;
        // A condition that holds where the reason is said may hold before the counts come.
        self.is_over |= before.is_some_and(|before| !interpreter.awaits_counts(&before)) || holds(&compiled.last);
        applied || stops
    }
}

impl CompileError {
    fn of(member: &'static str) -> impl FnOnce(SyntaxError) -> Self {
        move |source| Self::Expression { member, source }
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reader = &self.reader;
        let mut shown = f.debug_struct("Decoder");
        shown.field("framing", &self.framing).field("done", &reader.done).field("malformed", &reader.malformed);
        shown.finish_non_exhaustive()
    }
}

/// Without white space around it. Most frames are an object and have none.
fn trimmed(data: &str) -> &str {
    if data.starts_with('{') && data.ends_with('}') { data } else { data.trim() }
}

/// Hides what looks like a secret in errors, where nobody has said which secrets there are.
static SHAPES: LazyLock<Redactor> = LazyLock::new(|| hiding([]));

/// The manifest's signal, or else the usual one; and those of the contract and of the dialect, which proxies send after an
/// answer whose provider has none. An empty one is none.
fn done_signals(manifest: &Manifest, decoder: &streaming::Decoder, rules: Option<&DialectRules>) -> Vec<String> {
    let own = decoder.done_signal.clone().unwrap_or_else(|| "[DONE]".to_owned());
    let contract = manifest.contract.capability_contracts.streaming.done_signal.clone();
    let known = rules.map(|rules| rules.done.clone()).unwrap_or_default();
    let mut signals: Vec<String> = [own].into_iter().chain(contract).chain(known).collect();
    signals.retain(|signal| !signal.is_empty());
    signals.sort();
    signals.dedup();
    signals
}
