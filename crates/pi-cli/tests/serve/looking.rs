//! Sessions that another process has open: what can be seen of them, and what cannot be done.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
};

use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};

use crate::{
    door::{get, http},
    room::write,
    serving::{Serving, fits},
};

#[track_caller]
fn check(answer: &Value, shape: &Value) {
    assert!(fits(answer, shape), "{answer:#}\nis not like {shape:#}");
}

/// As another process has a session open.
fn hold(file: &Path) -> File {
    let held = OpenOptions::new().read(true).append(true).open(file).expect("it is there");
    held.lock().expect("nobody else has it");
    held
}

fn address(file: &Path) -> String {
    let escaped: String = file.to_string_lossy().bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!("/look?file={escaped}")
}

async fn sight(serving: &Serving, file: &Path) -> Value {
    let token = format!("authorization: Bearer {}\r\n", serving.token());
    let (status, body) = http(serving, &get(&address(file), &serving.address, &token)).await;
    let told: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{body}: {error}"));
    json!({"status": status, "told": told})
}

/// Asks something of the files.
async fn peruse(serving: &Serving, file: &Path, command: &Value) -> Value {
    let (body, own) = (command.to_string(), &serving.address);
    let head = format!("host: {own}\r\nconnection: close\r\nauthorization: Bearer {}\r\n", serving.token());
    let request = format!("POST {} HTTP/1.1\r\n{head}content-length: {}\r\n\r\n{body}", address(file), body.len());
    let (status, body) = http(serving, &request).await;
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{body}: {error}"))
}

/// A session in which something was said, and that the server has let go: its file.
async fn spoken(client: &mut Client) -> PathBuf {
    let say = json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"});
    check(&client.ask(&say).await, &json!({"success": true}));
    let state = client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
    let file = PathBuf::from(state["data"]["sessionFile"].as_str().expect("a file"));
    check(
        &client.ask(&json!({"type": "delete_session", "id": "d", "sessionId": "s"})).await,
        &json!({"success": true}),
    );
    file
}

