//! An extension may send anything. Two ways to judge a message agree, and one that is accepted survives being written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pi_extproto::message::{Payload, parse, validate};
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let parsed = parse(bytes);
    assert_eq!(validate(bytes), parsed.clone().err().unwrap_or_default(), "validate says what parse says");
    let Ok(message) = parsed else { return };

    let written = serde_json::to_value(&message).expect("a message that was read can be written");
    let read: Value = serde_json::from_slice(bytes).expect("what was parsed is JSON");
    assert_eq!(names(&read), names(&written), "no member is lost or made up");
    let again = parse(written.to_string().as_bytes()).expect("what we write we accept");
    assert_eq!(again, message);

    if let Payload::HostCall(call) = &message.payload {
        let Payload::HostCall(same) = &again.payload else { panic!("a host call became something else") };
        assert_eq!(same.check(), call.check(), "the verdict and the hash do not depend on how the call was written");
    }
});

/// The names of all members, wherever they are, without those whose absence means the same.
fn names(value: &Value) -> Vec<String> {
    let mut names = Vec::new();
    collect(value, &mut names);
    names.sort();
    names
}

fn collect(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                // `is_error: false` is the default, and may be written where it was not read.
                if !(name == "is_error" && member == &Value::Bool(false)) {
                    names.push(name.clone());
                }
                collect(member, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
