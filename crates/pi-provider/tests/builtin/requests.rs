//! Requests to the built-in providers: where they go, how thinking is asked for, and that every model can be asked.

use pi_provider::{
    CacheRetention, Call, CallError, Manifest, Mode, Options, Request, ResponseFormat, Target, ToolChoice, batch,
    builtin,
    catalog::{Catalog, Origin, Source, SourceFile},
    credential::Trust,
    demo,
    embeddings::{self, Embed},
    image::{self, Draw},
    manifest::Capability,
    manifest::{
        ModelEntry,
        load::{Format, load},
    },
    request::{build, plain},
    rerank::{self, Rerank},
    speech::{self, Detail, Speak, Transcribe},
};
use pi_transcript::ThinkingLevel;
use serde_json::{Map, Value, json};

fn manifest(id: &str) -> Manifest {
    let built_in = builtin::find(id).unwrap();
    load(built_in.text, &built_in.path(), Format::Yaml).manifest.unwrap()
}

fn environment(name: &str) -> Option<String> {
    (name == "AZURE_RESOURCE_NAME").then(|| "mine".to_owned())
}

/// Models that answer in text.
fn chats(entry: &ModelEntry) -> bool {
    let Some(modalities) = &entry.modalities else { return true };
    modalities.output.iter().any(|kind| kind == "text") && modalities.input.iter().any(|kind| kind == "text")
}

fn request(manifest: &Manifest, model: &str, thinking: ThinkingLevel, parameters: Value) -> Request {
    let Value::Object(parameters) = parameters else { panic!("parameters are an object") };
    let messages =
        [json!({ "role": "system", "content": "Be brief." }), json!({ "role": "user", "content": "Hello!" })];
    let mut plain = plain(&messages, &parameters).unwrap();
    plain.options.thinking = thinking;
    let target = Target { manifest, model, entry: manifest.models.get(model), base_url: None, lookup: &environment };
    build(&target, Call { prompt: &plain.prompt, options: &plain.options }, Mode::Stream).unwrap()
}

fn body(request: &Request) -> Map<String, Value> {
    serde_json::from_slice(&request.body).unwrap()
}

/// Members that are not the conversation itself.
fn members(id: &str, model: &str, thinking: ThinkingLevel) -> Value {
    let request = request(&manifest(id), model, thinking, json!({ "max_tokens": 30000 }));
    const OTHERS: [&str; 12] = [
        "model",
        "messages",
        "input",
        "instructions",
        "contents",
        "system",
        "systemInstruction",
        "stream",
        "stream_options",
        "store",
        "max_tokens",
        "max_output_tokens",
    ];
    Value::Object(
        body(&request)
            .into_iter()
            .filter(|(name, _)| !OTHERS.contains(&name.as_str()) && name != "max_completion_tokens")
            .collect(),
    )
}

#[test]
fn requests_go_where_the_provider_listens() {
    let table = [
        ("openai", "gpt-6-sol", "https://api.openai.com/v1/responses"),
        ("openai", "gpt-4.1", "https://api.openai.com/v1/chat/completions"),
        ("anthropic", "claude-opus-5-5", "https://api.anthropic.com/v1/messages"),
        (
            "gemini",
            "gemini-3.8-flash",
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
        ),
        ("azure-openai", "gpt-4.1", "https://mine.openai.azure.com/openai/v1/chat/completions"),
        ("azure-openai", "gpt-5.5", "https://mine.openai.azure.com/openai/v1/responses"),
        ("mistral", "mistral-large-4", "https://api.mistral.ai/v1/chat/completions"),
        ("cohere", "command-a-03-2025", "https://api.cohere.com/v2/chat"),
        ("deepseek", "deepseek-flash", "https://api.deepseek.com/chat/completions"),
        ("groq", "openai/gpt-oss-120b", "https://api.groq.com/openai/v1/chat/completions"),
        ("perplexity", "sonar", "https://api.perplexity.ai/v1/responses"),
        ("perplexity", "anthropic/claude-sonnet-4-6", "https://api.perplexity.ai/v1/responses"),
        ("perplexity", "sonar-pro", "https://api.perplexity.ai/v1/chat/completions"),
        ("zhipu", "glm-5.2", "https://api.z.ai/api/paas/v4/chat/completions"),
        ("huggingface", "openai/gpt-oss-120b", "https://router.huggingface.co/v1/chat/completions"),
        ("ollama", "qwen3:8b", "http://127.0.0.1:11434/v1/chat/completions"),
        ("llamacpp", "any", "http://127.0.0.1:8080/v1/chat/completions"),
    ];
    for (id, model, url) in table {
        assert_eq!(request(&manifest(id), model, ThinkingLevel::Off, json!({})).address.url.as_str(), url);
    }
}

