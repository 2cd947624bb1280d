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

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::stopwatch::Stopwatch;

    /// Panics when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("tick");
        }
    }

    async fn run<T>(work: impl Future<Output = Result<T, GuestFault>> + Send) -> Result<T, Trouble> {
        let stopwatch = Stopwatch::new(Duration::from_secs(10));
        isolate(&Ask { cancel: CancellationToken::new(), stopwatch }, Duration::from_millis(50), work).await
    }

    fn panicked<T>(message: &str) -> Result<T, Trouble> {
        Err(Trouble::Panicked { message: message.to_owned() })
    }

    #[tokio::test]
    async fn panic_ends_here_whenever_it_comes() {
        let first_poll = async { panic!("at {}", "once") };
        assert_eq!(run::<()>(first_poll).await, panicked("at once"));
        let later = async {
            tokio::task::yield_now().await;
            panic!("later")
        };
        assert_eq!(run::<()>(later).await, panicked("later"));
        let without_words = async { panic::panic_any(7) };
        assert_eq!(run::<()>(without_words).await, panicked("no message"));
    }

    #[tokio::test(start_paused = true)]
    async fn panic_while_it_is_abandoned_ends_here_too() {
        let bomb = Bomb;
        let hangs = async move {
            let _bomb = bomb;
            pending().await
        };
        assert_eq!(run::<()>(hangs).await, Err(Trouble::Hung { allowed: Duration::from_secs(10) }));
    }

    #[tokio::test(start_paused = true)]
    async fn answer_counts_even_if_the_time_is_up() {
        let ask = Ask { cancel: CancellationToken::new(), stopwatch: Stopwatch::new(Duration::ZERO) };
        ask.cancel.cancel();
        assert_eq!(isolate(&ask, Duration::ZERO, ready(Ok(1))).await, Ok(1));
    }
}
