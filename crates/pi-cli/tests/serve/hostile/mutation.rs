//! Frames that a program out of its mind would send: good ones, damaged.

/// Frames of many shapes. None of them starts a program, makes a session or writes a file that the session does not have.
const GOOD: [&str; 12] = [
    r#"{"type":"health_check","id":"h"}"#,
    r#"{"type":"list_sessions","id":"l","search":"s"}"#,
    r#"{"type":"get_state","id":"g","sessionId":"s","dependsOn":["h","l"],"ifSessionVersion":1}"#,
    r#"{"type":"get_messages","id":"m","sessionId":"s","limit":10}"#,
    r#"{"type":"set_thinking_level","id":"t","sessionId":"s","level":"high","idempotencyKey":"k"}"#,
    r#"{"type":"subscribe","id":"u","sessionId":"s","afterSeq":12,"epoch":"abc"}"#,
    r#"{"type":"unsubscribe","id":"v","sessionId":"s"}"#,
    r#"{"type":"extension_ui_response","id":"e","sessionId":"s","requestId":"r","response":{"method":"interview","responses":{"a":[1,2.5e3,null,true],"b":{"c":"\u00e9\n"}}}}"#,
    r#"{"type":"set_active_tools","id":"a","sessionId":"s","tools":["read","grep","read"]}"#,
    r#"{"type":"get_command_history","id":"y","limit":5,"commandTypes":["prompt"]}"#,
    r#"{"type":"set_lifecycle","id":"f","lifecycle":"none"}"#,
    r#"{"type":"get_envelope","id":"n","sessionId":"s","requestId":"r-1"}"#,
];

/// Texts that stand where a value should.
const VALUES: [&str; 16] = [
    "1e400",
    "-1e-400",
    "18446744073709551616",
    "-9223372036854775809",
    "-0",
    "0.1e",
    "01",
    "NaN",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"\u{202e}\u{feff}\"",
    "[[[[[[]]]]]]",
    "{\"\":{\"\":{}}}",
    "null",
    "{\"type\":\"health_check\"}",
    "\"\\",
];

/// The next damaged frame.
pub(super) fn mutate(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = GOOD[random.usize(..GOOD.len())].as_bytes().to_vec();
    for _ in 0..random.usize(1..=3) {
        damage(&mut bytes, random);
    }
    bytes
}

fn damage(bytes: &mut Vec<u8>, random: &mut fastrand::Rng) {
    let at = random.usize(..=bytes.len());
    match random.usize(..14) {
        0..=2 => {
            for _ in 0..random.usize(1..=8) {
                if !bytes.is_empty() {
                    let at = random.usize(..bytes.len());
                    bytes[at] ^= 1 << random.u8(..8);
                }
            }
        }
        3 | 4 => bytes.truncate(at),
        5 => {
            let other = GOOD[random.usize(..GOOD.len())].as_bytes();
            bytes.truncate(at);
            bytes.extend_from_slice(&other[random.usize(..other.len())..]);
        }
        6 => splice(bytes, at, &nested(random)),
        7 | 8 => replace_value(bytes, random),
        9 => repeat_member(bytes, random),
        10 => {
            splice(bytes, at, [[0xff, 0xfe].as_slice(), &[0xc0, 0xaf], &[0xed, 0xa0, 0x80], &[0xf8]][random.usize(..4)])
        }
        11 => splice(bytes, at, "x".repeat(random.usize(..3000)).as_bytes()),
        12 => splice(bytes, at, &[b' ', b'\t', 0, b'"', b'\\', b'{', b'[', b','][..random.usize(..8)]),
        _ => *bytes = (0..random.usize(..200)).map(|_| random.u8(..)).collect(),
    }
}

fn splice(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    bytes.splice(at..at, what.iter().copied());
}

/// Mostly deeper than is read, sometimes much deeper.
fn nested(random: &mut fastrand::Rng) -> Vec<u8> {
    let depth = if random.u8(..50) == 0 { 50_000 } else { random.usize(1..200) };
    let (open, close) = [("[", "]"), ("{\"a\":", "}")][random.usize(..2)];
    let mut text = open.repeat(depth);
    text.push('1');
    if random.bool() {
        text.push_str(&close.repeat(depth));
    }
    text.into_bytes()
}

/// Puts something odd behind a colon.
fn replace_value(bytes: &mut Vec<u8>, random: &mut fastrand::Rng) {
    let colons: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b':').collect();
    if colons.is_empty() {
        return;
    }
    let from = colons[random.usize(..colons.len())] + 1;
    let to = (from..bytes.len()).find(|at| matches!(bytes[*at], b',' | b'}' | b']')).unwrap_or(bytes.len());
    let value = match random.usize(..VALUES.len() + 2) {
        at if at < VALUES.len() => VALUES[at].to_owned(),
        at if at == VALUES.len() => "9".repeat(random.usize(1..2000)),
        _ => format!("\"{}\"", "é".repeat(random.usize(..1000))),
    };
    bytes.splice(from..to, value.into_bytes());
}

/// Says a member twice.
fn repeat_member(bytes: &mut Vec<u8>, random: &mut fastrand::Rng) {
    let names = ["type", "id", "sessionId", "a", "level"];
    let member = format!("\"{}\":{},", names[random.usize(..names.len())], VALUES[random.usize(..VALUES.len())]);
    if bytes.first() == Some(&b'{') {
        splice(bytes, 1, member.as_bytes());
    }
}
