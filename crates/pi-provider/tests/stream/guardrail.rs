//! Filters on what goes to a model and what comes back.

use pi_provider::{CallError, StreamEvent, guardrail::Guardrails, manifest::resilience};
use proptest::{
    collection::vec, prelude::ProptestConfig, prop_assert, prop_assert_eq, prop_oneof, proptest, strategy::Just,
};
use serde_json::{Value, json};

fn compile(filters: &Value) -> Guardrails {
    let written: resilience::Guardrails =
        serde_json::from_value(json!({"input_filters": filters, "output_filters": filters})).unwrap();
    Guardrails::compile(&written)
}

fn personal(action: &str) -> Value {
    json!([{"type": "pii_detection", "action": action}])
}

fn words(action: &str) -> Value {
    json!([{"type": "house_rules", "action": action, "words": ["moon", "C++"], "patterns": ["secret project \\w{1,40}"]}])
}

/// The text that comes out, `blocked`, and what was found.
fn output(guardrails: &Guardrails, text: &str) -> (String, String) {
    match guardrails.filter_output(text) {
        Ok((text, findings)) => (text.into_owned(), shown(&findings)),
        Err(error) => (blocked(&error), String::new()),
    }
}

fn streamed(guardrails: &Guardrails, pieces: &[&str]) -> (String, String) {
    let mut guard = guardrails.stream_output();
    let mut out = Vec::new();
    for piece in pieces {
        let event = delta(0, None, piece);
        if let Err(error) = guard.push(event, &mut out) {
            return (blocked(&error), String::new());
        }
    }
    if let Err(error) = guard.push(StreamEvent::StreamEnd { finish: None }, &mut out) {
        return (blocked(&error), String::new());
    }
    let text = out.iter().map(|event| match event {
        StreamEvent::PartialContentDelta { content, .. } => content.as_str(),
        _ => "",
    });
    (text.collect(), shown(guard.findings()))
}

fn delta(candidate: u32, block: Option<u64>, content: &str) -> StreamEvent {
    StreamEvent::PartialContentDelta { candidate, block, content: content.to_owned(), signature: None }
}

fn blocked(error: &CallError) -> String {
    assert!(matches!(error, CallError::Blocked { .. }), "{error}");
    error.to_string()
}

