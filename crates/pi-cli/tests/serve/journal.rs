//! `pi journal` beside the server and after it.

use std::process::{Command, Output};

use nix::sys::signal::Signal;
use pi_testkit::{Script, model::Answer};
use serde_json::{Value, json};

use crate::{
    door::{get, http},
    room::{Room, write},
    serving::{Serving, fits},
};

/// Runs `pi journal` with these words.
#[expect(clippy::disallowed_methods, reason = "these tests start the real binary")]
pub(crate) fn journal(room: &Room, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pi"));
    command.arg("journal").args(words).env_clear().env("PI_CODING_AGENT_DIR", room.at("agent"));
    command.output().expect("it starts")
}

fn objects(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

#[track_caller]
pub(crate) fn check(output: &Output, code: i32, shapes: &[Value]) {
    let objects = objects(output);
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(objects.len(), shapes.len(), "{objects:#?}");
    for (object, shape) in objects.iter().zip(shapes) {
        assert!(fits(object, shape), "{object:#}\nis not like {shape:#}");
    }
}

#[test]
fn history_that_was_read_leaves_the_journal_to_the_server() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let history = client.ask(&json!({"type": "get_command_history", "id": "h"})).await;
        assert!(fits(&history, &json!({"success": true})), "{history}");
        // Whoever opens it last takes the log away when he closes it, unless the server is known to have it.
        let journal = rusqlite::Connection::open(serving.room.at("agent/server/journal.sqlite")).expect("a journal");
        let count: i64 = journal.query_row("select count(*) from command", [], |row| row.get(0)).expect("a number");
        assert!(count > 0);
        drop(journal);
        let named = json!({"type": "set_session_name", "id": "n", "sessionId": "s", "name": "Named"});
        let answer = client.ask(&named).await;
        assert!(fits(&answer, &json!({"success": true})), "{answer}");
    });
}

#[test]
fn commands_can_be_looked_at_while_the_server_runs_and_dropped_after_it() {
    let mut serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.ask(&json!({"type": "set_session_name", "id": "name", "sessionId": "s", "name": "Named"})).await;
        client.ask(&json!({"type": "delete_session", "id": "gone", "sessionId": "nobody"})).await;
    });
    let made = json!({"command": "create_session", "id": "make", "finished": {"success": true}});
    let named =
        json!({"command": "set_session_name", "id": "name", "finished": {"success": true, "sessionVersion": 1}});
    let failed =
        json!({"command": "delete_session", "finished": {"success": false, "error": "Session nobody not found"}});
    let room = &serving.room;
    check(&journal(room, &["show", "--json"]), 0, &[failed.clone(), named.clone(), made.clone()]);
    check(&journal(room, &["show", "--json", "--id", "name"]), 0, std::slice::from_ref(&named));
    check(&journal(room, &["show", "--json", "--session", "other"]), 1, &[]);
    check(&journal(room, &["export"]), 0, &[made, named, failed]);
    let sound = json!({"sound": true, "commands": 3, "unfinished": 0, "findings": []});
    check(&journal(room, &["verify", "--json"]), 0, &[sound]);
    let refused = journal(room, &["compact"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is in use by process"));
    serving.end(Signal::SIGTERM);
    let room = &serving.room;
    // What a client may still ask for again stays, however little is to be kept.
    let kept = json!({"dropped": 0, "kept": 3, "remembered": 3});
    check(&journal(room, &["compact", "--json", "--days", "0", "--count", "0"]), 0, &[kept]);
    let told = journal(room, &["compact", "--days", "0", "--count", "0"]);
    let told = format!("{}{}", String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert!(told.contains("0 commands dropped, 3 kept") && told.contains("server.outcomesKept"), "{told}");
    check(&journal(room, &["verify", "--json"]), 0, &[json!({"sound": true, "commands": 3})]);
}

#[test]
fn history_beyond_what_the_settings_keep_goes_unless_arguments_say_otherwise() {
    let mut serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        for name in ["a", "b", "c"] {
            // Nobody can ask for it again.
            client.send(&json!({"type": "set_session_name", "sessionId": "s", "name": name})).await;
        }
        client.ask(&json!({"type": "set_session_name", "id": "last", "sessionId": "s", "name": "d"})).await;
    });
    serving.end(Signal::SIGTERM);
    let room = &serving.room;
    check(&journal(room, &["compact", "--json"]), 0, &[json!({"dropped": 0, "kept": 5, "remembered": 2})]);
    write(&room.at("agent/settings.json"), br#"{"server": {"historyCommands": 2}}"#);
    check(&journal(room, &["compact", "--json", "--count", "9"]), 0, &[json!({"dropped": 0, "kept": 5})]);
    check(&journal(room, &["compact", "--json"]), 0, &[json!({"dropped": 2, "kept": 3})]);
    write(&room.at("agent/settings.json"), br#"{"server": {"historyCommands": "few"}}"#);
    let refused = journal(room, &["compact"]);
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
}

#[test]
fn journal_that_nobody_wrote_is_not_made() {
    let room = Room::new(Script::new());
    let output = journal(&room, &["verify"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("there is no journal at") && told.contains("`pi serve` makes it"), "{told}");
    assert!(!room.at("agent/server").exists());
}

#[test]
fn journal_tells_whose_a_command_is() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        drop(serving.with_session("?clientId=tab").await);
        let mut nobody = serving.connect("").await;
        nobody.ask(&json!({"type": "delete_session", "id": "gone", "sessionId": "s"})).await;
    });
    let made = json!({"command": "create_session", "transport": "websocket", "clientId": "tab"});
    let gone = json!({"command": "delete_session", "transport": "websocket", "clientId": null});
    check(&journal(&serving.room, &["export"]), 0, &[made.clone(), gone.clone()]);
    check(&journal(&serving.room, &["show", "--json"]), 0, &[gone, made]);
    let shown = String::from_utf8_lossy(&journal(&serving.room, &["show"]).stdout).into_owned();
    assert!(shown.contains("CLIENT") && shown.contains("websocket:tab"), "{shown}");
}

