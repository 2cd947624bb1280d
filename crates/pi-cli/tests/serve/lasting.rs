//! What was answered is true after a crash: what a client set stays set, and every repetition is the first answer.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use nix::sys::signal::Signal;
use pi_testkit::{Client, Reply, Script, model::Answer};
use serde_json::{Value, json};

use crate::{
    room::{Room, read, write},
    serving::{Serving, fits},
};

/// Of commands: no two have the same id.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

const SKILL: &str = "---\nname: sail\ndescription: How to sail.\n---\nHoist the sail.\n";

fn answers() -> Script {
    Script::new().otherwise(Answer::new().text("Done.").reply())
}

fn with_skill(room: &Room) {
    write(&room.at("agent/skills/sail/SKILL.md"), SKILL.as_bytes());
}

/// Sends a command to the session, which succeeds.
async fn ask(client: &mut Client, kind: &str, members: Value) -> Value {
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let mut command = json!({"type": kind, "id": format!("{kind}-{number}"), "sessionId": "s"});
    let more = members.as_object().expect("members").clone();
    command.as_object_mut().expect("a command").extend(more);
    let answer = client.ask(&command).await;
    assert_eq!(answer["success"], true, "{answer}");
    answer["data"].clone()
}

/// The names of the active tools, and whether the skill is switched on.
async fn offered(client: &mut Client) -> (Vec<String>, Value) {
    let tools = ask(client, "get_tools", json!({})).await;
    let active = tools["tools"].as_array().expect("a list").iter().filter(|tool| tool["active"] == true);
    let sources = ask(client, "list_context_sources", json!({})).await;
    let skill = sources["sources"].as_array().expect("a list").iter().find(|source| source["sourceId"] == "skill:sail");
    (
        active.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect(),
        skill.expect("it is there")["enabled"].clone(),
    )
}

/// What the model was sent last: the names of its tools, and whether it was told of the skill.
fn sent(room: &Room) -> (Vec<String>, bool) {
    let body = room.server.requests().last().expect("a request").json();
    let names = body["tools"].as_array().into_iter().flatten().map(|tool| tool["function"]["name"].to_string());
    (names.map(|name| name.replace('"', "")).collect(), body["messages"].to_string().contains("How to sail"))
}

/// The tools that our own words in the system prompt of the last request name.
fn named(room: &Room) -> Vec<String> {
    let body = room.server.requests().last().expect("a request").json();
    let system = body["messages"][0]["content"].as_str().expect("a text");
    let listed = system.lines().skip_while(|line| *line != "Tools:").skip(1);
    listed.map_while(|line| line.strip_prefix("- ")?.split_once(": ").map(|(name, _)| name.to_owned())).collect()
}

#[test]
fn what_a_client_set_is_set_after_a_crash() {
    let mut serving = Serving::prepared(answers(), &[], with_skill);
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        ask(&mut client, "set_active_tools", json!({"tools": ["read", "ls"]})).await;
        ask(&mut client, "set_context_source", json!({"sourceId": "skill:sail", "enabled": false})).await;
        ask(&mut client, "set_thinking_level", json!({"level": "high"})).await;
        ask(&mut client, "set_model", json!({"provider": "scripted", "modelId": "other"})).await;
        ask(&mut client, "set_session_name", json!({"name": "Lasting"})).await;
    });
    serving.restart(Signal::SIGKILL);
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        assert_eq!(offered(&mut client).await, (vec!["read".to_owned(), "ls".to_owned()], json!(false)));
        let state = ask(&mut client, "get_state", json!({})).await;
        assert!(fits(&state, &json!({"sessionName": "Lasting", "model": {"id": "other"}})), "{state}");
        ask(&mut client, "prompt", json!({"message": "Hello"})).await;
        assert_eq!(sent(&serving.room), (vec!["read".to_owned(), "ls".to_owned()], false));
        assert_eq!(named(&serving.room), ["read", "ls"]);
        let requests = ask(&mut client, "list_requests", json!({})).await;
        let request = requests["requests"][0]["requestId"].clone();
        let envelope = ask(&mut client, "get_envelope", json!({"requestId": request})).await.to_string();
        assert_eq!((envelope.contains("How to sail"), envelope.contains("\"bash\"")), (false, false), "{envelope}");
        // Also what is chosen while it is loaded.
        ask(&mut client, "set_active_tools", json!({"tools": ["bash"]})).await;
        ask(&mut client, "prompt", json!({"message": "And now?"})).await;
        assert_eq!(named(&serving.room), ["bash"]);
        ask(&mut client, "set_active_tools", json!({"tools": ["read", "ls"]})).await;
    });
    // Whoever loads the file anew is offered the same.
    serving.block_on(async {
        let mut client = serving.connect("?clientId=d").await;
        let file = ask(&mut client, "get_state", json!({})).await["sessionFile"].clone();
        ask(&mut client, "delete_session", json!({})).await;
        ask(&mut client, "load_session", json!({"sessionPath": file})).await;
        assert_eq!(offered(&mut client).await, (vec!["read".to_owned(), "ls".to_owned()], json!(false)));
    });
    // So is whoever goes on in a terminal, and may ask for something else.
    serving.end(Signal::SIGTERM);
    for (more, tools) in [(&[][..], vec!["read", "ls"]), (&["--tools", "bash"][..], vec!["bash"])] {
        let said = serving.room.pi_to(&["-c", "-p", "Again"]).args(more).output().expect("it starts");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        assert_eq!(named(&serving.room), tools);
        assert_eq!(sent(&serving.room), (tools.into_iter().map(str::to_owned).collect(), false));
    }
}

