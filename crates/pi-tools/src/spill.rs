//! The files that long output goes into: where they are, and how long.
//!
//! A model reads them in the session that made them, and a person may go on with that session days later, so they do not go
//! with it. Whoever makes one removes those of the folder that are older than a week.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::workspace::Settings;

/// How long a file stays after it was written last.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How the names of files begin, Pi's way: those of commands, and those of tools that extensions bring.
pub(crate) const COMMAND: &str = "pi-bash-";
const TOOL: &str = "pi-tool-";

/// A new name in a folder.
pub(crate) fn name(folder: &Path, beginning: &str) -> PathBuf {
    folder.join(format!("{beginning}{:016x}.log", fastrand::u64(..)))
}

/// Whether a file of this name is one of these.
pub(crate) fn is_name(name: &str) -> bool {
    let number = name.strip_prefix(COMMAND).or_else(|| name.strip_prefix(TOOL));
    let number = number.and_then(|rest| rest.strip_suffix(".log"));
    number.is_some_and(|number| number.len() == 16 && number.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Keeps all of what a tool of somebody else answered, without secrets, where the model may read it. Blocks.
pub fn keep_whole(settings: &Settings, answer: &str) -> io::Result<PathBuf> {
    let path = name(&settings.temporary, TOOL);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    // What no rule takes for a secret may be one: it is for nobody else.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&path)?.write_all(settings.redactor.redact_text(answer).as_bytes())?;
    if let Err(error) = sweep(&path) {
        tracing::debug!(%error, "old output was not looked for");
    }
    Ok(path)
}

/// Why a file of these is not read.
#[derive(Debug, thiserror::Error)]
pub enum OutputFault {
    #[error("this is no file in which output was kept")]
    NotOutput,
    #[error("the output was removed: it is kept for a week")]
    Removed,
    #[error("the output is larger than {} MiB", .most >> 20)]
    TooLarge { most: u64 },
    #[error("the output cannot be read")]
    Unreadable(#[source] io::Error),
}

/// All of a file, unless it has more bytes than `most`. Blocks.
#[expect(clippy::disallowed_methods, reason = "these files are ours and in no project, so no grant speaks of them")]
pub(crate) fn read(path: &Path, most: u64) -> Result<String, OutputFault> {
    let mut bytes = Vec::new();
    let mut read = || {
        // Whoever opens a pipe waits for a writer.
        if !path.symlink_metadata()?.is_file() {
            return Ok(None);
        }
        // One more than may be there: it may grow while it is read.
        fs::File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes).map(Some)
    };
    match read() {
        Ok(None) => Err(OutputFault::NotOutput),
        Ok(Some(_)) if bytes.len() as u64 > most => Err(OutputFault::TooLarge { most }),
        Ok(Some(_)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(OutputFault::Removed),
        Err(error) => Err(OutputFault::Unreadable(error)),
    }
}

/// Removes what is too old beside a file that was just made. Blocks.
#[expect(clippy::disallowed_methods, reason = "these files are ours and in no project, so no grant speaks of them")]
pub(crate) fn sweep(newest: &Path) -> io::Result<()> {
    let now = newest.metadata()?.modified()?;
    for entry in fs::read_dir(newest.parent().unwrap_or(Path::new(".")))? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(is_name) {
            continue;
        }
        let metadata = entry.metadata()?;
        let age = now.duration_since(metadata.modified()?).unwrap_or_default();
        if metadata.is_file() && age > KEPT {
            // One of another user stays; it is for them to remove.
            if let Err(error) = fs::remove_file(entry.path()) {
                tracing::debug!(%error, path = %entry.path().display(), "old output was not removed");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_output_goes_and_everything_else_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let newest = name(folder.path(), TOOL);
        let make = |name: &str, days: u64| {
            let path = folder.path().join(name);
            let file = fs::OpenOptions::new().write(true).create(true).truncate(true).open(path).expect("a file");
            let age = Duration::from_secs(days * 24 * 60 * 60);
            file.set_modified(file.metadata().expect("a file").modified().expect("a time") - age).expect("a time");
        };
        for (name, days) in [
            (newest.file_name().and_then(|name| name.to_str()).expect("a name"), 0),
            ("pi-bash-00000000000000aa.log", 8),
            ("pi-tool-00000000000000aa.log", 8),
            ("pi-bash-00000000000000bb.log", 6),
            ("pi-bash-00000000000000aa.txt", 8),
            ("pi-bash-mine.log", 8),
        ] {
            make(name, days);
        }
        sweep(&newest).expect("a folder");
        let left = |name: &str| folder.path().join(name).exists();
        assert!(newest.exists() && !left("pi-bash-00000000000000aa.log"));
        assert!(!left("pi-tool-00000000000000aa.log") && left("pi-bash-00000000000000bb.log"));
        assert!(left("pi-bash-00000000000000aa.txt") && left("pi-bash-mine.log"));
    }
}
