//! Extensions that are crates in Rust: cargo makes components of them.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use serde::Deserialize;
use tokio::process::Command;

use crate::{fault::BuildFault, file};

/// What components are built for.
const TARGET: &str = "wasm32-wasip2";
/// The file that makes a folder a crate.
pub(crate) const MANIFEST: &str = "Cargo.toml";
/// Files of a crate that are looked at to see whether it changed.
const MOST_SOURCES: usize = 2000;

/// A line of what cargo says; most of them say something else.
#[derive(Deserialize)]
struct Line {
    reason: String,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

pub(crate) fn is_crate(entry: &Path) -> bool {
    entry.file_name().is_some_and(|name| name == MANIFEST)
}

/// Runs cargo, which takes as long as it takes, and says where the component lies. Dropping the future ends it.
pub(crate) async fn compile(manifest: &Path) -> Result<PathBuf, BuildFault> {
    #[expect(clippy::disallowed_methods, reason = "the one place where this crate starts the compiler")]
    let mut cargo = std::process::Command::new("cargo");
    cargo.args(["build", "--release", "--lib", "--target", TARGET, "--message-format", "json-render-diagnostics"]);
    cargo.arg("--manifest-path").arg(manifest).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = Command::from(cargo).kill_on_drop(true).output().await.map_err(BuildFault::NoCargo)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(BuildFault::Compiler { path: manifest.to_path_buf(), said });
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let lines = said.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    let own = lines.filter(|line| line.reason == "compiler-artifact" && line.manifest_path == manifest);
    let component = own.flat_map(|line| line.filenames).find(|file| file.extension().is_some_and(|end| end == "wasm"));
    component.ok_or_else(|| BuildFault::NoComponent { path: manifest.to_path_buf() })
}

/// The files of a crate that its component depends on.
pub(crate) fn sources(manifest: &Path) -> Vec<PathBuf> {
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let mut found: Vec<PathBuf> = [MANIFEST, "Cargo.lock", "build.rs"]
        .iter()
        .map(|name| folder.join(name))
        .filter(|path| path.is_file())
        .collect();
    let mut waiting: Vec<PathBuf> = ["src", "wit"].iter().map(|name| folder.join(name)).collect();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            // A folder that cannot be read was none that the compiler read.
            waiting.extend(file::list(&path).unwrap_or_default());
        } else if path.is_file() && found.len() < MOST_SOURCES {
            found.push(path);
        }
    }
    found.sort();
    found
}