#[test]
fn log_says_after_a_crash_how_many_commands_were_failed() {
    let mut serving = Serving::logged(Script::new().otherwise(Answer::new().text("Thinking").hold().reply()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        serving.room.server.received(1).await;
    });
    serving.restart(Signal::SIGKILL);
    let log = serving.log();
    let line =
        log.lines().find(|line| line.contains("left commands without an end")).unwrap_or_else(|| panic!("{log}"));
    let line: Value = serde_json::from_str(line).expect("a line of the log is JSON");
    assert!(fits(&line, &json!({"level": "WARN", "failed": 1, "sessions": 1})), "{line}");
    serving.end(Signal::SIGTERM);
    serving.start_again();
    assert!(serving.log().contains("the journal was read"), "{}", serving.log());
}

#[test]
fn damaged_journal_is_told_with_what_to_do() {
    let mut serving = Serving::start(Script::new());
    serving.block_on(async { drop(serving.with_session("").await) });
    serving.end(Signal::SIGTERM);
    let path = serving.room.at("agent/server/journal.sqlite");
    #[expect(clippy::disallowed_methods, reason = "this test damages a file")]
    let sound = std::fs::read(&path).expect("it is there");
    let page = 4096;
    // The pages behind the first, and then the first itself.
    for (from, upto) in [(page, sound.len()), (0, page)] {
        let mut bytes = sound.clone();
        bytes[from..upto].fill(7);
        write(&path, &bytes);
        let output = journal(&serving.room, &["verify"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("move the file") && !told.contains("pi journal verify"), "{told}");
        check(&journal(&serving.room, &["verify", "--json"]), 1, &[json!({"sound": false})]);
    }
}

#[test]
fn file_that_is_no_journal_is_left_where_it_is() {
    let room = Room::new(Script::new());
    let place = room.at("names.txt");
    write(&place, b"root:x:0:0\n");
    let output = journal(&room, &["verify", "--journal", &place.display().to_string()]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("names.txt is no journal") && !told.contains("move the file"), "{told}");
}

#[test]
fn damage_in_the_middle_is_told_until_there_is_another_file() {
    let mut serving = Serving::logged(Script::new());
    serving.block_on(async {
        let mut client = serving.connect("").await;
        for number in 0..20 {
            client.ask(&json!({"type": "create_session", "id": format!("make-{number}")})).await;
        }
    });
    serving.end(Signal::SIGTERM);
    let path = serving.room.at("agent/server/journal.sqlite");
    #[expect(clippy::disallowed_methods, reason = "this test damages a file")]
    let mut bytes = std::fs::read(&path).expect("it is there");
    bytes[8192..8192 + 6000].fill(7);
    write(&path, &bytes);
    check(&journal(&serving.room, &["verify", "--json"]), 1, &[json!({"sound": false})]);
    // A start with it succeeds, and so does the question whether it would.
    let mut asked = serving.room.pi_to(&["serve"]);
    asked.args(["--model", "scripted/model", "--listen", "127.0.0.1:0", "--check-config"]);
    let output = asked.current_dir(serving.room.project()).output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("the journal is damaged") && told.contains("refuses commands that change"), "{told}");
    serving.start_again();
    assert!(serving.log().contains("the journal is damaged"), "{}", serving.log());
    serving.block_on(async {
        let token = format!("authorization: Bearer {}\r\n", serving.token());
        let mut client = serving.connect("").await;
        // The second time is after the moment at which a journal that failed is tried again.
        for id in ["first", "second"] {
            let (status, body) = http(&serving, &get("/readyz", &serving.address, &token)).await;
            assert_eq!(status, 503, "{body}");
            assert!(body.contains("the journal is damaged") && body.contains("pi journal verify"), "{body}");
            assert!(body.contains("move the file"), "{body}");
            let health = client.ask(&json!({"type": "health_check", "id": format!("h-{id}")})).await;
            assert!(fits(&health, &json!({"data": {"healthy": false}})), "{health}");
            let refused = client.ask(&json!({"type": "create_session", "id": id})).await;
            assert!(fits(&refused, &json!({"success": false, "code": "journal_unavailable"})), "{refused}");
            tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
        }
    });
}

