//! Two envelopes compared, one summed up, one reconciled with what the provider counted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use pi_envelope::{
    CacheState, Counted, Envelope, Tokens, diff,
    diff::{Cause, Diff, Items, What, render},
    reconcile, stats,
};
use pi_transcript::Usage;
use proptest::prelude::*;
use serde_json::{Value, json};

/// One message for each line: `role id: segment, segment`. A segment is `name=text`, or `=text` for one without an id, or
/// `name[a b c]` for skills; each word of a text is a token.
fn envelope(model: &str, lines: &str) -> Envelope {
    let messages: Vec<_> = lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(message).collect();
    pi_envelope::parse(json!({"version": "1.0", "model": model, "messages": messages}).to_string().as_bytes()).unwrap()
}

fn message(line: &str) -> Value {
    let (head, segments) = line.split_once(": ").unwrap();
    let (role, id) = head.split_once(' ').unwrap();
    let segments: Vec<_> = segments.split(", ").map(segment).collect();
    json!({"id": id, "role": role, "segments": segments, "timestamp": 1})
}

fn segment(text: &str) -> Value {
    let tokens = |text: &str| json!({"count": text.split_whitespace().count(), "how": "counted"});
    if let Some((id, items)) = text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        let items: Vec<_> = items.split(' ').map(|name| json!({"name": name, "description": ""})).collect();
        return json!({"kind": "skills", "items": items, "collapsed": true, "meta": {"id": id, "tokens": {"count": items.len(), "how": "counted"}}});
    }
    let (id, content) = text.split_once('=').unwrap();
    match id {
        "" => json!({"kind": "text", "content": content}),
        id => json!({"kind": "text", "content": content, "meta": {"id": id, "tokens": tokens(content)}}),
    }
}

