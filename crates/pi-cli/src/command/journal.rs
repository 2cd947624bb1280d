//! `pi journal`: what the server wrote down about commands, and whether that is sound.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use pi_redact::{Evidence, Options, Personal, Redactor};
use pi_server::{
    journal::{
        DAMAGED, Filter, Page, Retention, Told,
        audit::{self, ExportError, Finding, Verdict},
    },
    settings::Problem,
};
use serde_json::json;

use super::{config, sessions::age};
use crate::{
    amount::{counted, grouped},
    arguments::{
        journal::{JournalCommand, JournalCompactArguments, JournalShowArguments, JournalVerifyArguments, Whereabouts},
        serve::SettingArguments,
    },
    asking,
    console::{Console, Reader, Tone},
    env::{self, Environment},
    exit::Exit,
    failure::{Failure, ServeFailure},
    table::{self, Align, Cell, Column, Room},
};

const COLUMNS: [Column; 7] = [
    Column { title: "AGE", align: Align::Right, room: Room::Whole },
    Column { title: "COMMAND", align: Align::Left, room: Room::Whole },
    Column { title: "SESSION", align: Align::Left, room: Room::CutToOrLeaveOut(8, 1) },
    Column { title: "CLIENT", align: Align::Left, room: Room::CutToOrLeaveOut(9, 4) },
    Column { title: "ID", align: Align::Left, room: Room::CutToOrLeaveOut(8, 2) },
    Column { title: "TOOK", align: Align::Right, room: Room::LeaveOut(3) },
    Column { title: "OUTCOME", align: Align::Left, room: Room::CutTo(12) },
];
const DAY: u64 = 24 * 60 * 60 * 1000;

pub(crate) fn run(command: &JournalCommand, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    match command {
        JournalCommand::Show(arguments) => show(arguments, environment, console),
        JournalCommand::Verify(arguments) => verify(arguments, environment, console),
        JournalCommand::Export(arguments) => export(&place(&arguments.at, environment)?, console),
        JournalCommand::Compact(arguments) => compact(arguments, environment, console),
    }
}

/// Where the journal is; one that nobody wrote yet is said to be missing instead of being made.
fn place(at: &Whereabouts, environment: &Environment) -> Result<PathBuf, ServeFailure> {
    let usual = || environment.agent_directory.as_deref().map(|agent| agent.join("server/journal.sqlite"));
    let path = at.journal.clone().or_else(usual).ok_or(ServeFailure::Homeless)?;
    if path.is_file() { Ok(path) } else { Err(ServeFailure::NoJournal { path }) }
}

fn show(arguments: &JournalShowArguments, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    let path = place(&arguments.at, environment)?;
    let filter = Filter {
        session: arguments.session.clone(),
        id: arguments.id.clone(),
        limit: arguments.limit,
        ..Filter::default()
    };
    let Page { commands, is_truncated } = audit::show(&path, &filter).map_err(ServeFailure::Journal)?;
    match console.reader() {
        Reader::Machine => {
            let redactor = redactor();
            for told in &commands {
                let mut line = audit::line(told);
                redactor.redact_value(&mut line);
                console.line(&line.to_string());
            }
        }
        Reader::Person => {
            let rows: Vec<Vec<Cell>> = commands.iter().map(row).collect();
            table::show(&COLUMNS, &rows, console);
            if commands.is_empty() {
                let is_filtered = arguments.session.is_some() || arguments.id.is_some();
                console.remark(match is_filtered {
                    true => "no command that changed something fits",
                    false => "no command has changed anything yet",
                });
            } else if is_truncated {
                console.remark("there are older ones: --limit shows more");
            }
        }
    }
    Ok(if commands.is_empty() { Exit::No } else { Exit::Success })
}

fn row(told: &Told) -> Vec<Cell> {
    let (tone, outcome) = match &told.finish {
        None if told.alias_of.is_some() => (Tone::Quiet, "as an earlier one".to_owned()),
        None => (Tone::Warning, "in flight".to_owned()),
        Some(finish) if finish.success => (Tone::Good, "done".to_owned()),
        Some(finish) => (Tone::Bad, finish.error.clone().unwrap_or_else(|| "failed".to_owned())),
    };
    let took =
        told.finish.as_ref().map(|finish| format!("{} ms", grouped(finish.at.0.saturating_sub(told.accepted.0))));
    vec![
        Cell::plain(age(asking::milliseconds().saturating_sub(told.accepted.0))),
        Cell::plain(&told.kind),
        Cell::plain(told.session.clone().unwrap_or_default()),
        Cell::plain(
            told.client
                .as_ref()
                .map_or_else(|| told.transport.to_owned(), |client| format!("{}:{client}", told.transport)),
        ),
        Cell::plain(told.id.clone().unwrap_or_default()),
        Cell::plain(took.unwrap_or_default()),
        Cell::toned(tone, outcome),
    ]
}

