//! Builds the page with npm into `OUT_DIR` and writes the table of its files.
//!
//! Nothing outside `OUT_DIR` is written: `web/` is copied there first, so that a build neither changes the checkout nor races with
//! somebody who works in it. Without Node, or if npm fails, the build succeeds with a warning and a page that says what is missing.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script copies files and runs npm; no seam of the product is in reach"
)]

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// What is copied of `web/`; tests and what they leave behind are not part of the page.
const SOURCES: [&str; 11] = [
    ".npmrc",
    "build",
    "index.html",
    "package-lock.json",
    "package.json",
    "public",
    "src",
    "svelte.config.js",
    "tsconfig.json",
    "vite.config.ts",
    "vite.viewer.config.ts",
];
/// The client that the page is built on, beside `web/` as in the checkout.
const CLIENT: &str = "clients/typescript/src";
const INSTALL: [&str; 7] =
    ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1"];

fn main() {
    let checkout = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    let out = PathBuf::from(variable("OUT_DIR"));
    for source in SOURCES {
        tell(&format!("rerun-if-changed={}", checkout.join("web").join(source).display()));
    }
    tell(&format!("rerun-if-changed={}", checkout.join(CLIENT).display()));
    tell("rerun-if-changed=build.rs");
    // Whoever installs Node afterwards gets the page with the next build.
    tell("rerun-if-env-changed=PATH");
    let table = match build(&checkout, &out) {
        Ok(files) => table(&files, &out.join("page/files")),
        Err(why) => {
            tell(&format!("warning=the page is not in this build: {why}"));
            tell(
                "warning=install Node 20.19 or later with npm and build again; everything but the page works without it",
            );
            format!(
                "pub(crate) const MISSING: Option<&str> = Some({why:?});\npub(crate) static FILES: &[Asset] = &[];\n"
            ) + "pub(crate) const VIEWER: Option<&str> = None;\n"
        }
    };
    fs::write(out.join("files.rs"), table).expect("OUT_DIR can be written");
}

fn variable(name: &str) -> String {
    env::var(name).expect("cargo sets it")
}

fn tell(line: &str) {
    println!("cargo::{line}");
}

/// Builds, and hands back the list of files.
fn build(checkout: &Path, out: &Path) -> Result<String, String> {
    let page = out.join("page/web");
    copy_all(checkout, out).map_err(|error| format!("its sources could not be copied: {error}"))?;
    let said = run("node", &["--version"], &page).map_err(|_| "Node is not installed".to_owned())?;
    let lock = fs::read(page.join("package-lock.json")).map_err(|error| error.to_string())?;
    let stamp = page.join("node_modules/.pi-installed");
    let wanted = [lock.as_slice(), said.as_bytes()].concat();
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        // Dependencies are as the lock file has them.
    } else {
        let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
        run(npm, &INSTALL, &page)?;
        fs::write(&stamp, wanted).map_err(|error| error.to_string())?;
    }
    for name in ["dist", "dist-viewer"] {
        remove(&page.join(name)).map_err(|error| error.to_string())?;
    }
    let vite = "node_modules/vite/bin/vite.js";
    run("node", &[vite, "build", "--logLevel", "error"], &page)?;
    if page.join("src/viewer.ts").exists() {
        run("node", &[vite, "build", "--config", "vite.viewer.config.ts", "--logLevel", "error"], &page)?;
    }
    run("node", &["build/pack.mjs", "../files"], &page)?;
    fs::read_to_string(out.join("page/files/files.txt")).map_err(|error| error.to_string())
}

fn copy_all(checkout: &Path, out: &Path) -> io::Result<()> {
    for source in SOURCES {
        let to = out.join("page/web").join(source);
        remove(&to)?;
        copy(&checkout.join("web").join(source), &to)?;
    }
    let to = out.join("page").join(CLIENT);
    remove(&to)?;
    copy(&checkout.join(CLIENT), &to)
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to).map(|_| ())
}

/// Runs a program to its end; what it said last is the reason if it fails.
fn run(program: &str, arguments: &[&str], folder: &Path) -> Result<String, String> {
    let named = format!("{program} {}", arguments.first().copied().unwrap_or_default());
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env_remove("NODE_OPTIONS")
        .output()
        .map_err(|error| format!("{named}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let line = said.lines().map(str::trim).find(|line| line.to_lowercase().contains("error"));
    Err(format!("{named} failed: {}", line.unwrap_or("it gave no reason")))
}

/// The table in Rust: bytes are included, not read when the program starts.
fn table(list: &str, folder: &Path) -> String {
    let mut rows = String::new();
    for (number, line) in list.lines().enumerate() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [path, media_type, digest, is_immutable, is_smaller] = fields[..] else {
            continue; // `pack.mjs` writes five.
        };
        let bytes = folder.join(number.to_string());
        let small = folder.join(format!("{number}.br"));
        let brotli = if is_smaller == "true" { format!("Some(include_bytes!({small:?}))") } else { "None".to_owned() };
        rows += &format!(
            "    Asset {{ path: {path:?}, media_type: {media_type:?}, etag: \"\\\"{digest}\\\"\", is_immutable: {is_immutable}, \
             bytes: include_bytes!({bytes:?}), brotli: {brotli} }},\n"
        );
    }
    let viewer = folder.join("viewer.html");
    let viewer = if viewer.exists() { format!("Some(include_str!({viewer:?}))") } else { "None".to_owned() };
    format!(
        "pub(crate) const MISSING: Option<&str> = None;\npub(crate) static FILES: &[Asset] = &[\n{rows}];\n\
         pub(crate) const VIEWER: Option<&str> = {viewer};\n"
    )
}
