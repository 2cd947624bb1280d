//! The first request of a session waits for servers that are still starting: without their tools it would be another one.

use std::{sync::atomic::Ordering, time::Duration};

use futures_util::future::join_all;
use pi_exthost::port::Notice;
use pi_transcript::question::NotifyType;
use tokio::time::sleep;

use super::{Run, desk::Gone};

impl Run {
    /// Waits until all have started or failed, the time for it is over, or the run is stopped. Once in a session: a server that
    /// needs longer does not hold up every run. A wait that was stopped does not count, since no request was sent after it.
    pub(super) async fn wait_for_servers(&self) -> Result<(), Gone> {
        if self.parts.has_waited.load(Ordering::Relaxed) {
            return Ok(());
        }
        let starting = self.parts.guests.starting();
        let wait = self.desk.terms().await?.server_wait;
        if starting.is_empty() || wait.is_zero() {
            self.parts.has_waited.store(true, Ordering::Relaxed);
            return Ok(());
        }
        let names: Vec<String> = starting.iter().map(|guest| guest.registration().name.clone()).collect();
        self.parts.questions.tell(Notice { message: told(&names, wait), notify_type: NotifyType::Info, about: None });
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Ok(()),
            _ = join_all(starting.iter().map(|guest| guest.started())) => {}
            () = sleep(wait) => {}
        }
        self.parts.has_waited.store(true, Ordering::Relaxed);
        // They may have told of it in a letter that is still on its way.
        self.desk.take_offers().await
    }
}

fn told(names: &[String], wait: Duration) -> String {
    let servers = if names.len() == 1 { "the MCP server" } else { "the MCP servers" };
    let names = names.join(", ");
    format!("waiting up to {wait:?} for {servers} {names} to start, so that the model has their tools")
}
