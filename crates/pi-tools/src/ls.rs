//! `ls`: lists a folder.

use std::sync::LazyLock;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    arguments,
    files::{self, FileFault, Folder},
    notice::Notices,
    tool::{self, Call, Definition, Failure, Output, Tool},
    tree::{self, Kind, Reach, Tree},
};

static DEFINITION: LazyLock<Definition> = LazyLock::new(|| tool::built_in(include_str!("../definitions/ls.json")));

const DEFAULT_LIMIT: usize = 500;

/// The tool `ls`.
#[derive(Debug, Default)]
pub(crate) struct Ls;

#[derive(Deserialize)]
struct Parameters {
    limit: Option<usize>,
}

impl Tool for Ls {
    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn execute(&self, call: Call) -> BoxFuture<'_, Result<Output, Failure>> {
        Box::pin(ls(call))
    }
}

async fn ls(call: Call) -> Result<Output, Failure> {
    let Parameters { limit } = arguments::read(call.arguments)?;
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(DEFAULT_LIMIT);
    let location = files::granted(&call.grant)?.clone();
    tool::off_thread(&call.cancel, move || {
        let folder = Folder::of(&call.grant, &location)?;
        let (grant, places) = (&call.grant, call.workspace.places());
        // A list shows what is ignored as well.
        let gitignore = Reach::Everywhere;
        let tree = Tree { grant, places, location: &location, folder: &folder, gitignore };
        let mut names = names(&tree).map_err(|error| FileFault::reading(&location.to_string(), error))?;
        names.sort_by(|one, other| (one.to_lowercase(), one).cmp(&(other.to_lowercase(), other)));
        Ok(tell(&names, limit))
    })
    .await
}

/// The names that may be shown, folders with a `/`.
fn names(tree: &Tree<'_>) -> std::io::Result<Vec<String>> {
    let entries = tree::list(tree.folder)?.into_iter();
    let shown = entries.filter(|(name, _)| tree.permits(&tree.absolute(name.as_ref())));
    let named = shown.map(|(name, kind)| {
        let is_folder = match kind {
            Kind::Folder => true,
            // Only as far as it leads to a folder in here.
            Kind::Link => tree.folder.dir().metadata(&name).is_ok_and(|behind| behind.is_dir()),
            Kind::File | Kind::Special => false,
        };
        format!("{}{}", name.to_string_lossy(), if is_folder { "/" } else { "" })
    });
    Ok(named.collect())
}

fn tell(names: &[String], limit: usize) -> Output {
    if names.is_empty() {
        return Output::text("(empty directory)");
    }
    let mut notices = Notices::default();
    let mut details = Map::new();
    if names.len() > limit {
        notices.add(format!("{limit} entries limit reached. Use limit={} for more", limit.saturating_mul(2)));
        details.insert("entryLimitReached".to_owned(), Value::from(limit));
    }
    let text = names[..names.len().min(limit)].join("\n");
    notices.finish(&text, details)
}
