//! `pi models` and what `pi provider` shows: sources, credentials, trust, checks. And that no key is ever seen.

use insta::assert_snapshot;
use pi_testkit::server::{Reply, Script};
use serde_json::{Value, json};

use crate::{
    server::{Running, frame, manifest, quiet_world, refusal, rich_stream, stream},
    world::{World, shown},
};

const KEY: &str = "sk-planted-9f3bX7q2LmZtR4";

/// Runs `pi` with the agent directory of the world and these variables.
fn run(world: &World, arguments: &str, variables: &[(&str, &str)]) -> String {
    let mut command = world.command(arguments);
    shown(&command.env("PI_CODING_AGENT_DIR", "agent").envs(variables.iter().copied()).output().expect("pi runs"))
}

#[test]
fn models_are_listed_with_what_is_known() {
    let world = quiet_world().with("agent/providers/acme.yaml", manifest("acme", "http://127.0.0.1:9/v1"));
    assert_snapshot!(run(&world, "models acme/", &[]), @r"
    provider  model  context  output   $ in  $ out  can           credential
    acme      small       8k      1k  1.00~   2.00  tools vision  no credential
    --- on standard error
    1 model, 0 can be asked now; prices in US dollars for a million tokens
    ~ the price of what comes from a cache is not known: costs are then a range
    --- exit 0
    ");
    assert_snapshot!(run(&world, "models --available", &[("ACME_KEY", KEY)]), @r"
    provider  model  context  output   $ in  $ out  can                  credential
    acme      small       8k      1k  1.00~   2.00  tools vision         ACME_KEY
    demo      demo       33k      4k      0      0  tools thinking json  demo: no real model
    --- on standard error
    2 models, 2 can be asked now; prices in US dollars for a million tokens
    ~ the price of what comes from a cache is not known: costs are then a range
    --- exit 0
    ");
    assert_snapshot!(run(&world, "models acme/* --json", &[("ACME_API_KEY", KEY)]), @r#"
    {"provider":"acme","model":"small","context_window":8192,"max_output_tokens":1024,"pricing":{"input_per_1m":1.0,"output_per_1m":2.0,"cache_hit_input_per_1m":null,"cache_write_per_1m":null},"cache_price_known":false,"capabilities":["tools","vision"],"available":true,"local":false,"demo":false,"credential":{"available":true,"source":"conventional_env","name":"ACME_API_KEY","looked_in":["ACME_KEY","ACME_API_KEY"]},"source":"user"}
    --- exit 0
    "#);
    assert_snapshot!(run(&world, "models no-such-model", &[]), @r"
    --- on standard error
    note: no model fits
    hint: `pi models` shows all, `pi provider list` every provider
    --- exit 1
    ");
    let all = run(&world, "models", &[]);
    for id in ["anthropic", "openai", "gemini", "mistral", "demo: no real model"] {
        assert!(all.contains(id), "{id}: {all}");
    }
}

#[test]
fn models_that_end_are_marked() {
    let shown = run(&quiet_world(), "models openai/gpt-4.1", &[]);
    assert!(shown.contains("deprecated tools"), "{shown}");
    let lines = run(&quiet_world(), "models groq/llama-3.1-8b-instant --json", &[]);
    assert!(lines.contains(r#""status":"retired""#), "{lines}");
}

#[test]
fn table_has_all_columns_where_nobody_looks() {
    let all = run(&quiet_world(), "models", &[]);
    let head = all.lines().next().expect("a line");
    assert_eq!(
        head.split_whitespace().collect::<Vec<_>>(),
        ["provider", "model", "context", "output", "$", "in", "$", "out", "can", "credential"]
    );
    assert!(!all.contains('…'), "{all}");
}

#[test]
fn later_source_replaces_an_earlier_one() {
    let world = quiet_world()
        .with("agent/providers/acme.yaml", manifest("acme", "https://user.example"))
        .with("more/acme.yaml", manifest("acme", "https://named.example"))
        .with("agent/models.json", r#"{"providers": {"other": {"baseUrl": "http://pi.example/v1", "api": "openai-completions", "apiKey": "sk-planted-9f3bX7q2LmZtR4", "models": [{"id": "m1"}]}}}"#);
    let line = |arguments: &str, id: &str| {
        let shown = run(&world, arguments, &[]);
        shown.lines().find(|line| line.starts_with(id)).unwrap_or_default().to_owned()
    };
    assert_snapshot!(line("provider list", "acme"), @"acme                                             user         stable       1  no credential  https://user.example");
    assert_snapshot!(line("provider list --provider-dir more", "acme"), @"acme                                             command line  stable       1  no credential  https://named.example");
    assert_snapshot!(line("provider list --provider-dir more/acme.yaml", "acme"), @"acme                                             command line  stable       1  no credential  https://named.example");
    assert_snapshot!(line("provider list", "other"), @"other                                            models.json  stable       1  models.json    http://pi.example/v1");
    assert_snapshot!(line("models m1", "other"), @"other     m1        128k     16k               tools json?  models.json");
}

#[test]
fn untrusted_project_gets_no_credentials() {
    let running = Running::new(Script::new().otherwise(stream(&["ok"])));
    let world = quiet_world().with(".pi/providers/acme.yaml", manifest("acme", &running.base_url()));
    let variables = [("ACME_KEY", KEY)];
    assert_snapshot!(run(&world, "models acme/", &variables), @r"
    provider  model  context  output   $ in  $ out  can           credential
    acme      small       8k      1k  1.00~   2.00  tools vision  untrusted project
    --- on standard error
    note: this project brings manifests (.pi/providers) and nobody has trusted it: they are not asked, get no credentials and replace nothing; `pi trust` changes that
    1 model, 0 can be asked now; prices in US dollars for a million tokens
    ~ the price of what comes from a cache is not known: costs are then a range
    --- exit 0
    ");
    assert_snapshot!(run(&world, "ask Hi --model acme/small", &variables), @r#"
    --- on standard error
    note: this project brings manifests (.pi/providers) and nobody has trusted it: they are not asked, get no credentials and replace nothing; `pi trust` changes that
    error: acme comes from a project that nobody has trusted, and is not asked
    hint: read .pi/providers/acme.yaml; if you trust this project, `pi trust` says so
    --- exit 2
    "#);
    assert_eq!(running.server.requests().len(), 0);
    let folder = world.path().canonicalize().expect("a folder");
    let world = world.with("agent/trust.json", json!({folder.to_str().expect("text"): true}).to_string());
    assert_snapshot!(run(&world, "models acme/", &variables), @r"
    provider  model  context  output   $ in  $ out  can           credential
    acme      small       8k      1k  1.00~   2.00  tools vision  ACME_KEY
    --- on standard error
    1 model, 1 can be asked now; prices in US dollars for a million tokens
    ~ the price of what comes from a cache is not known: costs are then a range
    --- exit 0
    ");
    let answer = run(&world, "ask Hi --model acme/small", &variables);
    assert!(answer.starts_with("ok\n"), "{answer}");
    assert_eq!(running.server.requests()[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
}

#[test]
fn everything_that_a_manifest_says_is_shown() {
    let world = World::new().with("acme.yaml", format!("{}x_own: 1\n", manifest("acme", "http://127.0.0.1:9/v1")));
    assert_snapshot!(run(&world, "provider show acme --provider-dir acme.yaml", &[("ACME_KEY", KEY)]), @r"
    source: command line
    file: acme.yaml
    trusted: true
    dialect: openai-completions
    credential:
      available: true
      source: manifest_env
      name: ACME_KEY
      looked_in: ACME_KEY
    modules:
      text: core (request, response)
      streaming: streaming.* (stream)
      tools: tools.* (request, stream)
    ignored: x_own
    diagnostics: acme.yaml:6:9: note[ring1.auth-header]: Authorization is assumed (endpoint.auth.header)
    id: acme
    protocol_version: 2.0
    status: stable
    endpoint:
      base_url: http://127.0.0.1:9/v1
      auth: { type: bearer, header: Authorization, prefix: Bearer, token_env: ACME_KEY }
    error_classification:
      by_http_status: { 400: invalid_request, 401: authentication, 429: rate_limited, 500: server_error }
    capabilities:
      required: text, streaming, tools
    streaming:
      decoder: { format: sse, strategy: openai_chat }
      rules: 0
    endpoints:
      chat: { path: /chat/completions, method: POST }
    retry_policy: { strategy: none, max_retries: 3, min_delay_ms: 1000, max_delay_ms: 30000, jitter: full }
    experimental:
      performance:
        circuit_breaker: { failure_threshold: 0.5, recovery_timeout_ms: 30000, monitoring_window_ms: 60000 }
    extensions:
      x_own: 1
    models:
      small:
        context_window: 8192
        max_output_tokens: 1024
        pricing: { input_per_1m: 1, output_per_1m: 2 }
        model_capabilities: { tool_call: true, reasoning: false }
        modalities:
          input: text, image
          output: text
    --- exit 0
    ");
    let all: Value =
        serde_json::from_str(run(&world, "provider show anthropic --json", &[]).lines().next().expect("a line"))
            .expect("JSON");
    for member in [
        "endpoint",
        "capabilities",
        "parameters",
        "streaming",
        "provider_contract",
        "rate_limit_headers",
        "retry_policy",
        "termination",
        "multimodal",
        "experimental",
        "models",
        "dialect",
        "file",
        "modules",
    ] {
        assert!(!all[member].is_null(), "{member}");
    }
    assert_snapshot!(run(&world, "provider show antropic", &[]), @r"
    --- on standard error
    error: there is no provider antropic
    hint: did you mean anthropic? `pi provider list` shows all
    --- exit 2
    ");
}

#[test]
fn provider_is_tried_with_three_requests() {
    let whole = json!({"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "pong"}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}});
    let check = |script: Script, more: &str| {
        let running = Running::new(script);
        let world = World::new().with("acme.yaml", manifest("acme", &running.base_url()));
        let shown = run(&world, &format!("provider test acme --provider-dir acme.yaml {more}"), &[("ACME_KEY", KEY)]);
        let count = running.server.requests().len();
        (without_milliseconds(&running.without_address(&shown)), count)
    };
    let good = || Script::new().then(Reply::json(200, &whole)).then(stream(&["one ", "two"])).then(rich_stream());
    let (shown, count) = check(good(), "");
    assert_eq!(count, 3);
    assert_snapshot!(shown, @r#"
    acme/small
      passed  question TIME  pong · 9 tokens in, 1 out · $0.000011
      passed  stream TIME  2 pieces: one two · 11 tokens in, 2 out · $0.000015
      passed  tool call TIME  get_time {"city":"Paris"} · tokens were not counted
      altogether 20 tokens in, 3 out · $0.000026
    --- exit 0
    "#);
    let (shown, _) = check(Script::new().then(Reply::json(200, &whole)).otherwise(stream(&["no tool"])), "");
    assert_snapshot!(shown, @r"
    acme/small
      passed  question TIME  pong · 9 tokens in, 1 out · $0.000011
      passed  stream TIME  1 piece: no tool · 11 tokens in, 2 out · $0.000015
      odd     tool call TIME  it answered without calling the tool · 11 tokens in, 2 out · $0.000015
      altogether 31 tokens in, 5 out · $0.000041
    --- on standard error
    hint: the model may be too small for it; try another with --model
    --- exit 1
    ");
    let (shown, _) =
        check(Script::new().otherwise(refusal(401, "invalid_api_key", &format!("Bad key {KEY}"))), "--json");
    assert_snapshot!(shown, @r#"
    {"check":"question","result":"failed","detail":"acme answered: 401 authentication: Bad key [REDACTED]","milliseconds":TIME,"code":"E1002","retryable":false,"hint":"the credential is not accepted; `pi provider show acme` says where it comes from"}
    {"check":"stream","result":"failed","detail":"acme answered: 401 authentication: Bad key [REDACTED]","milliseconds":TIME,"code":"E1002","retryable":false,"hint":"the credential is not accepted; `pi provider show acme` says where it comes from"}
    {"check":"tool_call","result":"failed","detail":"acme answered: 401 authentication: Bad key [REDACTED]","milliseconds":TIME,"code":"E1002","retryable":false,"hint":"the credential is not accepted; `pi provider show acme` says where it comes from"}
    --- exit 1
    "#);
    assert_snapshot!(World::new().run("provider test openai"), @r"
    --- on standard error
    error: there is no credential for openai
    hint: set one of them: OPENAI_API_KEY, /home/me/.pi/agent/auth.json; `pi ask --model demo` needs none
    --- exit 2
    ");
    assert_snapshot!(World::new().run("provider test opnai"), @r"
    --- on standard error
    error: there is no provider opnai
    hint: did you mean openai? `pi provider list` shows all
    --- exit 2
    ");
}

#[test]
fn checks_of_a_provider_look_at_the_call_and_do_not_hinder_each_other() {
    let whole = json!({"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "pong"}}]});
    let call = |name: &str, arguments: &str| {
        let call =
            json!({"index": 0, "id": "c", "type": "function", "function": {"name": name, "arguments": arguments}});
        let pieces = [
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        ];
        Reply::events(pieces.iter().map(frame).chain(["data: [DONE]\n\n".to_owned()]))
    };
    let policy = "retry_policy: { strategy: fixed_delay, max_retries: 5, min_delay_ms: 1, jitter: none }";
    let check = |script: Script, more: &str| {
        let running = Running::new(script);
        let written = manifest("acme", &running.base_url()).replace("retry_policy: { strategy: none }", policy);
        let world = World::new().with("acme.yaml", written);
        let shown = run(&world, &format!("provider test acme --provider-dir acme.yaml {more}"), &[("ACME_KEY", KEY)]);
        (without_milliseconds(&shown), running.server.requests().len())
    };
    for (name, arguments, told) in [
        ("get_time", r#"{"city":"Paris"}"#, r#"passed  tool call TIME  get_time {"city":"Paris"}"#),
        (
            "rm_rf",
            r#"{"path":"/"}"#,
            r#"odd     tool call TIME  it called rm_rf, which was not offered: rm_rf {"path":"/"}"#,
        ),
        (
            "get_time",
            r#"{"town":"Paris"}"#,
            r#"odd     tool call TIME  the arguments are not what the tool takes, "city" is a required property: get_time {"town":"Paris"}"#,
        ),
    ] {
        let script = Script::new().then(Reply::json(200, &whole)).then(stream(&["one"])).then(call(name, arguments));
        let (shown, _) = check(script, "");
        let code = if told.starts_with("passed") { "exit 0" } else { "exit 1" };
        assert!(shown.contains(told) && shown.ends_with(code), "{shown}");
    }
    let (shown, count) = check(Script::new().otherwise(refusal(500, "server_error", "Oops.")), "");
    assert_eq!((count, shown.matches("TIME  acme answered: 500 server_error: Oops.").count()), (18, 3), "{shown}");
    let (shown, _) = check(Script::new().otherwise(refusal(400, "invalid_request", "What?")), "");
    let told = "hint: `pi ask Hello --model acme/small --no-stream --dry-run` shows a request like it\n";
    assert!(shown.contains(told), "{shown}");
}

/// Times differ from run to run.
fn without_milliseconds(text: &str) -> String {
    const MEMBER: &str = r#""milliseconds":"#;
    let line = |line: &str| match line.find(" ms  ") {
        None if line.contains(MEMBER) => {
            let (before, after) = line.split_once(MEMBER).expect("it is there");
            format!("{before}{MEMBER}TIME{}", after.trim_start_matches(|letter: char| letter.is_ascii_digit()))
        }
        Some(end) => {
            let start = line[..end].trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
            format!("{} TIME{}", line[..start].trim_end(), &line[end + 3..])
        }
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The key is in the environment, in `auth.json`, in `models.json`, and quoted back by the server.
#[test]
fn planted_key_is_never_shown() {
    let quoting = || refusal(401, "invalid_api_key", &format!("Incorrect API key provided: {KEY}. Bearer {KEY}"));
    let running = Running::new(Script::new().otherwise(quoting()));
    let world = quiet_world()
        .with("agent/providers/acme.yaml", manifest("acme", &running.base_url()))
        .with("agent/auth.json", json!({"groq": {"type": "api_key", "key": KEY}}).to_string())
        .with(
            "agent/models.json",
            json!({"providers": {"other": {
            "baseUrl": running.base_url(), "api": "openai-completions", "apiKey": KEY, "headers": {"x-secret": KEY},
            "models": [{"id": "m1"}]}}})
            .to_string(),
        )
        .with("broken/models.json", format!("{{\"providers\": {{\"a\": {{\"apiKey\": \"{KEY}\", }}}}"));
    let variables = [("ACME_KEY", KEY), ("OPENAI_API_KEY", KEY), ("GEMINI_API_KEY", KEY), ("MY_KEY", KEY)];
    let base_url = running.base_url();
    for arguments in [
        "models",
        "models --json",
        "models --available",
        "provider list",
        "provider list --json",
        "provider show acme",
        "provider show acme --json",
        "provider show openai --json",
        "provider show other",
        "provider show other --json",
        "provider validate agent",
        "provider validate agent --json",
        "provider validate broken",
        "provider validate broken --json",
        "provider list --provider-dir broken",
        "provider test acme",
        "provider test acme --json",
        "provider test other --json",
        "ask Hi --model acme/small",
        "ask Hi --model acme/small --json",
        "ask Hi --model acme/small --no-stream",
        "ask Hi --model acme/small --dry-run",
        "ask Hi --model acme/small --dry-run --json",
        "ask Hi --model other/m1",
        "ask Hi --model other/m1 --dry-run",
        "ask Hi --model other/m1 --json",
        "ask Hi --model gemini --dry-run",
        "ask Hi --model gemini --dry-run --json",
        "ask Hi --model groq --dry-run",
        &format!("ask Hi --model m --base-url {base_url} --api-key-env MY_KEY"),
        &format!("ask Hi --model m --base-url {base_url} --api-key-env MY_KEY --dry-run --json"),
        &format!("ask Hi --model gemini/gemini-2.5-flash --base-url {base_url}"),
    ] {
        let shown = run(&world, arguments, &variables);
        assert!(!shown.contains(KEY), "{arguments}\n{shown}");
        assert!(!shown.contains("sk-planted"), "{arguments}\n{shown}");
    }
    let sent = running.server.requests();
    assert!(sent.iter().any(|it| it.header("authorization") == Some(&*format!("Bearer {KEY}"))), "the key was sent");
    assert!(sent.iter().any(|it| it.header("x-secret") == Some(KEY)), "the header was sent");
}

#[test]
fn models_are_filtered_by_several_patterns_and_by_what_they_can() {
    let world = quiet_world().with("agent/providers/acme.yaml", manifest("acme", "http://127.0.0.1:9/v1")).with(
        "agent/providers/zeta.yaml",
        manifest("zeta", "http://127.0.0.1:9/v1").replace("[text, image]", "[text]"),
    );
    let names = |arguments: &str| -> Vec<String> {
        let shown = run(&world, &format!("models --json {arguments}"), &[]);
        let lines = shown.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines
            .map(|it| {
                format!("{}/{}", it["provider"].as_str().unwrap_or_default(), it["model"].as_str().unwrap_or_default())
            })
            .collect()
    };
    assert_eq!(names("zeta/ acme/ acme/small"), ["acme/small", "zeta/small"]);
    assert_eq!(names("zeta/ acme/ --can tools,vision"), ["acme/small"]);
    assert_eq!(names("zeta/ acme/ --can tools --can vision"), ["acme/small"]);
    assert_eq!(names("zeta/ acme/ --can video"), [""; 0]);
}

/// A price that is not whole and an ability that nobody is sure of have marks of their own.
#[test]
fn marks_of_prices_and_abilities_are_told_apart() {
    let says_nothing = "model_capabilities: { reasoning: false }";
    let text = manifest("acme", "http://127.0.0.1:9/v1")
        .replace("model_capabilities: { tool_call: true, reasoning: false }", says_nothing);
    let shown = run(&quiet_world().with("agent/providers/acme.yaml", text), "models acme/", &[]);
    let row = shown.lines().find(|line| line.starts_with("acme")).unwrap_or_default();
    assert!(row.contains(" 1.00~ ") && row.contains(" tools? ") && row.matches('?').count() == 1, "{shown}");
    assert!(shown.contains("~ the price of what comes from a cache is not known"), "{shown}");
    assert!(shown.contains("? its provider can, and nobody says it of this model"), "{shown}");
}

#[test]
fn every_model_says_what_it_can() {
    let shown = run(&quiet_world(), "models --json", &[]);
    let lines = shown.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mute = |it: &Value| {
        let says = |member: &str| it[member].as_array().is_some_and(|list| !list.is_empty());
        !says("capabilities") && !says("maybe")
    };
    let mute: Vec<String> = lines.filter(mute).map(|it| format!("{}/{}", it["provider"], it["model"])).collect();
    assert_eq!(mute, [""; 0]);
    for (ability, model) in [("ranks", "rerank-v3.5"), ("transcribes", "whisper-large-v3")] {
        let shown = run(&quiet_world(), &format!("models --can {ability}"), &[]);
        assert!(shown.contains(model) && !shown.contains("tools"), "{shown}");
    }
}

#[test]
fn models_that_embed_are_listed_and_not_asked() {
    let mixed = manifest("acme", "http://127.0.0.1:9/v1").replace(
        "  models:\n",
        "  models:\n    embed-small:\n      pricing: { input_per_1m: 0.01, output_per_1m: 0.0 }\n      modalities: { input: [text], output: [embedding] }\n",
    );
    let world = quiet_world().with("agent/providers/acme.yaml", mixed);
    let variables = [("ACME_KEY", KEY)];
    let available = run(&world, "models acme/ --available", &variables);
    assert!(available.contains("acme      small") && !available.contains("embed-small"), "{available}");
    assert!(run(&world, "models acme/ --can embeds", &variables).contains("embed-small"));
    for arguments in ["ask Hi --dry-run", "ask Hi --model acme --dry-run", "ask Hi --model acme/small --dry-run"] {
        let shown = run(&world, arguments, &variables);
        assert!(shown.contains("\"model\": \"small\""), "{shown}");
    }
    let refused = run(&world, "ask Hi --model acme/embed-small", &variables);
    assert!(
        refused.contains("error: acme/embed-small does not answer questions") && refused.ends_with("exit 2"),
        "{refused}"
    );
}

#[test]
fn checks_of_a_provider_ask_for_short_answers() {
    let running = Running::new(Script::new().otherwise(stream(&["ok"])));
    let world = World::new().with("acme.yaml", manifest("acme", &running.base_url()));
    run(&world, "provider test acme --provider-dir acme.yaml", &[("ACME_KEY", KEY)]);
    let limits: Vec<Value> = running.server.requests().iter().map(|it| it.json()["max_tokens"].clone()).collect();
    assert_eq!(limits, [64, 64, 64]);
}

#[test]
fn of_several_providers_the_usual_model_that_costs_least_is_asked() {
    let costs = |id: &str, price: &str| manifest(id, "http://127.0.0.1:9/v1").replace("output_per_1m: 2.0", price);
    let world = quiet_world()
        .with("agent/providers/alpha.yaml", costs("alpha", "output_per_1m: 50.0"))
        .with("agent/providers/beta.yaml", costs("beta", "output_per_1m: 0.5"))
        .with("agent/providers/gamma.yaml", costs("gamma", "output_per_1m: 5.0"));
    let keys = [("ALPHA_KEY", KEY), ("BETA_KEY", KEY), ("GAMMA_KEY", KEY)];
    let asked = |keys: &[(&str, &str)]| {
        let shown = run(&world, "ask Hi --dry-run", keys);
        shown.lines().find(|it| it.starts_with("asking")).unwrap_or_default().to_owned()
    };
    assert_snapshot!(asked(&keys), @"asking beta/small: its credential is found in BETA_KEY, and of 3 providers with one its usual model costs least; --model names another");
    assert_snapshot!(asked(&keys[..1]), @"asking alpha/small: its credential is found in ALPHA_KEY");
    let unknown = |id: &str| {
        let pricing = |line: &&str| !line.contains("_per_1m");
        manifest(id, "http://127.0.0.1:9/v1").lines().filter(pricing).collect::<Vec<_>>().join("\n")
    };
    let world = world.with("agent/providers/gamma.yaml", unknown("gamma"));
    let asked = |keys: &[(&str, &str)]| {
        let shown = run(&world, "ask Hi --dry-run", keys);
        shown.lines().find(|it| it.starts_with("asking")).unwrap_or_default().to_owned()
    };
    assert_snapshot!(asked(&keys), @"asking beta/small: its credential is found in BETA_KEY, and of 3 providers with one its usual model costs least as far as prices are known; --model names another");
    let world = quiet_world()
        .with("agent/providers/alpha.yaml", unknown("alpha"))
        .with("agent/providers/beta.yaml", unknown("beta"));
    let first = run(&world, "ask Hi --dry-run", &keys[..2]);
    assert!(first.contains("and of 2 providers with one it is the first, and no price is known"), "{first}");
    let anthropic = run(&world, "ask Hi --dry-run", &[("ANTHROPIC_API_KEY", KEY)]);
    assert!(anthropic.contains("asking anthropic/claude-sonnet-5-5: "), "{anthropic}");
}

/// An agent without tools is of no use, however cheap.
#[test]
fn provider_that_calls_no_tools_is_asked_only_where_there_is_no_other() {
    let costs = |id: &str, price: &str| manifest(id, "http://127.0.0.1:9/v1").replace("output_per_1m: 2.0", price);
    let mute = |text: String| {
        text.replace("[text, streaming, tools]", "[text, streaming]").replace("tool_call: true", "tool_call: false")
    };
    let world = quiet_world()
        .with("agent/providers/alpha.yaml", mute(costs("alpha", "output_per_1m: 0.5")))
        .with("agent/providers/beta.yaml", costs("beta", "output_per_1m: 50.0"))
        .with("agent/providers/gamma.yaml", costs("gamma", "output_per_1m: 5.0"));
    let keys = [("ALPHA_KEY", KEY), ("BETA_KEY", KEY), ("GAMMA_KEY", KEY)];
    let asked = |keys: &[(&str, &str)]| {
        let shown = run(&world, "ask Hi --dry-run", keys);
        shown.lines().find(|it| it.starts_with("asking")).unwrap_or_default().to_owned()
    };
    assert_snapshot!(asked(&keys), @"asking gamma/small: its credential is found in GAMMA_KEY, and of 2 providers with one whose usual model calls tools its usual model costs least; --model names another");
    assert_snapshot!(asked(&keys[..2]), @"asking beta/small: its credential is found in BETA_KEY, and of 2 providers with one only its usual model calls tools; --model names another");
    assert_snapshot!(asked(&keys[..1]), @"asking alpha/small: its credential is found in ALPHA_KEY");
    let told = run(&world, "ask Hi --dry-run", &[("PERPLEXITY_API_KEY", KEY), ("MISTRAL_API_KEY", KEY)]);
    assert!(told.contains("asking mistral/"), "{told}");
}

#[test]
fn model_that_ends_is_told_with_what_replaces_it() {
    let noted = |model: &str, key: &str| {
        let shown = run(&quiet_world(), &format!("ask Hi --dry-run --model {model}"), &[(key, KEY)]);
        shown.lines().filter(|line| line.starts_with("note: ")).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(noted("groq/llama-3.1-8b-instant", "GROQ_API_KEY"), @"note: groq/llama-3.1-8b-instant is retired and ended on 2026-08-16, so it may not answer; groq/openai/gpt-oss-20b replaces it");
    assert_snapshot!(noted("openai/gpt-6-luna", "OPENAI_API_KEY"), @"");
    let listed = run(&quiet_world(), "models openai/gpt-4o-mini --json", &[]);
    assert!(listed.contains(r#""ends_on":"2027-01-14","successor":"gpt-6-luna""#), "{listed}");
}

#[test]
fn day_of_a_models_end_is_held_against_today() {
    let model = |id: &str, ends: &str| {
        format!(
            "    {id}: {{ status: deprecated, ends_on: \"{ends}\", successor: small, modalities: {{ input: [text], output: [text] }} }}\n"
        )
    };
    let text = manifest("acme", "http://127.0.0.1:9/v1") + &model("past", "2020-01-31") + &model("later", "2999-01-31");
    let world = quiet_world().with("agent/providers/acme.yaml", text);
    let keys = [("ACME_KEY", KEY)];
    let noted = |name: &str| {
        let shown = run(&world, &format!("ask Hi --dry-run --model acme/{name}"), &keys);
        shown.lines().filter(|line| line.starts_with("note: ")).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(noted("past"), @"note: acme/past is retired and ended on 2020-01-31, so it may not answer; acme/small replaces it");
    assert_snapshot!(noted("later"), @"note: acme/later is deprecated and ends on 2999-01-31; acme/small replaces it");
    let listed = run(&world, "models acme/", &keys);
    assert!(listed.contains("3 models, 2 can be asked now"), "{listed}");
    let row = |name: &str| listed.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    assert!(row("past").contains("retired") && row("later").contains("deprecated"), "{listed}");
    let machine = run(&world, "models acme/past --json", &keys);
    assert!(machine.contains(r#""status":"retired""#) && machine.contains(r#""available":false"#), "{machine}");
}

/// Whoever asks must know that a price is not all.
#[test]
fn models_that_charge_more_than_tokens_are_marked() {
    let shown = run(&quiet_world(), "models perplexity/sonar", &[]);
    assert!(shown.contains("2.50*"), "{shown}");
    assert!(shown.contains("* something beside tokens is charged too"), "{shown}");
    let shown = run(&quiet_world(), "models mistral/", &[]);
    assert!(!shown.contains('*'), "{shown}");
}

/// Nobody looks at what a file of one's own leaves out, so it is told where it matters.
#[test]
fn values_of_models_json_of_a_wrong_kind_are_told_by_every_command() {
    let server = r#""baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "k""#;
    let models =
        format!(r#"{{"providers": {{"my": {{{server}, "models": [{{"id": "a", "contextWindow": "128k"}}, "b"]}}}}}}"#);
    let world = quiet_world().with("agent/models.json", models);
    let shown = run(&world, "ask Hi --model my/a --dry-run", &[]);
    for told in [
        "warning[models-json.provider]: a whole number that is not negative is expected, not a text (providers.my.models[0].contextWindow)",
        "warning[models-json.provider]: an object is expected, not a text (providers.my.models[1])",
    ] {
        assert!(shown.contains(told), "{shown}");
    }
    assert!(!shown.contains("left out") && !shown.contains("rejected"), "{shown}");
}

/// Without its header a request may be refused for reasons that nobody understands.
#[test]
fn header_without_a_value_is_told_by_every_command() {
    let running = Running::new(Script::new().otherwise(stream(&["ok"])));
    let models = json!({"providers": {"my": {"baseUrl": running.base_url(), "api": "openai-completions", "apiKey": "k",
        "headers": {"X-Tenant": "$MY_TENANT"}, "models": [{"id": "a"}]}}});
    let world = quiet_world().with("agent/models.json", models.to_string());
    for line in ["ask Hi --model my/a", "-p Hi --model my/a --no-session", "provider test my/a"] {
        let shown = run(&world, line, &[]);
        let told = "header x-tenant is not sent: MY_TENANT is not set";
        assert_eq!(shown.matches(told).count(), 1, "{line}: {shown}");
        assert!(!shown.contains("dropped header"), "{shown}");
        let shown = run(&world, line, &[("MY_TENANT", "t")]);
        assert!(!shown.contains("x-tenant"), "{line}: {shown}");
    }
}
