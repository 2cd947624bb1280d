//! One instance of a component, and what is asked of it.

use std::sync::{Arc, atomic::AtomicBool};

use wasmtime::{PoolConcurrencyLimitError, Store, Trap};

use pi_exthost::{GuestFault, Registration, guest::ToolAnswer};
use pi_extproto::{
    Object,
    hook::{Outcome, event::Event},
};
use pi_transcript::ToolCallId;

use super::{
    code::Code,
    package::Speaker,
    room::{Room, Shared, Trip, Work},
};

/// An instance that has said what it offers.
pub(crate) struct Instance {
    store: Store<Room>,
    extension: Speaker,
}

/// One thing that is asked of a guest.
pub(crate) enum Task {
    Tool { call_id: ToolCallId, name: String, input: Object },
    Command { name: String, arguments: String },
    Event(Arc<Event>),
    Shutdown,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Answer {
    Done,
    /// What a command has to say, if anything.
    Said(Option<String>),
    Tool(ToolAnswer),
    Outcome(Outcome),
}

/// The extension said no, or something that nobody understands. It goes on.
#[derive(Debug)]
pub(crate) enum Refused {
    Threw { message: String },
    Nonsense { problem: String },
}

/// The instance is of no use any more, or there is none.
#[derive(Debug)]
pub(crate) enum Fallen {
    /// By its own fault.
    Guilty(GuestFault),
    /// The engine has no room for it now.
    Crowded(GuestFault),
}

impl Fallen {
    pub(crate) fn into_fault(self) -> GuestFault {
        match self {
            Self::Guilty(fault) | Self::Crowded(fault) => fault,
        }
    }
}

impl From<Refused> for GuestFault {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Threw { message } => Self::threw(message),
            Refused::Nonsense { problem } => Self::Nonsense { message: problem },
        }
    }
}

impl Instance {
    /// Makes an instance and asks what it offers; `empty` is a registration that offers nothing.
    pub(crate) async fn make(
        code: &Code,
        shared: Shared,
        work: Work,
        empty: Registration,
    ) -> Result<(Box<Self>, Registration), Fallen> {
        let mut store = Store::new(code.pre().engine(), Room::new(shared));
        store.limiter(|room| room);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|context| context.data().tick());
        store.data_mut().begin(work);
        let extension = match code.pre().instantiate(&mut store).await {
            Ok(extension) => extension,
            Err(error) => return Err(fallen(&error, store.data())),
        };
        let offered = extension.init(&mut store, empty).await;
        store.data_mut().end();
        match offered {
            Ok(Ok(registration)) => Ok((Box::new(Self { store, extension }), registration)),
            Ok(Err(refused)) => Err(Fallen::Guilty(refused.into())),
            Err(error) => Err(fallen(&error, store.data())),
        }
    }

    /// Has it do something. Dropping the future leaves an instance that must not be asked again.
    pub(crate) async fn perform(&mut self, task: Task, work: Work) -> Result<Result<Answer, GuestFault>, Fallen> {
        self.store.data_mut().begin(work);
        let answered = self.extension.perform(&mut self.store, task).await;
        self.store.data_mut().end();
        match answered {
            Ok(answered) => Ok(answered.map_err(GuestFault::from)),
            Err(error) => Err(fallen(&error, self.store.data())),
        }
    }

    /// Whether it waits for its host, for whoever does not have it.
    pub(crate) fn is_away(&self) -> Arc<AtomicBool> {
        self.store.data().is_away()
    }
}

fn fallen(error: &wasmtime::Error, room: &Room) -> Fallen {
    match error.downcast_ref::<PoolConcurrencyLimitError>() {
        Some(_) => Fallen::Crowded(GuestFault::threw("this process runs as many components as it can")),
        None => Fallen::Guilty(fault(error, room)),
    }
}

/// What a trap means, in the words of those above.
fn fault(error: &wasmtime::Error, room: &Room) -> GuestFault {
    if let Some(trip) = error.downcast_ref::<Trip>() {
        return GuestFault::OverLimit { limit: trip.to_string() };
    }
    let message = match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => return GuestFault::OverLimit { limit: "stack".to_owned() },
        // Compilers put the stack of what they compile below everything else in memory, and it grows down.
        Some(Trap::MemoryOutOfBounds) => "out of bounds memory access: of its memory or its stack".to_owned(),
        Some(trap) => trap.to_string().trim_start_matches("wasm trap: ").to_owned(),
        // The innermost cause: around it stands where in the code it was, in numbers that say nothing to anybody.
        None => error.root_cause().to_string(),
    };
    let words = room.last_words();
    GuestFault::threw(if words.is_empty() {
        format!("the extension trapped: {message}")
    } else {
        format!("the extension trapped: {message}: {words}")
    })
}
