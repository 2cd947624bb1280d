//! `pi ext list`: the extensions of this folder on every tier, how they stand, what they need and what they have used.
//!
//! Components and scripts are started to see whether they do, and how much memory they take; servers are not. What was
//! called, refused and waited for is that of sessions before, from their ledgers.

use std::{collections::BTreeMap, path::PathBuf};

use pi_exthost::{
    GuestId,
    launcher::Source,
    ledger::reading::{self, CapabilityUse, ExtensionStatistics},
};
use pi_extproto::manifest::Tier;
use pi_guests::{
    launcher::PreparedGuest,
    mcp::{Pins, Record, Server},
};
use serde_json::{Value, json};

use super::trial::Trial;
use crate::{
    amount::{counted, grouped},
    arguments::ext::ExtListArguments,
    compiling::tell_while,
    console::{Console, Tone},
    env::Environment,
    exit::Exit,
    failure::Failure,
    runtime,
    table::{self, Align, Cell, Column, Room},
    workshop::{
        self, Ground, company,
        extensions::{Extensions, Found, Off},
    },
};

/// Sessions whose ledgers are read.
const SESSIONS: usize = 20;

const COLUMNS: [Column; 10] = [
    Column { title: "EXTENSION", align: Align::Left, room: Room::CutTo(12) },
    Column { title: "STATE", align: Align::Left, room: Room::Whole },
    Column { title: "TIER", align: Align::Left, room: Room::Whole },
    Column { title: "MEMORY", align: Align::Right, room: Room::LeaveOut(3) },
    Column { title: "ASKED", align: Align::Right, room: Room::LeaveOut(2) },
    Column { title: "CALLS", align: Align::Right, room: Room::LeaveOut(1) },
    Column { title: "DENIED", align: Align::Right, room: Room::LeaveOut(1) },
    Column { title: "TIME", align: Align::Right, room: Room::LeaveOut(2) },
    Column { title: "CAPABILITIES", align: Align::Left, room: Room::CutToOrLeaveOut(12, 4) },
    Column { title: "PATH", align: Align::Left, room: Room::CutToOrLeaveOut(16, 5) },
];

/// One of them.
struct Listed {
    id: String,
    tier: Tier,
    /// Of a server, what it said when it was last seen.
    version: Option<String>,
    state: State,
    path: String,
    capabilities: Vec<String>,
    /// Bytes, of one that was started.
    memory: Option<u64>,
    tools: Option<usize>,
    commands: Option<usize>,
    /// What it did in sessions before.
    past: ExtensionStatistics,
}

enum State {
    Ready {
        /// That it was built from older sources.
        outdated: Option<String>,
    },
    Off {
        why: Option<String>,
    },
    Broken {
        why: String,
    },
    /// Of a server that nobody starts to list it: which of its tools are held back.
    NotStarted {
        changed: Vec<String>,
    },
    /// A server of a project whose entry is not the one that somebody agreed to.
    NotAgreed,
}

/// What sessions before wrote down.
struct Past {
    extensions: BTreeMap<String, ExtensionStatistics>,
    sessions: usize,
}

pub(crate) fn run(
    arguments: &ExtListArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let listing = tell_while(list(arguments, environment), &environment.stock, console);
    let (listed, past, notices) = runtime::start_many()?.block_on(listing)?;
    notices.iter().for_each(|notice| console.note(notice));
    if arguments.json {
        listed.iter().for_each(|one| console.line(&one.object().to_string()));
        return Ok(Exit::Success);
    }
    if listed.is_empty() {
        console
            .remark("there are no extensions here; `pi ext new` writes one to start from, `pi mcp add` adds a server");
        return Ok(Exit::Success);
    }
    let rows: Vec<Vec<Cell>> = listed.iter().map(Listed::row).collect();
    let left_out = table::show(&COLUMNS, &rows, console);
    for one in &listed {
        if let Some(problem) = one.problem() {
            console.note(&format!("{}: {problem}", one.id));
        }
    }
    let sessions = counted(past.sessions, "session");
    console.remark(&format!(
        "figures are those of the last {sessions}: ASKED are tool calls, commands and events, TIME is theirs, CALLS are those \
         of its host; × were granted, ! denied; `pi ext ledger` tells more"
    ));
    if listed.iter().any(|one| one.tier == Tier::Mcp) {
        console.remark(
            "MCP servers are not started to be listed; `pi mcp test` starts them and shows what their tools cost",
        );
    }
    if !left_out.is_empty() {
        console
            .remark(&format!("no room for {}; a wider window or --json shows all", left_out.join(", ").to_lowercase()));
    }
    Ok(Exit::Success)
}