/// People write the address of a server with the version of its API or without, on the command line and in `models.json`.
#[test]
fn an_address_means_the_same_with_its_version_and_without() {
    let plain = plain(&[json!({ "role": "user", "content": "Hello!" })], &Map::new()).unwrap();
    for built_in in builtin::MANIFESTS.iter().filter(|built_in| built_in.id != "demo") {
        let manifest = manifest(built_in.id);
        let asked_at = |manifest: &Manifest, base_url: Option<&str>| {
            let target = Target { manifest, model: "any", entry: None, base_url, lookup: &environment };
            build(&target, Call { prompt: &plain.prompt, options: &plain.options }, Mode::Whole).unwrap().address.url
        };
        let usual = asked_at(&manifest, None);
        let own = manifest.endpoint.base_url.clone();
        let last = own.rsplit('/').next().unwrap();
        let chat = &manifest.endpoints["chat"].path;
        let (with, without) = if last.starts_with('v') && last.len() < 8 {
            (own.clone(), own[..own.len() - last.len() - 1].to_owned())
        } else if chat.starts_with("/v1/") {
            (format!("{own}/v1"), own.clone())
        } else {
            (own.clone(), own.clone())
        };
        for address in [&with, &without, &format!("{with}/"), &format!("{without}/")] {
            assert_eq!(asked_at(&manifest, Some(address)), usual, "{} at {address}", built_in.id);
            let models = json!({ "providers": { built_in.id: { "baseUrl": address } } }).to_string();
            let file = SourceFile { path: "models.json".to_owned(), text: Ok(models) };
            let own = Source { origin: Origin::PiModels, trust: Trust::Trusted, files: vec![file] };
            let catalog = Catalog::load(&[Source::built_in(), own]);
            let changed = &catalog.provider(built_in.id).unwrap().manifest;
            assert_eq!(asked_at(changed, None), usual, "{} at {address} in models.json", built_in.id);
        }
    }
}

