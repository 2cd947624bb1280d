//! Getting what a check needs and the machine lacks.
//!
//! Nothing here is required to build the product. What cannot be had is said, and the check that needs it is skipped
//! loudly: an unreachable mirror is no reason to call the code broken.

use crate::console::{self, Tone, paint};
use crate::process::Program;

/// Something that a check needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A component of the toolchain, and the cargo command it brings.
    Component { name: &'static str, command: &'static str },
    /// The standard library for another platform.
    Platform(&'static str),
    /// For libFuzzer, which is C++.
    CxxCompiler,
    /// A program that comes in a package of Debian, and how it is asked for its version.
    Package { program: &'static str, package: &'static str, version: &'static str },
}

pub(crate) const RUSTFMT: Need = Need::Component { name: "rustfmt", command: "fmt" };
/// The program that our search is measured beside.
pub(crate) const RIPGREP: Need = Need::Package { program: "rg", package: "ripgrep", version: "--version" };
/// Tests of the chat type into its terminals.
pub(crate) const TMUX: Need = Need::Package { program: "tmux", package: "tmux", version: "-V" };
/// Extensions in Rust are built for it.
pub(crate) const COMPONENTS: Need = Need::Platform("wasm32-wasip2");
/// Tests of the server kill it in the middle of a system call.
pub(crate) const STRACE: Need = Need::Package { program: "strace", package: "strace", version: "--version" };
/// Takes samples for profiles.
pub(crate) const PERF: Need = Need::Package { program: "perf", package: "linux-perf", version: "--version" };
pub(crate) const CLIPPY: Need = Need::Component { name: "clippy", command: "clippy" };

impl Need {
    /// What a report calls it.
    pub(crate) fn name(self) -> String {
        match self {
            Need::Component { name, .. } => name.to_owned(),
            Need::Platform(triple) => triple.to_owned(),
            Need::CxxCompiler => "C++ compiler".to_owned(),
            Need::Package { program, .. } => program.to_owned(),
        }
    }
}

/// Why something is not there.
pub(crate) struct Missing(pub String);

/// Makes sure that it is there: looks, installs if it is not, and looks again.
pub(crate) fn ensure(need: Need) -> Result<(), Missing> {
    if is_there(need) {
        return Ok(());
    }
    console::say(&paint(Tone::Quiet, &format!("installing {}", describe(need))));
    install(need);
    if is_there(need) { Ok(()) } else { Err(Missing(format!("{} could not be installed", describe(need)))) }
}

fn is_there(need: Need) -> bool {
    match need {
        Need::Component { command, .. } => crate::cargo::cargo().args([command, "--version"]).works(),
        Need::Platform(triple) => has_standard_library(triple),
        Need::CxxCompiler => Program::new(cxx()).arg("--version").works(),
        Need::Package { program, version, .. } => Program::new(program).arg(version).works(),
    }
}

/// Rustc knows where the library of a platform would be; whether rustup or a distribution put it there is the same.
fn has_standard_library(triple: &str) -> bool {
    let asked = Program::new("rustc").args(["--print", "target-libdir", "--target", triple]).capture_all();
    let folder = asked.and_then(|finished| finished.text("rustc --print target-libdir"));
    folder.is_ok_and(|folder| std::path::Path::new(folder.trim()).is_dir())
}

/// The compiler that the `cc` crate will call.
fn cxx() -> std::ffi::OsString {
    std::env::var_os("CXX").unwrap_or_else(|| "c++".into())
}

/// Tries; whether it worked is seen by looking again, so the result of each command does not matter.
fn install(need: Need) {
    let commands = match need {
        Need::Component { name, .. } => vec![Program::new("rustup").args(["component", "add", name])],
        Need::Platform(triple) => vec![Program::new("rustup").args(["target", "add", triple])],
        Need::CxxCompiler => from_debian("g++"),
        Need::Package { package, .. } => from_debian(package),
    };
    for command in commands {
        let line = command.to_string();
        match command.show() {
            Ok(finished) if finished.status.success() => {}
            Ok(finished) => console::say(&paint(Tone::Warning, &format!("{line}: {}", finished.status))),
            Err(error) => console::say(&paint(Tone::Warning, &format!("{error:#}"))),
        }
    }
}

/// How a package of Debian gets here; only root can.
fn from_debian(package: &str) -> Vec<Program> {
    let apt = || Program::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
    if is_root() { vec![apt().arg("update"), apt().args(["install", "--yes", package])] } else { Vec::new() }
}

fn is_root() -> bool {
    let asked = Program::new("id").arg("-u").capture_all().and_then(|finished| finished.text("id -u"));
    asked.is_ok_and(|id| id.trim() == "0")
}

fn describe(need: Need) -> String {
    match need {
        Need::Component { name, .. } => format!("{name} (rustup component add {name})"),
        Need::Platform(triple) => format!("the standard library of {triple} (rustup target add {triple})"),
        Need::CxxCompiler => "a C++ compiler (apt-get install g++, as root)".to_owned(),
        Need::Package { package, .. } => format!("{package} (apt-get install {package}, as root)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_that_nobody_can_install_is_not_there() {
        assert!(!has_standard_library("x86_64-unknown-nowhere"));
    }

    #[test]
    fn the_platform_we_run_on_is_there() {
        let version =
            Program::new("rustc").arg("-vV").capture_all().and_then(|done| done.text("rustc")).expect("it runs");
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host");
        assert!(has_standard_library(host));
    }
}
