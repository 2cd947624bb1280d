//! Whatever runs when we end is gone with us: after the two signals of `timeout`, which go to us and to our group, and after
//! the one that nobody can catch.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use pi_testkit::{model::Answer, server::Script};
use serde_json::json;

use crate::{
    room::{Room, read},
    times,
};

/// However slow the machine is.
const LONGEST: Duration = Duration::from_secs(9);

/// Something in the background, something in a session of its own, and the command itself.
const COMMAND: &str = "sleep 600 & setsid sleep 600 & echo > started; sleep 600";

/// When the signals come.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// When the command runs.
    Running,
    /// So long after the model was asked, while the command may be on its way.
    Asked(Duration),
}

#[test]
fn two_signals_leave_no_process_behind() {
    let mut random = fastrand::Rng::with_seed(9);
    for round in 0..times("PI_TEST_KILLS", 6) {
        let moment = match round % 2 {
            0 => Moment::Running,
            _ => Moment::Asked(Duration::from_millis(random.u64(0..40))),
        };
        let between = [Duration::ZERO, Duration::from_micros(500), Duration::from_millis(10)][round % 3];
        check(moment, between);
    }
}

#[test]
fn limit_of_file_sizes_does_not_end_a_run() {
    let answer = format!("{} the end", "word ".repeat(5_000));
    let room = Room::new(Script::new().then(Answer::new().text(&answer).reply()));
    let mut pi = room.pi();
    pi.args(["--model", "scripted/model", "-p", "Hello"]);
    let ended = limited(&pi, &room.project()).output().expect("it starts");
    let (said, told) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.status.signal(), None, "{told}");
    assert!(said.trim_end().ends_with("the end"), "{told}");
    assert!(told.contains("the session is kept in memory only"), "{told}");
}

/// The command, with files of a few kilobytes at most.
#[expect(clippy::disallowed_methods, reason = "a shell sets the limit")]
fn limited(command: &Command, folder: &Path) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", r#"ulimit -f 16 && exec "$@""#, "sh"]).arg(command.get_program()).args(command.get_args());
    limited.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(folder);
    limited
}

#[test]
fn killed_pi_leaves_no_process_behind() {
    for _ in 0..times("PI_TEST_KILLS", 2) {
        let (room, mut child) = begin();
        until("the command runs", || read(&room.project().join("started")).is_some());
        assert!(living_in(&room.project()) >= 4, "the command and its children are found");
        child.kill().expect("it is ours");
        child.wait().expect("it is dead");
        until("nothing is left", || living_in(&room.project()) == 0);
    }
}

#[test]
fn what_a_pi_inside_of_a_command_started_is_gone_with_us() {
    let pi = env!("CARGO_BIN_EXE_pi");
    let inner = format!("{pi} --provider-dir ../providers --model scripted/model --no-session -p Go");
    let outer = Answer::new().call("c1", "bash", &json!({ "command": inner }));
    let (room, mut child) = begin_with(Script::new().then(outer.reply()).then(call().reply()));
    until("the command runs", || read(&room.project().join("started")).is_some());
    terminate(&child);
    until("pi ends", || child.try_wait().expect("it is ours").is_some());
    until("nothing is left", || living_in(&room.project()) == 0);
}

#[test]
fn what_a_command_left_behind_on_purpose_outlives_us() {
    let command = "(sleep 600 & echo $! > left) > /dev/null 2>&1";
    let calls = Answer::new().call("c1", "bash", &json!({ "command": command }));
    let room = Room::new(Script::new().then(calls.reply()).then(Answer::new().text("Done").reply()));
    let mut pi = room.pi();
    pi.args(["--model", "scripted/model", "-p", "Go"]).stdin(Stdio::null());
    assert!(pi.output().expect("pi starts").status.success());
    let left: i32 = read(&room.project().join("left")).expect("a file").trim().parse().expect("a number");
    assert_eq!(living_in(&room.project()), 1);
    kill(Pid::from_raw(left), Signal::SIGKILL).expect("it is there");
}

fn call() -> Answer {
    Answer::new().call("c1", "bash", &json!({ "command": COMMAND }))
}

/// A pi that runs the command.
fn begin() -> (Room, Child) {
    begin_with(Script::new().then(call().reply()))
}

/// A pi whose model says this.
fn begin_with(script: Script) -> (Room, Child) {
    let room = Room::new(script);
    let mut command = room.pi();
    command.args(["--model", "scripted/model", "-p", "Go"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("pi starts");
    (room, child)
}

fn check(moment: Moment, between: Duration) {
    let (room, mut child) = begin();
    match moment {
        Moment::Running => until("the command runs", || read(&room.project().join("started")).is_some()),
        Moment::Asked(after) => {
            let asked = async { tokio::time::timeout(LONGEST, room.server.received(1)).await };
            room.runtime.block_on(asked).expect("the model is asked");
            thread::sleep(after);
        }
    }
    terminate(&child);
    thread::sleep(between);
    terminate(&child);
    until("pi ends", || child.try_wait().expect("it is ours").is_some());
    assert_eq!(child.wait().expect("it ended").code(), Some(143));
    until(&format!("nothing is left ({moment:?}, {between:?})"), || living_in(&room.project()) == 0);
}

/// One that has ended already is a process until it is waited for.
fn terminate(child: &Child) {
    kill(Pid::from_raw(child.id().try_into().expect("a process id")), Signal::SIGTERM).expect("pi is there");
}

#[expect(clippy::disallowed_methods, reason = "a process is waited for, which no clock of ours knows")]
fn until(what: &str, is_so: impl FnMut() -> bool) {
    let mut is_so = is_so;
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < LONGEST, "it never came that {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// How many processes work in a folder. The kernel does not tell where the dead are.
#[expect(clippy::disallowed_methods, reason = "the kernel shows its processes as files")]
fn living_in(folder: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").expect("the processes");
    let here = processes.filter_map(|entry| std::fs::read_link(entry.ok()?.path().join("cwd")).ok());
    here.filter(|place| place == folder).count()
}