#[test]
fn thinking_is_asked_for_in_each_providers_words() {
    use ThinkingLevel::{High, Low, Medium, Off, Xhigh};
    let summary = |effort: &str| json!({ "reasoning": { "effort": effort, "summary": "auto" }, "include": ["reasoning.encrypted_content"] });
    let adaptive = |effort: &str| json!({ "thinking": { "type": "adaptive", "display": "summarized" }, "output_config": { "effort": effort } });
    let table = [
        ("openai", "gpt-6-sol", High, summary("high")),
        (
            "openai",
            "gpt-6-sol",
            Off,
            json!({ "reasoning": { "effort": "none" }, "include": ["reasoning.encrypted_content"] }),
        ),
        ("openai", "gpt-6.1-sol", Off, summary("low")),
        ("openai", "gpt-6-astra", Off, summary("low")),
        ("openai", "gpt-4.1", High, json!({})),
        ("anthropic", "claude-opus-5-5", Xhigh, adaptive("xhigh")),
        ("anthropic", "claude-opus-5-5", Off, adaptive("low")),
        ("anthropic", "claude-sonnet-5-5", Off, json!({ "thinking": { "type": "between_tools" } })),
        ("anthropic", "claude-haiku-5-5", Off, json!({ "thinking": { "type": "disabled" } })),
        ("anthropic", "claude-opus-4-8", Off, json!({})),
        ("anthropic", "claude-haiku-4-5", Medium, json!({ "thinking": { "type": "enabled", "budget_tokens": 8192 } })),
        ("deepseek", "deepseek-flash", High, json!({ "thinking": { "type": "enabled" }, "reasoning_effort": "high" })),
        ("deepseek", "deepseek-v4-pro", Off, json!({ "thinking": { "type": "disabled" } })),
        ("groq", "openai/gpt-oss-20b", Low, json!({ "reasoning_effort": "low" })),
        ("groq", "qwen/qwen3.8-27b", Off, json!({ "reasoning_effort": "none", "reasoning_format": "parsed" })),
        ("mistral", "mistral-medium-3.5", High, json!({ "reasoning_effort": "high" })),
        ("mistral", "mistral-medium-3.5", Off, json!({ "reasoning_effort": "none" })),
        (
            "openrouter",
            "anthropic/claude-opus-5.5",
            Medium,
            json!({ "reasoning": { "effort": "medium" }, "usage": { "include": true } }),
        ),
        ("qwen", "qwen3.7-plus", Low, json!({ "enable_thinking": true, "thinking_budget": 2048 })),
        ("qwen", "qwen3.7-plus", Off, json!({ "enable_thinking": false })),
        ("zhipu", "glm-5.1", High, json!({ "thinking": { "type": "enabled" }, "tool_stream": true })),
        (
            "zhipu",
            "glm-5.2",
            Xhigh,
            json!({ "thinking": { "type": "enabled" }, "reasoning_effort": "max", "tool_stream": true }),
        ),
        ("moonshot", "kimi-k3", Off, json!({ "thinking": { "type": "disabled" } })),
        ("moonshot", "kimi-k2.7-code", High, json!({})),
        ("cohere", "command-a-plus-05-2026", Low, json!({ "thinking": { "type": "enabled", "token_budget": 2048 } })),
        ("cohere", "command-a-03-2025", Low, json!({})),
        (
            "nvidia",
            "nvidia/nemotron-3-super-120b-a12b",
            High,
            json!({ "chat_template_kwargs": { "enable_thinking": true } }),
        ),
        ("doubao", "doubao-seed-1-8-251228", High, json!({ "thinking": { "type": "enabled" } })),
        ("xai", "grok-4.7", Xhigh, json!({ "reasoning_effort": "xhigh" })),
        ("xai", "grok-4.3", Off, json!({ "reasoning_effort": "none" })),
        ("cerebras", "zai-glm-4.7", Off, json!({ "reasoning_effort": "none" })),
        ("cerebras", "zai-glm-4.7", High, json!({})),
        ("minimax", "MiniMax-M3", Off, json!({ "reasoning_split": true })),
        ("together", "Qwen/Qwen3.5-397B-A17B", Off, json!({ "reasoning": { "enabled": false } })),
        ("demo", "demo", Low, json!({ "reasoning_effort": "low" })),
    ];
    for (id, model, level, expected) in table {
        assert_eq!(members(id, model, level), expected, "{id}/{model} {level}");
    }
}

/// Where nothing is sent the model does not think, and nobody is told otherwise, also where a tool must be called.
#[test]
fn off_is_off_where_thinking_is_asked_for() {
    let manifest = manifest("anthropic");
    let tool = json!({ "name": "read", "description": "", "parameters": { "type": "object" } });
    let told = |model: &str, thinking: ThinkingLevel, tool_choice: ToolChoice| {
        let messages = [json!({ "role": "user", "content": "Hello!" })];
        let Value::Object(parameters) = json!({ "tools": [{ "type": "function", "function": tool.clone() }] }) else {
            panic!("parameters are an object")
        };
        let plain = plain(&messages, &parameters).unwrap();
        let options = Options { thinking, thinking_asked: true, tool_choice, ..plain.options };
        let entry = manifest.models.get(model);
        let target = Target { manifest: &manifest, model, entry, base_url: None, lookup: &environment };
        let request = build(&target, Call { prompt: &plain.prompt, options: &options }, Mode::Stream).unwrap();
        assert_eq!(body(&request).get("thinking"), None, "{model}");
        let changes = request.changes.iter().map(ToString::to_string);
        changes.filter(|change| change.contains("thinking")).collect::<Vec<_>>()
    };
    let forced = ["changed thinking: off, because a tool must be called and this model does not think then"];
    for model in ["claude-haiku-4-5", "claude-opus-4-8"] {
        assert_eq!(told(model, ThinkingLevel::Off, ToolChoice::Auto), Vec::<String>::new(), "{model}");
        assert_eq!(told(model, ThinkingLevel::Off, ToolChoice::Required), Vec::<String>::new(), "{model}");
        assert_eq!(told(model, ThinkingLevel::Low, ToolChoice::Required), forced, "{model}");
    }
}

