//! Every manifest that exists drives a request for a rich conversation with each of its models.

use std::path::{Path, PathBuf};

use pi_provider::{
    Call, CallError, Dialect, Manifest, Mode, Options, Target, builtin,
    manifest::load::{Format, load},
    request::build,
};
use pi_transcript::ThinkingLevel;
use serde_json::Value;

use crate::golden::rich;

/// Asks each model at three levels as a stream, and once as a whole; what is not text may be missing, but nothing else may go wrong.
fn check(manifest: &Manifest) {
    let mut models: Vec<_> = manifest.models.iter().map(|(id, entry)| (id.as_str(), Some(entry))).collect();
    models.push(("a-model-that-nobody-knows", None));
    for (model, entry) in models {
        let dialect = Dialect::of(manifest, entry);
        let mut prompt = rich(dialect.api());
        let lookup = |name: &str| Some(format!("value-of-{}", name.to_lowercase().replace('_', "-")));
        let target = Target { manifest, model, entry, base_url: None, lookup: &lookup };
        for thinking in [ThinkingLevel::Off, ThinkingLevel::Low, ThinkingLevel::Max] {
            let modes: &[Mode] =
                if thinking == ThinkingLevel::Off { &[Mode::Whole, Mode::Stream] } else { &[Mode::Stream] };
            for &mode in modes {
                let options = Options { thinking, ..Options::plain() };
                let built = build(&target, Call { prompt: &prompt, options: &options }, mode);
                let request = match built {
                    Err(CallError::Undeclared { .. }) if !prompt.tools.is_empty() => {
                        prompt.tools.clear();
                        build(&target, Call { prompt: &prompt, options: &options }, mode)
                    }
                    built => built,
                };
                let request = request.unwrap_or_else(|error| panic!("{} {model}: {error}", manifest.id));
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                let text = body.to_string();
                let place = format!("{} {model} {thinking} {mode:?} {}", manifest.id, request.address.url);
                assert!(text.contains("What is in these?") && text.contains("Go on."), "{place}");
                assert!(!text.contains("$level"), "{place}");
                let thinks = entry.and_then(|entry| entry.model_capabilities.reasoning) == Some(true);
                let is_told = request.provider_thinking.is_some();
                assert!(!thinks || thinking == ThinkingLevel::Off || is_told, "{place}: {:?}", request.changes);
                assert!(!request.address.url.as_str().contains(['{', '$']), "{place}");
                assert!(["http", "https"].contains(&request.address.url.scheme()), "{place}");
            }
        }
    }
}

fn load_text(text: &str, file: &str) -> Manifest {
    let loaded = load(text, file, Format::of_file(file));
    loaded.manifest.unwrap_or_else(|| panic!("{file}: {:?}", loaded.diagnostics))
}

#[test]
fn the_manifests_that_come_with_the_program() {
    for built_in in builtin::MANIFESTS {
        check(&load_text(built_in.text, &built_in.path()));
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "this test reads manifests that others wrote")]
fn the_manifests_of_others_in_three_generations() {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/ai-protocol"));
    if !root.is_dir() {
        eprintln!("SKIPPED: {} is not there", root.display());
        return;
    }
    let mut count = 0;
    for folder in ["v1/providers", "v2-alpha/providers", "v2/providers"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path: &Path = &entry.unwrap().path();
            check(&load_text(&std::fs::read_to_string(path).unwrap(), &path.to_string_lossy()));
            count += 1;
        }
    }
    assert!(count >= 20, "only {count} manifests were found");
}
