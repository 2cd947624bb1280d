//! `read`, with real files.

#![expect(clippy::disallowed_methods, reason = "tests look at real files beside the seam")]

#[expect(dead_code, reason = "each test uses the part of the room that it needs")]
#[path = "support/room.rs"]
mod room;

use std::os::unix::fs::symlink;

use serde_json::json;

use room::Room;

#[tokio::test]
async fn lines_are_shown_with_a_word_about_the_rest() {
    let room = Room::new();
    room.put("a", "1\n2\n3\n4\n");
    room.put("empty", "");
    for (arguments, expected) in [
        (json!({ "path": "a" }), "1\n2\n3\n4\n"),
        (json!({ "path": "a", "offset": 2, "limit": 2 }), "2\n3\n\n[2 more lines in file. Use offset=4 to continue.]"),
        (json!({ "path": "a", "offset": "3" }), "3\n4\n"),
        (json!({ "path": "a", "offset": 0, "limit": 0 }), "1\n2\n3\n4\n"),
        (json!({ "path": "a", "offset": 4, "limit": 9 }), "4\n"),
        (json!({ "path": "a", "offset": 6 }), "error: Offset 6 is beyond end of file (5 lines total)"),
        (json!({ "path": "empty" }), ""),
        (json!({ "path": "none" }), "error: File not found: none"),
        (json!({ "path": "." }), "error: . is a folder, not a file"),
        (json!({ "path": "a/b" }), "error: a/b: a folder on the way is a file"),
        (json!({}), "error: The arguments do not fit:\n- path: missing"),
        (
            json!({ "path": [], "limit": "many" }),
            "error: The arguments do not fit:\n- path: expected string, got array\n- limit: expected number, got string",
        ),
    ] {
        assert_eq!(room.told("read", arguments.clone()).await, expected, "{arguments}");
    }
}

#[tokio::test]
async fn long_file_is_cut_at_whole_lines() {
    let room = Room::new();
    room.put("lines", "x\n".repeat(3000));
    room.put("bytes", format!("{}\n", "y".repeat(999)).repeat(100));
    room.put("wide", format!("{}\nz\n", "w".repeat(60_000)));
    let limits = json!({ "maxLines": 2000, "maxBytes": 51200, "lastLinePartial": false });
    for (path, notice, kept, record) in [
        (
            "lines",
            "\n\n[Showing lines 1-2000 of 3001. Use offset=2001 to continue.]",
            "x\n".repeat(1999) + "x",
            json!({ "truncatedBy": "lines", "totalLines": 3001, "totalBytes": 6000, "outputLines": 2000, "outputBytes": 3999,
                 "firstLineExceedsLimit": false }),
        ),
        (
            "bytes",
            "\n\n[Showing lines 1-51 of 101 (50.0KB limit). Use offset=52 to continue.]",
            vec!["y".repeat(999); 51].join("\n"),
            json!({ "truncatedBy": "bytes", "totalLines": 101, "totalBytes": 100_000, "outputLines": 51, "outputBytes": 50_999,
                 "firstLineExceedsLimit": false }),
        ),
        (
            "wide",
            "[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '1p' wide | head -c 51200]",
            String::new(),
            json!({ "truncatedBy": "bytes", "totalLines": 3, "totalBytes": 60_003, "outputLines": 0, "outputBytes": 0,
                 "firstLineExceedsLimit": true }),
        ),
    ] {
        let output = room.call("read", json!({ "path": path })).await.expect("text");
        let mut expected = json!({ "content": kept, "truncated": true });
        for part in [record, limits.clone()] {
            expected.as_object_mut().expect("an object").extend(part.as_object().expect("an object").clone());
        }
        assert_eq!(output.content[0].as_text(), Some(format!("{kept}{notice}").as_str()), "{path}");
        assert_eq!(output.details, Some(json!({ "truncation": expected })), "{path}");
    }
}

#[tokio::test]
async fn huge_file_does_not_fill_the_memory() {
    let room = Room::new();
    let resident = || {
        let pages = std::fs::read_to_string("/proc/self/statm").expect("our memory");
        pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number") * 4096
    };
    std::fs::File::create(room.at("huge")).and_then(|file| file.set_len(300_000_000)).expect("a file with a hole");
    let before = resident();
    let told = room.told("read", json!({ "path": "huge" })).await;
    let advice = "Use bash: sed -n '1p' huge | head -c 51200";
    assert_eq!(told, format!("[Line 1 is 286.1MB, exceeds 50.0KB limit. {advice}]"));
    let grown = resident().saturating_sub(before);
    assert!(grown < 32 * 1024 * 1024, "grew by {grown} bytes");
}

#[tokio::test]
async fn paths_are_found_as_they_are_written() {
    let room = Room::new();
    for path in ["a b.txt", "@scope/x", "Shot 3.15\u{202f}PM.png.txt", "e\u{301}.txt", "it\u{2019}s", "odd\u{a0}name"] {
        room.put(path, path);
    }
    std::fs::write(room.beside("home/h"), "home").expect("a file");
    for (written, expected) in [
        ("@a b.txt", "a b.txt"),
        ("a\u{a0}b.txt", "a b.txt"),
        ("@scope/x", "@scope/x"),
        ("Shot 3.15 PM.png.txt", "Shot 3.15\u{202f}PM.png.txt"),
        ("é.txt", "e\u{301}.txt"),
        ("it's", "it\u{2019}s"),
        ("odd\u{a0}name", "odd\u{a0}name"),
        ("~/h", "home"),
        ("./x/../a b.txt", "a b.txt"),
    ] {
        assert_eq!(room.told("read", json!({ "path": written })).await, expected, "{written}");
    }
}

#[tokio::test]
async fn pipe_does_not_make_it_wait() {
    let room = Room::new();
    let made = std::process::Command::new("mkfifo").arg(room.at("pipe")).status().expect("mkfifo");
    assert!(made.success());
    assert_eq!(room.told("read", json!({ "path": "pipe" })).await, "error: pipe is not a regular file");
}

#[tokio::test]
async fn link_leads_policy_to_what_is_behind_it() {
    let room = Room::new();
    room.put("real/a", "inside");
    std::fs::write(room.beside("secret"), "outside").expect("a file");
    symlink("real", room.at("folder")).expect("a link");
    symlink(room.beside("secret"), room.at("link")).expect("a link");
    assert_eq!(room.told("read", json!({ "path": "folder/a" })).await, "inside");
    let arguments = json!({ "path": "link" }).as_object().expect("an object").clone();
    let grant = room.grant("read", &arguments).await.expect("a person said yes");
    let outside = room.beside("secret").canonicalize().expect("a file");
    assert_eq!(grant.action().target.to_string(), outside.to_string_lossy());
}
