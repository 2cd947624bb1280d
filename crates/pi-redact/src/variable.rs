//! What of an environment variable is secret: the whole of it by its name, or the password of an address in it.
//!
//! A name that holds a secret word says enough ([`is_secret_variable`]). Other names are a hint only, so their values count as
//! well: a path, a choice such as `kerberos` and what is too short to be a secret are none. The words are data, in
//! `variables.txt`.

use std::sync::LazyLock;

use crate::{SHORTEST_SECRET, encoding, key};

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(include_str!("variables.txt")));

/// The lines of `variables.txt`.
struct Rules {
    secret: Vec<&'static str>,
    plain: Vec<&'static str>,
    value: Vec<&'static str>,
    passed: Vec<&'static str>,
}

/// Whether an environment variable of this name holds a secret, whatever its value: as [`is_secret_key`](crate::is_secret_key),
/// but for the two in which every shell keeps a folder. Elsewhere `PWD=` stands before a password.
///
/// ```
/// assert!(pi_redact::is_secret_variable("DB_PWD"));
/// assert!(!pi_redact::is_secret_variable("PWD"));
/// ```
pub fn is_secret_variable(name: &str) -> bool {
    !matches!(name, "PWD" | "OLDPWD") && key::is_secret_key(name)
}

/// The parts of a variable's value that must not be seen, in the open and decoded.
///
/// ```
/// use pi_redact::variable_secrets;
/// assert_eq!(variable_secrets("STRIPE_KEY", "rk_0123456789"), ["rk_0123456789"]);
/// assert_eq!(variable_secrets("DATABASE_URL", "postgres://me:open%20it@host/db"), ["open%20it", "open it"]);
/// assert!(variable_secrets("TLS_KEY", "/etc/ssl/key.pem").is_empty());
/// ```
pub fn variable_secrets(name: &str, value: &str) -> Vec<String> {
    let mut secrets: Vec<String> = passwords(value).map(str::to_owned).collect();
    let decoded: Vec<String> = secrets.iter().filter_map(|secret| encoding::percent_decoded(secret)).collect();
    secrets.extend(decoded);
    if !value.trim().is_empty() && (is_secret_variable(name) || hints_at_secret(name, value)) {
        secrets.push(value.to_owned());
    }
    secrets
}

/// Whether programs that somebody else chose should not be given the variable.
///
/// ```
/// assert!(pi_redact::is_withheld_variable("GH_PAT", "abcdef123456"));
/// assert!(!pi_redact::is_withheld_variable("SSH_AUTH_SOCK", "/run/agent.sock"));
/// assert!(!pi_redact::is_withheld_variable("https_proxy", "http://me:secret@proxy:3128"));
/// ```
pub fn is_withheld_variable(name: &str, value: &str) -> bool {
    let is_passed = RULES.passed.iter().any(|passed| passed.eq_ignore_ascii_case(name));
    !is_passed && (is_secret_variable(name) || !variable_secrets(name, value).is_empty())
}

/// Whether the last words of the name say secret, and the value can be one.
fn hints_at_secret(name: &str, value: &str) -> bool {
    let (before, last) = key::last_two_words(name);
    let ends_like = |rule: &&str| match rule.split_once(' ') {
        Some((one, other)) => one.eq_ignore_ascii_case(before) && other.eq_ignore_ascii_case(last),
        None => rule.eq_ignore_ascii_case(last),
    };
    let says_so = RULES.secret.iter().any(&ends_like) && !RULES.plain.iter().any(ends_like);
    let value = value.trim();
    let is_path =
        ["/", "~", "./", "../"].iter().any(|start| value.starts_with(start)) || value.get(1..3) == Some(":\\");
    let is_choice = RULES.value.iter().any(|choice| choice.eq_ignore_ascii_case(value));
    says_so && value.len() >= SHORTEST_SECRET && !is_path && !is_choice && !key::is_written_count(value)
}

