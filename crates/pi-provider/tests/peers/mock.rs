//! `ai-protocol-mock`, which answers from our own manifests: plain chats, three styles of stream, injected errors.

use std::{
    sync::LazyLock,
    time::{Duration, SystemTime},
};

use pi_provider::{
    CallError, ErrorCode, Phase, builtin,
    manifest::load::{Format, load},
    rerank::{self, Rerank},
    response::Reading,
    speech::{self, Speak, Transcribe},
};
use pi_testkit::{NoPeer, Peer};
use pi_transcript::{StopReason, json::Open};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::asking::{Provider, client, key, question, running};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/ai-protocol/v2/providers");

static MOCK: LazyLock<Result<Peer, NoPeer>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let providers = folder.path().join("v2/providers");
    #[expect(clippy::disallowed_methods, reason = "the mock reads manifests from files")]
    {
        std::fs::create_dir_all(&providers).unwrap();
        for built_in in builtin::MANIFESTS {
            std::fs::write(providers.join(format!("{}.yaml", built_in.id)), built_in.text).unwrap();
        }
    }
    // It has read them when it answers.
    Peer::mock(folder.path())
});

/// The style's provider and where the mock has it.
fn providers() -> Option<[Provider; 3]> {
    let mock = running(&MOCK, "ai-protocol-mock")?;
    Some([
        Provider::new("openai", "gpt-4o", mock, "/v1"),
        Provider::new("anthropic", "claude-sonnet-4-5", mock, "/v1"),
        // Real clients do not send `stream` to Gemini; the mock streams only if they do.
        Provider::new("gemini", "gemini-2.5-flash", mock, "/v1beta"),
    ])
}

fn openai() -> Option<Provider> {
    providers().map(|[openai, ..]| openai)
}

#[tokio::test]
async fn three_styles_answer_whole() {
    for provider in providers().into_iter().flatten() {
        let provider = provider.with_header("x-mock-content", "Hello from the mock");
        let told = provider.complete(&question("hi", json!({"max_tokens": 50}))).await.unwrap();
        assert_eq!(told.text(), "Hello from the mock", "{}", provider.manifest.id);
        assert_eq!(told.message.stop_reason, Open::Known(StopReason::Stop), "{}", provider.manifest.id);
        assert!(told.usage().1 > 0, "{}: {:?}", provider.manifest.id, told.usage());
    }
}

#[tokio::test]
async fn three_styles_stream_letter_by_letter() {
    for mut provider in providers().into_iter().flatten() {
        if provider.manifest.id.as_str() == "gemini" {
            let contract = &mut provider.manifest.contract;
            contract.capability_contracts.streaming.usage_option = Some("stream".to_owned());
        }
        let provider = provider.with_header("x-mock-content", "Hello from the mock");
        let told = provider.stream(&question("hi", json!({"max_tokens": 50}))).await;
        let told = told.unwrap_or_else(|error| panic!("{}: {error:?}", provider.manifest.id));
        assert_eq!(told.text(), "Hello from the mock", "{}", provider.manifest.id);
        assert!(told.pieces().0 > 1, "{}: {:?}", provider.manifest.id, told.events);
    }
}

#[tokio::test]
async fn manifests_of_the_standard_are_understood_by_its_mock() {
    let Some(mock) = running(&MOCK, "ai-protocol-mock") else { return };
    for (id, model, path) in [("openai", "gpt-4o", "/v1"), ("anthropic", "claude-x", "/v1"), ("groq", "llama-x", "/v1")]
    {
        let file = format!("{DATA}/{id}.yaml");
        #[expect(clippy::disallowed_methods, reason = "reads the shared data")]
        let Ok(text) = std::fs::read_to_string(&file) else {
            eprintln!("SKIPPED: {id} of the shared data is absent");
            continue;
        };
        let mut provider = Provider::new(id, model, mock, path);
        provider.manifest = load(&text, &file, Format::Yaml).manifest.unwrap();
        let provider = provider.with_header("x-mock-content", "Hello");
        let asked = question("hi", json!({"max_tokens": 50}));
        let texts = (provider.complete(&asked).await.unwrap().text(), provider.stream(&asked).await.unwrap().text());
        assert_eq!(texts, ("Hello".to_owned(), "Hello".to_owned()), "{id}");
    }
}

#[tokio::test]
async fn injected_errors_are_told_apart() {
    let check = async |header: &str, value: &str, expected: ErrorCode, wait: Option<u64>| {
        let Some(provider) = openai() else { return };
        let provider = provider.with_header(header, value);
        let Err(error) = provider.complete(&question("hi", json!({}))).await else { panic!("{header}: {value}") };
        let CallError::Refused { failure, .. } = &error else { panic!("{header}: {value}: {error:?}") };
        assert_eq!(failure.code, expected, "{header}: {value}: {error}");
        assert_eq!(failure.retry_after, wait.map(Duration::from_secs), "{header}: {value}");
        let streamed = provider.stream(&question("hi", json!({}))).await.err().map(|error| error.code());
        assert_eq!(streamed, Some(expected), "{header}: {value}, streamed");
    };
    check("x-mock-error", "rate_limit", ErrorCode::RateLimited, Some(5)).await;
    check("x-mock-error", "context_overflow", ErrorCode::RequestTooLarge, None).await;
    check("x-mock-error", "content_filter", ErrorCode::InvalidRequest, None).await;
    for (status, code) in [
        ("400", ErrorCode::InvalidRequest),
        ("401", ErrorCode::Authentication),
        ("403", ErrorCode::PermissionDenied),
        ("404", ErrorCode::NotFound),
        ("409", ErrorCode::Conflict),
        ("413", ErrorCode::RequestTooLarge),
        ("429", ErrorCode::RateLimited),
        ("500", ErrorCode::ServerError),
        ("503", ErrorCode::Overloaded),
        ("504", ErrorCode::Timeout),
    ] {
        check("x-mock-status", status, code, None).await;
    }
}

