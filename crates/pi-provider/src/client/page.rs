//! Answers of servers that are no model servers: pages for a browser, and signs that lead elsewhere.

use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use url::Url;

/// How a page begins, where no header says what it is.
const BEGINNINGS: [&[u8]; 2] = [b"<!doctype html", b"<html"];

/// Whether the answer is a page for a browser, by what it is called or by its first bytes.
pub(super) fn is_page(headers: &HeaderMap, first: &[u8]) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("text/html") || kind.eq_ignore_ascii_case("application/xhtml+xml") {
        return true;
    }
    let body = first.trim_ascii_start();
    BEGINNINGS.iter().any(|mark| body.get(..mark.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(mark)))
}

/// Where an answer leads: scheme, host, port and path, nothing that may be secret. `None` where it does not say.
pub(super) fn destination(asked: &Url, headers: &HeaderMap) -> Option<String> {
    let to = asked.join(headers.get(LOCATION)?.to_str().ok()?).ok()?;
    Some(format!("{}{}", to.origin().ascii_serialization(), to.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
    }

    #[test]
    fn pages_are_known_by_name_or_by_their_beginning() {
        for (kind, first, expected) in [
            ("text/html; charset=utf-8", "anything", true),
            ("Text/HTML", "", true),
            ("text/plain", "\n <!DOCTYPE html><p>", true),
            ("application/octet-stream", "<HTML>", true),
            ("text/event-stream", "data: <html>", false),
            ("application/json", "{\"page\": \"<html>\"}", false),
            ("text/htmlish", "<htm", false),
        ] {
            assert_eq!(is_page(&headers("content-type", kind), first.as_bytes()), expected, "{kind} {first}");
        }
    }

    #[test]
    fn destinations_are_told_without_what_may_be_secret() {
        let asked = Url::parse("https://models.example/v1/chat").unwrap();
        for (location, expected) in [
            (
                "https://user:planted@other.example:8443/v2/chat?key=planted#planted",
                "https://other.example:8443/v2/chat",
            ),
            ("/v2/chat", "https://models.example/v2/chat"),
        ] {
            assert_eq!(destination(&asked, &headers("location", location)).as_deref(), Some(expected));
        }
        assert_eq!(destination(&asked, &HeaderMap::new()), None);
    }
}
