//! Extensions that are crates in Rust: cargo makes components of them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{ChildStderr, Command},
    sync::mpsc::UnboundedSender,
};

use crate::{fault::BuildFault, file};

/// What components are built for.
const TARGET: &str = "wasm32-wasip2";
/// The file that makes a folder a crate.
pub(crate) const MANIFEST: &str = "Cargo.toml";
/// Files of a crate that are looked at to see whether it changed.
const MOST_SOURCES: usize = 2000;

/// Who hears what a compiler says while it works, line by line. A compiler says as much as a person can read.
pub type Progress = UnboundedSender<String>;

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

/// What a crate says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) description: Option<String>,
}

/// Reads what a manifest of cargo says of its package in so many words. What it takes from a workspace is cargo's to know.
pub(crate) fn described(manifest: &str) -> Described {
    let (mut found, mut is_inside) = (Described::default(), false);
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            is_inside = line == "[package]";
        }
        let Some((key, value)) = line.split_once('=').filter(|_| is_inside) else { continue };
        let text =
            value.trim().strip_prefix('"').and_then(|rest| rest.split_once('"')).map(|(text, _)| text.to_owned());
        match key.trim() {
            "name" => found.name = text,
            "version" => found.version = text,
            "description" => found.description = text,
            _ => {}
        }
    }
    found
}

/// Whether there is what the compiler needs for components. It would find out after everything else was compiled. Where it
/// cannot be asked, cargo says why.
async fn has_target(folder: &Path) -> bool {
    #[expect(clippy::disallowed_methods, reason = "the compiler of this folder says where its parts lie")]
    let mut rustc = std::process::Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(folder).stdin(Stdio::null());
    let Ok(output) = Command::from(rustc).kill_on_drop(true).output().await else { return true };
    let libraries = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !output.status.success() || libraries.is_empty() || Path::new(&libraries).is_dir()
}

/// Runs cargo, which takes as long as it takes, and says where the component lies; what cargo says meanwhile is handed on.
/// Dropping the future ends it.
pub(crate) async fn compile(manifest: &Path, progress: Option<&Progress>) -> Result<PathBuf, BuildFault> {
    let folder = manifest.parent().unwrap_or(Path::new("."));
    if !has_target(folder).await {
        return Err(BuildFault::NoTarget { path: manifest.to_path_buf(), target: TARGET });
    }
    #[expect(clippy::disallowed_methods, reason = "the one place where this crate starts the compiler")]
    let mut cargo = std::process::Command::new("cargo");
    cargo.args(["build", "--release", "--lib", "--target", TARGET, "--message-format", "json-render-diagnostics"]);
    cargo.arg("--manifest-path").arg(manifest).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Command::from(cargo).kill_on_drop(true).spawn().map_err(BuildFault::NoCargo)?;
    let (mut stdout, stderr) = (running.stdout.take(), running.stderr.take());
    let mut found = Vec::new();
    let artifacts = async {
        match &mut stdout {
            Some(stdout) => stdout.read_to_end(&mut found).await.map(drop),
            None => Ok(()),
        }
    };
    let (read, said, status) = tokio::join!(artifacts, listen(stderr, progress), running.wait());
    let status = read.and(status).map_err(BuildFault::NoCargo)?;
    if !status.success() {
        return Err(BuildFault::Compiler { path: manifest.to_path_buf(), said: said.trim().to_owned() });
    }
    let said = String::from_utf8_lossy(&found);
    let lines = said.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    let own = lines.filter(|line| line.reason == "compiler-artifact" && line.manifest_path == manifest);
    let component = own.flat_map(|line| line.filenames).find(|file| file.extension().is_some_and(|end| end == "wasm"));
    component.ok_or_else(|| BuildFault::NoComponent { path: manifest.to_path_buf() })
}

/// All that cargo says, handed on line by line.
async fn listen(stderr: Option<ChildStderr>, progress: Option<&Progress>) -> String {
    let mut said = String::new();
    let Some(stderr) = stderr else { return said };
    let mut lines = BufReader::new(stderr).lines();
    // What is no text ends it: nothing that cargo says is none.
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(progress) = progress {
            // Whoever does not listen any more does not need it.
            let _ = progress.send(line.trim().to_owned());
        }
        said.push_str(&line);
        said.push('\n');
    }
    said
}

