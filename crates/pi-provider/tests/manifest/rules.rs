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

pub(crate) fn load(text: &str) -> Loaded {
    manifest::load(text, "acme.yaml", Format::Yaml)
}

/// The smallest manifest with one piece replaced.
pub(crate) fn with(old: &str, new: &str) -> String {
    assert!(SMALLEST.contains(old), "{old}");
    SMALLEST.replacen(old, new, 1)
}

/// The smallest manifest with more at its end.
pub(crate) fn and(more: &str) -> String {
    format!("{SMALLEST}{more}")
}

/// Whether the file is accepted, what is wrong with it, and what was ignored.
pub(crate) fn verdict(text: &str) -> String {
    let loaded = load(text);
    let mut lines = vec![if loaded.manifest.is_some() { "accepted".to_owned() } else { "rejected".to_owned() }];
    lines.extend(loaded.diagnostics.iter().map(|found| format!("{found}\n        help: {}", found.hint)));
    lines.extend(loaded.ignored.iter().map(|found| format!("ignored {}:{} {}", found.line, found.column, found.path)));
    lines.join("\n    ") + "\n"
}

pub(crate) fn verdicts(texts: &[String]) -> String {
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
            help: write id: and 2 to 64 lower case letters, digits, - and _, beginning with a letter or digit
    rejected
        acme.yaml:1:5: error[ring1.id]: "A" is not an id (id)
            help: 2 to 64 lower case letters, digits, - and _, beginning with a letter or digit
    rejected
        acme.yaml:1:5: error[ring1.id]: "a" is not an id (id)
            help: 2 to 64 lower case letters, digits, - and _, beginning with a letter or digit
    rejected
        acme.yaml:1:5: error[ring1.id]: "-acme" is not an id (id)
            help: 2 to 64 lower case letters, digits, - and _, beginning with a letter or digit
    rejected
        acme.yaml:1:5: error[ring1.id]: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" is not an id (id)
            help: 2 to 64 lower case letters, digits, - and _, beginning with a letter or digit
    rejected
        acme.yaml:1:5: error[ring1.id]: a text is expected, not a number (id)
            help: put the value in quotes
    accepted
        acme.yaml:2:22: warning[ring1.aliases]: "bad name" is not a name (aliases[1])
            help: an alias is 1 to 64 letters, digits, -, _ and . in a list, such as aliases: [llama.cpp]
    rejected
        acme.yaml:1:1: error[ring1.protocol-version]: protocol_version is missing (protocol_version)
            help: write protocol_version: "2.0"; files of 1.x are promoted
    rejected
        acme.yaml:2:19: error[ring1.protocol-version]: version "3.0" is not known (protocol_version)
            help: 2.0 is read as it is, 1.x is promoted
    accepted
        acme.yaml:2:19: warning[ring1.protocol-version]: the version should be a text (protocol_version)
            help: put the value in quotes
    rejected
        acme.yaml:2:19: error[ring1.protocol-version]: a version is expected, not a list (protocol_version)
            help: write protocol_version: "2.0"; files of 1.x are promoted
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
            help: write a whole address, such as https://api.example.com/v1
    rejected
        acme.yaml:4:13: error[ring1.base-url]: the address does not begin with https:// (endpoint.base_url)
            help: write a whole address, such as https://api.example.com/v1
    rejected
        acme.yaml:4:13: error[ring1.base-url]: https is expected, not ftp (endpoint.base_url)
            help: write a whole address, such as https://api.example.com/v1
    rejected
        acme.yaml:4:13: error[ring1.base-url]: a server elsewhere must be reached over https (endpoint.base_url)
            help: http is for servers on this machine or network
    rejected
        acme.yaml:4:13: error[ring1.base-url]: the address holds a credential (endpoint.base_url)
            help: name the variable that holds it in endpoint.auth.token_env
    accepted
    accepted
    accepted
    accepted
    accepted
    rejected
        acme.yaml:3:1: error[ring1.chat]: endpoint.chat is missing (endpoint.chat)
            help: write the path of a chat, such as /chat/completions
    rejected
        acme.yaml:5:9: error[ring1.chat]: the path of a chat is expected (endpoint.chat)
            help: write the path of a chat, such as /chat/completions
    accepted
        acme.yaml:6:15: warning[ring1.timeout]: 5 is under 100 ms (endpoint.timeout_ms)
            help: write milliseconds, at least 100
        acme.yaml:7:13: warning[ring1.protocol]: calls go over HTTP whatever this says (endpoint.protocol)
            help: leave it out: base_url says how the server is reached
    rejected
        acme.yaml:3:11: error[ring1.endpoint]: an object is expected, not a text (endpoint)
            help: write endpoint: with base_url, chat and auth below it
        acme.yaml:4:40: warning[ring1.least-statuses]: 400, 401, 500 must be mapped too; the usual meaning is assumed (error_classification.by_http_status)
            help: map at least 400, 401, 429 and 500 to standard names
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
            help: write type: bearer, custom_header or query_param; none for a local server that asks for nothing
    accepted
        acme.yaml:7:5: note[ring1.auth-header]: Authorization is assumed (endpoint.auth.header)
            help: write the name of the header that carries the credential, such as header: Authorization
    rejected
        acme.yaml:7:5: error[ring1.auth-header]: endpoint.auth.header is missing (endpoint.auth.header)
            help: write the name of the header that carries the credential, such as header: Authorization
    rejected
        acme.yaml:7:5: error[ring1.auth-param]: endpoint.auth.param_name is missing (endpoint.auth.param_name)
            help: write the name of the parameter that carries the credential, such as param_name: key
    accepted
    rejected
        acme.yaml:7:11: error[ring1.auth-type]: "handshake" is not a way to authenticate (endpoint.auth.type)
            help: write bearer, custom_header, query_param or none
    rejected
        acme.yaml:7:5: error[ring1.auth]: type is missing (endpoint.auth)
            help: add type
    accepted
    rejected
        acme.yaml:8:13: error[ring1.auth-header]: "x key" is not the name of a header (endpoint.auth.header)
            help: write the name of the header that carries the credential, such as header: Authorization
    rejected
        acme.yaml:9:16: error[ring1.token-env]: the name of a variable is expected (18 characters are written) (endpoint.auth.token_env)
            help: name the variable that holds the credential, never the credential itself
    rejected
        acme.yaml:9:21: error[ring1.auth]: value is missing (endpoint.auth.extra_headers[0])
            help: add value
    accepted
        acme.yaml:15:1: warning[ring1.shadowed-auth]: endpoint.auth is used, so OTHER_KEY is never looked up (auth)
            help: remove one of the two
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
            help: classification is not known; did you mean error_classification?
        ignored 9:1 classification
    rejected
        acme.yaml:9:1: error[ring1.error-classification]: error_classification.by_http_status is missing (error_classification.by_http_status)
            help: map at least 400, 401, 429 and 500 to standard names below by_http_status
    accepted
        acme.yaml:11:5: warning[ring1.least-statuses]: 401, 429 must be mapped too; the usual meaning is assumed (error_classification.by_http_status)
            help: map at least 400, 401, 429 and 500 to standard names
    rejected
        acme.yaml:12:12: error[ring1.error-name]: "authentification" is not a standard error (error_classification.by_http_status.401)
            help: did you mean authentication?
    accepted
        acme.yaml:12:12: warning[ring1.error-name]: "unauthorized" is not a standard error; it is read as authentication (error_classification.by_http_status.401)
            help: write authentication
    rejected
        acme.yaml:11:5: error[ring1.status]: "4xx" is not an HTTP status (error_classification.by_http_status.4xx)
            help: write a number from 100 to 599 in quotes, such as "429"
        acme.yaml:11:5: warning[ring1.least-statuses]: 400 must be mapped too; the usual meaning is assumed (error_classification.by_http_status)
            help: map at least 400, 401, 429 and 500 to standard names
    accepted
    rejected
        acme.yaml:15:22: warning[ring1.error-name]: "insufficient_quota" is not a standard error; it is read as quota_exhausted (error_classification.by_error_code.a)
            help: write quota_exhausted
        acme.yaml:15:45: error[ring1.error-name]: "broken" is not a standard error (error_classification.by_error_code.b)
            help: write invalid_request, authentication, permission_denied, not_found, request_too_large, rate_limited, quota_exhausted, server_error, overloaded, timeout, conflict, cancelled or unknown
    rejected
        acme.yaml:16:17: error[expression.pattern]: the pattern cannot be read: unclosed group (error_classification.by_error_message[0].pattern)
            help: write a regular expression; put \ before a bracket, dot or sign that is meant as such
        acme.yaml:17:7: error[ring1.error-message]: pattern and maps_to are expected (error_classification.by_error_message[1])
            help: write a list of {pattern: a regular expression, maps_to: a standard name}
        acme.yaml:18:29: warning[ring1.error-name]: "other" is not a standard error; it is read as unknown (error_classification.by_error_message[2].maps_to)
            help: write unknown
    rejected
        acme.yaml:15:37: error[expression.pattern]: the pattern has no group for the number, such as ([0-9]+) (error_classification.retry_after_extraction.pattern)
            help: write a regular expression; put \ before a bracket, dot or sign that is meant as such
        acme.yaml:15:46: error[ring1.retry-after]: "fortnights" is not one of seconds, milliseconds (error_classification.retry_after_extraction.unit)
            help: write seconds or milliseconds
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
            help: write streaming: with a decoder, such as decoder: {format: sse, strategy: openai_chat}
        acme.yaml:15:15: error[ring2.text]: a provider with a chat must declare text (capabilities.required)
            help: add text to capabilities.required
    accepted
        acme.yaml:15:1: warning[ring2.streaming]: streaming is declared and not described; the usual stream of the dialect is assumed (streaming)
            help: write streaming: with a decoder, such as decoder: {format: sse, strategy: openai_chat}
        acme.yaml:15:15: warning[ring2.text]: a provider with a chat must require text; it is optional here (capabilities.required)
            help: add text to capabilities.required
    rejected
        acme.yaml:15:33: note[ring2.unknown-capability]: "telepathy" is not known and ignored (capabilities.required[1])
            help: a name that is not standard says nothing to pi; remove it, or leave it for others
        acme.yaml:15:56: note[ring2.unknown-capability]: "chat" is not known and ignored (capabilities.optional[0])
            help: the standard name is text
        acme.yaml:15:62: error[ring2.capabilities]: a text is expected, not a number (capabilities.optional[1])
            help: put the value in quotes
        ignored 15:33 capabilities.required[1]
        ignored 15:56 capabilities.optional[0]
    accepted
        acme.yaml:15:15: note[promote.capabilities]: the list is read as what is required (capabilities)
            help: write capabilities: {required: […], optional: […]}
    accepted
        acme.yaml:15:67: warning[ring2.feature-flags]: true or false is expected, not a text (capabilities.feature_flags.streaming_usage)
            help: write true or false for each flag
        ignored 15:91 capabilities.more
    accepted
        acme.yaml:15:1: warning[ring2.streaming]: streaming is declared and not described; the usual stream of the dialect is assumed (streaming)
            help: write streaming: with a decoder, such as decoder: {format: sse, strategy: openai_chat}
    rejected
        acme.yaml:16:1: error[ring2.decoder]: streaming.decoder is missing (streaming.decoder)
            help: format and strategy say how the stream is read, such as sse and openai_chat
    accepted
        acme.yaml:16:1: note[ring2.decoder]: streaming.decoder is missing (streaming.decoder)
            help: format and strategy say how the stream is read, such as sse and openai_chat
    rejected
        acme.yaml:18:15: error[ring2.streaming]: match is missing (streaming.event_map[0])
            help: add match
        acme.yaml:18:22: warning[ring2.event-map]: "X" is not an event that is known; it is handed on under that name and says nothing (streaming.event_map[0].emit)
            help: known are PartialContentDelta, ThinkingDelta, ToolCallStarted, PartialToolCall, ToolCallEnded, Metadata, UsageReport, FinalCandidate, StreamEnd, StreamError, MultimodalFrame, AgentStateSync, ToolExecutionFeedback, SchemaLessField
    accepted
        acme.yaml:18:15: note[ring2.streaming]: match is missing (streaming.event_map[0])
            help: add match
    rejected
        acme.yaml:15:78: error[ring2.tool-calling]: "some" is not one of full, partial, unreliable (capabilities.tool_calling.native.reliability)
            help: write full, partial or unreliable
    accepted
        acme.yaml:15:71: note[ring2.tool-calling]: "some" is not one of full, partial, unreliable (capabilities.tool_calling.native.reliability)
            help: write full, partial or unreliable
    rejected
        acme.yaml:16:23: error[ring2.parameters]: "warmth" is not one of float, integer, boolean, string, array, object, string_or_object (parameters.temperature.type)
            help: write float, integer, boolean, string, array, object or string_or_object
        acme.yaml:17:10: error[ring2.parameters]: nothing is between 2 and 1 (parameters.top_p)
            help: write type (float, integer, boolean, string, array, object or string_or_object), and range, min, max, enum and default that fit it
    rejected
        acme.yaml:16:39: error[ring2.parameters]: the default 0 is not a value that the parameter may have (parameters.n.default)
            help: write type (float, integer, boolean, string, array, object or string_or_object), and range, min, max, enum and default that fit it
        acme.yaml:17:44: error[ring2.parameters]: the default "b" is not a value that the parameter may have (parameters.mode.default)
            help: write type (float, integer, boolean, string, array, object or string_or_object), and range, min, max, enum and default that fit it
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
        acme.yaml:15:9: warning[ring3.status]: "retired" is not one of stable, beta, deprecated (status)
            help: write stable, beta or deprecated
    accepted
        acme.yaml:15:26: warning[ring3.retry-policy]: "hope" is not one of none, exponential_backoff, linear_backoff, fixed_delay (retry_policy.strategy)
            help: did you mean none?
    accepted
        acme.yaml:15:15: warning[ring3.retry-policy]: min_delay_ms 9 is over max_delay_ms 3 (retry_policy)
            help: what is wrong is left out, and its default counts; min_delay_ms is at most max_delay_ms
        ignored 15:50 retry_policy.notes
    accepted
        acme.yaml:15:21: warning[ring3.rate-limit-headers]: an object is expected, not a list (rate_limit_headers)
            help: write the names of headers as texts
    accepted
        acme.yaml:15:46: warning[ring3.termination]: "sideways" is not a standard reason and is left out (termination.mapping.odd)
            help: write end_turn, max_tokens, stop_sequence, tool_use, refusal, pause_turn or other
        acme.yaml:15:64: warning[ring3.termination]: "cancelled" is not a standard reason; the nearest one is taken (termination.mapping.cancel)
            help: write end_turn, max_tokens, stop_sequence, tool_use, refusal, pause_turn or other
    accepted
        acme.yaml:16:49: warning[ring3.guardrails]: "shred" is not one of block, warn, log, mask (guardrails.input_filters[0].action)
            help: write block, warn, log or mask; calls are refused until then
    accepted
        acme.yaml:17:47: warning[expression.pattern]: ( is not a regular expression (guardrails.input_filters[0].patterns[0])
            help: correct it: calls are refused until then, because nothing may pass by it
        acme.yaml:18:46: warning[expression.pattern]: [ is not a regular expression (guardrails.input_filters[1].patterns[0])
            help: write a regular expression; put \ before a bracket, dot or sign that is meant as such
    accepted
        acme.yaml:16:27: warning[ring3.guardrails]: its type is not known, and it names neither patterns nor words, so it finds nothing (guardrails.output_filters[0].type)
            help: give it patterns or words; known types are pii_detection, content_safety; calls are refused until then
        acme.yaml:16:87: warning[ring3.guardrails]: ^a may match more than 248 bytes, or asks for the ends of the text, so answers come out when their texts are complete (guardrails.output_filters[1].patterns[0])
            help: bound its repetitions, such as {1,64} for +, and leave out ^ and $
    accepted
        acme.yaml:15:25: warning[ring3.endpoints]: an object is expected, not a number (endpoints.embeddings)
            help: each operation is a path, or an object with path and perhaps method and adapter
    accepted
        acme.yaml:15:25: warning[ring3.services]: path is missing (services.list_models)
            help: add path
    accepted
        acme.yaml:15:53: warning[ring3.models]: a whole number that is not negative is expected, not a text (metadata.models.bad.context_window)
            help: write the name of each model with an object below it, such as lathe-2: {context_window: 65536}; what is wrong in it is left out
    accepted
        acme.yaml:15:26: warning[ring3.availability]: "moon" is not one of cn, global, us, eu (availability.regions[0])
            help: write cn, global, us or eu
        acme.yaml:17:32: warning[ring3.pricing]: a number is expected, not a text (pricing.input_per_1k_tokens)
            help: write numbers for input_per_1k_tokens and output_per_1k_tokens
    accepted
        acme.yaml:15:28: warning[ring3.context-policy]: "forget" is not one of sliding_window, summarize, truncate_oldest, token_budget, adaptive (context_policy.strategy)
            help: write sliding_window, summarize, truncate_oldest, token_budget or adaptive
        acme.yaml:17:12: warning[ring3.telemetry]: an object is expected, not a number (telemetry)
            help: write an object; its members are hints
    accepted
        acme.yaml:15:30: warning[ring2.multimodal]: an object is expected, not a text (multimodal.input.vision)
            help: below input and output, each medium is an object with supported and formats
        acme.yaml:16:33: warning[ring2.mcp]: "sometimes" is not one of never, always, auto (mcp.client.approval_modes[0])
            help: write never, always or auto
    accepted
        acme.yaml:15:24: warning[ring2.computer-use]: "soon" is not one of ga, beta, preview, experimental (computer_use.status)
            help: write ga, beta, preview or experimental
        ignored 16:47 api_families.chat.flavour
    accepted
        acme.yaml:15:32: warning[ring3.contract]: "telepathy" is not one of openai_compatible, anthropic_messages, gemini_generate, custom (provider_contract.api_style)
            help: write openai_compatible, anthropic_messages, gemini_generate or custom
        acme.yaml:16:44: warning[ring3.features]: "some" is not one of native, simulated (features.multi_candidate.support_type)
            help: write native or simulated
    accepted
        acme.yaml:15:28: warning[experimental.section]: an object is expected, not a number (experimental.rtc_events)
            help: what is wrong is left out; nothing depends on it
        acme.yaml:15:62: warning[experimental.performance]: failure_threshold must be over 0 and at most 1, and the times over 0 (experimental.performance.circuit_breaker)
            help: leave it out for the usual circuit breaker: half of the calls failing within a minute, half a minute to recover
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

/// YAML can write numbers that are none; in a section that may be wrong they are.
#[test]
fn numbers_that_are_none_do_not_reject_a_manifest() {
    for section in [
        "metadata: {models: {m: {pricing: {input_per_1m: .nan}}}}\n",
        "metadata: {models: {m: {context_window: .inf}}}\n",
    ] {
        let verdict = verdict(&and(section));
        assert!(verdict.starts_with("accepted\n") && verdict.contains(": warning[ring3."), "{section}{verdict}");
    }
    assert!(verdict(&with("https://api.acme.example/v1", ".inf")).starts_with("rejected\n"));
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
        acme.yaml:15:49: warning[ring3.endpoints]: a text is expected, not a list (endpoints.batch.wording.cancel)
            help: each operation is a path, or an object with path and perhaps method and adapter
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
    assert_snapshot!(verdicts(&texts), @r#"
    rejected
        acme.yaml:15:21: error[ring2.capability-profile]: phase is missing (capability_profile.phase)
            help: ios_v1 or iospc_v1
    rejected
        acme.yaml:15:29: error[ring2.capability-profile]: "later" is not one of ios_v1, iospc_v1 (capability_profile.phase)
            help: write ios_v1 or iospc_v1
    accepted
        acme.yaml:15:58: warning[ring2.capability-profile]: a list is expected, not a number (capability_profile.inputs.modalities)
            help: write phase: ios_v1 with inputs, outcomes or systems, or phase: iospc_v1 with process or contract too
    rejected
        acme.yaml:15:21: error[ring2.capability-profile]: must match at least one schema in anyOf: inputs, outcomes or systems is expected (capability_profile)
            help: write phase: ios_v1 with inputs, outcomes or systems, or phase: iospc_v1 with process or contract too
    "#);
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
    assert_snapshot!(verdicts(&texts), @r#"
    rejected
        acme.yaml: error[file.syntax]: the file is empty
            help: `pi provider new ID` writes a manifest to begin with
    rejected
        acme.yaml:2:1: error[file.syntax]: an object is expected, not nothing
            help: a manifest has members such as id: and endpoint:; `pi provider new ID` writes one
    rejected
        acme.yaml:1:1: error[file.syntax]: an object is expected, not a list
            help: a manifest has members such as id: and endpoint:; `pi provider new ID` writes one
    rejected
        acme.yaml:2:1: error[file.duplicate-key]: "id" stands here for the second time
            help: keep one of the two
    rejected
        acme.yaml:17:3: error[file.duplicate-key]: "n" stands here for the second time
            help: keep one of the two
    rejected
        acme.yaml:2:4: error[file.syntax]: *c repeats what is marked with &c, and nothing before it is
            help: mark the first occurrence with & and the name, or put a text that begins with * into quotes
    rejected
        acme.yaml:2:1: error[file.syntax]: a text in quotes goes on in this line, which is not indented
            help: close the quote in the line above, or indent what belongs to the text
    rejected
        acme.yaml:2:1: error[file.syntax]: a file holds one document
            help: make a file of each document, without --- between them
    rejected
        acme.yaml:2:1: error[file.syntax]: a tab stands where only spaces may indent
            help: write spaces instead of the tab; most editors can be told to
    "#);
}

#[test]
fn words_that_nobody_knows_are_told_with_the_nearest() {
    let streams = "capabilities: {required: [text, streaming]}\nstreaming:\n  decoder: {format: sse, strategy: ";
    let rule = "[{match: $.a, emit: PartialContentDelta, extract: {content: $.a}}]";
    let texts = [
        and(&format!("{streams}openai_caht}}\n")),
        and(&format!("{streams}openai_caht}}\n  event_map: {rule}\n")),
        and(&format!("{streams}smoke_signals}}\n  event_map: {rule}\n")),
        and(&format!("{streams}smoke_signals}}\n")),
        and(&format!(
            "{streams}openai_chat}}\n  event_map:\n    - {{match: $.a, emit: PartialContentDlta, extract: {{content: $.a}}}}\n    - {{match: $.b, emit: Metadata, extract: {{usge: $.b, mine: $.c}}}}\n    - {{match: $.d, emit: AgentStateSync}}\n"
        )),
        and("capabilities: {required: [text], optional: [visoin], feature_flags: {streaming_usge: true, own: true}}\n"),
        and("endpoints: {chat: {path: /chat, adapter: opnai}}\nmetadata: {models: {one: {api: telepathy}}}\n"),
        and(
            "multimodal:\n  input:\n    vision: {supported: true, encoding_methods: [base64, url], max_file_size: huge, max_resolution: 4k}\n",
        ),
        and(
            "provider_contract:\n  degradation: {strategy: eror, rules: [{capability: vision, action: strip}]}\n  request_mapping: {content_block_mapping: {image: {format: openai_ulr}, audio: {format: own}}}\n",
        ),
        and("guardrails: {input_filters: [{type: pii_detecton, action: mask}, {type: own, action: log}]}\n"),
    ];
    assert_snapshot!(verdicts(&texts), @r#"
    accepted
        acme.yaml:17:36: warning[ring2.decoder]: the strategy "openai_caht" is not known: there is no event_map either, so the stream is read as the rest of the file says, or as openai_chat (streaming.decoder.strategy)
            help: did you mean openai_chat? known are openai_chat, openai_responses, anthropic_event_stream, gemini_generate, cohere_v2
    accepted
        acme.yaml:17:36: warning[ring2.decoder]: the strategy "openai_caht" is not known: only the rules of event_map count, and nothing completes them (streaming.decoder.strategy)
            help: did you mean openai_chat? known are openai_chat, openai_responses, anthropic_event_stream, gemini_generate, cohere_v2
    accepted
        acme.yaml:17:36: note[ring2.decoder]: the strategy "smoke_signals" is not known: only the rules of event_map count, and nothing completes them (streaming.decoder.strategy)
            help: known are openai_chat, openai_responses, anthropic_event_stream, gemini_generate, cohere_v2
    accepted
        acme.yaml:17:36: warning[ring2.decoder]: the strategy "smoke_signals" is not known: there is no event_map either, so the stream is read as the rest of the file says, or as openai_chat (streaming.decoder.strategy)
            help: known are openai_chat, openai_responses, anthropic_event_stream, gemini_generate, cohere_v2
    accepted
        acme.yaml:19:26: warning[ring2.event-map]: "PartialContentDlta" is not an event that is known; it is handed on under that name and says nothing (streaming.event_map[0].emit)
            help: did you mean PartialContentDelta? known are PartialContentDelta, ThinkingDelta, ToolCallStarted, PartialToolCall, ToolCallEnded, Metadata, UsageReport, FinalCandidate, StreamEnd, StreamError, MultimodalFrame, AgentStateSync, ToolExecutionFeedback, SchemaLessField
        acme.yaml:20:46: warning[ring2.event-map]: the field "usge" is not known and says nothing (streaming.event_map[1].extract.usge)
            help: did you mean usage?
    accepted
        acme.yaml:15:45: warning[ring2.unknown-capability]: "visoin" is not known and ignored (capabilities.optional[0])
            help: did you mean vision? known are text, streaming, vision, audio, video, tools, parallel_tools, agentic, reasoning, embeddings, structured_output, batch, image_generation, computer_use, mcp_client, mcp_server, stt, tts, rerank
        acme.yaml:15:70: warning[ring2.feature-flags]: the flag "streaming_usge" is not known and switches nothing (capabilities.feature_flags.streaming_usge)
            help: did you mean streaming_usage? known are structured_output, parallel_tool_calls, extended_thinking, streaming_usage, system_messages, image_generation
        ignored 15:45 capabilities.optional[0]
    accepted
        acme.yaml:15:42: warning[ring3.endpoints]: "opnai" is not a dialect that is known; the usual one of the provider is taken (endpoints.chat.adapter)
            help: did you mean openai? known are openai, openai_responses, anthropic, gemini, cohere_v2, replicate
        acme.yaml:16:32: warning[ring3.models]: "telepathy" is not a dialect that is known; the usual one of the provider is taken (metadata.models.one.api)
            help: known are openai, openai_responses, anthropic, gemini, cohere_v2, replicate
    accepted
        acme.yaml:17:50: warning[ring2.multimodal]: "base64" is not a way that is known, so nothing is sent in it (multimodal.input.vision.encoding_methods[0])
            help: known are base64_inline, url, file_uri
        acme.yaml:17:79: warning[ring2.multimodal]: "huge" is not a limit that is known, and is not kept to (multimodal.input.vision.max_file_size)
            help: write a number and a unit, such as 20MB
        acme.yaml:17:101: warning[ring2.multimodal]: "4k" is not a limit that is known, and is not kept to (multimodal.input.vision.max_resolution)
            help: write width and height, such as 4096x4096
    accepted
        acme.yaml:16:27: warning[ring3.contract]: "eror" is not known; a note takes the place of what cannot be sent (provider_contract.degradation.strategy)
            help: did you mean error? known are error, fallback, silent_skip
        acme.yaml:16:70: warning[ring3.contract]: "strip" is not known; a note takes the place of what cannot be sent (provider_contract.degradation.rules[0].action)
            help: known are error, fallback_text, strip_content, convert_to_text
        acme.yaml:17:61: warning[ring3.contract]: "openai_ulr" is not known; the usual form of the dialect is taken (provider_contract.request_mapping.content_block_mapping.image.format)
            help: did you mean openai_url? known are openai_url, openai_file, openai_tool_calls, openai_tool_message, anthropic_source, anthropic_document, anthropic_tool_use, anthropic_tool_result, gemini_inline_data, gemini_function_call, gemini_function_response
    accepted
        acme.yaml:15:37: warning[ring3.guardrails]: its type is not known, and it names neither patterns nor words, so it finds nothing (guardrails.input_filters[0].type)
            help: write pii_detection; known types are pii_detection, content_safety; calls are refused until then
        acme.yaml:15:73: warning[ring3.guardrails]: its type is not known, and it names neither patterns nor words, so it finds nothing (guardrails.input_filters[1].type)
            help: give it patterns or words; known types are pii_detection, content_safety
    "#);
}

#[test]
fn rules_that_can_never_say_anything_are_told() {
    let rules = |rules: &str| {
        let decoder = "decoder: {format: ndjson, strategy: openai_chat}";
        and(&format!("capabilities: {{required: [text, streaming]}}\nstreaming:\n  {decoder}\n  event_map:\n{rules}"))
    };
    let texts = [
        rules("    - {match: $.a, emit: ThinkingDelta, extract: {content: $.a}}\n"),
        rules("    - {match: $.a, emit: PartialContentDelta, extract: {finish_reason: $.a}}\n"),
        rules(
            "    - {match: $.a, emit: ThinkingDelta, extract: {thinking: $.a, content: $.b}}\n    - {match: $.e, emit: StreamEnd}\n",
        ),
    ];
    assert_snapshot!(verdicts(&texts), @r#"
    accepted
        acme.yaml:19:41: warning[ring2.event-map]: ThinkingDelta is made of none of these fields, so this rule says nothing (streaming.event_map[0].extract)
            help: write one of thinking, reasoning, signature
    accepted
        acme.yaml:19:47: warning[ring2.event-map]: PartialContentDelta is made of none of these fields, so this rule says nothing (streaming.event_map[0].extract)
            help: write one of content, text, signature
    accepted
    "#);
}

#[test]
fn values_that_cannot_be_meant_are_told() {
    let texts = [
        and("availability: {check: {method: DELETE, path: /}, interval_ms: 10, fallback: {method: put, path: /}}\n"),
        and("services: {list_models: {path: /models, method: FETCH}}\n"),
        and("endpoints: {chat: {path: /chat, method: FOO}}\n"),
        and("mcp: {client: {transports: [carrier, sse], protocol_version: notadate}}\n"),
        and("category: zoo\n"),
        and("category: ai_provider\nservices: {list_models: {path: /models, method: get}}\n"),
        and("mcp: {server: {transports: [stdio], protocol_version: 2025-06-18}}\n"),
        and("availability: {check: {method: head, path: /}, interval_ms: 1000}\n"),
    ];
    assert_snapshot!(verdicts(&texts), @r#"
    accepted
        acme.yaml:15:32: warning[ring3.availability]: "DELETE" is not one of HEAD, GET (availability.check.method)
            help: known are HEAD, GET
        acme.yaml:15:63: warning[ring3.availability]: 10 is under 1000 ms (availability.interval_ms)
            help: write 1000 or more: whoever asks more often is in the way
        acme.yaml:15:86: warning[ring3.availability]: "put" is not one of HEAD, GET, POST (availability.fallback.method)
            help: did you mean POST? known are HEAD, GET, POST
    accepted
        acme.yaml:15:49: warning[ring3.services]: "FETCH" is not one of GET, POST, PUT, PATCH, DELETE, HEAD (services.list_models.method)
            help: did you mean PATCH? known are GET, POST, PUT, PATCH, DELETE, HEAD
    accepted
        acme.yaml:15:41: warning[ring3.endpoints]: "FOO" is not one of GET, POST, PUT, PATCH, DELETE, HEAD (endpoints.chat.method)
            help: known are GET, POST, PUT, PATCH, DELETE, HEAD
    accepted
        acme.yaml:15:29: warning[ring2.mcp]: "carrier" is not one of stdio, sse, streamable_http (mcp.client.transports[0])
            help: known are stdio, sse, streamable_http
        acme.yaml:15:62: warning[ring2.mcp]: "notadate" is not a date (mcp.client.protocol_version)
            help: versions of the protocol are dates, such as 2025-06-18
    accepted
        acme.yaml:15:11: warning[ring3.category]: "zoo" is not one of ai_provider, model_provider, third_party_aggregator (category)
            help: known are ai_provider, model_provider, third_party_aggregator
    accepted
    accepted
    accepted
    "#);
}

#[test]
fn protocol_beside_another_address_is_told() {
    let with = |protocol: &str, url: &str| {
        let text = and("").replace("endpoint:\n", &format!("endpoint:\n  protocol: {protocol}\n"));
        verdict(&text.replace("https://api.acme.example", url))
    };
    assert_snapshot!(with("https", "http://127.0.0.1:8080"), @r"
    accepted
        acme.yaml:4:13: warning[ring1.protocol]: the address begins with http, and that counts, not https (endpoint.protocol)
            help: write the same in both, or leave endpoint.protocol out
    ");
    assert_eq!(with("https", "https://api.acme.example"), "accepted\n");
    assert_eq!(with("http", "http://127.0.0.1:8080"), "accepted\n");
}

#[test]
fn a_mark_is_as_long_as_what_it_points_at() {
    let text = and(concat!(
        "status: two words   # why\n",
        "telemetry: \"quoted: too\"\n",
        "regions: [ moon, \"far away\" ]\n",
        "rate_limit_headers: [ x, 'a ] b', [y] ]   # all of it\n",
        "services:\n  list_models: { method: GET,\n    notes: x }\n",
    ));
    let marked = |found: &manifest::Diagnostic| {
        let shown = render(found, &text, Style::Plain);
        let lines: Vec<&str> = shown.lines().filter_map(|line| line.split_once("| ")).map(|(_, line)| line).collect();
        let [line, marks] = lines[..] else { panic!("{shown}") };
        let from = marks.find('^').unwrap();
        line.chars().skip(from).take(marks.trim().len()).collect::<String>()
    };
    let marks: Vec<String> = load(&text).diagnostics.iter().map(marked).collect();
    assert_eq!(
        marks,
        ["two words", "\"quoted: too\"", "moon", "\"far away\"", "[ x, 'a ] b', [y] ]", "{ method: GET,"]
    );
    let json = r#"{"id": "no id", "protocol_version": "2.0"}"#;
    let loaded = manifest::load(json, "acme.json", Format::Json);
    let found = loaded.diagnostics.iter().find(|found| found.path == "id").expect("it is not an id");
    assert_eq!((found.column, found.length), (8, 7));
}

#[test]
fn a_finding_is_shown_with_its_line() {
    let text = and("status: \"retired\"\n");
    let shown = |style| load(&text).diagnostics.iter().map(|found| render(found, &text, style)).collect::<String>();
    assert_snapshot!(shown(Style::Plain), @r#"
    warning[ring3.status]: "retired" is not one of stable, beta, deprecated
      --> acme.yaml:15:9
       |
    15 | status: "retired"
       |         ^^^^^^^^^
       = in status
       = help: write stable, beta or deprecated
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
            help: write a path that is joined to endpoint.base_url, such as /chat/completions
    rejected
        acme.yaml:5:9: error[ring1.operation]: a server elsewhere must be reached over https (endpoints.chat.path)
            help: write a path that is joined to endpoint.base_url, such as /chat/completions
    rejected
        acme.yaml:5:9: error[ring1.operation]: the address holds a credential (endpoints.chat.path)
            help: name the variable that holds it in endpoint.auth.token_env
    accepted
    accepted
    rejected
        acme.yaml:15:34: error[ring1.operation]: a server elsewhere must be reached over https (services.list_models.path)
            help: write a path that is joined to endpoint.base_url, such as /chat/completions
    ");
}

#[test]
fn levels_of_thinking_that_their_form_cannot_carry_are_told() {
    let levels = |model: &str| {
        let capabilities = "capabilities: {required: [text, streaming, reasoning]}\n";
        let streaming = "streaming: {decoder: {format: sse, strategy: anthropic_event_stream}}\n";
        and(&format!("{capabilities}{streaming}metadata:\n  models:\n    one.5: {{{model}}}\n"))
    };
    assert_snapshot!(verdicts(&[
        levels("thinking_levels: {\"off\": none, low: 1024, high: high}"),
        levels("api: openai, thinking_levels: {\"off\": none, low: 1024}"),
    ]), @r#"
    accepted
        acme.yaml:19:38: warning[ring3.thinking-levels]: "none" is no number of tokens, and the form of this model carries nothing else; its own is sent (metadata.models.one.5.thinking_levels.off)
            help: write a number of tokens where the form of the model counts them and a word where it sends words, name the form with thinking_format, or leave the level out
        acme.yaml:19:61: warning[ring3.thinking-levels]: "high" is no number of tokens, and the form of this model carries nothing else; its own is sent (metadata.models.one.5.thinking_levels.high)
            help: write a number of tokens where the form of the model counts them and a word where it sends words, name the form with thinking_format, or leave the level out
    accepted
        acme.yaml:19:62: warning[ring3.thinking-levels]: 1024 is no word, and the form of this model carries nothing else; its own is sent (metadata.models.one.5.thinking_levels.low)
            help: write a number of tokens where the form of the model counts them and a word where it sends words, name the form with thinking_format, or leave the level out
    "#);
    for silent in [
        "thinking_levels: {\"off\": null, low: 1024, max: 65536}",
        "thinking_levels: {low: low}, thinking_format: adaptive",
        "thinking_levels: {low: low}, thinking_format: of_a_contract_elsewhere",
        "thinking_levels: {low: low}, thinking_format: enable_thinking",
        "thinking_levels: {low: low}, model_capabilities: {reasoning: false}",
        "api: openai, thinking_levels: {low: low}",
    ] {
        assert_eq!(verdict(&levels(silent)), "accepted\n", "{silent}");
    }
}

#[test]
fn unknown_members_of_a_model_are_listed_and_not_kept() {
    let text = and("metadata:\n  models:\n    one: { contxt_window: 9, notes: kept, family: f }\n");
    assert_eq!(verdict(&text), "accepted\n    ignored 17:12 metadata.models.one.contxt_window\n");
    let extra = load(&text).manifest.map(|manifest| serde_json::to_string(&manifest.models["one"].extra).unwrap());
    assert_eq!(extra.as_deref(), Some(r#"{"notes":"kept"}"#));
}