async fn list(
    arguments: &ExtListArguments,
    environment: &Environment,
) -> Result<(Vec<Listed>, Past, Vec<String>), Failure> {
    let ground = Ground::survey(environment)?;
    let policy = workshop::policy(environment)?;
    let (extensions, notices) = Extensions::find(&arguments.extensions, &ground, &policy, environment)?;
    let past = Past::read(extensions.logs());
    let Found { sources, servers, off, notices: _ } = extensions.look();
    let mut listed = Vec::new();
    if !sources.is_empty() {
        let trial = Trial::open(None, environment).await?;
        let mut names = BTreeMap::new();
        for source in sources {
            listed.push(look_at(source, &off, &past, &mut names, &trial).await);
        }
        trial.close().await;
    }
    let pins = extensions.base().pins.as_ref();
    listed.extend(servers.iter().map(|server| server_row(server, pins, &off, &past)));
    Ok((listed, past, notices))
}

/// Starts one, unless it is off or another has its name, to see whether it starts and how much memory it takes.
async fn look_at(
    source: Source,
    off: &Off,
    past: &Past,
    names: &mut BTreeMap<String, Source>,
    trial: &Trial,
) -> Listed {
    let path = source.path.display().to_string();
    // Of what cannot be built only the name of the file is known.
    let stem = source.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let described = || pi_extc::sources(&source.path).ok().and_then(|found| found.first()?.manifest.tier().ok());
    // A crate that nobody has built yet is a component all the same.
    let told = || described().unwrap_or(Tier::Js);
    let broken = |id: String, tier: Tier, why: String| Listed {
        past: past.of(&id),
        id,
        tier,
        version: None,
        state: State::Broken { why },
        path: path.clone(),
        capabilities: Vec::new(),
        memory: None,
        tools: None,
        commands: None,
    };
    let prepared: PreparedGuest = match trial.prepare(source.clone()).await {
        Ok(prepared) => prepared,
        Err(fault) => return broken(stem, told(), fault.to_string()),
    };
    let (id, tier) = (prepared.identity.id.to_string(), prepared.program.tier());
    let version = Some(prepared.identity.version.clone());
    let needs = prepared.identity.declared.requirements().iter().map(|need| need.capability.as_str().to_owned());
    let capabilities: Vec<String> = needs.collect();
    if let Some(clash) = company::namesake(&prepared.identity.id, &source, names) {
        return Listed { capabilities, version, past: ExtensionStatistics::default(), ..broken(id, tier, clash) };
    }
    if off.holds(&id) {
        let state = State::Off { why: off.by_project(&id) };
        return Listed { state, version, capabilities, ..broken(id, tier, String::new()) };
    }
    let outdated = prepared.outdated.clone();
    match trial.launch(prepared).await {
        Ok(started) => {
            let registration = started.guest().registration();
            let listed = Listed {
                state: State::Ready { outdated },
                version,
                capabilities,
                memory: started.memory().await.ok(),
                tools: Some(registration.tools.len()),
                commands: Some(registration.commands.len()),
                ..broken(id, tier, String::new())
            };
            started.guest().shutdown().await;
            listed
        }
        Err(fault) => Listed { capabilities, version, ..broken(id, tier, fault.to_string()) },
    }
}

fn server_row(server: &Server, pins: Option<&Pins>, off: &Off, past: &Past) -> Listed {
    let id = GuestId::of_server(&server.name).to_string();
    // A record that cannot be read is told where servers are listed by themselves.
    let Record { version, tools: known, changed, .. } =
        pins.and_then(|pins| pins.recorded(server).ok()).unwrap_or_default();
    let why = off.by_project(&id).or_else(|| company::disabled(server));
    let state = match off.holds(&id) || why.is_some() {
        true => State::Off { why },
        false if pins.and_then(|pins| pins.unagreed(server).ok()).flatten().is_some() => State::NotAgreed,
        false => State::NotStarted { changed },
    };
    Listed {
        past: past.of_server(&id),
        id,
        tier: Tier::Mcp,
        version,
        state,
        path: server.file.display().to_string(),
        capabilities: company::server_capabilities(server),
        memory: None,
        tools: (known > 0).then_some(known),
        commands: None,
    }
}

