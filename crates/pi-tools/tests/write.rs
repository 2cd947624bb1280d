//! `write`, with real files.

#![expect(clippy::disallowed_methods, reason = "tests look at real files beside the seam")]

#[expect(dead_code, reason = "each test uses the part of the room that it needs")]
#[path = "support/room.rs"]
mod room;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use pi_tools::{Failure, Output, Progress};
use room::{PLANTED, Room};

#[tokio::test]
async fn file_is_made_with_the_folders_around_it() {
    let room = Room::new();
    let output = room.call("write", json!({ "path": "a/b/c.txt", "content": "é\n" })).await;
    assert_eq!(output, Ok(Output::text("Successfully wrote 3 bytes to a/b/c.txt")));
    assert_eq!((room.text("a/b/c.txt").as_str(), room.names("a/b")), ("é\n", vec!["c.txt".to_owned()]));
}

#[tokio::test]
async fn old_content_is_replaced_and_permissions_are_kept() {
    let room = Room::new();
    room.put("run.sh", "old, and longer than the new one");
    std::fs::set_permissions(room.at("run.sh"), std::fs::Permissions::from_mode(0o751)).expect("permissions");
    room.told("write", json!({ "path": "run.sh", "content": "new" })).await;
    let mode = std::fs::metadata(room.at("run.sh")).expect("a file").mode() & 0o7777;
    assert_eq!((room.text("run.sh").as_str(), mode, room.names("")), ("new", 0o751, vec!["run.sh".to_owned()]));
}

