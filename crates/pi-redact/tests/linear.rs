//! Time is linear in the input, also for input that was made to be slow.
//!
//! Seconds depend on the machine, so what is judged is growth: four times the input may take about four times as long,
//! and sixteen times if any detector looks at the same bytes again and again.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use pi_redact::{Evidence, Options, Personal, Redactor};
use serde_json::{Map, Value, json};

const SIZE: usize = 1 << 12;
/// Between the four of linear growth and the sixteen of quadratic.
const STEEPEST: u32 = 8;
/// Interruptions only ever make a run slower: the fastest of a few counts.
const TRIES: usize = 6;

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| {
    Redactor::new(Options {
        secrets: vec!["zq9/Zq8+zq7=".to_owned(), "abababab".to_owned()],
        evidence: Evidence::KeysAndShapes,
        personal: Personal::Mask,
    })
});

/// Each of these, repeated, invites some detector to look far and find nothing.
const UNITS: [&str; 69] = [
    "token",
    "tokens ",
    "token=",
    "\"token\":[",
    "\"token\":{\"",
    "token,",
    "password=a,",
    "key ",
    "api key ",
    "eyJ",
    "eyJ-",
    "eyJaaaaaaaa.",
    "-eyJaaaaaaaa.aaaaaaaa",
    "sk-",
    "sk-a",
    "-sk-",
    "AKIA",
    "AKIAAAAAAAAAAAAAAAAA",
    "-----BEGIN ",
    "-----END ",
    "://",
    "://a:",
    "a@",
    "a@b.",
    "%40",
    "bearer ",
    "Bearer aaaaaaaa",
    "+1",
    "+1 ",
    "1",
    "1-",
    "(2",
    "222-",
    "\\",
    "\\\"",
    "\"",
    "'",
    "authorization: ",
    "\"authorization: ",
    "cookie:\\",
    "zq9/",
    "[REDACTED]",
    "token=[REDACTED]",
    "--token ",
    "é@",
    "😀",
    "\"name\":\"Cookie\",\"value\":",
    "{",
    "[",
    "ghp_",
    "a.b-c_",
    "hooks.slack.com/services/",
    "555-123-4567",
    "4242 ",
    "4242-4242-",
    "DE89",
    "DE89 3704 ",
    "219-09-",
    "j@x.de ",
    // An escaped line end close by, a real one far away.
    "cookie:\\n",
    "\\\\\\\\\\\\\\\\\\\"cookie:\\n",
    "authorization=\\n",
    // Overlapping known values, and base64 around them.
    "ab",
    "YWJhYmFiYWI",
    "\"tokens\":{},",
    "\"tokens\":[1],",
    "\"cookie\",\"value\"",
    "\"cookie\",\"a\":\"b\",",
    "pass ",
];

#[test]
fn repeated_text_takes_linear_time() {
    for unit in UNITS {
        check(unit, |size| {
            let text = unit.repeat(size / unit.len());
            move || drop(REDACTOR.redact_text(&text))
        });
    }
}

#[test]
fn rows_of_markers_take_linear_time() {
    let shapes = &Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Keep });
    for unit in ["-----BEGIN PRIVATE KEY-----", "-----BEGIN A-----\n", "-----BEGIN A-----END B-----", "-----END A-"] {
        for redactor in [shapes, &*REDACTOR] {
            check(unit, |size| {
                let text = unit.repeat(size / unit.len());
                move || drop(redactor.redact_text(&text))
            });
        }
    }
    // No label comes twice, and none is ended.
    check("labels", |size| {
        let text: String = (0..size / 20).map(|number| format!("-----BEGIN {number}-----")).collect();
        move || drop(REDACTOR.redact_text(&text))
    });
}

