//! Looks at the syntax tree of one file: what it imports, what it may not do, what it seems to need, and which of its words
//! mean its own place.

#[path = "scan/absent.rs"]
mod absent;
#[path = "scan/capability.rs"]
mod capability;
#[path = "scan/decorators.rs"]
mod decorators;
#[path = "scan/hook.rs"]
mod hook;
#[path = "scan/learn.rs"]
mod learn;
#[path = "scan/meaning.rs"]
mod meaning;
#[path = "scan/report.rs"]
mod report;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use oxc::{
    allocator::Allocator,
    ast_visit::Visit as _,
    parser::{ParseOptions, Parser},
    semantic::SemanticBuilder,
    span::{SourceType, Span},
};
use rolldown::ModuleType;
use rolldown_common::ImportKind;

pub(crate) use self::{absent::Wants, decorators::Decorators};
use super::{
    protocol::{Found, Place, Request},
    rule::Rule,
};

/// One long line of generated code is no excerpt.
const LONGEST_EXCERPT: usize = 240;

/// What was learnt about a file.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) findings: Vec<Found>,
    pub(crate) imports: Vec<Import>,
    pub(crate) assets: Vec<PathBuf>,
    pub(crate) capabilities: BTreeSet<&'static str>,
    pub(crate) wants: Wants,
    pub(crate) decorators: Decorators,
    /// Regular expressions that are none, which the engine would refuse without a word about where they are.
    pub(crate) broken_patterns: Vec<Place>,
    edits: Vec<Edit>,
}

/// A name that the file imports, in whichever way.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) specifier: String,
    pub(crate) place: Place,
    pub(crate) kind: ImportKind,
    pub(crate) as_what: As,
    /// Whether somebody stands by for the case that there is nothing of that name.
    pub(crate) is_tried: bool,
}

/// What an import makes of the file that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum As {
    /// What the end of its name says.
    Named,
    /// `with { type: "text" }`
    Text,
}

/// Other words for a part of the source.
#[derive(Debug)]
struct Edit {
    span: Span,
    text: String,
}

/// The file that is looked at.
struct Source<'s> {
    file: &'s Path,
    text: &'s str,
    /// Where lines begin.
    lines: Vec<usize>,
}

/// Nothing if it is no program: the bundler then says why, with the place.
pub(crate) fn scan(file: &Path, text: &str, kind: &ModuleType, request: &Request) -> Option<Scan> {
    let allocator = Allocator::default();
    let options = ParseOptions { parse_regular_expression: true, ..ParseOptions::default() };
    let parsed = Parser::new(&allocator, text, source_type(file, kind)).with_options(options).parse();
    if parsed.panicked {
        return None;
    }
    let semantic = SemanticBuilder::new().build(&parsed.program).semantic;
    let source = Source::new(file, text);
    let mut learner = learn::Learner::new(semantic.scoping());
    // What a function is given may be known only after the function was read.
    for _ in 0..2 {
        learner.visit_program(&parsed.program);
    }
    let known = learner.into_known();
    let mut reporter = report::Reporter::new(&known, &source, request);
    reporter.visit_program(&parsed.program);
    let wants = absent::find(&parsed.program, semantic.scoping(), &source);
    let decorators = decorators::find(&parsed.program, semantic.scoping(), &source);
    Some(Scan { wants, decorators, ..reporter.finish() })
}

/// What code looks like it needs that has this module, whatever it does with it.
pub(crate) fn needs_of(module: &str) -> &'static [&'static str] {
    capability::of_export(&meaning::plain(module), None)
}

fn source_type(file: &Path, kind: &ModuleType) -> SourceType {
    let by_name = SourceType::from_path(file).unwrap_or_else(|_| SourceType::mjs());
    match kind {
        ModuleType::Ts => SourceType::ts().with_module(true),
        ModuleType::Tsx => SourceType::tsx(),
        ModuleType::Jsx => SourceType::jsx(),
        // Whether a file is a module or CommonJS is told by what stands in it.
        _ if by_name.is_typescript() => by_name,
        _ => SourceType::unambiguous(),
    }
}

impl Scan {
    /// The source with the words for its own place replaced, and without what only a shell reads; nothing if there is none
    /// of that.
    pub(crate) fn edited(&self, text: &str) -> Option<String> {
        if self.edits.is_empty() {
            return None;
        }
        let mut edits: Vec<&Edit> = self.edits.iter().collect();
        edits.sort_by_key(|edit| edit.span.start);
        let (mut edited, mut at) = (String::with_capacity(text.len() + 32 * edits.len()), 0);
        for edit in edits {
            let (start, end) = (edit.span.start as usize, edit.span.end as usize);
            edited.push_str(text.get(at..start)?);
            edited.push_str(&edit.text);
            // Maps know lines only: an expression over several keeps them.
            edited.extend(text.get(start..end)?.chars().filter(|&letter| letter == '\n'));
            at = end;
        }
        edited.push_str(text.get(at..)?);
        Some(edited)
    }

    /// The column in `text` of what stands at a column of a line after the edits. Lines and columns count from one, columns
    /// in characters.
    pub(crate) fn before_edits(&self, text: &str, line: u32, column: u32) -> u32 {
        let mut edits: Vec<&Edit> = self.edits.iter().collect();
        edits.sort_by_key(|edit| edit.span.start);
        let source = Source::new(Path::new(""), text);
        let count = |text: &str| i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        let (mut shift, column) = (0, i64::from(column));
        for (edit, place) in edits.iter().map(|edit| (edit, source.place(edit.span))).filter(|(_, it)| it.line == line)
        {
            let (begin, written) = (i64::from(place.column), count(&edit.text));
            if column - shift < begin {
                break;
            }
            // Whatever is wrong inside of an edit is wrong with what it stands for.
            if column - shift < begin + written {
                return place.column;
            }
            shift += written - i64::from(place.length);
        }
        u32::try_from(column - shift).unwrap_or(1)
    }
}

impl<'s> Source<'s> {
    fn new(file: &'s Path, text: &'s str) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { file, text, lines }
    }

    fn place(&self, span: Span) -> Place {
        let (start, end) = (span.start as usize, span.end as usize);
        let index = self.lines.partition_point(|&line| line <= start).saturating_sub(1);
        let begin = self.lines[index];
        let line = self.text[begin..].lines().next().unwrap_or_default();
        let count = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        let before = self.text.get(begin..start).unwrap_or_default();
        let about = self.text.get(start..end.min(begin + line.len())).unwrap_or_default();
        Place {
            file: self.file.to_path_buf(),
            line: u32::try_from(index + 1).unwrap_or(u32::MAX),
            column: count(before) + 1,
            length: count(about).max(1),
            text: if line.len() > LONGEST_EXCERPT { String::new() } else { line.to_owned() },
        }
    }

    fn found(&self, rule: Rule, subject: &str, span: Span) -> Found {
        Found { rule, subject: subject.to_owned(), place: self.place(span) }
    }
}
