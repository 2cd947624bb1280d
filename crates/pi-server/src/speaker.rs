//! The voice of a connection: takes what is to be sent out of its [`Outbox`] and hands it to the transport.
//!
//! One task per connection. It waits for the client and for nothing else, and keeps no events: what it has not sent yet
//! stays in the feeds. Deltas of a growing message may wait a moment for those that follow; whatever else is to be sent
//! takes them along, so the order stays.

use std::{collections::HashMap, future::Future, io, time::Duration};

use bytes::Bytes;
use pi_transcript::{AgentEvent, SessionId};
use pi_wire::{
    ServerEvent,
    event::{ClosingReason, ConnectionClosing, Numbered, ResumePoint, SessionSnapshot, SnapshotReason, UpdateForm},
};
use serde::Serialize;
use tokio::time::{Instant, sleep_until};

use crate::{
    feed::{Cursor, Start, TooFarBehind},
    outbox::{Item, Outbox},
};

/// Where frames go: to a WebSocket, or to standard output.
pub trait Transport: Send {
    /// Takes a frame; it may wait until the client has room, and may keep it until [`Transport::flush`].
    fn send(&mut self, frame: Bytes) -> impl Future<Output = io::Result<()>> + Send;
    fn flush(&mut self) -> impl Future<Output = io::Result<()>> + Send;

    /// Asks the other end for a sign of life, where the transport has a way to.
    fn ping(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        std::future::ready(Ok(()))
    }
}

/// Makes the snapshot that a client gets in the place of what it missed.
pub trait Snapshots: Send {
    /// `None`: the session has ended meanwhile.
    fn take(&self, session: &SessionId, reason: SnapshotReason)
    -> impl Future<Output = Option<SessionSnapshot>> + Send;
}

/// How long deltas may wait for those that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub deltas: Duration,
    /// Each of these carries the message so far, so fewer of them go out.
    pub cumulative: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { deltas: Duration::from_millis(33), cumulative: Duration::from_millis(50) }
    }
}

/// How a connection ended.
#[derive(Debug)]
pub enum End {
    /// We closed it.
    Closed(ClosingReason),
    /// The client went away.
    Gone(io::Error),
}

/// Speaks until the connection ends.
pub async fn speak(outbox: &Outbox, transport: &mut impl Transport, snapshots: &impl Snapshots, pace: Pace) -> End {
    let mut speaker = Speaker { transport, snapshots, pace, seats: HashMap::new() };
    match speaker.run(outbox).await {
        Ok(reason) => End::Closed(reason),
        Err(error) => End::Gone(error),
    }
}

struct Speaker<'a, T, S> {
    transport: &'a mut T,
    snapshots: &'a S,
    pace: Pace,
    seats: HashMap<SessionId, Seat>,
}

/// A session that the client listens to.
struct Seat {
    cursor: Cursor,
    /// When events of it went out last.
    spoke: Option<Instant>,
    /// Deltas up to this number wait until then.
    held: Option<(u64, Instant)>,
}

