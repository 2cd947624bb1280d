//! `pi ext ledger`: what extensions touched, which sessions have a ledger, and whether all of it is there.

use std::path::{Path, PathBuf};

use crate::world::{self, World};

const CURIOUS: &str = r#"
import { readFileSync, writeFileSync } from "node:fs";
export default function (pi: any) {
  pi.registerCommand("look", { description: "Looks", handler: async () => {
    readFileSync("notes.txt");
    writeFileSync("out.txt", "the contents are nobody's business");
    try { readFileSync("/home/me/.ssh/id_rsa\nfake line"); } catch {}
    try { await pi.exec("git", ["log", "--grep=hush"]); } catch {}
    try { await fetch("http://127.0.0.1:9/hush?hush"); } catch {}
    void process.env.SOME_KEY;
  } });
  pi.registerTool({ name: "peek", description: "Peeks", parameters: { type: "object", properties: {} },
    execute: async () => ({ content: [{ type: "text", text: String(readFileSync("notes.txt")) }], details: {} }) });
}
"#;

fn world() -> World {
    World::new().with("curious.ts", CURIOUS).with("notes.txt", "hello")
}

/// Runs `pi` with an agent directory of its own and these arguments.
fn run(world: &World, arguments: &[&str]) -> String {
    let mut command = world.command("");
    command.args(arguments).env("PI_CODING_AGENT_DIR", world.path().join("agent"));
    world::shown(&command.output().expect("pi runs"))
}

fn ledger(world: &World, arguments: &str) -> String {
    run(world, &["ext", "ledger"].into_iter().chain(arguments.split_whitespace()).collect::<Vec<_>>())
}

/// The file of the only session.
fn only(world: &World) -> PathBuf {
    only_in(&world.path().join("agent/logs/extensions"))
}