/// What was said where there is a label, and the label.
async fn labels(client: &mut Client) -> Vec<(String, String)> {
    let tree = ask(client, "get_tree", json!({})).await;
    let nodes = tree["nodes"].as_array().expect("a list").iter();
    let text = |node: &Value, member: &str| node[member].as_str().map(str::to_owned);
    nodes.filter_map(|node| Some((text(node, "text")?, text(node, "label")?))).collect()
}

#[test]
fn label_is_put_on_any_entry_and_is_there_after_a_crash() {
    let mut serving = Serving::start(answers());
    let pair = |text: &str, label: &str| (text.to_owned(), label.to_owned());
    let first = serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        ask(&mut client, "prompt", json!({"message": "Hello"})).await;
        ask(&mut client, "prompt", json!({"message": "More"})).await;
        let said = ask(&mut client, "get_fork_messages", json!({})).await;
        let entry = |index: usize| said["messages"][index]["entryId"].clone();
        ask(&mut client, "set_label", json!({"entryId": entry(0), "label": "start"})).await;
        ask(&mut client, "set_label", json!({"entryId": entry(1), "label": "wrong"})).await;
        ask(&mut client, "set_label", json!({"entryId": entry(1)})).await;
        let unknown = json!({"type": "set_label", "id": "u", "sessionId": "s", "entryId": "nowhere", "label": "x"});
        let refused = client.ask(&unknown).await;
        assert!(fits(&refused, &json!({"success": false, "code": "not_found", "field": "entryId"})), "{refused}");
        entry(0)
    });
    serving.restart(Signal::SIGKILL);
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        assert_eq!(labels(&mut client).await, [pair("Hello", "start")]);
        let messages = ask(&mut client, "get_messages", json!({})).await;
        assert_eq!(messages["messages"].as_array().map(Vec::len), Some(4), "the conversation stays where it is");
        ask(&mut client, "set_label", json!({"entryId": first, "label": ""})).await;
        assert_eq!(labels(&mut client).await, []);
    });
}

#[test]
fn label_is_put_while_the_agent_works() {
    let serving = Serving::start(Script::new().then(Answer::new().text("Thinking").hold().reply()));
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        serving.room.server.received(1).await;
        let said = ask(&mut client, "get_fork_messages", json!({})).await;
        ask(&mut client, "set_label", json!({"entryId": said["messages"][0]["entryId"], "label": "start"})).await;
        assert_eq!(labels(&mut client).await, [("Hello".to_owned(), "start".to_owned())]);
        serving.room.server.release(1);
        assert!(fits(&client.answer("p").await, &json!({"success": true})));
        let messages = ask(&mut client, "get_messages", json!({})).await;
        assert_eq!(messages["messages"].as_array().map(Vec::len), Some(2), "{messages}");
    });
}

/// What the model may use is chosen for the agent: to go back in what was said gives nothing back that was taken away.
#[test]
fn fork_goes_on_with_what_is_offered_by_now_and_keeps_its_name() {
    let mut serving = Serving::prepared(answers(), &[], with_skill);
    let chosen = || (vec!["read".to_owned()], json!(false));
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        ask(&mut client, "set_session_name", json!({"name": "Kept"})).await;
        ask(&mut client, "prompt", json!({"message": "one"})).await;
        ask(&mut client, "prompt", json!({"message": "two"})).await;
        ask(&mut client, "set_active_tools", json!({"tools": ["read"]})).await;
        ask(&mut client, "set_context_source", json!({"sourceId": "skill:sail", "enabled": false})).await;
        let said = ask(&mut client, "get_fork_messages", json!({})).await;
        let entry = |index: usize| said["messages"][index]["entryId"].clone();
        ask(&mut client, "fork", json!({"entryId": entry(1)})).await;
        assert_eq!(offered(&mut client).await, chosen());
        ask(&mut client, "prompt", json!({"message": "another"})).await;
        assert_eq!(sent(&serving.room), (vec!["read".to_owned()], false));
        // Before anything was said.
        ask(&mut client, "fork", json!({"entryId": entry(0)})).await;
        assert_eq!(offered(&mut client).await, chosen());
    });
    serving.restart(Signal::SIGKILL);
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        assert_eq!(ask(&mut client, "get_state", json!({})).await["sessionName"], "Kept");
        assert_eq!(offered(&mut client).await, chosen());
    });
}

