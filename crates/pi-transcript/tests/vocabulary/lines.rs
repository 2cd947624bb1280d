//! Every line that a session file may hold is understood, and is written as it was read: to the byte when its members
//! stand in Pi's order, and as a value always.

use pi_transcript::{
    Block, Content, Entry, Line, Message, StopReason, ThinkingLevel, json::Open, read_line, write_line,
};
use serde_json::{Value, json};

/// Reads and writes `line`, expects the same bytes, and returns what it was understood as.
fn check(line: &str) -> Line {
    let read = read_line(line);
    assert_eq!(write_line(&read), line);
    read
}

/// An entry of `kind` with these further members is understood, and written to the byte.
fn check_entry(kind: &str, members: &str) -> Entry {
    let line = format!(
        r#"{{"type":"{kind}","id":"a1b2c3d4","parentId":"00000000","timestamp":"2026-03-15T10:00:00.000Z",{members}}}"#
    );
    match check(&line) {
        Line::Entry(entry) => {
            assert_eq!(entry.text(), None);
            assert!(!matches!(*entry, Entry::Other(_)), "not understood: {entry:?}");
            assert_eq!(entry.kind(), kind);
            entry.into_value()
        }
        line => panic!("not an entry: {line:?}"),
    }
}

/// A message is understood as one of `role`.
fn check_message(role: &str, members: &str) -> Message {
    assert!(Message::ROLES.contains(&role), "{role}");
    match check_entry("message", &format!(r#""message":{{"role":"{role}",{members}}}"#)) {
        Entry::Message(entry) => {
            assert!(!matches!(entry.message, Message::Other(_)), "not understood: {:?}", entry.message);
            assert_eq!(entry.message.role(), role);
            entry.message
        }
        entry => panic!("not a message: {entry:?}"),
    }
}

const USAGE: &str = r#"{"input":12,"output":3,"cacheRead":0,"cacheWrite":0,"totalTokens":15,"cost":{"input":0.00015,"output":0,"cacheRead":0,"cacheWrite":0.0,"total":0.00015}}"#;

#[test]
fn headers() {
    for line in [
        r#"{"type":"session","version":3,"id":"0198","timestamp":"2026-03-15T10:00:00.000Z","cwd":"/p","parentSession":"/s/a.jsonl"}"#,
        r#"{"type":"session","version":2,"id":"0198","timestamp":"2026-03-15T10:00:00.000Z","cwd":"/p"}"#,
        r#"{"type":"session","id":"0198","timestamp":"2026-03-15T10:00:00.000Z","provider":"p","modelId":"m","thinkingLevel":"off"}"#,
    ] {
        assert!(matches!(check(line), Line::Header(_)), "{line}");
    }
}

#[test]
fn user_messages() {
    let text = check_message("user", r#""content":"hello","timestamp":1773568800000"#);
    assert_eq!(text, Message::user("hello", 1_773_568_800_000));
    let blocks = check_message(
        "user",
        r#""content":[{"type":"text","text":"see"},{"type":"image","data":"iVBO","mimeType":"image/png"}],"timestamp":1"#,
    );
    let content = vec![Block::text("see"), Block::image("iVBO", "image/png")];
    assert_eq!(blocks, Message::user(content, 1));
}

#[test]
fn assistant_messages() {
    let first = check_message(
        "assistant",
        &format!(
            r#""content":[{{"type":"thinking","thinking":"hm","thinkingSignature":"sig","redacted":false}},{{"type":"text","text":"ok","textSignature":"{{\"v\":1}}"}},{{"type":"toolCall","id":"c1","name":"read","arguments":{{"path":"a","limit":1.0}},"thoughtSignature":"t","namespace":"n"}}],"api":"anthropic-messages","provider":"anthropic","model":"m","usage":{USAGE},"stopReason":"toolUse","timestamp":5"#
        ),
    );
    let Message::Assistant(message) = first else { panic!("{first:?}") };
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    assert!(matches!(
        message.content.as_slice(),
        [Block::Thinking(_), Block::Text(_), Block::ToolCall(call)] if call.id.as_str() == "c1"
    ));
    let usage = message.usage.known().unwrap();
    assert_eq!((usage.total(), usage.cost.total.as_f64()), (15, 0.00015));

    let later = check_message(
        "assistant",
        r#""content":[],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cacheWrite1h":1,"reasoning":1,"totalTokens":10,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.5,"totalFromProvider":0.5}},"stopReason":"deferred","errorMessage":"later","timestamp":5,"responseId":"r","responseModel":"m2","rawStopReason":"end_turn","thinkingLevel":"max","providerThinkingLevel":"high","diagnostics":[{"a":1}],"deferred":{"x":null},"endTurn":true"#,
    );
    let Message::Assistant(message) = later else { panic!("{later:?}") };
    assert_eq!(message.stop_reason, StopReason::Deferred);
    assert_eq!(message.thinking_level, Some(Open::Known(ThinkingLevel::Max)));
    assert_eq!(message.extra, serde_json::Map::new());
}

#[test]
fn later_words_are_kept() {
    let message = check_message(
        "assistant",
        &format!(
            r#""content":[],"api":"a","provider":"p","model":"m","usage":{USAGE},"stopReason":"paused","timestamp":5,"thinkingLevel":"ultra""#
        ),
    );
    let Message::Assistant(message) = message else { panic!("{message:?}") };
    assert_eq!(message.stop_reason, Open::Other("paused".to_owned()));
    assert_eq!(message.thinking_level, Some(Open::Other("ultra".to_owned())));
}

#[test]
fn usage_without_total_is_summed() {
    let message = check_message(
        "assistant",
        r#""content":[],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":20,"cacheRead":300,"cacheWrite":4000,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":5"#,
    );
    let Message::Assistant(message) = message else { panic!("{message:?}") };
    let usage = message.usage.known().unwrap();
    assert_eq!((usage.total_tokens, usage.total()), (None, 4321));
}

/// JavaScript writes a price that is not a number as `null`, and a provider may report more cached than sent.
#[test]
fn odd_usage_does_not_hide_what_was_said() {
    for usage in [
        r#"{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":null}}"#,
        r#"{"input":-7,"output":1,"cacheRead":8,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#,
        "null",
    ] {
        let message = check_message(
            "assistant",
            &format!(
                r#""content":[{{"type":"text","text":"ok"}}],"api":"a","provider":"p","model":"m","usage":{usage},"stopReason":"stop","timestamp":5"#
            ),
        );
        let Message::Assistant(message) = message else { panic!("{message:?}") };
        assert_eq!((message.content, message.usage.known()), (vec![Block::text("ok")], None));
        check_message(
            "toolResult",
            &format!(r#""toolCallId":"c","toolName":"t","content":[],"isError":false,"timestamp":6,"usage":{usage}"#),
        );
    }
}

#[test]
fn messages_of_the_other_roles() {
    for (role, members) in [
        (
            "toolResult",
            r#""toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"x"}],"isError":false,"timestamp":6"#,
        ),
        (
            "toolResult",
            &format!(
                r#""toolCallId":"c1","toolName":"read","content":[],"details":{{"truncation":null}},"isError":true,"timestamp":6,"usage":{USAGE},"nestedCalls":[1]"#
            ),
        ),
        (
            "toolResult",
            r#""toolCallId":"c1","toolName":"bash","content":[],"isError":true,"timestamp":6,"durationMs":31,"deniedBy":"person""#,
        ),
        ("bashExecution", r#""command":"ls","output":"a\n","cancelled":true,"truncated":false,"timestamp":7"#),
        (
            "bashExecution",
            r#""command":"ls","output":"","exitCode":-1,"cancelled":false,"truncated":true,"fullOutputPath":"/t/x.log","excludeFromContext":true,"timestamp":7"#,
        ),
        ("custom", r#""customType":"note","content":"hi","display":true,"timestamp":8"#),
        ("custom", r#""customType":"note","content":[],"display":false,"details":null,"timestamp":8"#),
        ("branchSummary", r#""summary":"s","fromId":"a1b2c3d4","timestamp":9"#),
        ("compactionSummary", r#""summary":"s","tokensBefore":100000,"timestamp":9"#),
        ("system", r#""content":"be brief","timestamp":9"#),
        (
            "system",
            r#""content":[],"sections":{"zeta":"first","alpha":null},"toolsAdded":[{"name":"read","description":"d","parameters":{"type":"object"},"label":"Read"}],"toolsRemoved":[{"name":"ls"}],"timestamp":9"#,
        ),
    ] {
        check_message(role, members);
    }
}

#[test]
fn entries_of_every_type() {
    for (kind, members) in [
        ("model_change", r#""provider":"anthropic","modelId":"m""#),
        ("thinking_level_change", r#""thinkingLevel":"xhigh""#),
        ("thinking_level_change", r#""thinkingLevel":"ultra""#),
        ("compaction", r#""summary":"s","firstKeptEntryId":"00000000","tokensBefore":5"#),
        (
            "compaction",
            &format!(
                r#""summary":"s","firstKeptEntryId":"a1b2c3d4","tokensBefore":5,"details":{{"readFiles":[]}},"fromHook":true,"usage":{USAGE},"systemMessage":{{"role":"system","content":"c","timestamp":1}}"#
            ),
        ),
        ("branch_summary", r#""fromId":"00000000","summary":"""#),
        (
            "branch_summary",
            &format!(r#""fromId":"00000000","summary":"s","details":[],"fromHook":false,"usage":{USAGE}"#),
        ),
        ("custom", r#""customType":"t""#),
        ("custom", r#""customType":"t","data":null"#),
        ("custom_message", r#""customType":"t","content":"c","display":true"#),
        ("custom_message", r#""customType":"t","content":[{"type":"text","text":"c"}],"display":false,"details":1"#),
        ("label", r#""targetId":"00000000","label":"here""#),
        ("label", r#""targetId":"00000000""#),
        ("session_info", r#""name":"my session""#),
        ("session_info", r#""ours":true"#),
        ("usage", &format!(r#""kind":"title","provider":"p","model":"m","usage":{USAGE}"#)),
        ("context_edit", r#""targetId":"00000000","replacement":null"#),
        ("context_edit", r#""targetId":"00000000","replacement":"shorter""#),
        ("context_edit", r#""targetId":"00000000","replacement":[{"type":"text","text":"shorter"}]"#),
    ] {
        check_entry(kind, members);
    }
}

#[test]
fn roots_have_a_null_parent() {
    let line = r#"{"type":"session_info","id":"a","parentId":null,"timestamp":"t"}"#;
    let Line::Entry(entry) = check(line) else { panic!() };
    assert_eq!((entry.id().as_str(), entry.parent_id()), ("a", None));
}

#[test]
fn unknown_members_survive_at_every_level() {
    let entry = check_entry(
        "message",
        r#""message":{"role":"assistant","content":[{"type":"text","text":"t","x":1}],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0,"x":2},"x":3},"stopReason":"stop","timestamp":1,"x":{"type":"y"},"type":"z"},"x":[5],"role":"r""#,
    );
    let Entry::Message(entry) = entry else { panic!() };
    assert_eq!(Value::Object(entry.extra.clone()), json!({ "x": [5], "role": "r" }));
    let Message::Assistant(message) = &entry.message else { panic!() };
    assert_eq!(Value::Object(message.extra.clone()), json!({ "x": { "type": "y" }, "type": "z" }));
}

#[test]
fn unknown_types_survive_in_their_place() {
    let line = r#"{"type":"later","id":"a","parentId":"b","timestamp":"t","x":{"y":[1,2.5,null]}}"#;
    let Line::Entry(entry) = check(line) else { panic!() };
    assert_eq!((entry.kind(), entry.id().as_str()), ("later", "a"));
    let parent = entry.parent_id().map(|id| id.as_str());
    assert_eq!(parent, Some("b"));

    let Entry::Message(entry) = check_entry("message", r#""message":{"role":"later","x":1}"#) else { panic!() };
    assert_eq!(entry.message.role(), "later");
    let message = check_message("user", r#""content":[{"type":"video","url":"u"},{"noType":1}],"timestamp":1"#);
    let Message::User(message) = message else { panic!() };
    assert!(matches!(&message.content, Content::Blocks(blocks) if blocks.iter().all(|b| matches!(b, Block::Other(_)))));
}

/// The finest part that is not understood is kept raw; what is around it keeps its type.
#[test]
fn members_of_the_wrong_type_stay_as_they_are() {
    for members in [
        r#""role":"user","content":5,"timestamp":1"#,
        r#""role":"user","content":"x","timestamp":1.0"#,
        r#""role":"user","content":"x","timestamp":-1"#,
        r#""role":"user","content":"x""#,
        r#""role":"custom","customType":null,"content":"x","display":true,"timestamp":1"#,
        r#""role":"bashExecution","command":"c","output":"o","exitCode":null,"cancelled":false,"truncated":false,"timestamp":1"#,
    ] {
        let Entry::Message(entry) = check_entry("message", &format!(r#""message":{{{members}}}"#)) else { panic!() };
        assert!(matches!(entry.message, Message::Other(_)), "{members}");
    }
    for members in [r#""targetId":"a","label":null"#, r#""targetId":7"#, r#""label":"no target""#] {
        let line = format!(r#"{{"type":"label","id":"a","parentId":null,"timestamp":"t",{members}}}"#);
        assert!(matches!(check(&line).entry(), Some(Entry::Other(_))), "{members}");
    }
}

#[test]
fn what_has_no_place_in_the_tree_is_foreign() {
    for line in [
        r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"x","timestamp":1}}"#,
        r#"{"type":"label","id":"a","timestamp":"t","targetId":"b"}"#,
        r#"{"type":"session","version":"3","id":"a","timestamp":"t"}"#,
        r#"{"id":"a","parentId":null,"timestamp":"t"}"#,
        "5",
        "null",
        r#"[{"type":"label"}]"#,
    ] {
        assert!(matches!(check(line), Line::Foreign(_)), "{line}");
    }
}

#[test]
fn what_is_not_json_is_kept_as_text() {
    for line in ["", "  ", "{", "{\"a\":1}}", "1.e999", "01e999", "nul", "\u{feff}{}", &"[".repeat(200)] {
        assert_eq!(check(line), Line::Unreadable(line.to_owned()));
    }
}
