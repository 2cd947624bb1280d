//! Servers that others wrote, as they come from npm and PyPI. `cargo xtask test` installs them; without them the tests say
//! that they are skipped.

use std::{path::PathBuf, time::Duration};

use serde_json::{Value, json};

use crate::house::{House, Plan, start};

/// The variable by which the folder of installed servers is found.
const VARIABLE: &str = "PI_TEST_MCP";

fn servers() -> Option<PathBuf> {
    let found = std::env::var_os(VARIABLE).map(PathBuf::from);
    if found.is_none() {
        eprintln!("SKIPPED: no real MCP servers; `cargo xtask test` installs them and sets {VARIABLE}");
    }
    found
}

async fn node(folder: &std::path::Path, package: &str, arguments: &[&str]) -> House {
    let program = folder.join("npm/node_modules/.bin").join(format!("mcp-server-{package}"));
    launch(program, arguments).await
}

async fn python(folder: &std::path::Path, package: &str, arguments: &[&str]) -> House {
    launch(folder.join("venv/bin").join(format!("mcp-server-{package}")), arguments).await
}

async fn launch(program: PathBuf, arguments: &[&str]) -> House {
    let mut plan = Plan::entry(json!({ "command": program, "args": arguments }));
    plan.limits.message_bytes = 16 << 20;
    plan.limits.patience = Duration::from_secs(60);
    plan.limits.connecting = Duration::from_secs(60);
    start(plan).await.unwrap_or_else(|fault| panic!("{}: {fault}", program.display()))
}

#[tokio::test(flavor = "multi_thread")]
async fn everything() {
    let Some(folder) = servers() else { return };
    let house = node(&folder, "everything", &["stdio"]).await;
    assert_eq!(house.call("echo", json!({ "message": "hello" })).await, "Echo: hello");
    assert!(house.tools().len() >= 8, "{:?}", house.tools());
    let sum = ["get-sum", "add"].into_iter().find(|name| house.tools().contains(&(*name).to_owned()));
    let summed = house.call(sum.expect("a tool that adds"), json!({ "a": 2, "b": 3 })).await;
    assert!(summed.contains('5'), "{summed}");
    let slow = ["trigger-long-running-operation", "longRunningOperation"];
    let slow = slow.into_iter().find(|name| house.tools().contains(&(*name).to_owned())).expect("a slow tool");
    let (done, news) = house.call_with(slow, json!({ "duration": 1, "steps": 4 }), &Default::default()).await;
    assert!(done.to_lowercase().contains("completed"), "{done}");
    assert!(news.len() >= 3, "{news:?}");
    let listed = house.call("resources", json!({})).await;
    assert!(listed.lines().count() > 1, "{listed}");
    assert!(!house.guests.commands().is_empty());
    let (ledger, _) = house.close().await;
    assert!(ledger.iter().any(|line| line["data"]["method"] == "mcp"));
}

#[tokio::test(flavor = "multi_thread")]
async fn filesystem() {
    let Some(folder) = servers() else { return };
    let allowed = tempfile::tempdir().expect("a folder");
    let path = allowed.path().canonicalize().expect("a folder");
    std::fs::write(path.join("note.txt"), "written before").expect("a file");
    let shown = path.display().to_string();
    let house = node(&folder, "filesystem", &[&shown]).await;
    // It asks for the roots when it has begun, and takes the project in the place of the folder that it was given.
    let project = house.folder.join("project");
    std::fs::write(project.join("note.txt"), "in the project").expect("a file");
    let note = project.join("note.txt").display().to_string();
    let mut read = house.call("read_text_file", json!({ "path": note })).await;
    for _ in 0..200 {
        if !read.contains("outside allowed directories") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        read = house.call("read_text_file", json!({ "path": note })).await;
    }
    assert_eq!(read, "in the project");
    let outside = house.call("read_text_file", json!({ "path": "/etc/hostname" })).await;
    assert!(outside.starts_with("! ") && outside.contains("Access denied"), "{outside}");
}

#[tokio::test(flavor = "multi_thread")]
async fn memory() {
    let Some(folder) = servers() else { return };
    let file = tempfile::tempdir().expect("a folder");
    let program = folder.join("npm/node_modules/.bin/mcp-server-memory");
    let variables = json!({ "MEMORY_FILE_PATH": file.path().join("memory.json") });
    let mut plan = Plan::entry(json!({ "command": program, "env": variables }));
    plan.limits.patience = Duration::from_secs(60);
    let house = start(plan).await.expect("it starts");
    let entity = json!({ "name": "pi", "entityType": "program", "observations": ["small"] });
    let made = house.call("create_entities", json!({ "entities": [entity] })).await;
    assert!(made.contains("pi"), "{made}");
    let graph: Value = serde_json::from_str(&house.call("read_graph", json!({})).await).expect("JSON");
    assert_eq!(graph["entities"][0]["observations"], json!(["small"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn time() {
    let Some(folder) = servers() else { return };
    let house = python(&folder, "time", &["--local-timezone", "Europe/Berlin"]).await;
    let input = json!({ "source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let converted = house.call("convert_time", input).await;
    assert!(converted.contains("Asia/Tokyo") && converted.contains("time_difference"), "{converted}");
    let wrong = house.call("get_current_time", json!({ "timezone": "Middle/Earth" })).await;
    assert!(wrong.starts_with("! "), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn git() {
    let Some(folder) = servers() else { return };
    let repository = tempfile::tempdir().expect("a folder");
    let git = |arguments: &[&str]| {
        let done = std::process::Command::new("git").arg("-C").arg(repository.path()).args(arguments).output();
        assert!(done.expect("git is there").status.success(), "{arguments:?}");
    };
    git(&["init", "--quiet"]);
    std::fs::write(repository.path().join("a.txt"), "a").expect("a file");
    git(&["add", "a.txt"]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "the first"]);
    let shown = repository.path().display().to_string();
    let house = python(&folder, "git", &["--repository", &shown]).await;
    let log = house.call("git_log", json!({ "repo_path": shown, "max_count": 3 })).await;
    assert!(log.contains("the first"), "{log}");
}