#[test]
fn session_in_which_nothing_was_said_is_told_as_such() {
    let serving = Serving::start(answers());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let export = json!({"type": "export_html", "id": "e", "sessionId": "s"});
        let fork = json!({"type": "fork", "id": "f", "sessionId": "s", "entryId": "nowhere"});
        for command in [export, fork] {
            let answer = client.ask(&command).await;
            assert!(answer["error"].as_str().is_some_and(|it| it.contains("nothing was said")), "{answer}");
        }
    });
}

/// What is told of a session is of the place to which somebody went in it.
#[test]
fn messages_are_counted_anew_where_somebody_goes() {
    let serving = Serving::start(answers());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        for message in ["one", "two", "three"] {
            ask(&mut client, "prompt", json!({"message": message})).await;
        }
        assert_eq!(ask(&mut client, "get_state", json!({})).await["messageCount"], 6);
        let said = ask(&mut client, "get_fork_messages", json!({})).await;
        ask(&mut client, "navigate_tree", json!({"targetId": said["messages"][1]["entryId"]})).await;
        assert_eq!(ask(&mut client, "get_messages", json!({})).await["messages"].as_array().map(Vec::len), Some(2));
        assert_eq!(ask(&mut client, "get_state", json!({})).await["messageCount"], 2);
    });
}

#[test]
fn new_conversation_goes_on_with_what_was_chosen() {
    let serving = Serving::prepared(answers(), &[], with_skill);
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        ask(&mut client, "set_active_tools", json!({"tools": ["read", "ls"]})).await;
        ask(&mut client, "set_context_source", json!({"sourceId": "skill:sail", "enabled": false})).await;
        ask(&mut client, "set_thinking_level", json!({"level": "high"})).await;
        let before = ask(&mut client, "get_state", json!({})).await;
        ask(&mut client, "new_session", json!({})).await;
        let after = ask(&mut client, "get_state", json!({})).await;
        assert_ne!(after["sessionFile"], before["sessionFile"], "{after}");
        assert_eq!(after["thinkingLevel"], before["thinkingLevel"], "{after}");
        ask(&mut client, "prompt", json!({"message": "Hello"})).await;
        assert_eq!(sent(&serving.room), (vec!["read".to_owned(), "ls".to_owned()], false));
    });
}

/// Asks twice, and once more after a crash; every answer is the same but for the mark of a repetition.
fn ask_three_times(serving: &mut Serving, command: &Value) -> Value {
    let again = |answer: &Value| {
        let mut answer = answer.clone();
        assert_eq!(answer.as_object_mut().expect("an object").remove("replayed"), Some(json!(true)), "{answer}");
        answer
    };
    let (first, second) = serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        (client.ask(command).await, client.ask(command).await)
    });
    assert_eq!(again(&second), first);
    serving.restart(Signal::SIGKILL);
    let third = serving.block_on(async { serving.connect("?clientId=c").await.ask(command).await });
    assert_eq!(again(&third), first);
    first
}

#[test]
fn answer_with_a_secret_is_the_same_each_time_and_the_secret_is_not_in_the_journal() {
    let key = format!("ghp_{}", "a1B2".repeat(9));
    let mut serving = Serving::start(answers());
    let entry = serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        ask(&mut client, "prompt", json!({"message": format!("My key is {key}, and that is it.")})).await;
        let messages = ask(&mut client, "get_fork_messages", json!({})).await;
        messages["messages"][0]["entryId"].clone()
    });
    let fork = json!({"type": "fork", "id": "f", "sessionId": "s", "entryId": entry});
    let answer = ask_three_times(&mut serving, &fork);
    assert!(!answer.to_string().contains(&key), "{answer}");
    let text = answer["data"]["text"].as_str().expect("what was said");
    assert!(text.starts_with("My key is ") && text.ends_with(", and that is it."), "{answer}");
    // A failure says what was wrong with what was sent.
    let tools = json!({"type": "set_active_tools", "id": "t", "sessionId": "s", "tools": [key]});
    assert_eq!(ask_three_times(&mut serving, &tools)["success"], false);
    check_journal_has_not(&serving.room, &key);
}

