//! Many sessions and many connections: what they may take of the machine, and what happens when it has no more to give.

use std::process::Command;

use nix::sys::signal::Signal;
use pi_testkit::{Client, Script, model::Answer};
use serde_json::json;

use crate::{
    door::{get, http},
    room,
    serving::Serving,
};

/// Kilobytes of memory that hold no file.
fn memory(serving: &Serving) -> usize {
    let status = room::read(format!("/proc/{}/status", serving.id()).as_ref()).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("the system says how much");
    line.trim().trim_end_matches("kB").trim().parse().expect("a number")
}

fn threads(serving: &Serving) -> usize {
    room::list(format!("/proc/{}/task", serving.id()).as_ref()).len()
}

async fn make_sessions(client: &mut Client, name: &str, count: usize) {
    for number in 0..count {
        let id = format!("{name}{number}");
        let made = client.ask(&json!({"type": "create_session", "id": id, "sessionId": id})).await;
        assert_eq!(made["success"], true, "{made}");
    }
}

#[test]
fn session_in_which_nothing_happens_takes_little_memory_and_no_thread() {
    const SESSIONS: usize = 200;
    let serving = Serving::with(Script::new(), &["--set", "maxSessions=1000"]);
    serving.block_on(async {
        let mut client = serving.connect("?lifecycle=none").await;
        // What the first ones need is needed once.
        make_sessions(&mut client, "first", 10).await;
        let before = memory(&serving);
        make_sessions(&mut client, "s", SESSIONS).await;
        let each = memory(&serving).saturating_sub(before) / SESSIONS;
        assert!(each < 40, "{each} KiB for each session");
        let threads = threads(&serving);
        assert!(threads < 40, "{threads} threads");
    });
}

/// The same command under a limit of descriptors.
#[expect(clippy::disallowed_methods, reason = "these tests start the real binary")]
fn limited(command: &Command, descriptors: usize) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!(r#"ulimit -n {descriptors}; exec "$0" "$@""#)]);
    limited.arg(command.get_program()).args(command.get_args()).env_clear();
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        limited.current_dir(folder);
    }
    limited
}

#[test]
fn server_without_descriptors_says_so_and_lives_on() {
    let mut serving = Serving::start(Script::new());
    serving.end(Signal::SIGTERM);
    assert!(serving.start_as(limited(&serving.room.pi_to(&["serve"]), 40)), "it starts with few descriptors");
    serving.block_on(async {
        let mut first = serving.connect("").await;
        let (url, token) = (serving.url(""), serving.token());
        let mut clients = Vec::new();
        let refused = loop {
            match Client::connect(&url, Some(&token)).await {
                Ok(client) => clients.push(client),
                Err(refused) => break refused.to_string(),
            }
            assert!(clients.len() < 40, "there are only so many descriptors");
        };
        assert!(refused.contains("503"), "{refused}");
        let health = first.ask(&json!({"type": "health_check", "id": "h"})).await;
        assert_eq!(health["success"], true, "{health}");
        drop(clients);
        let mut tries = 0;
        let mut again = loop {
            match Client::connect(&url, Some(&token)).await {
                Ok(client) => break client,
                Err(_) => tries += 1,
            }
            assert!(tries < 10_000, "nobody is let in any more");
        };
        let health = again.ask(&json!({"type": "health_check", "id": "h2"})).await;
        assert_eq!(health["success"], true, "{health}");
    });
}

#[test]
fn full_store_of_outcomes_lets_a_run_be_stopped_and_says_that_it_is_full() {
    let script = Script::new().then(Answer::new().text("Thinking").hold().reply());
    let serving = Serving::with(script, &["--set", "outcomesMost=100", "--set", "outcomesKept=1"]);
    serving.block_on(async {
        let mut client = serving.with_session("?lifecycle=none").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Think."})).await;
        let name = |id: &str| json!({"type": "set_session_name", "id": id, "sessionId": "s", "name": id});
        let mut named = 0;
        let refused = loop {
            let answer = client.ask(&name(&format!("n{named}"))).await;
            if answer["success"] == false {
                break answer;
            }
            named += 1;
            assert!(named < 100, "there is no end of room");
        };
        assert_eq!(refused["code"], "busy", "{refused}");
        let health = client.ask(&json!({"type": "health_check", "id": "h"})).await;
        assert_eq!(health["data"]["healthy"], false, "{health}");
        assert!(health["data"]["issues"][0].as_str().is_some_and(|issue| issue.contains("outcomesMost")), "{health}");
        let token = format!("authorization: Bearer {}\r\n", serving.token());
        let (status, body) = http(&serving, &get("/readyz", &serving.address, &token)).await;
        assert!(status == 503 && body.contains("outcomesMost"), "{status} {body}");
        let (_, metrics) = http(&serving, &get("/metrics", &serving.address, &token)).await;
        assert!(metrics.contains("pi_server_outcomes_full 1"), "{metrics}");
        let stopped = client.ask(&json!({"type": "abort", "id": "a", "sessionId": "s"})).await;
        assert_eq!(stopped["success"], true, "{stopped}");
        let ended = client.answer("p").await;
        assert_eq!(ended["success"], false, "{ended}");
        let again = client.ask(&json!({"type": "abort", "id": "a", "sessionId": "s"})).await;
        assert_eq!(again["replayed"], true, "{again}");
    });
}
