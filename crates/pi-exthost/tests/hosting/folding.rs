//! How the answers of several guests become one verdict, family by family.

use pi_exthost::{
    GuestId,
    verdict::{
        BashVerdict, CompactionVerdict, ContextVerdict, InputVerdict, MessageVerdict, RequestVerdict, SessionVerdict,
        StartVerdict, ToolCallVerdict, ToolResultVerdict, TreeVerdict, TrustVerdict, TurnVerdict, Verdict,
    },
};
use pi_extproto::{
    connector::tool::{ContentBlock, TextBlock},
    hook::{Hook, ResourcePaths, Summary, WarmingOutcome},
};
use pi_transcript::Message;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::house::House;

/// Each guest answers the event with its outcome (`null`: it listens and has nothing to say). What came of it, and the
/// last thing that the last guest heard.
async fn fold(name: &str, data: &Value, outcomes: &[Value]) -> (Verdict, Option<Value>) {
    let script = |outcome: &Value| match outcome {
        Value::Null => format!("on {name}"),
        outcome => format!("on {name}\noutcome {outcome}"),
    };
    let scripts: Vec<_> = outcomes.iter().map(script).collect();
    let house = House::new(&scripts.iter().map(String::as_str).collect::<Vec<_>>());
    let (verdict, _) = house.fire(name, data, &CancellationToken::new()).await;
    assert_eq!(house.incidents(), [""; 0]);
    let heard = house.scripted.last().and_then(|guest| guest.heard().pop());
    let heard = heard.map(|line| line.split_once(' ').map(|(_, json)| json.to_owned()).expect("a name before it"));
    (verdict, heard.map(|json| serde_json::from_str(&json).expect("JSON")))
}

async fn check(name: &str, data: Value, outcomes: &[Value], expected: Verdict) {
    let (verdict, _) = fold(name, &data, outcomes).await;
    assert_eq!(verdict, expected, "{name} {outcomes:?}");
}

/// As [`check`], with a guest behind the others: what it hears is what they made of the event.
async fn check_chain(name: &str, data: Value, outcomes: &[Value], expected: Verdict, seen: Value) {
    let with_last: Vec<_> = outcomes.iter().cloned().chain([Value::Null]).collect();
    let (verdict, heard) = fold(name, &data, &with_last).await;
    assert_eq!((verdict, heard), (expected, Some(seen)), "{name} {outcomes:?}");
}

fn outcome(family: &str, outcome: Value) -> Value {
    let mut answer = json!({ "family": family });
    answer["outcome"] = outcome;
    answer
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("readable")
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(TextBlock { text: text.to_owned() })
}

fn a() -> GuestId {
    "a".into()
}

fn b() -> GuestId {
    "b".into()
}

fn call() -> Value {
    json!({ "toolName": "t", "toolCallId": "c", "input": { "n": 0 } })
}

#[tokio::test]
async fn without_answers_everything_proceeds() {
    let samples = [
        ("session_directory", json!({ "cwd": "/p" })),
        ("project_trust", json!({ "cwd": "/p" })),
        ("resources_discover", json!({ "cwd": "/p", "reason": "startup" })),
        ("session_before_switch", json!({ "reason": "new" })),
        ("session_before_fork", json!({ "entryId": "e" })),
        ("input", json!({ "text": "hi", "source": "rpc" })),
        ("before_agent_start", json!({ "prompt": "p", "systemPrompt": "s" })),
        ("message_end", json!({ "message": { "role": "user", "content": "hi", "timestamp": 1 } })),
        ("tool_call", call()),
        ("user_bash", json!({ "command": "ls", "excludeFromContext": false, "cwd": "/p" })),
        ("context", json!({ "messages": [] })),
        ("before_provider_request", json!({ "payload": {} })),
        ("before_provider_headers", json!({ "headers": {} })),
        ("agent_start", Value::Null),
    ];
    for (name, data) in samples {
        let untouched = Verdict::untouched(Hook::find(name).expect("a hook").family());
        check(name, data.clone(), &[], untouched.clone()).await;
        check(name, data.clone(), &[Value::Null, json!({ "family": "notice" })], untouched).await;
    }
}

#[tokio::test]
async fn first_block_wins_and_nobody_hears_the_call_after_it() {
    let block = |reason: &str| outcome("tool_call", json!({ "action": "block", "reason": reason, "terminate": true }));
    let blocked =
        Verdict::ToolCall(ToolCallVerdict::Blocked { by: b(), reason: Some("no".to_owned()), terminate: true });
    let outcomes = [outcome("tool_call", json!({ "action": "continue" })), block("no"), block("never")];
    let (verdict, heard) = fold("tool_call", &call(), &outcomes).await;
    assert_eq!((verdict, heard), (blocked, None));
}