#[track_caller]
fn check_journal_has_not(room: &Room, secret: &str) {
    for name in ["journal.sqlite", "journal.sqlite-wal"] {
        #[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
        let bytes = std::fs::read(room.at(&format!("agent/server/{name}"))).unwrap_or_default();
        assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "{secret} is in {name}");
    }
    assert!(room.at("agent/server/journal.sqlite").exists());
}

#[test]
fn password_that_is_printed_is_not_in_the_journal_and_a_program_stays_as_it_is() {
    let mut serving = Serving::start(answers());
    serving.block_on(async { drop(serving.with_session("?clientId=c").await) });
    let printed = "password=tr0ub4dor\npostgres://ada:l0velace@db/app\npasswd: en1gma77\n\
                   -----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----\n\
                   password = input()\npassword: String,\n";
    write(&serving.room.project().join("printed"), printed.as_bytes());
    let bash = json!({"type": "bash", "id": "b", "sessionId": "s", "command": "cat printed"});
    let output = ask_three_times(&mut serving, &bash)["data"]["output"].as_str().expect("a text").to_owned();
    for secret in ["tr0ub4dor", "l0velace", "en1gma77", "MIIEvQIBADANBgkqhkiG9w0"] {
        assert!(!output.contains(secret), "{output}");
        check_journal_has_not(&serving.room, secret);
    }
    assert!(output.ends_with("password = input()\npassword: String,\n"), "{output}");
    // The conversation is what was said and printed.
    let messages = ask_alone(&serving, &json!({"type": "get_messages", "id": "m", "sessionId": "s"})).to_string();
    assert!(messages.contains("tr0ub4dor"), "{messages}");
}

#[test]
fn run_that_the_second_signal_ends_moves_the_version_of_its_session() {
    let mut serving = Serving::start(Script::new().then(Answer::new().text("Thinking").hold().reply()));
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        serving.room.server.received(1).await;
        serving.signal(Signal::SIGTERM);
        client.expect("server_shutdown", |frame| frame["type"] == "server_shutdown").await;
        serving.signal(Signal::SIGTERM);
        let cut = client.answer("p").await;
        assert!(fits(&cut, &json!({"success": false, "sessionVersion": 1})), "{cut}");
    });
    serving.wait();
    serving.start_again();
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        let old =
            json!({"type": "set_auto_retry", "id": "o", "sessionId": "s", "enabled": true, "ifSessionVersion": 0});
        let refused = client.ask(&old).await;
        assert!(fits(&refused, &json!({"success": false, "code": "version_mismatch"})), "{refused}");
    });
}

#[test]
fn history_tells_phases_in_their_order_and_what_a_crash_cut() {
    let mut serving = Serving::start(Script::new().otherwise(Answer::new().text("Thinking").hold().reply()));
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        serving.room.server.received(1).await;
        // It waits for the run and does not begin.
        client.send(&json!({"type": "export_html", "id": "q", "sessionId": "s"})).await;
        let is_taken = json!({"type": "command_accepted", "data": {"commandId": "q"}});
        client.expect("the export to be taken", |frame| fits(frame, &is_taken)).await;
    });
    serving.restart(Signal::SIGKILL);
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        let recovery = client.ask(&json!({"type": "get_startup_recovery", "id": "r"})).await;
        let told = [
            json!({"commandId": "p", "lastPhase": "command_started"}),
            json!({"commandId": "q", "lastPhase": "command_accepted"}),
        ];
        assert!(fits(&recovery["data"]["recoveredInFlight"], &json!(told)), "{recovery}");
        assert_eq!(recovery["data"]["recoveredOutcomeIds"].as_array().map(Vec::len), Some(1), "{recovery}");
        // Another client learns what happened, and nobody's names: those that the history gives them.
        let mut other = serving.connect("?clientId=d").await;
        let found = other.ask(&json!({"type": "get_startup_recovery", "id": "r"})).await["data"].clone();
        let past = other.ask(&json!({"type": "get_command_history", "id": "h", "limit": 500})).await["data"].clone();
        let in_flight = found["recoveredInFlight"].as_array().expect("commands");
        let mut ids: Vec<&Value> = in_flight.iter().map(|command| &command["commandId"]).collect();
        ids.extend(found["recoveredOutcomeIds"].as_array().expect("ids"));
        assert_eq!(ids.len(), 3, "{found}");
        for id in ids {
            assert!(id.as_str().is_some_and(|id| id.starts_with("other:")), "{found}");
            let is_known =
                past["entries"].as_array().is_some_and(|all| all.iter().any(|entry| entry["commandId"] == *id));
            assert!(is_known, "{id}: {past}");
        }
        for number in 0..20 {
            ask(&mut client, "set_auto_retry", json!({"enabled": number % 2 == 0})).await;
        }
        let history = client.ask(&json!({"type": "get_command_history", "id": "h", "limit": 500})).await;
        let entries = history["data"]["entries"].as_array().expect("entries");
        let of = |command: &Value, phase: &str| {
            let found = entries.iter().find(|entry| entry["commandId"] == *command && entry["phase"] == phase);
            found.and_then(|entry| entry["recordedAt"].as_u64())
        };
        for id in entries.iter().map(|entry| &entry["commandId"]) {
            let [accepted, started, finished] =
                ["command_accepted", "command_started", "command_finished"].map(|phase| of(id, phase));
            assert!(accepted <= finished, "{id}");
            assert!(started.is_none() || accepted <= started && started <= finished, "{id}: {history:#}");
        }
    });
}

