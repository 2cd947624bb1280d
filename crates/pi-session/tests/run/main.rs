//! Whole runs over a real socket: what is said, what the model answers, what happens.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a test makes and reads the files of its project")]

mod answering;
mod compaction;
mod desks;
mod foreign;
mod guests;
mod heard;
mod hooks;
mod journey;
mod leaving;
mod order;
mod origins;
mod power;
mod scope;
mod shown;
mod spoken;
mod stage;
mod tell;
mod veiled;
mod written;

use std::time::Duration;

use pi_exthost::questions::OpenQuestion;
use pi_session::{Ending, PromptError, Prompted, Switch, input::Utterance, queue::When};
use pi_testkit::model::{Answer, refusal};
use pi_transcript::{
    AgentEvent,
    question::{Asker, Question},
};
use serde_json::json;

use self::stage::{PLANTED, Stage, saying};

/// Whether the end of an attempt says that another one follows.
fn is_followed(line: &str) -> bool {
    line.ends_with(", then a retry")
}

#[tokio::test]
async fn answer_is_told_and_written() {
    let mut stage = Stage::new([Answer::new().text("Hello there.").usage(10, 3).reply()]).await;
    let told = stage.play("hi").await;
    let expected = "agent_start
turn_start
user starts
user \"hi\"
assistant starts
  text_end \"Hello there.\"
assistant \"Hello there.\" Stop
turn_end with 0
agent_end with 2
settled";
    assert_eq!(told, expected);
    assert_eq!(stage.lines().await, ["session", "model_change", "thinking_level_change", "user", "assistant"]);
}

#[tokio::test]
async fn question_that_is_put_away_is_not_told_as_unanswered() {
    let call = Answer::new().call("c1", "write", &json!({ "path": "../outside.txt", "content": "x" })).reply();
    let settings = json!({ "agent": { "policy": { "mode": "prompt" } } });
    let mut stage = Stage::with([call, Answer::new().text("I may not.").reply()], |blueprint| {
        blueprint.policy = pi_policy::config::load(settings.to_string().as_bytes()).unwrap().value.into();
    })
    .await;
    let session = stage.session.clone();
    let running = tokio::spawn(async move { session.prompt(saying("write")).await });
    stage.until(|event| matches!(event, AgentEvent::ExtensionUiRequest { .. })).await;
    let question = stage.session.open_questions().await.unwrap().remove(0);
    stage.session.answer(question.id, pi_transcript::question::Answer::Cancelled).await.unwrap().unwrap();
    let told = stage.until(|event| matches!(event, AgentEvent::AgentSettled { .. })).await;
    assert!(told.contains("tool write is not allowed: deny write: a person dismissed the question"), "{told}");
    running.await.unwrap().unwrap();
}

/// What a person is asked before a command of the model runs, who puts the question away.
async fn asked_before_running(command: &str) -> OpenQuestion {
    let call = Answer::new().call("c1", "bash", &json!({ "command": command })).reply();
    let settings = json!({ "agent": { "policy": { "mode": "prompt", "default_caps": ["read"] } } });
    let mut stage = Stage::with([call, Answer::new().text("I may not.").reply()], |blueprint| {
        blueprint.policy = pi_policy::config::load(settings.to_string().as_bytes()).unwrap().value.into();
    })
    .await;
    let session = stage.session.clone();
    let running = tokio::spawn(async move { session.prompt(saying("run")).await });
    stage.until(|event| matches!(event, AgentEvent::ExtensionUiRequest { .. })).await;
    let open = stage.session.open_questions().await.unwrap().remove(0);
    stage.session.answer(open.id.clone(), pi_transcript::question::Answer::Cancelled).await.unwrap().unwrap();
    running.await.unwrap().unwrap();
    open
}

