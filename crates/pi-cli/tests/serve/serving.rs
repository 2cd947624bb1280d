//! A server that runs, and ways to it.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};
use pi_testkit::{Client, Script};
use serde_json::{Value, json};

use crate::room::{self, Room};

/// The real binary as a server, in a project with a scripted model.
pub(crate) struct Serving {
    pub(crate) room: Room,
    child: Child,
    log: Log,
    /// `127.0.0.1:41235`
    pub(crate) address: String,
}

/// Who is asked where a test does not say it.
const ASKED: [&str; 2] = ["--model", "scripted/model"];

/// What becomes of a server's log.
#[derive(Clone)]
enum Log {
    /// Warnings are told among the test's own lines.
    Quiet,
    /// Everything goes into this file, from its beginning when a server starts.
    Whole(PathBuf),
}

impl Serving {
    pub(crate) fn start(script: Script) -> Self {
        Self::with(script, &[])
    }

    /// With more arguments.
    pub(crate) fn with(script: Script, arguments: &[&str]) -> Self {
        Self::prepared(script, arguments, |_| {})
    }

    /// With more arguments, in a room in which something was done before.
    pub(crate) fn prepared(script: Script, arguments: &[&str], before: impl FnOnce(&Room)) -> Self {
        let room = Room::new(script);
        before(&room);
        Self::begin(room, Log::Quiet, &[&ASKED, arguments].concat())
    }

    /// The same, where nobody says which model is asked but these arguments, if they do.
    pub(crate) fn unasked(script: Script, arguments: &[&str], before: impl FnOnce(&Room)) -> Self {
        let room = Room::new(script);
        before(&room);
        Self::begin(room, Log::Quiet, arguments)
    }

    /// With a log of everything in a file that [`Self::log`] reads.
    pub(crate) fn logged(script: Script) -> Self {
        Self::prepared_and_logged(script, |_| {})
    }

    /// Both.
    pub(crate) fn prepared_and_logged(script: Script, before: impl FnOnce(&Room)) -> Self {
        let room = Room::new(script);
        before(&room);
        let log = Log::Whole(room.at("log"));
        Self::begin(room, log, &ASKED)
    }

    /// The same, where clients may be silent for long.
    pub(crate) fn logged_and_patient(script: Script) -> Self {
        let room = Room::new(script);
        room::write(&room.at("agent/settings.json"), br#"{"server": {"idleCloseMs": 3600000}}"#);
        let log = Log::Whole(room.at("log"));
        Self::begin(room, log, &ASKED)
    }

    fn begin(room: Room, log: Log, arguments: &[&str]) -> Self {
        let (child, address) = launch(&room, room.pi_to(&["serve"]), &log, arguments);
        Self { room, child, log, address: address.unwrap_or_else(|said| panic!("it says {said:?}")) }
    }

    /// What the server that runs, or ran last, has told so far.
    pub(crate) fn log(&self) -> String {
        match &self.log {
            Log::Quiet => String::new(),
            Log::Whole(path) => room::read(path).expect("it was made before the server began"),
        }
    }

    /// Ends the server in this way and starts it again in the same place.
    pub(crate) fn restart(&mut self, signal: Signal) {
        self.end(signal);
        self.start_again();
    }

    /// Starts the server in the same place.
    pub(crate) fn start_again(&mut self) {
        assert!(self.start_as(self.room.pi_to(&["serve"])), "it does not start again");
    }

    /// Kills the server with everything in its process group.
    pub(crate) fn end_group(&mut self) {
        let group = self.id();
        // It may have ended by itself.
        let _ = killpg(group, Signal::SIGKILL);
        self.wait();
        // We wait for the first of the group alone, and the server holds its journal as long as it dies.
        while killpg(group, None).is_ok() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Starts the server again by this command, and says whether it got as far as to listen.
    pub(crate) fn start_as(&mut self, command: Command) -> bool {
        let (child, address) = launch(&self.room, command, &self.log, &ASKED);
        self.child = child;
        let listens = address.is_ok();
        if let Ok(address) = address {
            self.address = address;
        }
        listens
    }

    /// Sends a signal and waits for the end; the exit code, if it is one.
    pub(crate) fn end(&mut self, signal: Signal) -> Option<i32> {
        self.signal(signal);
        self.wait()
    }

    /// Waits for the end.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("our child").code()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.id(), signal).expect("nobody has waited for its end");
    }

    pub(crate) fn id(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("a process id"))
    }

    pub(crate) fn token(&self) -> String {
        room::read(&self.room.at("agent/server/token")).expect("the server made one").trim().to_owned()
    }

    pub(crate) fn url(&self, query: &str) -> String {
        format!("ws://{}/ws{query}", self.address)
    }

    /// A client that was let in.
    pub(crate) async fn open(&self, query: &str) -> Client {
        Client::connect(&self.url(query), Some(&self.token())).await.expect("the token is good")
    }

    /// A client that was let in and has heard the server's greeting.
    pub(crate) async fn connect(&self, query: &str) -> Client {
        let mut client = self.open(query).await;
        client.expect("server_ready", |frame| frame["type"] == "server_ready").await;
        client.expect("the summary", |frame| frame["type"] == "startup_recovery_summary").await;
        client
    }

    /// The same, with a session `s` that it made.
    pub(crate) async fn with_session(&self, query: &str) -> Client {
        let mut client = self.connect(query).await;
        let made = client.ask(&json!({"type": "create_session", "id": "make", "sessionId": "s"})).await;
        assert_eq!(made["success"], true, "{made}");
        client
    }

    /// Waits for something that happens on the test's runtime.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.room.runtime.block_on(future)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Runs the command with what every server of a test is told; the address at which it listens, or what it says instead.
fn launch(room: &Room, mut command: Command, log: &Log, arguments: &[&str]) -> (Child, Result<String, String>) {
    let level = match log {
        Log::Quiet => "warn",
        Log::Whole(path) => {
            command.stderr(empty(path));
            "trace"
        }
    };
    command.args(["--listen", "127.0.0.1:0", "--log", level]).args(arguments).current_dir(room.project());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    lines.read_line(&mut first).expect("a line");
    let address = first.trim().strip_prefix("pi serves on http://").map(ToOwned::to_owned);
    // A pipe that nobody reads would stop it.
    thread::spawn(move || drop(std::io::copy(&mut lines, &mut std::io::sink())));
    (child, address.ok_or(first))
}

#[expect(clippy::disallowed_methods, reason = "a file in a room of the test")]
fn empty(path: &Path) -> File {
    File::create(path).expect("a file")
}

/// What `frame` says where `shape` says something. Lists must be as long.
pub(crate) fn fits(frame: &Value, shape: &Value) -> bool {
    match (frame, shape) {
        (Value::Object(frame), Value::Object(shape)) => {
            shape.iter().all(|(name, shape)| frame.get(name).is_some_and(|value| fits(value, shape)))
        }
        (Value::Array(frame), Value::Array(shape)) => {
            frame.len() == shape.len() && frame.iter().zip(shape).all(|(value, shape)| fits(value, shape))
        }
        (frame, shape) => frame == shape,
    }
}
