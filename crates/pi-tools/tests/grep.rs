//! `grep`, with real files.

#![expect(clippy::disallowed_methods, reason = "tests look at real files beside the seam")]

#[expect(dead_code, reason = "each test uses the part of the room that it needs")]
#[path = "support/room.rs"]
mod room;

use std::os::unix::fs::symlink;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use pi_tools::{Failure, Progress};
use room::Room;

fn project() -> Room {
    let room = Room::new();
    room.put("src/a.rs", "fn main() {\n    let Needle = 1;\n}\n");
    room.put("src/b.ts", "x\nneedle one\ny\nz\nneedle two\nw\r\n");
    room.put("src/deep/c.rs", "a.needle\n");
    room.put(".hidden", "needle\n");
    room.put(".git/config", "needle\n");
    room.put("target/out", "needle\n");
    room.put("skipped.log", "needle\n");
    room.put("kept.log", "needle\n");
    room.put(".gitignore", "target/\n*.log\n!kept.log\n");
    room.put("src/.gitignore", "deep\n");
    room.put("binary", b"needle\n\x00\x01needle\n");
    room
}

/// As ripgrep has it; `.ignore` counts everywhere.
#[tokio::test]
async fn gitignore_counts_in_a_repository_only() {
    let room = Room::new();
    room.put(".gitignore", "a\n");
    room.put(".ignore", "b\n");
    room.put("inner/.git/HEAD", "");
    room.put("inner/.gitignore", "c\n");
    for name in ["a", "b", "inner/c", "inner/d"] {
        room.put(name, "needle\n");
    }
    let told = room.told("grep", json!({ "pattern": "needle" })).await;
    assert_eq!(told, "a:1: needle\ninner/d:1: needle");
    let told = room.told("find", json!({ "pattern": "?" })).await;
    assert_eq!(told, "inner/d", "find leaves out what any list leaves out");
    room.put(".git/HEAD", "");
    assert_eq!(room.told("grep", json!({ "pattern": "needle" })).await, "inner/d:1: needle");
    assert_eq!(room.told("grep", json!({ "pattern": "needle", "path": "inner" })).await, "d:1: needle");
}

#[tokio::test]
async fn matches_are_told_in_the_order_of_paths() {
    let room = project();
    for (arguments, expected) in [
        (
            json!({ "pattern": "needle" }),
            ".hidden:1: needle\nkept.log:1: needle\nsrc/b.ts:2: needle one\nsrc/b.ts:5: needle two",
        ),
        (
            json!({ "pattern": "NEEDLE", "ignoreCase": "true", "path": "src" }),
            "a.rs:2:     let Needle = 1;\nb.ts:2: needle one\nb.ts:5: needle two",
        ),
        (json!({ "pattern": "needle", "glob": "*.ts" }), "src/b.ts:2: needle one\nsrc/b.ts:5: needle two"),
        (json!({ "pattern": "needle", "glob": "src/**/*.rs" }), "No matches found"),
        (json!({ "pattern": "needle", "glob": "!*.ts", "path": null }), ".hidden:1: needle\nkept.log:1: needle"),
        (json!({ "pattern": "needle (one|two)$" }), "src/b.ts:2: needle one\nsrc/b.ts:5: needle two"),
        (json!({ "pattern": "let Needle = (", "literal": 1 }), "No matches found"),
        (json!({ "pattern": "main()", "literal": true }), "src/a.rs:1: fn main() {"),
        (
            json!({ "pattern": "needle", "path": "src/b.ts", "context": 1 }),
            "b.ts-1- x\nb.ts:2: needle one\nb.ts-3- y\nb.ts-4- z\nb.ts:5: needle two\nb.ts-6- w",
        ),
        (
            json!({ "pattern": "needle", "path": "src/b.ts", "context": 1, "limit": 1 }),
            "b.ts-1- x\nb.ts:2: needle one\nb.ts-3- y\n\n[1 matches limit reached. Use limit=2 for more, or refine pattern]",
        ),
        // What is named is searched even if it is ignored.
        (json!({ "pattern": "needle", "path": "src/deep" }), "c.rs:1: a.needle"),
        (json!({ "pattern": "needle", "path": "target" }), "out:1: needle"),
        (json!({ "pattern": "needle", "path": ".git" }), "config:1: needle"),
        (json!({ "pattern": "needle", "path": "none" }), "error: Folder not found: none"),
        (json!({ "pattern": "nothing like it" }), "No matches found"),
    ] {
        assert_eq!(room.told("grep", arguments.clone()).await, expected, "{arguments}");
    }
    for arguments in [json!({ "pattern": "(" }), json!({ "pattern": "x", "glob": "[" })] {
        let told = room.told("grep", arguments.clone()).await;
        assert!(told.starts_with("error: The ") && told.contains(" cannot be used: "), "{told}");
    }
}

