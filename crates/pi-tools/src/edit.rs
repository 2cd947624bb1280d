//! `edit`: replaces text in a file and leaves every other byte of it alone.

mod diff;
mod fold;
mod place;
mod splice;

use std::{io::Read as _, sync::LazyLock};

use cap_std::fs::Metadata;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use pi_redact::{MARK, Redactor};

use crate::{
    arguments::{self, BadArguments},
    files::{self, FileFault, Missing, Spot},
    mask::{self, Restored, Veiled},
    tool::{self, Arguments, Call, Definition, Failure, Output, Tool},
    truncate,
};
use place::Source;

static DEFINITION: LazyLock<Definition> = LazyLock::new(|| tool::built_in(include_str!("../definitions/edit.json")));

/// A file that is larger is not edited by quoting from it.
pub(crate) const MAX_FILE: u64 = 256 * 1024 * 1024;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The tool `edit`.
#[derive(Debug, Default)]
pub(crate) struct Edit;

#[derive(Deserialize)]
struct Parameters {
    path: String,
    edits: Vec<Replacement>,
}

/// One replacement, as a model writes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Replacement {
    old_text: String,
    new_text: String,
}

impl Tool for Edit {
    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn prepare(&self, written: Value) -> BoxFuture<'_, Result<Arguments, BadArguments>> {
        let prepared = arguments::fit_file(&DEFINITION.parameters, with_edits(written));
        Box::pin(std::future::ready(prepared))
    }

    fn execute(&self, call: Call) -> BoxFuture<'_, Result<Output, Failure>> {
        Box::pin(edit(call))
    }
}

/// Takes `oldText` and `newText` beside `path`, the older form, for one more replacement.
fn with_edits(written: Value) -> Value {
    let mut written = match written {
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(members)) => members,
            Ok(_) | Err(_) => return Value::String(text),
        },
        Value::Object(members) => members,
        other => return other,
    };
    arguments::synonym::rename(&mut written, |name| ["oldText", "newText"].contains(&name));
    if let Some(old) = written.remove("oldText") {
        let mut pair = Map::from_iter([("oldText".to_owned(), old)]);
        if let Some(new) = written.remove("newText") {
            pair.insert("newText".to_owned(), new);
        }
        let edits = match written.remove("edits") {
            None | Some(Value::Null) => vec![Value::Object(pair)],
            Some(Value::Array(mut edits)) => {
                edits.push(Value::Object(pair));
                edits
            }
            Some(other) => vec![other, Value::Object(pair)],
        };
        written.insert("edits".to_owned(), Value::Array(edits));
    }
    Value::Object(written)
}

async fn edit(call: Call) -> Result<Output, Failure> {
    let parameters: Parameters = arguments::read(call.arguments)?;
    let location = files::granted(&call.grant)?.clone();
    let turn = tool::unless_cancelled(&call.cancel, call.workspace.queue().turn(&location)).await?;
    let cancel = call.cancel;
    tool::to_the_end(move || {
        // Others may follow only when this is done, even if nobody waits for it any more.
        let _turn = turn;
        if cancel.is_cancelled() {
            return Err(Failure::aborted());
        }
        let spot = Spot::find(&call.grant, &location, Missing::Refuse)?;
        change(&spot, &parameters, &call.workspace.settings().redactor, &cancel)
    })
    .await
}

fn change(
    spot: &Spot,
    parameters: &Parameters,
    redactor: &Redactor,
    cancel: &CancellationToken,
) -> Result<Output, Failure> {
    let Parameters { path, edits } = parameters;
    let (old, metadata) = read(spot, path, MAX_FILE)?;
    let Restored { text: new, lines } = rewrite(&old, edits, path, redactor)?;
    let writes_marks = edits.iter().any(|edit| edit.new_text.contains(MARK));
    // We take turns among ourselves, but an editor or a formatter does not.
    spot.check_unchanged(&metadata)?;
    spot.replace(new.as_bytes(), cancel)?;
    let count = edits.len();
    let note = if writes_marks || lines > 0 { mask::note(lines) } else { String::new() };
    let output = Output::text(format!("Successfully replaced {count} block(s) in {path}.{note}"));
    Ok(Output { details: Some(change_details(&old, &new, path)), ..output })
}

