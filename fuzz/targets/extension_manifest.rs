//! Anybody may write an `extension.json`. One that is accepted survives being written, and what it declares is the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pi_extproto::manifest::parse;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let manifest = match parse(bytes) {
        Ok(manifest) => manifest,
        Err(problems) => return assert!(!problems.is_empty(), "a refusal has a reason"),
    };
    let written = serde_json::to_vec(&manifest).expect("a manifest that was read can be written");
    let read: Value = serde_json::from_slice(bytes).expect("what was parsed is JSON");
    assert_eq!(serde_json::from_slice::<Value>(&written).expect("we write JSON"), read, "nothing is lost or made up");
    let again = parse(&written).expect("what we write we accept");
    assert_eq!(again, manifest);
    assert_eq!(again.tier(), manifest.tier());
    assert_eq!(again.declared(), manifest.declared());
});
