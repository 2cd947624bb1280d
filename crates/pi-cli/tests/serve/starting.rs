//! What is said before a server runs, or why it does not.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output, Stdio},
};

use nix::{
    pty::{OpenptyResult, openpty},
    sys::signal::Signal,
};
use pi_testkit::Script;
use serde_json::{Value, json};

use crate::{
    room::{Room, write},
    serving::{Serving, fits},
};

/// The server of a room, which is to say something and end.
fn serve(room: &Room, arguments: &[&str]) -> Command {
    let mut command = room.pi_to(&["serve", "--model", "scripted/model"]);
    command.args(arguments);
    command
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn port_that_is_taken_is_told_with_who_has_it() {
    let serving = Serving::start(Script::new());
    let second = serve(&serving.room, &["--listen", &serving.address]).output().expect("it starts");
    let (said, process) = (told(&second), serving.id());
    let token = serving.room.at("agent/server/token").display().to_string();
    for part in [
        format!("cannot listen on {}: your own server is there already (process {process})", serving.address),
        format!("use it: its token is in {token}, or end it with `kill {process}`"),
    ] {
        assert!(said.contains(&part), "{part} is not in {said}");
    }
    let mut other = serve(&serving.room, &["--listen", &serving.address]);
    let said = told(&other.env("PI_CODING_AGENT_DIR", serving.room.at("other")).output().expect("it starts"));
    assert!(said.contains("another server of pi is there") && said.contains("--listen 127.0.0.1:0"), "{said}");

    let stranger = TcpListener::bind(("127.0.0.1", 0)).expect("a port on loopback");
    let at = stranger.local_addr().expect("it is bound");
    let said = told(&serve(&serving.room, &["--listen", &at.to_string()]).output().expect("it starts"));
    let found = format!("`ss -ltnp 'sport = :{}'`", at.port());
    assert!(said.contains("another program is there") && said.contains(&found), "{said}");
}

#[test]
fn check_tells_everything_that_a_start_would_look_at() {
    let room = Room::new(Script::new());
    let check =
        |arguments: &[&str]| serve(&room, arguments).args(["--check-config", "--json"]).output().expect("it starts");
    let good = check(&["--listen", "127.0.0.1:0"]);
    assert!(good.status.success(), "{}", told(&good));
    let lines = String::from_utf8_lossy(&good.stdout).into_owned();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for expected in [
        json!({"setting": "server.roots", "value": [".", "~"], "origin": "default"}),
        json!({"check": "model", "value": "scripted/model"}),
        json!({"check": "address", "value": "127.0.0.1:0"}),
        json!({"check": "roots", "value": [room.project()]}),
        json!({"check": "token", "value": room.at("agent/server/token")}),
        json!({"check": "journal", "value": room.at("agent/server/journal.sqlite")}),
    ] {
        assert!(lines.iter().any(|line| fits(line, &expected)), "{expected} is not in {lines:#?}");
    }
    for place in ["agent/server", "agent/cache", "agent/sessions"] {
        assert!(!room.at(place).exists(), "{place} was made");
    }

    let token = room.at("agent/server/token");
    write(&token, b"0123456789abcdef0123456789abcdef\n");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o640)).expect("ours");
    let said = told(&check(&["--listen", "127.0.0.1:0"]));
    assert!(said.contains("can be read by others (mode 640)") && said.contains("chmod 600"), "{said}");
    assert!(!said.contains("0123456789abcdef"), "{said}");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).expect("ours");
    let said = told(&check(&["--listen", "127.0.0.1:0", "--root", "none"]));
    assert!(said.contains("server.roots names"), "{said}");
    write(&room.at("agent/server/journal.sqlite"), b"this is no journal, however one looks at it");
    let broken = check(&["--listen", "127.0.0.1:0"]);
    assert_eq!(broken.status.code(), Some(2), "{}", told(&broken));
    assert!(told(&broken).contains("it is not even a database"), "{}", told(&broken));
}

#[test]
fn whoever_reaches_a_server_finds_its_token() {
    let room = Room::new(Script::new());
    let free = TcpListener::bind(("127.0.0.1", 0)).expect("a port on loopback");
    let at = free.local_addr().expect("it is bound");
    drop(free);
    let mut server = serve(&room, &["--listen", &at.to_string()]).stdout(Stdio::null()).spawn().expect("it starts");
    while TcpStream::connect(at).is_err() {
        assert!(server.try_wait().expect("our child").is_none(), "it ended");
    }
    assert!(room.at("agent/server/token").exists());
    server.kill().expect("it runs");
    server.wait().expect("our child");
}

