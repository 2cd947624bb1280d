//! What is sent to a server that Pi's `models.json` describes.

use pi_provider::{
    Call, Catalog, Mode, Options, Request,
    call::CacheRetention,
    catalog::{Asked, Origin, Source, SourceFile},
    credential::Trust,
    request::build,
};
use pi_transcript::ThinkingLevel;
use serde_json::{Value, json};

use super::prompt;

fn catalog(models: &Value) -> Catalog {
    let file = SourceFile { path: "models.json".to_owned(), text: Ok(models.to_string()) };
    let own = Source { origin: Origin::PiModels, trust: Trust::Trusted, files: vec![file] };
    Catalog::load(&[Source::built_in(), own])
}

/// The request for `name` with the providers of a `models.json`.
fn request(providers: &Value, name: &str, said: &Value, options: &Options) -> Request {
    let catalog = catalog(&json!({ "providers": providers }));
    let found = catalog.find_model(name).unwrap();
    let asked = Asked { model: &found.id, known: found.model, base_url: None };
    let target = found.entry.target(asked, &|_| None);
    build(&target, Call { prompt: &prompt(said), options }, Mode::Stream).unwrap()
}

/// Where a chat with a model of a `models.json` goes while `OLLAMA_HOST` is set.
fn moved(providers: &Value, name: &str, host: &str) -> String {
    let catalog = catalog(&json!({ "providers": providers }));
    let found = catalog.find_model(name).unwrap();
    let asked = Asked { model: &found.id, known: found.model, base_url: None };
    let environment = |name: &str| (name == "OLLAMA_HOST").then(|| host.to_owned());
    let target = found.entry.target(asked, &environment);
    let request = build(&target, Call { prompt: &prompt(&hello()), options: &Options::plain() }, Mode::Stream).unwrap();
    request.address.url.to_string()
}

fn hello() -> Value {
    json!({"system": "Be kind.", "messages": [{"role": "user", "content": "Hello!"}]})
}

fn thinking(level: ThinkingLevel) -> Options {
    Options { thinking: level, thinking_asked: true, ..Options::plain() }
}

/// The body of a question to a model that thinks, at a server with this `compat`.
fn body(compat: &Value, options: &Options) -> Value {
    compat_request("openai-completions", compat, &hello(), options).payload().unwrap()
}

fn compat_request(api: &str, compat: &Value, said: &Value, options: &Options) -> Request {
    let models = json!([{"id": "m", "reasoning": true}]);
    let local = json!({"local": {"baseUrl": "http://127.0.0.1:9/v1", "api": api, "compat": compat, "models": models}});
    request(&local, "local/m", said, options)
}

/// `OLLAMA_HOST` is a variable of the server, and many set it to make that listen.
#[test]
fn an_address_that_somebody_wrote_is_not_moved_by_a_variable() {
    let written = |url: &str| json!({"ollama": {"baseUrl": url, "api": "openai-completions", "apiKey": "k", "models": [{"id": "x"}]}});
    for host in ["127.0.0.1:18742", "0.0.0.0", ":11434", "http://127.0.0.1:11434", "two words"] {
        for (url, asked) in [
            ("http://127.0.0.1:18741/v1", "http://127.0.0.1:18741/v1/chat/completions"),
            ("https://ollama.corp.example/v1", "https://ollama.corp.example/v1/chat/completions"),
        ] {
            assert_eq!(moved(&written(url), "ollama/x", host), asked, "{host}");
        }
    }
    // One that only adds a model leaves the address to the manifest and its variable.
    let only_a_model = json!({"ollama": {"models": [{"id": "x"}]}});
    let asked = "http://127.0.0.1:18742/v1/chat/completions";
    assert_eq!(moved(&only_a_model, "ollama/x", "127.0.0.1:18742"), asked);
}

