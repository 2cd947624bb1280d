//! The committed schema and types are those that the crate makes.

use std::path::PathBuf;

use pi_wire::schema;

fn path(relative: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(relative)
}

/// Compares a committed file with what is made now, or writes it when `UPDATE` is set.
#[expect(clippy::disallowed_methods, reason = "the test reads and writes files of the repository")]
fn check(relative: &str, made: &str) {
    let path = path(relative);
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(&path, made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let line = committed.lines().zip(made.lines()).position(|(old, new)| old != new).map(|line| line + 1);
    assert!(committed == made, "{relative} differs from line {line:?} on: run `cargo xtask codegen`");
}

#[test]
fn the_committed_schema_is_current() {
    check("docs/schema/wire.json", &format!("{}\n", serde_json::to_string_pretty(&schema::json()).unwrap()));
}

#[test]
fn the_committed_types_are_current() {
    check("clients/typescript/src/wire.ts", &schema::typescript());
}
