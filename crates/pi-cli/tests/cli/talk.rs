//! `pi -p` and `pi --mode json` where something is wrong: what is said about it, and the code with which it ends.

use std::{
    io::Write as _,
    process::{Output, Stdio},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use insta::assert_snapshot;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use pi_testkit::server::{Reply, Script};

use crate::{
    server::{Running, manifest, quiet_world, refusal, stream},
    world::{World, shown},
};

/// A black line, wider than any picture that is sent.
const WIDE: &str = "iVBORw0KGgoAAAANSUhEUgAACWAAAAACAQAAAAD0ktpBAAAAD0lEQVR42mNgGAWjgBYAAAJaAAHeOihJAAAAAElFTkSuQmCC";

/// Runs `pi` with an agent directory and a server of the world, and something on standard input.
fn talk(world: &World, arguments: &[&str], input: &[u8]) -> Output {
    let mut command = world.command("");
    command.args(arguments).env("PI_CODING_AGENT_DIR", "agent").env("ACME_KEY", "k");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("pi starts");
    // A process that refuses its input may end before it has read all of it.
    drop(child.stdin.take().expect("a pipe").write_all(input));
    child.wait_with_output().expect("pi ends")
}

/// The same without input, as everything that can be seen, with a stable word for the world.
fn run(world: &World, arguments: &[&str]) -> String {
    general(world, &shown(&talk(world, arguments, b"")))
}

fn general(world: &World, text: &str) -> String {
    let path = world.path().canonicalize().expect("it is there").display().to_string();
    text.replace(&path, "$WORLD")
}

/// A world with the provider `acme`, which is asked once and not again.
fn acme(running: &Running) -> World {
    quiet_world()
        .with("agent/providers/acme.yaml", manifest("acme", &running.base_url()))
        .with("agent/settings.json", r#"{"retry": {"enabled": false}}"#)
}

/// The lines of the only session, each by its role or type.
fn lines(world: &World) -> Vec<String> {
    let [path] = <[_; 1]>::try_from(world.sessions()).expect("one session");
    let role = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("every line is JSON");
        let role = value["message"]["role"].as_str().or(value["type"].as_str()).unwrap_or("?").to_owned();
        let reason = value["message"]["stopReason"].as_str().map(|reason| format!(" {reason}"));
        format!("{role}{}", reason.unwrap_or_default())
    };
    world.read(&path).lines().map(role).collect()
}

#[test]
fn refused_request_has_a_hint_and_a_code_that_says_whether_to_try_again() {
    for (status, code, hint) in [
        (401, 1, "hint: the credential is not accepted; `pi provider show acme` says where it comes from"),
        (400, 1, "hint: `pi context last` shows what was sent"),
        (429, 75, "hint: wait a moment and ask again"),
        (500, 75, "hint: ask again"),
    ] {
        let running = Running::new(Script::new().otherwise(refusal(status, "kind", "it says no")));
        let world = acme(&running);
        for arguments in [&["-p", "Hi", "-m", "acme/small"][..], &["--mode", "json", "Hi", "-m", "acme/small"]] {
            let output = talk(&world, arguments, b"");
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{status}: {error}");
            assert!(error.contains("it says no") && error.contains(hint), "{status}: {error}");
        }
        // What was said and what came of it is kept, as Pi does it.
        for path in world.sessions() {
            assert!(world.read(&path).contains(r#""stopReason":"error""#), "{}", world.read(&path));
        }
    }
}

#[test]
fn server_that_wants_a_key_where_none_is_sent_names_the_one_to_set() {
    let running = Running::new(Script::new().otherwise(refusal(401, "kind", "who are you?")));
    let manifest =
        manifest("acme", &running.base_url()).replace("{ type: bearer, token_env: ACME_KEY }", "{ type: none }");
    let world = acme(&running).with("agent/providers/acme.yaml", manifest);
    let error = talk(&world, &["-p", "Hi", "-m", "acme/small"], b"").stderr;
    let error = String::from_utf8_lossy(&error);
    assert!(
        error.contains("hint: the server wants a credential, and none was sent: set ACME_API_KEY, or name"),
        "{error}"
    );
}

#[test]
fn server_that_is_not_there_is_tried_again_later() {
    let world = quiet_world()
        .with("agent/providers/acme.yaml", manifest("acme", "http://127.0.0.1:9"))
        .with("agent/settings.json", r#"{"retry": {"enabled": false}}"#);
    assert_snapshot!(run(&world, &["-p", "Hi", "-m", "acme/small"]), @r"
    --- on standard error
    error: nothing answers at http://127.0.0.1:9
    hint: start the server, or say where it is with --base-url URL; `pi models --available` shows what can be asked now
    --- exit 75
    ");
}

#[test]
fn line_ends_come_through_a_pipe_as_the_model_wrote_them() {
    let running = Running::new(Script::new().then(stream(&["a\r", "\n\tb\rc\r\n"])));
    let output = talk(&acme(&running), &["-p", "Hi", "-m", "acme/small"], b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a\r\n\tb\rc\r\n\n");
}

#[test]
fn empty_answer_is_told_and_has_a_code() {
    let running = Running::new(Script::new().then(stream(&[])));
    let shown = run(&acme(&running), &["-p", "Hi", "-m", "acme/small"]);
    assert!(shown.contains("the answer is empty: the model said nothing"), "{shown}");
    assert!(shown.ends_with("--- exit 1"), "{shown}");
}

#[test]
fn reader_that_goes_away_does_not_stop_the_work() {
    let running = Running::new(Script::new().then(stream(&["One ", "two ", "three."])));
    let world = acme(&running);
    let mut command = world.command("--mode json Hi -m acme/small");
    command.env("PI_CODING_AGENT_DIR", "agent").env("ACME_KEY", "k");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pi starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("pi ends");
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
    assert_eq!(lines(&world), ["session", "model_change", "thinking_level_change", "user", "assistant stop"]);
}

#[test]
fn broken_settings_are_one_message_with_their_place() {
    let world = quiet_world().with("agent/settings.json", "{\n  \"theme\": \"dark\",\n  oops\n}\n");
    assert_snapshot!(run(&world, &["-p", "Hi", "-m", "demo"]), @r"
    --- on standard error
    error: agent/settings.json is not a settings file
      not JSON: expected a name in double quotes at line 3, column 3
    hint: correct the JSON at that place, or move it away; it may forbid something, so nothing begins without it
    --- exit 2
    ");
    assert_snapshot!(run(&world, &["sessions"]), @r"
    --- on standard error
    note: agent/settings.json: it is not JSON: line 3, column 3: key must be a string
    there are no sessions in this folder yet; --all looks everywhere
    --- exit 0
    ");
}

#[test]
fn settings_that_are_a_folder_are_told_as_such() {
    let world = quiet_world().with("agent/settings.json/x", "");
    assert_snapshot!(run(&world, &["-p", "Hi", "-m", "demo"]), @r"
    --- on standard error
    error: agent/settings.json is a folder
    hint: put a file in its place, or move it away; it may forbid something, so nothing begins without it
    --- exit 2
    ");
}

#[test]
fn settings_may_begin_with_a_byte_order_mark() {
    let world = quiet_world().with("agent/settings.json", "\u{feff}{\"quietStartup\": true}");
    let shown = run(&world, &["-p", "Hi", "-m", "demo"]);
    assert!(shown.ends_with("--- exit 0"), "{shown}");
}

/// Starts pi through a program that hands down how signals are taken.
#[expect(clippy::disallowed_methods, reason = "a test cannot say itself how its children take signals")]
fn through(program: &[&str], world: &World, arguments: &str) -> std::process::Child {
    let pi = world.command(arguments);
    let mut command = std::process::Command::new(program[0]);
    command.args(&program[1..]).arg(pi.get_program()).args(pi.get_args());
    command.current_dir(world.path()).env_clear().env("HOME", "/home/me").env("PATH", "/usr/bin:/bin");
    command.env("PI_CODING_AGENT_DIR", "agent").env("ACME_KEY", "k").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pi starts")
}

/// Sends a signal as soon as the model was asked, which never answers.
fn stop(signal: Signal, arguments: &str) -> (World, String) {
    let running = Running::new(Script::new().then(Reply::hang()));
    let world = acme(&running);
    // Tests that run under `nohup` would hand down that the terminal's end does not matter.
    let child = through(&["env", "--default-signal=HUP"], &world, arguments);
    running.wait(async {
        let asked = tokio::time::timeout(Duration::from_secs(9), running.server.received(1));
        asked.await.expect("the model is asked");
    });
    kill(Pid::from_raw(child.id().try_into().expect("a process id")), signal).expect("pi runs");
    let output = child.wait_with_output().expect("pi ends");
    (world, shown(&output))
}

#[test]
fn signals_end_a_run_in_order() {
    for (signal, word, code) in [
        (Signal::SIGINT, "interrupted", 130),
        (Signal::SIGTERM, "terminated", 143),
        (Signal::SIGHUP, "the terminal is gone", 143),
    ] {
        let (world, shown) = stop(signal, "-p Hi -m acme/small");
        let expected = format!("--- on standard error\nnote: {word}; what was said so far is kept\n--- exit {code}");
        assert_eq!(shown, expected);
        let kept = ["session", "model_change", "thinking_level_change", "user", "assistant aborted"];
        assert_eq!(lines(&world), kept);
    }
}

#[test]
fn run_that_is_to_outlive_its_terminal_does() {
    let running = Running::new(Script::new().then(Reply::hang()));
    let world = acme(&running);
    let child = through(&["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""], &world, "-p Hi -m acme/small");
    running.wait(async {
        let asked = tokio::time::timeout(Duration::from_secs(9), running.server.received(1));
        asked.await.expect("the model is asked");
    });
    for signal in [Signal::SIGHUP, Signal::SIGTERM] {
        kill(Pid::from_raw(child.id().try_into().expect("a process id")), signal).expect("pi runs");
    }
    // Had the first one counted, it would be the one that is named.
    let shown = shown(&child.wait_with_output().expect("pi ends"));
    assert_eq!(shown, "--- on standard error\nnote: terminated; what was said so far is kept\n--- exit 143");
}

#[test]
fn second_interrupt_ends_a_run_that_stands_still() {
    if !tells_what_processes_wait_for() {
        eprintln!("SKIPPED: this system does not tell what a process waits for");
        return;
    }
    let much: Vec<String> = (0..4000).map(|_| "words and words and words ".to_owned()).collect();
    let pieces: Vec<&str> = much.iter().map(String::as_str).collect();
    let running = Running::new(Script::new().then(stream(&pieces)));
    let world = acme(&running);
    let mut command = world.command("--mode json Hi -m acme/small");
    command.env("PI_CODING_AGENT_DIR", "agent").env("ACME_KEY", "k");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("pi starts");
    let process = i32::try_from(child.id()).expect("a process id");
    // Nobody reads, so the pipe is full and it waits there.
    let has_stood = waits_for_a_reader(process);
    let mut ended = None;
    // Signals that come at the same time are one, so somebody presses it again and again.
    for _ in 0..80 {
        kill(Pid::from_raw(process), Signal::SIGINT).expect("pi is waited for");
        std::thread::sleep(Duration::from_millis(100));
        ended = child.try_wait().expect("it is ours");
        if ended.is_some() {
            break;
        }
    }
    // It has usually ended by itself.
    drop(child.kill());
    drop(child.wait());
    assert!(has_stood, "it never waited for its reader");
    assert_eq!(ended.and_then(|status| status.code()), Some(130), "it stands there for ever");
}

/// Whether the system says of a process that certainly waits for its reader that it does.
#[expect(clippy::disallowed_methods, reason = "somebody else must stand in front of a full pipe")]
fn tells_what_processes_wait_for() -> bool {
    let Ok(mut child) = std::process::Command::new("yes").stdout(Stdio::piped()).spawn() else { return false };
    let is_told = waits_for_a_reader(i32::try_from(child.id()).expect("a process id"));
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
    is_told
}

/// Waits until a process waits for the reader of its pipe; false if nobody says so, for a while.
#[expect(
    clippy::disallowed_methods,
    reason = "the system tells what a process waits for in a file, and nobody else does"
)]
fn waits_for_a_reader(process: i32) -> bool {
    for _ in 0..200 {
        match std::fs::read_to_string(format!("/proc/{process}/wchan")) {
            Ok(place) if place.contains("pipe_write") => return true,
            Ok(_) => std::thread::sleep(Duration::from_millis(20)),
            Err(_) => return false,
        }
    }
    false
}

#[test]
fn nothing_is_called_kept_that_is_not() {
    let (world, shown) = stop(Signal::SIGINT, "-p Hi -m acme/small --no-session");
    assert_eq!(shown, "--- on standard error\nnote: interrupted; nothing of it is kept\n--- exit 130");
    assert_eq!(world.sessions(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn conversation_with_a_server_of_ones_own_is_not_handed_to_somebody_else() {
    let running = Running::new(Script::new().otherwise(stream(&["Yes."])));
    let world = acme(&running);
    let url = running.base_url();
    let is_answered = |shown: &str| shown.starts_with("Yes.\n") && shown.ends_with("--- exit 0");
    let first = run(&world, &["-p", "Hi", "--base-url", &url, "-m", "mine"]);
    assert!(is_answered(&first), "{first}");
    // Its address is remembered, and told.
    let told = format!("asking server/mine: at {url}, where this session was led before");
    let on = run(&world, &["-p", "-c", "And now?"]);
    assert!(is_answered(&on) && on.contains(&told), "{on}");
    let again = run(&world, &["-p", "-c", "And now?", "--base-url", &url]);
    let other = run(&world, &["-p", "--session", "last", "And now?", "-m", "acme/small"]);
    assert!(is_answered(&again) && is_answered(&other), "{again}\n{other}");
    assert_eq!(world.sessions().len(), 1, "it is one conversation");
}

#[test]
fn demo_does_not_go_on_with_a_real_conversation() {
    let running = Running::new(Script::new().otherwise(stream(&["Yes."])));
    let world = acme(&running);
    assert_eq!(run(&world, &["-p", "Hi", "-m", "acme/small"]), "Yes.\n--- exit 0");
    world.remove("agent/providers/acme.yaml");
    assert_snapshot!(run(&world, &["-p", "-c", "And now?"]), @r#"
    --- on standard error
    error: the model of this session, acme/small, cannot be asked: there is no provider "acme"
    hint: let another model go on with --model PROVIDER/MODEL; `pi models --available` lists those that can be asked
    --- exit 2
    "#);
}

#[test]
fn misspelt_command_is_not_said_to_the_agent() {
    assert_snapshot!(run(&World::new(), &["aks", "What is a monad?"]), @r"
    --- on standard error
    error: unrecognized subcommand 'aks'

      tip: a similar subcommand exists: 'ask'
      tip: to say it to the agent, write it with --print: pi -p 'aks What is a monad?'

    Usage: pi [OPTIONS] [MESSAGE]...
           pi [OPTIONS] <COMMAND>

    For more information, try '--help'.
    --- exit 2
    ");
    let said = run(&quiet_world(), &["-p", "aks", "hi", "-m", "demo"]);
    assert!(said.contains("note: these are 2 messages, said one after the other; one message is 'aks hi'"), "{said}");
}

#[test]
fn word_for_a_command_of_other_programs_is_answered_and_not_said() {
    let told = run(&World::new(), &["login"]);
    assert!(told.contains("tip: keys are read from variables of the environment"), "{told}");
    assert!(told.contains("tip: to say it to the agent, write it with --print: pi -p 'login'"), "{told}");
    assert!(told.ends_with("--- exit 2"), "{told}");
    assert!(run(&World::new(), &["hlep"]).contains("a similar subcommand exists: 'help'"));
    for greeting in ["Hello", "hello", "hey", "explain"] {
        let said = run(&World::new(), &[greeting, "-m", "demo", "--no-session"]);
        assert!(!said.contains("unrecognized subcommand"), "{said}");
    }
    for words in [&["-p", "login", "-m", "demo"][..], &["-m", "demo", "--no-session", "--", "login"]] {
        let said = run(&quiet_world(), words);
        assert!(said.ends_with("--- exit 0"), "{said}");
    }
}

#[test]
fn dash_stands_for_what_is_piped_in() {
    let running = Running::new(Script::new().otherwise(stream(&["Yes."])));
    let world = acme(&running);
    let output = talk(&world, &["-p", "-m", "acme/small", "-", "Review this"], b"a change\n");
    assert_eq!(shown(&output), "Yes.\n--- exit 0");
    let request = running.server.requests()[0].json().to_string();
    assert!(request.contains(r"a change\n\nReview this"), "{request}");
    assert_eq!(running.server.requests().len(), 1, "it is one message");
    assert_snapshot!(run(&world, &["-p", "-"]), @r"
    --- on standard error
    error: nothing is piped in, and `-` stands for it
    hint: pipe something in, `git diff | pi -p 'Review this' -`, or leave `-` out
    --- exit 2
    ");
}

#[test]
fn what_cannot_be_said_has_advice() {
    let world = quiet_world().with("folder/a.txt", "a").with("zeros.bin", [0; 16]);
    assert_snapshot!(run(&world, &["-p", "@gone.md", "-m", "demo"]), @r"
    --- on standard error
    error: there is no file $WORLD/gone.md
    hint: check the name after the @, which counts from this folder; a message that begins with @ needs a blank before it
    --- exit 2
    ");
    assert_snapshot!(run(&world, &["-p", "@folder", "-m", "demo"]), @r"
    --- on standard error
    error: $WORLD/folder is not a file
    hint: name a file in it, or ask the agent to look into the folder
    --- exit 2
    ");
    assert_snapshot!(run(&world, &["-p", "@zeros.bin", "-m", "demo"]), @r"
    --- on standard error
    error: $WORLD/zeros.bin is neither text nor an image
    hint: text and pictures (PNG, JPEG, GIF, WebP) can be attached; ask the agent to look into other files
    --- exit 2
    ");
    let much = vec![b'a'; (4 << 20) + 1];
    assert_snapshot!(shown(&talk(&world, &["-p", "Hi", "-m", "demo"], &much)), @r"
    --- on standard error
    error: standard input is larger than 4 MiB
    hint: write it to a file and let the agent look into that, or pipe a part of it: `… | tail -n 1000 | pi -p …`
    --- exit 2
    ");
    assert_snapshot!(shown(&talk(&world, &["-p", "Hi", "-m", "demo"], &[0xff, 0xfe, 0x00])), @r"
    --- on standard error
    error: standard input is not text
    hint: attach a picture as @FILE; of other files the agent can read what is text
    --- exit 2
    ");
    assert_snapshot!(run(&world, &["-p", "Hi", "--session", "last"]), @r"
    --- on standard error
    error: there is no session in this folder yet
    hint: begin one with `pi -p`; `pi sessions --all` lists those of other folders
    --- exit 2
    ");
}

#[test]
fn what_is_passed_over_is_said() {
    let world = quiet_world();
    let shown = run(&world, &["-p", "Hi", "-m", "demo", "--system-prompt", "gone.md"]);
    let (_, notes) = shown.split_once("--- on standard error\n").expect("notes");
    assert_snapshot!(notes, @r"
    note: there is no file gone.md; the model is told these words instead
    this is the demo: it knows pi and little else, and no real model is behind it
    --- exit 0
    ");
}

#[test]
fn what_an_option_names_and_cannot_be_used_ends_it_before_anything_is_said() {
    let world = quiet_world().with("note.txt", "no skill");
    let refused = [
        ("--skill", "gone", "there is no such file or folder", "the path of a file or a folder, and not a name"),
        (
            "--skill",
            "note.txt",
            "it has no description, so it is not used",
            "the path of a file or a folder, and not a name",
        ),
        (
            "--prompt-template",
            "gone",
            "there is no such file or folder",
            "the path of a file or a folder, and not a name",
        ),
        ("--session-dir", "note.txt", "File exists (os error 17)", "a folder that can be written to"),
        ("--session-dir", "note.txt/below", "Not a directory (os error 20)", "a folder that can be written to"),
        ("--trace-protocol", ".", "Is a directory (os error 21)", "a file that can be written to"),
        ("--trace-protocol", "gone/trace", "No such file or directory (os error 2)", "a file that can be written to"),
    ];
    for (option, value, why, takes) in refused {
        let expected = format!(
            "--- on standard error\nerror: {option} {value}: {why}\n\
             hint: {option} takes {takes}; correct it, or leave it out\n--- exit 2"
        );
        assert_eq!(run(&world, &["-p", "Hi", "-m", "demo", option, value]), expected);
    }
}

#[test]
fn home_that_is_no_folder_is_none() {
    let world = quiet_world();
    let run = |arguments: &str| shown(&world.command(arguments).env("HOME", "/dev/null").output().expect("pi runs"));
    assert_snapshot!(run("-p Hi -m demo"), @r"
    --- on standard error
    error: there is no place for sessions: neither a home folder nor --session-dir
    hint: set HOME, name a folder with --session-dir, or keep nothing with --no-session
    --- exit 2
    ");
    assert!(run("-p Hi -m demo --no-session").ends_with("--- exit 0"));
}

#[test]
fn attached_picture_is_scaled() {
    let running = Running::new(Script::new().otherwise(stream(&["Black."])));
    let world = acme(&running).with("wide.png", STANDARD.decode(WIDE).expect("base64"));
    assert_eq!(run(&world, &["-p", "@wide.png", "What is it?", "-m", "acme/small"]), "Black.\n--- exit 0");
    let request = running.server.requests()[0].json().to_string();
    assert!(request.contains("[Image: original 2400x2, displayed at 2000x2."), "{request}");
}

#[test]
fn nothing_begins_with_a_policy_that_is_misspelt() {
    for settings in [
        r#"{"agent":{"polcy":{"denies":[{"capability":"exec"}]}}}"#,
        r#"{"agnet":{"policy":{"denies":[{"capability":"exec"}]}}}"#,
        r#"{"agent":{"policy":{"deny":[{"capability":"exec"}]}}}"#,
        r#"{"agent":{"policy":{"denies":[{"capability":"exce"}]}}}"#,
    ] {
        let world = quiet_world().with("agent/settings.json", settings);
        let shown = run(&world, &["-p", "hi", "-m", "demo", "--no-session"]);
        assert!(
            shown.contains("is not a policy that can be used") && shown.ends_with("--- exit 2"),
            "{settings}: {shown}"
        );
    }
}
