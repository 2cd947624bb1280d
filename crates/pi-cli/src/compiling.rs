//! Says which components are compiled for the first time on this machine, as long as somebody waits for them.

use std::{pin::pin, time::Duration};

use pi_guests::launcher::Compiling;
use tokio::time::{Instant, interval_at};

use crate::{console::Console, stock::StockRoom};

/// Between two looks. What is done before the first of them is not told.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// Waits for work that may compile components, and shows a person at the terminal what is being compiled.
pub(crate) async fn tell_while<T>(work: impl Future<Output = T>, stock: &StockRoom, console: &mut Console) -> T {
    let mut work = pin!(work);
    let began = Instant::now();
    let mut looks = interval_at(began + LOOK, LOOK);
    loop {
        let now = tokio::select! {
            biased;
            done = &mut work => return done,
            now = looks.tick() => now,
        };
        let compiling = stock.compiling();
        if let Some(first) = compiling.first() {
            console.activity(&format!("{} ({} s)", told(first), now.saturating_duration_since(began).as_secs()));
        }
    }
}

/// What is done, for a person.
pub(crate) fn told(Compiling { name, path: _ }: &Compiling) -> String {
    format!("compiling the extension {name} for this machine, which is done once")
}
