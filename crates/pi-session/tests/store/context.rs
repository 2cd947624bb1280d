//! What the model sees of a path.

use std::sync::Arc;

use pi_session::{
    context::{self, Context},
    tree::{Destination, Kept, Kind, LeftOut, Outline, Span, Tree},
};
use pi_transcript::{Entry, EntryId};
use proptest::prelude::*;

use crate::{cases, notation};

fn build(text: &str) -> Context {
    let path: Vec<Arc<Kept>> = notation::entries(text).into_iter().map(|entry| Arc::new(entry.into())).collect();
    context::build(&path)
}

fn described(messages: &[context::Spoken]) -> Vec<String> {
    messages
        .iter()
        .map(|(id, message)| format!("{id}: {}", notation::describe(message)).trim_end().to_owned())
        .collect()
}

/// What is built of the entries, which are a path.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(described(&build(text).messages), expected);
}

/// What is sent of it.
#[track_caller]
fn check_sent(text: &str, expected: &[&str]) {
    assert_eq!(described(&context::sendable(&build(text).messages)), expected);
}

#[test]
fn messages_of_every_kind_are_shown_and_the_rest_is_not() {
    check(
        "m - model p m\nu m user hi\nx u extension note look\nb x branch u left it\ne b branch u\n\
         l e label u mark\nn l name title\na n assistant yes\ns a strange thing",
        &["u: user hi", "x: custom note look", "b: branch left it", "a: assistant yes"],
    );
}

#[test]
fn compaction_stands_first_then_what_it_kept_then_what_follows() {
    check(
        "a - user one\nb a assistant two\nc b user three\nd c compaction c so far\ne d user four",
        &["d: summary so far", "c: user three", "e: user four"],
    );
}

#[test]
fn compaction_that_names_itself_or_nobody_keeps_nothing() {
    check("a - user one\nd a compaction d all\ne d user two", &["d: summary all", "e: user two"]);
    check("a - user one\nd a compaction zz all\ne d user two", &["d: summary all", "e: user two"]);
}

#[test]
fn of_two_compactions_the_last_counts_and_the_first_is_silent() {
    check(
        "a - user one\nb a compaction a first\nc b user two\nd c compaction a second\ne d user three",
        &["d: summary second", "a: user one", "c: user two", "e: user three"],
    );
}

/// What of the path to the last entry the model is not shown any more.
#[track_caller]
fn check_left_out(text: &str, expected: &[&str]) {
    let tree = notation::tree(text);
    let said = |left: LeftOut| {
        let edit = left.edit.and_then(|edit| tree.held(edit));
        context::said(tree.held(left.place)?, edit.map(|edit| &**edit))
    };
    let said: Vec<_> = tree.left_out().into_iter().filter_map(said).collect();
    assert_eq!(described(&said), expected);
}

#[test]
fn what_the_last_compaction_left_out_is_told_with_the_summaries_in_it() {
    check_left_out("a - user one\nb a assistant two", &[]);
    check_left_out(
        "a - user one\nb a assistant two\nc b user three\nd c compaction c so far\ne d user four",
        &["a: user one", "b: assistant two"],
    );
    check_left_out(
        "a - user one\nb a user two\nc b compaction b first\nd c user three\ne d user four\n1 e edit d changed\n\
         2 1 edit a\nf 2 compaction e second\ng f user five",
        &["b: user two", "c: summary first", "d: user changed"],
    );
}

#[test]
fn edit_of_another_branch_changes_nothing_that_was_left_out() {
    check_left_out(
        "a - user one\nb a user two\n1 b edit a changed\nc b user three\nd c compaction c so far",
        &["a: user one", "b: user two"],
    );
}

#[test]
fn last_offer_of_a_path_counts_also_before_a_compaction() {
    let offered = |text: &str| build(text).offer.tools.map(|tools| tools.on);
    assert_eq!(offered("a - user one"), None);
    assert_eq!(offered("a - offer read\nb a offer bash ls\nc b user one"), Some(vec!["bash".into(), "ls".into()]));
    assert_eq!(offered("a - offer read\nb a user one\nc b compaction b all\nd c user two"), Some(vec!["read".into()]));
}

#[test]
fn last_edit_of_an_entry_counts() {
    check(
        "a - user one\nb a assistant two call:c1\nr b result c1 long\nd r user four\n\
         1 d edit a changed\n2 1 edit a again\n3 2 edit d\n4 3 edit r\n5 4 edit b short",
        &["a: user again", "b: assistant short", "r: result c1 (left out)"],
    );
}

