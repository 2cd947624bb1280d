//! Output while it comes.

use std::{io, sync::Arc};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use pi_extproto::{
    connector::{stream::StreamItem, to_object},
    host::{CheckedCall, HostError, HostResult, stream as protocol},
    log::ledger::Start,
    message::Payload,
};

use pi_tools::process::{Signal, Whom};

use super::{
    Desk, OwnEnd, Terms,
    load::{Load, TooMuch},
};
use crate::{connector, trace::Trace};

/// Items that the sender may be ahead of the reader.
const CREDITS: usize = 16;

/// The reader's end of a stream. Dropping it stops the work.
#[derive(Debug)]
pub struct Feed {
    items: mpsc::Receiver<Result<StreamItem, HostError>>,
    /// Whoever fills it ends soon after the token is set.
    cancel: CancellationToken,
    reins: Reins,
}

/// The end on which somebody speaks to the process that a feed comes from. Clones are the same.
#[derive(Debug, Clone)]
pub struct Reins {
    signals: mpsc::Sender<(Signal, Whom)>,
}

/// The end on which somebody writes to the process that a feed comes from. Its input ends when all clones are dropped.
#[derive(Debug, Clone)]
pub struct Intake {
    pieces: mpsc::Sender<Vec<u8>>,
    desk: Desk,
}

/// What is written to a process while it runs.
pub(crate) type Pieces = mpsc::Receiver<Vec<u8>>;

/// What a process is told while it runs.
pub(crate) type Signals = mpsc::Receiver<(Signal, Whom)>;

/// The sender's end.
#[derive(Debug)]
pub(crate) struct Sluice {
    items: mpsc::Sender<Result<StreamItem, HostError>>,
    desk: Desk,
    traced: Option<(Trace, protocol::Sender)>,
    pieces: Option<Pieces>,
    signals: Option<Signals>,
}

/// Nobody reads any more.
pub(crate) struct Dry;

impl Feed {
    pub(super) fn start(desk: Desk, call: Result<(CheckedCall, Load), Box<TooMuch>>, terms: Terms) -> Self {
        Self::drive(desk, call, terms, None)
    }

    /// The same where what it comes from is written to as well.
    pub(super) fn start_to_write(
        desk: Desk,
        call: Result<(CheckedCall, Load), Box<TooMuch>>,
        terms: Terms,
    ) -> (Self, Intake) {
        let (pieces, received) = mpsc::channel(CREDITS);
        let intake = Intake { pieces, desk: desk.clone() };
        (Self::drive(desk, call, terms, Some(received)), intake)
    }

    fn drive(
        desk: Desk,
        call: Result<(CheckedCall, Load), Box<TooMuch>>,
        terms: Terms,
        pieces: Option<Pieces>,
    ) -> Self {
        let (sender, items) = mpsc::channel(CREDITS);
        let (signals, told) = mpsc::channel(CREDITS);
        let cancel = terms.cancel.child_token();
        let terms = Terms { cancel: cancel.clone(), ..terms };
        let house = Arc::clone(&desk.inner.house);
        house.streams.spawn_on(async move { drive(desk, call, &terms, sender, (pieces, told)).await }, &house.handle);
        Self { items, cancel, reins: Reins { signals } }
    }

    /// To speak to the process that it comes from, if it comes from one.
    pub fn reins(&self) -> Reins {
        self.reins.clone()
    }

    /// The next item; nothing after the end or an error. Nothing is lost if it is dropped.
    pub async fn next(&mut self) -> Option<Result<StreamItem, HostError>> {
        self.items.recv().await
    }

    /// Stops the work; what is on its way still comes, then an end.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

/// The results of a call in its JSON form, one after the other: the last one says that it is. Dropping it stops the work.
#[derive(Debug)]
pub struct Results {
    from: From,
}

#[derive(Debug)]
enum From {
    /// There is one, and it is known.
    One(Box<HostResult>),
    Feed(Feed, protocol::Sender),
    Nothing,
}

impl Results {
    pub(super) fn one(result: HostResult) -> Self {
        Self { from: From::One(Box::new(result)) }
    }

    pub(super) fn of(feed: Feed, call_id: String) -> Self {
        Self { from: From::Feed(feed, protocol::Sender::new(call_id)) }
    }

