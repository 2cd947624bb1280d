//! The tables of texts: what is hidden in them, and what must stay byte for byte.

use std::{borrow::Cow, sync::LazyLock};

use pi_redact::{Evidence, Options, Personal, Redactor};

static DEFAULT: LazyLock<Redactor> = LazyLock::new(Redactor::default);
static SHAPES: LazyLock<Redactor> = LazyLock::new(|| {
    Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Keep })
});

#[test]
fn values_behind_keys_are_hidden() {
    for (text, expected) in [
        ("token=abc", "token=[REDACTED]"),
        ("password: hunter2", "password: [REDACTED]"),
        ("password=hunter2, user=bob", "password=[REDACTED], user=bob"),
        ("a=1,token=abc,b=2", "a=1,token=[REDACTED],b=2"),
        ("password=p,ss;w0rd user=bob", "password=[REDACTED] user=bob"),
        ("https://x.dev/p?api_key=abc&page=2#top", "https://x.dev/p?api_key=[REDACTED]&page=2#top"),
        ("export OPENAI_API_KEY=abc && run", "export OPENAI_API_KEY=[REDACTED] && run"),
        ("SECRET='two words' next", "SECRET='[REDACTED]' next"),
        (r#"SECRET="say \"hi\" now" next"#, r#"SECRET="[REDACTED]" next"#),
        ("env[\"TOKEN\"] = \"abc\";", "env[\"TOKEN\"] = \"[REDACTED]\";"),
        ("config.apiKey := 'abc'", "config.apiKey := '[REDACTED]'"),
        ("(\"Authorization\", \"Basic eA==\")", "(\"Authorization\", \"[REDACTED]\")"),
        ("\"X-Api-Key\" => \"abc\"", "\"X-Api-Key\" => \"[REDACTED]\""),
        ("login --token abc --user bob", "login --token [REDACTED] --user bob"),
        ("login --password 'a b' bob", "login --password '[REDACTED]' bob"),
        ("token=${TOKEN}.", "token=[REDACTED]"),
        ("f(password=abc)", "f(password=[REDACTED])"),
        ("line\\nTOKEN=abc\\nnext", "line\\nTOKEN=[REDACTED]\\nnext"),
        ("Server=db;Password=abc;Encrypt=yes", "Server=db;Password=[REDACTED];Encrypt=yes"),
        ("the API key is 0123456789abcdef0123456789abcdef.", "the API key is [REDACTED]."),
        ("Ocp-Apim-Subscription-Key: 0123456789abcdef", "Ocp-Apim-Subscription-Key: [REDACTED]"),
        ("pässwörd token=ünïcode ok", "pässwörd token=[REDACTED] ok"),
    ] {
        check(text, expected);
    }
}

#[test]
fn json_fragments_stay_json() {
    for (text, expected) in [
        (r#"got {"token":"abc","n":1}"#, r#"got {"token":"[REDACTED]","n":1}"#),
        (r#"{"token": 12345}"#, r#"{"token": "[REDACTED]"}"#),
        (r#"{"a":{"credentials":{"user":"bob","x":[1,"}"]}},"b":2}"#, r#"{"a":{"credentials":"[REDACTED]"},"b":2}"#),
        (r#"{\"apiKey\":\"abc\",\"n\":1}"#, r#"{\"apiKey\":\"[REDACTED]\",\"n\":1}"#),
        (r#"{\"token\":123456,\"n\":1}"#, r#"{\"token\":\"[REDACTED]\",\"n\":1}"#),
        (r#"{\\\"apiKey\\\":\\\"abc\\\"}"#, r#"{\\\"apiKey\\\":\\\"[REDACTED]\\\"}"#),
        (r#"{"name":"Cookie","value":"a=b"}"#, r#"{"name":"Cookie","value":"[REDACTED]"}"#),
        (r#"{"key":"api_key","name":"prod","value":"a"}"#, r#"{"key":"api_key","name":"prod","value":"[REDACTED]"}"#),
        (r#"{"name":"Cookie","path":"/","n":1}"#, r#"{"name":"Cookie","path":"/","n":1}"#),
        (r#"{"tokens":{"in":1,"password":12}}"#, r#"{"tokens":{"in":1,"password":"[REDACTED]"}}"#),
        (r#"[["Cookie", "a=b; c=d"]]"#, r#"[["Cookie", "[REDACTED]"]]"#),
        ("{\n  \"password\":\n    \"abc\"\n}", "{\n  \"password\":\n    \"[REDACTED]\"\n}"),
        (r#"cut {"password":"abc"#, r#"cut {"password":"[REDACTED]"#),
        (r#"cut {"passwords":["abc","#, r#"cut {"passwords":"[REDACTED]""#),
        (r#"{"max_tokens":4096,"tokens":{"in":1,"out":[2]}}"#, r#"{"max_tokens":4096,"tokens":{"in":1,"out":[2]}}"#),
    ] {
        check(text, expected);
    }
}

#[test]
fn headers_are_hidden_to_their_end() {
    for (text, expected) in [
        ("Authorization: Bearer abc", "Authorization: [REDACTED]"),
        ("curl -H \"Authorization: Bearer abc\" https://x.dev", "curl -H \"Authorization: [REDACTED]\" https://x.dev"),
        ("curl -H 'Cookie: a=\"b\"; c=d' -v", "curl -H 'Cookie: [REDACTED]' -v"),
        ("Cookie: a=b; c=d\r\nHost: x", "Cookie: [REDACTED]\r\nHost: x"),
        ("Authorization: Digest username=\"u\", response=\"r\"\nHost: x", "Authorization: [REDACTED]\nHost: x"),
        ("authorization=Bearer abc status=200", "authorization=[REDACTED] status=200"),
        ("sent Bearer abc123def456 to host", "sent Bearer [REDACTED] to host"),
        ("sent bearer%20abc123def456&x", "sent bearer%20[REDACTED]&x"),
        ("Basic dXNlcjpwYXNzd29yZA== ok", "Basic [REDACTED] ok"),
        ("postgres://bob:p@ss@db.example.com:5432/x", "postgres://bob:[REDACTED]@db.example.com:5432/x"),
        ("redis://:abc@cache/0", "redis://:[REDACTED]@cache/0"),
    ] {
        check(text, expected);
    }
}

#[test]
fn vendor_keys_are_hidden_by_shape() {
    let body = |length: usize| {
        "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4".chars().cycle().take(length).collect::<String>()
    };
    let upper = |length: usize| body(length).to_uppercase();
    let hexadecimal = |length: usize| "0123456789abcdef".chars().cycle().take(length).collect::<String>();
    let mut keys: Vec<String> = [
        ("sk-", 48),
        ("sk-ant-api03-", 90),
        ("sk-proj-", 60),
        ("sk-or-v1-", 64),
        ("gsk_", 52),
        ("xai-", 80),
        ("hf_", 34),
        ("AIza", 35),
        ("GOCSPX-", 28),
        ("ya29.", 60),
        ("ghp_", 36),
        ("gho_", 36),
        ("ghu_", 36),
        ("ghs_", 36),
        ("ghr_", 36),
        ("github_pat_", 82),
        ("glpat-", 20),
        ("xoxb-", 40),
        ("xoxp-", 40),
        ("xapp-", 40),
        ("sk_live_", 24),
        ("rk_test_", 24),
        ("whsec_", 32),
        ("npm_", 36),
        ("pypi-", 80),
        ("shpat_", 32),
        ("dop_v1_", 64),
        ("hvs.", 90),
        ("lin_api_", 40),
        ("pplx-", 48),
        ("nvapi-", 60),
        ("r8_", 37),
        ("figd_", 40),
        ("hooks.slack.com/services/T0000/B0000/", 24),
    ]
    .into_iter()
    .map(|(prefix, length)| format!("{prefix}{}", body(length)))
    .collect();
    keys.push(format!("AKIA{}", upper(16)));
    keys.push(format!("ASIA{}", upper(16)));
    keys.push(format!("AGE-SECRET-KEY-1{}", upper(58)));
    keys.push(format!("dapi{}", hexadecimal(32)));
    keys.push(format!("SG.{}.{}", body(22), body(43)));
    keys.push(format!("eyJ{}.eyJ{}.{}", body(30), body(40), body(43)));
    keys.push(format!("eyJ{}.{}.{}.{}.{}", body(30), body(40), body(16), body(50), body(22)));
    for key in keys {
        for (before, after) in [
            ("", ""),
            ("x ", " y"),
            ("(", ")"),
            ("\"", "\""),
            ("\\n", "\\n"),
            ("%20", "&y"),
            ("\u{1b}[32m", "\u{1b}[0m"),
            ("\\u001b[1;32m", "."),
            ("é", "é"),
            ("x/", "?y"),
            ("log:", ","),
            ("=", ";"),
        ] {
            check(&format!("{before}{key}{after}"), &format!("{before}[REDACTED]{after}"));
        }
    }
}

#[test]
fn jwt_behind_what_looks_like_its_beginning_is_hidden() {
    let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N";
    for (before, expected) in [("eyj", "eyj"), ("EYJ", "EYJ"), ("heyjude-", "heyjude-"), ("eyJ", ""), ("eyjeyJ", "eyj")]
    {
        check(&format!("x {before}{token} y"), &format!("x {expected}[REDACTED] y"));
    }
}

#[test]
fn aws_secret_next_to_its_id_is_hidden() {
    let (id, secret) = (format!("AKIA{}", "A1B2C3D4".repeat(2)), "aB3/".repeat(10));
    check(&format!("{id}\t{secret} us-east-1"), "[REDACTED]\t[REDACTED] us-east-1");
    check(&format!("{secret},{id}"), "[REDACTED],[REDACTED]");
    check(&format!("commit {}", "aB3/".repeat(10)), &format!("commit {}", "aB3/".repeat(10)));
}

#[test]
fn pem_blocks_are_hidden_whole() {
    let block = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----";
    check(&format!("before\n{block}\nafter"), "before\n[REDACTED]\nafter");
    check(&format!("{block}{block}"), "[REDACTED][REDACTED]");
    check(&format!("x {}", block.replace('\n', "\\n")), "x [REDACTED]");
    check(&format!("private_key: {block} end"), "private_key: [REDACTED] end");
    check("cut -----BEGIN PRIVATE KEY-----\nMIIEow\nIBA", "cut [REDACTED]");
}

#[test]
fn broken_markers_expose_no_block() {
    let body = "A+AAAA0AaA00A+a+0+aA";
    let block = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----");
    let broken = [
        "-----BEGIN ",
        "-----END ",
        "-----BEGIN -----END ",
        "-----END -----BEGIN ",
        "-----END A",
        "-----END A-",
        "-----BEGIN A-----",
        "-----BEGIN A-----END A",
        "-----END A-----",
        "-----END PRIVATE KEY----",
        "-----END PRIVATE KEY -----",
        "-----",
    ];
    for redactor in [&*DEFAULT, &*SHAPES] {
        for (marker, separator) in
            broken.into_iter().flat_map(|it| ["", " ", "\n", "\\n"].map(|separator| (it, separator)))
        {
            let inside = block.replace('\n', &format!("{separator}{marker}\n"));
            let halved = block.replace("0+aA", &format!("{separator}{marker}\n0+aA"));
            for text in [
                format!("{marker}{separator}{block}"),
                format!("{marker}{separator}{marker}{block}"),
                format!("{block}{separator}{marker}"),
                format!("{marker}{separator}{inside}{marker}"),
                format!("{marker}{separator}{halved}"),
            ] {
                let redacted = redactor.redact_text(&text);
                assert!(!redacted.contains("A+AAAA") && !redacted.contains("0+aA"), "{text:?} became {redacted:?}");
            }
        }
        // Keys whose alphabet has dashes take the first line for a part of themselves.
        for key in ["sk-a1B2c3D4e5F6g7H8i9J0k1", "eyJa1B2c3D4e5.a1B2c3D4e5.a1B2c3D4e5"] {
            assert_eq!(redactor.redact_text(&format!("a {key}{block} b")), "a [REDACTED] b");
        }
    }
}

#[test]
fn blocks_end_at_their_own_last_line() {
    let block = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----";
    for (text, expected) in [
        (format!("-----BEGIN -----END A----- b {block} c"), "[REDACTED] b [REDACTED] c"),
        (format!("-----BEGIN {block} c"), "[REDACTED] c"),
        (
            format!("-----END A----- b {block} c -----END RSA PRIVATE KEY----- d"),
            "-----END A----- b [REDACTED] c -----END RSA PRIVATE KEY----- d",
        ),
        (format!("-----BEGIN A----- {block} b -----END A----- c"), "[REDACTED] c"),
        (block.replace("IBAAK", "-----END A-----\nIBAAK") + " b", "[REDACTED] b"),
        (block.to_lowercase() + " b", "[REDACTED] b"),
        (format!("{block}-----BEGIN A-----\nMII\n-----END A------ b"), "[REDACTED][REDACTED]- b"),
        (block.replace("END RSA", "END") + " b", "[REDACTED]"),
    ] {
        check(&text, expected);
    }
}

#[test]
fn ordinary_text_stays() {
    for text in [
        "",
        "2026-02-03T03:01:02.123Z INFO session=sess-abc123 seq=1042 duration_ms=12 path=/home/u/src/main.rs",
        "max_tokens=4096 totalTokens: 1,024 tokens: 812/4096 token_count=3 tokens=12.5k",
        "error[E0425]: cannot find value `token` in this scope",
        "use crate::token::Token; Token::new()",
        "a secret is safe; the password was changed; cookies and credentials",
        "bearer authentication is required, Basic understanding too",
        "sk-learn, task-1234567890123456789012, risk-abc, disk-usage, sk-circle-fade-dot-animation-long",
        "550e8400-e29b-41d4-a716-446655440000 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "https://example.com:8080/a@b?x=1 ssh://git@github.com/o/r git@github.com:o/r.git",
        "password: true token=null secret: none",
        "monkey=banana keyboard: qwerty primary_key=id",
        "eyJ.eyJ. eyJhbGciOiJIUzI1NiJ9 not a token",
        "---BEGIN--- x ---END---",
        "日本語のテキスト 😀 token",
    ] {
        check(text, text);
        assert!(matches!(DEFAULT.redact_text(text), Cow::Borrowed(_)), "must borrow: {text}");
    }
}

#[test]
fn mail_addresses_are_masked() {
    for (text, expected) in [
        ("mail john.doe@example.com now", "mail j***@e***.com now"),
        ("<a+b@sub.example.co.uk>", "<a***@s***.uk>"),
        ("jürgen@müller.de.", "j***@m***.de."),
        ("?email=john%40example.com&x", "?email=j***@e***.com&x"),
        ("https://bob:pw@example.com/x", "https://bob:[REDACTED]@example.com/x"),
    ] {
        check(text, expected);
    }
    for text in
        ["lodash@4.17.21", "@scope/pkg@1.2.3", "user@host", "icon@2x.png", "a@b", "@example.com", "x@.com", "@", "%40"]
    {
        check(text, text);
    }
}

#[test]
fn phone_numbers_are_masked() {
    for (text, expected) in [
        ("call +49 170 1234567 now", "call ***67 now"),
        ("+1-555-123-4567", "***67"),
        ("+1 (555) 123-4567.", "***67."),
        ("+49 (0)30 123456", "***56"),
        ("(555) 123-4567", "***67"),
        ("tel:555-123-4567;", "tel:***67;"),
        ("1-800-555-0199", "***99"),
        ("800.555.0199", "***99"),
    ] {
        check(text, expected);
    }
    for text in [
        "1.22.333",
        "2026-02-03T03:01:02+01:00",
        "2026-02-03 03:01:02",
        "192.168.100.200",
        "10.0.0.1:8080",
        "550e8400-e29b-41d4-a716-446655440000",
        "1700000000123",
        "+12 -34",
        "+1234567",
        "4111-1111-1111-1112",
        "123-456-78901",
        "x555-123-4567",
        "555-123-4567-890",
        "v555.123.4567",
        "sha 5551234567",
        "3.14159265358979",
        "id 123-456-7890",
        "0x555-123-4567",
    ] {
        check(text, text);
    }
}

#[test]
fn numbers_that_prove_themselves_are_masked() {
    for (text, expected) in [
        ("pay with 4242424242424242.", "pay with ***42."),
        ("pay with 4242 4242 4242 4242 12/29", "pay with ***42 12/29"),
        ("card=4000-0566-5566-5556", "card=***56"),
        ("Mastercard 5555555555554444, 2223003122003222", "Mastercard ***44, ***22"),
        ("Amex 3782 822463 10005 and 378282246310005", "Amex ***05 and ***05"),
        (
            "Diners 30569309025904, Discover 6011111111111117, JCB 3530111333300000",
            "Diners ***04, Discover ***17, JCB ***00",
        ),
        ("to DE89370400440532013000", "to ***00"),
        ("to DE89 3704 0044 0532 0130 00!", "to ***00!"),
        ("GB29NWBK60161331926819; NO9386011117947", "***19; ***47"),
        ("FR14 2004 1010 0505 0001 3M02 606", "***06"),
        ("SSN 219-09-9999", "SSN ***99"),
        ("1 4242424242424242 2", "1 ***42 2"),
    ] {
        assert_eq!(redactor(Personal::Mask).redact_text(text), expected, "{text}");
        assert_eq!(redactor(Personal::Keep).redact_text(text), text);
    }
}

#[test]
fn numbers_that_fail_their_check_stay() {
    for text in [
        "4242424242424243",
        "4242 4242 4242 4241",
        "4242-4242 4242-4242",
        "42424242424242420",
        "id 1700000000000000000",
        "x4242424242424242",
        "build_4242424242424242",
        "4242424242424242abc",
        "9999999999999995",
        "DE88370400440532013000",
        "DE8937040044053201300",
        "XX89370400440532013000",
        "ADE89370400440532013000",
        "000-12-3456 666-12-3456 900-12-3456 219-00-9999 219-09-0000",
        "219-09-99990",
        "2024-01-12 1999-12-31",
        "1.2.3-45-6789",
    ] {
        assert_eq!(redactor(Personal::Mask).redact_text(text), text);
    }
}

#[test]
fn personal_data_is_hashed_with_a_key_or_kept() {
    let hash = |key: &[u8], text: &str| redactor(Personal::Hash { key: key.to_vec() }).redact_text(text).into_owned();
    let mail = hash(b"key", "John@Example.com");
    assert_eq!(mail, hash(b"key", "john@example.com"), "case does not change the person");
    assert_ne!(mail, hash(b"other", "john@example.com"));
    assert_eq!(mail.len(), "email:".len() + 12);
    assert_eq!(hash(b"key", "+49 170 1234567"), hash(b"key", "+491701234567"));
    assert_eq!(hash(b"key", &mail), mail);
    for (text, same, kind) in [
        ("4242424242424242", "4242-4242-4242-4242", "card:"),
        ("DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "account:"),
        ("219-09-9999", "219-09-9999", "ssn:"),
    ] {
        let hashed = hash(b"key", text);
        assert!(hashed.starts_with(kind) && hashed.len() == kind.len() + 12, "{hashed}");
        assert_eq!((hash(b"key", same), hash(b"key", &hashed)), (hashed.clone(), hashed));
    }
    let text = "john@example.com +49 170 1234567";
    assert_eq!(redactor(Personal::Keep).redact_text(text), text);
}

#[test]
fn known_answer_of_the_keyed_digest() {
    // HMAC-SHA-256(key "key", "email:john@example.com"), first byte modulo six as a letter, eleven digits of the next.
    let hashed = redactor(Personal::Hash { key: b"key".to_vec() }).redact_text("john@example.com").into_owned();
    assert_eq!(hashed, "email:b8442d156025");
}

#[test]
fn exact_values_are_hidden_in_every_form() {
    let redactor = Redactor::new(Options {
        secrets: ["pa ss\"w/ö", "pa ss\"w/ö and more", "123456789", "tiny", "REDACTED"].map(str::to_owned).to_vec(),
        evidence: Evidence::KeysAndShapes,
        personal: Personal::Keep,
    });
    assert_eq!(redactor.ignored_secrets(), 2);
    for (text, expected) in [
        ("x pa ss\"w/ö y", "x [REDACTED] y"),
        ("x pa ss\"w/ö and more y", "x [REDACTED] y"),
        (r#"{"q":"pa ss\"w/ö"}"#, r#"{"q":"[REDACTED]"}"#),
        ("?q=pa%20ss%22w%2F%C3%B6&r=1", "?q=[REDACTED]&r=1"),
        ("?q=pa+ss%22w%2F%C3%B6&r=1", "?q=[REDACTED]&r=1"),
        ("?q=pa%20ss%22w%2f%c3%b6&r=1", "?q=[REDACTED]&r=1"),
        ("b64 cGEgc3Midy/Dtg== end", "b64 [REDACTED] end"),
        ("b64 dXNlcjpwYSBzcyJ3L8O2 end", "b64 [REDACTED] end"),
        ("glued123456789here", "glued[REDACTED]here"),
        ("password=pa ss\"w/ö!", "password=[REDACTED]"),
        ("tiny REDACTED", "tiny REDACTED"),
    ] {
        assert_eq!(redactor.redact_text(text), expected);
    }
    let mut number = serde_json::json!({"n": 123456789, "m": 12345678});
    redactor.redact_value(&mut number);
    assert_eq!(number, serde_json::json!({"n": "[REDACTED]", "m": 12345678}));
}

#[test]
fn exact_values_are_hidden_however_they_are_escaped() {
    let known = knowing(&["sé<same>(ouvre)!'toi*😀", "a~b/c d:e"]);
    for text in [
        // JavaScript's encodeURIComponent, and forms of HTML, which disagree about what needs no escape.
        "s%C3%A9%3Csame%3E(ouvre)!'toi*%F0%9F%98%80",
        "s%c3%a9%3csame%3e(ouvre)!'toi*%f0%9f%98%80",
        "s%C3%A9%3Csame%3E%28ouvre%29%21%27toi*%F0%9F%98%80",
        "a%7Eb%2Fc+d%3Ae",
        "a~b/c%20d%3Ae",
        "a~b/c%20d:e",
        // JSON that is ASCII only, with either kind of digits, safe to stand in HTML, or from PHP; each also twice.
        r"s\u00e9<same>(ouvre)!'toi*\ud83d\ude00",
        r"s\u00E9<same>(ouvre)!'toi*\uD83D\uDE00",
        r"s\\u00e9<same>(ouvre)!'toi*\\ud83d\\ude00",
        r"sé\u003csame\u003e(ouvre)!'toi*😀",
        r"s\u00e9\u003csame\u003e(ouvre)!'toi*\ud83d\ude00",
        r"a~b\/c d:e",
        r"a~b\\/c d:e",
    ] {
        assert_eq!(known.redact_text(&format!("x {text} y")), "x [REDACTED] y", "of {text}");
    }
}

#[test]
fn overlapping_exact_values_are_hidden_together() {
    for (secrets, text, expected) in [
        // The first ends inside the second, whose tail must not be seen.
        (&["abcdef1", "def1xyz"][..], "x abcdef1xyz y", "x [REDACTED] y"),
        // The base64 of `sesame-open` reaches up to a blank, behind which another value that began inside it goes on.
        (&["sesame-open", "Vu tail of it"], "x c2VzYW1lLW9wZW4Vu tail of it y", "x [REDACTED] y"),
        (&["sesame-open", "tail c2Vz"], "x tail c2VzYW1lLW9wZW4 y", "x [REDACTED] y"),
        (&["abcdef", "abcdefgh", "cdefgh"], "abcdefgh abcdef cdefgh", "[REDACTED] [REDACTED] [REDACTED]"),
        (&["ababab"], "abababab", "[REDACTED]"),
    ] {
        assert_eq!(knowing(secrets).redact_text(text), expected);
    }
}

#[test]
fn personal_members_are_found_by_name() {
    let mut value = serde_json::json!({
        "phone": "030 1234567", "work_phone_number": 301234567, "microphone": "model 123456", "phone2": {"x": 1},
        "billingAddress": "1 Main Street", "ip_address": "10.0.0.1", "mobile": "n/a"
    });
    Redactor::default().redact_value(&mut value);
    assert_eq!(
        value,
        serde_json::json!({
            "phone": "***67", "work_phone_number": "***67", "microphone": "model 123456", "phone2": {"x": 1},
            "billingAddress": "***", "ip_address": "10.0.0.1", "mobile": "n/a"
        })
    );
}

#[test]
fn source_code_stays_where_only_shapes_count() {
    let redactor = Redactor::new(Options {
        secrets: vec!["opensesame".to_owned()],
        evidence: Evidence::Shapes,
        personal: Personal::Keep,
    });
    for text in [
        "struct Login { token: String, password: Option<String> }",
        "let api_key = env::var(\"API_KEY\")?; // the secret",
        "const headers = { Authorization: `Bearer ${token}`, Cookie: cookies.join('; ') };",
        "if line.starts_with(\"-----BEGIN PRIVATE KEY-----\") { return Err(secret) }",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkq\n-----END CERTIFICATE-----",
        "memmem::find(rest, b\"-----BEGIN \")",
    ] {
        assert_eq!(redactor.redact_text(text), text);
    }
    let key = format!("ghp_{}", "a1B2".repeat(9));
    let block = format!("-----BEGIN EC PRIVATE KEY-----\n{}", "MHcCAQEE".repeat(8));
    for (text, expected) in [
        (format!("let token = \"{key}\";"), "let token = \"[REDACTED]\";"),
        ("password: opensesame".to_owned(), "password: [REDACTED]"),
        (format!("a\n{block}\n-----END EC PRIVATE KEY-----\nb"), "a\n[REDACTED]\nb"),
        (format!("cut {}", block.replace('\n', "\\n")), "cut [REDACTED]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n".to_owned(), "[REDACTED]"),
        ("curl -H 'Authorization: Bearer abc123def456'".to_owned(), "curl -H 'Authorization: Bearer [REDACTED]'"),
    ] {
        assert_eq!(redactor.redact_text(&text), expected);
    }
    let mut value = serde_json::json!({
        "token": "String", "argv": ["--password", "x"], "headers": [["Cookie", "a"]], "rawHeaders": ["Cookie", "a"],
        "phone": "030 1234567", "key": "api_key", "value": "opensesame", key: 1
    });
    redactor.redact_value(&mut value);
    let expected = serde_json::json!({
        "token": "String", "argv": ["--password", "x"], "headers": [["Cookie", "a"]], "rawHeaders": ["Cookie", "a"],
        "phone": "030 1234567", "key": "api_key", "value": "[REDACTED]", "[REDACTED]": 1
    });
    assert_eq!(value, expected);
}

#[test]
fn debug_output_shows_no_secret() {
    let redactor = Redactor::new(Options {
        secrets: vec!["opensesame".to_owned()],
        evidence: Evidence::KeysAndShapes,
        personal: Personal::Keep,
    });
    assert_eq!(format!("{redactor:?}"), "Redactor { .. }");
    assert_eq!(format!("{:?}", Personal::Hash { key: b"k".to_vec() }), "Hash");
}

fn redactor(personal: Personal) -> Redactor {
    Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::KeysAndShapes, personal })
}

fn knowing(secrets: &[&str]) -> Redactor {
    Redactor::new(Options {
        secrets: secrets.iter().map(|&it| it.to_owned()).collect(),
        evidence: Evidence::KeysAndShapes,
        personal: Personal::Keep,
    })
}

fn check(text: &str, expected: &str) {
    let redacted = DEFAULT.redact_text(text);
    assert_eq!(redacted, expected, "of {text}");
    assert_eq!(DEFAULT.redact_text(&redacted), expected, "second time, of {text}");
}

#[test]
fn short_values_are_hidden_as_words_where_that_is_asked_for() {
    let redactor = Redactor::default().hiding_words(["abc", "k7", "dev_1", "longer than that"].map(str::to_owned));
    for (text, shown) in [
        ("no key abc here", "no key [REDACTED] here"),
        ("'abc', abc.", "'[REDACTED]', [REDACTED]."),
        ("abcd xabc a-abc abc_1", "abcd xabc a-abc abc_1"),
        ("k7 is too short", "k7 is too short"),
        ("äabc abcß", "äabc abcß"),
        ("dev_1 and abc", "[REDACTED] and [REDACTED]"),
    ] {
        assert_eq!(redactor.redact_text(text), shown);
    }
}

static LITERALS: LazyLock<Redactor> = LazyLock::new(|| {
    Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::Literals, personal: Personal::Keep })
});

#[test]
fn what_is_written_out_behind_a_name_is_hidden_in_what_is_kept() {
    for (text, expected) in [
        ("password=hunter2", "password=[REDACTED]"),
        ("password=correcthorse", "password=[REDACTED]"),
        ("the password=hunter2, he said", "the password=[REDACTED], he said"),
        ("passwd: hunter2", "passwd: [REDACTED]"),
        ("Password: Tr0ub4dor&3", "Password: [REDACTED]&3"),
        ("password = hunter2\nuser = bob", "password = [REDACTED]\nuser = bob"),
        ("password = \"s3cr3t!\"", "password = \"[REDACTED]\""),
        (r#"{"password": "hunter2", "user": "bob"}"#, r#"{"password": "[REDACTED]", "user": "bob"}"#),
        ("export PGPASSWORD=geheim", "export PGPASSWORD=[REDACTED]"),
        ("DB_PASSWORD=my_pass", "DB_PASSWORD=[REDACTED]"),
        ("Server=db;Password=abc123;Encrypt=yes", "Server=db;Password=[REDACTED];Encrypt=yes"),
        ("https://x.dev/?user=bob&password=topsecret&page=2", "https://x.dev/?user=bob&password=[REDACTED]&page=2"),
        ("postgres://bob:hunter2@db/app", "postgres://bob:[REDACTED]@db/app"),
        ("mysql --password=hunter2 -u bob", "mysql --password=[REDACTED] -u bob"),
        ("api_key=0123456789abcdef0123", "api_key=[REDACTED]"),
        ("client_secret: 0a1b2c3d4e5f6a7b8c9d", "client_secret: [REDACTED]"),
        ("API_KEY=abc123", "API_KEY=[REDACTED]"),
        ("export GH_TOKEN=t0ps3c && run", "export GH_TOKEN=[REDACTED] && run"),
        ("https://x.dev/?api_key=abc123&page=2", "https://x.dev/?api_key=[REDACTED]&page=2"),
        (r#"{"api_key": "abc123", "user": "bob"}"#, r#"{"api_key": "[REDACTED]", "user": "bob"}"#),
    ] {
        assert_eq!(LITERALS.redact_text(text), expected);
        assert_eq!(LITERALS.redact_text(expected), expected, "what is hidden stays hidden");
    }
}

#[test]
fn programs_stay_as_they_are_in_what_is_kept() {
    for text in [
        "password = input()",
        "password = getpass.getpass('Password: ')",
        "password: String,",
        "password: string;",
        "password: Option<String>",
        "password: req.body.password,",
        "let password = env::var(\"PASSWORD\")?;",
        "connect(user=user, password=password)",
        "connect(user=u,password=secret_of(u))",
        "connect(\n    password=default_password,\n)",
        "password=self.password2",
        "if password == expected1:",
        "password != other",
        "password = user_password1",
        "PASSWORD=$SECRET",
        "PASSWORD=${SECRET:-none}",
        "password=<your password>",
        "password: ********",
        "password: \"Enter your password\"",
        "\"password\": \"required\"",
        "<input type=\"password\" name=\"password\">",
        "def login(password=None):",
        "the password is wrong",
        "token: String",
        "let token = lexer.next_token();",
        "max_tokens=4096",
        "tokens: 120000",
        "secret = load_secret(path)",
        "ask(token=token1, n=2)",
        "ask(api_key=first1, n=2)",
        "secret=base64",
        "api_key: abc123",
        "TOKEN=4096",
        "token=next_token2",
        "key=value",
        "// password: see docs/secrets.md",
        "https://github.com/a/b",
    ] {
        assert_eq!(LITERALS.redact_text(text), text);
    }
}
