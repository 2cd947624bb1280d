//! Which shell runs commands.

use std::path::{Path, PathBuf};

use crate::{environment::Environment, tool::Failure, workspace::Shell};

/// The shell of the settings, or the first that is there.
pub(super) fn find(shell: &Shell, environment: &Environment) -> Result<PathBuf, Failure> {
    if let Some(path) = &shell.path {
        return match path.is_file() {
            true => Ok(path.clone()),
            false => Err(Failure::new(format!("The shell of the settings is not there: {}", path.display()))),
        };
    }
    let folders = environment.search_path();
    let on_path = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    let usual = USUAL.iter().map(PathBuf::from).find(|path| path.is_file());
    usual
        .or_else(|| NAMES.iter().find_map(|name| on_path(name)))
        .or_else(|| Some(Path::new("/bin/sh").to_owned()).filter(|path| path.is_file()))
        .ok_or_else(|| Failure::new(format!("There is no shell: {}", NAMES.join(" or "))))
}

#[cfg(not(windows))]
const USUAL: &[&str] = &["/bin/bash"];
#[cfg(not(windows))]
const NAMES: &[&str] = &["bash", "sh"];

/// The shell that comes with Git.
#[cfg(windows)]
const USUAL: &[&str] = &[r"C:\Program Files\Git\bin\bash.exe", r"C:\Program Files (x86)\Git\bin\bash.exe"];
#[cfg(windows)]
const NAMES: &[&str] = &["bash.exe"];
