//! `pi mcp test`: connects to servers, without a session and without a model, and shows what they offer and cost.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use pi_exthost::{Dispatcher, Guest as _, GuestFault, GuestId, SessionPort, guest::presentable, port::Request};
use pi_extproto::connector::tool::ToolDefinition;
use pi_guests::mcp::{
    Base, Changed, Limits, McpGuest, Pins, Server, Standing, grants,
    places::{Found, Notice},
    prepare, program,
};
use pi_redact::{Evidence, Options, Personal, Redactor};
use pi_tools::{Registry, files::FileQueue};
use pi_transcript::json::Digest;
use serde_json::{Value, json};
use tokio::time::{Instant, interval};

use super::{Withheld, meet, named, servers, withheld};
use crate::{
    amount::{counted, grouped},
    arguments::mcp::McpTestArguments,
    command::talk::stop::unless_stopped,
    console::{Console, Reader, Tone, printable},
    env::{self, Environment},
    exit::Exit,
    failure::{Failure, McpFailure, SessionFailure},
    providers::credential_names,
    runtime,
    table::{self, Align, Cell, Column, Room},
    workshop::{
        self, Ground,
        cost::cost,
        extensions::{Bench, Extensions, Off, record_redactor},
        now,
    },
};

/// How long a server may take here: programs that are fetched at their first start take a while.
const PATIENCE: Duration = Duration::from_secs(60);

const COLUMNS: [Column; 3] = [
    Column { title: "TOKENS", align: Align::Right, room: Room::Whole },
    Column { title: "TOOL", align: Align::Left, room: Room::Whole },
    Column { title: "DESCRIPTION", align: Align::Left, room: Room::CutTo(20) },
];

/// A session without a person: whoever asks is told that there is none.
struct Nobody;

impl SessionPort for Nobody {
    fn submit(&self, _: GuestId, request: Request) -> BoxFuture<'_, ()> {
        drop(request);
        async {}.boxed()
    }
}

/// What came of a server.
struct Tried<'a> {
    server: &'a Server,
    outcome: Result<Offered, Untried>,
}

/// Why a server offers nothing here.
enum Untried {
    /// Nobody agreed to it, so that it was not started.
    Withheld(Withheld),
    Failed(String),
}

impl From<String> for Untried {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// What a server offers.
struct Offered {
    about: String,
    protocol: String,
    took: Duration,
    /// Bytes of its processes, where the system tells.
    memory: Option<u64>,
    /// What all of its tools cost, sent together.
    tokens: u64,
    tools: Vec<Tool>,
    definitions: Vec<ToolDefinition>,
    commands: Vec<String>,
    changed: Vec<Changed>,
    faults: Vec<String>,
}

struct Tool {
    name: String,
    description: String,
    tokens: u64,
}

pub(crate) fn run(
    arguments: &McpTestArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    if arguments.accept && arguments.names.is_empty() {
        return Err(McpFailure::AcceptsNobody.into());
    }
    let ground = Ground::survey(environment)?;
    let found = servers(&ground, environment);
    found.notices.iter().for_each(|notice| console.note(&notice.to_string()));
    let wanted = wanted(&arguments.names, &found, &Off::of(&ground.settings))?;
    // What cannot be read may be what somebody wants to see tested.
    let is_broken = arguments.names.is_empty() && found.notices.iter().any(is_fault);
    if wanted.is_empty() {
        match is_broken {
            true => console.remark("there are no MCP servers that could be connected to"),
            false => console.remark("there are no MCP servers to connect to; `pi mcp add NAME COMMAND` adds one"),
        }
        return Ok(if is_broken { Exit::No } else { Exit::Success });
    }
    meet(&found, &ground, environment)?;
    let pins = environment.agent_directory.as_deref().map(Pins::in_folder);
    if let (true, Some(pins)) = (arguments.accept, &pins) {
        for server in &wanted {
            agree(server, pins, console)?;
        }
    }
    let names: Vec<&str> = wanted.iter().map(|server| server.name.as_str()).collect();
    let waiting =
        format!("connecting to {}; a program that is fetched at its first start takes a while", names.join(", "));
    let tried = runtime::start_many()?.block_on(async {
        let began = Instant::now();
        let mut trying = pin!(unless_stopped(all(&wanted, &ground, environment)));
        let mut seconds = interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                tried = &mut trying => return tried,
                tick = seconds.tick() => {
                    let passed = tick.saturating_duration_since(began).as_secs();
                    console.activity(&format!("{waiting} ({passed} of {} s)", PATIENCE.as_secs()));
                }
            }
        }
    })?;
    let mut is_fine = !is_broken;
    for Tried { server, outcome } in &tried {
        let accepted = match (outcome, &pins) {
            (Ok(offered), Some(pins)) if arguments.accept && !offered.changed.is_empty() => {
                let tools: Vec<_> = offered.changed.iter().map(|changed| changed.tool.clone()).collect();
                pins.accept(server, &tools).map_err(McpFailure::Pins)?;
                weigh(server, offered, pins)?;
                true
            }
            _ => false,
        };
        is_fine &= outcome.as_ref().is_ok_and(|offered| offered.changed.is_empty() || accepted);
        match console.reader() {
            Reader::Machine => console.line(&object(server, outcome, accepted).to_string()),
            Reader::Person => show(server, outcome, accepted, console),
        }
    }
    Ok(if is_fine { Exit::Success } else { Exit::No })
}

