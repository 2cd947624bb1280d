//! What the registry says about a command.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{Class, Kind};

/// One row of the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    pub kind: Kind,
    /// Its `type` on the wire.
    pub name: &'static str,
    /// One sentence, or two.
    pub summary: &'static str,
    pub target: Target,
    pub effect: Effect,
    /// What it is to its lane; of `prompt` the usual one, because its own depends on the moment: see
    /// [`Command::class`](crate::Command::class).
    pub class: Class,
    pub role: Role,
    pub source: Source,
}

impl Spec {
    /// Among whom an idempotency key is unique: §8.2.
    pub const fn idempotency(&self) -> IdempotencyScope {
        match self.target {
            Target::Server => IdempotencyScope::Server,
            Target::Session => IdempotencyScope::Session,
        }
    }

    /// Whether `ifSessionVersion` may stand in it.
    pub const fn takes_version(&self) -> bool {
        matches!(self.target, Target::Session) || matches!(self.effect, Effect::Deletes)
    }

    /// Whether its outcome must be durable before it is answered.
    pub const fn is_durable(&self) -> bool {
        match self.effect {
            Effect::Read | Effect::Connects | Effect::Passes => false,
            Effect::Mutates | Effect::Creates | Effect::Loads | Effect::Deletes | Effect::Acts => true,
        }
    }

    /// Whether a replay does it once more, for the connection that asks, before it is answered with the stored outcome.
    ///
    /// Ids outlive connections, so a client that comes back may send `subscribe` under an id that has its outcome: on the
    /// new connection nothing has been subscribed yet. That holds for every success that connects; a stored failure
    /// connects nothing. All other commands run once.
    pub const fn repeats_on_replay(&self) -> bool {
        match self.effect {
            Effect::Connects => true,
            Effect::Read
            | Effect::Mutates
            | Effect::Creates
            | Effect::Loads
            | Effect::Deletes
            | Effect::Acts
            | Effect::Passes => false,
        }
    }

    /// The addition by whose name a client knows that it exists.
    pub const fn feature(&self) -> Option<Feature> {
        match self.source {
            Source::Document { .. } => None,
            Source::Addition { feature, .. } => Some(feature),
        }
    }
}

/// Who does the work, and in whose lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// A `sessionId` in it, if any, is an argument.
    Server,
    /// Needs a `sessionId`.
    Session,
}

/// What a success changes, and what becomes of the session's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Nothing.
    Read,
    /// Only what the asking connection is sent; no version. A replay does it again: [`Spec::repeats_on_replay`].
    Connects,
    /// The session; its version moves by one.
    Mutates,
    /// There is a new session, at version 0.
    Creates,
    /// A stored session is loaded, at version 0.
    Loads,
    /// The session is gone, and its version.
    Deletes,
    /// Something that no version counts: an answer to a question, an extension, a file.
    Acts,
    /// Something that is over when it is done and kept nowhere: a key that was pressed.
    Passes,
}

/// Among whom an idempotency key is unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum IdempotencyScope {
    Server,
    Session,
}

/// Who may call a command; each may what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Looks on.
    Viewer,
    /// Works with sessions.
    Driver,
    /// Sees all clients, changes the server and removes files.
    Operator,
}

/// Where a command is described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// In this section of the protocol's document.
    Document { section: &'static str },
    /// It is one of ours: announced as `feature`, since this release.
    Addition { feature: Feature, since: &'static str },
}

/// A named addition to the document's protocol; `server_ready` lists those that the server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// `code`, `field`, `hint` and `retryAfterMs` in failures.
    ErrorCodes,
    /// A client may name itself: ids and dependencies are its own across connections.
    ClientId,
    /// A client may choose whose lifecycle events it is sent.
    Lifecycle,
    /// `subscribe`, `unsubscribe`; `seq` and `epoch` in events; resuming.
    Subscribe,
    /// `get_startup_recovery`, `startup_recovery_summary`.
    StartupRecovery,
    /// `get_command_history`.
    CommandHistory,
    /// `get_tree`, `navigate_tree`.
    Tree,
    /// `set_label`.
    Labels,
    /// `limit`, `before`, `after` in `get_messages`.
    MessagePaging,
    /// `search`, `limit`, `cursor` in the session lists.
    SessionSearch,
    /// `cost`, `cwd`, `updatedAt` in the session lists.
    SessionCost,
    /// `list_requests`, `get_envelope`.
    Envelopes,
    /// `get_strip`.
    Strips,
    /// `asker` of questions and announcements, `extensionId` of components.
    Askers,
    /// `get_queue`, `edit_queue`.
    Queue,
    /// `set_active_tools`; `active` and `source` in `get_tools`.
    ActiveTools,
    /// `list_context_sources`, `set_context_source`.
    ContextSources,
    /// `list_files`.
    Files,
    /// `delete_stored_session`.
    DeleteStoredSession,
    /// `extension_ui_resolved`.
    UiResolved,
    /// `extension_ui_render`, `extension_ui_key`.
    UiRender,
    /// `list_extensions`, `enable_extension`, `disable_extension`, `reload_extensions`; `extensions_changed`.
    Extensions,
}

impl Feature {
    pub const ALL: [Self; 22] = [
        Self::ErrorCodes,
        Self::ClientId,
        Self::Lifecycle,
        Self::Subscribe,
        Self::StartupRecovery,
        Self::CommandHistory,
        Self::Tree,
        Self::Labels,
        Self::MessagePaging,
        Self::SessionSearch,
        Self::SessionCost,
        Self::Envelopes,
        Self::Strips,
        Self::Askers,
        Self::Queue,
        Self::ActiveTools,
        Self::ContextSources,
        Self::Files,
        Self::DeleteStoredSession,
        Self::UiResolved,
        Self::UiRender,
        Self::Extensions,
    ];
}
