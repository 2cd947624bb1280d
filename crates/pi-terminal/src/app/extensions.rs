//! The list of extensions: what each is, how it stands and what it has used, to switch it or to load it anew.

use std::time::Duration;

use pi_session::{
    ExtensionTier as Tier,
    extensions::{Extension, Phase},
};

use super::Pick;
use crate::{
    picker::{Choice, Picker},
    text::{printable, width},
};

/// Between two columns.
const GAP: &str = "  ";
/// What the list needs beside its columns.
const MARGIN: usize = 2;

/// Why the list of extensions was sent for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Listing {
    /// Somebody asked for it.
    Asked,
    /// Something was done to this one in it, and it comes back as it is then. Whoever does something else meanwhile is not
    /// interrupted by it.
    Back { to: String },
}

/// What stands at the top of a column, and how dear it is: where there is little room, the dearest go last.
const COLUMNS: [(&str, u8); 8] = [
    ("extension", 0),
    ("state", 0),
    ("tier", 1),
    ("memory", 4),
    ("calls", 2),
    ("time", 5),
    ("denied", 3),
    ("capabilities", 6),
];

/// The list, as wide as the screen is, with one of them selected.
pub(super) fn list(extensions: &[Extension], room: usize, selected: Option<&str>) -> Picker<Pick> {
    let rows: Vec<[String; COLUMNS.len()]> = extensions.iter().map(row).collect();
    let widths = widths(&rows, room.saturating_sub(MARGIN));
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).filter_map(|(cell, width)| width.map(|width| pad(cell, width)));
        cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    };
    let choice = |(extension, row): (&Extension, &[String; COLUMNS.len()])| Choice {
        label: line(row),
        detail: String::new(),
        preview: preview(extension),
        value: Pick::Extension { id: extension.id.clone(), is_on: extension.phase != Phase::Off },
    };
    let choices = extensions.iter().zip(&rows).map(choice).collect();
    let selected = extensions.iter().position(|extension| Some(extension.id.as_str()) == selected).unwrap_or(0);
    let mut picker = Picker::new("extensions", choices, selected);
    picker.set_head(line(&COLUMNS.map(|(title, _)| title.to_owned())));
    picker.set_enter("switch on or off");
    picker.add_key("ctrl+r load anew");
    picker
}

fn row(extension: &Extension) -> [String; COLUMNS.len()] {
    let figures = &extension.figures;
    [
        printable(&extension.name).into_owned(),
        state(extension.phase).to_owned(),
        tier(extension.tier).to_owned(),
        extension.memory.map_or_else(|| "–".to_owned(), bytes),
        figures.asked.to_string(),
        time(figures.busy),
        figures.denials.to_string(),
        extension.capabilities.join(" "),
    ]
}

/// How wide each column is; nothing where there is no room for it.
fn widths(rows: &[[String; COLUMNS.len()]], room: usize) -> [Option<usize>; COLUMNS.len()] {
    let mut widths = [None; COLUMNS.len()];
    for (place, (title, _)) in COLUMNS.iter().enumerate() {
        widths[place] = rows.iter().map(|row| width(&row[place])).chain([width(title)]).max();
    }
    let total = |widths: &[Option<usize>]| {
        let shown: Vec<usize> = widths.iter().flatten().copied().collect();
        shown.iter().sum::<usize>() + GAP.len() * shown.len().saturating_sub(1)
    };
    while total(&widths) > room {
        let shown = |place: &usize| widths[*place].is_some() && COLUMNS[*place].1 > 0;
        let Some(dearest) = (0..COLUMNS.len()).filter(shown).max_by_key(|place| COLUMNS[*place].1) else { break };
        widths[dearest] = None;
    }
    widths
}

fn pad(cell: &str, wide: usize) -> String {
    format!("{cell}{}", " ".repeat(wide.saturating_sub(width(cell))))
}

/// Why it does not run, what it offers, and where it is.
fn preview(extension: &Extension) -> String {
    let Extension { id, version, path, problem, tools, commands, capabilities, tokens, .. } = extension;
    let version = version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let offers = match (tools.as_slice(), commands.as_slice()) {
        ([], []) => match capabilities.as_slice() {
            [] => String::new(),
            needs => format!("needs {}", needs.join(", ")),
        },
        (tools, commands) => {
            let commands = commands.iter().map(|command| format!("/{command}"));
            tools.iter().cloned().chain(commands).collect::<Vec<_>>().join(", ")
        }
    };
    let cost = tokens.map(|tokens| format!(" · its tools cost about {tokens} tokens in every request"));
    let about = format!("{id}{version}{} · {path}", cost.unwrap_or_default());
    [problem.clone().unwrap_or_default(), offers, about]
        .into_iter()
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

fn state(phase: Phase) -> &'static str {
    match phase {
        Phase::Starting => "starting",
        Phase::Running => "running",
        Phase::Resting => "resting",
        Phase::Off => "off",
        Phase::Failed => "failed",
    }
}

fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Wasm => "wasm",
        Tier::Js => "js",
        Tier::Mcp => "mcp",
    }
}

fn bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{} KiB", count / 1024),
        _ => format!("{}.{} MiB", count / 1_048_576, count % 1_048_576 * 10 / 1_048_576),
    }
}

fn time(time: Duration) -> String {
    match time.as_millis() {
        0..10_000 => format!("{} ms", time.as_millis()),
        _ => format!("{} s", time.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_where_there_is_no_room_the_dearest_first() {
        let cells = ["guard", "running", "wasm", "1.2 MiB", "12", "30 ms", "1", "read write"].map(str::to_owned);
        let shown = |room: usize| {
            let widths = widths(std::slice::from_ref(&cells), room);
            let titles = COLUMNS.iter().zip(widths).filter_map(|((title, _), width)| width.map(|_| *title));
            titles.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(80), "extension state tier memory calls time denied capabilities");
        assert_eq!(shown(60), "extension state tier memory calls time denied");
        assert_eq!(shown(40), "extension state tier calls denied");
        assert_eq!(shown(10), "extension state");
    }

    #[test]
    fn sizes_are_told_as_people_read_them() {
        for (count, expected) in [(12, "12 B"), (2048, "2 KiB"), (1_300_000, "1.2 MiB")] {
            assert_eq!(bytes(count), expected);
        }
    }
}
