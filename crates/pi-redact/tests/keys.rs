//! The table of keys: which hold a secret, which only speak about one, and where the value decides.

use pi_redact::{MARK, Redactor, is_secret_key};
use serde_json::{Value, json};

const SECRET: &str = "
    api_key token authorization cookie password secret private_key credential bearer
    access_token accessToken AccessToken ACCESS_TOKEN access-token access.token accesstoken
    X-Api-Key apiKey apikey APIKEY API_KEY OPENAI_API_KEY openaiApiKey APIKey
    set-cookie Set-Cookie Proxy-Authorization clientSecret client_secret secretKey privateKey
    aws.secret.access.key AWS_SECRET_ACCESS_KEY bearerToken authToken2 oauth2Token _authToken
    passwords cookies secrets credentials apiKeys passwd passphrase pwd DB_PASS
    password_hash token_value secret_id credentials_json authorization_code cookieJar";

const OPEN: &str = "
    max_tokens maxTokens totalTokens inputTokens tokensBefore tokens_per_second
    token_count tokenCount tokenLimit token_budget token_usage token_type tokenUrl promptTokensDetails
    tokenizer tokenize detokenized cookieConsent cookie_policy cookie_name
    password_required passwordPolicy passwordless secretary secret_name authorized authority
    authorization_endpoint credentials_file private_key_path bearerFormat api_key_env keyboard
    key public_key publicKey primaryKey monkey pass passed bypass compass bear _ é";

#[test]
fn keys_with_a_secret_word_are_secret() {
    for key in SECRET.split_whitespace().chain(["api key", "api key:"]) {
        assert!(is_secret_key(key), "{key} must be secret");
    }
}

#[test]
fn keys_about_a_secret_are_open() {
    for key in OPEN.split_whitespace().chain([""]) {
        assert!(!is_secret_key(key), "{key} must be open");
    }
}

#[test]
fn value_decides_under_the_plural_of_token() {
    check(
        json!({"max_tokens": 4096, "tokens": {"input": 12, "cache": [1, 2]}, "x-ratelimit-remaining-tokens": "39,500"}),
        &json!({"max_tokens": 4096, "tokens": {"input": 12, "cache": [1, 2]}, "x-ratelimit-remaining-tokens": "39,500"}),
    );
    check(
        json!({"tokens": ["abcdef"], "refreshTokens": {"bob": "x"}, "max_tokens": "opensesame"}),
        &json!({"tokens": MARK, "refreshTokens": MARK, "max_tokens": MARK}),
    );
}

#[test]
fn nothing_to_hide_stays() {
    check(
        json!({"password": null, "token": true, "secret": "", "cookies": [], "credentials": {}}),
        &json!({"password": null, "token": true, "secret": "", "cookies": [], "credentials": {}}),
    );
}

#[test]
fn secret_members_are_hidden_whole_at_any_depth() {
    check(
        json!({"a": [{"b": {"apiKey": "k", "pin_token": 1234, "credentials": {"user": "bob", "pass": ["x"]}}}], "c": "open"}),
        &json!({"a": [{"b": {"apiKey": MARK, "pin_token": MARK, "credentials": MARK}}], "c": "open"}),
    );
}

#[test]
fn header_lists_are_understood() {
    check(
        json!([["Authorization", "Basic eA=="], ["Accept", "*/*"], ["Set-Cookie", ["a=1", "b=2"]]]),
        &json!([["Authorization", MARK], ["Accept", "*/*"], ["Set-Cookie", MARK]]),
    );
    check(
        json!({"headers": [{"name": "X-Api-Key", "value": "k"}, {"Name": "Accept", "Value": "text/html"}, {"key": "COOKIE", "values": ["s=1"]}]}),
        &json!({"headers": [{"name": "X-Api-Key", "value": MARK}, {"Name": "Accept", "Value": "text/html"}, {"key": "COOKIE", "values": MARK}]}),
    );
    check(
        json!({"rawHeaders": ["Host", "example.com", "Authorization", "x", "Accept", "token"]}),
        &json!({"rawHeaders": ["Host", "example.com", "Authorization", MARK, "Accept", "token"]}),
    );
}

