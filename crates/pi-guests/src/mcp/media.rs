//! Images of answers: those that a model can be shown stay, and of the others it is said why they are not there.

use pi_exthost::Desk;
use pi_extproto::connector::tool::{ContentBlock, TextBlock};

use super::limits::Limits;

/// Looks at the images of an answer, a bounded number of them.
pub(super) async fn admit(content: Vec<ContentBlock>, desk: &Desk, limits: &Limits) -> Vec<ContentBlock> {
    let (mut looked_at, mut more, mut kept) = (0, 0_usize, Vec::new());
    for block in content {
        match block {
            ContentBlock::Text(_) => kept.push(block),
            ContentBlock::Image(_) if looked_at == limits.images => more += 1,
            ContentBlock::Image(image) => {
                looked_at += 1;
                kept.push(match desk.picture(image).await {
                    Ok(image) => ContentBlock::Image(image),
                    Err(why) => text(format!("[image left out: {why}]")),
                });
            }
        }
    }
    if more > 0 {
        kept.push(text(format!("[{more} more images are left out: {} of one answer are looked at]", limits.images)));
    }
    kept
}

fn text(text: String) -> ContentBlock {
    ContentBlock::Text(TextBlock { text })
}