#[test]
fn nested_counts_are_read_once() {
    // Deeper nesting than a JSON parser accepts is hidden as a whole; below that, depth must not multiply the work.
    let nested = |depth: usize| {
        let wide = "1,".repeat(SIZE / 2);
        format!("{}[{wide}1]{}", "{\"tokens\":".repeat(depth), "}".repeat(depth))
    };
    let mut value = serde_json::from_str::<Value>(&nested(120)).expect("the nesting is within the limit of the parser");
    let expected = value.clone();
    assert_eq!(REDACTOR.redact_text(&nested(120)), nested(120));
    REDACTOR.redact_value(&mut value);
    assert_eq!(value, expected);
    // Eight times the depth adds a few bytes to the text and must not add several times the work.
    compare("text", [nested(15), nested(120)].map(|text| move || drop(REDACTOR.redact_text(&text))), 3);
    let values = [15, 120].map(|depth| serde_json::from_str::<Value>(&nested(depth)).expect("as above"));
    // Without known values a number costs nothing but the judgement.
    let redactor = &Redactor::default();
    compare("value", values.map(|value| move || redactor.redact_value(&mut value.clone())), 3);
}

#[test]
fn names_that_become_equal_take_linear_time() {
    let members = |count: usize| {
        Value::Object((0..count).map(|number| (format!("a{number}@x.de"), Value::from(number))).collect::<Map<_, _>>())
    };
    let mut value = members(50_000);
    REDACTOR.redact_value(&mut value);
    let names: Vec<&String> = value.as_object().expect("it stays an object").keys().collect();
    assert_eq!(names[..2], ["a***@x***.de", "a***@x***.de#2"]);
    assert_eq!(names[49_999], "a***@x***.de#50000");
    check("names", |size| {
        let value = members(size / 8);
        move || REDACTOR.redact_value(&mut value.clone())
    });
}

#[test]
fn values_take_linear_time() {
    type Shape = fn(usize) -> Value;
    let shapes: [(&str, Shape); 5] = [
        ("strings", |size| Value::from(vec![Value::from("token=abc"); size / 16])),
        ("pairs", |size| Value::from(vec![json!(["Cookie", "a"]); size / 16])),
        ("flags", |size| Value::from(vec![Value::from("--token"); size / 8])),
        ("described", |size| Value::from(vec![json!({"name": "a", "key": "token", "value": 1}); size / 64])),
        ("long name", |size| json!({"a-".repeat(size / 2): 1, "-n".repeat(size / 2): 1, "----nA".repeat(size / 6): 1})),
    ];
    for (name, shape) in shapes {
        check(name, |size| {
            let value = shape(size);
            move || REDACTOR.redact_value(&mut value.clone())
        });
    }
}

#[test]
fn streams_take_linear_time() {
    for unit in ["plain words\n", "x", "-----BEGIN ", "token=\n"] {
        check(unit, |size| {
            let text = unit.repeat(size / unit.len());
            move || {
                let mut stream = REDACTOR.stream(0);
                for at in (0..text.len()).step_by(16) {
                    drop(stream.push(&text[at..text.len().min(at + 16)]));
                }
                drop(stream.finish());
            }
        });
    }
}

fn check<Run: FnMut()>(name: &str, prepare: impl Fn(usize) -> Run) {
    compare(name, [prepare(SIZE), prepare(4 * SIZE)], STEEPEST);
}

/// The second run may take at most `steepest` times as long as the first.
#[track_caller]
fn compare<Run: FnMut()>(name: &str, [mut small, mut large]: [Run; 2], steepest: u32) {
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..TRIES {
        fastest = [fastest[0].min(time(&mut small)), fastest[1].min(time(&mut large))];
        if fastest[1] <= fastest[0] * steepest {
            return;
        }
    }
    panic!("{name:?} took {fastest:?}");
}

fn time(run: &mut impl FnMut()) -> Duration {
    let start = spent();
    run();
    spent().saturating_sub(start)
}

/// What this thread has spent on a processor, where the system says so: on a busy machine a long run is interrupted more
/// often than a short one, which would look like steep growth. Elsewhere the time that has passed.
#[expect(clippy::disallowed_methods, reason = "the tests are about time, and Linux tells it in a file")]
fn spent() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // The system counts when it looks at the thread, and yielding makes it look.
    std::thread::yield_now();
    let on_processor = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .filter(|&nanoseconds| nanoseconds > 0);
    on_processor.map_or_else(|| START.elapsed(), Duration::from_nanos)
}
