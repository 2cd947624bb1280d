//! Pi's `models.json`: what it may say, and what becomes of the providers and models in it.

use insta::assert_snapshot;
use pi_provider::{
    Catalog,
    catalog::{Origin, Source, SourceFile},
    credential::{AuthFile, SourceKind, Sources, Status, Trust, resolve},
    manifest::{Document, Format, diagnostic::Style, endpoint::Placement, load_any},
};
use serde_json::{Value, json};

fn source(text: impl Into<String>) -> Source {
    let file = SourceFile { path: "models.json".to_owned(), text: Ok(text.into()) };
    Source { origin: Origin::PiModels, trust: Trust::Trusted, files: vec![file] }
}

fn catalog(text: impl Into<String>) -> Catalog {
    Catalog::load(&[Source::built_in(), source(text)])
}

fn findings(catalog: &Catalog) -> String {
    catalog.findings().iter().map(|finding| finding.render(Style::Plain)).collect()
}

#[test]
fn headers_of_a_model_stand_beside_those_of_its_provider() {
    let catalog = catalog(
        json!({"providers": {
            "local": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions",
                "headers": {"x-team": "planted-team", "x-tier": "planted-tier"},
                "models": [{"id": "plain"}, {"id": "own", "headers": {"X-Team": "$TEAM", "x-model": "planted-model"}}]},
            "openai": {"modelOverrides": {"gpt-6-sol": {"headers": {"x-over": "planted-over"}}}},
        }})
        .to_string(),
    );
    let environment = |name: &str| (name == "TEAM").then(|| "of the model".to_owned());
    let headers = |name: &str| -> Vec<String> {
        let found = catalog.find_model(name).unwrap();
        let headers = found.entry.headers_of(found.model).into_iter();
        headers.map(|(name, value)| format!("{name}: {}", value.resolve(&environment).unwrap().expose())).collect()
    };
    assert_eq!(headers("local/plain"), ["x-team: planted-team", "x-tier: planted-tier"]);
    assert_eq!(headers("local/own"), ["x-tier: planted-tier", "X-Team: of the model", "x-model: planted-model"]);
    assert_eq!(headers("openai/gpt-6-sol"), ["x-over: planted-over"]);
    assert!(headers("openai/gpt-4.1").is_empty());
    // They may be secret.
    let own = catalog.find_model("local/own").unwrap();
    let shown = format!("{own:?} {}", serde_json::to_string(own.model.unwrap()).unwrap());
    assert!(!shown.contains("planted"), "{shown}");
}

/// As a project brings it that nobody trusts.
#[test]
fn headers_of_a_file_that_nobody_trusts_are_forgotten() {
    let text = json!({"providers": {"local": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions",
        "models": [{"id": "own", "headers": {"x-model": "!touch planted"}}]}}});
    let catalog = Catalog::load(&[Source { trust: Trust::UntrustedProject, ..source(text.to_string()) }]);
    let own = catalog.find_model("local/own").unwrap();
    assert!(own.entry.headers_of(own.model).is_empty());
}

#[test]
fn a_part_of_the_cost_leaves_the_other_prices() {
    let price = |over: Value| {
        let text = json!({"providers": {"gemini": {"modelOverrides": {"gemini-3.1-pro-preview": over}}}}).to_string();
        let catalog = catalog(text);
        let found = catalog.find_model("gemini/gemini-3.1-pro-preview").unwrap();
        found.model.unwrap().pricing.clone().unwrap()
    };
    let before = price(json!({}));
    assert!(!before.tiers.is_empty(), "the test is about a model with several prices");
    let mut expected = before.clone();
    expected.output_per_1m = Some(7.5);
    assert_eq!(price(json!({"cost": {"output": 7.5}})), expected);
    let tiers = json!([{"inputTokensAbove": 9, "input": 2, "output": 3, "cacheRead": 1, "cacheWrite": 4},
        {"inputTokensAbove": 5, "input": 1}]);
    let changed = price(json!({"cost": {"tiers": tiers}}));
    assert_eq!((changed.input_per_1m, changed.output_per_1m), (before.input_per_1m, before.output_per_1m));
    let tier = |tokens: u64| changed.of_prompt(tokens).input;
    assert_eq!((tier(5), tier(6), tier(10)), (before.input_per_1m, Some(1.0), Some(2.0)));
}

