//! Servers that we did not write, started for a test and ended with it.
//!
//! `cargo xtask test` installs them and names their folder in a variable; where it is not set, or a server does not start,
//! a test says so and is skipped.
#![expect(
    clippy::disallowed_methods,
    reason = "a test peer is a process with files, and waiting for it needs the clock"
)]

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The variable that names the folder in which the peers are installed.
pub const VARIABLE: &str = "PI_TEST_PEERS";

/// The name under which the language model is served.
pub const MODEL: &str = "smollm2-135m";

/// Loading the weights on a busy machine takes seconds, never a minute.
const START: Duration = Duration::from_secs(60);

/// A running server on loopback. It is killed when this is dropped.
pub struct Peer {
    address: SocketAddr,
    child: Child,
}

/// Why there is no peer.
#[derive(Debug)]
pub enum NoPeer {
    /// Nobody installed it: a reason to skip.
    NotInstalled,
    /// It is installed and does not work: a reason to fail.
    Broken(String),
}

impl Peer {
    /// A language model of 135 million parameters: Chat Completions and Messages, streaming, forced tool calls.
    pub fn model() -> Result<Self, NoPeer> {
        let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/chat.jinja");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/model.py");
        Self::start("/health", |python, port| {
            let mut command = Command::new(python);
            command.arg(script).arg(port.to_string()).arg(MODEL).arg(template);
            command
        })
    }

    /// A mock of every provider whose manifest lies in `manifests/v2/providers`: plain chats, streams and injected errors.
    pub fn mock(manifests: &Path) -> Result<Self, NoPeer> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/mock.py");
        Self::start("/health", |python, port| {
            let mut command = Command::new(python);
            command.arg(script).arg(port.to_string()).env("MANIFEST_DIR", manifests);
            command
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn start(health: &str, command: impl FnOnce(&Path, u16) -> Command) -> Result<Self, NoPeer> {
        let folder = std::env::var_os(VARIABLE).map(PathBuf::from).ok_or(NoPeer::NotInstalled)?;
        let address = free_address().map_err(|error| NoPeer::Broken(error.to_string()))?;
        let mut command = command(&folder.join("bin").join("python"), address.port());
        // It ends when its input does, so that a killed test leaves no server behind that would share the next one's port.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| NoPeer::Broken(format!("it cannot be started: {error}")))?;
        let mut peer = Self { address, child };
        peer.wait(health)?;
        Ok(peer)
    }

    fn wait(&mut self, health: &str) -> Result<(), NoPeer> {
        let begin = Instant::now();
        while begin.elapsed() < START {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(NoPeer::Broken(format!("it ended with {status}")));
            }
            if answers(self.address, health) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(NoPeer::Broken(format!("it did not answer within {START:?}")))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The model's server ignores a polite request. An error means that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

fn answers(address: SocketAddr, path: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        Ok(&status == b"HTTP/1.1 200")
    };
    ask().unwrap_or(false)
}
