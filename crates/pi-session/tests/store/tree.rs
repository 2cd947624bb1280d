//! The tree: who is whose child, in our files and in those of others.

use pi_policy::Moment;
use pi_session::tree::{Begins, Destination, Kind, Outline, Place, Span, Tree};
use pi_transcript::{Entry, EntryId, entry::Base, json::Extra};
use proptest::prelude::*;

use crate::{cases, notation};

const NOW: Moment = Moment::from_unix_millis(1_000);

fn ids(tree: &Tree, places: impl IntoIterator<Item = Place>) -> String {
    places.into_iter().map(|place| tree.id(place).0).collect::<Vec<_>>().join(" ")
}

/// The path to the leaf, the roots and the branch points.
#[track_caller]
fn check(text: &str, path: &str, roots: &str, branches: &str) {
    let tree = notation::tree(text);
    let found = (ids(&tree, tree.path(tree.leaf())), ids(&tree, tree.children(None)), ids(&tree, tree.branch_points()));
    assert_eq!(found, (path.to_owned(), roots.to_owned(), branches.to_owned()));
}

fn user(base: Base) -> Entry {
    let message = pi_transcript::Message::user("hello", 1);
    Entry::Message(Box::new(pi_transcript::entry::MessageEntry { base, message, extra: Extra::new() }))
}

fn named(base: Base) -> Entry {
    Entry::SessionInfo(pi_transcript::entry::SessionName {
        base,
        name: Some(" a name ".to_owned()),
        extra: Extra::new(),
    })
}

#[test]
fn last_line_is_the_leaf_and_branches_are_found() {
    check("a - user\nb a assistant\nc b user\nd a assistant\ne d strange thing", "a d e", "a", "a");
}

#[test]
fn several_roots_stand_beside_each_other() {
    check("a - user\nb - user\nc b assistant", "b c", "a b", "");
}

#[test]
fn entry_without_a_parent_before_it_is_a_root() {
    check("a gone user\nb a assistant", "a b", "a", "");
    check("a b user\nb a assistant", "a b", "a", "");
    check("a a user", "a", "a", "");
}

#[test]
fn of_entries_with_one_id_the_last_is_found_and_the_first_keeps_its_children() {
    check("a - user one\nb a user\na b user two\nc a user", "a b a c", "a", "");
}

#[test]
fn last_label_and_last_name_count() {
    let text = "a - user\nl a label a one\nm l label a two\nn m name x\no n name \u{20}\nb o label b gone\nc b label b";
    let tree = notation::tree(text);
    assert_eq!((tree.label_of(&"a".into()), tree.label_of(&"b".into()), tree.name()), (Some("two"), None, None));
}

#[test]
fn append_is_a_child_of_the_leaf_and_says_its_line() {
    let mut tree = notation::tree("aaaaaaaa - user\nbbbbbbbb aaaaaaaa assistant");
    tree.move_leaf(Some(tree.find(&"aaaaaaaa".into()).unwrap()));
    let appended = tree.append(NOW, named);
    let id = tree.id(appended.place);
    let expected = format!(
        r#"{{"type":"session_info","id":"{id}","parentId":"aaaaaaaa","timestamp":"1970-01-01T00:00:01.000Z","name":" a name "}}"#
    );
    assert_eq!((appended.line.text, appended.line.begins, id.0.len()), (expected, Begins::Later, 8));
    assert_eq!((tree.leaf(), tree.name()), (Some(appended.place), Some("a name")));
    assert_eq!(ids(&tree, tree.branch_points()), "aaaaaaaa");
    tree.move_leaf(None);
    let root = tree.append(NOW, user);
    assert_eq!((tree.parent(root.place), root.line.begins), (None, Begins::Now));
}

#[test]
fn new_id_is_never_one_that_is_taken() {
    let taken = fastrand::Rng::with_seed(3).u32(..);
    let mut tree = Tree::new(Destination::Memory, fastrand::Rng::with_seed(3));
    let outline = Outline { id: &format!("{taken:08x}"), parent: None, kind: Kind::Other };
    tree.add(&outline, Span { offset: 0, length: 1 });
    let appended = tree.append(NOW, user);
    assert_ne!(tree.id(appended.place).0, format!("{taken:08x}"));
}

#[test]
fn unknown_id_is_an_error_with_its_name() {
    let error = notation::tree("a - user").find(&"b".into()).unwrap_err();
    assert_eq!(error.to_string(), "there is no entry b");
}

#[test]
fn what_a_compaction_left_behind_is_let_go_once_it_is_written() {
    let mut tree = Tree::new(Destination::File { end: 100 }, fastrand::Rng::with_seed(1));
    let first = tree.append(NOW, user);
    let second = tree.append(NOW, user);
    let kept = tree.id(second.place);
    tree.append(NOW, |base| {
        let compaction = serde_json::json!({
            "type": "compaction", "id": base.id, "parentId": base.parent_id, "timestamp": base.timestamp,
            "summary": "s", "firstKeptEntryId": kept, "tokensBefore": 1,
        });
        serde_json::from_value(compaction).unwrap()
    });
    tree.settle(100);
    assert!(tree.held(first.place).is_some(), "not written yet");
    tree.settle(100 + first.line.text.len() as u64 + 1);
    assert!(tree.held(first.place).is_none(), "written and not needed");
    assert_eq!(tree.span(first.place), Some(Span { offset: 100, length: first.line.text.len() as u32 }));
    assert!(tree.held(second.place).is_some());
    assert_eq!(tree.entries().len(), 2);
    tree.move_leaf(Some(first.place));
    assert_eq!(tree.missing(), [(first.place, tree.span(first.place).unwrap())]);
    let entry: Entry = serde_json::from_str(&first.line.text).unwrap();
    tree.hold(first.place, entry);
    assert_eq!((tree.missing(), tree.entries()), (vec![], vec![first.entry]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    /// Whatever the parents are: every path ends in a root, and what was appended is at its end.
    #[test]
    fn no_file_is_a_cycle(parents in prop::collection::vec((0u8..12, 0u8..14), 1..40)) {
        let mut tree = Tree::new(Destination::Memory, fastrand::Rng::with_seed(1));
        for (id, parent) in parents {
            let (id, parent) = (id.to_string(), parent.to_string());
            let outline = Outline { id: &id, parent: Some(&parent), kind: Kind::Other };
            tree.add(&outline, Span { offset: 0, length: 1 });
        }
        for place in tree.places() {
            let path = tree.path(Some(place));
            prop_assert_eq!(path.last(), Some(&place));
            prop_assert!(path.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(tree.common_ancestor(Some(place), tree.leaf()).is_some(), path[0] == tree.path(tree.leaf())[0]);
        }
        let before: Vec<EntryId> = tree.path(tree.leaf()).into_iter().map(|place| tree.id(place)).collect();
        let appended = tree.append(NOW, user);
        let after: Vec<EntryId> = tree.path(tree.leaf()).into_iter().map(|place| tree.id(place)).collect();
        prop_assert_eq!(&after[..before.len()], &before[..]);
        prop_assert_eq!(after.last(), Some(&tree.id(appended.place)));
    }
}
