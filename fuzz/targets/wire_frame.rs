//! A client may send anything. A frame that is accepted means the same when it is written and read again; one that is
//! refused gets an answer that can be sent and says where the fault is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pi_wire::{Limits, parse};
use serde_json::Value;

/// What an answer may repeat of a frame is bounded, however long the frame is.
const LONGEST_ANSWER: usize = 64 * 1024;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    match parse(bytes, &limits) {
        Ok(frame) => {
            let written = serde_json::to_vec(&frame).expect("a frame that was read can be written");
            let again = parse(&written, &limits).expect("what we write we accept");
            assert_eq!(again, frame);
            assert_eq!(again.fingerprint(), frame.fingerprint(), "the fingerprint is one of meaning, not of spelling");

            let read: Value = serde_json::from_slice(bytes).expect("an accepted frame is JSON");
            let written: Value = serde_json::from_slice(&written).expect("we write JSON");
            assert_eq!(written["type"], read["type"]);
            assert_eq!(written.get("id"), read.get("id"));
        }
        Err(reject) => {
            let again = parse(bytes, &limits).expect_err("the verdict does not change");
            assert_eq!(again, reject);
            let answer = serde_json::to_value(reject.response()).expect("an answer can be written");
            assert_eq!(answer["success"], Value::Bool(false));
            assert!(answer["error"].as_str().is_some_and(|error| !error.is_empty()), "{answer}");
            assert!(answer.to_string().len() < LONGEST_ANSWER, "{answer}");
        }
    }
});
