//! Forms: several questions that a person answers at once.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use pi_transcript::question::{self, Asked, FieldKind, Flaw, Misfit, Question};

/// One question of an interview. The protocol's own type: it says only what can be asked, so a choice has options and
/// nothing else does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FormField {
    /// Answered with [`FieldAnswer::Text`].
    Text(OpenField),
    /// One of the options, answered with [`FieldAnswer::Choice`].
    Select(ChoiceField),
    /// Some of the options, answered with [`FieldAnswer::Choices`].
    Multi(ChoiceField),
    /// Answered with [`FieldAnswer::Flag`].
    Confirm(OpenField),
}

/// A question that is answered freely.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct OpenField {
    /// The name of the answer.
    pub id: String,
    pub label: String,
    /// Whether the form cannot be sent without an answer.
    pub required: bool,
}

/// A question that is answered with what it offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ChoiceField {
    /// The name of the answer.
    pub id: String,
    pub label: String,
    pub options: Vec<String>,
    /// Whether the form cannot be sent without an answer.
    pub required: bool,
}

/// Absent `responses` mean that the person dismissed the form. Questions that were left unanswered have no response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct FormAnswer {
    /// By the id of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub responses: Option<BTreeMap<String, FieldAnswer>>,
}

/// What a person answered to one question. In JSON it is the bare value, so only the question tells a text from a
/// choice: [`FormAnswer::read`] knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, TS)]
#[serde(untagged)]
pub enum FieldAnswer {
    #[schemars(title = "text")]
    Text(String),
    // A string like the one above: TypeScript cannot tell them apart.
    #[schemars(title = "choice")]
    #[ts(skip)]
    Choice(String),
    #[schemars(title = "choices")]
    Choices(Vec<String>),
    #[schemars(title = "flag")]
    Flag(bool),
}

