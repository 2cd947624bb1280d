//! Questions that can be answered, as a type.

use std::{borrow::Cow, path::PathBuf, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use ts_rs::{Config, TS, TypeVisitor};

use super::{
    Question,
    check::{Flaw, check_question},
};

/// A question that somebody can answer. A question with a [`Flaw`] cannot become one, nor be read as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Question")]
pub struct Asked(Question);

impl Asked {
    pub fn new(question: Question) -> Result<Self, Flaw> {
        check_question(&question)?;
        Ok(Self(question))
    }

    pub fn question(&self) -> &Question {
        &self.0
    }

    /// The same some time later, for whoever hears of it only then: of the time that the question names, so much has passed.
    #[must_use]
    pub fn after(mut self, passed: Duration) -> Self {
        if let Some(left) = self.0.timeout_mut() {
            *left = left.saturating_sub(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX));
        }
        self
    }
}

impl TryFrom<Question> for Asked {
    type Error = Flaw;

    fn try_from(question: Question) -> Result<Self, Flaw> {
        Self::new(question)
    }
}

impl From<Asked> for Question {
    fn from(asked: Asked) -> Self {
        asked.0
    }
}

/// For other languages it is a question: their types cannot say what the flaws are.
impl JsonSchema for Asked {
    fn schema_name() -> Cow<'static, str> {
        Question::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        Question::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Question::json_schema(generator)
    }
}

impl TS for Asked {
    type WithoutGenerics = Question;
    type OptionInnerType = Self;

    fn docs() -> Option<String> {
        Question::docs()
    }

    fn decl(config: &Config) -> String {
        Question::decl(config)
    }

    fn name(config: &Config) -> String {
        Question::name(config)
    }

    fn inline(config: &Config) -> String {
        Question::inline(config)
    }

    fn inline_flattened(config: &Config) -> String {
        Question::inline_flattened(config)
    }

    fn visit_dependencies(visitor: &mut impl TypeVisitor) {
        Question::visit_dependencies(visitor);
    }

    fn output_path() -> Option<PathBuf> {
        Question::output_path()
    }
}