/// Goes on with the session in a process of its own.
fn go_on_elsewhere(room: &Room) {
    let said = room.pi_to(&["-c", "-p", "Elsewhere"]).output().expect("it starts");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn what_another_process_says_moves_the_version_of_a_session() {
    let mut serving = Serving::start(answers());
    let said = |id: &str, version: u64| json!({"type": "prompt", "id": id, "sessionId": "s", "message": "More", "ifSessionVersion": version});
    let ask = |serving: &Serving, command: Value| {
        serving.block_on(async { serving.connect("?clientId=c").await.ask(&command).await })
    };
    serving.block_on(async { drop(serving.with_session("?clientId=c").await) });
    let first = ask(&serving, said("first", 0));
    assert!(fits(&first, &json!({"success": true, "sessionVersion": 1})), "{first}");
    // Nobody did anything meanwhile.
    serving.restart(Signal::SIGTERM);
    let second = ask(&serving, said("second", 1));
    assert!(fits(&second, &json!({"success": true, "sessionVersion": 2})), "{second}");
    serving.end(Signal::SIGTERM);
    go_on_elsewhere(&serving.room);
    serving.start_again();
    let mismatch = |version: u64| json!({"success": false, "code": "version_mismatch", "sessionVersion": version});
    let stale = ask(&serving, said("stale", 2));
    assert!(fits(&stale, &mismatch(3)), "{stale}");
    // The server runs, and nobody has asked it for the session.
    go_on_elsewhere(&serving.room);
    let stale = ask(&serving, said("stale too", 3));
    assert!(fits(&stale, &mismatch(4)), "{stale}");
    let messages = ask(&serving, json!({"type": "get_messages", "id": "m", "sessionId": "s"}));
    assert_eq!(messages["data"]["messages"].as_array().map(Vec::len), Some(8), "{messages}");
    let last = ask(&serving, said("last", 4));
    assert!(fits(&last, &json!({"success": true, "sessionVersion": 5})), "{last}");
    serving.restart(Signal::SIGKILL);
    let state = ask(&serving, json!({"type": "get_state", "id": "g", "sessionId": "s"}));
    assert!(fits(&state, &json!({"success": true, "sessionVersion": 5})), "{state}");
    // What moved the version once does not move it again.
    serving.end(Signal::SIGTERM);
    go_on_elsewhere(&serving.room);
    serving.start_again();
    let retried = ask(&serving, json!({"type": "abort_retry", "id": "r", "sessionId": "s"}));
    assert!(fits(&retried, &json!({"success": true, "sessionVersion": 7})), "{retried}");
    serving.restart(Signal::SIGTERM);
    let state = ask(&serving, json!({"type": "get_state", "id": "h", "sessionId": "s"}));
    assert!(fits(&state, &json!({"success": true, "sessionVersion": 7})), "{state}");
}

#[test]
fn what_is_done_by_itself_is_after_a_crash_as_a_client_chose() {
    let overloaded = Reply::json(503, &json!({"error": {"message": "Overloaded"}}));
    let mut serving = Serving::start(Script::new().then(overloaded).otherwise(Answer::new().text("Done.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        ask(&mut client, "set_auto_retry", json!({"enabled": false})).await;
    });
    serving.restart(Signal::SIGKILL);
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        let prompt = json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"});
        let failed = client.ask(&prompt).await;
        assert!(fits(&failed, &json!({"success": false, "code": "provider_failed"})), "{failed}");
        assert_eq!(serving.room.server.requests().len(), 1);
    });
}

/// Sends a command as a client of its own.
fn ask_alone(serving: &Serving, command: &Value) -> Value {
    serving.block_on(async { serving.connect("?clientId=c").await.ask(command).await })
}

