//! The files of the standard itself: all of them load. Its cases are run by the program `compliance`.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use insta::assert_snapshot;
use pi_provider::{
    catalog::{Catalog, Origin, Source},
    credential::Trust,
    manifest::{self, Format, Loaded, load_contract, load_models},
};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/ai-protocol");

/// The files of a folder by name, or nothing where the data is absent.
fn files(folder: &str) -> Vec<PathBuf> {
    let Ok(entries) = Path::new(DATA).join(folder).read_dir() else {
        // Not a print macro: those are swallowed when the test passes.
        let notice = format!("SKIPPED: {folder} of the shared data is not there\n");
        std::io::stderr().write_all(notice.as_bytes()).unwrap();
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[expect(clippy::disallowed_methods, reason = "the data lies beside the repository, not in it")]
fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn load(path: &Path) -> Loaded {
    let name = path.strip_prefix(DATA).unwrap().display().to_string();
    manifest::load(&text(path), &name, Format::of_file(&name))
}

fn manifests() -> impl Iterator<Item = PathBuf> {
    ["v1/providers", "v2/providers", "v2-alpha/providers"].into_iter().flat_map(files)
}

#[test]
fn every_manifest_loads_and_what_is_odd_about_it_is_known() {
    let mut out = String::new();
    for path in manifests() {
        let loaded = load(&path);
        assert!(loaded.manifest.is_some(), "{:?}", loaded.diagnostics);
        out.extend(loaded.diagnostics.iter().map(|found| format!("{found}\n")));
        let file = path.strip_prefix(DATA).unwrap().display().to_string();
        out.extend(
            loaded.ignored.iter().map(|found| format!("{file}:{}:{}: {}\n", found.line, found.column, found.path)),
        );
    }
    if out.is_empty() {
        return;
    }
    assert_snapshot!(out, @r#"
    v1/providers/anthropic.yaml:45:3: retry_policy.notes
    v1/providers/anthropic.yaml:94:3: termination.notes
    v1/providers/cohere.yaml:47:12: warning[ring3.termination]: "error" is not a standard reason; the nearest one is taken (termination.mapping.ERROR)
    v1/providers/cohere.yaml:48:3: termination.notes
    v1/providers/deepseek.yaml:28:3: termination.notes
    v1/providers/deepseek.yaml:55:3: retry_policy.notes
    v1/providers/gemini.yaml:102:5: warning[ring1.least-statuses]: 401 must be mapped too; the usual meaning is assumed (error_classification.by_http_status)
    v1/providers/gemini.yaml:68:3: termination.notes
    v1/providers/gemini.yaml:96:3: retry_policy.notes
    v1/providers/groq.yaml:1:1: note[promote.error-classification]: the usual meaning of each status is assumed (error_classification)
    v1/providers/groq.yaml:28:3: termination.notes
    v1/providers/groq.yaml:57:3: retry_policy.notes
    v1/providers/openai.yaml:65:3: termination.notes
    v1/providers/openai.yaml:96:3: retry_policy.notes
    v1/providers/qwen.yaml:28:3: termination.notes
    v1/providers/qwen.yaml:61:3: retry_policy.notes
    v1/providers/together.yaml:36:3: warning[ring2.streaming]: streaming is declared and not described; the usual stream of the dialect is assumed (streaming)
    v1/providers/zhipu.yaml:47:3: termination.notes
    v2/providers/deepseek.yaml:32:12: warning[ring1.error-name]: "insufficient_quota" is not a standard error; it is read as quota_exhausted (error_classification.by_http_status.402)
    "#);
}

#[test]
fn every_manifest_is_written_as_a_file_that_loads_as_the_same() {
    for path in manifests() {
        let mut first = load(&path).manifest.unwrap();
        let written = manifest::to_yaml(&first);
        let again = manifest::load(&written, "written.yaml", Format::Yaml);
        assert_eq!(again.errors().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new(), "{written}");
        first.protocol_version = "2.0".to_owned();
        assert_eq!(again.manifest, Some(first), "{}", path.display());
    }
}

#[test]
fn files_of_models_and_contracts_load_and_find_their_providers() {
    let mut models = Vec::new();
    for path in files("v1/models") {
        let loaded = load_models(&text(&path), "models.yaml", Format::Yaml);
        assert_eq!((loaded.diagnostics, loaded.ignored), (Vec::new(), Vec::new()));
        for (provider, entries) in loaded.models {
            models.extend(entries.into_iter().map(|(id, entry)| (provider.clone(), id, entry)));
        }
    }
    let lines = models.iter().map(|(provider, id, entry)| {
        let price = entry.pricing.as_ref().map(|pricing| (pricing.input_per_1m, pricing.output_per_1m));
        format!(
            "{provider}/{id} {:?} {:?} {price:?} {:?}\n",
            entry.model_id, entry.context_window, entry.model_capabilities
        )
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return;
    }
    assert_snapshot!(lines, @r#"
    anthropic/claude-3-5-sonnet Some("claude-3-5-sonnet-20241022") Some(200000) Some((Some(3.0), Some(15.0))) ModelCapabilities { tool_call: Some(true), structured_output: None, reasoning: Some(true), attachment: Some(true), others: {} }
    anthropic/claude-3-5-haiku Some("claude-3-5-haiku-20241022") Some(200000) Some((Some(0.8), Some(4.0))) ModelCapabilities { tool_call: Some(true), structured_output: None, reasoning: None, attachment: Some(true), others: {} }
    anthropic/claude-3-opus Some("claude-3-opus-20240229") Some(200000) Some((Some(15.0), Some(75.0))) ModelCapabilities { tool_call: Some(true), structured_output: None, reasoning: Some(true), attachment: Some(true), others: {} }
    openai/gpt-4o Some("gpt-4o") Some(128000) Some((Some(5.0), Some(15.0))) ModelCapabilities { tool_call: Some(true), structured_output: None, reasoning: Some(true), attachment: Some(true), others: {} }
    openai/gpt-4o-mini Some("gpt-4o-mini") Some(128000) Some((Some(0.15), Some(0.6))) ModelCapabilities { tool_call: Some(true), structured_output: None, reasoning: None, attachment: Some(true), others: {} }
    openai/gpt-4-turbo Some("gpt-4-turbo") Some(128000) Some((Some(10.0), Some(30.0))) ModelCapabilities { tool_call: Some(true), structured_output: None, reasoning: None, attachment: Some(true), others: {} }
    openai/gpt-4.1 Some("gpt-4.1") Some(128000) None ModelCapabilities { tool_call: Some(true), structured_output: None, reasoning: Some(true), attachment: Some(true), others: {} }
    openai/gpt-35-turbo Some("gpt-3.5-turbo") Some(16385) Some((Some(1.5), Some(2.0))) ModelCapabilities { tool_call: Some(true), structured_output: None, reasoning: None, attachment: None, others: {} }
    "#);

    for path in files("v2/contracts") {
        let loaded = load_contract(&text(&path), "contract.yaml", Format::Yaml);
        assert_eq!((loaded.diagnostics, loaded.ignored), (Vec::new(), Vec::new()));
        assert!(loaded.contract.is_some());
    }
    let source = Source::folder(Origin::CommandLine, &Path::new(DATA).join("v2"), Trust::Trusted);
    let catalog = Catalog::load(&[source]);
    for (name, style) in
        [("anthropic", "anthropic_messages"), ("gemini", "gemini_generate"), ("google", "gemini_generate")]
    {
        let contract = &catalog.provider(name).unwrap().manifest.contract;
        assert_eq!(serde_json::to_value(contract.api_style).unwrap(), style, "{name}");
    }
}
