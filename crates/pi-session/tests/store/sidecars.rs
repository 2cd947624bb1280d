//! Envelopes beside a session.

#![expect(clippy::disallowed_methods, reason = "tests make the files that the product then reads")]

use std::fs;

use pi_envelope::{Envelope, reconcile};
use pi_session::{
    file::Log,
    sidecar::{self, Index, Sidecar, SidecarError},
};
use pi_transcript::Usage;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{cases, faulty::Faulty};

fn message(id: usize, text: &str) -> Value {
    json!({"id": id.to_string(), "role": "user", "timestamp": 5, "segments": [{"kind": "text", "content": text}]})
}

/// An envelope of a request with one message a text.
pub(crate) fn envelope(request: &str, texts: &[&str]) -> Envelope {
    let messages: Vec<Value> = texts.iter().enumerate().map(|(index, text)| message(index, text)).collect();
    made(request, &messages)
}

/// Of a summary that was asked for at this time.
pub(crate) fn summary(request: &str, time: u64) -> Envelope {
    let meta =
        json!({"request": {"id": request, "provider": "p", "model": "m", "time": time, "purpose": "compaction"}});
    serde_json::from_value(json!({"version": "1.0", "model": "m", "messages": [message(0, "all")], "meta": meta}))
        .unwrap()
}

fn made(request: &str, messages: &[Value]) -> Envelope {
    let meta = json!({"request": {"id": request, "provider": "p", "model": "m", "time": 12}});
    serde_json::from_value(json!({"version": "1.0", "model": "m", "messages": messages, "meta": meta})).unwrap()
}

fn session() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    (folder, path)
}

#[cfg(unix)]
#[test]
fn link_in_the_place_of_the_envelopes_is_not_followed() {
    let (folder, path) = session();
    let written = {
        let elsewhere = folder.path().join("other.jsonl");
        Sidecar::open(&elsewhere).unwrap().record(&"e1".into(), &envelope("r1", &["a"])).unwrap();
        sidecar::path_of(&elsewhere)
    };
    let content = fs::read_to_string(&written).unwrap() + "{\"torn";
    fs::write(&written, &content).unwrap();
    let missing = folder.path().join("missing");
    for target in [&written, &missing] {
        std::os::unix::fs::symlink(target, sidecar::path_of(&path)).unwrap();
        let (opened, viewed) = (Sidecar::open(&path).err(), sidecar::view(&path).err());
        for refused in [opened, viewed] {
            assert!(matches!(refused, Some(SidecarError::Elsewhere { .. })), "{refused:?}");
        }
        fs::remove_file(sidecar::path_of(&path)).unwrap();
    }
    // One that comes before the first envelope is written.
    let mut begun = Sidecar::open(&path).unwrap();
    std::os::unix::fs::symlink(&missing, sidecar::path_of(&path)).unwrap();
    assert!(begun.record(&"e1".into(), &envelope("r1", &["a"])).is_err());
    assert!(!missing.exists());
    assert_eq!(fs::read_to_string(&written).unwrap(), content, "nothing is cut off or added");
}

#[test]
fn envelopes_are_listed_and_found_again_after_a_restart() {
    let (_folder, path) = session();
    let mut sidecar = Sidecar::open(&path).unwrap();
    assert_eq!((sidecar.list().len(), sidecar.get("r").unwrap()), (0, None));
    let (one, two) = (envelope("r1", &["a"]), envelope("r2", &["a", "b", "a"]));
    sidecar.record(&"e1".into(), &one).unwrap();
    sidecar.record(&"e2".into(), &two).unwrap();
    let usage = Usage { input: 100, cache_read: 50, ..Usage::default() };
    sidecar.settle("r2", &usage, Some(140)).unwrap();
    sidecar.sync().unwrap();
    let again = Sidecar::open(&path).unwrap();
    assert_eq!(again.list(), sidecar.list());
    let listed = &again.list()[1];
    assert_eq!((listed.request.as_str(), listed.entry.as_str(), listed.time, listed.messages), ("r2", "e2", 12, 3));
    assert_eq!((listed.model.as_deref(), listed.usage.as_ref(), listed.residual), (Some("m"), Some(&usage), Some(140)));
    let mut reconciled = two;
    reconcile(&mut reconciled, &usage);
    assert_eq!((again.get("r1").unwrap(), again.get("r2").unwrap()), (Some(one), Some(reconciled)));
}

#[test]
fn size_is_linear_in_what_is_new() {
    let (_folder, path) = session();
    let mut sidecar = Sidecar::open(&path).unwrap();
    let text = "word ".repeat(400);
    let mut messages = Vec::new();
    let mut sizes = Vec::new();
    for turn in 0..200 {
        messages.push(message(turn, &format!("{turn} {text}")));
        sidecar.record(&"e".into(), &made(&turn.to_string(), &messages)).unwrap();
        sizes.push(fs::metadata(sidecar::path_of(&path)).unwrap().len());
    }
    let growth = |from: usize, to: usize| (sizes[to] - sizes[from]) / (to - from) as u64;
    assert!(growth(100, 127) < growth(1, 28) + 100, "{} then {}", growth(1, 28), growth(100, 127));
    assert_eq!(sidecar.get("199").unwrap(), Some(made("199", &messages)));
}

