//! The same behaviour over the three tiers: `tiers.yaml` is the table, and every exchange of it fits the schemas and is the same
//! in the ledger, whoever runs the extension.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::Duration};

use pi_exthost::{
    Guest, Guests, Registration,
    guest::ToolInvocation,
    ledger::reading,
    verdict::{ToolCallVerdict, Verdict},
};
use pi_extproto::{
    capability::{Capability, Declared, Method},
    hook::Hook,
    log,
    manifest::Tier,
};
use pi_guests::{
    Restarts, js,
    wasm::{self, WasmGuest},
};
use pi_transcript::{Block, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::house::{House, event, never, program, program_saying, start_js, start_server};

const TABLE: &str = include_str!("tiers.yaml");
const TIERS: [Tier; 3] = [Tier::Js, Tier::Wasm, Tier::Mcp];
/// More calls of a kind than this are counted, and not written one by one.
const MANY: usize = 10;
/// How long a call of a server may take, in milliseconds: in a row about limits, and in others.
const SHORT: u32 = 8_000;
const LONG: u32 = 120_000;
/// Far beyond what a row takes anywhere: one that waits for ever is a fault of its own, with its name.
const AGES: Duration = Duration::from_secs(300);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    what: String,
    #[serde(default)]
    deny: Vec<String>,
    declares: Option<Vec<Capability>>,
    #[serde(default)]
    itself: bool,
    #[serde(default)]
    quick: bool,
    #[serde(default)]
    server: bool,
    #[serde(default)]
    alike: Vec<String>,
    steps: Vec<Step>,
    told: Vec<String>,
    calls: Vec<String>,
    js: Option<Otherwise>,
    wasm: Option<Otherwise>,
    mcp: Option<Otherwise>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    tool: Option<String>,
    #[serde(default)]
    input: serde_json::Map<String, Value>,
    #[serde(default)]
    cancel: bool,
    command: Option<String>,
    #[serde(default)]
    typed: String,
    guard: Option<String>,
    offers: Option<String>,
    shows: Option<String>,
    hears: Option<String>,
}

/// How a tier differs, or why it does not do such things at all.
#[derive(Deserialize)]
#[serde(untagged)]
enum Otherwise {
    Not(String),
    Differs { told: Option<Vec<String>>, calls: Option<Vec<String>> },
}

/// What a row gave on a tier.
struct Seen {
    told: Vec<String>,
    calls: Vec<String>,
    /// Digests of what was asked of the host, by method.
    digests: BTreeMap<String, Vec<String>>,
}

impl Row {
    fn otherwise(&self, tier: Tier) -> Option<&Otherwise> {
        match tier {
            Tier::Js => self.js.as_ref(),
            Tier::Wasm => self.wasm.as_ref(),
            Tier::Mcp => self.mcp.as_ref(),
        }
    }

    /// What it must give on a tier, if the tier does such things.
    fn expected(&self, tier: Tier) -> Option<(&[String], &[String])> {
        let (told, calls) = match self.otherwise(tier) {
            Some(Otherwise::Not(_)) => return None,
            Some(Otherwise::Differs { told, calls }) => (told.as_deref(), calls.as_deref()),
            None => (None, None),
        };
        Some((told.unwrap_or(&self.told), calls.unwrap_or(&self.calls)))
    }
}

/// Starts the extension of a row, and whoever is beside it.
async fn guests(row: &Row, tier: Tier, house: &House) -> (Arc<dyn Guest>, Arc<Guests>) {
    let restarts = Restarts { back_off: Duration::from_millis(1), ..Restarts::default() };
    let (memory, stretch) = (16 << 20, Duration::from_secs(5));
    let by_manifest = || house.desk_of(Declared::new(None, row.declares.as_deref()));
    let guest: Arc<dyn Guest> = match (tier, row.quick) {
        (Tier::Js, true) => {
            start_js(by_manifest(), js::Limits { memory, stretch, restarts, ..Default::default() }).await
        }
        (Tier::Js, false) => start_js(by_manifest(), js::Limits::default()).await,
        (Tier::Wasm, is_quick) => {
            let quick = || wasm::Limits { memory, stretch, restarts, ..Default::default() };
            let limits = if is_quick { quick() } else { wasm::Limits::default() };
            let (program, desk) = match row.itself {
                true => {
                    let needs = row.declares.iter().flatten().map(|capability| json!({ "capability": capability }));
                    (program_saying(&needs.collect(), limits), house.desk())
                }
                false => (program(limits), by_manifest()),
            };
            WasmGuest::start(program, desk).await.expect("it starts")
        }
        (Tier::Mcp, is_quick) => start_server(house, if is_quick { SHORT } else { LONG }).await,
    };
    let mut all = vec![Arc::clone(&guest)];
    if row.server && tier != Tier::Mcp {
        all.push(start_server(house, LONG).await);
    }
    (guest, house.attend_all(all))
}

