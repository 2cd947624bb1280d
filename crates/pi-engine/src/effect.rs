//! What goes into the engine and what comes out.

use std::sync::Arc;

use crate::{
    header::{Admission, Header},
    name::{CommandId, Request, Sequence, SessionName, Ticket, Time},
    outcome::{Ending, Outcome, Refusal},
    record::Record,
};

/// What happened outside. `C` is a command's payload, `B` the body of an answer.
#[derive(Debug)]
pub enum Input<C, B> {
    Admit(Admission<C>),
    /// The work behind a [`Effect::Start`] has stopped, whichever way.
    Completed {
        ticket: Ticket,
        completion: Completion<B>,
    },
    /// Records up to and including this one are durable.
    Persisted(Sequence),
    /// The journal cannot be written. No record that was not yet reported durable ever will be.
    JournalFailed {
        /// Why, for whoever is told that an end was not recorded.
        reason: Arc<str>,
    },
    /// The journal can be written again.
    JournalRestored,
    /// A run that no command started occupies the session: an extension sent a message.
    TurnTaken(SessionName),
    TurnReleased(SessionName),
    /// A command that is short as a rule is not over soon: it waits for a person, who may need other commands to answer it. From
    /// here on it lets control pass as a long one does.
    Lingers(Ticket),
    /// Something that is no command, an extension for example, changed the session.
    Changed(SessionName),
    /// A session exists that no command made: it was found at the start. Its version starts at 0 unless it has one.
    Opened(SessionName),
    /// A session is gone and no command removed it: it expired. What waits for it ends.
    Closed(SessionName),
    /// Refuse what is new, let what is admitted end until `deadline`, then cancel the rest. A second one is immediate.
    Shutdown {
        deadline: Time,
    },
    /// Time has passed; see [`crate::Engine::next_deadline`].
    Tick,
}

/// How work ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion<B> {
    pub ending: Ending<B>,
    pub change: Change,
    /// Bytes that keeping the body costs.
    pub size: usize,
}

/// What the work did to sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Nothing beyond what its success implies.
    Usual,
    /// The command's session changed although the command failed.
    Altered,
    /// This session exists now; its version starts at 0.
    Created(SessionName),
    /// This session is gone; so are its version and whatever waits in its lane.
    Removed(SessionName),
}

/// What is to be done outside, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect<C, B> {
    /// Append to the journal; report with [`Input::Persisted`].
    Persist {
        sequence: Sequence,
        record: Record<B>,
    },
    /// Begin the work; report with [`Input::Completed`].
    Start {
        ticket: Ticket,
        header: Arc<Header>,
        command: C,
    },
    /// Ask the work to stop.
    Cancel(Ticket),
    /// End the work now, by force, and report it as completed.
    Kill(Ticket),
    Respond {
        request: Request,
        header: Arc<Header>,
        outcome: Arc<Outcome<B>>,
        replay: Replay,
    },
    /// The command was not admitted.
    Refuse {
        request: Request,
        header: Arc<Header>,
        refusal: Refusal,
    },
    Announce(Announcement<B>),
    /// Work that was answered before it ended, because its time was up, made or removed a session all the same.
    Belated {
        header: Arc<Header>,
        ending: Ending<B>,
    },
    /// The outcome is no longer needed. The journal may drop the records of this ticket, unless an alias that is not
    /// forgotten stands for it; a version that they moved must stay known.
    Forget(Ticket),
    /// Shutdown is complete: no command runs, every one is answered and durable, or the journal is lost. Turns that no
    /// command took are not waited for.
    Drained,
}

/// Whether an answer was given before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Replay {
    First,
    Replayed,
}

/// A lifecycle event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement<B> {
    /// The command's own id, or one made up for it.
    pub id: CommandId,
    pub header: Arc<Header>,
    pub phase: Phase<B>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase<B> {
    Accepted,
    Started,
    Finished { outcome: Arc<Outcome<B>>, replay: Replay },
}
