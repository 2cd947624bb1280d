//! `pi schema`: every form that exists, and a clear answer for those that do not.

use insta::assert_snapshot;

use crate::world::World;

const FORMS: [(&str, &[&str]); 6] = [
    ("wire", &["json", "ts"]),
    ("extension", &["json", "ts", "wit"]),
    ("manifest", &["json", "ts"]),
    ("envelope", &["json", "ts"]),
    ("log", &["json", "ts"]),
    ("policy", &["json"]),
];

#[test]
fn json_schemas_name_their_draft_and_end_with_a_line_end() {
    for (schema, _) in FORMS {
        let output = World::new().command(&format!("schema {schema}")).output().expect("pi runs");
        assert_eq!(output.status.code(), Some(0), "{schema}");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.ends_with("}\n"), "{schema}");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["$schema"], "https://json-schema.org/draft/2020-12/schema", "{schema}");
    }
}

#[test]
fn typescript_declares_and_wit_names_its_package() {
    for (schema, format, expected) in [
        ("wire", "ts", "export "),
        ("extension", "ts", "export type Message"),
        ("manifest", "ts", "export type ExtensionManifest"),
        ("envelope", "ts", "export type Envelope"),
        ("log", "ts", "export type LogEntry"),
        ("extension", "wit", "package pi:extension"),
    ] {
        let shown = World::new().run(&format!("schema {schema} --format {format}"));
        assert!(shown.contains(expected) && shown.ends_with("--- exit 0"), "{schema} {format}");
    }
}

#[test]
fn absent_form_names_those_that_exist() {
    for (schema, forms) in FORMS {
        for format in ["json", "ts", "wit"] {
            let shown = World::new().run(&format!("schema {schema} --format {format}"));
            let exit = if forms.contains(&format) { 0 } else { 2 };
            assert!(shown.ends_with(&format!("--- exit {exit}")), "{schema} {format}");
        }
    }
    assert_snapshot!(World::new().run("schema wire --format wit"), @r"
    --- on standard error
    error: the schema wire has no form wit
    hint: use --format json or --format ts
    --- exit 2
    ");
    assert_snapshot!(World::new().run("schema policy --format ts"), @r"
    --- on standard error
    error: the schema policy has no form ts
    hint: use --format json
    --- exit 2
    ");
}

#[test]
fn schemas_are_listed_when_none_or_another_is_named() {
    assert_snapshot!(World::new().run("schema"), @r"
    --- on standard error
    Print a schema: JSON Schema, TypeScript or WIT

    Usage: pi schema [OPTIONS] <SCHEMA>

    Arguments:
      <SCHEMA>  The name of a schema

    Options:
          --color <WHEN>     When to use colours [default: auto] [possible values: auto, always, never]
          --format <FORMAT>  In which language [default: json] [possible values: json, ts, wit]
      -h, --help             Print help (see more with '--help')

    Schemas:
      wire       What clients and server say (json, ts)
      extension  What an extension and its host say (json, ts, wit)
      manifest   The file extension.json (json, ts)
      envelope   The prompt envelope (json, ts)
      log        A line of an extension log (json, ts)
      policy     The policy in a settings file (json)
    --- exit 2
    ");
    assert_snapshot!(World::new().run("schema everything"), @r"
    --- on standard error
    error: invalid value 'everything' for '<SCHEMA>': the schemas are
      wire       What clients and server say (json, ts)
      extension  What an extension and its host say (json, ts, wit)
      manifest   The file extension.json (json, ts)
      envelope   The prompt envelope (json, ts)
      log        A line of an extension log (json, ts)
      policy     The policy in a settings file (json)

    For more information, try '--help'.
    --- exit 2
    ");
    assert_snapshot!(World::new().run("schema wire --format xml"), @r"
    --- on standard error
    error: invalid value 'xml' for '--format <FORMAT>'
      [possible values: json, ts, wit]

    For more information, try '--help'.
    --- exit 2
    ");
}