#[test]
fn model_and_thinking_level_are_those_of_the_last_change() {
    let told = |text: &str| {
        let context = build(text);
        let model = context.model.map(|choice| format!("{}/{}", choice.provider, choice.model));
        (model.unwrap_or_default(), serde_json::to_string(&context.thinking_level).unwrap())
    };
    assert_eq!(told("u - user hi"), (String::new(), "\"off\"".to_owned()));
    assert_eq!(told("a - assistant hi\nb a model q n\nc b thinking high"), ("q/n".to_owned(), "\"high\"".to_owned()));
    assert_eq!(told("b - model q n\nc b thinking odd\na c assistant hi"), ("p/m".to_owned(), "\"odd\"".to_owned()));
}

#[test]
fn failed_answers_stay_in_the_context_and_are_not_sent() {
    let text = "u - user hi\nf u failed half\nb f aborted part call:c\na b assistant whole";
    check(text, &["u: user hi", "f: assistant half", "b: assistant part call:c", "a: assistant whole"]);
    check_sent(text, &["u: user hi", "b: assistant part call:c", "a: assistant whole"]);
}

#[test]
fn results_stand_behind_their_answer_in_the_order_of_its_calls_as_they_are_sent() {
    check_sent(
        "u - user hi\na u assistant go call:1 call:2 call:3\nr a result 2 done\nv r user on",
        &[
            "u: user hi",
            "a: assistant go call:1 call:2 call:3",
            "a/1: result! 1 The call was interrupted",
            "r: result 2 done",
            "a/3: result! 3 The call was interrupted",
            "v: user on",
        ],
    );
    check_sent("a - assistant go call:1", &["a: assistant go call:1", "a/1: result! 1 The call was interrupted"]);
    check_sent(
        "a - assistant go call:1 call:2\nf a failed half\nr f result 2 two\nv r user on\ns v result 1 one",
        &["a: assistant go call:1 call:2", "s: result 1 one", "r: result 2 two", "v: user on"],
    );
    check_sent(
        "a - assistant go call:1\nb a assistant on\nr b result 1 late",
        &["a: assistant go call:1", "a/1: result! 1 The call was interrupted", "b: assistant on", "r: result 1 late"],
    );
}

fn line() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "user hi",
        "assistant yes",
        "assistant call:c1",
        "result c1 text",
        "model q n",
        "thinking low",
        "offer read",
        "offer bash ls",
        "label a x",
        "bash ls",
        "compaction 3 s",
        "compaction 9 s",
        "compaction self s",
        "edit 4 changed",
        "edit 5",
        "extension t w",
        "branch 1 s",
        "model",
        "strange thing",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    /// The few entries that a tree of a file holds tell the same as the whole path.
    #[test]
    fn context_of_what_is_held_is_that_of_the_whole_path(
        lines in prop::collection::vec((line(), any::<prop::sample::Index>(), 0u8..4), 1..40),
        leaf in any::<prop::sample::Index>(),
    ) {
        let mut text = String::new();
        for (index, (words, parent, straight)) in lines.iter().enumerate() {
            let parent = match (index, straight) {
                (0, _) => "-".to_owned(),
                (_, 0) => parent.index(index).to_string(),
                _ => (index - 1).to_string(),
            };
            text.push_str(&format!("{index} {parent} {}\n", words.replace("self", &index.to_string())));
        }
        let entries: Vec<Entry> = notation::entries(&text);
        let mut stored = Tree::new(Destination::File { end: 0 }, fastrand::Rng::with_seed(1));
        for (index, entry) in entries.iter().enumerate() {
            let outline = Outline {
                id: entry.id().as_str(), parent: entry.parent_id().map(EntryId::as_str), kind: Kind::of(entry),
            };
            stored.add(&outline, Span { offset: index as u64, length: 1 });
        }
        let place = stored.places().nth(leaf.index(entries.len())).unwrap();
        stored.move_leaf(Some(place));
        let mut read = 0;
        loop {
            let missing = stored.missing();
            if missing.is_empty() { break }
            for (place, span) in missing {
                stored.hold(place, entries[span.offset as usize].clone());
                read += 1;
            }
        }
        let whole: Vec<Arc<Kept>> = stored.path(Some(place)).into_iter()
            .map(|place| Arc::new(entries[stored.span(place).unwrap().offset as usize].clone().into())).collect();
        prop_assert!(read <= whole.len());
        prop_assert_eq!(context::build(&stored.entries()), context::build(&whole));
    }
}
