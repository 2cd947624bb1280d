//! `pi envelope diff`: what changed from one envelope to another, and where the cache breaks.

use std::path::Path;

use pi_envelope::{Diff, Envelope, Kind};
use serde::Serialize;

use crate::{
    arguments::DiffArguments,
    console::{Console, Tone, printable},
    exit::Exit,
    failure::Failure,
    input,
};

/// The line that a machine reads.
#[derive(Serialize)]
struct Line<'a> {
    before: String,
    after: String,
    equal: bool,
    #[serde(flatten)]
    diff: &'a Diff,
}

pub(crate) fn run(arguments: &DiffArguments, console: &mut Console) -> Result<Exit, Failure> {
    if arguments.before.as_os_str() == "-" && arguments.after.as_os_str() == "-" {
        return Err(Failure::InputTwice);
    }
    let (before, after) = match (read(&arguments.before), read(&arguments.after)) {
        (Ok(before), Ok(after)) => (before, after),
        // Whoever has two wrong files wants to hear of both.
        (Err(before), Err(after)) => {
            console.fail(&before);
            return Err(after);
        }
        (Err(failure), Ok(_)) | (Ok(_), Err(failure)) => return Err(failure),
    };
    let diff = pi_envelope::diff(&before, &after);
    let summary = &diff.summary;
    let equal = summary.added + summary.removed + summary.changed + summary.moved == 0 && before.model == after.model;
    if arguments.json {
        let (before, after) = (arguments.before.display().to_string(), arguments.after.display().to_string());
        let line = Line { before, after, equal, diff: &diff };
        console.line(&serde_json::to_string(&line).expect("a diff is plain JSON"));
    } else {
        for line in pi_envelope::diff::render(&diff).lines() {
            console.line(&coloured(&printable(line), console));
        }
    }
    Ok(if equal { Exit::Success } else { Exit::No })
}

fn read(path: &Path) -> Result<Envelope, Failure> {
    let document = input::read(path)?;
    document
        .parse(pi_envelope::parse)
        .map_err(|refusal| Failure::NotAnEnvelope { file: path.display().to_string(), refusal })
}

/// The first character of a line says what happened; then comes the kind, in the same colour as in statistics.
fn coloured(line: &str, console: &Console) -> String {
    let tone = match line.as_bytes() {
        [b'+', b' ', ..] => Tone::Good,
        [b'-', b' ', ..] => Tone::Bad,
        [b'~' | b'>', b' ', ..] => Tone::Warning,
        [b'=', b' ', ..] => Tone::Quiet,
        _ if line.starts_with("cache breaks") => Tone::Strong,
        _ => return line.to_owned(),
    };
    let (mark, rest) = line.split_at(2);
    let kind = Kind::ALL.into_iter().find(|kind| rest.split(' ').next() == Some(kind.as_str()));
    match kind {
        Some(kind) => {
            let rest = rest.strip_prefix(kind.as_str()).unwrap_or(rest);
            let name = console.paint(Tone::Kind(kind), kind.as_str());
            format!("{}{name}{}", console.paint(tone, mark), console.paint(tone, rest))
        }
        None => console.paint(tone, line),
    }
}
