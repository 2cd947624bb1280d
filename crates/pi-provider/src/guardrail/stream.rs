//! Filters on an answer that comes in pieces, where what is looked for may be cut in two.

use std::collections::VecDeque;

use serde_json::Value;

use super::{
    Finding, Findings, apply,
    rule::Rule,
    stage::{Effect, Piece, Scope, Stage, Work},
};
use crate::{
    error::{CallError, Side},
    event::StreamEvent,
    manifest::resilience::FilterAction,
};

/// Filters the texts of an answer. The parts of what a candidate says are looked at one by one, and then joined, whatever
/// stands between them: a word may be cut by a call. The end of it comes out late, and what comes behind it waits. Each thought is a text of its own; masked, it loses its signature, so that it
/// does not go back as what the model thought. The arguments of calls are looked at and never masked, because a tool would do
/// something else; what was found in them is told. Events that nobody interprets are filtered one by one.
pub struct OutputGuard {
    rules: Vec<Rule>,
    findings: Findings,
    /// One for each candidate.
    speeches: Vec<Speech>,
    /// Thoughts and arguments that are being written.
    texts: Vec<Text>,
}

/// What a candidate says, and what waits behind the end of it.
struct Speech {
    candidate: u32,
    /// At work on the part that is being written; beside the next one its last word would not stand alone.
    part: Vec<Stage>,
    /// Something of that part has come.
    is_begun: bool,
    /// At work on what is left of all parts, as one text.
    joined: Vec<Stage>,
    /// The block in which the text goes on that comes out next.
    block: Option<u64>,
    /// The block of the piece that came last.
    newest: Option<u64>,
    /// For every mark in the text that did not come out yet.
    behind: VecDeque<Behind>,
}

/// What happens between two pieces of a speech.
enum Behind {
    Block(Option<u64>),
    Event(StreamEvent),
}

/// A thought, or the arguments of a call.
struct Text {
    candidate: u32,
    place: Place,
    stages: Vec<Stage>,
    /// Of a thought: what vouches for it, until all of it was looked at.
    signatures: Vec<String>,
}

/// Which text of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Thinking { block: Option<u64> },
    Arguments { index: Option<u64>, tool_call_id: String },
}

/// Which texts end.
enum Ended<'p> {
    /// All thoughts of the candidate but this one.
    Thoughts {
        candidate: u32,
        but: Option<&'p Place>,
    },
    One {
        candidate: u32,
        place: &'p Place,
    },
    All,
}

impl OutputGuard {
    pub(super) fn new(rules: Vec<Rule>) -> Self {
        Self { rules, findings: Findings::new(Side::Output), speeches: Vec::new(), texts: Vec::new() }
    }

    /// Takes the next event and gives out what may be seen by now. After an error nothing more may be.
    pub fn push(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) -> Result<(), CallError> {
        match event {
            StreamEvent::PartialContentDelta { candidate, block, content, signature } => {
                self.end(&Ended::Thoughts { candidate, but: None }, out)?;
                self.say(candidate, block, content, out)?;
                if signature.is_some() {
                    let content = String::new();
                    self.put(StreamEvent::PartialContentDelta { candidate, block, content, signature }, out)?;
                }
            }
            StreamEvent::ThinkingDelta { candidate, block, thinking, signature, redacted: false } => {
                self.think(candidate, block, thinking, signature, out)?;
            }
            StreamEvent::PartialToolCall { candidate, index, tool_call_id, arguments } => {
                self.end(&Ended::Thoughts { candidate, but: None }, out)?;
                self.write(candidate, Place::Arguments { index, tool_call_id }, arguments, out)?;
            }
            StreamEvent::ToolCallEnded { candidate, index, tool_call_id } => {
                self.end(&Ended::Thoughts { candidate, but: None }, out)?;
                let place = Place::Arguments { index, tool_call_id: tool_call_id.clone() };
                self.end(&Ended::One { candidate, place: &place }, out)?;
                self.put(StreamEvent::ToolCallEnded { candidate, index, tool_call_id }, out)?;
            }
            StreamEvent::ThinkingDelta { candidate, .. }
            | StreamEvent::ToolCallStarted { candidate, .. }
            | StreamEvent::FinalCandidate { candidate, .. } => {
                self.end(&Ended::Thoughts { candidate, but: None }, out)?;
                self.put(event, out)?;
            }
            StreamEvent::Metadata { .. } => out.push(event),
            StreamEvent::Other { name, mut fields } => {
                fields.iter_mut().try_for_each(|(member, value)| self.look_at(member, value))?;
                out.push(StreamEvent::Other { name, fields });
            }
            StreamEvent::StreamEnd { .. } | StreamEvent::StreamError { .. } => {
                self.finish(out)?;
                out.push(event);
            }
        }
        Ok(())
    }

