//! Model servers on loopback are found, and other servers are not taken for them.

use std::time::Duration;

use pi_provider::{
    Secret,
    catalog::{Catalog, Entry, Source},
    credential::{Credential, Trust, attach},
    local::{LocalServer, Patience, Probe, ProbeError, Sightings, USUAL_PATIENCE, find},
    transport::Transport,
};
use pi_testkit::{Reply, Script, Server};
use serde_json::{Value, json};

const SECONDS: Duration = Duration::from_secs(5);
const PATIENCE: Patience = Patience { presence: SECONDS, details: SECONDS };

fn entry(id: &str) -> Entry {
    Catalog::load(&[Source::built_in()]).provider(id).unwrap().clone()
}

fn nothing(_: &str) -> Option<String> {
    None
}

fn transport() -> Transport {
    Transport::near(SECONDS).unwrap()
}

async fn serve(routes: &[(&str, Value)]) -> Server {
    let script = routes.iter().fold(Script::new(), |script, (path, body)| script.always(path, Reply::json(200, body)));
    Server::start(script.otherwise(Reply::json(404, &json!({ "error": "not found" })))).await.unwrap()
}

/// What is found where a server with these routes is looked for as this provider.
async fn found(id: &str, routes: &[(&str, Value)]) -> Option<Value> {
    let server = serve(routes).await;
    let mut probe = Probe::of(&entry(id), &nothing).unwrap().unwrap();
    probe.base_url = server.url();
    let found = find(&transport(), &[probe], PATIENCE).await.servers;
    let LocalServer { provider, base_url, models } = found.into_iter().next()?;
    assert_eq!((provider.as_str(), base_url), (id, server.url()));
    let plain = |value: Value| match value {
        Value::Object(members) => members
            .into_iter()
            .filter(|(_, value)| !value.is_null() && *value != json!({}) && *value != json!([]))
            .collect(),
        value => value,
    };
    Some(models.into_iter().map(|(id, model)| (id, plain(serde_json::to_value(model).unwrap()))).collect())
}

fn text_only(name: &str, more: &Value) -> Value {
    let mut model = json!({ "name": name, "modalities": { "input": ["text"], "output": ["text"] },
        "model_capabilities": { "tool_call": null, "structured_output": null, "reasoning": null, "attachment": null } });
    for (name, value) in more.as_object().unwrap() {
        model[name] = value.clone();
    }
    model
}

#[tokio::test]
async fn ollama_is_found_with_its_models() {
    let tags = json!({ "models": [
        { "name": "qwen3:8b", "model": "qwen3:8b", "size": 5_200_000_000_u64, "details": { "family": "qwen3", "context_length": 40960 } },
        { "name": "llama3.2:latest", "details": { "family": "llama" } },
    ] });
    assert_eq!(
        found("ollama", &[("/api/tags", tags), ("/api/version", json!({ "version": "0.12.3" }))]).await,
        Some(json!({
            "qwen3:8b": text_only("qwen3:8b", &json!({ "family": "qwen3", "context_window": 40960 })),
            "llama3.2:latest": text_only("llama3.2:latest", &json!({ "family": "llama" })),
        })),
    );
}

