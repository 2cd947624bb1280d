//! Canonical JSON against the examples of RFC 8785, and its laws.

use pi_transcript::json::{Digest, canonical};
use proptest::{collection, prelude::*};
use serde_json::{Map, Value, json};

use crate::change::{any_json, config};

fn check(text: &str, expected: &str) {
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(String::from_utf8(canonical::to_vec(&value)).unwrap(), expected);
}

/// Section 3.2.2 and 3.2.4; the digest was taken with another implementation of SHA-256.
#[test]
fn example_of_the_rfc() {
    let text = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    check(
        text,
        r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#,
    );
    let digest: Digest = "2d5e01a318d0f0879ab568c4be289c8b1f64ef8921a53c6277d5e069978baacb".parse().unwrap();
    assert_eq!(canonical::digest(&serde_json::from_str(text).unwrap()), digest);
}

/// Section 3.2.3: an emoji, whose first UTF-16 unit is a surrogate, sorts before U+FB33, though its code point is larger.
#[test]
fn members_are_sorted_by_utf16_units() {
    check(
        r#"{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
            "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}"#,
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\
         \"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
    );
    check(
        r#"{"b":{"z":1,"a":[{"d":0,"c":0}]},"":0,"a\u0000":1,"a":2}"#,
        r#"{"":0,"a":2,"a\u0000":1,"b":{"a":[{"c":0,"d":0}],"z":1}}"#,
    );
}

/// Appendix B, without the two that are no JSON numbers.
#[test]
fn numbers_of_the_rfc() {
    for (bits, expected) in [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        assert_eq!(canonical::to_vec(&json!(f64::from_bits(bits))), expected.as_bytes(), "{bits:016x}");
    }
}

/// JavaScript has doubles only, so that is what an integer means.
#[test]
fn integers_are_doubles() {
    for (number, expected) in [
        ("1", "1"),
        ("1.0", "1"),
        ("10e-1", "1"),
        ("-0", "0"),
        ("9007199254740993", "9007199254740992"),
        ("18446744073709551615", "18446744073709552000"),
        ("-9223372036854775808", "-9223372036854776000"),
        ("18446744073709551616", "18446744073709552000"),
    ] {
        check(number, expected);
    }
}

#[test]
fn only_what_must_be_is_escaped() {
    check(
        r#""\u0000\u0007\b\t\n\u000b\f\r\u001f \"\\\/\u007f\u2028\u2029é\ud83d\ude00""#,
        "\"\\u0000\\u0007\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\/\u{7f}\u{2028}\u{2029}é😀\"",
    );
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            object.iter().rev().map(|(name, member)| (name.clone(), reversed(member))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(reversed).collect(),
        leaf => leaf.clone(),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn order_of_members_has_no_meaning(value in any_json()) {
        prop_assert_eq!(canonical::digest(&value), canonical::digest(&reversed(&value)));
    }

    #[test]
    fn canonical_text_is_its_own_canonical_text(value in any_json()) {
        let once = canonical::to_vec(&value);
        let read: Value = serde_json::from_slice(&once).unwrap();
        prop_assert_eq!(canonical::to_vec(&read), once);
    }

    #[test]
    fn written_members_ascend(members in collection::hash_map(any::<String>(), Just(0), 0..8)) {
        let value = Value::Object(members.into_iter().map(|(name, zero)| (name, json!(zero))).collect());
        let read: Map<String, Value> = serde_json::from_slice(&canonical::to_vec(&value)).unwrap();
        let names: Vec<Vec<u16>> = read.keys().map(|name| name.encode_utf16().collect()).collect();
        prop_assert!(names.is_sorted());
        prop_assert_eq!(Value::Object(read), value);
    }
}
