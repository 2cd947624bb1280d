//! Scopes hold while somebody moves links about.

#![expect(clippy::disallowed_methods, reason = "tests look at real files beside the seam")]

#[expect(dead_code, reason = "each test uses the part of the room that it needs")]
#[path = "support/room.rs"]
mod room;

use std::{
    os::unix::fs::symlink,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use rustix::fs::{CWD, RenameFlags};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use pi_tools::{Call, Progress, Registry};
use pi_transcript::ToolCallId;
use room::Room;

const SECRET: &str = "outside of the project";

/// Runs `work` while a thread makes `place` a folder with files of the project and a link to the folder outside in turn.
/// The work is told how often they changed places so far.
async fn while_flipping(room: &Room, work: impl AsyncFnOnce(&AtomicUsize)) {
    let (place, link) = (room.at("place"), room.at("link"));
    symlink(room.beside("outside"), &link).expect("a link");
    let stop = Arc::new(AtomicBool::new(false));
    let turns = Arc::new(AtomicUsize::new(0));
    let flipping = {
        let (stop, turns) = (Arc::clone(&stop), Arc::clone(&turns));
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) || turns.load(Ordering::Relaxed) % 2 == 1 {
                rustix::fs::renameat_with(CWD, &place, CWD, &link, RenameFlags::EXCHANGE).expect("both change places");
                turns.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    work(&turns).await;
    stop.store(true, Ordering::Relaxed);
    flipping.join().expect("the thread");
}

/// Waits until the links have been moved since `before`; how often they were by now.
fn moved_since(before: usize, turns: &AtomicUsize) -> usize {
    loop {
        let now = turns.load(Ordering::Relaxed);
        if now > before {
            return now;
        }
        std::thread::yield_now();
    }
}

fn room() -> Room {
    let room = Room::new();
    room.put("place/file", "inside");
    std::fs::create_dir(room.beside("outside")).expect("a folder");
    std::fs::write(room.beside("outside/file"), SECRET).expect("a file");
    room
}

/// Calls a tool with a grant that was given while everything was in order.
async fn call(room: &Room, tool: &str, grant: pi_policy::Grant, arguments: &Value) -> String {
    let tools = Registry::built_in();
    let tool = tools.get(tool).expect("a tool");
    let call = Call {
        id: ToolCallId::from("call".to_owned()),
        arguments: arguments.as_object().expect("an object").clone(),
        grant,
        cancel: CancellationToken::new(),
        progress: Progress::unheard(),
        workspace: Arc::clone(&room.workspace),
    };
    match tool.execute(call).await {
        Ok(output) => output.content[0].as_text().unwrap_or_default().to_owned(),
        Err(failure) => failure.text,
    }
}

/// `sign` is in the answer of a call that came while the folder was in its place.
async fn check(tool: &str, arguments: Value, sign: &str) {
    const CALLS: usize = 300;
    let room = room();
    let mut grants = Vec::new();
    for _ in 0..CALLS {
        grants.push(room.grant(tool, arguments.as_object().expect("an object")).await.expect("a grant"));
    }
    while_flipping(&room, async |turns| {
        let (mut done, mut moved) = (0, 0);
        for grant in grants {
            // On a machine that is busy the other thread may not have run since the last call.
            moved = moved_since(moved, turns);
            let told = call(&room, tool, grant, &arguments).await;
            assert!(!told.contains(SECRET), "{told}");
            done += usize::from(told.contains(sign));
        }
        assert!(done > 0, "no call found the file in its place");
    })
    .await;
    let outside = std::fs::read_to_string(room.beside("outside/file")).expect("a file");
    let others = std::fs::read_dir(room.beside("outside")).expect("a folder").count();
    assert_eq!((outside.as_str(), others), (SECRET, 1));
}

#[tokio::test]
async fn read_stays_inside() {
    check("read", json!({ "path": "place/file" }), "inside").await;
}

#[tokio::test]
async fn write_stays_inside() {
    check("write", json!({ "path": "place/file", "content": "inside" }), "Successfully").await;
}

#[tokio::test]
async fn write_of_a_new_folder_stays_inside() {
    check("write", json!({ "path": "place/new/file", "content": "inside" }), "Successfully").await;
}

#[tokio::test]
async fn edit_stays_inside() {
    let arguments = json!({ "path": "place/file", "edits": [{ "oldText": "outside of", "newText": "gone from" }] });
    check("edit", arguments, "Could not find the text").await;
}

#[tokio::test]
async fn search_stays_inside() {
    check("grep", json!({ "pattern": ".", "path": "place" }), "inside").await;
    check("grep", json!({ "pattern": "." }), "inside").await;
    check("ls", json!({ "path": "place" }), "file").await;
}

#[tokio::test]
async fn file_that_becomes_a_link_is_refused() {
    let room = room();
    let arguments = json!({ "path": "place/file", "content": "x", "edits": [{ "oldText": "o", "newText": "x" }] });
    let written = arguments.as_object().expect("an object");
    for tool in ["read", "write", "edit"] {
        let grant = room.grant(tool, written).await.expect("a grant");
        std::fs::remove_file(room.at("place/file")).expect("a file");
        symlink(room.beside("outside/file"), room.at("place/file")).expect("a link");
        let told = call(&room, tool, grant, &arguments).await;
        assert!(told.starts_with("place/file is a link that leads nowhere, or became one"), "{tool}: {told}");
        std::fs::remove_file(room.at("place/file")).expect("a link");
        room.put("place/file", "inside");
    }
    assert_eq!(std::fs::read_to_string(room.beside("outside/file")).expect("a file"), SECRET);
}
