//! `pi ext ledger`: what extensions did, and whether all of it is still there.

use std::{path::PathBuf, time::SystemTime};

use pi_exthost::ledger::reading::{self, Break, Fault, Reading};
use pi_extproto::log::{Level, LogEntry};
use pi_policy::Moment;
use serde_json::{Value, json};

use crate::{
    amount::counted,
    arguments::ext::{LedgerArguments, LedgerCommand, LedgerListArguments},
    console::{Console, Reader, Tone, printable},
    env::Environment,
    exit::Exit,
    failure::{ConsentFailure, Failure},
    table::{self, Align, Cell, Column, Room},
    workshop::extensions::{TRIALS, logs},
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

const LISTED: [Column; 6] = [
    Column { title: "SESSION", align: Align::Left, room: Room::Whole },
    Column { title: "WRITTEN", align: Align::Left, room: Room::Whole },
    Column { title: "CALLS", align: Align::Right, room: Room::LeaveOut(2) },
    Column { title: "DENIED", align: Align::Right, room: Room::LeaveOut(3) },
    Column { title: "LINES", align: Align::Right, room: Room::LeaveOut(4) },
    Column { title: "EXTENSIONS", align: Align::Left, room: Room::CutToOrLeaveOut(10, 1) },
];

/// How many are listed unless somebody wants all: each is read for what it adds up to.
const MANY: usize = 20;

/// The ledger of one session.
struct Place {
    folder: PathBuf,
    session: String,
    named: Named,
}

/// How somebody pointed to a ledger.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// A copy may have any name.
    File,
    Session,
}

pub(crate) fn run(command: &LedgerCommand, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    match command {
        LedgerCommand::List(arguments) => list(arguments, environment, console),
        LedgerCommand::Show(arguments) => show(&Place::find(arguments, environment)?, console),
        LedgerCommand::Stats(arguments) => stats(&Place::find(arguments, environment)?, console),
        LedgerCommand::Verify(arguments) => verify(&Place::find(arguments, environment)?, console),
    }
}

fn list(arguments: &LedgerListArguments, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    let logs = logs(environment).ok_or(ConsentFailure::Homeless)?;
    let folder = if arguments.trials { logs.join(TRIALS) } else { logs };
    // A folder that is not there yet has none.
    let dated = reading::dated(&folder).unwrap_or_default();
    let most = if arguments.all { dated.len() } else { MANY };
    let mut rows = Vec::new();
    for (written, session) in dated.iter().rev().take(most) {
        let place = Place { folder: folder.clone(), session: session.clone(), named: Named::Session };
        let statistics = reading::statistics(&place.read()?);
        // The ledger itself says when it ends, and is no extension.
        let own: Vec<_> = statistics.extensions.iter().filter(|(name, _)| *name != "pi").collect();
        let names: Vec<&str> = own.iter().map(|(name, _)| name.as_str()).collect();
        let calls: u64 = own.iter().map(|(_, own)| own.calls).sum();
        let denied: u64 = own.iter().map(|(_, own)| own.denials).sum();
        let written = moment(*written);
        if console.reader() == Reader::Machine {
            let told = json!({ "session": session, "written": written, "lines": statistics.lines, "calls": calls,
                "denied": denied, "extensions": names });
            console.line(&told.to_string());
            continue;
        }
        let number = |count: u64| Cell::plain(count.to_string());
        rows.push(vec![
            Cell::plain(session),
            Cell::plain(written),
            number(calls),
            if denied > 0 { Cell::toned(Tone::Warning, denied.to_string()) } else { number(0) },
            number(statistics.lines),
            Cell::plain(names.join(", ")),
        ]);
    }
    if console.reader() == Reader::Person {
        match dated.len() {
            0 => console.remark("there is no ledger yet; they are written when extensions run in a session"),
            _ => drop(table::show(&LISTED, &rows, console)),
        }
        let older = dated.len().saturating_sub(most);
        if older > 0 {
            console.remark(&format!("{} not shown; --all shows them too", counted(older, "older one")));
        }
    }
    Ok(Exit::Success)
}

