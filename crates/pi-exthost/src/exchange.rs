//! Exchanges who runs in a session: starts guests at desks of their own, and lets those go whose place they take.
//!
//! Which extensions there are, and which of them are wanted, is decided above. Start with [`Exchange::raise`].

use std::{fmt, sync::Arc, time::Duration};

use tokio::{
    sync::oneshot,
    task::spawn_blocking,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use pi_extproto::manifest::Tier;

use crate::{
    dispatcher::Dispatcher,
    guest::{Guest, GuestId},
    guests::{Change, Guests},
    launcher::{LaunchFault, Prepared},
    port::{Notice, Request, SessionPort},
};

/// How long an extension may take to load, waiting included.
const LOADING: Duration = Duration::from_secs(30);

/// Lets guests come and go in a session, and tells the session of it.
pub struct Exchange {
    guests: Arc<Guests>,
    port: Arc<dyn SessionPort>,
    ended: CancellationToken,
}

/// Where a guest is let in.
pub enum Place<'a> {
    /// Among the others, before the session begins.
    First(usize),
    /// Among the others, while it runs.
    Free(usize),
    /// In the place of one that runs, and goes as soon as the other is there.
    Taken(Change<'a>),
}

/// Why a guest does not come, and what became of its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absent {
    /// Whoever ran there goes on.
    Kept(LaunchFault),
    /// Nobody runs there.
    Empty(LaunchFault),
}

impl Exchange {
    /// For the session behind `port`, which is over when `ended` is signalled.
    pub fn new(guests: Arc<Guests>, port: Arc<dyn SessionPort>, ended: CancellationToken) -> Self {
        Self { guests, port, ended }
    }

    /// Starts one at a desk of its own, and lets it in. Who runs in its place goes when it is there, and stays if it does not
    /// come: code that is built and throws costs nobody the code that worked. Answers how long that took.
    ///
    /// Dropping the future stops the new one, and leaves nobody in its place if the old one was told that this is the end.
    pub async fn raise(
        &self,
        prepared: Prepared,
        mut place: Place<'_>,
        dispatcher: &Dispatcher,
    ) -> Result<Duration, Absent> {
        if let (Tier::Mcp, Place::Taken(change)) = (prepared.tier, &mut place) {
            // The process of a server may hold what the next one needs.
            self.dismiss(change).await;
        }
        let began = Instant::now();
        let launched = launch(prepared, dispatcher).await;
        let took = began.elapsed();
        let guest = match (launched, &place) {
            (Ok(guest), _) => guest,
            (Err(fault), Place::Taken(change)) if !change.is_dismissed() => return Err(Absent::Kept(fault)),
            (Err(fault), Place::First(_) | Place::Free(_) | Place::Taken(_)) => return Err(Absent::Empty(fault)),
        };
        let seated = match place {
            Place::First(place) => self.guests.admit(guest, place),
            Place::Free(place) => self.guests.welcome(guest, place).await,
            Place::Taken(mut change) => {
                if !change.is_dismissed() {
                    self.dismiss(&mut change).await;
                }
                change.finish(guest).await
            }
        };
        let duplicate = |fault: crate::guests::DuplicateGuest| LaunchFault::Unusable { message: fault.to_string() };
        seated.map(|()| took).map_err(|fault| Absent::Empty(duplicate(fault)))
    }

    /// Takes one out of the session, and tells the session.
    pub async fn retire(&self, id: &GuestId) {
        self.guests.retire(id).await;
        self.publish().await;
    }

    /// Tells the session that what it is offered has changed. A session that ended meanwhile keeps none of them.
    pub async fn publish(&self) {
        self.submit(GuestId::from(GuestId::HOST), Request::RegistrationChanged).await;
        if self.ended.is_cancelled() {
            self.guests.shutdown().await;
        }
    }

    /// Tells whoever is there.
    pub async fn tell(&self, notice: Notice) {
        self.submit(GuestId::from(GuestId::HOST), |reply| Request::Tell(notice, reply)).await;
    }

    /// Ends one that is being exchanged, and takes away what it left on screens before another shows its own.
    async fn dismiss(&self, change: &mut Change<'_>) {
        change.dismiss().await;
        self.submit(change.id(), Request::Left).await;
    }

    async fn submit(&self, from: GuestId, request: impl FnOnce(crate::port::Reply<()>) -> Request) {
        let (reply, taken) = oneshot::channel();
        self.port.submit(from, request(reply)).await;
        // A session that is gone has nobody who wants to know.
        drop(taken.await);
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("guests", &self.guests).finish_non_exhaustive()
    }
}

async fn launch(prepared: Prepared, dispatcher: &Dispatcher) -> Result<Arc<dyn Guest>, LaunchFault> {
    let Prepared { identity, launch, .. } = prepared;
    let reception = dispatcher.clone();
    let unusable = |message: String| LaunchFault::Unusable { message };
    let desk = match spawn_blocking(move || reception.desk(identity)).await {
        Ok(made) => made.map_err(|fault| unusable(fault.to_string()))?,
        Err(broken) => return Err(unusable(broken.to_string())),
    };
    let began = Instant::now();
    let guest = match timeout(LOADING, launch(desk.clone())).await {
        Ok(launched) => launched?,
        Err(_) => return Err(unusable(format!("it did not load within {LOADING:?}"))),
    };
    desk.registered(&guest.registration(), began.elapsed());
    Ok(guest)
}
