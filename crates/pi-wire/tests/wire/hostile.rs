//! Frames that nobody should send: each gets a clear rejection, none a panic, and memory stays bounded.

use std::sync::LazyLock;

use pi_wire::{Cause, ErrorCode, Fault, Limits, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::examples;

const SMALL: Limits = Limits { bytes: 1 << 20, depth: 8, values: 64 };

/// What is answered to `bytes`, as JSON, under small limits.
fn answer(bytes: &[u8]) -> Value {
    let reject = parse(bytes, &SMALL).expect_err("a hostile frame is refused");
    serde_json::to_value(reject.response()).unwrap()
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "a test hands over the values that it writes down")]
fn check(bytes: impl AsRef<[u8]>, expected: Value) {
    assert_eq!(answer(bytes.as_ref()), expected);
}

fn refused(code: &str, error: &str) -> Value {
    json!({ "type": "response", "command": "unknown", "success": false, "error": error, "code": code })
}

fn with(mut answer: Value, members: Value) -> Value {
    let Value::Object(members) = members else { panic!("members stand in an object") };
    answer.as_object_mut().unwrap().extend(members);
    answer
}

const FLAT: &str = "send nested content as text, or as a file whose path the command names";

fn one_object(code: &str, error: &str) -> Value {
    with(refused(code, error), json!({ "hint": "send one JSON object per frame" }))
}

#[test]
fn what_is_no_object_is_named() {
    for (frame, found) in [
        ("null", "null"),
        ("true", "a boolean"),
        ("5", "a number"),
        ("-5", "a number"),
        ("0.5", "a number"),
        ("\"x\"", "a string"),
        ("[]", "an array"),
        ("[{\"type\":\"health_check\"}]", "an array"),
    ] {
        check(frame, one_object("not_an_object", &format!("Message must be a JSON object, not {found}")));
    }
}

#[test]
fn nothing_at_all_is_named() {
    for frame in ["", " ", "\r\n", "\t\n "] {
        check(frame, one_object("invalid_json", "Invalid JSON: empty message"));
    }
}

