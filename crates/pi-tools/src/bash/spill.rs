//! The files that long output goes into: where they are, and how long.
//!
//! A model reads them in the session that made them, and a person may go on with that session days later, so they do not go
//! with it. Whoever makes one removes those of the folder that are older than a week.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// How long a file stays after it was written last.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A new name in a folder, Pi's way.
pub(super) fn name(folder: &Path) -> PathBuf {
    folder.join(format!("pi-bash-{:016x}.log", fastrand::u64(..)))
}

/// Whether a file of this name is one of these.
pub(crate) fn is_name(name: &str) -> bool {
    let number = name.strip_prefix("pi-bash-").and_then(|rest| rest.strip_suffix(".log"));
    number.is_some_and(|number| number.len() == 16 && number.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Removes what is too old beside a file that was just made. Blocks.
#[expect(clippy::disallowed_methods, reason = "these files are ours and in no project, so no grant speaks of them")]
pub(super) fn sweep(newest: &Path) -> io::Result<()> {
    let now = newest.metadata()?.modified()?;
    for entry in std::fs::read_dir(newest.parent().unwrap_or(Path::new(".")))? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(is_name) {
            continue;
        }
        let metadata = entry.metadata()?;
        let age = now.duration_since(metadata.modified()?).unwrap_or_default();
        if metadata.is_file() && age > KEPT {
            // One of another user stays; it is for them to remove.
            if let Err(error) = std::fs::remove_file(entry.path()) {
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
        let newest = name(folder.path());
        let make = |name: &str, days: u64| {
            let path = folder.path().join(name);
            let file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).open(path).expect("a file");
            let age = Duration::from_secs(days * 24 * 60 * 60);
            file.set_modified(file.metadata().expect("a file").modified().expect("a time") - age).expect("a time");
        };
        for (name, days) in [
            (newest.file_name().and_then(|name| name.to_str()).expect("a name"), 0),
            ("pi-bash-00000000000000aa.log", 8),
            ("pi-bash-00000000000000bb.log", 6),
            ("pi-bash-00000000000000aa.txt", 8),
            ("pi-bash-mine.log", 8),
        ] {
            make(name, days);
        }
        sweep(&newest).expect("a folder");
        let left = |name: &str| folder.path().join(name).exists();
        assert!(newest.exists() && !left("pi-bash-00000000000000aa.log") && left("pi-bash-00000000000000bb.log"));
        assert!(left("pi-bash-00000000000000aa.txt") && left("pi-bash-mine.log"));
    }
}
