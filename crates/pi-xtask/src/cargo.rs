//! Cargo, as this repository calls it.
//!
//! One shape of command (`--workspace`, the dev profile) wherever possible: another selection of packages is another
//! set of features, and every dependency would be built again for it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::process::Program;

/// The root of the checkout, from where every command runs.
pub(crate) fn root() -> &'static Path {
    // Two levels above this crate: crates/pi-xtask.
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate lies in crates/ of the checkout")
}

/// Cargo in the root of the checkout. Colours of its output are decided by our own terminal.
pub(crate) fn cargo() -> Program {
    // What cargo sets for the programs it runs would confuse the builds that these start.
    Program::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .folder(root())
        .without_env("CARGO_MANIFEST_DIR")
        .without_env("CARGO_PKG_NAME")
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
    pub path: PathBuf,
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
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    let mut built = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Message = serde_json::from_str(line).context("cargo printed a message that cannot be read")?;
        if let (Some(target), Some(path)) = (message.target, message.executable) {
            built.push(Built { name: target.name, path });
        }
    }
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_among_cargos_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"pi_wire"},"executable":null}
{"reason":"build-script-executed","package_id":"x"}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"pi"},"executable":"/out/debug/pi"}
{"reason":"build-finished","success":true}"#;
        let pi = Built { name: "pi".to_owned(), path: PathBuf::from("/out/debug/pi") };
        assert_eq!(executables(messages).expect("they are JSON"), [pi]);
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.toml").is_file() && root().join("crates/pi-xtask").is_dir());
    }
}