/// Tools and commands of servers are named after them.
fn own_name(tier: Tier, name: &str) -> String {
    match (tier, name.strip_prefix('/')) {
        (Tier::Mcp, Some(command)) => format!("srv:{command}"),
        (Tier::Mcp, None) => format!("mcp__srv__{name}"),
        (Tier::Js | Tier::Wasm, Some(command)) => command.to_owned(),
        (Tier::Js | Tier::Wasm, None) => name.to_owned(),
    }
}

fn offered(tier: Tier, registration: &Registration, name: &str) -> String {
    let own = own_name(tier, name);
    if name.starts_with('/') {
        let found = registration.commands.iter().find(|command| command.definition.name == own);
        return found.and_then(|command| command.definition.description.clone()).unwrap_or_else(|| "nothing".into());
    }
    let Some(tool) = registration.tool(&own) else { return "nothing".to_owned() };
    format!("{} {}", tool.definition.description, json!(tool.definition.parameters))
}

/// What a model is told of a tool, or why it is told nothing.
fn shown(tier: Tier, guests: &Guests, name: &str) -> String {
    let own = own_name(tier, name);
    let tool = guests.tools().into_iter().find(|tool| tool.offer.definition.name == own);
    let refused = guests.refused_tools().into_iter().find(|refused| refused.tool == own);
    match (tool, refused) {
        (Some(tool), None) => {
            format!("{} {}", tool.offer.definition.description, json!(tool.offer.definition.parameters))
        }
        (None, Some(refused)) => format!("! {}", refused.fault),
        (tool, refused) => format!("{tool:?} {refused:?}"),
    }
}

/// What was said: of many parts and of long ones how much it is, of a file what is in it.
fn text(output: &ToolOutput) -> String {
    let text = |block: &Block| match block {
        Block::Text(text) if text.text.len() > 1000 => format!("{} bytes", text.text.len()),
        Block::Text(text) => match text.text.split_once("Full output: ") {
            Some((before, path)) => {
                let kept = fs::read_to_string(path.trim_end_matches(']')).expect("a file");
                format!("{before}Full output: {} bytes]", kept.len())
            }
            None => text.text.clone(),
        },
        _ => "?".to_owned(),
    };
    match output.content.as_slice() {
        [first @ .., last] if first.len() > 100 => format!("{} parts|{}", first.len(), text(last)),
        parts => parts.iter().map(text).collect::<Vec<_>>().join("|"),
    }
}

/// Calls a tool; its news, and what it answered.
async fn call(tier: Tier, house: &House, guests: &Guests, step: &Step, tool: &str) -> Vec<String> {
    let name = own_name(tier, tool);
    let (updates, mut heard) = mpsc::channel(8);
    let call = ToolInvocation { call_id: "c1".into(), name: name.clone(), input: step.input.clone(), updates };
    let (cancel, begun) = (CancellationToken::new(), house.folder.join("project/begun"));
    let tool = guests.tool(&name).unwrap_or_else(|| panic!("there is no tool {name}"));
    let taking_back = async {
        while step.cancel && !begun.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if step.cancel {
            cancel.cancel();
        }
    };
    let (answer, ()) = tokio::join!(tool.call(call, &cancel), taking_back);
    let answer = match answer {
        Ok(answer) if answer.is_error => format!("! {}", text(&answer.output)),
        Ok(answer) => text(&answer.output),
        Err(trouble) => format!("! {trouble}"),
    };
    let mut told = Vec::new();
    while let Ok(news) = heard.try_recv() {
        told.push(text(&news));
    }
    told.push(answer);
    told
}

