//! What a context edit makes of a message.

use std::sync::Arc;

use pi_transcript::{Content, Message};

/// What stands for a tool result that was taken out: its call must still be answered.
const LEFT_OUT: &str = "(left out)";

/// The message with `replacement` for its content, or nothing if it is to be left out.
pub(super) fn apply(message: &Message, replacement: Option<&Content>) -> Option<Arc<Message>> {
    let left_out = Content::from(LEFT_OUT);
    let content = match (replacement, message) {
        (Some(content), _) => content,
        (None, Message::ToolResult(_)) => &left_out,
        (None, _) => return None,
    };
    let mut edited = message.clone();
    match &mut edited {
        Message::User(user) => user.content = content.clone(),
        Message::Assistant(assistant) => assistant.content = content.blocks().into_owned(),
        Message::ToolResult(result) => result.content = content.blocks().into_owned(),
        Message::BashExecution(bash) => bash.output = content.text(),
        Message::Custom(custom) => custom.content = content.clone(),
        Message::BranchSummary(branch) => branch.summary = content.text(),
        Message::CompactionSummary(compaction) => compaction.summary = content.text(),
        Message::System(system) => system.content = content.clone(),
        Message::Other(members) => {
            let value = serde_json::to_value(content).expect("content is plain JSON");
            members.insert("content".to_owned(), value);
        }
    }
    Some(Arc::new(edited))
}
