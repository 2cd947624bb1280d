//! The manifests that come with the program are what they say.

use std::collections::BTreeSet;

use pi_provider::{
    Manifest,
    builtin::{self, BuiltIn, MANIFESTS},
    manifest::{
        diagnostic::masked,
        load::{Format, load},
    },
};
use serde_json::Value;

fn value(text: &str) -> Value {
    serde_saphyr::from_str(text).expect("a built-in manifest is YAML")
}

/// The manifest, which nobody has anything to say against.
fn manifest(built_in: &BuiltIn) -> Manifest {
    let loaded = load(built_in.text, &built_in.path(), Format::Yaml);
    let findings: Vec<String> = loaded.diagnostics.iter().map(|diagnostic| format!("{diagnostic:?}")).collect();
    let ignored: Vec<String> = loaded.ignored.iter().map(|ignored| format!("{ignored:?}")).collect();
    assert_eq!((findings, ignored), (Vec::new(), Vec::new()), "{}", built_in.id);
    loaded.manifest.unwrap()
}

#[test]
fn every_manifest_loads_without_a_finding() {
    for built_in in MANIFESTS {
        assert_eq!(manifest(built_in).id.as_str(), built_in.id);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "this test compares the list with the folder")]
fn every_file_of_the_folder_is_listed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().trim_end_matches(".yaml").to_owned())
        .collect();
    let listed: BTreeSet<String> = MANIFESTS.iter().map(|manifest| manifest.id.to_owned()).collect();
    assert_eq!(listed, files);
    assert_eq!(listed.len(), MANIFESTS.len());
}

#[test]
fn a_file_is_named_by_its_id() {
    for manifest in MANIFESTS {
        assert_eq!(value(manifest.text)["id"], manifest.id);
    }
    assert_eq!(builtin::find("ollama").map(|manifest| manifest.id), Some("ollama"));
    assert_eq!(builtin::find("nobody"), None);
}

#[test]
fn no_two_providers_share_a_name() {
    let mut seen = BTreeSet::new();
    for manifest in MANIFESTS {
        let value = value(manifest.text);
        let aliases = value["aliases"].as_array().cloned().unwrap_or_default();
        for name in std::iter::once(value["id"].clone()).chain(aliases) {
            let name = name.as_str().unwrap().to_owned();
            assert!(seen.insert(name.clone()), "{name} stands for two providers");
        }
    }
}

#[test]
fn knowledge_of_models_has_a_date_and_a_source() {
    for manifest in MANIFESTS {
        let metadata = &value(manifest.text)["metadata"];
        let date = metadata["verified"].as_str().unwrap_or_default();
        let shape = date.len() == 10
            && date.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        assert!(shape, "{}: verified {date:?}", manifest.id);
        assert!(metadata["source"].as_str().is_some_and(|source| source.len() > 20), "{}", manifest.id);
    }
}

#[test]
fn a_model_is_known_or_says_that_it_is_not() {
    for manifest in MANIFESTS {
        let value = value(manifest.text);
        let models = value["metadata"]["models"].as_object().unwrap();
        for (id, model) in models {
            let known = model["context_window"].as_u64().is_some_and(|window| window > 0);
            let unknown = model["verification"]["status"] == "unknown" && model["verification"]["notes"].is_string();
            assert!(known != unknown, "{}/{id}: window {known}, unknown {unknown}", manifest.id);
            assert!(model["name"].is_string(), "{}/{id}", manifest.id);
            assert!(!model["modalities"]["output"].as_array().unwrap().is_empty(), "{}/{id}", manifest.id);
            let lists = model["pricing"]["tiers"].as_array().into_iter().flatten();
            for list in lists.chain([&model["pricing"]]) {
                let prices = list.as_object().into_iter().flatten().filter(|(kind, _)| kind.ends_with("_per_1m"));
                for (kind, price) in prices {
                    let is_price = price.as_f64().is_some_and(|price| (0.0..1000.0).contains(&price));
                    assert!(is_price, "{}/{id} {kind}", manifest.id);
                }
            }
        }
    }
}