/// What the server tells of each model by its name decides what it is asked for.
#[tokio::test]
async fn ollama_tells_what_each_model_can_do() {
    let tags = json!({ "models": [{ "name": "nomic-embed-text" }, { "name": "qwen3:8b" }, { "name": "old" }, { "name": "mute" }] });
    let show = |capabilities: Value, info: Value| {
        Reply::json(200, &json!({ "capabilities": capabilities, "model_info": info }))
    };
    let script = Script::new()
        .always("/api/tags", Reply::json(200, &tags))
        .always("/api/version", Reply::json(200, &json!({ "version": "0.12.3" })))
        .when(
            |request| request.target == "/api/show" && request.json()["model"] == "nomic-embed-text",
            show(json!(["embedding"]), json!({ "nomic-bert.context_length": 2048 })),
        )
        .when(
            |request| request.target == "/api/show" && request.json()["model"] == "qwen3:8b",
            show(
                json!(["completion", "tools", "thinking", "vision"]),
                json!({ "general.parameter_count": 8, "qwen3.context_length": 40960 }),
            ),
        );
    let script = script.when(
        |request| request.target == "/api/show" && request.json()["model"] == "mute",
        show(json!([]), json!({ "llama.context_length": 4096 })),
    );
    let server = Server::start(script.otherwise(Reply::json(404, &json!({ "error": "not found" })))).await.unwrap();
    let mut probe = Probe::of(&entry("ollama"), &nothing).unwrap().unwrap();
    probe.base_url = server.url();
    let found = find(&transport(), &[probe], PATIENCE).await.servers;
    let told = |name: &str| {
        let model = &found[0].models[name];
        let can = &model.model_capabilities;
        let kinds = model.modalities.clone().unwrap();
        (model.context_window, can.tool_call, can.reasoning, kinds.input.join("+"), kinds.output.join("+"))
    };
    let words = |input: &str, output: &str| (input.to_owned(), output.to_owned());
    let expected = |window, tools, thinks, (input, output): (String, String)| (window, tools, thinks, input, output);
    assert_eq!(told("nomic-embed-text"), expected(Some(2048), Some(false), Some(false), words("text", "embedding")));
    assert_eq!(told("qwen3:8b"), expected(Some(40960), Some(true), Some(true), words("text+image", "text")));
    assert_eq!(told("old"), expected(None, None, None, words("text", "text")), "nothing is told of it");
    assert_eq!(told("mute"), expected(Some(4096), None, None, words("text", "text")), "an empty list tells nothing");
}

/// Where nothing more is told of a model its name is all that there is, and a model that embeds is not asked.
#[tokio::test]
async fn models_of_which_nothing_is_told_are_known_by_their_names() {
    let names = ["nomic-embed-text:latest", "BGE-Reranker-v2", "all-minilm:22m", "gemma3:1b"];
    let tags = json!({ "models": names.map(|name| json!({ "name": name })) });
    let routes = [("/api/tags", tags), ("/api/version", json!({ "version": "0.12.3" }))];
    let found = found("ollama", &routes).await.unwrap();
    let given = names.map(|name| found[name]["modalities"]["output"][0].as_str().unwrap_or_default().to_owned());
    assert_eq!(given, ["embedding", "ranking", "embedding", "text"]);
}

/// A server that is there may be busy; whether it is there is seen at once.
#[tokio::test]
async fn details_have_patience_of_their_own() {
    assert!(USUAL_PATIENCE.details >= USUAL_PATIENCE.presence * 2, "{USUAL_PATIENCE:?}");
    let script = Script::new()
        .always("/api/tags", Reply::json(200, &json!({ "models": [{ "name": "qwen3:8b" }] })))
        .always("/api/version", Reply::json(200, &json!({ "version": "0.12.3" })))
        .otherwise(Reply::hang());
    let server = Server::start(script).await.unwrap();
    let mut probe = Probe::of(&entry("ollama"), &nothing).unwrap().unwrap();
    probe.base_url = server.url();
    let patience = Patience { details: Duration::from_millis(1), ..PATIENCE };
    let found = find(&transport(), &[probe], patience).await.servers;
    assert_eq!(found[0].models["qwen3:8b"].model_capabilities.tool_call, None);
}

#[tokio::test]
async fn lm_studio_tells_kinds_and_windows() {
    let models = json!({ "object": "list", "data": [
        { "id": "gemma-3-12b", "object": "model", "type": "vlm", "publisher": "google", "arch": "gemma3", "compatibility_type": "gguf",
            "state": "loaded", "max_context_length": 131_072, "loaded_context_length": 8192 },
        { "id": "nomic-embed", "type": "embeddings", "arch": "nomic-bert", "compatibility_type": "gguf", "max_context_length": 2048 },
    ] });
    let found = found("lmstudio", &[("/api/v0/models", models)]).await.unwrap();
    assert_eq!(found["gemma-3-12b"]["context_window"], 8192);
    assert_eq!(found["gemma-3-12b"]["modalities"], json!({ "input": ["text", "image"], "output": ["text"] }));
    assert_eq!(found["nomic-embed"]["context_window"], 2048);
    assert_eq!(found["nomic-embed"]["modalities"]["output"], json!(["embedding"]));
}

