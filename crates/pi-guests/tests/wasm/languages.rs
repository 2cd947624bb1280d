//! Extensions that compilers made: the examples of the SDK in Rust, and one in JavaScript. Where a compiler or its target
//! is missing that is said, loudly.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use pi_exthost::{
    Guests,
    verdict::{ToolCallVerdict, Verdict},
};
use pi_guests::wasm::{Code, Program, WasmGuest};
use serde_json::json;

use crate::house::{House, MACHINE, OPEN, event, invocation, never, program, told};

const TARGET: &str = "wasm32-wasip2";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where compilers put what they make.
fn workplace(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Runs a program; what it said if it failed.
fn run(command: &mut Command) -> Result<(), String> {
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The components of the examples, or nothing where there is no target for them.
fn examples() -> Option<PathBuf> {
    let asked = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let folder = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if !Path::new(&folder).is_dir() {
        eprintln!("SKIPPED: there is no standard library of {TARGET}; `rustup target add {TARGET}` brings it");
        return None;
    }
    let target = workplace("sdk");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--target", TARGET, "--target-dir"]).arg(&target);
    cargo.env_remove("CARGO_TARGET_DIR").current_dir(repository().join("sdk/rust"));
    match run(&mut cargo) {
        Ok(()) => Some(target.join(TARGET).join("release")),
        Err(said) if said.contains("failed to download") || said.contains("Could not resolve host") => {
            eprintln!("SKIPPED: the crates of the SDK cannot be fetched: {said}");
            None
        }
        Err(said) => panic!("{said}"),
    }
}

async fn attend(house: &House, component: &Path) -> Arc<Guests> {
    let bytes = fs::read(component).expect("a component");
    let code = Code::prepare(&MACHINE, &bytes, "example", None).unwrap_or_else(|fault| panic!("{fault}"));
    let guest = WasmGuest::start(Program { code, ..program(Default::default()) }, house.desk()).await;
    house.attend(guest.expect("it starts"))
}

async fn call(guests: &Guests, tool: &str, input: serde_json::Value) -> String {
    let answer = guests.tool(tool).expect("a tool").call(invocation(tool, input), &never()).await;
    answer.map_or_else(|trouble| trouble.to_string(), |answer| told(&Ok(answer)))
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_in_rust_do_what_they_are_for() {
    let Some(folder) = examples() else { return };
    let house = House::new(OPEN);
    let guests = attend(&house, &folder.join("code_search.wasm")).await;
    fs::write(house.folder.join("project/a.rs"), "fn sought() {}\nsought();\n").expect("a file");
    let found = call(&guests, "code_search", json!({ "name": "sought" })).await;
    assert_eq!(found, "a.rs:1: function: fn sought() {}\na.rs:2: use: sought();");

    let house = House::new(OPEN);
    let guests = attend(&house, &folder.join("guard.wasm")).await;
    let judged = async |command: &str| {
        let data = json!({ "toolName": "bash", "toolCallId": "c", "input": { "command": command } });
        guests.dispatch(event("tool_call", &data), &never()).await
    };
    assert_eq!(judged("ls").await, Verdict::ToolCall(ToolCallVerdict::Proceed));
    let Verdict::ToolCall(ToolCallVerdict::Blocked { reason, .. }) = judged("sudo ls").await else {
        panic!("it passes")
    };
    assert_eq!(reason.as_deref(), Some("guard: it would act as another user: sudo ls"));
}

#[tokio::test(flavor = "multi_thread")]
async fn javascript_in_a_component_reads_a_file() {
    let folder = workplace("javascript");
    fs::create_dir_all(folder.join("wit")).expect("a folder");
    fs::write(folder.join("wit/extension.wit"), pi_extproto::schema::WIT).expect("the package");
    fs::write(folder.join("lines.js"), include_str!("lines.js")).expect("a source");
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix", ".", "componentize-qjs@0.4.5"]);
    if let Err(said) = run(npm.current_dir(&folder)) {
        eprintln!("SKIPPED: componentize-qjs cannot be installed with npm: {said}");
        return;
    }
    let mut componentize = Command::new(folder.join("node_modules/.bin/componentize-qjs"));
    componentize.args(["-w", "wit", "-j", "lines.js", "-n", "extension", "--stub-wasi", "--sync", "--opt-size"]);
    run(componentize.args(["-o", "lines.wasm"]).current_dir(&folder)).expect("a component");
    let house = House::new(OPEN);
    let guests = attend(&house, &folder.join("lines.wasm")).await;
    assert_eq!(call(&guests, "lines", json!({ "path": "note.txt" })).await, "1 lines");
}

#[test]
fn interface_of_the_sdk_is_that_of_the_host() {
    let theirs = fs::read_to_string(repository().join("sdk/rust/pi-extension/wit/extension.wit")).expect("a package");
    assert_eq!(theirs, pi_extproto::schema::WIT);
}
