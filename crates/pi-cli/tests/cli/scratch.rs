//! Temporary folders of extensions and servers: nobody else's business while they are there, and gone however it ends.

use std::{
    path::PathBuf,
    process::{Child, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::world::{self, World};

const PLAIN: &str = "export default function (pi: any) { pi.registerCommand('hello', { handler: async () => {} }); }";

fn world() -> World {
    World::new().with("plain.ts", PLAIN).with("tmp/kept", "").with("agent/settings.json", "{}")
}

fn start(world: &World, arguments: &[&str]) -> Child {
    let mut command = world.command("");
    command.args(arguments).env("PI_CODING_AGENT_DIR", world.path().join("agent"));
    command.env("TMPDIR", world.path().join("tmp")).env("PATH", "/usr/bin:/bin");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pi starts")
}

/// What is in the folder for temporary files, one that is always there apart.
#[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
fn left(world: &World) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(world.path().join("tmp")).expect("a folder");
    entries.map(|entry| entry.expect("listed").path()).filter(|path| !path.ends_with("kept")).collect()
}

/// Waits until the folder is there, and what is in it.
fn made(world: &World) -> PathBuf {
    loop {
        match left(world).into_iter().next() {
            Some(folder) if folder.join("lock").exists() => return folder,
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

#[test]
fn nothing_is_left_after_wrong_arguments() {
    let world = world();
    for arguments in [["ext", "run-command", "plain.ts", "nope"], ["ext", "run-tool", "plain.ts", "nope"]] {
        let shown = world::shown(&start(&world, &arguments).wait_with_output().expect("pi ends"));
        assert!(shown.contains("hint: `pi ext inspect plain.ts` shows what it registers"), "{shown}");
        assert!(shown.ends_with("--- exit 2"), "{shown}");
        assert_eq!(left(&world), Vec::<PathBuf>::new());
    }
}

#[test]
fn nothing_is_left_after_a_signal_while_servers_start() {
    use std::os::unix::fs::PermissionsExt as _;
    let servers = r#"{"mcpServers":{"mute":{"command":"sleep","args":["1000"]}}}"#;
    let world = world().with("agent/mcp.json", servers);
    for (arguments, signal, exit) in
        [(["-p", "hi"].as_slice(), Signal::SIGINT, 130), (["mcp", "test"].as_slice(), Signal::SIGTERM, 143)]
    {
        let child = start(&world, arguments);
        let folder = made(&world);
        let mode = folder.metadata().expect("a folder").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
        kill(Pid::from_raw(i32::try_from(child.id()).expect("a number")), signal).expect("it runs");
        let output = child.wait_with_output().expect("pi ends");
        assert_eq!(output.status.code(), Some(exit), "{}", world::shown(&output));
        assert_eq!(left(&world), Vec::<PathBuf>::new());
    }
}

#[test]
fn what_a_killed_process_left_is_swept_by_the_next() {
    let servers = r#"{"mcpServers":{"mute":{"command":"sleep","args":["1000"]}}}"#;
    let world = world().with("agent/mcp.json", servers);
    let mut child = start(&world, &["mcp", "test"]);
    made(&world);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(left(&world).len(), 1);
    start(&world, &["ext", "run-command", "plain.ts", "hello"]).wait_with_output().expect("pi ends");
    assert_eq!(left(&world), Vec::<PathBuf>::new());
}
