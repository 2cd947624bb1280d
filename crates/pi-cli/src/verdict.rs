//! What is said about a file: valid, or everything that is wrong with it, each with its place.

use pi_transcript::json::Problem;
use serde::Serialize;

use crate::failure::Failure;

/// What a machine reads about a file: one line of JSON, the same from every command.
#[derive(Serialize)]
pub(crate) struct Verdict<'a> {
    file: &'a str,
    valid: bool,
    errors: Vec<Fault>,
}

/// One thing that is wrong, and where.
#[derive(Debug, Serialize)]
pub(crate) struct Fault {
    /// The line that holds the document, where a file holds one per line; a program finds the value by line and path.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(flatten)]
    problem: Problem,
}

impl<'a> Verdict<'a> {
    pub(crate) fn new(file: &'a str, errors: Vec<Fault>) -> Self {
        Verdict { file, valid: errors.is_empty(), errors }
    }

    /// About a file, or a line of it, that could not be used: with what is wrong in it, or else with why it was not read.
    pub(crate) fn of_failure(file: &'a str, line: Option<usize>, failure: &Failure) -> Self {
        let mut problems = failure.problems();
        if problems.is_empty() {
            problems.push(Problem { path: String::new(), message: failure.summary() });
        }
        Verdict::new(file, problems.into_iter().map(|problem| Fault::at(line, problem)).collect())
    }

    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).expect("names and messages are plain text")
    }
}

impl Fault {
    pub(crate) fn at(line: Option<usize>, problem: Problem) -> Self {
        Fault { line, problem }
    }

    /// Where it is, as people read it: `line 3: payload.name`.
    pub(crate) fn place(&self) -> String {
        match (self.line, self.problem.path.as_str()) {
            (None, "") => "the document".to_owned(),
            (None, path) => path.to_owned(),
            (Some(line), "") => format!("line {line}"),
            (Some(line), path) => format!("line {line}: {path}"),
        }
    }

    pub(crate) fn message(&self) -> &str {
        &self.problem.message
    }
}