/// A session in which something was said, and its file; the server has ended.
fn said_and_ended(serving: &mut Serving) -> PathBuf {
    let file = serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        ask(&mut client, "prompt", json!({"message": "Hello"})).await;
        ask(&mut client, "get_state", json!({})).await["sessionFile"].as_str().expect("a path").to_owned()
    });
    serving.end(Signal::SIGTERM);
    file.into()
}

#[test]
fn session_whose_file_is_gone_says_so_until_it_is_back_or_deleted() {
    let mut serving = Serving::start(answers());
    let file = said_and_ended(&mut serving);
    let away = file.with_extension("away");
    std::fs::rename(&file, &away).expect("it is there");
    serving.start_again();
    let lost = json!({"success": false, "code": "session_file_missing", "field": "sessionId",
        "error": format!("Session s has lost its file {}", file.display()),
        "hint": "put the file back, or remove the session with delete_session"});
    for (number, kind) in ["get_state", "get_messages", "prompt", "subscribe", "switch_session"].into_iter().enumerate()
    {
        let command = json!({"type": kind, "id": format!("lost-{number}"), "sessionId": "s", "message": "Hello"});
        let refused = ask_alone(&serving, &command);
        assert!(fits(&refused, &lost), "{refused}");
    }
    assert!(!file.exists(), "nobody began it anew");
    let list = json!({"type": "list_sessions", "id": "l"});
    let listed = ask_alone(&serving, &list);
    assert!(fits(&listed["data"]["sessions"], &json!([{"sessionId": "s", "fileExists": false}])), "{listed}");
    std::fs::rename(&away, &file).expect("it is there");
    let found = ask_alone(&serving, &json!({"type": "get_messages", "id": "back", "sessionId": "s"}));
    assert_eq!(found["data"]["messages"].as_array().map(Vec::len), Some(2), "{found}");
    let listed = ask_alone(&serving, &json!({"type": "list_sessions", "id": "m"}));
    assert_eq!(listed["data"]["sessions"][0].get("fileExists"), None, "{listed}");
    serving.end(Signal::SIGTERM);
    std::fs::rename(&file, &away).expect("it is there");
    serving.start_again();
    let deleted = ask_alone(&serving, &json!({"type": "delete_session", "id": "d", "sessionId": "s"}));
    assert!(fits(&deleted, &json!({"success": true})), "{deleted}");
}

#[test]
fn session_whose_file_is_taken_away_while_it_is_loaded_takes_nothing_more_and_says_so() {
    let serving = Serving::start(answers());
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        ask(&mut client, "prompt", json!({"message": "Hello"})).await;
        let file: PathBuf =
            ask(&mut client, "get_state", json!({})).await["sessionFile"].as_str().expect("a path").into();
        let health = client.ask(&json!({"type": "health_check", "id": "h1"})).await;
        assert!(fits(&health, &json!({"data": {"healthy": true}})), "{health}");
        let away = file.with_extension("away");
        std::fs::rename(&file, &away).expect("it is there");
        let lost = json!({"success": false, "code": "session_file_missing", "field": "sessionId",
            "error": format!("Session s has lost its file {}", file.display())});
        for (number, command) in [
            json!({"type": "prompt", "message": "More"}),
            json!({"type": "steer", "message": "More"}),
            json!({"type": "bash", "command": "echo more"}),
            json!({"type": "set_session_name", "name": "More"}),
            json!({"type": "navigate_tree", "targetId": "nowhere"}),
        ]
        .into_iter()
        .enumerate()
        {
            let mut command = command;
            command["id"] = json!(format!("lost-{number}"));
            command["sessionId"] = json!("s");
            let refused = client.ask(&command).await;
            assert!(fits(&refused, &lost), "{refused}");
        }
        // What was said is there, and nothing was added to it.
        let read = client.ask(&json!({"type": "get_messages", "id": "read", "sessionId": "s"})).await;
        assert!(fits(&read, &json!({"success": true, "sessionVersion": 1})), "{read}");
        assert_eq!(read["data"]["messages"].as_array().map(Vec::len), Some(2), "{read}");
        let issue = format!("session s has lost its file {}", file.display());
        let health = settled(&mut client, "gone", |health| health["data"]["healthy"] == false).await;
        assert!(health["data"]["issues"][0].as_str().is_some_and(|told| told.starts_with(&issue)), "{health}");
        let metrics = client.ask(&json!({"type": "get_metrics", "id": "m"})).await;
        assert_eq!(metrics["data"]["stores"]["sessionStore"]["unwrittenSessions"], 1, "{metrics}");
        std::fs::rename(&away, &file).expect("it is there");
        ask(&mut client, "prompt", json!({"message": "More"})).await;
        settled(&mut client, "back", |health| health["data"]["healthy"] == true).await;
        let told = read_lines(&file);
        assert_eq!(told.iter().filter(|line| line["type"] == "message").count(), 4, "{told:#?}");
    });
}

