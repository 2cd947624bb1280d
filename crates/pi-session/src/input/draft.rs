//! A message in the making: its text, and which stretches of it came from elsewhere.

use pi_envelope::{Provenance, Span, SpanSource};
use pi_transcript::{Block, Message, content::ImageBlock};

use crate::queue::Saying;

/// A picture, and the file that it is of. One without came along with the words, and is whoever's they are.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) image: ImageBlock,
    pub(super) file: Option<(Provenance, SpanSource)>,
}

/// Text is only ever added at the end, so spans are in order, do not overlap and cover whole characters.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    spans: Vec<Span>,
    pub(super) images: Vec<Shown>,
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

    /// The message: text first, then images, as Pi writes it. It remembers what a person typed.
    pub(super) fn finish(self, typed: Option<String>, timestamp: u64) -> Saying {
        let Self { text, mut spans, images } = self;
        let text = (!text.is_empty() || images.is_empty()).then(|| Block::text(text));
        let mut blocks = Vec::from_iter(text);
        for Shown { image, file } in images {
            let block = blocks.len();
            spans.extend(file.map(|(provenance, source)| Span { block, bytes: 0..0, provenance, source }));
            blocks.push(Block::Image(image));
        }
        Saying { message: Message::user(blocks, timestamp), spans, typed }
    }
}
