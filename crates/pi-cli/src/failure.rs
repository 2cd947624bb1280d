//! Why a command could not be carried out, and what to do about it.

mod consent;
mod ext;
mod mcp;
mod model;
mod serve;
mod session;

use std::{error::Error, io, iter};

use pi_transcript::json::Problem;

pub(crate) use self::{
    consent::ConsentFailure,
    ext::ExtFailure,
    mcp::{Elsewhere, McpFailure},
    model::{ModelFailure, call_hint, session_hint},
    serve::{Occupant, ServeFailure},
    session::SessionFailure,
};
use crate::{command::talk::stop::Stop, exit::Exit, refusal::Refusal};

/// A command that was not carried out. A message repeats neither its source nor the problems in what was read;
/// [`Failure::told`] puts them together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("cannot read {file}")]
    Unreadable { file: String, source: io::Error },
    #[error("cannot read {file}")]
    UnreadableCall { file: String, source: io::Error },
    /// A folder or a file that no standard input stands in for; the hint says what else to do.
    #[error("cannot read {file}")]
    NotThere { file: String, hint: String, source: io::Error },
    #[error("cannot write {file}")]
    UnwritableFile { file: String, source: io::Error },
    #[error("{file} is a folder")]
    Folder { file: String },
    #[error("{file} is larger than {limit} MiB")]
    TooLarge { file: String, limit: u64 },
    #[error("{folder} contains no {endings} file")]
    EmptyFolder { folder: String, endings: &'static str },
    #[error("standard input can be read only once")]
    InputTwice,
    #[error("the schema {schema} has no form {format}")]
    NoSuchForm { schema: String, format: String, forms: String },
    #[error("{file} is not a valid envelope")]
    NotAnEnvelope { file: String, refusal: Refusal },
    #[error("{file} is not a valid extension manifest")]
    NotAManifest { file: String, refusal: Refusal },
    #[error("{file} is not a settings file")]
    NotSettings { file: String, refusal: Refusal },
    /// A session does not begin: what it may do stands in the same file.
    #[error("{}", .why.summary())]
    UnusableSettings { file: String, why: Box<Failure> },
    #[error("{file} is not a policy that can be used")]
    NotAPolicy { file: String, problems: Vec<pi_policy::config::Problem> },
    #[error("the call is not a host call")]
    NotACall { refusal: Refusal },
    #[error("the call cannot be judged")]
    BadCall(#[source] pi_policy::BadCall),
    #[error("{what} {path:?} cannot be used")]
    BadPath { what: &'static str, path: String, source: pi_policy::PathFault },
    #[error("{manifest} describes the extension {found}, not {wanted}")]
    OtherExtension { manifest: String, found: String, wanted: String },
    #[error(transparent)]
    Model(#[from] ModelFailure),
    #[error(transparent)]
    Session(#[from] SessionFailure),
    #[error(transparent)]
    Serve(#[from] ServeFailure),
    #[error(transparent)]
    Consent(#[from] ConsentFailure),
    #[error(transparent)]
    Ext(#[from] ExtFailure),
    #[error(transparent)]
    Mcp(#[from] McpFailure),
    /// A signal ended it.
    #[error("{}", .0.told())]
    Stopped(Stop),
    #[error("nothing can be done at the same time here")]
    NoRuntime(#[source] io::Error),
    #[error("cannot write the output")]
    Unwritable(#[source] io::Error),
}

impl Failure {
    /// Everything about it that people read, a line for each problem.
    pub(crate) fn told(&self) -> String {
        self.problems().iter().fold(self.summary(), |told, problem| format!("{told}\n  {problem}"))
    }

    /// What went wrong with every cause, each once.
    pub(crate) fn summary(&self) -> String {
        told(self)
    }

    /// What is wrong in what was read, if it was.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        self.facts().problems
    }

    /// The file or folder that cannot be used, if it is one.
    pub(crate) fn file(&self) -> Option<&str> {
        self.facts().file
    }

    pub(crate) fn exit(&self) -> Exit {
        self.facts().exit
    }

    fn facts(&self) -> Facts<'_> {
        match self {
            Failure::Unreadable { file, .. }
            | Failure::UnreadableCall { file, .. }
            | Failure::NotThere { file, .. }
            | Failure::UnwritableFile { file, .. }
            | Failure::Folder { file }
            | Failure::TooLarge { file, .. }
            | Failure::EmptyFolder { folder: file, .. }
            | Failure::OtherExtension { manifest: file, .. } => Facts { file: Some(file), ..Facts::none() },
            Failure::NotAnEnvelope { file, refusal }
            | Failure::NotAManifest { file, refusal }
            | Failure::NotSettings { file, refusal } => {
                Facts { file: Some(file), problems: refusal.problems.clone(), ..Facts::none() }
            }
            Failure::UnusableSettings { file, why } => {
                Facts { file: Some(file), problems: why.problems(), ..Facts::none() }
            }
            Failure::NotAPolicy { file, problems } => {
                let plain =
                    |it: &pi_policy::config::Problem| Problem { path: it.path.clone(), message: it.fault.to_string() };
                Facts { file: Some(file), problems: problems.iter().map(plain).collect(), ..Facts::none() }
            }
            Failure::NotACall { refusal } => Facts { problems: refusal.problems.clone(), ..Facts::none() },
            Failure::Model(failure) => {
                Facts { file: failure.file(), problems: failure.problems(), exit: failure.exit() }
            }
            Failure::Session(failure) => Facts { exit: failure.exit(), ..Facts::none() },
            Failure::Consent(failure) => Facts { exit: failure.exit(), ..Facts::none() },
            Failure::Stopped(stop) => Facts { exit: stop.exit(), ..Facts::none() },
            Failure::Serve(failure) => Facts { problems: failure.problems(), ..Facts::none() },
            Failure::InputTwice
            | Failure::NoSuchForm { .. }
            | Failure::BadCall(_)
            | Failure::BadPath { .. }
            | Failure::Ext(_)
            | Failure::Mcp(_)
            | Failure::NoRuntime(_)
            | Failure::Unwritable(_) => Facts::none(),
        }
    }

    /// What to do next.
    pub(crate) fn hint(&self) -> String {
        match self {
            Failure::Unreadable { source, .. } => unreadable_hint(source, "-"),
            Failure::UnreadableCall { source, .. } => unreadable_hint(source, "@-"),
            Failure::NotThere { source, hint, .. }
                if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                hint.clone()
            }
            Failure::NotThere { source, .. } => unreadable_hint(source, "-"),
            Failure::UnwritableFile { source, .. } => unwritable_hint(source).to_owned(),
            Failure::Folder { .. } => "name a file in it".to_owned(),
            Failure::TooLarge { .. } => {
                "write one document per line into a .jsonl file, which is read line by line".to_owned()
            }
            Failure::EmptyFolder { .. } => "name the files, or a folder that holds some".to_owned(),
            Failure::InputTwice => "write `-` once, or save the input to a file".to_owned(),
            Failure::NoSuchForm { forms, .. } => format!("use {forms}"),
            Failure::NotAnEnvelope { refusal, .. } => refusal.cause.hint("envelope"),
            Failure::NotAManifest { refusal, .. } => refusal.cause.hint("manifest"),
            Failure::NotSettings { refusal, .. } => refusal.cause.hint("policy"),
            Failure::UnusableSettings { why, .. } => {
                let cure = if let Failure::NotSettings { refusal, .. } = &**why {
                    refusal.cause.hint("policy")
                } else if let Failure::Unreadable { .. } = &**why {
                    "let it be read".to_owned()
                } else {
                    "put a file in its place".to_owned()
                };
                format!("{cure}, or move it away; it may forbid something, so nothing begins without it")
            }
            Failure::NotAPolicy { .. } => "`pi schema policy` prints what is expected".to_owned(),
            Failure::NotACall { .. } => {
                r#"write the payload of a host_call: {"capability": "read", "method": "tool", "params": {"name": "read", "input": {"path": "a"}}}"#.to_owned()
            }
            Failure::BadCall(_) => {
                "an extension would get this as `invalid_request`; correct the capability or the params".to_owned()
            }
            Failure::BadPath { .. } => "write an absolute path".to_owned(),
            Failure::OtherExtension { wanted, .. } => format!("give the manifest of {wanted}, or correct --extension"),
            Failure::Model(failure) => failure.hint(),
            Failure::Session(failure) => failure.hint(),
            Failure::Consent(failure) => failure.hint(),
            Failure::Serve(failure) => failure.hint(),
            Failure::Ext(failure) => failure.hint(),
            Failure::Mcp(failure) => failure.hint(),
            Failure::Stopped(_) => "nothing came of it; begin again".to_owned(),
            Failure::NoRuntime(_) => "the system refuses more threads or files; close some programs".to_owned(),
            Failure::Unwritable(_) => "check the disk and where the output goes".to_owned(),
        }
    }
}

/// What there is to say of a failure beside its words.
struct Facts<'a> {
    file: Option<&'a str>,
    problems: Vec<Problem>,
    exit: Exit,
}

impl Facts<'_> {
    /// Nothing but that it failed.
    fn none() -> Self {
        Self { file: None, problems: Vec::new(), exit: Exit::Trouble }
    }
}

/// An error with every cause, each once.
pub(crate) fn told(error: &dyn Error) -> String {
    let causes = iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

fn unreadable_hint(error: &io::Error, standard_input: &str) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            format!("check the name; `{standard_input}` reads standard input")
        }
        io::ErrorKind::PermissionDenied => "check who may read it".to_owned(),
        _ => "check the file and try again".to_owned(),
    }
}

fn unwritable_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AlreadyExists => "nothing is overwritten; choose another name, or move that file away",
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "make its folder first",
        io::ErrorKind::PermissionDenied => "check who may write there",
        _ => "check the disk and the name",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_is_a_source_and_is_told_once() {
        let gone = || io::Error::new(io::ErrorKind::NotFound, "gone");
        for (failure, expected) in [
            (Failure::Unreadable { file: "a".to_owned(), source: gone() }, "cannot read a: gone"),
            (Failure::Unwritable(gone()), "cannot write the output: gone"),
            (Failure::Folder { file: "a".to_owned() }, "a is a folder"),
        ] {
            assert_eq!(failure.told(), expected);
            assert_eq!(failure.source().is_some(), failure.to_string() != expected, "{expected}");
        }
    }
}