/// Shows an entry of a project that is not the one that was agreed to, and then agrees to it.
fn agree(server: &Server, pins: &Pins, console: &mut Console) -> Result<(), Failure> {
    if let Some(unagreed) = pins.unagreed(server).map_err(McpFailure::Pins)? {
        console.note(&format!("you agree to {} of {}:\n{}", server.name, server.file.display(), unagreed.told()));
        pins.agree(server).map_err(McpFailure::Pins)?;
    }
    Ok(())
}

/// Whether a server is written that cannot be used, and nobody decided so.
fn is_fault(notice: &Notice) -> bool {
    match notice {
        Notice::Unreadable { .. } | Notice::Entry { .. } => true,
        Notice::Untrusted(_) | Notice::Unclear { .. } | Notice::Shadowed { .. } | Notice::Odd(_) => false,
    }
}

/// Records what the tools cost together with those that were agreed to; a session counts them again.
fn weigh(server: &Server, offered: &Offered, pins: &Pins) -> Result<(), Failure> {
    let agreed = offered.changed.iter().map(|changed| changed.definition(&server.name));
    let all: Vec<_> = offered.definitions.iter().cloned().chain(agreed).collect();
    pins.weigh(server, (all.len(), &Digest::of(b"agreed")), || cost(&all)).map_err(McpFailure::Pins)?;
    Ok(())
}

/// Those that are named, or all that are on.
fn wanted<'a>(names: &[String], found: &'a Found, off: &Off) -> Result<Vec<&'a Server>, Failure> {
    let servers = &found.servers;
    if names.is_empty() {
        let is_on = |server: &&Server| !server.is_disabled && !off.holds(GuestId::of_server(&server.name).as_str());
        return Ok(servers.iter().filter(is_on).collect());
    }
    names.iter().map(|name| named(name, found)).collect()
}

async fn all<'a>(
    servers: &[&'a Server],
    ground: &Ground,
    environment: &Environment,
) -> Result<Vec<Tried<'a>>, Failure> {
    let options = Options { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Keep };
    let redactor = Arc::new(Redactor::new(options));
    let (folders, tooling) =
        workshop::tooling(&ground.directory, &ground.settings, environment, credential_names(environment), redactor);
    let bench = Bench {
        tools: Registry::built_in(),
        tooling,
        queue: Arc::new(FileQueue::default()),
        folders,
        record_redactor: record_redactor(env::secrets()),
        keys: None,
        models: None,
    };
    let policy = workshop::policy(environment)?;
    let hint = "look at the entries of the servers, and at who may write into the agent directory";
    let unusable = |problem: String| Failure::from(SessionFailure::NoExtensions { problem, hint: hint.to_owned() });
    let policy = policy.with_remembered(&grants(servers.iter().copied()));
    let policy = policy.map_err(|invalid| unusable(invalid.to_string()))?.value;
    let name = format!("mcp-test-{}-{}", now().unix_millis(), std::process::id());
    let extensions = Extensions::trial(&policy, environment);
    let ledger = extensions.ledger(&name, &bench.record_redactor).await.map_err(unusable)?;
    let dispatcher = extensions.dispatcher(Arc::new(Nobody), ledger, &bench, None).map_err(unusable)?;
    let limits = Limits { patience: PATIENCE, connecting: PATIENCE, ..Limits::default() };
    let base = workshop::extensions::server_base(&ground.directory, environment, limits);
    let tried = join_all(servers.iter().map(|server| async {
        let outcome = one(server, &base, &dispatcher).await;
        Tried { server, outcome }
    }));
    let tried = tried.await;
    dispatcher.close().await;
    Ok(tried)
}

