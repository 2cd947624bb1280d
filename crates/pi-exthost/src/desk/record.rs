//! The two lines that every host call leaves.

use serde_json::json;
use tokio::time::Instant;

use pi_extproto::{
    host::ErrorCode,
    log::{Level, LogEvent, ledger::Start},
};

use super::Desk;
use crate::ledger::{Admission, Occasion, millis};

/// A call whose first line was handed in. The second follows, at the latest when this is dropped.
pub(super) struct Record {
    desk: Desk,
    id: String,
    start: Option<Start>,
    occasion: Occasion,
    began: Instant,
}

impl Record {
    pub(super) fn begin(desk: Desk, admission: Admission, id: String, start: Start, occasion: Occasion) -> Self {
        let pen = desk.events();
        let message = format!("{} through {}", start.capability, start.method);
        let mut entry = pen.entry(LogEvent::HostCallStart, Level::Info, message, &occasion, Some(start.to_data()));
        entry.correlation.host_call_id = Some(id.clone());
        pen.ledger().begin(admission, entry);
        Self { desk, id, start: Some(start), occasion, began: Instant::now() }
    }

    pub(super) fn end(mut self, error: Option<ErrorCode>) {
        self.finish(error, false);
    }

    fn finish(&mut self, error: Option<ErrorCode>, is_dropped: bool) {
        let Some(start) = self.start.take() else { return };
        let took = self.began.elapsed();
        self.desk.inner.counters.call(error, took);
        let message = match error {
            None => format!("{} done", start.method),
            Some(_) if is_dropped => format!("{} given up", start.method),
            Some(_) => format!("{} failed", start.method),
        };
        let mut data = start.end(millis(took), error).to_data();
        if is_dropped {
            data.insert("dropped".to_owned(), json!(true));
        }
        let level = if error.is_some() { Level::Warn } else { Level::Info };
        let pen = self.desk.events();
        let mut entry = pen.entry(LogEvent::HostCallEnd, level, message, &self.occasion, Some(data));
        entry.correlation.host_call_id = Some(std::mem::take(&mut self.id));
        pen.ledger().write(entry);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.finish(Some(ErrorCode::Timeout), true);
    }
}