/// What nobody wrote is a price that nobody knows.
#[test]
fn a_model_has_the_prices_that_are_written() {
    let text = json!({"providers": {"local": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions",
        "models": [{"id": "m", "cost": {"input": 1, "output": 0}}]}}});
    let catalog = catalog(text.to_string());
    let pricing = catalog.find_model("local/m").unwrap().model.unwrap().pricing.clone().unwrap();
    let prices = (pricing.input_per_1m, pricing.output_per_1m, pricing.cache_hit_input_per_1m);
    assert_eq!(prices, (Some(1.0), Some(0.0), None));
}

#[test]
fn a_map_of_levels_is_laid_over_the_one_that_there_is() {
    let levels = |over: Value| {
        let text = json!({"providers": {"openai": {"modelOverrides": {"gpt-6-sol": over}}}}).to_string();
        let catalog = catalog(text);
        let found = catalog.find_model("openai/gpt-6-sol").unwrap();
        found.model.unwrap().thinking_levels.clone().unwrap()
    };
    let mut expected = levels(json!({}));
    assert!(expected.len() > 2);
    expected.insert("high".to_owned(), json!("hard"));
    assert_eq!(levels(json!({"thinkingLevelMap": {"high": "hard"}})), expected);
}

const COMMENTED: &str = r#"// My servers. /* not a comment of its own
{
  /* with "quotes"
     and // more */ "providers": { // the rest
    "local": {
      "baseUrl": "http://127.0.0.1:9/v1//x/*y*/", // an address
      "api": "openai-completions",
      "reasoning": 1/**/,
      "models": [{"id": "m//1",}, {"id": "m2"},],
    },
  },
}
// the end"#;

#[test]
fn comments_and_trailing_commas_are_passed_over() {
    let catalog = catalog(COMMENTED);
    assert_eq!(findings(&catalog), "");
    let entry = catalog.provider("local").unwrap();
    assert_eq!(entry.manifest.endpoint.base_url, "http://127.0.0.1:9/v1//x/*y*");
    assert_eq!(entry.manifest.models.keys().collect::<Vec<_>>(), ["m//1", "m2"]);
    let ignored: Vec<_> = entry.ignored.iter().map(|it| (it.path.as_str(), it.line, it.column)).collect();
    assert_eq!(ignored, [("providers.local.reasoning", 8, 7)]);
}

/// What is wrong is told where it stands, whatever stands before it.
#[test]
fn faults_behind_comments_are_told_at_their_place() {
    let cases = [
        (COMMENTED.replace("\"openai-completions\"", "\"telepathy\""), "7:14"),
        (COMMENTED.replace("\"api\":", "\"api\""), "7:13"),
        (COMMENTED.replace("// the end", "/* the end"), "13:1"),
        (COMMENTED.replace("},\n  },", "},,\n  },"), "10:7"),
    ];
    for (text, place) in cases {
        let catalog = catalog(text);
        let found: Vec<String> = catalog
            .findings()
            .iter()
            .map(|finding| format!("{}:{}", finding.diagnostic.line, finding.diagnostic.column))
            .collect();
        assert_eq!(found, [place]);
    }
}

/// Comments are Pi's, not JSON's.
#[test]
fn comments_are_taken_in_no_other_file() {
    let manifest = "{\"id\": \"a\" // no\n}";
    let Document::Manifest(loaded) = load_any(manifest, "a.json", Format::Json) else { panic!("it has an id") };
    let errors: Vec<(u32, u32)> = loaded.errors().map(|error| (error.line, error.column)).collect();
    assert_eq!(errors, [(1, 12)]);
}

