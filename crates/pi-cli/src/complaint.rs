//! What a machine reads instead of an answer: why a command was not carried out, and what to do about it.

use pi_provider::{CallError, Limits};
use pi_transcript::json::Problem;
use serde::Serialize;

use crate::{
    exit::Exit,
    failure::{Failure, ModelFailure},
};

/// One line of JSON on standard output, so that whoever asked with `--json` reads JSON whatever happens.
#[derive(Serialize)]
pub(crate) struct Complaint {
    error: Content,
}

#[derive(Serialize)]
struct Content {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The file that cannot be used, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// What is wrong in what was read, each with its path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Problem>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    call: Option<CallContent>,
    /// With which code the command ends.
    exit_code: u8,
}

/// What is known about a call to a model that has no answer.
#[derive(Serialize)]
struct CallContent {
    /// `E2001` and so on.
    code: &'static str,
    /// `rate_limited` and so on.
    name: &'static str,
    retryable: bool,
    /// Whether another provider may do better.
    fallbackable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u128>,
    /// Of HTTP, where the provider answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// The provider's own code or type.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_code: Option<String>,
    /// The provider's number of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<Limits>,
}

impl Complaint {
    pub(crate) fn about(failure: &Failure) -> Self {
        let file = failure.file().map(str::to_owned);
        let call = match failure {
            Failure::Model(failure) => CallContent::about(failure),
            _ => None,
        };
        let (message, hint, errors) = (failure.summary(), Some(failure.hint()), failure.problems());
        Complaint { error: Content { message, hint, file, errors, call, exit_code: failure.exit() as u8 } }
    }

    /// About arguments that were refused, from the text that people read: what is wrong, then what to do, in paragraphs.
    pub(crate) fn about_arguments(text: &str) -> Self {
        let mut paragraphs = text.split("\n\n").map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
        let mut next = |label: &str| paragraphs.next().map(|it| it.strip_prefix(label).unwrap_or(&it).to_owned());
        let (message, hint) = (next("error: ").unwrap_or_default(), next("tip: "));
        let exit_code = Exit::Trouble as u8;
        Complaint { error: Content { message, hint, file: None, errors: Vec::new(), call: None, exit_code } }
    }

    /// What stands under `error`, for an object that says more than that.
    pub(crate) fn into_content(self) -> serde_json::Value {
        serde_json::to_value(self.error).expect("messages are plain text")
    }

    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).expect("messages are plain text")
    }
}

impl CallContent {
    fn about(failure: &ModelFailure) -> Option<Self> {
        let code = failure.code()?;
        let retry_after_ms = failure.retry_after().map(|it| it.as_millis());
        let said = failure.call().and_then(CallError::failure);
        Some(CallContent {
            code: code.number(),
            name: code.name(),
            retryable: code.is_retryable(),
            fallbackable: code.is_fallbackable(),
            retry_after_ms,
            status: said.and_then(|said| said.status),
            provider_code: said.and_then(|said| said.provider_code.clone()),
            request_id: said.and_then(|said| said.request_id.clone()),
            limits: said.and_then(|said| said.limits.as_deref().copied()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_arguments_are_a_message_and_what_to_do() {
        for (text, expected) in [
            (
                "error: unrecognized subcommand 'a'\n\n  tip: a similar one exists: 'b'\n\nUsage: pi <COMMAND>\n",
                r#"{"error":{"message":"unrecognized subcommand 'a'","hint":"a similar one exists: 'b'","exit_code":2}}"#,
            ),
            (
                "error: these are missing:\n  <FILE>\n\nUsage: pi <FILE>\n",
                r#"{"error":{"message":"these are missing: <FILE>","hint":"Usage: pi <FILE>","exit_code":2}}"#,
            ),
            ("error: no", r#"{"error":{"message":"no","exit_code":2}}"#),
        ] {
            assert_eq!(Complaint::about_arguments(text).line(), expected);
        }
    }
}