/// Why an answer to a form cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// The form cannot be put before a person.
    #[error(transparent)]
    Form(#[from] Flaw),
    #[error(transparent)]
    Answer(#[from] Misfit),
}

impl FormField {
    /// The name of the answer.
    pub fn id(&self) -> &str {
        match self {
            Self::Text(field) | Self::Confirm(field) => &field.id,
            Self::Select(field) | Self::Multi(field) => &field.id,
        }
    }
}

/// The question as it is put before a person.
impl From<&FormField> for question::FormField {
    fn from(field: &FormField) -> Self {
        let kind = match field {
            FormField::Text(_) => FieldKind::Text,
            FormField::Select(_) => FieldKind::Select,
            FormField::Multi(_) => FieldKind::Multi,
            FormField::Confirm(_) => FieldKind::Confirm,
        };
        let (label, options, required) = match field {
            FormField::Text(field) | FormField::Confirm(field) => (&field.label, None, field.required),
            FormField::Select(field) | FormField::Multi(field) => (&field.label, Some(&field.options), field.required),
        };
        Self {
            id: field.id().to_owned(),
            kind,
            label: label.clone(),
            options: options.cloned(),
            required: required.then_some(true),
        }
    }
}

impl FormAnswer {
    /// Reads a person's answer to `questions`, and refuses one that does not fit them.
    pub fn read(questions: &[FormField], answer: &question::Answer) -> Result<Self, FormError> {
        let fields = questions.iter().map(question::FormField::from).collect();
        let asked = Asked::new(Question::Interview { title: None, questions: fields, timeout: None })?;
        question::check(&asked, answer)?;
        let question::Answer::Interview { responses } = answer else { return Ok(Self { responses: None }) };
        let response = |field: &FormField| {
            let answer = FieldAnswer::read(field, responses.get(field.id())?)?;
            Some((field.id().to_owned(), answer))
        };
        Ok(Self { responses: Some(questions.iter().filter_map(response).collect()) })
    }
}

impl FieldAnswer {
    /// Nothing for `null`, the other way not to answer, and for what does not fit.
    fn read(field: &FormField, value: &Value) -> Option<Self> {
        match field {
            FormField::Text(_) => value.as_str().map(|text| Self::Text(text.to_owned())),
            FormField::Select(_) => value.as_str().map(|option| Self::Choice(option.to_owned())),
            FormField::Multi(_) => {
                let options = value.as_array()?.iter().map(|option| option.as_str().map(str::to_owned));
                options.collect::<Option<_>>().map(Self::Choices)
            }
            FormField::Confirm(_) => value.as_bool().map(Self::Flag),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn questions() -> Vec<FormField> {
        let questions = json!([
            { "type": "text", "id": "name", "label": "Name", "required": true },
            { "type": "select", "id": "size", "label": "Size", "options": ["s", "m"], "required": false },
            { "type": "multi", "id": "extras", "label": "Extras", "options": ["a", "b"], "required": false },
            { "type": "confirm", "id": "sure", "label": "Sure?", "required": false },
        ]);
        serde_json::from_value(questions).expect("questions")
    }

    /// The answer to the questions above, as the extension gets it.
    fn read(answer: &Value) -> Result<FormAnswer, FormError> {
        let answer = question::Answer::deserialize(answer).expect("an answer");
        FormAnswer::read(&questions(), &answer)
    }

    #[test]
    fn person_is_asked_what_the_extension_asks() {
        let asked: Vec<_> = questions().iter().map(question::FormField::from).collect();
        let expected = json!([
            { "id": "name", "type": "text", "label": "Name", "required": true },
            { "id": "size", "type": "select", "label": "Size", "options": ["s", "m"] },
            { "id": "extras", "type": "multi", "label": "Extras", "options": ["a", "b"] },
            { "id": "sure", "type": "confirm", "label": "Sure?" },
        ]);
        assert_eq!(serde_json::to_value(asked).expect("JSON"), expected);
    }

    #[test]
    fn answers_get_the_kind_of_their_question_and_stay_bare_in_json() {
        let responses = json!({ "name": "m", "size": "m", "extras": ["b"], "sure": false });
        let answer = read(&json!({ "method": "interview", "responses": responses })).expect("it fits");
        let expected = BTreeMap::from([
            ("name".to_owned(), FieldAnswer::Text("m".to_owned())),
            ("size".to_owned(), FieldAnswer::Choice("m".to_owned())),
            ("extras".to_owned(), FieldAnswer::Choices(vec!["b".to_owned()])),
            ("sure".to_owned(), FieldAnswer::Flag(false)),
        ]);
        assert_eq!(answer, FormAnswer { responses: Some(expected) });
        assert_eq!(serde_json::to_value(answer).expect("JSON"), json!({ "responses": responses }));
    }

    #[test]
    fn unanswered_questions_have_no_response_and_a_dismissed_form_has_none_at_all() {
        let answer = read(&json!({ "method": "interview", "responses": { "name": "x", "size": null } }));
        let json = serde_json::to_value(answer.expect("it fits")).expect("JSON");
        assert_eq!(json, json!({ "responses": { "name": "x" } }));

        let dismissed = read(&json!({ "method": "cancelled" })).expect("dismissing always fits");
        assert_eq!(dismissed, FormAnswer { responses: None });
        assert_eq!(serde_json::to_value(dismissed).expect("JSON"), json!({}));
    }

    #[test]
    fn answers_that_do_not_fit_are_refused() {
        let refused = |answer: &Value| read(answer).expect_err("it does not fit").to_string();
        let form = |responses: Value| refused(&json!({ "method": "interview", "responses": responses }));
        assert_eq!(form(json!({})), r#"the answer to "name" is required"#);
        assert_eq!(form(json!({ "name": 1 })), r#"the answer to "name" must be a string"#);
        assert_eq!(form(json!({ "name": "x", "size": "xl" })), r#""xl" is not one of the options of "size""#);
        assert_eq!(form(json!({ "name": "x", "age": 1 })), r#"there is no question "age""#);
        let other = refused(&json!({ "method": "confirm", "confirmed": true }));
        assert_eq!(other, r#"the question is answered with "interview", not with "confirm""#);
    }

    #[test]
    fn form_that_nobody_can_answer_is_not_asked() {
        let twice: Vec<_> = questions().into_iter().chain(questions()).collect();
        let refused = FormAnswer::read(&twice, &question::Answer::Cancelled);
        assert_eq!(refused, Err(FormError::Form(Flaw::DuplicateId { id: "name".to_owned() })));
    }
}
