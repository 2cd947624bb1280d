//! Manifests come from projects and from the net. Whatever a file holds, it is read without harm, every finding points
//! into it, and what is accepted can be written as a file that is accepted too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pi_provider::Manifest;
use pi_provider::catalog::{Catalog, Origin, Source, SourceFile};
use pi_provider::credential::Trust;
use pi_provider::manifest::diagnostic::{Severity, Style, render};
use pi_provider::manifest::{Format, load, to_yaml};

fuzz_target!(|text: &str| {
    for (path, format) in [("file.yaml", Format::Yaml), ("file.json", Format::Json)] {
        let loaded = load(text, path, format);
        // YAML ends a line at a carriage return, too.
        let lines = text.matches(['\n', '\r']).count() as u32 + 1;
        for found in &loaded.diagnostics {
            assert!(found.line <= lines, "{found}");
            assert!(render(found, text, Style::Plain).starts_with(found.severity.word()));
        }
        assert!(loaded.ignored.iter().all(|ignored| (1..=lines).contains(&ignored.line)), "{:?}", loaded.ignored);
        let has_error = loaded.diagnostics.iter().any(|found| found.severity == Severity::Error);
        assert_eq!(loaded.manifest.is_none(), has_error, "{:?}", loaded.diagnostics);
        if let Some(manifest) = loaded.manifest {
            // A null inside an open section is not written, so the first writing may lose one.
            let once = written(&manifest);
            assert_eq!(written(&once), once);
        }
        let file = SourceFile { path: path.to_owned(), text: Ok(text.to_owned()) };
        let source = Source { origin: Origin::Project, trust: Trust::UntrustedProject, files: vec![file] };
        assert!(Catalog::load(&[source]).providers().all(|entry| !entry.is_trusted()));
    }
});

fn written(manifest: &Manifest) -> Manifest {
    let again = load(&to_yaml(manifest), "written.yaml", Format::Yaml);
    again.manifest.unwrap_or_else(|| panic!("{:?}", again.diagnostics))
}
