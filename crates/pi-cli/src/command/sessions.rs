//! `pi sessions`: the conversations that are kept, the last used first.

use std::collections::HashSet;

use pi_session::{
    directory::{self, Stored},
    export,
};
use pi_transcript::Spent;
use serde_json::json;

use crate::{
    arguments::session::SessionsArguments,
    asking,
    console::{Console, Reader, Tone, printable},
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
    table::{self, Align, Cell, Column, Room},
    workshop::{Ground, seat},
};

const COLUMNS: [Column; 6] = [
    Column { title: "ID", align: Align::Left, room: Room::Whole },
    Column { title: "AGE", align: Align::Right, room: Room::Whole },
    Column { title: "MESSAGES", align: Align::Right, room: Room::LeaveOut(2) },
    Column { title: "COST", align: Align::Right, room: Room::LeaveOut(1) },
    Column { title: "FOLDER", align: Align::Left, room: Room::CutToOrLeaveOut(12, 3) },
    Column { title: "SAID FIRST", align: Align::Left, room: Room::CutTo(12) },
];

/// The column that says nothing new where all sessions are of one folder.
const FOLDER: usize = 4;

/// How many letters of an id tell when a session was begun, to the millisecond, and mostly which one it is.
const TELLING: usize = 13;

pub(crate) fn run(
    arguments: &SessionsArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let ground = Ground::survey(environment)?;
    ground.tell(console);
    let project = seat::project(arguments.folder.session_dir.as_deref(), &ground, environment);
    let project = project.ok_or(SessionFailure::Homeless)?;
    let listed = if arguments.all { directory::list_all(&project) } else { directory::list(&project) };
    let mut sessions = listed.map_err(|error| seat::missed(error.into(), &project))?;
    if let Some(pattern) = &arguments.pattern {
        sessions.retain(|stored| is_like(stored, &pattern.to_lowercase()));
    }
    match console.reader() {
        Reader::Machine => sessions.iter().for_each(|stored| console.line(&object(stored))),
        Reader::Person if sessions.is_empty() => console.remark(&nothing(arguments)),
        Reader::Person => show(&sessions, arguments.all, console),
    }
    // Whoever looks for something asks a question.
    Ok(if sessions.is_empty() && arguments.pattern.is_some() { Exit::No } else { Exit::Success })
}

/// That there is nothing to list, and where was looked.
fn nothing(arguments: &SessionsArguments) -> String {
    let such = if arguments.pattern.is_some() { "such " } else { "" };
    let yet = if arguments.pattern.is_some() { "" } else { " yet" };
    let below = arguments.folder.session_dir.as_ref().map(|folder| format!(" below {}", folder.display()));
    match (arguments.all, below) {
        (true, below) => format!("there are no {such}sessions{}{yet}", below.unwrap_or_default()),
        (false, None) => format!("there are no {such}sessions in this folder{yet}; --all looks everywhere"),
        (false, Some(below)) => {
            format!("there are no {such}sessions of this folder{below}{yet}; --all lists those of others")
        }
    }
}

fn show(sessions: &[Stored], everywhere: bool, console: &mut Console) {
    let now = asking::milliseconds();
    // Whoever reads it from a pipe may want to find the same session next year.
    let length = if console.width().is_some() { telling(sessions) } else { usize::MAX };
    let mut columns = COLUMNS.to_vec();
    let mut rows: Vec<Vec<Cell>> = sessions.iter().map(|stored| row(stored, now, length)).collect();
    if !everywhere {
        columns.remove(FOLDER);
        rows.iter_mut().for_each(|row| drop(row.remove(FOLDER)));
    }
    table::show(&columns, &rows, console);
}

/// How much of the ids is shown, so that each is another one.
pub(crate) fn telling(sessions: &[Stored]) -> usize {
    let longest = sessions.iter().map(|stored| stored.id.as_str().len()).max().unwrap_or(0);
    let is_telling = |length: &usize| {
        let shown: HashSet<String> = sessions.iter().map(|stored| id(stored, *length)).collect();
        shown.len() == sessions.len()
    };
    (TELLING..longest).find(is_telling).unwrap_or(longest)
}

fn id(stored: &Stored, length: usize) -> String {
    stored.id.as_str().chars().take(length).collect()
}

fn row(stored: &Stored, now: u64, length: usize) -> Vec<Cell> {
    let said = line(&stored.title());
    let said = if stored.name.is_some() { Cell::toned(Tone::Strong, said) } else { Cell::plain(said) };
    vec![
        Cell::toned(Tone::Accent, id(stored, length)),
        Cell::plain(age(now.saturating_sub(stored.modified))),
        Cell::plain(format!("{}{}", stored.message_count, if stored.skipped > 0 { "+" } else { "" })),
        Cell::plain(cost(stored).map(|cost| cost.words(4)).unwrap_or_default()),
        Cell::plain(line(&stored.cwd)),
        said,
    ]
}

fn object(stored: &Stored) -> String {
    let cost = cost(stored);
    json!({
        "id": stored.id, "file": stored.path, "cwd": stored.cwd, "name": stored.name, "created": stored.created,
        "modified": stored.modified, "messages": stored.message_count, "cost": cost.map(Spent::least),
        "costIsAtLeast": cost.is_some_and(|cost| !matches!(cost, Spent::Exact(_))),
        "firstMessage": stored.first_message, "parentSession": stored.parent_session,
    })
    .to_string()
}

/// In US dollars, where anybody has a price. A very long session would have to be read for it from end to end.
fn cost(stored: &Stored) -> Option<Spent> {
    if stored.skipped > 0 {
        return None;
    }
    let cost = export::spent(&stored.path).ok()?.cost.spent();
    (cost != Spent::Exact(0.0)).then_some(cost)
}

fn is_like(stored: &Stored, pattern: &str) -> bool {
    let is_in = |text: &str| text.to_lowercase().contains(pattern);
    stored.name.as_deref().is_some_and(is_in)
        || is_in(stored.id.as_str())
        || is_in(&stored.first_message)
        || directory::search_text(&stored.path).is_ok_and(|text| is_in(&text))
}

fn line(text: &str) -> String {
    printable(text.trim()).split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}

/// How long ago, in one unit.
pub(crate) fn age(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_told_in_one_unit() {
        for (milliseconds, expected) in [
            (0, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (3_600_000, "1 h"),
            (90_000_000, "1 d"),
            (864_000_000, "10 d"),
        ] {
            assert_eq!(age(milliseconds), expected);
        }
    }
}