fn verify(
    arguments: &JournalVerifyArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let path = place(&arguments.at, environment)?;
    let Verdict { commands, unfinished, sessions, findings } = audit::verify(&path).map_err(ServeFailure::Journal)?;
    let told: Vec<String> = findings.iter().map(tell).collect();
    let hint = advice(&findings);
    match console.reader() {
        Reader::Machine => console.line(
            &json!({
                "journal": path, "sound": told.is_empty(), "commands": commands, "unfinished": unfinished,
                "sessions": sessions, "findings": told, "hint": hint,
            })
            .to_string(),
        ),
        Reader::Person => {
            let (tone, word) = if told.is_empty() { (Tone::Good, "sound") } else { (Tone::Bad, "not sound") };
            let word = console.paint(tone, word);
            console.line(&format!(
                "{word}  {}: {}, {} of them without an end, {}",
                path.display(),
                counted(commands, "command"),
                grouped(unfinished),
                counted(sessions, "session")
            ));
            for finding in &told {
                console.line(&format!("  {finding}"));
            }
            if let Some(hint) = hint {
                console.hint(hint);
            }
        }
    }
    Ok(if told.is_empty() { Exit::Success } else { Exit::No })
}

/// What to do about what was found, the worst first.
fn advice(findings: &[Finding]) -> Option<&'static str> {
    let is_damaged = findings.iter().any(|finding| matches!(finding, Finding::Damaged(_)));
    match (findings.is_empty(), is_damaged) {
        (true, _) => None,
        (false, true) => Some(DAMAGED),
        (false, false) => Some("a server goes on with it and leaves what it cannot read alone; please report it"),
    }
}

fn tell(finding: &Finding) -> String {
    match finding {
        Finding::Damaged(said) => format!("the database is damaged: {said}"),
        Finding::Broken { rule, rows } => format!("{} of which it is not true that {rule}", counted(*rows, "command")),
        Finding::Malformed(rows) => format!("{} that this version cannot read", counted(*rows, "command")),
    }
}

fn export(path: &Path, console: &mut Console) -> Result<Exit, Failure> {
    let mut lines = io::LineWriter::new(Lines { console });
    audit::export(path, &redactor(), &mut lines).map_err(|error| match error {
        ExportError::Journal(error) => Failure::Serve(ServeFailure::Journal(error)),
        ExportError::Write(error) => Failure::Unwritable(error),
    })?;
    Ok(Exit::Success)
}

/// The console as something that whole lines are written to.
struct Lines<'a> {
    console: &'a mut Console,
}

impl io::Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.console.piece(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.console.flush();
        Ok(())
    }
}

fn compact(
    arguments: &JournalCompactArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let path = place(&arguments.at, environment)?;
    let retention = retention(arguments, environment, console)?;
    let done = audit::compact(&path, retention, pi_server::hall::now(), Arc::new(redactor()))
        .map_err(ServeFailure::Journal)?;
    match console.reader() {
        Reader::Machine => console.line(
            &json!({
                "journal": path, "dropped": done.dropped, "kept": done.kept, "remembered": done.remembered,
                "bytesBefore": done.bytes_before, "bytesAfter": done.bytes_after,
            })
            .to_string(),
        ),
        Reader::Person => {
            console.line(&format!(
                "{} dropped, {} kept; {} bytes before, {} now",
                counted(done.dropped, "command"),
                grouped(done.kept),
                grouped(done.bytes_before),
                grouped(done.bytes_after)
            ));
            if done.remembered > 0 {
                console.remark(&format!(
                    "{} may still be asked for again and cannot go: the server forgets what is older than \
                     `server.outcomesKeptMs` and not among the newest `server.outcomesKept`",
                    counted(done.remembered, "command")
                ));
            }
        }
    }
    Ok(Exit::Success)
}

/// How much stays: what the arguments say, and otherwise what a server would keep.
fn retention(
    arguments: &JournalCompactArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Retention, ServeFailure> {
    let resolved = config::resolved(&SettingArguments::default(), environment.agent_directory.as_deref(), environment);
    let (problems, odd): (Vec<_>, Vec<_>) = resolved.problems.into_iter().partition(Problem::is_fatal);
    odd.iter().for_each(|problem| console.note(&problem.to_string()));
    if !problems.is_empty() {
        return Err(ServeFailure::Settings { problems });
    }
    let usual = resolved.settings.retention;
    Ok(Retention {
        age_ms: arguments.days.map_or(usual.age_ms, |days| days.saturating_mul(DAY)),
        count: arguments.count.unwrap_or(usual.count),
        bytes: usual.bytes,
    })
}

/// Hides what the environment says is secret, and what looks like it.
pub(super) fn redactor() -> Redactor {
    Redactor::new(Options { secrets: env::secrets(), evidence: Evidence::Literals, personal: Personal::Keep })
}