#[test]
fn thinking_of_gemini_stands_among_its_settings() {
    use ThinkingLevel::{High, Low, Off};
    for (model, level, expected) in [
        ("gemini-3.8-flash", High, json!({ "thinkingLevel": "high", "includeThoughts": true })),
        ("gemini-2.5-flash", Off, json!({ "thinkingBudget": 0 })),
        ("gemini-2.5-pro", Low, json!({ "thinkingBudget": 2048, "includeThoughts": true })),
    ] {
        let settings = body(&request(&manifest("gemini"), model, level, json!({})))["generationConfig"].clone();
        assert_eq!(settings, json!({ "thinkingConfig": expected }), "{model}");
    }
}

/// Members are those of the API that the model is asked through, not of another one that its provider has too.
#[test]
fn limits_and_stops_are_named_by_the_api_of_the_model() {
    let given = json!({ "max_tokens": 2000, "stop": ["END"], "seed": 7, "n": 2 });
    let chat = json!({ "max_completion_tokens": 2000, "stop": ["END"], "seed": 7, "n": 2 });
    let table = [
        ("openai", "gpt-6-sol", json!({ "max_output_tokens": 2000 }), vec!["stop", "seed", "n"]),
        ("azure-openai", "gpt-5.5", json!({ "max_output_tokens": 2000 }), vec!["stop", "seed", "n"]),
        ("openai", "gpt-4.1", chat.clone(), vec![]),
        ("azure-openai", "gpt-4.1", chat, vec![]),
        ("anthropic", "claude-haiku-5-5", json!({ "max_tokens": 2000, "stop_sequences": ["END"] }), vec!["seed", "n"]),
        (
            "gemini",
            "gemini-2.5-flash",
            json!({ "generationConfig": { "maxOutputTokens": 2000, "stopSequences": ["END"], "seed": 7, "candidateCount": 2 } }),
            vec![],
        ),
        ("cohere", "command-a-03-2025", json!({ "max_tokens": 2000, "stop_sequences": ["END"], "seed": 7 }), vec!["n"]),
        ("deepseek", "deepseek-flash", given.clone(), vec![]),
    ];
    for (id, model, expected, dropped) in table {
        let with = request(&manifest(id), model, ThinkingLevel::Off, given.clone());
        let without = body(&request(&manifest(id), model, ThinkingLevel::Off, json!({})));
        let sent: Map<String, Value> = body(&with)
            .into_iter()
            .filter(|(name, member)| without.get(name) != Some(member))
            .map(|(name, mut member)| {
                // What the model is told about thinking stands beside the limit.
                if let Some(inner) = member.as_object_mut() {
                    inner.shift_remove("thinkingConfig");
                }
                (name, member)
            })
            .collect();
        assert_eq!(Value::Object(sent), expected, "{id}/{model}");
        let changed: Vec<&str> = with.changes.iter().map(|change| change.option.as_str()).collect();
        assert_eq!(changed, dropped, "{id}/{model}: {:?}", with.changes);
    }
}

/// Whatever is asked of a model, a request comes out of it, and what the model has is not changed.
#[test]
fn every_chat_model_can_be_asked_at_every_level() {
    for built_in in builtin::MANIFESTS {
        let manifest = manifest(built_in.id);
        for (id, entry) in manifest.models.iter().filter(|(_, entry)| chats(entry)) {
            for level in ThinkingLevel::ALL {
                let request = request(&manifest, id, level, json!({ "max_tokens": 2000 }));
                let body = body(&request);
                assert!(
                    body.contains_key("messages") || body.contains_key("input") || body.contains_key("contents"),
                    "{id}"
                );
                let named = entry
                    .thinking_levels
                    .as_ref()
                    .is_some_and(|levels| levels.get(level.as_str()).is_some_and(|value| !value.is_null()));
                // That two levels of a model are the same is told, and neither becomes the other.
                let becomes = |reason: &str| !reason.contains(" is sent as ") && !reason.contains("below max_tokens");
                let changed =
                    request.changes.iter().any(|change| change.option == "thinking" && becomes(&change.reason));
                assert!(!(named && changed), "{}/{id} {level}: {:?}", built_in.id, request.changes);
            }
        }
    }
}

/// What a model thinks is part of its answer, so a small limit must leave room for both.
#[test]
fn thinking_leaves_room_for_the_answer() {
    let sent = |id: &str, model: &str| {
        let request = request(&manifest(id), model, ThinkingLevel::High, json!({ "max_tokens": 4000 }));
        assert!(request.changes.iter().any(|change| change.reason.contains("below max_tokens (4000)")), "{id}");
        Value::Object(body(&request))
    };
    let gemini = sent("gemini", "gemini-2.5-pro");
    assert_eq!(gemini["generationConfig"]["thinkingConfig"]["thinkingBudget"], 2048);
    let cohere = sent("cohere", "command-a-plus-05-2026");
    assert_eq!(cohere["thinking"]["token_budget"], 2048);
}

