//! Every manifest that the standard's repository holds loads.

#![expect(clippy::disallowed_methods, clippy::print_stderr, reason = "reads the shared data, and says if it is absent")]

use std::path::{Path, PathBuf};

use pi_provider::manifest::{self, Format};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/ai-protocol");

#[test]
fn every_manifest_of_the_standard_loads() {
    for file in ["v1/providers", "v2/providers", "v2-alpha/providers"].into_iter().flat_map(files) {
        let text = std::fs::read_to_string(&file).unwrap();
        let loaded = manifest::load(&text, &file.display().to_string(), Format::Yaml);
        let errors: Vec<String> = loaded.errors().map(ToString::to_string).collect();
        assert_eq!((errors, loaded.manifest.is_some()), (Vec::new(), true), "{}", file.display());
    }
}

fn files(folder: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(Path::new(DATA).join(folder)) else {
        eprintln!("SKIPPED: {folder} of the shared data is absent");
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.sort();
    files
}
