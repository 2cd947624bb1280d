//! What is shown of a conversation, event by event.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use pi_terminal::{
    Theme,
    chat::Chat,
    look::{Detail, Look, Thoughts},
};
use pi_transcript::AgentEvent;
use serde_json::{Value, json};

const NOW: Duration = Duration::from_secs(100);

fn look(theme: &Theme) -> Look<'_> {
    Look { width: 40, theme, detail: Detail::Short, thoughts: Thoughts::Shown, now: NOW }
}

fn event(value: Value) -> AgentEvent {
    let event: AgentEvent = serde_json::from_value(value).unwrap();
    assert!(!matches!(event, AgentEvent::Other(_)), "no event: {event:?}");
    event
}

fn assistant(content: &Value, stop: &str) -> Value {
    json!({ "role": "assistant", "content": content, "api": "x", "provider": "p", "model": "m", "usage":
        { "input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
          "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } },
        "stopReason": stop, "errorMessage": if stop == "error" { json!("it broke") } else { json!("stopped by you") },
        "timestamp": 0 })
}

fn delta(update: &Value) -> AgentEvent {
    event(json!({ "type": "message_update", "assistantMessageEvent": update }))
}

fn start() -> AgentEvent {
    event(json!({ "type": "message_start", "message": assistant(&json!([]), "pending") }))
}

fn end(content: &Value, stop: &str) -> AgentEvent {
    event(json!({ "type": "message_end", "message": assistant(content, stop) }))
}

/// What is printed, a line that is only `---`, and what is live.
#[track_caller]
fn check(events: &[AgentEvent], expected: &[&str]) {
    check_with(events, |_| {}, expected);
}

#[track_caller]
fn check_with(events: &[AgentEvent], change: impl FnOnce(&mut Look<'_>), expected: &[&str]) {
    let theme = Theme::plain();
    let mut look = look(&theme);
    change(&mut look);
    let mut chat = Chat::default();
    for event in events {
        chat.apply(event, NOW);
    }
    let mut shown: Vec<String> = chat.take_finished(&look).iter().map(ToString::to_string).collect();
    shown.push("---".to_owned());
    shown.extend(chat.live(&look, 100).iter().map(ToString::to_string));
    assert_eq!(shown, expected);
}

#[test]
fn what_the_user_says_is_printed_at_once() {
    let said = event(
        json!({ "type": "message_start", "message": { "role": "user", "content": "hello\nthere", "timestamp": 0 } }),
    );
    check(&[said], &["", "❯ hello", "  there", "---"]);
}

#[test]
fn text_is_printed_by_sections_while_it_comes() {
    let mut events = vec![start(), delta(&json!({ "type": "text_start", "contentIndex": 0 }))];
    for piece in ["one\n", "\ntw", "o **bo"] {
        events.push(delta(&json!({ "type": "text_delta", "contentIndex": 0, "delta": piece })));
    }
    check(&events, &["", "one", "---", "", "two **bo"]);
    events.push(end(&json!([{ "type": "text", "text": "one\n\ntwo **bold**" }]), "stop"));
    check(&events, &["", "one", "", "two bold", "---"]);
}

#[test]
fn text_in_any_pieces_looks_as_if_it_had_come_at_once() {
    let text = "# Title\n\nSome *text* here\nand more.\n\n- a\n- b\n\n```rust\nfn f() {\n\n}\n```\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\nend";
    let theme = Theme::plain();
    let whole = {
        let mut chat = Chat::default();
        chat.apply(&end(&json!([{ "type": "text", "text": text }]), "stop"), NOW);
        chat.take_finished(&look(&theme))
    };
    for size in [1, 2, 3, 7, 50] {
        let mut chat = Chat::default();
        chat.apply(&start(), NOW);
        let mut printed = Vec::new();
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(size) {
            let piece: String = piece.iter().collect();
            chat.apply(&delta(&json!({ "type": "text_delta", "contentIndex": 0, "delta": piece })), NOW);
            printed.extend(chat.take_finished(&look(&theme)));
        }
        chat.apply(&end(&json!([{ "type": "text", "text": text }]), "stop"), NOW);
        printed.extend(chat.take_finished(&look(&theme)));
        assert_eq!(printed, whole, "pieces of {size}");
    }
}

#[test]
fn thinking_is_quiet_and_can_be_hidden() {
    let events = [
        start(),
        end(&json!([{ "type": "thinking", "thinking": "hm\nso" }, { "type": "text", "text": "yes" }]), "stop"),
    ];
    check(&events, &["", "┊ hm", "┊ so", "", "yes", "---"]);
    check_with(&events, |look| look.thoughts = Thoughts::Hidden, &["", "thought", "", "yes", "---"]);
}

fn call(name: &str, arguments: &Value) -> Vec<AgentEvent> {
    let block = json!({ "type": "toolCall", "id": "c1", "name": name, "arguments": arguments });
    vec![start(), end(&json!([block]), "toolUse")]
}

fn started(name: &str, arguments: &Value) -> AgentEvent {
    event(json!({ "type": "tool_execution_start", "toolCallId": "c1", "toolName": name, "args": arguments }))
}

fn ended(name: &str, text: &str, details: &Value, is_error: bool) -> AgentEvent {
    let result = json!({ "content": [{ "type": "text", "text": text }], "details": details });
    event(json!({ "type": "tool_execution_end", "toolCallId": "c1", "toolName": name, "result": result,
        "isError": is_error, "durationMs": 1500 }))
}

#[test]
fn card_follows_its_call() {
    let arguments = json!({ "command": "ls" });
    let mut events = call("bash", &arguments);
    check(&events, &["---", "", "○ bash ls"]);
    events.push(started("bash", &arguments));
    check(&events, &["---", "", "● bash ls  0.0s"]);
    let partial = json!({ "content": [{ "type": "text", "text": "1\n2\n3\n4\n5\n6\n7\n8" }] });
    events.push(event(
        json!({ "type": "tool_execution_update", "toolCallId": "c1", "toolName": "bash", "args": arguments,
        "partialResult": partial }),
    ));
    check(
        &events,
        &["---", "", "● bash ls  0.0s", "  … 2 more lines (ctrl+o)", "  3", "  4", "  5", "  6", "  7", "  8"],
    );
    events.push(ended("bash", "a\nb\n", &json!(null), false));
    check(&events, &["", "✔ bash ls  1.5s", "  a", "  b", "---"]);
}

#[test]
fn card_is_short_unless_more_is_wanted() {
    let arguments = json!({ "pattern": "x" });
    let mut events = call("grep", &arguments);
    events.push(started("grep", &arguments));
    events.push(ended("grep", "1\n2\n3\n4\n5\n6\n7\n8", &json!(null), false));
    let short = ["", "✔ grep x  1.5s", "  1", "  2", "  3", "  4", "  5", "  6", "  … 2 more lines (ctrl+o)", "---"];
    check(&events, &short);
    let full = ["", "✔ grep x  1.5s", "  1", "  2", "  3", "  4", "  5", "  6", "  7", "  8", "---"];
    check_with(&events, |look| look.detail = Detail::Full, &full);
}

#[test]
fn change_and_failure_are_shown_on_their_cards() {
    let arguments = json!({ "path": "a.rs" });
    let mut events = call("edit", &arguments);
    events.push(ended("edit", "ok", &json!({ "diff": "-1 a\n+1 b" }), false));
    check(&events, &["", "✔ edit a.rs  1.5s", "  -1 a", "  +1 b", "---"]);
    let mut events = call("edit", &arguments);
    events.push(ended("edit", "no such text", &json!(null), true));
    check(&events, &["", "✘ edit a.rs  1.5s", "  no such text", "---"]);
}

#[test]
fn finished_cards_wait_for_those_before_them() {
    let block = |id: &str| json!({ "type": "toolCall", "id": id, "name": "ls", "arguments": {} });
    let mut events = vec![start(), end(&json!([block("c0"), block("c1")]), "toolUse")];
    events.push(ended("ls", "x", &json!(null), false));
    check(&events, &["---", "", "○ ls .", "", "✔ ls .  1.5s", "  x"]);
}

#[test]
fn abort_and_error_close_what_is_open() {
    let mut events = vec![start(), delta(&json!({ "type": "text_delta", "contentIndex": 0, "delta": "half" }))];
    events.push(end(&json!([{ "type": "text", "text": "half" }]), "aborted"));
    check(&events, &["", "half", "", "▌ stopped by you", "---"]);
    let block = json!({ "type": "toolCall", "id": "c1", "name": "ls", "arguments": {} });
    let settled = event(json!({ "type": "agent_settled" }));
    check(&[start(), end(&json!([block]), "error"), settled], &["", "– ls .  not run", "", "▌ it broke", "---"]);
}

#[test]
fn error_that_is_tried_again_is_told_once_and_at_the_end() {
    let retry = |attempt: u64| {
        event(json!({ "type": "auto_retry_start", "attempt": attempt, "maxAttempts": 2, "delayMs": 1,
            "errorMessage": "it broke" }))
    };
    let settled = || event(json!({ "type": "agent_settled" }));
    let none = json!([]);
    let over = |success: bool| {
        event(json!({ "type": "auto_retry_end", "success": success, "attempt": 2, "finalError": "it broke" }))
    };
    let mut events = vec![start(), end(&none, "error"), retry(1), start(), end(&none, "error"), retry(2), start()];
    check(&events, &["---"]);
    events.extend([end(&none, "error"), over(false), settled()]);
    check(&events, &["", "▌ gave up after 2 more attempts: it", "▌ broke", "---"]);
    let unmade = event(json!({ "type": "auto_retry_end", "success": false, "attempt": 0, "finalError": "it broke" }));
    let impatient = [start(), end(&none, "error"), retry(1), unmade, settled()];
    check(&impatient, &["", "▌ gave up before the next attempt: it", "▌ broke", "---"]);
    let words = json!([{ "type": "text", "text": "half" }]);
    let helped = [start(), end(&words, "error"), retry(1), start(), end(&words, "stop"), over(true), settled()];
    let told = ["", "half", "", "▌ the answer broke off and is asked for", "▌ again: it broke", "", "half", "---"];
    check(&helped, &told);
}

#[test]
fn attached_file_is_a_name_and_not_its_text() {
    let text = format!("see @big.txt\n\n<file name=\"/p/big.txt\">\n{}</file>\n", "line\n".repeat(1000));
    let said =
        event(json!({ "type": "message_start", "message": { "role": "user", "content": text, "timestamp": 0 } }));
    check(&[said], &["", "❯ see @big.txt", "  + big.txt  1000 lines", "---"]);
    let long = "line\n".repeat(100);
    let said =
        event(json!({ "type": "message_start", "message": { "role": "user", "content": long, "timestamp": 0 } }));
    let mut expected = vec!["", "❯ line"];
    expected.extend(["  line"; 39]);
    expected.extend(["  … 60 more lines", "---"]);
    check(&[said], &expected);
}

#[test]
fn conversation_that_is_opened_again_shows_its_end() {
    let theme = Theme::plain();
    let messages: Vec<pi_transcript::Message> =
        (0..300).map(|number| pi_transcript::Message::user(format!("say {number}").as_str(), 0)).collect();
    let mut chat = Chat::default();
    chat.recall(messages.iter(), NOW);
    let lines: Vec<String> = chat.take_finished(&look(&theme)).iter().map(ToString::to_string).collect();
    assert_eq!(lines[..4], ["", "▌ 100 earlier messages are not shown", "", "❯ say 100"]);
    assert_eq!(lines.last().map(String::as_str), Some("❯ say 299"));
}

#[test]
fn waiting_and_summing_up_are_told() {
    let theme = Theme::plain();
    let mut chat = Chat::default();
    let line = |chat: &Chat| {
        let lines = chat.activity().lines(None, &look(&theme));
        (!lines.is_empty()).then(|| lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    };
    assert_eq!(line(&chat), None);
    chat.apply(&AgentEvent::AgentStart, NOW);
    assert_eq!(line(&chat).unwrap(), "⠋ working  0s · esc to stop");
    let retry =
        json!({ "type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "429" });
    chat.apply(&event(retry), NOW);
    assert_eq!(line(&chat).unwrap(), "⠋ attempt 1 of 3 in 2s  0s · esc to giv…\n  429");
    chat.apply(&event(json!({ "type": "compaction_start", "reason": "threshold" })), NOW);
    assert_eq!(line(&chat).unwrap(), "⠋ summing up, the context is full  0s ·…");
    let result = json!({ "summary": "s", "firstKeptEntryId": "e", "tokensBefore": 12345 });
    chat.apply(
        &event(json!({ "type": "compaction_end", "reason": "threshold", "result": result, "aborted": false,
        "willRetry": false })),
        NOW,
    );
    chat.apply(&AgentEvent::AgentSettled { aborted: None }, NOW);
    assert_eq!(line(&chat), None);
    let lines: Vec<String> = chat.take_finished(&look(&theme)).iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["", "▌ summed up 12.3k tokens"]);
}
