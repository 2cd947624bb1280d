//! Everything that the engine is told, in its order, for whoever wants to know why it did what it did: the engine decides
//! from nothing else. Commands and answers stay closed.

use crate::{
    effect::{Change, Completion, Input},
    name::{CommandId, SessionName, Time},
    outcome::Ending,
};

/// The target of these lines.
const TARGET: &str = "pi_engine::inputs";

/// An engine begins at this moment.
pub(super) fn beginning(now: Time) {
    tracing::trace!(target: TARGET, now = now.0, "begin");
}

pub(super) fn input<C, B>(input: &Input<C, B>, now: Time) {
    let now = now.0;
    match input {
        Input::Admit(admission) => {
            let (request, header) = (admission.request.0, &admission.header);
            let id = header.id.as_ref().map(|id| id.as_str());
            let (client, kind, about) = (&header.client, &header.kind, header.subject().map(SessionName::as_str));
            let key = header.key.as_ref().map(|key| key.as_str());
            let (after, version) = (after(&header.depends_on), header.if_version);
            tracing::trace!(target: TARGET, now, request, %client, id, %kind, about, key, after, version, "admit");
        }
        Input::Completed { ticket, completion: Completion { ending, change, size } } => {
            let (ending, error) = match ending {
                Ending::Succeeded(_) => ("succeeded", None),
                Ending::Failed { error, .. } => ("failed", Some(error.clone())),
                Ending::Broken(failure) => ("broken", Some(failure.to_string())),
            };
            let (change, session) = match change {
                Change::Usual => ("usual", None),
                Change::Altered => ("altered", None),
                Change::Created(session) => ("created", Some(session.as_str())),
                Change::Removed(session) => ("removed", Some(session.as_str())),
            };
            let ticket = ticket.0;
            tracing::trace!(target: TARGET, now, ticket, ending, error, change, session, size, "complete");
        }
        Input::Persisted(sequence) => tracing::trace!(target: TARGET, now, sequence = sequence.0, "persisted"),
        Input::JournalFailed { reason } => tracing::trace!(target: TARGET, now, %reason, "journal failed"),
        Input::JournalRestored => tracing::trace!(target: TARGET, now, "journal restored"),
        Input::TurnTaken(session) => of_session("turn taken", session, now),
        Input::TurnReleased(session) => of_session("turn released", session, now),
        Input::Lingers(ticket) => tracing::trace!(target: TARGET, now, ticket = ticket.0, "lingers"),
        Input::Changed(session) => of_session("changed", session, now),
        Input::Opened(session) => of_session("opened", session, now),
        Input::Closed(session) => of_session("closed", session, now),
        Input::Shutdown { deadline } => tracing::trace!(target: TARGET, now, deadline = deadline.0, "shutdown"),
        Input::Tick => tracing::trace!(target: TARGET, now, "tick"),
    }
}

/// What a command waits for, in one word.
fn after(ids: &[CommandId]) -> Option<String> {
    let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
    (!ids.is_empty()).then(|| ids.join(" "))
}

fn of_session(message: &str, session: &SessionName, now: u64) {
    tracing::trace!(target: TARGET, now, %session, "{message}");
}
