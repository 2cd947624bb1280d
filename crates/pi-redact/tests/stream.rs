//! Text that arrives in pieces is redacted like the whole.

use std::sync::LazyLock;

use pi_redact::{Evidence, Options, Personal, Redactor};
use proptest::prelude::*;

const BOUND: usize = 512;
const KNOWN: &str = "correct horse\n\"battery\" staple";

static REDACTORS: LazyLock<[Redactor; 3]> = LazyLock::new(|| {
    [Evidence::KeysAndShapes, Evidence::Shapes, Evidence::Literals]
        .map(|evidence| Redactor::new(Options { secrets: vec![KNOWN.to_owned()], evidence, personal: Personal::Mask }))
});

fn cases() -> ProptestConfig {
    let cases = std::env::var("PI_TEST_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(40);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// What is looked for, each shorter than the bound.
fn secret() -> impl Strategy<Value = String> {
    let body = || ("[a-z]{3}[0-9]{3}[a-zA-Z0-9]{10}", 2_usize..13).prop_map(|(text, times)| text.repeat(times));
    prop_oneof![
        Just(KNOWN.to_owned()),
        Just(KNOWN.replace('"', "\\\"").replace('\n', "\\n")),
        body().prop_map(|body| format!("sk-{body}")),
        body().prop_map(|body| format!("Authorization: Bearer {body}\n")),
        (body(), body()).prop_map(|(first, second)| format!("eyJ{first}.eyJ{first}.{second}")),
        ("[A-Za-z0-9+/]{40,60}\n", 1_usize..6).prop_map(|(line, lines)| {
            format!("-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----", line.repeat(lines))
        }),
        ("[A-Z]{4}[0-9A-Z]{12}", "[a-zA-Z0-9/+]{40}").prop_map(|(id, secret)| format!("AKIA{id}\n\n {secret} ")),
        body().prop_map(|body| format!("\"password\":\n  \"{body}\"")),
        "[a-z ]{20,100}".prop_map(|text| format!("{{\"credentials\": {{\"a\": [\"{text}\"]}}}}")),
        "[0-9]{1,9}".prop_map(|count| format!("{{\"tokens\": {{\"in\": [{count}, {count}]}}}}")),
        "[a-z]{1,9}".prop_map(|name| format!("{name}.{name}@example.com")),
        Just("+49 (0)170 1234567".to_owned()),
        body().prop_map(|body| format!("postgres://user:{body}@host/path")),
    ]
}

/// A lure raises an alarm for nothing. None is the true beginning of a token or a URL, which may not be longer than the bound.
/// Drawing every letter takes most of the time of a case, so long parts repeat what was drawn.
fn part() -> impl Strategy<Value = String> {
    let repeated = |(text, times): (String, usize)| text.repeat(times);
    let lure = prop::sample::select(vec!["eyj", "EYJ", "sk-", "AKIA", "key", "@", "-----", "-----END A-----"]);
    prop_oneof![
        4 => secret(),
        6 => ("([a-zé😀]{1,9} ){1,6}", 1_usize..10).prop_map(repeated),
        2 => ("([a-z0-9.,]{1,40}\n){1,2}", 1_usize..4).prop_map(repeated),
        2 => ("[a-z]{30}", 10_usize..30).prop_map(repeated),
        2 => Just("\n".to_owned()),
        1 => lure.prop_map(str::to_owned),
    ]
}

fn pieces() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![prop::collection::vec(1_usize..20, 1..8), prop::collection::vec(1_usize..3000, 1..8)]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_chunking_gives_what_the_whole_gives(parts in prop::collection::vec(part(), 1..40), pieces in pieces()) {
        let text = parts.concat();
        for redactor in &*REDACTORS {
            prop_assert_eq!(in_pieces(redactor, &text, &pieces), redactor.redact_text(&text), "of {:?}", text);
        }
    }
}

#[test]
fn secret_longer_than_the_bound_stays_hidden() {
    let filler = "plain words on a line\n".repeat(100);
    let long = "a1B2c3D4".repeat(8000);
    for (secret, expected) in [
        (format!("sk-{long}"), "[REDACTED]"),
        (format!("password=\"{}\"", long.replace('B', " ")), "password=\"[REDACTED]\""),
        (
            format!(
                "-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----",
                format!("{}\n", &long[..64]).repeat(900)
            ),
            "[REDACTED]",
        ),
        (format!("eyJ{0}.eyJ{0}.{long}", &long[..40]), "[REDACTED]"),
    ] {
        let text = format!("{filler}{secret}\n{filler}");
        let redacted = in_pieces(&REDACTORS[0], &text, &[100]);
        assert_eq!(redacted.replace("plain words on a line\n", ""), format!("{expected}\n"));
        assert_eq!(redacted, REDACTORS[0].redact_text(&text));
    }
}

#[test]
fn long_secret_behind_other_secrets_stays_hidden() {
    // The label of the block is a key for `postgres:`, whose value is one word of more than the bound, and no blank and no
    // line end outside of what is hidden offers itself for a cut.
    let block = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", "aA0+".repeat(10));
    let token = format!("eyJ{0}.eyJ{0}.{0}", "aB0".repeat(8));
    let url = format!("postgres://user:{}@host/path", "aB0".repeat(30));
    let secrets = format!("{0}{token}{0}{block}{url}{0}", "a".repeat(600));
    for words in (0..200).step_by(8) {
        let text = format!("{}{secrets}", "words ".repeat(words));
        for (redactor, pieces) in REDACTORS.iter().flat_map(|it| [(it, [902, 1006]), (it, [16, 16])]) {
            assert_eq!(in_pieces(redactor, &text, &pieces), redactor.redact_text(&text), "behind {words} words");
        }
    }
}

#[test]
fn forced_cut_shows_nothing_of_what_is_hidden() {
    // The run of base64 is hidden for the known value in it, so it can be neither cut nor shortened.
    let run = format!("{}Y29ycmVjdCBob3JzZQoiYmF0dGVyeSIgc3RhcGxl{}", "Ab0".repeat(BOUND), "Ab0".repeat(4 * BOUND));
    let mut pieces = vec![100; 40];
    pieces[0] = 9 * BOUND;
    for (before, after) in [("", ""), ("", " after"), ("before ", "\" after"), ("before\n", "\nafter")] {
        let text = format!("{before}{run}{after}");
        for redactor in &*REDACTORS {
            assert_eq!(in_pieces(redactor, &text, &pieces), format!("{before}[REDACTED]{after}"));
            assert_eq!(redactor.redact_text(&text), format!("{before}[REDACTED]{after}"));
        }
    }
}

#[test]
fn what_is_held_back_is_bounded() {
    let line = "2026-02-03T03:01:02.123Z INFO session=sess-abc123 seq=1042 duration_ms=12\n";
    for text in [
        line.repeat(400),
        "x".repeat(40_000),
        "token=".repeat(7000),
        "-----BEGIN ".repeat(4000),
        "{\"token\":[".repeat(4000),
    ] {
        let mut stream = REDACTORS[1].stream(BOUND);
        let (mut given, mut pushed) = (0, 0);
        for piece in text.as_bytes().chunks(100) {
            pushed += piece.len();
            given += stream.push(std::str::from_utf8(piece).expect("the text is ASCII")).len();
            assert!(pushed - given <= 5 * BOUND + 100, "{given} of {pushed}");
        }
        assert_eq!(given + stream.finish().len(), text.len());
    }
}

/// Cuts the text into pieces of about these lengths, over and over.
fn in_pieces(redactor: &Redactor, text: &str, lengths: &[usize]) -> String {
    let mut stream = redactor.stream(BOUND);
    let mut redacted = String::new();
    let mut rest = text;
    for &length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(length.min(rest.len())));
        redacted.push_str(&stream.push(piece));
        rest = after;
    }
    redacted.push_str(&stream.finish());
    redacted
}
