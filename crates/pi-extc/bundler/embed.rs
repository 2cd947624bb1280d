//! The build script's part: its own executable, and the shims, for the library to include.
#![expect(clippy::disallowed_methods, reason = "build scripts read and write files and start programs")]

use std::{
    env,
    error::Error,
    fs,
    hash::{DefaultHasher, Hasher as _},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use flate2::{Compression, write::GzEncoder};

type Done<T> = Result<T, Box<dyn Error>>;

pub(crate) fn embed() -> Done<()> {
    for watched in ["build.rs", "bundler", "shims"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    let out = PathBuf::from(variable("OUT_DIR")?);
    fs::write(out.join("bundler"), program(&out)?)?;
    fs::write(out.join("shims.rs"), shims(Path::new("shims"))?)?;
    println!("cargo::rustc-env=PI_EXTC_RECIPE={:016x}", recipe()?);
    Ok(())
}

fn variable(name: &str) -> Done<String> {
    env::var(name).map_err(|error| format!("{name}: {error}").into())
}

/// This executable, or nothing where it would not run.
fn program(out: &Path) -> Done<Vec<u8>> {
    if variable("HOST")? != variable("TARGET")? {
        println!("cargo::warning=built on another platform than it is for: this build of pi carries no bundler");
        return Ok(Vec::new());
    }
    let copy = out.join("bundler.program");
    fs::copy(env::current_exe()?, &copy)?;
    strip(&copy);
    let bytes = fs::read(&copy)?;
    fs::remove_file(&copy)?;
    // Builds to try things out are many; only those that people install are worth the time.
    if variable("PROFILE")? != "release" {
        return Ok(bytes);
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&bytes)?;
    Ok(packed.finish()?)
}

/// Takes names of functions out, where a program is at hand that can.
fn strip(program: &Path) {
    let is_stripped = Command::new("strip").arg(program).status().is_ok_and(|status| status.success());
    if !is_stripped {
        println!("cargo::warning=no `strip` here: the bundler inside pi is larger than it must be");
    }
}

/// Changes whenever the bundler or the names that the host answers do: what was built before is then built anew.
fn recipe() -> Done<u64> {
    let mut files = vec![PathBuf::from("build.rs"), PathBuf::from("shims/modules.json")];
    collect(Path::new("bundler"), "rs", &mut files)?;
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        hasher.write(&fs::read(file)?);
    }
    Ok(hasher.finish())
}

/// `SHIMS`: every JavaScript file below the folder, by its path without `.js`.
fn shims(folder: &Path) -> Done<String> {
    let mut files = Vec::new();
    collect(folder, "js", &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(folder)?.with_extension("").to_string_lossy().replace('\\', "/");
        // Read where the crate lies when it is compiled: checkouts that share a target folder share this list.
        let place = format!("/{}/{name}.js", folder.display());
        list += &format!("    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {place:?}))),\n");
    }
    Ok(list + "]\n")
}

fn collect(folder: &Path, kind: &str, files: &mut Vec<PathBuf>) -> Done<()> {
    for entry in fs::read_dir(folder)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if path.is_dir() {
            // Tests of shims are no shims.
            if name != "tests" && name != "node_modules" {
                collect(&path, kind, files)?;
            }
        } else if path.extension().is_some_and(|end| end == kind) {
            files.push(path);
        }
    }
    Ok(())
}
