//! What a connection has yet to send, in order.
//!
//! Frames stand in it as they are. Events of sessions do not: a note says up to which number they may go out, and a note
//! at the end is moved on instead of repeated. So the order among answers, lifecycle events and what happens in sessions
//! is the order in which they came, and what a slow client has not taken stays where it is kept anyway, in the feed.
//!
//! What a client did not ask for one by one has little room: a client that does not take it is closed. Answers have more,
//! because the client decides how many there are: while there is no room for more, its commands are not read.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use pi_transcript::SessionId;
use pi_wire::event::ClosingReason;
use tokio::sync::Notify;

use crate::feed::{Cursor, Feed, Start};

/// One thing to send, or to do at this place in the order.
#[derive(Debug)]
pub enum Item {
    /// A frame, as it is.
    Frame(Bytes),
    /// The session's events up to this number.
    News { session: SessionId, upto: u64 },
    /// From here on the session's events are sent.
    Join(Start, Box<Cursor>),
    /// From here on they are not.
    Leave(SessionId),
    /// The same where the session is gone; another one of its name may be listened to by then.
    End(Arc<Feed>),
    /// Asks the other end for a sign of life.
    Ping,
    /// The last: say why, and close.
    Close(ClosingReason),
}

/// What there is no more room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client reads more slowly than it is sent")]
pub struct Full;

/// How many times more room answers have than what nobody asked for.
const ANSWERS: usize = 16;

/// The queue of a connection: anybody puts something in, its writer takes it out.
#[derive(Debug)]
pub struct Outbox {
    /// Not a channel: a note at the end must be found and moved on, and what waits is counted in bytes.
    queue: Mutex<Queue>,
    bell: Notify,
    /// Rings when something was taken.
    taken: Notify,
    limit: usize,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Entry>,
    /// Of all frames.
    bytes: usize,
    /// Of those that nobody asked for.
    told: usize,
    /// Nothing more is taken.
    is_closed: bool,
}

#[derive(Debug)]
struct Entry {
    item: Item,
    /// Bytes of a frame that nobody asked for.
    told: usize,
}

impl Outbox {
    /// With room for so many bytes of frames. One that finds nothing of its kind in the queue is always taken, however large.
    pub fn new(limit: usize) -> Self {
        Self { queue: Mutex::new(Queue::default()), bell: Notify::new(), taken: Notify::new(), limit }
    }

    /// Puts in a frame that the client did not ask for. When there is no room, the connection is closed and the client told
    /// why.
    pub fn send(&self, frame: Bytes) -> Result<(), Full> {
        let told = frame.len();
        self.insert(frame, told, |queue| queue.told == 0 || queue.told + told <= self.limit)
    }

    /// Puts in the answer to a command; it is closed in the same way.
    pub fn answer(&self, frame: Bytes) -> Result<(), Full> {
        let (size, limit) = (frame.len(), self.limit.saturating_mul(ANSWERS));
        self.insert(frame, 0, |queue| queue.bytes == 0 || queue.bytes + size <= limit)
    }

    fn insert(&self, frame: Bytes, told: usize, has_room: impl FnOnce(&Queue) -> bool) -> Result<(), Full> {
        let mut queue = self.queue();
        if queue.is_closed {
            return Ok(());
        }
        let fits = has_room(&queue);
        if fits {
            queue.bytes += frame.len();
            queue.told += told;
            queue.items.push_back(Entry { item: Item::Frame(frame), told });
        } else {
            queue.close(ClosingReason::TooSlow);
        }
        drop(queue);
        self.bell.notify_one();
        if fits { Ok(()) } else { Err(Full) }
    }

    /// Waits until something more was taken. Safe to drop and call again.
    pub async fn progress(&self) {
        self.taken.notified().await;
    }

    /// Whether there is room for the answer to one more command.
    pub fn has_room(&self) -> bool {
        let queue = self.queue();
        queue.is_closed || queue.bytes <= self.limit
    }

    /// Something happened in a session.
    pub fn announce(&self, session: &SessionId, seq: u64) {
        let mut queue = self.queue();
        if queue.is_closed {
            return;
        }
        let notes = queue.items.iter_mut().rev().map_while(|entry| match &mut entry.item {
            Item::News { session, upto } => Some((session, upto)),
            Item::Frame(_) | Item::Join(..) | Item::Leave(_) | Item::End(_) | Item::Ping | Item::Close(_) => None,
        });
        let known = notes.into_iter().find(|(noted, _)| *noted == session).map(|(_, upto)| *upto = seq);
        if known.is_none() {
            queue.put(Item::News { session: session.clone(), upto: seq });
        }
        drop(queue);
        self.bell.notify_one();
    }

    /// Begins to send a session's events, behind what is already in.
    pub fn join(&self, start: Start, cursor: Cursor) {
        self.put(Item::Join(start, Box::new(cursor)));
    }

    pub fn leave(&self, session: SessionId) {
        self.put(Item::Leave(session));
    }

    /// Lets go of a session that is gone.
    pub fn end(&self, feed: Arc<Feed>) {
        self.put(Item::End(feed));
    }

    /// Asks for a sign of life.
    pub fn ping(&self) {
        self.put(Item::Ping);
    }

    /// Sends what is in, says why, and closes. What comes later is dropped.
    pub fn close(&self, reason: ClosingReason) {
        self.queue().close(reason);
        self.bell.notify_one();
    }

    /// How much waits.
    pub fn bytes(&self) -> usize {
        self.queue().bytes
    }

    /// The next item; waits for one. Safe to drop and call again.
    pub async fn next(&self) -> Item {
        loop {
            let heard = self.bell.notified();
            if let Some(item) = self.take() {
                return item;
            }
            heard.await;
        }
    }

    /// The next item, if there is one.
    pub fn take(&self) -> Option<Item> {
        let mut queue = self.queue();
        let Entry { item, told } = queue.items.pop_front()?;
        if let Item::Frame(frame) = &item {
            queue.bytes -= frame.len();
            queue.told -= told;
        }
        drop(queue);
        self.taken.notify_one();
        Some(item)
    }

    fn put(&self, item: Item) {
        let mut queue = self.queue();
        if !queue.is_closed {
            queue.put(item);
        }
        drop(queue);
        self.bell.notify_one();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing in here can panic half-way.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn put(&mut self, item: Item) {
        self.items.push_back(Entry { item, told: 0 });
    }

    fn close(&mut self, reason: ClosingReason) {
        if !self.is_closed {
            self.is_closed = true;
            self.put(Item::Close(reason));
        }
    }
}
