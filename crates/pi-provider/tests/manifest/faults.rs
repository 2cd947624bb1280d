//! Everything that is wrong with a section is told, in words for people, and what is right about it counts.

use insta::assert_snapshot;
use pi_provider::manifest::{Manifest, declared::Region};
use serde_json::json;

use crate::rules::{and, load, verdict, verdicts, with};

fn manifest(text: &str) -> Manifest {
    load(text).manifest.unwrap()
}

/// Whoever corrects a file wants to do it once.
#[test]
fn faults_of_all_rings_are_told_at_once() {
    let text = "\
id: Acme
protocol_version: \"2.0\"
endpoint:
  auth: { type: barer, token_env: sk-123, extra_headers: [{ name: \"a b\", value: c }] }
error_classification: { by_http_status: { \"400\": wrong } }
capabilities: { required: [text, streaming] }
streaming: { decoder: 7 }
parameters: { temperature: { type: float, range: [2, 1] } }
retry_policy: { max_retries: many }
";
    assert_snapshot!(verdict(text), @r#"
    rejected
        acme.yaml:1:5: error[ring1.id]: "Acme" is not an id (id)
            help: 2 to 64 lower case letters, digits, - and _, beginning with a letter or digit
        acme.yaml:3:1: error[ring1.base-url]: endpoint.base_url is missing (endpoint.base_url)
            help: write a whole address, such as https://api.example.com/v1
        acme.yaml:3:1: error[ring1.chat]: endpoint.chat is missing (endpoint.chat)
            help: write the path of a chat, such as /chat/completions
        acme.yaml:4:9: error[ring1.auth-header]: "a b" is not the name of a header (endpoint.auth.extra_headers[0].name)
            help: write the name of the header that carries the credential, such as header: Authorization
        acme.yaml:4:17: error[ring1.auth-type]: "barer" is not a way to authenticate (endpoint.auth.type)
            help: write bearer, custom_header, query_param or none
        acme.yaml:4:35: error[ring1.token-env]: the name of a variable is expected (6 characters are written) (endpoint.auth.token_env)
            help: name the variable that holds the credential, never the credential itself
        acme.yaml:5:41: warning[ring1.least-statuses]: 401, 429, 500 must be mapped too; the usual meaning is assumed (error_classification.by_http_status)
            help: map at least 400, 401, 429 and 500 to standard names
        acme.yaml:5:50: error[ring1.error-name]: "wrong" is not a standard error (error_classification.by_http_status.400)
            help: write invalid_request, authentication, permission_denied, not_found, request_too_large, rate_limited, quota_exhausted, server_error, overloaded, timeout, conflict, cancelled or unknown
        acme.yaml:7:23: error[ring2.streaming]: an object is expected, not a number (streaming.decoder)
            help: write streaming: with a decoder, such as decoder: {format: sse, strategy: openai_chat}
        acme.yaml:8:28: error[ring2.parameters]: nothing is between 2 and 1 (parameters.temperature)
            help: write type (float, integer, boolean, string, array, object or string_or_object), and range, min, max, enum and default that fit it
        acme.yaml:9:30: warning[ring3.retry-policy]: a whole number from 0 to 4294967295 is expected, not a text (retry_policy.max_retries)
            help: what is wrong is left out, and its default counts; min_delay_ms is at most max_delay_ms
    "#);
}

/// Of a shape that is not known, more would be a guess.
#[test]
fn faults_are_not_looked_for_in_files_of_other_shapes() {
    assert_snapshot!(verdicts(&[
        "name: some-package\nversion: 1.0.0\n".to_owned(),
        with("\"2.0\"", "\"7.0\"") + "parameters: 5\n",
        with("protocol_version: \"2.0\"\n", "") + "parameters: 5\n",
    ]), @r#"
    rejected
        acme.yaml:1:1: error[ring1.id]: id is missing (id)
            help: write id: and 2 to 64 lower case letters, digits, - and _, beginning with a letter or digit
        acme.yaml:1:1: error[ring1.protocol-version]: protocol_version is missing (protocol_version)
            help: write protocol_version: "2.0"; files of 1.x are promoted
        acme.yaml:1:1: error[ring1.endpoint]: endpoint is missing (endpoint)
            help: write endpoint: with base_url, chat and auth below it
        acme.yaml:1:1: error[ring1.error-classification]: error_classification is missing (error_classification)
            help: map at least 400, 401, 429 and 500 to standard names below by_http_status
    rejected
        acme.yaml:2:19: error[ring1.protocol-version]: version "7.0" is not known (protocol_version)
            help: 2.0 is read as it is, 1.x is promoted
    rejected
        acme.yaml:1:1: error[ring1.protocol-version]: protocol_version is missing (protocol_version)
            help: write protocol_version: "2.0"; files of 1.x are promoted
        acme.yaml:14:13: error[ring2.parameters]: an object is expected, not a number (parameters)
            help: write type (float, integer, boolean, string, array, object or string_or_object), and range, min, max, enum and default that fit it
    "#);
}

#[test]
fn server_on_this_machine_needs_its_list_and_a_plain_address() {
    let local = |address: &str, more: &str| {
        let section =
            "metadata: { local: { signs: [{ path: /v1/models, match: \"$.data\" }], model: { id: $.id } } }\n";
        with("https://api.acme.example/v1", address) + section + more
    };
    let list = "services: { list_models: { path: /v1/models, response_binding: data } }\n";
    assert_snapshot!(verdicts(&[
        local("http://127.0.0.1:8080", list),
        local("http://127.0.0.1:8080", ""),
        local("http://127.0.0.1:8080/v1", list),
        local("https://api.acme.example", list),
    ]), @r#"
    accepted
    accepted
        acme.yaml:15:20: warning[ring3.local]: services.list_models is missing: no server is found without it (metadata.local)
            help: write services: { list_models: { path: /v1/models, response_binding: data } }
    accepted
        acme.yaml:4:13: warning[ring3.local]: /v1/models is asked behind this address, which makes /v1/v1/models: no server is found there (endpoint.base_url)
            help: write the address without /v1, and put that before the other paths
    accepted
        acme.yaml:4:13: warning[ring3.local]: only a server on this machine is looked for, and this one is elsewhere (endpoint.base_url)
            help: write http://127.0.0.1 with its port, or name a variable with the address in metadata.local.base_url_env
    "#);
}

#[test]
fn price_of_a_batch_is_a_part_of_the_usual_one() {
    let batch = |factor: &str| and(&format!("endpoints: {{ batch: {{ path: /batches, price_factor: {factor} }} }}\n"));
    assert_snapshot!(verdicts(&[batch("0.5"), batch("50"), batch("half")]), @r#"
    accepted
    accepted
        acme.yaml:15:53: warning[ring3.endpoints]: a part of the price is between 0 and 1; no price is known without it (endpoints.batch.price_factor)
            help: write 0.5 for half of the usual price
    accepted
        acme.yaml:15:53: warning[ring3.endpoints]: a number is expected, not a text (endpoints.batch.price_factor)
            help: each operation is a path, or an object with path and perhaps method and adapter
    "#);
}

#[test]
fn all_faults_of_a_section_are_told_and_the_rest_of_it_counts() {
    let text = and("\
computer_use:
  supported: true
  status: soon
  implementation: hybrid
  actions: {click: {supported: true}, drag: 7}
  environment: {browser: true, desktop: maybe}
mcp:
  client:
    supported: true
    transports: [stdio, 5, sse]
    approval_modes: [never, sometimes]
    capabilities: {tools: true, prompts: some}
  server: [none]
availability:
  required: true
  regions: [us, moon, eu, sun]
  check: {method: HEAD}
");
    assert_snapshot!(verdict(&text), @r#"
    accepted
        acme.yaml:17:11: warning[ring2.computer-use]: "soon" is not one of ga, beta, preview, experimental (computer_use.status)
            help: write ga, beta, preview or experimental
        acme.yaml:19:45: warning[ring2.computer-use]: an object is expected, not a number (computer_use.actions.drag)
            help: what is wrong is left out; the rest of the declaration counts
        acme.yaml:20:41: warning[ring2.computer-use]: true or false is expected, not a text (computer_use.environment.desktop)
            help: what is wrong is left out; the rest of the declaration counts
        acme.yaml:24:25: warning[ring2.mcp]: a text is expected, not a number (mcp.client.transports[1])
            help: put the value in quotes
        acme.yaml:25:29: warning[ring2.mcp]: "sometimes" is not one of never, always, auto (mcp.client.approval_modes[1])
            help: write never, always or auto
        acme.yaml:26:42: warning[ring2.mcp]: true or false is expected, not a text (mcp.client.capabilities.prompts)
            help: what is wrong is left out; the rest of the declaration counts
        acme.yaml:27:11: warning[ring2.mcp]: an object is expected, not a list (mcp.server)
            help: what is wrong is left out; the rest of the declaration counts
        acme.yaml:30:17: warning[ring3.availability]: "moon" is not one of cn, global, us, eu (availability.regions[1])
            help: write cn, global, us or eu
        acme.yaml:30:27: warning[ring3.availability]: "sun" is not one of cn, global, us, eu (availability.regions[3])
            help: write cn, global, us or eu
        acme.yaml:31:10: warning[ring3.availability]: path is missing (availability.check)
            help: add path
    "#);
    let kept = manifest(&text);
    let screen = kept.computer_use.unwrap();
    assert!(screen.supported && screen.implementation.is_some() && screen.status.is_none());
    assert_eq!(screen.actions.keys().collect::<Vec<_>>(), ["click"]);
    assert_eq!((screen.environment.browser, screen.environment.desktop), (Some(true), None));
    let servers = kept.mcp.unwrap();
    assert_eq!(servers.server, None);
    let client = serde_json::to_value(servers.client.unwrap()).unwrap();
    assert_eq!(client["transports"], json!(["stdio", "sse"]));
    assert_eq!(client["approval_modes"], json!(["never"]));
    assert_eq!(client["capabilities"], json!({"tools": true}));
    let availability = kept.availability.unwrap();
    assert_eq!(availability.regions, [Region::Us, Region::Eu]);
    assert_eq!((availability.required, availability.check), (true, None));
}

#[test]
fn a_model_is_kept_without_what_is_wrong_about_it() {
    let text = and("\
metadata:
  models:
    one: {context_window: big, max_output_tokens: 9, pricing: {input_per_1m: free, output_per_1m: 2}}
");
    assert_snapshot!(verdict(&text), @r"
    accepted
        acme.yaml:17:27: warning[ring3.models]: a whole number that is not negative is expected, not a text (metadata.models.one.context_window)
            help: write the name of each model with an object below it, such as lathe-2: {context_window: 65536}; what is wrong in it is left out
        acme.yaml:17:78: warning[ring3.models]: a number is expected, not a text (metadata.models.one.pricing.input_per_1m)
            help: write the name of each model with an object below it, such as lathe-2: {context_window: 65536}; what is wrong in it is left out
    ");
    let model = &manifest(&text).models["one"];
    assert_eq!((model.context_window, model.max_output_tokens), (None, Some(9)));
    assert_eq!(
        model.pricing.as_ref().map(|pricing| (pricing.input_per_1m, pricing.output_per_1m)),
        Some((None, Some(2.0)))
    );
}

#[test]
fn a_section_that_must_be_right_tells_all_its_faults_too() {
    let texts = [
        and("parameters:\n  n: {type: many, min: least, max: 3, default: 1}\n"),
        and("capabilities: {required: [text, tools], tool_calling: {native: {reliability: some, parallel: 1}}}\n"),
        with(
            "    header: Authorization\n",
            "    header: 7\n    prefix: [Bearer]\n    extra_headers: [{name: x}, {value: y}]\n",
        ),
    ];
    assert_snapshot!(verdicts(&texts), @r#"
    rejected
        acme.yaml:16:13: error[ring2.parameters]: "many" is not one of float, integer, boolean, string, array, object, string_or_object (parameters.n.type)
            help: write float, integer, boolean, string, array, object or string_or_object
        acme.yaml:16:24: error[ring2.parameters]: a number is expected, not a text (parameters.n.min)
            help: write type (float, integer, boolean, string, array, object or string_or_object), and range, min, max, enum and default that fit it
    rejected
        acme.yaml:15:78: error[ring2.tool-calling]: "some" is not one of full, partial, unreliable (capabilities.tool_calling.native.reliability)
            help: write full, partial or unreliable
        acme.yaml:15:94: error[ring2.tool-calling]: true or false is expected, not a number (capabilities.tool_calling.native.parallel)
            help: write native and text_fallback as docs/providers.md and the manifests that come with pi have them
    rejected
        acme.yaml:8:13: error[ring1.auth]: a text is expected, not a number (endpoint.auth.header)
            help: put the value in quotes
        acme.yaml:9:13: error[ring1.auth]: a text is expected, not a list (endpoint.auth.prefix)
            help: write type: bearer, custom_header or query_param; none for a local server that asks for nothing
        acme.yaml:10:21: error[ring1.auth]: value is missing (endpoint.auth.extra_headers[0])
            help: add value
        acme.yaml:10:32: error[ring1.auth]: name is missing (endpoint.auth.extra_headers[1])
            help: add name
    "#);
}

/// A list of a thousand mistakes is something else than a list with mistakes.
#[test]
fn a_section_full_of_faults_is_given_up() {
    let text = and(&format!("regions: [{}]\n", "moon, ".repeat(1000)));
    let loaded = load(&text);
    assert_eq!((loaded.diagnostics.len(), loaded.manifest.unwrap().regions), (32, Vec::new()));
}

#[test]
fn values_of_the_wrong_type_are_told_in_words() {
    let texts = [
        and("models: 7\n"),
        and("models: [one, {name: nameless}, one]\n"),
        and("metadata: {models: 7}\n"),
        and("retry_policy: {max_retries: -1, min_delay_ms: 1.5, jitter: 3, retry_on_http_status: [70000]}\n"),
        and("parameters: {a: {type: float, range: [1]}, b: {type: float, range: 3}}\n"),
        and("name: [a]\nversion: 1.0\nrouting: text\n"),
    ];
    let shown = verdicts(&texts);
    for word in ["invalid type", "unknown variant", "missing field", "expected u64", "sequence"] {
        assert!(!shown.contains(word), "{word}");
    }
    assert_snapshot!(shown, @r#"
    accepted
        acme.yaml:15:9: warning[ring3.models]: models by name, or a list of them, are expected, not a number (models)
            help: write the name of each model with an object below it, such as lathe-2: {context_window: 65536}; what is wrong in it is left out
    accepted
        acme.yaml:15:1: note[promote.models]: its models (2) are taken over as metadata.models (models)
            help: write them below metadata.models, by name
        acme.yaml:15:15: warning[promote.models]: a model without an id is left out (models)
            help: write them below metadata.models, by name
        acme.yaml:15:33: warning[ring3.model-name]: "one" is described twice; the first description counts (models.one)
            help: give each model of a provider a name of its own
    accepted
        acme.yaml:15:20: warning[ring3.models]: an object is expected, not a number (metadata.models)
            help: write the name of each model with an object below it, such as lathe-2: {context_window: 65536}; what is wrong in it is left out
    accepted
        acme.yaml:15:29: warning[ring3.retry-policy]: a whole number from 0 to 4294967295 is expected, not -1 (retry_policy.max_retries)
            help: what is wrong is left out, and its default counts; min_delay_ms is at most max_delay_ms
        acme.yaml:15:47: warning[ring3.retry-policy]: a whole number that is not negative is expected, not 1.5 (retry_policy.min_delay_ms)
            help: what is wrong is left out, and its default counts; min_delay_ms is at most max_delay_ms
        acme.yaml:15:60: warning[ring3.retry-policy]: a word is expected, not a number (retry_policy.jitter)
            help: what is wrong is left out, and its default counts; min_delay_ms is at most max_delay_ms
        acme.yaml:15:86: warning[ring3.retry-policy]: a whole number from 0 to 65535 is expected, not 70000 (retry_policy.retry_on_http_status[0])
            help: what is wrong is left out, and its default counts; min_delay_ms is at most max_delay_ms
    rejected
        acme.yaml:15:38: error[ring2.parameters]: 2 values are expected, not 1 (parameters.a.range)
            help: write type (float, integer, boolean, string, array, object or string_or_object), and range, min, max, enum and default that fit it
        acme.yaml:15:68: error[ring2.parameters]: a list of 2 values is expected, not a number (parameters.b.range)
            help: write type (float, integer, boolean, string, array, object or string_or_object), and range, min, max, enum and default that fit it
    accepted
        acme.yaml:15:7: warning[ring3.name]: a text is expected, not a list (name)
            help: write the name that people know, as a text
        acme.yaml:16:10: warning[ring3.version]: a text is expected, not a number (version)
            help: put the value in quotes
        acme.yaml:17:10: warning[ring3.routing]: an object is expected, not a text (routing)
            help: write an object; its members are hints
    "#);
}

#[test]
fn yaml_that_cannot_be_read_is_explained() {
    let texts = [
        "id: acme\nendpoint:\n\tbase_url: x\n",
        "id: acme\nlist:\n  - a\n\t- b\n",
        "a: *gone\n",
        "a: {b: *gone, c: 1}\n",
        "name: a: b\n",
        "a: [1, 2\nb: 3\n",
        "a: {b: 1\n",
        "a: 'it's'\n",
        "a: \"\\q\"\n",
        "a:\n  b: 1\n c: 2\n",
        "a: @home\n",
        "just words\n",
        "a\nb: 1\n",
    ];
    assert_snapshot!(verdicts(&texts.map(str::to_owned)), @r#"
    rejected
        acme.yaml:3:1: error[file.syntax]: a tab stands where only spaces may indent
            help: write spaces instead of the tab; most editors can be told to
    rejected
        acme.yaml:4:1: error[file.syntax]: a tab stands where only spaces may indent
            help: write spaces instead of the tab; most editors can be told to
    rejected
        acme.yaml:1:4: error[file.syntax]: *gone repeats what is marked with &gone, and nothing before it is
            help: mark the first occurrence with & and the name, or put a text that begins with * into quotes
    rejected
        acme.yaml:1:8: error[file.syntax]: *gone repeats what is marked with &gone, and nothing before it is
            help: mark the first occurrence with & and the name, or put a text that begins with * into quotes
    rejected
        acme.yaml:1:8: error[file.syntax]: a colon stands where no value can follow
            help: put a text with a colon in it into quotes, and indent members below their key
    rejected
        acme.yaml:2:2: error[file.syntax]: a key is expected here, with a colon behind it
            help: write key: value; a colon needs a space behind it
    rejected
        acme.yaml:1:4: error[file.syntax]: a bracket is opened and never closed
            help: close it; a text that begins with [ or { needs quotes
    rejected
        acme.yaml:1:8: error[file.syntax]: something stands behind the closing quote
            help: put a comma, a comment sign with a space before it, or nothing behind it; a quote inside a text is written twice ('') or with \ before it (\")
    rejected
        acme.yaml:1:4: error[file.syntax]: a text in double quotes has a \ with a letter that means nothing
            help: write \\ for the sign itself, or use single quotes
    rejected
        acme.yaml:3:2: error[file.syntax]: a key is expected here, as deep as its neighbours
            help: indent all members of an object by the same number of spaces
    rejected
        acme.yaml:1:4: error[file.syntax]: a sign stands here that begins no value
            help: put the text into quotes
    rejected
        acme.yaml:1:1: error[file.syntax]: an object is expected, not a text
            help: a manifest has members such as id: and endpoint:; `pi provider new ID` writes one
    rejected
        acme.yaml:2:2: error[file.syntax]: a colon stands where no value can follow
            help: put a text with a colon in it into quotes, and indent members below their key
    "#);
}

#[test]
fn statuses_that_differ_from_the_standard_are_told() {
    let texts = [
        with("    \"500\": server_error\n", ""),
        with("\"500\": server_error", "\"500\": overloaded"),
        with("\"429\": rate_limited", "\"429\": quota_exhausted"),
    ];
    assert_snapshot!(verdicts(&texts), @r"
    accepted
        acme.yaml:11:5: warning[ring1.least-statuses]: 500 must be mapped too; the usual meaning is assumed (error_classification.by_http_status)
            help: map at least 400, 401, 429 and 500 to standard names
    accepted
        acme.yaml:14:12: warning[ring1.status-meaning]: 500 is overloaded here; the standard asks for server_error (error_classification.by_http_status.500)
            help: the standard maps 400 to invalid_request, 401 to authentication, 429 to rate_limited and 500 to server_error; finer meanings belong into by_error_code
    accepted
        acme.yaml:13:12: warning[ring1.status-meaning]: 429 is quota_exhausted here; the standard asks for rate_limited (error_classification.by_http_status.429)
            help: the standard maps 400 to invalid_request, 401 to authentication, 429 to rate_limited and 500 to server_error; finer meanings belong into by_error_code
    ");
}

#[test]
fn an_unknown_format_of_a_stream_is_told() {
    let texts = [
        and("capabilities: {required: [text, streaming]}\nstreaming: {decoder: {format: pigeon}}\n"),
        and("streaming: {decoder: {format: pigeon}}\n"),
    ];
    assert_snapshot!(verdicts(&texts), @r#"
    accepted
        acme.yaml:16:31: warning[ring2.decoder]: the format "pigeon" is not known; the stream is read as server-sent events (streaming.decoder.format)
            help: write sse, openai_sse, anthropic_sse, gemini_sse, cohere_native, ndjson, jsonl, json_lines, gemini_json
    accepted
        acme.yaml:15:31: note[ring2.decoder]: the format "pigeon" is not known; the stream is read as server-sent events (streaming.decoder.format)
            help: write sse, openai_sse, anthropic_sse, gemini_sse, cohere_native, ndjson, jsonl, json_lines, gemini_json
    "#);
}

#[test]
fn a_name_on_the_wire_belongs_to_one_model() {
    let text = and("\
metadata:
  models:
    small: {}
    fast: {model_id: small}
    first: {model_id: shared}
    second: {model_id: shared}
");
    assert_snapshot!(verdict(&text), @r#"
    accepted
        acme.yaml:18:22: warning[ring3.model-name]: "small" names small too, which is found under it; fast is found as fast only (metadata.models.fast.model_id)
            help: give each model of a provider a name of its own
        acme.yaml:20:24: warning[ring3.model-name]: "shared" names first too, which is found under it; second is found as second only (metadata.models.second.model_id)
            help: give each model of a provider a name of its own
    "#);
}