#[test]
fn members_of_compat_that_do_nothing_are_listed() {
    let text = r#"{"providers": {
  "local": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions",
    "compat": {"supportsStor": false, "supportsStore": "no", "thinkingFormat": "telepathy", "zaiToolStream": true},
    "models": [{"id": "m", "compat": {"later": 1, "supportsStrictMode": false}}]},
  "openai": {"modelOverrides": {"gpt-6-sol": {"compat": {"sooner": 1}}}}
}}"#;
    let catalog = catalog(text);
    assert_snapshot!(findings(&catalog), @r#"
    warning[models-json.compat]: a boolean is expected, not a text; it is left out
     --> models.json:3:56
      = in providers.local.compat.supportsStore
      = help: correct the member of compat, or take it out; without it the server is taken to do what is usual
    warning[models-json.compat]: the form "telepathy" is not known; deepseek, openai, openrouter, qwen, qwen-chat-template, string-thinking, together, zai are
     --> models.json:3:80
      = in providers.local.compat.thinkingFormat
      = help: correct the member of compat, or take it out; without it the server is taken to do what is usual
    "#);
    let ignored = |id: &str| -> Vec<String> {
        let entry = catalog.provider(id).unwrap();
        entry.ignored.iter().map(|it| format!("{}:{} {} {:?}", it.line, it.column, it.path, it.meant)).collect()
    };
    assert_eq!(
        ignored("local"),
        [
            r#"3:16 providers.local.compat.supportsStor Some("supportsStore")"#,
            "3:93 providers.local.compat.zaiToolStream None",
            "4:39 providers.local.models[0].compat.later None",
        ]
    );
    assert_eq!(ignored("openai"), ["5:58 providers.openai.modelOverrides.gpt-6-sol.compat.sooner None"]);
}

