//! Files that nobody means well: too large, too deep, too clever, or noise.

use pi_provider::manifest::{
    self, Format,
    diagnostic::{Style, render},
    load::load_any,
};
use proptest::prelude::*;

/// The rule that rejects the text.
fn rule(text: &str, format: Format) -> &'static str {
    let loaded = manifest::load(text, "file", format);
    assert_eq!(loaded.manifest, None);
    loaded.diagnostics.first().map_or("none", |found| found.rule.name())
}

#[test]
fn anchors_that_multiply_are_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*a{}, ", level - 1).repeat(9);
        text.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    assert_eq!(rule(&text, Format::Yaml), "file.budget");
    let merged: String =
        (1..40).map(|level| format!("m{level}: &m{level}\n  <<: [*m{0}, *m{0}]\n", level - 1)).collect();
    let merged = format!("m0: &m0 {{k: v}}\n{merged}");
    assert!(manifest::load(&merged, "file", Format::Yaml).manifest.is_none());
}

#[test]
fn deep_and_large_files_are_refused() {
    let deep = 3_000;
    let braces = format!("{}{}", "{\"a\":".repeat(deep), "}".repeat(deep));
    assert_eq!(rule(&braces, Format::Json), "file.budget");
    assert_eq!(rule(&"[".repeat(deep), Format::Json), "file.budget");
    for text in [&braces, &"[".repeat(deep), &"- ".repeat(deep), &"? ".repeat(deep), &"a: \n".repeat(3)] {
        assert!(rule(text, Format::Yaml).starts_with("file."), "{}", &text[..20.min(text.len())]);
    }
    let large = format!("id: {}", "a".repeat(5 << 20));
    assert_eq!(rule(&large, Format::Yaml), "file.size");
    assert_eq!(rule(&large, Format::Json), "file.size");
    let members: Vec<String> = (0..6_000).map(|number| format!("\"k{number}\":1")).collect();
    let members = format!("{{{}}}", members.join(","));
    assert_eq!(rule(&members, Format::Json), "file.budget");
    assert_eq!(rule(&members, Format::Yaml), "file.budget");
    let many = format!("list: [{}]", "1,".repeat(101_000));
    assert_eq!(rule(&many, Format::Yaml), "file.budget");
    assert_eq!(rule(&format!("[{}1]", "1,".repeat(101_000)), Format::Json), "file.budget");
}

#[test]
fn places_in_json_are_counted_in_lines_and_characters() {
    let text = "{\r\n  \"naïve\": \"π\", \"id\": tru\n}";
    let found = &manifest::load(text, "file.json", Format::Json).diagnostics[0];
    assert_eq!((found.rule.name(), found.line, found.column), ("file.syntax", 2, 23));
    let twice = &manifest::load("{\"a\": 1,\n \"\\u0061\": 2}", "file.json", Format::Json).diagnostics[0];
    assert_eq!((twice.rule.name(), twice.line, twice.column), ("file.duplicate-key", 2, 2));
}

const SMALLEST: &str = r#"{"id": "acme", "protocol_version": "2.0",
 "endpoint": {"base_url": "https://acme.example", "chat": "/chat", "auth": {"type": "bearer", "header": "Authorization"}},
 "error_classification": {"by_http_status": {"400": "invalid_request", "401": "authentication", "429": "rate_limited",
  "500": "server_error"}}}"#;

/// A value of any shape without `null` in it, which is written as absence.
fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        (-1e6..1e6).prop_map(|number: f64| number.into()),
        "[a-z0-9$.{}*/: é]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec(("[a-z_]{1,8}", inner), 0..4)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Sections of a manifest, each with a value of any shape.
const SECTIONS: [&str; 30] = [
    "id",
    "aliases",
    "protocol_version",
    "endpoint",
    "auth",
    "core",
    "error_classification",
    "capabilities",
    "parameters",
    "streaming",
    "endpoints",
    "services",
    "rate_limit_headers",
    "retry_policy",
    "termination",
    "guardrails",
    "provider_contract",
    "metadata",
    "api_families",
    "availability",
    "pricing",
    "context_policy",
    "multimodal",
    "computer_use",
    "mcp",
    "capability_profile",
    "features",
    "experimental",
    "tooling",
    "response_paths",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,200}", lines in prop::collection::vec("[ -~\t]{0,30}", 0..12)) {
        for text in [text, lines.join("\n")] {
            for format in [Format::Yaml, Format::Json] {
                load_any(&text, "file", format);
                let loaded = manifest::load(&text, "file", format);
                for found in &loaded.diagnostics {
                    render(found, &text, Style::Ansi);
                }
            }
        }
    }

    /// A section of any shape never makes the loader panic; a manifest that is accepted can be written and read again.
    #[test]
    fn any_section_is_read_without_panic(
        first in prop::sample::select(SECTIONS.to_vec()), one in value(),
        second in prop::sample::select(SECTIONS.to_vec()), two in value(),
        version in prop::sample::select(vec!["2.0", "1.5", "1.1"]),
    ) {
        let mut document: serde_json::Value = serde_json::from_str(SMALLEST).expect("a document");
        document["protocol_version"] = version.into();
        document[first] = one;
        document[second] = two;
        let text = document.to_string();
        let loaded = manifest::load(&text, "file", Format::Json);
        let as_yaml = manifest::load(&text, "file", Format::Yaml);
        prop_assert_eq!(&loaded.manifest, &as_yaml.manifest);
        if let Some(mut manifest) = loaded.manifest {
            let again = manifest::load(&manifest::to_yaml(&manifest), "again", Format::Yaml);
            manifest.protocol_version = "2.0".to_owned();
            prop_assert_eq!(Some(manifest), again.manifest, "{:?}", again.diagnostics);
        }
    }

    /// Our reader of JSON accepts what `serde_json` accepts, but for depth and keys that occur twice.
    #[test]
    fn json_is_what_serde_json_says_it_is(text in "[\\[\\]{}\",:0-9a-e.\\\\ \n+-]{0,24}") {
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        let ours = manifest::load(&text, "file", Format::Json);
        let refused = ours.diagnostics.iter().any(|found| found.rule.name() == "file.syntax" && !found.message.starts_with("an object is"));
        let twice = ours.diagnostics.iter().any(|found| found.rule.name() == "file.duplicate-key");
        prop_assert!(twice || refused == theirs.is_err(), "{:?} {:?}", theirs, ours.diagnostics);
    }
}
