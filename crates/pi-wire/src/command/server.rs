//! Commands to the server itself.

use pi_transcript::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};
use ts_rs::TS;

use super::{MemberVisitor, Payload, payload, write};
use crate::{
    fault::Fault,
    fields::Fields,
    id::{CommandId, Epoch, ExtensionId},
    rule::{Path, Report, Word, names::*},
};

payload! {
    /// Lists the sessions that are loaded.
    ListSessions {
        /// Only sessions whose name, first message or directory holds this text.
        search: Option<String> = optional "search" SEARCH,
    }

    /// Makes a session. `cwd` must be below one of the server's roots; without it the agent works where the server was started.
    CreateSession {
        /// Without it the server chooses one.
        session_id: Option<SessionId> = optional "sessionId" NEW_SESSION_ID,
        /// Where the agent works; an existing directory.
        cwd: Option<String> = optional "cwd" Path::Cwd,
    }

    /// Unloads a session. Its file stays.
    DeleteSession {
        session_id: SessionId = required "sessionId" SESSION_ID,
    }

    /// Sends this connection the session's events from now on, with whole messages.
    SwitchSession {
        session_id: SessionId = required "sessionId" SESSION_ID,
    }

    /// Counts and states of the server.
    GetMetrics {}

    /// Whether the server is well.
    HealthCheck {}

    /// What was found in the journal at the start.
    GetStartupRecovery {}

    /// What commands did, newest first.
    GetCommandHistory {
        session_id_filter: Option<SessionId> = optional "sessionIdFilter" SESSION_ID,
        command_id: Option<CommandId> = optional "commandId" ANY_COMMAND_ID,
        /// Milliseconds since 1970.
        from_timestamp: Option<u64> = optional "fromTimestamp" WHOLE,
        /// Milliseconds since 1970, not before `fromTimestamp`.
        to_timestamp: Option<u64> = optional "toTimestamp" WHOLE,
        limit: Option<u64> = optional "limit" HISTORY_LIMIT,
    } check in_order as json!({});

    /// Lists the sessions on disk, newest first.
    ListStoredSessions {
        /// Only sessions whose name, first message or directory holds this text.
        search: Option<String> = optional "search" SEARCH,
        limit: Option<u64> = optional "limit" PAGE_LIMIT,
        /// `nextCursor` of the page before.
        cursor: Option<String> = optional "cursor" CURSOR,
    }

    /// Loads a session from disk. The folder in which it worked must be there, or `cwd` names another.
    LoadSession {
        session_path: String = required "sessionPath" Path::SessionFile,
        session_id: Option<SessionId> = optional "sessionId" NEW_SESSION_ID,
        /// Where the agent works from now on, instead of where the file says; an existing directory.
        cwd: Option<String> = optional "cwd" Path::Cwd,
    }

    /// Sends this connection the session's events, with deltas; first those after `afterSeq`, if any.
    Subscribe {
        session_id: SessionId = required "sessionId" SESSION_ID,
        /// The last number that the client saw.
        after_seq: Option<u64> = optional "afterSeq" WHOLE,
        /// The numbering to which it belongs.
        epoch: Option<Epoch> = optional "epoch" EPOCH,
    } check both_or_none as json!({ "dependentRequired": { "afterSeq": ["epoch"], "epoch": ["afterSeq"] } });

    /// Sends this connection no more events of the session.
    Unsubscribe {
        session_id: SessionId = required "sessionId" SESSION_ID,
    }

    /// Chooses whose lifecycle events this connection is sent.
    SetLifecycle {
        lifecycle: Lifecycle = required "lifecycle" LIFECYCLE,
    }

    /// Removes a session's file from disk for good.
    DeleteStoredSession {
        session_path: String = required "sessionPath" Path::SessionFile,
        /// The file's name once more: nobody removes a file by mistake.
        file_name: String = required "fileName" FILE_NAME,
    } check names_the_file as json!({});

    /// Lists the extensions that are installed and what they do.
    ListExtensions {
        /// With the state of each in this session.
        session_id: Option<SessionId> = optional "sessionId" SESSION_ID,
    }

    /// Switches an extension on for all sessions.
    EnableExtension {
        extension_id: ExtensionId = required "extensionId" EXTENSION_ID,
    }

    /// Switches an extension off for all sessions.
    DisableExtension {
        extension_id: ExtensionId = required "extensionId" EXTENSION_ID,
    }

    /// Reads extensions again from disk and restarts them.
    ReloadExtensions {
        /// Only this one.
        extension_id: Option<ExtensionId> = optional "extensionId" EXTENSION_ID,
    }
}

/// Whose lifecycle events a connection is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum Lifecycle {
    /// Of every client, as the document says.
    #[default]
    All,
    /// Of this client identity only.
    Own,
    None,
}

pub(crate) const LIFECYCLE: Word<Lifecycle> =
    Word(&[("all", Lifecycle::All), ("own", Lifecycle::Own), ("none", Lifecycle::None)]);

fn in_order(payload: &GetCommandHistory, report: &mut Report) -> Option<()> {
    if payload.from_timestamp.zip(payload.to_timestamp).is_some_and(|(from, to)| from > to) {
        report.within_member("toTimestamp", |report| report.fault(Fault::BeforeStart { earlier: "fromTimestamp" }));
        return None;
    }
    Some(())
}

fn both_or_none(payload: &Subscribe, report: &mut Report) -> Option<()> {
    let (missing, given) = match (&payload.after_seq, &payload.epoch) {
        (Some(_), None) => ("epoch", "afterSeq"),
        (None, Some(_)) => ("afterSeq", "epoch"),
        (Some(_), Some(_)) | (None, None) => return Some(()),
    };
    report.within_member(missing, |report| report.fault(Fault::RequiredWith { with: given }));
    None
}

fn names_the_file(payload: &DeleteStoredSession, report: &mut Report) -> Option<()> {
    if payload.session_path.rsplit(['/', '\\']).next() == Some(&*payload.file_name) {
        return Some(());
    }
    report.within_member("fileName", |report| report.fault(Fault::NotTheFileName { path: "sessionPath" }));
    None
}
