//! Any text may hold a secret. What is hidden stays hidden: a known value never comes through, and redacting twice is
//! redacting once, in text and in JSON.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pi_redact::{Evidence, Options, Personal, Redactor};
use serde_json::Value;

const SECRET: &str = "correct-horse-battery";

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| {
    Redactor::new(Options {
        secrets: vec![SECRET.to_owned()],
        personal: Personal::Mask,
        evidence: Evidence::KeysAndShapes,
    })
});

fuzz_target!(|text: &str| {
    let once = REDACTOR.redact_text(text);
    assert!(!once.contains(SECRET), "{once}");
    assert_eq!(REDACTOR.redact_text(&once), once, "twice is once");

    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return };
    REDACTOR.redact_value(&mut value);
    let once = value.clone();
    assert!(!once.to_string().contains(SECRET), "{once}");
    REDACTOR.redact_value(&mut value);
    assert_eq!(value, once, "twice is once");
});