/// The only ledger of a folder.
#[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
fn only_in(folder: &Path) -> PathBuf {
    let folder = std::fs::read_dir(folder).expect("a folder");
    let paths = folder.map(|entry| entry.expect("listed").path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn ledger_tells_what_was_touched_and_never_what_was_in_it() {
    let world = world();
    run(&world, &["-p", "-e", "curious.ts", "/look"]);
    let shown = ledger(&world, "show");
    for part in [
        "policy.decision deny read /home/me/.ssh/id_rsa␊fake line: ",
        "host_call.start exec through exec git\n",
        "host_call.start http through http 127.0.0.1:9\n",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for (start, end) in [("read through fs /", "/notes.txt"), ("write through fs /", "/out.txt")] {
        let is_it = |line: &str| line.contains(&format!("host_call.start {start}")) && line.ends_with(end);
        assert!(shown.lines().any(is_it), "{start}{end}: {shown}");
    }
    assert!(shown.contains("fs failed /home/me/.ssh/id_rsa␊fake line: denied ("), "{shown}");
    let whole = world.read(only(&world));
    assert!(!whole.contains("nobody's business") && !whole.contains("hush"), "{whole}");
}

#[test]
fn ledger_without_its_head_is_not_intact_and_a_copy_is_told_as_one() {
    let world = world();
    run(&world, &["-p", "-e", "curious.ts", "/look"]);
    let path = only(&world);
    let session = path.file_stem().expect("a name").to_string_lossy().into_owned();
    assert!(ledger(&world, "verify").contains(&format!("session {session}: intact, ")));

    let lines = world.read(&path);
    let head = world.read(path.with_extension("head"));
    let world = world.with("copy.jsonl", &lines).with("copy.head", head);
    let copied = ledger(&world, "verify copy.jsonl");
    assert!(copied.contains(&format!("session {session}: intact, ")) && copied.ends_with("--- exit 0"), "{copied}");
    assert!(copied.contains("it is called copy.jsonl"), "{copied}");
    let logs = "agent/logs/extensions";
    let world = world.with(&format!("{logs}/other.jsonl"), &lines).with(&format!("{logs}/other.head"), "");
    let swapped = ledger(&world, "verify other");
    assert!(swapped.contains(": broken, ") && swapped.ends_with("--- exit 1"), "{swapped}");

    let cut: String = lines.lines().take(3).map(|line| format!("{line}\n")).collect();
    let world = world.with(path.to_str().expect("text"), cut);
    world.remove(path.with_extension("head").to_str().expect("text"));
    let verified = ledger(&world, &format!("verify {session}"));
    assert!(verified.contains(".head: it is missing or empty") && verified.contains(": broken, 3 lines in 1 file\n"));
    assert!(verified.ends_with("--- exit 1"), "{verified}");
    assert!(ledger(&world, "verify nope").ends_with("--- exit 2"));
}

#[test]
fn trials_do_not_bury_sessions() {
    let world = world();
    assert!(ledger(&world, "list").contains("there is no ledger yet"));
    run(&world, &["-p", "-e", "curious.ts", "/look"]);
    run(&world, &["ext", "run-tool", "curious.ts", "peek"]);
    let session = only(&world).file_stem().expect("a name").to_string_lossy().into_owned();
    assert!(ledger(&world, "stats").contains(&format!("session {session}: ")));
    let listed = ledger(&world, "list");
    assert!(listed.contains(&session) && listed.contains("curious") && !listed.contains("trial-"), "{listed}");
    assert!(ledger(&world, "list --trials").contains("\ntrial-"));
    let trial = ledger(&world, "show trial");
    assert!(trial.contains("tool_call.start tool call peek\n"), "{trial}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
fn ledger_of_a_rehearsal_names_its_scenario() {
    let scene = include_str!("../../../../tests/ext_conformance/rehearsal/scene.json");
    let scene: serde_json::Value = scene.parse().expect("JSON");
    let steps = serde_json::json!([{ "command": "look", "arguments": "" }]);
    let script = serde_json::json!({ "scenario": "curious-look", "scene": scene, "steps": steps });
    let world = world().with("script.json", script.to_string());
    let told = run(&world, &["ext", "rehearse", "curious.ts", "script.json"]);
    assert!(told.ends_with("--- exit 0"), "{told}");
    let folder = std::fs::read_dir(world.path().join("agent/logs/extensions/trials")).expect("a folder");
    let files = folder.map(|entry| entry.expect("listed").path());
    let texts = files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).map(std::fs::read_to_string);
    let lines: Vec<serde_json::Value> = texts
        .flat_map(|text| text.expect("a ledger").lines().map(|line| line.parse().expect("JSON")).collect::<Vec<_>>())
        .collect();
    assert!(lines.iter().any(|line| line["event"] == "host_call.end"), "{lines:?}");
    let is_named = |line: &serde_json::Value| {
        line["schema"] == "pi.ext.log.v1" && line["correlation"]["scenario_id"] == "curious-look"
    };
    assert!(lines.iter().all(is_named), "{lines:?}");
}

const TALKATIVE: &str = r#"
export default function (pi: any) {
  pi.registerCommand("talk", { description: "Talks", handler: async () => {
    console.log("password=correct-horse api_key=battery-staple of ada.lovelace@example.org, call +49 170 1234567");
    try { await fetch("http://127.0.0.1:9/?api_key=SECRETQUERY", { headers: { "x-api-key": "SECRETHEADER" } }); } catch {}
  } });
}
"#;

#[test]
fn ledger_and_trace_hold_neither_what_keys_name_nor_who_somebody_is() {
    let world = World::new().with("talkative.ts", TALKATIVE);
    run(&world, &["-p", "-e", "talkative.ts", "--trace-protocol", "trace.jsonl", "/talk"]);
    let (ledger, trace) = (world.read(only(&world)), world.read(world.path().join("trace.jsonl")));
    assert!(ledger.contains("password=") && trace.contains("127.0.0.1:9"), "{ledger}{trace}");
    for hidden in
        ["correct-horse", "battery-staple", "ada.lovelace", "170 1234567", "1701234567", "SECRETQUERY", "SECRETHEADER"]
    {
        assert!(!ledger.contains(hidden) && !trace.contains(hidden), "{hidden}: {ledger}{trace}");
    }
    let world = World::new().with("talkative.ts", TALKATIVE);
    run(&world, &["ext", "run-command", "talkative.ts", "talk"]);
    let ledger = world.read(only_in(&world.path().join("agent/logs/extensions/trials")));
    assert!(ledger.contains("password=") && !ledger.contains("correct-horse"), "{ledger}");
    assert!(!ledger.contains("ada.lovelace"), "{ledger}");
}
