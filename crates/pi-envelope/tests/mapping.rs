//! The mapping table: every row is projected, and nothing of a prompt is left out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::HashSet;

use pi_envelope::{Kind, Request, Role, estimate, mapping, project};
use serde_json::{Value, json};

fn request() -> Request {
    Request { id: "r1".to_owned(), provider: "acme".into(), model: "m".into(), time: 100 }
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
    let mut actual = mapping::rows();
    for row in &mut actual {
        let envelope = project(&row.prompt, &request(), &estimate);
        assert!(pi_envelope::is_valid(&serde_json::to_vec(&envelope).unwrap()), "{}", row.part);
        let has = |(message, segment): (&pi_envelope::Message, &pi_envelope::Segment)| {
            message.role == row.role && segment.body.kind() == row.kind
        };
        assert!(envelope.segments().any(has), "{}", row.part);
        row.shown = shown(&serde_json::to_value(&envelope).unwrap());
    }
    let table: Value = serde_json::from_str(include_str!("../src/mapping.json")).unwrap();
    let actual = serde_json::to_value(actual).unwrap();
    // The prompts of the table leave out members that have defaults, so only the outcome is compared.
    for (row, now) in table.as_array().unwrap().iter().zip(actual.as_array().unwrap()) {
        assert_eq!(row["shown"], now["shown"], "{}: the table would be\n{}", row["part"], shown_text(&actual));
    }
}

fn shown_text(actual: &Value) -> String {
    let shown: Vec<_> = actual.as_array().unwrap().iter().map(|row| row["shown"].clone()).collect();
    format!("SHOWN{}", serde_json::to_string(&shown).unwrap())
}

#[test]
fn the_table_has_every_kind_and_every_role() {
    let rows = mapping::rows();
    let kinds: HashSet<_> = rows.iter().map(|row| row.kind).collect();
    let roles: HashSet<_> = rows.iter().map(|row| row.role).collect();
    assert_eq!(kinds, Kind::ALL.into_iter().collect());
    assert_eq!(roles, Role::ALL.into_iter().collect());
}

#[test]
fn the_page_prints_the_table() {
    let page = include_str!("../../../docs/envelope.md");
    assert!(page.contains(&mapping::markdown()), "docs/envelope.md should contain\n{}", mapping::markdown());
}