#[tokio::test]
async fn limits_are_told_in_text_and_details() {
    let room = Room::new();
    room.put("a", "x\n".repeat(100));
    room.put("b", "x\n");
    let output = room.call("grep", json!({ "pattern": "x", "path": "a" })).await.expect("matches");
    assert_eq!(output.details, None);
    let output = room.call("grep", json!({ "pattern": "x" })).await.expect("matches");
    assert_eq!(output.details, Some(json!({ "matchLimitReached": 100 })));

    room.put("wide", "é".repeat(600));
    let output = room.call("grep", json!({ "pattern": "é+" })).await.expect("a match");
    let cut = format!("wide:1: {}... [truncated]", "é".repeat(500));
    let notice = "Some lines truncated to 500 chars. Use read tool to see full lines";
    assert_eq!(output.content[0].as_text(), Some(format!("{cut}\n\n[{notice}]").as_str()));
    assert_eq!(output.details, Some(json!({ "linesTruncated": true })));

    room.put("long", format!("{}\n", "y".repeat(400)).repeat(200));
    let output = room.call("grep", json!({ "pattern": "y", "limit": 150 })).await.expect("matches");
    let text = output.content[0].as_text().expect("text");
    let notice = "\n\n[150 matches limit reached. Use limit=300 for more, or refine pattern. 50.0KB limit reached]";
    assert!(text.ends_with(notice), "{}", &text[text.len() - 200..]);
    let details = output.details.expect("details");
    let record =
        (&details["matchLimitReached"], &details["truncation"]["truncatedBy"], &details["truncation"]["maxLines"]);
    assert_eq!(record, (&json!(150), &json!("bytes"), &json!(9_007_199_254_740_991_u64)));
}

#[tokio::test]
async fn order_does_not_depend_on_who_is_first() {
    let room = Room::new();
    for number in 0..300 {
        room.put(&format!("d{}/f{number:03}", number % 7), format!("hit {number}\n"));
    }
    let mut expected: Vec<String> =
        (0..300).map(|number| format!("d{}/f{number:03}:1: hit {number}", number % 7)).collect();
    expected.sort();
    for _ in 0..5 {
        assert_eq!(room.told("grep", json!({ "pattern": "hit", "limit": 1000 })).await, expected.join("\n"));
    }
}

#[tokio::test]
async fn links_are_not_followed_and_secrets_not_read() {
    let room = Room::new();
    std::fs::write(room.beside("outside"), "needle").expect("a file");
    symlink(room.beside("outside"), room.at("link")).expect("a link");
    symlink(room.beside("home"), room.at("folder")).expect("a link");
    std::fs::create_dir_all(room.beside("home/.pi/agent")).expect("a folder");
    std::fs::write(room.beside("home/.pi/agent/auth.json"), "needle").expect("a file");
    std::fs::write(room.beside("home/.pi/agent/settings.json"), "needle").expect("a file");
    assert_eq!(room.told("grep", json!({ "pattern": "needle" })).await, "No matches found");
    let told = room.told("grep", json!({ "pattern": "needle", "path": "~/.pi/agent" })).await;
    assert_eq!(told, "settings.json:1: needle");
}

#[tokio::test]
async fn what_is_denied_is_left_out() {
    let mut room = Room::new();
    for path in ["a.txt", "secret/b.txt", "src/secret.pem"] {
        room.put(path, "needle\n");
    }
    let denies = json!([{ "capability": "read", "scope": { "paths": ["secret", "**/*.pem"] } }]);
    let settings = json!({ "agent": { "policy": { "denies": denies } } });
    room.policy = pi_policy::config::load(settings.to_string().as_bytes()).expect("settings").value;
    assert_eq!(room.told("grep", json!({ "pattern": "needle" })).await, "a.txt:1: needle");
    assert_eq!(room.told("find", json!({ "pattern": "*" })).await, "a.txt\nsrc/");
    assert_eq!(room.told("ls", json!({})).await, "a.txt\nsrc/");
    assert!(room.told("read", json!({ "path": "secret/b.txt" })).await.starts_with("error: deny read: "));
    symlink("secret", room.at("open")).expect("a link");
    assert!(room.told("read", json!({ "path": "open/b.txt" })).await.starts_with("error: deny read: "));
}

#[tokio::test]
async fn search_ends_when_it_is_cancelled() {
    let room = Room::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = room.call_with("grep", json!({ "pattern": "x", "path": "/" }), cancel, Progress::unheard()).await;
    assert_eq!(outcome, Err(Failure::aborted()));
    let cancel = CancellationToken::new();
    let call = room.call_with(
        "grep",
        json!({ "pattern": "no such text", "path": "/usr" }),
        cancel.clone(),
        Progress::unheard(),
    );
    let begun = std::time::Instant::now();
    let (outcome, ()) = tokio::join!(call, async {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        cancel.cancel();
    });
    assert_eq!(outcome, Err(Failure::aborted()));
    assert!(begun.elapsed() < std::time::Duration::from_secs(2));
}
