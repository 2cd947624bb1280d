//! A line that says more than a value can hold is written as its text; every other line is written from its value.

use pi_transcript::{Entry, Line, line::Exact, read_line, write_line};
use proptest::{collection, prelude::*, sample};
use serde_json::{Value, json};

use crate::{
    change::{LINES, config},
    meaning::same,
};

/// The text beside the value of a line.
fn text(line: &Line) -> Option<&str> {
    match line {
        Line::Header(header) => header.text(),
        Line::Entry(entry) => entry.text(),
        Line::Foreign(value) => value.text(),
        Line::Unreadable(text) => panic!("not read: {text}"),
    }
}

/// An entry with this piece of JSON in it.
fn entry_with(data: &str) -> String {
    format!(r#"{{"type":"custom","id":"a","parentId":null,"timestamp":"t","customType":"c","data":{data}}}"#)
}

/// Reads an entry with this in it, and checks that it is `kept` as text, or else written as `written`.
fn check(data: &str, understood: &Value, kept: bool, written: &str) {
    let before = entry_with(data);
    let read = read_line(&before);
    let Some(Entry::Custom(entry)) = read.entry() else { panic!("{read:?}") };
    // As text, because `0` and `-0.0` are equal numbers.
    assert_eq!(entry.data.as_ref().unwrap().to_string(), understood.to_string(), "{data}");
    assert_eq!(text(&read), kept.then_some(before.as_str()), "{data}");
    let after = write_line(&read);
    assert_eq!(after, entry_with(written));
    assert!(same(&before, &after), "{data}");
}

#[test]
fn what_a_value_cannot_hold_is_kept_as_text() {
    let most = f64::MAX;
    let digits = "7".repeat(400);
    let cases = [
        // Integers beyond 64 bits, also where the double has the same value.
        ("18446744073709551616", json!(18446744073709551616.0)),
        ("-9223372036854775809", json!(-9223372036854775808.0)),
        ("100000000000000000000", json!(1e20)),
        ("-0", json!(-0.0)),
        // More digits than a double gives back, too close to zero, too large.
        ("0.1000000000000000055511151231257827", json!(0.1)),
        ("1.00000000000000000001", json!(1.0)),
        ("9007199254740993.0", json!(9007199254740992.0)),
        ("123456789012345678e3", json!(1.2345678901234568e20)),
        ("1e-400", json!(0.0)),
        ("-1e-99999999999999999999", json!(-0.0)),
        ("3e-324", json!(5e-324)),
        ("1e400", json!(most)),
        ("[-1e400,1E+99999999999999999999]", json!([-most, most])),
        (digits.as_str(), json!(most)),
        // Members that stand twice, at any depth and in any spelling.
        (r#"{"a":1,"a":1}"#, json!({ "a": 1 })),
        (r#"{"a":1,"\u0061":2}"#, json!({ "a": 2 })),
        (r#"[[{"x":{"b":1,"a":[],"b":null}}]]"#, json!([[{ "x": { "b": null, "a": [] } }]])),
        (r#"{"":{"":{},"":{}}}"#, json!({ "": { "": {} } })),
        // Halves of characters, alone and together with the rest.
        (r#""cut \ud83d""#, json!("cut \u{fffd}")),
        (r#"{"\ud83d":1,"\ud83e":1e400,"c":-0}"#, json!({ "\u{fffd}": most, "c": -0.0 })),
    ];
    for (data, understood) in cases {
        check(data, &understood, true, data);
    }
}

#[test]
fn what_a_value_holds_is_written_from_it() {
    let cases = [
        ("0", "0"),
        ("-1", "-1"),
        ("9007199254740993", "9007199254740993"),
        ("9999999999999999999", "9999999999999999999"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        // Another spelling of the same number.
        ("0.0", "0.0"),
        ("-0.0", "-0.0"),
        ("-0e7", "-0.0"),
        ("0e99999999999999999999", "0.0"),
        ("1.00", "1.0"),
        ("1.5000000000000000000000", "1.5"),
        ("1E2", "100.0"),
        ("0.00015e+3", "0.15"),
        ("0.00015000000000000001", "0.00015000000000000001"),
        ("9007199254740992.0", "9007199254740992.0"),
        ("17976931348623157e292", "1.7976931348623157e+308"),
        ("5e-324", "5e-324"),
        // Another spelling of the same text, space, one name in several objects.
        (r#""\u0041\/\ud83d\ude00""#, "\"A/😀\""),
        (r#""1e400 -0 {\"a\":1,\"a\":2}""#, r#""1e400 -0 {\"a\":1,\"a\":2}""#),
        ("[ 1 , { } ]", "[1,{}]"),
        (r#"{"a":{"a":1},"b":[{"a":1},{"a":1}],"A":":"}"#, r#"{"a":{"a":1},"b":[{"a":1},{"a":1}],"A":":"}"#),
    ];
    for (data, written) in cases {
        check(data, &serde_json::from_str(data).unwrap(), false, written);
    }
}

/// The header, an entry of a type that we do not know, and what is no entry.
#[test]
fn every_kind_of_line_keeps_its_text() {
    for (line, kind) in [
        (r#"{"type":"session","version":3,"id":"s","id":"s","timestamp":"t"}"#, "header"),
        (r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"\udead"}"#, "header"),
        (r#"{"type":"later","id":"a","parentId":null,"timestamp":"t","x":1e400}"#, "entry"),
        (r#"{"type":"label","id":"a","id":"b","parentId":null,"timestamp":"t","targetId":"c"}"#, "entry"),
        (r#"{"a":"\udead"}"#, "foreign"),
        ("[-0]", "foreign"),
        (" 1e999", "foreign"),
    ] {
        let read = read_line(line);
        let found = match &read {
            Line::Header(_) => "header",
            Line::Entry(_) => "entry",
            Line::Foreign(_) => "foreign",
            Line::Unreadable(_) => "unreadable",
        };
        assert_eq!((found, text(&read), write_line(&read).as_str()), (kind, Some(line), line));
    }
}

#[test]
fn of_a_member_written_twice_the_last_counts() {
    let line = read_line(r#"{"type":"label","id":"a","id":"b","parentId":null,"timestamp":"t","targetId":"c"}"#);
    assert_eq!(line.entry().unwrap().id().as_str(), "b");
}

#[test]
fn changed_entry_is_written_without_its_old_text() {
    let Line::Entry(line) = read_line(&entry_with("-0")) else { panic!() };
    let Entry::Custom(mut entry) = line.into_value() else { panic!() };
    entry.custom_type = "d".to_owned();
    let changed = Line::Entry(Exact::from(Entry::Custom(entry)));
    assert_eq!(write_line(&changed), entry_with("-0.0").replace(r#""c""#, r#""d""#));
}

#[test]
fn meaning_is_told_apart() {
    let different = [
        ("1", "1.0"),
        ("0", "-0"),
        ("-0", "-0.0"),
        ("0.1", "0.10000000000000001"),
        ("1e400", "1e401"),
        (r#"{"a":1}"#, r#"{"a":1,"a":1}"#),
        (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#),
        (r#""\ud83d""#, r#""\ufffd""#),
        ("[1,2]", "[2,1]"),
        ("not json", "not  json"),
        ("1.", "1.0"),
    ];
    for (left, right) in different {
        assert!(!same(left, right), "{left} {right}");
    }
    let equal = [
        ("15e-1", "1.50"),
        ("0.0", "0e9"),
        (r#"{"a":1,"b":2,"a":3}"#, r#"{ "a":1,"\u0061":3,"b":2 }"#),
        (r#""\u00e9\/\n""#, "\"é/\\u000a\""),
        ("not json", "not json"),
    ];
    for (left, right) in equal {
        assert!(same(left, right), "{left} {right}");
    }
}

/// Numbers around every limit that there is.
fn any_number() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,4})",
        "-?[1-9][0-9]{14,24}",
        "-?(1844674407370955|922337203685477)[0-9]{4,5}",
        "-?(0|[1-9][0-9]{0,18})\\.[0-9]{1,24}",
        "-?(0|[1-9])(\\.[0-9]{1,20})?[eE][+-]?[0-9]{1,3}",
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,4})?[eE][+-]?(30[0-9]|32[0-9]|[0-9]{20})",
        any::<f64>().prop_filter("JSON has finite numbers", |double| double.is_finite()).prop_map(|d| format!("{d:?}")),
        any::<f64>().prop_filter("JSON has finite numbers", |double| double.is_finite()).prop_map(|d| format!("{d:e}")),
    ]
}

/// JSON text with few names, so that they often stand twice.
fn any_text() -> impl Strategy<Value = String> {
    let word = sample::select(&["null", "true", "\"\"", r#""\ud83d""#, r#""\\\":1e400,""#, r#""\u0061é""#][..]);
    let leaf = prop_oneof![4 => any_number(), 1 => word.prop_map(str::to_owned)];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let member = (any_name(), inner.clone()).prop_map(|(name, value)| format!("{name}:{value}"));
        prop_oneof![
            collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            collection::vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(" ,"))),
        ]
    })
}

fn any_name() -> impl Strategy<Value = &'static str> {
    let names =
        [r#""a""#, r#""\u0061""#, r#""b" "#, r#""\ud83d""#, r#""id""#, r#""parentId""#, r#""type""#, r#""usage""#];
    sample::select(names.to_vec())
}

proptest! {
    #![proptest_config(config())]

    /// Text before and behind the members of lines of every kind, and other numbers inside.
    #[test]
    fn no_digit_and_no_member_is_lost(
        line in sample::select(LINES.lines().collect::<Vec<_>>()),
        first in collection::vec((any_name(), any_text()), 0..3),
        last in collection::vec((any_name(), any_text()), 0..3),
        place in any::<sample::Index>(),
        number in any_number(),
    ) {
        let member = |(name, value): &(&str, String)| format!("{name}:{value}");
        let inner = line.strip_prefix('{').and_then(|line| line.strip_suffix('}')).unwrap();
        let members: Vec<String> =
            first.iter().map(member).chain([inner.to_owned()]).chain(last.iter().map(member)).collect();
        let mut text = format!("{{{}}}", members.join(","));
        // A number somewhere inside becomes another one.
        let ones: Vec<usize> = text.match_indices(":1").map(|(at, _)| at + 1).collect();
        if !ones.is_empty() {
            text.insert_str(*place.get(&ones), &format!("{number},\"next\":"));
        }
        let read = read_line(&text);
        let written = write_line(&read);
        prop_assert!(same(&text, &written), "{text} became {written}");
        prop_assert_eq!(read_line(&written), read);
    }

    #[test]
    fn no_digit_and_no_member_of_foreign_json_is_lost(text in any_text()) {
        let read = read_line(&text);
        let written = write_line(&read);
        prop_assert!(same(&text, &written), "{text} became {written}");
        prop_assert_eq!(read_line(&written), read);
    }

    /// Text is kept where it must be, and nowhere else.
    #[test]
    fn text_is_kept_only_where_writing_would_lose(number in any_number()) {
        let read = read_line(&number);
        let lossy = serde_json::from_str::<Value>(&number).map_or(true, |value| !same(&number, &value.to_string()));
        prop_assert_eq!(text(&read).is_some(), lossy, "{}", number);
    }
}