#[test]
fn addresses_and_names_are_told_by_example() {
    let room = Room::new(Script::new());
    for (arguments, expected) in [
        (&["--listen", "localhost:8080"][..], "did you mean 127.0.0.1:8080?"),
        (&["--listen", "box.example:80"], "127.0.0.1:0 for any free port"),
        (&["--host", "https://box.example/"], "--host: server.hosts should be a list of names such as box.example"),
    ] {
        let said = told(&serve(&room, arguments).output().expect("it starts"));
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    let open = serve(&room, &["--listen", "0.0.0.0:0", "--check-config"]).output().expect("it starts");
    assert!(open.status.success() && told(&open).contains("it is HTTP without TLS"), "{}", told(&open));
    let closed = serve(&room, &["--listen", "127.0.0.1:0", "--check-config"]).output().expect("it starts");
    assert!(!told(&closed).contains("TLS"), "{}", told(&closed));
}

#[test]
fn check_tells_of_a_journal_with_which_no_server_starts() {
    let mut serving = Serving::start(Script::new());
    serving.end(Signal::SIGTERM);
    let journal = serving.room.at("agent/server/journal.sqlite");
    let check = || serve(&serving.room, &["--listen", "127.0.0.1:0", "--check-config"]).output().expect("it starts");
    assert!(check().status.success(), "{}", told(&check()));
    // A table that is not there is found when it is read, and not before.
    rusqlite::Connection::open(&journal)
        .expect("it is ours")
        .execute_batch("drop table version")
        .expect("it was there");
    let (checked, started) = (check(), serve(&serving.room, &["--listen", "127.0.0.1:0"]).output().expect("it starts"));
    assert!(!started.status.success(), "{}", told(&started));
    assert!(!checked.status.success() && told(&checked).contains("journal: "), "{}", told(&checked));
}

/// What is on a stream, an object per line.
fn objects(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

#[test]
fn check_tells_all_faults_each_as_an_object_with_its_place() {
    let room = Room::new(Script::new());
    let settings = r#"{"server": {
        "maxSessions": "many",
        "maxSesions": 1
    }}"#;
    write(&room.at("agent/settings.json"), settings.as_bytes());
    write(&room.at("agent/server/journal.sqlite"), b"this is no journal, however one looks at it");
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a port on loopback");
    let at = taken.local_addr().expect("it is bound").to_string();
    let arguments = ["--listen", &at, "--root", "none", "--tools", "raed", "--check-config"];
    let output = serve(&room, &arguments).arg("--json").output().expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    let lines = objects(&output.stdout);
    let faults: Vec<&Value> = lines.iter().filter(|line| line["error"].is_object()).collect();
    let names: Vec<&str> = faults.iter().filter_map(|line| line["check"].as_str()).collect();
    assert_eq!(names, ["settings", "model", "address", "roots", "journal"], "{faults:#?}");
    assert!(faults.iter().all(|line| line["error"]["hint"].is_string() && line["error"]["message"].is_string()));
    let places = faults[0]["error"]["errors"].to_string();
    assert!(places.contains("settings.json:2") && places.contains("settings.json:3"), "{places}");
    let person = told(&serve(&room, &arguments).output().expect("it starts"));
    for part in ["maxSesions", "raed", "another program is there", "server.roots names", "it is not even a database"] {
        assert!(person.contains(part), "{part} is not in {person}");
    }
}

