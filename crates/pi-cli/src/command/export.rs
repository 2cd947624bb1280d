//! `pi export`: a session as a page, as Markdown, or what the model was shown.

use std::{
    io,
    path::{Path, PathBuf},
};

use pi_envelope::{Envelope, Purpose};
use pi_session::{
    export::{self, ExportError, Form},
    sidecar::Listed,
    tree::stamp,
};
use serde_json::json;

use crate::{
    amount::grouped,
    arguments::session::{ExportArguments, FolderArguments},
    console::{Console, Reader, Tone, printable},
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
    input::{self, Existing},
    table::{self, Align, Cell, Column, Room},
    workshop::{Ground, seat},
};

const COLUMNS: [Column; 7] = [
    Column { title: "REQUEST", align: Align::Left, room: Room::Whole },
    Column { title: "FOR", align: Align::Left, room: Room::Whole },
    Column { title: "TIME", align: Align::Left, room: Room::LeaveOut(2) },
    Column { title: "MESSAGES", align: Align::Right, room: Room::LeaveOut(3) },
    Column { title: "IN", align: Align::Right, room: Room::LeaveOut(1) },
    Column { title: "OUT", align: Align::Right, room: Room::LeaveOut(1) },
    Column { title: "MODEL", align: Align::Left, room: Room::CutToOrLeaveOut(12, 4) },
];

pub(crate) fn run(
    arguments: &ExportArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let path = find(&arguments.session, &arguments.folder, environment, console)?;
    if arguments.list {
        return list(&path, console);
    }
    let form = form(arguments, console)?;
    let text = match form {
        Form::Session => input::read_text(&path)?,
        Form::Envelope if arguments.all => export::list(&path, usize::MAX).map_err(SessionFailure::Export)?,
        Form::Envelope => {
            let envelope = envelope(&path, arguments.request.as_deref())?;
            serde_json::to_string_pretty(&envelope).expect("an envelope is JSON")
        }
        Form::Html if arguments.envelopes => {
            let title = story(&path, console)?.title();
            let album = export::album(&path, &title).map_err(SessionFailure::Export)?;
            pi_web::viewer_html(&serde_json::to_string(&album).expect("an album is plain JSON"))
        }
        Form::Html => export::html(&story(&path, console)?),
        Form::Markdown => export::markdown(&story(&path, console)?),
    };
    match arguments.output.as_ref().filter(|file| !is_standard_output(file)) {
        None => console.line(text.trim_end()),
        Some(file) => {
            let existing = if arguments.force { Existing::Replace } else { Existing::Keep };
            input::write(file, &format!("{}\n", text.trim_end()), existing).map_err(told)?;
            console.remark(&format!("written to {} as {}", file.display(), form.told()));
        }
    }
    Ok(Exit::Success)
}

/// Why a file was not written; that one exists has advice of its own.
pub(super) fn told(failure: Failure) -> Failure {
    match failure {
        Failure::UnwritableFile { file, source } if source.kind() == io::ErrorKind::AlreadyExists => {
            SessionFailure::Exists { file }.into()
        }
        other => other,
    }
}

