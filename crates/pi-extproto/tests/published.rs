//! What `docs` publishes is what the types say. `cargo xtask codegen` writes the files.

use pi_extproto::schema;
use serde_json::Value;

#[track_caller]
fn check(path: &str, generated: &str) {
    let file = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    #[expect(clippy::disallowed_methods, reason = "this test reads the published files")]
    let published = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("cannot read {path}: {error}"));
    assert!(published == generated, "{path} is out of date: run `cargo xtask codegen` and commit what it writes");
}

fn pretty(schema: &Value) -> String {
    serde_json::to_string_pretty(schema).expect("JSON") + "\n"
}

#[test]
fn protocol_schema_is_published() {
    check("docs/schema/extension_protocol.json", &pretty(&schema::protocol()));
}

#[test]
fn manifest_schema_is_published() {
    check("docs/schema/extension_manifest.json", &pretty(&schema::manifest()));
}

#[test]
fn log_schema_is_published() {
    check("docs/schema/extension_log.json", &pretty(&schema::log()));
}

#[test]
fn wit_is_published() {
    check("docs/wit/extension.wit", schema::WIT);
}

/// The declarations of the module, each with its name.
fn declarations(module: &str) -> Vec<(&str, &str)> {
    let declarations = module.split("export type ").skip(1);
    declarations.map(|declaration| declaration.split_once(" = ").expect("a declaration")).collect()
}

#[test]
fn typescript_declares_every_type_once() {
    let module = schema::typescript();
    let mut names: Vec<_> = declarations(&module).into_iter().map(|(name, _)| name).collect();
    assert!(names.len() > 80, "{}", names.len());
    names.sort_unstable();
    let repeated: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(repeated.is_empty(), "{repeated:?}");
}

#[test]
fn typescript_mentions_only_what_it_declares() {
    let module = schema::typescript();
    let declarations = declarations(&module);
    for (name, body) in &declarations {
        let code: String = body
            .lines()
            .filter(|line| !line.trim_start().starts_with(['/', '*']))
            .flat_map(|line| line.split('"').step_by(2))
            .collect::<Vec<_>>()
            .join(" ");
        let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        for word in words.filter(|word| word.starts_with(char::is_uppercase) && *word != "Array") {
            assert!(declarations.iter().any(|(declared, _)| *declared == word), "{name} mentions {word}");
        }
    }
}
