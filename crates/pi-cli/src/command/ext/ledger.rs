//! `pi ext ledger`: what extensions did, and whether all of it is still there.

use std::path::PathBuf;

use pi_exthost::ledger::reading::{self, Reading};
use pi_extproto::log::{Level, LogEntry};
use serde_json::json;

use crate::{
    arguments::ext::{LedgerArguments, LedgerCommand},
    console::{Console, Reader, Tone},
    env::Environment,
    exit::Exit,
    failure::{ConsentFailure, Failure},
    table::{self, Align, Cell, Column, Room},
};

const COLUMNS: [Column; 8] = [
    Column { title: "EXTENSION", align: Align::Left, room: Room::Whole },
    Column { title: "CALLS", align: Align::Right, room: Room::Whole },
    Column { title: "DENIED", align: Align::Right, room: Room::Whole },
    Column { title: "FAILED", align: Align::Right, room: Room::Whole },
    Column { title: "MS", align: Align::Right, room: Room::LeaveOut(3) },
    Column { title: "TOOLS", align: Align::Right, room: Room::LeaveOut(2) },
    Column { title: "EVENTS", align: Align::Right, room: Room::LeaveOut(1) },
    Column { title: "METHODS", align: Align::Left, room: Room::CutToOrLeaveOut(10, 4) },
];

/// The ledger of one session.
struct Place {
    folder: PathBuf,
    session: String,
}

pub(crate) fn run(command: &LedgerCommand, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    match command {
        LedgerCommand::Show(arguments) => show(&Place::find(arguments, environment)?, console),
        LedgerCommand::Stats(arguments) => stats(&Place::find(arguments, environment)?, console),
        LedgerCommand::Verify(arguments) => verify(&Place::find(arguments, environment)?, console),
    }
}

fn show(place: &Place, console: &mut Console) -> Result<Exit, Failure> {
    let Reading { entries, unreadable } = place.read()?;
    for entry in &entries {
        match console.reader() {
            Reader::Machine => console.line(&json!(entry).to_string()),
            Reader::Person => {
                let line = told(entry, console);
                console.line(&line);
            }
        }
    }
    for (file, line) in unreadable {
        console.note(&format!("{}:{line} cannot be read", file.display()));
    }
    Ok(Exit::Success)
}

fn told(entry: &LogEntry, console: &Console) -> String {
    let ids = &entry.correlation;
    let tone = match entry.level {
        Level::Debug => Tone::Quiet,
        Level::Info => Tone::Strong,
        Level::Warn => Tone::Warning,
        Level::Error => Tone::Bad,
    };
    let member = |name: &str| entry.data.as_ref().and_then(|data| data.get(name));
    let took = member("duration_ms").map(|took| format!(" ({took} ms)")).unwrap_or_default();
    let why =
        member("reason").and_then(|reason| reason.as_str()).map(|reason| format!(": {reason}")).unwrap_or_default();
    let call = ids.host_call_id.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    let event = console.paint(tone, entry.event.as_str());
    format!("{} {}{call} {event} {}{why}{took}", entry.ts, ids.extension_id, entry.message)
}

fn stats(place: &Place, console: &mut Console) -> Result<Exit, Failure> {
    let statistics = reading::statistics(&place.read()?);
    if console.reader() == Reader::Machine {
        let told = json!({ "session": place.session, "lines": statistics.lines, "extensions": statistics.extensions });
        console.line(&told.to_string());
        return Ok(Exit::Success);
    }
    let row = |(name, own): (&String, &reading::ExtensionStatistics)| {
        let methods: Vec<String> = own.methods.iter().map(|(method, count)| format!("{method} {count}")).collect();
        let number = |count: u64| Cell::plain(count.to_string());
        let denied = if own.denials > 0 { Cell::toned(Tone::Warning, own.denials.to_string()) } else { number(0) };
        vec![
            Cell::plain(name),
            number(own.calls),
            denied,
            number(own.errors),
            number(own.duration_ms),
            number(own.tool_calls),
            number(own.events),
            Cell::plain(methods.join(", ")),
        ]
    };
    let rows: Vec<_> = statistics.extensions.iter().map(row).collect();
    console.line(&format!("session {}: {} lines", place.session, statistics.lines));
    table::show(&COLUMNS, &rows, console);
    Ok(Exit::Success)
}

fn verify(place: &Place, console: &mut Console) -> Result<Exit, Failure> {
    let verified = reading::verify(&place.folder, &place.session).map_err(|source| place.unreadable(source))?;
    let exit = if verified.is_intact() { Exit::Success } else { Exit::No };
    if console.reader() == Reader::Machine {
        let told = json!({ "session": place.session, "intact": verified.is_intact(), "verification": verified });
        console.line(&told.to_string());
        return Ok(exit);
    }
    for found in &verified.breaks {
        console.line(&format!("{}:{}: {}", found.file.display(), found.line, found.fault));
    }
    let (lines, files) = (verified.lines, verified.files);
    let word =
        if verified.is_intact() { console.paint(Tone::Good, "intact") } else { console.paint(Tone::Bad, "broken") };
    console.line(&format!("session {}: {word}, {lines} lines in {files} files", place.session));
    if verified.first > 0 {
        console.remark(&format!("it begins with line {}: older files were removed", verified.first));
    }
    if !verified.is_closed {
        console.remark("its last line is not an end: the session runs, or was killed");
    }
    Ok(exit)
}

impl Place {
    fn find(arguments: &LedgerArguments, environment: &Environment) -> Result<Self, Failure> {
        let named = arguments.ledger.as_deref().unwrap_or_default();
        let path = PathBuf::from(named);
        if named.ends_with(".jsonl") && path.is_file() {
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            // A file that was put aside belongs to the same ledger.
            let session = match stem.rsplit_once('.') {
                Some((session, number)) if number.parse::<u64>().is_ok() => session.to_owned(),
                _ => stem,
            };
            let folder = path.parent().map(PathBuf::from).filter(|folder| !folder.as_os_str().is_empty());
            return Ok(Self { folder: folder.unwrap_or_else(|| PathBuf::from(".")), session });
        }
        let usual = environment.agent_directory.as_ref().map(|agent| agent.join("logs").join("extensions"));
        let folder = environment.extension_logs.clone().or(usual).ok_or(ConsentFailure::Homeless)?;
        let sessions = reading::sessions(&folder).unwrap_or_default();
        if sessions.is_empty() {
            return Err(ConsentFailure::NoLedger { folder }.into());
        }
        let mut fitting: Vec<String> = sessions.iter().filter(|session| session.starts_with(named)).cloned().collect();
        if named.is_empty() {
            fitting = fitting.split_off(fitting.len() - 1);
        } else if fitting.iter().any(|session| session == named) {
            fitting = vec![named.to_owned()];
        }
        match fitting.as_slice() {
            [] => Err(ConsentFailure::NoSuchLedger { session: named.to_owned() }.into()),
            [session] => Ok(Self { folder, session: session.clone() }),
            _ => Err(ConsentFailure::SeveralLedgers { session: named.to_owned(), sessions: fitting }.into()),
        }
    }

    fn read(&self) -> Result<Reading, Failure> {
        reading::read(&self.folder, &self.session).map_err(|source| self.unreadable(source))
    }

    fn unreadable(&self, source: std::io::Error) -> Failure {
        ConsentFailure::Ledger { folder: self.folder.clone(), source }.into()
    }
}
