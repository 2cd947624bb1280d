//! The terminal itself: keys come from it, bytes go to it, and it is left as it was found.
//!
//! The only place that touches a terminal. Raw mode, bracketed paste and the rest are undone when a [`Device`] is dropped,
//! and by a panic before its message is printed. Tests make a device of a channel and any writer instead.

mod modes;
mod rejoin;

use std::io::{self, IsTerminal, Write};

use crossterm::event::{Event, EventStream, KeyEvent};
use futures_util::StreamExt;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

use self::{modes::Modes, rejoin::Rejoin};

/// How many inputs may wait; a terminal that sends more is read later.
const ROOM: usize = 256;

/// Something that came from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Key(KeyEvent),
    Paste(String),
    Resize,
    /// A signal asks the process to end, or the terminal is gone.
    Terminated,
}

/// Why there is no terminal to talk to.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    #[error("standard input and output must be a terminal")]
    NotATerminal,
    #[error("this terminal cannot move its cursor (TERM={term:?})")]
    Dumb { term: String },
    #[error("the terminal does not obey")]
    Io(#[from] io::Error),
}

/// A terminal.
pub struct Device {
    inputs: mpsc::Receiver<Input>,
    output: Box<dyn Write + Send>,
    size: Box<dyn Fn() -> (u16, u16) + Send>,
    /// What a real terminal was told; undone when it is dropped.
    modes: Option<Modes>,
    /// They read the terminal and wait for signals, and end with the device.
    readers: JoinSet<()>,
    title: String,
}

impl Device {
    /// Takes over the terminal of the process. `term` is what the environment calls it. Needs a tokio runtime.
    pub fn open(term: Option<&str>) -> Result<Self, DeviceError> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(DeviceError::NotATerminal);
        }
        if let None | Some("" | "dumb") = term {
            return Err(DeviceError::Dumb { term: term.unwrap_or_default().to_owned() });
        }
        // Before anything is changed, so that no signal finds nobody who would change it back.
        #[cfg(unix)]
        let signals = Signals::new()?;
        let modes = Modes::enter()?;
        let (sender, inputs) = mpsc::channel(ROOM);
        let mut readers = JoinSet::new();
        readers.spawn(read(sender.clone()));
        #[cfg(unix)]
        readers.spawn(signals.wait(sender));
        let size = || crossterm::terminal::size().unwrap_or((80, 24));
        let output = Box::new(io::stdout());
        Ok(Self { inputs, output, size: Box::new(size), modes: Some(modes), readers, title: String::new() })
    }

    /// A device that is no terminal of this process.
    pub fn new(
        inputs: mpsc::Receiver<Input>,
        output: impl Write + Send + 'static,
        size: impl Fn() -> (u16, u16) + Send + 'static,
    ) -> Self {
        Self {
            inputs,
            output: Box::new(output),
            size: Box::new(size),
            modes: None,
            readers: JoinSet::new(),
            title: String::new(),
        }
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        let (width, height) = (self.size)();
        (usize::from(width).max(1), usize::from(height).max(1))
    }

    /// What comes next. Safe to drop and call again.
    pub async fn next(&mut self) -> Input {
        self.inputs.recv().await.unwrap_or(Input::Terminated)
    }

    pub fn write(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.output.write_all(text.as_bytes())?;
        self.output.flush()
    }

    /// Names the window.
    pub fn set_title(&mut self, title: &str) -> io::Result<()> {
        let title = crate::text::printable(title).into_owned();
        if title == self.title {
            return Ok(());
        }
        self.write(&format!("\x1b]0;{title}\x07"))?;
        self.title = title;
        Ok(())
    }

    /// Stops the process until somebody lets it go on, as ctrl+z does elsewhere.
    pub fn suspend(&mut self) -> io::Result<()> {
        let Some(modes) = self.modes.take() else { return Ok(()) };
        drop(modes);
        #[cfg(unix)]
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP)?;
        self.modes = Some(Modes::enter()?);
        Ok(())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.readers.abort_all();
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("size", &self.size()).finish_non_exhaustive()
    }
}

async fn read(sender: mpsc::Sender<Input>) {
    let mut events = EventStream::new();
    let mut rejoin = Rejoin::default();
    loop {
        let event =
            if rejoin.is_waiting() { timeout(rejoin::GRACE, events.next()).await } else { Ok(events.next().await) };
        let inputs = match event {
            Err(_) => rejoin.expire(),
            Ok(None) => break,
            Ok(Some(event)) => input(event).map(|input| rejoin.take(input)).unwrap_or_default(),
        };
        for input in inputs {
            if sender.send(input).await.is_err() {
                return;
            }
        }
    }
    // Nobody types any more; if nobody listens either, that is no loss.
    let _ = sender.send(Input::Terminated).await;
}

/// What an event means here, if anything.
fn input(event: io::Result<Event>) -> Option<Input> {
    match event {
        Ok(Event::Key(key)) => Some(Input::Key(key)),
        Ok(Event::Paste(text)) => Some(Input::Paste(text)),
        Ok(Event::Resize(..)) => Some(Input::Resize),
        Ok(Event::FocusGained | Event::FocusLost | Event::Mouse(_)) => None,
        Err(error) => {
            tracing::warn!(%error, "the terminal cannot be read");
            Some(Input::Terminated)
        }
    }
}

/// The signals that ask a process to end.
#[cfg(unix)]
struct Signals {
    terminate: Signal,
    /// Heard even where somebody wants it ignored: nobody can go on in a terminal that is gone.
    hangup: Signal,
    interrupt: Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn wait(mut self, sender: mpsc::Sender<Input>) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        // The device may be gone already.
        let _ = sender.send(Input::Terminated).await;
    }
}
