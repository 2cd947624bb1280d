//! Sessions that the command of an extension left for another one, in which it still has something to do.
//!
//! What a command does after it has left runs in the extension of the session that it left: that one is closed when the command
//! has ended.

use std::sync::Arc;

use pi_session::{Departure, Session, Wish};
use tokio::{sync::Notify, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// Those that are closed when their commands have ended.
#[derive(Default)]
pub(super) struct Lingering {
    /// Each closes one.
    closing: JoinSet<()>,
    /// Signalled when nobody waits for commands any more.
    hurry: CancellationToken,
    /// Signalled when the session that was gone to is shown.
    is_shown: Arc<Notify>,
}

impl Lingering {
    /// For the session that is shown next.
    pub(super) fn next_shown(&self) -> Arc<Notify> {
        Arc::clone(&self.is_shown)
    }

    /// Lets the command go on in `next` as soon as that one is shown, and closes the session when the command has ended.
    pub(super) fn leave(&mut self, left: Session, departure: Departure, wish: Wish, next: Session) {
        self.is_shown = Arc::default();
        let (is_shown, hurry, ended) = (Arc::clone(&self.is_shown), self.hurry.clone(), wish.ended());
        self.closing.spawn(async move {
            tokio::select! {
                () = is_shown.notified() => {}
                () = hurry.cancelled() => {}
            }
            wish.grant_in(&next);
            drop(next);
            tokio::select! {
                () = ended.cancelled() => {}
                () = hurry.cancelled() => {}
            }
            // What waited there to be said nobody hears; one that is gone is closed.
            match left.close_for(departure).await {
                Ok(unsaid) => {
                    unsaid.iter().for_each(|saying| tracing::info!(said = %saying.written(), "not said any more"))
                }
                Err(gone) => tracing::debug!(%gone, "a session that was left ended by itself"),
            }
        });
    }

    /// Closes them all, whatever their commands do.
    pub(super) async fn end(&mut self) {
        self.hurry.cancel();
        while self.closing.join_next().await.is_some() {}
        self.hurry = CancellationToken::new();
    }
}