impl Past {
    /// Of the last sessions; what was only tried has ledgers elsewhere.
    fn read(logs: Option<PathBuf>) -> Self {
        let mut past = Self { extensions: BTreeMap::new(), sessions: 0 };
        let Some(logs) = logs else { return past };
        // Without a log nothing was called.
        let sessions = reading::sessions(&logs).unwrap_or_default();
        for session in sessions.iter().rev().take(SESSIONS) {
            let Ok(read) = reading::read(&logs, session) else { continue };
            past.sessions += 1;
            for (id, own) in reading::statistics(&read).extensions {
                past.extensions.entry(id).or_default().add(&own);
            }
        }
        past
    }

    fn of(&self, id: &str) -> ExtensionStatistics {
        self.extensions.get(id).cloned().unwrap_or_default()
    }

    /// Of a server: how often it was asked for something. That its process was started, or requests sent to it, is how that
    /// is done.
    fn of_server(&self, id: &str) -> ExtensionStatistics {
        let own = self.of(id);
        let asked = |by_method: &BTreeMap<String, u64>| by_method.get("mcp").copied().unwrap_or_default();
        ExtensionStatistics { calls: asked(&own.methods), duration_ms: asked(&own.durations_ms), ..own }
    }
}

impl Listed {
    fn problem(&self) -> Option<String> {
        match &self.state {
            State::Off { why: None } => None,
            State::Ready { outdated } => outdated.clone(),
            State::Off { why: Some(why) } | State::Broken { why } => Some(why.clone()),
            State::NotAgreed => Some("its entry changed; not started until `pi mcp test … --accept`".to_owned()),
            State::NotStarted { changed } if changed.is_empty() => None,
            State::NotStarted { changed } => {
                Some(format!("{} changed; not offered until `pi mcp test … --accept`", changed.join(", ")))
            }
        }
    }

    fn state(&self) -> (Tone, &'static str) {
        match self.state {
            State::Ready { .. } => (Tone::Good, "ready"),
            State::Off { .. } => (Tone::Quiet, "off"),
            State::Broken { .. } => (Tone::Bad, "broken"),
            State::NotStarted { .. } => (Tone::Quiet, "not started"),
            State::NotAgreed => (Tone::Warning, "not agreed"),
        }
    }

    fn row(&self) -> Vec<Cell> {
        let (tone, state) = self.state();
        let denials = self.past.denials;
        let denied = if denials > 0 { Cell::toned(Tone::Warning, grouped(denials)) } else { Cell::plain("0") };
        vec![
            Cell::toned(Tone::Strong, &self.id),
            Cell::toned(tone, state),
            Cell::plain(tier(self.tier)),
            Cell::plain(self.memory.map_or_else(|| "–".to_owned(), |bytes| format!("{} KiB", grouped(bytes / 1024)))),
            Cell::plain(grouped(self.past.asked())),
            Cell::plain(grouped(self.past.calls)),
            denied,
            Cell::plain(format!("{} ms", grouped(self.past.work_ms))),
            Cell::plain(self.uses().join(" ")),
            Cell::toned(Tone::Quiet, &self.path),
        ]
    }

    /// The capabilities that it declares and those that it used: `read ×3 !1` was granted three times and denied once.
    fn uses(&self) -> Vec<String> {
        let used = &self.past.capabilities;
        let others = used.keys().filter(|name| !self.capabilities.contains(name));
        let told = self.capabilities.iter().chain(others).map(|name| {
            let CapabilityUse { granted, denied } = used.get(name).copied().unwrap_or_default();
            let granted = if granted > 0 { format!(" ×{}", grouped(granted)) } else { String::new() };
            let denied = if denied > 0 { format!(" !{}", grouped(denied)) } else { String::new() };
            format!("{name}{granted}{denied}")
        });
        told.collect()
    }

    fn object(&self) -> Value {
        let (_, state) = self.state();
        json!({ "name": self.id, "version": self.version, "tier": self.tier, "state": state.replace(' ', "_"), "path": self.path,
            "capabilities": self.capabilities, "memory": self.memory, "tools": self.tools, "commands": self.commands,
            "asked": self.past.asked(), "toolCalls": self.past.tool_calls, "events": self.past.events,
            "calls": self.past.calls, "denials": self.past.denials, "errors": self.past.errors, "slow": self.past.slow,
            "used": self.past.capabilities, "timeMs": self.past.work_ms, "hostTimeMs": self.past.duration_ms,
            "error": self.problem() })
    }
}

fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Wasm => "wasm",
        Tier::Js => "js",
        Tier::Mcp => "mcp",
    }
}
