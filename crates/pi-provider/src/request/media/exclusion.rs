//! Why a picture, a sound, a film or a document cannot be sent as it is, and what of a prompt that is true of.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pi_envelope::Prompt;
use pi_transcript::{Block, Content, Message};

use super::{Media, MediaKind, Source, format_name, formless, pixels, senses};
use crate::{
    dialect::Dialect,
    manifest::{Manifest, media::Medium},
    request::Target,
};

/// What a model or its provider does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exclusion {
    /// Anything of the kind.
    Kind,
    Format {
        format: String,
        taken: Vec<String>,
    },
    /// How the content is handed over: in the request, or by its address.
    Way {
        way: &'static str,
        taken: Vec<String>,
    },
    /// So many bytes.
    Size {
        bytes: u64,
        /// As the manifest has it.
        most: String,
    },
    /// So many pixels.
    Resolution {
        width: u32,
        height: u32,
        most: String,
    },
    /// So many of the kind in one request.
    Count {
        count: usize,
        most: u64,
    },
}

/// Something in a prompt that cannot be sent as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsendable {
    /// Which of the prompt's media it is, counted from 0.
    pub index: usize,
    pub kind: MediaKind,
    pub why: Exclusion,
}

/// What of a prompt would be left out of the request, or replaced by a note. Whoever asks once and for this wants to know
/// before; a conversation goes on without it.
pub fn unsendable(target: &Target<'_>, prompt: &Prompt) -> Vec<Unsendable> {
    let mut found = Vec::new();
    let mut counts: Vec<(MediaKind, usize)> = Vec::new();
    let dialect = Dialect::of(target.manifest, target.entry);
    let mappings = &target.manifest.contract.request_mapping.content_block_mapping;
    let contents = prompt.messages.iter().filter_map(|said| content(said.message()));
    for (index, media) in contents.flatten().filter_map(media).enumerate() {
        let kind = media.kind;
        let count = match counts.iter_mut().find(|(counted, _)| *counted == kind) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                counts.push((kind, 1));
                1
            }
        };
        let takes = senses::takes(target.manifest, target.entry, kind);
        let why = if takes {
            exclusion(target.manifest, &media)
                .or_else(|| formless(&media, dialect, mappings.get(kind.name())))
                .or_else(|| over_count(target.manifest, kind, count))
        } else {
            Some(Exclusion::Kind)
        };
        found.extend(why.map(|why| Unsendable { index, kind, why }));
    }
    found
}

/// How many of each kind a conversation has beyond what the provider takes in one request. The oldest are left out: what
/// is talked about came last.
#[derive(Debug, Default)]
pub(in crate::request) struct Surplus(Vec<Excess>);

#[derive(Debug)]
struct Excess {
    kind: MediaKind,
    /// How many are still to be left out.
    over: usize,
    most: u64,
}

impl Surplus {
    pub(in crate::request) fn of(manifest: &Manifest, said: &[&Message]) -> Self {
        let limited = MediaKind::ALL.into_iter().filter_map(|kind| {
            let most = senses::medium(manifest, kind)?.max_files?;
            let all = said.iter().flat_map(|message| blocks(message)).filter_map(media);
            let count = all.filter(|media| media.kind == kind).count();
            let over = count.saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
            (over > 0).then_some(Excess { kind, over, most })
        });
        Self(limited.collect())
    }

    /// Why the next one of this kind is left out, if it is; its number is counted from the newest.
    pub(in crate::request) fn take(&mut self, kind: MediaKind) -> Option<Exclusion> {
        let excess = self.0.iter_mut().find(|excess| excess.kind == kind && excess.over > 0)?;
        let count = excess.over + usize::try_from(excess.most).unwrap_or(usize::MAX);
        excess.over -= 1;
        Some(Exclusion::Count { count, most: excess.most })
    }
}

/// What the provider's declaration excludes of this: its format, its way, its size.
pub(in crate::request) fn exclusion(manifest: &Manifest, media: &Media<'_>) -> Option<Exclusion> {
    let medium = senses::medium(manifest, media.kind)?;
    by_way(medium, media).or_else(|| by_format(medium, media)).or_else(|| by_size(medium, media))
}

fn by_way(medium: &Medium, media: &Media<'_>) -> Option<Exclusion> {
    let ways: &[&'static str] = match media.source {
        Source::Data(_) => &["base64_inline"],
        Source::Url(_) => &["url", "file_uri"],
        Source::Reference(_) => return Some(Exclusion::Way { way: "a reference", taken: Vec::new() }),
    };
    let taken = &medium.encoding_methods;
    let is_taken = taken.is_empty() || ways.iter().any(|way| names(taken, way));
    (!is_taken).then(|| Exclusion::Way { way: ways[0], taken: taken.clone() })
}

