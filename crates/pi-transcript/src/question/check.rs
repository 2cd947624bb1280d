//! Whether a question can be answered, and whether an answer fits it.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Answer, Asked, FieldKind, FormField, Question};

/// Why an answer does not fit. The question stays open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    #[error("the question is answered with {wanted:?}, not with {found:?}")]
    Method { wanted: &'static str, found: &'static str },
    #[error("{value:?} is not one of the options")]
    NotOffered { value: String },
    #[error("the answer to {id:?} is required")]
    Missing { id: String },
    #[error("there is no question {id:?}")]
    UnknownId { id: String },
    #[error("the answer to {id:?} must be {wanted}")]
    Type { id: String, wanted: &'static str },
    #[error("{value:?} is not one of the options of {id:?}")]
    OptionNotOffered { id: String, value: String },
    #[error("{value:?} is chosen twice in {id:?}")]
    ChosenTwice { id: String, value: String },
}

/// Why a question cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("there is nothing to choose from")]
    NoOptions,
    #[error("an interview needs at least one question")]
    NoQuestions,
    #[error("the id {id:?} is used twice")]
    DuplicateId { id: String },
    #[error("question {id:?} has nothing to choose from")]
    FieldWithoutOptions { id: String },
    #[error("question {id:?} has options but is not a choice")]
    NeedlessOptions { id: String },
}

/// Whether `answer` fits what was asked; an answer that cancels always does.
///
/// A response to an optional question may be `null` or missing. A required one must say something: neither an empty
/// text nor an empty choice.
pub fn check(asked: &Asked, answer: &Answer) -> Result<(), Misfit> {
    match (asked.question(), answer) {
        (_, Answer::Cancelled)
        | (Question::Confirm { .. }, Answer::Confirm { .. })
        | (Question::Input { .. }, Answer::Input { .. })
        | (Question::Editor { .. }, Answer::Editor { .. }) => Ok(()),
        (Question::Select { options, .. }, Answer::Select { value }) => {
            if options.contains(value) {
                Ok(())
            } else {
                Err(Misfit::NotOffered { value: value.clone() })
            }
        }
        (Question::Interview { questions, .. }, Answer::Interview { responses }) => check_form(questions, responses),
        (
            Question::Select { .. }
            | Question::Confirm { .. }
            | Question::Input { .. }
            | Question::Editor { .. }
            | Question::Interview { .. },
            Answer::Select { .. }
            | Answer::Confirm { .. }
            | Answer::Input { .. }
            | Answer::Editor { .. }
            | Answer::Interview { .. },
        ) => Err(Misfit::Method { wanted: asked.question().method(), found: answer.method() }),
    }
}

/// Whether `question` can be answered at all.
pub(super) fn check_question(question: &Question) -> Result<(), Flaw> {
    match question {
        Question::Confirm { .. } | Question::Input { .. } | Question::Editor { .. } => Ok(()),
        Question::Select { options, .. } if options.is_empty() => Err(Flaw::NoOptions),
        Question::Select { .. } => Ok(()),
        Question::Interview { questions, .. } if questions.is_empty() => Err(Flaw::NoQuestions),
        Question::Interview { questions, .. } => {
            let mut ids = HashSet::new();
            questions.iter().try_for_each(|field| {
                if !ids.insert(&field.id) {
                    return Err(Flaw::DuplicateId { id: field.id.clone() });
                }
                check_options(field)
            })
        }
    }
}

fn check_options(field: &FormField) -> Result<(), Flaw> {
    let id = || field.id.clone();
    match (field.kind, field.options.as_deref()) {
        (FieldKind::Select | FieldKind::Multi, None | Some([])) => Err(Flaw::FieldWithoutOptions { id: id() }),
        (FieldKind::Text | FieldKind::Confirm, Some(_)) => Err(Flaw::NeedlessOptions { id: id() }),
        (FieldKind::Select | FieldKind::Multi, Some(_)) | (FieldKind::Text | FieldKind::Confirm, None) => Ok(()),
    }
}

fn check_form(fields: &[FormField], responses: &Map<String, Value>) -> Result<(), Misfit> {
    let known: HashSet<_> = fields.iter().map(|field| field.id.as_str()).collect();
    if let Some(id) = responses.keys().find(|id| !known.contains(id.as_str())) {
        return Err(Misfit::UnknownId { id: id.clone() });
    }
    fields.iter().try_for_each(|field| match responses.get(&field.id) {
        None | Some(Value::Null) => require(field, false),
        Some(value) => check_response(field, value),
    })
}

fn check_response(field: &FormField, value: &Value) -> Result<(), Misfit> {
    let wrong = |wanted| Misfit::Type { id: field.id.clone(), wanted };
    match field.kind {
        FieldKind::Confirm => value.as_bool().map(drop).ok_or_else(|| wrong("true or false")),
        FieldKind::Text => require(field, !value.as_str().ok_or_else(|| wrong("a string"))?.is_empty()),
        FieldKind::Select => check_option(field, value.as_str().ok_or_else(|| wrong("a string"))?),
        FieldKind::Multi => {
            let list = value.as_array().ok_or_else(|| wrong("a list of strings"))?;
            let mut chosen = HashSet::new();
            for item in list {
                let option = item.as_str().ok_or_else(|| wrong("a list of strings"))?;
                check_option(field, option)?;
                if !chosen.insert(option) {
                    return Err(Misfit::ChosenTwice { id: field.id.clone(), value: option.to_owned() });
                }
            }
            require(field, !list.is_empty())
        }
    }
}

fn check_option(field: &FormField, value: &str) -> Result<(), Misfit> {
    if field.options.iter().flatten().any(|option| option == value) {
        return Ok(());
    }
    Err(Misfit::OptionNotOffered { id: field.id.clone(), value: value.to_owned() })
}

fn require(field: &FormField, answered: bool) -> Result<(), Misfit> {
    if answered || field.required != Some(true) {
        return Ok(());
    }
    Err(Misfit::Missing { id: field.id.clone() })
}
