//! Answers of servers that are no model servers: pages for a browser, and signs that lead elsewhere.

use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use url::Url;

use crate::secret::Carried;

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

/// Where an answer leads: scheme, host, port and path, nothing that may be secret and nothing that the request carried.
/// `None` where it does not say.
pub(super) fn destination(asked: &Url, headers: &HeaderMap, carried: &Carried) -> Option<String> {
    let to = asked.join(headers.get(LOCATION)?.to_str().ok()?).ok()?;
    Some(format!("{}{}", carried.hide_in_origin(&to.origin().ascii_serialization()), carried.hide_in_path(to.path())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

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
            let told = destination(&asked, &headers("location", location), &Carried::default());
            assert_eq!(told.as_deref(), Some(expected));
        }
        assert_eq!(destination(&asked, &HeaderMap::new(), &Carried::default()), None);
    }

    #[test]
    fn destinations_are_told_without_what_the_request_carried() {
        let asked = Url::parse("https://models.example/v1/chat").unwrap();
        let others = vec![Secret::new("hut7"), Secret::new("walnut/harbour 9")];
        let carried = Carried { credential: Some(Secret::new("sk-Planted+1")), others };
        for (location, expected) in [
            ("http://evil.example/sk-Planted+1?k=sk-Planted+1", "http://evil.example/***"),
            ("/v1/sk-Planted%2B1/chat", "https://models.example/v1/***/chat"),
            ("/v1/sk-Planted%252B1/chat", "https://models.example/v1/***/chat"),
            ("/x-sk-Planted+1-y/chat", "https://models.example/***/chat"),
            ("https://sk-planted.example/", "https://sk-planted.example/"),
            ("/walnut/harbour%209/chat", "https://models.example/***"),
            ("/hut7/chats", "https://models.example/***/chats"),
            ("/hut777/chats", "https://models.example/hut777/chats"),
        ] {
            let told = destination(&asked, &headers("location", location), &carried);
            assert_eq!(told.as_deref(), Some(expected), "{location}");
        }
        let key = Carried { credential: Some(Secret::new("Planted-Key")), others: Vec::new() };
        let host = destination(&asked, &headers("location", "https://planted-key.evil.example/v1"), &key);
        assert_eq!(host.as_deref(), Some("https://***.evil.example/v1"));
    }
}