/// Asks how the server is until that is as it should be: what it saw of files a moment ago may be told once more.
async fn settled(client: &mut Client, id: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    for number in 0..200 {
        let health = client.ask(&json!({"type": "health_check", "id": format!("{id}-{number}")})).await;
        if is_so(&health) {
            return health;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{id}: it does not become so");
}

fn read_lines(file: &Path) -> Vec<Value> {
    let text = read(file).expect("it is there");
    text.lines().map(|line| serde_json::from_str(line).expect("an entry")).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "somebody else removes the file")]
fn session_whose_file_is_deleted_in_its_first_run_is_told_of_what_became_of_it() {
    let serving = Serving::start(Script::new().then(Answer::new().text("Thinking").hold().text(" done.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        serving.room.server.received(1).await;
        let file = serving.room.sessions().pop().expect("what was said is written before the model is asked");
        std::fs::remove_file(&file).expect("it is there");
        serving.room.server.release(1);
        let answer = client.answer("p").await;
        assert!(fits(&answer, &json!({"success": false, "code": "storage_failed", "sessionVersion": 1})), "{answer}");
        let error = answer["error"].as_str().expect("a reason");
        assert!(error.contains("the file of the session was deleted"), "{answer}");
        let health = client.ask(&json!({"type": "health_check", "id": "h"})).await;
        let issue = health["data"]["issues"][0].as_str().expect("an issue");
        assert!(
            issue.contains("session s is not written to its file: the file of the session was deleted"),
            "{health}"
        );
        let read = client.ask(&json!({"type": "get_messages", "id": "read", "sessionId": "s"})).await;
        assert_eq!(read["data"]["messages"].as_array().map(Vec::len), Some(2), "{read}");
    });
}

#[test]
fn session_in_which_nothing_was_said_has_no_file_and_misses_none() {
    let mut serving = Serving::start(answers());
    serving.block_on(async { drop(serving.with_session("?clientId=c").await) });
    serving.restart(Signal::SIGTERM);
    let said = ask_alone(&serving, &json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"}));
    assert!(fits(&said, &json!({"success": true, "sessionVersion": 1})), "{said}");
}

#[test]
fn edit_that_leaves_the_length_of_a_file_moves_the_version() {
    let mut serving = Serving::start(answers());
    let file = said_and_ended(&mut serving);
    let text = read(&file).expect("it is there");
    write(&file, text.replace("Hello", "Jello").as_bytes());
    serving.start_again();
    let stale = json!({"type": "prompt", "id": "stale", "sessionId": "s", "message": "More", "ifSessionVersion": 1});
    let refused = ask_alone(&serving, &stale);
    assert!(fits(&refused, &json!({"success": false, "code": "version_mismatch", "sessionVersion": 2})), "{refused}");
    let found = ask_alone(&serving, &json!({"type": "get_messages", "id": "m", "sessionId": "s"})).to_string();
    assert!(found.contains("Jello"), "{found}");
}

#[test]
fn interrupted_run_moves_the_version_once_whatever_is_read_and_started_afterwards() {
    let mut serving = Serving::start(Script::new().then(Answer::new().text("Thinking").hold().reply()));
    let prompt = json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"});
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        client.send(&prompt).await;
        serving.room.server.received(1).await;
    });
    serving.restart(Signal::SIGKILL);
    let replayed = ask_alone(&serving, &prompt);
    assert!(fits(&replayed, &json!({"success": false, "replayed": true, "sessionVersion": 1})), "{replayed}");
    for round in 0..3 {
        let state = ask_alone(&serving, &json!({"type": "get_state", "id": format!("g{round}"), "sessionId": "s"}));
        assert!(fits(&state, &json!({"success": true, "sessionVersion": 1})), "{round}: {state}");
        serving.restart(Signal::SIGTERM);
    }
}

#[test]
fn file_that_somebody_touched_moves_the_version_once() {
    let mut serving = Serving::start(answers());
    let file = said_and_ended(&mut serving);
    let text = read(&file).expect("it is there");
    write(&file, text.as_bytes());
    serving.start_again();
    for round in 0..3 {
        let state = ask_alone(&serving, &json!({"type": "get_state", "id": format!("g{round}"), "sessionId": "s"}));
        assert!(fits(&state, &json!({"success": true, "sessionVersion": 2})), "{round}: {state}");
        serving.restart(Signal::SIGTERM);
    }
}

#[test]
fn list_tells_nothing_of_a_model_and_a_level_that_it_does_not_know() {
    let mut serving = Serving::start(answers());
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        ask(&mut client, "prompt", json!({"message": "Hello"})).await;
    });
    let listed = |serving: &Serving, id: &str| {
        let list = ask_alone(serving, &json!({"type": "list_sessions", "id": id}));
        let session = list["data"]["sessions"][0].clone();
        assert_eq!(session["messageCount"], 2, "{list}");
        (session.get("model").is_some(), session.get("thinkingLevel").is_some())
    };
    assert_eq!(listed(&serving, "awake"), (true, true));
    serving.restart(Signal::SIGTERM);
    assert_eq!(listed(&serving, "asleep"), (false, false));
    ask_alone(&serving, &json!({"type": "get_state", "id": "g", "sessionId": "s"}));
    assert_eq!(listed(&serving, "awake again"), (true, true));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "somebody else removes the file")]