#[tokio::test]
async fn arguments_are_handed_from_guest_to_guest() {
    let transform = |n: u64| outcome("tool_call", json!({ "action": "transform", "input": { "n": n } }));
    let input = json!({ "n": 2 });
    let verdict = ToolCallVerdict::Transformed { by: vec![a(), b()], input: read(input.clone()) };
    let seen = json!({ "toolName": "t", "toolCallId": "c", "input": input });
    check_chain("tool_call", call(), &[transform(1), transform(2)], Verdict::ToolCall(verdict), seen).await;
}

#[tokio::test]
async fn arguments_that_stay_what_they_were_are_not_changed() {
    let heard = json!({ "toolName": "t", "toolCallId": "c", "input": { "n": 1.0, "all": [{ "of": 2 }] } });
    let transform = |input: &Value| outcome("tool_call", json!({ "action": "transform", "input": input }));
    let same = json!({ "n": 1, "all": [{ "of": 2.0 }] });
    let (verdict, _) = fold("tool_call", &heard, &[transform(&heard["input"]), transform(&same)]).await;
    assert_eq!(verdict, Verdict::ToolCall(ToolCallVerdict::Proceed));
    let less = json!({ "all": [{ "of": 2 }] });
    let (verdict, _) = fold("tool_call", &heard, &[transform(&heard["input"]), transform(&less)]).await;
    assert_eq!(verdict, Verdict::ToolCall(ToolCallVerdict::Transformed { by: vec![b()], input: read(less) }));
}

#[tokio::test]
async fn calls_in_a_replaced_message_are_those_of_who_put_them_in_or_changed_them() {
    let call = |id: &str, n: f64| json!({ "type": "toolCall", "id": id, "name": "t", "arguments": { "n": n } });
    let message = |content: Value| {
        json!({ "role": "assistant", "content": content, "api": "x", "provider": "x", "model": "x",
            "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
                "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } },
            "stopReason": "toolUse", "timestamp": 1 })
    };
    let text = || json!({ "type": "text", "text": "x" });
    for (contents, expected) in [
        // What is left as it was, left out or put elsewhere is nobody's.
        (vec![json!([call("1", 1.0), text()])], vec![]),
        (vec![json!([text(), call("2", 2.0)])], vec![]),
        (vec![json!([call("2", 2.0), call("1", 1.0)])], vec![]),
        (vec![json!([call("1", 7.0), call("2", 2.0)])], vec!["a 1 7.0"]),
        (vec![json!([call("3", 1.0), call("2", 2.0)])], vec!["a 3 1.0"]),
        // The same twice is one more.
        (vec![json!([call("1", 1.0), call("1", 1.0)])], vec!["a 1 1.0"]),
        // Each answers for what it made of what it heard.
        (vec![json!([call("3", 1.0)]), json!([call("3", 1.0), text()])], vec!["a 3 1.0"]),
        (vec![json!([call("1", 7.0)]), json!([call("1", 8.0)])], vec!["a 1 7.0", "b 1 8.0"]),
    ] {
        let data = json!({ "message": message(json!([call("1", 1.0), call("2", 2.0)])) });
        let replace = |content| outcome("message", json!({ "action": "replace", "message": message(content) }));
        let outcomes: Vec<Value> = contents.into_iter().map(replace).collect();
        let (Verdict::Message(MessageVerdict::Replaced { calls, .. }), _) = fold("message_end", &data, &outcomes).await
        else {
            panic!("the message was replaced");
        };
        let told: Vec<String> =
            calls.iter().map(|(by, call)| format!("{by} {} {}", call.id, call.arguments["n"])).collect();
        assert_eq!(told, expected);
    }
}

#[tokio::test]
async fn patches_of_a_result_add_up() {
    let data = json!({ "toolName": "t", "toolCallId": "c", "input": {}, "content": [{ "type": "text", "text": "x" }],
        "details": { "d": 1 }, "isError": false });
    let patch = |mut patch: Value| {
        patch["action"] = json!("transform");
        outcome("tool_result", patch)
    };
    let outcomes = [patch(json!({ "content": [{ "type": "text", "text": "y" }] })), patch(json!({ "is_error": true }))];
    let (content, details) = (vec![text("y")], Some(json!({ "d": 1 })));
    let verdict = ToolResultVerdict::Transformed { by: b(), content, details, is_error: true };
    let mut seen = data.clone();
    seen["content"][0]["text"] = json!("y");
    seen["isError"] = json!(true);
    check_chain("tool_result", data, &outcomes, Verdict::ToolResult(verdict), seen).await;
}

