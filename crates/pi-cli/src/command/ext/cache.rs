//! `pi ext cache`: what was built and compiled on this machine.

use std::time::{Duration, SystemTime};

use pi_extc::{Cache, Entry, Health, Kind};
use serde_json::json;

use super::place;
use crate::{
    amount::{counted, grouped},
    arguments::ext::{ExtCacheCommand, ExtPruneArguments},
    console::{Console, Reader, Tone},
    env::Environment,
    exit::Exit,
    failure::{ExtFailure, Failure},
    table::{self, Align, Cell, Column, Room},
};

const COLUMNS: [Column; 5] = [
    Column { title: "KIND", align: Align::Left, room: Room::Whole },
    Column { title: "SIZE", align: Align::Right, room: Room::Whole },
    Column { title: "STATE", align: Align::Left, room: Room::Whole },
    Column { title: "KEY", align: Align::Left, room: Room::CutToOrLeaveOut(12, 1) },
    Column { title: "OF", align: Align::Left, room: Room::CutTo(20) },
];
const DAY: u64 = 24 * 60 * 60;
/// What the names of modules begin with that pi brings for extensions to import.
const OWN: &str = "pi:";

pub(crate) fn run(
    command: &ExtCacheCommand,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let cache = Cache::open(&place::cache(environment)?).map_err(ExtFailure::Cache)?;
    match command {
        ExtCacheCommand::List(_) => list(&cache, console),
        ExtCacheCommand::Verify(_) => verify(&cache, console),
        ExtCacheCommand::Prune(arguments) => prune(&cache, arguments, console),
    }
}

fn list(cache: &Cache, console: &mut Console) -> Result<Exit, Failure> {
    let entries = cache.list().map_err(ExtFailure::Cache)?;
    match console.reader() {
        Reader::Machine => entries.iter().for_each(|entry| console.line(&line(entry))),
        Reader::Person if entries.is_empty() => console.remark("nothing is kept yet"),
        Reader::Person => {
            let is_own = |it: &&Entry| it.label.starts_with(OWN) && it.health == Health::Sound;
            let (own, others): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(is_own);
            table::show(&COLUMNS, &others.iter().map(|entry| row(entry)).collect::<Vec<_>>(), console);
            let size = entries.iter().map(|it| it.size).sum::<u64>();
            let all = counted(entries.len(), "entry").replace("entrys", "entries");
            let rest = match own.len() {
                0 => String::new(),
                count => format!("; {} of pi itself not shown here (--json lists all)", counted(count, "module")),
            };
            console.remark(&format!("{all}, {} bytes{rest}", grouped(size)));
        }
    }
    Ok(Exit::Success)
}

fn verify(cache: &Cache, console: &mut Console) -> Result<Exit, Failure> {
    let entries = cache.list().map_err(ExtFailure::Cache)?;
    let broken: Vec<&Entry> = entries.iter().filter(|it| it.health == Health::Broken).collect();
    match console.reader() {
        Reader::Machine => entries.iter().for_each(|entry| console.line(&line(entry))),
        Reader::Person => {
            for entry in &broken {
                let mark = console.paint(Tone::Bad, "broken");
                console.line(&format!("{mark}  {}", entry.key));
            }
            let sound = entries.len() - broken.len();
            console.line(&format!("{} sound, {} broken", grouped(sound), grouped(broken.len())));
        }
    }
    if broken.is_empty() {
        return Ok(Exit::Success);
    }
    console.hint("`pi ext cache prune` removes them; none of them is ever used, and they are made anew when needed");
    Ok(Exit::No)
}

#[expect(clippy::disallowed_methods, reason = "how old an entry is, is seen from now")]
fn prune(cache: &Cache, arguments: &ExtPruneArguments, console: &mut Console) -> Result<Exit, Failure> {
    let age = arguments.older_than.map(|days| Duration::from_secs(days.saturating_mul(DAY)));
    let pruned = cache.prune(age, SystemTime::now()).map_err(ExtFailure::Cache)?;
    match console.reader() {
        Reader::Machine => console.line(&json!({ "entries": pruned.entries, "bytes": pruned.bytes }).to_string()),
        Reader::Person => {
            console.line(&format!("removed: {}, {} bytes", grouped(pruned.entries), grouped(pruned.bytes)))
        }
    }
    Ok(Exit::Success)
}

fn health(entry: &Entry) -> (&'static str, Tone) {
    match entry.health {
        Health::Sound => ("sound", Tone::Good),
        Health::Stale => ("stale", Tone::Warning),
        Health::Broken => ("broken", Tone::Bad),
    }
}

fn row(entry: &Entry) -> Vec<Cell> {
    let (word, tone) = health(entry);
    vec![
        Cell::plain(entry.kind.map_or("?", Kind::word)),
        Cell::plain(grouped(entry.size)),
        Cell::toned(tone, word),
        Cell::plain(entry.key.clone()),
        Cell::plain(entry.label.clone()),
    ]
}

fn line(entry: &Entry) -> String {
    let (state, _) = health(entry);
    json!({
        "key": entry.key, "kind": entry.kind.map(Kind::word), "of": entry.label, "engine": entry.engine,
        "bytes": entry.size, "state": state,
    })
    .to_string()
}