#[test]
fn a_model_is_asked_at_its_own_address() {
    let providers = json!({
        "local": {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "models": [
            {"id": "near"},
            {"id": "far", "baseUrl": "http://127.0.0.1:10/v2/"},
            {"id": "other", "baseUrl": "http://127.0.0.1:11", "api": "anthropic-messages"},
            {"id": "beside", "api": "anthropic-messages"},
        ]},
        "spread": {"api": "anthropic-messages", "models": [
            {"id": "one", "baseUrl": "http://127.0.0.1:12"},
            {"id": "two", "baseUrl": "http://127.0.0.1:13/v1"},
        ]},
        "anthropic": {"models": [{"id": "mine", "baseUrl": "http://127.0.0.1:14"}],
            "modelOverrides": {"claude-haiku-5-5": {"baseUrl": "http://127.0.0.1:16/v1"}}},
        "Mist": {"baseUrl": "http://127.0.0.1:15", "api": "mistral-conversations", "models": [{"id": "m"}]},
    });
    for (name, url) in [
        ("local/near", "http://127.0.0.1:9/v1/chat/completions"),
        ("local/far", "http://127.0.0.1:10/v2/chat/completions"),
        ("local/other", "http://127.0.0.1:11/v1/messages"),
        ("local/beside", "http://127.0.0.1:9/v1/messages"),
        ("spread/one", "http://127.0.0.1:12/v1/messages"),
        ("spread/two", "http://127.0.0.1:13/v1/messages"),
        ("anthropic/mine", "http://127.0.0.1:14/v1/messages"),
        ("anthropic/claude-haiku-5-5", "http://127.0.0.1:16/v1/messages"),
        ("Mist/m", "http://127.0.0.1:15/v1/chat/completions"),
    ] {
        let request = request(&providers, name, &hello(), &Options::plain());
        assert_eq!(request.address.url.as_str(), url, "{name}");
    }
}

/// Mistral refuses ids of tool calls that are not as long as its own.
#[test]
fn mistral_conversations_are_held_as_the_manifest_of_mistral_says() {
    let said = json!({"tools": [{"name": "read", "description": "Reads.", "parameters": {"type": "object"}}], "messages": [
        {"role": "user", "content": "Read."},
        {"role": "assistant", "content": [{"type": "toolCall", "id": "call_0123456789_0123456789", "name": "read", "arguments": {}}]},
        {"role": "toolResult", "toolCallId": "call_0123456789_0123456789", "content": [{"type": "text", "text": "read"}]},
    ]});
    let own =
        json!({"mine": {"baseUrl": "http://127.0.0.1:9", "api": "mistral-conversations", "models": [{"id": "m"}]}});
    let body = request(&own, "mine/m", &said, &Options::plain()).payload().unwrap();
    assert_eq!(body["messages"][1]["tool_calls"][0]["id"].as_str().map(str::len), Some(9), "{body}");
}

#[test]
fn reasoning_effort_is_left_out_where_the_server_has_none() {
    let high = thinking(ThinkingLevel::High);
    assert_eq!(body(&json!({}), &high)["reasoning_effort"], "high");
    let none = json!({"supportsReasoningEffort": false});
    let request = compat_request("openai-completions", &none, &hello(), &high);
    assert_eq!(request.payload().unwrap().get("reasoning_effort"), None);
    let told: Vec<String> = request.changes.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["dropped thinking: models.json says that the server takes no reasoning_effort"]);
    // Forms that say it otherwise are sent as before.
    let routed = json!({"supportsReasoningEffort": false, "thinkingFormat": "openrouter"});
    assert_eq!(body(&routed, &high)["reasoning"], json!({"effort": "high"}));
}

#[test]
fn forms_of_thinking_are_those_of_pi() {
    let cases = [
        (json!({"thinkingFormat": "deepseek"}), json!({"thinking": {"type": "enabled"}, "reasoning_effort": "high"})),
        (
            json!({"thinkingFormat": "deepseek", "supportsReasoningEffort": false}),
            json!({"thinking": {"type": "enabled"}}),
        ),
        (json!({"thinkingFormat": "together"}), json!({"reasoning": {"enabled": true}, "reasoning_effort": "high"})),
        (json!({"thinkingFormat": "qwen"}), json!({"enable_thinking": true})),
        (
            json!({"thinkingFormat": "qwen", "supportsReasoningEffort": true}),
            json!({"enable_thinking": true, "reasoning_effort": "high"}),
        ),
        (json!({"thinkingFormat": "string-thinking"}), json!({"thinking": "high"})),
        (json!({"reasoningEffortMap": {"high": "much"}}), json!({"reasoning_effort": "much"})),
    ];
    for (compat, expected) in cases {
        let mut body = body(&compat, &thinking(ThinkingLevel::High));
        let members = body.as_object_mut().unwrap();
        members.retain(|name, _| !["model", "messages", "stream", "stream_options"].contains(&name.as_str()));
        assert_eq!(body, expected, "{compat}");
    }
}

