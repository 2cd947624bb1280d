//! The protocol on standard input and output.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use pi_testkit::{Script, model::Answer};
use serde_json::{Value, json};

use crate::{
    journal::{check, journal},
    late::{Silent, is_waited_for, session_of_a_local_model},
    room::Room,
    serving::fits,
};

/// Writes the lines, ends the input, and reads everything until the process ends well.
fn converse(room: &Room, lines: &[Value]) -> Vec<Value> {
    converse_as(room, &[], lines)
}

/// The same with more arguments.
fn converse_as(room: &Room, arguments: &[&str], lines: &[Value]) -> Vec<Value> {
    let mut child = room
        .pi_to(&["serve"])
        .args(["--stdio", "--log", "warn", "--model", "scripted/model"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    for line in lines {
        writeln!(input, "{line}").expect("it reads");
    }
    drop(input);
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let frames = output.lines().map(|line| {
        let line = line.expect("text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?} is no frame: {error}"))
    });
    let frames = frames.collect();
    assert!(child.wait().expect("our child").success());
    frames
}

#[test]
fn what_was_asked_is_answered_before_the_end_of_input_ends_the_server() {
    let room = Room::new(Script::new().then(Answer::new().text("Hi.").reply()));
    let frames = converse(
        &room,
        &[
            json!({"type": "create_session", "id": "c", "sessionId": "s"}),
            json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello", "dependsOn": ["c"]}),
        ],
    );
    let here = room.at("project").canonicalize().expect("the folder of the project");
    let usual = json!({"cwd": here, "model": "scripted/model"});
    assert!(fits(&frames[0], &json!({"type": "server_ready", "data": {"usual": usual}})), "{}", frames[0]);
    let find = |shape: &Value| frames.iter().position(|frame| fits(frame, shape));
    let answered = find(&json!({"type": "response", "id": "p", "success": true}));
    let told = find(&json!({"type": "server_shutdown"}));
    assert!(answered.is_some() && told.is_some(), "{frames:#?}");
}

#[test]
fn run_that_outlives_the_drain_is_cut_and_told_as_failed() {
    let room = Room::new(Script::new().then(Answer::new().text("Thinking").hold().reply()));
    let frames = converse_as(
        &room,
        &["--set", "server.drainMs=300"],
        &[
            json!({"type": "create_session", "id": "c", "sessionId": "s"}),
            json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello", "dependsOn": ["c"]}),
        ],
    );
    let reason = "Command cancelled because server shutdown completed";
    let find = |shape: &Value| frames.iter().position(|frame| fits(frame, shape));
    let told = find(&json!({"type": "server_shutdown", "data": {"timeoutMs": 300}}));
    let cut = find(&json!({"type": "response", "id": "p", "success": false, "error": reason, "sessionVersion": 1}));
    assert!(told.is_some() && told < cut, "{frames:#?}");
    let place = room.at("agent/server/stdio-1/journal.sqlite").display().to_string();
    let kept = journal(&room, &["show", "--json", "--id", "p", "--journal", &place]);
    let finished = json!({"success": false, "error": reason, "sessionVersion": 1});
    check(&kept, 0, &[json!({"command": "prompt", "id": "p", "finished": finished})]);
}

#[test]
fn two_servers_on_pipes_do_not_get_in_each_others_way() {
    let room = Room::new(Script::new());
    let mut first = room
        .pi_to(&["serve"])
        .args(["--stdio", "--model", "scripted/model"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut greeting = String::new();
    BufReader::new(first.stdout.take().expect("a pipe")).read_line(&mut greeting).expect("a line");
    let frames = converse(&room, &[json!({"type": "health_check", "id": "h"})]);
    assert!(frames.iter().any(|frame| fits(frame, &json!({"id": "h", "success": true}))), "{frames:#?}");
    drop(first.stdin.take());
    assert!(first.wait().expect("our child").success());
}

/// Waits until it has ended well by itself, and says how long that took.
#[expect(clippy::disallowed_methods, reason = "how long a real process takes")]
fn ends(child: &mut Child) -> Duration {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("our child") {
            assert!(status.success(), "{status}");
            return start.elapsed();
        }
        if start.elapsed() > Duration::from_secs(20) {
            child.kill().expect("our child");
            child.wait().expect("our child");
            panic!("it still runs");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// A process of the room that was greeted and goes on until its input ends.
fn begun(room: &Room, arguments: &[&str]) -> Begun {
    begun_by(room.pi_to(&["serve"]), arguments)
}

fn begun_by(mut command: Command, arguments: &[&str]) -> Begun {
    let mut child = command
        .args(["--stdio", "--log", "warn", "--model", "scripted/model"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let first = output.next().expect("a line").expect("text");
    assert!(first.contains("server_ready"), "{first}");
    Begun { child, output }
}

struct Begun {
    child: Child,
    output: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Begun {
    fn say(&mut self, frame: &Value) {
        writeln!(self.child.stdin.as_mut().expect("a pipe"), "{frame}").expect("it reads");
    }

    fn expect(&mut self, shape: &Value) -> Value {
        loop {
            let line = self.output.next().unwrap_or_else(|| panic!("nothing is like {shape}")).expect("text");
            let frame: Value = serde_json::from_str(&line).expect("a frame");
            if fits(&frame, shape) {
                return frame;
            }
        }
    }

    fn terminate(&self) {
        let process = Pid::from_raw(i32::try_from(self.child.id()).expect("a process id"));
        kill(process, Signal::SIGTERM).expect("our child");
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        self.output.by_ref().for_each(drop);
        assert!(self.child.wait().expect("our child").success());
    }
}

#[test]
fn name_of_a_client_leads_nowhere() {
    let room = Room::new(Script::new());
    for name in ["x/../../../../../../away", "a b", ""] {
        let said = room.pi_to(&["serve"]).args(["--stdio", "--client-id", name]).output().expect("it starts");
        assert_eq!(said.status.code(), Some(2), "{name}: {}", String::from_utf8_lossy(&said.stderr));
    }
    assert!(!room.at("away").exists());
}

#[test]
fn client_with_a_name_finds_what_it_asked_whoever_else_runs() {
    let room = Room::new(Script::new());
    let make = json!({"type": "create_session", "id": "1", "idempotencyKey": "once", "sessionId": "s"});
    let named = ["--client-id", "a:b..", "--lifecycle", "none"];
    let mut first = begun(&room, &named);
    first.say(&make);
    first.expect(&json!({"id": "1", "success": true}));
    let twice =
        room.pi_to(&["serve"]).args(["--stdio", "--log-format", "text"]).args(named).output().expect("it starts");
    let said = String::from_utf8_lossy(&twice.stderr).into_owned();
    let process = format!("is in use by process {} (pi serve --stdio)", first.child.id());
    assert!(
        twice.status.code() == Some(2) && said.contains(&process) && said.contains("choose another --client-id"),
        "{said}"
    );
    first.end();
    // Others come and go, and the folders that are free are others.
    let (one, other) = (begun(&room, &[]), begun(&room, &[]));
    let mut again = begun(&room, &named);
    again.say(&make);
    again.expect(&json!({"id": "1", "success": true, "replayed": true}));
    again.end();
    one.end();
    other.end();
    assert!(room.at("agent/server/client-a+b../journal.sqlite").exists());
}

#[test]
fn server_on_pipes_does_not_keep_one_from_listening() {
    let room = Room::new(Script::new());
    let on_pipes = begun(&room, &[]);
    let mut listening = room.pi_to(&["serve"]);
    listening.args(["--listen", "127.0.0.1:0", "--log", "warn", "--model", "scripted/model"]);
    let mut listening = listening.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("it starts");
    let said: Vec<String> = BufReader::new(listening.stdout.take().expect("a pipe"))
        .lines()
        .take(3)
        .map(|line| line.expect("a line"))
        .collect();
    assert!(said[0].starts_with("pi serves on"), "{said:?}");
    // Nobody but a person at a terminal is shown a ticket; others are told how to get one.
    assert!(said[2].contains("pi serve --ticket"), "{said:?}");
    listening.kill().expect("our child");
    listening.wait().expect("our child");
    on_pipes.end();
}

#[test]
fn whatever_comes_after_the_announcement_of_the_end_is_refused() {
    let room = Room::new(Script::new().then(Answer::new().text("Thinking").hold().reply()));
    let mut client = begun(&room, &["--lifecycle", "none", "--set", "server.drainMs=2000"]);
    client.say(&json!({"type": "create_session", "id": "c", "sessionId": "s"}));
    client.expect(&json!({"id": "c", "success": true}));
    client.say(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"}));
    room.runtime.block_on(room.server.received(1));
    client.terminate();
    client.expect(&json!({"type": "server_shutdown"}));
    for (id, frame) in [
        ("write", json!({"type": "set_session_name", "id": "write", "sessionId": "s", "name": "late"})),
        ("read", json!({"type": "get_state", "id": "read", "sessionId": "s"})),
        ("server", json!({"type": "list_sessions", "id": "server"})),
    ] {
        client.say(&frame);
        client.expect(&json!({"type": "response", "id": id, "success": false, "code": "shutting_down"}));
    }
    client.expect(&json!({"type": "response", "id": "p", "success": false}));
    client.end();
}

#[test]
fn signal_is_heard_on_pipes_while_a_model_server_is_looked_for() {
    let room = Room::new(Script::new());
    let (silent, file) = (Silent::open(), session_of_a_local_model(&room));
    let mut command = room.pi_to(&["serve"]);
    silent.tell(&mut command);
    let mut client = begun_by(command, &[]);
    client.say(&json!({"type": "load_session", "id": "l", "sessionPath": file}));
    let mut looked = silent.looked_for();
    client.terminate();
    client.expect(&json!({"type": "server_shutdown"}));
    assert!(is_waited_for(&mut looked), "the signal was heard only when the search was over");
    client.terminate();
    client.end();
}

#[test]
fn log_is_an_object_per_line_and_the_output_is_the_protocol_alone() {
    let room = Room::new(Script::new());
    let mut child = room
        .pi_to(&["serve"])
        .args(["--stdio", "--listen", "127.0.0.1:0", "--model", "scripted/model", "--log-format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let create = json!({"type": "create_session", "id": "c", "sessionId": "s"});
    writeln!(child.stdin.take().expect("a pipe"), "{create}").expect("it reads");
    let output = child.wait_with_output().expect("our child");
    let objects = |bytes: &[u8]| -> Vec<Value> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
    };
    let frames = objects(&output.stdout);
    assert!(frames.iter().any(|frame| fits(frame, &json!({"type": "response", "id": "c", "success": true}))));
    let lines = objects(&output.stderr);
    let opened =
        json!({"level": "INFO", "message": "a session was opened", "session": "s", "command": "create_session"});
    assert!(lines.iter().any(|line| fits(line, &opened)), "{lines:#?}");
    assert!(lines.iter().any(|line| line["message"] == "listening"), "{lines:#?}");
}

#[test]
fn ids_are_those_of_one_process_unless_it_says_who_it_is() {
    let room = Room::new(Script::new());
    let create = [json!({"type": "create_session", "id": "1", "sessionId": "s"})];
    let replayed = |frames: &[Value]| frames.iter().any(|frame| fits(frame, &json!({"id": "1", "replayed": true})));
    assert!(!replayed(&converse(&room, &create)));
    // Somebody without a name is somebody new: nothing of what an earlier one did is there.
    let again = converse(&room, &[create[0].clone(), json!({"type": "list_sessions", "id": "l", "dependsOn": ["1"]})]);
    let made = json!({"type": "response", "id": "1", "success": true});
    assert!(!replayed(&again) && again.iter().any(|frame| fits(frame, &made)), "{again:#?}");
    let listed = again.iter().find(|frame| fits(frame, &json!({"id": "l", "success": true})));
    let count = listed.and_then(|frame| frame["data"]["sessions"].as_array()).map(Vec::len);
    assert_eq!(count, Some(1), "{again:#?}");
    let place = room.at("agent/server/stdio-1/journal.sqlite").display().to_string();
    check(&journal(&room, &["show", "--json", "--journal", &place]), 0, &[json!({"id": "1"})]);
    let named = ["--client-id", "me", "--lifecycle", "none"];
    let other = [json!({"type": "create_session", "id": "1", "sessionId": "t"})];
    let first = converse_as(&room, &named, &other);
    assert!(!replayed(&first) && !first.iter().any(|frame| frame["type"] == "command_accepted"), "{first:#?}");
    assert!(replayed(&converse_as(&room, &named, &other)));
}

#[test]
fn what_no_session_could_be_made_of_stops_the_server_at_its_start() {
    let room = Room::new(Script::new());
    for (arguments, told) in [
        (&["--tools", "raed", "--model", "scripted/model"][..], "raed"),
        (&["--tools", "raed", "--model", "scripted/model", "--check-config"], "raed"),
        (&["--model", "nosuch", "--check-config"], "nosuch"),
    ] {
        let output =
            room.pi_to(&["serve"]).args(arguments).args(["--listen", "127.0.0.1:0"]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(told), "{said}");
    }
    let mut good = room.pi_to(&["serve"]);
    good.args(["--model", "scripted/model", "--listen", "127.0.0.1:0", "--check-config"]);
    let output = good.output().expect("it starts");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |text: &str| said.lines().any(|line| line.split_whitespace().eq(text.split_whitespace()));
    assert!(line("server.listen 127.0.0.1:0 --listen") && line("model scripted/model") && line("auth token"), "{said}");
}

#[test]
fn signal_ends_the_server_although_its_input_is_open() {
    let room = Room::new(Script::new());
    let mut client = begun(&room, &[]);
    client.say(&json!({"type": "create_session", "id": "c", "sessionId": "s"}));
    client.expect(&json!({"id": "c", "success": true}));
    client.terminate();
    client.expect(&json!({"type": "server_shutdown"}));
    ends(&mut client.child);
}

#[test]
fn server_whose_output_nobody_reads_any_more_ends_although_its_input_is_open() {
    let room = Room::new(Script::new());
    let mut child = room
        .pi_to(&["serve"])
        .args(["--stdio", "--log", "warn", "--model", "scripted/model"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    // The greeting is two lines.
    output.by_ref().take(2).for_each(drop);
    drop(output);
    let mut input = child.stdin.take().expect("a pipe");
    let asking = thread::spawn(move || {
        // Again and again: a child that another test starts may hold the other end for a moment. Nobody reads in the end.
        for number in 0.. {
            let asked = writeln!(input, "{}", json!({"type": "health_check", "id": format!("h{number}")}));
            if asked.is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    });
    ends(&mut child);
    asking.join().expect("it ends with the server");
}

#[test]
fn server_that_has_nothing_to_do_ends_at_once_with_its_input() {
    let room = Room::new(Script::new());
    let mut client = begun(&room, &[]);
    drop(client.child.stdin.take());
    client.expect(&json!({"type": "server_shutdown"}));
    let took = ends(&mut client.child);
    assert!(took < Duration::from_millis(1500), "{took:?}");
}
