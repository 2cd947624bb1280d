//! Keeps what the model was shown.
//!
//! To count the tokens of a prompt and to write its envelope takes time, so it happens beside the run: the prompt is
//! handed over before the model is asked, what the provider counted follows. Every model call of a session goes through
//! here, those of compactions and of extensions too.
//!
//! Prompts that wait to be counted take room, of which there are a few megabytes: whoever would show one more waits. That is
//! felt where a model answers faster than its prompt is counted.
//!
//! Where no file keeps them, prompts are held as they are and counted when somebody asks: mostly nobody does, and a
//! program that has answered should not stay to count.

mod load;

use std::{collections::VecDeque, io, mem, sync::Arc};

use pi_envelope::{Envelope, Prompt, Purpose, meta, reconcile};
use pi_transcript::{EntryId, Usage};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::{
    clerk::{Clerk, Gone, Work},
    file::{Fault, Neighbour},
    sidecar::{Listed, Sidecar},
    weights::Weights,
};

/// Envelopes that are held where no file keeps them.
const HELD: usize = 64;
/// Envelopes that are held beside a file: each is as large as its prompt, and only those that wait for the provider's
/// count are needed.
const WAITING: usize = 4;

/// The way to what is kept. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Archive {
    /// Without a bound, because the large orders are bounded by the room that they take.
    clerk: Clerk<Keeper>,
    room: Arc<Semaphore>,
}

/// What is shown to a model.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) prompt: Arc<Prompt>,
    pub(crate) request: meta::Request,
    /// The message that was said last.
    pub(crate) entry: Option<EntryId>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) request: String,
    pub(crate) usage: Option<Usage>,
    /// Somebody sent another payload.
    pub(crate) replaced: Option<meta::Replacement>,
}

#[derive(Debug)]
enum Order {
    /// With its room, which is free again when it is carried out.
    Show(Box<Shown>, OwnedSemaphorePermit),
    Count(Box<Counted>),
    /// The last turn of the conversation, unless one is named.
    Get(Option<String>, oneshot::Sender<Option<Arc<Envelope>>>),
    List(oneshot::Sender<Vec<Listed>>),
    Sync(oneshot::Sender<()>),
}

impl Archive {
    /// Needs a tokio runtime. Without a file of the session envelopes are only held.
    pub(crate) fn start(session: Option<Neighbour>) -> Self {
        Self { clerk: Clerk::new(Keeper::new(session)), room: Arc::new(Semaphore::new(load::ROOM as usize)) }
    }

    /// Hands over what is shown, as soon as there is room for it. Dropping the future hands nothing over.
    pub(crate) async fn show(&self, shown: Shown) {
        let room = Arc::clone(&self.room).acquire_many_owned(load::of(&shown.prompt)).await;
        let room = room.expect("nobody closes the room");
        self.order(Order::Show(Box::new(shown), room));
    }

    pub(crate) fn count(&self, counted: Counted) {
        self.order(Order::Count(Box::new(counted)));
    }

    pub(crate) fn get(&self, request: Option<String>, reply: oneshot::Sender<Option<Arc<Envelope>>>) {
        self.order(Order::Get(request, reply));
    }

    pub(crate) fn list(&self, reply: oneshot::Sender<Vec<Listed>>) {
        self.order(Order::List(reply));
    }

    /// Returns when everything so far is on the disk, or cannot get there.
    pub(crate) async fn sync(&self) {
        let (done, synced) = oneshot::channel();
        self.order(Order::Sync(done));
        if synced.await.is_err() {
            tracing::error!("what keeps envelopes ended in a panic");
        }
    }

    fn order(&self, order: Order) {
        if self.clerk.order(order) == Err(Gone) {
            tracing::error!("what keeps envelopes is gone");
        }
    }
}

