//! Anybody may hand us an envelope. Three ways to judge one agree, and one that is accepted survives being written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pi_envelope::diff::What;
use pi_envelope::{diff, is_valid, parse, stats, validate};
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let parsed = parse(bytes);
    let judged = validate(bytes);
    assert_eq!(judged.is_ok(), is_valid(bytes), "the fast verdict and the one with reasons agree");
    assert_eq!(judged.err(), parsed.as_ref().err().cloned(), "validate says what parse says");
    let Ok(envelope) = parsed else { return };

    let written = serde_json::to_vec(&envelope).expect("an envelope that was read can be written");
    let read: Value = serde_json::from_slice(bytes).expect("what was parsed is JSON");
    assert_eq!(serde_json::from_slice::<Value>(&written).expect("we write JSON"), read, "nothing is lost or made up");
    let again = parse(&written).expect("what we write we accept");
    assert_eq!(again, envelope);

    let segments = |envelope: &pi_envelope::Envelope| -> Vec<_> {
        envelope.segments().map(|(_, segment)| segment.digest()).collect()
    };
    assert_eq!(segments(&again), segments(&envelope), "a digest does not depend on how the envelope was written");
    let counted = stats(&envelope);
    assert_eq!(counted, stats(&again));
    // A document compared with itself: whatever is found in it, nothing has changed.
    let same = diff(&envelope, &again);
    assert!(same.changes.iter().all(|change| change.what == What::Unchanged && change.tokens == 0), "{same:?}");
    assert_eq!(same.cache_break, None);
    assert_eq!((same.changes.len(), same.prefix), (envelope.segments().count(), envelope.segments().count()));
});
