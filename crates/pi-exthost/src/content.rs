//! Content between transcript and extension protocol.
//!
//! The protocol has texts and images only, and its own types for them, so that a transcript may learn further kinds on a
//! day when extensions do not.

use std::io;

use serde::Serialize;

use pi_extproto::connector::tool::{self, ContentBlock, ImageBlock, TextBlock};
use pi_transcript::{Block, Content, ToolOutput};

/// As extensions see it. Kinds that they do not know (thinking, calls, and what nobody knows yet) are left out.
pub fn to_protocol(blocks: &[Block]) -> Vec<ContentBlock> {
    let block = |block: &Block| match block {
        Block::Text(block) => Some(ContentBlock::Text(TextBlock { text: block.text.clone() })),
        Block::Image(image) => {
            Some(ContentBlock::Image(ImageBlock { data: image.data.clone(), mime_type: image.mime_type.clone() }))
        }
        Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => None,
    };
    blocks.iter().filter_map(block).collect()
}

/// As a transcript holds it.
pub fn from_protocol(blocks: Vec<ContentBlock>) -> Vec<Block> {
    let block = |block| match block {
        ContentBlock::Text(block) => Block::text(block.text),
        ContentBlock::Image(image) => Block::image(image.data, image.mime_type),
    };
    blocks.into_iter().map(block).collect()
}

/// What a message says, as a transcript holds it: text stays text.
pub fn content_from_protocol(content: tool::Content) -> Content {
    match content {
        tool::Content::Text(text) => Content::Text(text),
        tool::Content::Blocks(blocks) => Content::Blocks(from_protocol(blocks)),
    }
}

/// What a tool found, as extensions see it.
pub fn output_to_protocol(output: &ToolOutput) -> tool::ToolOutput {
    tool::ToolOutput { content: to_protocol(&output.content), details: output.details.clone() }
}

/// The same for who needs it no more: nothing of it is copied.
pub(crate) fn output_into_protocol(output: ToolOutput) -> tool::ToolOutput {
    let block = |block| match block {
        Block::Text(block) => Some(ContentBlock::Text(TextBlock { text: block.text })),
        Block::Image(image) => Some(ContentBlock::Image(ImageBlock { data: image.data, mime_type: image.mime_type })),
        Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => None,
    };
    tool::ToolOutput { content: output.content.into_iter().filter_map(block).collect(), details: output.details }
}

/// What a tool found, as a transcript holds it.
pub fn output_from_protocol(output: tool::ToolOutput) -> ToolOutput {
    ToolOutput { content: from_protocol(output.content), details: output.details, ..ToolOutput::default() }
}

/// How long a value is as JSON, without writing it anywhere.
pub(crate) fn written(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        // What cannot be written is nothing that can be kept either.
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> ToolOutput {
        serde_json::from_value(value).expect("an output")
    }

    #[test]
    fn texts_images_and_details_pass_both_ways() {
        let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
        let output = read(json!({ "content": [{ "type": "text", "text": "t" }, image], "details": { "d": 1 } }));
        assert_eq!(output_from_protocol(output_to_protocol(&output)), output);
    }

    #[test]
    fn what_extensions_do_not_know_is_left_out() {
        let output = read(json!({ "content": [
            { "type": "thinking", "thinking": "hm" },
            { "type": "text", "text": "t", "textSignature": "s" },
            { "type": "video" },
        ] }));
        assert_eq!(output_from_protocol(output_to_protocol(&output)).content, [Block::text("t")]);
    }
}
