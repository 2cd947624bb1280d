//! The place of a guest in a session: whoever wants something of it asks who sits there now.
//!
//! Tools, commands and lists of listeners that were handed out stay good when a guest is exchanged for one that was built
//! anew. While that happens calls wait, so that a guard is never missing between the old one and the new one.

use std::{
    mem,
    sync::{Arc, PoisonError},
};

use tokio::sync::watch;

use pi_extproto::hook::event::{
    Event,
    payload::{SessionShutdownEvent, ShutdownReason},
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
    is_changing: bool,
}

/// A call that is under way.
pub(super) struct Call<'a> {
    seat: &'a Seat,
    pub(super) guest: Arc<dyn Guest>,
}

/// Of whoever waits for a guest to be exchanged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    Left,
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
    pub(super) fn new(guest: Arc<dyn Guest>) -> Arc<Self> {
        Arc::new(Self { sitting: watch::Sender::new(Sitting { guest, calls: 0, is_changing: false }) })
    }

    /// Who sits there now.
    pub(super) fn guest(&self) -> Arc<dyn Guest> {
        Arc::clone(&self.sitting.borrow().guest)
    }

    /// Begins a call; waits while a guest is exchanged, as long as `ask` may take.
    pub(super) async fn call(&self, ask: &Ask) -> Call<'_> {
        let mut patience = Patience::Left;
        loop {
            if let Some(guest) = self.take(patience) {
                return Call { seat: self, guest };
            }
            let mut watched = self.sitting.subscribe();
            let changed = async { drop(watched.wait_for(|sitting| !sitting.is_changing).await) };
            tokio::select! {
                biased;
                () = changed => {}
                () = ask.cancel.cancelled() => patience = Patience::Over,
                () = ask.stopwatch.run_down() => patience = Patience::Over,
            }
        }
    }

    /// Counts a call, unless the guest is being exchanged. Whoever cannot wait any longer is told by the one that goes.
    fn take(&self, patience: Patience) -> Option<Arc<dyn Guest>> {
        let mut taken = None;
        self.sitting.send_if_modified(|sitting| {
            if !sitting.is_changing || patience == Patience::Over {
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
            is_begun = !sitting.is_changing && (sitting.calls == 0 || at_work == AtWork::Ends);
            sitting.is_changing |= is_begun;
            is_begun
        });
        if is_begun { Ok(()) } else { Err(Busy) }
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

    fn remove(&self, seat: &Arc<Seat>) {
        let mut guests = self.guests.write().unwrap_or_else(PoisonError::into_inner);
        *guests = guests.iter().filter(|attached| !Arc::ptr_eq(&attached.seat, seat)).cloned().collect();
    }
}

impl Change<'_> {
    /// Tells the guest that this is the end, and ends it.
    pub async fn dismiss(&mut self) {
        self.is_dismissed = true;
        // Apart from its seat, where nobody reaches it.
        let aside = Attached { seat: Seat::new(self.attached.seat.guest()), ..self.attached.clone() };
        aside.dismiss().await;
    }

    /// Puts another into its place. What was asked of the one meanwhile is asked of the other.
    pub fn finish(mut self, guest: Arc<dyn Guest>) -> Result<(), DuplicateGuest> {
        let id = guest.registration().id.clone();
        if id != self.attached.id() {
            // It has another name, by which others know it.
            let (guests, place) = (self.guests, self.attached.place);
            self.is_dismissed = true;
            drop(self);
            return guests.admit(guest, place);
        }
        self.is_dismissed = false;
        let before = {
            let mut before = None;
            self.attached.seat.sitting.send_modify(|sitting| before = Some(mem::replace(&mut sitting.guest, guest)));
            before
        };
        // Dropped behind the lock of the seat: ending a guest may take a moment.
        drop(before);
        Ok(())
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        if self.is_dismissed {
            self.guests.remove(&self.attached.seat);
        }
        self.attached.seat.sitting.send_modify(|sitting| sitting.is_changing = false);
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
