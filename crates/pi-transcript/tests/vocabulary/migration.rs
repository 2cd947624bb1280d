//! Files of versions 1 and 2 become files of version 3.

use pi_transcript::{
    EntryId, Line,
    migrate::{migrate, version},
    read_line, write_line,
};
use proptest::{collection, prelude::*};

use crate::change::config;

/// Migrates `before` with the ids `n1`, `n2`, … and compares the text.
fn check(before: &str, after: &str) {
    let migrated = migrated(before);
    assert_eq!(text(&migrated), trimmed(after));
    assert_eq!(text(&self::migrated(&text(&migrated))), trimmed(after), "migrating twice is migrating once");
}

fn migrated(before: &str) -> Vec<Line> {
    let mut count = 0;
    migrate(trimmed(before).lines().map(read_line).collect(), || {
        count += 1;
        EntryId::from(format!("n{count}"))
    })
}

fn trimmed(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn text(lines: &[Line]) -> String {
    lines.iter().map(write_line).collect::<Vec<_>>().join("\n")
}

#[test]
fn list_becomes_tree() {
    check(
        r#"{"type":"session","id":"s","timestamp":"t0","cwd":"/p","provider":"x","modelId":"m","thinkingLevel":"off"}
           {"type":"message","timestamp":"t1","message":{"role":"user","content":"a","timestamp":1}}
           {"type":"thinking_level_change","timestamp":"t2","thinkingLevel":"low"}
           {"type":"later","timestamp":"t3","x":1}"#,
        r#"{"type":"session","version":3,"id":"s","timestamp":"t0","cwd":"/p","provider":"x","modelId":"m","thinkingLevel":"off"}
           {"type":"message","id":"n1","parentId":null,"timestamp":"t1","message":{"role":"user","content":"a","timestamp":1}}
           {"type":"thinking_level_change","id":"n2","parentId":"n1","timestamp":"t2","thinkingLevel":"low"}
           {"type":"later","id":"n3","parentId":"n2","timestamp":"t3","x":1}"#,
    );
}

#[test]
fn index_of_the_first_kept_line_becomes_its_id() {
    check(
        r#"{"type":"session","id":"s","timestamp":"t","cwd":"/p"}
           {"type":"label","timestamp":"t","targetId":"x"}
           not json, and not counted
           {"type":"label","timestamp":"t","targetId":"y"}
           {"type":"compaction","timestamp":"t","summary":"s","firstKeptEntryIndex":2,"tokensBefore":9}"#,
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/p"}
           {"type":"label","id":"n1","parentId":null,"timestamp":"t","targetId":"x"}
           not json, and not counted
           {"type":"label","id":"n2","parentId":"n1","timestamp":"t","targetId":"y"}
           {"type":"compaction","id":"n3","parentId":"n2","timestamp":"t","summary":"s","firstKeptEntryId":"n2","tokensBefore":9}"#,
    );
}

/// The header, a line that does not exist, a number that is no index.
#[test]
fn index_that_points_nowhere_keeps_nothing() {
    for index in ["0", "7", "-1", "1.5", "\"1\"", "18446744073709551615"] {
        check(
            &format!(
                r#"{{"type":"session","id":"s","timestamp":"t","cwd":"/p"}}
                   {{"type":"compaction","timestamp":"t","summary":"s","firstKeptEntryIndex":{index},"tokensBefore":9}}"#
            ),
            &format!(
                r#"{{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/p"}}
                   {{"type":"compaction","id":"n1","parentId":null,"timestamp":"t","summary":"s","firstKeptEntryId":"n1","tokensBefore":9,"firstKeptEntryIndex":{index}}}"#
            ),
        );
    }
}

#[test]
fn hook_message_becomes_custom() {
    check(
        r#"{"type":"session","version":2,"id":"s","timestamp":"t","cwd":"/p"}
           {"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"hookMessage","customType":"c","content":"x","display":true,"timestamp":1,"y":2}}
           {"type":"custom","id":"b","parentId":"a","timestamp":"t","customType":"c","data":{"role":"hookMessage"}}
           {"type":"message","id":"c","parentId":"b","timestamp":"t","message":{"role":"hookMessage","odd":true}}"#,
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/p"}
           {"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"custom","customType":"c","content":"x","display":true,"timestamp":1,"y":2}}
           {"type":"custom","id":"b","parentId":"a","timestamp":"t","customType":"c","data":{"role":"hookMessage"}}
           {"type":"message","id":"c","parentId":"b","timestamp":"t","message":{"role":"custom","odd":true}}"#,
    );
}

#[test]
fn version_1_goes_all_the_way() {
    check(
        r#"{"type":"session","id":"s","timestamp":"t","cwd":"/p"}
           {"type":"message","timestamp":"t","message":{"role":"hookMessage","customType":"c","content":"x","display":true,"timestamp":1}}"#,
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/p"}
           {"type":"message","id":"n1","parentId":null,"timestamp":"t","message":{"role":"custom","customType":"c","content":"x","display":true,"timestamp":1}}"#,
    );
}

#[test]
fn ids_that_are_there_are_kept_and_not_given_twice() {
    check(
        r#"{"type":"session","id":"s","timestamp":"t","cwd":"/p"}
           {"type":"label","timestamp":"t","targetId":"x"}
           {"type":"label","id":"n2","parentId":"n9","timestamp":"t","targetId":"x"}
           {"type":"label","timestamp":"t","targetId":"x"}"#,
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/p"}
           {"type":"label","id":"n1","parentId":null,"timestamp":"t","targetId":"x"}
           {"type":"label","id":"n2","parentId":"n9","timestamp":"t","targetId":"x"}
           {"type":"label","id":"n3","parentId":"n2","timestamp":"t","targetId":"x"}"#,
    );
}

#[test]
fn garbage_stays_where_it_is() {
    check(
        r#"%%%
           {"type":"session","id":"s","timestamp":"t"}
           17
           {broken
           {"no":"type"}
           {"type":"label","timestamp":"t","targetId":"x"}
           {"type":"label","timestamp":5}"#,
        r#"%%%
           {"type":"session","version":3,"id":"s","timestamp":"t"}
           17
           {broken
           {"no":"type"}
           {"type":"label","id":"n1","parentId":null,"timestamp":"t","targetId":"x"}
           {"type":"label","timestamp":5}"#,
    );
}

/// In a line that changes, half a character cannot stay; in one that does not, it does.
#[test]
fn half_characters() {
    check(
        r#"{"type":"session","id":"s","timestamp":"t"}
           {"type":"custom","timestamp":"t","customType":"\ud83d"}"#,
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"t\"}
         {\"type\":\"custom\",\"id\":\"n1\",\"parentId\":null,\"timestamp\":\"t\",\"customType\":\"\u{fffd}\"}",
    );
    check(
        r#"{"type":"session","id":"s","timestamp":"t"}
           {"type":"custom","id":"a","parentId":null,"timestamp":"t","customType":"\ud83d"}
           {"counted":"but no entry \ud83d"}
           {"type":"compaction","timestamp":"t","summary":"s","firstKeptEntryIndex":1,"tokensBefore":9}
           {"type":"compaction","timestamp":"t","summary":"s","firstKeptEntryIndex":3,"tokensBefore":9}"#,
        r#"{"type":"session","version":3,"id":"s","timestamp":"t"}
           {"type":"custom","id":"a","parentId":null,"timestamp":"t","customType":"\ud83d"}
           {"counted":"but no entry \ud83d"}
           {"type":"compaction","id":"n1","parentId":"a","timestamp":"t","summary":"s","firstKeptEntryId":"a","tokensBefore":9}
           {"type":"compaction","id":"n2","parentId":"n1","timestamp":"t","summary":"s","firstKeptEntryId":"n1","tokensBefore":9}"#,
    );
    check(
        r#"{"type":"session","version":2,"id":"s","timestamp":"t"}
           {"type":"custom","id":"a","parentId":null,"timestamp":"t","customType":"\ud83d"}"#,
        r#"{"type":"session","version":3,"id":"s","timestamp":"t"}
           {"type":"custom","id":"a","parentId":null,"timestamp":"t","customType":"\ud83d"}"#,
    );
}

/// In a line that changes they are as they were understood; in one that does not, they stay.
#[test]
fn digits_and_members_that_a_value_cannot_hold() {
    check(
        r#"{"type":"session","id":"r","id":"s","timestamp":"t","x":-0}
           {"type":"custom","timestamp":"t","customType":"c","data":18446744073709551616}
           {"type":"custom","timestamp":"t","customType":"c","data":1e400}
           {"type":"label","id":"a","parentId":null,"timestamp":"t","targetId":"x","targetId":"y"}
           {"type":"session","id":"b","timestamp":"t","version":"2","x":1e400}
           {"counted":1e-400}
           {"type":"compaction","timestamp":"t","summary":"s","firstKeptEntryIndex":3,"firstKeptEntryIndex":1,"tokensBefore":9}"#,
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","x":-0.0}
           {"type":"custom","id":"n1","parentId":null,"timestamp":"t","customType":"c","data":1.8446744073709552e+19}
           {"type":"custom","id":"n2","parentId":"n1","timestamp":"t","customType":"c","data":1.7976931348623157e+308}
           {"type":"label","id":"a","parentId":null,"timestamp":"t","targetId":"x","targetId":"y"}
           {"type":"session","id":"b","timestamp":"t","version":"2","x":1e400}
           {"counted":1e-400}
           {"type":"compaction","id":"n3","parentId":"a","timestamp":"t","summary":"s","firstKeptEntryId":"n1","tokensBefore":9}"#,
    );
    check(
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","x":-0,"x":1}
           {"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"hookMessage","x":-0}}"#,
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","x":-0,"x":1}
           {"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"hookMessage","x":-0}}"#,
    );
    check(
        r#"{"type":"session","version":2,"id":"s","timestamp":"t"}
           {"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"hookMessage","x":-0}}
           {"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"later","x":-0}}"#,
        r#"{"type":"session","version":3,"id":"s","timestamp":"t"}
           {"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"custom","x":-0.0}}
           {"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"later","x":-0}}"#,
    );
}

#[test]
fn what_is_current_newer_or_no_session_is_left_alone() {
    let hook = r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"hookMessage"}}"#;
    for first in [
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/p"}"#,
        r#"{"type":"session","version":4,"id":"s","timestamp":"t","cwd":"/p"}"#,
        r#"{"type":"session","version":"2","id":"s","timestamp":"t","cwd":"/p"}"#,
        r#"{"type":"label","timestamp":"t","targetId":"x"}"#,
        "nothing",
    ] {
        let file = format!("{first}\n{hook}");
        check(&file, &file);
    }
}

#[test]
fn version_is_that_of_the_first_line() {
    let of = |file: &str| version(&file.lines().map(read_line).collect::<Vec<_>>());
    let header = r#"{"type":"session","version":2,"id":"s","timestamp":"t"}"#;
    assert_eq!(of(header), Some(2));
    assert_eq!(of(r#"{"type":"session","id":"s","timestamp":"t"}"#), Some(1));
    assert_eq!(of(&format!("garbage\n{header}")), Some(2));
    assert_eq!(of(&format!("{{}}\n{header}")), None);
    assert_eq!(of(""), None);
}

const PIECES: &[&str] = &[
    r#"{"type":"session","id":"s","timestamp":"t"}"#,
    r#"{"type":"message","timestamp":"t","message":{"role":"hookMessage"}}"#,
    r#"{"type":"message","id":"n1","timestamp":"t","message":{"role":"user","content":"\udead","timestamp":1}}"#,
    r#"{"type":"message","id":"n2","parentId":null,"timestamp":"t","message":{"role":"hookMessage","x":"\udead"}}"#,
    r#"{"type":"compaction","timestamp":"t","summary":"s","firstKeptEntryIndex":2,"tokensBefore":9}"#,
    r#"{"type":"compaction","id":"n3","parentId":5,"timestamp":"t","summary":"s","firstKeptEntryIndex":1,"firstKeptEntryId":"q"}"#,
    r#"{"type":"custom","id":"n4","parentId":null,"timestamp":"t","customType":"c","data":1e400,"data":-0}"#,
    r#"{"type":"session","id":"n5","id":"n6","timestamp":"t","version":"x"}"#,
    r#"{"id":7}"#,
    r#"{"id":18446744073709551616}"#,
    "[]",
    "garbage",
    "",
];

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_file_migrates_once(
        version in proptest::sample::select(&["", r#""version":1,"#, r#""version":2,"#][..]),
        pieces in collection::vec(proptest::sample::select(PIECES), 0..12),
    ) {
        let header = format!(r#"{{"type":"session",{version}"id":"s","timestamp":"t"}}"#);
        let file: Vec<Line> = std::iter::once(header.as_str()).chain(pieces).map(read_line).collect();
        let mut count = 0;
        let mut ids = || { count += 1; EntryId::from(format!("n{count}")) };
        let once = migrate(file.clone(), &mut ids);
        prop_assert_eq!(once.len(), file.len());
        prop_assert_eq!(self::version(&once), Some(3));
        let mut parent = None;
        for line in &once {
            if let (Some(entry), false) = (line.entry(), version.contains('2')) {
                prop_assert!(entry.parent_id().is_none() || entry.parent_id() == parent);
                parent = Some(entry.id());
            }
        }
        let reread: Vec<Line> = once.iter().map(|line| read_line(&write_line(line))).collect();
        prop_assert_eq!(&reread, &once);
        prop_assert_eq!(migrate(once.clone(), ids), once);
    }
}
