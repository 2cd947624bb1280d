//! `pi sessions`: the conversations that are kept, the last used first.

use pi_session::{
    directory::{self, Stored},
    export,
};
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
    Column { title: "SAID FIRST", align: Align::Left, room: Room::CutTo(20) },
];

pub(crate) fn run(
    arguments: &SessionsArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let ground = Ground::survey(environment, console)?;
    let project = seat::project(arguments.folder.session_dir.as_deref(), &ground, environment);
    let project = project.ok_or(SessionFailure::Homeless)?;
    let listed = if arguments.all { directory::list_all(&project) } else { directory::list(&project) };
    let mut sessions = listed.map_err(|error| SessionFailure::Find(error.into()))?;
    if let Some(pattern) = &arguments.pattern {
        sessions.retain(|stored| is_like(stored, &pattern.to_lowercase()));
    }
    if console.reader() == Reader::Machine {
        sessions.iter().for_each(|stored| console.line(&object(stored)));
        return Ok(Exit::Success);
    }
    if sessions.is_empty() {
        console.remark(if arguments.all {
            "there are no such sessions"
        } else {
            "there are no such sessions in this folder; --all looks everywhere"
        });
        return Ok(Exit::Success);
    }
    let now = asking::milliseconds();
    let rows: Vec<Vec<Cell>> = sessions.iter().map(|stored| row(stored, now, arguments.all)).collect();
    table::show(&COLUMNS, &rows, console);
    Ok(Exit::Success)
}

fn row(stored: &Stored, now: u64, everywhere: bool) -> Vec<Cell> {
    let said = match &stored.name {
        Some(name) => Cell::toned(Tone::Strong, line(name)),
        None => Cell::plain(line(&stored.first_message)),
    };
    vec![
        Cell::toned(Tone::Accent, stored.id.as_str()),
        Cell::plain(age(now.saturating_sub(stored.modified))),
        Cell::plain(stored.message_count.to_string()),
        Cell::plain(cost(stored).map(|cost| format!("${cost:.4}")).unwrap_or_default()),
        Cell::plain(if everywhere { line(&stored.cwd) } else { String::new() }),
        said,
    ]
}

fn object(stored: &Stored) -> String {
    json!({
        "id": stored.id, "file": stored.path, "cwd": stored.cwd, "name": stored.name, "created": stored.created,
        "modified": stored.modified, "messages": stored.message_count, "cost": cost(stored),
        "firstMessage": stored.first_message, "parentSession": stored.parent_session,
    })
    .to_string()
}

/// In US dollars, where anybody has a price.
fn cost(stored: &Stored) -> Option<f64> {
    let usage = export::spent(&stored.path).ok()?;
    let cost = usage.cost.total_from_provider.as_ref().unwrap_or(&usage.cost.total).as_f64();
    (cost > 0.0).then_some(cost)
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
fn age(milliseconds: u64) -> String {
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
