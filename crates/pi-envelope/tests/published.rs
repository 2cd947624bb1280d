//! What we publish is what the types say.
//!
//! `UPDATE=1 cargo test -p pi-envelope --test published` writes the schema anew.

use pi_envelope::schema;

#[test]
#[expect(clippy::disallowed_methods, reason = "this test reads and writes the published file")]
fn the_committed_schema_is_the_generated_one() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/prompt_envelope.json");
    let generated = serde_json::to_string_pretty(&schema::envelope()).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    assert!(committed == generated, "docs/schema/prompt_envelope.json is old: run `cargo xtask codegen`");
}

#[test]
fn the_examples_of_the_page_are_right() {
    let page = include_str!("../../../docs/envelope.md");
    let examples: Vec<&str> = page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(examples.len(), 3);
    assert_eq!(pi_envelope::validate(examples[0].as_bytes()), Ok(()));
    for segment in &examples[1..] {
        let segment: pi_envelope::Segment = serde_json::from_str(segment).unwrap();
        let meta = segment.ours().unwrap();
        assert!(meta.extra.is_empty() && segment.extra.is_empty(), "the page shows only what we write: {meta:?}");
    }
}

#[test]
fn typescript_declares_every_type_that_it_uses() {
    let module = schema::typescript();
    let declared: Vec<&str> =
        module.lines().filter_map(|line| line.strip_prefix("export type ")?.split([' ', '<']).next()).collect();
    for expected in
        ["Envelope", "EnvelopeMessage", "Segment", "Body", "SegmentMeta", "Origin", "Diff", "Stats", "Usage"]
    {
        assert!(declared.contains(&expected), "{expected} is missing");
    }
    let code: String = module.lines().filter(|line| !line.trim_start().starts_with(['*', '/'])).collect();
    let without_strings: String = code.split('"').step_by(2).collect();
    let known = ["Record", "Array"];
    for word in
        without_strings.split(|c: char| !c.is_alphanumeric()).filter(|word| word.starts_with(char::is_uppercase))
    {
        assert!(declared.contains(&word) || known.contains(&word), "{word} is used but not declared");
    }
}
