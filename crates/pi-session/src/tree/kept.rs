//! An entry that is held in memory.

use std::sync::Arc;

use pi_transcript::{
    Entry, EntryId, Message,
    entry::{Base, MessageEntry},
    json::Extra,
};

/// An entry whose message can be shared: prompts are made of messages, many times, and of nothing else.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    Message {
        base: Base,
        message: Arc<Message>,
        extra: Extra,
    },
    /// Any entry but a message.
    Other(Entry),
}

impl Kept {
    pub fn base(&self) -> &Base {
        match self {
            Self::Message { base, .. } => base,
            Self::Other(entry) => entry.base(),
        }
    }

    pub fn id(&self) -> &EntryId {
        &self.base().id
    }

    /// The entry, copied.
    pub fn to_entry(&self) -> Entry {
        match self {
            Self::Message { base, message, extra } => Entry::Message(Box::new(MessageEntry {
                base: base.clone(),
                message: Message::clone(message),
                extra: extra.clone(),
            })),
            Self::Other(entry) => entry.clone(),
        }
    }
}

impl From<Entry> for Kept {
    fn from(entry: Entry) -> Self {
        match entry {
            Entry::Message(entry) => {
                let MessageEntry { base, message, extra } = *entry;
                Self::Message { base, message: Arc::new(message), extra }
            }
            other => Self::Other(other),
        }
    }
}
