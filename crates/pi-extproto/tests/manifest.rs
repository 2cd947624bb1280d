//! `extension.json`: what is accepted, what is refused with which words, and that the schema says the same.

use std::sync::LazyLock;

use jsonschema::Validator;
use pi_extproto::{
    manifest::{self, NoTier, Tier},
    schema,
};
use proptest::prelude::*;
use serde_json::{Value, json};

static SCHEMA: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::draft202012::new(&schema::manifest()).expect("a schema"));

fn base() -> Value {
    json!({
        "name": "@acme/git-notes", "version": "1.2.3-beta.1+7", "api_version": "1.0", "entry": "src/main.ts",
        "description": "d", "license": "MIT", "homepage": "https://example.org", "capabilities": ["read"],
        "capability_manifest": { "schema": "pi.ext.cap.v1", "capabilities": [{ "capability": "exec" }] },
        "assets": ["icons", "data/words.txt"], "x-kept": { "a": [1.0] },
    })
}

/// The paths of the problems; the schema must come to the same verdict.
fn judge(manifest: &Value) -> Vec<String> {
    let parsed = manifest::parse(&serde_json::to_vec(manifest).expect("JSON"));
    assert_eq!(SCHEMA.is_valid(manifest), parsed.is_ok(), "{manifest}: {parsed:?}");
    match parsed {
        Ok(parsed) => {
            assert_eq!(serde_json::to_value(&parsed).expect("JSON"), *manifest);
            Vec::new()
        }
        Err(problems) => problems.into_iter().map(|problem| problem.path).collect(),
    }
}

#[track_caller]
fn check(member: &str, value: Value, expected: &[&str]) {
    let mut manifest = base();
    manifest[member] = value;
    assert_eq!(judge(&manifest), expected, "{member} {}", manifest[member]);
}

#[test]
fn whole_manifest_reads_back() {
    assert_eq!(judge(&base()), [""; 0]);
    let small = json!({ "name": "a", "version": "0.0.0", "api_version": "1.0", "entry": "a.wasm" });
    assert_eq!(judge(&small), [""; 0]);
}

#[test]
fn names_are_plain() {
    for name in ["a", "0", "my-ext", "ext.my_ext", "@a/b", "@a.b/c-d", &"x".repeat(214)] {
        check("name", json!(name), &[]);
    }
    for name in ["", "A", "-a", ".a", "_a", "a b", "a/b", "@a", "@/b", "@a/", "@a/b/c", "é", "a\n", &"x".repeat(215)] {
        check("name", json!(name), &["name"]);
    }
}

#[test]
fn versions_are_semantic() {
    for version in
        ["0.0.0", "1.2.3", "10.20.30-rc.1", "1.0.0--", "1.0.0-0a", "1.0.0+001", "1.0.0-a+b.c", "999999999999999.0.0"]
    {
        check("version", json!(version), &[]);
    }
    for version in [
        "",
        "1",
        "1.2",
        "1.2.3.4",
        "01.2.3",
        "1.2.3-",
        "1.2.3-01",
        "1.2.3-a..b",
        "1.2.3+",
        "v1.2.3",
        "1.2.3 ",
        "1000000000000000.0.0",
    ] {
        check("version", json!(version), &["version"]);
    }
    check("api_version", json!("2.0"), &["api_version"]);
}

#[test]
fn files_stay_inside_the_folder() {
    for path in ["/etc/a.js", "../a.js", "a/../../b.js", "a\\b.js", "C:/a.js", "a\u{0}.js", "a\n/../b.js"] {
        check("entry", json!(path), &["entry"]);
        check("assets", json!(["ok", path]), &["assets[1]"]);
    }
    check("entry", json!("./a..b/..c.js"), &[]);
}

#[test]
fn entry_is_a_file_or_a_server() {
    check("entry", json!({ "command": "server", "args": ["-v"], "env": { "A": "b" } }), &[]);
    check("entry", json!({ "url": "https://example.org/mcp", "headers": { "X": "y" } }), &[]);
    for entry in
        [json!({}), json!(1), json!(null), json!({ "command": 1 }), json!({ "url": "https://a", "headers": 1 })]
    {
        check("entry", entry, &["entry"]);
    }
    check("entry", json!({ "command": "" }), &["entry.command"]);
    check("entry", json!({ "url": "ftp://a" }), &["entry.url"]);
    check("entry", json!({ "command": "", "url": "https://a" }), &["entry"]);
    check("entry", json!({ "command": 1, "url": "https://a" }), &["entry"]);
}

