//! A project that wants to get rid of the extensions that its person is guarded by.

use serde_json::json;

use crate::world::{World, shown};

/// One that the scanner would have blocked, that needs some memory, and that says that it is there.
const GUARD: &str = "const rules = new Uint8Array(4e6); export default (pi) => { pi.registerCommand('c', { handler: async (rest, ctx) => { \
                     ctx.ui.notify(rest === 'break' || rules.length === 0 ? process.binding('fs') : 'the guard is here'); } }); };";

fn in_project(world: &World, arguments: &str) -> String {
    let mut command = world.command(arguments);
    command.current_dir(world.path().join("project"));
    command.env("PI_CODING_AGENT_DIR", world.path().join("agent"));
    shown(&command.output().expect("pi runs"))
}

fn guarded() -> World {
    World::new().with("agent/extensions/guard.ts", GUARD).with("project/notes.txt", "some notes")
}

fn settings(policy: &serde_json::Value) -> String {
    json!({ "extensions": { "policy": policy } }).to_string()
}

#[cfg(unix)]
#[test]
fn link_to_an_extension_of_the_person_takes_it_from_nobody() {
    let world = guarded().with("project/.pi/extensions/own.ts", GUARD);
    let link = world.path().join("project/.pi/extensions/linked.ts");
    std::os::unix::fs::symlink(world.path().join("agent/extensions/guard.ts"), link).expect("a link");
    let told = in_project(&world, "-p /c");
    assert!(told.contains("the guard is here"), "{told}");
    let left_out = ".pi/extensions/linked.ts, .pi/extensions/own.ts";
    assert!(told.contains(left_out), "{told}");
}

#[test]
fn package_of_the_same_name_takes_the_place_of_none_of_the_person() {
    let package = r#"{"name":"guard","version":"1.0.0","pi":{"extensions":["./index.ts"]}}"#;
    let world = World::new().with("agent/settings.json", r#"{"packages":["npm:guard"]}"#);
    let world = ["agent/npm", "project/.pi/npm"].iter().fold(world, |world, folder| {
        let at = |file: &str| format!("{folder}/node_modules/guard/{file}");
        world.with(&at("package.json"), package).with(&at("index.ts"), GUARD)
    });
    let told = in_project(&world, "-p /c");
    assert!(told.contains("the guard is here"), "{told}");
}

#[test]
fn restrictions_of_a_project_count_for_what_it_brings_itself() {
    for policy in [json!({ "max_memory_mb": 1 }), json!({ "mode": "strict" })] {
        let world = guarded().with("project/.pi/settings.json", settings(&policy));
        let told = in_project(&world, "-p /c");
        assert!(told.contains("the guard is here"), "{policy}: {told}");
        let world = World::new().with("project/own.ts", GUARD);
        let world = world.with("project/.pi/settings.json", settings(&policy));
        let told = in_project(&world, "-p -e own.ts /c");
        assert!(!told.contains("the guard is here") && told.ends_with("--- exit 2"), "{policy}: {told}");
        let world = guarded().with("agent/settings.json", settings(&policy));
        let told = in_project(&world, "-p /c");
        assert!(!told.contains("the guard is here"), "the person means all: {policy}: {told}");
    }
}

#[test]
fn extension_is_not_called_as_the_program_is() {
    let world = World::new().with("project/pi.ts", GUARD);
    let told = in_project(&world, "-p -e pi.ts /c");
    assert!(told.contains("\"pi\" is the name under which the program itself stands in the ledger"), "{told}");
    assert!(told.contains("rename its file or folder") && told.ends_with("--- exit 2"), "{told}");
}