/// What people are told of a change.
pub(crate) fn change_details(old: &str, new: &str, path: &str) -> Value {
    let diff = diff::Diff::new(old, new, path);
    let mut details = json!({ "diff": diff.shown, "patch": diff.patch });
    if let (Some(line), Value::Object(details)) = (diff.first_changed_line, &mut details) {
        details.insert("firstChangedLine".to_owned(), Value::from(line));
    }
    details
}

/// The new content. A model that quotes what it was not shown quotes marks: then they are looked up in what it was shown,
/// and what it left alone gets its secrets back.
fn rewrite(old: &str, edits: &[Replacement], path: &str, redactor: &Redactor) -> Result<Restored, Failure> {
    let has_marks = edits.iter().any(|edit| edit.old_text.contains(MARK) || edit.new_text.contains(MARK));
    let veiled = if has_marks { Veiled::of(redactor, old) } else { None };
    match veiled {
        Some(veiled) => veiled.restore(&apply(veiled.shown(), edits, path)?, path),
        None => Ok(Restored { text: apply(old, edits, path)?, lines: 0 }),
    }
}

/// Why a file is not there as text that could be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error(transparent)]
    Fault(#[from] FileFault),
    #[error("{path} is {size}, too large to be edited")]
    TooLarge { path: String, size: String },
    #[error("{path} is not UTF-8 text, so it cannot be edited")]
    NotText {
        path: String,
        /// As it is shown, with a replacement character for what is no text.
        shown: String,
    },
}

impl From<Unreadable> for Failure {
    fn from(unreadable: Unreadable) -> Self {
        Self::new(unreadable.to_string())
    }
}

/// The text of a file, unless it has more bytes than `most`.
pub(crate) fn read(spot: &Spot, path: &str, most: u64) -> Result<(String, Metadata), Unreadable> {
    let (mut file, metadata) = spot.open()?;
    if metadata.len() > most {
        let size = truncate::size(usize::try_from(metadata.len()).unwrap_or(usize::MAX));
        return Err(Unreadable::TooLarge { path: path.to_owned(), size });
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| FileFault::reading(spot.shown(), error))?;
    // To show a replacement character for a byte is one thing, to write it back another.
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, metadata)),
        Err(error) => {
            let shown = String::from_utf8_lossy(error.as_bytes()).into_owned();
            Err(Unreadable::NotText { path: path.to_owned(), shown })
        }
    }
}

/// The new content. All replacements are looked up in the old one.
fn apply(old: &str, edits: &[Replacement], path: &str) -> Result<String, Failure> {
    let (mark, text) = match old.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => (BYTE_ORDER_MARK, text),
        None => ("", old),
    };
    let source = Source::new(text);
    let mut places = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let which = if edits.len() > 1 { format!("edits[{index}]") } else { "oldText".to_owned() };
        let found = source.find(&edit.old_text).map_err(|fault| Failure::new(fault.tell(&which, path)))?;
        places.push((found, index));
    }
    places.sort_by_key(|(place, _)| place.start);
    for pair in places.windows(2) {
        if let [(first, one), (second, other)] = pair
            && second.start < first.end
        {
            let text = format!("edits[{one}] and edits[{other}] overlap in {path}: make one replacement of them");
            return Err(Failure::new(text));
        }
    }
    let (mut new, mut end) = (mark.to_owned(), 0);
    for (place, index) in places {
        new.push_str(&text[end..place.start]);
        let around = splice::Around { text, place: place.clone() };
        new.push_str(&splice::splice(&around, &edits[index].old_text, &edits[index].new_text));
        end = place.end;
    }
    new.push_str(&text[end..]);
    if new == old {
        return Err(Failure::new(format!("Nothing would change in {path}: each newText is what is there already")));
    }
    Ok(new)
}

/// Text with `\n` between lines.
fn with_plain_breaks(text: &str) -> String {
    text.replace("\r\n", "\n")
}

#[cfg(test)]
mod tests;
