//! The page of the server: its files, and what a browser is told to allow them.

use std::convert::Infallible;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use pi_web::Asset;

use crate::hall::download::Download;

/// What the page may do: run its own script, draw its own styles, talk to its own server, show pictures that it was sent. Nothing
/// inline, nothing from elsewhere, no markup from text (`require-trusted-types-for`; the one policy is that of the framework,
/// for templates that were compiled).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     media-src data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types svelte-trusted-html";
/// The plain page has no script at all.
const PLAIN_POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What is handed out to be kept runs nowhere on this origin.
const ATTACHED_POLICY: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// Kept, and asked for each time whether it is still the same.
const FOR_NOW: &str = "no-cache";
/// What was said belongs in no cache.
const NEVER: &str = "no-store";

/// How much of a download is handed to a connection at a time.
const PIECE: usize = 64 << 10;

/// The page itself.
pub(super) fn front(headers: &HeaderMap) -> Response {
    match pi_web::asset(pi_web::PAGE) {
        Some(page) => send(page, headers),
        None => {
            let plain = ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], pi_web::plain_page()).into_response();
            guarded(plain, PLAIN_POLICY, FOR_NOW)
        }
    }
}

/// A file that a browser keeps and does not open: if somebody opens it, nothing of it comes from here, and it runs nothing.
pub(super) fn download(download: Download) -> Response {
    let Download { name, media_type, text, room } = download;
    let length = text.len();
    // Piece by piece, so that its room is held until the last one is asked for.
    let pieces = stream::unfold((Bytes::from(text), room), |(mut rest, room)| async move {
        let piece = rest.split_to(rest.len().min(PIECE));
        (!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), (rest, room)))
    });
    let told = [(header::CONTENT_TYPE, media_type.to_owned()), (header::CONTENT_LENGTH, length.to_string())];
    let mut response = (told, Body::from_stream(pieces)).into_response();
    let name = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    response.headers_mut().insert(header::CONTENT_DISPOSITION, name.expect("names of downloads are plain ASCII"));
    guarded(response, ATTACHED_POLICY, NEVER)
}

/// A file of the page, if one has this path.
pub(super) fn file(path: &str, headers: &HeaderMap) -> Option<Response> {
    let asset = pi_web::asset(path.strip_prefix('/')?)?;
    Some(send(asset, headers))
}

fn send(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let caching = if asset.is_immutable { FOR_EVER } else { FOR_NOW };
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let is_known = text(header::IF_NONE_MATCH).split(',').any(|tag| tag.trim().trim_start_matches("W/") == asset.etag);
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        match asset.brotli.filter(|_| takes_brotli(text(header::ACCEPT_ENCODING))) {
            Some(small) => ([(header::CONTENT_ENCODING, "br")], small).into_response(),
            None => asset.bytes.into_response(),
        }
    };
    let told = response.headers_mut();
    told.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
    told.insert(header::ETAG, HeaderValue::from_static(asset.etag));
    told.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    guarded(response, POLICY, caching)
}

/// A policy on every file, not on the page alone: a picture that is opened by itself must not run either.
fn guarded(mut response: Response, policy: &'static str, caching: &'static str) -> Response {
    let told = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, caching),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        told.insert(name, HeaderValue::from_static(value));
    }
    told.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    told.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

/// Whether a client takes brotli: it is named, and not with a weight of nought.
fn takes_brotli(accepted: &str) -> bool {
    accepted.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("br"));
        let refused = parts.filter_map(|part| part.strip_prefix("q=")).any(|weight| weight.parse() == Ok(0.0_f32));
        is_named && !refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().expect("a name"), HeaderValue::from_static(value))).collect()
    }

    fn told<'a>(response: &'a Response, name: &str) -> &'a str {
        response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    const FILE: Asset = Asset {
        path: "assets/a-1234.js",
        media_type: "text/javascript; charset=utf-8",
        bytes: b"whole",
        brotli: Some(b"br"),
        etag: "\"abc\"",
        is_immutable: true,
    };
    static HASHED: Asset = FILE;
    static NAMED: Asset = Asset { path: "index.html", is_immutable: false, brotli: None, ..FILE };

    #[test]
    fn file_is_compressed_for_whom_takes_it() {
        for (accepted, expected) in [
            ("gzip, deflate, br, zstd", "br"),
            ("gzip, BR;q=0.5", "br"),
            ("br;q=0", ""),
            ("gzip", ""),
            ("brotli", ""),
            ("", ""),
        ] {
            let response = send(&HASHED, &asked(&[("accept-encoding", accepted)]));
            assert_eq!(told(&response, "content-encoding"), expected, "{accepted}");
            assert_eq!(told(&response, "vary"), "accept-encoding");
        }
        assert_eq!(told(&send(&NAMED, &asked(&[("accept-encoding", "br")])), "content-encoding"), "");
    }

    #[test]
    fn file_that_is_known_is_not_sent_again() {
        for (tag, status) in [("\"abc\"", 304), ("W/\"abc\"", 304), ("\"x\", \"abc\"", 304), ("\"abcd\"", 200)] {
            assert_eq!(send(&NAMED, &asked(&[("if-none-match", tag)])).status(), status, "{tag}");
        }
    }

    #[test]
    fn names_with_a_digest_are_kept_for_ever_and_others_asked_for() {
        assert_eq!(told(&send(&HASHED, &HeaderMap::new()), "cache-control"), FOR_EVER);
        assert_eq!(told(&send(&NAMED, &HeaderMap::new()), "cache-control"), FOR_NOW);
    }

    #[test]
    fn what_is_handed_out_is_kept_and_never_opened_here() {
        let file = Download {
            name: "a.html".to_owned(),
            media_type: "text/html; charset=utf-8",
            text: "x".to_owned(),
            room: None,
        };
        let response = download(file);
        for (name, expected) in [
            ("content-disposition", "attachment; filename=\"a.html\""),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(told(&response, name), expected);
        }
        assert!(told(&response, "content-security-policy").ends_with("; sandbox"));
    }

    #[test]
    fn everything_has_a_policy_without_inline_code_and_other_origins() {
        for response in [send(&HASHED, &HeaderMap::new()), front(&HeaderMap::new())] {
            let policy = told(&response, "content-security-policy");
            assert!(policy.starts_with("default-src 'none'"), "{policy}");
            for word in ["unsafe-", "http:", "https:", "*"] {
                assert!(!policy.contains(word), "{policy}");
            }
            assert_eq!(told(&response, "x-content-type-options"), "nosniff");
        }
    }
}