#[tokio::test]
async fn change_of_a_file_that_was_there_is_told_to_people() {
    let room = Room::new();
    room.put("a.txt", "one\ntwo\nthree\n");
    let output =
        room.call("write", json!({ "path": "a.txt", "content": "one\n2\nthree\n" })).await.expect("it is written");
    let details = output.details.expect("it was there");
    assert_eq!(details["patch"], "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
    assert_eq!((&details["firstChangedLine"], &details["diff"]), (&json!(2), &json!(" 1 one\n-2 two\n+2 2\n 3 three")));
    let again = room.call("write", json!({ "path": "a.txt", "content": "one\n2\nthree\n" })).await;
    assert_eq!(again.expect("it is written").details, None, "nothing changed");
    // Two that have nothing in common would be compared for long.
    let long = |word: &str| (0..4000).map(|line| format!("{word} {line}\n")).collect::<String>();
    room.put("long.txt", long("old"));
    let output =
        room.call("write", json!({ "path": "long.txt", "content": long("new") })).await.expect("it is written");
    assert_eq!(output.details, None);
}

#[tokio::test]
async fn link_is_followed_to_the_file_behind_it() {
    let room = Room::new();
    room.put("CLAUDE.md", "old");
    symlink("CLAUDE.md", room.at("AGENTS.md")).expect("a link");
    let told = room.told("write", json!({ "path": "AGENTS.md", "content": "new" })).await;
    assert_eq!(told, "Successfully wrote 3 bytes to AGENTS.md");
    let is_link = room.at("AGENTS.md").is_symlink();
    assert_eq!((room.text("CLAUDE.md").as_str(), is_link), ("new", true));
}

#[tokio::test]
async fn other_hard_links_keep_the_old_content() {
    let room = Room::new();
    room.put("a", "old");
    std::fs::hard_link(room.at("a"), room.at("b")).expect("a second name");
    room.told("write", json!({ "path": "a", "content": "new" })).await;
    assert_eq!((room.text("a").as_str(), room.text("b").as_str()), ("new", "old"));
}

#[tokio::test]
async fn what_is_no_regular_file_is_left_alone() {
    let room = Room::new();
    std::fs::create_dir(room.at("folder")).expect("a folder");
    symlink("nowhere", room.at("dangling")).expect("a link");
    let _socket = std::os::unix::net::UnixListener::bind(room.at("socket")).expect("a socket");
    for (path, expected) in [
        ("folder", "error: folder is a folder, not a file"),
        ("socket", "error: socket is not a regular file"),
        ("socket/x", "error: socket/x: a folder on the way is a file"),
    ] {
        assert_eq!(room.told("write", json!({ "path": path, "content": "x" })).await, expected);
    }
    let told = room.told("write", json!({ "path": "dangling", "content": "x" })).await;
    assert!(told.starts_with("error: dangling is a link that leads nowhere"), "{told}");
    assert_eq!(room.names(""), ["dangling", "folder", "socket"]);
}

#[tokio::test]
async fn full_disk_leaves_the_old_content() {
    let room = Room::new();
    let Some(disk) = Disk::mount(&room, "size=64k") else { return };
    room.put("disk/a", "old");
    let told = room.told("write", json!({ "path": "disk/a", "content": "x".repeat(1024 * 1024) })).await;
    assert!(told.starts_with("error: Cannot write disk/a: No space left on device"), "{told}");
    assert!(told.ends_with("Its content was not changed"), "{told}");
    assert_eq!((room.text("disk/a").as_str(), room.names("disk")), ("old", vec!["a".to_owned()]));
    drop(disk);
}

#[tokio::test]
async fn folder_that_is_read_only_leaves_the_old_content() {
    let room = Room::new();
    let Some(disk) = Disk::mount(&room, "size=64k") else { return };
    room.put("disk/a", "old");
    disk.make_read_only();
    let told = room.told("write", json!({ "path": "disk/a", "content": "new" })).await;
    assert!(told.starts_with("error: Cannot write disk/a: Read-only file system"), "{told}");
    assert_eq!(room.text("disk/a"), "old");
}

#[tokio::test]
async fn cancelled_call_changes_nothing() {
    let room = Room::new();
    room.put("a", "old");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let written = json!({ "path": "a", "content": "new" });
    let outcome = room.call_with("write", written, cancel, Progress::unheard()).await;
    assert_eq!((outcome, room.text("a").as_str()), (Err(Failure::aborted()), "old"));
}

/// A small disk of its own in the project; needs a superuser.
struct Disk {
    path: std::path::PathBuf,
}

impl Disk {
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn mount(room: &Room, options: &str) -> Option<Self> {
        let path = room.at("disk");
        std::fs::create_dir(&path).expect("a folder");
        let mounted = run(&["-t", "tmpfs", "-o", options, "tmpfs"], "mount", &path);
        if !mounted {
            eprintln!("SKIPPED: a small disk cannot be mounted here");
        }
        mounted.then_some(Self { path })
    }

    fn make_read_only(&self) {
        assert!(run(&["-o", "remount,ro"], "mount", &self.path), "remounted");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        run(&["-l"], "umount", &self.path);
    }
}

fn run(arguments: &[&str], program: &str, path: &std::path::Path) -> bool {
    let status = std::process::Command::new(program).args(arguments).arg(path).output();
    status.is_ok_and(|output| output.status.success())
}

#[tokio::test]
async fn secret_that_no_model_was_shown_stays_where_it_was() {
    let room = Room::new();
    room.put("config", format!("a = 1\nkey = {PLANTED}\n"));
    let write = |content: &str| json!({ "path": "config", "content": content });
    let told = room.told("write", write("a = 2\nkey = [REDACTED]\n")).await;
    let expected = format!("a = 2\nkey = {PLANTED}\n");
    assert_eq!(room.text("config"), expected);
    assert_eq!(
        told,
        format!("Successfully wrote {} bytes to config\n\n[1 line with [REDACTED] kept its secret.]", expected.len())
    );
    let told = room.told("write", write("a = 3\nkey = \"[REDACTED]\"\n")).await;
    assert!(told.starts_with("error: config was not changed. Line 2 of the new text"), "{told}");
    assert_eq!(room.text("config"), expected);
}

#[tokio::test]
async fn mark_spoils_no_file_that_cannot_be_looked_at() {
    let room = Room::new();
    let (large, latin) = (256 * 1024 * 1024 + 1, [b"caf\xe9\nkey = ", PLANTED.as_bytes()].concat());
    std::fs::File::create(room.at("large")).and_then(|file| file.set_len(large)).expect("a file with a hole");
    room.put("latin", &latin);
    std::fs::create_dir(room.at("folder")).expect("a folder");
    for (path, why) in [
        ("large", "large is 256.0MB, too large to be edited"),
        ("latin", "latin is not UTF-8 text, so it cannot be edited"),
        ("folder", "folder is a folder, not a file"),
    ] {
        let told = room.told("write", json!({ "path": path, "content": "key = [REDACTED]\n" })).await;
        let expected = format!(
            "error: {path} was not changed. The new text holds [REDACTED], which may stand for a secret of the old file, \
             and that one cannot be looked at to put it back: {why}"
        );
        assert_eq!(told, expected);
    }
    assert_eq!(std::fs::metadata(room.at("large")).expect("a file").len(), large);
    assert_eq!(room.get("latin"), latin);
}

#[tokio::test]
async fn mark_is_a_word_where_there_is_nothing_to_be_spoiled() {
    let room = Room::new();
    room.put("noise", b"\xff\xfe\x00");
    for path in ["new", "noise"] {
        let told = room.told("write", json!({ "path": path, "content": "[REDACTED]\n" })).await;
        let note = "[[REDACTED] was written as it is. If it stands for a secret that you were not shown, the secret is not \
                    in this file.]";
        assert_eq!(told, format!("Successfully wrote 11 bytes to {path}\n\n{note}"));
        assert_eq!(room.text(path), "[REDACTED]\n");
    }
}
