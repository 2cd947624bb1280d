//! Extensions that want to leave the session for another, or the program.
//!
//! The other extensions are asked first, then the owner of the session, who decides and does it.

use std::{future::ready, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use pi_exthost::{
    GuestId, SessionPort,
    port::{Control, ControlPass, ForkPosition, Navigation, Refusal, Reply},
    verdict::SessionVerdict,
};
use pi_extproto::hook::event::payload::{self, SessionBeforeForkEvent, SessionBeforeSwitchEvent, SwitchReason};
use pi_transcript::EntryId;
use tokio::{sync::oneshot, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{Mailbox, answer};
use crate::{
    departure::{Decision, Departure, Owner, Wish, shown},
    directory::ForkPoint,
    session::{Journey, NavigateError, Summarise},
};

/// How long a command may go on that has asked for extensions to be loaded anew.
const LINGERING: Duration = Duration::from_secs(5);

impl Mailbox {
    /// Does what only a command may ask for. Answers whether it was done.
    pub(super) fn control(&mut self, from: GuestId, control: Control, pass: ControlPass, reply: Reply<bool>) {
        match control {
            Control::WaitForIdle => self.wait_for_idle(reply),
            Control::Navigate(navigation) => self.navigate_for(navigation, reply),
            Control::NewSession { parent } => {
                self.wish(from, Departure::New { parent: parent.map(Into::into) }, pass, reply);
            }
            Control::Fork { entry, position: ForkPosition::Before } => {
                self.wish(from, Departure::Fork(ForkPoint::Before(entry)), pass, reply);
            }
            Control::Fork { entry, position: ForkPosition::At } => {
                self.wish(from, Departure::Fork(ForkPoint::At(entry)), pass, reply);
            }
            Control::SwitchSession { path } => self.wish(from, Departure::Resume(path.into()), pass, reply),
            Control::Reload => self.reload(&pass, reply),
        }
    }

    /// Ends the program once nothing runs. Whoever wants it does not wait: it may be what runs.
    pub(super) fn quit(&mut self, from: GuestId, reply: Reply<()>) {
        let Owner::Somebody(_) = &self.owner else { return answer(reply, Err(not_here("ending the program"))) };
        let (owner, idle, life) = (self.owner.clone(), self.idle(), self.life.clone());
        let session = self.parts.session.clone();
        self.asides.spawn(async move {
            let asking = async {
                // Of a session that is gone nothing runs.
                drop(idle.await);
                let ended = CancellationToken::new();
                let (wish, decided) = Wish::new(session, from.clone(), Departure::Quit, ended);
                ask_owner(&owner, wish, decided).await
            };
            tokio::select! {
                asked = asking => if let Err(refusal) = asked {
                    tracing::info!(guest = %from, %refusal, "the program does not end for an extension");
                },
                () = life.cancelled() => {}
            }
        });
        answer(reply, Ok(()));
    }

    /// Whether no extension objects. Nobody can object to the end. Whoever stops what extensions do stays where he is.
    pub(super) fn permission(&self, departure: &Departure) -> BoxFuture<'static, bool> {
        let (guests, cancel) = (Arc::clone(&self.parts.guests), self.commands.child_token());
        let switch = |reason, target_session_file| SessionBeforeSwitchEvent { reason, target_session_file };
        let event = match departure {
            Departure::Quit | Departure::Reload => return ready(true).boxed(),
            Departure::New { .. } => switch(SwitchReason::New, None),
            Departure::Resume(path) => switch(SwitchReason::Resume, Some(shown(path))),
            Departure::Fork(point) => {
                let Some(event) = self.fork_event(point) else { return ready(true).boxed() };
                return async move {
                    // A question that nobody waits for any more is withdrawn.
                    let _late = cancel.clone().drop_guard();
                    guests.before_fork(|| event, &cancel).await == SessionVerdict::Proceed && !cancel.is_cancelled()
                }
                .boxed();
            }
        };
        async move {
            let _late = cancel.clone().drop_guard();
            guests.before_switch(|| event, &cancel).await == SessionVerdict::Proceed && !cancel.is_cancelled()
        }
        .boxed()
    }

    /// Nothing if there is no entry yet.
    fn fork_event(&self, point: &ForkPoint) -> Option<SessionBeforeForkEvent> {
        let leaf = || self.tree.leaf().map(|leaf| self.tree.id(leaf));
        let (entry_id, position): (EntryId, _) = match point {
            ForkPoint::At(entry) => (entry.clone(), payload::ForkPosition::At),
            ForkPoint::Before(entry) => (entry.clone(), payload::ForkPosition::Before),
            ForkPoint::Leaf => (leaf()?, payload::ForkPosition::At),
        };
        Some(SessionBeforeForkEvent { entry_id, position: Some(position) })
    }

    fn wish(&mut self, from: GuestId, departure: Departure, pass: ControlPass, reply: Reply<bool>) {
        if matches!(self.owner, Owner::Nobody) {
            return answer(reply, Err(not_here("leaving this session for another")));
        }
        let (owner, permission) = (self.owner.clone(), self.permission(&departure));
        let session = self.parts.session.clone();
        self.spawn_for(reply, async move {
            if !permission.await {
                return Ok(false);
            }
            let (wish, decided) = Wish::new(session, from, departure, pass.ended());
            if let Some(next) = ask_owner(&owner, wish, decided).await? {
                pass.lead_to(next);
            }
            Ok(true)
        });
    }

    /// Loads all extensions anew when the command that asks for it has ended, as it does with its extension.
    fn reload(&mut self, pass: &ControlPass, reply: Reply<bool>) {
        let (steward, life, ended) = (Arc::clone(&self.steward), self.life.clone(), pass.ended());
        self.asides.spawn(async move {
            tokio::select! {
                () = life.cancelled() => return,
                () = ended.cancelled() => {}
                () = sleep(LINGERING) => {}
            }
            // What does not load is told to whoever is there.
            if let Err(error) = steward.reload(None).await {
                tracing::warn!(%error, "extensions are not loaded anew");
            }
        });
        answer(reply, Ok(true));
    }

    fn wait_for_idle(&mut self, reply: Reply<bool>) {
        let idle = self.idle();
        self.spawn_for(reply, async move {
            // Of a session that is gone nothing runs.
            drop(idle.await);
            Ok(true)
        });
    }

    fn navigate_for(&mut self, navigation: Navigation, reply: Reply<bool>) {
        let (went, way) = oneshot::channel();
        self.navigate(journey(navigation), went);
        self.spawn_for(reply, async move {
            match way.await.unwrap_or(Err(NavigateError::Aborted)) {
                Ok(_) => Ok(true),
                Err(NavigateError::Aborted) => Ok(false),
                Err(error) => Err(error.into()),
            }
        });
    }

    /// Told when nothing runs and nothing is on its way.
    fn idle(&mut self) -> oneshot::Receiver<()> {
        let (idle, waiting) = oneshot::channel();
        self.wait_until_idle(idle);
        waiting
    }

    pub(super) fn wait_until_idle(&mut self, waiting: oneshot::Sender<()>) {
        self.awaiting_idle.push(waiting);
        self.look_whether_idle();
    }

    pub(super) fn look_whether_idle(&mut self) {
        if self.running.is_none() && self.intake.is_empty() {
            self.awaiting_idle.drain(..).for_each(|waiting| answer(waiting, ()));
        }
    }
}

/// Tells the owner, and waits for the decision. Answers the session that the extension may go on in.
async fn ask_owner(
    owner: &Owner,
    wish: Wish,
    decided: oneshot::Receiver<Decision>,
) -> Result<Option<Arc<dyn SessionPort>>, Refusal> {
    owner.hear(wish).await;
    match decided.await {
        Ok(Decision::Granted { next }) => Ok(next),
        Ok(Decision::Refused { reason }) => Err(Refusal::NotNow { reason }),
        Err(_) => Err(not_here("leaving this session")),
    }
}

fn journey(navigation: Navigation) -> Journey {
    let summarise = match (navigation.summarize, navigation.instructions, navigation.replaces_instructions) {
        (false, _, _) => Summarise::No,
        (true, None, _) => Summarise::Yes,
        (true, Some(instructions), false) => Summarise::With(instructions),
        (true, Some(instructions), true) => Summarise::Instead(instructions),
    };
    Journey { target: navigation.entry, summarise, label: navigation.label }
}

fn not_here(what: &str) -> Refusal {
    Refusal::NotNow { reason: format!("{what} is not possible here") }
}