    /// The next one; nothing after the last. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<HostResult> {
        let item = match &mut self.from {
            From::Feed(feed, _) => feed.next().await,
            From::One(_) | From::Nothing => None,
        };
        match (std::mem::replace(&mut self.from, From::Nothing), item) {
            (From::One(result), _) => Some(*result),
            (From::Feed(_, sender), Some(Ok(item @ StreamItem::End(_)))) => Some(sender.finish(to_object(&item))),
            (From::Feed(feed, mut sender), Some(Ok(item @ (StreamItem::Head(_) | StreamItem::Piece(_))))) => {
                let result = sender.more(to_object(&item));
                self.from = From::Feed(feed, sender);
                Some(result)
            }
            (From::Feed(_, sender), Some(Err(error))) => Some(sender.fail(error)),
            (From::Feed(..) | From::Nothing, _) => None,
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

async fn drive(
    desk: Desk,
    call: Result<(CheckedCall, Load), Box<TooMuch>>,
    terms: &Terms,
    items: mpsc::Sender<Result<StreamItem, HostError>>,
    (pieces, signals): (Option<Pieces>, Signals),
) {
    let (checked, load) = match call {
        Ok(call) => call,
        Err(too_much) => {
            let error = desk.turn_away(*too_much, terms).await;
            // Who does not listen any more does not need to know.
            let _ = items.send(Err(error)).await;
            return;
        }
    };
    let (id, start) = (checked.call_id().to_owned(), Start::new(&checked));
    let own_end = OwnEnd::of(checked.call());
    desk.trace_call(&checked);
    desk.inner.counters.sent(load.bytes as u64);
    let trace = desk.inner.house.fittings.trace.clone();
    let traced = trace.map(|trace| (trace, protocol::Sender::new(id.clone())));
    let mut sluice = Sluice { items, desk: desk.clone(), traced, pieces, signals: Some(signals) };
    let work = connector::stream(&desk, checked, terms, &mut sluice);
    let result = desk.run(id, start, terms, own_end, work).await;
    drop(load);
    if let Err(error) = result {
        sluice.fail(error).await;
    }
}

impl Reins {
    /// Tells the process, or what stands for it until it runs. Whoever tells it too much at once is not heard, nor who tells one
    /// that is gone: as with signals everywhere, nobody learns of it.
    pub fn tell(&self, signal: Signal, whom: Whom) {
        if let Err(unheard) = self.signals.try_send((signal, whom)) {
            tracing::debug!(%unheard, "process was not told");
        }
    }
}

impl Intake {
    /// Waits while much that was written before is not taken. Fails once the process reads no more. Pieces of one caller
    /// arrive in the order of the calls if each is waited for.
    pub async fn write(&self, bytes: Vec<u8>) -> Result<(), HostError> {
        let limit = self.desk.inner.house.fittings.limits.params_bytes;
        if bytes.len() > limit {
            return Err(connector::invalid(format!("more than {limit} bytes at once; write smaller pieces")));
        }
        self.desk.inner.counters.sent(bytes.len() as u64);
        self.pieces.send(bytes).await.map_err(|_| connector::failed("input", &io::ErrorKind::BrokenPipe.into()))
    }
}

impl Sluice {
    /// What is written by whoever reads; nothing if nobody does.
    pub(crate) fn take_pieces(&mut self) -> Option<Pieces> {
        self.pieces.take()
    }

    /// What the process is told; nothing if it was taken before.
    pub(crate) fn take_signals(&mut self) -> Option<Signals> {
        self.signals.take()
    }

    /// Waits while the reader is behind.
    pub(crate) async fn send(&mut self, item: StreamItem) -> Result<(), Dry> {
        if let StreamItem::Piece(piece) = &item {
            self.desk.inner.counters.received(piece.data.0.len() as u64);
        }
        self.trace(&item);
        self.items.send(Ok(item)).await.map_err(|_| Dry)
    }

    async fn fail(mut self, error: HostError) {
        if let Some((trace, sender)) = self.traced.take() {
            let result = sender.fail(error.clone());
            trace.write(&result.call_id.clone(), Payload::HostResult(result));
        }
        // Who does not listen any more does not need to know.
        let _ = self.items.send(Err(error)).await;
    }

    fn trace(&mut self, item: &StreamItem) {
        let Some((trace, mut sender)) = self.traced.take() else { return };
        let output = to_object(item);
        if matches!(item, StreamItem::End(_)) {
            let result = sender.finish(output);
            return trace.write(&result.call_id.clone(), Payload::HostResult(result));
        }
        let result = sender.more(output);
        trace.write(&result.call_id.clone(), Payload::HostResult(result));
        self.traced = Some((trace, sender));
    }
}