#[test]
fn shape_is_explained_member_by_member() {
    let manifest = json!({
        "name": 1, "version": "1", "entry": [], "engine": "lua", "assets": [1, "/a"], "description": null,
        "capability_manifest": { "schema": "pi.ext.cap.v1", "capabilities": [{ "scope": { "paths": "x" } }] },
    });
    let expected = [
        "name",
        "api_version",
        "engine",
        "description",
        "capability_manifest.capabilities[0].capability",
        "capability_manifest.capabilities[0].scope.paths",
        "assets[0]",
        "version",
        "entry",
        "assets[1]",
    ];
    assert_eq!(judge(&manifest), expected);
}

#[test]
fn engine_decides_before_the_entry_does() {
    let check = |entry: Value, engine: Option<&str>, expected: Result<Tier, &str>| {
        let mut manifest = base();
        manifest["entry"] = entry;
        if let Some(engine) = engine {
            manifest["engine"] = json!(engine);
        }
        let paths = judge(&manifest);
        let entry = serde_json::from_value(manifest["entry"].clone()).expect("an entry");
        let engine = manifest.get("engine").map(|engine| serde_json::from_value(engine.clone()).expect("an engine"));
        let tier = manifest::tier(&entry, engine);
        assert_eq!(tier.is_ok(), paths.is_empty(), "{manifest}");
        assert_eq!(tier.map_err(|reason: NoTier| reason.to_string()), expected.map_err(str::to_owned), "{manifest}");
    };
    for file in ["a.js", "a.mjs", "a.cjs", "a.jsx", "a.ts", "a.mts", "a.cts", "a.tsx"] {
        check(json!(file), None, Ok(Tier::Js));
    }
    check(json!("a.wasm"), None, Ok(Tier::Wasm));
    check(json!("a.bin"), None, Err(r#"nothing is known about files like "a.bin""#));
    check(json!("a.bin"), Some("wasm"), Ok(Tier::Wasm));
    check(json!("a.wasm"), Some("js"), Ok(Tier::Js));
    check(json!("a.js"), Some("mcp"), Err("the engine mcp does not run a file"));
    check(json!({ "command": "c" }), None, Ok(Tier::Mcp));
    check(json!({ "url": "http://localhost:1" }), Some("mcp"), Ok(Tier::Mcp));
    check(json!({ "command": "c" }), Some("js"), Err("the engine js does not run an MCP server"));
}

#[test]
fn text_that_is_not_a_manifest_is_refused_without_panic() {
    for bytes in [&b""[..], b"{", b"[]", b"null", b"\xff", &b"[".repeat(100_000)] {
        assert!(manifest::parse(bytes).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn schema_and_parser_agree_on_texts(
        name in "[@a-cA._/ -]{0,8}", version in "[0-2a.+-]{0,10}", entry in "[a./:\\\\-]{0,8}(js|wasm|x)?",
        asset in "[a./:\\\\\n]{0,6}",
    ) {
        let mut manifest = base();
        manifest["name"] = json!(name);
        judge(&manifest);
        manifest["version"] = json!(version);
        judge(&manifest);
        let mut manifest = base();
        manifest["entry"] = json!(entry);
        judge(&manifest);
        manifest["assets"] = json!([asset]);
        judge(&manifest);
    }

    #[test]
    fn schema_and_parser_agree_on_mistaken_members(
        member in proptest::sample::select(base().as_object().expect("an object").keys().cloned().collect::<Vec<_>>()),
        value in proptest::sample::select(vec![
            json!(null), json!(1), json!(""), json!("js"), json!([]), json!([1]), json!({}), json!(true), json!(["a"]),
            json!({ "command": "a" }), json!({ "schema": "pi.ext.cap.v1", "capabilities": [] }),
        ]),
    ) {
        let mut manifest = base();
        manifest[&member] = value;
        judge(&manifest);
        manifest["engine"] = manifest[&member].clone();
        judge(&manifest);
    }
}