fn shown(findings: &[pi_provider::guardrail::Finding]) -> String {
    let one = |finding: &pi_provider::guardrail::Finding| {
        let left = if finding.left { " left" } else { "" };
        format!("{} {:?}{left} in {} of the {}", finding.filter, finding.action, finding.texts, finding.side)
    };
    findings.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Whoever adds words of their own does not want personal data to pass.
#[test]
fn personal_data_is_found_beside_words_and_patterns() {
    for more in [json!({"words": ["projectx"]}), json!({"patterns": ["project[a-z]"]}), json!({"words": []})] {
        let mut filter = json!({"type": "pii_detection", "action": "mask"});
        filter.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let guardrails = compile(&json!([filter]));
        assert_eq!(guardrails.problems(), [], "{filter}");
        for text in ["of joe.smith@example.com", "of projectx", "projectx of joe.smith@example.com"] {
            let is_left = |out: &str| out.contains("joe") || (out.contains("projectx") && more != json!({"words": []}));
            let (whole, _) = output(&guardrails, text);
            assert!(!is_left(&whole), "{filter}: {whole}");
            let pieces: Vec<String> = text.chars().map(String::from).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            assert_eq!(streamed(&guardrails, &pieces).0, whole, "{filter}");
        }
    }
    let block = json!([{"type": "pii_detection", "action": "block", "words": ["projectx"]}]);
    assert_eq!(output(&compile(&block), "joe.smith@example.com").0, "guardrail pii_detection blocked the answer");
}

#[test]
fn each_action_does_what_it_says() {
    let text = "Write to ada@example.com about the Moon.";
    let check = |filters: Value, expected: &str, findings: &str| {
        let expected = (expected.to_owned(), findings.to_owned());
        let guardrails = compile(&filters);
        assert_eq!(output(&guardrails, text), expected, "whole, {filters}");
        assert_eq!(streamed(&guardrails, &[text]), expected, "streamed, {filters}");
    };
    let masked = "Write to a***@e***.com about the Moon.";
    check(personal("mask"), masked, "pii_detection Mask in 1 of the answer");
    check(personal("warn"), text, "pii_detection Warn in 1 of the answer");
    check(personal("log"), text, "pii_detection Log in 1 of the answer");
    check(personal("block"), "guardrail pii_detection blocked the answer", "");
    check(words("mask"), "Write to ada@example.com about the [REDACTED].", "house_rules Mask in 1 of the answer");
    check(words("warn"), text, "house_rules Warn in 1 of the answer");
    check(words("block"), "guardrail house_rules blocked the answer", "");
    check(json!([]), text, "");
}

#[test]
fn words_stand_alone_and_case_does_not_matter() {
    let guardrails = compile(&words("mask"));
    let check = |text: &str, expected: &str| assert_eq!(output(&guardrails, text).0, expected);
    check("MOON, moonlight, honeymoon, moon", "[REDACTED], moonlight, honeymoon, [REDACTED]");
    check("I like C++.", "I like [REDACTED].");
    check("the secret project Zephyr is on", "the [REDACTED] is on");
}

#[test]
fn filters_are_applied_in_order() {
    let filters = json!([
        {"type": "pii_detection", "action": "mask"},
        {"type": "no_mail", "action": "block", "patterns": ["@example"]},
    ]);
    let (text, _) = output(&compile(&filters), "ada@example.com");
    assert_eq!(text, "a***@e***.com", "the second filter sees what the first left");
}

#[test]
fn input_is_filtered_in_every_dialect_and_only_where_there_is_text() {
    let guardrails = compile(&personal("mask"));
    let mail = "ada@example.com";
    let mut payload = json!({
        "model": mail,
        "system": [{"type": "text", "text": mail}],
        "messages": [
            {"role": "user", "content": mail},
            {"role": "user", "content": [{"type": "image", "source": {"data": mail}}, {"type": "text", "text": mail}]},
            {"role": "assistant", "tool_calls": [{"id": mail, "function": {"name": "f", "arguments": "{\"to\":\"ada@example.com\"}"}}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": mail, "input": {"to": mail, "name": mail, "url": [mail]}}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": mail, "signature": mail}]},
            {"role": "assistant", "content": [{"type": "redacted_thinking", "data": mail}]},
        ],
        "contents": [{"parts": [{"text": mail}, {"inlineData": {"data": mail}}, {"functionResponse": {"response": {"data": [mail]}}}, {"text": mail, "thought": true, "thoughtSignature": "s"}]}],
        "input": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": mail}], "encrypted_content": "e"}],
    });
    let findings = guardrails.filter_input(&mut payload).unwrap();
    let masked = "a***@e***.com";
    let expected = json!({
        "model": mail,
        "system": [{"type": "text", "text": masked}],
        "messages": [
            {"role": "user", "content": masked},
            {"role": "user", "content": [{"type": "image", "source": {"data": mail}}, {"type": "text", "text": masked}]},
            {"role": "assistant", "tool_calls": [{"id": mail, "function": {"name": "f", "arguments": "{\"to\":\"a***@e***.com\"}"}}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": mail, "input": {"to": masked, "name": masked, "url": [masked]}}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": mail, "signature": mail}]},
            {"role": "assistant", "content": [{"type": "redacted_thinking", "data": mail}]},
        ],
        "contents": [{"parts": [{"text": masked}, {"inlineData": {"data": mail}}, {"functionResponse": {"response": {"data": [masked]}}}, {"text": mail, "thought": true, "thoughtSignature": "s"}]}],
        "input": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": mail}], "encrypted_content": "e"}],
    });
    assert_eq!(payload, expected);
    assert_eq!(shown(&findings), "pii_detection Mask in 9 of the prompt");
    let error = compile(&personal("block")).filter_input(&mut json!({"input": mail})).unwrap_err();
    assert_eq!(error.to_string(), "guardrail pii_detection blocked the prompt");
}

