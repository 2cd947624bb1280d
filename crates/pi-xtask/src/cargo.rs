//! Cargo, as this repository calls it.
//!
//! One shape of command (`--workspace`, with tests, the dev profile) wherever possible: another selection of packages is
//! another set of features, and every dependency would be built again for it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::process::Program;

/// The root of the checkout, from where every command runs.
pub(crate) fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        // Two checkouts may share a target folder, and with it a binary that was built in the other one: cargo says in which
        // one it runs us.
        let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        // Two levels above this crate: crates/pi-xtask.
        Path::new(&here).ancestors().nth(2).expect("the crate lies in crates/ of the checkout").to_owned()
    });
    &ROOT
}

/// Cargo in the root of the checkout. Colours of its output are decided by our own terminal.
pub(crate) fn cargo() -> Program {
    let cargo = Program::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())).folder(root());
    std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| is_of_the_program(name))
        .fold(cargo, |cargo, name| cargo.without_env(&name))
}

/// Whether cargo sets this variable for a program that it runs. Build scripts look at some of them, and would run again, with all that depends
/// on them, whenever somebody changes between `cargo` and `cargo xtask`.
fn is_of_the_program(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"].iter().any(|start| name.starts_with(start))
}

/// Where everything is built.
pub(crate) fn target_folder() -> Result<PathBuf> {
    Ok(crate::metadata::Metadata::load()?.target_directory)
}

/// A program that cargo has built.
#[derive(Debug, PartialEq)]
pub(crate) struct Built {
    /// The name of the target, as in its manifest.
    pub name: String,
    /// `bin`, `bench` or `test`. A binary is also built as a test of itself, which is told by its profile.
    pub kind: String,
    pub path: PathBuf,
}

/// With what the binary is built; it is the same binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// By itself: the shortest way, and tests that do not compile are not in it.
    Nothing,
    /// With all tests, whose dependencies turn on features of ours: in a round that runs the tests anyway, the other way
    /// would compile most crates twice.
    Tests,
}

/// Builds the binary `pi` in the dev profile.
pub(crate) fn build_pi(beside: Beside) -> Result<PathBuf> {
    let selection: &[&str] = match beside {
        Beside::Nothing => &["--package", "pi-cli"],
        Beside::Tests => &["--workspace", "--bins", "--tests"],
    };
    find_pi(build(cargo().arg("build").args(selection))?)
}

/// Builds the binary `pi` as it is released.
pub(crate) fn build_released_pi() -> Result<PathBuf> {
    find_pi(build(cargo().args(["build", "--release"]))?)
}

fn find_pi(built: Vec<Built>) -> Result<PathBuf> {
    let pi = built.into_iter().find(|built| built.kind == "bin" && built.name == "pi");
    Ok(pi.context("cargo built no binary pi")?.path)
}

/// Runs a building command and returns the programs it made; its messages are shown as always.
pub(crate) fn build(command: Program) -> Result<Vec<Built>> {
    let line = command.to_string();
    let finished = command.arg("--message-format=json-render-diagnostics").capture()?;
    if !finished.status.success() {
        bail!("{line}: {}", finished.status);
    }
    executables(&String::from_utf8_lossy(&finished.stdout))
}

fn executables(messages: &str) -> Result<Vec<Built>> {
    #[derive(Deserialize)]
    struct Message {
        target: Option<Target>,
        executable: Option<PathBuf>,
        profile: Option<Profile>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
        kind: Vec<String>,
    }
    #[derive(Deserialize)]
    struct Profile {
        test: bool,
    }
    let mut built = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Message = serde_json::from_str(line).context("cargo printed a message that cannot be read")?;
        if let (Some(target), Some(path)) = (message.target, message.executable) {
            let tests_itself = message.profile.is_some_and(|profile| profile.test);
            let kind = target.kind.into_iter().next().unwrap_or_default();
            let kind = if tests_itself && kind == "bin" { "test".to_owned() } else { kind };
            built.push(Built { name: target.name, kind, path });
        }
    }
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_sets_for_a_program_is_not_handed_on() {
        for (name, expected) in [
            ("CARGO_PKG_VERSION_MINOR", true),
            ("CARGO_MANIFEST_PATH", true),
            ("CARGO_BIN_NAME", true),
            ("CARGO", false),
            ("CARGO_HOME", false),
            ("CARGO_TARGET_DIR", false),
            ("CARGO_BUILD_JOBS", false),
            ("CARGO_PROFILE_RELEASE_STRIP", false),
        ] {
            assert_eq!(is_of_the_program(name), expected, "{name}");
        }
    }

    #[test]
    fn programs_are_found_among_cargos_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"pi_wire"},"executable":null}
{"reason":"build-script-executed","package_id":"x"}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"pi"},"profile":{"test":true},"executable":"/out/pi-1f"}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"pi"},"profile":{"test":false},"executable":"/out/debug/pi"}
{"reason":"build-finished","success":true}"#;
        let pi =
            |kind: &str, path: &str| Built { name: "pi".to_owned(), kind: kind.to_owned(), path: PathBuf::from(path) };
        let built = executables(messages).expect("they are JSON");
        assert_eq!(built, [pi("test", "/out/pi-1f"), pi("bin", "/out/debug/pi")]);
        assert_eq!(find_pi(built).expect("it is there"), PathBuf::from("/out/debug/pi"));
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.toml").is_file() && root().join("crates/pi-xtask").is_dir());
    }
}
