//! Pi's `models.json`: what it may say, and what becomes of the providers and models in it.

use pi_provider::{
    Catalog,
    catalog::{Origin, Source, SourceFile},
    credential::Trust,
    manifest::{Document, Format, load_any},
};
use serde_json::json;

fn source(text: impl Into<String>) -> Source {
    let file = SourceFile { path: "models.json".to_owned(), text: Ok(text.into()) };
    Source { origin: Origin::PiModels, trust: Trust::Trusted, files: vec![file] }
}

fn catalog(text: impl Into<String>) -> Catalog {
    Catalog::load(&[Source::built_in(), source(text)])
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

/// A file that says nothing yet is no broken manifest.
#[test]
fn empty_file_brings_nothing_and_breaks_nothing() {
    for text in ["{}", "{ // nothing yet\n}", r#"{"$schema": "https://pi.example/models.json"}"#] {
        let catalog = catalog(text);
        let told: Vec<&str> = catalog.findings().iter().map(|finding| finding.diagnostic.rule.name()).collect();
        assert_eq!(told, ["models-json.providers"], "{text}");
    }
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
