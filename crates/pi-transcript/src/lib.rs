//! What was said: messages, content blocks, tool calls and results, usage, session entries.
//!
//! Also the nouns that every other crate shares (ids, model, thinking level, agent events, questions to a person)
//! and, in [`json`], the rules by which all our vocabularies read and write JSON. No files, no clock, no async:
//! reading a session *file* is `pi-session`'s work, this crate reads one line of it.
//!
//! Start with [`Message`], then [`Entry`] and [`Line`].

pub mod content;
pub mod drawn;
pub mod entry;
pub mod event;
pub mod id;
pub mod info;
pub mod json;
pub mod line;
pub mod message;
pub mod migrate;
pub mod model;
pub mod question;
pub mod usage;

pub use self::{
    content::{Block, Content, ToolCall},
    entry::{Entry, Header},
    event::{AgentEvent, AssistantMessageEvent, ToolOutput},
    id::{EntryId, ModelId, ProviderId, RequestId, SessionId, ToolCallId},
    info::{ContextUsage, SessionInfo, SessionStats, StoredSessionInfo},
    line::{Line, read_line, write_line},
    message::{Message, StopReason, ToolDefinition},
    migrate::migrate,
    model::{Model, ThinkingLevel},
    usage::{Cost, Spent, Usage},
};