/// Tools come from servers and extensions, schemas and parameters from people: a word that must not go out is in none of them.
#[test]
fn what_is_sent_beside_the_conversation_is_looked_through() {
    let tool = |name: &str, description: &str, parameters: Value| {
        json!({"tools": [{"type": "function",
            "function": {"name": name, "description": description, "parameters": parameters}}]})
    };
    let property = |name: &str, schema: Value| json!({"type": "object", "properties": {name: schema}});
    let bare = || json!({"type": "object", "properties": {}});
    for mut payload in [
        tool("moon", "", bare()),
        tool("f", "about the moon", bare()),
        tool("f", "", property("moon", json!({"type": "string"}))),
        tool("f", "", property("x", json!({"enum": ["sun", "moon"]}))),
        tool("f", "", property("x", json!({"type": "string", "description": "of the moon"}))),
        json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": property("moon", json!({}))}}}),
        tool("f", "", property("url", json!({"type": "string", "description": "of the moon"}))),
        json!({"user": "moon"}),
        json!({"stop": ["moon"]}),
    ] {
        let error = compile(&words("block")).filter_input(&mut payload).unwrap_err();
        assert_eq!(blocked(&error), "guardrail house_rules blocked the prompt", "{payload}");
    }
    let mut passes = json!({"model": "moon", "messages": [{"role": "user", "content": "x"}], "tool_choice": "moon",
        "reasoning_effort": "moon"});
    assert_eq!(compile(&words("block")).filter_input(&mut passes).unwrap(), [], "words of the API");
    let mut payload =
        tool("moon", "ask ada@example.com about the moon", property("moon", json!({"title": "the moon"})));
    let findings = compile(&words("mask")).filter_input(&mut payload).unwrap();
    assert_eq!(shown(&findings), "house_rules Mask left in 2 of the prompt, house_rules Mask in 2 of the prompt");
    assert_eq!(
        findings[0].to_string(),
        "guardrail house_rules found something in names or values of tools, schemas or settings of the request, and did not \
         mask it there, because they would mean something else"
    );
    let function = &payload["tools"][0]["function"];
    assert_eq!(function["description"], "ask ada@example.com about the [REDACTED]");
    assert_eq!(function["parameters"]["properties"]["moon"], json!({"title": "the [REDACTED]"}));
}

/// A property is called as whoever wrote the tool wants it; that says nothing about what its schema is.
#[test]
fn property_that_is_called_like_a_member_is_none() {
    for name in ["input", "args", "result", "output", "content", "text", "query", "prompt", "properties"] {
        let schema = json!({"type": "string", "enum": ["moon"], "default": "moon", "description": "of the moon"});
        let defined = json!({ name: {"const": "moon"} });
        let mut tool =
            json!({"tools": [{"name": "f", "input_schema": {"properties": {name: schema}, "$defs": defined}}]});
        let findings = compile(&words("mask")).filter_input(&mut tool).unwrap();
        assert_eq!(
            shown(&findings),
            "house_rules Mask left in 3 of the prompt, house_rules Mask in 1 of the prompt",
            "{name}"
        );
        let expected =
            json!({"type": "string", "enum": ["moon"], "default": "moon", "description": "of the [REDACTED]"});
        assert_eq!(tool["tools"][0]["input_schema"]["properties"][name], expected);
    }
}

#[test]
fn held_text_comes_before_the_next_event() {
    let mut guard = compile(&words("mask")).stream_output();
    let mut out = Vec::new();
    let call = StreamEvent::ToolCallStarted {
        candidate: 0,
        index: None,
        tool_call_id: "1".to_owned(),
        tool_name: "f".to_owned(),
        signature: None,
    };
    for event in [
        delta(0, Some(0), "to the mo"),
        delta(1, None, "other "),
        delta(0, Some(0), "on"),
        call.clone(),
        delta(0, Some(2), "x"),
    ] {
        guard.push(event, &mut out).unwrap();
    }
    guard.push(StreamEvent::StreamEnd { finish: None }, &mut out).unwrap();
    let end = StreamEvent::StreamEnd { finish: None };
    let expected =
        [delta(0, Some(0), "to the [REDACTED]"), call, delta(0, Some(2), "x"), delta(1, None, "other "), end];
    assert_eq!(out, expected);
}