    /// Gives out what is held back, at the end of an answer that has no last event.
    pub fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), CallError> {
        self.end(&Ended::All, out)?;
        for speech in &mut self.speeches {
            speech.end_part(&self.rules, &mut self.findings, out)?;
            speech.join(Step::End, &self.rules, &mut self.findings, out)?;
        }
        self.speeches.clear();
        Ok(())
    }

    pub fn findings(&self) -> &[Finding] {
        &self.findings.found
    }

    /// More of what a candidate says.
    fn say(
        &mut self,
        candidate: u32,
        block: Option<u64>,
        text: String,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), CallError> {
        let speech = Speech::of(&mut self.speeches, &self.rules, candidate);
        let mut marks = Vec::new();
        if speech.newest != block {
            speech.end_part(&self.rules, &mut self.findings, out)?;
            speech.newest = block;
            speech.behind.push_back(Behind::Block(block));
            marks.push(0);
        }
        speech.is_begun |= !text.is_empty();
        speech.go_on(Piece { text, marks }, &self.rules, &mut self.findings, out)
    }

    /// Gives out an event behind what its candidate said before it.
    fn put(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) -> Result<(), CallError> {
        let Some(candidate) = event.candidate() else {
            out.push(event);
            return Ok(());
        };
        let speech = Speech::of(&mut self.speeches, &self.rules, candidate);
        if parts_texts(&event) {
            speech.end_part(&self.rules, &mut self.findings, out)?;
        }
        speech.behind.push_back(Behind::Event(event));
        let mark = Piece { text: String::new(), marks: vec![0] };
        speech.go_on(mark, &self.rules, &mut self.findings, out)
    }

    fn think(
        &mut self,
        candidate: u32,
        block: Option<u64>,
        thinking: String,
        signature: Option<String>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), CallError> {
        let place = Place::Thinking { block };
        self.end(&Ended::Thoughts { candidate, but: Some(&place) }, out)?;
        // Without a number, what comes behind a signature is another thought.
        let is_over = block.is_none() && signature.is_some();
        self.write(candidate, place.clone(), thinking, out)?;
        let text = self.text(candidate, &place);
        self.texts[text].signatures.extend(signature);
        if is_over { self.end(&Ended::One { candidate, place: &place }, out) } else { Ok(()) }
    }

    /// More of a thought, or of the arguments of a call.
    fn write(
        &mut self,
        candidate: u32,
        place: Place,
        piece: String,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), CallError> {
        let text = self.text(candidate, &place);
        let step = Step::Next(Piece { text: piece, marks: Vec::new() });
        let effect = |rule: &Rule| place.effect(rule);
        let certain = run(&mut self.texts[text].stages, &self.rules, &mut self.findings, &effect, step)?;
        self.put_text(candidate, place, certain.text, None, out)
    }

    fn end(&mut self, ended: &Ended<'_>, out: &mut Vec<StreamEvent>) -> Result<(), CallError> {
        let ends = |text: &mut Text| match *ended {
            Ended::Thoughts { candidate, but } => {
                text.candidate == candidate
                    && matches!(text.place, Place::Thinking { .. })
                    && but.is_none_or(|but| *but != text.place)
            }
            Ended::One { candidate, place } => text.candidate == candidate && text.place == *place,
            Ended::All => true,
        };
        let ended: Vec<Text> = self.texts.extract_if(.., ends).collect();
        for Text { candidate, place, mut stages, signatures } in ended {
            let effect = |rule: &Rule| place.effect(rule);
            let rest = run(&mut stages, &self.rules, &mut self.findings, &effect, Step::End)?;
            let mut filters = stages.iter().zip(&self.rules);
            let is_masked = filters.any(|(stage, rule)| effect(rule) == Effect::Mask && stage.has_found());
            self.put_text(candidate, place.clone(), rest.text, None, out)?;
            for signature in signatures.into_iter().filter(|_| !is_masked) {
                self.put_text(candidate, place.clone(), String::new(), Some(signature), out)?;
            }
        }
        Ok(())
    }

    fn put_text(
        &mut self,
        candidate: u32,
        place: Place,
        text: String,
        signature: Option<String>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), CallError> {
        if text.is_empty() && signature.is_none() {
            return Ok(());
        }
        let event = match place {
            Place::Thinking { block } => {
                StreamEvent::ThinkingDelta { candidate, block, thinking: text, signature, redacted: false }
            }
            Place::Arguments { index, tool_call_id } => {
                StreamEvent::PartialToolCall { candidate, index, tool_call_id, arguments: text }
            }
        };
        self.put(event, out)
    }

    fn text(&mut self, candidate: u32, place: &Place) -> usize {
        let known = self.texts.iter().position(|text| text.candidate == candidate && text.place == *place);
        known.unwrap_or_else(|| {
            let stages = stages(&self.rules, Scope::Everywhere);
            self.texts.push(Text { candidate, place: place.clone(), stages, signatures: Vec::new() });
            self.texts.len() - 1
        })
    }

    /// Filters the texts of an event that nobody interprets; the bytes of pictures and sound are none.
    fn look_at(&mut self, member: &str, value: &mut Value) -> Result<(), CallError> {
        match value {
            Value::String(_) if member == "data" => Ok(()),
            Value::String(text) => {
                if let std::borrow::Cow::Owned(masked) = apply(&self.rules, text, &mut self.findings)? {
                    *text = masked;
                }
                Ok(())
            }
            Value::Array(elements) => elements.iter_mut().try_for_each(|element| self.look_at(member, element)),
            Value::Object(members) => members.iter_mut().try_for_each(|(member, value)| self.look_at(member, value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }
}

impl Speech {
    fn of<'s>(speeches: &'s mut Vec<Self>, rules: &[Rule], candidate: u32) -> &'s mut Self {
        let known = speeches.iter().position(|speech| speech.candidate == candidate);
        let at = known.unwrap_or_else(|| {
            let (part, joined) = (stages(rules, Scope::Everywhere), stages(rules, Scope::AcrossMarks));
            let (block, newest, behind) = (None, None, VecDeque::new());
            speeches.push(Self { candidate, part, is_begun: false, joined, block, newest, behind });
            speeches.len() - 1
        });
        &mut speeches[at]
    }

    /// The part that is being written goes on.
    fn go_on(
        &mut self,
        piece: Piece,
        rules: &[Rule],
        findings: &mut Findings,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), CallError> {
        let certain = run(&mut self.part, rules, findings, &spoken, Step::Next(piece))?;
        self.join(Step::Next(certain), rules, findings, out)
    }

    fn end_part(
        &mut self,
        rules: &[Rule],
        findings: &mut Findings,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), CallError> {
        if !std::mem::replace(&mut self.is_begun, false) {
            return Ok(());
        }
        let rest = run(&mut self.part, rules, findings, &spoken, Step::End)?;
        self.join(Step::Next(rest), rules, findings, out)?;
        self.part = stages(rules, Scope::Everywhere);
        Ok(())
    }

    fn join(
        &mut self,
        step: Step,
        rules: &[Rule],
        findings: &mut Findings,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), CallError> {
        // What is found in a part is not told once more.
        let told = self.joined.iter_mut().zip(&self.part).filter(|(_, part)| part.has_found());
        told.for_each(|(joined, _)| joined.tell_nothing());
        let certain = run(&mut self.joined, rules, findings, &spoken, step)?;
        self.deliver(certain, out);
        Ok(())
    }

    /// Gives out a piece, and at each mark what waited there.
    fn deliver(&mut self, piece: Piece, out: &mut Vec<StreamEvent>) {
        let Piece { text, marks } = piece;
        let mut begin = 0;
        for mark in marks {
            self.emit(&text[begin..mark], out);
            begin = mark;
            match self.behind.pop_front() {
                Some(Behind::Block(block)) => self.block = block,
                Some(Behind::Event(event)) => out.push(event),
                None => {}
            }
        }
        self.emit(&text[begin..], out);
    }

    fn emit(&self, text: &str, out: &mut Vec<StreamEvent>) {
        if !text.is_empty() {
            let (candidate, block, content) = (self.candidate, self.block, text.to_owned());
            out.push(StreamEvent::PartialContentDelta { candidate, block, content, signature: None });
        }
    }
}