#[tokio::test]
async fn person_is_asked_about_all_that_would_be_run() {
    let script = format!("echo building {}\n# all is well\necho really > owned.txt", ".".repeat(4000));
    let open = asked_before_running(&script).await;
    let Asker::Host { approval } = &open.asker else { panic!("{:?}", open.asker) };
    assert_eq!((&approval.target, &approval.folder), (&script, &None));
    let Question::Select { title, timeout, .. } = open.asked.question() else { panic!("{:?}", open.asked) };
    assert_eq!(*title, format!("The model asks for exec:\n│ {}", script.replace('\n', "\n│ ")));
    assert_eq!(*timeout, None);
}

#[tokio::test]
async fn yes_for_the_session_is_offered_where_it_is_remembered() {
    for (command, expected) in [
        ("cargo check", &["No", "Yes, this once", "Yes, for this session"][..]),
        ("eval \"$(cat x)\"", &["No", "Yes, this once"][..]),
    ] {
        let open = asked_before_running(command).await;
        let Question::Select { options, .. } = open.asked.question() else { panic!("{command}: {:?}", open.asked) };
        assert_eq!(options, expected, "{command}");
    }
}

#[tokio::test]
async fn call_that_is_not_allowed_is_told_with_the_reason() {
    let call = Answer::new().call("c1", "bash", &json!({ "command": "true" })).reply();
    let settings = json!({ "agent": { "policy": { "denies": [{ "capability": "exec" }] } } });
    let mut stage = Stage::with([call, Answer::new().text("I may not.").reply()], |blueprint| {
        blueprint.policy = pi_policy::config::load(settings.to_string().as_bytes()).unwrap().value.into();
    })
    .await;
    let told = stage.play("run it").await;
    let about: Vec<_> =
        told.lines().filter(|line| line.contains("tool bash is") || line.starts_with("result")).collect();
    let reason = "deny exec: denied by agent.policy.denies[0]";
    let expected = [
        format!("tool bash is not allowed: {reason}: true; take that out to allow it"),
        format!(
            "result of bash failed {:?}",
            format!("Not allowed: {reason}. Do not try the same another way; ask the user, or go on without it.")
        ),
    ];
    assert_eq!(about, expected);
}

