//! A message in the making: its text, and which stretches of it came from elsewhere.

use pi_envelope::{Provenance, Span, SpanSource};
use pi_transcript::{Block, Message, content::ImageBlock};

use crate::queue::Saying;

/// Text is only ever added at the end, so spans are in order, do not overlap and cover whole characters.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    spans: Vec<Span>,
    pub(super) images: Vec<ImageBlock>,
}

impl Draft {
    /// Adds what the person typed.
    pub(super) fn plain(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds what came from elsewhere. Nothing leaves no mark.
    pub(super) fn mark(&mut self, text: &str, provenance: Provenance, source: SpanSource) {
        if text.is_empty() {
            return;
        }
        let start = self.text.len();
        self.text.push_str(text);
        self.spans.push(Span { block: 0, bytes: start..self.text.len(), provenance, source });
    }

    /// The message: text first, then images, as Pi writes it.
    pub(super) fn finish(self, timestamp: u64) -> Saying {
        let Self { text, spans, images } = self;
        let text = (!text.is_empty() || images.is_empty()).then(|| Block::text(text));
        let blocks: Vec<Block> = text.into_iter().chain(images.into_iter().map(Block::Image)).collect();
        Saying { message: Message::user(blocks, timestamp), spans }
    }
}
