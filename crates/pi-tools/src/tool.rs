//! What every tool is: a definition that the model reads, arguments made ready, one call, one outcome.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use pi_policy::Grant;
use pi_transcript::{Block, ToolCallId};

use crate::{
    arguments::{self, BadArguments},
    files::FileFault,
    progress::Progress,
    workspace::Workspace,
};

/// The arguments of a call.
pub type Arguments = Map<String, Value>;

/// Something that the model can call. Implemented by the built-ins here and by the tools of extensions in `pi-exthost`.
///
/// The life of a call: [`Tool::prepare`], then [`crate::request`] and `pi_policy::decide` on what came out, then
/// [`Tool::execute`] with the grant.
pub trait Tool: Send + Sync {
    fn definition(&self) -> &Definition;

    /// Turns what a model wrote into arguments that fit the schema, or says line by line what is wrong with them.
    ///
    /// Asynchronous, because an extension may want to do this itself. Nothing happens on cancellation by drop.
    fn prepare(&self, written: Value) -> BoxFuture<'_, Result<Arguments, BadArguments>> {
        let prepared = arguments::fit(&self.definition().parameters, written);
        Box::pin(std::future::ready(prepared))
    }

    /// Does it. The future may be dropped at any time: what it started is stopped, and a file is either as it was or as
    /// it should become. [`Call::cancel`] does the same and still gives an outcome.
    fn execute(&self, call: Call) -> BoxFuture<'_, Result<Output, Failure>>;
}

/// What a tool says about itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Definition {
    pub name: String,
    /// The name for people.
    pub label: String,
    /// What the model reads.
    pub description: String,
    /// A JSON Schema of the arguments.
    pub parameters: Arguments,
    /// One line for the tool section of the system prompt; a tool without it is not listed there.
    #[serde(default)]
    pub prompt_snippet: Option<String>,
    /// Lines for the guidelines of the system prompt.
    #[serde(default)]
    pub prompt_guidelines: Vec<String>,
}

/// One call of a tool, with everything that it may use.
#[derive(Debug)]
pub struct Call {
    pub id: ToolCallId,
    /// As [`Tool::prepare`] left them, or as a hook changed them since. What they aim at is read from the grant.
    pub arguments: Arguments,
    /// What was allowed. Used up with the call.
    pub grant: Grant,
    pub cancel: CancellationToken,
    pub progress: Progress,
    pub workspace: Arc<Workspace>,
}

/// What a tool found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// What the model reads: text and images.
    pub content: Vec<Block>,
    /// What people and programs may look at.
    pub details: Option<Value>,
    /// Secrets that the tool itself has hidden in the content.
    pub hidden: usize,
}

/// Why a tool did not do what it should: the text is the result that the model reads, marked as an error.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub text: String,
    pub details: Option<Value>,
    /// Secrets that the tool itself has hidden in the text.
    pub hidden: usize,
}

impl Output {
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Block::text(text)], ..Self::default() }
    }

    /// The same with details, unless there is nothing in them.
    #[must_use]
    pub fn with_details(self, details: Map<String, Value>) -> Self {
        Self { details: (!details.is_empty()).then_some(Value::Object(details)), ..self }
    }
}

impl Failure {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), details: None, hidden: 0 }
    }

    /// The outcome of a call that was cancelled before it had one.
    pub fn aborted() -> Self {
        Self::new("Operation aborted")
    }
}

impl From<BadArguments> for Failure {
    fn from(bad: BadArguments) -> Self {
        Self::new(bad.to_string())
    }
}

impl From<FileFault> for Failure {
    fn from(fault: FileFault) -> Self {
        Self::new(fault.to_string())
    }
}

/// Reads a definition that was compiled in.
pub(crate) fn built_in(json: &str) -> Definition {
    serde_json::from_str(json).expect("a definition that a test has read")
}

/// Runs work that changes something, off the threads that wait. It looks at the token of its call itself, so the answer
/// waits for it and is always true.
pub(crate) async fn to_the_end<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|broken| Err(broke(&broken)))
}

/// Waits for something that may come late.
pub(crate) async fn unless_cancelled<T>(
    cancel: &CancellationToken,
    wait: impl Future<Output = T>,
) -> Result<T, Failure> {
    cancel.run_until_cancelled(wait).await.ok_or_else(Failure::aborted)
}

fn broke(error: &tokio::task::JoinError) -> Failure {
    Failure::new(format!("The tool broke: {error}"))
}

/// Runs work that blocks, off the threads that wait. When the call is cancelled the answer does not wait for it; the work
/// itself sees the same token and ends soon after.
pub(crate) async fn off_thread<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    if cancel.is_cancelled() {
        return Err(Failure::aborted());
    }
    let running = tokio::task::spawn_blocking(work);
    tokio::select! {
        done = running => done.unwrap_or_else(|broken| Err(broke(&broken))),
        () = cancel.cancelled() => Err(Failure::aborted()),
    }
}
