//! Extensions that compilers made: the examples of the SDK in Rust, one in TypeScript and one in Python. Where a compiler or
//! its target is missing that is said, loudly.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use pi_extc::{Cache, Compilers, Workshop, load};
use pi_exthost::{
    Guests,
    verdict::{ToolCallVerdict, Verdict},
};
use pi_extproto::manifest::Tier;
use pi_guests::wasm::{Code, Piece, Program, WasmGuest};
use serde_json::{Value, json};

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
    let code = Code::prepare(&MACHINE, Piece::bare("example", &bytes), None).unwrap_or_else(|fault| panic!("{fault}"));
    let guest = WasmGuest::start(Program { code, ..program(Default::default()) }, house.desk()).await;
    house.attend(guest.expect("it starts"))
}

async fn call(guests: &Guests, tool: &str, input: Value) -> String {
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

/// `pi ext build` does the same with what its author wrote and installed.
#[tokio::test(flavor = "multi_thread")]
async fn typescript_that_asks_for_it_becomes_a_component_and_reads_a_file() {
    let folder = workplace("typescript");
    let manifest =
        json!({ "name": "lines", "version": "0.1.0", "api_version": "1.0", "entry": "lines.ts", "engine": "wasm" });
    fs::write(folder.join("extension.json"), manifest.to_string()).expect("a manifest");
    fs::write(folder.join("lines.ts"), include_str!("lines.ts")).expect("a source");
    fs::write(folder.join("count.ts"), include_str!("count.ts")).expect("a source");
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix", ".", "componentize-qjs@0.4.5"]);
    if let Err(said) = run(npm.current_dir(&folder)) {
        eprintln!("SKIPPED: componentize-qjs cannot be installed with npm: {said}");
        return;
    }
    let house = House::new(OPEN);
    let cache = Cache::open(&house.folder.join("cache")).expect("a cache");
    let workshop = Workshop { compilers: Compilers::Run, ..Workshop::new(house.folder.join("cache")) };
    let built = load(&folder, &workshop, &cache).await.unwrap_or_else(|fault| panic!("{fault}"));
    let artifact = &built[0].artifact;
    assert_eq!((artifact.name(), artifact.descriptor.engine.tier), ("lines", Tier::Wasm));
    let sources: Vec<&str> = artifact.descriptor.sources.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(sources, ["count.ts", "lines.ts"]);
    // The engine inside imports every connector; what is needed is what the script names.
    let needs: Vec<&str> = artifact.descriptor.capabilities.inferred.iter().map(|it| it.as_str()).collect();
    assert_eq!(needs, ["read", "write", "log"]);
    let component = house.folder.join("lines.wasm");
    fs::write(&component, artifact.code.as_bytes()).expect("a component");
    let guests = attend(&house, &component).await;
    assert_eq!(call(&guests, "lines", json!({ "path": "note.txt" })).await, "1 lines");
    // Clocks and random numbers are there.
    assert_eq!(call(&guests, "clock", json!({})).await, "late and random");
    assert_eq!(call(&guests, "fail", json!({})).await, "sad: not today");
    let ledger = house.ledger().await;
    let noted: Vec<&Value> = ledger.iter().filter(|line| line["event"] == "lines.counted").collect();
    assert!(noted.len() == 1 && noted[0]["message"] == "note.txt", "{noted:?}");
}

/// The program that makes components of Python, installed with pip; what went wrong if it cannot be.
fn componentize_py(folder: &Path) -> Result<PathBuf, String> {
    let program = folder.join("venv/bin/componentize-py");
    if !program.is_file() {
        run(Command::new("python3").args(["-m", "venv", "venv"]).current_dir(folder))?;
        let pip = &mut Command::new(folder.join("venv/bin/pip"));
        run(pip.args(["install", "--quiet", "componentize-py==0.25.1"]))?;
    }
    Ok(program)
}

/// A whole interpreter is in it, and nothing else is different.
#[tokio::test(flavor = "multi_thread")]
async fn python_becomes_a_component_and_reads_a_file() {
    // It is compiled for minutes by an engine that is not optimised: a long round.
    if std::env::var_os("PI_TEST_INTERPRETERS").is_none() {
        return eprintln!("SKIPPED: PI_TEST_INTERPRETERS is not set, as `cargo xtask test --full` sets it");
    }
    let folder = workplace("python");
    let program = match componentize_py(&folder) {
        Ok(program) => program,
        Err(said) => return eprintln!("SKIPPED: componentize-py cannot be installed with pip: {said}"),
    };
    fs::write(folder.join("lines.py"), include_str!("lines.py")).expect("a source");
    let component = folder.join("lines.wasm");
    let mut made = Command::new(program);
    made.arg("-d").arg(repository().join("docs/wit")).args(["-w", "extension", "componentize", "lines", "-o"]);
    run(made.arg(&component).current_dir(&folder)).unwrap_or_else(|said| panic!("{said}"));
    let house = House::new(OPEN);
    let guests = attend(&house, &component).await;
    assert_eq!(call(&guests, "lines", json!({ "path": "note.txt" })).await, "1 lines");
    assert_eq!(call(&guests, "fail", json!({})).await, "sad: not today");
    let ledger = house.ledger().await;
    let noted: Vec<&Value> = ledger.iter().filter(|line| line["event"] == "lines.counted").collect();
    assert!(noted.len() == 1 && noted[0]["message"] == "note.txt", "{noted:?}");
}

#[test]
fn interface_of_the_sdk_is_that_of_the_host() {
    let theirs = fs::read_to_string(repository().join("sdk/rust/pi-extension/wit/extension.wit")).expect("a package");
    assert_eq!(theirs, pi_extproto::schema::WIT);
}
