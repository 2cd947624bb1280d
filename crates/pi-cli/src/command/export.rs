//! `pi export`: a session as a page, as Markdown, or what the model was shown.

use std::path::{Path, PathBuf};

use pi_session::export::{self, ExportError};
use serde_json::json;

use crate::{
    arguments::session::{ExportArguments, FolderArguments},
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
    input,
    workshop::{Ground, seat},
};

pub(crate) fn run(
    arguments: &ExportArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let path = find(&arguments.session, &arguments.folder, environment, console)?;
    if arguments.list {
        return list(&path, console);
    }
    let text = match form(arguments) {
        Form::Envelope => {
            let envelope = export::envelope(&path, arguments.request.as_deref()).map_err(SessionFailure::Export)?;
            serde_json::to_string_pretty(&envelope).expect("an envelope is JSON")
        }
        Form::Html => export::html(&story(&path, console)?),
        Form::Markdown => export::markdown(&story(&path, console)?),
    };
    match &arguments.output {
        None => console.line(text.trim_end()),
        Some(file) => {
            input::write_new(file, &format!("{}\n", text.trim_end()))?;
            console.remark(&format!("written to {}", file.display()));
        }
    }
    Ok(Exit::Success)
}

/// The file of a session that somebody named by its path, the beginning of its id, or as the last one.
pub(super) fn find(
    word: &str,
    folder: &FolderArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<PathBuf, Failure> {
    let ground = Ground::survey(environment, console)?;
    let project = seat::project(folder.session_dir.as_deref(), &ground, environment).ok_or(SessionFailure::Homeless)?;
    if word == "last" {
        let last = project.most_recent().map_err(|error| SessionFailure::Find(error.into()))?;
        return Ok(last.ok_or(SessionFailure::NoneYet)?);
    }
    Ok(project.find(word).map_err(SessionFailure::Find)?)
}

enum Form {
    Html,
    Markdown,
    Envelope,
}

fn form(arguments: &ExportArguments) -> Form {
    let is_markdown = |file: &Path| file.extension().is_some_and(|ending| ending == "md");
    match arguments {
        ExportArguments { envelope: true, .. } => Form::Envelope,
        ExportArguments { md: true, .. } => Form::Markdown,
        ExportArguments { html: false, output: Some(file), .. } if is_markdown(file) => Form::Markdown,
        _ => Form::Html,
    }
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
    for it in listed {
        let usage = it.usage.as_ref().map(|usage| json!({"input": usage.input, "output": usage.output}));
        let line = json!({
            "request": it.request, "entry": it.entry, "time": it.time, "model": it.model, "messages": it.messages,
            "usage": usage, "residual": it.residual,
        });
        console.line(&line.to_string());
    }
    Ok(Exit::Success)
}
