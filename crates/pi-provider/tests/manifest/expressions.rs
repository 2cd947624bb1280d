//! Expressions are compiled when a manifest is read, each is told at its place, and what loads can be used.

use insta::assert_snapshot;
use pi_provider::{
    Dialect,
    guardrail::Guardrails,
    manifest::{self, Format, Manifest, load_contract},
    request::map_parameters,
    response::Answers,
    stream::Pipeline,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::rules::{and, load, verdict, verdicts};

/// A section in which every expression is wrong.
const STREAM: &str = "\
streaming:
  decoder: {format: sse, strategy: openai_chat}
  frame_selector: '$.type =='
  candidate: {candidate_id_path: '$.choices[', fan_out: true}
  accumulator: {stateful_tool_parsing: true, key_path: '$..a', flush_on: 'a b'}
  event_map:
    - {match: '$.a', emit: PartialContentDelta, extract: {content: $.a}}
    - {match: '$.a &&', emit: StreamEnd}
    - match: exists($.b)
      emit: StreamEnd
      fields: {finish_reason: '$.b[x]', literal: end_turn}
  stop_condition: ')'
  content_path: 'a..b'
  tool_call_path: '[0]'
  usage_path: '$'
  extra_metadata_path: ''
";

#[test]
fn expressions_of_a_declared_stream_reject_the_manifest() {
    assert_snapshot!(verdict(&and(&format!("capabilities: {{required: [text, streaming]}}\n{STREAM}"))), @r#"
    rejected
        acme.yaml:18:19: error[expression.condition]: a value is expected at column 10 of "$.type ==" (streaming.frame_selector)
            help: write a path ($.error), a comparison ($.type == 'error', $.a in ['x', 'y'], $.name =~ 'get_*'), or several with &&, || and !
        acme.yaml:19:34: error[expression.path]: a number, *, a quoted name or a filter is expected at column 11 of "$.choices[" (streaming.candidate.candidate_id_path)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
        acme.yaml:20:56: error[expression.path]: a name or * is expected at column 3 of "$..a" (streaming.accumulator.key_path)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
        acme.yaml:20:74: error[expression.condition]: the end of the condition is expected at column 3 of "a b" (streaming.accumulator.flush_on)
            help: write a path ($.error), a comparison ($.type == 'error', $.a in ['x', 'y'], $.name =~ 'get_*'), or several with &&, || and !
        acme.yaml:23:15: error[expression.condition]: a path is expected at column 7 of "$.a &&" (streaming.event_map[1].match)
            help: write a path ($.error), a comparison ($.type == 'error', $.a in ['x', 'y'], $.name =~ 'get_*'), or several with &&, || and !
        acme.yaml:26:31: error[expression.path]: a number, *, a quoted name or a filter is expected at column 5 of "$.b[x]" (streaming.event_map[2].extract.finish_reason)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
        acme.yaml:27:19: error[expression.condition]: a path is expected at column 1 of ")" (streaming.stop_condition)
            help: write a path ($.error), a comparison ($.type == 'error', $.a in ['x', 'y'], $.name =~ 'get_*'), or several with &&, || and !
        acme.yaml:28:17: error[expression.path]: a name or * is expected at column 5 of "$.a..b" (streaming.content_path)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
        acme.yaml:29:19: error[expression.path]: a name or * is expected at column 3 of "$.[0]" (streaming.tool_call_path)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
        acme.yaml:31:24: error[expression.path]: a name or * is expected at column 3 of "$." (streaming.extra_metadata_path)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
    "#);
}

#[test]
fn expressions_of_a_stream_that_is_not_declared_are_notes_and_left_out() {
    let text = and(&format!("capabilities: {{required: [text]}}\n{STREAM}"));
    let loaded = load(&text);
    let severities: Vec<&str> = loaded.diagnostics.iter().map(|found| found.severity.word()).collect();
    assert_eq!(severities, ["note"; 10]);
    let streaming = loaded.manifest.unwrap().streaming.unwrap();
    let rules: Vec<&str> = streaming.event_map.iter().map(|rule| rule.condition.as_str()).collect();
    assert_eq!(rules, ["$.a", "exists($.b)"]);
    assert_eq!(streaming.event_map[1].extract.keys().collect::<Vec<_>>(), ["literal"]);
    assert_eq!((streaming.frame_selector, streaming.stop_condition, streaming.content_path), (None, None, None));
}

#[test]
fn expressions_of_ring_3_are_warnings_and_left_out() {
    let texts = [
        and("\
provider_contract:
  request_mapping: {parameter_aliases: {max_tokens: config..limit, top_p: '$.p', seed: 'a b', stop: config.stop}}
  response_mapping:
    content_path: '$.content['
    finish_reason_path: '..'
    usage_path: usage
    tool_calls_path: 'calls]'
    tool_call_fields: {id: '$.id', name: '[name]'}
    error_extraction: {type_path: '$.error[', message_path: $.error.message, code_path: ''}
  capability_contracts:
    generative:
      token_usage_fields: {prompt_tokens: '$.usage.', completion_tokens: $.usage.output}
      reasoning_mode: {formats: {default: {on: {'a.': 1, b.c: 2}}}}
    caching: {key_field: '.key', long_members: {'x[0]': 1}}
    streaming: {usage_option: ''}
    structured_output: {response_format_field: 'a..b'}
"),
        and("termination: {source_field: '$.a[', mapping: {stop: end_turn}}\n"),
        and("endpoints: {batch: {path: /b, wording: {answers: responses, id: /id}}}\n"),
        and("services: {list_models: {path: /models, response_binding: 'data['}}\n"),
        and(
            "metadata: {models: {m: {parameter_aliases: {max_tokens: .limit}, request_defaults: {'a..b': 1, c: 2}}}}\n",
        ),
        and("metadata: {local: {signs: [{path: /v, match: '$.a =='}], model: {id: '$.id['}, extra: 1}}\n"),
    ];
    assert_snapshot!(verdicts(&texts), @r#"
    accepted
        acme.yaml:16:53: warning[expression.member]: "config..limit" has a dot without a name beside it (provider_contract.request_mapping.parameter_aliases.max_tokens)
            help: write the names of members with dots between them, such as generationConfig.maxOutputTokens
        acme.yaml:16:75: warning[expression.member]: "$.p" is a path for reading; members of a request are named with dots only (provider_contract.request_mapping.parameter_aliases.top_p)
            help: write the names of members with dots between them, such as generationConfig.maxOutputTokens
        acme.yaml:16:88: warning[expression.member]: "a b" has a space in it (provider_contract.request_mapping.parameter_aliases.seed)
            help: write the names of members with dots between them, such as generationConfig.maxOutputTokens
        acme.yaml:18:19: warning[expression.path]: a number, *, a quoted name or a filter is expected at column 11 of "$.content[" (provider_contract.response_mapping.content_path)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
        acme.yaml:19:25: warning[expression.path]: a name or * is expected at column 3 of "$..." (provider_contract.response_mapping.finish_reason_path)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
        acme.yaml:21:22: warning[expression.path]: the end of the path is expected at column 8 of "$.calls]" (provider_contract.response_mapping.tool_calls_path)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
        acme.yaml:22:42: warning[expression.path]: a name or * is expected at column 3 of "$.[name]" (provider_contract.response_mapping.tool_call_fields.name)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
        acme.yaml:23:35: warning[expression.path]: a number, *, a quoted name or a filter is expected at column 9 of "$.error[" (provider_contract.response_mapping.error_extraction.type_path)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
        acme.yaml:23:89: warning[expression.path]: a path is expected at column 1 of "" (provider_contract.response_mapping.error_extraction.code_path)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
        acme.yaml:26:43: warning[expression.path]: a path is expected at column 1 of "" (provider_contract.capability_contracts.generative.token_usage_fields.prompt_tokens)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
        acme.yaml:27:49: warning[expression.member]: "a." has a dot without a name beside it (provider_contract.capability_contracts.generative.reasoning_mode.formats.default.on.a.)
            help: write the names of members with dots between them, such as generationConfig.maxOutputTokens
        acme.yaml:28:26: warning[expression.member]: ".key" has a dot without a name beside it (provider_contract.capability_contracts.caching.key_field)
            help: write the names of members with dots between them, such as generationConfig.maxOutputTokens
        acme.yaml:28:49: warning[expression.member]: "x[0]" is a path for reading; members of a request are named with dots only (provider_contract.capability_contracts.caching.long_members.x[0])
            help: write the names of members with dots between them, such as generationConfig.maxOutputTokens
        acme.yaml:30:48: warning[expression.member]: "a..b" has a dot without a name beside it (provider_contract.capability_contracts.structured_output.response_format_field)
            help: write the names of members with dots between them, such as generationConfig.maxOutputTokens
    accepted
        acme.yaml:15:29: warning[expression.path]: a number, *, a quoted name or a filter is expected at column 5 of "$.a[" (termination.source_field)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
    accepted
        acme.yaml:15:50: warning[expression.pointer]: a pointer begins with / (endpoints.batch.wording.answers)
            help: write a JSON pointer, such as /response/custom_id
    accepted
        acme.yaml:15:59: warning[expression.path]: a number, *, a quoted name or a filter is expected at column 6 of "data[" (services.list_models.response_binding)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
    accepted
        acme.yaml:15:57: warning[expression.member]: ".limit" has a dot without a name beside it (metadata.models.m.parameter_aliases.max_tokens)
            help: write the names of members with dots between them, such as generationConfig.maxOutputTokens
        acme.yaml:15:85: warning[expression.member]: "a..b" has a dot without a name beside it (metadata.models.m.request_defaults.a..b)
            help: write the names of members with dots between them, such as generationConfig.maxOutputTokens
    accepted
        acme.yaml:4:13: warning[ring3.local]: only a server on this machine is looked for, and this one is elsewhere (endpoint.base_url)
            help: write http://127.0.0.1 with its port, or name a variable with the address in metadata.local.base_url_env
        acme.yaml:15:19: warning[ring3.local]: services.list_models is missing: no server is found without it (metadata.local)
            help: write services: { list_models: { path: /v1/models, response_binding: data } }
        acme.yaml:15:46: warning[expression.condition]: a value is expected at column 7 of "$.a ==" (metadata.local.signs[0].match)
            help: write a path ($.error), a comparison ($.type == 'error', $.a in ['x', 'y'], $.name =~ 'get_*'), or several with &&, || and !
        acme.yaml:15:70: warning[expression.path]: a number, *, a quoted name or a filter is expected at column 6 of "$.id[" (metadata.local.model.id)
            help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text
        acme.yaml:15:80: warning[ring3.local]: "extra" is not known here (metadata.local.extra)
            help: write base_url_env, signs, model, server, details, kinds or names
    "#);
    let contract = load(&texts[0]).manifest.unwrap().contract;
    assert_eq!(contract.response_mapping.usage_path.as_deref(), Some("usage"));
    assert_eq!(contract.response_mapping.content_path, None);
    assert_eq!(contract.request_mapping.parameter_aliases.keys().collect::<Vec<_>>(), ["stop"]);
}

#[test]
fn filters_say_at_load_what_the_client_would_say() {
    let texts = [
        and("\
guardrails:
  input_filters:
    - {type: own, action: block, patterns: ['a(', 5, 'fine']}
    - {type: content_safety, action: warn}
  output_filters:
    - {type: endless, action: mask, patterns: ['a+', '^b']}
"),
        and("guardrails: {input_filters: [{type: pii_detection, action: mask}]}\n"),
    ];
    assert_snapshot!(verdicts(&texts), @r"
    accepted
        acme.yaml:17:45: warning[expression.pattern]: a( is not a regular expression (guardrails.input_filters[0].patterns[0])
            help: correct it: calls are refused until then, because nothing may pass by it
        acme.yaml:17:51: warning[ring3.guardrails]: a text is expected, not a number (guardrails.input_filters[0].patterns[1])
            help: correct it: calls are refused until then, because nothing may pass by it
        acme.yaml:18:7: warning[ring3.guardrails]: it names neither patterns nor words, so it finds nothing (guardrails.input_filters[1])
            help: a filter has a type, an action (block, warn, log or mask), and patterns or words to look for; until it can be read, no call is made
        acme.yaml:20:48: warning[ring3.guardrails]: a+ may match more than 248 bytes, or asks for the ends of the text, so answers come out when their texts are complete (guardrails.output_filters[0].patterns[0])
            help: bound its repetitions, such as {1,64} for +, and leave out ^ and $
        acme.yaml:20:54: warning[ring3.guardrails]: ^b may match more than 248 bytes, or asks for the ends of the text, so answers come out when their texts are complete (guardrails.output_filters[0].patterns[1])
            help: bound its repetitions, such as {1,64} for +, and leave out ^ and $
    accepted
    ");
    let guardrails = load(&texts[0]).manifest.unwrap().guardrails;
    assert_eq!((guardrails.input_filters.len(), guardrails.output_filters.len()), (2, 1));
}

#[test]
fn a_contract_beside_a_manifest_is_checked_as_well() {
    let text =
        "contract_version: '1.0'\nprovider_id: acme\nresponse_mapping:\n  content_path: '$.a['\n  usage_path: '..'\n";
    let loaded = load_contract(text, "acme.contract.yaml", Format::Yaml);
    let shown: String = loaded.diagnostics.iter().map(|found| format!("{found}\n")).collect();
    assert_snapshot!(shown, @r#"
    acme.contract.yaml:4:17: error[expression.path]: a number, *, a quoted name or a filter is expected at column 5 of "$.a[" (response_mapping.content_path)
    acme.contract.yaml:5:15: error[expression.path]: a name or * is expected at column 3 of "$..." (response_mapping.usage_path)
    "#);
    assert_eq!(loaded.contract, None);
}

#[test]
fn names_of_parameters_are_checked_and_turned_round() {
    let texts = [
        and("parameters: {'a..b': {type: integer}}\n"),
        and("parameters: {max_tokens: {type: integer, alias: limits.output}}\n"),
        and("parameters: {a: {type: integer, alias: max_tokens}, b: {type: integer, alias: max_tokens}}\n"),
        and("parameters: {max_tokens: {type: integer}, c: {type: integer, alias: max_tokens}}\n"),
    ];
    assert_snapshot!(verdicts(&texts), @r#"
    rejected
        acme.yaml:15:14: error[expression.member]: "a..b" has a dot without a name beside it (parameters.a..b)
            help: write the names of members with dots between them, such as generationConfig.maxOutputTokens
    accepted
        acme.yaml:15:49: note[ring2.parameter-alias]: max_tokens is the standard name, so limits.output is taken for the provider's (parameters.max_tokens.alias)
            help: write the provider's name as the key and the standard name as its alias, such as maxOutputTokens: {type: integer, alias: max_tokens}
    accepted
        acme.yaml:15:53: warning[ring2.parameter-alias]: max_tokens is described as a already, which counts (parameters.b)
            help: keep one of the two
    accepted
        acme.yaml:15:43: warning[ring2.parameter-alias]: max_tokens is described as max_tokens already, which counts (parameters.c)
            help: keep one of the two
    "#);
    let parameters = load(&texts[1]).manifest.unwrap().parameters;
    assert_eq!(parameters["limits.output"].alias.as_deref(), Some("max_tokens"));
    let asked = [("max_tokens".to_owned(), json!(7))].into_iter().collect();
    let sent = |text: &str| Value::Object(map_parameters(&load(text).manifest.unwrap(), None, &asked).unwrap().0);
    assert_eq!(sent(&texts[1]), json!({"limits": {"output": 7}}), "under its alias");
    assert_eq!(sent(&texts[2]), json!({"a": 7}), "under the key of its alias");
    assert_eq!(sent(&texts[3]), json!({"max_tokens": 7}), "under its own name");
}

/// Expressions, most of them nearly right.
fn expression() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "$",
        "@",
        ".",
        "..",
        "a",
        "usage",
        "b1",
        "[0]",
        "[*]",
        "[",
        "]",
        "['x']",
        "[?(@.t=='x')]",
        " ",
        "==",
        "!=",
        "&&",
        "||",
        "in",
        "['a','b']",
        "exists(",
        "(",
        ")",
        "!",
        "null",
        "1",
        "'x'",
        "=~",
        "/a/",
        "_generate_uuid",
        "*",
        "é",
    ]);
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn document(texts: &[String], declared: &[&str]) -> Value {
    let text = |index: usize| &texts[index % texts.len()];
    json!({
        "id": "acme", "protocol_version": "2.0",
        "endpoint": {"base_url": "https://acme.example", "chat": "/chat", "auth": {"type": "bearer", "header": "A"}},
        "error_classification": {"by_http_status": {"400": "invalid_request"}},
        "capabilities": {"required": declared},
        "streaming": {
            "decoder": {"format": "sse"}, "frame_selector": text(0), "stop_condition": text(1), "content_path": text(2),
            "tool_call_path": text(3), "usage_path": text(4), "extra_metadata_path": text(5),
            "candidate": {"candidate_id_path": text(6), "fan_out": true},
            "accumulator": {"stateful_tool_parsing": true, "key_path": text(7), "flush_on": text(8)},
            "event_map": [
                {"match": text(9), "emit": "PartialContentDelta", "extract": {"content": text(10)}},
                {"match": text(11), "emit": "Metadata", "extract": {"usage": text(12), "model": text(13)}},
            ],
        },
        "termination": {"source_field": text(14)},
        "provider_contract": {
            "response_mapping": {
                "content_path": text(15), "finish_reason_path": text(16), "usage_path": text(17),
                "tool_calls_path": text(18), "tool_call_fields": {"id": text(19), "name": text(20), "args": text(21)},
            },
            "capability_contracts": {"generative": {"token_usage_fields": {
                "prompt_tokens": text(22), "cache_read_tokens": text(23), "cache_creation_tokens": text(24),
            }}},
        },
    })
}

/// Compiles what the client compiles.
fn compile(manifest: &Manifest) -> Result<(), String> {
    for dialect in Dialect::ALL {
        Pipeline::compile(manifest, dialect).map_err(|fault| fault.to_string())?;
        Answers::compile(manifest, dialect).map_err(|fault| fault.to_string())?;
    }
    Guardrails::compile(&manifest.guardrails);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_loads_compiles(texts in prop::collection::vec(expression(), 25), one in expression()) {
        for texts in [texts, vec![one]] {
            for declared in [&["text"][..], &["text", "streaming"]] {
                let text = document(&texts, declared).to_string();
                let loaded = manifest::load(&text, "acme.json", Format::Json);
                if let Some(manifest) = &loaded.manifest {
                    prop_assert_eq!(compile(manifest), Ok(()), "{}", text);
                }
            }
        }
    }
}
