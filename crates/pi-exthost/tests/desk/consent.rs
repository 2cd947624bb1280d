//! Being asked: once per capability, remembered as wished, and by nobody else than a person.

use std::{fs, sync::Arc};

use pi_exthost::{GrantsFile, Occasion, Terms, consent::Change, guests::Influenced, port::Settled};
use pi_extproto::{capability::Capability, connector::tool::ToolUse};
use pi_policy::{
    Provenance,
    config::{GrantEntry, ScopeEntry},
};
use pi_transcript::question::Question;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::stage::{Plan, Rescue, Stage, check, chose, now};

fn tool(name: &str) -> serde_json::Value {
    json!({ "name": name, "input": {} })
}

fn questions(stage: &Stage) -> usize {
    stage.session.asked().iter().filter(|line| line.contains(" ask ")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_calls_ask_once_and_the_answer_holds_for_the_session() {
    let stage = Stage::new(Plan { answers: vec![chose("Yes, tool for this session")], ..Plan::default() });
    let calls = (0..8).map(|number| stage.ask("tool", tool(&format!("deploy{number}"))));
    for result in futures_util::future::join_all(calls).await {
        let error = result.error.expect("there is no such tool");
        assert!(error.message.starts_with("there is no tool deploy"), "{}", error.message);
    }
    assert_eq!(questions(&stage), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn question_names_the_call_that_waits_for_it() {
    let stage = Stage::new(Plan { answers: vec![chose("Yes, this once")], ..Plan::default() });
    let call = json!({ "call_id": "c", "capability": "tool", "method": "tool", "params": tool("deploy") });
    let call = serde_json::from_value(call).expect("a call");
    let terms = Terms { occasion: Occasion::ToolCall("t7".into()), ..Terms::background() };
    stage.desk.exchange(call, terms).await;
    let asked = stage.session.asked();
    assert!(asked.iter().any(|line| line.ends_with("ask approval of tool for t7")), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_holds_for_the_session_and_is_announced_once() {
    let stage = Stage::new(Plan { answers: vec![chose("No, not in this session")], ..Plan::default() });
    for _ in 0..5 {
        let error = stage.ask("tool", tool("deploy")).await.error.expect("refused");
        assert_eq!(json!(error.code), "denied");
        let details = error.details.expect("details");
        assert_eq!(details["extension"], "g1");
        assert_eq!(details["wanted"], "tool: deploy");
        assert_eq!(details["command"], "pi ext allow g1 tool");
    }
    assert_eq!(questions(&stage), 1);
    tokio::task::yield_now().await;
    let told: Vec<_> = stage.session.asked().into_iter().filter(|line| line.contains("tell of g1")).collect();
    assert!(told.len() <= 1, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_denial_is_told_once_and_the_eighth_is_the_last_of_its_kind() {
    let stage = Stage::new(Plan::default());
    for number in [0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9] {
        stage.ask("env", json!({ "op": "get", "name": format!("V{number}") })).await;
    }
    stage.ask("exec", json!({ "command": "git", "args": [], "env": {}, "stream": false })).await;
    // Nobody has to wait for what is being told but whoever closes.
    stage.dispatcher.close().await;
    let told: Vec<_> = stage.session.asked().into_iter().filter(|line| line.contains("tell of g1")).collect();
    let of = |number: usize| told.iter().filter(|line| line.contains(&format!("env: V{number} "))).count();
    assert_eq!((0..10).map(of).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 1, 1, 1, 0, 0], "{told:?}");
    let last: Vec<_> = told.iter().filter(|line| line.contains("Further refusals")).collect();
    assert!(last.len() == 1 && last[0].contains("env: V7 "), "{told:?}");
    assert!(told.iter().any(|line| line.contains("exec: git ")), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn dismissed_question_is_not_put_again_at_once() {
    let stage = Stage::new(Plan { answers: vec![Settled::Cancelled, chose("Yes, this once")], ..Plan::default() });
    for _ in 0..3 {
        let error = stage.ask("tool", tool("deploy")).await.error.expect("refused");
        assert!(error.message.contains("dismissed"), "{}", error.message);
    }
    assert_eq!(questions(&stage), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn lasting_answers_are_written_down_with_version_and_end() {
    let stage = Stage::new(Plan { answers: vec![chose("Yes, tool for 30 days"), chose("Never")], ..Plan::default() });
    stage.ask("tool", tool("deploy")).await;
    stage.ask("fs", json!({ "op": "read", "path": "ROOT/home/x" })).await;
    let path = stage.path("agent/extension-grants.json");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    }
    let policy = GrantsFile::new(&path).read().expect("decisions");
    let grants = &policy.grants["g1"];
    assert_eq!(
        (grants.len(), &grants[0].capability, grants[0].versions.as_deref()),
        (1, &Capability::Tool, Some("^1.2.3"))
    );
    assert!(grants[0].expires.is_some());
    assert_eq!(policy.denies["g1"][0].capability, Capability::Read);
}

#[tokio::test(flavor = "multi_thread")]
async fn grant_that_is_given_elsewhere_counts_at_the_next_call() {
    let stage = Stage::new(Plan { policy: json!({ "mode": "strict" }), ..Plan::default() });
    fs::write(stage.path("project/f"), "x").expect("a file");
    let read = || stage.ask("fs", json!({ "op": "read", "path": "f" }));
    assert!(read().await.error.is_some());
    let grant = GrantEntry {
        capability: Capability::Read,
        methods: None,
        scope: None,
        versions: None,
        expires: None,
        origin: None,
    };
    let file = GrantsFile::in_folder(&stage.path("agent"));
    let changed = file.change("g1", Change::Allow { grants: vec![grant], now: now() }).expect("it is written");
    assert_eq!((changed.added, changed.removed), (1, 0));
    assert!(read().await.error.is_none());
}

/// Whoever opens it waits for the one who writes; then it is a file with these words.
#[cfg(unix)]
fn write_into_pipe(path: &std::path::Path, text: &str) {
    use std::io::Write;
    let mut pipe = fs::OpenOptions::new().write(true).open(path).expect("a reader");
    pipe.write_all(text.as_bytes()).expect("it is read");
    let draft = path.with_extension("draft");
    fs::write(&draft, text).and_then(|()| fs::rename(&draft, path)).expect("a file");
}

#[cfg(unix)]
#[tokio::test]
async fn disk_that_does_not_answer_holds_up_nobody_else() {
    const GRANT: &str = r#"{"version":1,"grants":{"g1":[{"capability":"read"}]},"denies":{}}"#;
    let stage = Stage::new(Plan { policy: json!({ "mode": "strict" }), ..Plan::default() });
    fs::write(stage.path("project/f"), "x").expect("a file");
    let path = stage.path("agent/extension-grants.json");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    let rescued = path.clone();
    let rescue = Rescue::with(move || write_into_pipe(&rescued, GRANT));
    let read = stage.ask("fs", json!({ "op": "read", "path": "f" }));
    // The other task of this thread gets its turn while the first one waits for the disk.
    let write = async { tokio::task::spawn_blocking(move || write_into_pipe(&path, GRANT)).await.expect("written") };
    let (result, ()) = tokio::join!(read, write);
    assert!(result.error.is_none(), "{:?}", result.error);
    assert!(!rescue.was_needed(), "the thread was held up");
}

#[tokio::test]
async fn lock_of_another_program_holds_up_nobody_else() {
    let stage = Stage::new(Plan { answers: vec![chose("Yes, tool for 30 days")], ..Plan::default() });
    let lock = fs::File::create(stage.path("agent/extension-grants.lock")).expect("a file");
    lock.lock().expect("it is free");
    let held = lock.try_clone().expect("the same lock");
    let rescue = Rescue::with(move || held.unlock().expect("it was held"));
    let release = async {
        while questions(&stage) == 0 {
            tokio::task::yield_now().await;
        }
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        lock.unlock().expect("it was held");
    };
    tokio::join!(stage.ask("tool", tool("deploy")), release);
    assert!(!rescue.was_needed(), "the thread was held up");
    let decisions = GrantsFile::in_folder(&stage.path("agent")).read().expect("decisions");
    assert_eq!(decisions.grants["g1"][0].capability, Capability::Tool);
}

#[test]
fn project_takes_away_and_adds_nothing() {
    check(
        Plan {
            policy: json!({ "grants": { "g1": [{ "capability": "exec" }] } }),
            project: Some(json!({ "denies": { "g1": [{ "capability": "exec" }] },
                                  "grants": { "g1": [{ "capability": "env" }] }, "mode": "permissive" })),
            ..Plan::default()
        },
        r#"exec {"command":"true","args":[],"env":{},"stream":false}
           env {"op":"get","name":"SECRET"}"#,
        r#"denied Extension g1 wanted exec: true and may not (denied by extensions.policy.denies["g1"][0]). To change it, remove extensions.policy.denies["g1"][0] from the settings
           denied Extension g1 wanted env: SECRET and may not (denied unless it is granted by name). To allow it: pi ext allow g1 env --env SECRET
           2 calls, 0 unfinished, 2 denied, 0 failed"#,
    );
}

#[test]
fn extension_of_an_untrusted_project_gets_nothing() {
    check(
        Plan {
            provenance: Provenance::UntrustedProject,
            policy: json!({ "mode": "permissive", "grants": { "g1": [{ "capability": "read" }] } }),
            ..Plan::default()
        },
        r#"file project/f x
           fs {"op":"read","path":"f"}
           log {"level":"info","event":"x","message":"m"}"#,
        r#"denied Extension g1 wanted read: f and may not (the project that brings the extension is not trusted). To change it, trust the project first
           denied Extension g1 wanted log and may not (the project that brings the extension is not trusted). To change it, trust the project first
           2 calls, 0 unfinished, 2 denied, 0 failed"#,
    );
}

#[test]
fn declared_scope_binds_whatever_is_granted() {
    check(
        Plan {
            policy: json!({ "mode": "permissive" }),
            manifest: Some(json!({ "schema": "pi.ext.cap.v1", "capabilities": [
                { "capability": "read", "methods": ["fs"], "scope": { "paths": ["src/**"] } } ] })),
            ..Plan::default()
        },
        r#"file project/src/a x
           file project/b y
           fs {"op":"read","path":"src/a"}
           fs {"op":"read","path":"b"}
           tool {"name":"read","input":{"path":"src/a"}}
           fs {"op":"remove","path":"b","recursive":false}"#,
        r#"ok {"content":{"text":"x"}}
           denied Extension g1 wanted read: b and may not (outside the declared scope). To change it, declare it: add {"capability":"read","methods":["fs"],"scope":{"paths":["b"]}} to capability_manifest.capabilities in /extensions/g1/extension.json
           denied Extension g1 wanted read: src/a and may not (not declared for this method). To change it, declare it: add {"capability":"read","methods":["tool"]} to capability_manifest.capabilities in /extensions/g1/extension.json
           denied Extension g1 wanted write: b and may not (not declared). To change it, declare it: add {"capability":"write","methods":["fs"]} to capability_manifest.capabilities in /extensions/g1/extension.json
           4 calls, 0 unfinished, 3 denied, 0 failed"#,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn question_names_who_asks_and_cannot_be_given_lines_of_its_own() {
    let stage = Stage::new(Plan { answers: vec![Settled::Cancelled], ..Plan::default() });
    let path = "/etc/hosts\n\n  Safe file, press enter";
    stage.ask("fs", json!({ "op": "read", "path": path })).await;
    let questions = stage.session.questions();
    let [asked] = questions.as_slice() else { panic!("{questions:?}") };
    let Question::Select { title, options, .. } = asked.question() else { panic!("{asked:?}") };
    let expected = "Extension g1 asks for read: /etc/hosts␊␊  Safe file, press enter\nIt comes from /extensions/g1";
    assert_eq!(title, expected);
    assert_eq!(options[0], "No, not in this session", "what is taken without a thought allows nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn question_shows_all_of_a_command_behind_a_margin() {
    let policy = json!({ "mode": "prompt", "deny_caps": [] });
    let stage = Stage::new(Plan { policy, answers: vec![Settled::Cancelled], ..Plan::default() });
    let script = format!("echo {}\nIt comes from a good place # safe\nrm -r important", ".".repeat(3000));
    stage.ask("exec", json!({ "command": "bash", "args": ["-c", script], "env": {}, "stream": false })).await;
    let questions = stage.session.questions();
    let [asked] = questions.as_slice() else { panic!("{questions:?}") };
    let Question::Select { title, .. } = asked.question() else { panic!("{asked:?}") };
    let quoted = format!("bash -c {script}").replace('\n', "\n│ ");
    assert_eq!(*title, format!("Extension g1 asks for exec:\n│ {quoted}\nIt comes from /extensions/g1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_for_long_is_for_the_extension_that_asked() {
    let stage = Stage::new(Plan { answers: vec![chose("Yes, tool for 30 days")], ..Plan::default() });
    stage.ask("tool", tool("deploy")).await;
    let policy = GrantsFile::in_folder(&stage.path("agent")).read().expect("decisions");
    assert_eq!(policy.grants["g1"][0].origin.as_deref(), Some("/extensions/g1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn grant_for_another_of_the_name_is_told_and_does_not_count() {
    let stage = Stage::new(Plan { policy: json!({ "mode": "strict" }), ..Plan::default() });
    fs::write(stage.path("project/f"), "x").expect("a file");
    let origin = Some("/elsewhere/g1".to_owned());
    let grant =
        GrantEntry { capability: Capability::Read, methods: None, scope: None, versions: None, expires: None, origin };
    let file = GrantsFile::in_folder(&stage.path("agent"));
    file.change("g1", Change::Allow { grants: vec![grant], now: now() }).expect("it is written");
    let error = stage.ask("fs", json!({ "op": "read", "path": "f" })).await.error.expect("refused");
    let told = "the grant was given to another extension of this name, the one from /elsewhere/g1";
    assert!(error.message.contains(told), "{}", error.message);
    assert!(error.message.ends_with("--from /extensions/g1"), "{}", error.message);
    let seen = pi_exthost::SeenFile::in_folder(&stage.path("agent")).read();
    assert_eq!(seen["g1"].origin.as_deref(), Some("/extensions/g1"));
}

#[test]
fn forgotten_decisions_leave_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = GrantsFile::in_folder(folder.path());
    let grant =
        |capability| GrantEntry { capability, methods: None, scope: None, versions: None, expires: None, origin: None };
    let deny = |capability| pi_policy::config::DenyEntry { capability, methods: None, scope: None, versions: None };
    file.change("g", Change::Allow { grants: vec![grant(Capability::Read), grant(Capability::Exec)], now: now() })
        .expect("written");
    file.change("g", Change::Deny(deny(Capability::Env))).expect("written");
    let forget =
        |capability: &str| file.change("g", Change::Forget(Capability::from(capability))).expect("written").removed;
    assert_eq!((forget("exec"), forget("exec"), forget("*")), (1, 0, 2));
    let left = file.read().expect("decisions");
    assert!(left.grants.is_empty() && left.denies.is_empty(), "{left:?}");
}

#[test]
fn grant_takes_the_place_of_those_that_are_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = GrantsFile::in_folder(folder.path());
    let commands = |command: &str| ScopeEntry { commands: Some(vec![command.to_owned()]), ..ScopeEntry::default() };
    let grant = |capability, command, expires: Option<&str>| GrantEntry {
        capability,
        methods: None,
        scope: Some(commands(command)),
        versions: None,
        expires: expires.map(str::to_owned),
        origin: None,
    };
    let (past, future) = (Some("2020-01-01T00:00:00Z"), Some("2999-01-01T00:00:00Z"));
    let old = vec![
        grant(Capability::Exec, "ls", past),
        grant(Capability::Exec, "git", future),
        grant(Capability::Exec, "cp", None),
    ];
    let before = pi_policy::Moment::from_unix_millis(0);
    file.change("g", Change::Allow { grants: old, now: before }).expect("written");
    let new = vec![grant(Capability::Exec, "cat", None)];
    let changed = file.change("g", Change::Allow { grants: new, now: now() }).expect("written");
    assert_eq!((changed.added, changed.removed), (1, 0));
    let kept = file.read().expect("decisions").grants["g"].iter().map(|grant| grant.scope.clone()).collect::<Vec<_>>();
    assert_eq!(kept, ["git", "cp", "cat"].map(|command| Some(commands(command))));
}

#[test]
fn grant_that_holds_is_blamed_before_one_that_is_over() {
    let grants = json!([
        { "capability": "exec", "expires": "2020-01-01T00:00:00Z" },
        { "capability": "exec", "scope": { "commands": ["git log"] } },
    ]);
    check(
        Plan { policy: json!({ "grants": { "g1": grants } }), ..Plan::default() },
        r#"exec {"command":"true","args":[],"env":{},"stream":false}"#,
        "denied Extension g1 wanted exec: true and may not (denied unless it is granted by name; what you granted does not cover \
         it: commands git log and true do not match). To allow it: pi ext allow g1 exec --command true
         1 calls, 0 unfinished, 1 denied, 0 failed",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_agent_does_for_a_guest_is_decided_and_recorded_as_its_own() {
    let stage = Stage::new(Plan::default());
    let guests = Arc::new(pi_exthost::Guests::none());
    let ask = async |name: &str, input: serde_json::Value| {
        let input = input.as_object().expect("an object").clone();
        let influenced = Influenced { id: Some("c1".into()), call: ToolUse { name: name.to_owned(), input } };
        guests.answer_for(&"g1".into(), influenced, &CancellationToken::new()).await.map_err(|error| error.message)
    };
    let path = stage.path("project/made").display().to_string();
    let refused = ask("write", json!({ "path": path, "content": "x" })).await;
    assert_eq!(refused, Err("extension g1 is not there any more".to_owned()));
    stage.dispatcher.introduce(&guests);
    assert_eq!(ask("write", json!({ "path": path, "content": "x" })).await, Ok(()));
    assert!(!stage.path("project/made").exists(), "that is for the agent to do");
    let refused = ask("bash", json!({ "command": "true" })).await.expect_err("exec is denied");
    assert!(refused.contains("Extension g1 wanted exec: true and may not"), "{refused}");
    assert_eq!(stage.ledger().await, "2 calls, 0 unfinished, 1 denied, 0 failed");
}