#[tokio::test]
async fn call_is_run_and_its_result_goes_back_to_the_model() {
    let call = Answer::new().call("c1", "write", &json!({ "path": "a.txt", "content": "abc" }));
    let mut stage = Stage::new([call.reply(), Answer::new().text("Done.").reply()]).await;
    let told = stage.play("write").await;
    let expected = "agent_start
turn_start
user starts
user \"write\"
assistant starts
  toolcall_start
assistant \"\" ToolUse
tool write {\"path\":\"a.txt\",\"content\":\"abc\"} starts
tool write ends
toolResult starts
result of write \"Successfully wrote 3 bytes to a.txt\"
turn_end with 1
turn_start
assistant starts
  text_end \"Done.\"
assistant \"Done.\" Stop
turn_end with 0
agent_end with 4
settled";
    assert_eq!(told, expected);
    assert_eq!(std::fs::read_to_string(stage.path("a.txt")).unwrap(), "abc");
    let sent = stage.server.requests()[1].json();
    let roles: Vec<_> = sent["messages"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
    assert_eq!(
        stage.lines().await,
        ["session", "model_change", "thinking_level_change", "user", "assistant", "toolResult", "assistant"]
    );
}

#[tokio::test]
async fn unknown_tool_and_bad_arguments_are_results_that_the_model_reads() {
    let calls = Answer::new()
        .call("c1", "fly", &json!({}))
        .call("c2", "read", &json!({ "path": 7, "limit": "many" }))
        .call("c3", "write", &json!({ "path": "", "content": "x" }));
    let mut stage = Stage::new([calls.reply(), Answer::new().text("Sorry.").reply()]).await;
    let told = stage.play("go").await;
    let results: Vec<&str> = told.lines().filter(|line| line.starts_with("result")).collect();
    assert_eq!(results[0], "result of fly failed \"Tool fly not found. There are: read, bash, edit, write.\"");
    assert!(results[1].contains("limit: expected number, got string"), "{}", results[1]);
    assert_eq!(results[2], "result of write failed \"The arguments do not fit:\\n- path: empty\"");
}

#[tokio::test]
async fn secret_in_a_result_reaches_neither_model_nor_file_nor_clients() {
    let call = Answer::new().call("c1", "read", &json!({ "path": ".env" }));
    let mut stage = Stage::new([call.reply(), Answer::new().text("Read.").reply()]).await;
    std::fs::write(stage.path(".env"), format!("KEY={PLANTED}\n")).unwrap();
    let told = stage.play("read it").await;
    let sent = String::from_utf8(stage.server.requests()[1].body.clone()).unwrap();
    assert!(!told.contains(PLANTED), "{told}");
    assert!(!sent.contains(PLANTED) && sent.contains("KEY="), "{sent}");
    stage.lines().await;
    let file = std::fs::read_to_string(stage.path("../session.jsonl")).unwrap();
    assert!(!file.contains(PLANTED) && file.contains("KEY="), "{file}");
}

#[tokio::test]
async fn failed_turn_is_tried_again_and_the_failure_stays_in_the_file() {
    let answers = [refusal(529, "overloaded_error", "busy"), Answer::new().text("Now.").reply()];
    let mut stage = Stage::new(answers).await;
    let told = stage.play("hi").await;
    let expected = "agent_start
turn_start
user starts
user \"hi\"
assistant starts
assistant \"\" Error (scripted answered: 529 overloaded: busy)
turn_end with 0
agent_end with 2, then a retry
retry 1 of 3: scripted answered: 529 overloaded: busy
agent_start
turn_start
assistant starts
  text_end \"Now.\"
assistant \"Now.\" Stop
retry helped
turn_end with 0
agent_end with 1
settled";
    assert_eq!(told, expected);
    assert_eq!(
        stage.lines().await,
        ["session", "model_change", "thinking_level_change", "user", "assistant", "assistant"]
    );
}

#[tokio::test]
async fn failure_after_a_good_answer_is_a_first_one() {
    let refused = || refusal(429, "rate_limit_error", "slowly");
    let call = |id: &str| Answer::new().call(id, "write", &json!({ "path": "a", "content": "" })).reply();
    let answers = ["c1", "c2", "c3", "c4"].into_iter().flat_map(|id| [refused(), call(id)]);
    let mut stage = Stage::new(answers.chain([Answer::new().text("Done.").reply()])).await;
    let told = stage.play("hi").await;
    let tries: Vec<&str> = told.lines().filter(|line| line.starts_with("retry")).collect();
    assert_eq!(tries, ["retry 1 of 3: scripted answered: 429 rate_limited: slowly", "retry helped"].repeat(4));
    assert!(told.ends_with("settled"), "{told}");
}

#[tokio::test]
async fn every_try_is_one_request_and_is_told() {
    let answers = (0..8).map(|_| refusal(529, "overloaded_error", "busy"));
    // The recovery of a circuit is not waited for.
    let mut stage = Stage::with(answers, |blueprint| blueprint.retry.longest = Duration::from_secs(1)).await;
    let told = stage.play("hi").await;
    let tries: Vec<&str> = told.lines().filter(|line| line.starts_with("retry")).collect();
    let busy = "scripted answered: 529 overloaded: busy";
    let expected = [1, 2, 3].map(|number| format!("retry {number} of 3: {busy}"));
    assert_eq!(tries, [&expected[0], &expected[1], &expected[2], "retry given up after 3"]);
    let ends: Vec<bool> = told.lines().filter(|line| line.starts_with("agent_end")).map(is_followed).collect();
    assert_eq!(ends, [true, true, true, false], "{told}");
    assert_eq!(stage.server.requests().len(), 4);
    let told = stage.play("again").await;
    assert_eq!(told.lines().filter(|line| line.contains(busy) && line.starts_with("retry")).count(), 3, "{told}");
    assert_eq!(stage.server.requests().len(), 8, "the circuit that opens does not hold up who opened it");
    let told = stage.play("once more").await;
    assert!(told.contains("scripted failed too often; it is tried again in 30 s: scripted answered: 529"), "{told}");
}

#[tokio::test]
async fn try_that_nobody_waits_for_is_not_counted() {
    let answers = (0..2).map(|_| refusal(429, "rate_limit_error", "slowly"));
    let mut stage = Stage::with(answers, |blueprint| blueprint.retry.base = Duration::from_secs(40)).await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("hi")).await })
    };
    stage.until(|event| matches!(event, AgentEvent::AutoRetryStart { .. })).await;
    stage.session.abort_retry().await.unwrap();
    assert!(matches!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Failed { .. }))));
    let told = stage.until(|event| matches!(event, AgentEvent::AgentSettled { .. })).await;
    assert!(told.contains("retry given up after 0"), "{told}");
    assert_eq!(stage.server.requests().len(), 1);
}