#[test]
fn any_of_several_names_makes_the_value_secret() {
    for object in [
        json!({"name": "prod", "key": "api_key", "value": "s3cr3t"}),
        json!({"key": "api_key", "name": "prod", "value": "s3cr3t"}),
        json!({"name": "api_key", "key": "prod", "value": "s3cr3t"}),
        json!({"value": "s3cr3t", "header": "prod", "field": "api_key"}),
        json!({"name": 7, "Name": "prod", "Key": "Cookie", "values": ["s3cr3t"]}),
    ] {
        let mut expected = object.clone();
        for name in ["value", "values"] {
            expected.as_object_mut().and_then(|it| it.get_mut(name)).into_iter().for_each(|it| *it = MARK.into());
        }
        check(object, &expected);
    }
    check(
        json!({"name": "prod", "key": "max_tokens", "value": 7}),
        &json!({"name": "prod", "key": "max_tokens", "value": 7}),
    );
}

#[test]
fn counts_below_counts_stay_and_secrets_below_them_do_not() {
    check(
        json!({"tokens": {"a": {"tokens": {"in": 1}}, "password": 123456}}),
        &json!({"tokens": {"a": {"tokens": {"in": 1}}, "password": MARK}}),
    );
    check(json!({"tokens": {"tokens": {"in": "***opensesame"}}}), &json!({"tokens": MARK}));
}

#[test]
fn command_lines_are_understood() {
    check(
        json!([
            "deploy",
            "--api-key",
            "k",
            "--max-tokens",
            "100",
            "--verbose",
            "--password=p",
            "-H",
            "Cookie: a=b; c=d"
        ]),
        &json!([
            "deploy",
            "--api-key",
            MARK,
            "--max-tokens",
            "100",
            "--verbose",
            "--password=[REDACTED]",
            "-H",
            "Cookie: [REDACTED]"
        ]),
    );
}

#[test]
fn lists_of_field_names_stay() {
    check(
        json!({"required": ["token", "name"], "enum": ["password", "email"]}),
        &json!({"required": ["token", "name"], "enum": ["password", "email"]}),
    );
}

#[test]
fn secret_member_names_are_hidden_and_told_apart() {
    let (first, second) = (format!("ghp_{}", "a1".repeat(18)), format!("ghp_{}", "b2".repeat(18)));
    check(json!({first: 1, second: 2, "c": 3}), &json!({MARK: 1, "[REDACTED]#2": 2, "c": 3}));
}

#[test]
fn second_look_changes_nothing_that_the_first_made() {
    // A count that held personal data, an address under the name of a phone, a name that ended in an open word.
    let bearer = format!("Bearer {}At", "a1B2".repeat(9));
    check(json!({"max_tokens": {"phone": 1000000}}), &json!({"max_tokens": {"phone": "***00"}}));
    check(json!({"phone": "j@x.de"}), &json!({"phone": "j***@x***.de"}));
    check(json!({bearer: 1}), &json!({"Bearer [REDACTED]": MARK}));
    // Texts that only their secret kept from being the name of what follows: a flag, and the name of a header.
    check(json!(["--token-of://user=:pass@host", "t"]), &json!(["--token-of:[REDACTED]", MARK]));
    let bearer = format!("Bearer {}At", "a1B2".repeat(9));
    check(json!([[bearer, "t"]]), &json!([["Bearer [REDACTED]", MARK]]));
    check(json!({"rawHeaders": [bearer, "t"]}), &json!({"rawHeaders": ["Bearer [REDACTED]", MARK]}));
}

#[track_caller]
fn check(mut value: Value, expected: &Value) {
    let redactor = Redactor::default();
    redactor.redact_value(&mut value);
    assert_eq!(&value, expected);
    redactor.redact_value(&mut value);
    assert_eq!(&value, expected, "second time");
}
