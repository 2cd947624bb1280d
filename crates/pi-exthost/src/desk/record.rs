//! The two lines that every host call leaves.

use std::sync::Arc;

use tokio::time::Instant;

use pi_extproto::host::ErrorCode;

use super::Desk;
use crate::ledger::{Admission, CallEnd, CallNote};

/// A call whose first line was handed in. The second follows, at the latest when this is dropped.
pub(super) struct Record {
    desk: Desk,
    call: Option<Arc<CallNote>>,
    began: Instant,
}

impl Record {
    pub(super) fn begin(desk: Desk, admission: Admission, call: CallNote) -> Self {
        let call = desk.events().begin_call(admission, call);
        Self { desk, call: Some(call), began: Instant::now() }
    }

    pub(super) fn end(mut self, error: Option<ErrorCode>) {
        self.finish(error, false);
    }

    fn finish(&mut self, error: Option<ErrorCode>, is_dropped: bool) {
        let Some(call) = self.call.take() else { return };
        let took = self.began.elapsed();
        self.desk.inner.counters.call(error, took);
        self.desk.events().end_call(&call, CallEnd { took, error, is_dropped });
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.finish(Some(ErrorCode::Timeout), true);
    }
}
