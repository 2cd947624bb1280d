//! The published schema and TypeScript say what the parser does.

use std::{collections::HashMap, sync::LazyLock};

use jsonschema::Validator;
use pi_transcript::{
    AgentEvent, ContextUsage, Entry, Header, Line, Model, SessionInfo, SessionStats, json::schema, question::Answer,
};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde_json::{Value, json};
use ts_rs::{Config, TS};

use crate::change::{LINES, any_line, config};

/// The schema of every type of entry, and of the header, by type.
///
/// The schema of any entry has a last branch for entries that we do not know, and so accepts nearly all; what is
/// interesting is the branch that a line's own type selects.
static BRANCHES: LazyLock<HashMap<String, Validator>> = LazyLock::new(|| {
    let entry = schema::generator().into_root_schema_for::<Entry>().to_value();
    let named = entry["anyOf"].as_array().unwrap().iter().filter_map(|branch| {
        let kind = branch["properties"]["type"]["const"].as_str()?;
        let mut schema = branch.clone();
        schema["$defs"] = entry["$defs"].clone();
        Some((kind.to_owned(), schema))
    });
    let header = ("session".to_owned(), schema::generator().into_root_schema_for::<Header>().to_value());
    let all = named.chain([header]);
    all.map(|(kind, schema)| (kind, jsonschema::validator_for(&schema).unwrap())).collect()
});

/// Whether the parser gave the line the type that it names.
fn is_known(line: &Line) -> bool {
    match line {
        Line::Header(_) => true,
        Line::Entry(entry) => !matches!(**entry, Entry::Other(_)),
        Line::Foreign(_) | Line::Unreadable(_) => false,
    }
}

/// For JSON Schema `1.0` is an integer; for us it is a double, and a line that has it where an integer belongs stays raw.
fn has_whole_double(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|double| double.fract() == 0.0),
        Value::Array(items) => items.iter().any(has_whole_double),
        Value::Object(object) => object.values().any(has_whole_double),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

#[test]
fn lines_of_every_type_are_valid() {
    assert_eq!(BRANCHES.len(), 12);
    for line in LINES.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        match BRANCHES.get(value["type"].as_str().unwrap()) {
            Some(schema) => assert!(schema.is_valid(&value), "{line}"),
            None => assert_eq!(value["type"], "later_entry"),
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn schema_and_parser_agree(value in any_line()) {
        let schema = value["type"].as_str().and_then(|kind| BRANCHES.get(kind));
        let valid = schema.is_some_and(|schema| schema.is_valid(&value));
        let known = is_known(&Line::from(value.clone()));
        prop_assert!(valid || !known, "the parser takes what the schema refuses: {}", value);
        prop_assert!(known || !valid || has_whole_double(&value), "the schema takes what the parser refuses: {}", value);
    }
}

/// The members of the schema of `T` that may be `null`, as `Type.member`.
fn nullable_members<T: JsonSchema>() -> Vec<String> {
    let schema = schema::generator().into_root_schema_for::<T>().to_value();
    let mut found = Vec::new();
    let title = schema["title"].as_str().unwrap().to_owned();
    let definitions = schema["$defs"].as_object().cloned().unwrap_or_default();
    for (name, definition) in definitions.iter().chain([(&title, &schema)]) {
        collect_nullable(name, definition, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

fn collect_nullable(name: &str, schema: &Value, found: &mut Vec<String>) {
    for (member, property) in schema["properties"].as_object().into_iter().flatten() {
        if property["type"] != "array" && allows_null(property) {
            found.push(format!("{name}.{member}"));
        }
    }
    for branch in ["oneOf", "anyOf", "allOf"].iter().filter_map(|key| schema[key].as_array()).flatten() {
        collect_nullable(name, branch, found);
    }
}

fn allows_null(property: &Value) -> bool {
    let is_null = |kind: &Value| kind == "null" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("null")));
    is_null(&property["type"])
        || property["anyOf"].as_array().is_some_and(|any| any.iter().any(|one| is_null(&one["type"])))
}

#[test]
fn optional_members_are_not_nullable() {
    let parents = [
        "BranchSummaryEntry",
        "CompactionEntry",
        "ContextEdit",
        "CustomEntry",
        "CustomMessageEntry",
        "LabelEntry",
        "MessageEntry",
        "ModelChange",
        "OtherEntry",
        "SessionName",
        "ThinkingLevelChange",
        "UsageEntry",
    ];
    let mut expected: Vec<String> = parents.iter().map(|name| format!("{name}.parentId")).collect();
    expected.push("ContextEdit.replacement".to_owned());
    expected.sort();
    assert_eq!(nullable_members::<Entry>(), expected);
    assert_eq!(nullable_members::<AgentEvent>(), expected);
    assert_eq!(nullable_members::<Header>(), [""; 0]);
    assert_eq!(nullable_members::<Model>(), [""; 0]);
    assert_eq!(nullable_members::<SessionInfo>(), [""; 0]);
    assert_eq!(nullable_members::<SessionStats>(), [""; 0]);
    assert_eq!(nullable_members::<Answer>(), [""; 0]);
    assert_eq!(nullable_members::<ContextUsage>(), ["ContextUsage.percent", "ContextUsage.tokens"]);
}

#[test]
fn context_usage_must_say_what_it_does_not_know() {
    let schema = schema::generator().into_root_schema_for::<ContextUsage>().to_value();
    assert_eq!(schema["required"], json!(["tokens", "contextWindow", "percent"]));
    assert!(serde_json::from_value::<ContextUsage>(json!({ "contextWindow": 1 })).is_err());
    let unknown = json!({ "tokens": null, "contextWindow": 1, "percent": null });
    let read: ContextUsage = serde_json::from_value(unknown.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), unknown);
}

fn typescript<T: TS>() -> String {
    let declared = T::decl(&Config::new().with_large_int("number"));
    declared.lines().filter(|line| !line.trim_start().starts_with(['/', '*'])).collect::<String>()
}

#[test]
fn typescript_has_optional_members_and_no_extra_ones() {
    assert_eq!(
        typescript::<pi_transcript::ToolCall>(),
        "type ToolCall = { id: ToolCallId, name: string, arguments: { [key in string]: JsonValue }, \
         thoughtSignature?: string, namespace?: string, };"
    );
    assert_eq!(
        typescript::<pi_transcript::Cost>(),
        "type Cost = { input: number, output: number, cacheRead: number, cacheWrite: number, total: number, \
         totalFromProvider?: number, atLeast?: boolean, totalAtMost?: number, };"
    );
    assert_eq!(
        typescript::<pi_transcript::entry::ContextEdit>(),
        "type ContextEdit = { targetId: EntryId, replacement: Content | null, id: EntryId, parentId: EntryId | null, \
         timestamp: string, };"
    );
    assert_eq!(typescript::<pi_transcript::Content>(), "type Content = string | Array<Block>;");
    assert_eq!(
        typescript::<pi_transcript::Block>(),
        r#"type Block = { "type": "text" } & TextBlock | { "type": "thinking" } & ThinkingBlock | { "type": "image" } & ImageBlock | { "type": "toolCall" } & ToolCall;"#
    );
    assert_eq!(typescript::<pi_transcript::json::Open<pi_transcript::StopReason>>(), "type Open<T> = T | string & {};");
    assert!(
        typescript::<AgentEvent>()
            .contains(r#"{ "type": "auto_retry_end", success: boolean, attempt: number, finalError?: string, }"#)
    );
}
