//! Two rows of events side by side, and where they differ.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::event::Event;

/// What stands for a member or an event that one of them does not have.
pub(crate) const ABSENT: &str = "absent";

/// What an event without a partner costs; as much as so many members that differ.
const ALONE: usize = 8;

/// One difference, by its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Difference {
    /// The label of the event.
    pub(crate) event: String,
    /// The member, `messages[].usage.input`; empty for the event itself.
    pub(crate) path: String,
    /// What Pi says there, as JSON; of an event in another place, behind which one it stands.
    pub(crate) pi: String,
    /// What is said here.
    pub(crate) here: String,
}

/// Everything in which the two differ, each once.
pub(crate) fn differences(theirs: &[Event], ours: &[Event]) -> BTreeSet<Difference> {
    let pairs = align(theirs, ours);
    let mut found = BTreeSet::new();
    let mut compare = |their: &Event, our: &Event| {
        let mut members = Vec::new();
        compare_values(&their.value, &our.value, "", &mut members);
        let whole = |(path, pi, here)| Difference { event: our.label.clone(), path, pi, here };
        found.extend(members.into_iter().map(whole));
    };
    let (mut lost, mut added) = (Vec::new(), Vec::new());
    for pair in pairs {
        match pair {
            Pair::Both(their, our) => compare(&theirs[their], &ours[our]),
            Pair::Theirs(index) => lost.push(index),
            Pair::Ours(index) => added.push(index),
        }
    }
    let mut moved = Vec::new();
    lost.retain(|&their| {
        let Some(place) = added.iter().position(|&our| ours[our].label == theirs[their].label) else { return true };
        moved.push((their, added.remove(place)));
        false
    });
    for &(their, our) in &moved {
        compare(&theirs[their], &ours[our]);
    }
    let itself = |event: &Event, pi: String, here: String| Difference {
        event: event.label.clone(),
        path: String::new(),
        pi,
        here,
    };
    found.extend(moved.into_iter().map(|(their, our)| itself(&ours[our], behind(theirs, their), behind(ours, our))));
    let told = || "told".to_owned();
    found.extend(lost.into_iter().map(|their| itself(&theirs[their], told(), ABSENT.to_owned())));
    found.extend(added.into_iter().map(|our| itself(&ours[our], ABSENT.to_owned(), told())));
    found
}

fn behind(events: &[Event], index: usize) -> String {
    let before = index.checked_sub(1).map_or("nothing", |before| events[before].label.as_str());
    format!("behind {before}")
}

#[derive(Debug, Clone, Copy)]
enum Pair {
    Both(usize, usize),
    Theirs(usize),
    Ours(usize),
}

/// The cheapest way to put the one beside the other, in order. Only events of the same label are partners.
fn align(theirs: &[Event], ours: &[Event]) -> Vec<Pair> {
    let (rows, columns) = (theirs.len(), ours.len());
    let mut costs = vec![vec![0; columns + 1]; rows + 1];
    let partner = |row: usize, column: usize| {
        let (their, our) = (&theirs[row], &ours[column]);
        (their.label == our.label).then(|| {
            let mut members = Vec::new();
            compare_values(&their.value, &our.value, "", &mut members);
            members.len().min(ALONE)
        })
    };
    let partners: Vec<Vec<Option<usize>>> =
        (0..rows).map(|row| (0..columns).map(|column| partner(row, column)).collect()).collect();
    for row in (0..=rows).rev() {
        for column in (0..=columns).rev() {
            costs[row][column] = match (row < rows, column < columns) {
                (false, false) => 0,
                (true, false) => costs[row + 1][column] + ALONE,
                (false, true) => costs[row][column + 1] + ALONE,
                (true, true) => {
                    let alone = ALONE + costs[row + 1][column].min(costs[row][column + 1]);
                    let both = partners[row][column].map(|cost| cost + costs[row + 1][column + 1]);
                    both.map_or(alone, |both| both.min(alone))
                }
            };
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while row < rows || column < columns {
        let both = if row < rows && column < columns { partners[row][column] } else { None };
        let is_both = both.is_some_and(|cost| cost + costs[row + 1][column + 1] == costs[row][column]);
        let is_theirs = row < rows && costs[row + 1][column] + ALONE == costs[row][column];
        if is_both {
            pairs.push(Pair::Both(row, column));
            (row, column) = (row + 1, column + 1);
        } else if is_theirs {
            pairs.push(Pair::Theirs(row));
            row += 1;
        } else {
            pairs.push(Pair::Ours(column));
            column += 1;
        }
    }
    pairs
}

fn compare_values(theirs: &Value, ours: &Value, path: &str, found: &mut Vec<(String, String, String)>) {
    match (theirs, ours) {
        (Value::Object(their), Value::Object(our)) => {
            let names: BTreeSet<&String> = their.keys().chain(our.keys()).collect();
            for name in names {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare_members(their.get(name), our.get(name), &path, found);
            }
        }
        (Value::Array(their), Value::Array(our)) => {
            for index in 0..their.len().max(our.len()) {
                compare_members(their.get(index), our.get(index), &format!("{path}[]"), found);
            }
        }
        (their, our) if their == our => {}
        (their, our) => found.push((path.to_owned(), their.to_string(), our.to_string())),
    }
}

fn compare_members(
    theirs: Option<&Value>,
    ours: Option<&Value>,
    path: &str,
    found: &mut Vec<(String, String, String)>,
) {
    let shown = |value: Option<&Value>| value.map_or_else(|| ABSENT.to_owned(), Value::to_string);
    match (theirs, ours) {
        (Some(theirs), Some(ours)) => compare_values(theirs, ours, path, found),
        (theirs, ours) => found.push((path.to_owned(), shown(theirs), shown(ours))),
    }
}

#[test]
fn every_kind_of_difference_is_found() {
    use serde_json::json;
    let row = |events: &[Value]| -> Vec<Event> {
        let lines: Vec<String> = events.iter().map(Value::to_string).collect();
        crate::event::parse(&lines.join("\n"), "/tmp/x")
    };
    let theirs = row(&[
        json!({"type": "a"}),
        json!({"type": "b", "same": 1, "other": [1, 2], "gone": {}}),
        json!({"type": "lost"}),
        json!({"type": "c"}),
        json!({"type": "d"}),
    ]);
    let ours = row(&[
        json!({"type": "d"}),
        json!({"type": "a"}),
        json!({"type": "b", "same": 1, "other": [1, 3, 4]}),
        json!({"type": "c"}),
        json!({"type": "added"}),
    ]);
    let difference = |event: &str, path: &str, pi: &str, here: &str| {
        let [event, path, pi, here] = [event, path, pi, here].map(str::to_owned);
        Difference { event, path, pi, here }
    };
    let expected = [
        difference("added", "", "absent", "told"),
        difference("b", "gone", "{}", "absent"),
        difference("b", "other[]", "2", "3"),
        difference("b", "other[]", "absent", "4"),
        difference("d", "", "behind c", "behind nothing"),
        difference("lost", "", "told", "absent"),
    ];
    assert_eq!(differences(&theirs, &ours), BTreeSet::from(expected));
    assert_eq!(differences(&ours, &ours), BTreeSet::new());
}
