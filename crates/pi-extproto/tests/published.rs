//! What `docs` publishes is what the types say.
//!
//! `UPDATE=1 cargo test -p pi-extproto --test published` writes the files anew.

use pi_extproto::schema;
use serde_json::Value;

#[track_caller]
fn check(path: &str, generated: &str) {
    let file = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE").is_some() {
        #[expect(clippy::disallowed_methods, reason = "this test is the writer of the published files")]
        std::fs::write(&file, generated).expect("the file can be written");
    }
    #[expect(clippy::disallowed_methods, reason = "this test reads the published files")]
    let published = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(published == generated, "{path} is out of date: UPDATE=1 cargo test -p pi-extproto --test published");
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

#[test]
fn typescript_names_every_type_once() {
    let module = schema::typescript();
    let mut names: Vec<_> = module
        .lines()
        .filter_map(|line| line.strip_prefix("export type "))
        .map(|line| line.split([' ', '=']).next().expect("a name"))
        .collect();
    assert!(names.len() > 60, "{}", names.len());
    names.sort_unstable();
    let repeated: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(repeated.is_empty(), "{repeated:?}");
}
