//! The disk of the journal or of the sessions is full: what changes something is refused with the reason, reads go on, and
//! when there is room again so does everything else, without a restart.
//!
//! The folder is a small disk in memory, which only the server sees: it is mounted in a namespace of its own.

use std::{
    fs::OpenOptions,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use nix::sys::signal::Signal;
use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};

use crate::{
    door::{get, http},
    room::make_folder,
    serving::{Serving, fits},
};

/// Mounts the small disk at its first argument and becomes the rest.
const MOUNT: &str = r#"mount -t tmpfs -o size=2m tmpfs "$0" && exec "$@""#;

/// The command, with a small disk where the server keeps its files.
#[expect(clippy::disallowed_methods, reason = "unshare is a program of the machine")]
fn cramped(command: &Command, folder: &PathBuf) -> Command {
    let mut cramped = Command::new("unshare");
    cramped.args(["--user", "--map-root-user", "--mount", "sh", "-c", MOUNT]).arg(folder);
    cramped.arg(command.get_program()).args(command.get_args());
    cramped.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    cramped
}

/// Whether this machine lets us mount anything.
fn can_mount() -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = cramped(&nothing(), &folder.path().to_owned());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[expect(clippy::disallowed_methods, reason = "true is a program of the machine")]
fn nothing() -> Command {
    Command::new("true")
}

/// Names the session until that is refused, and says how often it was done. What has room of its own, or a page that is not full, may do for a few more.
async fn first_refusal(client: &mut Client) -> (u64, Value) {
    for number in 0..2000 {
        let answer = client.ask(&name(number)).await;
        if answer["success"] == false {
            return (u64::try_from(number).expect("a count"), answer);
        }
    }
    panic!("the disk is full, and names are written all the same");
}

/// Names the session until that is done.
async fn first_success(client: &mut Client) {
    for number in 6000.. {
        let answer = client.ask(&name(number)).await;
        if answer["success"] == true {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert!(number < 6400, "there is room again, and nothing is written: {answer}");
    }
}

#[test]
fn full_disk_refuses_changes_lets_reads_pass_and_recovers() {
    if !can_mount() {
        return eprintln!("SKIPPED: nothing can be mounted here, so that no disk gets full");
    }
    let (serving, filler) = serve_from(Script::new(), "agent/server");
    serving.block_on(async {
        let mut client = with_session(&serving).await;
        fill(&filler);
        let (_, refused) = first_refusal(&mut client).await;
        let error = refused["error"].as_str().expect("a reason");
        assert!(error.contains("the journal's disk is full; make room on it"), "{refused}");
        let later = client.ask(&name(5000)).await;
        assert!(later["error"].as_str().is_some_and(|it| it.contains("agent/server/journal.sqlite")), "{later}");
        assert!(fits(&later, &json!({"success": false, "code": "journal_unavailable"})), "{later}");
        assert!(later["hint"].as_str().is_some_and(|hint| hint.contains("reads work meanwhile")), "{later}");
        let state = client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
        assert_eq!(state["success"], true, "{state}");
        let health = client.ask(&json!({"type": "health_check", "id": "h"})).await;
        assert!(health["data"]["issues"][0].as_str().is_some_and(|issue| issue.contains("disk is full")), "{health}");
        remove(&filler);
        first_success(&mut client).await;
        let health = client.ask(&json!({"type": "health_check", "id": "h2"})).await;
        assert!(fits(&health, &json!({"data": {"healthy": true}})), "{health}");
    });
}

#[test]
fn runs_are_stopped_on_a_full_disk() {
    if !can_mount() {
        return eprintln!("SKIPPED: nothing can be mounted here, so that no disk gets full");
    }
    let held = Script::new().then(Answer::new().text("Thinking").hold().text(" done.").reply());
    let (serving, filler) = serve_from(held, "agent/server");
    serving.block_on(async {
        let mut client = with_session(&serving).await;
        let made = client.ask(&json!({"type": "create_session", "id": "make t", "sessionId": "t"})).await;
        assert_eq!(made["success"], true, "{made}");
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        serving.room.server.received(1).await;
        client.send(&json!({"type": "bash", "id": "b", "sessionId": "t", "command": "sleep 1000"})).await;
        let is_start = |frame: &Value| frame["type"] == "command_started" && frame["data"]["commandId"] == "b";
        client.expect("the start of the command", is_start).await;
        fill(&filler);
        first_refusal(&mut client).await;
        for (stop, session, stopped) in [("abort", "s", "p"), ("abort_bash", "t", "b")] {
            let command = json!({"type": stop, "id": stop, "sessionId": session});
            let answer = client.ask(&command).await;
            assert!(fits(&answer, &json!({"success": true})), "{answer}");
            // That it ended is told; how cannot be kept, and so is not.
            let ended = client.answer(stopped).await;
            assert!(fits(&ended, &json!({"success": false, "code": "storage_failed"})), "{ended}");
            let again = client.ask(&command).await;
            assert!(fits(&again, &json!({"success": true, "replayed": true})), "{again}");
        }
        let steered = json!({"type": "steer", "id": "steer", "sessionId": "s", "message": "Left"});
        let steered = client.ask(&steered).await;
        assert!(fits(&steered, &json!({"success": false, "code": "journal_unavailable"})), "{steered}");
        remove(&filler);
        first_success(&mut client).await;
    });
}

/// Lets the server write files of so many bytes and no more; `None`: of any size.
#[cfg(target_os = "linux")]
fn limit_files(serving: &Serving, bytes: Option<u64>) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let server = Pid::from_raw(serving.id().as_raw());
    prlimit(server, Resource::Fsize, Rlimit { current: bytes, maximum: None }).expect("it is our child");
}

