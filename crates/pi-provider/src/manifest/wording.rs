//! The words of an operation that is no chat, where a provider has other ones than its dialect.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::expression;

/// Names, paths and templates; what is absent is as usual. `operation/table.yaml` has the usual ones and says what
/// templates are filled with. Ours: the standard has no place for them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wording {
    /// The member for the length of vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<String>,
    /// The member for the size of a picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Members that ask for a picture itself instead of its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline: Option<Map<String, Value>>,
    /// What a model that hears in a chat is asked to do with a recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// What stands before the language of a recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// One question of a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Value>,
    /// The body that makes a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation: Option<Value>,
    /// Where batches are when they are made, if not below the place where they are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<String>,
    /// What stands behind the id of a batch that is to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<String>,
    /// What stands behind the id of a batch for its results, if they are not in files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// Where the list of answers is (a JSON pointer), if there is not one in each line.
    #[serde(deserialize_with = "expression::optional_pointer", skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// Where an answer has the id of its question (a JSON pointer).
    #[serde(deserialize_with = "expression::optional_pointer", skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl Wording {
    /// Whether everything is as usual.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// These words, and the usual ones where there are none.
    pub(crate) fn or(self, usual: &Self) -> Self {
        let Self {
            dimensions,
            size,
            inline,
            instruction,
            language,
            item,
            creation,
            jobs,
            cancel,
            results,
            answers,
            id,
        } = self;
        Self {
            dimensions: dimensions.or_else(|| usual.dimensions.clone()),
            size: size.or_else(|| usual.size.clone()),
            inline: inline.or_else(|| usual.inline.clone()),
            instruction: instruction.or_else(|| usual.instruction.clone()),
            language: language.or_else(|| usual.language.clone()),
            item: item.or_else(|| usual.item.clone()),
            creation: creation.or_else(|| usual.creation.clone()),
            jobs: jobs.or_else(|| usual.jobs.clone()),
            cancel: cancel.or_else(|| usual.cancel.clone()),
            results: results.or_else(|| usual.results.clone()),
            answers: answers.or_else(|| usual.answers.clone()),
            id: id.or_else(|| usual.id.clone()),
        }
    }
}
