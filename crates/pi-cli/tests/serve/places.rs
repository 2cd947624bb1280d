//! Paths that clients name, and where they must not lead.

use std::{os::unix::fs::symlink, path::Path};

use nix::sys::signal::Signal;
use pi_testkit::{Client, Script};
use serde_json::{Value, json};

use crate::{
    room::{list, make_folder, read, write},
    serving::{Serving, fits},
};

#[track_caller]
fn check(answer: &Value, shape: &Value) {
    assert!(fits(answer, shape), "{answer:#}\nis not like {shape:#}");
}

/// A session file of a folder.
fn stored(id: &str, cwd: &Path) -> Vec<u8> {
    let header =
        json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-11-16T00:00:00.000Z", "cwd": cwd});
    format!("{header}\n").into_bytes()
}

async fn load(client: &mut Client, id: &str, path: &Path) -> Value {
    client.ask(&json!({"type": "load_session", "id": id, "sessionPath": path})).await
}

fn put_link(place: &Path, target: &Path) {
    std::fs::rename(place, place.with_extension("away")).expect("it can be moved");
    symlink(target, place).expect("a link");
}

#[test]
fn session_file_whose_folder_became_a_link_is_not_opened_again() {
    let mut serving = Serving::start(Script::new());
    let (sessions, outside) = (serving.room.at("project/.pi/sessions"), serving.room.at("elsewhere"));
    let project = serving.room.project();
    for folder in [&sessions, &outside] {
        write(&folder.join("a.jsonl"), &stored("a", &project));
    }
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&load(&mut client, "1", &sessions.join("a.jsonl")).await, &json!({"success": true}));
    });
    serving.end(Signal::SIGTERM);
    put_link(&sessions, &outside);
    serving.start_again();
    serving.block_on(async {
        let mut client = serving.connect("").await;
        let refused = json!({"success": false, "code": "invalid_session_path",
            "error": "sessionPath must be under an allowed session directory"});
        check(&client.ask(&json!({"type": "prompt", "id": "2", "sessionId": "a", "message": "Hello"})).await, &refused);
        check(&load(&mut client, "3", &sessions.join("a.jsonl")).await, &refused);
        let delete = json!({"type": "delete_stored_session", "id": "4", "sessionPath": sessions.join("a.jsonl"),
            "fileName": "a.jsonl"});
        check(&client.ask(&delete).await, &refused);
    });
    assert_eq!(list(&outside), [outside.join("a.jsonl")]);
    assert_eq!(read(&outside.join("a.jsonl")).expect("it is there").into_bytes(), stored("a", &project));
}

#[test]
fn sessions_behind_a_link_that_the_operator_made_go_on_after_a_restart() {
    let before = |room: &crate::room::Room| {
        make_folder(&room.at("agent"));
        make_folder(&room.at("disk"));
        symlink(room.at("disk"), room.at("agent/sessions")).expect("a link");
    };
    let reply = || pi_testkit::model::Answer::new().text("Hi.").reply();
    let mut serving = Serving::prepared(Script::new().then(reply()).then(reply()), &[], before);
    let say = |id: &str| json!({"type": "prompt", "id": id, "sessionId": "s", "message": "Hello"});
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        check(&client.ask(&say("1")).await, &json!({"success": true}));
    });
    serving.restart(Signal::SIGTERM);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&client.ask(&say("2")).await, &json!({"success": true, "sessionVersion": 2}));
    });
}