#[test]
fn sampling_of_anthropic_is_sent_as_it_is_taken() {
    let sent = |level, parameters: Value| {
        let request = request(&manifest("anthropic"), "claude-haiku-4-5", level, parameters);
        let dropped: Vec<String> = request.changes.iter().map(|change| change.option.clone()).collect();
        let body = body(&request);
        (body.get("temperature").cloned(), body.get("top_p").cloned(), dropped)
    };
    let told = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let both = json!({ "max_tokens": 9000, "temperature": 0.5, "top_p": 0.5 });
    assert_eq!(sent(ThinkingLevel::Off, both), (Some(json!(0.5)), None, told(&["top_p"])));
    let low = json!({ "max_tokens": 9000, "top_p": 0.5 });
    assert_eq!(sent(ThinkingLevel::Off, low.clone()), (None, Some(json!(0.5)), told(&[])));
    assert_eq!(sent(ThinkingLevel::Low, low), (None, None, told(&["top_p"])));
    let high = json!({ "max_tokens": 9000, "top_p": 0.97 });
    assert_eq!(sent(ThinkingLevel::Low, high), (None, Some(json!(0.97)), told(&[])));
}

/// Its API refuses every member that it does not know.
#[test]
fn perplexity_is_sent_only_what_it_knows() {
    let sonar = request(&manifest("perplexity"), "sonar", ThinkingLevel::Low, json!({ "max_tokens": 100 }));
    let expected = json!({
        "model": "perplexity/sonar", "instructions": "Be brief.", "preset": "fast", "max_output_tokens": 100, "stream": true,
        "input": [{ "role": "user", "content": [{ "type": "input_text", "text": "Hello!" }] }],
    });
    assert_eq!(Value::Object(body(&sonar)), expected);
    let searched = request(&manifest("perplexity"), "sonar", ThinkingLevel::Off, json!({ "preset": "low" }));
    assert_eq!(body(&searched)["preset"], "low");
    let other = body(&request(&manifest("perplexity"), "openai/gpt-5.5", ThinkingLevel::Low, json!({})));
    assert_eq!(other["reasoning"], json!({ "effort": "low" }));
    assert!(!other.contains_key("store") && !other.contains_key("include"), "{other:?}");

    let messages = [
        json!({ "role": "user", "content": "Hello!" }),
        json!({ "role": "assistant", "content": "Hi." }),
        json!({ "role": "user", "content": "And?" }),
    ];
    let mut plain = plain(&messages, &Map::new()).unwrap();
    let schema = json!({ "type": "object", "properties": {} });
    plain.options.response_format = ResponseFormat::JsonSchema { name: "answer".to_owned(), schema: schema.clone() };
    let manifest = manifest("perplexity");
    let (model, entry) = ("sonar", manifest.models.get("sonar"));
    let target = Target { manifest: &manifest, model, entry, base_url: None, lookup: &environment };
    let request = build(&target, Call { prompt: &plain.prompt, options: &plain.options }, Mode::Whole).unwrap();
    let body = body(&request);
    assert_eq!(body["input"][1], json!({ "role": "assistant", "content": "Hi." }));
    let inner = json!({ "name": "answer", "schema": schema, "strict": false });
    assert_eq!(body["response_format"], json!({ "type": "json_schema", "json_schema": inner }));
    assert!(!body.contains_key("text"));
}

#[test]
fn a_model_that_refuses_sampling_is_not_sent_any() {
    for (id, model) in
        [("openai", "gpt-6-sol"), ("anthropic", "claude-opus-5-5"), ("openrouter", "anthropic/claude-opus-5.5")]
    {
        let request = request(&manifest(id), model, ThinkingLevel::Low, json!({ "temperature": 0.5, "top_p": 0.9 }));
        let body = body(&request);
        assert!(!body.contains_key("temperature") && !body.contains_key("top_p"), "{id}");
        let dropped: Vec<&str> = request.changes.iter().map(|change| change.option.as_str()).collect();
        assert!(dropped.contains(&"temperature") && dropped.contains(&"top_p"), "{id}: {dropped:?}");
    }
}