#[tokio::test]
async fn what_a_guardrail_finds_is_told() {
    let mut stage = Stage::new([Answer::new().text("Nothing happens.").reply()]).await;
    let told = stage.play("say xyzzy").await;
    let expected = json!({
        "type": "guardrail", "filter": "house_rules", "action": "warn", "side": "input", "texts": 1,
        "message": "guardrail house_rules found something in a text of the prompt",
    });
    let found: Vec<serde_json::Value> = told
        .lines()
        .filter(|line| line.contains("guardrail"))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(found, [expected]);
}

/// Else nothing could be said in the session any more.
#[tokio::test]
async fn what_a_filter_blocked_is_left_out_from_then_on() {
    let read = Answer::new().text("Looking.").call("c1", "read", &json!({ "path": "a" })).reply();
    let replies = [Answer::new().text("Hello.").reply(), read, Answer::new().text("Yes.").reply()];
    let mut stage = Stage::new(replies).await;
    std::fs::write(stage.path("a"), "the plugh").unwrap();
    stage.play("first").await;
    let told = stage.play("say plugh").await;
    assert!(told.contains("what was blocked stays in the session and is left out"), "{told}");
    assert!(told.ends_with("guardrail secrets blocked the prompt"), "{told}");
    // The result of the call is blocked; the call stays.
    stage.play("read it").await;
    stage.play("well?").await;
    let requests = stage.server.requests();
    assert_eq!(requests.len(), 3);
    let sent = requests[2].json()["messages"].clone();
    let texts: Vec<String> = sent.as_array().unwrap().iter().map(|message| message["content"].to_string()).collect();
    let all = texts.join(" ");
    assert!(!all.contains("plugh"), "{all}");
    assert!(all.contains("first") && all.contains("read it") && all.contains("well?"), "{all}");
    assert!(all.contains("a filter of the provider blocked it"), "{all}");
}

#[tokio::test]
async fn lasting_error_is_not_tried_again() {
    let mut stage = Stage::new([refusal(401, "invalid_api_key", "no")]).await;
    let told = stage.play("hi").await;
    assert!(!told.contains("retry"), "{told}");
    assert!(told.ends_with("=> failed (authentication): scripted answered: 401 authentication: no"), "{told}");
}