#[tokio::test]
async fn interrupted_stream_is_truncated() {
    let Some(provider) = openai() else { return };
    let provider = provider.with_header("x-mock-error", "stream_interrupt");
    let mut answer = provider.begin(&question("hi", json!({})), &CancellationToken::new()).await.unwrap();
    let mut pieces = 0;
    let error = loop {
        match answer.next().await {
            Some(Ok(_)) => pieces += 1,
            Some(Err(error)) => break error,
            None => panic!("the stream ended as if it were whole"),
        }
    };
    assert!(pieces > 0 && matches!(error, CallError::Truncated { .. }), "{pieces} {error:?}");
}

#[tokio::test]
async fn slow_answer_runs_into_its_limit() {
    let Some(mut provider) = openai() else { return };
    provider.client = client(Duration::from_millis(300));
    let provider = provider.with_header("x-mock-timeout-ms", "4000");
    // Both limits are the same here, so either may be the first to be noticed.
    let whole = provider.complete(&question("hi", json!({}))).await.err().unwrap();
    let streamed = provider.stream(&question("hi", json!({}))).await.err().unwrap();
    for error in [whole, streamed] {
        assert!(matches!(error, CallError::TimedOut { phase: Phase::Total | Phase::FirstByte, .. }), "{error:?}");
    }
}

#[tokio::test]
async fn parallel_tool_calls_arrive_as_several() {
    let Some(provider) = openai() else { return };
    let provider = provider.with_header("x-mock-tool-calls", "parallel");
    let parameters = json!({"type": "object", "properties": {}});
    let tools = json!({"tools": [{"name": "get_weather", "description": "w", "parameters": parameters}]});
    let told = provider.complete(&question("hi", tools)).await.unwrap();
    assert!(told.calls().len() > 1, "{:?}", told.message);
    assert_eq!(told.message.stop_reason, Open::Known(StopReason::ToolUse));
}

#[tokio::test]
async fn speech_becomes_text_and_text_becomes_speech() {
    let Some(mut provider) = openai() else { return };
    provider.model = "whisper-1";
    let (none, cancel) = (None, CancellationToken::new());
    let transcribe = Transcribe {
        file_name: "a.wav".to_owned(),
        media_type: "audio/wav".to_owned(),
        audio: b"RIFF".to_vec(),
        language: none.clone(),
        prompt: none,
        temperature: None,
        detail: speech::Detail::Text,
    };
    let request = speech::transcription(&provider.target(), &transcribe).unwrap();
    let whole = provider.client.send(&provider.manifest, request, Some(&key()), &cancel).await.unwrap();
    let reading = Reading { manifest: &provider.manifest, secret: None, others: &[], received: SystemTime::UNIX_EPOCH };
    let transcript = speech::read_transcript(&reading, media_type(&whole), &whole.body).unwrap();
    assert_eq!(transcript.text, "mock transcription from ai-protocol-mock");

    provider.model = "tts-1";
    let speak =
        Speak { text: "hi".to_owned(), voice: "alloy".to_owned(), format: None, speed: None, instructions: None };
    let request = speech::synthesis(&provider.target(), &speak).unwrap();
    let whole = provider.client.send(&provider.manifest, request, Some(&key()), &cancel).await.unwrap();
    let sound = speech::read_sound(&reading, media_type(&whole), &whole.body).unwrap();
    assert_eq!((sound.media_type.as_str(), sound.bytes.len()), ("audio/mpeg", 13));
}

fn media_type(whole: &pi_provider::client::Whole) -> Option<&str> {
    whole.facts.headers.get("content-type").and_then(|value| value.to_str().ok())
}

#[tokio::test]
async fn documents_are_ranked() {
    let Some(mock) = running(&MOCK, "ai-protocol-mock") else { return };
    let provider = Provider::new("cohere", "rerank-v3.5", mock, "/v2");
    let documents = ["a", "b", "c"].map(str::to_owned).to_vec();
    let rerank = Rerank { query: "q".to_owned(), documents, top: Some(2) };
    let request = rerank::request(&provider.target(), &rerank).unwrap();
    let cancel = CancellationToken::new();
    let whole = provider.client.send(&provider.manifest, request, Some(&key()), &cancel).await.unwrap();
    let reading = Reading { manifest: &provider.manifest, secret: None, others: &[], received: SystemTime::UNIX_EPOCH };
    let ranking = rerank::read(&reading, &whole.body, 3).unwrap();
    let places: Vec<(usize, f64)> = ranking.results.iter().map(|ranked| (ranked.index, ranked.score)).collect();
    assert_eq!((places, ranking.search_units), (vec![(0, 1.0), (1, 0.9)], Some(1)));
}
