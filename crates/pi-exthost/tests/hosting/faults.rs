//! What a guest can do wrong, and what it costs.

use std::{sync::Arc, time::Duration};

use pi_exthost::{
    guest::ToolInvocation,
    verdict::{BashVerdict, ToolCallVerdict, Verdict},
};
use pi_extproto::{
    Object,
    hook::{Hook, event::Event},
};
use serde_json::{Value, json};
use tokio::{join, sync::mpsc, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::house::House;

const TRANSFORM: &str = r#"on tool_call
    outcome {"family":"tool_call","outcome":{"action":"transform","input":{"n":1}}}"#;

fn call() -> Value {
    json!({ "toolName": "t", "toolCallId": "c", "input": {} })
}

fn blocked(by: &str, reason: &str) -> Verdict {
    let reason = Some(reason.to_owned());
    Verdict::ToolCall(ToolCallVerdict::Blocked { by: by.into(), reason, terminate: false })
}

/// A fault in a handler of a notice: reported, and the next guest hears the event all the same.
async fn check_notice(fault: &str, incident: &str, time: Duration) {
    let house = House::new(&[&format!("on agent_start\n{fault}"), "on agent_start"]);
    let (verdict, elapsed) = house.fire("agent_start", &Value::Null, &CancellationToken::new()).await;
    assert_eq!((verdict, elapsed), (Verdict::Notice, time), "{fault}");
    assert_eq!(house.incidents(), [format!("a at agent_start: {incident}")]);
    assert_eq!(house.heard(1), ["agent_start null"]);
}

/// A fault in a guard: reported, and the call is blocked whatever the others say.
async fn check_guard(fault: &str, reason: &str) {
    let house = House::new(&[TRANSFORM, &format!("on tool_call\n{fault}"), TRANSFORM]);
    let (verdict, _) = house.fire("tool_call", &call(), &CancellationToken::new()).await;
    let remedy = "; /reload starts it anew, and `pi ext disable b` goes on without it";
    let remedy = if fault == "gone" { remedy } else { "" };
    assert_eq!(verdict, blocked("b", &format!("extension b failed: {reason}{remedy}")), "{fault}");
    assert_eq!(house.incidents(), [format!("b at tool_call: {reason}")]);
    assert_eq!(house.heard(2), [""; 0]);
}

const FAULTS: [(&str, &str); 5] = [
    ("throw no idea", "no idea"),
    ("panic boom", "the extension panicked: boom"),
    ("hang", "the extension did not answer within 10s"),
    ("gone", "the extension does not run any more"),
    (
        r#"outcome {"family":"session","outcome":{"action":"cancel"}}"#,
        "the extension answered an event of another kind",
    ),
];

#[tokio::test(start_paused = true)]
async fn fault_costs_the_answer_and_nothing_else() {
    for (fault, incident) in FAULTS {
        let time = if fault == "hang" { Duration::from_secs(10) } else { Duration::ZERO };
        check_notice(fault, incident, time).await;
    }
}

#[tokio::test(start_paused = true)]
async fn guards_fail_closed() {
    for (fault, reason) in FAULTS {
        check_guard(fault, reason).await;
    }
    let input = r#"outcome {"family":"tool_call","outcome":{"action":"transform","input":[1]}}"#;
    check_guard(input, "the extension answered with arguments that are not an object").await;
    let house = House::new(&["on user_bash\nthrow no idea"]);
    let bash = json!({ "command": "ls", "excludeFromContext": false, "cwd": "/p" });
    let (verdict, _) = house.fire("user_bash", &bash, &CancellationToken::new()).await;
    let reason = "extension a failed: no idea".to_owned();
    assert_eq!(verdict, Verdict::Bash(BashVerdict::Blocked { by: "a".into(), reason }));
}

/// An answer of the right family that nobody could use: reported, and as if it had not been given.
async fn check_misfit(name: &str, data: Value, outcome: Value, problem: &str) {
    let house = House::new(&[&format!("on {name}\noutcome {outcome}")]);
    let (verdict, _) = house.fire(name, &data, &CancellationToken::new()).await;
    assert_eq!(verdict, Verdict::untouched(Hook::find(name).expect("a hook").family()));
    assert_eq!(house.incidents(), [format!("a at {name}: the extension answered with {problem}")]);
}

#[tokio::test]
async fn answer_that_nobody_could_use_is_reported() {
    let user = json!({ "message": { "role": "user", "content": "hi", "timestamp": 1 } });
    let replace =
        |message: Value| json!({ "family": "message", "outcome": { "action": "replace", "message": message } });
    let other_role = replace(json!({ "role": "system", "content": "x", "timestamp": 1 }));
    let problem = r#"a message of role Some("system") in the place of one of role Some("user")"#;
    check_misfit("message_end", user.clone(), other_role, problem).await;
    let problem = r#"a message of role "user" with missing or wrong members"#;
    check_misfit("message_end", user, replace(json!({ "role": "user" })), problem).await;
    let no_role = json!({ "family": "context", "outcome": { "action": "replace", "messages": [{}] } });
    check_misfit("context", json!({ "messages": [] }), no_role, "a message without a role").await;
    let turn = |entry: Value| json!({ "family": "turn", "outcome": { "entries": [entry] } });
    let end = json!({ "turnIndex": 0, "message": {}, "toolResults": [] });
    let problem = r#"an entry of type "message", which it may not add"#;
    check_misfit("turn_end", end.clone(), turn(json!({ "type": "message" })), problem).await;
    check_misfit("turn_end", end.clone(), turn(json!({})), "an entry without a type").await;
    check_misfit("turn_end", end, turn(json!(1)), "entries that are not an object").await;
}

#[tokio::test(start_paused = true)]
async fn cancelled_guest_that_heeds_it_is_not_blamed() {
    let house = House::new(&["on agent_start\nheed", "on agent_start"]);
    let cancel = CancellationToken::new();
    let abort = async {
        sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let ((_, elapsed), ()) = join!(house.fire("agent_start", &Value::Null, &cancel), abort);
    assert_eq!(elapsed, Duration::from_secs(1));
    assert_eq!(house.incidents(), [""; 0]);
    assert_eq!(house.heard(0), ["agent_start null", "cancelled"]);
    assert_eq!(house.heard(1), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn cancelled_guest_that_does_not_stop_is_abandoned() {
    let house = House::new(&["on agent_start\nhang"]);
    let cancel = CancellationToken::new();
    let abort = async {
        sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let ((_, elapsed), ()) = join!(house.fire("agent_start", &Value::Null, &cancel), abort);
    assert_eq!(elapsed, Duration::from_millis(1050));
    assert_eq!(house.incidents(), ["a at agent_start: the extension did not stop within 50ms of being cancelled"]);
    assert_eq!(house.heard(0), ["agent_start null", "abandoned"]);
}

#[tokio::test(start_paused = true)]
async fn guard_that_was_not_asked_any_more_blocks() {
    let house = House::new(&["on tool_call\nhang", TRANSFORM]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let (verdict, elapsed) = house.fire("tool_call", &call(), &cancel).await;
    assert_eq!((verdict, elapsed), (blocked("a", "cancelled"), Duration::ZERO));
    assert_eq!(house.incidents(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn dispatch_that_is_dropped_abandons_the_guest() {
    let house = House::new(&["on agent_start\nhang"]);
    let cancel = CancellationToken::new();
    let dispatch = house.guests.dispatch(Event::AgentStart, &cancel);
    assert!(tokio::time::timeout(Duration::from_secs(1), dispatch).await.is_err());
    assert_eq!(house.heard(0), ["agent_start null", "abandoned"]);
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_all_side_by_side_and_for_none_for_ever() {
    let house = House::new(&["shutdown\nwait 4000", "shutdown\nhang", "shutdown\npanic late", ""]);
    let start = tokio::time::Instant::now();
    house.guests.shutdown().await;
    assert_eq!(start.elapsed(), Duration::from_secs(10));
    let expected =
        ["c at shutdown: the extension panicked: late", "b at shutdown: the extension did not answer within 10s"];
    assert_eq!(house.incidents(), expected);
    assert_eq!(house.heard(3), ["shutdown"]);
}

#[tokio::test]
async fn everything_can_be_done_from_a_task() {
    let house = Arc::new(House::new(&["on tool_call\ntool t\nanswer done\ncommand go"]));
    let task = tokio::spawn(async move {
        let never = CancellationToken::new();
        let event = || serde_json::from_value(call()).expect("a payload");
        let verdict = house.guests.tool_call(event, std::future::ready, &never).await;
        let (updates, _) = mpsc::channel(1);
        let invocation = ToolInvocation { call_id: "c".into(), name: "t".to_owned(), input: Object::new(), updates };
        let answer = house.guests.tool("t").expect("a tool").call(invocation, &never).await;
        let ran = house.guests.command("go").expect("a command").run(String::new(), &never).await;
        (verdict, answer.is_ok(), ran)
    });
    assert_eq!(task.await.expect("no panic"), (ToolCallVerdict::Proceed, true, Ok(())));
}
