//! What is shown on a terminal: tables that fit, colours that can be switched off.

use std::{
    fs::File,
    io::Read as _,
    os::fd::OwnedFd,
    process::{Command, Stdio},
};

use nix::pty::{OpenptyResult, Winsize, openpty};

use crate::{server::quiet_world, world::World};

/// Runs `pi` with its output on a terminal of that many columns, and returns what appears there.
pub(crate) fn run(world: &World, arguments: &str, columns: u16, variables: &[(&str, &str)]) -> String {
    let mut command = world.command(arguments);
    command.env("PI_CODING_AGENT_DIR", "agent").envs(variables.iter().copied());
    watched(command, columns, |command, terminal| {
        command.stdout(terminal).stderr(Stdio::null());
    })
}

/// Runs a command with some of its streams on a terminal, and returns what appears there.
fn watched(mut command: Command, columns: u16, connect: impl FnOnce(&mut Command, OwnedFd)) -> String {
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let OpenptyResult { master, slave } = openpty(Some(&size), None).expect("a terminal");
    connect(&mut command, slave);
    let mut child = command.spawn().expect("it starts");
    // The command holds the other end open, so that reading would not end.
    drop(command);
    let mut shown = Vec::new();
    let mut piece = [0; 4096];
    let mut master = File::from(master);
    // A terminal that nobody writes to any more ends in an error on Linux.
    while let Ok(count @ 1..) = master.read(&mut piece) {
        shown.extend_from_slice(&piece[..count]);
    }
    assert!(child.wait().expect("it ends").success());
    String::from_utf8(shown).expect("text").replace("\r\n", "\n")
}

/// What is left when the colours are taken away.
pub(crate) fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| shown + part.split_once('m').map_or(part, |(_, rest)| rest))
}

#[test]
fn tables_fit_into_narrow_terminals() {
    for (columns, expected) in [
        (200, "provider model context output $ in $ out can credential"),
        (72, "provider model context can credential"),
        (40, "provider model"),
    ] {
        let shown = run(&quiet_world(), "models anthropic/", columns, &[("NO_COLOR", "1")]);
        let head = shown.lines().next().expect("a line").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(head, expected, "{columns}: {shown}");
        let widest = shown.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= columns.into(), "{widest} of {columns}: {shown}");
    }
}

#[test]
fn colours_appear_on_a_terminal_unless_somebody_says_no() {
    for (arguments, variables, is_coloured) in [
        ("models demo", &[][..], true),
        ("models demo", &[("NO_COLOR", "1")][..], false),
        ("models demo", &[("TERM", "dumb")][..], false),
        ("models demo --color never", &[][..], false),
    ] {
        let shown = run(&quiet_world(), arguments, 100, variables);
        assert_eq!(shown.contains('\u{1b}'), is_coloured, "{arguments} {variables:?}: {shown}");
    }
}

/// `head` writes to the same terminal: what pi takes away there must be its own line.
#[test]
fn progress_is_taken_away_before_a_pipe_gets_anything() {
    let world = World::new();
    #[expect(clippy::disallowed_methods, reason = "these tests start the real binary")]
    let mut command = Command::new("sh");
    command.args(["-c", concat!("'", env!("CARGO_BIN_EXE_pi"), "' models | head -2")]).current_dir(world.path());
    command.env_clear().env("HOME", "/home/me").env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    let shown = watched(command, 200, |command, terminal| {
        command.stderr(terminal.try_clone().expect("another handle")).stdout(terminal);
    });
    let (_, after) = shown.split_once("looking for servers on this machine").expect("it says what it does");
    let (_, next) = after.split_once('\n').expect("a line");
    assert!(next.starts_with("\u{1b}[A\r\u{1b}[K"), "{shown:?}");
}
