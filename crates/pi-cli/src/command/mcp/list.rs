//! `pi mcp list`: the servers of this folder, without connecting to them.

use pi_exthost::GuestId;
use pi_guests::mcp::{Origin, Pins, Record, Server};
use serde_json::json;

use super::{Unused, servers, unused_in};
use crate::{
    amount::grouped,
    arguments::mcp::McpListArguments,
    console::{Console, Reader, Tone},
    env::Environment,
    exit::Exit,
    failure::Failure,
    table::{self, Align, Cell, Column, Room},
    workshop::{Ground, extensions::Off},
};

const COLUMNS: [Column; 6] = [
    Column { title: "NAME", align: Align::Left, room: Room::Whole },
    Column { title: "TYPE", align: Align::Left, room: Room::LeaveOut(2) },
    Column { title: "FROM", align: Align::Left, room: Room::LeaveOut(1) },
    Column { title: "STATE", align: Align::Left, room: Room::Whole },
    Column { title: "TOKENS", align: Align::Right, room: Room::LeaveOut(3) },
    Column { title: "WHAT", align: Align::Left, room: Room::CutTo(16) },
];

/// What is known of a server without asking it.
struct Known<'a> {
    server: &'a Server,
    record: Record,
    is_off: bool,
    /// Its entry is not the one that somebody agreed to.
    is_unagreed: bool,
}

pub(crate) fn run(
    arguments: &McpListArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let ground = Ground::survey(environment)?;
    let found = servers(&ground, environment);
    found.notices.iter().for_each(|notice| console.note(&notice.to_string()));
    let pins = environment.agent_directory.as_deref().map(Pins::in_folder);
    let off = Off::of(&ground.settings);
    let mut known = Vec::new();
    for server in &found.servers {
        let recorded = pins.as_ref().map(|pins| pins.recorded(server)).unwrap_or(Ok(Default::default()));
        let record = recorded.unwrap_or_else(|fault| {
            console.note(&format!("{fault}; {}", fault.hint()));
            Default::default()
        });
        let is_off = server.is_disabled || off.holds(GuestId::of_server(&server.name).as_str());
        // What cannot be read was told by now.
        let unagreed = pins.as_ref().and_then(|pins| pins.unagreed(server).ok()).flatten();
        known.push(Known { server, record, is_off, is_unagreed: unagreed.is_some() });
    }
    debug_assert_eq!(arguments.json, console.reader() == Reader::Machine);
    match console.reader() {
        Reader::Machine => {
            known.iter().for_each(|known| console.line(&known.object()));
            let unused = |unused: &Unused| json!({ "name": unused.name, "file": unused.file, "unused": unused.why });
            unused_in(&found).iter().for_each(|server| console.line(&unused(server).to_string()));
        }
        Reader::Person if known.is_empty() && unused_in(&found).is_empty() => {
            console.remark("there are no MCP servers here; `pi mcp add NAME COMMAND` adds one");
        }
        Reader::Person => show(&known, &unused_in(&found), console),
    }
    Ok(Exit::Success)
}

fn show(known: &[Known<'_>], unused: &[Unused], console: &mut Console) {
    let row = |unused: &Unused| {
        let (name, why) = (Cell::toned(Tone::Strong, &unused.name), Cell::toned(Tone::Warning, &unused.why));
        let unknown = || Cell::plain("–");
        vec![name, unknown(), unknown(), why, unknown(), Cell::plain(&unused.file)]
    };
    let rows: Vec<Vec<Cell>> = known.iter().map(Known::row).chain(unused.iter().map(row)).collect();
    table::show(&COLUMNS, &rows, console);
    for Known { server, .. } in known.iter().filter(|known| known.is_off && !known.server.is_disabled) {
        console.hint(&format!("`pi ext enable {}` switches {} on", GuestId::of_server(&server.name), server.name));
    }
    for Known { server, .. } in known.iter().filter(|known| !known.is_off && known.is_unagreed) {
        console.note(&format!("the entry of {} is not the one that you agreed to; it is not started", server.name));
        console.hint(&format!("`pi mcp test {}` shows what changed, with --accept it agrees", server.name));
    }
    for known in known.iter().filter(|known| !known.is_off && !known.record.changed.is_empty()) {
        let (name, changed) = (&known.server.name, known.record.changed.join(", "));
        console.note(&format!("{name} describes {changed} otherwise than before; not offered until you agree"));
        console.hint(&format!("`pi mcp test {name}` shows what changed, with --accept it agrees"));
    }
}

impl Known<'_> {
    fn state(&self) -> (Tone, String) {
        match (self.is_off, self.record.changed.len(), self.record.tools) {
            (true, _, _) => (Tone::Quiet, "off".to_owned()),
            (false, _, _) if self.is_unagreed => (Tone::Warning, "changed, not agreed".to_owned()),
            (false, 0, 0) => (Tone::Quiet, "not seen yet".to_owned()),
            (false, 0, 1) => (Tone::Good, "1 tool known".to_owned()),
            (false, 0, tools) => (Tone::Good, format!("{tools} tools known")),
            (false, changed, _) => (Tone::Warning, format!("{changed} changed")),
        }
    }

    fn row(&self) -> Vec<Cell> {
        let (tone, state) = self.state();
        vec![
            Cell::toned(Tone::Strong, &self.server.name),
            Cell::plain(self.server.route.kind()),
            Cell::plain(from(self.server)),
            Cell::toned(tone, state),
            Cell::plain(self.tokens().map_or_else(|| "–".to_owned(), |tokens| format!("~{}", grouped(tokens)))),
            Cell::plain(&self.server.shown),
        ]
    }

    /// About what its tools cost in every request, as `pi mcp test` and sessions count it.
    fn tokens(&self) -> Option<u64> {
        self.record.tokens.filter(|tokens| *tokens > 0)
    }

    fn object(&self) -> String {
        let Server { name, route, file, shown, .. } = self.server;
        let object = json!({ "name": name, "type": route.kind(), "from": from(self.server), "what": shown,
            "file": file.display().to_string(), "disabled": self.is_off, "agreed": !self.is_unagreed, "toolsKnown": self.record.tools,
            "aboutTokens": self.tokens(), "toolsChanged": self.record.changed });
        object.to_string()
    }
}

fn from(server: &Server) -> &'static str {
    match server.origin {
        Origin::Person => "you",
        Origin::Project => "project",
    }
}
