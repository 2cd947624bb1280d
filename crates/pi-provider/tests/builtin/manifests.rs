//! The manifests that come with the program are what they say.

use std::collections::BTreeSet;

use pi_provider::{
    Manifest,
    builtin::{self, BuiltIn, MANIFESTS},
    manifest::load::{Format, load},
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
            for (kind, price) in model["pricing"].as_object().into_iter().flatten() {
                assert!(
                    price.as_f64().is_some_and(|price| (0.0..1000.0).contains(&price)),
                    "{}/{id} {kind}",
                    manifest.id
                );
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