impl Place {
    /// What becomes of a text in which a filter finds something.
    fn effect(&self, rule: &Rule) -> Effect {
        match (rule.action(), self) {
            (FilterAction::Mask, Self::Thinking { .. }) => Effect::Mask,
            (FilterAction::Mask, Self::Arguments { .. }) => Effect::Leave,
            (FilterAction::Block | FilterAction::Warn | FilterAction::Log, _) => Effect::Tell,
        }
    }
}

/// What becomes of what is said.
fn spoken(rule: &Rule) -> Effect {
    match rule.action() {
        FilterAction::Mask => Effect::Mask,
        FilterAction::Block | FilterAction::Warn | FilterAction::Log => Effect::Tell,
    }
}

fn stages(rules: &[Rule], scope: Scope) -> Vec<Stage> {
    rules.iter().map(|rule| Stage::new(rule, scope)).collect()
}

/// What a text does next.
enum Step {
    Next(Piece),
    End,
}

/// Takes a step through all filters; at the end each gives out what it held.
fn run(
    stages: &mut [Stage],
    rules: &[Rule],
    findings: &mut Findings,
    effect: &dyn Fn(&Rule) -> Effect,
    step: Step,
) -> Result<Piece, CallError> {
    let (mut piece, is_end) = match step {
        Step::Next(piece) => (piece, false),
        Step::End => (Piece::default(), true),
    };
    for (stage, rule) in stages.iter_mut().zip(rules) {
        let work = Work { rule, effect: effect(rule) };
        piece = stage.push(&piece, work, findings)?;
        if is_end {
            let rest = stage.finish(work, findings)?;
            piece.marks.extend(rest.marks.iter().map(|mark| mark + piece.text.len()));
            piece.text.push_str(&rest.text);
        }
    }
    Ok(piece)
}

/// Whether text behind this event does not stand beside that before it.
fn parts_texts(event: &StreamEvent) -> bool {
    match event {
        StreamEvent::ThinkingDelta { .. }
        | StreamEvent::ToolCallStarted { .. }
        | StreamEvent::PartialToolCall { .. }
        | StreamEvent::ToolCallEnded { .. } => true,
        // Some servers write a reason for the end into every piece.
        StreamEvent::FinalCandidate { .. }
        | StreamEvent::PartialContentDelta { .. }
        | StreamEvent::Metadata { .. }
        | StreamEvent::StreamEnd { .. }
        | StreamEvent::StreamError { .. }
        | StreamEvent::Other { .. } => false,
    }
}
