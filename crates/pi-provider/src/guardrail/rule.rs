//! One filter.

use std::{borrow::Cow, sync::LazyLock};

use pi_redact::{Evidence, MARK, Options, Personal, Redactor, Stream};
use regex::{Regex, RegexBuilder};
use regex_syntax::{ParserBuilder, hir::Look};
use serde_json::Value;

use super::stage::HELD;
use crate::{
    error::Side,
    likeness::nearest,
    manifest::resilience::{Filter, FilterAction, UnreadFilter},
};

/// The same for everybody: it knows shapes only.
static PERSONAL: LazyLock<Redactor> = LazyLock::new(|| {
    Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Mask })
});

/// A filter, ready for use.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    name: String,
    action: FilterAction,
    search: Search,
    needs_whole: bool,
}

/// What a filter looks for.
#[derive(Debug, Clone)]
pub(super) enum Search {
    Personal,
    Pattern(Regex),
}

/// What in a filter cannot be used as written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("guardrail {filter}: {fault}")]
pub struct Problem {
    pub filter: String,
    pub action: FilterAction,
    pub fault: Fault,
}

/// What is wrong with a filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("{pattern} is not a regular expression")]
    NotAPattern { pattern: String },
    #[error("its patterns are too large together")]
    TooLarge,
    /// The standard leaves what is safe to whoever filters, and there is no opinion about it here.
    #[error("it names neither patterns nor words, so it finds nothing")]
    LooksForNothing,
    /// Nobody knows what it is to look for, which may be a slip.
    #[error("its type is not known, and it names neither patterns nor words, so it finds nothing")]
    UnknownType {
        /// The known type that is nearest.
        meant: Option<&'static str>,
    },
    /// It is written in a way that nobody reads.
    #[error("{reason}")]
    Unread { reason: String },
    /// What it is to look for is not a list of texts.
    #[error("its {member} are not a list of texts")]
    NotTexts { member: &'static str },
    /// Nobody reads this member, and it looks like one that says what to look for.
    #[error("its {member} is not known; {meant} is")]
    Misspelt { member: String, meant: &'static str },
    #[error(
        "{pattern} may match more than {LONGEST} bytes, or asks for the ends of the text, so answers come out when their \
         texts are complete"
    )]
    NeedsWhole { pattern: String },
}

impl Problem {
    /// Filters that could not be read. What they were to do is not known, so they may have been to block.
    pub(super) fn unread(filter: &UnreadFilter) -> Self {
        let fault = Fault::Unread { reason: filter.reason.clone() };
        Self { filter: filter.path.clone(), action: FilterAction::Block, fault }
    }

    /// Whether something passes that the filter was written to keep back.
    pub fn is_open(&self) -> bool {
        let is_broken = match self.fault {
            Fault::NotAPattern { .. } | Fault::TooLarge => true,
            Fault::UnknownType { .. } => true,
            Fault::Unread { .. } | Fault::NotTexts { .. } | Fault::Misspelt { .. } => true,
            // The standard's own example has it. It is told wherever it is used.
            Fault::LooksForNothing => false,
            Fault::NeedsWhole { .. } => false,
        };
        self.action.keeps_back() && is_broken
    }

    /// Whether the filter is to keep something back, finds nothing, and lets calls pass: whoever makes them should know.
    pub fn is_idle(&self) -> bool {
        self.action.keeps_back() && self.fault == Fault::LooksForNothing
    }
}

/// What cannot be used of a filter.
pub(crate) fn problems(filter: &Filter, side: Side) -> Vec<Problem> {
    let mut problems = Vec::new();
    Rule::compile(filter, side, &mut problems);
    problems
}

