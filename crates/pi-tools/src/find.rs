//! `find`: looks for files by name.

use std::{ops::ControlFlow, sync::LazyLock};

use futures_util::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    arguments,
    files::{self, Folder},
    notice::Notices,
    tool::{self, Call, Definition, Failure, Output, Tool},
    tree::{Entry, Kind, Reach, Tree},
};

static DEFINITION: LazyLock<Definition> = LazyLock::new(|| tool::built_in(include_str!("../definitions/find.json")));

const DEFAULT_LIMIT: usize = 1000;

/// The tool `find`.
#[derive(Debug, Default)]
pub(crate) struct Find;

#[derive(Deserialize)]
struct Parameters {
    pattern: String,
    limit: Option<usize>,
}

impl Tool for Find {
    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn execute(&self, call: Call) -> BoxFuture<'_, Result<Output, Failure>> {
        Box::pin(find(call))
    }
}

async fn find(call: Call) -> Result<Output, Failure> {
    let Parameters { pattern, limit } = arguments::read(call.arguments)?;
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(DEFAULT_LIMIT);
    let location = files::granted(&call.grant)?.clone();
    let pattern = Pattern::new(&pattern)?;
    let cancel = call.cancel.clone();
    tool::off_thread(&call.cancel, move || {
        let folder = Folder::of(&call.grant, &location)?;
        let (grant, places) = (&call.grant, call.workspace.places());
        let gitignore = Reach::Everywhere;
        let tree = Tree { grant, places, location: &location, folder: &folder, gitignore };
        let mut found = Vec::new();
        tree.walk(&cancel, &mut |entry| {
            if pattern.matches(&entry, &tree) {
                found.push(entry.shown());
            }
            // One more than is shown: then it is known that there are more.
            if found.len() > limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        Ok(tell(&found, limit))
    })
    .await
}

/// What names or paths are compared with.
struct Pattern {
    matcher: GlobMatcher,
    scope: Scope,
    only_folders: bool,
}

enum Scope {
    Name,
    /// The path from the folder that is searched.
    Below,
    Absolute,
}

impl Pattern {
    fn new(written: &str) -> Result<Self, Failure> {
        let bare = written.strip_prefix("./").unwrap_or(written);
        let (bare, only_folders) = match bare.strip_suffix('/') {
            Some(bare) if !bare.is_empty() => (bare, true),
            Some(_) | None => (bare, false),
        };
        let (glob, scope) = match (bare.starts_with('/'), bare.contains('/')) {
            (true, _) => (bare.to_owned(), Scope::Absolute),
            (false, true) if bare.starts_with("**/") => (bare.to_owned(), Scope::Below),
            (false, true) => (format!("**/{bare}"), Scope::Below),
            (false, false) => (bare.to_owned(), Scope::Name),
        };
        let ignores_case = !bare.chars().any(char::is_uppercase);
        let glob = GlobBuilder::new(&glob).literal_separator(true).case_insensitive(ignores_case).build();
        let glob = glob.map_err(|error| Failure::new(format!("The pattern is no glob: {}", error.kind())))?;
        Ok(Self { matcher: glob.compile_matcher(), scope, only_folders })
    }

    fn matches(&self, entry: &Entry, tree: &Tree<'_>) -> bool {
        if self.only_folders && entry.kind != Kind::Folder {
            return false;
        }
        match self.scope {
            Scope::Name => entry.below.file_name().is_some_and(|name| self.matcher.is_match(name)),
            Scope::Below => self.matcher.is_match(&entry.below),
            Scope::Absolute => self.matcher.is_match(tree.absolute(&entry.below)),
        }
    }
}

fn tell(found: &[String], limit: usize) -> Output {
    if found.is_empty() {
        return Output::text("No files found matching pattern");
    }
    let mut notices = Notices::default();
    let mut details = Map::new();
    if found.len() > limit {
        let more = limit.saturating_mul(2);
        notices.add(format!("{limit} results limit reached. Use limit={more} for more, or refine pattern"));
        details.insert("resultLimitReached".to_owned(), Value::from(limit));
    }
    notices.finish(&found[..found.len().min(limit)].join("\n"), details)
}
