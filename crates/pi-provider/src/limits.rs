//! What a provider says about its limits: how much is left, when there is more, how long to wait.
//!
//! Pure: the headers of an answer and the time at which it came go in. Start with [`Limits::read`].

mod moment;
mod wait;

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use serde::Serialize;

use crate::manifest::resilience::RateLimitHeaders;

pub use self::moment::parse_wait;
pub(crate) use self::wait::asked_wait;

/// Names that providers use besides the manifest's: requests, then tokens.
const REQUEST_NAMES: Names = Names {
    limit: &[
        "x-ratelimit-limit-requests",
        "anthropic-ratelimit-requests-limit",
        "x-ratelimit-limit",
        "ratelimit-limit",
    ],
    remaining: &[
        "x-ratelimit-remaining-requests",
        "anthropic-ratelimit-requests-remaining",
        "x-ratelimit-remaining",
        "ratelimit-remaining",
    ],
    reset: &[
        "x-ratelimit-reset-requests",
        "anthropic-ratelimit-requests-reset",
        "x-ratelimit-reset",
        "ratelimit-reset",
    ],
};
const TOKEN_NAMES: Names = Names {
    limit: &["x-ratelimit-limit-tokens", "anthropic-ratelimit-tokens-limit"],
    remaining: &["x-ratelimit-remaining-tokens", "anthropic-ratelimit-tokens-remaining"],
    reset: &["x-ratelimit-reset-tokens", "anthropic-ratelimit-tokens-reset"],
};

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
    pub reset: Option<Duration>,
}

struct Names {
    limit: &'static [&'static str],
    remaining: &'static [&'static str],
    reset: &'static [&'static str],
}

impl Limits {
    /// The manifest's names win over the usual ones.
    pub fn read(names: &RateLimitHeaders, headers: &HeaderMap, now: SystemTime) -> Self {
        let requests = [&names.requests_limit, &names.requests_remaining, &names.requests_reset];
        let tokens = [&names.tokens_limit, &names.tokens_remaining, &names.tokens_reset];
        Self {
            requests: Allowance::read(requests, &REQUEST_NAMES, headers, now),
            tokens: Allowance::read(tokens, &TOKEN_NAMES, headers, now),
        }
    }

    /// When whatever is used up comes back.
    pub fn exhausted_until(&self) -> Option<Duration> {
        [self.requests, self.tokens].into_iter().filter(|it| it.remaining == Some(0)).filter_map(|it| it.reset).max()
    }
}

impl Allowance {
    fn read(own: [&Option<String>; 3], usual: &Names, headers: &HeaderMap, now: SystemTime) -> Self {
        let [limit, remaining, reset] = own;
        let count = |text: &str| text.split([',', ';']).next().and_then(|first| first.trim().parse().ok());
        Self {
            limit: first(headers, limit.as_deref(), usual.limit).and_then(count),
            remaining: first(headers, remaining.as_deref(), usual.remaining).and_then(count),
            reset: first(headers, reset.as_deref(), usual.reset).and_then(|text| parse_wait(text, now)),
        }
    }
}

/// The first header that is there and readable.
fn first<'a>(headers: &'a HeaderMap, own: Option<&str>, usual: &[&str]) -> Option<&'a str> {
    own.into_iter().chain(usual.iter().copied()).find_map(|name| headers.get(name)?.to_str().ok())
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
    }
}