#[test]
fn unknown_lines_and_a_torn_end_do_no_harm() {
    let (_folder, path) = session();
    let beside = sidecar::path_of(&path);
    Sidecar::open(&path).unwrap().record(&"e".into(), &envelope("r1", &["a"])).unwrap();
    let mut text = fs::read_to_string(&beside).unwrap();
    text.push_str("{\"type\":\"note\",\"of\":\"a later version\"}\n");
    fs::write(&beside, format!("{text}{{\"type\":\"segm")).unwrap();
    let mut sidecar = Sidecar::open(&path).unwrap();
    sidecar.record(&"e".into(), &envelope("r2", &["a", "b"])).unwrap();
    assert!(fs::read_to_string(&beside).unwrap().starts_with(&text));
    let again = Sidecar::open(&path).unwrap();
    assert_eq!(again.get("r2").unwrap(), Some(envelope("r2", &["a", "b"])));
    assert_eq!(again.list().len(), 2);
}

#[test]
fn lost_line_is_an_error_and_no_other_envelope() {
    let (_folder, path) = session();
    let beside = sidecar::path_of(&path);
    let mut sidecar = Sidecar::open(&path).unwrap();
    for (request, texts) in [("r1", &["a"][..]), ("r2", &["a", "b"]), ("r3", &["a", "b", "c"])] {
        sidecar.record(&"e".into(), &envelope(request, texts)).unwrap();
    }
    let text = fs::read_to_string(&beside).unwrap();
    let lost: String =
        text.lines().filter(|line| !line.contains("\"request\":\"r2\"")).map(|line| format!("{line}\n")).collect();
    fs::write(&beside, lost).unwrap();
    let again = Sidecar::open(&path).unwrap();
    assert!(matches!(again.get("r3"), Err(SidecarError::Rebuild(_))));
    assert_eq!(again.get("r1").unwrap(), Some(envelope("r1", &["a"])));
    fs::write(&beside, "# a file of somebody else\n").unwrap();
    assert!(matches!(Sidecar::open(&path), Err(SidecarError::Foreign { .. })));
}

fn segment() -> impl Strategy<Value = Value> {
    let meta = prop_oneof![
        Just(json!(null)),
        Just(json!("theirs")),
        prop::sample::select(vec!["cached", "written", "uncached"])
            .prop_map(|cache| json!({"cache": cache, "id": "i"})),
        Just(json!({"cache": "warm", "tokens": {"count": 3, "how": "estimated"}, "more": 1.0})),
    ];
    ("[a-c]{0,2}", meta, 0u8..3).prop_map(|(text, meta, extra)| {
        let mut segment = json!({"kind": "text", "content": text});
        if !meta.is_null() {
            segment["meta"] = meta;
        }
        if extra == 0 {
            segment["kept"] = json!([1, 1.0]);
        }
        segment
    })
}

fn any_message() -> impl Strategy<Value = Value> {
    let number = prop::sample::select(vec![json!(1), json!(1.0), json!(-2)]);
    ("[ab]", prop::collection::vec(segment(), 1..4), number, 0u8..3).prop_map(|(id, segments, timestamp, meta)| {
        let mut message = json!({"id": id, "role": "tool", "segments": segments, "timestamp": timestamp});
        if meta == 0 {
            message["meta"] = json!({"role": "bashExecution", "x": null});
        }
        message
    })
}

/// Conversations as they go: some messages at the end are replaced, others follow.
fn conversation() -> impl Strategy<Value = Vec<Vec<Value>>> {
    let step = (0usize..3, prop::collection::vec(any_message(), 1..4));
    prop::collection::vec(step, 1..12).prop_map(|steps| {
        let mut messages: Vec<Value> = Vec::new();
        let mut all = Vec::new();
        for (dropped, new) in steps {
            messages.truncate(messages.len().saturating_sub(dropped));
            messages.extend(new);
            all.push(messages.clone());
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    /// Through any crash: what was acknowledged comes back equal, and what comes back is equal.
    #[test]
    fn envelope_comes_back_as_it_was(conversation in conversation(), synced in 0usize..12, survives in 0.0f64..=1.0) {
        let disk = Faulty::default();
        let mut sidecar = Sidecar::new(Log::at(disk.clone(), 0));
        let envelopes: Vec<Envelope> =
            conversation.into_iter().enumerate().map(|(turn, messages)| made(&turn.to_string(), &messages)).collect();
        for (turn, envelope) in envelopes.iter().enumerate() {
            sidecar.record(&"e".into(), envelope).unwrap();
            if turn == synced {
                sidecar.sync().unwrap();
            }
        }
        let bytes = disk.change(|state| {
            let kept = state.safe + ((state.bytes.len() - state.safe) as f64 * survives) as usize;
            state.bytes[..kept].to_vec()
        });
        let index = Index::scan(&bytes[..]).unwrap();
        let acknowledged = if synced < envelopes.len() { synced + 1 } else { 0 };
        prop_assert!(index.list().len() >= acknowledged);
        for (listed, envelope) in index.list().iter().zip(&envelopes) {
            let fetch = |span: pi_session::tree::Span| {
                let start = usize::try_from(span.offset).unwrap();
                Ok(bytes[start..start + span.length as usize].to_vec())
            };
            prop_assert_eq!(index.rebuild(&listed.request, fetch).unwrap(), Some(envelope.clone()));
        }
    }
}
