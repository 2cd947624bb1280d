//! `grep`: looks for text in files.

mod search;

use std::{ops::ControlFlow, path::Path, sync::LazyLock};

use futures_util::future::BoxFuture;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use pi_policy::Location;

use crate::{
    arguments,
    files::{self, FileFault, Spot},
    notice::Notices,
    tool::{self, Call, Definition, Failure, Output, Tool},
    tree::{Base, Kind, Reach, Tree},
    truncate::{self, MAX_LINE_CHARACTERS},
    workspace::Workspace,
};
use search::{Hits, Role, Search};

static DEFINITION: LazyLock<Definition> = LazyLock::new(|| tool::built_in(include_str!("../definitions/grep.json")));

const DEFAULT_LIMIT: usize = 100;
/// More than so many lines do not go into what may be sent, so no more are looked for in one file.
const MOST_MATCHES: usize = 6000;
const MOST_CONTEXT: usize = 1000;
/// So many files are looked through at once; more the longer it takes, as little is found then.
const BATCHES: [usize; 3] = [64, 512, 4096];

/// The tool `grep`.
#[derive(Debug, Default)]
pub(crate) struct Grep;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Parameters {
    pattern: String,
    glob: Option<String>,
    ignore_case: Option<bool>,
    literal: Option<bool>,
    context: Option<usize>,
    limit: Option<usize>,
}

impl Tool for Grep {
    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn execute(&self, call: Call) -> BoxFuture<'_, Result<Output, Failure>> {
        Box::pin(grep(call))
    }
}

async fn grep(call: Call) -> Result<Output, Failure> {
    let parameters: Parameters = arguments::read(call.arguments)?;
    let location = files::granted(&call.grant)?.clone();
    let limit = parameters.limit.filter(|limit| *limit > 0).unwrap_or(DEFAULT_LIMIT);
    let matcher = matcher(&parameters)?;
    let files = chosen(&location, parameters.glob.as_deref())?;
    let cancel = call.cancel.clone();
    tool::off_thread(&call.cancel, move || {
        let context = parameters.context.unwrap_or_default().min(MOST_CONTEXT);
        let search = Search::new(matcher, context, limit.min(MOST_MATCHES));
        let mut report = Report { limit, ..Report::default() };
        match Base::open(&call.grant, &location)? {
            Base::File(spot) => look_into(&spot, &search, &cancel, &mut report)?,
            Base::Folder(folder) => {
                let (grant, workspace): (_, &Workspace) = (&call.grant, &call.workspace);
                let tree = Tree {
                    grant,
                    places: workspace.places(),
                    location: &location,
                    folder: &folder,
                    gitignore: Reach::Repositories,
                };
                look_through(&tree, &files, &search, &cancel, &mut report);
            }
        }
        Ok(report.tell())
    })
    .await
}

fn matcher(parameters: &Parameters) -> Result<RegexMatcher, Failure> {
    let mut builder = RegexMatcherBuilder::new();
    builder.line_terminator(Some(b'\n')).multi_line(true);
    builder.case_insensitive(parameters.ignore_case.unwrap_or_default());
    builder.fixed_strings(parameters.literal.unwrap_or_default());
    builder.build(&parameters.pattern).map_err(|error| {
        let hint = if parameters.literal.unwrap_or_default() { "" } else { "; for plain text set literal" };
        Failure::new(format!("The pattern cannot be used: {error}{hint}"))
    })
}

/// The files that a glob chooses, all without one.
fn chosen(location: &Location, glob: Option<&str>) -> Result<Override, Failure> {
    let mut builder = OverrideBuilder::new(location.absolute());
    let built = match glob {
        Some(glob) => builder.add(glob).and_then(|builder| builder.build()),
        None => builder.build(),
    };
    built.map_err(|error| Failure::new(format!("The glob cannot be used: {error}")))
}

fn look_into(spot: &Spot, search: &Search, cancel: &CancellationToken, report: &mut Report) -> Result<(), Failure> {
    let (file, _) = spot.open()?;
    let hits = search.file(file, cancel).map_err(|error| FileFault::reading(spot.shown(), error))?;
    let name = Path::new(spot.shown()).file_name().map(|name| name.to_string_lossy().into_owned());
    let _ = report.add(&name.unwrap_or_default(), &hits, search);
    Ok(())
}

fn look_through(tree: &Tree<'_>, files: &Override, search: &Search, cancel: &CancellationToken, report: &mut Report) {
    let mut sizes = BATCHES.into_iter();
    let mut size = BATCHES[0];
    let mut batch = Vec::new();
    let look = |batch: &mut Vec<crate::tree::Entry>, report: &mut Report| {
        let found = search.files(tree.folder, batch, cancel);
        let names = batch.drain(..).map(|entry| entry.shown());
        names.zip(found).try_for_each(|(name, hits)| report.add(&name, &hits, search))
    };
    tree.walk(cancel, &mut |entry| {
        let is_chosen = || !files.matched(tree.absolute(&entry.below), false).is_ignore();
        if entry.kind == Kind::File && is_chosen() {
            batch.push(entry);
        }
        if batch.len() < size {
            return ControlFlow::Continue(());
        }
        size = sizes.next().unwrap_or(size);
        look(&mut batch, report)
    });
    if !cancel.is_cancelled() && !report.is_full() {
        let _ = look(&mut batch, report);
    }
}

/// What was found, file by file.
#[derive(Default)]
struct Report {
    limit: usize,
    lines: Vec<String>,
    matches: usize,
    has_more: bool,
    has_cut_lines: bool,
}

impl Report {
    fn is_full(&self) -> bool {
        self.has_more
    }

    /// Adds the hits of one file, in order; breaks off when there are more than may be shown.
    fn add(&mut self, name: &str, hits: &Hits, search: &Search) -> ControlFlow<()> {
        // How many lines behind the last match may still be shown.
        let mut after = 0;
        for line in &hits.lines {
            let sign = match line.role {
                Role::Match if self.matches == self.limit => {
                    self.has_more = true;
                    break;
                }
                Role::Match => {
                    (self.matches, after) = (self.matches + 1, search.context);
                    ':'
                }
                // Before a match that is not shown, or too far behind the last one that is.
                Role::Context if self.matches == self.limit && after == 0 => continue,
                Role::Context => {
                    after = after.saturating_sub(1);
                    '-'
                }
            };
            let (text, is_cut) = truncate::line(&line.text);
            self.has_cut_lines |= is_cut;
            self.lines.push(format!("{name}{sign}{}{sign} {text}", line.number));
        }
        if self.has_more { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn tell(self) -> Output {
        if self.matches == 0 {
            return Output::text("No matches found");
        }
        let mut notices = Notices::default();
        let mut details = Map::new();
        if self.has_more {
            let (limit, more) = (self.limit, self.limit.saturating_mul(2));
            notices.add(format!("{limit} matches limit reached. Use limit={more} for more, or refine pattern"));
            details.insert("matchLimitReached".to_owned(), Value::from(limit));
        }
        if self.has_cut_lines {
            let length = MAX_LINE_CHARACTERS;
            notices.add(format!("Some lines truncated to {length} chars. Use read tool to see full lines"));
            details.insert("linesTruncated".to_owned(), Value::from(true));
        }
        notices.finish(&self.lines.join("\n"), details)
    }
}
