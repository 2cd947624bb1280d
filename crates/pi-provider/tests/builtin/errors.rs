//! Refusals as the built-in providers write them get the standard code that they mean.

use std::time::{Duration, SystemTime};

use pi_provider::{
    ErrorCode, Failure, Manifest, builtin,
    classify::{Refusal, classify},
    manifest::load::{Format, load},
};
use pi_redact::{Evidence, Options, Personal, Redactor};
use reqwest::header::HeaderMap;

fn manifest(id: &str) -> Manifest {
    let built_in = builtin::find(id).unwrap();
    load(built_in.text, &built_in.path(), Format::Yaml).manifest.unwrap()
}

fn failure(id: &str, status: u16, body: &str) -> Failure {
    let redactor = Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Keep });
    let headers = HeaderMap::new();
    let refusal = Refusal { status, headers: &headers, body: body.as_bytes(), received: SystemTime::UNIX_EPOCH };
    classify(&manifest(id), refusal, &redactor)
}

#[test]
fn refusals_are_told_apart() {
    use ErrorCode::{
        Authentication, InvalidRequest, NotFound, Overloaded, PermissionDenied, QuotaExhausted, RateLimited,
        RequestTooLarge, ServerError, Timeout,
    };
    let table = [
        (
            "openai",
            401,
            r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            Authentication,
        ),
        (
            "openai",
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            QuotaExhausted,
        ),
        (
            "openai",
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            RequestTooLarge,
        ),
        (
            "anthropic",
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Overloaded,
        ),
        (
            "anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            RequestTooLarge,
        ),
        (
            "anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            QuotaExhausted,
        ),
        (
            "gemini",
            400,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
            Authentication,
        ),
        (
            "gemini",
            503,
            r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#,
            Overloaded,
        ),
        (
            "gemini",
            429,
            r#"{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED"}}"#,
            RateLimited,
        ),
        (
            "azure-openai",
            404,
            r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#,
            NotFound,
        ),
        ("cohere", 498, r#"{"message":"invalid token"}"#, InvalidRequest),
        (
            "deepseek",
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
            QuotaExhausted,
        ),
        (
            "zhipu",
            429,
            r#"{"error":{"code":"1113","message":"Insufficient balance or no resource package."}}"#,
            QuotaExhausted,
        ),
        ("zhipu", 429, r#"{"error":{"code":"1302","message":"High concurrency usage of this API."}}"#, RateLimited),
        (
            "moonshot",
            429,
            r#"{"error":{"type":"exceeded_current_quota_error","message":"your account is suspended"}}"#,
            QuotaExhausted,
        ),
        (
            "moonshot",
            429,
            r#"{"error":{"type":"engine_overloaded_error","message":"The engine is currently overloaded"}}"#,
            Overloaded,
        ),
        ("minimax", 200, r#"{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}"#, QuotaExhausted),
        (
            "qwen",
            400,
            r#"{"error":{"code":"Arrearage","message":"Access denied, your account is in arrears.","type":"Arrearage"}}"#,
            QuotaExhausted,
        ),
        (
            "doubao",
            403,
            r#"{"error":{"code":"AccountOverdueError","message":"overdue","type":"Forbidden"}}"#,
            QuotaExhausted,
        ),
        (
            "doubao",
            404,
            r#"{"error":{"code":"ModelNotOpen","message":"not activated","type":"NotFound"}}"#,
            PermissionDenied,
        ),
        ("openrouter", 402, r#"{"error":{"code":402,"message":"Insufficient credits"}}"#, QuotaExhausted),
        ("together", 524, "{}", Timeout),
        ("groq", 498, r#"{"error":{"message":"Flex tier capacity exceeded"}}"#, Overloaded),
        (
            "llamacpp",
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}"#,
            RequestTooLarge,
        ),
        ("llamacpp", 503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#, Overloaded),
        (
            "vllm",
            404,
            r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","code":404}"#,
            NotFound,
        ),
        (
            "demo",
            404,
            r#"{"error":{"message":"there is no model","type":"invalid_request_error","param":"model","code":"model_not_found"}}"#,
            NotFound,
        ),
        ("huggingface", 502, "<html>bad gateway</html>", ServerError),
    ];
    for (id, status, body, code) in table {
        assert_eq!(failure(id, status, body).code, code, "{id} {status} {body}");
    }
}

#[test]
fn waits_are_read_from_messages() {
    let table = [
        (
            "gemini",
            r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Quota exceeded. Please retry in 12.5s."}}"#,
            12.5,
        ),
        (
            "groq",
            r#"{"error":{"message":"Rate limit reached. Please try again in 7.66s.","code":"rate_limit_exceeded"}}"#,
            7.66,
        ),
        ("azure-openai", r#"{"error":{"code":"429","message":"Please retry after 20 seconds."}}"#, 20.0),
        (
            "moonshot",
            r#"{"error":{"type":"rate_limit_reached_error","message":"please try again after 1 seconds"}}"#,
            1.0,
        ),
    ];
    for (id, body, seconds) in table {
        assert_eq!(failure(id, 429, body).retry_after, Some(Duration::from_secs_f64(seconds)), "{id}");
    }
}