#[test]
fn start_that_fails_is_a_line_of_the_log_where_that_is_json() {
    let serving = Serving::start(Script::new());
    for (arguments, expected) in [
        (&["--listen", &serving.address][..], "cannot listen on"),
        (&["--listen", "127.0.0.1:0"], "is in use by process"),
        (&["--set", "maxSesions=1"], "cannot be used"),
        (&["--listen", "0.0.0.0:0", "--insecure-no-auth"], "without a token"),
        (&["--tools", "raed"], "raed"),
    ] {
        let output = serve(&serving.room, arguments).args(["--log-format", "json"]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        let lines = objects(&output.stderr);
        let last = lines.last().expect("why");
        assert!(fits(last, &json!({"level": "ERROR", "exit_code": 2})) && last["hint"].is_string(), "{last}");
        assert!(last["message"].as_str().is_some_and(|message| message.contains(expected)), "{last}");
        let text = serve(&serving.room, arguments).args(["--log-format", "text"]).output().expect("it starts");
        assert!(told(&text).contains("error: ") && told(&text).contains("hint: "), "{}", told(&text));
    }
}

#[test]
fn what_is_odd_at_the_start_is_a_warning_of_the_log() {
    let room = Room::new(Script::new());
    write(&room.at("agent/settings.json"), br#"{"thmee": "dark"}"#);
    let mut odd = room.pi_to(&["serve"]);
    odd.args(["--stdio", "--listen", "0.0.0.0:0", "--log", "warn", "--log-format", "json"]);
    odd.args(["--model", "scripted/model"]).env("PI_SERVER_MAX_SESSION", "5").stdin(Stdio::null());
    let output = odd.output().expect("it starts");
    assert!(output.status.success(), "{}", told(&output));
    let lines = objects(&output.stderr);
    for expected in ["other machines reach", "did you mean PI_SERVER_MAX_SESSIONS?", "did you mean theme?"] {
        let found = lines.iter().find(|line| line["message"].as_str().is_some_and(|said| said.contains(expected)));
        let line = found.unwrap_or_else(|| panic!("{expected} is not in {lines:#?}"));
        assert_eq!(line["level"], "WARN");
        assert!(!line["message"].as_str().is_some_and(|said| said.starts_with("note:")), "{line}");
    }
}

#[test]
fn limit_at_the_wrong_level_stops_the_server_and_is_told_where_it_belongs() {
    let room = Room::new(Script::new());
    write(&room.at("agent/settings.json"), b"{\n  \"maxSessions\": 5\n}");
    let output = serve(&room, &["--listen", "127.0.0.1:0", "--log-format", "text"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    let expected = "settings.json:2:3: maxSessions is not known here; did you mean server.maxSessions?";
    assert!(told(&output).contains(expected), "{}", told(&output));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "these tests start the real binary")]
fn lines_of_the_log_stay_on_a_terminal_whatever_is_looked_for() {
    let room = Room::new(Script::new());
    let OpenptyResult { master, slave } = openpty(None, None).expect("a terminal");
    let mut command = Command::new(env!("CARGO_BIN_EXE_pi"));
    command.args(["serve", "--stdio"]).env_clear().env("HOME", room.at("home")).env("TERM", "xterm");
    command.current_dir(room.project()).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(slave);
    let mut child = command.spawn().expect("it starts");
    // The command holds the other end open, so that reading would not end.
    drop(command);
    let mut input = child.stdin.take().expect("a pipe");
    for session in ["a", "b", "c"] {
        let make = json!({"type": "create_session", "id": session, "sessionId": session});
        writeln!(input, "{make}").expect("it reads");
    }
    drop(input);
    let (mut shown, mut piece, mut master) = (Vec::new(), [0; 4096], File::from(master));
    // A terminal that nobody writes to any more ends in an error on Linux.
    while let Ok(count @ 1..) = master.read(&mut piece) {
        shown.extend_from_slice(&piece[..count]);
    }
    assert!(child.wait().expect("our child").success());
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let (_, after) = shown.split_once(" INFO ").unwrap_or_else(|| panic!("no line of the log: {shown:?}"));
    assert_eq!(after.matches("a session was opened").count(), 3, "{shown:?}");
    assert!(!after.contains("\u{1b}[A"), "a line was taken away: {shown:?}");
}

#[test]
fn token_that_never_got_to_the_disk_is_made_anew() {
    let empty = |room: &Room| {
        let path = room.at("agent/server/token");
        write(&path, b"");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("ours");
    };
    let serving = Serving::prepared(Script::new(), &[], empty);
    assert!(serving.token().len() >= 43, "{:?}", serving.token());
    serving.block_on(async { drop(serving.connect("").await) });
    let refused = serving.block_on(pi_testkit::Client::connect(&serving.url(""), Some("")));
    assert!(refused.is_err(), "nobody comes in without a token");
    assert!(!serving.room.at("agent/server/token.new").exists());
}
