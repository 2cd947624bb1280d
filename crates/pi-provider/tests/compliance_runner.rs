//! The runner of the compliance cases notices what is wrong.
//!
//! A runner that calls everything right would be worse than none, so it is given cases that must fail.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on has failed; it writes cases"
)]

#[path = "compliance/runner.rs"]
mod runner;

use runner::Unknowns;

const FIXTURE: &str = "
id: openai
protocol_version: '1.5'
endpoint: {base_url: 'https://a.example', chat: /chat, auth: {type: bearer}}
capabilities: [chat, streaming, reasoning, structured_output]
";

const OWN: &str = "
id: own-one
protocol_version: '2.0'
endpoint: {base_url: 'https://a.example', chat: /chat, auth: {type: custom_header, header: x-own-key, token_env: OWN_TOKEN}}
error_classification: {by_http_status: {'429': rate_limited}}
capabilities: {required: [text]}
";

/// Runs one document and shows the report without its table.
fn report(document: &str, unknowns: Unknowns) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let (cases, fixtures) = (folder.path().join("cases/a"), folder.path().join("fixtures/providers"));
    std::fs::create_dir_all(&cases).unwrap();
    std::fs::create_dir_all(&fixtures).unwrap();
    std::fs::write(cases.join("a.yaml"), document).unwrap();
    std::fs::write(fixtures.join("mock-openai.yaml"), FIXTURE).unwrap();
    std::fs::write(fixtures.join("own.yaml"), OWN).unwrap();
    let report = runner::run(folder.path(), &[]).unwrap();
    let text = report.render(unknowns);
    (report.is_good(unknowns), text.split_once("in all").unwrap().1.lines().skip(1).collect::<Vec<_>>().join("\n"))
}

fn check(expected: &str, finding: &str) {
    let document = format!(
        "suite: text-tool-call\nid: ttc-100\nname: n\n\
         input: {{type: text_tool_parse, response_text: 'a <tool_call>{{\"name\": \"f\", \"arguments\": {{\"x\": 1}}}}</tool_call>'}}\n\
         expected: {expected}"
    );
    let (good, text) = report(&document, Unknowns::Refused);
    let body = if finding.is_empty() {
        "\ntest result: ok. 1 passed; 0 failed; 0 contradicted".to_owned()
    } else {
        format!(
            "\nFAILED ttc-100 (text_tool_parse, cases/a/a.yaml): n\n    {finding}\n\n\
             test result: FAILED. 0 passed; 1 failed; 0 contradicted"
        )
    };
    assert_eq!((good, text), (finding.is_empty(), body), "{expected}");
}