#[test]
fn a_forced_tool_choice_is_not_sent_to_a_model_that_refuses_it() {
    let tools = json!([{ "type": "function", "function": { "name": "read", "parameters": { "type": "object" } } }]);
    let choice = |model: &str| {
        let request = request(
            &manifest("anthropic"),
            model,
            ThinkingLevel::Off,
            json!({ "tools": tools, "tool_choice": "required" }),
        );
        body(&request).get("tool_choice").cloned()
    };
    assert_eq!(choice("claude-opus-5-5"), None);
    assert_eq!(choice("claude-sonnet-5"), Some(json!({ "type": "any" })));
}

/// A history of other models is taken: Gemini 3 wants a signature on the first call of each answer.
#[test]
fn calls_of_other_models_are_signed_where_that_is_wanted() {
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "ls", "arguments": "{}" } });
    let messages = [
        json!({ "role": "user", "content": "list" }),
        json!({ "role": "assistant", "tool_calls": [call("a"), call("b")] }),
        json!({ "role": "tool", "tool_call_id": "a", "content": "A" }),
        json!({ "role": "tool", "tool_call_id": "b", "content": "B" }),
    ];
    let plain = plain(&messages, &Map::new()).unwrap();
    let gemini = manifest("gemini");
    let signatures = |model: &str| {
        let entry = gemini.models.get(model);
        let target = Target { manifest: &gemini, model, entry, base_url: None, lookup: &environment };
        let request = build(&target, Call { prompt: &plain.prompt, options: &plain.options }, Mode::Whole).unwrap();
        let contents = Value::Object(body(&request))["contents"].clone();
        let parts =
            contents.as_array().unwrap().iter().flat_map(|content| content["parts"].as_array().unwrap().clone());
        parts
            .filter(|part| part.get("functionCall").is_some())
            .map(|part| part["thoughtSignature"].clone())
            .collect::<Vec<_>>()
    };
    let skipped: Vec<Value> = vec![json!("skip_thought_signature_validator"), json!(null)];
    assert_eq!(signatures("gemini-3.8-flash"), skipped);
    assert_eq!(signatures("gemini-of-tomorrow"), skipped);
    assert_eq!(signatures("gemini-2.5-pro"), vec![json!(null), json!(null)]);
}

/// Models of Anthropic behind a router are told what to keep of a prompt; others are not.
#[test]
fn a_router_passes_marks_for_the_cache_to_the_models_that_want_them() {
    let marks = |model: &str| {
        let messages =
            [json!({ "role": "system", "content": "Be brief." }), json!({ "role": "user", "content": "Hello!" })];
        let mut plain = plain(&messages, &Map::new()).unwrap();
        plain.options.cache = CacheRetention::Long;
        let openrouter = manifest("openrouter");
        let entry = openrouter.models.get(model);
        let target = Target { manifest: &openrouter, model, entry, base_url: None, lookup: &environment };
        let request = build(&target, Call { prompt: &plain.prompt, options: &plain.options }, Mode::Whole).unwrap();
        body(&request)["messages"].clone()
    };
    let mark = json!({ "type": "ephemeral", "ttl": "1h" });
    assert_eq!(
        marks("anthropic/claude-opus-5.5"),
        json!([
            { "role": "system", "content": [{ "type": "text", "text": "Be brief.", "cache_control": mark }] },
            { "role": "user", "content": [{ "type": "text", "text": "Hello!", "cache_control": mark }] },
        ])
    );
    assert_eq!(
        marks("openai/gpt-5.5"),
        json!([{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "Hello!" }])
    );
}

