//! What holds for every input: planted secrets never survive, twice is once, and the rest stays.

use std::sync::LazyLock;

use pi_redact::{Evidence, MARK, Options, Personal, Redactor};
use proptest::prelude::*;
use serde_json::{Map, Value};

const KNOWN: [&str; 3] = ["correct horse \"battery\" staple", "zq9/Zq8+zq7=", "sésame-ouvre-toi"];

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| {
    Redactor::new(Options {
        secrets: KNOWN.map(str::to_owned).to_vec(),
        evidence: Evidence::KeysAndShapes,
        personal: Personal::Mask,
    })
});
static HASHING: LazyLock<Redactor> = LazyLock::new(|| {
    Redactor::new(Options {
        secrets: KNOWN.map(str::to_owned).to_vec(),
        evidence: Evidence::KeysAndShapes,
        personal: Personal::Hash { key: b"k".to_vec() },
    })
});

static SHAPES: LazyLock<Redactor> = LazyLock::new(|| {
    Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Keep })
});

fn cases() -> ProptestConfig {
    let cases = std::env::var("PI_TEST_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(200);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A secret together with the part of it that must not be seen afterwards.
#[derive(Clone, Debug)]
struct Planted {
    text: String,
    needle: String,
}

fn planted() -> impl Strategy<Value = Planted> {
    let whole = |text: String| Planted { needle: text.clone(), text };
    let body = "[a-zA-Z]{4}[0-9]{4}[a-zA-Z0-9]{32}";
    prop_oneof![
        (
            prop::sample::select(vec!["sk-", "sk-ant-", "ghp_", "AIza", "glpat-", "xoxb-", "hf_", "npm_", "sk_live_"]),
            body
        )
            .prop_map(move |(prefix, body)| whole(format!("{prefix}{body}"))),
        ("[A-Za-z0-9_-]{20,40}", "[A-Za-z0-9_-]{20,40}", "[A-Za-z0-9_-]{20,40}")
            .prop_map(move |(header, payload, signature)| whole(format!("eyJ{header}.eyJ{payload}.{signature}"))),
        "[A-Za-z0-9+/]{20,80}".prop_map(|body| Planted {
            text: format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"),
            needle: body,
        }),
        (prop::sample::select(vec!["Bearer ", "Basic "]), body)
            .prop_map(|(scheme, body)| Planted { text: format!("{scheme}{body}"), needle: body }),
        prop::sample::select(KNOWN.to_vec()).prop_map(move |known| whole(known.to_owned())),
    ]
}

/// Text without letters or digits next to the place where a secret is put; long enough to contain surprises.
fn surroundings() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,24}", "[ -~]{0,40}", prop::collection::vec(fragment(), 0..6).prop_map(|parts| parts.concat()),]
}

fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "token",
            "tokens",
            "password=",
            "\"secret\":",
            "cookie: ",
            "Authorization: ",
            "bearer ",
            "api_key",
            "key",
            "--",
            "eyJ",
            "sk-",
            "-----BEGIN ",
            "-----END ",
            "-----",
            "://",
            "@",
            "%40",
            "\\\"",
            "\\",
            "\"",
            "'",
            "{",
            "}",
            "[",
            "]",
            ",",
            ";",
            ":",
            "=",
            " ",
            "\n",
            "é",
            "😀",
            "+49",
            "555-123-4567",
            "[REDACTED]",
            "AKIA",
            "a",
            "1",
            ".",
            "\\n",
            "user:pass@host",
            "j@x.de",
            "name\":\"Cookie\",\"value\":",
            "12345678",
            "null",
        ])
        .prop_map(str::to_owned),
        "[a-z0-9]{1,6}",
    ]
}