#[test]
fn every_assertion_passes_and_fails() {
    check("{remaining_text: a}", "");
    check("{remaining_text: b}", r#"remaining_text: expected "b", came "a""#);
    check("{valid: true, tool_calls: [{name: f, arguments: {x: 1}}]}", "");
    check("{tool_calls: []}", r#"tool_calls: expected 0 elements [], came [{"name":"f","arguments":{"x":1}}]"#);
    check("{tool_calls: [{arguments: {}}]}", r#"tool_calls.0.arguments: came also with ["x"]"#);
    check("{tool_calls.0.arguments.x: 1.0, 'tool_calls[0].name': f}", "");
    check("{tool_calls.0.arguments.x: 2}", "tool_calls.0.arguments.x: expected 2, came 1");
    check(
        "{tool_calls.0.arguments.x: {min: 2, max: 3}}",
        r#"tool_calls.0.arguments.x: expected {"min":2,"max":3}, came 1"#,
    );
    check("{tool_calls: {assert: length, value: 1}, remaining_text: {assert: length, min: 1, max: 1}}", "");
    check(
        "{tool_calls: [{assert: length, value: 2}]}",
        r#"tool_calls: expected {"assert":"length","value":2}, came [{"name":"f","arguments":{"x":1}}]"#,
    );
    check("{remaining_text: {assert: matches, value: '^[ab]$'}}", "");
    check(
        "{remaining_text: {assert: matches, value: '^b'}}",
        r#"remaining_text: expected {"assert":"matches","value":"^b"}, came "a""#,
    );
    check("{remaining_text: {assert: any_of, value: [b, a]}, tool_calls: {assert: type, value: array}}", "");
    check(
        "{remaining_text: {assert: any_of, value: [b]}}",
        r#"remaining_text: expected {"assert":"any_of","value":["b"]}, came "a""#,
    );
    check(
        "{remaining_text: {assert: type, value: object}}",
        r#"remaining_text: expected {"assert":"type","value":"object"}, came "a""#,
    );
    check("{remaining_text_contains: [a], remaining_text: {assert: contains, value: a}}", "");
    check("{remaining_text_contains: [b]}", r#"remaining_text_contains: expected "b", came "a""#);
    check("{remaining_text_must_not_contain: [a]}", r#"remaining_text_must_not_contain: expected "a", came "a""#);
    check(
        "{assert: error}",
        r#"the answer: expected {"assert":"error"}, came {"valid":true,"errors":[],"remaining_text":"a","tool_calls":[{"name":"f","arguments":{"x":1}}]}"#,
    );
    check("{remaining_text: {assert: sounds_like, value: a}}", "remaining_text: there is no assertion sounds_like");
}

#[test]
fn kinds_that_lie_beside_no_checkout_are_run_too() {
    let own = include_str!("compliance/own.yaml").replace("FIXTURE", "fixtures/providers/own.yaml");
    let (good, text) = report(&own, Unknowns::Refused);
    assert!(good && text.ends_with("ok. 11 passed; 0 failed; 0 contradicted"), "{text}");
}

#[test]
fn member_that_nobody_answers_is_a_failure() {
    check("{mood: good}", r#"mood: expected "good", and nothing came"#);
}

#[test]
fn unknown_kind_is_a_failure_unless_it_is_allowed() {
    let document = "{suite: s, id: a-001, input: {type: telepathy}, expected: {}}\n---\n\
                    {suite: s, id: a-002, input: {type: fallback_decision, error_code: E3002}, expected: {should_fallback: true}}";
    let (good, text) = report(document, Unknowns::Refused);
    assert!(
        !good && text.contains("UNKNOWN a-001") && text.ends_with("FAILED. 1 passed; 1 failed; 0 contradicted"),
        "{text}"
    );
    let (good, text) = report(document, Unknowns::Allowed);
    assert!(good && text.ends_with("ok. 1 passed; 0 failed; 0 contradicted"), "{text}");
}

#[test]
fn contradiction_that_passes_is_a_failure() {
    let document = "{suite: s, id: gen-001, setup: {manifest_path: fixtures/providers/mock-openai.yaml}, \
                    input: {type: capability_check, capabilities: [reasoning]}, expected: {valid: true}}";
    let (good, text) = report(document, Unknowns::Refused);
    assert!(!good && text.contains("listed as a contradiction, and passes"), "{text}");
}

#[test]
fn refusal_is_what_some_cases_expect() {
    let document = "{suite: s, id: cbe-100, expected: {valid: false}, input: {type: content_block_encode, \
                    api_style: anthropic_messages, blocks: [{block_type: document, source_type: ref, data: 'a://b'}]}}";
    assert!(report(document, Unknowns::Refused).0);
    assert!(!report(&document.replace("valid: false", "valid: true"), Unknowns::Refused).0);
}

#[test]
fn file_that_cannot_be_read_hides_no_cases() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("cases")).unwrap();
    std::fs::write(folder.path().join("cases/a.yaml"), "suite: [").unwrap();
    assert!(runner::run(folder.path(), &[]).is_err_and(|why| why.starts_with("cases/a.yaml: ")));
    assert!(runner::run(&folder.path().join("absent"), &[]).is_err());
}
