//! Calls that models write as text.

use pi_envelope::{Origin, Provenance, Tool};
use pi_provider::{
    Finish, StreamEvent, Termination,
    manifest::capability::{FallbackBody, FallbackFormat, NameLocation, PromptLevel, TextFallback},
    text_call::{Grammar, LONGEST_BLOCK, Leniency, Parsed, Piece, Reader, TextCall, filter::Filter, parse, prompt},
};
use pi_transcript::ToolDefinition;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Reads `text` and compares: what is left, then each call as `name {arguments}`.
fn check(grammar: Grammar, text: &str, expected: &[&str]) {
    assert_eq!(show(&parse(grammar, text)), expected, "{text}");
}

fn show(parsed: &Parsed) -> Vec<String> {
    let calls = parsed.calls.iter().map(|call| format!("{} {}", call.name, Value::Object(call.arguments.clone())));
    std::iter::once(parsed.remaining_text.clone()).chain(calls).collect()
}

fn lenient() -> Grammar {
    Grammar::usual(Leniency::Lenient)
}

fn strict() -> Grammar {
    Grammar::usual(Leniency::Strict)
}

#[test]
fn the_form_that_was_asked_for_is_read() {
    let text = "Let me look.\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a.rs\"}}\n</tool_call>\n";
    for grammar in [strict(), lenient()] {
        check(grammar, text, &["Let me look.", r#"read {"path":"a.rs"}"#]);
    }
}

#[test]
fn several_calls_keep_their_order_and_the_text_between_them() {
    let text = r#"One <tool_call>{"name":"a","arguments":{}}</tool_call>
two
<tool_call>{"name":"b","arguments":{"x":1}}</tool_call> three "#;
    check(strict(), text, &["One\ntwo\nthree", "a {}", r#"b {"x":1}"#]);
}

#[test]
fn calls_behind_one_another_in_one_tag_are_all_made() {
    for between in [",", " , ", "\n", ""] {
        let text = format!(
            r#"<tool_call>{{"name":"a","arguments":{{}}}}{between}{{"name":"b","arguments":{{"x":1}}}}</tool_call>"#
        );
        check(lenient(), &text, &["", "a {}", r#"b {"x":1}"#]);
    }
    let text = r#"<tool_call>{"name":"a","arguments":{}} {"x":1}</tool_call>"#;
    check(lenient(), text, &["", "a {}"]);
}

/// The end of a call is behind its JSON, whatever stands in there.
#[test]
fn closing_tag_in_a_text_of_a_call_ends_nothing() {
    let text = r#"See <tool_call>{"name":"a","arguments":{"path":"a</tool_call>b\""}}</tool_call> there"#;
    let call = r#"a {"path":"a</tool_call>b\""}"#;
    for grammar in [strict(), lenient()] {
        check(grammar.clone(), text, &["See\nthere", call]);
        let mut reader = Reader::new(grammar);
        let mut pieces = Vec::new();
        text.chars().for_each(|letter| reader.push(letter.encode_utf8(&mut [0; 4]), &mut pieces));
        reader.finish(&mut pieces);
        let calls: Vec<&TextCall> =
            pieces.iter().filter_map(|it| if let Piece::Call(call) = it { Some(call) } else { None }).collect();
        assert_eq!(calls.len(), 1, "{pieces:?}");
    }
    // A quote too few does not swallow the next call.
    let text = "<tool_call>{\"name\":\"a}</tool_call>\n<tool_call>{\"name\":\"b\",\"arguments\":{}}</tool_call>";
    assert_eq!(show(&parse(strict(), text))[1..], ["b {}"]);
}

#[test]
fn forms_that_were_not_asked_for_are_read_only_leniently() {
    let forms = [
        (r#"<tool_call name="ls">{"path": "."}</tool_call>"#, r#"ls {"path":"."}"#),
        (
            r#"<tool_calls><tool_call id="1">{"name":"ls","parameters":{"path":"."}}</tool_call></tool_calls>"#,
            r#"ls {"path":"."}"#,
        ),
        (r#"<tool_call>{"name":"ls","params":{"path":".",},}</tool_call>"#, r#"ls {"path":"."}"#),
        (r#"<tool_call>{"name":"ls","arguments":"{\"path\":\".\"}"}</tool_call>"#, r#"ls {"path":"."}"#),
        ("<shell><command>ls</command></shell>", r#"shell {"command":"ls"}"#),
        ("<bash>ls -la</bash>", r#"shell {"command":"ls -la"}"#),
        ("<function=ls><parameter=path>\n.\n</parameter></function>", r#"ls {"path":"."}"#),
        (
            "<function_calls><invoke name=\"ls\"><parameter name=\"path\">.</parameter></invoke></function_calls>",
            r#"ls {"path":"."}"#,
        ),
        (
            "<｜｜DSML｜｜tool_calls>\n<｜｜DSML｜｜invoke name=\"ls\">\n<｜｜DSML｜｜parameter name=\"n\" string=\"false\">3</｜｜DSML｜｜parameter>\n</｜｜DSML｜｜invoke>\n</｜｜DSML｜｜tool_calls>",
            r#"ls {"n":3}"#,
        ),
        ("[TOOL_CALLS][{\"name\":\"ls\",\"arguments\":{\"path\":\".\"}}]", r#"ls {"path":"."}"#),
        ("<|python_tag|>{\"name\":\"ls\",\"parameters\":{\"path\":\".\"}}", r#"ls {"path":"."}"#),
        ("<|python_tag|>{\"name\":\"ls\",\"parameters\":{\"path\":\".\"}}<|eom_id|>", r#"ls {"path":"."}"#),
        ("```tool_call\n{\"name\":\"ls\",\"arguments\":{\"path\":\".\"}}\n```", r#"ls {"path":"."}"#),
        ("<tool_call>{\"name\":\"ls\",\"arguments\":{\"path\":\".\"}}", r#"ls {"path":"."}"#),
    ];
    for (text, call) in forms {
        check(lenient(), text, &["", call]);
        assert_eq!(parse(strict(), text).calls, [], "{text}");
    }
}

#[test]
fn call_behind_code_is_a_call() {
    let call = "<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>";
    for before in ["```sh\nls\n```", "`ls` is a command:", "a ` alone\nand then:", "~~~\n```\n~~~"] {
        check(lenient(), &format!("{before}\n{call}"), &[before, "ls {}"]);
    }
}

#[test]
fn text_that_only_looks_like_a_call_stays_text() {
    let texts = [
        "a < b and b > c, `code`, [1]",
        "<tool_call>not json</tool_call>",
        "<b>bold</b> <shell",
        "```rust\nfn main() {}\n```\n",
        "<tool_call>{\"name\": 3}</tool_call>",
        "<tool_call>see <arg_key> here</tool_call>",
        "<tool_call>a<arg_key>b</arg_key></tool_call>",
        "\n\nleading and trailing \n",
        "Write `<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>` to call.",
        "```xml\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>\n```\n",
        "~~~\n[TOOL_CALLS][{\"name\":\"ls\",\"arguments\":{}}]\n~~~",
        "````md\n```tool_call\n{\"name\":\"ls\",\"arguments\":{}}\n```\n````",
        "the token <|eom_id|> ends a message",
    ];
    for text in texts {
        for grammar in [strict(), lenient()] {
            check(grammar, text, &[text]);
        }
    }
}

#[test]
fn a_tag_is_a_call_only_if_its_tool_exists() {
    let known = |tools: &[&str]| Grammar { tools: tools.iter().map(|&tool| tool.to_owned()).collect(), ..lenient() };
    check(known(&["shell"]), "<bash>ls</bash>", &["", r#"shell {"command":"ls"}"#]);
    check(known(&["bash"]), "<bash>ls</bash>", &["", r#"bash {"command":"ls"}"#]);
    check(known(&["read"]), "<bash>ls</bash>", &["<bash>ls</bash>"]);
}

#[test]
fn the_filter_makes_calls_and_says_why_the_answer_ended() {
    let mut filter = Filter::new(strict());
    let mut out = Vec::new();
    let text = |content: &str| StreamEvent::PartialContentDelta {
        candidate: 0,
        block: None,
        content: content.to_owned(),
        signature: None,
    };
    for piece in ["Hi", " <tool", "_call>{\"name\":\"ls\",\"argu", "ments\":{}}</tool_call>"] {
        filter.apply(text(piece), &mut out);
    }
    let finish = |reason| Some(Finish { reason, raw: "stop".to_owned() });
    filter.apply(StreamEvent::StreamEnd { finish: finish(Termination::EndTurn) }, &mut out);
    let id = out.iter().find_map(|event| match event {
        StreamEvent::ToolCallStarted { tool_call_id, .. } => Some(tool_call_id.clone()),
        _ => None,
    });
    let id = id.unwrap();
    assert!(id.starts_with("text_") && id.len() == "text_".len() + 32, "{id}");
    let (candidate, index) = (0, Some(1));
    let expected = [
        text("Hi"),
        StreamEvent::ToolCallStarted {
            candidate,
            index,
            tool_call_id: id.clone(),
            tool_name: "ls".to_owned(),
            signature: None,
        },
        StreamEvent::PartialToolCall { candidate, index, tool_call_id: id.clone(), arguments: "{}".to_owned() },
        StreamEvent::ToolCallEnded { candidate, index, tool_call_id: id },
        StreamEvent::StreamEnd { finish: finish(Termination::ToolUse) },
    ];
    assert_eq!(out, expected);
}

#[test]
fn a_native_call_makes_the_text_text() {
    let mut filter = Filter::new(lenient());
    let native = StreamEvent::ToolCallStarted {
        candidate: 0,
        index: None,
        tool_call_id: "c1".to_owned(),
        tool_name: "ls".to_owned(),
        signature: None,
    };
    let text = StreamEvent::PartialContentDelta {
        candidate: 0,
        block: None,
        content: "<bash>ls</bash>".to_owned(),
        signature: None,
    };
    let mut out = Vec::new();
    filter.apply(native.clone(), &mut out);
    filter.apply(text.clone(), &mut out);
    filter.flush(&mut out);
    assert_eq!(out, [native, text]);
}

#[test]
fn held_text_stays_in_its_block_and_before_what_follows() {
    let text = |block, content: &str| StreamEvent::PartialContentDelta {
        candidate: 0,
        block: Some(block),
        content: content.to_owned(),
        signature: None,
    };
    let thinking = StreamEvent::ThinkingDelta {
        candidate: 0,
        block: Some(1),
        thinking: "hm".to_owned(),
        signature: None,
        redacted: false,
    };
    let mut filter = Filter::new(lenient());
    let mut out = Vec::new();
    for event in [text(0, "a <"), thinking.clone(), text(2, "b <"), text(3, "c")] {
        filter.apply(event, &mut out);
    }
    filter.flush(&mut out);
    assert_eq!(out, [text(0, "a"), text(0, " <"), thinking, text(2, "b"), text(2, " <"), text(3, "c")]);
}

fn tool(name: &str, parameters: Value) -> Tool {
    let (name, description) = (name.to_owned(), "Reads a file".to_owned());
    let definition = ToolDefinition { name, description, parameters, extra: Map::new() };
    Tool { definition, provenance: Provenance::usual(Origin::BuiltIn) }
}

#[test]
fn instructions_show_the_form_and_every_tool() {
    let tool = tool("read", json!({"type": "object", "required": ["path"]}));
    let said = |prompt_level| prompt::instructions(&TextFallback { prompt_level, ..TextFallback::default() }, [&tool]);
    for level in [PromptLevel::L1, PromptLevel::L2, PromptLevel::L3] {
        let text = said(level);
        assert!(
            text.contains("<tool_call>\n{\"name\": \"tool_name\", \"arguments\": {\"key\": \"value\"}}\n</tool_call>")
        );
        assert!(text.contains("- read: Reads a file"), "{text}");
        assert_eq!(text.contains("WILL BE IGNORED"), level >= PromptLevel::L2);
        assert_eq!(text.contains("{\"path\": …}"), level == PromptLevel::L3);
    }
}

#[test]
fn a_call_in_the_form_of_the_instructions_is_read_back() {
    let arguments =
        [r#"{"path":"a"}"#, r#"{"path":"a: <b>\n  - {c}\n"}"#, r#"{"path":"x","limit":3,"tags":["1",null]}"#];
    let schema = json!({"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}});
    let tools = [tool("read", schema)];
    for format in [FallbackFormat::XmlJson, FallbackFormat::MarkdownFence] {
        for body in [FallbackBody::Json, FallbackBody::Yaml, FallbackBody::Plain] {
            for name_location in [NameLocation::JsonField, NameLocation::Attribute] {
                for leniency in [Leniency::Strict, Leniency::Lenient] {
                    let fallback = TextFallback { format, body, name_location, ..TextFallback::default() };
                    for arguments in arguments {
                        let written = prompt::call(&fallback, "read", arguments);
                        let grammar = Grammar::of(&fallback, leniency, &tools);
                        check(grammar, &written, &["", &format!("read {arguments}")]);
                    }
                }
            }
        }
    }
}

/// A tool whose arguments have every type.
fn typed() -> Tool {
    tool(
        "t",
        json!({
            "type": "object",
            "properties": {
                "count": {"type": "integer"},
                "share": {"type": "number"},
                "deep": {"type": "boolean"},
                "names": {"type": "array", "items": {"type": "string"}},
                "sizes": {"type": "array", "items": {"type": "integer"}},
                "where": {"type": "object", "properties": {"line": {"type": "integer"}}},
                "text": {"type": "string"},
                "maybe": {"type": ["integer", "null"]},
                "either": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
                "open": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "named": {"$ref": "#/$defs/level"},
                "any": {},
            },
            "$defs": {"level": {"type": "integer"}},
        }),
    )
}

#[test]
fn arguments_have_the_types_that_their_tool_asks_for() {
    let check = |name: &str, written: &str, read: &str| {
        let tools = [typed()];
        let grammar = || Grammar::of(&TextFallback::default(), Leniency::Lenient, &tools);
        let quoted = Value::from(written);
        for text in [
            format!("<tool_call>{{\"name\": \"t\", \"arguments\": {{\"{name}\": {quoted}}}}}</tool_call>"),
            format!("<function=t><parameter={name}>\n{written}\n</parameter></function>"),
            format!(
                "<tool_call>\n<function=t>\n<parameter={name}>\n{written}\n</parameter>\n</function>\n</tool_call>"
            ),
            format!(
                "<function_calls><invoke name=\"t\"><parameter name=\"{name}\">{written}</parameter></invoke></function_calls>"
            ),
            format!("<tool_call name=\"t\"><{name}>{written}</{name}></tool_call>"),
            format!("<tool_call>t\n<arg_key>{name}</arg_key>\n<arg_value>{written}</arg_value>\n</tool_call>"),
        ] {
            assert_eq!(show(&parse(grammar(), &text)), ["", &format!("t {{\"{name}\":{read}}}")], "{text}");
        }
    };
    check("count", "42", "42");
    check("share", "-1.5e3", "-1500.0");
    check("share", "7", "7");
    check("deep", "true", "true");
    check("deep", "False", "false");
    check("names", r#"["1","b"]"#, r#"["1","b"]"#);
    check("sizes", r#"["1",2]"#, "[1,2]");
    check("where", r#"{"line": "3", "other": "3"}"#, r#"{"line":3,"other":"3"}"#);
    check("maybe", "null", "null");
    check("either", "3", "3");
    check("either", "true", "true");
    check("named", "2", "2");
}

#[test]
fn text_that_is_asked_for_or_would_lose_something_stays_text() {
    let tools = [typed()];
    for (name, written) in [
        ("text", "42"),
        ("open", "42"),
        ("any", "42"),
        ("unknown", "true"),
        ("count", "007"),
        ("count", "1.5"),
        ("count", "many"),
        ("count", "123456789012345678901234567890"),
        ("share", "123456789012345678901234567890"),
        ("share", "NaN"),
        ("deep", "yes"),
        ("names", "a, b"),
        ("where", "[1]"),
    ] {
        let grammar = Grammar::of(&TextFallback::default(), Leniency::Lenient, &tools);
        let text = format!("<function=t><parameter={name}>{written}</parameter></function>");
        assert_eq!(show(&parse(grammar, &text)), ["", &format!("t {{\"{name}\":\"{written}\"}}")], "{text}");
    }
}

#[test]
fn calls_are_written_as_the_manifest_says() {
    let written = |format, body, name_location| {
        let fallback = TextFallback { format, body, name_location, ..TextFallback::default() };
        prompt::call(&fallback, "read", r#"{"path": "a"}"#)
    };
    let (tag, fence) = (FallbackFormat::XmlJson, FallbackFormat::MarkdownFence);
    let forms = [
        (
            written(tag, FallbackBody::Json, NameLocation::Attribute),
            "<tool_call name=\"read\">\n{\"arguments\": {\"path\": \"a\"}}\n</tool_call>",
        ),
        (
            written(tag, FallbackBody::Yaml, NameLocation::JsonField),
            "<tool_call>\nname: read\narguments:\n  path: a\n</tool_call>",
        ),
        (
            written(fence, FallbackBody::Yaml, NameLocation::Attribute),
            "```tool_call name=\"read\"\narguments:\n  path: a\n```",
        ),
        (written(tag, FallbackBody::Plain, NameLocation::JsonField), "<tool_call name=\"read\">\na\n</tool_call>"),
    ];
    for (written, expected) in forms {
        assert_eq!(written, expected);
    }
}

/// The text of all pieces, and how many calls there were.
fn read_in_pieces(text: &str, size: usize) -> (String, usize) {
    let mut reader = Reader::new(lenient());
    let mut pieces = Vec::new();
    for piece in text.as_bytes().chunks(size) {
        reader.push(std::str::from_utf8(piece).unwrap(), &mut pieces);
    }
    reader.finish(&mut pieces);
    let mut read = (String::new(), 0);
    for piece in pieces {
        match piece {
            Piece::Text(text) => read.0.push_str(&text),
            Piece::Call(_) => read.1 += 1,
        }
    }
    read
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it is about how long reading takes")]
fn the_work_is_proportional_to_the_text() {
    const SIZE: usize = LONGEST_BLOCK / 4;
    let fill = |begin: &str, again: &str| format!("{begin}{}", again.repeat(SIZE / again.len()));
    let texts = [
        fill("<tool_call>", "a"),
        fill("```tool_call\n", "a "),
        fill("[TOOL_CALLS][\"", "{"),
        fill("<tool_calls>", "<tool_call>"),
        fill("x", "<"),
        fill("x", "<invoke="),
        fill("x", "``` "),
        fill("x", " "),
        fill("x", "[TOOL_CALLS] "),
    ];
    let begun = std::time::Instant::now();
    for text in texts {
        for size in [1, text.len()] {
            assert_eq!(read_in_pieces(&text, size), (text.clone(), 0), "{} {size}", &text[..20]);
        }
    }
    let call = "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>";
    assert_eq!(read_in_pieces(&fill("", call), SIZE * 2), (String::new(), SIZE / call.len()));
    let unclosed = format!("<tool_call name=\"x\">{}</tool_call>", "<a>".repeat(LONGEST_BLOCK / 4));
    assert_eq!(read_in_pieces(&unclosed, unclosed.len()), (unclosed.clone(), 0));
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

#[test]
fn a_call_that_is_too_long_is_text() {
    let fits = "a".repeat(LONGEST_BLOCK - 60);
    let call = |text: &str| format!("<tool_call>{{\"name\":\"a\",\"arguments\":{{\"t\":\"{text}\"}}}}</tool_call>");
    assert_eq!(read_in_pieces(&call(&fits), 1000), (String::new(), 1));
    let long = call(&"a".repeat(LONGEST_BLOCK));
    for size in [1000, long.len()] {
        assert_eq!(read_in_pieces(&format!("{long}\n{}", call("b")), size), (long.clone(), 1));
    }
}

fn cases(default: u32) -> u32 {
    std::env::var("PI_TEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn any_chunking_gives_the_same_pieces(
        words in prop::collection::vec(prop::sample::select(vec![
            "a", " ", "\n", "<", ">", "</", "tool_call", "tool_calls", "<tool_call>", "</tool_call>", "<bash>", "</bash>", "ls",
            "{\"name\":\"x\",\"arguments\":{}}", "{", "}", "\"", "```", "```tool_call\n", "\n```", "[TOOL_CALLS]", "[]", "<｜｜DSML｜｜",
            "invoke name=\"x\"", "<|python_tag|>", "é", "=", "```tool_call name=\"x\"\n", " {}",
        ]), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        leniency in prop::sample::select(vec![Leniency::Strict, Leniency::Lenient]),
    ) {
        let text = words.concat();
        let whole = parse(Grammar::usual(leniency), &text);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).filter(|cut| text.is_char_boundary(*cut)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut reader = Reader::new(Grammar::usual(leniency));
        let (mut parsed, mut pieces) = (Parsed { remaining_text: String::new(), calls: Vec::<TextCall>::new() }, Vec::new());
        for pair in cuts.windows(2) {
            reader.push(&text[pair[0]..pair[1]], &mut pieces);
        }
        reader.finish(&mut pieces);
        for piece in pieces {
            match piece {
                Piece::Text(text) => parsed.remaining_text.push_str(&text),
                Piece::Call(call) => parsed.calls.push(call),
            }
        }
        prop_assert_eq!(parsed, whole);
    }
}
