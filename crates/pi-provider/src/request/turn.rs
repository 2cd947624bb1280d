//! What is said in a conversation, in terms that every dialect can write.

use std::borrow::Cow;

use serde::{Serialize, Serializer, ser::SerializeSeq as _};
use serde_json::{Map, Value};

/// What one side says before the other one speaks.
#[derive(Debug, PartialEq)]
pub(super) enum Turn<'a> {
    /// A change of the system text in the middle.
    System(Cow<'a, str>),
    User {
        parts: Vec<Part<'a>>,
        /// Of the message, for the provider and never for the model.
        metadata: Option<&'a Value>,
    },
    Assistant(Vec<Part<'a>>),
    /// One answer for each call of the assistant's turn before.
    Results(Vec<Answer<'a>>),
}

#[derive(Debug, PartialEq)]
pub(super) enum Part<'a> {
    Text {
        text: Cow<'a, str>,
        signature: Option<&'a str>,
    },
    /// Thinking that the provider gets back as its own.
    Thinking {
        text: &'a str,
        signature: Option<&'a str>,
        redacted: bool,
    },
    /// In the dialect's form.
    Media(Value),
    Call {
        id: Cow<'a, str>,
        /// The id of its item, for the model that made it.
        item: Option<&'a str>,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        signature: Option<&'a str>,
    },
}

/// The result of a tool call.
#[derive(Debug, PartialEq)]
pub(super) struct Answer<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) name: &'a str,
    pub(super) text: Cow<'a, str>,
    pub(super) is_error: bool,
    /// In the dialect's form; empty where a result cannot hold any.
    pub(super) media: Vec<Value>,
}

impl Answer<'_> {
    /// Writes what the tool gave: a text, or a list where there is more. `text` is the form of its text in a list.
    pub(super) fn write<S: Serializer>(&self, serializer: S, text: &impl Serialize) -> Result<S::Ok, S::Error> {
        if self.media.is_empty() {
            return serializer.serialize_str(&self.text);
        }
        let mut list = serializer.serialize_seq(None)?;
        if !self.text.is_empty() {
            list.serialize_element(text)?;
        }
        for block in &self.media {
            list.serialize_element(block)?;
        }
        list.end()
    }
}
