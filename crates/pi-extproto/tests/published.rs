//! What `docs` publishes is what the types say. `cargo xtask codegen` writes the files.

use std::collections::BTreeMap;

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

/// A module that `pi schema … --format ts` prints.
struct Module(String);

impl Module {
    /// Every one, with how many types it declares at least and the type that it is about.
    fn all() -> [(Self, usize, &'static str); 3] {
        use schema::typescript::{log, manifest, protocol};
        [(Self(protocol()), 80, "Message"), (Self(manifest()), 8, "ExtensionManifest"), (Self(log()), 8, "LogEntry")]
    }

    /// The declarations, each with its name.
    fn declarations(&self) -> Vec<(&str, &str)> {
        let declarations = self.0.split("export type ").skip(1);
        declarations.map(|declaration| declaration.split_once(" = ").expect("a declaration")).collect()
    }
}

#[test]
fn typescript_declares_every_type_once() {
    for (module, least, subject) in Module::all() {
        let mut names: Vec<_> = module.declarations().into_iter().map(|(name, _)| name).collect();
        assert!(names.len() >= least && names.first() == Some(&subject), "{names:?}");
        names.sort_unstable();
        let repeated: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(repeated.is_empty(), "{repeated:?}");
    }
}

#[test]
fn typescript_mentions_only_what_it_declares() {
    for (module, _, subject) in Module::all() {
        let declarations = module.declarations();
        for (name, body) in &declarations {
            let code: String = body
                .lines()
                .filter(|line| !line.trim_start().starts_with(['/', '*']))
                .flat_map(|line| line.split('"').step_by(2))
                .collect::<Vec<_>>()
                .join(" ");
            let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
            for word in words.filter(|word| word.starts_with(char::is_uppercase) && *word != "Array") {
                let declared = declarations.iter().any(|(declared, _)| *declared == word);
                assert!(declared, "{name} mentions {word} in the module of {subject}");
            }
        }
    }
}

/// A member of the JSON Schema that the TypeScript lacks, or has as optional where it must be there, would mislead.
#[test]
fn typescript_and_json_schema_name_the_same_members() {
    use schema::typescript;
    for (module, name, schema) in [
        (Module(typescript::manifest()), "ExtensionManifest", schema::manifest()),
        (Module(typescript::log()), "LogEntry", schema::log()),
    ] {
        let required = |member: &str| schema["required"].as_array().is_some_and(|it| it.iter().any(|it| it == member));
        let properties = schema["properties"].as_object().expect("members");
        let expected: BTreeMap<&str, bool> = properties.keys().map(|member| (&**member, required(member))).collect();
        let declarations = module.declarations();
        let (_, body) = declarations.iter().find(|(it, _)| *it == name).expect("it is declared");
        assert_eq!(members(body), expected, "{name}");
    }
}

/// The members of a declared object, and whether each must be there.
fn members(body: &str) -> BTreeMap<&str, bool> {
    let code = body.lines().filter(|line| !line.trim_start().starts_with(['/', '*']));
    let names = code.flat_map(|line| line.trim_start_matches('{').split(", ")).filter_map(|member| {
        let (name, _) = member.trim().split_once(": ")?;
        (!name.contains('[')).then_some(name)
    });
    names.map(|name| (name.trim_end_matches('?'), !name.ends_with('?'))).collect()
}