/// What keeps envelopes.
struct Keeper {
    /// Kept as long as the sidecar: it may be found through it.
    session: Option<Neighbour>,
    /// Boxed, because most sessions of a server have none open.
    sidecar: Option<Box<Sidecar>>,
    /// Whether the sidecar was opened, or could not be.
    is_tried: bool,
    weights: Weights,
    /// What nobody keeps and nobody has asked for yet, with what came of it.
    uncounted: VecDeque<(Shown, Option<Counted>)>,
    held: VecDeque<(EntryId, Envelope)>,
    /// Of those that are only held.
    listed: Vec<Listed>,
}

impl Work for Keeper {
    type Order = Order;

    fn carry_out(&mut self, orders: VecDeque<Order>) {
        for order in orders {
            self.do_one(order);
        }
    }
}

impl Keeper {
    /// Without a session's file everything is only held.
    fn new(session: Option<Neighbour>) -> Self {
        Self {
            session,
            sidecar: None,
            is_tried: false,
            weights: Weights::new(""),
            uncounted: VecDeque::new(),
            held: VecDeque::new(),
            listed: Vec::new(),
        }
    }

    fn do_one(&mut self, order: Order) {
        match order {
            Order::Show(shown, _room) if self.is_forgetful() => self.set_aside(*shown),
            Order::Show(shown, _room) => self.show(*shown),
            Order::Count(counted) => self.settle(*counted),
            // Whoever asked may have gone away.
            Order::Get(request, reply) => {
                self.catch_up();
                drop(reply.send(self.get(request.as_deref())));
            }
            Order::List(reply) => {
                self.catch_up();
                drop(reply.send(self.list()));
            }
            Order::Sync(reply) => {
                if let Some(sidecar) = self.sidecar.as_deref_mut() {
                    let synced = sidecar.sync();
                    warn_unless_waiting(synced, sidecar, "envelopes are not on the disk");
                }
                let _ = reply.send(());
            }
        }
    }

    /// Whether there is no file for envelopes.
    fn is_forgetful(&self) -> bool {
        self.sidecar.is_none() && (self.session.is_none() || self.is_tried)
    }

    fn set_aside(&mut self, shown: Shown) {
        self.uncounted.push_back((shown, None));
        let surplus = self.uncounted.len().saturating_sub(HELD);
        self.uncounted.drain(..surplus);
    }

    /// Counts what was set aside.
    fn catch_up(&mut self) {
        for (shown, counted) in mem::take(&mut self.uncounted) {
            self.show(shown);
            if let Some(counted) = counted {
                self.count(counted);
            }
        }
    }

    fn settle(&mut self, counted: Counted) {
        let aside = self.uncounted.iter_mut().rev().find(|(shown, _)| shown.request.id == counted.request);
        match aside {
            Some((_, waiting)) => *waiting = Some(counted),
            None => self.count(counted),
        }
    }

    fn show(&mut self, shown: Shown) {
        let envelope = self.weights.project(&shown.prompt, &shown.request);
        let entry = shown.entry.unwrap_or_else(|| EntryId::from(""));
        self.store(&entry, &envelope);
        self.held.push_back((entry, envelope));
        let is_kept = self.sidecar.as_ref().is_some_and(|sidecar| sidecar.is_there());
        let most = if is_kept { WAITING } else { HELD };
        let surplus = self.held.len().saturating_sub(most);
        self.held.drain(..surplus);
    }

    fn count(&mut self, counted: Counted) {
        let Some((entry, envelope)) = self.held.iter_mut().rev().find(|(_, held)| is(held, &counted.request)) else {
            return;
        };
        if let Some(usage) = &counted.usage {
            reconcile(envelope, usage);
        }
        let is_replaced = counted.replaced.is_some();
        if let Some(meta) = meta::Meta::write(&mut envelope.meta) {
            meta.replaced = counted.replaced;
        }
        let residual = ours(envelope).and_then(|meta| meta.residual);
        let (entry, envelope) = (entry.clone(), envelope.clone());
        if is_replaced {
            self.store(&entry, &envelope);
        }
        match (&mut self.sidecar, &counted.usage) {
            (Some(sidecar), Some(usage)) => {
                let settled = sidecar.settle(&counted.request, usage, residual);
                warn_unless_waiting(settled, sidecar, "what a request consumed was not kept");
            }
            (None, usage) => {
                if let Some(listed) = self.listed.iter_mut().find(|listed| listed.request == counted.request) {
                    (listed.usage, listed.residual) = (usage.clone(), residual);
                }
            }
            (Some(_), None) => {}
        }
    }