/// The file of a session that somebody named by its path, the beginning of its id, or as the last one.
pub(super) fn find(
    word: &str,
    folder: &FolderArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<PathBuf, Failure> {
    let ground = Ground::survey(environment)?;
    ground.tell(console);
    let project = seat::project(folder.session_dir.as_deref(), &ground, environment).ok_or(SessionFailure::Homeless)?;
    seat::find(word, &project)
}

/// What the model was shown in a request, which is named by its id or the end of it; in the last turn of the
/// conversation if none is.
pub(super) fn envelope(path: &Path, request: Option<&str>) -> Result<Envelope, Failure> {
    let whole = match request {
        None => None,
        Some(word) => {
            let listed = export::envelopes(path).map_err(SessionFailure::Export)?;
            let ends = |it: &&Listed| it.request == word || it.request.ends_with(&format!("-{word}"));
            let mut found = listed.iter().filter(ends).map(|it| it.request.clone());
            // What fits several, or none, is told by whoever looks for it.
            Some(found.next().filter(|_| found.next().is_none()).unwrap_or_else(|| word.to_owned()))
        }
    };
    Ok(export::envelope(path, whole.as_deref()).map_err(SessionFailure::Export)?)
}

fn form(arguments: &ExportArguments, console: &mut Console) -> Result<Form, SessionFailure> {
    Ok(match arguments {
        ExportArguments { envelope: true, .. } => Form::Envelope,
        ExportArguments { md: true, .. } => Form::Markdown,
        ExportArguments { html: true, .. } => Form::Html,
        ExportArguments { output: Some(file), .. } if is_standard_output(file) => Form::Html,
        ExportArguments { output: Some(file), .. } => Form::of_file(file).map_err(SessionFailure::Ending)?,
        ExportArguments { output: None, .. } if console.width().is_some() => {
            // Nobody reads the text of a page.
            console.remark("as Markdown, because a terminal shows it; -o session.html writes the page");
            Form::Markdown
        }
        ExportArguments { output: None, .. } => Form::Html,
    })
}

/// As elsewhere, a `-` stands for it.
fn is_standard_output(file: &Path) -> bool {
    file == Path::new("-")
}

fn story(path: &Path, console: &mut Console) -> Result<export::Story, Failure> {
    let story = export::read(path).map_err(SessionFailure::Export)?;
    for notice in &story.notices {
        console.note(&seat::told(notice));
    }
    Ok(story)
}

fn list(path: &Path, console: &mut Console) -> Result<Exit, Failure> {
    let listed = export::envelopes(path).map_err(SessionFailure::Export)?;
    if listed.is_empty() {
        return Err(SessionFailure::Export(ExportError::NoEnvelopes).into());
    }
    match console.reader() {
        Reader::Machine => listed.iter().for_each(|it| console.line(&object(it))),
        Reader::Person => {
            table::show(&COLUMNS, &listed.iter().map(row).collect::<Vec<_>>(), console);
        }
    }
    Ok(Exit::Success)
}

fn row(it: &Listed) -> Vec<Cell> {
    let time = stamp(pi_policy::Moment::from_unix_millis(it.time));
    let tokens = |count: Option<u64>| Cell::plain(count.map(grouped).unwrap_or_default());
    let sent = it.usage.as_ref().map(|usage| usage.input + usage.cache_read + usage.cache_write);
    vec![
        Cell::toned(Tone::Accent, short(&it.request)),
        Cell::plain(asked_for(it.purpose())),
        Cell::plain(time.get(..19).unwrap_or(&time).replace('T', " ")),
        Cell::plain(it.messages.to_string()),
        tokens(sent),
        tokens(it.usage.as_ref().map(|usage| usage.output)),
        Cell::plain(printable(it.model.as_deref().unwrap_or_default())),
    ]
}

/// What a model was asked for, in a word or two.
pub(super) fn asked_for(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Turn => "turn",
        Purpose::Compaction => "compaction",
        Purpose::BranchSummary => "branch summary",
        Purpose::Extension => "extension",
    }
}

/// The end of an id, which no other request of the session has: what comes before is the session's.
fn short(request: &str) -> &str {
    let ends = request.rmatch_indices('-').nth(1);
    ends.map_or(request, |(place, _)| &request[place + 1..])
}

fn object(it: &Listed) -> String {
    let usage = it.usage.as_ref().map(|usage| json!({"input": usage.input, "output": usage.output}));
    json!({
        "request": it.request, "entry": it.entry, "time": it.time, "model": it.model, "messages": it.messages,
        "purpose": it.purpose(), "usage": usage, "residual": it.residual,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_is_shown_by_the_end_of_its_id() {
        for (request, expected) in [("0199-ab-cd-19a8f2-0", "19a8f2-0"), ("one-2", "one-2"), ("one", "one")] {
            assert_eq!(short(request), expected);
        }
    }
}