#[test]
fn journal_that_is_deleted_under_the_server_is_noticed_and_may_be_put_back() {
    let serving = Serving::start(Script::new());
    let path = serving.room.at("agent/server/journal.sqlite");
    let aside = serving.room.at("agent/aside.sqlite");
    let move_to = |from: &std::path::Path, to: &std::path::Path| {
        std::fs::rename(from, to).expect("it is there");
    };
    serving.block_on(async {
        let token = format!("authorization: Bearer {}\r\n", serving.token());
        let mut client = serving.with_session("").await;
        move_to(&path, &aside);
        tokio::time::sleep(std::time::Duration::from_millis(600)).await;
        let (status, body) = http(&serving, &get("/readyz", &serving.address, &token)).await;
        assert_eq!(status, 503, "{body}");
        assert!(body.contains("the journal's file is gone") && body.contains("put it back"), "{body}");
        let health = client.ask(&json!({"type": "health_check", "id": "h"})).await;
        assert!(fits(&health, &json!({"data": {"healthy": false}})), "{health}");
        for id in ["first", "second"] {
            let refused = client.ask(&json!({"type": "create_session", "id": id})).await;
            assert_eq!(refused["success"], false, "{refused}");
            assert!(refused["error"].as_str().is_some_and(|error| error.contains("file is gone")), "{refused}");
        }
        let state = client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
        assert_eq!(state["success"], true, "reads go on: {state}");
        move_to(&aside, &path);
        for number in 0.. {
            let named = json!({"type": "set_session_name", "id": format!("n{number}"), "sessionId": "s", "name": "N"});
            let answer = client.ask(&named).await;
            if answer["success"] == true {
                break;
            }
            assert!(number < 200, "it is back, and nothing is written: {answer}");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    });
    check(&journal(&serving.room, &["verify", "--json"]), 0, &[json!({"sound": true})]);
}

#[test]
fn session_whose_id_the_server_chose_is_in_the_history() {
    let serving = Serving::start(Script::new());
    let session = serving.block_on(async {
        let mut client = serving.connect("").await;
        let made = client.ask(&json!({"type": "create_session", "id": "make"})).await;
        made["data"]["sessionId"].as_str().expect("an id").to_owned()
    });
    let made = json!({"command": "create_session", "id": "make", "sessionId": session});
    check(&journal(&serving.room, &["show", "--json", "--session", &session]), 0, std::slice::from_ref(&made));
    check(&journal(&serving.room, &["export"]), 0, &[made]);
}

#[test]
fn command_whose_lane_is_damaged_does_not_run_again_by_its_key() {
    let mut serving = Serving::start(Script::new());
    let say = |id: &str| json!({"type": "bash", "id": id, "sessionId": "s", "command": "echo x >> ran", "idempotencyKey": "k"});
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        assert_eq!(client.ask(&say("one")).await["success"], true);
    });
    serving.end(Signal::SIGTERM);
    let path = serving.room.at("agent/server/journal.sqlite");
    let connection = rusqlite::Connection::open(&path).expect("a database");
    connection.execute("update command set lane = 'sess' where id = 'one'", []).expect("it is changed");
    drop(connection);
    check(&journal(&serving.room, &["verify", "--json"]), 1, &[json!({"sound": false})]);
    let mut asked = serving.room.pi_to(&["serve"]);
    asked.args(["--model", "scripted/model", "--listen", "127.0.0.1:0", "--check-config"]);
    let output = asked.current_dir(serving.room.project()).output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("1 of the journal's records cannot be read; a server starts with it, and goes on"), "{told}");
    serving.start_again();
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        let again = client.ask(&say("two")).await;
        assert!(fits(&again, &json!({"success": true, "replayed": true})), "{again}");
    });
    assert_eq!(crate::room::read(&serving.room.at("project/ran")).as_deref(), Some("x\n"));
}

#[test]
fn command_without_an_id_has_one_name_wherever_it_is_told() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.send(&json!({"type": "set_session_name", "sessionId": "s", "name": "Parser"})).await;
        let is_end =
            |frame: &Value| frame["data"]["commandType"] == "set_session_name" && frame["type"] == "command_finished";
        let name = client.expect("its end", is_end).await["data"]["commandId"].clone();
        let told = client.ask(&json!({"type": "get_command_history", "id": "h", "commandId": name})).await;
        assert_eq!(told["data"]["entries"][0]["commandType"], "set_session_name", "{told}");
    });
}