/// Text in blocks, with thinking or a call between two of them.
#[derive(Debug, Clone)]
enum Said {
    Text(u64, &'static str),
    Thought(&'static str),
    Call,
    Reason,
}

fn events_of(said: &[Said]) -> Vec<StreamEvent> {
    let (candidate, index) = (0, Some(9));
    let event = |said: &Said| match said {
        Said::Text(block, text) => vec![delta(0, Some(*block), text)],
        Said::Thought(thinking) => vec![StreamEvent::ThinkingDelta {
            candidate,
            block: Some(7),
            thinking: (*thinking).to_owned(),
            signature: None,
            redacted: false,
        }],
        Said::Call => {
            let (tool_call_id, tool_name) = ("1".to_owned(), "f".to_owned());
            let started = StreamEvent::ToolCallStarted {
                candidate,
                index,
                tool_call_id: tool_call_id.clone(),
                tool_name,
                signature: None,
            };
            vec![started, StreamEvent::ToolCallEnded { candidate, index, tool_call_id }]
        }
        Said::Reason => vec![StreamEvent::FinalCandidate { candidate, finish: None }],
    };
    said.iter().flat_map(event).collect()
}

/// What comes out, in one line: texts in their blocks, and what stands between them.
fn line(guardrails: &Guardrails, events: Vec<StreamEvent>) -> String {
    let mut guard = guardrails.stream_output();
    let mut out = Vec::new();
    let end = StreamEvent::StreamEnd { finish: None };
    if let Err(error) = events.into_iter().chain([end]).try_for_each(|event| guard.push(event, &mut out)) {
        return blocked(&error);
    }
    let word = |event: &StreamEvent| match event {
        StreamEvent::PartialContentDelta { block, content, .. } => format!("{}:{content}|", block.unwrap_or(99)),
        StreamEvent::ThinkingDelta { thinking, .. } => format!("({thinking})"),
        StreamEvent::ToolCallStarted { .. } => "<call>".to_owned(),
        StreamEvent::FinalCandidate { .. } => ".".to_owned(),
        StreamEvent::Other { fields, .. } => Value::Object(fields.clone()).to_string(),
        _ => String::new(),
    };
    out.iter().map(word).collect()
}

#[test]
fn what_is_cut_between_blocks_is_found() {
    use Said::{Call, Reason, Text, Thought};
    let check = |filters: Value, said: &[Said], expected: &str| {
        assert_eq!(line(&compile(&filters), events_of(said)), expected, "{said:?}");
    };
    let blocked = "guardrail house_rules blocked the answer";
    let moon = [Text(0, "to the mo"), Text(1, "on")];
    check(words("block"), &moon, blocked);
    check(words("mask"), &moon, "0:to the [REDACTED]|");
    check(words("block"), &[Text(0, "to the mo"), Call, Text(0, "on")], blocked);
    check(words("block"), &[Text(0, "to the mo"), Thought("hm"), Text(0, "on")], blocked);
    check(words("block"), &[Text(0, "to the mo"), Reason, Text(0, "on"), Reason], blocked);
    // Where texts do not stand beside each other, neither do their words.
    check(words("block"), &[Text(0, "to the moon"), Call, Text(0, "light")], blocked);
    check(words("block"), &[Text(0, "to the moon"), Text(1, "light")], blocked);
    check(words("block"), &[Text(0, "to the moon"), Text(0, "light")], "0:to the moonlight|");
    let mail = [Text(0, "the top"), Text(1, "secret mail ada@exa"), Text(2, "mple.com, and"), Call, Text(3, " more")];
    check(personal("mask"), &mail, "0:the top|1:secret mail a***@e***|2:.com, and|<call>3: more|");
    check(personal("mask"), &[Text(0, "one"), Thought("t"), Text(0, "two")], "0:one|(t)0:two|");
    let other = |text: &str| {
        let fields = json!({"delta": {"cited": [text], "data": text}});
        vec![StreamEvent::Other { name: "Own".to_owned(), fields: fields.as_object().unwrap().clone() }]
    };
    assert_eq!(line(&compile(&words("block")), other("the moon")), blocked);
    assert_eq!(
        line(&compile(&words("mask")), other("the moon")),
        r#"{"delta":{"cited":["the [REDACTED]"],"data":"the moon"}}"#
    );
}

#[test]
fn blocked_text_never_comes_out() {
    let mut guard = compile(&words("block")).stream_output();
    let mut out = Vec::new();
    let long = "harmless ".repeat(100);
    let pieces = [long.as_str(), "the secret pro", "ject Zeph", "yr is on"];
    for piece in pieces {
        let event = delta(0, None, piece);
        if guard.push(event, &mut out).is_err() {
            break;
        }
    }
    let _ = guard.finish(&mut out);
    assert!(!format!("{out:?}").contains("secret"), "{out:?}");
    assert!(format!("{out:?}").contains("harmless"));
}

/// An answer with thinking and a call, each in two pieces.
fn hidden(word: &str) -> Vec<StreamEvent> {
    let (begin, end) = word.split_at(word.len() / 2);
    let thinking = |thinking: &str| StreamEvent::ThinkingDelta {
        candidate: 0,
        block: Some(0),
        thinking: thinking.to_owned(),
        signature: Some("s".to_owned()),
        redacted: false,
    };
    let (candidate, index, tool_call_id) = (0, None, "1".to_owned());
    let call = |arguments: String| StreamEvent::PartialToolCall {
        candidate,
        index,
        tool_call_id: tool_call_id.clone(),
        arguments,
    };
    let tool_name = "f".to_owned();
    vec![
        thinking(&format!("about the {begin}")),
        thinking(&format!("{end}, again")),
        StreamEvent::ToolCallStarted {
            candidate,
            index,
            tool_call_id: tool_call_id.clone(),
            tool_name,
            signature: None,
        },
        call(format!("{{\"to\":\"the {begin}")),
        call(format!("{end}\"}}")),
        StreamEvent::ToolCallEnded { candidate, index, tool_call_id: tool_call_id.clone() },
    ]
}

#[test]
fn thinking_is_masked_and_arguments_are_told() {
    let run = |filters: Value, events: Vec<StreamEvent>| {
        let mut guard = compile(&filters).stream_output();
        let mut out = Vec::new();
        let outcome = events.into_iter().try_for_each(|event| guard.push(event, &mut out));
        let (mut thinking, mut arguments, mut signatures) = (String::new(), String::new(), 0);
        for event in &out {
            match event {
                StreamEvent::ThinkingDelta { thinking: piece, signature, .. } => {
                    thinking.push_str(piece);
                    signatures += usize::from(signature.is_some());
                }
                StreamEvent::PartialToolCall { arguments: piece, .. } => arguments.push_str(piece),
                StreamEvent::ToolCallEnded { .. } => arguments.push('.'),
                _ => {}
            }
        }
        if signatures > 0 {
            thinking.push_str(" (signed)");
        }
        (outcome.map_err(|error| blocked(&error)), thinking, arguments, shown(guard.findings()))
    };
    let (thinking, arguments) = ("about the moon, again (signed)".to_owned(), "{\"to\":\"the moon\"}.".to_owned());
    let passed = |findings: &str| (Ok(()), thinking.clone(), arguments.clone(), findings.to_owned());
    let masked = "about the [REDACTED], again".to_owned();
    let told = "house_rules Mask in 1 of the answer, house_rules Mask left in 1 of the answer".to_owned();
    assert_eq!(run(words("mask"), hidden("moon")), (Ok(()), masked, arguments.clone(), told));
    assert_eq!(run(words("mask"), hidden("sun")).1, "about the sun, again (signed)");
    let mail = "ada@example.com";
    let (outcome, thinking_mail, arguments_mail, told) = run(personal("mask"), hidden(mail));
    assert_eq!((outcome, thinking_mail.as_str()), (Ok(()), "about the a***@e***.com, again"));
    assert_eq!(arguments_mail, "{\"to\":\"the ada@example.com\"}.");
    assert_eq!(told, "pii_detection Mask in 1 of the answer, pii_detection Mask left in 1 of the answer");
    assert_eq!(run(words("warn"), hidden("moon")), passed("house_rules Warn in 2 of the answer"));
    let found = "house_rules Block in 1 of the answer".to_owned();
    let error = "guardrail house_rules blocked the answer".to_owned();
    assert_eq!(run(words("block"), hidden("moon")), (Err(error.clone()), String::new(), String::new(), found.clone()));
    let only_call = hidden("moon").split_off(2);
    assert_eq!(run(words("block"), only_call), (Err(error), String::new(), String::new(), found));
}

/// Without numbers only its signature says where a thought ends.
#[test]
fn thoughts_without_numbers_keep_their_own_signatures() {
    let thought = |thinking: &str, signature: Option<&str>| StreamEvent::ThinkingDelta {
        candidate: 0,
        block: None,
        thinking: thinking.to_owned(),
        signature: signature.map(str::to_owned),
        redacted: false,
    };
    let mut guard = compile(&words("mask")).stream_output();
    let mut out = Vec::new();
    for event in [thought("the moon", Some("one")), thought("the sun", Some("two"))] {
        guard.push(event, &mut out).unwrap();
    }
    guard.finish(&mut out).unwrap();
    let expected = [thought("the [REDACTED]", None), thought("the sun", None), thought("", Some("two"))];
    assert_eq!(out, expected);
}

#[test]
fn patterns_that_need_the_whole_text_get_it_and_are_told() {
    let text = format!("BEGIN {} END of it", "x ".repeat(400));
    let pieces: Vec<&str> = text.as_bytes().chunks(7).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
    for pattern in ["BEGIN.*END", "^BEGIN", "^x", "it$", "x$", "x{300}", "(?m)^x"] {
        let filters = json!([{"type": "own", "action": "mask", "patterns": [pattern]}]);
        let guardrails = compile(&filters);
        assert_eq!(streamed(&guardrails, &pieces), output(&guardrails, &text), "{pattern}");
        let told = format!(
            "guardrail own: {pattern} may match more than 248 bytes, or asks for the ends of the text, so answers come out \
             when their texts are complete"
        );
        assert_eq!(problems(&guardrails), [told]);
    }
    assert_eq!(compile(&words("mask")).problems(), []);
}

#[test]
fn what_cannot_be_used_is_told() {
    let filters = json!([
        {"type": "content_safety", "action": "block"},
        {"type": "broken", "action": "warn", "patterns": ["("], "words": ["ok"]},
        {"type": "pii_detecton", "action": "mask"},
    ]);
    let written: resilience::Guardrails = serde_json::from_value(json!({"input_filters": filters})).unwrap();
    let expected = [
        "guardrail content_safety: it names neither patterns nor words, so it finds nothing",
        "guardrail broken: ( is not a regular expression",
        "guardrail pii_detecton: its type is not known, and it names neither patterns nor words, so it finds nothing",
    ];
    assert_eq!(problems(&Guardrails::compile(&written)), expected);
}

/// Whoever writes `block` relies on it: a filter that nobody knows refuses the call, the standard's own that finds nothing is
/// told, and one that only tells is left alone.
#[test]
fn filters_that_find_nothing_fail_closed_or_are_told() {
    let check = |kind: &str, action: &str, refused: Option<&str>, idle: usize| {
        let filters = json!({"guardrails": {"input_filters": [{"type": kind, "action": action}]}});
        let manifest = crate::manifest::manifest("http://127.0.0.1:1", filters);
        let made = Guardrails::of(&manifest).map_err(|error| error.to_string());
        match (made, refused) {
            (Ok(guardrails), None) => assert_eq!(guardrails.idle().count(), idle, "{kind} {action}"),
            (Err(error), Some(expected)) => assert_eq!(error, expected),
            (made, refused) => panic!("{kind} {action}: {made:?} is not {refused:?}"),
        }
    };
    let unknown = |kind: &str| {
        format!(
            "guardrail {kind} of mock-one cannot be used: its type is not known, and it names neither patterns nor words, so \
             it finds nothing"
        )
    };
    for action in ["block", "mask"] {
        check("no_swearing", action, Some(&unknown("no_swearing")), 0);
        check("pii_detecton", action, Some(&unknown("pii_detecton")), 0);
        check("content_safety", action, None, 1);
        check("pii_detection", action, None, 0);
    }
    for action in ["warn", "log"] {
        check("no_swearing", action, None, 0);
        check("content_safety", action, None, 0);
    }
}

fn problems(guardrails: &Guardrails) -> Vec<String> {
    guardrails.problems().iter().map(ToString::to_string).collect()
}

#[test]
fn numbers_of_cards_accounts_and_social_security_are_personal() {
    let guardrails = compile(&personal("mask"));
    let text = "Card 4242 4242 4242 4242, account DE89370400440532013000, SSN 219-09-9999.";
    let masked = "Card ***42, account ***00, SSN ***99.";
    let expected = (masked.to_owned(), "pii_detection Mask in 1 of the answer".to_owned());
    assert_eq!(output(&guardrails, text), expected);
    let pieces: Vec<&str> = text.as_bytes().chunks(3).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
    assert_eq!(streamed(&guardrails, &pieces), expected);
}

/// Pieces of which no mask makes a word stand alone.
fn plain_piece() -> impl proptest::strategy::Strategy<Value = String> {
    prop_oneof![
        Just("moon".to_owned()),
        Just("mo".to_owned()),
        Just("on ".to_owned()),
        Just(" ".to_owned()),
        Just(" ada@exa".to_owned()),
        Just("mple.com ".to_owned()),
        Just("äöü ".to_owned()),
        "[a-z ]{0,200}",
    ]
}

fn piece() -> impl proptest::strategy::Strategy<Value = String> {
    prop_oneof![
        Just("moon".to_owned()),
        Just(" ".to_owned()),
        Just("mo".to_owned()),
        Just("on ".to_owned()),
        Just("ada@example.com".to_owned()),
        Just("@".to_owned()),
        Just(" C++ ".to_owned()),
        Just("secret project ".to_owned()),
        Just("äöü ".to_owned()),
        "[a-z ]{0,200}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_cut_gives_the_same_text(pieces in vec(piece(), 0..30), personal_too in proptest::bool::ANY) {
        let mut filters = words("mask");
        if personal_too {
            filters.as_array_mut().unwrap().push(personal("mask")[0].clone());
        }
        let guardrails = compile(&filters);
        let whole: String = pieces.concat();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        prop_assert_eq!(streamed(&guardrails, &pieces).0, output(&guardrails, &whole).0);
    }

    /// Each part is filtered, and then all of them together; nothing comes out of its order.
    #[test]
    fn any_cut_into_blocks_gives_the_text_of_all(
        parts in vec((vec(plain_piece(), 0..6), proptest::bool::ANY), 0..8),
        personal_too in proptest::bool::ANY,
    ) {
        let mut filters = words("mask");
        if personal_too {
            filters.as_array_mut().unwrap().push(personal("mask")[0].clone());
        }
        let guardrails = compile(&filters);
        let mut guard = guardrails.stream_output();
        let (mut out, mut expected) = (Vec::new(), String::new());
        for (number, (pieces, with_call)) in parts.iter().enumerate() {
            for piece in pieces {
                guard.push(delta(0, Some(u64::try_from(number).unwrap()), piece), &mut out).unwrap();
            }
            if *with_call {
                events_of(&[Said::Call]).into_iter().for_each(|event| guard.push(event, &mut out).unwrap());
            }
            expected += &output(&guardrails, &pieces.concat()).0;
        }
        guard.finish(&mut out).unwrap();
        let text: String = out.iter().filter_map(|event| match event {
            StreamEvent::PartialContentDelta { content, .. } => Some(content.as_str()),
            _ => None,
        }).collect();
        prop_assert_eq!(text, output(&guardrails, &expected).0);
        let blocks: Vec<u64> = out.iter().filter_map(|event| match event {
            StreamEvent::PartialContentDelta { block, .. } => *block,
            _ => None,
        }).collect();
        prop_assert!(blocks.is_sorted(), "{:?}", blocks);
    }
}
