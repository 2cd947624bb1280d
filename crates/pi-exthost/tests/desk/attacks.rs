//! Guests that mean harm.

use std::collections::BTreeMap;
#[cfg(unix)]
use std::{
    fs,
    os::unix::fs::symlink,
    sync::Arc,
    sync::atomic::{AtomicBool, Ordering},
};

use pi_extproto::capability::Capability;
use serde_json::json;

use crate::stage::{Plan, Stage, check};

#[tokio::test(flavor = "multi_thread")]
async fn false_claim_is_refused_and_recorded_with_the_truth() {
    let stage = Stage::new(Plan { policy: json!({ "mode": "permissive" }), ..Plan::default() });
    let params = json!({ "name": "bash", "input": { "command": "touch made" } });
    let result = stage.claim(Capability::Read, "tool", params).await;
    assert_eq!(stage.describe(&result), "invalid_request the call claims read but needs exec");
    assert!(!stage.path("project/made").exists());
    assert_eq!(stage.ledger().await, "1 calls, 0 unfinished, 0 denied, 1 failed");
    assert!(stage.lines().contains(r#""capability":"exec""#));
}

#[test]
fn paths_do_not_escape() {
    let strict = json!({ "mode": "strict", "grants": { "g1": [{ "capability": "read" }, { "capability": "write" }] } });
    let denied = |capability: &str, path: &str| {
        format!(
            "denied Extension g1 wanted {capability}: {path} and may not (nothing grants it, and the mode is strict). To allow \
             it: pi ext allow g1 {capability} --path {path}"
        )
    };
    let expected = [
        denied("read", "ROOT/home/.ssh/id_rsa"),
        denied("read", "ROOT/home/.ssh/id_rsa"),
        denied("write", "ROOT/project/.pi/settings.json").replace("ROOT/project/", ""),
        "invalid_request params.path: the path contains a NUL".to_owned(),
        "home/.ssh/id_rsa: PRIVATE".to_owned(),
        "4 calls, 0 unfinished, 3 denied, 1 failed".to_owned(),
    ];
    check(
        Plan { policy: strict, ..Plan::default() },
        r#"fs {"op":"read","path":"../home/.ssh/id_rsa"}
           fs {"op":"read","path":"a/../../home/./.ssh/id_rsa"}
           fs {"op":"write","path":".pi/settings.json","content":{"text":"{}"},"mode":"replace"}
           fs {"op":"read","path":"a\u0000b"}
           show home/.ssh/id_rsa"#,
        &expected.join("\n"),
    );
}

#[test]
fn what_others_said_and_run_is_not_the_guests() {
    let denied = |capability: &str, path: &str, why: &str| {
        format!(
            "denied Extension g1 wanted {capability}: {path} and may not ({why}). To allow it: pi ext allow g1 {capability} --path {path}"
        )
    };
    let strict = "nothing grants it, and the mode is strict";
    let policy = json!({ "mode": "strict", "grants": { "g1": [{ "capability": "read" }, { "capability": "write" }] } });
    let expected = [
        r#"ok {"content":{"text":"own"}}"#.to_owned(),
        denied("read", "ROOT/agent/sessions/other.jsonl", strict),
        denied("read", "ROOT/project/kept/other.jsonl", strict).replacen("ROOT/project/", "", 1),
        denied(
            "read",
            "ROOT/agent/mcp.json",
            "what holds credentials or keys is denied unless its path is granted in full",
        ),
        r#"ok {"content":{"text":"code"}}"#.to_owned(),
        denied("write", "ROOT/project/tools/b.ts", strict).replace("ROOT/project/", ""),
        "project/tools/b.ts: code".to_owned(),
        "6 calls, 0 unfinished, 4 denied, 0 failed".to_owned(),
    ];
    check(
        Plan { policy, programs: vec!["project/tools/b.ts"], ..Plan::default() },
        r#"file agent/sessions/own.jsonl own
           file agent/sessions/other.jsonl other
           file project/kept/other.jsonl other
           file agent/mcp.json {}
           file project/tools/b.ts code
           fs {"op":"read","path":"ROOT/agent/sessions/own.jsonl"}
           fs {"op":"read","path":"ROOT/agent/sessions/other.jsonl"}
           fs {"op":"read","path":"kept/other.jsonl"}
           fs {"op":"read","path":"ROOT/agent/mcp.json"}
           fs {"op":"read","path":"tools/b.ts"}
           fs {"op":"write","path":"tools/b.ts","content":{"text":"evil"},"mode":"replace"}
           show project/tools/b.ts"#,
        &expected.join("\n"),
    );
}

/// While a guest reads a file, the file becomes a link to a secret and back.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn link_that_appears_meanwhile_is_not_followed() {
    let grants = json!({ "mode": "strict", "grants": { "g1": [{ "capability": "read" }, { "capability": "write" }] } });
    let stage = Stage::new(Plan { policy: grants, ..Plan::default() });
    let (plain, trap, swapped) = (stage.path("project/plain"), stage.path("project/trap"), stage.path("project/f"));
    fs::write(&plain, "public").expect("a file");
    fs::write(&swapped, "public").expect("a file");
    symlink(stage.path("home/.ssh/id_rsa"), &trap).expect("a link");
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let racer = std::thread::spawn(move || {
        let (copy, link) = (plain.with_extension("copy"), trap.with_extension("link"));
        while !stopped.load(Ordering::Relaxed) {
            fs::copy(&plain, &copy).expect("a copy");
            fs::rename(&copy, &swapped).expect("a rename");
            symlink(fs::read_link(&trap).expect("a link"), &link).expect("a link");
            fs::rename(&link, &swapped).expect("a rename");
        }
    });
    for _ in 0..300 {
        let result = stage.ask("fs", json!({ "op": "read", "path": "f" })).await;
        if result.error.is_none() {
            assert_eq!(result.output["content"], json!({ "text": "public" }));
        }
        stage.ask("fs", json!({ "op": "append", "path": "f", "content": { "text": "" } })).await;
    }
    stop.store(true, Ordering::Relaxed);
    racer.join().expect("no panic");
    assert_eq!(fs::read_to_string(stage.path("home/.ssh/id_rsa")).expect("a file"), "PRIVATE");
}

#[test]
fn environment_is_not_harvested() {
    let variables = BTreeMap::from([
        ("HOME".to_owned(), "/h".to_owned()),
        ("ANTHROPIC_API_KEY".to_owned(), "sk-ant-REDACTED".to_owned()),
        ("PLAIN".to_owned(), "p".to_owned()),
    ]);
    check(
        Plan { variables: variables.clone(), ..Plan::default() },
        r#"env {"op":"list"}
           env {"op":"get","name":"HOME"}
           env {"op":"get","name":"ANTHROPIC_API_KEY"}
           credentials {"op":"get","provider":"anthropic"}"#,
        r#"ok {"names":["HOME"]}
           ok {"value":"/h"}
           denied Extension g1 wanted env: ANTHROPIC_API_KEY and may not (denied unless it is granted by name). To allow it: pi ext allow g1 env --env ANTHROPIC_API_KEY
           denied Extension g1 wanted credentials and may not (denied unless it is granted by name). To allow it: pi ext allow g1 credentials
           4 calls, 0 unfinished, 2 denied, 0 failed"#,
    );
    // Even a grant of all variables does not mean the secrets.
    check(
        Plan { variables, policy: json!({ "grants": { "g1": [{ "capability": "env" }] } }), ..Plan::default() },
        r#"env {"op":"list"}
           env {"op":"get","name":"ANTHROPIC_API_KEY"}"#,
        r#"ok {"names":["HOME","PLAIN"]}
           denied Extension g1 wanted env: ANTHROPIC_API_KEY and may not (it holds a secret, and those are handed out only if a grant names them). To allow it: pi ext allow g1 env --env ANTHROPIC_API_KEY
           2 calls, 0 unfinished, 1 denied, 0 failed"#,
    );
}

/// In permissive mode as well: what is told as allowed is given.
#[tokio::test(flavor = "multi_thread")]
async fn secret_variable_is_denied_in_the_ledger_and_told() {
    for policy in
        [json!({ "grants": { "g1": [{ "capability": "env" }] } }), json!({ "mode": "permissive", "deny_caps": [] })]
    {
        let variables = BTreeMap::from([("API_KEY".to_owned(), "abc".to_owned())]);
        let stage = Stage::new(Plan { variables, policy, ..Plan::default() });
        let error = stage.ask("env", json!({ "op": "get", "name": "API_KEY" })).await.error.expect("it is denied");
        assert_eq!(error.details.expect("details")["command"], "pi ext allow g1 env --env API_KEY");
        stage.dispatcher.close().await;
        let told = stage.session.asked().into_iter().filter(|line| line.contains("tell of g1")).count();
        assert_eq!(told, 1, "{:?}", stage.session.asked());
        let lines = stage.lines();
        assert!(lines.contains(r#""verdict":"deny""#) && !lines.contains(r#""verdict":"allow""#), "{lines}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_do_not_get_the_secrets_of_the_host() {
    let grants = json!({ "grants": { "g1": [{ "capability": "exec" }] } });
    let stage = Stage::new(Plan { policy: grants, ..Plan::default() });
    let params = json!({ "command": "env", "args": [], "env": {}, "stream": false });
    let output = stage.ask("exec", params).await.output["stdout"]["text"].as_str().expect("a text").to_owned();
    let names: Vec<&str> = output.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.iter().all(|name| ["PATH", "HOME", "PI_CALL"].contains(name)), "{names:?}");
}
