//! The lines of a sidecar, and envelopes taken apart into them.

use pi_envelope::{
    CacheState, Envelope, EnvelopeMeta, Message, MessageMeta, Meta, Role, Segment, SegmentMeta, Version,
};
use pi_transcript::{
    EntryId, Usage,
    json::{Digest, Extra, present},
};
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// One line. Lines of other types are passed over and stay where they are.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Line {
    /// The first one.
    Envelopes {
        version: u64,
    },
    Segment {
        digest: Digest,
        segment: Box<Segment>,
    },
    Message {
        digest: Digest,
        message: Box<Shell>,
    },
    Envelope {
        #[serde(flatten)]
        head: Box<Head>,
        /// How many messages are those of the envelope before this one.
        share: usize,
        messages: Vec<Digest>,
        /// Of all messages, so that one that was put together after a loss is not taken for what was sent.
        whole: Digest,
    },
    Usage {
        request: String,
        usage: Box<Usage>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        residual: Option<i64>,
    },
}

/// An envelope without its messages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Head {
    pub request: String,
    pub entry: EntryId,
    /// Milliseconds since 1970.
    pub time: u64,
    version: Version,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<EnvelopeMeta>>,
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    extra: Extra,
    /// What the cache did with the segments, in order: so many of them, and what. It changes with every request, so it
    /// is not stored with the segments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cache: Vec<(usize, Option<CacheState>)>,
}

/// A message without its segments.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Shell {
    id: String,
    role: Role,
    timestamp: Number,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<MessageMeta>>,
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    extra: Extra,
    pub segments: Vec<Digest>,
}

/// What is stored once.
#[derive(Debug)]
pub(super) enum Piece {
    Segment(Digest, Segment),
    Message(Digest, Shell),
}

impl Piece {
    pub(super) fn digest(&self) -> Digest {
        match self {
            Self::Segment(digest, _) | Self::Message(digest, _) => *digest,
        }
    }
}

impl From<Piece> for Line {
    fn from(piece: Piece) -> Self {
        match piece {
            Piece::Segment(digest, segment) => Self::Segment { digest, segment: Box::new(segment) },
            Piece::Message(digest, message) => Self::Message { digest, message: Box::new(message) },
        }
    }
}

impl Head {
    pub(super) fn of(entry: &EntryId, envelope: &Envelope) -> Self {
        let request = envelope.ours().and_then(|meta| meta.request.as_ref());
        let mut cache: Vec<(usize, Option<CacheState>)> = Vec::new();
        for (_, segment) in envelope.segments() {
            let state = segment.ours().and_then(|meta| meta.cache);
            match cache.last_mut() {
                Some((count, last)) if *last == state => *count += 1,
                Some(_) | None => cache.push((1, state)),
            }
        }
        if cache.iter().all(|(_, state)| state.is_none()) {
            cache.clear();
        }
        Self {
            request: request.map(|request| request.id.clone()).unwrap_or_default(),
            entry: entry.clone(),
            time: request.map_or(0, |request| request.time),
            version: envelope.version,
            model: envelope.model.clone(),
            meta: envelope.meta.clone(),
            extra: envelope.extra.clone(),
            cache,
        }
    }

    /// What we know about the envelope.
    pub(super) fn ours(&self) -> Option<&EnvelopeMeta> {
        match &self.meta {
            Some(Meta::Ours(meta)) => Some(meta),
            Some(Meta::Foreign(_)) | None => None,
        }
    }

    /// The envelope with these messages.
    pub(super) fn into_envelope(self, messages: Vec<Message>) -> Envelope {
        let mut envelope =
            Envelope { version: self.version, model: self.model, messages, meta: self.meta, extra: self.extra };
        let mut states = self.cache.into_iter().flat_map(|(count, state)| std::iter::repeat_n(state, count));
        for segment in envelope.messages.iter_mut().flat_map(|message| &mut message.segments) {
            if let Some(state) = states.next().flatten()
                && let Some(meta) = Meta::<SegmentMeta>::write(&mut segment.meta)
            {
                meta.cache = Some(state);
            }
        }
        envelope
    }
}

impl Shell {
    pub(super) fn into_message(self, segments: Vec<Segment>) -> Message {
        let Self { id, role, timestamp, meta, extra, segments: _ } = self;
        Message { id, role, segments, timestamp, meta, extra }
    }
}

/// The messages of an envelope by their digests, and the pieces that they are made of, each before what refers to it.
pub(super) fn take_apart(envelope: &Envelope) -> (Vec<Digest>, Vec<Piece>) {
    let mut pieces = Vec::new();
    let mut messages = Vec::with_capacity(envelope.messages.len());
    for message in &envelope.messages {
        let mut segments = Vec::with_capacity(message.segments.len());
        for segment in &message.segments {
            let mut segment = segment.clone();
            if let Some(Meta::Ours(meta)) = &mut segment.meta {
                meta.cache = None;
            }
            let digest = digest(&segment);
            segments.push(digest);
            pieces.push(Piece::Segment(digest, segment));
        }
        let Message { id, role, timestamp, meta, extra, segments: _ } = message.clone();
        let shell = Shell { id, role, timestamp, meta, extra, segments };
        let digest = digest(&shell);
        messages.push(digest);
        pieces.push(Piece::Message(digest, shell));
    }
    (messages, pieces)
}

/// The digest of a list of messages.
pub(super) fn whole(messages: &[Digest]) -> Digest {
    Digest::of(&messages.iter().flat_map(Digest::as_bytes).copied().collect::<Vec<u8>>())
}

/// The digest of a text, not of its meaning: what is put together again must be equal, down to `1` and `1.0`.
fn digest(value: &impl Serialize) -> Digest {
    Digest::of(&serde_json::to_vec(value).expect("every key is a string"))
}