async fn take(tier: Tier, house: &House, guest: &dyn Guest, guests: &Guests, step: &Step) -> Vec<String> {
    if let Some(tool) = &step.tool {
        return call(tier, house, guests, step, tool).await;
    }
    vec![if let Some(command) = &step.command {
        let command = guests.command(&own_name(tier, &format!("/{command}"))).expect("a command");
        match command.run(step.typed.clone(), &never()).await {
            Ok(()) => house.announced().await,
            Err(trouble) => format!("! {trouble}"),
        }
    } else if let Some(tool) = &step.guard {
        let data = json!({ "toolName": tool, "toolCallId": "c", "input": {} });
        match guests.dispatch(event("tool_call", &data), &never()).await {
            Verdict::ToolCall(ToolCallVerdict::Proceed) => "passes".to_owned(),
            Verdict::ToolCall(ToolCallVerdict::Blocked { reason, .. }) => reason.unwrap_or_default(),
            other => format!("{other:?}"),
        }
    } else if let Some(name) = &step.offers {
        offered(tier, &guest.registration(), name)
    } else if let Some(name) = &step.shows {
        shown(tier, guests, name)
    } else if let Some(hook) = &step.hears {
        let hears = guest.registration().handlers(Hook::find(hook).expect("a hook")) > 0;
        (if hears { "yes" } else { "no" }).to_owned()
    } else {
        panic!("a step without a word")
    }]
}

async fn observe(row: &Row, tier: Tier) -> Seen {
    let policy = json!({ "extensions": { "policy": { "mode": "permissive", "deny_caps": row.deny } } });
    let house = House::new(&policy.to_string());
    let (guest, guests) = guests(row, tier, &house).await;
    let (mut told, mut failures) = (Vec::new(), 0);
    for step in &row.steps {
        let answered = take(tier, &house, &*guest, &guests, step).await;
        failures += usize::from(step.tool.is_some() && answered.last().is_some_and(|last| last.starts_with('!')));
        told.extend(answered);
    }
    guests.shutdown().await;
    drop((guests, guest));
    let (ledger, trace) = (house.ledger().await, house.traced());
    fits_the_schemas(&trace, &row.what);
    is_whole(&house, &ledger, failures, &row.what);
    Seen { told, calls: ended(&ledger, tier), digests: digests(&ledger, &trace, &row.what) }
}