/// The passwords of the addresses in a text: `scheme://user:password@host`.
fn passwords(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("://").filter_map(|(at, _)| {
        let rest = &text[at + 3..];
        let end =
            rest.find(|sign: char| sign.is_whitespace() || matches!(sign, '/' | '?' | '#' | '"' | '\'' | ',' | ';'));
        let (user, _host) = rest[..end.unwrap_or(rest.len())].rsplit_once('@')?;
        let (_name, password) = user.split_once(':')?;
        // What a person is to fill in is no password.
        let is_blank = password.is_empty() || password.starts_with(['$', '<', '*', '{']);
        (!is_blank).then_some(password)
    })
}

impl Rules {
    fn read(text: &'static str) -> Self {
        let of = |kind: &str| {
            let lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.filter(|(first, _)| *first == kind).map(|(_, words)| words.trim()).collect()
        };
        Self { secret: of("secret"), plain: of("plain"), value: of("value"), passed: of("passed") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_rule() {
        let kinds = ["secret", "plain", "value", "passed"];
        for line in include_str!("variables.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (kind, words) = line.split_once(' ').expect("a kind and words");
            assert!(kinds.contains(&kind) && words.split(' ').count() <= 2, "{line}");
        }
    }

    #[test]
    fn names_that_only_hint_need_a_value_that_can_be_a_secret() {
        for (name, value, is_withheld) in [
            ("STRIPE_KEY", "rk_live_0123456789", true),
            ("GH_PAT", "abcdef0123", true),
            ("AZURE_DEVOPS_EXT_PAT", "abcdef0123", true),
            ("JWT", "eyJhbGciOiJIUzI1NiJ9.e30.x", true),
            ("REDIS_AUTH", "opensesame", true),
            ("DB_PW", "opensesame", true),
            ("DB_PW", "~/pw.txt", false),
            ("KPW", "opensesame", false),
            ("NPM_CONFIG__AUTH", "dXNlcjpwYXNz", true),
            ("SLACK_WEBHOOK_URL", "https://hooks.slack.com/services/T0/B0/x", true),
            ("SENTRY_DSN", "https://0123@o1.ingest.sentry.io/1", true),
            ("GITHUB_TOKEN", "x", true),
            ("DATABASE_URL", "postgres://u:pw@h/db", true),
            ("DATABASE_URL", "postgres://u@h/db", false),
            ("DATABASE_URL", "postgres://u:${PW}@h/db", false),
            ("BROKERS", "amqp://a:b1@h,amqp://c:d2@i", true),
            ("TLS_KEY", "/home/me/key", false),
            ("TLS_KEY", "~/key", false),
            ("PGAUTH_AUTH", "kerberos", false),
            ("SOME_KEY", "F12", false),
            ("RATE_KEY", "1000000", false),
            ("STRIPE_PUBLISHABLE_KEY", "pk_live_0123456789", false),
            ("PATH", "/usr/bin:/bin", false),
            ("SSH_AUTH_SOCK", "/run/user/1000/agent", false),
            ("XAUTHORITY", "/home/me/.Xauthority", false),
            ("POSTGRES_HOST_AUTH_METHOD", "scram-sha-256", false),
            ("MONKEY", "banana-banana", false),
            ("HTTP_PROXY", "http://u:longpassword@p:1", false),
        ] {
            assert_eq!(is_withheld_variable(name, value), is_withheld, "{name}={value}");
        }
    }

    #[test]
    fn password_of_an_address_is_found_in_the_open_and_decoded() {
        let found = |value: &str| variable_secrets("X", value);
        assert_eq!(found("redis://:p%40ss@h:1/0"), ["p%40ss", "p@ss"]);
        assert_eq!(found("a://u:one@h b://v:two@i/x"), ["one", "two"]);
        assert_eq!(found("https://h/a:b@c"), [""; 0]);
        assert_eq!(variable_secrets("HTTP_PROXY", "http://u:longpassword@p:1"), ["longpassword"]);
    }
}
