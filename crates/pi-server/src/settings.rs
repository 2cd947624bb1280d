//! What an operator may choose.
//!
//! [`Settings`] is what a server is started with. [`resolve`](resolve()) makes them of what was said in the person's settings file, in
//! variables and in arguments, and tells where each value comes from; [`KEYS`] lists every name with its range and unit.

mod keys;
mod list;
mod resolve;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use pi_engine::Config;

pub use self::{
    keys::{Key, Kind, Number, Unit, find},
    list::KEYS,
    resolve::{Fault, Origin, Problem, Resolved, Row, Said, SaidInFile, resolve, said_in, said_in_file},
};

use crate::{feed, journal, rates, roots, speaker::Pace};

/// How a server behaves. Every number has a default that fits a developer's machine.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens; nowhere, if it speaks through its input and output only.
    pub listen: Option<SocketAddr>,
    /// Further names by which it is reached.
    pub hosts: Vec<String>,
    /// Below which folders clients may let an agent work, as it was said.
    pub roots: Vec<String>,
    /// What `~` means.
    pub home: Option<PathBuf>,
    /// Its own folder: the token, the journal.
    pub folder: PathBuf,
    pub frame: pi_wire::Limits,
    pub rates: rates::Limits,
    pub sessions: usize,
    pub connections: usize,
    /// Commands of one client that have no answer yet.
    pub pending: usize,
    /// Bytes of frames that may wait for a client.
    pub outbox: usize,
    /// How many events of a session are kept for clients that come back.
    pub kept: feed::Limits,
    pub pace: Pace,
    pub heartbeat: Heartbeat,
    /// How long commands in flight have when the server ends.
    pub drain: Duration,
    pub retention: journal::Retention,
    /// Whether what an earlier server left in the folder is remembered.
    pub earlier: journal::Earlier,
    /// The journal never gets larger than this.
    pub journal_bytes: u64,
    /// How long commands may take and how long their outcomes are known. Its epoch, and what a client may have pending, are
    /// set when the server starts.
    pub engine: Config,
    pub log: Log,
}

/// What is told of the server's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    pub level: LogLevel,
    pub form: LogForm,
}

/// What is told at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    pub const WORDS: [(&str, Self); 6] = [
        ("off", Self::Off),
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];
}

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogForm {
    /// Text on a terminal, else JSON.
    Auto,
    Text,
    Json,
}

impl LogForm {
    pub const WORDS: [(&str, Self); 3] = [("auto", Self::Auto), ("text", Self::Text), ("json", Self::Json)];
}

/// How a connection that nobody holds any more is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat {
    pub every: Duration,
    /// How long an answer may take.
    pub patience: Duration,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self { every: Duration::from_secs(30), patience: Duration::from_secs(10) }
    }
}

impl Settings {
    /// The defaults, with this folder for what the server keeps.
    pub fn usual(folder: PathBuf) -> Self {
        Self {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 3141))),
            hosts: Vec::new(),
            roots: [roots::HERE, roots::HOME].map(str::to_owned).to_vec(),
            home: None,
            folder,
            frame: pi_wire::Limits::default(),
            rates: rates::Limits::default(),
            sessions: 1000,
            connections: 1000,
            pending: 100,
            outbox: 4 << 20,
            kept: feed::Limits::default(),
            pace: Pace::default(),
            heartbeat: Heartbeat::default(),
            drain: Duration::from_secs(30),
            retention: journal::Retention::default(),
            earlier: journal::Earlier::Kept,
            journal_bytes: 4 << 30,
            engine: Config::standard(),
            log: Log { level: LogLevel::Info, form: LogForm::Auto },
        }
    }

    /// How a server with these settings is started, for people who look for it.
    pub fn started_as(&self) -> String {
        match self.listen {
            Some(at) => format!("pi serve --listen {at}"),
            None => "pi serve --stdio".to_owned(),
        }
    }

    pub fn journal(&self) -> PathBuf {
        self.folder.join("journal.sqlite")
    }

    /// Where the server that runs is reached.
    pub fn address(&self) -> PathBuf {
        self.folder.join("address")
    }

    pub fn token(&self) -> PathBuf {
        self.folder.join("token")
    }
}