#[track_caller]
fn check(before: &str, after: &str, expected: &str) {
    let found = diff(&envelope("m", before), &envelope("m", after));
    let lines = |text: &str| {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(lines(&render(&found)), lines(expected));
}

#[test]
fn a_conversation_that_goes_on_keeps_its_cache() {
    check(
        "system s: a=be brief
         user u: b=hello",
        "system s: a=be brief
         user u: b=hello
         assistant v: c=good day to you",
        "= 2 unchanged
         + text              assistant c  +4
         1 added, 0 removed, 0 changed, 0 moved, 2 unchanged; 3 -> 7 tokens
         same beginning: 2 segments, 3 tokens",
    );
}

#[test]
fn a_changed_list_breaks_the_cache_and_names_what_changed() {
    check(
        "system s: a=be brief, k[lint test]
         user u: b=hello there",
        "system s: a=be brief, k[lint deploy ship]
         user u: b=hello there",
        "= 1 unchanged
         ~ skills            system    k  +1  (+deploy +ship -test)
         = 1 unchanged
         0 added, 0 removed, 1 changed, 0 moved, 2 unchanged; 6 -> 7 tokens
         same beginning: 1 segment, 2 tokens
         cache breaks at segment 1: skills k changed: +deploy +ship -test; 2 unchanged tokens behind it are sent anew",
    );
}

/// Comparing every item with every other would be a thousand million steps here.
#[test]
fn long_lists_are_compared_by_name() {
    let list = |names: Vec<String>| envelope("m", &format!("system s: k[{}]", names.join(" ")));
    let before = list((0..30_000).map(|n| format!("n{n}")).collect());
    let after = list((1..=30_000).rev().map(|n| format!("n{n}")).collect());
    let found = diff(&before, &after);
    let items = Items { added: vec!["n30000".to_owned()], removed: vec!["n0".to_owned()], changed: Vec::new() };
    assert_eq!(found.changes[0].items, Some(items));
}

#[test]
fn of_items_with_one_name_the_first_is_compared() {
    let memory = |contents: [&str; 2]| {
        let items = contents.map(|content| json!({"title": "t", "content": content}));
        let segments = json!([{"kind": "memory", "items": items, "collapsed": true, "meta": {"id": "m"}}]);
        let messages = json!([{"id": "s", "role": "system", "segments": segments, "timestamp": 1}]);
        pi_envelope::parse(json!({"version": "1.0", "messages": messages}).to_string().as_bytes()).unwrap()
    };
    let items = |before, after| diff(&memory(before), &memory(after)).changes.remove(0).items;
    let changed = |names: &[&str]| {
        let changed = names.iter().map(|name| (*name).to_owned()).collect();
        Some(Items { added: Vec::new(), removed: Vec::new(), changed })
    };
    assert_eq!(items(["a", "b"], ["a", "a"]), None);
    assert_eq!(items(["a", "b"], ["a", "c"]), changed(&["t"]));
    assert_eq!(items(["a", "b"], ["b", "b"]), changed(&["t", "t"]));
}

#[test]
fn a_removed_segment_stands_where_it_was() {
    check(
        "system s: a=one, b=two, c=three",
        "system s: a=one, c=three",
        "= 1 unchanged
         - text              system    b  -1
         = 1 unchanged
         0 added, 1 removed, 0 changed, 0 moved, 2 unchanged; 3 -> 2 tokens
         same beginning: 1 segment, 1 token
         cache breaks at segment 1: text b removed; 1 unchanged token behind it is sent anew",
    );
}

#[test]
fn one_of_many_that_moved_is_the_one_that_moved() {
    check(
        "system s: a=one, b=two, c=three, d=four",
        "system s: d=four, a=one, b=two, c=three",
        "> text              system    d
         = 3 unchanged
         0 added, 0 removed, 0 changed, 1 moved, 3 unchanged; 4 -> 4 tokens
         same beginning: 0 segments, 0 tokens
         cache breaks at segment 0: text d moved; 4 unchanged tokens behind it are sent anew",
    );
}

#[test]
fn without_ids_what_says_the_same_is_the_same() {
    check(
        "user u: =one fish, =two fish",
        "user other: =two fish
         user third: =red fish",
        "- text              user      messages[0].segments[0]  -2
         = 1 unchanged
         + text              user      messages[1].segments[0]  +2
         1 added, 1 removed, 0 changed, 0 moved, 1 unchanged; 4 -> 4 tokens
         same beginning: 0 segments, 0 tokens
         cache breaks at segment 0: text messages[0].segments[0] removed; 2 unchanged tokens behind it are sent anew",
    );
}

#[test]
fn without_ids_the_same_place_is_the_same_segment() {
    check(
        "user u: =one, =two",
        "user u: =one, =deux mille",
        "= 1 unchanged
         ~ text              user      messages[0].segments[1]  +2
         0 added, 0 removed, 1 changed, 0 moved, 1 unchanged; 2 -> 4 tokens
         same beginning: 1 segment, 1 token
         cache breaks at segment 1: text messages[0].segments[1] changed; 0 unchanged tokens behind it are sent anew",
    );
}

#[test]
fn another_model_has_no_cache() {
    let found = diff(&envelope("m", "user u: a=one"), &envelope("n", "user u: a=one"));
    let cache_break = found.cache_break.unwrap();
    assert_eq!(cache_break.cause, Cause::Model { before: Some("m".to_owned()), after: Some("n".to_owned()) });
    assert_eq!((cache_break.index, cache_break.tokens_lost, found.summary.unchanged), (0, 1, 1));
}

#[test]
fn a_change_of_role_or_markup_is_a_change() {
    let before = envelope("m", "user u: a=one");
    let after = envelope("m", "assistant u: a=one");
    assert_eq!(diff(&before, &after).changes[0].what, What::Changed);
    let framed = |frame: Value| {
        let segment = json!({"kind": "text", "content": "c", "meta": {"id": "a", "frame": frame}});
        let document =
            json!({"version": "1.0", "messages": [{"id": "1", "role": "user", "segments": [segment], "timestamp": 1}]});
        pi_envelope::parse(document.to_string().as_bytes()).unwrap()
    };
    let (one, two) = (framed(json!(["<", ">"])), framed(json!(["[", "]"])));
    assert_eq!(diff(&one, &two).changes[0].what, What::Changed);
    assert_eq!(diff(&one, &one).changes[0].what, What::Unchanged);
}

#[test]
fn a_claimed_digest_is_not_believed() {
    let claim = |content: &str| {
        let segment = json!({"kind": "text", "content": content, "meta": {"id": "a", "digest": "0".repeat(64)}});
        let document =
            json!({"version": "1.0", "messages": [{"id": "1", "role": "user", "segments": [segment], "timestamp": 1}]});
        pi_envelope::parse(document.to_string().as_bytes()).unwrap()
    };
    assert_eq!(diff(&claim("x"), &claim("y")).changes[0].what, What::Changed);
}

#[test]
fn a_sum_has_every_share() {
    let envelope = envelope(
        "m",
        "system s: a=one two three, k[lint]
         user u: =four",
    );
    let found = serde_json::to_value(stats(&envelope)).unwrap();
    let tally = |segments: u64, tokens: u64, characters: u64, share: f64| json!({"segments": segments, "tokens": tokens, "characters": characters, "bytes": characters, "share": share});
    assert_eq!(
        found,
        json!({
            "messages": 2,
            "total": tally(3, 5, 21, 1.0),
            "byKind": {"skills": tally(1, 1, 4, 0.2), "text": tally(2, 4, 17, 0.8)},
            "byRole": {"system": tally(2, 4, 17, 0.8), "user": tally(1, 1, 4, 0.2)},
            "byOrigin": {"unknown": tally(3, 5, 21, 1.0)},
            "byCount": {"counted": 4, "estimated": 1},
        })
    );
}

#[test]
fn usage_leaves_a_residual_and_marks_what_was_cached() {
    let mut envelope = envelope(
        "m",
        "system s: a=1 2 3 4, b=1 2 3 4
         user u: c=1 2, =x",
    );
    let usage = Usage { input: 2, cache_read: 10, cache_write: 10, output: 7, ..Usage::default() };
    reconcile(&mut envelope, &usage);
    let meta = envelope.ours().unwrap();
    assert_eq!(meta.tokens, Some(Tokens { count: 11, how: Counted::Estimated }));
    assert_eq!((meta.residual, &meta.usage), (Some(11), &Some(usage)));
    let states: Vec<_> = envelope.segments().map(|(_, segment)| segment.ours().unwrap().cache).collect();
    use CacheState::{Cached, Uncached, Written};
    assert_eq!(states, [Some(Cached), Some(Written), Some(Written), Some(Uncached)]);
}

#[test]
fn without_a_cache_nothing_is_said_about_one() {
    let mut envelope = envelope("m", "user u: a=1 2 3 4");
    reconcile(&mut envelope, &Usage { input: 1, ..Usage::default() });
    assert_eq!(envelope.ours().unwrap().residual, Some(-3));
    assert_eq!(envelope.messages[0].segments[0].ours().unwrap().cache, None);
}

/// Segments named by letters, each with one of two texts.
fn letters() -> impl Strategy<Value = Envelope> {
    let segment = ("[a-f]?", "[xy]").prop_map(|(id, text)| segment(&format!("{id}={text}")));
    let message = prop::collection::vec(segment, 1..4)
        .prop_map(|segments| json!({"id": "m", "role": "user", "segments": segments, "timestamp": 1}));
    prop::collection::vec(message, 1..4).prop_map(|messages| {
        pi_envelope::parse(json!({"version": "1.0", "messages": messages}).to_string().as_bytes()).unwrap()
    })
}

proptest! {
    #[test]
    fn every_segment_is_accounted_for_once(before in letters(), after in letters()) {
        let found: Diff = diff(&before, &after);
        let places = |envelope: &Envelope| envelope.segments().count();
        let (mut old, mut new): (Vec<_>, Vec<_>) = (
            found.changes.iter().filter_map(|change| change.before).map(|place| (place.message, place.segment)).collect(),
            found.changes.iter().filter_map(|change| change.after).map(|place| (place.message, place.segment)).collect(),
        );
        prop_assert!(new.is_sorted(), "changes are in the order of the second envelope");
        old.sort_unstable();
        old.dedup();
        new.dedup();
        prop_assert_eq!((old.len(), new.len()), (places(&before), places(&after)));
        let delta: i64 = found.changes.iter().map(|change| change.tokens).sum();
        prop_assert_eq!(delta, found.summary.tokens_after as i64 - found.summary.tokens_before as i64);
        let read: Diff = serde_json::from_value(serde_json::to_value(&found).unwrap()).unwrap();
        prop_assert_eq!(&read, &found);
        let nothing = diff(&before, &before);
        prop_assert!(nothing.cache_break.is_none());
        prop_assert_eq!(nothing.summary.unchanged, places(&before));
        prop_assert_eq!(nothing.prefix, places(&before));
        // Whatever is said to be moved or unchanged says the same on both sides.
        for change in found.changes.iter().filter(|change| matches!(change.what, What::Moved | What::Unchanged)) {
            let body = |envelope: &Envelope, place: diff::Place| envelope.messages[place.message].segments[place.segment].body.clone();
            prop_assert_eq!(body(&before, change.before.unwrap()), body(&after, change.after.unwrap()));
        }
    }
}
