//! Questions to a person, their answers, and what an extension only wants to show.
//!
//! A [`Question`] is what was written; only as [`Asked`], which can be answered, is it put before anybody.

mod asked;
mod check;
mod read;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

pub use self::{
    asked::Asked,
    check::{Flaw, Misfit, check},
};
use crate::{id::ToolCallId, json::present};

/// What an extension puts before a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, TS)]
#[serde(untagged)]
pub enum UiRequest {
    Question(Asked),
    Announcement(Announcement),
}

/// Who puts something before a person. The host fills it in and no extension can: a client shows what the host asks in a way of its
/// own, whatever an extension writes into its questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "by", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[ts(optional_fields)]
pub enum Asker {
    /// The host itself: whether something may be done.
    Host { approval: Approval },
    /// An extension; title, texts and options are its own words.
    Extension { extension_id: String },
    /// The program itself, which only tells something.
    Pi {
        /// The extension that it is about, if it is about one.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        extension_id: Option<String>,
    },
}

/// What the host wants to know before it lets something happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Approval {
    pub capability: String,
    /// The path, host, command or variable. A command is all that would be run, with its line breaks.
    pub target: String,
    /// The folder in which a command would run, if that is not the project.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The extension that wants it; without one, the model does.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub extension_id: Option<String>,
    /// Where that extension comes from.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The call of a tool that waits for the answer.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
}

/// Something that waits for an answer. `timeout` is in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "method", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[ts(optional_fields)]
pub enum Question {
    /// One of the options.
    Select {
        title: String,
        options: Vec<String>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Yes or no.
    Confirm {
        title: String,
        message: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// One line of text.
    Input {
        title: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        placeholder: Option<String>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Many lines of text.
    Editor {
        title: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        prefill: Option<String>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// A form.
    Interview {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        questions: Vec<FormField>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
}

/// One question of an interview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct FormField {
    /// The name of the answer in `responses`.
    pub id: String,
    #[serde(rename = "type")]
    pub kind: FieldKind,
    pub label: String,
    /// What can be chosen; only for `select` and `multi`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// Without it, or with `false`, the answer may be left out.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

/// What the answer to a question of an interview looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum FieldKind {
    /// A string.
    Text,
    /// One of the options, a string.
    Select,
    /// Some of the options, an array of strings.
    Multi,
    /// `true` or `false`.
    Confirm,
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "method", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Answer {
    Select {
        value: String,
    },
    Confirm {
        confirmed: bool,
    },
    Input {
        value: String,
    },
    Editor {
        value: String,
    },
    Interview {
        /// By the id of the question.
        responses: Map<String, Value>,
    },
    /// The person dismissed the question; fits every question.
    Cancelled,
}

/// Something to show that needs no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "method", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[ts(optional_fields)]
pub enum Announcement {
    Notify {
        message: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        notify_type: Option<NotifyType>,
    },
    /// A piece of the status line; without text it is removed.
    SetStatus {
        key: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Lines beside the editor; without content they are removed.
    SetWidget {
        key: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        content: Option<Vec<String>>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        placement: Option<WidgetPlacement>,
    },
    SetTitle {
        title: String,
    },
    /// What is shown while the model works; without a message the usual one.
    SetWorkingMessage {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    #[serde(alias = "set_editor_text")]
    SetEditorText {
        /// What the editor holds from then on.
        text: String,
        /// That this was put in at the cursor, where it was: whoever has one puts it in there and leaves the rest alone, for
        /// `text` may lack what was typed meanwhile.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        inserted: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum NotifyType {
    #[default]
    Info,
    Warning,
    Error,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub enum WidgetPlacement {
    #[default]
    AboveEditor,
    BelowEditor,
}

/// How a question, or a component that an extension drew, ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename = "QuestionOutcome", rename_all = "snake_case")]
pub enum Outcome {
    Answered,
    /// A person dismissed it, or what asked it went away.
    Cancelled,
    TimedOut,
    /// Whoever drew the component has put it away.
    Closed,
}

impl Asker {
    pub fn extension(id: impl Into<String>) -> Self {
        Self::Extension { extension_id: id.into() }
    }

    /// What somebody tells, with the name of the extension before it if one does: it could write what the program writes.
    pub fn signed(asker: Option<&Self>, message: &str) -> String {
        match asker {
            Some(Self::Host { .. } | Self::Pi { .. }) => message.to_owned(),
            Some(Self::Extension { extension_id }) => format!("{extension_id}: {message}"),
            None => format!("an extension: {message}"),
        }
    }
}

impl Question {
    /// The words of all kinds of questions.
    pub const METHODS: [&'static str; 5] = ["select", "confirm", "input", "editor", "interview"];

    /// The word by which an answer must name this kind of question.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Select { .. } => "select",
            Self::Confirm { .. } => "confirm",
            Self::Input { .. } => "input",
            Self::Editor { .. } => "editor",
            Self::Interview { .. } => "interview",
        }
    }

    /// Milliseconds that the person has, where the question says so.
    pub fn timeout(&self) -> Option<u64> {
        match self {
            Self::Select { timeout, .. }
            | Self::Confirm { timeout, .. }
            | Self::Input { timeout, .. }
            | Self::Editor { timeout, .. }
            | Self::Interview { timeout, .. } => *timeout,
        }
    }

    fn timeout_mut(&mut self) -> &mut Option<u64> {
        match self {
            Self::Select { timeout, .. }
            | Self::Confirm { timeout, .. }
            | Self::Input { timeout, .. }
            | Self::Editor { timeout, .. }
            | Self::Interview { timeout, .. } => timeout,
        }
    }
}

impl Answer {
    pub fn method(&self) -> &'static str {
        match self {
            Self::Select { .. } => "select",
            Self::Confirm { .. } => "confirm",
            Self::Input { .. } => "input",
            Self::Editor { .. } => "editor",
            Self::Interview { .. } => "interview",
            Self::Cancelled => "cancelled",
        }
    }
}
