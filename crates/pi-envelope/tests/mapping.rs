//! The mapping from a prompt to the eleven kinds, as a table with golden examples.
//!
//! `mapping.json` has a row for every part that a prompt can have, each with a prompt and the messages that it becomes.
//! Every row is projected here, and `docs/envelope.md` prints the table from the same file.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::HashSet;

use pi_envelope::{Kind, Prompt, Purpose, Request, Role, estimate, project};
use serde::Deserialize;
use serde_json::{Value, json};

/// One row of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// The part of the prompt, in words.
    part: String,
    /// What it becomes.
    kind: Kind,
    role: Role,
    /// What else is to be known: what goes into `meta`, and when another row applies.
    note: String,
    /// A prompt with such a part.
    prompt: Prompt,
    /// The role and the segments of each message that it becomes, without token counts, digests and trust.
    shown: Vec<Value>,
}

/// The table, in the order in which it is printed.
fn rows() -> Vec<Row> {
    serde_json::from_str(include_str!("mapping.json")).unwrap()
}

/// The table as Markdown.
fn markdown() -> String {
    let head = "| part of the prompt | kind | role | note |\n|---|---|---|---|\n".to_owned();
    rows().iter().fold(head, |table, Row { part, kind, role, note, .. }| {
        table + &format!("| {part} | `{}` | `{}` | {note} |\n", kind.as_str(), role.as_str())
    })
}

fn request() -> Request {
    Request { id: "r1".to_owned(), provider: "acme".into(), model: "m".into(), time: 100, purpose: Purpose::Turn }
}

/// What the table shows of an envelope: its messages without what other tests look at.
fn shown(envelope: &Value) -> Vec<Value> {
    let message = |message: &Value| {
        let mut shown = json!({"role": message["role"], "segments": message["segments"]});
        for segment in shown["segments"].as_array_mut().unwrap() {
            let meta = segment["meta"].as_object_mut().unwrap();
            for name in ["tokens", "digest", "trust"] {
                meta.shift_remove(name).unwrap();
            }
        }
        shown
    };
    envelope["messages"].as_array().unwrap().iter().map(message).collect()
}

#[test]
fn every_row_becomes_what_the_table_shows() {
    for row in rows() {
        let envelope = project(&row.prompt, &request(), &estimate);
        assert!(pi_envelope::is_valid(&serde_json::to_vec(&envelope).unwrap()), "{}", row.part);
        let has = |(message, segment): (&pi_envelope::Message, &pi_envelope::Segment)| {
            message.role == row.role && segment.body.kind() == row.kind
        };
        assert!(envelope.segments().any(has), "{}", row.part);
        let now = shown(&serde_json::to_value(&envelope).unwrap());
        assert_eq!(row.shown, now, "{}: the row would show\n{}", row.part, serde_json::to_string_pretty(&now).unwrap());
    }
}

#[test]
fn the_table_has_every_kind_and_every_role() {
    let rows = rows();
    let kinds: HashSet<_> = rows.iter().map(|row| row.kind).collect();
    let roles: HashSet<_> = rows.iter().map(|row| row.role).collect();
    assert_eq!(kinds, Kind::ALL.into_iter().collect());
    assert_eq!(roles, Role::ALL.into_iter().collect());
}

#[test]
fn the_page_prints_the_table() {
    let page = include_str!("../../../docs/envelope.md");
    assert!(page.contains(&markdown()), "docs/envelope.md should contain\n{}", markdown());
}