#[tokio::test]
async fn llama_cpp_is_known_by_its_owner_or_its_properties() {
    let list = |owner: &str| json!({ "object": "list", "data": [{ "id": "smollm2", "object": "model", "owned_by": owner, "meta": { "n_ctx_train": 8192 } }] });
    let properties = json!({ "default_generation_settings": { "n_ctx": 4096 }, "total_slots": 1 });
    let with = |window: u64| Some(json!({ "smollm2": text_only("smollm2", &json!({ "context_window": window })) }));
    assert_eq!(found("llamacpp", &[("/v1/models", list("llamacpp"))]).await, with(8192));
    assert_eq!(found("llamacpp", &[("/v1/models", list("me")), ("/props", properties)]).await, with(4096));
}

#[tokio::test]
async fn vllm_is_known_by_its_owner() {
    let list = |owner: &str| json!({ "data": [{ "id": "Qwen/Qwen3-8B", "owned_by": owner, "max_model_len": 32768 }] });
    assert_eq!(
        found("vllm", &[("/v1/models", list("vllm"))]).await,
        Some(json!({ "Qwen/Qwen3-8B": text_only("Qwen/Qwen3-8B", &json!({ "context_window": 32768 })) })),
    );
    assert_eq!(found("vllm", &[("/v1/models", list("llamacpp"))]).await, None);
}

/// A server that wants a key gets the one that is there, and one that wants none does not see it.
#[tokio::test]
async fn key_goes_to_a_server_that_asks_for_it() {
    let list = json!({ "data": [{ "id": "qwen", "owned_by": "vllm", "max_model_len": 4096 }] });
    let refusal = || Reply::json(401, &json!({ "error": "Unauthorized" }));
    let has_key = |request: &pi_testkit::server::Request| request.header("authorization") == Some("Bearer tok-123");
    let auth = entry("vllm").manifest.endpoint.auth.clone();
    let key = |text: &str| vec![attach(&auth, &Credential::key(Secret::new(text))).unwrap()];
    for (given, is_found) in [(key("tok-123"), true), (key("another"), false), (Vec::new(), false)] {
        let script = Script::new().when(has_key, Reply::json(200, &list)).otherwise(refusal());
        let server = Server::start(script).await.unwrap();
        let mut probe = Probe::of(&entry("vllm"), &nothing).unwrap().unwrap();
        (probe.base_url, probe.credential) = (server.url(), given);
        let Sightings { servers, refused } = find(&transport(), &[probe], PATIENCE).await;
        assert_eq!((servers.len(), refused.len()), if is_found { (1, 0) } else { (0, 1) });
        let told = refused.first().map(|it| (it.provider.as_str(), it.address.clone(), it.status));
        assert_eq!(told, (!is_found).then(|| ("vllm", server.url(), 401)));
    }
    let server = serve(&[("/v1/models", list)]).await;
    let mut probe = Probe::of(&entry("vllm"), &nothing).unwrap().unwrap();
    (probe.base_url, probe.credential) = (server.url(), key("tok-123"));
    assert_eq!(find(&transport(), &[probe], PATIENCE).await.servers.len(), 1);
    assert!(server.requests().iter().all(|request| request.header("authorization").is_none()));
}

#[tokio::test]
async fn another_server_on_the_port_is_left_alone() {
    let page = [
        ("/v1/models", json!({ "data": [{ "id": "x", "owned_by": "somebody" }] })),
        ("/api/tags", json!({ "models": [] })),
    ];
    for id in ["llamacpp", "vllm", "lmstudio", "ollama"] {
        assert_eq!(found(id, &page).await, None, "{id}");
        assert_eq!(found(id, &[]).await, None, "{id}");
        assert_eq!(found(id, &[("/v1/models", json!([])), ("/api/version", json!("hello"))]).await, None, "{id}");
    }
}

