//! What is said before a server runs, or why it does not.

use std::{
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output},
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
    assert!(!room.at("agent/server").exists(), "nothing was made");

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
    assert!(told(&broken).contains("the journal cannot be read or written"), "{}", told(&broken));
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