impl Rule {
    /// Compiles a filter; what cannot be used is left out and told. One for personal data that names patterns or words looks
    /// for both, and is two rules of one name.
    pub(super) fn compile(filter: &Filter, side: Side, problems: &mut Vec<Problem>) -> Vec<Self> {
        let mut tell = |fault| problems.push(Problem { filter: filter.kind.clone(), action: filter.action, fault });
        misread(filter).for_each(&mut tell);
        let mut alternatives = Vec::new();
        let mut needs_whole = false;
        for pattern in strings(filter.settings.get("patterns")) {
            if Regex::new(pattern).is_err() {
                tell(Fault::NotAPattern { pattern: pattern.to_owned() });
                continue;
            }
            if side == Side::Output && !fits_pieces(pattern) {
                needs_whole = true;
                tell(Fault::NeedsWhole { pattern: pattern.to_owned() });
            }
            alternatives.push(format!("(?:{pattern})"));
        }
        alternatives.extend(strings(filter.settings.get("words")).map(word));
        let mut searches = Vec::new();
        if filter.kind == PERSONAL_DATA {
            searches.push(Search::Personal);
        }
        match RegexBuilder::new(&alternatives.join("|")).case_insensitive(true).build() {
            Ok(pattern) if !alternatives.is_empty() => searches.push(Search::Pattern(pattern)),
            Ok(_) => {
                // Why patterns are left out is told already.
                if searches.is_empty() && strings(filter.settings.get("patterns")).next().is_none() {
                    tell(idleness(&filter.kind));
                }
            }
            Err(_) => tell(Fault::TooLarge),
        }
        let rule = |search| Self { name: filter.kind.clone(), action: filter.action, search, needs_whole };
        searches.into_iter().map(rule).collect()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn action(&self) -> FilterAction {
        self.action
    }

    /// Whether only a complete text shows what is in it.
    pub(super) fn needs_whole(&self) -> bool {
        self.needs_whole
    }

    pub(super) fn search(&self) -> &Search {
        &self.search
    }

    /// The text without what was found. Borrowed means that nothing was.
    pub(super) fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.search {
            Search::Personal => PERSONAL.redact_text(text),
            Search::Pattern(pattern) => mask_matches(pattern, text),
        }
    }
}

/// Where a filter says what it looks for.
const SOUGHT: [&str; 2] = ["patterns", "words"];

/// Members that were to say what is looked for, and do not.
fn misread(filter: &Filter) -> impl Iterator<Item = Fault> {
    let is_texts = |value: &Value| value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    let settings = &filter.settings;
    let wrong = SOUGHT
        .into_iter()
        .filter(move |member| settings.get(*member).is_some_and(|value| !value.is_null() && !is_texts(value)));
    let unknown = settings.keys().filter(|member| !SOUGHT.contains(&member.as_str()));
    let misspelt = unknown.filter_map(|member| {
        let meant = nearest(member, SOUGHT).first().copied()?;
        Some(Fault::Misspelt { member: member.clone(), meant })
    });
    wrong.map(|member| Fault::NotTexts { member }).chain(misspelt)
}

/// The types of filters that the standard names.
pub(crate) const TYPES: [&str; 2] = [PERSONAL_DATA, "content_safety"];
/// The one that knows by itself what to look for.
const PERSONAL_DATA: &str = "pii_detection";

/// What is wrong with a filter that looks for nothing.
fn idleness(kind: &str) -> Fault {
    if TYPES.contains(&kind) {
        return Fault::LooksForNothing;
    }
    Fault::UnknownType { meant: nearest(kind, TYPES).first().copied() }
}

/// The longest match that is found in a text that comes in pieces, in bytes; a letter on either side belongs to it.
const LONGEST: usize = HELD - 2 * 4;

/// Whether a pattern finds the same in pieces of a text as in all of it.
fn fits_pieces(pattern: &str) -> bool {
    let Ok(parsed) = ParserBuilder::new().case_insensitive(true).build().parse(pattern) else { return false };
    let properties = parsed.properties();
    let ends = [Look::Start, Look::End, Look::StartLF, Look::EndLF, Look::StartCRLF, Look::EndCRLF];
    let is_bounded = properties.maximum_len().is_some_and(|longest| longest <= LONGEST);
    is_bounded && !ends.into_iter().any(|end| properties.look_set().contains(end))
}

/// Hides personal data in a text that comes in pieces.
pub(super) fn personal_stream() -> Stream<'static> {
    PERSONAL.stream(0)
}

/// Puts the mark where the pattern matches; a match of nothing is none.
pub(super) fn mask_matches<'t>(pattern: &Regex, text: &'t str) -> Cow<'t, str> {
    let mut masked = String::new();
    let mut done = 0;
    for found in pattern.find_iter(text).filter(|found| !found.is_empty()) {
        masked.push_str(&text[done..found.start()]);
        masked.push_str(MARK);
        done = found.end();
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    masked.push_str(&text[done..]);
    Cow::Owned(masked)
}

fn strings(value: Option<&Value>) -> impl Iterator<Item = &str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).filter(|text| !text.is_empty())
}

/// The word by itself; a sign at its edge has no boundary to ask for.
fn word(word: &str) -> String {
    let is_letter = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let before = if is_letter(word.chars().next()) { r"\b" } else { "" };
    let after = if is_letter(word.chars().next_back()) { r"\b" } else { "" };
    format!("{before}{}{after}", regex::escape(word))
}