/// Documents have no formats of their own in the standard.
fn by_format(medium: &Medium, media: &Media<'_>) -> Option<Exclusion> {
    if media.kind == MediaKind::Document || medium.formats.is_empty() || media.mime_type.is_empty() {
        return None;
    }
    let format = format_name(media.kind, media.mime_type);
    let is_taken = medium.formats.iter().any(|taken| format_name(media.kind, taken) == format);
    (!is_taken).then(|| Exclusion::Format { format, taken: medium.formats.clone() })
}

/// What is only named by its address is measured by whoever fetches it.
fn by_size(medium: &Medium, media: &Media<'_>) -> Option<Exclusion> {
    let Source::Data(data) = media.source else { return None };
    let bytes = decoded_size(data);
    if let (Some(most), Some(written)) = (medium.most_bytes(), &medium.max_file_size)
        && bytes > most
    {
        return Some(Exclusion::Size { bytes, most: written.clone() });
    }
    let (most, written) = (medium.most_pixels()?, medium.max_resolution.as_ref()?);
    let (width, height) = pixels::of(&STANDARD.decode(data).ok()?)?;
    // A picture may lie on its side.
    let fits = |across: u32, down: u32| width <= across && height <= down;
    let is_over = !fits(most.0, most.1) && !fits(most.1, most.0);
    is_over.then(|| Exclusion::Resolution { width, height, most: written.clone() })
}

fn over_count(manifest: &Manifest, kind: MediaKind, count: usize) -> Option<Exclusion> {
    let most = senses::medium(manifest, kind)?.max_files?;
    (count as u64 > most).then_some(Exclusion::Count { count, most })
}

/// How many bytes base64 stands for.
fn decoded_size(data: &str) -> u64 {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    (data.len() as u64 * 3 / 4).saturating_sub(padding as u64)
}

/// What a person said in parts: of these it is known who added them.
fn content(message: &Message) -> Option<&[Block]> {
    match message {
        Message::User(user) => match &user.content {
            Content::Blocks(blocks) => Some(blocks),
            Content::Text(_) => None,
        },
        Message::Assistant(_)
        | Message::ToolResult(_)
        | Message::BashExecution(_)
        | Message::Custom(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_)
        | Message::System(_)
        | Message::Other(_) => None,
    }
}

/// All that is said in parts, by whomever.
fn blocks(message: &Message) -> &[Block] {
    let content = match message {
        Message::User(user) => &user.content,
        Message::Custom(custom) => &custom.content,
        Message::ToolResult(result) => return &result.content,
        Message::Assistant(_)
        | Message::BashExecution(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_)
        | Message::System(_)
        | Message::Other(_) => return &[],
    };
    match content {
        Content::Blocks(blocks) => blocks,
        Content::Text(_) => &[],
    }
}

/// What is not read as text.
fn media(block: &Block) -> Option<Media<'_>> {
    let media = match block {
        Block::Image(image) => Media::image(image),
        Block::Other(members) => Media::read(members)?,
        Block::Text(_) | Block::Thinking(_) | Block::ToolCall(_) => return None,
    };
    media.as_text().is_none().then_some(media)
}

fn names(list: &[String], name: &str) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(name))
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind => f.write_str("the model cannot take it"),
            Self::Format { format, taken } => {
                write!(f, "the provider does not take {format}, only {}", taken.join(", "))
            }
            Self::Way { way, taken } if taken.is_empty() => write!(f, "the provider does not take {way}"),
            Self::Way { way, taken } => {
                write!(f, "the provider does not take it as {way}, only as {}", taken.join(", "))
            }
            Self::Size { bytes, most } => {
                write!(f, "it has {}, and the provider takes at most {most}", shown_size(*bytes))
            }
            Self::Resolution { width, height, most } => {
                write!(f, "it has {width}x{height} pixels, and the provider takes at most {most}")
            }
            Self::Count { count, most } => write!(f, "it is number {count}, and the provider takes at most {most}"),
        }
    }
}

/// Never less than it is.
fn shown_size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        None => format!("{bytes} bytes"),
        Some((unit, name)) => {
            let tenths = (bytes * 10).div_ceil(*unit);
            let (whole, tenth) = (tenths / 10, tenths % 10);
            if tenth == 0 { format!("{whole}{name}") } else { format!("{whole}.{tenth}{name}") }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_in_the_words_of_manifests() {
        for (bytes, expected) in
            [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1KB"), (20 << 20, "20MB"), ((20 << 20) + 1, "20.1MB")]
        {
            assert_eq!(shown_size(bytes), expected);
        }
    }

    #[test]
    fn base64_is_measured_without_decoding_it() {
        for text in ["", "a", "ab", "abc", "abcd", "abcde"] {
            assert_eq!(decoded_size(&STANDARD.encode(text)), text.len() as u64, "{text}");
        }
    }
}
