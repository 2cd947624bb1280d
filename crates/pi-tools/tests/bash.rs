//! `bash`, with real processes.

#![expect(clippy::disallowed_methods, reason = "tests look at real files and processes beside the seams")]

#[expect(dead_code, reason = "each test uses the part of the room that it needs")]
#[path = "support/room.rs"]
mod room;

use std::{
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use pi_tools::{BashExecution, Environment, Failure, Output, Progress, Withheld, progress};
use room::Room;

#[tokio::test]
async fn model_reads_what_was_printed_and_how_it_ended() {
    let room = Room::new();
    room.put("here", "");
    for (command, expected) in [
        ("echo hi", "hi\n"),
        ("true", "(no output)"),
        ("exit 3", "error: (no output)\n\nCommand exited with code 3"),
        ("echo hi; exit 3", "error: hi\n\n\nCommand exited with code 3"),
        ("kill -9 $$", "error: (no output)\n\nCommand exited with code 137"),
        ("echo 1; echo 2 >&2; echo 3; echo 4 >&2", "1\n2\n3\n4\n"),
        ("cat", "(no output)"),
        ("ls", "here\n"),
        ("exec >&- 2>&-; exit 4", "error: (no output)\n\nCommand exited with code 4"),
        ("printf '\\033[31mred\\033[0m \\x00\\xff'", "red \u{fffd}"),
        ("[[ $BASH_VERSION ]] && echo bash", "bash\n"),
    ] {
        assert_eq!(room.told("bash", json!({ "command": command })).await, expected, "{command}");
    }
}

#[tokio::test]
async fn shell_and_prefix_come_from_the_settings() {
    let room = Room::with(|settings| {
        settings.shell.path = Some("/bin/sh".into());
        settings.shell.prefix = Some("greeting=hello".to_owned());
    });
    assert_eq!(room.told("bash", json!({ "command": "echo $greeting $0" })).await, "hello /bin/sh\n");
    let room = Room::with(|settings| settings.shell.path = Some("/no/shell".into()));
    let told = room.told("bash", json!({ "command": "true" })).await;
    assert_eq!(told, "error: The shell of the settings is not there: /no/shell");
}

#[tokio::test]
async fn project_that_is_gone_is_named() {
    let room = Room::new();
    std::fs::remove_dir_all(room.at("")).expect("a folder");
    let told = room.told("bash", json!({ "command": "true" })).await;
    assert_eq!(told, format!("error: Working directory does not exist: {}", room.workspace.project()));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn command_does_not_follow_a_link_that_took_the_place_of_its_folder() {
    let room = Room::new();
    let started = |command: &str| {
        let call = json!({ "command": command });
        async { room.told("bash", call).await }
    };
    assert_eq!(started("pwd; echo $PWD").await, format!("{0}\n{0}\n", room.workspace.project()));
    let (project, elsewhere) = (room.at(""), room.beside("elsewhere"));
    std::fs::rename(&project, &elsewhere).expect("it moves");
    std::os::unix::fs::symlink(&elsewhere, room.beside("project")).expect("a link");
    let told = started("touch ran").await;
    assert!(told.ends_with("the working directory is a link to somewhere else by now"), "{told}");
    assert!(!elsewhere.join("ran").exists());
}

#[tokio::test]
async fn secrets_are_not_in_the_environment() {
    let inherited = [("OPENAI_API_KEY", "sk-1"), ("ODD", "sk-2"), ("GH_TOKEN", "passed"), ("PLAIN", "plain")];
    let withheld = Withheld { credentials: vec!["ODD".to_owned()], passed: vec!["GH_TOKEN".to_owned()] };
    let inherited = inherited.map(|(name, value)| (name.into(), value.into()));
    let environment = Environment::new(inherited, &withheld).with("PATH", "/usr/bin:/bin").with("PI_SESSION_ID", "s1");
    let room = Room::with(|settings| settings.environment = environment);
    let told =
        room.told("bash", json!({ "command": "env | grep -v '^\\(_\\|PWD\\|SHLVL\\|PI_CALL\\)=' | sort" })).await;
    assert_eq!(told, "GH_TOKEN=passed\nPATH=/usr/bin:/bin\nPI_SESSION_ID=s1\nPLAIN=plain\n");
}

#[tokio::test]
async fn command_that_fails_without_a_variable_is_told_how_to_pass_it() {
    let inherited = [("GH_PAT", "0123456789abcdef"), ("DATABASE_URL", "postgres://me:hush-hush@host/db")];
    let inherited = inherited.map(|(name, value)| (name.into(), value.into()));
    let environment = Environment::new(inherited, &Withheld::default()).with("PATH", "/usr/bin:/bin");
    let room = Room::with(|settings| settings.environment = environment);
    let told = room.told("bash", json!({ "command": "test -n \"$GH_PAT\"" })).await;
    let expected = "error: (no output)\n\nCommand exited with code 1\n\n[GH_PAT is set and not passed to commands, because of the \
                    secret in it. The user can allow it in settings.json: \"passEnvironment\": [\"GH_PAT\"]]";
    assert_eq!(told, expected);
    let told = room.told("bash", json!({ "command": "echo no DATABASE_URL; false" })).await;
    assert!(told.ends_with("\"passEnvironment\": [\"DATABASE_URL\"]]"), "{told}");
    assert_eq!(room.told("bash", json!({ "command": "echo \"<$GH_PAT>\"" })).await, "<>\n");
}

#[tokio::test]
async fn late_command_is_killed_and_its_output_kept() {
    let room = Room::new();
    let begun = Instant::now();
    let told = room.told("bash", json!({ "command": "echo begun; sleep 60; echo never", "timeout": 0.3 })).await;
    assert_eq!(told, "error: begun\n\n\nCommand timed out after 0.3 seconds");
    let told = room.told("bash", json!({ "command": "exec >&- 2>&-; sleep 60", "timeout": "1" })).await;
    assert_eq!(told, "error: Command timed out after 1 seconds");
    assert!(begun.elapsed() < Duration::from_secs(8));
}

/// Starts processes that get away from their group, their session, their parent or their environment, and writes down
/// their numbers.
const ESCAPES: &str = "
    sleep 1000 & echo $! >> ids
    setsid sleep 1001 & echo $! >> ids
    (setsid bash -c 'sleep 1002 & echo $! >> ids' &)
    env -i sleep 1003 & echo $! >> ids
    setsid env -i sleep 1004 & echo $! >> ids
    until [ $(wc -l < ids) = 5 ]; do sleep 0.01; done
    echo ready
    sleep 1005";

/// The processes that `ESCAPES` wrote down and that still run.
fn alive(room: &Room) -> Vec<String> {
    let ids = room.text("ids");
    let is_alive = |id: &&str| {
        let stat = std::fs::read_to_string(Path::new("/proc").join(id).join("stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    ids.lines().filter(is_alive).map(str::to_owned).collect()
}

/// A report of a command that still runs.
fn so_far(text: &str) -> Output {
    Output { details: Some(json!({})), ..Output::text(text) }
}

/// Waits until they are gone; a killed process needs a moment.
async fn all_gone(room: &Room) -> Vec<String> {
    for _ in 0..200 {
        if alive(room).is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    alive(room)
}

#[tokio::test]
async fn whole_tree_is_killed_on_abort() {
    let room = Room::new();
    room.put("ids", "");
    let (progress, mut reports) = progress();
    let cancel = CancellationToken::new();
    let call = room.call_with("bash", json!({ "command": ESCAPES }), cancel.clone(), progress);
    let (outcome, before) = tokio::join!(call, async {
        assert_eq!(reports.next().await, Some(Output::default()), "it has begun");
        assert_eq!(reports.next().await, Some(so_far("ready\n")));
        let before = alive(&room).len();
        cancel.cancel();
        before
    });
    assert_eq!((outcome, before), (Err(Failure::new("ready\n\n\nCommand aborted")), 5));
    assert_eq!(all_gone(&room).await, [""; 0]);
}

#[tokio::test]
async fn whole_tree_is_killed_when_nobody_waits_any_more() {
    let room = Room::new();
    room.put("ids", "");
    let (progress, mut reports) = progress();
    {
        let call = room.call_with("bash", json!({ "command": ESCAPES }), CancellationToken::new(), progress);
        tokio::select! {
            outcome = call => panic!("{outcome:?}"),
            report = async { (reports.next().await, reports.next().await) } => {
                assert_eq!(report, (Some(Output::default()), Some(so_far("ready\n"))));
            }
        }
    }
    assert_eq!(all_gone(&room).await, [""; 0]);
}

#[tokio::test]
async fn background_process_neither_holds_the_call_nor_dies_with_it() {
    let room = Room::new();
    let begun = Instant::now();
    let told = room.told("bash", json!({ "command": "sleep 30 & echo $! > ids; echo done" })).await;
    assert_eq!(told, "done\n");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let left = alive(&room);
    assert_eq!(left.len(), 1);
    std::process::Command::new("kill").args(&left).status().expect("kill");
    // One that never stops talking does not hold it either.
    let told = room.told("bash", json!({ "command": "(while sleep 0.02; do echo talk; done) & echo $! > ids" })).await;
    assert!(told.ends_with("talk\n") || told == "(no output)", "{told}");
    std::process::Command::new("kill").args(alive(&room)).status().expect("kill");
}

async fn long(room: &Room, command: &str) -> (String, Value, String) {
    let output = room.call("bash", json!({ "command": command })).await.expect("an output");
    let details = output.details.expect("details");
    let path = details["fullOutputPath"].as_str().expect("a path").to_owned();
    let name = Path::new(&path).file_name().expect("a name").to_string_lossy().into_owned();
    let hex = name.strip_prefix("pi-bash-").and_then(|name| name.strip_suffix(".log")).expect("a name of ours");
    assert!(hex.len() == 16 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    assert_eq!(Path::new(&path).parent(), Some(room.beside("temporary").as_path()));
    let mode = std::fs::metadata(&path).expect("a file").mode() & 0o777;
    assert_eq!(mode, 0o600);
    let text = output.content[0].as_text().expect("text").replace(&path, "PATH");
    (text, details["truncation"].clone(), std::fs::read_to_string(path).expect("text"))
}

#[tokio::test]
async fn long_output_is_cut_and_kept_in_a_file() {
    let room = Room::new();
    let (text, truncation, whole) = long(&room, "seq 1 3000").await;
    let numbers = |from: usize| (from..=3000).map(|number| format!("{number}\n")).collect::<String>();
    assert_eq!(text, format!("{}\n\n[Showing lines 1002-3001 of 3001. Full output: PATH]", numbers(1002)));
    assert_eq!(whole, numbers(1));
    assert_eq!((&truncation["truncatedBy"], &truncation["outputLines"]), (&json!("lines"), &json!(2000)));

    let line = "x".repeat(99) + "\n";
    let (text, truncation, whole) = long(&room, "for i in {1..1000}; do printf '%099d\\n' 0 | tr 0 x; done").await;
    assert_eq!(
        text,
        format!("{}\n\n[Showing lines 489-1001 of 1001 (50.0KB limit). Full output: PATH]", line.repeat(512))
    );
    assert_eq!((&truncation["totalBytes"], whole == line.repeat(1000)), (&json!(100_000), true));

    let (text, truncation, whole) = long(&room, "head -c 100000 /dev/zero | tr '\\0' y").await;
    let notice = "\n\n[Showing last 50.0KB of line 1 (line is 97.7KB). Full output: PATH]";
    assert_eq!(text, format!("{}{notice}", "y".repeat(51_200)));
    assert_eq!((&truncation["lastLinePartial"], whole.len()), (&json!(true), 100_000));
}

#[tokio::test]
async fn much_output_does_not_fill_the_memory() {
    let room = Room::new();
    let resident = || {
        let pages = std::fs::read_to_string("/proc/self/statm").expect("our memory");
        pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number") * 4096
    };
    let before = resident();
    let (_, truncation, whole) = long(&room, "yes 'a line of output' | head -c 100000000").await;
    assert_eq!((&truncation["totalBytes"], whole.len()), (&json!(100_000_000), 100_000_000));
    drop(whole);
    let grown = resident().saturating_sub(before);
    // The file was read here, by us, and is given back; what is left is what the tool took.
    assert!(grown < 64 * 1024 * 1024, "grew by {grown} bytes");
}

#[tokio::test]
async fn command_of_a_person_gives_what_a_session_writes_down() {
    let room = Room::new();
    let run = async |command: &str, cancel: CancellationToken| {
        let arguments = json!({ "command": command }).as_object().expect("an object").clone();
        let grant = room.grant("bash", &arguments).await.expect("a grant");
        pi_tools::run_command(&room.workspace, grant, &cancel, &Progress::unheard()).await.expect("an execution")
    };
    let plain = BashExecution {
        output: "hi\n".to_owned(),
        exit_code: Some(2),
        cancelled: false,
        truncated: false,
        full_output_path: None,
    };
    assert_eq!(run("echo hi; exit 2", CancellationToken::new()).await, plain);
    let cancel = CancellationToken::new();
    let (stopped, ()) = tokio::join!(run("sleep 60", cancel.clone()), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancel.cancel();
    });
    assert_eq!(stopped, BashExecution { output: String::new(), exit_code: None, cancelled: true, ..plain });
    let long = run("seq 1 3000", CancellationToken::new()).await;
    assert!(long.truncated && long.output.ends_with("3000\n"));
    let kept = std::fs::read_to_string(long.full_output_path.expect("a path")).expect("a file");
    assert_eq!(kept.lines().count(), 3000);
}

#[tokio::test]
async fn long_output_without_a_place_is_still_shown() {
    let room = Room::with(|settings| settings.temporary = "/proc/nowhere".into());
    let told = room.told("bash", json!({ "command": "seq 1 3000" })).await;
    assert!(told.contains("3000\n\n\n[Showing lines 1002-3001 of 3001. The full output could not be kept: "), "{told}");
}