impl<T: Transport, S: Snapshots> Speaker<'_, T, S> {
    async fn run(&mut self, outbox: &Outbox) -> io::Result<ClosingReason> {
        loop {
            let item = match outbox.take() {
                Some(item) => item,
                None => {
                    self.transport.flush().await?;
                    match self.wait(outbox).await {
                        Some(item) => item,
                        None => {
                            if let Some(reason) = self.release(Some(Instant::now())).await? {
                                return self.close(reason).await;
                            }
                            continue;
                        }
                    }
                }
            };
            if let Some(reason) = self.handle(item).await? {
                return self.close(reason).await;
            }
        }
    }

    /// The next item, or nothing when deltas have waited long enough.
    async fn wait(&self, outbox: &Outbox) -> Option<Item> {
        let due = self.seats.values().filter_map(|seat| seat.held.map(|(_, at)| at)).min();
        match due {
            None => Some(outbox.next().await),
            Some(at) => tokio::select! {
                item = outbox.next() => Some(item),
                () = sleep_until(at) => None,
            },
        }
    }

    /// Why the connection must be closed, if it must.
    async fn handle(&mut self, item: Item) -> io::Result<Option<ClosingReason>> {
        match item {
            Item::News { session, upto } => return self.news(&session, upto).await,
            Item::Frame(frame) => {
                if let Some(reason) = self.release(None).await? {
                    return Ok(Some(reason));
                }
                self.transport.send(frame).await?;
            }
            Item::Join(start, cursor) => {
                if let Some(reason) = self.release(None).await? {
                    return Ok(Some(reason));
                }
                return self.join(start, *cursor).await;
            }
            Item::Leave(session) => drop(self.seats.remove(&session)),
            Item::End(feed) => {
                if let Some(reason) = self.release(None).await? {
                    return Ok(Some(reason));
                }
                self.seats.retain(|_, seat| !seat.cursor.is_in(&feed));
            }
            Item::Ping => self.transport.ping().await?,
            Item::Close(reason) => {
                self.release(None).await?;
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    async fn news(&mut self, session: &SessionId, upto: u64) -> io::Result<Option<ClosingReason>> {
        let pace = self.pace;
        // What was said before it joined, or after it left, is not for this client.
        let Some(seat) = self.seats.get_mut(session) else { return Ok(None) };
        let interval = match seat.cursor.form() {
            UpdateForm::Deltas => pace.deltas,
            UpdateForm::Cumulative => pace.cumulative,
        };
        let due = seat.held.map(|(_, at)| at).or_else(|| seat.spoke.map(|at| at + interval));
        if let Some(at) = due
            && at > Instant::now()
            && seat.cursor.is_only_growing(upto)
        {
            seat.held = Some((upto, at));
            return Ok(None);
        }
        self.tell(session, upto).await
    }

    /// Sends what waits: all of it, or what has waited until `now`.
    async fn release(&mut self, now: Option<Instant>) -> io::Result<Option<ClosingReason>> {
        let is_due = |seat: &Seat| seat.held.filter(|(_, at)| now.is_none_or(|now| *at <= now)).map(|(upto, _)| upto);
        let due: Vec<(SessionId, u64)> =
            self.seats.iter().filter_map(|(session, seat)| Some((session.clone(), is_due(seat)?))).collect();
        for (session, upto) in due {
            if let Some(reason) = self.tell(&session, upto).await? {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    async fn tell(&mut self, session: &SessionId, upto: u64) -> io::Result<Option<ClosingReason>> {
        let Some(seat) = self.seats.get_mut(session) else { return Ok(None) };
        seat.held = None;
        let events = match seat.cursor.advance(upto) {
            Ok(events) => events,
            Err(TooFarBehind) => {
                let Some(reason) = seat.cursor.renumber() else { return Ok(Some(ClosingReason::TooSlow)) };
                return self.snapshot(session, reason).await;
            }
        };
        seat.spoke = Some(Instant::now());
        for event in events {
            self.transport.send(event_frame(event)).await?;
        }
        Ok(None)
    }

    async fn join(&mut self, start: Start, cursor: Cursor) -> io::Result<Option<ClosingReason>> {
        let session = cursor.session().clone();
        self.seats.insert(session.clone(), Seat { cursor, spoke: None, held: None });
        match start {
            Start::Live(_) => self.remind(&session).await,
            Start::Replay { upto, .. } => {
                self.remind(&session).await?;
                self.tell(&session, upto).await
            }
            Start::Snapshot { reason, .. } => self.snapshot(&session, reason).await,
        }
    }

    /// Tells how the session stands, in the place of the events that brought it there.
    async fn snapshot(&mut self, session: &SessionId, reason: SnapshotReason) -> io::Result<Option<ClosingReason>> {
        // Nothing: the session ended, and the client hears of that as everybody does.
        let Some(snapshot) = self.snapshots.take(session, reason).await else { return Ok(None) };
        if let Some(seat) = self.seats.get_mut(session) {
            seat.cursor.skip_to(snapshot.seq);
        }
        self.transport.send(frame(&ServerEvent::SessionSnapshot { data: Box::new(snapshot) })).await?;
        self.remind(session).await
    }

    /// Shows what extensions have drawn so far, and asks what is open, without numbers: the events that follow begin after it.
    async fn remind(&mut self, session: &SessionId) -> io::Result<Option<ClosingReason>> {
        let standing = self.seats.get(session).map(|seat| seat.cursor.take_standing()).unwrap_or_default();
        for event in standing {
            let event = Box::new(AgentEvent::clone(&event));
            let numbered = Numbered { session_id: session.clone(), seq: None, epoch: None, event };
            self.transport.send(event_frame(numbered)).await?;
        }
        Ok(None)
    }

    /// The last frame says why, and from where the client can go on.
    async fn close(&mut self, reason: ClosingReason) -> io::Result<ClosingReason> {
        let resume = self.seats.values().map(|seat| {
            let position = seat.cursor.position().clone();
            ResumePoint { session_id: seat.cursor.session().clone(), epoch: position.epoch, seq: position.seq }
        });
        let data = ConnectionClosing { reason, resume: resume.collect() };
        self.transport.send(frame(&ServerEvent::ConnectionClosing { data })).await?;
        self.transport.flush().await?;
        Ok(reason)
    }
}

/// A frame of ours as bytes.
pub fn frame(what: &impl Serialize) -> Bytes {
    frame_around(what, 0)
}

/// The same where so many bytes of it are known: it is written without being moved as it grows.
pub fn frame_around(what: &impl Serialize, known: usize) -> Bytes {
    let mut text = Vec::with_capacity(known + 256);
    serde_json::to_writer(&mut text, what).expect("what we say can be written as JSON");
    Bytes::from(text)
}

fn event_frame(event: Numbered) -> Bytes {
    frame(&ServerEvent::Event(Box::new(event)))
}