#[test]
fn session_that_another_process_has_open_is_read_from_its_files() {
    let serving = Serving::start(Script::new().then(Answer::new().text("There.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let file = spoken(&mut client).await;
        let mut held = hold(&file);
        let load = json!({"type": "load_session", "id": "l", "sessionPath": file});
        check(&client.ask(&load).await, &json!({"success": false, "code": "session_in_use"}));
        let length = file.metadata().expect("it is there").len();
        let seen = sight(&serving, &file).await;
        check(&seen, &json!({"status": 200, "told": {"length": length}}));
        #[cfg(target_os = "linux")]
        assert_eq!(seen["told"]["heldBy"], std::process::id(), "{seen}");

        let ask = async |command: Value| peruse(&serving, &file, &command).await;
        let said = ask(json!({"type": "get_messages", "id": "1", "sessionId": "x", "limit": 10})).await;
        check(
            &said,
            &json!({"id": "1", "type": "response", "command": "get_messages", "success": true,
            "data": {"messages": [{"role": "user"}, {"role": "assistant"}], "hasMore": false}}),
        );
        let state = json!({"success": true, "data": {"sessionId": "x", "sessionFile": file, "messageCount": 2}});
        check(&ask(json!({"type": "get_state", "id": "2", "sessionId": "x"})).await, &state);
        let requests = ask(json!({"type": "list_requests", "id": "3", "sessionId": "x"})).await;
        let request = &requests["data"]["requests"][0]["requestId"];
        for (kind, part) in [("get_envelope", "envelope"), ("get_strip", "strip")] {
            let told = ask(json!({"type": kind, "id": kind, "sessionId": "x", "requestId": request})).await;
            assert!(told["data"][part].is_object(), "{told}");
        }
        for kind in ["get_tree", "get_session_stats", "get_context_usage", "get_queue"] {
            check(&ask(json!({"type": kind, "id": kind, "sessionId": "x"})).await, &json!({"success": true}));
        }
        let export = format!("/export{}&form=markdown", address(&file).trim_start_matches("/look"));
        let token = format!("authorization: Bearer {}\r\n", serving.token());
        let (status, body) = http(&serving, &get(&export, &serving.address, &token)).await;
        assert!(status == 200 && body.contains("Hello"), "{status} {body}");

        // What it writes is seen, and what it is about to write is not.
        let last = &said["data"]["entryIds"][1];
        let more = json!({"type": "message", "id": "more", "parentId": last, "timestamp": "2026-11-16T00:00:00.000Z",
            "message": {"role": "user", "content": "And then?", "timestamp": 1}});
        write!(held, "{more}\n{{\"type\":\"mess").expect("it can be written");
        let after = json!({"type": "get_messages", "id": "4", "sessionId": "x", "after": last, "limit": 10});
        check(&ask(after).await, &json!({"data": {"messages": [{"content": "And then?"}], "entryIds": ["more"]}}));
        drop(held);
        assert_eq!(sight(&serving, &file).await["told"]["heldBy"], Value::Null);
    });
}

#[test]
fn nothing_is_said_to_a_session_that_is_only_looked_at() {
    let serving = Serving::start(Script::new().then(Answer::new().text("There.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let file = spoken(&mut client).await;
        let before = file.metadata().expect("it is there").len();
        for command in [
            json!({"type": "prompt", "id": "1", "sessionId": "x", "message": "Go on"}),
            json!({"type": "set_session_name", "id": "2", "sessionId": "x", "name": "mine"}),
            json!({"type": "list_sessions", "id": "3"}),
        ] {
            check(&peruse(&serving, &file, &command).await, &json!({"success": false, "code": "refused"}));
        }
        let unknown = json!({"type": "get_messages", "id": "4", "sessionId": "x", "before": "nowhere"});
        check(&peruse(&serving, &file, &unknown).await, &json!({"success": false, "code": "not_found"}));
        check(&peruse(&serving, &file, &json!({"type": "nonsense"})).await, &json!({"success": false}));
        assert_eq!(file.metadata().expect("it is there").len(), before);
        // Nobody has it: what was looked at can be loaded.
        check(
            &client.ask(&json!({"type": "load_session", "id": "5", "sessionPath": file})).await,
            &json!({"success": true}),
        );
    });
}

#[test]
fn only_files_of_sessions_that_may_be_loaded_are_looked_at() {
    let serving = Serving::start(Script::new());
    let outside = serving.room.at("elsewhere/a.jsonl");
    let header = |cwd: &Path| {
        let header =
            json!({"type": "session", "version": 3, "id": "a", "timestamp": "2026-11-16T00:00:00.000Z", "cwd": cwd});
        format!("{header}\n").into_bytes()
    };
    write(&outside, &header(&serving.room.project()));
    let foreign = serving.room.at("project/.pi/sessions/b.jsonl");
    write(&foreign, &header(Path::new("/")));
    let missing = serving.room.at("project/.pi/sessions/c.jsonl");
    serving.block_on(async {
        let read = json!({"type": "get_messages", "id": "1", "sessionId": "x", "limit": 1});
        for (file, code) in
            [(&outside, "invalid_session_path"), (&foreign, "outside_roots"), (&missing, "invalid_session_path")]
        {
            check(&peruse(&serving, file, &read).await, &json!({"success": false, "code": code}));
            assert_eq!(sight(&serving, file).await["status"], 409, "{}", file.display());
        }
        for (more, expected) in [("", 401), ("origin: https://evil.example\r\n", 403)] {
            let token = format!("authorization: Bearer {}\r\n", serving.token());
            let more = if more.is_empty() { String::new() } else { format!("{token}{more}") };
            let (status, body) = http(&serving, &get(&address(&outside), &serving.address, &more)).await;
            assert_eq!(status, expected, "{body}");
        }
    });
}