/// The demo model understands what the request builder makes for it.
#[test]
fn the_demo_model_is_asked_through_the_request_builder() {
    let demo = manifest("demo");
    let tools = json!([{ "type": "function", "function": { "name": "ls", "parameters": { "type": "object", "properties": { "path": { "type": "string" } } } } }]);
    let messages = [json!({ "role": "user", "content": "list the files in src/" })];
    let mut parameters = Map::new();
    parameters.insert("tools".to_owned(), tools);
    let plain = plain(&messages, &parameters).unwrap();
    let target =
        Target { manifest: &demo, model: "demo", entry: demo.models.get("demo"), base_url: None, lookup: &environment };
    let request = build(&target, Call { prompt: &plain.prompt, options: &plain.options }, Mode::Whole).unwrap();
    let answer = demo::answer(&request.body);
    let body: Value = serde_json::from_slice(&answer.body()).unwrap();
    let function = &body["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!((answer.status, function), (200, &json!({ "name": "ls", "arguments": r#"{"path":"src/"}"# })));
}

/// The smallest request for everything that is no chat.
fn beside_chats(target: &Target<'_>) -> [(Capability, Result<Request, CallError>); 6] {
    let text = |word: &str| word.to_owned();
    let embed = Embed { texts: vec![text("a")], dimensions: None, purpose: None };
    let rank = Rerank { query: text("q"), documents: vec![text("d")], top: None };
    let draw = Draw { prompt: text("p"), count: None, size: None, parameters: Map::new() };
    let hear = Transcribe {
        file_name: text("a.wav"),
        media_type: text("audio/wav"),
        audio: vec![0],
        language: None,
        prompt: None,
        temperature: None,
        detail: Detail::Text,
    };
    let speak = Speak { text: text("t"), voice: text("v"), format: None, speed: None, instructions: None };
    let request = request(target.manifest, "m", ThinkingLevel::Off, json!({ "max_tokens": 9 }));
    let items = [batch::Item { id: text("1"), request }];
    let first = |start| match start {
        batch::Start::Upload(request) | batch::Start::Create(request) => request,
    };
    [
        (Capability::Embeddings, embeddings::request(target, &embed)),
        (Capability::Rerank, rerank::request(target, &rank)),
        (Capability::ImageGeneration, image::request(target, &draw)),
        (Capability::Stt, speech::transcription(target, &hear)),
        (Capability::Tts, speech::synthesis(target, &speak)),
        (Capability::Batch, batch::start(target, &items).map(first)),
    ]
}

/// Where each provider is asked for what it declares beside chats.
#[test]
fn what_is_declared_beside_chats_can_be_asked_for() {
    let mut lines = Vec::new();
    for built_in in builtin::MANIFESTS {
        let manifest = manifest(built_in.id);
        let target = Target { manifest: &manifest, model: "m", entry: None, base_url: None, lookup: &environment };
        let mut parts = Vec::new();
        for (capability, request) in beside_chats(&target) {
            let declared = manifest.capabilities.has(capability);
            assert_eq!(request.is_ok(), declared, "{} {capability}: {request:?}", built_in.id);
            parts.extend(request.map(|request| format!("{capability} {}", request.address.url.path())));
        }
        if !parts.is_empty() {
            lines.push(format!("{}: {}", built_in.id, parts.join(", ")));
        }
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    anthropic: batch /v1/messages/batches
    azure-openai: embeddings /openai/v1/embeddings, image_generation /openai/v1/images/generations, stt /openai/v1/audio/transcriptions, tts /openai/v1/audio/speech, batch /openai/v1/files
    cohere: embeddings /v2/embed, rerank /v2/rerank
    doubao: embeddings /api/v3/embeddings, image_generation /api/v3/images/generations
    fireworks: embeddings /inference/v1/embeddings, rerank /inference/v1/rerank
    gemini: embeddings /v1beta/models/m:embedContent, image_generation /v1beta/models/m:generateContent, stt /v1beta/models/m:generateContent, tts /v1beta/models/m:generateContent, batch /v1beta/models/m:batchGenerateContent
    groq: stt /openai/v1/audio/transcriptions, tts /openai/v1/audio/speech, batch /openai/v1/files
    mistral: embeddings /v1/embeddings, stt /v1/audio/transcriptions, batch /v1/files
    nvidia: embeddings /v1/embeddings
    openai: embeddings /v1/embeddings, image_generation /v1/images/generations, stt /v1/audio/transcriptions, tts /v1/audio/speech, batch /v1/files
    openrouter: embeddings /api/v1/embeddings
    qwen: embeddings /compatible-mode/v1/embeddings, batch /compatible-mode/v1/files
    together: embeddings /v1/embeddings, rerank /v1/rerank, image_generation /v1/images/generations, stt /v1/audio/transcriptions, tts /v1/audio/speech
    xai: image_generation /v1/images/generations
    zhipu: image_generation /api/paas/v4/images/generations
    llamacpp: embeddings /v1/embeddings, rerank /v1/rerank
    lmstudio: embeddings /v1/embeddings
    ollama: embeddings /v1/embeddings
    vllm: embeddings /v1/embeddings, rerank /v1/rerank
    ");
}