#[test]
#[cfg(target_os = "linux")]
fn limit_of_file_sizes_refuses_changes_lets_reads_pass_and_ends_nobody() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        assert_eq!(client.ask(&name(9000)).await["success"], true);
        limit_files(&serving, Some(4096));
        let (_, refused) = first_refusal(&mut client).await;
        let error = refused["error"].as_str().expect("a reason");
        assert!(error.contains("it is at the limit for files of this process (4096 bytes)"), "{refused}");
        let later = client.ask(&name(5000)).await;
        assert!(fits(&later, &json!({"success": false, "code": "journal_unavailable"})), "{later}");
        assert!(later["hint"].as_str().is_some_and(|hint| hint.contains("LimitFSIZE=")), "{later}");
        let state = client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
        assert_eq!(state["success"], true, "{state}");
        limit_files(&serving, None);
        first_success(&mut client).await;
    });
}

#[test]
fn server_starts_on_a_full_disk_and_recovers() {
    if !can_mount() {
        return eprintln!("SKIPPED: nothing can be mounted here, so that no disk gets full");
    }
    // One that was killed leaves the index of the journal's log behind; one that ended does not, and there is no room for it.
    for end in [Signal::SIGKILL, Signal::SIGTERM] {
        starts_on_a_full_disk_after(end);
    }
}

