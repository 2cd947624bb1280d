//! Questions to a person and things shown to one.

mod form;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use pi_transcript::json::present;

pub use self::form::{ChoiceField, FieldAnswer, FormAnswer, FormError, FormField, OpenField};

/// Parameters of `ui`. Questions wait for an answer or their deadline; the rest returns at once, with an empty output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "op", rename_all = "snake_case")]
#[ts(optional_fields)]
pub enum UiCall {
    /// Output: [`Answer`].
    Select {
        title: String,
        options: Vec<String>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    /// Output: [`Confirmation`].
    Confirm {
        title: String,
        message: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    /// One line. Output: [`Answer`].
    Input {
        title: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        placeholder: Option<String>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    /// Several lines. Output: [`Answer`].
    Editor {
        title: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        prefill: Option<String>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    /// Several questions at once, each with an id of its own. Output: [`FormAnswer`].
    Interview {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        questions: Vec<FormField>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    Notify {
        message: String,
        level: NoticeLevel,
    },
    /// A short text in the status line; absent removes it.
    SetStatus {
        key: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Lines above or below the editor; absent removes them.
    SetWidget {
        key: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        lines: Option<Vec<String>>,
        placement: Placement,
    },
    SetTitle {
        title: String,
    },
    /// What is shown while the agent works; absent restores the usual text.
    SetWorkingMessage {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    SetEditorText {
        text: String,
    },
    /// Puts a text in where the cursor is, as if a person had pasted it.
    PasteToEditor {
        text: String,
    },
    /// Output: [`Answer`].
    GetEditorText,
}

impl UiCall {
    /// How long a question waits for its answer.
    pub fn timeout_ms(&self) -> Option<u64> {
        match self {
            Self::Select { timeout_ms, .. }
            | Self::Confirm { timeout_ms, .. }
            | Self::Input { timeout_ms, .. }
            | Self::Editor { timeout_ms, .. }
            | Self::Interview { timeout_ms, .. } => *timeout_ms,
            Self::Notify { .. }
            | Self::SetStatus { .. }
            | Self::SetWidget { .. }
            | Self::SetTitle { .. }
            | Self::SetWorkingMessage { .. }
            | Self::SetEditorText { .. }
            | Self::PasteToEditor { .. }
            | Self::GetEditorText => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    AboveEditor,
    BelowEditor,
}

/// Absent `text` means that the person dismissed the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Answer {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Confirmation {
    pub confirmed: bool,
}