#[tokio::test]
async fn input_is_transformed_in_turn_until_somebody_handles_it() {
    let data = json!({ "text": "hi", "source": "interactive" });
    let transform =
        |text: &str| outcome("input", json!({ "action": "transform", "content": [{ "type": "text", "text": text }] }));
    let handled = outcome("input", json!({ "action": "handled" }));
    let verdict = InputVerdict::Transformed { by: b(), text: "two".to_owned(), images: Vec::new() };
    let seen = json!({ "text": "two", "source": "interactive" });
    let outcomes = [transform("one"), transform("two")];
    check_chain("input", data.clone(), &outcomes, Verdict::Input(verdict), seen).await;
    let verdict = Verdict::Input(InputVerdict::Handled { by: b() });
    let (found, heard) = fold("input", &data, &[transform("one"), handled, transform("two")]).await;
    assert_eq!((found, heard), (verdict, None));
}

#[tokio::test]
async fn images_come_with_the_text_that_replaces_the_old() {
    let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
    let data = json!({ "text": "hi", "images": [image], "source": "rpc" });
    let content = json!([{ "type": "text", "text": "see" }, image]);
    let with_image = outcome("input", json!({ "action": "transform", "content": content }));
    let images = vec![read(json!({ "data": "AA==", "mimeType": "image/png" }))];
    let verdict = InputVerdict::Transformed { by: a(), text: "see".to_owned(), images };
    check("input", data, &[with_image], Verdict::Input(verdict)).await;
}

#[tokio::test]
async fn start_messages_accumulate_and_the_system_prompt_is_chained() {
    let draft = |n: u64| json!({ "custom_type": format!("t{n}"), "content": [], "display": false });
    let start = |n: u64| outcome("start", json!({ "message": draft(n), "system_prompt": format!("prompt {n}") }));
    let verdict = StartVerdict {
        messages: vec![(a(), read(draft(1))), (b(), read(draft(2)))],
        system_prompt: Some((b(), "prompt 2".to_owned())),
    };
    let seen = json!({ "prompt": "p", "systemPrompt": "prompt 2" });
    let data = json!({ "prompt": "p", "systemPrompt": "s" });
    check_chain("before_agent_start", data, &[start(1), start(2)], Verdict::Start(verdict), seen).await;
}

#[tokio::test]
async fn entries_of_a_turn_accumulate_and_the_last_wish_counts() {
    let entry = |n: u64| json!({ "type": "custom", "customType": format!("t{n}") });
    let turn = |n: u64, resume: Value| outcome("turn", json!({ "entries": [entry(n)], "resume": resume }));
    let verdict = TurnVerdict { entries: vec![(a(), read(entry(1))), (b(), read(entry(2)))], resume: Some(true) };
    let outcomes = [turn(1, json!(true)), turn(2, Value::Null)];
    let settle = json!({ "entries": [], "continue": false });
    let seen = json!({ "entries": [entry(1), entry(2)], "continue": true });
    check_chain("agent_before_settle", settle, &outcomes, Verdict::Turn(verdict.clone()), seen).await;
    let end = json!({ "turnIndex": 0, "message": {}, "toolResults": [] });
    let mut seen = end.clone();
    seen["entries"] = json!([entry(1), entry(2)]);
    seen["continue"] = json!(true);
    check_chain("turn_end", end, &outcomes, Verdict::Turn(verdict), seen).await;
}

#[tokio::test]
async fn message_is_replaced_by_one_of_its_role() {
    let message = |text: &str| json!({ "role": "user", "content": text, "timestamp": 1 });
    let replace = |text: &str| outcome("message", json!({ "action": "replace", "message": message(text) }));
    let verdict = MessageVerdict::Replaced { by: b(), message: Box::new(Message::user("two", 1)), calls: Vec::new() };
    let (data, seen) = (json!({ "message": message("hi") }), json!({ "message": message("two") }));
    check_chain("message_end", data, &[replace("one"), replace("two")], Verdict::Message(verdict), seen).await;
}

#[tokio::test]
async fn messages_for_the_model_are_replaced_in_turn() {
    let message = |text: &str| json!({ "role": "user", "content": text, "timestamp": 1 });
    let replace = |text: &str| outcome("context", json!({ "action": "replace", "messages": [message(text)] }));
    let verdict = ContextVerdict::Replaced { by: b(), messages: vec![Message::user("two", 1)] };
    for name in ["context", "context_with_system"] {
        let (data, seen) = (json!({ "messages": [] }), json!({ "messages": [message("two")] }));
        let outcomes = [replace("one"), replace("two")];
        check_chain(name, data, &outcomes, Verdict::Context(verdict.clone()), seen).await;
    }
}

