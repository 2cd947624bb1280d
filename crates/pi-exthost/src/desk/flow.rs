//! How often a guest may ask for something, whatever it asks for and on whichever tier it runs.
//!
//! Each call leaves two lines in the ledger, which has an end: a guest that calls without one would push out what was recorded of
//! it before. Calls beyond the pace are refused and leave no lines of their own.

use std::{sync::PoisonError, time::Duration};

use serde_json::json;
use tokio::time::sleep;

use pi_extproto::{
    host::{ErrorCode, HostError},
    log::{Level, LogEvent},
};

use super::{Desk, Inner, lock};
use crate::ledger::{
    Occasion,
    flood::{Pace, Passage},
    object,
};

/// So long a call is held that is refused: whoever asks again and again does not keep us busy.
const HELD: Duration = Duration::from_millis(1);

impl Desk {
    /// Lets one more call begin, or says why it does not.
    pub(super) async fn keep_pace(&self) -> Result<(), HostError> {
        let passage = lock(&self.inner.flow).next(self.inner.house.now());
        let is_first = match passage {
            Passage::Passed { left_out } => {
                self.inner.tell_refused(left_out);
                return Ok(());
            }
            Passage::LeftOut { is_first } => is_first,
        };
        let Pace { most: calls, span } = self.inner.house.fittings.limits.calls;
        if is_first {
            let message = format!("more than {calls} host calls within {span:?}: those beyond are refused");
            let event = LogEvent::from("host_call.flood");
            self.events().write(event, Level::Warn, message, &Occasion::Background, None);
            self.tell_flood(calls, span);
        }
        sleep(HELD).await;
        let message = format!(
            "this extension called its host more than {calls} times within {span:?}, and is refused until that time is over; ask \
             for less, or wait"
        );
        Err(HostError { retryable: Some(true), ..HostError::new(ErrorCode::InvalidRequest, message) })
    }
}

impl Inner {
    /// Says what was left out of the ledger and was not told yet.
    pub(crate) fn settle(&self) {
        let refused = lock(&self.flow).take();
        self.tell_refused(refused);
        self.pen.settle();
    }

    fn tell_refused(&self, refused: u64) {
        if refused > 0 {
            let message = format!("{refused} host calls were refused: the extension calls too often");
            let (event, data) = (LogEvent::from("host_call.flood"), object(json!({ "refused": refused })));
            self.pen.write(event, Level::Warn, message, &Occasion::Background, data);
        }
    }
}

/// A desk may go before its dispatcher does.
impl Drop for Inner {
    fn drop(&mut self) {
        let refused = self.flow.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.tell_refused(refused);
    }
}