/// First and last lines of blocks, whole and in parts, in any order.
fn markers() -> impl Strategy<Value = String> {
    let parts = [
        "-----",
        "-",
        "BEGIN ",
        "END ",
        "begin ",
        "EC PRIVATE KEY",
        "A",
        "/",
        " ",
        "\n",
        "\\n",
        "sk-a1b2c3d4e5f6g7h8i9j0",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn planted_secret_never_survives_in_text(before in surroundings(), secret in planted(), after in surroundings()) {
        let text = format!("{before} {} {after}", secret.text);
        let redacted = REDACTOR.redact_text(&text);
        prop_assert!(!redacted.contains(&secret.needle), "{text:?} became {redacted:?}");
    }

    #[test]
    fn markers_expose_no_block(
        before in markers(), inside in markers(), after in markers(),
        body in "[A-Za-z0-9+/]{20,80}", rest in "[A-Za-z0-9+/]{20,80}",
    ) {
        prop_assume!(!inside.contains("-----END EC PRIVATE KEY-----"));
        let text = format!(
            "{before}-----BEGIN EC PRIVATE KEY-----\n{body}{inside}\n{rest}\n-----END EC PRIVATE KEY-----{after}"
        );
        for redactor in [&*REDACTOR, &*SHAPES] {
            let redacted = redactor.redact_text(&text);
            prop_assert!(!redacted.contains(&body) && !redacted.contains(&rest), "{text:?} became {redacted:?}");
        }
    }

    #[test]
    fn assigned_value_never_survives(
        before in "[ a-z]{0,12}",
        key in prop::sample::select(vec!["api_key", "accessToken", "X-Auth-Token", "PASSWORD", "client.secret", "credential"]),
        assign in prop::sample::select(vec!["=", ": ", " = ", "=\"", "\": \"", "\\\":\\\"", " => '"]),
        value in "[a-zA-Z]{3}[a-zA-Z0-9!$%*+/?^_~.-]{5,20}",
        after in "[ \n\"'][ -~]{0,20}",
    ) {
        let quote = if key.len() % 2 == 0 { "\"" } else { "" };
        let text = format!("{before}{quote}{key}{assign}{value}{after}");
        let redacted = REDACTOR.redact_text(&text);
        prop_assert!(!redacted.contains(&value) || after.contains(&value) || before.contains(&value), "{text:?} became {redacted:?}");
    }

    #[test]
    fn planted_secret_never_survives_in_json(
        value in json(), secret in planted(), places in prop::collection::vec(any::<prop::sample::Index>(), 1..6), as_name: bool
    ) {
        let mut value = value;
        plant(&mut value, &secret.text, &places, as_name);
        REDACTOR.redact_value(&mut value);
        let written = value.to_string();
        let escaped = Value::from(secret.needle.as_str()).to_string();
        prop_assert!(!written.contains(&secret.needle) && !written.contains(&escaped[1..escaped.len() - 1]), "{written}");
        prop_assert_eq!(serde_json::from_str::<Value>(&written).expect("what was written is JSON"), value);
    }

    #[test]
    fn twice_is_once(text in surroundings(), secret in planted(), more in surroundings()) {
        for redactor in [&*REDACTOR, &*HASHING] {
            for text in [format!("{text}{}{more}", secret.text), format!("{text}{more}")] {
                let once = redactor.redact_text(&text).into_owned();
                prop_assert_eq!(redactor.redact_text(&once), once.as_str(), "of {:?}", text);
            }
        }
    }

    #[test]
    fn twice_is_once_in_json(mut value in json(), secret in planted(), place in any::<prop::sample::Index>(), as_name: bool) {
        plant(&mut value, &secret.text, &[place], as_name);
        for redactor in [&*REDACTOR, &*HASHING] {
            let mut once = value.clone();
            redactor.redact_value(&mut once);
            let mut twice = once.clone();
            redactor.redact_value(&mut twice);
            prop_assert_eq!(twice, once);
        }
    }

    #[test]
    fn plain_words_stay(text in "[ a-df-z0-9\n.,;!?()éß😀]{0,200}") {
        // Without `=`, `:`, `-`, `_`, `@` and capitals nothing is assigned and no vendor's key can be written.
        prop_assert_eq!(REDACTOR.redact_text(&text), text.as_str());
    }

    #[test]
    fn arbitrary_text_is_no_danger(text in any::<String>()) {
        let redacted = REDACTOR.redact_text(&text);
        prop_assert!(redacted.len() <= text.len() * MARK.len() + MARK.len());
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        surroundings().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..5).prop_map(Value::from_iter),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "name",
            "value",
            "headers",
            "rawHeaders",
            "token",
            "max_tokens",
            "apiKey",
            "data",
            "phone"
        ])
        .prop_map(str::to_owned),
        "[a-z]{1,8}",
    ]
}

/// Puts the secret somewhere inside: as a value, inside a text, or as the name of a member.
fn plant(value: &mut Value, secret: &str, places: &[prop::sample::Index], as_name: bool) {
    let Some((place, deeper)) = places.split_first() else {
        *value = Value::from(format!("text {secret} text"));
        return;
    };
    match value {
        Value::Array(items) if !items.is_empty() => plant(place.get_mut(items.as_mut_slice()), secret, deeper, as_name),
        Value::Object(members) if !members.is_empty() && !as_name => {
            let index = place.index(members.len());
            let (_, member) = members.iter_mut().nth(index).expect("the index is below the length");
            plant(member, secret, deeper, as_name);
        }
        Value::Object(members) => {
            members.insert(secret.to_owned(), Value::from(1));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            *value = Value::Object(Map::from_iter([("nested".to_owned(), Value::from(vec![Value::from(secret)]))]));
        }
    }
}