    fn store(&mut self, entry: &EntryId, envelope: &Envelope) {
        match self.open() {
            Some(sidecar) => {
                let recorded = sidecar.record(entry, envelope);
                warn_unless_waiting(recorded, sidecar, "an envelope was not kept");
            }
            None => {
                let asked = ours(envelope).and_then(|meta| meta.request.clone());
                let named = asked.as_ref().map(|asked| (asked.id.clone(), asked.time));
                let (request, time) = named.unwrap_or_default();
                self.listed.retain(|listed| listed.request != request);
                self.listed.push(Listed {
                    request,
                    entry: entry.clone(),
                    time,
                    model: envelope.model.clone(),
                    asked,
                    tokens: ours(envelope).and_then(|meta| meta.tokens),
                    messages: envelope.messages.len(),
                    usage: None,
                    residual: None,
                });
                let surplus = self.listed.len().saturating_sub(HELD);
                self.listed.drain(..surplus);
            }
        }
    }

    fn get(&mut self, request: Option<&str>) -> Option<Arc<Envelope>> {
        let held = match request {
            Some(request) => self.held.iter().rev().find(|(_, held)| is(held, request)),
            None => self.held.iter().rev().find(|(_, held)| is_turn(held)),
        };
        if let Some((_, envelope)) = held {
            return Some(Arc::new(envelope.clone()));
        }
        let Some(sidecar) = self.open() else {
            // A summary is better than nothing.
            let last = self.held.back().filter(|_| request.is_none());
            return last.map(|(_, envelope)| Arc::new(envelope.clone()));
        };
        let request = match request {
            Some(request) => request.to_owned(),
            None => Listed::last(sidecar.list())?.request.clone(),
        };
        match sidecar.get(&request) {
            Ok(found) => found.map(Arc::new),
            Err(error) => {
                tracing::warn!(%error, "an envelope cannot be read");
                None
            }
        }
    }

    fn list(&mut self) -> Vec<Listed> {
        self.open().map(|sidecar| sidecar.list().to_vec()).unwrap_or_else(|| self.listed.clone())
    }

    /// The sidecar, opened when it is first needed. One that cannot be opened is not tried again.
    fn open(&mut self) -> Option<&mut Sidecar> {
        if let Some(session) = &self.session
            && !mem::replace(&mut self.is_tried, true)
        {
            match Sidecar::open_beside(&session.place()) {
                Ok(sidecar) => self.sidecar = Some(Box::new(sidecar)),
                Err(error) => {
                    let path = session.path().display();
                    tracing::warn!(%path, %error, "envelopes are only held in memory");
                }
            }
        }
        self.sidecar.as_deref_mut()
    }
}

/// Warns of what was not kept, unless it waits for the file of the session.
fn warn_unless_waiting(kept: Result<(), Fault>, sidecar: &Sidecar, lost: &'static str) {
    let Err(fault) = kept else { return };
    match &fault {
        Fault::Io { source } if !sidecar.is_there() && source.kind() == io::ErrorKind::NotFound => {}
        Fault::Io { .. } | Fault::Full | Fault::ReadOnly | Fault::Deleted | Fault::Changed { .. } => {
            tracing::warn!(%fault, "{lost}");
        }
    }
}

fn ours(envelope: &Envelope) -> Option<&meta::EnvelopeMeta> {
    match envelope.meta.as_ref()? {
        meta::Meta::Ours(ours) => Some(ours),
        meta::Meta::Foreign(_) => None,
    }
}

