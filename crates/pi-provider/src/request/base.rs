//! An address that is given in the place of a manifest's own.
//!
//! People write it with the version of the API or without: `http://127.0.0.1:11434/v1` and `http://127.0.0.1:11434` mean
//! the same server. A manifest has the version either in its address or in the paths of its operations, so the address
//! that was given is brought into the form of the manifest's.

use std::borrow::Cow;

use super::address::has_operation;
use crate::{
    dialect::{Chat, Dialect},
    manifest::{Manifest, ModelEntry},
};

/// The dialect whose path the given address carries, where it is one that this provider does not speak: it would be asked
/// there for what it does not know.
pub(super) fn foreign_path(manifest: &Manifest, model: Option<&ModelEntry>, given: &str) -> Option<&'static Chat> {
    let given = bare(given);
    let spoken = |dialect: Dialect| dialect == Dialect::of(manifest, model) || has_operation(manifest, dialect);
    TELLING.into_iter().find(|dialect| carries(given, Chat::of(*dialect)) && !spoken(*dialect)).map(Chat::of)
}

/// Dialects with a path that is nothing else; Cohere's `/chat` may be part of any address, and Gemini's has the model in it.
const TELLING: [Dialect; 3] = [Dialect::OpenaiChat, Dialect::OpenaiResponses, Dialect::AnthropicMessages];

/// Without query and slashes at its end.
fn bare(given: &str) -> &str {
    given.split_once('?').map_or(given, |(given, _)| given).trim_end_matches('/')
}

/// The given address in the form of the manifest's own one, without a slash at its end.
pub(crate) fn in_form_of<'g>(manifest: &Manifest, model: Option<&ModelEntry>, given: &'g str) -> Cow<'g, str> {
    let query = given.split_once('?').map(|(_, query)| query);
    let given = bare(given);
    let dialect = Dialect::of(manifest, model);
    // Of the dialects that it speaks, the model decides and not the address.
    let is_copied = |it: &Dialect| carries(given, Chat::of(*it)) && (*it == dialect || has_operation(manifest, *it));
    let copied = [dialect].into_iter().chain(TELLING).find(is_copied).map(Chat::of);
    let given = copied.map_or(given, |usual| without_chat(given, usual));
    // Where no operation of the manifest speaks the dialect of the model, its paths say nothing.
    let formed = if dialect == Dialect::of(manifest, None) || has_operation(manifest, dialect) {
        placed(manifest, given)
    } else {
        versioned(given, Chat::of(dialect))
    };
    match query {
        Some(query) => Cow::Owned(format!("{formed}?{query}")),
        None => formed,
    }
}

/// The address without the path of a chat behind it: people copy it from examples, as it is asked there.
fn without_chat<'g>(given: &'g str, usual: &Chat) -> &'g str {
    given.strip_suffix(usual.path.as_str()).unwrap_or(given).trim_end_matches('/')
}

/// Whether the path of a chat stands at its end, and a server before it.
fn carries(given: &str, usual: &Chat) -> bool {
    let server = given.strip_suffix(usual.path.as_str()).and_then(|rest| rest.split_once("://"));
    server.is_some_and(|(_, server)| !server.trim_matches('/').is_empty())
}

fn placed<'g>(manifest: &Manifest, given: &'g str) -> Cow<'g, str> {
    let own = manifest.endpoint.base_url.trim_end_matches('/');
    let usual = Chat::of(Dialect::of(manifest, None));
    match (version(own), version(given)) {
        // The paths begin with the version that the address ends with.
        (None, Some(version)) if begins(manifest, version) => {
            Cow::Borrowed(given[..given.len() - version.len()].trim_end_matches('/'))
        }
        // Other programs leave this version out wherever the server is; others only of the provider's own address.
        (Some(version), None)
            if usual.version.as_deref().is_some_and(|usual| usual == format!("/{version}"))
                || own.strip_suffix(version).is_some_and(|own| own.trim_end_matches('/') == given) =>
        {
            Cow::Owned(format!("{given}/{version}"))
        }
        (None | Some(_), None | Some(_)) => Cow::Borrowed(given),
    }
}

/// The address with the version that Pi leaves out and manifests do not.
pub(crate) fn versioned<'g>(given: &'g str, usual: &Chat) -> Cow<'g, str> {
    let given = given.trim_end_matches('/');
    match &usual.version {
        Some(version) if !given.ends_with(version) => Cow::Owned(format!("{given}{version}")),
        Some(_) | None => Cow::Borrowed(given),
    }
}

/// Whether the path of a chat begins with this version.
fn begins(manifest: &Manifest, version: &str) -> bool {
    let chat = manifest.written_operation("chat").map_or("", |chat| chat.path.as_str());
    chat.trim_start_matches('/').strip_prefix(version).is_some_and(|rest| rest.starts_with('/'))
}

/// The version at the end of an address: `v1`, `v1beta`.
fn version(address: &str) -> Option<&str> {
    let (before, last) = address.rsplit_once('/')?;
    let number = last.strip_prefix('v')?;
    let is_version = number.starts_with(|first: char| first.is_ascii_digit())
        && number.chars().all(|letter| letter.is_ascii_alphanumeric());
    // The name of a host is no version.
    (is_version && !before.ends_with('/')).then_some(last)
}