fn starts_on_a_full_disk_after(end: Signal) {
    let mut serving = Serving::start(Script::new());
    serving.end(Signal::SIGTERM);
    let folder = serving.room.at("agent/server");
    let disk = Disk::mount(&folder);
    let mut command = serving.room.pi_to(&["serve"]);
    command.arg("--insecure-no-auth");
    let command = disk.enter(&command, &serving.room.project());
    assert!(serving.start_as(command), "it does not start");
    let first = serving.block_on(async {
        let mut client = with_session(&serving).await;
        client.ask(&name(1)).await
    });
    assert_eq!(first["success"], true, "{first}");
    let filler = disk.path("filler");
    serving.end(end);
    fill(&filler);
    let mut command = serving.room.pi_to(&["serve"]);
    command.arg("--insecure-no-auth");
    let command = disk.enter(&command, &serving.room.project());
    assert!(serving.start_as(command), "it does not start on a full disk");
    serving.block_on(async {
        let mut client = Client::connect(&serving.url("?clientId=c"), None).await.expect("anybody is let in");
        let state = client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
        assert_eq!(state["success"], true, "{state}");
        let again = client.ask(&name(1)).await;
        assert!(fits(&again, &json!({"success": true, "replayed": true})), "{again}");
        let refused = client.ask(&name(2)).await;
        assert!(fits(&refused, &json!({"success": false, "code": "journal_unavailable"})), "{refused}");
        let health = client.ask(&json!({"type": "health_check", "id": "h"})).await;
        assert!(health["data"]["issues"][0].as_str().is_some_and(|issue| issue.contains("disk is full")), "{health}");
        let history = client.ask(&json!({"type": "get_command_history", "id": "past", "commandId": "n1"})).await;
        assert!(fits(&history, &json!({"success": true})), "reads go on: {history}");
        let (status, body) = http(&serving, &get("/readyz", &serving.address, "")).await;
        assert!(status == 503 && body.contains("disk is full"), "{status} {body}");
        remove(&filler);
        first_success(&mut client).await;
        let (status, body) = http(&serving, &get("/readyz", &serving.address, "")).await;
        assert_eq!(status, 200, "{body}");
        let history = client.ask(&json!({"type": "get_command_history", "id": "history", "limit": 1})).await;
        assert_eq!(history["success"], true, "others can read the journal again: {history}");
    });
}

/// A small disk that outlives the servers on it.
struct Disk {
    holder: Child,
    folder: PathBuf,
}

impl Disk {
    /// Mounts it, where only those who [`enter`](Self::enter) see it.
    #[expect(clippy::disallowed_methods, reason = "unshare is a program of the machine")]
    fn mount(folder: &Path) -> Self {
        make_folder(folder);
        let mut holder = Command::new("unshare");
        let held = r#"mount -t tmpfs -o size=2m tmpfs "$0" && echo mounted && exec sleep 1000"#;
        holder.args(["--user", "--map-root-user", "--mount", "sh", "-c", held]).arg(folder);
        let mut holder = holder.stdout(Stdio::piped()).spawn().expect("it could be done a moment ago");
        let mut said = String::new();
        BufReader::new(holder.stdout.take().expect("a pipe")).read_line(&mut said).expect("a line");
        assert_eq!(said, "mounted\n");
        Self { holder, folder: folder.to_owned() }
    }

