//! Looks whether the files change that the extensions of a session were built from, and loads anew what did.
//!
//! Once a second the sizes and times of known files are compared; what changed is taken when it has been still for a second,
//! so that a file that is being written is not. What is at work is waited for.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Weak,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use pi_extproto::hook::event::payload::DiscoverReason;
use pi_session::extensions::Phase;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{
    Company,
    member::{Member, Origin},
};

/// Between two looks; also how long what changed has to be still.
const INTERVAL: Duration = Duration::from_secs(1);

/// So much a file may be written after its time.
const BEHIND: Duration = Duration::from_millis(50);

/// Packages that somebody installed are not edited, and are many.
const INSTALLED: &str = "node_modules";

/// What a file looks like from outside; nothing of one that is not there.
type Stamp = Option<(u64, Option<SystemTime>)>;

/// What came of something that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refreshed {
    Done,
    /// It is at work.
    Later,
}

/// The files of an extension as they were when somebody looked.
#[derive(Debug, Default)]
struct Watched {
    files: BTreeMap<PathBuf, Stamp>,
    has_changed: bool,
}

/// Watches until the session has ended.
pub(super) async fn watch(company: Weak<Company>, ended: CancellationToken) {
    let mut known = BTreeMap::new();
    loop {
        let Some(company) = company.upgrade() else { return };
        tokio::select! {
            biased;
            () = ended.cancelled() => return,
            () = look(&company, &mut known) => {}
        }
        drop(company);
        tokio::select! {
            biased;
            () = ended.cancelled() => return,
            () = sleep(INTERVAL) => {}
        }
    }
}

/// Looks once, and loads anew what has changed and is still.
async fn look(company: &Company, known: &mut BTreeMap<PathBuf, Watched>) {
    let places: Vec<Places> = company.members().iter().filter_map(watched_files).collect();
    // Files may lie on a disk that takes its time.
    let Ok(seen) = tokio::task::spawn_blocking(move || stamps(places)).await else { return };
    known.retain(|source, _| seen.contains_key(source));
    for (source, (files, read)) in seen {
        let watched = known.entry(source.clone()).or_default();
        if watched.is_still(files, read) && company.refresh(&source).await == Refreshed::Done {
            watched.has_changed = false;
            company.gather_anew(DiscoverReason::Reload).await;
        }
    }
}

impl Watched {
    /// Takes in how the files look now. Answers whether they changed before, and not since. A file that is looked at for the
    /// first time changed if somebody wrote it when it had been read.
    fn is_still(&mut self, files: BTreeMap<PathBuf, Stamp>, read: SystemTime) -> bool {
        let is_later = |now: &Stamp| now.and_then(|(_, modified)| modified).is_some_and(|modified| modified >= read);
        let is_moved =
            files.iter().any(|(path, now)| self.files.get(path).map_or_else(|| is_later(now), |before| before != now));
        self.files = files;
        let is_still = self.has_changed && !is_moved;
        self.has_changed |= is_moved;
        is_still
    }
}

/// Where an extension is, which files say whether it changed, and when they were read.
type Places = (PathBuf, Vec<PathBuf>, SystemTime);

/// Those of one that is off do not matter.
fn watched_files(member: &Member) -> Option<Places> {
    let Origin::Source(source) = &member.origin else { return None };
    let mut files: Vec<PathBuf> = member.sources.iter().filter(|path| !is_installed(path)).cloned().collect();
    if member.problem.is_some() {
        // What is wrong may be a file that is not there yet: a folder changes when one comes.
        let folders: Vec<PathBuf> = files.iter().filter_map(|path| path.parent().map(Path::to_owned)).collect();
        files.extend(folders);
    }
    // File systems write times with a clock of their own, which is a little behind.
    let read = UNIX_EPOCH + Duration::from_millis(member.read_at).saturating_sub(BEHIND);
    (member.phase != Phase::Off).then(|| (source.path.clone(), files, read))
}

fn is_installed(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == INSTALLED)
}

fn stamps(places: Vec<Places>) -> BTreeMap<PathBuf, (BTreeMap<PathBuf, Stamp>, SystemTime)> {
    let stamped = |files: Vec<PathBuf>| files.into_iter().map(|path| (path.clone(), stamp(&path))).collect();
    places.into_iter().map(|(source, files, read)| (source, (stamped(files), read))).collect()
}

fn stamp(path: &Path) -> Stamp {
    let metadata = path.metadata().ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_taken_when_it_is_still() {
        let files = |sizes: &[(&str, u64)]| -> BTreeMap<PathBuf, Stamp> {
            let written = |size: u64| UNIX_EPOCH + Duration::from_secs(size);
            sizes.iter().map(|(name, size)| (PathBuf::from(name), Some((*size, Some(written(*size)))))).collect()
        };
        let mut watched = Watched::default();
        let read = UNIX_EPOCH + Duration::from_secs(5);
        let looks: [(&[(&str, u64)], bool); 10] = [
            (&[("a", 1)], false),
            (&[("a", 1)], false),
            (&[("a", 2)], false),
            (&[("a", 3)], false),
            (&[("a", 3)], true),
            // Nobody took it: it was at work.
            (&[("a", 3)], true),
            // A file that is new among them has not changed,
            (&[("a", 3), ("b", 1)], true),
            (&[("b", 2)], false),
            // unless it was written when it had been read.
            (&[("b", 2), ("c", 7)], false),
            (&[("b", 2), ("c", 7)], true),
        ];
        for (number, (sizes, expected)) in looks.into_iter().enumerate() {
            assert_eq!(watched.is_still(files(sizes), read), expected, "look {number}");
        }
    }

    #[test]
    fn installed_packages_are_not_watched() {
        assert!(is_installed(Path::new("/a/node_modules/b/index.js")));
        assert!(!is_installed(Path::new("/a/b/index.js")));
    }
}
