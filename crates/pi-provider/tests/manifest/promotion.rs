//! Older shapes and what becomes of them.

use insta::assert_snapshot;
use pi_provider::{
    Manifest,
    manifest::{self, Format, to_yaml},
};

/// The promoted manifest, after what was said about it.
fn promoted(text: &str) -> String {
    let loaded = manifest::load(text, "old.yaml", Format::Yaml);
    let found: String = loaded.diagnostics.iter().map(|found| format!("# {found}\n")).collect();
    let ignored: String = loaded.ignored.iter().map(|found| format!("# ignored: {}\n", found.path)).collect();
    let version = loaded.original_version.unwrap_or_default();
    format!("{found}{ignored}# was {version}\n{}", loaded.manifest.as_ref().map(to_yaml).unwrap_or_default())
}

fn load(text: &str) -> Manifest {
    let loaded = manifest::load(text, "old.yaml", Format::Yaml);
    loaded.manifest.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

#[test]
fn version_1_1_is_promoted() {
    let text = r#"
id: old
protocol_version: "1.1"
base_url: https://old.example/v1
auth: {type: api_key, header_name: x-key, key_env: OLD_KEY, extra_headers: {x-api-version: "7"}}
payload_format: openai_style
response_format: openai_style
endpoints: {chat_completions_create: /chat/completions, completions_create: /completions}
capabilities: [chat, tools, streaming, multimodal, telepathy]
parameter_mappings: {max_tokens: options.limit}
response_paths: {content: "choices[0].message.content", finish_reason: "choices[0].finish_reason"}
tooling: {source_model: openai_tool_calls, tool_use: {id_path: id, name_path: function.name, input_path: function.arguments}}
streaming: {event_format: data_lines, event_map: [{match: "exists($.a)", emit: PartialContentDelta, fields: {content: "$.a"}}]}
error_classification:
  by_http_status: {"400": invalid_request, "401": authentication, "429": rate_limited, "500": other}
  by_error_status: {EXHAUSTED: rate_limited}
  by_message_contains: {"no (more) money": quota_exhausted}
retry_policy: {retry_on_error_status: [EXHAUSTED]}
experimental_features: [deep_thought]
"#;
    assert_snapshot!(promoted(text));
}

#[test]
fn version_1_5_of_another_style_is_promoted() {
    let text = r#"
id: gem
protocol_version: "1.5"
endpoint: {base_url: https://gem.example/v1beta, timeout_ms: 10000}
auth: {type: query_param, param_name: key, token_env: GEM_KEY}
payload_format: gemini_style
capabilities: {streaming: true, tools: true, vision: false, reranking: true}
features:
  multi_candidate: {support_type: native, param_name: candidateCount}
  response_mapping:
    tool_calls:
      path: candidates[0].content.parts
      filter: exists(functionCall)
      fields: {id: _generate_uuid, name: functionCall.name, args: functionCall.args, id_strategy: generate_uuid}
    error: {message_path: error.message, code_path: error.code, status_path: error.status}
response_paths: {tool_calls: "candidates[0].x", stop_reason: "candidates[0].finishReason"}
"#;
    assert_snapshot!(promoted(text));
}

#[test]
fn template_of_an_address_names_variables() {
    let text = "{id: az, protocol_version: '1.1', base_url_template: 'https://{resource}.example/{part}', \
                connection_vars: {resource: AZ_RESOURCE, part: {env: AZ_PART}}}";
    assert_eq!(load(text).endpoint.base_url, "https://${AZ_RESOURCE}.example/${AZ_PART}");
}

#[test]
fn every_spelling_of_an_operation_is_found() {
    let text = r#"
id: spell
protocol_version: "2.0"
endpoint:
  base_url: https://spell.example
  chat: /near
  images: {path: /images, method: PUT}
  stt: /stt
  auth: {type: bearer, header: Authorization}
error_classification: {by_http_status: {"400": invalid_request, "401": authentication, "429": rate_limited, "500": server_error}}
endpoints:
  chat: {path: /far, adapter: anthropic}
  text_to_speech: /speak
  embeddings_create: {path: /embed, request_encoding: json}
  realtime_ws: "wss://spell.example/live"
"#;
    let manifest = load(text);
    let path = |name: &str| manifest.operation(name).map(|operation| operation.path.as_str());
    assert_eq!(
        manifest.endpoints.keys().collect::<Vec<_>>(),
        ["chat", "realtime_ws", "tts", "embeddings", "images", "stt"]
    );
    assert_eq!(path("chat"), Some("/near"), "the path beside the address wins");
    assert_eq!(manifest.endpoints["chat"].adapter.as_deref(), Some("anthropic"));
    assert_eq!(path("image_generation"), Some("/images"));
    assert_eq!(path("speech_to_text"), Some("/stt"));
    assert_eq!((path("tts"), path("text_to_speech")), (Some("/speak"), Some("/speak")));
    assert_eq!(path("embeddings"), Some("/embed"));
    assert_eq!(path("realtime_ws"), Some("wss://spell.example/live"));
    assert_eq!(path("rerank"), None);
}

#[test]
fn a_style_without_a_path_has_the_usual_one() {
    let lines = ["openai_style", "anthropic_style", "gemini_style", "cohere_v2", "other_style"].map(|style| {
        let text = format!(
            "{{id: st, protocol_version: '1.5', endpoint: {{base_url: 'https://s.example'}}, payload_format: {style}}}"
        );
        let manifest = load(&text);
        let stream = manifest.endpoints.get("stream_chat").map(|operation| operation.path.clone());
        let chat = &manifest.endpoints["chat"];
        format!("{style}: {} {:?} {stream:?}\n", chat.path, chat.adapter)
    });
    assert_snapshot!(lines.concat(), @r#"
    openai_style: /chat/completions Some("openai") None
    anthropic_style: /messages Some("anthropic") None
    gemini_style: /models/{model}:generateContent Some("gemini") Some("/models/{model}:streamGenerateContent?alt=sse")
    cohere_v2: /chat Some("cohere_v2") None
    other_style: /chat/completions None None
    "#);
}

/// Those of an older version come as they are written, and nobody else may read them.
#[test]
fn headers_that_are_shown_nowhere_are_written_into_the_file() {
    let text = r#"
id: head
protocol_version: "1.5"
endpoint: {base_url: https://head.example}
auth:
  type: bearer
  token_env: HEAD_KEY
  extra_headers: [{name: x-tenant, value: "${TENANT}"}, {name: user-agent, value: me}, {name: x-gate, value: planted-9f27}]
"#;
    let manifest = load(text);
    assert_eq!(manifest.endpoint.auth.secret_headers.len(), 2);
    assert_eq!(load(&to_yaml(&manifest)).endpoint, manifest.endpoint);
    assert!(!format!("{manifest:?}").contains("planted-9f27"));
}

#[test]
fn words_that_nobody_knows_are_not_waited_for() {
    let text = |codes: &str| {
        format!(
            "{{id: re, protocol_version: '1.5', endpoint: {{base_url: 'https://r.example'}}, \
             error_classification: {{by_http_status: {{'400': invalid_request, '401': authentication, '429': rate_limited, \
             '500': server_error}}, by_error_status: {{NAPPING: overloaded}}}}, retry_policy: {{retry_on_error_status: {codes}}}}}"
        )
    };
    let kept = |codes: &str| load(&text(codes)).retry_policy.retry_on_error_code;
    assert_eq!(
        kept("[NAPPING, timeout, E3001, RESOURCE_EXHAUSTED, whatever]"),
        ["NAPPING", "timeout", "E3001", "RESOURCE_EXHAUSTED"]
    );
    assert!(kept("[whatever]").is_empty());
}
