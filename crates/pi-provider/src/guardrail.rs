//! Filters on what goes to a model and what comes back, as the manifest lists them.
//!
//! `pii_detection` finds mail addresses, phone numbers, numbers of payment cards, bank accounts and US social security, and
//! things that look like keys. Every other filter looks for its own `patterns` (regular expressions) and `words`; there is no
//! built-in opinion about content. What is found is masked, blocks the call, or is reported; the text itself is never in a
//! report.
//!
//! A filter that masks or blocks and cannot be used as written, or of a type that nobody knows and with nothing to look for,
//! lets nothing pass: calls are refused ([`Guardrails::of`]). `content_safety` without patterns, as the standard's example has
//! it, finds nothing, and that is told ([`Guardrails::idle`]).
//!
//! Thinking that comes back is masked like any text, and loses its signature then, which vouched for what it was. The arguments
//! of calls are never masked: a tool would do something else, or nothing; what was found in them is told. The same holds for
//! what goes to a model beside the conversation: names and values in tools, schemas and settings; descriptions there are
//! masked. What goes to a model signed by it is left alone. Start with [`Guardrails::compile`].

mod payload;
mod rule;
mod stage;
mod stream;

use std::{borrow::Cow, fmt};

use serde::Serialize;
use serde_json::Value;

use self::{payload::Text, rule::Rule};
use crate::{
    error::{CallError, Side},
    manifest::{
        Manifest,
        resilience::{self, FilterAction},
    },
    request::Request,
};

pub(crate) use self::rule::{TYPES, problems};
pub use self::{
    rule::{Fault, Problem},
    stream::OutputGuard,
};

/// The filters of a provider, ready for use.
#[derive(Debug, Clone, Default)]
pub struct Guardrails {
    input: Vec<Rule>,
    output: Vec<Rule>,
    problems: Vec<Problem>,
}

/// A filter found something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub filter: String,
    pub action: FilterAction,
    pub side: Side,
    /// How many texts it was in.
    pub texts: usize,
    /// It was to be masked and is still there, because it means something else if it is changed: in the arguments of a call,
    /// or beside the conversation in tools, schemas and settings.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
}

impl Finding {
    /// The text was changed.
    pub fn is_masked(&self) -> bool {
        self.action == FilterAction::Mask && !self.left
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.left {
            let place = match (self.side, self.texts) {
                (Side::Input, _) => "names or values of tools, schemas or settings of the request",
                (Side::Output, 1) => "the arguments of a call",
                (Side::Output, _) => "the arguments of calls",
            };
            return write!(
                f,
                "guardrail {} found something in {place}, and did not mask it there, because they would mean something else",
                self.filter
            );
        }
        let texts = if self.texts == 1 { "a text" } else { "texts" };
        write!(f, "guardrail {} found something in {texts} of the {}", self.filter, self.side)?;
        f.write_str(match self.action {
            FilterAction::Mask => " and masked it",
            FilterAction::Block => " and blocked it",
            FilterAction::Warn | FilterAction::Log => "",
        })
    }
}

impl Guardrails {
    /// The filters of a provider, for a call. One that is to keep something back and cannot be used refuses the call.
    pub fn of(manifest: &Manifest) -> Result<Self, CallError> {
        let guardrails = Self::compile(&manifest.guardrails);
        match guardrails.problems.iter().find(|problem| problem.is_open()) {
            None => {
                for problem in guardrails.idle() {
                    tracing::warn!(provider = %manifest.id, %problem, "a guardrail keeps nothing back");
                }
                Ok(guardrails)
            }
            Some(problem) => Err(CallError::Unguarded {
                provider: manifest.id.clone(),
                filter: problem.filter.clone(),
                reason: problem.fault.to_string(),
            }),
        }
    }

    /// The filters as they are written, as far as they can be used.
    pub fn compile(written: &resilience::Guardrails) -> Self {
        let mut problems = Vec::new();
        let input =
            written.input_filters.iter().flat_map(|filter| Rule::compile(filter, Side::Input, &mut problems)).collect();
        let output = written
            .output_filters
            .iter()
            .flat_map(|filter| Rule::compile(filter, Side::Output, &mut problems))
            .collect();
        problems.extend(written.unread.iter().map(Problem::unread));
        Self { input, output, problems }
    }

