//! Output that a test prepared, item by item.

use std::cell::{Cell, RefCell};

use crate::{Chunk, ErrorCode, HostError, Stream, StreamItem};

use super::fault;

/// A stream of prepared items.
pub struct TestStream {
    items: RefCell<std::vec::IntoIter<StreamItem>>,
    index: Cell<u64>,
    is_over: Cell<bool>,
}

impl TestStream {
    /// The last of the items is the end.
    pub(super) fn new(items: Vec<StreamItem>) -> Self {
        Self { items: RefCell::new(items.into_iter()), index: Cell::new(0), is_over: Cell::new(false) }
    }
}

impl Stream for TestStream {
    fn next(&self) -> Result<(Chunk, StreamItem), HostError> {
        let item = self.items.borrow_mut().next().filter(|_| !self.is_over.get());
        let item = item.ok_or_else(|| fault(ErrorCode::InvalidRequest, "the stream is over"))?;
        let index = self.index.replace(self.index.get() + 1);
        let is_last = matches!(item, StreamItem::End(_));
        self.is_over.set(is_last);
        Ok((Chunk { index, is_last, backpressure: None }, item))
    }

    fn cancel(&self) {
        self.is_over.set(true);
    }
}