/// Prices as the providers publish them: for a million tokens of input, output, from a cache and into it.
#[test]
fn prices_follow_the_length_of_the_prompt() {
    for (id, model, prompt, expected) in [
        ("anthropic", "claude-fable-5-1", 900_000, (10.0, 50.0, Some(0.25), Some(12.5))),
        ("anthropic", "claude-haiku-5-5", 100_000, (0.1, 0.5, Some(0.01), Some(0.125))),
        ("anthropic", "claude-haiku-5-5", 100_001, (0.5, 2.5, Some(0.05), Some(0.625))),
        ("openai", "gpt-6-astra", 272_001, (20.0, 75.0, Some(2.0), Some(25.0))),
        ("openai", "gpt-6.1-sol", 272_000, (2.0, 10.0, Some(0.1), Some(2.5))),
        ("openai", "gpt-6.1-sol", 272_001, (4.0, 15.0, Some(0.2), Some(5.0))),
        ("openai", "gpt-6-sol", 300_000, (4.0, 15.0, Some(0.4), Some(5.0))),
        ("openai", "gpt-6-luna", 300_000, (0.2, 0.75, Some(0.02), Some(0.25))),
        ("openai", "gpt-5.5", 300_000, (10.0, 45.0, Some(1.0), None)),
        ("gemini", "gemini-3.1-pro-preview", 200_001, (4.0, 18.0, Some(0.4), None)),
        ("gemini", "gemini-2.5-pro", 200_000, (1.25, 10.0, Some(0.125), None)),
        ("gemini", "gemini-2.5-pro", 200_001, (2.5, 15.0, Some(0.25), None)),
        ("minimax", "MiniMax-M3", 512_000, (0.3, 1.2, Some(0.06), None)),
        ("minimax", "MiniMax-M3", 512_001, (0.6, 2.4, Some(0.12), None)),
        ("zhipu", "glm-5.3", 900_000, (1.4, 4.4, Some(0.26), None)),
        ("qwen", "qwen3.8-max", 900_000, (2.0, 6.0, None, None)),
        ("qwen", "qwen3-max", 32_768, (1.2, 6.0, Some(0.24), Some(1.5))),
        ("qwen", "qwen3-max", 131_073, (3.0, 15.0, Some(0.6), Some(3.75))),
        ("xai", "grok-4.7", 199_999, (2.0, 6.0, Some(0.5), None)),
        ("xai", "grok-4.7", 200_000, (4.0, 12.0, Some(1.0), None)),
    ] {
        let manifest = manifest(builtin::find(id).unwrap());
        let prices = manifest.models[model].pricing.as_ref().unwrap().of_prompt(prompt);
        let found = (prices.input.unwrap(), prices.output.unwrap(), prices.cache_read, prices.cache_write);
        assert_eq!(found, expected, "{id}/{model} at {prompt}");
    }
}

/// Longer prompts never cost less, and a list of prices is a whole one.
#[test]
fn tiers_rise_and_leave_nothing_out_that_is_known_below() {
    for built_in in MANIFESTS {
        for (model, entry) in &manifest(built_in).models {
            let Some(pricing) = &entry.pricing else { continue };
            let mut below = pricing.of_prompt(0);
            for tier in &pricing.tiers {
                let prices = pricing.of_prompt(tier.above_prompt_tokens + 1);
                let pairs = [
                    (below.input, prices.input),
                    (below.output, prices.output),
                    (below.cache_read, prices.cache_read),
                    (below.cache_write, prices.cache_write),
                ];
                assert!(
                    pairs.iter().all(|(low, high)| low < high || (low, high) == (&None, &None)),
                    "{model}: {pairs:?}"
                );
                below = prices;
            }
        }
    }
}

#[test]
fn json_of_the_build_says_what_was_written() {
    for built_in in MANIFESTS {
        let built = load(built_in.json, &built_in.path(), Format::Json);
        assert_eq!(built.manifest, Some(manifest(built_in)), "{}", built_in.id);
        assert_eq!((built.diagnostics, built.ignored), (Vec::new(), Vec::new()), "{}", built_in.id);
    }
}

/// None of them holds a secret, so that every line may be shown beside a finding.
#[test]
fn nothing_in_them_is_taken_for_a_secret() {
    for built_in in MANIFESTS {
        assert_eq!(masked(built_in.text), built_in.text, "{}", built_in.id);
    }
}

/// What hides keys that were pasted hides nothing of what comes with the program.
#[test]
fn nothing_of_what_is_shown_is_hidden() {
    for built_in in MANIFESTS {
        let manifest = load(built_in.text, &built_in.path(), Format::Yaml).manifest.unwrap();
        assert_eq!(manifest.shown(), manifest, "{}", built_in.id);
        assert_eq!(masked(built_in.text), built_in.text, "{}", built_in.id);
    }
}