fn session_whose_file_is_deleted_takes_nothing_more_and_has_none_after_a_restart() {
    let mut serving = Serving::start(answers());
    let file = serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        ask(&mut client, "prompt", json!({"message": "Hello"})).await;
        let state = ask(&mut client, "get_state", json!({})).await;
        let file = PathBuf::from(state["sessionFile"].as_str().expect("a path"));
        std::fs::remove_file(&file).expect("it is there");
        let lost = json!({"success": false, "code": "session_file_missing", "sessionVersion": 1});
        for (id, command) in [
            ("p", json!({"type": "prompt", "sessionId": "s", "message": "Lost?"})),
            ("b", json!({"type": "bash", "sessionId": "s", "command": "echo lost"})),
            ("q", json!({"type": "prompt", "sessionId": "s", "message": "Lost again?"})),
            ("s", json!({"type": "steer", "sessionId": "s", "message": "Lost on the way?"})),
            ("f", json!({"type": "follow_up", "sessionId": "s", "message": "Lost behind it?"})),
        ] {
            let mut command = command.clone();
            command["id"] = json!(id);
            let answer = client.ask(&command).await;
            assert!(fits(&answer, &lost), "{answer}");
        }
        file
    });
    serving.restart(Signal::SIGTERM);
    let found = ask_alone(&serving, &json!({"type": "get_messages", "id": "m", "sessionId": "s"}));
    assert!(fits(&found, &json!({"success": false, "code": "session_file_missing"})), "{found}");
    assert!(!file.exists(), "nobody began it anew");
}

#[test]
fn keys_of_a_deleted_session_are_forgotten_after_a_crash_too() {
    let mut serving = Serving::start(answers());
    let name = |id: &str| json!({"type": "set_session_name", "id": id, "sessionId": "s", "name": "First", "idempotencyKey": "k"});
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        assert_eq!(client.ask(&name("one")).await["success"], true);
        for command in ["delete_session", "create_session"] {
            let answer = client.ask(&json!({"type": command, "id": command, "sessionId": "s"})).await;
            assert_eq!(answer["success"], true, "{answer}");
        }
    });
    serving.restart(Signal::SIGKILL);
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        let answer = client.ask(&name("two")).await;
        assert!(fits(&answer, &json!({"success": true, "sessionVersion": 1})), "{answer}");
        assert!(answer.get("replayed").is_none(), "{answer}");
        let again = client.ask(&name("three")).await;
        assert!(fits(&again, &json!({"success": true, "replayed": true})), "{again}");
    });
}

#[test]
fn outcome_that_cannot_be_read_is_a_failure_and_its_command_does_not_run_again() {
    let mut serving = Serving::start(answers());
    let run = |id: &str| json!({"type": "bash", "id": id, "sessionId": "s", "command": "echo x >> ran"});
    serving.block_on(async {
        let mut client = serving.with_session("?clientId=c").await;
        for id in ["null", "torn", "good"] {
            assert_eq!(client.ask(&run(id)).await["success"], true);
        }
    });
    serving.end(Signal::SIGTERM);
    let journal = rusqlite::Connection::open(serving.room.at("agent/server/journal.sqlite")).expect("it is ours");
    let broken =
        "update command set answer = null where id = 'null'; update command set answer = '{' where id = 'torn'";
    journal.execute_batch(broken).expect("they are there");
    drop(journal);
    serving.start_again();
    serving.block_on(async {
        let mut client = serving.connect("?clientId=c").await;
        for id in ["null", "torn"] {
            let answer = client.ask(&run(id)).await;
            assert!(fits(&answer, &json!({"success": false, "replayed": true, "code": "storage_failed"})), "{answer}");
            assert!(answer["error"].as_str().is_some_and(|error| error.contains("cannot be read")), "{answer}");
        }
        assert!(fits(&client.ask(&run("good")).await, &json!({"success": true, "replayed": true})));
    });
    assert_eq!(read(&serving.room.at("project/ran")).expect("it ran"), "x\nx\nx\n");
}