#[test]
fn system_text_stands_in_the_role_that_the_server_knows() {
    let role = |compat: Value| body(&compat, &Options::plain())["messages"][0]["role"].clone();
    assert_eq!(role(json!({})), "system");
    assert_eq!(role(json!({"supportsDeveloperRole": true})), "developer");
    assert_eq!(role(json!({"supportsDeveloperRole": false})), "system");
    // A model that does not think is never told in the newer role.
    let plain = json!({"local": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions",
        "compat": {"supportsDeveloperRole": true}, "models": [{"id": "m"}]}});
    let plain = request(&plain, "local/m", &hello(), &Options::plain()).payload().unwrap();
    assert_eq!(plain["messages"][0]["role"], "system");
}

#[test]
fn store_is_sent_only_to_servers_that_know_it() {
    let store = |api: &str, compat: Value| {
        let body = compat_request(api, &compat, &hello(), &Options::plain()).payload().unwrap();
        body.get("store").cloned()
    };
    assert_eq!(store("openai-completions", json!({})), None);
    assert_eq!(store("openai-completions", json!({"supportsStore": true})), Some(json!(false)));
    assert_eq!(store("openai-responses", json!({})), Some(json!(false)));
    assert_eq!(store("openai-responses", json!({"supportsStore": false})), None);
}

#[test]
fn routers_are_told_who_may_answer() {
    let routing = json!({"only": ["amazon-bedrock"], "sort": {"by": "price"}});
    let sent = body(&json!({"openRouterRouting": routing}), &Options::plain());
    assert_eq!(sent["provider"], routing);
    let gateway = json!({"vercelGatewayRouting": {"only": ["a"], "order": ["a", "b"], "later": 1}});
    let sent = body(&gateway, &Options::plain());
    assert_eq!(sent["providerOptions"], json!({"gateway": {"only": ["a"], "order": ["a", "b"]}}));
    // Of a model that comes with the program, and laid over what is said of its provider.
    let providers = json!({"openrouter": {
        "compat": {"openRouterRouting": {"sort": "price", "zdr": true}},
        "modelOverrides": {"anthropic/claude-opus-5.5": {"compat": {"openRouterRouting": {"sort": "latency"}}}},
    }});
    let sent = request(&providers, "openrouter/anthropic/claude-opus-5.5", &hello(), &Options::plain());
    assert_eq!(sent.payload().unwrap()["provider"], json!({"sort": "latency", "zdr": true}));
}

#[test]
fn usage_and_the_longest_answer_are_asked_for_as_the_model_says() {
    let providers = json!({"local": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "models": [
        {"id": "usual"},
        {"id": "silent", "compat": {"supportsUsageInStreaming": false, "maxTokensField": "max_completion_tokens"}},
    ]}});
    let options = Options { parameters: json!({"max_tokens": 7}).as_object().cloned().unwrap(), ..Options::plain() };
    let sent = |name: &str| {
        let body = request(&providers, name, &hello(), &options).payload().unwrap();
        json!([body["stream_options"], body["max_tokens"], body["max_completion_tokens"]])
    };
    assert_eq!(sent("local/usual"), json!([{"include_usage": true}, 7, null]));
    assert_eq!(sent("local/silent"), json!([null, null, 7]));
}

/// Of a provider that lists no models every model can be asked, and what is said of the provider is said of each.
#[test]
fn compat_of_a_provider_holds_for_models_that_are_not_listed() {
    let compat = json!({"supportsUsageInStreaming": false, "maxTokensField": "max_completion_tokens",
        "openRouterRouting": {"only": ["a"]}});
    let providers = json!({"local": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "compat": compat}});
    let options = Options { parameters: json!({"max_tokens": 7}).as_object().cloned().unwrap(), ..Options::plain() };
    let body = request(&providers, "local/any", &hello(), &options).payload().unwrap();
    let sent = json!([body["stream_options"], body["max_completion_tokens"], body["provider"]]);
    assert_eq!(sent, json!([null, 7, {"only": ["a"]}]));
}

