//! A small manifest for tests.

use pi_provider::Manifest;
use serde_json::{Value, json};

/// A provider with nothing but what is required; members of `changes` are merged into it.
pub(crate) fn manifest(base_url: &str, changes: Value) -> Manifest {
    let mut value = json!({
        "id": "mock-one",
        "protocol_version": "2.0",
        "endpoint": {
            "base_url": base_url,
            "auth": {"type": "bearer", "header": "Authorization", "prefix": "Bearer", "token_env": "MOCK_TOKEN"},
        },
        "error_classification": {},
    });
    merge(&mut value, changes);
    serde_json::from_value(value).unwrap()
}

pub(crate) fn merge(value: &mut Value, changes: Value) {
    match (value, changes) {
        (Value::Object(members), Value::Object(changes)) => {
            for (name, change) in changes {
                merge(members.entry(name).or_insert(Value::Null), change);
            }
        }
        (value, change) => *value = change,
    }
}