async fn one(server: &Server, base: &Base, dispatcher: &Dispatcher) -> Result<Offered, Untried> {
    withheld(server, base).map_err(Untried::Withheld)?;
    let desk = dispatcher.desk(prepare(server, base).identity).map_err(|fault| fault.to_string())?;
    let began = Instant::now();
    let guest = McpGuest::start(program(server.clone(), base), desk).await;
    let guest = guest.map_err(|fault: GuestFault| fault.to_string())?;
    let took = began.elapsed();
    let about = match guest.standing() {
        Standing::Ready(about) => about,
        Standing::Connecting => {
            guest.shutdown().await;
            return Err(format!("it was not ready within {PATIENCE:?}").into());
        }
        Standing::Waiting(reason) | Standing::Down(reason) => {
            guest.shutdown().await;
            return Err(reason.into());
        }
        Standing::Closed => return Err("it was closed".to_owned().into()),
    };
    let registration = guest.registration();
    let (mut definitions, mut faults) = (Vec::new(), guest.faults());
    for offer in &registration.tools {
        match presentable(offer) {
            Ok(shown) => definitions.push(shown.definition),
            Err(fault) => {
                let tool = offer.definition.label.clone().unwrap_or_else(|| offer.definition.name.clone());
                faults.push(format!("the tool {tool:?} is not offered: {fault}"));
            }
        }
    }
    let tool = |definition: &ToolDefinition| Tool {
        name: definition.name.clone(),
        description: definition.description.lines().next().unwrap_or_default().to_owned(),
        tokens: cost(std::slice::from_ref(definition)),
    };
    let offered = Offered {
        about: format!("{} {}", about.name, about.version),
        protocol: about.protocol,
        took,
        memory: guest.memory().await,
        tokens: cost(&definitions),
        tools: definitions.iter().map(tool).collect(),
        definitions,
        commands: registration.commands.iter().map(|offer| offer.definition.name.clone()).collect(),
        changed: guest.changed(),
        faults,
    };
    guest.shutdown().await;
    Ok(offered)
}

fn object(server: &Server, outcome: &Result<Offered, Untried>, accepted: bool) -> Value {
    let offered = match outcome {
        Ok(offered) => offered,
        Err(Untried::Withheld(Withheld { why, difference })) => {
            return json!({ "name": server.name, "state": "failed", "error": why, "difference": difference });
        }
        Err(Untried::Failed(error)) => return json!({ "name": server.name, "state": "failed", "error": error }),
    };
    let tools = offered.tools.iter().map(|tool| json!({ "name": tool.name, "tokens": tool.tokens }));
    let changed = offered
        .changed
        .iter()
        .map(|changed| json!({ "name": changed.tool.name, "before": changed.before, "now": changed.tool.description, "arguments": changed.arguments }));
    json!({ "name": server.name, "state": "ready", "server": offered.about, "protocol": offered.protocol,
        "latencyMs": u64::try_from(offered.took.as_millis()).unwrap_or(u64::MAX), "memory": offered.memory, "tokens": offered.tokens,
        "tools": tools.collect::<Vec<_>>(), "commands": offered.commands,
        "changed": changed.collect::<Vec<_>>(), "accepted": accepted, "faults": offered.faults })
}

fn show(server: &Server, outcome: &Result<Offered, Untried>, accepted: bool, console: &mut Console) {
    let name = console.paint(Tone::Strong, &server.name);
    let offered = match outcome {
        Ok(offered) => offered,
        Err(Untried::Withheld(Withheld { why, difference })) => {
            let withheld = console.paint(Tone::Warning, "not started");
            console.line(&format!("{name}  {withheld}: {}", printable(why)));
            if let Some(difference) = difference {
                console.line(&printable(difference));
                console.hint(&format!("`pi mcp test {} --accept` agrees to that and starts it", server.name));
            }
            return;
        }
        Err(Untried::Failed(error)) => {
            let failed = console.paint(Tone::Bad, "failed");
            console.line(&format!("{name}  {failed}: {}", printable(error)));
            return console.hint(&format!("it is {}, written in {}", server.shown, server.file.display()));
        }
    };
    let ready = console.paint(Tone::Good, &format!("ready in {} ms", offered.took.as_millis()));
    let (tools, tokens) = (counted(offered.tools.len(), "tool"), grouped(offered.tokens));
    let memory = offered.memory.map(|bytes| format!(", {} KiB of memory", grouped(bytes / 1024))).unwrap_or_default();
    let about = format!("{}, protocol {}{memory}", printable(&offered.about), offered.protocol);
    let about = console.paint(Tone::Quiet, &about);
    console.line(&format!("{name}  {ready}, {tools}, about {tokens} tokens in every request  {about}"));
    let row = |tool: &Tool| {
        vec![
            Cell::plain(grouped(tool.tokens)),
            Cell::toned(Tone::Accent, &tool.name),
            Cell::toned(Tone::Quiet, &tool.description),
        ]
    };
    if !offered.tools.is_empty() {
        table::show(&COLUMNS, &offered.tools.iter().map(row).collect::<Vec<_>>(), console);
    }
    if !offered.commands.is_empty() {
        let commands = offered.commands.iter().map(|command| format!("/{command}")).collect::<Vec<_>>().join(" ");
        console.line(&format!("commands: {}", printable(&commands)));
    }
    offered.faults.iter().for_each(|fault| console.note(fault));
    for changed in &offered.changed {
        let (name, lines) = changed.told();
        let changed = console.paint(Tone::Warning, "changed");
        console.line(&format!("{changed}: {}", printable(&name)));
        lines.iter().for_each(|line| console.line(&printable(line)));
    }
    match (offered.changed.is_empty(), accepted) {
        (true, _) => {}
        (false, true) => console.line("accepted: they are offered from now on"),
        (false, false) => console.hint(&format!("`pi mcp test {} --accept` agrees to what changed", server.name)),
    }
}
