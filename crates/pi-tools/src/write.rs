//! `write`: makes a file or replaces all of it.

use std::sync::LazyLock;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use pi_redact::{MARK, Redactor};

use crate::{
    arguments::{self, BadArguments},
    edit::{self, Unreadable},
    files::{self, FileFault, Missing, Spot},
    mask::{self, Restored, Veiled},
    tool::{self, Arguments, Call, Definition, Failure, Output, Tool},
};

static DEFINITION: LazyLock<Definition> = LazyLock::new(|| tool::built_in(include_str!("../definitions/write.json")));

/// What two texts have together that are compared: two that have nothing in common take the square of their lines.
/// What is told of them is kept with the session, so they have few bytes too.
const MOST_LINES: usize = 4_000;
const MOST_BYTES: usize = 256 << 10;

/// The tool `write`.
#[derive(Debug, Default)]
pub(crate) struct Write;

#[derive(Deserialize)]
struct Parameters {
    path: String,
    content: String,
}

impl Tool for Write {
    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn prepare(&self, written: Value) -> BoxFuture<'_, Result<Arguments, BadArguments>> {
        Box::pin(std::future::ready(arguments::fit_file(&DEFINITION.parameters, written)))
    }

    fn execute(&self, call: Call) -> BoxFuture<'_, Result<Output, Failure>> {
        Box::pin(write(call))
    }
}

async fn write(call: Call) -> Result<Output, Failure> {
    let Parameters { path, content } = arguments::read(call.arguments)?;
    let location = files::granted(&call.grant)?.clone();
    let turn = tool::unless_cancelled(&call.cancel, call.workspace.queue().turn(&location)).await?;
    let cancel = call.cancel;
    tool::to_the_end(move || {
        // Others may follow only when this is done, even if nobody waits for it any more.
        let _turn = turn;
        if cancel.is_cancelled() {
            return Err(Failure::aborted());
        }
        let spot = Spot::find(&call.grant, &location, Missing::Make)?;
        let (content, note) = unveil(&spot, content, &path, &call.workspace.settings().redactor)?;
        let details = change_of(&spot, &content, &path);
        spot.replace(content.as_bytes(), &cancel)?;
        Ok(Output { details, ..Output::text(format!("Successfully wrote {} bytes to {path}{note}", content.len())) })
    })
    .await
}

/// What becomes of the file that is there, for people; nothing if there is none, or none that is compared.
fn change_of(spot: &Spot, content: &str, path: &str) -> Option<Value> {
    // Why it cannot be read is told when it is written.
    let (old, _) = edit::read(spot, path, MOST_BYTES as u64).ok()?;
    let is_small =
        old.len() + content.len() <= MOST_BYTES && old.lines().count() + content.lines().count() <= MOST_LINES;
    (is_small && !old.is_empty() && old != content).then(|| edit::change_details(&old, content, path))
}

/// The content with the secrets of the old file in the place of their marks, and what the model must know about marks.
fn unveil(spot: &Spot, content: String, path: &str, redactor: &Redactor) -> Result<(String, String), Failure> {
    if !content.contains(MARK) {
        return Ok((content, String::new()));
    }
    let old = match edit::read(spot, path, edit::MAX_FILE) {
        Ok((old, _)) => old,
        // There is nothing to be spoiled.
        Err(Unreadable::Fault(FileFault::Missing { .. })) => String::new(),
        // A model may have been shown it all the same; but what was hidden then cannot be put back.
        Err(Unreadable::NotText { shown, .. }) if Veiled::of(redactor, &shown).is_none() => String::new(),
        Err(unreadable @ (Unreadable::Fault(_) | Unreadable::TooLarge { .. } | Unreadable::NotText { .. })) => {
            return Err(refusal(path, &unreadable));
        }
    };
    let Restored { text, lines } = match Veiled::of(redactor, &old) {
        Some(veiled) => veiled.restore(&content, path)?,
        None => Restored { text: content, lines: 0 },
    };
    Ok((text, mask::note(lines)))
}

fn refusal(path: &str, unreadable: &Unreadable) -> Failure {
    Failure::new(format!(
        "{path} was not changed. The new text holds {MARK}, which may stand for a secret of the old file, and that one \
         cannot be looked at to put it back: {unreadable}"
    ))
}
