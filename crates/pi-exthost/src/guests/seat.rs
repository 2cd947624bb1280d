//! The place of a guest in a session: whoever wants something of it asks who sits there now.
//!
//! Tools, commands and lists of listeners that were handed out stay good when a guest is exchanged for one that was built
//! anew. While that happens calls wait, so that a guard is never missing between the old one and the new one, and the new one
//! has heard that the session has begun before it is asked anything else.

use std::{
    mem,
    pin::pin,
    sync::{Arc, PoisonError},
};

use tokio::{sync::watch, time::sleep};

use pi_extproto::hook::event::{
    Event,
    payload::{SessionShutdownEvent, SessionStartEvent, ShutdownReason, StartReason},
};

use super::{Attached, DuplicateGuest, Guests};
use crate::guest::{Ask, Guest, GuestId};

/// Who sits there, and what it is asked just now.
pub(super) struct Seat {
    sitting: watch::Sender<Sitting>,
}

struct Sitting {
    guest: Arc<dyn Guest>,
    calls: usize,
    door: Door,
}

/// Who is let in to a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    Open,
    /// It is told that the session has begun: only what guests say to each other, which it may wait for itself.
    Ajar,
    /// It is being exchanged: nobody.
    Closed,
}

/// What somebody wants of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Errand {
    /// To tell it what another guest says, or it itself.
    Word,
    /// All else.
    Usual,
}

/// A call that is under way.
pub(super) struct Call<'a> {
    seat: &'a Seat,
    pub(super) guest: Arc<dyn Guest>,
}

/// Whether somebody can still wait for a guest to be exchanged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Possible,
    Over,
}

/// What counts where a guest is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtWork {
    /// It goes on, and is not exchanged now.
    GoesOn,
    /// It ends as if it had gone by itself.
    Ends,
}

/// A guest is at work and goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the extension is at work")]
pub struct Busy;

/// A guest that is being exchanged for another. Nobody reaches it until this is done with.
///
/// Dropping it leaves the guest where it is, unless it was dismissed: then it is out of the session.
pub struct Change<'a> {
    guests: &'a Guests,
    attached: Attached,
    is_dismissed: bool,
}

impl Seat {
    pub(super) fn new(guest: Arc<dyn Guest>, door: Door) -> Arc<Self> {
        Arc::new(Self { sitting: watch::Sender::new(Sitting { guest, calls: 0, door }) })
    }

    /// Who sits there now.
    pub(super) fn guest(&self) -> Arc<dyn Guest> {
        Arc::clone(&self.sitting.borrow().guest)
    }

    /// Begins a call; waits while a guest is exchanged, as long as `ask` may take.
    pub(super) async fn call(&self, ask: &Ask, errand: Errand) -> Call<'_> {
        let mut waiting = Waiting::Possible;
        loop {
            if let Some(guest) = self.take(errand, waiting) {
                return Call { seat: self, guest };
            }
            let mut watched = self.sitting.subscribe();
            let changed = async { drop(watched.wait_for(|sitting| sitting.lets_in(errand)).await) };
            tokio::select! {
                biased;
                () = changed => {}
                () = ask.cancel.cancelled() => waiting = Waiting::Over,
                () = ask.stopwatch.run_down() => waiting = Waiting::Over,
            }
        }
    }

    /// Counts a call, unless nobody is let in. Whoever cannot wait any longer is answered by the one that sits there, which
    /// may be gone.
    fn take(&self, errand: Errand, waiting: Waiting) -> Option<Arc<dyn Guest>> {
        let mut taken = None;
        self.sitting.send_if_modified(|sitting| {
            if sitting.lets_in(errand) || waiting == Waiting::Over {
                sitting.calls += 1;
                taken = Some(Arc::clone(&sitting.guest));
            }
            // Nobody waits for this.
            false
        });
        taken
    }

    fn begin_change(&self, at_work: AtWork) -> Result<(), Busy> {
        let mut is_begun = false;
        self.sitting.send_if_modified(|sitting| {
            is_begun = sitting.door == Door::Open && (sitting.calls == 0 || at_work == AtWork::Ends);
            if is_begun {
                sitting.door = Door::Closed;
            }
            is_begun
        });
        if is_begun { Ok(()) } else { Err(Busy) }
    }

    fn open(&self) {
        self.sitting.send_modify(|sitting| sitting.door = Door::Open);
    }
}

