//! Each rule of the rings, with the place at which it points.

use insta::assert_snapshot;
use pi_provider::manifest::{
    self, Format, Loaded,
    diagnostic::{Style, render},
};

/// The smallest manifest, line by line.
const SMALLEST: &str = r#"id: acme
protocol_version: "2.0"
endpoint:
  base_url: https://api.acme.example/v1
  chat: /chat/completions
  auth:
    type: bearer
    header: Authorization
error_classification:
  by_http_status:
    "400": invalid_request
    "401": authentication
    "429": rate_limited
    "500": server_error
"#;

fn load(text: &str) -> Loaded {
    manifest::load(text, "acme.yaml", Format::Yaml)
}

/// The smallest manifest with one piece replaced.
fn with(old: &str, new: &str) -> String {
    assert!(SMALLEST.contains(old), "{old}");
    SMALLEST.replacen(old, new, 1)
}

/// The smallest manifest with more at its end.
fn and(more: &str) -> String {
    format!("{SMALLEST}{more}")
}

/// Whether the file is accepted, what is wrong with it, and what was ignored.
fn verdict(text: &str) -> String {
    let loaded = load(text);
    let mut lines = vec![if loaded.manifest.is_some() { "accepted".to_owned() } else { "rejected".to_owned() }];
    lines.extend(loaded.diagnostics.iter().map(ToString::to_string));
    lines.extend(loaded.ignored.iter().map(|found| format!("ignored {}:{} {}", found.line, found.column, found.path)));
    lines.join("\n    ") + "\n"
}

fn verdicts(texts: &[String]) -> String {
    texts.iter().map(|text| verdict(text)).collect()
}

#[test]
fn smallest_manifest_is_accepted_without_findings() {
    assert_eq!(verdict(SMALLEST), "accepted\n");
    let chat = load(SMALLEST).manifest.map(|manifest| manifest.endpoints["chat"].path.clone());
    assert_eq!(chat.as_deref(), Some("/chat/completions"));
}