#[test]
fn a_provider_may_have_any_name_that_can_be_typed() {
    let server = |key: &str| json!({"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "apiKey": key, "models": [{"id": "m"}]});
    let keyed = json!({"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "authHeader": true, "models": [{"id": "n/o"}]});
    let text = json!({"providers": {"My Server": server("mine"), "LM-Box": keyed, "Größe": server("x"), "a/b": server("x"), " ": server("x")}});
    let catalog = catalog(text.to_string());
    let told: Vec<String> = catalog.findings().iter().map(|finding| finding.diagnostic.to_string()).collect();
    assert_snapshot!(told.join("\n"), @r#"
    models.json:1:339: error[models-json.provider]: "a/b" cannot be the name of a provider: it is empty, or has a slash or a control character in it (providers.a/b)
    models.json:1:440: error[models-json.provider]: " " cannot be the name of a provider: it is empty, or has a slash or a control character in it (providers. )
    "#);
    let name = |pattern: &str| catalog.find_model(pattern).map(|found| found.name());
    assert_eq!(name("My Server/m").unwrap(), "My Server/m");
    assert_eq!(name("my server/m").unwrap(), "My Server/m");
    assert_eq!(name("LM-Box/n/o").unwrap(), "LM-Box/n/o");
    assert_eq!(name("Größe/m").unwrap(), "Größe/m");

    let credential = |id: &str, variable: &str| {
        let entry = catalog.provider(id).unwrap();
        let environment = |name: &str| (name == variable).then(|| "from the environment".to_owned());
        let auth_file = AuthFile::none();
        let resolved = resolve(
            &entry.manifest,
            &Sources {
                explicit: None,
                written: entry.key.as_ref(),
                environment: &environment,
                auth_file: &auth_file,
                trust: entry.trust,
                now: std::time::SystemTime::UNIX_EPOCH,
            },
        );
        (resolved.source_kind, resolved.credential.unwrap().secret.expose().to_owned())
    };
    assert_eq!(credential("My Server", ""), (SourceKind::Explicit, "mine".to_owned()));
    let environment = (SourceKind::ConventionalEnv, "from the environment".to_owned());
    assert_eq!(credential("LM-Box", "LM_BOX_API_KEY"), environment);
}

/// Upper and lower case tell two providers apart where there are two.
#[test]
fn a_name_in_other_letters_is_another_provider() {
    let server = json!({"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "models": [{"id": "m"}]});
    let catalog = catalog(json!({"providers": {"OpenAI": server}}).to_string());
    assert_eq!(findings(&catalog), "");
    assert_eq!(catalog.find_model("OpenAI/m").unwrap().name(), "OpenAI/m");
    assert_eq!(catalog.find_model("openai/gpt-4.1").unwrap().name(), "openai/gpt-4.1");
    assert_eq!(catalog.provider("OPENAI").map(|entry| entry.file.as_str()), None);
}

#[test]
fn an_api_that_nobody_speaks_is_refused_with_those_that_are() {
    let text = r#"{"providers": {
  "strange": {"baseUrl": "https://x.example", "api": "bedrock-converse-stream"},
  "local": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "models": [{"id": "a", "api": "google-vertex"}, {"id": "b"}]}
}}"#;
    let catalog = catalog(text);
    assert_snapshot!(findings(&catalog), @r#"
    error[models-json.provider]: the api "bedrock-converse-stream" is not known
     --> models.json:2:54
      = in providers.strange.api
      = help: one of openai-completions, openai-responses, anthropic-messages, google-generative-ai, mistral-conversations is spoken here
    error[models-json.provider]: the api "google-vertex" is not known
     --> models.json:3:105
      = in providers.local.models[0].api
      = help: one of openai-completions, openai-responses, anthropic-messages, google-generative-ai, mistral-conversations is spoken here
    "#);
    assert!(catalog.provider("strange").is_none());
    assert_eq!(catalog.provider("local").unwrap().manifest.models.keys().collect::<Vec<_>>(), ["b"]);
}

/// A model that the manifest does not list has the provider's price, as those have that name none.
#[test]
fn a_model_that_is_not_listed_costs_what_its_provider_asks() {
    let manifest = |pricing: &str| {
        let statuses = r#""400": invalid_request, "401": authentication, "429": rate_limited, "500": server_error"#;
        let text = format!(
            "{{id: alpha, protocol_version: \"2.0\", endpoint: {{base_url: 'https://a.example/v1', chat: /chat, \
             auth: {{type: bearer, header: Authorization}}}}, error_classification: {{by_http_status: {{{statuses}}}}}, \
             metadata: {{models: {{listed: {{pricing: {{input_per_1m: 9, output_per_1m: 9}}}}}}}}{pricing}}}"
        );
        let file = SourceFile { path: "alpha.yaml".to_owned(), text: Ok(text) };
        Catalog::load(&[Source { origin: Origin::User, trust: Trust::Trusted, files: vec![file] }])
    };
    let cost = |catalog: &Catalog, model: &str| {
        let model = catalog.unlisted("alpha", model).unwrap().to_model();
        json!([model.cost.input, model.cost.output, model.extra.get("costUnknown")])
    };
    let priced = manifest(", pricing: {input_per_1k_tokens: 0.001, output_per_1k_tokens: 0.002, currency: USD}");
    assert_eq!(cost(&priced, "listed"), json!([9, 9, null]));
    assert_eq!(cost(&priced, "other"), json!([1, 2, null]));
    assert_eq!(cost(&manifest(""), "other"), json!([0, 0, true]));
    let foreign = manifest(", pricing: {input_per_1k_tokens: 0.001, output_per_1k_tokens: 0.002, currency: CNY}");
    assert_eq!(cost(&foreign, "other"), json!([0, 0, true]));
}

/// What is wrong with one model is told, and the rest of the file counts.
#[test]
fn odd_models_are_told_where_they_stand() {
    let text = r#"{"providers": {
  "list": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "models": {"id": "m"}},
  "twice": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions",
    "models": [{"id": "m"}, {"id": "m", "name": "Second"}, {"id": "n", "baseUrl": "ftp://x"}]},
  "cheap": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions",
    "models": [{"id": "m", "cost": {"input": -5, "output": 1}}]},
  "openai": {"modelOverrides": {"gpt-0": {"name": "None"}}},
  "ollama": {"modelOverrides": {"found-later": {"name": "Later"}}}
}}"#;
    let catalog = catalog(text);
    let told: Vec<String> = catalog.findings().iter().map(|finding| finding.diagnostic.to_string()).collect();
    assert_snapshot!(told.join("\n"), @r#"
    models.json:2:84: warning[models-json.provider]: a list is expected, not an object (providers.list.models)
    models.json:4:29: warning[models-json.provider]: the model "m" stands here for the second time; this one counts (providers.twice.models[1])
    models.json:4:83: error[ring1.base-url]: https is expected, not ftp (providers.twice.models[2].baseUrl)
    models.json:6:46: warning[models-json.provider]: a price below zero is left out (providers.cheap.models[0].cost.input)
    models.json:7:33: warning[models-json.provider]: openai lists no model "gpt-0", so nothing is changed (providers.openai.modelOverrides.gpt-0)
    "#);
    let twice = &catalog.provider("twice").unwrap().manifest.models;
    assert_eq!(
        twice.iter().map(|(id, model)| (id.as_str(), model.name.as_deref())).collect::<Vec<_>>(),
        [("m", Some("Second"))]
    );
    let cheap = catalog.find_model("cheap/m").unwrap().model.unwrap().pricing.clone().unwrap();
    assert_eq!((cheap.input_per_1m, cheap.output_per_1m), (None, Some(1.0)));
}

/// A file that says nothing yet is no broken manifest.
#[test]
fn empty_file_brings_nothing_and_breaks_nothing() {
    for text in ["{}", "{ // nothing yet\n}", r#"{"$schema": "https://pi.example/models.json"}"#] {
        let catalog = catalog(text);
        let told: Vec<&str> = catalog.findings().iter().map(|finding| finding.diagnostic.rule.name()).collect();
        assert_eq!(told, ["models-json.providers"], "{text}");
    }
}

/// `auth.json` and the environment are looked at too, and a key from there stands where the api has it.
#[test]
fn provider_without_a_key_is_asked_without_one_or_with_one_from_elsewhere() {
    let server = json!({"baseUrl": "http://127.0.0.1:9", "api": "anthropic-messages", "models": [{"id": "m"}]});
    let catalog = catalog(json!({"providers": {"proxy": server}}).to_string());
    let entry = catalog.provider("proxy").unwrap();
    assert_eq!(entry.manifest.endpoint.auth.placement, Placement::CustomHeader { header: "x-api-key".to_owned() });
    let auth_file = AuthFile::none();
    let found = |value: Option<&str>| {
        let environment = |name: &str| value.filter(|_| name == "PROXY_API_KEY").map(str::to_owned);
        let (explicit, written, trust, now) = (None, None, entry.trust, std::time::SystemTime::UNIX_EPOCH);
        let sources = Sources { explicit, written, environment: &environment, auth_file: &auth_file, trust, now };
        let resolved = resolve(&entry.manifest, &sources);
        (resolved.status(), resolved.credential.map(|credential| credential.secret.expose().to_owned()))
    };
    assert_eq!(found(None), (Status::Available, None));
    assert_eq!(found(Some("key")), (Status::Available, Some("key".to_owned())));
}

#[test]
fn what_no_model_takes_is_told_and_left_out() {
    let model = |id: &str, input: Value| json!({"id": id, "input": input});
    let models = [
        model("nose", json!(["smell"])),
        model("both", json!(["text", "smell"])),
        model("eye", json!(["text", "image"])),
    ];
    let catalog = catalog(
        json!({"providers": {"local": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "models": models}}})
            .to_string(),
    );
    let told: Vec<String> = catalog.findings().iter().map(|finding| finding.diagnostic.to_string()).collect();
    assert_snapshot!(told.join("\n"), @r#"
    models.json:1:114: warning[models-json.provider]: "smell" is nothing that a model takes, and is left out (providers.local.models[0].input[0])
    models.json:1:153: warning[models-json.provider]: "smell" is nothing that a model takes, and is left out (providers.local.models[1].input[1])
    "#);
    let input = |id: &str| {
        let found = catalog.find_model(&format!("local/{id}")).unwrap();
        found.model.unwrap().modalities.clone().unwrap().input.join("+")
    };
    assert_eq!(["nose", "both", "eye"].map(input), ["text", "text", "text+image"]);
}