#[tokio::test]
async fn request_is_replaced_in_turn() {
    let replace = |n: u64| outcome("request", json!({ "action": "replace", "payload": { "n": n } }));
    let verdict = RequestVerdict::Replaced { by: b(), payload: json!({ "n": 2 }) };
    let (data, seen) = (json!({ "payload": {} }), json!({ "payload": { "n": 2 } }));
    check_chain("before_provider_request", data, &[replace(1), replace(2)], Verdict::Request(verdict), seen).await;
}

#[tokio::test]
async fn headers_are_changed_whatever_the_case_of_their_names() {
    let first = json!([{ "action": "set", "name": "X-A", "value": "1" }, { "action": "remove", "name": "x-gone" }]);
    let second = json!([{ "action": "set", "name": "x-a", "value": "2" }]);
    let changes = [(a(), &first[0]), (a(), &first[1]), (b(), &second[0])];
    let changes = changes.map(|(by, change)| (by, read(change.clone()))).to_vec();
    let data = json!({ "headers": { "x-a": "0", "X-Gone": "g", "x-kept": "k" } });
    let seen = json!({ "headers": { "x-a": "2", "x-kept": "k" } });
    let outcomes = [outcome("headers", first), outcome("headers", second)];
    check_chain("before_provider_headers", data, &outcomes, Verdict::Headers(changes), seen).await;
}

#[tokio::test]
async fn paths_of_all_are_kept() {
    let paths = |n: u64| json!({ "skill_paths": [format!("s{n}")], "prompt_paths": [], "theme_paths": [] });
    let (data, outcomes) = (json!({ "cwd": "/p", "reason": "reload" }), [1, 2].map(|n| outcome("resources", paths(n))));
    let named = |n: u64| ResourcePaths { skill_paths: vec![format!("s{n}")], ..ResourcePaths::default() };
    check("resources_discover", data, &outcomes, Verdict::Resources(vec![(a(), named(1)), (b(), named(2))])).await;
}

#[tokio::test]
async fn first_decision_about_trust_counts() {
    let trust = |word: &str| outcome("trust", json!({ "trusted": word, "remember": word == "no" }));
    let outcomes = [trust("undecided"), trust("no"), trust("yes")];
    let verdict = TrustVerdict::Distrusted { by: b(), remember: true };
    check("project_trust", json!({ "cwd": "/p" }), &outcomes, Verdict::Trust(verdict)).await;
    let verdict = TrustVerdict::Trusted { by: a(), remember: false };
    check("project_trust", json!({ "cwd": "/p" }), &[trust("yes"), trust("no")], Verdict::Trust(verdict)).await;
}

#[tokio::test]
async fn last_answer_counts_for_the_session_directory_and_the_cache() {
    let outcomes = ["/one", "/two"].map(|folder| outcome("session_directory", json!(folder)));
    let verdict = Verdict::SessionDirectory(Some((b(), "/two".to_owned())));
    check("session_directory", json!({ "cwd": "/p" }), &outcomes, verdict).await;
    let data = json!({ "warmCost": 1.0, "missCost": 2.0, "continuationProbability": 0.5, "action": "warm" });
    let mut seen = data.clone();
    seen["action"] = json!("stop");
    let outcomes = ["warm", "stop"].map(|action| outcome("warming", json!({ "action": action })));
    let verdict = Verdict::Warming(Some((b(), WarmingOutcome::Stop)));
    check_chain("cache_warming_decision", data, &outcomes, verdict, seen).await;
}

#[tokio::test]
async fn objection_ends_what_was_about_to_happen() {
    let cancel = |family: &str| [Value::Null, outcome(family, json!({ "action": "cancel" })), Value::Null];
    let verdict = Verdict::Session(SessionVerdict::Cancelled { by: b() });
    check("session_before_switch", json!({ "reason": "new" }), &cancel("session"), verdict.clone()).await;
    check("session_before_fork", json!({ "entryId": "e" }), &cancel("session"), verdict).await;
    let verdict = Verdict::Compaction(CompactionVerdict::Cancelled { by: b() });
    check("session_before_compact", compaction(), &cancel("compaction"), verdict).await;
    let verdict = Verdict::Tree(TreeVerdict::Cancelled { by: b() });
    check("session_before_tree", tree(), &cancel("tree"), verdict).await;
}

fn compaction() -> Value {
    json!({ "branchEntries": [], "preparation": { "firstKeptEntryId": "e", "messagesToSummarize": [],
        "turnPrefixMessages": [], "isSplitTurn": false, "tokensBefore": 1 } })
}