#[tokio::test]
async fn a_server_without_models_is_there_with_none() {
    let routes = [("/api/tags", json!({ "models": [] })), ("/api/version", json!({ "version": "1" }))];
    assert_eq!(found("ollama", &routes).await, Some(json!({})));
}

#[tokio::test]
async fn servers_are_asked_at_once_and_one_that_hangs_costs_only_itself() {
    let ollama =
        serve(&[("/api/tags", json!({ "models": [{ "name": "a" }] })), ("/api/version", json!({ "version": "1" }))])
            .await;
    let hanging = Server::start(Script::new().otherwise(Reply::hang())).await.unwrap();
    let broken = Server::start(Script::new().otherwise(Reply::text(200, "<html>"))).await.unwrap();
    let entries = ["vllm", "llamacpp", "lmstudio", "ollama"].map(entry);
    let mut probes = Probe::all(&entries, &nothing);
    let closed = { serve(&[]).await.url() };
    for (probe, url) in probes.iter_mut().zip([hanging.url(), broken.url(), closed, ollama.url()]) {
        probe.base_url = url;
    }
    let found = find(&transport(), &probes, Patience { presence: Duration::from_secs(2), ..PATIENCE }).await.servers;
    assert_eq!(found.iter().map(|server| server.provider.as_str()).collect::<Vec<_>>(), ["ollama"]);
}

#[test]
fn every_local_manifest_says_where_to_look() {
    let catalog = Catalog::load(&[Source::built_in()]);
    let places: Vec<(String, String)> = Probe::all(catalog.providers(), &nothing)
        .into_iter()
        .map(|probe| (probe.provider.as_str().to_owned(), probe.base_url))
        .collect();
    let expected = [
        ("llamacpp", "http://127.0.0.1:8080"),
        ("lmstudio", "http://127.0.0.1:1234"),
        ("ollama", "http://127.0.0.1:11434"),
        ("vllm", "http://127.0.0.1:8000"),
    ];
    assert_eq!(places, expected.map(|(id, place)| (id.to_owned(), place.to_owned())));
}

#[test]
fn a_variable_names_another_address() {
    let environment = |name: &str| (name == "OLLAMA_HOST").then(|| "0.0.0.0:8123".to_owned());
    let probe = Probe::of(&entry("ollama"), &environment).unwrap().unwrap();
    assert_eq!(probe.base_url, "http://127.0.0.1:8123");
    let mut remote = entry("vllm");
    "http://192.0.2.1:8000".clone_into(&mut remote.manifest.endpoint.base_url);
    assert!(matches!(Probe::of(&remote, &nothing), Err(ProbeError::Elsewhere)));
}

#[test]
fn a_variable_that_holds_no_address_is_named_and_not_quoted() {
    let secret = |_: &str| Some("hunter2 is no address".to_owned());
    let error = Probe::of(&entry("ollama"), &secret).unwrap_err();
    assert_eq!(error.to_string(), "OLLAMA_HOST does not hold an address");
    assert_eq!(format!("{error:?}"), r#"Variable { variable: "OLLAMA_HOST" }"#);
}

#[test]
fn manifests_that_nobody_trusts_are_not_looked_for_and_read_no_variable() {
    let untrusted = Entry { trust: Trust::UntrustedProject, ..entry("ollama") };
    let environment = |name: &str| -> Option<String> { panic!("{name} was read") };
    assert!(Probe::of(&untrusted, &environment).unwrap().is_none());
    assert!(Probe::all([&untrusted], &environment).is_empty());
}

#[tokio::test]
async fn a_path_cannot_lead_to_another_server() {
    let elsewhere = serve(&[("/api/tags", json!({ "models": [] })), ("/api/version", json!({ "version": "1" }))]).await;
    let mut entry = entry("ollama");
    for service in entry.manifest.services.values_mut() {
        service.path = format!("@{}/api/tags", elsewhere.address());
    }
    let mut probe = Probe::of(&entry, &nothing).unwrap().unwrap();
    probe.base_url = "http://127.0.0.1:9".to_owned();
    assert_eq!(find(&transport(), &[probe], PATIENCE).await, Sightings::default());
    assert_eq!(elsewhere.requests(), []);
}