/// To the second, which is enough to find it again.
fn moment(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Moment::from_unix_millis(since.as_secs().saturating_mul(1000)).to_string()
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
    let text = |name: &str| member(name).and_then(Value::as_str);
    // What follows the decision is in the words of the extension, and must not look like a line of ours.
    let target = text("target").map(|target| format!(" {}", printable(target).replace('\n', "␊"))).unwrap_or_default();
    let took = member("duration_ms").map(|took| format!(" ({took} ms)")).unwrap_or_default();
    let why = text("reason").map(|reason| format!(": {reason}")).unwrap_or_default();
    let code = member("error").and_then(|error| error["code"].as_str()).map(|code| format!(": {code}"));
    let why = code.unwrap_or(why);
    let call = ids.host_call_id.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    let event = console.paint(tone, entry.event.as_str());
    let message = printable(&entry.message).replace('\n', "␊");
    format!("{} {}{call} {event} {message}{target}{why}{took}", entry.ts, ids.extension_id)
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
    console.line(&format!("session {}: {}", place.session, counted(statistics.lines, "line")));
    table::show(&COLUMNS, &rows, console);
    Ok(Exit::Success)
}

fn verify(place: &Place, console: &mut Console) -> Result<Exit, Failure> {
    let verified = reading::verify(&place.folder, &place.session).map_err(|source| place.unreadable(source))?;
    let is_elsewhere = verified.written_for.is_some() && place.named == Named::Session;
    let is_intact = verified.is_intact() && !is_elsewhere;
    let exit = if is_intact { Exit::Success } else { Exit::No };
    if console.reader() == Reader::Machine {
        let told = json!({ "session": place.session, "intact": is_intact, "verification": verified });
        console.line(&told.to_string());
        return Ok(exit);
    }
    for found in &verified.breaks {
        let file = found.file.display();
        match found.line {
            0 => console.line(&format!("{file}: {}", found.fault)),
            line => console.line(&format!("{file}:{line}: {}", found.fault)),
        }
    }
    let (lines, files) = (counted(verified.lines, "line"), counted(verified.files, "file"));
    let word = if is_intact { console.paint(Tone::Good, "intact") } else { console.paint(Tone::Bad, "broken") };
    match &verified.written_for {
        None => console.line(&format!("session {}: {word}, {lines} in {files}", place.session)),
        Some(written_for) => {
            console.line(&format!("session {written_for}: {word}, {lines} in {files}"));
            console.remark(&format!("its file is not named after it: it is called {}.jsonl", place.session));
        }
    }
    let is_recorded = |found: &Break| !matches!(found.fault, Fault::BeginningMissing { .. });
    if verified.first > 0 && verified.breaks.iter().all(is_recorded) {
        let kept = counted(verified.kept, "line");
        console.remark(&format!(
            "it begins with line {}: of older files, which were removed, {kept} stayed",
            verified.first
        ));
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
            return Ok(Self { folder: folder.unwrap_or_else(|| PathBuf::from(".")), session, named: Named::File });
        }
        let logs = logs(environment).ok_or(ConsentFailure::Homeless)?;
        let is_trial = named.starts_with("trial");
        let folder = if is_trial { logs.join(TRIALS) } else { logs };
        let sessions = reading::sessions(&folder).unwrap_or_default();
        if sessions.is_empty() {
            return Err(ConsentFailure::NoLedger { folder }.into());
        }
        let mut fitting: Vec<String> = sessions.iter().filter(|session| session.starts_with(named)).cloned().collect();
        if named.is_empty() || named == "trial" {
            fitting = fitting.split_off(fitting.len() - 1);
        } else if fitting.iter().any(|session| session == named) {
            fitting = vec![named.to_owned()];
        }
        match fitting.as_slice() {
            [] => Err(ConsentFailure::NoSuchLedger { session: named.to_owned() }.into()),
            [session] => Ok(Self { folder, session: session.clone(), named: Named::Session }),
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
