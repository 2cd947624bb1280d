//! `edit`, with real files.

#![expect(clippy::disallowed_methods, reason = "tests look at real files beside the seam")]

#[expect(dead_code, reason = "each test uses the part of the room that it needs")]
#[path = "support/room.rs"]
mod room;

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use pi_tools::Output;
use room::Room;

#[tokio::test]
async fn old_and_new_forms_of_arguments_are_understood() {
    let pair = json!({ "oldText": "a", "newText": "x" });
    for arguments in [
        json!({ "path": "f", "edits": [pair] }),
        json!({ "path": "f", "edits": pair }),
        json!({ "path": "f", "edits": pair.to_string() }),
        json!({ "path": "f", "edits": json!([pair]).to_string() }),
        json!({ "path": "f", "oldText": "a", "newText": "x" }),
        json!({ "path": "f", "oldText": "a", "newText": "x", "edits": null }),
        json!(json!({ "path": "f", "oldText": "a", "newText": "x" }).to_string()),
    ] {
        let room = Room::new();
        room.put("f", "a b\n");
        let told = room.told("edit", arguments.clone()).await;
        assert_eq!(
            (told.as_str(), room.text("f").as_str()),
            ("Successfully replaced 1 block(s) in f.", "x b\n"),
            "{arguments}"
        );
    }
    let room = Room::new();
    room.put("f", "a b\n");
    let both = json!({ "path": "f", "edits": [pair], "oldText": "b", "newText": "y" });
    assert_eq!(room.told("edit", both).await, "Successfully replaced 2 block(s) in f.");
    assert_eq!(room.text("f"), "x y\n");
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let room = Room::new();
    for (arguments, problems) in [
        (json!({}), "- path: missing\n- edits: missing"),
        (json!({ "path": "f", "edits": [] }), "- edits: expected at least 1 items, got 0"),
        (json!({ "path": "f", "edits": [{ "oldText": "a" }] }), "- edits.0.newText: missing"),
        (json!({ "path": "f", "oldText": "a" }), "- edits.0.newText: missing"),
        (json!({ "path": "f", "edits": "some text" }), "- edits.0: expected object, got string"),
    ] {
        let told = room.told("edit", arguments.clone()).await;
        assert_eq!(told, format!("error: The arguments do not fit:\n{problems}"), "{arguments}");
    }
}

#[tokio::test]
async fn details_show_what_changed() {
    let room = Room::new();
    room.put("f", "1\r\n2\r\n3\r\n");
    let output = room.call("edit", json!({ "path": "f", "edits": [{ "oldText": "2", "newText": "two" }] })).await;
    let details = json!({
        "diff": " 1 1\n-2 2\n+2 two\n 3 3",
        "patch": "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n 1\r\n-2\r\n+two\r\n 3\r\n",
        "firstChangedLine": 2,
    });
    let text = Output::text("Successfully replaced 1 block(s) in f.");
    assert_eq!(output, Ok(Output { details: Some(details), ..text }));
    assert_eq!(room.text("f"), "1\r\ntwo\r\n3\r\n");
}

#[tokio::test]
async fn mark_in_a_file_that_hides_nothing_is_written_as_it_is() {
    let room = Room::new();
    room.put("f", "key = none\n");
    let told = room.told("edit", json!({ "path": "f", "oldText": "none", "newText": "[REDACTED]" })).await;
    let note = "[[REDACTED] was written as it is. If it stands for a secret that you were not shown, the secret is not in \
                this file.]";
    assert_eq!(told, format!("Successfully replaced 1 block(s) in f.\n\n{note}"));
    assert_eq!(room.text("f"), "key = [REDACTED]\n");
}

#[tokio::test]
async fn file_that_cannot_be_edited_stays_as_it_is() {
    let room = Room::new();
    room.put("bytes", b"caf\xe9 a");
    let edit = |path: &str| json!({ "path": path, "oldText": "a", "newText": "b" });
    assert_eq!(room.told("edit", edit("bytes")).await, "error: bytes is not UTF-8 text, so it cannot be edited");
    assert_eq!(room.told("edit", edit("none")).await, "error: File not found: none");
    assert_eq!(room.told("edit", edit(".")).await, "error: . is a folder, not a file");
    assert_eq!(room.get("bytes"), b"caf\xe9 a");
}

#[tokio::test]
async fn permissions_and_links_stay() {
    let room = Room::new();
    room.put("real", "a");
    std::fs::set_permissions(room.at("real"), std::fs::Permissions::from_mode(0o700)).expect("permissions");
    symlink("real", room.at("link")).expect("a link");
    room.told("edit", json!({ "path": "link", "oldText": "a", "newText": "b" })).await;
    let mode = std::fs::metadata(room.at("real")).expect("a file").permissions().mode() & 0o777;
    assert_eq!((room.text("real").as_str(), room.at("link").is_symlink(), mode), ("b", true, 0o700));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn edits_of_one_file_take_turns() {
    let room = Room::new();
    let lines: Vec<String> = (0..40).map(|number| format!("<{number}>\n")).collect();
    room.put("f", lines.concat());
    symlink("f", room.at("g")).expect("a link");
    let edits = (0..40).map(|number| {
        let path = if number % 2 == 0 { "f" } else { "g" };
        let arguments = json!({ "path": path, "oldText": format!("<{number}>"), "newText": format!("[{number}]") });
        room.told("edit", arguments)
    });
    let told = futures_util::future::join_all(edits).await;
    assert!(told.iter().all(|told| told.starts_with("Successfully")), "{told:?}");
    let expected: String = (0..40).map(|number| format!("[{number}]\n")).collect();
    assert_eq!((room.text("f"), room.names("")), (expected, vec!["f".to_owned(), "g".to_owned()]));
}
