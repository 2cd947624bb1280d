//! What a provider says about its limits: how much is left, when there is more, how long to wait.
//!
//! Pure: the headers of an answer and the time at which it came go in. Start with [`Limits::read`].

mod moment;
mod wait;

use std::{
    fmt,
    sync::LazyLock,
    time::{Duration, SystemTime},
};

use reqwest::header::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::{error::seconds, manifest::resilience::RateLimitHeaders};

use self::moment::parse_wait;
pub(crate) use self::wait::{asked_wait, wait_pattern};

static USUAL: LazyLock<Usual> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("limits/usual.yaml")).expect("our own file, read by a test"));

/// The limits that came with an answer. `None` means that the provider did not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Limits {
    pub requests: Allowance,
    pub tokens: Allowance,
}

/// How much of one thing may be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Allowance {
    pub limit: Option<u64>,
    pub remaining: Option<u64>,
    /// From the moment of the answer on.
    #[serde(rename = "reset_ms", serialize_with = "as_milliseconds")]
    pub reset: Option<Duration>,
}

/// Where limits and waits stand besides the places that a manifest names; `usual.yaml` says what each member means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Usual {
    requests: Names,
    tokens: Names,
    wait_headers: Waits,
    wait_members: Waits,
    wait_details: Details,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    limit: Vec<String>,
    remaining: Vec<String>,
    reset: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Waits {
    milliseconds: Vec<String>,
    seconds: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Details {
    list: String,
    member: String,
}

impl Limits {
    /// The manifest's names win over the usual ones.
    pub fn read(names: &RateLimitHeaders, headers: &HeaderMap, now: SystemTime) -> Self {
        let headers = Present::of(headers);
        let requests = [&names.requests_limit, &names.requests_remaining, &names.requests_reset];
        let tokens = [&names.tokens_limit, &names.tokens_remaining, &names.tokens_reset];
        Self {
            requests: Allowance::read(requests, &USUAL.requests, headers, now),
            tokens: Allowance::read(tokens, &USUAL.tokens, headers, now),
        }
    }

    /// When whatever is used up comes back.
    pub fn exhausted_until(&self) -> Option<Duration> {
        [self.requests, self.tokens].into_iter().filter(|it| it.remaining == Some(0)).filter_map(|it| it.reset).max()
    }
}

impl Allowance {
    fn read(own: [&Option<String>; 3], usual: &Names, headers: Present<'_>, now: SystemTime) -> Self {
        let [limit, remaining, reset] = own;
        let count = |text: &str| text.split([',', ';']).next().and_then(|first| first.trim().parse().ok());
        Self {
            limit: first(headers, limit.as_deref(), &usual.limit).and_then(count),
            remaining: first(headers, remaining.as_deref(), &usual.remaining).and_then(count),
            reset: first(headers, reset.as_deref(), &usual.reset).and_then(|text| parse_wait(text, now)),
        }
    }
}

impl fmt::Display for Limits {
    /// `0 of 60 requests left, resets in 12 s`; nothing where nobody said how much is left.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = [self.requests.told("requests"), self.tokens.told("tokens")];
        f.write_str(&told.into_iter().flatten().collect::<Vec<_>>().join("; "))
    }
}

impl Allowance {
    fn told(&self, what: &str) -> Option<String> {
        let remaining = self.remaining?;
        let of = self.limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
        let reset = self.reset.map(|reset| format!(", resets in {}", seconds(reset))).unwrap_or_default();
        Some(format!("{remaining}{of} {what} left{reset}"))
    }
}

fn as_milliseconds<S: serde::Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
}

/// The first header that is there and readable.
fn first<'a>(present: Present<'a>, own: Option<&str>, usual: &[String]) -> Option<&'a str> {
    let names = own.into_iter().chain(usual.iter().map(String::as_str));
    names.filter(|name| present.may_have(name)).find_map(|name| header(present.headers, name))
}

/// Headers, and how long their names are: an answer is asked for dozens of names, and most are as long as none that it has.
#[derive(Clone, Copy)]
struct Present<'a> {
    headers: &'a HeaderMap,
    /// A bit for each length.
    lengths: u64,
}

impl<'a> Present<'a> {
    fn of(headers: &'a HeaderMap) -> Self {
        Self { headers, lengths: headers.keys().fold(0, |known, name| known | bit(name.as_str())) }
    }

    fn may_have(self, name: &str) -> bool {
        self.lengths & bit(name) != 0
    }
}

const fn bit(name: &str) -> u64 {
    1 << (name.len() % 64)
}

/// A header, if it is there and readable. Answers have few headers and are asked for many that they do not have: comparing
/// names takes less than making a key of each.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.iter().find(|(own, _)| own.as_str().eq_ignore_ascii_case(name))?.1.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn allowance(limit: u64, remaining: u64, reset_ms: u64) -> Allowance {
        Allowance { limit: Some(limit), remaining: Some(remaining), reset: Some(Duration::from_millis(reset_ms)) }
    }

    #[test]
    fn usual_names_are_read_without_a_manifest() {
        let headers = headers(&[
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-remaining-requests", "59"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-limit-tokens", "150000"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ]);
        let limits = Limits::read(&RateLimitHeaders::default(), &headers, SystemTime::UNIX_EPOCH);
        let expected = Limits { requests: allowance(60, 59, 1000), tokens: allowance(150_000, 0, 360_000) };
        assert_eq!(limits, expected);
        assert_eq!(limits.exhausted_until(), Some(Duration::from_secs(360)));
        let told = "59 of 60 requests left, resets in 1 s; 0 of 150000 tokens left, resets in 360 s";
        assert_eq!(limits.to_string(), told);
    }

    #[test]
    fn names_of_the_manifest_win() {
        let names = RateLimitHeaders { requests_limit: Some("X-Own".to_owned()), ..Default::default() };
        let headers = headers(&[("x-ratelimit-limit-requests", "60"), ("x-own", "7")]);
        assert_eq!(Limits::read(&names, &headers, SystemTime::UNIX_EPOCH).requests.limit, Some(7));
    }

    #[test]
    fn nonsense_is_unknown() {
        let headers =
            headers(&[("x-ratelimit-limit", "many"), ("x-ratelimit-reset", "soon"), ("ratelimit-limit", "1")]);
        assert_eq!(Limits::read(&RateLimitHeaders::default(), &headers, SystemTime::UNIX_EPOCH), Limits::default());
        assert_eq!(Limits::default().to_string(), "");
    }
}
