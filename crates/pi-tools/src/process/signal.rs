//! What processes are told by name.

use std::process::ExitStatus;

/// A signal that one process sends another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Abort,
    Alarm,
    Continue,
    Hangup,
    Interrupt,
    Kill,
    Pipe,
    Quit,
    Stop,
    Terminate,
    User1,
    User2,
    Window,
}

const NAMES: [(&str, Signal); 13] = [
    ("SIGABRT", Signal::Abort),
    ("SIGALRM", Signal::Alarm),
    ("SIGCONT", Signal::Continue),
    ("SIGHUP", Signal::Hangup),
    ("SIGINT", Signal::Interrupt),
    ("SIGKILL", Signal::Kill),
    ("SIGPIPE", Signal::Pipe),
    ("SIGQUIT", Signal::Quit),
    ("SIGSTOP", Signal::Stop),
    ("SIGTERM", Signal::Terminate),
    ("SIGUSR1", Signal::User1),
    ("SIGUSR2", Signal::User2),
    ("SIGWINCH", Signal::Window),
];

impl Signal {
    /// As the system writes it: `SIGTERM`.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(own, _)| *own == name).map(|(_, signal)| *signal)
    }

    /// Whether whoever gets it is meant to end.
    pub fn asks_to_end(self) -> bool {
        match self {
            Self::Abort | Self::Hangup | Self::Interrupt | Self::Kill | Self::Quit | Self::Terminate => true,
            Self::Alarm | Self::Continue | Self::Pipe | Self::Stop | Self::User1 | Self::User2 | Self::Window => false,
        }
    }
}

/// The name of the signal that ended a process, where one did.
#[cfg(unix)]
pub fn signal_name(status: ExitStatus) -> Option<String> {
    use std::os::unix::process::ExitStatusExt;

    let number = status.signal()?;
    let ours = NAMES.iter().find(|(_, signal)| super::unix::number(*signal).as_raw() == number);
    let name = ours.map(|(name, _)| *name).or_else(|| super::unix::fault_name(number));
    Some(name.map_or_else(|| format!("SIG{number}"), str::to_owned))
}

#[cfg(not(unix))]
pub fn signal_name(_: ExitStatus) -> Option<String> {
    None
}