/// Whether it was shown for a turn of the conversation.
fn is_turn(envelope: &Envelope) -> bool {
    let asked = ours(envelope).and_then(|meta| meta.request.as_ref());
    asked.is_none_or(|asked| asked.purpose == Purpose::Turn)
}

fn is(envelope: &Envelope, request: &str) -> bool {
    ours(envelope).and_then(|meta| meta.request.as_ref()).is_some_and(|own| own.id == request)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use pi_envelope::{Origin, Provenance, Said};
    use pi_transcript::Message;

    use super::*;

    fn shown(number: usize) -> Shown {
        let said = Said::new("1".into(), Message::user("words", 0), Provenance::usual(Origin::User));
        let prompt = Arc::new(Prompt { messages: vec![said], ..Prompt::default() });
        let request = meta::Request {
            id: number.to_string(),
            provider: "p".into(),
            model: "m".into(),
            time: 0,
            purpose: Purpose::Turn,
        };
        Shown { prompt, request, entry: None }
    }

    #[test]
    fn what_nobody_keeps_is_counted_when_somebody_asks() {
        let mut keeper = Keeper::new(None);
        let room = || Arc::new(Semaphore::new(1)).try_acquire_many_owned(1).expect("room");
        for number in 1..=HELD + 1 {
            keeper.do_one(Order::Show(Box::new(shown(number)), room()));
            let usage = Usage { input: 10, ..Usage::default() };
            let counted = Counted { request: number.to_string(), usage: Some(usage), replaced: None };
            keeper.do_one(Order::Count(Box::new(counted)));
        }
        assert_eq!((keeper.held.len(), keeper.listed.len(), keeper.uncounted.len()), (0, 0, HELD));
        let (reply, mut listed) = oneshot::channel();
        keeper.do_one(Order::List(reply));
        let listed = listed.try_recv().expect("a list");
        assert_eq!(keeper.uncounted.len(), 0);
        assert_eq!(listed.first().map(|listed| listed.request.as_str()), Some("2"), "the oldest was let go");
        assert!(listed.iter().all(|listed| listed.usage.as_ref().is_some_and(|usage| usage.input == 10)));
        assert!(listed.iter().all(|listed| listed.residual.is_some()));
        let (reply, mut found) = oneshot::channel();
        keeper.do_one(Order::Get(Some("3".to_owned()), reply));
        assert!(found.try_recv().expect("an answer").is_some_and(|envelope| is(&envelope, "3")));
    }

    #[test]
    fn last_one_is_the_last_turn_of_the_conversation() {
        let mut keeper = Keeper::new(None);
        let mut last = |number, purpose| {
            let mut shown = shown(number);
            shown.request.purpose = purpose;
            keeper.show(shown);
            let found = keeper.get(None).expect("an envelope");
            let listed = Listed::last(&keeper.listed).expect("an envelope").request.clone();
            assert!(is(&found, &listed), "both are the same");
            listed
        };
        assert_eq!(last(1, Purpose::Compaction), "1", "there is no other");
        assert_eq!(last(2, Purpose::Turn), "2");
        assert_eq!(last(3, Purpose::Compaction), "2");
        assert_eq!(last(4, Purpose::BranchSummary), "2");
        assert_eq!(last(5, Purpose::Extension), "2");
        assert_eq!(last(6, Purpose::Turn), "6");
    }

    #[tokio::test]
    async fn prompt_waits_for_room_and_gives_it_back_when_it_is_counted() {
        let archive = Archive::start(None);
        let taken = Arc::clone(&archive.room).acquire_many_owned(load::ROOM - 1).await.expect("room");
        let mut showing = Box::pin(archive.show(shown(1)));
        assert!(showing.as_mut().now_or_never().is_none(), "there is no room for it");
        drop(taken);
        showing.await;
        let (reply, listed) = oneshot::channel();
        archive.list(reply);
        let ids: Vec<String> = listed.await.expect("a list").into_iter().map(|listed| listed.request).collect();
        assert_eq!(ids, ["1"]);
        assert_eq!(archive.room.available_permits(), load::ROOM as usize);
    }
}