impl Sitting {
    fn lets_in(&self, errand: Errand) -> bool {
        match self.door {
            Door::Open => true,
            Door::Ajar => errand == Errand::Word,
            Door::Closed => false,
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.seat.sitting.send_if_modified(|sitting| {
            sitting.calls -= 1;
            false
        });
    }
}

impl Guests {
    /// Keeps everybody from a guest, to put another in its place; nothing if it is not here.
    pub fn begin_change(&self, id: &GuestId, at_work: AtWork) -> Result<Option<Change<'_>>, Busy> {
        let Some(attached) = self.attached().iter().find(|attached| attached.id() == *id).cloned() else {
            return Ok(None);
        };
        attached.seat.begin_change(at_work)?;
        Ok(Some(Change { guests: self, attached, is_dismissed: false }))
    }

    /// Adds a guest as [`Guests::admit`] does, and tells it that the session has begun. What is asked of it meanwhile waits, no
    /// longer than for a handler.
    ///
    /// Dropping the future leaves it in the session, with the telling cut off.
    pub async fn welcome(&self, guest: Arc<dyn Guest>, place: usize) -> Result<(), DuplicateGuest> {
        let attached = self.seat(guest, place, Door::Ajar)?;
        Change { guests: self, attached, is_dismissed: false }.greet().await;
        Ok(())
    }

    fn remove(&self, seat: &Arc<Seat>) {
        let mut guests = self.guests.write().unwrap_or_else(PoisonError::into_inner);
        *guests = guests.iter().filter(|attached| !Arc::ptr_eq(&attached.seat, seat)).cloned().collect();
    }
}

impl Change<'_> {
    /// Who is being exchanged.
    pub fn id(&self) -> GuestId {
        self.attached.id()
    }

    /// Whether it was told that this is the end.
    pub fn is_dismissed(&self) -> bool {
        self.is_dismissed
    }

    /// Tells the guest that this is the end, and ends it.
    ///
    /// Dropping the future ends nothing more of it; it is out of the session when the change is dropped.
    pub async fn dismiss(&mut self) {
        self.is_dismissed = true;
        self.aside().dismiss().await;
    }

    /// Puts another into its place, and tells that one that the session has begun. What was asked of the one meanwhile is
    /// asked of the other when it has heard that, or has taken as long for it as a handler may.
    ///
    /// Dropping the future leaves the other in its place, with the telling cut off.
    pub async fn finish(mut self, guest: Arc<dyn Guest>) -> Result<(), DuplicateGuest> {
        let id = guest.registration().id.clone();
        self.guests.told.forget(&self.attached.id());
        if id != self.attached.id() {
            // It has another name, by which others know it; it is here before the one goes.
            self.is_dismissed = true;
            let (guests, place) = (self.guests, self.attached.place);
            let attached = guests.seat(guest, place, Door::Ajar)?;
            drop(self);
            Change { guests, attached, is_dismissed: false }.greet().await;
            return Ok(());
        }
        self.is_dismissed = false;
        let before = {
            let mut before = None;
            self.attached.seat.sitting.send_modify(|sitting| {
                before = Some(mem::replace(&mut sitting.guest, guest));
                sitting.door = Door::Ajar;
            });
            before
        };
        // Dropped behind the lock of the seat: ending a guest may take a moment.
        drop(before);
        self.greet().await;
        Ok(())
    }

    /// Tells who sits there now that the session has begun, and opens the door. One that takes long for it, as it does when it
    /// asks a person, goes on with the door open.
    async fn greet(self) {
        let aside = self.aside();
        let start = SessionStartEvent { reason: StartReason::Reload, previous_session_file: None };
        let mut heard = pin!(aside.hear(Event::SessionStart(start)));
        tokio::select! {
            biased;
            () = &mut heard => {}
            () = sleep(aside.patience.handler) => {
                self.attached.seat.open();
                heard.await;
            }
        }
    }

    /// Who sits there now, apart from its seat, where nobody else reaches it.
    fn aside(&self) -> Attached {
        Attached { seat: Seat::new(self.attached.seat.guest(), Door::Open), ..self.attached.clone() }
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        if self.is_dismissed {
            self.guests.remove(&self.attached.seat);
        }
        self.attached.seat.open();
    }
}

impl Attached {
    /// Tells it that this is the end, and ends it.
    pub(super) async fn dismiss(&self) {
        let reason = ShutdownReason::Reload;
        self.hear(Event::SessionShutdown(SessionShutdownEvent { reason, target_session_file: None })).await;
        self.end().await;
    }
}
