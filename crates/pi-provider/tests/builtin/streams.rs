//! The event rules of the built-in manifests read the streams of their providers.

use pi_provider::{
    Dialect, Manifest, builtin, demo,
    manifest::load::{Format, load},
    stream::{Ending, Outcome, Pipeline},
};
use serde_json::json;

use crate::transcription::transcribe;

const COMPLETE: Ending = Ending { outcome: Outcome::Complete, malformed: 0, unread: 0, late: 0 };

fn manifests() -> impl Iterator<Item = Manifest> {
    builtin::MANIFESTS.iter().map(|built_in| manifest(built_in.id))
}

fn manifest(id: &str) -> Manifest {
    let built_in = builtin::find(id).unwrap();
    load(built_in.text, &built_in.path(), Format::Yaml).manifest.unwrap()
}

/// The manifest with what its dialect knows and nothing else.
fn without_rules(mut manifest: Manifest) -> Manifest {
    if let Some(streaming) = &mut manifest.streaming {
        streaming.event_map.clear();
        streaming.accumulator = None;
        streaming.candidate = None;
        streaming.stop_condition = None;
    }
    manifest
}

fn decode(manifest: &Manifest, dialect: Dialect, stream: &[u8]) -> (String, Ending) {
    let mut decoder = Pipeline::compile(manifest, dialect).unwrap().start_with(fastrand::Rng::with_seed(7));
    let mut events = Vec::new();
    decoder.push(stream, &mut events).unwrap();
    let ending = decoder.finish(&mut events).unwrap();
    (transcribe(&events), ending)
}

/// A stream as the dialect's servers send it.
fn recorded(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenaiChat | Dialect::Demo => include_str!("../streams/openai.sse"),
        Dialect::OpenaiResponses => include_str!("../streams/responses.sse"),
        Dialect::AnthropicMessages => include_str!("../streams/anthropic.sse"),
        Dialect::GeminiGenerate => include_str!("../streams/gemini.sse"),
        Dialect::CohereV2 => include_str!("../streams/cohere.sse"),
    }
}

#[test]
fn rules_say_nothing_twice_and_lose_nothing() {
    for manifest in manifests() {
        let dialect = Dialect::of(&manifest, None);
        let decoded = decode(&manifest, dialect, recorded(dialect).as_bytes());
        let expected = decode(&without_rules(manifest.clone()), dialect, recorded(dialect).as_bytes());
        assert_eq!(decoded, expected, "{}", manifest.id);
        assert_eq!(decoded.1, COMPLETE, "{}", manifest.id);
    }
}

#[test]
fn models_of_another_dialect_are_read_in_it() {
    let mut count = 0;
    for manifest in manifests() {
        for (id, model) in manifest.models.iter().filter(|(_, model)| model.api.is_some()) {
            let dialect = Dialect::of(&manifest, Some(model));
            let decoded = decode(&manifest, dialect, recorded(dialect).as_bytes());
            let expected = decode(&without_rules(manifest.clone()), dialect, recorded(dialect).as_bytes());
            assert_eq!(decoded, expected, "{}/{id}", manifest.id);
            count += 1;
        }
    }
    assert!(count > 5, "{count} models of another dialect");
}

/// What the rules alone make of a stream, without the dialect: manifests are complete by themselves.
#[test]
fn rules_are_complete_without_the_dialect() {
    for mut manifest in manifests() {
        let dialect = Dialect::of(&manifest, None);
        let (expected, _) = decode(&manifest, dialect, recorded(dialect).as_bytes());
        // A strategy that nobody knows leaves only the manifest's own rules.
        manifest.streaming.as_mut().unwrap().decoder.strategy = Some("unheard-of".to_owned());
        let (decoded, _) = decode(&manifest, dialect, recorded(dialect).as_bytes());
        for kind in ["content", "call ", "arguments", "final", "thinking"] {
            let lines =
                |text: &str| text.lines().filter(|line| line.starts_with(kind)).map(str::to_owned).collect::<Vec<_>>();
            let thinks = manifest.streaming.as_ref().unwrap().event_map.iter().any(|rule| rule.emit == "ThinkingDelta");
            if kind != "thinking" || (thinks && !matches!(dialect, Dialect::OpenaiChat)) {
                assert_eq!(lines(&decoded), lines(&expected), "{} {kind}", manifest.id);
            }
        }
        let usage = |text: &str| text.lines().any(|line| line.starts_with("metadata") && line.contains("prompt="));
        assert!(usage(&decoded), "{}: {decoded}", manifest.id);
    }
}

