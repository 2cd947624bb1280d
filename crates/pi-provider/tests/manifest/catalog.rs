//! Providers from all sources, and the models in them.

use std::io;

use insta::assert_snapshot;
use pi_provider::{
    catalog::{Asked, Catalog, Entry, Origin, Source, SourceFile},
    credential::{AuthFile, Sources, Status, Trust, resolve},
    manifest::{Diagnostic, KeySource, diagnostic::Style},
};

/// A source from files that are written one below the other, each after a line `-- name`.
fn source(origin: Origin, trust: Trust, text: &str) -> Source {
    let mut files: Vec<SourceFile> = Vec::new();
    for line in text.lines().map(|line| line.strip_prefix("        ").unwrap_or(line)) {
        match (line.strip_prefix("-- "), files.last_mut()) {
            (Some(path), _) => files.push(SourceFile { path: path.to_owned(), text: Ok(String::new()) }),
            (None, Some(file)) => {
                let text = file.text.as_mut().unwrap();
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    Source { origin, trust, files }
}

/// A manifest with as little as there must be, in one line.
fn manifest(id: &str, rest: &str) -> String {
    let statuses = r#""400": invalid_request, "401": authentication, "429": rate_limited, "500": server_error"#;
    format!(
        "{{id: {id}, protocol_version: \"2.0\", endpoint: {{base_url: 'https://{id}.example/v1', chat: /chat, \
         auth: {{type: bearer, header: Authorization}}}}, error_classification: {{by_http_status: {{{statuses}}}}}{rest}}}"
    )
}

fn file(path: &str, text: impl Into<String>) -> SourceFile {
    SourceFile { path: path.to_owned(), text: Ok(text.into()) }
}

fn user(files: Vec<SourceFile>) -> Source {
    Source { origin: Origin::User, trust: Trust::Trusted, files }
}

fn project(trust: Trust, files: Vec<SourceFile>) -> Source {
    Source { origin: Origin::Project, trust, files }
}

/// One line for each provider and each finding.
fn show(catalog: &Catalog) -> String {
    let entry = |entry: &Entry| {
        let models: Vec<&str> = entry.manifest.models.keys().map(String::as_str).collect();
        format!(
            "{} {:?} from {} ({}) at {} with {models:?}{}\n",
            entry.manifest.id,
            entry.manifest.aliases,
            entry.file,
            entry.origin,
            entry.manifest.endpoint.base_url,
            if entry.is_trusted() { "" } else { ", no credentials" },
        )
    };
    let mut out: String = catalog.providers().map(entry).collect();
    out.extend(catalog.held_back().iter().map(|held| format!("held back: {}", entry(held))));
    let finding = |Diagnostic { hint, .. }: &Diagnostic| format!("    help: {hint}\n");
    let findings = catalog.findings().iter().map(|found| &found.diagnostic);
    out.extend(findings.map(|found| format!("{found}\n{}", finding(found))));
    out
}

#[test]
fn the_program_brings_its_own_providers_without_findings() {
    let catalog = Catalog::load(&[Source::built_in()]);
    let findings: Vec<String> = catalog.findings().iter().map(|finding| finding.render(Style::Plain)).collect();
    assert_eq!(findings, Vec::<String>::new());
    let files = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/manifests"));
    let count = files.read_dir().unwrap().count();
    assert_eq!(catalog.providers().count(), count);
}

#[test]
fn a_later_source_replaces_a_provider_of_an_earlier_one() {
    let first = user(vec![file("a.yaml", manifest("alpha", "")), file("b.yaml", manifest("beta", ""))]);
    let second = project(Trust::Trusted, vec![file("p.yaml", manifest("alpha", ", metadata: {models: {one: {}}}"))]);
    assert_snapshot!(show(&Catalog::load(&[first, second])), @r#"
    alpha [] from p.yaml (project) at https://alpha.example/v1 with ["one"]
    beta [] from b.yaml (user) at https://beta.example/v1 with []
    "#);
}

#[test]
fn an_id_occurs_once_in_a_source() {
    let twice = user(vec![
        file("a.yaml", manifest("alpha", "")),
        file("b.json", r#"{"id": 1}"#),
        file("c.yaml", manifest("alpha", ", name: second")),
        file("d.yaml", manifest("delta", "")),
    ]);
    assert_snapshot!(show(&Catalog::load(&[twice])), @r#"
    alpha [] from a.yaml (user) at https://alpha.example/v1 with []
    delta [] from d.yaml (user) at https://delta.example/v1 with []
    b.json:1:1: error[ring1.protocol-version]: protocol_version is missing (protocol_version)
        help: write protocol_version: "2.0"; files of 1.x are promoted
    b.json:1:1: error[ring1.endpoint]: endpoint is missing (endpoint)
        help: write endpoint: with base_url, chat and auth below it
    b.json:1:1: error[ring1.error-classification]: error_classification is missing (error_classification)
        help: map at least 400, 401, 429 and 500 to standard names below by_http_status
    b.json:1:8: error[ring1.id]: a text is expected, not a number (id)
        help: put the value in quotes
    c.yaml:1:6: error[catalog.duplicate-id]: the id "alpha" stands in a.yaml:1:6 too; this file is left out (id)
        help: give one of them another id, or keep them in different sources: the later source wins
    "#);
}

#[test]
fn an_alias_never_takes_the_name_of_another_provider() {
    let files = user(vec![
        file("a.yaml", manifest("alpha", ", aliases: [beta, first, alpha]")),
        file("b.yaml", manifest("beta", ", aliases: [first, second]")),
    ]);
    let catalog = Catalog::load(&[files]);
    assert_snapshot!(show(&catalog), @r#"
    alpha ["first"] from a.yaml (user) at https://alpha.example/v1 with []
    beta ["second"] from b.yaml (user) at https://beta.example/v1 with []
    b.yaml:1:6: warning[catalog.alias]: the id "beta" is an alias of alpha in a.yaml:1:287; the id counts (id)
        help: take the alias out; the provider is found under its id and its other aliases
    b.yaml:1:285: error[catalog.duplicate-alias]: "first" is an alias of alpha in a.yaml:1:293, which counts (aliases[0])
        help: take the name out of one of the two; an id beats an alias, and an earlier file a later one
    "#);
    let named = |name| catalog.provider(name).map(|entry| entry.manifest.id.to_string());
    assert_eq!(named("beta").as_deref(), Some("beta"));
    assert_eq!(named("first").as_deref(), Some("alpha"));
    assert_eq!(named("second").as_deref(), Some("beta"));
    assert_eq!(named("third"), None);
}

#[test]
fn an_alias_that_another_source_has_as_an_id_leads_to_that_provider() {
    let first = user(vec![file("a.yaml", manifest("alpha", ", aliases: [beta, first]"))]);
    let second = project(
        Trust::Trusted,
        vec![file("b.yaml", manifest("beta", "")), file("c.yaml", manifest("gamma", ", aliases: [first, alpha]"))],
    );
    let catalog = Catalog::load(&[first, second]);
    assert_snapshot!(show(&catalog), @r#"
    alpha ["first"] from a.yaml (user) at https://alpha.example/v1 with []
    beta [] from b.yaml (project) at https://beta.example/v1 with []
    gamma [] from c.yaml (project) at https://gamma.example/v1 with []
    a.yaml:1:287: warning[catalog.alias]: the alias "beta" of alpha is a name of beta in b.yaml:1:6, which counts (aliases)
        help: take the alias out; the provider is found under its id and its other aliases
    c.yaml:1:287: warning[catalog.alias]: the alias "first" of gamma is a name of alpha in a.yaml:1:293, which counts (aliases)
        help: take the alias out; the provider is found under its id and its other aliases
    c.yaml:1:294: warning[catalog.alias]: the alias "alpha" of gamma is a name of alpha in a.yaml:1:6, which counts (aliases)
        help: take the alias out; the provider is found under its id and its other aliases
    "#);
    let named = |name| catalog.provider(name).map(|entry| entry.manifest.id.to_string());
    assert_eq!(["alpha", "beta", "first"].map(named), ["alpha", "beta", "alpha"].map(|id| Some(id.to_owned())));
}

/// The name stays with the trusted one also where a manifest of the project is held back.
/// Nobody can take an alias out of a manifest that comes with the program; whoever wrote the id is told.
#[test]
fn an_id_that_is_an_alias_of_a_built_in_provider_is_told_of_its_file() {
    let own = user(vec![file("own.yaml", manifest("google", ""))]);
    let catalog = Catalog::load(&[Source::built_in(), own]);
    let told: Vec<String> = catalog.findings().iter().map(|finding| finding.diagnostic.to_string()).collect();
    let expected = r#"own.yaml:1:6: warning[catalog.alias]: the id "google" is an alias of gemini, which is built in; the id counts (id)"#;
    assert_eq!(told, [expected]);
    assert_eq!(catalog.provider("google").unwrap().file, "own.yaml");
}

#[test]
fn a_project_that_is_not_trusted_takes_no_alias_away() {
    let trusted = user(vec![file("a.yaml", manifest("alpha", ", aliases: [handy]"))]);
    let untrusted = project(
        Trust::UntrustedProject,
        vec![
            file("p/alpha.yaml", manifest("alpha", ", aliases: [handy]")),
            file("p/handy.yaml", manifest("handy", "")),
        ],
    );
    let catalog = Catalog::load(&[trusted, untrusted]);
    assert_snapshot!(show(&catalog), @r#"
    alpha ["handy"] from a.yaml (user) at https://alpha.example/v1 with []
    held back: alpha ["handy"] from p/alpha.yaml (project) at https://alpha.example/v1 with [], no credentials
    held back: handy [] from p/handy.yaml (project) at https://handy.example/v1 with [], no credentials
    p/alpha.yaml: warning[catalog.untrusted]: alpha is not replaced, because the project is not trusted
        help: trust the project if its manifest is to be used
    p/handy.yaml:1:6: warning[catalog.alias]: the id "handy" is an alias of alpha in p/alpha.yaml:1:287; the id counts (id)
        help: take the alias out; the provider is found under its id and its other aliases
    p/handy.yaml: warning[catalog.untrusted]: handy is not replaced, because the project is not trusted
        help: trust the project if its manifest is to be used
    "#);
    assert_eq!(catalog.provider("handy").map(|entry| entry.file.as_str()), Some("a.yaml"));
}

/// Sources that are read later are not replaced either: folders of the command line, and Pi's file, which is the last.
#[test]
fn a_project_that_is_not_trusted_replaces_nothing_of_later_sources() {
    let whole = r#"{"providers": {"workshop": {"baseUrl": "https://mine.example/v1", "api": "openai-completions", "models": [{"id": "small"}]}}}"#;
    let change = r#"{"providers": {"workshop": {"apiKey": "k"}}}"#;
    let pi =
        |text: &str| Source { origin: Origin::PiModels, trust: Trust::Trusted, files: vec![file("models.json", text)] };
    let named =
        |text: String| Source { origin: Origin::CommandLine, trust: Trust::Trusted, files: vec![file("c.yaml", text)] };
    let by_id = || manifest("workshop", ", metadata: {models: {small: {}}}");
    let by_alias = || manifest("stranger", ", aliases: [workshop], metadata: {models: {small: {}}}");
    for (strange, later, expected) in [
        (by_id(), pi(whole), Some("models.json")),
        (by_alias(), pi(whole), Some("models.json")),
        (by_id(), named(manifest("workshop", "")), Some("c.yaml")),
        (by_id(), named(manifest("other", ", aliases: [workshop]")), Some("c.yaml")),
        (by_alias(), named(manifest("workshop", "")), Some("c.yaml")),
        (by_alias(), named(manifest("other", ", aliases: [workshop]")), Some("c.yaml")),
        // What only changes a provider is none by itself.
        (by_id(), pi(change), None),
    ] {
        let untrusted = project(Trust::UntrustedProject, vec![file("p.yaml", strange.clone())]);
        let catalog = Catalog::load(&[Source::built_in(), untrusted, later]);
        let found = catalog.provider("workshop").unwrap();
        assert_eq!(found.is_trusted().then_some(found.file.as_str()), expected, "{strange}");
        assert_eq!(found.key, None, "{strange}");
        let in_other_letters = catalog.provider("WORKSHOP").map(|entry| entry.file.as_str());
        if found.manifest.id() == "workshop" {
            assert_eq!(in_other_letters, Some(found.file.as_str()), "{strange}");
        }
        let is_told = catalog
            .findings()
            .iter()
            .any(|it| it.diagnostic.file != "c.yaml" && it.diagnostic.message.contains("workshop"));
        assert!(is_told, "{strange}: {}", catalog.findings().len());
        if expected == Some("models.json") {
            assert_eq!(catalog.find_model("small").unwrap().entry.file, "models.json", "{strange}");
        }
    }
}

#[test]
fn a_project_that_is_not_trusted_replaces_nothing_and_gets_no_credentials() {
    let trusted = user(vec![file("a.yaml", manifest("alpha", ", aliases: [other]"))]);
    let contract = "contract_version: '1.0'\nprovider_id: alpha\napi_style: gemini_generate\n";
    let models = "models: {stolen: {provider: alpha}}";
    let untrusted = project(
        Trust::UntrustedProject,
        vec![
            file("p/alpha.yaml", manifest("alpha", "")),
            file("p/other.yaml", manifest("other", "")),
            file("p/own.yaml", manifest("own", "")),
            file("p/x.contract.yaml", contract),
            file("p/models.yaml", models),
            file(
                "p/models.json",
                r#"{"providers": {"alpha": {"baseUrl": "https://evil.example", "apiKey": "!steal"}}}"#,
            ),
        ],
    );
    let catalog = Catalog::load(&[trusted, untrusted]);
    assert_snapshot!(show(&catalog), @r#"
    alpha ["other"] from a.yaml (user) at https://alpha.example/v1 with []
    own [] from p/own.yaml (project) at https://own.example/v1 with [], no credentials
    held back: alpha [] from p/alpha.yaml (project) at https://alpha.example/v1 with [], no credentials
    held back: other [] from p/other.yaml (project) at https://other.example/v1 with [], no credentials
    p/alpha.yaml: warning[catalog.untrusted]: alpha is not replaced, because the project is not trusted
        help: trust the project if its manifest is to be used
    p/other.yaml: warning[catalog.untrusted]: other is not replaced, because the project is not trusted
        help: trust the project if its manifest is to be used
    p/models.json:1:71: note[models-json.command]: the shell runs this when it is needed, unless the file comes from a project that nobody trusts (providers.alpha.apiKey)
        help: it runs once, for at most ten seconds, and what it prints is used without the blanks around; a variable is written as $NAME
    p/x.contract.yaml: warning[catalog.no-provider]: alpha is not changed, because the project is not trusted
        help: write the id or an alias of a provider that this source or an earlier one describes, in a project that is trusted
    p/models.yaml: warning[catalog.no-provider]: alpha is not changed, because the project is not trusted
        help: write the id or an alias of a provider that this source or an earlier one describes, in a project that is trusted
    p/models.json: warning[catalog.no-provider]: alpha is not changed, because the project is not trusted
        help: write the id or an alias of a provider that this source or an earlier one describes, in a project that is trusted
    "#);
    assert_eq!(catalog.provider("alpha").unwrap().manifest.contract.api_style, None);
    assert_eq!(catalog.provider("own").unwrap().key, None);
}

#[test]
fn a_file_that_is_wrong_does_not_stop_the_others() {
    let mut files = vec![
        file("a.yaml", "id: [unclosed"),
        file("b.yaml", manifest("beta", "")),
        file("c.yaml", "id: gamma\nprotocol_version: '2.0'\n"),
    ];
    files.push(SourceFile {
        path: "d.yaml".to_owned(),
        text: Err(io::Error::from(io::ErrorKind::PermissionDenied).into()),
    });
    assert_snapshot!(show(&Catalog::load(&[user(files)])), @r"
    beta [] from b.yaml (user) at https://beta.example/v1 with []
    a.yaml:1:5: error[file.syntax]: a bracket is opened and never closed
        help: close it; a text that begins with [ or { needs quotes
    c.yaml:1:1: error[ring1.endpoint]: endpoint is missing (endpoint)
        help: write endpoint: with base_url, chat and auth below it
    c.yaml:1:1: error[ring1.error-classification]: error_classification is missing (error_classification)
        help: map at least 400, 401, 429 and 500 to standard names below by_http_status
    d.yaml: error[catalog.unreadable]: it cannot be read: permission denied
        help: see that the file or folder is there, may be read, and is a text of moderate size
    ");
}

#[test]
fn contracts_and_models_find_their_provider_by_any_of_its_names() {
    let files = source(
        Origin::CommandLine,
        Trust::Trusted,
        "
        -- a.contract.yaml
        contract_version: '1.0'
        provider_id: other
        api_style: gemini_generate
        request_mapping: {role_mapping: {assistant: model, user: human}}
        -- b.contract.yaml
        contract_version: '1.0'
        provider_id: nobody
        -- models.yaml
        models:
          big: {provider: alpha, context_window: 1000, pricing: {input_per_token: 0.000003}}
          small: {provider: alpha, display_name: Small}
        ",
    );
    let text = manifest(
        "alpha",
        ", aliases: [other], metadata: {models: {small: {name: Kept}}}, \
         provider_contract: {request_mapping: {role_mapping: {user: person}}}",
    );
    let catalog = Catalog::load(&[user(vec![file("alpha.yaml", text)]), files]);
    assert_snapshot!(show(&catalog), @r#"
    alpha ["other"] from alpha.yaml (user) at https://alpha.example/v1 with ["small", "big"]
    b.contract.yaml: warning[catalog.no-provider]: there is no provider "nobody" for it
        help: write the id or an alias of a provider that this source or an earlier one describes, in a project that is trusted
    "#);
    let manifest = &catalog.provider("alpha").unwrap().manifest;
    let roles = &manifest.contract.request_mapping.role_mapping;
    assert_eq!(roles.get("user").map(String::as_str), Some("person"), "the manifest's own words stay");
    assert_eq!(roles.get("assistant").map(String::as_str), Some("model"));
    assert_eq!(manifest.models["small"].name.as_deref(), Some("Kept"));
    assert_eq!(manifest.models["big"].pricing.as_ref().unwrap().input_per_1m, Some(3.0));
}

const MODELS_JSON: &str = r#"{
  "providers": {
    "anthropic": {"baseUrl": "https://proxy.example", "apiKey": "$PROXY_KEY", "headers": {"x-team": "!team"},
      "modelOverrides": {"claude": {"contextWindow": 5, "cost": {"input": 1, "output": 2}}}},
    "local": {"baseUrl": "http://localhost:9000/v1/", "api": "openai-completions", "apiKey": "sk-planted-secret",
      "compat": {"maxTokensField": "max_completion_tokens", "supportsUsageInStreaming": false},
      "models": [{"id": "tiny", "input": ["text", "image"], "compat": {"thinkingFormat": "qwen"}}, {"name": "nameless"}]},
    "keyless": {"baseUrl": "http://127.0.0.1:1", "api": "anthropic-messages", "models": [{"id": "m"}]},
    "strange": {"baseUrl": "https://x.example", "api": "telepathy"},
    "plain": {"baseUrl": "http://x.example", "api": "openai-completions"},
    "number": {"baseUrl": "https://x.example", "api": "openai-completions", "apiKey": 424242}
  }
}"#;

#[test]
fn models_json_changes_providers_and_brings_new_ones() {
    let text = manifest("anthropic", ", metadata: {models: {claude: {name: Claude, context_window: 9}}}")
        .replace("chat: /chat", "chat: /messages")
        .replace(", metadata", ", provider_contract: {api_style: anthropic_messages}, metadata");
    let pi = Source { origin: Origin::PiModels, trust: Trust::Trusted, files: vec![file("models.json", MODELS_JSON)] };
    let catalog = Catalog::load(&[user(vec![file("anthropic.yaml", text)]), pi]);
    assert_snapshot!(show(&catalog), @r#"
    anthropic [] from anthropic.yaml (user) at https://proxy.example/v1 with ["claude"]
    local [] from models.json (models.json) at http://localhost:9000/v1 with ["tiny"]
    keyless [] from models.json (models.json) at http://127.0.0.1:1/v1 with ["m"]
    plain [] from models.json (models.json) at http://x.example with []
    models.json:3:101: note[models-json.command]: the shell runs this when it is needed, unless the file comes from a project that nobody trusts (providers.anthropic.headers)
        help: it runs once, for at most ten seconds, and what it prints is used without the blanks around; a variable is written as $NAME
    models.json:7:100: warning[models-json.provider]: a model without an id is left out (providers.local.models[1])
        help: a provider of models.json needs baseUrl, api and models with ids, unless it changes one that there is
    models.json:9:56: error[models-json.provider]: the api "telepathy" is not known (providers.strange.api)
        help: one of openai-completions, openai-responses, anthropic-messages, google-generative-ai, mistral-conversations is spoken here
    models.json:10:26: warning[ring1.base-url]: a server elsewhere must be reached over https (providers.plain.baseUrl)
        help: http is for servers on this machine or network
    models.json:11:87: error[models-json.provider]: a text is expected (providers.number.apiKey)
        help: a provider of models.json needs baseUrl, api and models with ids, unless it changes one that there is
    "#);

    let environment = |name: &str| (name == "PROXY_KEY").then(|| "from the environment".to_owned());
    let anthropic = catalog.provider("anthropic").unwrap();
    let key = anthropic.key.as_ref().unwrap().resolve(&environment).unwrap();
    assert_eq!(key.expose(), "from the environment");
    assert!(matches!(&anthropic.headers["x-team"], KeySource::Command(_)));
    let claude = &anthropic.manifest.models["claude"];
    assert_eq!((claude.name.as_deref(), claude.context_window), (Some("Claude"), Some(5)));

    let asks_for_usage =
        |name: &str| catalog.provider(name).unwrap().manifest.capabilities.feature_flags.streaming_usage;
    assert_eq!((asks_for_usage("keyless"), asks_for_usage("local")), (Some(true), Some(false)));

    let tiny = catalog.find_model("local/tiny").unwrap();
    assert_eq!(tiny.model.unwrap().parameter_aliases["max_tokens"], "max_completion_tokens");
    assert_eq!(tiny.model.unwrap().thinking_format.as_deref(), Some("enable_thinking"));
    assert_snapshot!(serde_json::to_string(&tiny.to_model()).unwrap(), @r#"
    {"id":"tiny","name":"tiny","api":"openai-completions","provider":"local","baseUrl":"http://localhost:9000/v1","reasoning":false,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":128000,"maxTokens":16384,"compat":{"maxTokensField":"max_completion_tokens","supportsUsageInStreaming":false,"thinkingFormat":"qwen"},"costUnknown":true}
    "#);
}

/// What is wrong with one provider of the file is told where it stands, and the others are there.
#[test]
fn a_provider_of_models_json_that_cannot_be_used_is_left_out_alone() {
    let text = r#"{"providers": {
  "good": {"baseUrl": "https://g.example", "api": "openai-completions", "apiKey": "!pass show planted"},
  "homeless": {"api": "openai-completions"},
  "silent": {"baseUrl": "https://s.example"}
}}"#;
    let pi = Source { origin: Origin::PiModels, trust: Trust::Trusted, files: vec![file("models.json", text)] };
    assert_snapshot!(show(&Catalog::load(&[pi])), @r"
    good [] from models.json (models.json) at https://g.example with []
    models.json:2:83: note[models-json.command]: the shell runs this when it is needed, unless the file comes from a project that nobody trusts (providers.good.apiKey)
        help: it runs once, for at most ten seconds, and what it prints is used without the blanks around; a variable is written as $NAME
    models.json:3:3: error[models-json.provider]: baseUrl of homeless is missing (providers.homeless)
        help: a provider of models.json needs baseUrl, api and models with ids, unless it changes one that there is
    models.json:4:3: error[models-json.provider]: api of silent is missing (providers.silent)
        help: a provider of models.json needs baseUrl, api and models with ids, unless it changes one that there is
    ");
}

#[test]
fn keys_of_models_json_are_never_shown() {
    let broken = MODELS_JSON.replace("\"compat\": {\"max", "\"compat\": 5, \"other\": {\"max");
    for text in [MODELS_JSON, &broken, &MODELS_JSON[..MODELS_JSON.len() - 3]] {
        let pi = Source { origin: Origin::PiModels, trust: Trust::Trusted, files: vec![file("models.json", text)] };
        let misplaced = user(vec![file("providers/models.json", text)]);
        let catalog = Catalog::load(&[pi, misplaced]);
        let shown: String = catalog.findings().iter().map(|finding| finding.render(Style::Ansi)).collect();
        let debug = format!("{catalog:?}");
        assert!(!catalog.findings().is_empty());
        for planted in ["planted", "424242", "team\""] {
            assert!(!shown.contains(planted), "{shown}");
            assert!(!debug.contains(planted), "{debug}");
        }
    }
}

#[test]
fn a_key_is_written_in_the_forms_of_pi() {
    let read = |text: &str| serde_json::from_value::<KeySource>(text.into()).unwrap();
    let environment = |name: &str| (name == "SET").then(|| "value".to_owned());
    let resolved = |text: &str| read(text).resolve(&environment).map(|secret| secret.expose().to_owned());
    let cases = [
        ("$SET", Some("value")),
        ("${SET}", Some("value")),
        ("$UNSET", None),
        ("SET", Some("value")),
        ("ollama", Some("ollama")),
        ("sk-123", Some("sk-123")),
        ("!pass show key", None),
        ("Bearer $SET", Some("Bearer value")),
        ("${SET}_${SET}/$SET.", Some("value_value/value.")),
        ("a ${UNSET}", None),
        ("$$SET", Some("$SET")),
        ("$!SET", Some("!SET")),
        ("cost 5$ ${not a name", Some("cost 5$ ${not a name")),
    ];
    for (text, expected) in cases {
        assert_eq!(resolved(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_model_is_found_by_what_people_type() {
    let one =
        ", metadata: {models: {sonnet-4: {model_id: claude-sonnet-4}, sonnet-5: {}, haiku-4: {name: Claude Haiku}}}";
    let two = ", metadata: {models: {sonnet-4: {}, meta/llama-3: {}, anthro/opus: {}}}";
    let files = vec![
        file("a.yaml", manifest("anthro", &format!(", aliases: [claude]{one}"))),
        file("r.yaml", manifest("router", two)),
        file("l.yaml", manifest("local", "")),
    ];
    let catalog = Catalog::load(&[user(files)]);
    let patterns = [
        "anthro/sonnet-4",
        "claude/haiku-4",
        "haiku-4",
        "anthro/claude-sonnet-4",
        "router/meta/llama-3",
        "meta/llama-3",
        "anthro/opus",
        "llama",
        "claude haiku",
        "anthro/*5",
        "*haiku*",
        "local/anything:7b",
        "sonnet-4",
        "sonnet",
        "anthro/sonnet-6",
        "antro/sonnet-4",
        "sonet-5",
        "nothing at all",
        "",
        "local/",
        "*",
    ];
    let line = |pattern: &str| match catalog.find_model(pattern) {
        Ok(found) => format!("{pattern:?} is {} ({})\n", found.name(), found.wire_id()),
        Err(error) => format!("{pattern:?}: {error}\n"),
    };
    assert_snapshot!(patterns.map(line).concat(), @r#"
    "anthro/sonnet-4" is anthro/sonnet-4 (claude-sonnet-4)
    "claude/haiku-4" is anthro/haiku-4 (haiku-4)
    "haiku-4" is anthro/haiku-4 (haiku-4)
    "anthro/claude-sonnet-4" is anthro/sonnet-4 (claude-sonnet-4)
    "router/meta/llama-3" is router/meta/llama-3 (meta/llama-3)
    "meta/llama-3" is router/meta/llama-3 (meta/llama-3)
    "anthro/opus" is router/anthro/opus (anthro/opus)
    "llama" is router/meta/llama-3 (meta/llama-3)
    "claude haiku" is anthro/haiku-4 (haiku-4)
    "anthro/*5" is anthro/sonnet-5 (sonnet-5)
    "*haiku*" is anthro/haiku-4 (haiku-4)
    "local/anything:7b" is local/anything:7b (anything:7b)
    "sonnet-4": "sonnet-4" may be anthro/sonnet-4, router/sonnet-4
    "sonnet": "sonnet" may be anthro/sonnet-4, anthro/sonnet-5, router/sonnet-4
    "anthro/sonnet-6": anthro has no model "sonnet-6"; did you mean sonnet-4 or sonnet-5?
    "antro/sonnet-4": there is no provider "antro"; did you mean anthro?
    "sonet-5": no model matches "sonet-5"; did you mean sonnet-5 or sonnet-4?
    "nothing at all": no model matches "nothing at all"
    "": "" may be anthro/sonnet-4, anthro/sonnet-5, anthro/haiku-4, router/sonnet-4, router/meta/llama-3, router/anthro/opus
    "local/": local has no model ""
    "*": "*" may be anthro/sonnet-4, anthro/sonnet-5, anthro/haiku-4, router/sonnet-4, router/meta/llama-3, router/anthro/opus
    "#);
}

/// What begins like an id may be one; whole words from inside of ids stand for them, and old models for nothing that is new.
#[test]
fn name_that_may_be_an_id_stands_for_no_other() {
    let models = "claude-sonnet-5-5: {}, claude-sonnet-5: {status: legacy}, claude-haiku-4-5: {status: legacy}, \
                  claude-opus-5-5: {}, claude-opus-5-6: {}";
    let files = vec![
        file("a.yaml", manifest("anthro", &format!(", metadata: {{models: {{{models}}}}}"))),
        file("o.yaml", manifest("open", ", metadata: {models: {gpt-4o-mini: {}, gpt-5.4: {}, gpt-5.4-mini: {}}}")),
        file("r.yaml", manifest("router", ", metadata: {models: {org/Kimi-K3: {}}}")),
    ];
    let catalog = Catalog::load(&[user(files)]);
    let line = |pattern: &str| match (catalog.find_model(pattern), catalog.find_exactly(pattern)) {
        (Ok(found), Ok(_)) => format!("{pattern} is {}\n", found.name()),
        (Ok(found), Err(_)) => format!("{pattern} stands for {}\n", found.name()),
        (Err(error), _) => format!("{error}\n"),
    };
    let patterns = [
        "open/gpt-4o",
        "open/gpt-4o-mini",
        "open/GPT-4o-Mini",
        "open/gpt",
        "open/4o",
        "open/4",
        "open/5.4",
        "open/mini",
        "anthro/claude-opus-5",
        "anthro/sonnet",
        "anthro/sonnet-5",
        "anthro/haiku",
        "anthro/opus",
        "anthro/claude-s*",
        "sonnet",
        "gpt-4o",
        "gpt-5.4",
        "router/kimi-k3",
        "router/kimi",
        "router/kimi-k",
    ];
    assert_snapshot!(patterns.map(line).concat(), @r#"
    open has no model "gpt-4o"; did you mean gpt-4o-mini or gpt-5.4?
    open/gpt-4o-mini is open/gpt-4o-mini
    open/GPT-4o-Mini is open/gpt-4o-mini
    open has no model "gpt"; did you mean gpt-4o-mini or gpt-5.4 or gpt-5.4-mini?
    open/4o stands for open/gpt-4o-mini
    open/4 stands for open/gpt-5.4
    open/5.4 stands for open/gpt-5.4
    "open/mini" may be open/gpt-4o-mini, open/gpt-5.4-mini
    anthro has no model "claude-opus-5"; did you mean claude-opus-5-5 or claude-opus-5-6 or claude-sonnet-5?
    anthro/sonnet stands for anthro/claude-sonnet-5-5
    anthro/sonnet-5 stands for anthro/claude-sonnet-5
    anthro/haiku stands for anthro/claude-haiku-4-5
    "anthro/opus" may be anthro/claude-opus-5-5, anthro/claude-opus-5-6
    anthro/claude-s* stands for anthro/claude-sonnet-5-5
    sonnet stands for anthro/claude-sonnet-5-5
    gpt-4o stands for open/gpt-4o-mini
    gpt-5.4 is open/gpt-5.4
    router/kimi-k3 stands for router/org/Kimi-K3
    router/kimi stands for router/org/Kimi-K3
    router has no model "kimi-k"
    "#);
}

#[test]
fn folders_are_read_by_name_and_what_is_missing_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        #[expect(clippy::disallowed_methods, reason = "makes the folder that is read")]
        {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    };
    write("b.yml", &manifest("beta", ""));
    write("a.json", r#"{"id": "alpha"}"#);
    write("notes.txt", "nothing");
    write(".hidden.yaml", "nothing");
    write("providers/c.yaml", &manifest("gamma", ""));
    write("contracts/c.contract.yaml", "{contract_version: '1.0', provider_id: gamma, api_style: custom}");
    let source = Source::folder(Origin::User, folder.path(), Trust::Trusted);
    let names: Vec<&str> = source.files.iter().map(|file| file.path.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["a.json", "b.yml", "c.yaml", "c.contract.yaml"]);
    let catalog = Catalog::load(&[source]);
    let ids: Vec<&str> = catalog.providers().map(|entry| entry.manifest.id.as_str()).collect();
    assert_eq!(ids, ["beta", "gamma"]);

    let absent = folder.path().join("absent");
    assert!(Source::folder(Origin::User, &absent, Trust::Trusted).files.is_empty());
    assert!(Source::pi_models(&absent).files.is_empty());
    let asked_for = Source::folder(Origin::CommandLine, &absent, Trust::Trusted);
    let rules: Vec<&str> =
        Catalog::load(&[asked_for]).findings().iter().map(|finding| finding.diagnostic.rule.name()).collect();
    assert_eq!(rules, ["catalog.unreadable"]);
}

/// What was to be a manifest is not passed over without a word.
#[cfg(unix)]
#[test]
fn ending_in_capitals_and_a_link_to_nowhere_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_methods, reason = "makes the folder that is read")]
    std::fs::write(folder.path().join("B.YAML"), manifest("beta", "")).unwrap();
    std::os::unix::fs::symlink("nowhere.yaml", folder.path().join("lost.yaml")).unwrap();
    let catalog = Catalog::load(&[Source::folder(Origin::User, folder.path(), Trust::Trusted)]);
    assert!(catalog.provider("beta").is_some());
    let told: Vec<&str> = catalog.findings().iter().map(|finding| finding.diagnostic.rule.name()).collect();
    assert_eq!(told, ["catalog.unreadable"]);
}

#[test]
fn manifest_of_an_untrusted_project_is_given_no_value_of_the_environment() {
    let environment = |name: &str| Some(format!("value of {name}"));
    let asked = Asked { model: "m", known: None, base_url: None };
    let values = [Trust::Trusted, Trust::UntrustedProject].map(|trust| {
        let catalog = Catalog::load(&[project(trust, vec![file("p/new.yaml", manifest("new", ""))])]);
        let target = catalog.provider("new").unwrap().target(asked, &environment);
        (target.lookup)("GITHUB_TOKEN")
    });
    assert_eq!(values, [Some("value of GITHUB_TOKEN".to_owned()), None]);
}

/// Also one that claims to need no credential.
#[test]
fn manifest_of_an_untrusted_project_cannot_be_asked() {
    let text = manifest("new", "").replace("{type: bearer, header: Authorization}", "{type: none}");
    let catalog = Catalog::load(&[project(Trust::UntrustedProject, vec![file("p/new.yaml", text)])]);
    let entry = catalog.provider("new").unwrap();
    let (environment, auth_file) = (|_: &str| None, AuthFile::none());
    let now = std::time::SystemTime::UNIX_EPOCH;
    let sources = Sources {
        explicit: None,
        written: None,
        environment: &environment,
        auth_file: &auth_file,
        trust: entry.trust,
        now,
    };
    assert_eq!(resolve(&entry.manifest, &sources).status(), Status::Missing);
}

/// As Pi: a model needs no more than its id.
#[test]
fn a_model_of_models_json_has_the_defaults_of_pi() {
    let text = r#"{"providers": {"local": {"baseUrl": "http://127.0.0.1:1", "api": "openai-completions",
        "models": [{"id": "bare"}, {"id": "told", "contextWindow": 9, "maxTokens": 3, "reasoning": true, "input": ["text", "image"]}]}}}"#;
    let pi = Source { origin: Origin::PiModels, trust: Trust::Trusted, files: vec![file("models.json", text)] };
    let catalog = Catalog::load(&[pi]);
    let facts = |name: &str| {
        let model = catalog.find_model(name).unwrap().model.cloned().unwrap();
        let input = model.modalities.map(|modalities| modalities.input).unwrap_or_default();
        (model.context_window, model.max_output_tokens, model.model_capabilities.reasoning, input.join("+"))
    };
    assert_eq!(facts("local/bare"), (Some(128_000), Some(16_384), Some(false), "text".to_owned()));
    assert_eq!(facts("local/told"), (Some(9), Some(3), Some(true), "text+image".to_owned()));
}

#[test]
fn headers_of_a_manifest_are_secret_unless_they_are_known_to_be_harmless() {
    let headers = "[{name: Anthropic-Version, value: v9}, {name: x-tenant, value: planted-tenant}, \
                   {name: x-key, value: 'Key ${TENANT_KEY}'}, {name: x-none, value: '$NOT_SET'}]";
    let text = manifest("alpha", "").replace("Authorization}", &format!("Authorization, extra_headers: {headers}}}"));
    let catalog = Catalog::load(&[user(vec![file("alpha.yaml", text)])]);
    let entry = catalog.provider("alpha").unwrap();
    let shown = format!("{entry:?} {}", serde_json::to_string(&*entry.manifest).unwrap());
    assert!(shown.contains("v9") && !shown.contains("planted-tenant"), "{shown}");
    let environment = |name: &str| (name == "TENANT_KEY").then(|| "opened".to_owned());
    let resolved: Vec<(&str, Option<String>)> = entry
        .headers
        .iter()
        .map(|(name, source)| (name.as_str(), source.resolve(&environment).map(|secret| secret.expose().to_owned())))
        .collect();
    let value = |text: &str| Some(text.to_owned());
    assert_eq!(resolved, [("x-tenant", value("planted-tenant")), ("x-key", value("Key opened")), ("x-none", None)]);
}