#[test]
fn results_of_tools_have_the_form_that_the_server_demands() {
    let said = json!({"tools": [{"name": "read", "description": "Reads.", "parameters": {"type": "object"}}], "messages": [
        {"role": "user", "content": "Read."},
        {"role": "assistant", "content": [{"type": "toolCall", "id": "c1", "name": "read", "arguments": {}}]},
        {"role": "toolResult", "toolCallId": "c1", "content": [{"type": "text", "text": "read"}]},
        {"role": "user", "content": "Thanks."},
    ]});
    let sent = |compat: Value| {
        let request = compat_request("openai-completions", &compat, &said, &Options::plain());
        request.payload().unwrap()["messages"].clone()
    };
    let usual = sent(json!({}));
    assert_eq!(usual[1]["content"], Value::Null);
    assert_eq!(usual[2].get("name"), None);
    assert_eq!(usual[3]["role"], "user");
    assert_eq!(sent(json!({"requiresToolResultName": true}))[2]["name"], "read");
    let spoken = sent(json!({"requiresAssistantAfterToolResult": true}));
    assert_eq!(spoken[1]["content"], "");
    assert_eq!(spoken[3], json!({"role": "assistant", "content": "I have read the results."}));
    assert_eq!(spoken[4]["role"], "user");
}

#[test]
fn thinking_goes_back_as_text_where_the_server_wants_it_so() {
    let said = json!({"messages": [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "provider": "local", "model": "m", "content": [
            {"type": "thinking", "thinking": "A thought."}, {"type": "text", "text": "Two."}]},
        {"role": "user", "content": "Three?"},
    ]});
    let content = |compat: Value| {
        let request = compat_request("openai-completions", &compat, &said, &Options::plain());
        request.payload().unwrap()["messages"][1]["content"].clone()
    };
    assert_eq!(content(json!({})), "Two.");
    assert_eq!(content(json!({"requiresThinkingAsText": true})), "A thought.\n\nTwo.");
}

#[test]
fn cache_is_marked_as_the_server_takes_it() {
    let long = Options { cache: CacheRetention::Long, ..Options::plain() };
    let marked = |compat: Value| body(&compat, &long)["messages"][0]["content"].clone();
    assert_eq!(marked(json!({})), "Be kind.");
    let mark = |control: Value| json!([{"type": "text", "text": "Be kind.", "cache_control": control}]);
    assert_eq!(marked(json!({"cacheControlFormat": "anthropic"})), mark(json!({"type": "ephemeral", "ttl": "1h"})));
    let short = json!({"cacheControlFormat": "anthropic", "supportsLongCacheRetention": false});
    assert_eq!(marked(short), mark(json!({"type": "ephemeral"})));

    let mut said = hello();
    said["tools"] = json!([{"name": "read", "description": "Reads.", "parameters": {"type": "object"}}]);
    let tool = |compat: Value| {
        let request = compat_request("anthropic-messages", &compat, &said, &Options::plain());
        request.payload().unwrap()["tools"][0].get("cache_control").cloned()
    };
    assert_eq!(tool(json!({})), Some(json!({"type": "ephemeral"})));
    assert_eq!(tool(json!({"supportsCacheControlOnTools": false})), None);
}

/// Levels that the map does not name are the usual ones; the two strongest must be named.
#[test]
fn map_of_thinking_levels_leaves_the_usual_ones() {
    let sent = |map: Value, level: ThinkingLevel| {
        let model = json!({"id": "m", "reasoning": true, "thinkingLevelMap": map});
        let local = json!({"local": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "models": [model]}});
        request(&local, "local/m", &hello(), &thinking(level)).payload().unwrap()["reasoning_effort"].clone()
    };
    let high = json!({"minimal": null, "high": "hard", "max": "hardest"});
    assert_eq!(sent(high.clone(), ThinkingLevel::Low), "low");
    assert_eq!(sent(high.clone(), ThinkingLevel::High), "hard");
    assert_eq!(sent(high.clone(), ThinkingLevel::Xhigh), "hard");
    assert_eq!(sent(high.clone(), ThinkingLevel::Max), "hardest");
    assert_eq!(sent(high, ThinkingLevel::Minimal), "low");
    assert_eq!(sent(json!({"off": null}), ThinkingLevel::Medium), "medium");
    assert_eq!(sent(json!({"off": null}), ThinkingLevel::Off), "minimal");
    assert_eq!(sent(json!({"off": "none"}), ThinkingLevel::Off), "none");
}