fn of<'a>(ledger: &'a [Value], event: &'static str) -> impl Iterator<Item = &'a Value> {
    ledger.iter().filter(move |line| line["event"] == event)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The chain of the ledger holds, whatever began has ended, and what failed is written down as failed.
fn is_whole(house: &House, ledger: &[Value], failures: usize, what: &str) {
    let verified = reading::verify(&house.folder.join("log"), "test").expect("a ledger");
    assert!(verified.is_intact(), "{what}: {verified:?}");
    for (start, end) in [
        ("host_call.start", "host_call.end"),
        ("tool_call.start", "tool_call.end"),
        ("slash_command.start", "slash_command.end"),
        ("event_hook.start", "event_hook.end"),
    ] {
        assert_eq!(of(ledger, start).count(), of(ledger, end).count(), "{what}: {start}");
    }
    let failed = of(ledger, "tool_call.end").filter(|line| line["data"]["is_error"] == true).count();
    assert_eq!(failed, failures, "{what}");
}

/// How the host calls ended, sorted. What we tell people of a server's connection was asked for by nobody.
fn ended(ledger: &[Value], tier: Tier) -> Vec<String> {
    let ends = of(ledger, "host_call.end").map(|line| &line["data"]);
    let ends = ends.filter(|data| tier != Tier::Mcp || data["method"] != "ui");
    let mut ends: Vec<String> = ends
        .map(|data| {
            let code = data["error"]["code"].as_str().unwrap_or("ok");
            format!("{} {} {code}", word(&data["method"]), word(&data["capability"]))
        })
        .collect();
    ends.sort();
    let groups = ends.chunk_by(|one, other| one == other);
    let many = |group: &[String]| match group.len() {
        count if count > MANY => vec![format!("{} ×{count}", group[0])],
        _ => group.to_vec(),
    };
    groups.flat_map(many).collect()
}

/// Digests of what was asked of the host, by method. Each is that of the call as it stands in the trace.
fn digests(ledger: &[Value], trace: &[Value], what: &str) -> BTreeMap<String, Vec<String>> {
    let mut digests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in of(ledger, "host_call.start") {
        let (method, digest) = (word(&line["data"]["method"]), word(&line["data"]["params_hash"]));
        // Guests count their calls apart, so that several may have this number.
        let id = &line["correlation"]["host_call_id"];
        let traced = trace.iter().filter(|it| it["type"] == "host_call" && it["payload"]["call_id"] == *id);
        let mut traced = traced.filter_map(|call| call["payload"]["params"].as_object());
        let is_traced = traced.any(|params| log::params_hash(&Method::from(method), params).to_string() == digest);
        assert!(is_traced, "{what}: {line}");
        digests.entry(method.to_owned()).or_default().push(digest.to_owned());
    }
    digests
}

/// Everything that was said is a message of the protocol.
fn fits_the_schemas(trace: &[Value], what: &str) {
    let ours = jsonschema::validator_for(&pi_extproto::schema::protocol()).expect("a schema");
    trace.iter().for_each(|message| assert!(ours.is_valid(message), "{what}: {message}"));
    let theirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec/extension-protocol.schema.json");
    let Ok(schema) = fs::read(&theirs) else {
        eprintln!("SKIPPED: {} is not there; the trace was compared with our own schema only", theirs.display());
        return;
    };
    let schema: Value = serde_json::from_slice(&schema).expect("a schema");
    let theirs = jsonschema::validator_for(&schema).expect("a schema");
    trace.iter().for_each(|message| assert!(theirs.is_valid(message), "{what}: {message}"));
}

/// Whether this is what was expected, of which "…" leaves the end open.
fn is_like(seen: &str, expected: &str) -> bool {
    match expected.strip_suffix('…') {
        Some(beginning) => seen.starts_with(beginning),
        None => seen == expected,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_tiers_behave_alike() {
    let rows: Vec<Row> = serde_saphyr::from_str(TABLE).unwrap_or_else(|error| panic!("tiers.yaml: {error}"));
    let mut faults = Vec::new();
    for row in &rows {
        let mut digests: BTreeMap<String, (Tier, Vec<String>)> = BTreeMap::new();
        for tier in TIERS {
            let Some((told, calls)) = row.expected(tier) else { continue };
            let Ok(seen) = timeout(AGES, observe(row, tier)).await else {
                faults.push(format!("{}, {tier}: it never ended", row.what));
                continue;
            };
            let mut calls = calls.to_vec();
            calls.sort();
            let fits = seen.told.len() == told.len() && seen.told.iter().zip(told).all(|(seen, it)| is_like(seen, it));
            if !fits || seen.calls != calls {
                faults.push(format!("{}, {tier}: {:?} {:?}", row.what, seen.told, seen.calls));
            }
            // What scripts and components ask for is the same; of a server it is what the row says.
            for (method, own) in seen.digests {
                if tier == Tier::Mcp && !row.alike.contains(&method) {
                    continue;
                }
                match digests.get(&method) {
                    Some((other, theirs)) if *theirs != own => {
                        faults.push(format!("{}: {method} differs on {other} and {tier}", row.what));
                    }
                    Some(_) => {}
                    None => drop(digests.insert(method, (tier, own))),
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_row_says_why_it_leaves_a_tier_out() {
    let rows: Vec<Row> = serde_saphyr::from_str(TABLE).expect("a table");
    for row in &rows {
        let applies = TIERS.iter().filter(|tier| row.expected(**tier).is_some()).count();
        assert!(applies >= 2, "{} is about one tier only", row.what);
        let reasons = TIERS.iter().filter_map(|tier| match row.otherwise(*tier) {
            Some(Otherwise::Not(reason)) => Some(reason),
            Some(Otherwise::Differs { .. }) | None => None,
        });
        reasons.for_each(|reason| assert!(reason.len() > 10, "{}: {reason}", row.what));
    }
}