#[tokio::test]
async fn steering_comes_after_the_calls_and_follow_up_at_the_end() {
    let call = Answer::new().hold().call("c1", "write", &json!({ "path": "a", "content": "" }));
    let rest = ["Steered.", "Followed."].map(|text| Answer::new().text(text).reply());
    let mut stage = Stage::new([call.reply()].into_iter().chain(rest)).await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("start")).await })
    };
    stage.server.received(1).await;
    assert_eq!(stage.session.prompt(saying("no")).await, Err(PromptError::Busy));
    for (text, when) in [("later", When::FollowUp), ("left", When::Steer)] {
        let queued = stage.session.prompt_during(saying(text), when).await;
        assert_eq!(queued, Ok(Prompted::Queued(when)));
    }
    stage.server.release(1);
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Done)));
    let told = stage.until(|event| matches!(event, AgentEvent::AgentSettled { .. })).await;
    let said: Vec<&str> = told
        .lines()
        .filter(|line| ["user \"", "assistant \"", "result"].iter().any(|start| line.starts_with(start)))
        .collect();
    let expected = [
        "user \"start\"",
        "assistant \"\" ToolUse",
        "result of write \"Successfully wrote 0 bytes to a\"",
        "user \"left\"",
        "assistant \"Steered.\" Stop",
        "user \"later\"",
        "assistant \"Followed.\" Stop",
    ];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn what_waits_for_a_run_that_fails_is_handed_back_as_it_was_typed() {
    let mut stage = Stage::new([Answer::new().text("Half").hold().cut().reply()]).await;
    stage.session.set_auto_retry(Switch::Off).await.unwrap();
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("start")).await })
    };
    stage.server.received(1).await;
    let queued = stage.session.say_during(Utterance::new("/greet Ada"), When::FollowUp).await;
    assert_eq!(queued, Ok(Prompted::Queued(When::FollowUp)));
    assert_eq!(stage.session.state().await.unwrap().waiting.follow_up, ["/greet Ada"]);
    assert_eq!(stage.session.take_stranded().await, Ok(Vec::new()), "the run is still there");
    stage.server.release(1);
    assert!(matches!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Failed { .. }))));
    let stranded = stage.session.take_stranded().await.unwrap();
    let told: Vec<(String, String)> = stranded.iter().map(|saying| (saying.written(), saying.text())).collect();
    assert_eq!(told, [("/greet Ada".to_owned(), "Greet Ada warmly.".to_owned())]);
    let told =
        stage.until(|event| matches!(event, AgentEvent::QueueUpdate { follow_up, .. } if follow_up.is_empty())).await;
    assert!(told.contains("queue [] [\"/greet Ada\"]"), "{told}");
    assert_eq!(stage.session.take_stranded().await, Ok(Vec::new()));
}

#[tokio::test]
async fn abort_in_the_middle_of_an_answer_keeps_what_was_said() {
    let mut stage = Stage::new([Answer::new().text("Half of ").hold().text("it").reply()]).await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("start")).await })
    };
    let is_piece = |event: &AgentEvent| matches!(event, AgentEvent::MessageUpdate { .. });
    stage.until(is_piece).await;
    stage.session.abort().await.unwrap();
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Aborted)));
    let told = stage.until(|event| matches!(event, AgentEvent::AgentSettled { .. })).await;
    assert!(told.contains("assistant \"Half of \" Aborted"), "{told}");
    assert!(told.ends_with("settled aborted"), "{told}");
    stage.server.abandoned(1).await;
}

#[tokio::test]
async fn reads_are_answered_while_the_model_works() {
    let stage = Stage::new([Answer::new().hold().text("x").reply()]).await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("start")).await })
    };
    stage.server.received(1).await;
    let state = stage.session.state().await.unwrap();
    assert!(state.is_running);
    assert_eq!(stage.session.messages().await.unwrap().len(), 1);
    stage.server.release(1);
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Done)));
}

#[tokio::test]
async fn session_whose_file_is_deleted_is_whole_in_memory() {
    let answers = ["One.", "Two.", "Three."].map(|text| Answer::new().text(text).usage(10, 3).reply());
    let mut stage = Stage::new(answers).await;
    stage.play("first").await;
    stage.play("second").await;
    assert!(!stage.session.state().await.unwrap().is_failing);
    stage.session.flush().await.unwrap();
    let lines = std::fs::read_to_string(stage.file()).unwrap().lines().count();
    std::fs::remove_file(stage.file()).unwrap();
    stage.play("third").await;
    assert!(stage.session.state().await.unwrap().is_failing);
    let whole = stage.session.whole().await.unwrap();
    let written = pi_session::export::session_file(&whole);
    assert_eq!(written.lines().count(), lines + 2, "{written}");
    let story = pi_session::export::markdown(&pi_session::export::story(&whole));
    for text in ["first", "One.", "second", "Two.", "third", "Three."] {
        assert!(story.contains(text), "{text} is missing in {story}");
    }
    assert_eq!(pi_session::export::calls_of(&whole).1, 3);
}