/// The files that a component was compiled from, as cargo wrote them down beside it, and those that tell cargo what to do.
/// What was generated on the way is made of them.
pub(crate) fn sources(manifest: &Path, component: &Path) -> Vec<PathBuf> {
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let workspace = folder.ancestors().find(|folder| is_workspace(&folder.join(MANIFEST))).unwrap_or(folder);
    // Its folder is that of the profile, in that of the target.
    let generated = component.ancestors().nth(3).and_then(|folder| folder.canonicalize().ok());
    // Where cargo cannot tell, it leaves no file.
    let listed = file::read(&component.with_extension("d")).unwrap_or_default();
    let mut waiting = dependencies(&String::from_utf8_lossy(&listed));
    waiting.extend([folder, workspace].map(|folder| folder.join(MANIFEST)));
    waiting.push(workspace.join("Cargo.lock"));
    let mut found = BTreeSet::new();
    while let Some(path) = waiting.pop() {
        // The compiler writes paths as they came together, and may name what is not there.
        let Ok(path) = path.canonicalize() else { continue };
        if path.is_dir() {
            // A folder that cannot be read was none that the compiler read.
            waiting.extend(file::list(&path).unwrap_or_default());
        } else if found.len() < MOST_SOURCES && !generated.as_ref().is_some_and(|it| path.starts_with(it)) {
            found.insert(path);
        }
    }
    found.into_iter().collect()
}

fn is_workspace(manifest: &Path) -> bool {
    let text = file::read(manifest).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().any(|line| line.trim().starts_with("[workspace"))
}

/// What a file for `make` says that its target is made from. A blank in a name stands behind a backslash.
fn dependencies(listed: &str) -> Vec<PathBuf> {
    let Some((_, names)) = listed.lines().next().and_then(|line| line.split_once(": ")) else { return Vec::new() };
    let names = names.replace("\\ ", "\0");
    names.split_whitespace().map(|name| PathBuf::from(name.replace('\0', " "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crate_says_who_it_is() {
        let manifest = "name = \"no\"\n[package]\nname = \"guard\" # x\nversion= \"1.2.3\"\ndescription = \"Says no.\"\n\
                        edition.workspace = true\n[lib]\nname = \"other\"\n[package.metadata]\nversion = \"9\"";
        let text = |text: &str| Some(text.to_owned());
        let expected = Described { name: text("guard"), version: text("1.2.3"), description: text("Says no.") };
        assert_eq!(described(manifest), expected);
        assert_eq!(described("[package]\nname.workspace = true\nversion = { workspace = true }"), Described::default());
    }

    #[test]
    fn sources_are_those_that_cargo_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there").join("my crates");
        let at = |name: &str| root.join(name);
        for (name, text) in [
            ("Cargo.toml", "[workspace]\nmembers = [\"own\"]"),
            ("Cargo.lock", ""),
            ("greeting.txt", "Hello"),
            ("own/Cargo.toml", "[package]"),
            ("own/src/lib.rs", ""),
            ("own/src/unused.rs", ""),
            ("own/schemas/a/b.json", ""),
            ("target/wasm32-wasip2/release/build/own/out/generated.rs", ""),
        ] {
            file::make_folder(at(name).parent().expect("a folder")).expect("a folder");
            file::replace(&at(name), text.as_bytes(), 0o600).expect("a file");
        }
        let shown = |name: &str| at(name).display().to_string().replace(' ', "\\ ");
        let named = [
            "own/../greeting.txt",
            "own/schemas",
            "own/src/lib.rs",
            "gone",
            "target/wasm32-wasip2/release/build/own/out/generated.rs",
        ];
        let listed = format!("{}: {}\n", shown("target/wasm32-wasip2/release/own.wasm"), named.map(shown).join(" "));
        file::replace(&at("target/wasm32-wasip2/release/own.d"), listed.as_bytes(), 0o600).expect("a file");
        let found = sources(&at("own/Cargo.toml"), &at("target/wasm32-wasip2/release/own.wasm"));
        let expected =
            ["Cargo.lock", "Cargo.toml", "greeting.txt", "own/Cargo.toml", "own/schemas/a/b.json", "own/src/lib.rs"];
        assert_eq!(found, expected.map(at));
    }
}
