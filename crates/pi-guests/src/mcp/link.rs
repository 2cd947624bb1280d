//! A connection to a server, in words of our own.
//!
//! The SDK that speaks the protocol changes often; what we need of it does not. [`Link`] is all that the rest of the tier
//! knows, and JSON is what passes through it: [`super::reading`] gives it types.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use pi_extproto::Object;

/// A server that answered `initialize`. Implemented over the SDK, and by the scripted link of the keeper's tests.
pub(super) trait Link: Send + Sync {
    fn about(&self) -> &About;

    /// Asks the server for something and waits for the `result`. Has no deadline of its own; dropping the future tells
    /// the server that nobody waits any more.
    fn request(
        &self,
        request: Request,
        progress: Option<mpsc::Sender<Progress>>,
    ) -> BoxFuture<'_, Result<Value, LinkFault>>;

    /// Waits until the connection is lost, and says why.
    fn lost(&self) -> BoxFuture<'_, String>;

    /// Bytes of memory of the process behind it, with what that started; nothing where there is none, or nobody can tell.
    fn memory(&self) -> BoxFuture<'_, Option<u64>>;

    /// Ends the connection, and the process behind it. Waits a bounded time.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Makes a connection, each time anew.
pub(super) type Connect = Arc<dyn Fn(Counter) -> BoxFuture<'static, Result<Arc<dyn Link>, LinkFault>> + Send + Sync>;

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    pub name: String,
    pub version: String,
    /// The version of the protocol that both agreed on.
    pub protocol: String,
    pub has_tools: bool,
    pub has_prompts: bool,
    pub has_resources: bool,
}

/// What can be asked of a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    ListTools { cursor: Option<String> },
    CallTool { name: String, arguments: Object },
    ListPrompts { cursor: Option<String> },
    GetPrompt { name: String, arguments: Object },
    ListResources { cursor: Option<String> },
    ListTemplates { cursor: Option<String> },
    ReadResource { uri: String },
}

/// How far a server is with a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Progress {
    pub(super) done: f64,
    pub(super) total: Option<f64>,
    pub(super) message: Option<String>,
}

/// Our side of a connection: what a server may say and ask by itself. News that nobody takes are dropped.
#[derive(Debug, Clone)]
pub(super) struct Counter {
    pub(super) news: mpsc::Sender<News>,
    /// Folders that the server is told of, as URIs.
    pub(super) roots: Arc<[String]>,
}

/// What a server says by itself.
#[derive(Debug)]
pub(super) enum News {
    ToolsChanged,
    PromptsChanged,
    ResourcesChanged,
    Log {
        level: String,
        text: String,
    },
    /// It has a question to a person. Dropping the answer declines.
    Question {
        message: String,
        wanted: Wanted,
        answer: oneshot::Sender<Elicited>,
    },
}

/// What a server wants to know of a person.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wanted {
    /// An object of this schema.
    Form(Object),
    /// That they look at this page.
    Visit(String),
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Elicited {
    Accepted(Object),
    Declined,
    Dismissed,
}

/// Why a server did not answer as it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkFault {
    /// It cannot be started or reached; whether a later try may help is known.
    #[error("{message}")]
    Unreachable { message: String, is_permanent: bool },
    /// It wants credentials that it did not get.
    #[error(
        "the server wants authorization ({message}); pi does not sign in for you (OAuth): get a token from it and write \
         \"headers\": {{\"Authorization\": \"Bearer ${{YOUR_TOKEN}}\"}} into its entry"
    )]
    Unauthorized { message: String },
    /// It refused the request, in its own words.
    #[error("{message}")]
    Refused { code: i64, message: String },
    /// What it answered is no answer.
    #[error("the server answered nonsense: {message}")]
    Nonsense { message: String },
    /// The connection was lost before it answered.
    #[error("the connection to the server was lost: {message}")]
    Lost { message: String },
}

impl LinkFault {
    /// Whether trying again cannot help.
    pub(super) fn is_permanent(&self) -> bool {
        match self {
            Self::Unreachable { is_permanent, .. } => *is_permanent,
            Self::Unauthorized { .. } => true,
            Self::Refused { .. } | Self::Nonsense { .. } | Self::Lost { .. } => false,
        }
    }
}

impl Request {
    pub(super) fn method(&self) -> &'static str {
        match self {
            Self::ListTools { .. } => "tools/list",
            Self::CallTool { .. } => "tools/call",
            Self::ListPrompts { .. } => "prompts/list",
            Self::GetPrompt { .. } => "prompts/get",
            Self::ListResources { .. } => "resources/list",
            Self::ListTemplates { .. } => "resources/templates/list",
            Self::ReadResource { .. } => "resources/read",
        }
    }

    pub(super) fn params(&self) -> Value {
        match self {
            Self::ListTools { cursor }
            | Self::ListPrompts { cursor }
            | Self::ListResources { cursor }
            | Self::ListTemplates { cursor } => match cursor {
                Some(cursor) => json!({ "cursor": cursor }),
                None => json!({}),
            },
            Self::CallTool { name, arguments } | Self::GetPrompt { name, arguments } => {
                json!({ "name": name, "arguments": arguments })
            }
            Self::ReadResource { uri } => json!({ "uri": uri }),
        }
    }
}