fn tree() -> Value {
    json!({ "preparation": { "targetId": "t", "entriesToSummarize": [], "userWantsSummary": false } })
}

#[tokio::test]
async fn last_summary_counts() {
    let summary = |n: u64| {
        let summary = json!({ "summary": format!("s{n}"), "first_kept_entry_id": "e", "tokens_before": n });
        let mut replace = summary;
        replace["action"] = json!("replace");
        outcome("compaction", replace)
    };
    let expected =
        Summary { summary: "s2".to_owned(), first_kept_entry_id: "e".into(), tokens_before: 2, details: None };
    let verdict = CompactionVerdict::Replaced { by: b(), summary: expected };
    let outcomes = [summary(1), summary(2)];
    check("session_before_compact", compaction(), &outcomes, Verdict::Compaction(verdict)).await;
    let replace = |n: u64| outcome("tree", json!({ "action": "replace", "summary": format!("s{n}") }));
    let verdict = TreeVerdict::Replaced { by: b(), summary: read(json!({ "summary": "s2" })) };
    check("session_before_tree", tree(), &[replace(1), replace(2)], Verdict::Tree(verdict)).await;
}

#[tokio::test]
async fn first_who_runs_a_shell_command_has_run_it() {
    let result = |n: i32| json!({ "output": "o", "exit_code": n, "cancelled": false, "truncated": false });
    let handled = |n: i32| {
        let mut handled = result(n);
        handled["action"] = json!("handled");
        outcome("bash", handled)
    };
    let data = json!({ "command": "ls", "excludeFromContext": false, "cwd": "/p" });
    let verdict = BashVerdict::Handled { by: a(), result: read(result(1)) };
    check("user_bash", data, &[handled(1), handled(2)], Verdict::Bash(verdict)).await;
}

#[tokio::test]
async fn handlers_of_one_guest_are_heard_in_the_order_of_their_registration() {
    let transform = |n: u64| outcome("tool_call", json!({ "action": "transform", "input": { "n": n } }));
    let script = format!("on tool_call\noutcome {}\non tool_call\noutcome {}", transform(1), transform(2));
    let house = House::new(&[&script]);
    let (verdict, _) = house.fire("tool_call", &call(), &CancellationToken::new()).await;
    assert_eq!(
        verdict,
        Verdict::ToolCall(ToolCallVerdict::Transformed { by: vec![a()], input: read(json!({ "n": 2 })) })
    );
    let lines = house.heard(0);
    assert_eq!(lines.len(), 2);
    assert!(lines[1].contains(r#""input":{"n":1}"#), "{lines:?}");
}

#[tokio::test]
async fn older_names_of_an_event_are_heard_as_well() {
    let house = House::new(&["on session_start\non session_switch\non session_fork", "on session_fork"]);
    assert!(House::new(&["on session_fork"]).guests.listens(Hook::SessionStart));
    assert!(!House::new(&["on session_fork"]).guests.listens(Hook::SessionSwitch));
    for reason in ["startup", "new", "fork"] {
        let data = json!({ "reason": reason, "previousSessionFile": "/s" });
        house.fire("session_start", &data, &CancellationToken::new()).await;
    }
    let expected = [
        r#"session_start {"reason":"startup","previousSessionFile":"/s"}"#,
        r#"session_start {"reason":"new","previousSessionFile":"/s"}"#,
        r#"session_switch {"reason":"new","previousSessionFile":"/s"}"#,
        r#"session_start {"reason":"fork","previousSessionFile":"/s"}"#,
        r#"session_fork {"previousSessionFile":"/s"}"#,
    ];
    assert_eq!(house.heard(0), expected);
    assert_eq!(house.heard(1), [r#"session_fork {"previousSessionFile":"/s"}"#]);
}

#[tokio::test]
async fn channel_is_heard_by_those_who_listen_to_it() {
    let house = House::new(&["channel news\non bus", "channel weather\non bus", "on bus"]);
    house.fire("bus", &json!({ "channel": "news", "data": 1 }), &CancellationToken::new()).await;
    let heard: Vec<_> = (0..3).map(|guest| house.heard(guest).len()).collect();
    assert_eq!(heard, [1, 0, 0]);
}

#[tokio::test]
async fn event_is_not_made_when_nobody_listens() {
    let house = House::new(&["on tool_result"]);
    let never = CancellationToken::new();
    let verdict = house.guests.tool_call(|| unreachable!("nobody listens"), std::future::ready, &never).await;
    assert_eq!(verdict, ToolCallVerdict::Proceed);
    house.guests.notice(Hook::AgentStart, || unreachable!("nobody listens"), &never).await;
}
