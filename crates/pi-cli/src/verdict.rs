//! What a machine reads about a file: valid, or everything that is wrong with it.

use pi_transcript::json::Problem;
use serde::Serialize;

use crate::failure::Failure;

/// One line of JSON, the same from every command.
#[derive(Serialize)]
pub(crate) struct Verdict<'a> {
    file: &'a str,
    valid: bool,
    errors: Vec<Problem>,
}

impl<'a> Verdict<'a> {
    pub(crate) fn new(file: &'a str, errors: Vec<Problem>) -> Self {
        Verdict { file, valid: errors.is_empty(), errors }
    }

    /// About a file that could not be used: with what is wrong in it, or else with why it was not read.
    pub(crate) fn of_failure(file: &'a str, failure: Failure) -> Self {
        let errors = match failure {
            Failure::NotAnEnvelope { refusal, .. } => refusal.problems,
            other => vec![Problem { path: String::new(), message: other.told() }],
        };
        Verdict::new(file, errors)
    }

    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).expect("names and messages are plain text")
    }
}
