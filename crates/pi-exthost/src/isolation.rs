//! Waits for a guest without trusting it: it may panic, hang, or not hear that it is cancelled.

use std::{
    any::Any,
    panic::{self, AssertUnwindSafe},
    time::Duration,
};

use futures_util::FutureExt;
use tokio::time::sleep;

use crate::{
    guest::{Ask, GuestFault},
    incident::Trouble,
};

/// Does `work` on behalf of a guest. It is dropped when the stopwatch of `ask` has run down, and `grace` after it was
/// cancelled; a panic ends there, even one while it is dropped.
pub(crate) async fn isolate<T>(
    ask: &Ask,
    grace: Duration,
    work: impl Future<Output = Result<T, GuestFault>> + Send,
) -> Result<T, Trouble> {
    let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind());
    let cancelled = async {
        ask.cancel.cancelled().await;
        sleep(grace).await;
    };
    let result = tokio::select! {
        // An answer that is there counts, however late.
        biased;
        answer = &mut work => match answer {
            Ok(answer) => answer.map_err(Trouble::from),
            Err(payload) => Err(Trouble::Panicked { message: text(payload.as_ref()) }),
        },
        () = ask.stopwatch.run_down() => Err(Trouble::Hung { allowed: ask.stopwatch.allowed().unwrap_or_default() }),
        () = cancelled => Err(Trouble::Deaf { grace }),
    };
    match panic::catch_unwind(AssertUnwindSafe(|| drop(work))) {
        Ok(()) => result,
        Err(payload) => result.and(Err(Trouble::Panicked { message: text(payload.as_ref()) })),
    }
}

/// What a panic said.
fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}
