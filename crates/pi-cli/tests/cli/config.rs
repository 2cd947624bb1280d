//! `pi config`: every setting and who chose it.

use serde_json::Value;

use crate::world::{World, shown};

const SETTINGS: &str = r#"{
  "theme": "light",
  "retry": {"maxRetries": 7},
  "server": {
    "maxSessions": 5,
    "drainMs": 1000
  }
}"#;

/// Runs `pi config` with the agent directory `agent` of the world; the folder is left out of what is shown.
fn config(world: &World, arguments: &str, variables: &[(&str, &str)]) -> String {
    let mut command = world.command("config");
    command.args(arguments.split_whitespace()).env("PI_CODING_AGENT_DIR", world.path().join("agent"));
    let output = command.envs(variables.iter().copied()).output().expect("pi runs");
    let at = world.path().canonicalize().expect("it is there");
    shown(&output).replace(&format!("{}/", at.display()), "").replace(&format!("{}/", world.path().display()), "")
}

/// The line about a setting, with single blanks.
fn line(text: &str, name: &str) -> String {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap_or("nothing");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_setting_is_shown_with_unit_and_origin() {
    let world = World::new().with("agent/settings.json", SETTINGS);
    let text = config(&world, "--set server.maxConnections=9 --log warn", &[("PI_SERVER_PING_MS", "5000")]);
    for expected in [
        "theme light agent/settings.json:2",
        "retry.maxRetries 7 attempts agent/settings.json:3",
        "compaction.reserveTokens 16384 tokens default",
        "server.listen 127.0.0.1:3141 default",
        "server.maxSessions 5 sessions agent/settings.json:5",
        "server.drainMs 1000 ms agent/settings.json:6",
        "server.maxConnections 9 connections --set",
        "server.pingMs 5000 ms PI_SERVER_PING_MS",
        "server.logLevel warn --log",
    ] {
        let name = expected.split(' ').next().expect("a name");
        assert_eq!(line(&text, name), expected, "{text}");
    }
    assert!(text.ends_with("--- exit 0"), "{text}");
}

#[test]
fn machines_get_an_object_per_setting_and_per_problem() {
    let broken = SETTINGS.replace("drainMs", "drianMs");
    let world = World::new().with("agent/settings.json", broken);
    let text = config(&world, "--json server.", &[]);
    let objects = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let objects: Vec<Value> = objects.collect();
    for expected in [
        r#"{"setting":"server.maxSessions","value":5,"unit":"sessions","origin":"file","file":"agent/settings.json","line":5,"column":5}"#,
        r#"{"setting":"server.drainMs","value":30000,"unit":"ms","origin":"default"}"#,
        r#"{"problem":"server.drianMs is not known; did you mean server.drainMs?","severity":"error","origin":"file","file":"agent/settings.json","line":6,"column":5}"#,
    ] {
        let expected: Value = serde_json::from_str(expected).expect("JSON");
        assert!(objects.contains(&expected), "{expected}\nis not in\n{objects:#?}");
    }
    assert!(objects.iter().all(|object| object["setting"] != "theme"));
    assert!(text.ends_with("--- exit 1"), "{text}");
}

#[test]
fn what_cannot_be_used_is_an_error_with_its_place() {
    let world = World::new()
        .with("agent/settings.json", "{\n  \"theem\": 1,\n  \"server\": {\"maxSessions\": \"sk-hunter2\"}\n}");
    let text = config(&world, "server.maxSessions", &[]);
    let errors: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("---")).collect();
    assert_eq!(
        errors,
        [
            "--- on standard error",
            "error: agent/settings.json:3:14: server.maxSessions should be a number from 1 to 10000000",
            "note: agent/settings.json:2:3: theem is not known; did you mean theme?",
            "--- exit 1"
        ]
    );
    let serve = world.command("serve --check-config").env("PI_CODING_AGENT_DIR", world.path().join("agent")).output();
    let text = shown(&serve.expect("pi runs"));
    assert!(text.contains("server.maxSessions") && text.contains(":3:14: server.maxSessions should be"), "{text}");
    assert!(text.ends_with("--- exit 2") && !text.contains("hunter2"), "{text}");
}

#[test]
fn project_has_no_say_about_the_server_even_if_it_is_trusted() {
    let world = World::new()
        .with("agent/settings.json", r#"{"defaultProjectTrust": "always"}"#)
        .with(".pi/settings.json", r#"{"theme": "light", "server": {"listen": "0.0.0.0:80"}}"#);
    let text = config(&world, "listen theme", &[]);
    assert_eq!(line(&text, "server.listen"), "server.listen 127.0.0.1:3141 default");
    assert_eq!(line(&text, "theme"), "theme light .pi/settings.json:1");
    assert!(text.contains("note: .pi/settings.json:1:20: server counts only in your own settings"), "{text}");
}

#[test]
fn secrets_are_not_shown() {
    let world = World::new().with("agent/settings.json", r#"{"shellCommandPrefix": "export T=hunter2hunter2"}"#);
    for arguments in ["", "--json"] {
        let text = config(&world, arguments, &[("MY_API_KEY", "hunter2hunter2")]);
        assert!(text.contains("shellCommandPrefix") && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn name_that_no_setting_has_is_told() {
    let text = config(&World::new(), "sirver", &[]);
    assert!(text.contains("no setting is called like this") && text.ends_with("--- exit 1"), "{text}");
}

#[test]
fn policy_that_stops_every_session_is_told() {
    let world = World::new().with("agent/settings.json", r#"{"agent":{"policy":{"denyes":[]}}}"#);
    let text = config(&world, "theme", &[]);
    assert!(
        text.contains("error: agent/settings.json: agent.policy.denyes: ") && text.ends_with("--- exit 1"),
        "{text}"
    );
    let text = config(&world, "theme --json", &[]);
    let problem =
        text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).find(|it| !it["problem"].is_null());
    let problem = problem.unwrap_or_default();
    assert_eq!((&problem["severity"], &problem["origin"]), (&"error".into(), &"file".into()), "{text}");
}

#[test]
fn setting_of_sessions_is_not_set_for_the_server() {
    let text = config(&World::new(), "theme --set retry.maxRetries=2", &[]);
    let told = "error: --set: retry.maxRetries is no setting of the server; here only those are set, others stand in settings.json";
    assert!(text.contains(told) && text.ends_with("--- exit 1"), "{text}");
}