    /// The command, in this folder of the same files and with the disk among them.
    #[expect(clippy::disallowed_methods, reason = "nsenter is a program of the machine")]
    fn enter(&self, command: &Command, folder: &Path) -> Command {
        let mut entered = Command::new("nsenter");
        entered.args(["--user", "--mount", "--preserve-credentials", "--target", &self.holder.id().to_string()]);
        entered.args(["sh", "-c", r#"cd "$0" && exec "$@""#]).arg(folder);
        entered.arg(command.get_program()).args(command.get_args());
        entered.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        entered
    }

    /// A file on the disk, as it is seen from outside.
    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{}/{name}", self.holder.id(), self.folder.display()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}

#[test]
fn command_that_the_full_disk_cut_is_answered_the_same_whenever_it_is_repeated() {
    if !can_mount() {
        return eprintln!("SKIPPED: nothing can be mounted here, so that no disk gets full");
    }
    let (mut serving, filler) = serve_from(Script::new(), "agent/server");
    let go = serving.room.at("go");
    let wait = format!("while [ ! -e '{}' ]; do sleep 0.05; done", go.display());
    let command = json!({"type": "bash", "id": "b", "sessionId": "s", "command": wait});
    let spoken = |mut answer: Value| {
        let fields = answer.as_object_mut().expect("an answer");
        fields.remove("replayed");
        answer
    };
    serving.block_on(async {
        let mut client = with_session(&serving).await;
        client.send(&command).await;
        let is_start = |frame: &Value| frame["type"] == "command_started" && frame["data"]["commandId"] == "b";
        client.expect("the start of the command", is_start).await;
        fill(&filler);
        first_refusal(&mut client).await;
        crate::room::write(&go, b"");
        let first = client.answer("b").await;
        assert!(fits(&first, &json!({"success": false, "code": "storage_failed"})), "{first}");
        assert!(first["error"].as_str().is_some_and(|it| it.contains("the journal's disk is full")), "{first}");
        assert_eq!(spoken(client.ask(&command).await), first, "while the disk is full");
        remove(&filler);
        first_success(&mut client).await;
        assert_eq!(spoken(client.ask(&command).await), first, "when there is room again");
    });
    serving.end(Signal::SIGTERM);
}

#[test]
fn change_that_does_not_reach_the_session_file_is_no_success() {
    if !can_mount() {
        return eprintln!("SKIPPED: nothing can be mounted here, so that no disk gets full");
    }
    let (serving, filler) = serve_from(Script::new(), "agent/sessions");
    serving.block_on(async {
        let mut client = with_session(&serving).await;
        fill(&filler);
        let (before, refused) = first_refusal(&mut client).await;
        assert!(fits(&refused, &json!({"code": "storage_failed"})), "{refused}");
        assert!(refused["error"].as_str().is_some_and(|error| error.contains("the disk is full")), "{refused}");
        // What is in memory has changed all the same.
        assert_eq!(refused["sessionVersion"], before + 1, "{refused}");
        let health = client.ask(&json!({"type": "health_check", "id": "h"})).await;
        let issue = "session s is not written to its file: the disk is full; what is said in it is in memory only until it can \
                     be written";
        assert!(fits(&health, &json!({"data": {"healthy": false, "issues": [issue]}})), "{health}");
        let metrics = client.ask(&json!({"type": "get_metrics", "id": "m"})).await;
        assert_eq!(metrics["data"]["stores"]["sessionStore"]["unwrittenSessions"], 1, "{metrics}");
        let (_, gauges) = http(&serving, &get("/metrics", &serving.address, "")).await;
        assert!(gauges.contains("pi_server_sessions_unwritten 1"), "{gauges}");
        remove(&filler);
        let answer = client.ask(&name(5000)).await;
        assert!(fits(&answer, &json!({"success": true, "sessionVersion": before + 2})), "{answer}");
        let health = client.ask(&json!({"type": "health_check", "id": "h2"})).await;
        assert!(fits(&health, &json!({"data": {"healthy": true, "issues": []}})), "{health}");
    });
}

/// A server whose folder of this name is a small disk, and a file that can fill it, as it is seen from outside.
fn serve_from(script: Script, folder: &str) -> (Serving, PathBuf) {
    let mut serving = Serving::start(script);
    serving.end(Signal::SIGTERM);
    let folder = serving.room.at(folder);
    make_folder(&folder);
    let mut command = serving.room.pi_to(&["serve"]);
    command.arg("--insecure-no-auth");
    assert!(serving.start_as(cramped(&command, &folder)), "it does not start");
    let filler = PathBuf::from(format!("/proc/{}/root{}/filler", serving.id(), folder.display()));
    (serving, filler)
}

async fn with_session(serving: &Serving) -> Client {
    let mut client = Client::connect(&serving.url("?clientId=c"), None).await.expect("anybody is let in");
    let made = client.ask(&json!({"type": "create_session", "id": "make", "sessionId": "s"})).await;
    assert_eq!(made["success"], true, "{made}");
    client
}

/// A command that makes journal and session longer.
fn name(number: usize) -> Value {
    json!({"type": "set_session_name", "id": format!("n{number}"), "sessionId": "s", "name": "x".repeat(200)})
}

/// Takes all the room that there is.
fn fill(path: &PathBuf) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("there is room for a file");
    for size in [1 << 16, 1 << 12, 1 << 8, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

#[expect(clippy::disallowed_methods, reason = "the world of these tests is made of files")]
fn remove(path: &PathBuf) {
    std::fs::remove_file(path).expect("it is there");
}
