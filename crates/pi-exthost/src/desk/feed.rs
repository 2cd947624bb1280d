//! Output while it comes.

use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use pi_extproto::{
    connector::{Call, stream::StreamItem, to_object},
    host::{CheckedCall, HostError, stream as protocol},
    log::ledger::Start,
    message::Payload,
};

use super::{Desk, OwnEnd, Terms};
use crate::{connector, trace::Trace};

/// Items that the sender may be ahead of the reader.
const CREDITS: usize = 16;

/// The reader's end of a stream. Dropping it stops the work.
#[derive(Debug)]
pub struct Feed {
    items: mpsc::Receiver<Result<StreamItem, HostError>>,
    cancel: CancellationToken,
    /// Ends by itself soon after the token is set.
    _driver: JoinHandle<()>,
}

/// The sender's end.
#[derive(Debug)]
pub(crate) struct Sluice {
    items: mpsc::Sender<Result<StreamItem, HostError>>,
    desk: Desk,
    traced: Option<(Trace, protocol::Sender)>,
}

/// Nobody reads any more.
pub(crate) struct Dry;

impl Feed {
    pub(super) fn start(desk: Desk, call: Call, terms: Terms) -> Self {
        let (sender, items) = mpsc::channel(CREDITS);
        let cancel = terms.cancel.child_token();
        let terms = Terms { cancel: cancel.clone(), ..terms };
        let handle = desk.inner.house.handle.clone();
        let driver = handle.spawn(async move { drive(desk, call, &terms, sender).await });
        Self { items, cancel, _driver: driver }
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

impl Drop for Feed {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

async fn drive(desk: Desk, call: Call, terms: &Terms, items: mpsc::Sender<Result<StreamItem, HostError>>) {
    let size = connector::weigh(&call);
    let limit = desk.inner.house.fittings.limits.params_bytes;
    if size > limit {
        let refused = desk.too_large(&call, size, terms).await;
        if let Err(error) = refused {
            // Who does not listen any more does not need to know.
            let _ = items.send(Err(error)).await;
        }
        return;
    }
    let checked = CheckedCall::native(desk.next_id(), call, terms.timeout.map(crate::ledger::millis));
    let (id, start) = (checked.call_id().to_owned(), Start::new(&checked));
    let own_end = OwnEnd::of(checked.call());
    desk.trace_call(&checked);
    desk.inner.counters.sent(size as u64);
    let trace = desk.inner.house.fittings.trace.clone();
    let traced = trace.map(|trace| (trace, protocol::Sender::new(id.clone())));
    let mut sluice = Sluice { items, desk: desk.clone(), traced };
    let work = connector::stream(&desk, checked, terms, &mut sluice);
    let result = desk.run(id, start, terms, own_end, work).await;
    if let Err(error) = result {
        sluice.fail(error).await;
    }
}

impl Sluice {
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
