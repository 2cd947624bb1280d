//! What a terminal is told at the beginning, and told again at the end.

use std::{
    io::{self, Write},
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

/// Bracketed paste; keys that can be told apart; the title of the window is remembered.
const ENTER: &str = "\x1b[?2004h\x1b[>1u\x1b[22;0t";
/// The opposite, with the cursor shown, colours off and no update left open.
const LEAVE: &str = "\x1b[?2026l\x1b[0m\x1b[?25h\x1b[<u\x1b[?2004l\x1b[23;0t";

/// Whether the terminal is ours now; a panic anywhere in the process asks.
static ENTERED: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// The terminal is ours as long as this lives.
pub(super) struct Modes(());

impl Modes {
    pub(super) fn enter() -> io::Result<Self> {
        HOOK.call_once(|| {
            let previous = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                leave();
                previous(panic);
            }));
        });
        crossterm::terminal::enable_raw_mode()?;
        ENTERED.store(true, Ordering::SeqCst);
        let modes = Self(());
        let mut output = io::stdout();
        output.write_all(ENTER.as_bytes())?;
        output.flush()?;
        Ok(modes)
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        leave();
    }
}

/// Gives the terminal back, once.
fn leave() {
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut output = io::stdout();
    let told = output.write_all(LEAVE.as_bytes()).and_then(|()| output.flush());
    if let Err(error) = told.and(crossterm::terminal::disable_raw_mode()) {
        tracing::warn!(%error, "the terminal was not restored");
    }
}