    /// What in the manifest cannot be used as written: patterns that are none, filters that look for nothing, patterns that
    /// hold an answer back until it is complete.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Filters that find nothing and let every call pass.
    pub fn idle(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.is_idle())
    }

    pub fn has_input(&self) -> bool {
        !self.input.is_empty()
    }

    pub fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Filters a request that is about to be sent, or shown. Its body is written anew only where something was masked.
    pub fn filter_request(&self, request: &mut Request) -> Result<Vec<Finding>, CallError> {
        if !self.has_input() {
            return Ok(Vec::new());
        }
        let mut payload = request.payload()?;
        let findings = self.filter_input(&mut payload)?;
        if findings.iter().any(Finding::is_masked) {
            request.body = payload.to_string().into_bytes();
        }
        Ok(findings)
    }

    /// Filters the texts of a request's body, in place. What is sent beside the conversation, in tools, schemas and settings, is
    /// looked through as well; of it only descriptions are masked.
    pub fn filter_input(&self, payload: &mut Value) -> Result<Vec<Finding>, CallError> {
        let mut findings = Findings::new(Side::Input);
        payload::for_each_text(payload, &mut |text| self.filter_text(text, &mut findings))?;
        Ok(findings.into_vec())
    }

    /// Filters a conversation and the definitions of tools, in place, where they are no request: somebody else makes one.
    pub fn filter_conversation<'t>(
        &self,
        conversation: &mut Value,
        tools: impl IntoIterator<Item = &'t mut Value>,
    ) -> Result<Vec<Finding>, CallError> {
        let mut findings = Findings::new(Side::Input);
        payload::for_each_said(conversation, &mut |text| self.filter_text(text, &mut findings))?;
        for tool in tools {
            payload::for_each_text(tool, &mut |text| self.filter_text(text, &mut findings))?;
        }
        Ok(findings.into_vec())
    }

    fn filter_text(&self, text: Text<'_>, findings: &mut Findings) -> Result<(), CallError> {
        match text {
            Text::Said(text) => {
                if let Cow::Owned(masked) = apply(&self.input, text, findings)? {
                    *text = masked;
                }
                Ok(())
            }
            Text::Fixed(text) => {
                let mut found = self.input.iter().filter(|rule| matches!(rule.mask(text), Cow::Owned(_)));
                found.try_for_each(|rule| match rule.action() {
                    FilterAction::Mask => findings.add_left(rule),
                    FilterAction::Block | FilterAction::Warn | FilterAction::Log => findings.add(rule),
                })
            }
        }
    }

    /// Filters texts that are no part of a chat, in place.
    pub fn filter_texts<'t>(
        &self,
        side: Side,
        texts: impl IntoIterator<Item = &'t mut String>,
    ) -> Result<Vec<Finding>, CallError> {
        let rules = match side {
            Side::Input => &self.input,
            Side::Output => &self.output,
        };
        let mut findings = Findings::new(side);
        for text in texts {
            if let Cow::Owned(masked) = apply(rules, text, &mut findings)? {
                *text = masked;
            }
        }
        Ok(findings.into_vec())
    }

    /// Filters a whole text of an answer.
    pub fn filter_output<'t>(&self, text: &'t str) -> Result<(Cow<'t, str>, Vec<Finding>), CallError> {
        let mut findings = Findings::new(Side::Output);
        let text = apply(&self.output, text, &mut findings)?;
        Ok((text, findings.into_vec()))
    }

    /// Filters an answer while it comes.
    pub fn stream_output(&self) -> OutputGuard {
        OutputGuard::new(self.output.clone())
    }
}

/// Applies the filters one after the other.
fn apply<'t>(rules: &[Rule], text: &'t str, findings: &mut Findings) -> Result<Cow<'t, str>, CallError> {
    let mut current = Cow::Borrowed(text);
    for rule in rules {
        if let Cow::Owned(masked) = rule.mask(&current) {
            findings.add(rule)?;
            if rule.action() == FilterAction::Mask {
                current = Cow::Owned(masked);
            }
        }
    }
    Ok(current)
}

/// What was found so far on one side.
#[derive(Debug)]
struct Findings {
    side: Side,
    found: Vec<Finding>,
}

impl Findings {
    fn new(side: Side) -> Self {
        Self { side, found: Vec::new() }
    }

    /// Counts one more text; a filter that blocks ends it.
    fn add(&mut self, rule: &Rule) -> Result<(), CallError> {
        self.count(rule, false)
    }

    /// Counts one more text that a filter was to mask and did not.
    fn add_left(&mut self, rule: &Rule) -> Result<(), CallError> {
        self.count(rule, true)
    }

    fn count(&mut self, rule: &Rule, left: bool) -> Result<(), CallError> {
        let (filter, action, side) = (rule.name(), rule.action(), self.side);
        match action {
            FilterAction::Warn | FilterAction::Block => tracing::warn!(filter, %side, "a guardrail found something"),
            FilterAction::Log | FilterAction::Mask => tracing::info!(filter, %side, "a guardrail found something"),
        }
        let is_same = |it: &&mut Finding| it.filter == filter && it.action == action && it.left == left;
        match self.found.iter_mut().find(is_same) {
            Some(finding) => finding.texts += 1,
            None => self.found.push(Finding { filter: filter.to_owned(), action, side, texts: 1, left }),
        }
        match action {
            FilterAction::Block => Err(CallError::Blocked { filter: filter.to_owned(), side }),
            FilterAction::Warn | FilterAction::Log | FilterAction::Mask => Ok(()),
        }
    }

    fn into_vec(self) -> Vec<Finding> {
        self.found
    }
}