#[test]
fn ring_1_says_who_the_provider_is() {
    let texts = [
        with("id: acme", "name: Acme"),
        with("id: acme", "id: A"),
        with("id: acme", "id: a"),
        with("id: acme", "id: -acme"),
        with("id: acme", &format!("id: {}", "a".repeat(65))),
        with("id: acme", "id: 12"),
        with("id: acme", "id: acme\naliases: [good.name, bad name]"),
        with("protocol_version: \"2.0\"\n", ""),
        with("\"2.0\"", "\"3.0\""),
        with("\"2.0\"", "2.0"),
        with("\"2.0\"", "[2]"),
    ];
    assert_snapshot!(verdicts(&texts), @r#"
    rejected
        acme.yaml:1:1: error[ring1.id]: id is missing (id)
    rejected
        acme.yaml:1:5: error[ring1.id]: "A" is not an id (id)
    rejected
        acme.yaml:1:5: error[ring1.id]: "a" is not an id (id)
    rejected
        acme.yaml:1:5: error[ring1.id]: "-acme" is not an id (id)
    rejected
        acme.yaml:1:5: error[ring1.id]: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" is not an id (id)
    rejected
        acme.yaml:1:5: error[ring1.id]: invalid type: integer `12`, expected a string (id)
    accepted
        acme.yaml:2:22: warning[ring1.aliases]: "bad name" is not a name (aliases[1])
    rejected
        acme.yaml:1:1: error[ring1.protocol-version]: protocol_version is missing (protocol_version)
    rejected
        acme.yaml:2:19: error[ring1.protocol-version]: version "3.0" is not known (protocol_version)
    accepted
        acme.yaml:2:19: warning[ring1.protocol-version]: the version should be a text (protocol_version)
    rejected
        acme.yaml:2:19: error[ring1.protocol-version]: a version is expected, not a list (protocol_version)
    "#);
}

#[test]
fn ring_1_says_where_the_provider_is() {
    let address = "https://api.acme.example/v1";
    let texts = [
        with(&format!("  base_url: {address}\n"), ""),
        with(address, "api.acme.example"),
        with(address, "ftp://api.acme.example"),
        with(address, "http://api.acme.example"),
        with(address, "https://me:secret@api.acme.example"),
        with(address, "http://localhost:8080"),
        with(address, "http://192.168.1.7:8080/v1"),
        with(address, "http://[::1]:1"),
        with(address, "https://${RESOURCE}.acme.example"),
        with(address, "${BASE}/v1"),
        with("  chat: /chat/completions\n", ""),
        with("  chat: /chat/completions\n", "  chat: \"\"\n"),
        with("  chat: /chat/completions\n", "  chat: {path: /c, method: PUT}\n  timeout_ms: 5\n  protocol: wss\n"),
        "id: acme\nprotocol_version: '2.0'\nendpoint: nowhere\nerror_classification: {by_http_status: {'429': rate_limited}}"
            .to_owned(),
    ];
    assert_snapshot!(verdicts(&texts), @r"
    rejected
        acme.yaml:3:1: error[ring1.base-url]: endpoint.base_url is missing (endpoint.base_url)
    rejected
        acme.yaml:4:13: error[ring1.base-url]: the address cannot be read: relative URL without a base (endpoint.base_url)
    rejected
        acme.yaml:4:13: error[ring1.base-url]: https is expected, not ftp (endpoint.base_url)
    rejected
        acme.yaml:4:13: error[ring1.base-url]: a server elsewhere must be reached over https (endpoint.base_url)
    rejected
        acme.yaml:4:13: error[ring1.base-url]: the address holds a credential (endpoint.base_url)
    accepted
    accepted
    accepted
    accepted
    accepted
    rejected
        acme.yaml:3:1: error[ring1.chat]: endpoint.chat is missing (endpoint.chat)
    rejected
        acme.yaml:5:9: error[ring1.chat]: the path of a chat is expected (endpoint.chat)
    accepted
        acme.yaml:6:15: warning[ring1.timeout]: 5 is under 100 ms (endpoint.timeout_ms)
        acme.yaml:7:13: warning[ring1.protocol]: calls go over HTTP whatever this says (endpoint.protocol)
    rejected
        acme.yaml:3:11: error[ring1.endpoint]: an object is expected, not a text (endpoint)
    ");
}

#[test]
fn ring_1_says_where_the_credential_goes() {
    let bearer = "    type: bearer\n    header: Authorization\n";
    let texts = [
        with(&format!("  auth:\n{bearer}"), ""),
        with(bearer, "    type: bearer\n"),
        with(bearer, "    type: custom_header\n"),
        with(bearer, "    type: query_param\n"),
        with(bearer, "    type: query_param\n    param_name: key\n"),
        with(bearer, "    type: handshake\n"),
        with(bearer, "    header: Authorization\n"),
        with(bearer, "    type: none\n"),
        with(bearer, "    type: custom_header\n    header: \"x key\"\n"),
        with(bearer, "    type: bearer\n    header: A\n    token_env: sk-live-0123456789\n"),
        with(bearer, "    type: bearer\n    header: A\n    extra_headers: [{name: x-a}]\n"),
        and("auth: {type: bearer, token_env: OTHER_KEY}\n"),
    ];
    let shown = verdicts(&texts);
    assert!(!shown.contains("sk-live"), "a pasted key is not repeated");
    assert_snapshot!(shown, @r#"
    rejected
        acme.yaml:3:1: error[ring1.auth]: endpoint.auth is missing (endpoint.auth)
    accepted
        acme.yaml:7:5: note[ring1.auth-header]: Authorization is assumed (endpoint.auth.header)
    rejected
        acme.yaml:7:5: error[ring1.auth-header]: endpoint.auth.header is missing (endpoint.auth.header)
    rejected
        acme.yaml:7:5: error[ring1.auth-param]: endpoint.auth.param_name is missing (endpoint.auth.param_name)
    accepted
    rejected
        acme.yaml:7:11: error[ring1.auth-type]: "handshake" is not a way to authenticate (endpoint.auth.type)
    rejected
        acme.yaml:7:5: error[ring1.auth]: missing field `type` (endpoint.auth)
    accepted
    rejected
        acme.yaml:8:13: error[ring1.auth-header]: "x key" is not the name of a header (endpoint.auth.header)
    rejected
        acme.yaml:9:16: error[ring1.token-env]: the name of a variable is expected (18 characters are written) (endpoint.auth.token_env)
    rejected
        acme.yaml:9:21: error[ring1.auth]: missing field `value` (endpoint.auth.extra_headers[0])
    accepted
        acme.yaml:15:1: warning[ring1.shadowed-auth]: endpoint.auth is used, so OTHER_KEY is never looked up (auth)
    "#);
}

#[test]
fn ring_1_says_what_errors_mean() {
    let texts = [
        with("error_classification", "classification"),
        with("  by_http_status:", "  by_other:"),
        with("    \"401\": authentication\n    \"429\": rate_limited\n", ""),
        with("\"401\": authentication", "\"401\": authentification"),
        with("\"401\": authentication", "\"401\": unauthorized"),
        with("\"400\": invalid", "\"4xx\": invalid"),
        with("\"400\": invalid", "400: invalid"),
        and("  by_error_code: {a: insufficient_quota, b: broken}\n"),
        and(
            "  by_error_message:\n    - {pattern: '(', maps_to: unknown}\n    - {pattern: x}\n    - {pattern: y, maps_to: other}\n",
        ),
        and("  retry_after_extraction: {pattern: x, unit: fortnights}\n  by_phase_of_moon: {}\n"),
    ];
    assert_snapshot!(verdicts(&texts), @r#"
    rejected
        acme.yaml:1:1: error[ring1.error-classification]: error_classification is missing (error_classification)
    rejected
        acme.yaml:9:1: error[ring1.error-classification]: error_classification.by_http_status is missing (error_classification.by_http_status)
    accepted
        acme.yaml:11:5: warning[ring1.least-statuses]: 401, 429 must be mapped too; the usual meaning is assumed (error_classification.by_http_status)
    rejected
        acme.yaml:12:12: error[ring1.error-name]: "authentification" is not a standard error (error_classification.by_http_status.401)
    accepted
        acme.yaml:12:12: warning[ring1.error-name]: "unauthorized" is not a standard error; it is read as authentication (error_classification.by_http_status.401)
    rejected
        acme.yaml:11:5: error[ring1.status]: "4xx" is not an HTTP status (error_classification.by_http_status.4xx)
    accepted
    rejected
        acme.yaml:15:22: warning[ring1.error-name]: "insufficient_quota" is not a standard error; it is read as quota_exhausted (error_classification.by_error_code.a)
        acme.yaml:15:45: error[ring1.error-name]: "broken" is not a standard error (error_classification.by_error_code.b)
    rejected
        acme.yaml:16:17: warning[ring1.error-message]: the pattern cannot be read and is left out (error_classification.by_error_message[0].pattern)
        acme.yaml:17:7: error[ring1.error-message]: pattern and maps_to are expected (error_classification.by_error_message[1])
        acme.yaml:18:29: warning[ring1.error-name]: "other" is not a standard error; it is read as unknown (error_classification.by_error_message[2].maps_to)
    accepted
        acme.yaml:15:46: warning[ring1.retry-after]: unknown variant `fortnights`, expected `seconds` or `milliseconds` (error_classification.retry_after_extraction.unit)
        ignored 16:3 error_classification.by_phase_of_moon
    "#);
}

#[test]
fn ring_2_is_checked_where_its_capability_is_declared() {
    let texts = [
        and("capabilities: {required: [streaming], optional: [vision]}\n"),
        and("capabilities: {required: [streaming], optional: [text]}\n"),
        and("capabilities: {required: [text, telepathy], optional: [chat, 5]}\n"),
        and("capabilities: [text]\n"),
        and("capabilities: {required: [text], feature_flags: {streaming_usage: maybe, own_flag: true}, more: 1}\n"),
        and("capabilities: {required: [text, streaming]}\n"),
        and("capabilities: {required: [text, streaming]}\nstreaming: {event_map: []}\n"),
        and("capabilities: {required: [text]}\nstreaming: {event_map: []}\n"),
        and(
            "capabilities: {required: [text, streaming]}\nstreaming:\n  decoder: {format: sse}\n  event_map: [{emit: X}]\n",
        ),
        and("capabilities: {required: [text]}\nstreaming:\n  decoder: {format: sse}\n  event_map: [{emit: X}]\n"),
        and("capabilities: {required: [text, tools], tool_calling: {native: {reliability: some}}}\n"),
        and("capabilities: {required: [text], tool_calling: {native: {reliability: some}}}\n"),
        and("parameters:\n  temperature: {type: warmth}\n  top_p: {type: float, range: [2, 1]}\n"),
        and("parameters:\n  n: {type: integer, min: 1, default: 0}\n  mode: {type: string, enum: [a], default: b}\n"),
    ];
    assert_snapshot!(verdicts(&texts), @r#"
    rejected
        acme.yaml:15:1: warning[ring2.streaming]: streaming is declared and not described; the usual stream of the dialect is assumed (streaming)
        acme.yaml:15:15: error[ring2.text]: a provider with a chat must declare text (capabilities.required)
    accepted
        acme.yaml:15:1: warning[ring2.streaming]: streaming is declared and not described; the usual stream of the dialect is assumed (streaming)
        acme.yaml:15:15: warning[ring2.text]: a provider with a chat must require text; it is optional here (capabilities.required)
    rejected
        acme.yaml:15:33: note[ring2.unknown-capability]: "telepathy" is not known and ignored (capabilities.required[1])
        acme.yaml:15:56: note[ring2.unknown-capability]: "chat" is not known and ignored (capabilities.optional[0])
        acme.yaml:15:62: error[ring2.capabilities]: invalid type: integer `5`, expected a string (capabilities.optional[1])
        ignored 15:33 capabilities.required[1]
        ignored 15:56 capabilities.optional[0]
    accepted
        acme.yaml:15:15: note[promote.capabilities]: the list is read as what is required (capabilities)
    accepted
        acme.yaml:15:67: warning[ring2.feature-flags]: true or false is expected, not a text (capabilities.feature_flags.streaming_usage)
        ignored 15:91 capabilities.more
    accepted
        acme.yaml:15:1: warning[ring2.streaming]: streaming is declared and not described; the usual stream of the dialect is assumed (streaming)
    rejected
        acme.yaml:16:1: error[ring2.decoder]: streaming.decoder is missing (streaming.decoder)
    accepted
        acme.yaml:16:1: note[ring2.decoder]: streaming.decoder is missing (streaming.decoder)
    rejected
        acme.yaml:18:15: error[ring2.streaming]: missing field `match` (streaming.event_map[0])
    accepted
        acme.yaml:18:15: note[ring2.streaming]: missing field `match` (streaming.event_map[0])
    rejected
        acme.yaml:15:78: error[ring2.tool-calling]: unknown variant `some`, expected one of `full`, `partial`, `unreliable` (capabilities.tool_calling.native.reliability)
    accepted
        acme.yaml:15:71: note[ring2.tool-calling]: unknown variant `some`, expected one of `full`, `partial`, `unreliable` (capabilities.tool_calling.native.reliability)
    rejected
        acme.yaml:16:23: error[ring2.parameters]: unknown variant `warmth`, expected one of `float`, `integer`, `boolean`, `string`, `array`, `object`, `string_or_object` (parameters.temperature.type)
        acme.yaml:17:10: error[ring2.parameters]: nothing is between 2 and 1 (parameters.top_p)
    rejected
        acme.yaml:16:39: error[ring2.parameters]: the default 0 is not a value that the parameter may have (parameters.n.default)
        acme.yaml:17:44: error[ring2.parameters]: the default "b" is not a value that the parameter may have (parameters.mode.default)
    "#);
}

#[test]
fn ring_3_falls_back_to_its_default() {
    let texts = [
        and("status: retired\n"),
        and("retry_policy: {strategy: hope}\n"),
        and("retry_policy: {min_delay_ms: 9, max_delay_ms: 3, notes: x}\n"),
        and("rate_limit_headers: [x]\n"),
        and("termination: {mapping: {stop: end_turn, odd: sideways, cancel: cancelled}}\n"),
        and(
            "guardrails:\n  input_filters: [{type: pii_detection, action: shred}, {type: pii_detection, action: mask}]\n",
        ),
        and(
            "guardrails:\n  input_filters:\n    - {type: house, action: block, patterns: ['(']}\n    - {type: house, action: warn, patterns: ['[']}\n",
        ),
        and(
            "guardrails:\n  output_filters: [{type: safety, action: block}, {type: own, action: log, patterns: ['^a']}]\n",
        ),
        and("endpoints: {embeddings: 5, rerank: /rerank}\n"),
        and("services: {list_models: {method: GET}}\n"),
        and("metadata: {models: {good: {}, bad: {context_window: big}}, sdk: {python: acme}}\n"),
        and("availability: {regions: [moon]}\nregions: [cn]\npricing: {input_per_1k_tokens: free}\n"),
        and("context_policy: {strategy: forget}\nrouting: {prefer: cheap}\ntelemetry: 5\n"),
        and("multimodal: {input: {vision: yes}}\nmcp: {client: {approval_modes: [sometimes]}}\n"),
        and("computer_use: {status: soon}\napi_families: {chat: {request_format: openai, flavour: x}}\n"),
        and("provider_contract: {api_style: telepathy}\nfeatures: {multi_candidate: {support_type: some}}\n"),
        and("experimental: {rtc_events: 5, performance: {circuit_breaker: {failure_threshold: 7}}, warp: 9}\n"),
        and("performance: {circuit_breaker: {failure_threshold: 0.25}}\nfuture: {a: 1}\n"),
    ];
    assert_snapshot!(verdicts(&texts), @r#"
    accepted
        acme.yaml:15:9: warning[ring3.status]: unknown variant `retired`, expected one of `stable`, `beta`, `deprecated` (status)
    accepted
        acme.yaml:15:26: warning[ring3.retry-policy]: unknown variant `hope`, expected one of `none`, `exponential_backoff`, `linear_backoff`, `fixed_delay` (retry_policy.strategy)
    accepted
        acme.yaml:15:15: warning[ring3.retry-policy]: min_delay_ms 9 is over max_delay_ms 3 (retry_policy)
        ignored 15:50 retry_policy.notes
    accepted
        acme.yaml:15:21: warning[ring3.rate-limit-headers]: an object is expected, not a list (rate_limit_headers)
    accepted
        acme.yaml:15:46: warning[ring3.termination]: "sideways" is not a standard reason and is left out (termination.mapping.odd)
        acme.yaml:15:64: warning[ring3.termination]: "cancelled" is not a standard reason; the nearest one is taken (termination.mapping.cancel)
    accepted
        acme.yaml:16:49: warning[ring3.guardrails]: unknown variant `shred`, expected one of `block`, `warn`, `log`, `mask` (guardrails.input_filters[0].action)
    accepted
        acme.yaml:17:46: warning[ring3.guardrails]: ( is not a regular expression (guardrails.input_filters[0])
        acme.yaml:18:45: warning[ring3.guardrails]: [ is not a regular expression (guardrails.input_filters[1])
    accepted
        acme.yaml:16:20: warning[ring3.guardrails]: it names neither patterns nor words, so it finds nothing (guardrails.output_filters[0])
        acme.yaml:16:86: warning[ring3.guardrails]: ^a may match more than 248 bytes, or asks for the ends of the text, so answers come out when their texts are complete (guardrails.output_filters[1])
    accepted
        acme.yaml:15:25: warning[ring3.endpoints]: an object is expected, not a number (endpoints.embeddings)
    accepted
        acme.yaml:15:25: warning[ring3.services]: missing field `path` (services.list_models)
    accepted
        acme.yaml:15:53: warning[ring3.models]: invalid type: string "big", expected u64 (metadata.models.bad.context_window)
    accepted
        acme.yaml:15:26: warning[ring3.availability]: unknown variant `moon`, expected one of `cn`, `global`, `us`, `eu` (availability.regions[0])
        acme.yaml:17:32: warning[ring3.pricing]: invalid type: string "free", expected f64 (pricing.input_per_1k_tokens)
    accepted
        acme.yaml:15:28: warning[ring3.context-policy]: unknown variant `forget`, expected one of `sliding_window`, `summarize`, `truncate_oldest`, `token_budget`, `adaptive` (context_policy.strategy)
        acme.yaml:17:12: warning[ring3.telemetry]: an object is expected, not a number (telemetry)
    accepted
        acme.yaml:15:30: warning[ring2.multimodal]: an object is expected, not a text (multimodal.input.vision)
        acme.yaml:16:33: warning[ring2.mcp]: unknown variant `sometimes`, expected one of `never`, `always`, `auto` (mcp.client.approval_modes[0])
    accepted
        acme.yaml:15:24: warning[ring2.computer-use]: unknown variant `soon`, expected one of `ga`, `beta`, `preview`, `experimental` (computer_use.status)
        ignored 16:47 api_families.chat.flavour
    accepted
        acme.yaml:15:32: warning[ring3.contract]: unknown variant `telepathy`, expected one of `openai_compatible`, `anthropic_messages`, `gemini_generate`, `custom` (provider_contract.api_style)
        acme.yaml:16:44: warning[ring3.features]: unknown variant `some`, expected `native` or `simulated` (features.multi_candidate.support_type)
    accepted
        acme.yaml:15:28: warning[experimental.section]: an object is expected, not a number (experimental.rtc_events)
        acme.yaml:15:62: warning[experimental.performance]: failure_threshold must be over 0 and at most 1, and the times over 0 (experimental.performance.circuit_breaker)
        ignored 15:87 experimental.warp
    accepted
        ignored 16:1 future
    "#);
}

#[test]
fn what_cannot_be_read_is_the_default_and_what_can_is_kept() {
    let policy = load(&and("retry_policy: {strategy: hope}\n")).manifest.map(|manifest| manifest.retry_policy);
    assert_eq!(policy, Some(manifest::resilience::RetryPolicy::default()));
    let text = and("performance: {circuit_breaker: {failure_threshold: 0.25}}\nfuture: {a: 1}\n");
    let kept = load(&text).manifest;
    let breaker = kept.as_ref().map(|manifest| manifest.experimental.performance.circuit_breaker.clone());
    let expected = manifest::experimental::CircuitBreaker { failure_threshold: 0.25, ..Default::default() };
    assert_eq!(breaker, Some(expected));
    assert_eq!(kept.map(|manifest| manifest.extensions["future"].clone()), Some(serde_json::json!({"a": 1})));
}

#[test]
fn words_of_an_operation_are_checked() {
    let texts = [
        and("endpoints: {batch: {path: /b, wording: {creation: {x: 1}, creaton: {}}}}\n"),
        and("endpoints: {batch: {path: /b, wording: {cancel: [stop]}}}\n"),
    ];
    assert_snapshot!(verdicts(&texts), @r"
    accepted
        ignored 15:59 endpoints.batch.wording.creaton
    accepted
        acme.yaml:15:49: warning[ring3.endpoints]: invalid type: sequence, expected a string (endpoints.batch.wording.cancel)
    ");
}

#[test]
fn phases_of_a_profile_reject_a_manifest() {
    let texts = [
        and("capability_profile: {inputs: {}}\n"),
        and("capability_profile: {phase: later, inputs: {}}\n"),
        and("capability_profile: {phase: ios_v1, inputs: {modalities: 5}}\n"),
        and("capability_profile: {phase: iospc_v1, contract: {cost_class: low}}\n"),
    ];
    assert_snapshot!(verdicts(&texts), @r"
    rejected
        acme.yaml:15:21: error[ring2.capability-profile]: phase is missing (capability_profile.phase)
    rejected
        acme.yaml:15:29: error[ring2.capability-profile]: unknown variant `later`, expected `ios_v1` or `iospc_v1` (capability_profile.phase)
    accepted
        acme.yaml:15:58: warning[ring2.capability-profile]: invalid type: integer `5`, expected a sequence (capability_profile.inputs.modalities)
    rejected
        acme.yaml:15:21: error[ring2.capability-profile]: must match at least one schema in anyOf: inputs, outcomes or systems is expected (capability_profile)
    ");
}

#[test]
fn files_that_are_no_documents_are_rejected() {
    let texts = [
        String::new(),
        "# only a comment\n".to_owned(),
        "- a\n- list\n".to_owned(),
        "id: acme\nid: other\n".to_owned(),
        and("parameters:\n  n: {type: integer}\n  \"n\": {type: float}\n"),
        "a: &a [x]\nb: *c\n".to_owned(),
        "id: \"unclosed\n".to_owned(),
        "id: acme\n---\nid: other\n".to_owned(),
        "id: acme\n\tname: x\n".to_owned(),
    ];
    assert_snapshot!(verdicts(&texts), @r"
    rejected
        acme.yaml: error[file.syntax]: the file is empty
    rejected
        acme.yaml:2:1: error[file.syntax]: an object is expected, not nothing
    rejected
        acme.yaml:1:1: error[file.syntax]: an object is expected, not a list
    rejected
        acme.yaml:2:1: error[file.duplicate-key]: duplicate mapping key: id
    rejected
        acme.yaml:17:3: error[file.duplicate-key]: duplicate mapping key: n
    rejected
        acme.yaml:2:4: error[file.syntax]: alias references unknown anchor
    rejected
        acme.yaml:2:1: error[file.syntax]: invalid indentation in multiline quoted scalar
    rejected
        acme.yaml:2:1: error[file.syntax]: a file holds one document
    rejected
        acme.yaml:1:5: error[file.syntax]: while scanning a plain scalar, found a tab
    ");
}

#[test]
fn a_finding_is_shown_with_its_line() {
    let text = and("status: \"retired\"\n");
    let shown = |style| load(&text).diagnostics.iter().map(|found| render(found, &text, style)).collect::<String>();
    assert_snapshot!(shown(Style::Plain), @r#"
    warning[ring3.status]: unknown variant `retired`, expected one of `stable`, `beta`, `deprecated`
      --> acme.yaml:15:9
       |
    15 | status: "retired"
       |         ^^^^^^^^^
       = in status
    "#);
    assert_eq!(strip(&shown(Style::Ansi)), shown(Style::Plain));
}

/// Without colours.
fn strip(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn an_operation_elsewhere_is_reached_over_https() {
    let chat = |address: &str| with("chat: /chat/completions", &format!("chat: {address}"));
    assert_snapshot!(verdicts(&[
        chat("http://elsewhere.example/chat"),
        chat("ftp://elsewhere.example/chat"),
        chat("https://me:hunter2@elsewhere.example/chat"),
        chat("https://elsewhere.example/chat"),
        chat("http://127.0.0.1:8080/chat"),
        and("services: { list_models: { path: \"http://elsewhere.example/models\" } }\n"),
    ]), @r"
    rejected
        acme.yaml:5:9: error[ring1.operation]: a server elsewhere must be reached over https (endpoints.chat.path)
    rejected
        acme.yaml:5:9: error[ring1.operation]: a server elsewhere must be reached over https (endpoints.chat.path)
    rejected
        acme.yaml:5:9: error[ring1.operation]: the address holds a credential (endpoints.chat.path)
    accepted
    accepted
    rejected
        acme.yaml:15:34: error[ring1.operation]: a server elsewhere must be reached over https (services.list_models.path)
    ");
}

#[test]
fn unknown_members_of_a_model_are_listed_and_not_kept() {
    let text = and("metadata:\n  models:\n    one: { contxt_window: 9, notes: kept, family: f }\n");
    assert_eq!(verdict(&text), "accepted\n    ignored 17:12 metadata.models.one.contxt_window\n");
    let extra = load(&text).manifest.map(|manifest| serde_json::to_string(&manifest.models["one"].extra).unwrap());
    assert_eq!(extra.as_deref(), Some(r#"{"notes":"kept"}"#));
}