#[test]
fn broken_json_is_refused_with_its_place() {
    let cases: &[(&[u8], &str)] = &[
        (b"{", "EOF while parsing an object at line 1 column 1"),
        (b"nul", "EOF while parsing a value at line 1 column 3"),
        (b"{\"type\":\"abort\"} x", "trailing characters at line 1 column 18"),
        (b"{\"type\":\"abort\"}{\"type\":\"abort\"}", "trailing characters at line 1 column 17"),
        (b"{\"type\":\"abort\",}", "trailing comma at line 1 column 17"),
        (b"{\n\"type\":'abort'}", "expected value at line 2 column 8"),
        (b"{\"a\":1e400}", "number out of range at line 1 column 10"),
        (b"{\"a\":NaN}", "expected value at line 1 column 6"),
        (b"{\"a\":\"\x00\"}", "control character (\\u0000-\\u001F) found while parsing a string at line 1 column 7"),
        (b"\x00", "expected value at line 1 column 1"),
        (br#"{"a":"\ud800"}"#, "unexpected end of hex escape at line 1 column 13"),
        (br#"{"a":"\udc00"}"#, "lone leading surrogate in hex escape at line 1 column 12"),
        (br#"{"\ud800":1}"#, "unexpected end of hex escape at line 1 column 9"),
        (br#"{"a":"\ud800\u0041"}"#, "lone leading surrogate in hex escape at line 1 column 18"),
        (br#"{"a":"\x"}"#, "invalid escape at line 1 column 8"),
    ];
    for (frame, problem) in cases {
        let hint = json!({ "hint": "send one JSON object per frame, written by a JSON library" });
        check(frame, with(refused("invalid_json", &format!("Invalid JSON: {problem}")), hint));
    }
}

#[test]
fn a_number_of_four_hundred_digits_is_out_of_range() {
    let frame = format!("{{\"type\":\"health_check\",\"n\":{}}}", "9".repeat(400));
    let Value::String(error) = answer(frame.as_bytes())["error"].clone() else { panic!("an error is text") };
    assert!(error.starts_with("Invalid JSON: number out of range at line 1 column "), "{error}");
}

#[test]
fn a_number_of_three_hundred_digits_is_only_unknown() {
    let frame = format!("{{\"type\":\"health_check\",\"n\":{}}}", "9".repeat(300));
    assert!(parse(frame.as_bytes(), &SMALL).is_ok());
}

#[test]
fn wrong_encodings_are_named() {
    check(
        b"{\"type\":\"pro\xffmpt\"}",
        with(refused("invalid_json", "Invalid JSON: byte 12 is not UTF-8"), json!({ "hint": "send UTF-8" })),
    );
    check(
        b"\xef\xbb\xbf{\"type\":\"abort\"}",
        with(
            refused("invalid_json", "Invalid JSON: byte order mark before the message"),
            json!({ "hint": "send UTF-8 without a byte order mark" }),
        ),
    );
    check(
        b"\xff\xfe{\x00}\x00",
        with(refused("invalid_json", "Invalid JSON: byte 0 is not UTF-8"), json!({ "hint": "send UTF-8" })),
    );
}

#[test]
fn a_member_that_stands_twice_is_named_with_its_path() {
    let many: String = (0..30).map(|n| format!("\"m{n}\":0,")).collect();
    for (frame, path) in [
        (r#"{"type":"abort","sessionId":"a","sessionId":"b"}"#.to_owned(), "sessionId"),
        (r#"{"type":"abort","a":1,"\u0061":2}"#.to_owned(), "a"),
        (r#"{"type":"x","a":{"b":[0,{"c":1,"c":2}]}}"#.to_owned(), "a.b[1].c"),
        (format!("{{{many}\"m3\":0}}"), "m3"),
        (format!("{{{many}\"z\":0,\"z\":0}}"), "z"),
        (format!("{{{:?}:1,{:?}:2}}", "k".repeat(200), "k".repeat(200)), &format!("{}…", "k".repeat(80))),
    ] {
        let expected = with(
            refused("duplicate_member", &format!("Duplicate member '{path}'")),
            json!({ "field": path, "hint": "name every member once" }),
        );
        check(frame, expected);
    }
}

#[test]
fn refused_frame_is_known_by_the_id_at_its_beginning() {
    let large = "x".repeat(1 << 20);
    for (frame, id) in [
        (r#"{"id":"c1","a":1,"a":2}"#.to_owned(), json!("c1")),
        (r#"{"type":"abort","id":7,"a":nothing}"#.to_owned(), json!(7)),
        (format!("{{\"id\":\"c1\",\"a\":{}", "[".repeat(100)), json!("c1")),
        (format!("{{\"id\":\"c1\",\"a\":\"{large}\"}}"), json!("c1")),
        (format!("{{\"a\":\"{large}\",\"id\":\"c1\"}}"), json!(null)),
        (r#"{"id":"c1","id":"c2"}"#.to_owned(), json!(null)),
        (format!("{{\"id\":\"{}\",\"a\":nothing}}", "c".repeat(1025)), json!(null)),
        (r#"[{"id":"c1"}]"#.to_owned(), json!(null)),
    ] {
        assert_eq!(answer(frame.as_bytes())["id"], id, "{}", &frame[..frame.len().min(40)]);
    }
}

#[test]
fn nesting_ends_at_the_limit() {
    let nested = |levels: usize, open: &str, close: &str| {
        format!("{{\"type\":\"health_check\",\"a\":{}0{}}}", open.repeat(levels), close.repeat(levels))
    };
    assert!(parse(nested(7, "[", "]").as_bytes(), &SMALL).is_ok());
    let expected = with(refused("too_deep", "Message is nested deeper than 8 levels"), json!({ "hint": FLAT }));
    check(nested(8, "[", "]"), expected.clone());
    check(nested(8, "{\"a\":", "}"), expected.clone());
    check(format!("{{\"a\":{}", "[".repeat(500_000)), expected.clone());
    check(format!("{{\"a\":{}", "{\"a\":".repeat(100_000)), expected);
}

#[test]
fn a_deep_frame_under_the_default_limits_does_not_reach_the_readers_own() {
    let frame = format!("{{\"a\":{}", "[".repeat(100_000));
    let reject = parse(frame.as_bytes(), &Limits::default()).unwrap_err();
    assert_eq!(reject.cause, Cause::TooDeep { limit: 64 });
}

#[test]
fn the_number_of_values_ends_at_the_limit() {
    let expected = with(refused("too_many_values", "Message holds more than 64 values"), json!({ "hint": FLAT }));
    check(format!("{{\"a\":[{}0]}}", "0,".repeat(64)), expected.clone());
    check(format!("{{\"a\":[{}[]]}}", "[],".repeat(400_000 / 3)), expected.clone());
    let members: String = (0..65).map(|n| format!("\"{n}\":0,")).collect();
    check(format!("{{{members}\"z\":0}}"), expected.clone());
    check(format!("{{\"a\":{{{members}\"z\":0}}}}"), expected);
}

#[test]
fn the_size_is_checked_before_anything_is_read() {
    let expected = with(
        refused("message_too_large", "Message size 1048577 exceeds limit 1048576"),
        json!({ "hint": "send large content as a file and name its path" }),
    );
    check(vec![b'['; (1 << 20) + 1], expected);
    let reject = parse(&vec![b' '; 10_485_761], &Limits::default()).unwrap_err();
    assert_eq!(reject.cause.to_string(), "Message size 10485761 exceeds limit 10485760");
}

#[test]
fn a_string_of_ten_mebibytes_is_too_long_wherever_it_stands() {
    let huge = "x".repeat(10 * 1024 * 1024 - 200);
    for (name, expected) in [
        ("message", "Validation failed: message: Too long (max 200000 chars)"),
        ("id", "Validation failed: id: Too long (max 256 chars)"),
        ("sessionId", "Validation failed: sessionId: Too long (max 256 chars)"),
    ] {
        let mut frame = json!({ "type": "steer", "sessionId": "s", "message": "m" });
        frame[name] = huge.clone().into();
        let response = parse(frame.to_string().as_bytes(), &Limits::default()).unwrap_err().response();
        let answer = serde_json::to_string(&response).unwrap();
        assert!(answer.contains(expected), "{name}: {}", &answer[..answer.len().min(200)]);
        assert!(answer.len() < 400, "an answer does not repeat what is huge");
    }
    let frame = json!({ "type": huge.clone(), "id": "c1" }).to_string();
    let answer = serde_json::to_value(parse(frame.as_bytes(), &Limits::default()).unwrap_err().response()).unwrap();
    let error = format!("Validation failed: type: Unknown command type '{}…'", "x".repeat(80));
    assert_eq!((&answer["id"], &answer["command"], &answer["error"]), (&json!("c1"), &json!("unknown"), &json!(error)));
}

#[test]
fn a_report_of_faults_ends_after_a_hundred() {
    let items = vec![json!({ "itemId": 0, "message": 0, "behavior": "x" }); 1000];
    let frame = json!({ "type": "edit_queue", "sessionId": "s", "revision": 0, "items": items }).to_string();
    let response = parse(frame.as_bytes(), &Limits::default()).unwrap_err().response();
    let answer = serde_json::to_value(response).unwrap();
    let faults: Vec<_> = answer["error"].as_str().unwrap().split("; ").collect();
    assert_eq!(faults.len(), 101);
    assert_eq!(faults[0], "Validation failed: items[0].itemId: Required string");
    assert_eq!(faults[99..], ["items[33].itemId: Required string", "and more"]);
    assert!(answer.to_string().len() < 8 << 10, "an answer stays small, whatever the frame");
}

#[test]
fn a_hundred_faults_are_all_of_them() {
    let items = vec![json!({}); 100];
    let frame = json!({ "type": "edit_queue", "sessionId": "s", "revision": 0, "items": items }).to_string();
    let Cause::Invalid(faults) = parse(frame.as_bytes(), &Limits::default()).unwrap_err().cause else { panic!() };
    assert_eq!((faults.len(), &*faults[99].field), (100, "items[99].itemId"));
}

#[test]
fn nul_is_refused_in_every_field_with_a_rule_and_nowhere_else() {
    let frame = r#"{"type":"bash","sessionId":"a\u0000","command":"ls\u0000","id":"\u0000","other":"\u0000"}"#;
    let reject = parse(frame.as_bytes(), &SMALL).unwrap_err();
    let Cause::Invalid(faults) = reject.cause else { panic!("{:?}", reject.cause) };
    let found: Vec<_> = faults.into_iter().map(|fault| (fault.field, fault.fault)).collect();
    let nul = |field: &str| (field.to_owned(), Fault::Nul);
    assert_eq!(found, [nul("id"), nul("sessionId"), nul("command")]);
}

#[test]
fn an_object_is_no_session_id_wherever_it_stands() {
    let session = answer(br#"{"type":"get_state","sessionId":{"a":1}}"#);
    assert_eq!(
        session["error"],
        "Validation failed: sessionId: Session commands must have a non-empty string 'sessionId'"
    );
    let server = answer(br#"{"type":"health_check","sessionId":{"a":1}}"#);
    assert_eq!(server["error"], "Validation failed: sessionId: Must be a string if provided");
}

#[test]
fn an_id_is_echoed_as_it_was_sent_where_it_can_be() {
    for (sent, echoed) in [
        (json!(5), json!(5)),
        (json!(""), json!("")),
        (json!(null), json!(null)),
        (json!(false), json!(false)),
        (json!("anon:7"), json!("anon:7")),
    ] {
        let answer = answer(json!({ "type": "health_check", "id": sent }).to_string().as_bytes());
        assert_eq!(answer.get("id"), Some(&echoed));
        assert_eq!((&answer["command"], &answer["field"]), (&json!("health_check"), &json!("id")));
    }
    for sent in [json!({ "a": 1 }), json!([1]), json!("x".repeat(2000))] {
        let answer = answer(json!({ "type": "health_check", "id": sent }).to_string().as_bytes());
        assert_eq!(answer.get("id"), None);
    }
}

#[test]
fn a_rejection_is_worth_no_other_attempt() {
    for frame in [&b"null"[..], b"{}", b"{\"type\":\"x\"}", b"", b"{\"a\":1,\"a\":1}"] {
        let code: ErrorCode = parse(frame, &SMALL).unwrap_err().cause.code();
        assert_eq!(code.retry(), pi_wire::Retry::Never, "{code:?}");
    }
}

/// The bytes of one good frame for each command.
static EXAMPLES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    examples::commands().into_iter().map(|example| example.command.to_string().into_bytes()).collect()
});

fn cases() -> u32 {
    std::env::var("PI_TEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_frames_are_read_or_answered(
        example in prop::sample::select(EXAMPLES.as_slice()),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..8),
    ) {
        let mut bytes = example.clone();
        for (place, byte, edit) in edits {
            let place = place.index(bytes.len());
            match edit {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                2 => bytes.truncate(place.max(1)),
                _ => bytes.insert(place, b"{}[]\",:\\0e-"[usize::from(byte) % 11]),
            }
        }
        match parse(&bytes, &SMALL) {
            Ok(frame) => {
                let again = serde_json::to_vec(&frame).unwrap();
                let reread = parse(&again, &SMALL).unwrap();
                prop_assert_eq!(reread.fingerprint(), frame.fingerprint());
                prop_assert_eq!(reread, frame);
            }
            Err(reject) => {
                let answer = serde_json::to_value(reject.response()).unwrap();
                prop_assert_eq!(&answer["success"], &json!(false));
                prop_assert!(answer["error"].as_str().is_some_and(|error| !error.is_empty()));
                prop_assert!(answer["code"].is_string());
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes, &SMALL).map_err(|reject| reject.response());
    }
}