/// Lines of thinking and content of one chunk.
fn said(id: &str, delta: &serde_json::Value) -> String {
    let chunk = json!({ "id": "1", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let end = json!({ "id": "1", "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let stream = format!("data: {chunk}\n\ndata: {end}\n\ndata: [DONE]\n\n");
    let manifest = manifest(id);
    let (text, ending) = decode(&manifest, Dialect::of(&manifest, None), stream.as_bytes());
    assert_eq!(ending, COMPLETE);
    text.lines()
        .filter(|line| line.starts_with("content") || line.starts_with("thinking"))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn thinking_is_found_where_each_provider_puts_it() {
    let named = [
        ("deepseek", "reasoning_content"),
        ("groq", "reasoning"),
        ("cerebras", "reasoning"),
        ("openrouter", "reasoning"),
        ("together", "reasoning"),
        ("together", "reasoning_content"),
        ("fireworks", "reasoning_content"),
        ("xai", "reasoning_content"),
        ("qwen", "reasoning_content"),
        ("zhipu", "reasoning_content"),
        ("moonshot", "reasoning_content"),
        ("doubao", "reasoning_content"),
        ("huggingface", "reasoning"),
        ("nvidia", "reasoning_content"),
        ("ollama", "reasoning"),
        ("lmstudio", "reasoning_content"),
        ("llamacpp", "reasoning_content"),
        ("vllm", "reasoning"),
        ("demo", "reasoning_content"),
    ];
    for (id, member) in named {
        assert_eq!(said(id, &json!({ member: "hmm" })), "thinking \"hmm\"\n", "{id}");
    }
    let parts = json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "hmm" }] }, { "type": "text", "text": "so" }] });
    assert_eq!(said("mistral", &parts), "thinking \"hmm\"\ncontent \"so\"\n");
    assert_eq!(said("mistral", &json!({ "content": "plain" })), "content \"plain\"\n");
    assert_eq!(
        said("minimax", &json!({ "reasoning_details": [{ "type": "reasoning.text", "text": "hmm" }] })),
        "thinking \"hmm\"\n"
    );
    let signed = json!({ "reasoning": "hmm", "reasoning_details": [{ "type": "reasoning.text", "text": "hmm", "signature": "s" }] });
    assert_eq!(said("openrouter", &signed), "thinking \"hmm\"\nthinking \"\" signed s\n");
}

#[test]
fn the_demo_model_goes_through_the_same_pipeline() {
    let demo = manifest("demo");
    let decoded = |body: serde_json::Value| {
        decode(&demo, Dialect::of(&demo, None), &demo::answer(body.to_string().as_bytes()).body())
    };
    let tools = json!([{ "type": "function", "function": { "name": "read", "parameters": { "type": "object",
        "properties": { "path": { "type": "string" } }, "required": ["path"] } } }]);
    let question = json!([{ "role": "user", "content": "read README.md" }]);
    let (text, ending) = decoded(json!({ "model": "demo", "stream": true, "stream_options": { "include_usage": true },
        "reasoning_effort": "low", "messages": question, "tools": tools }));
    assert_eq!(ending, COMPLETE);
    assert_eq!(
        text,
        "metadata id=demo-1 model=demo\n\
         thinking \"Step \"\nthinking \"1 \"\nthinking \"of \"\nthinking \"1 \"\nthinking \"asks \"\nthinking \"for \"\n\
         thinking \"the \"\nthinking \"tool \"\nthinking \"read.\"\n\
         call 0 call_demo_1 read\n\
         arguments 0 call_demo_1 \"{\\\"path\\\":\\\"README.md\\\"}\"\n\
         called 0 call_demo_1\n\
         final ToolUse (tool_calls)\n\
         metadata prompt=33 completion=18 total=51 reasoning=13\n\
         end ToolUse (tool_calls)\n",
    );
}
