//! What was read of session files, so that files that did not change are not read again.

use std::{
    collections::{HashMap, HashSet},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use super::{
    Project,
    list::{self, Stored},
};
use crate::{
    export,
    file::{self, Listed},
};
use pi_transcript::Usage;

/// Of a session that begins with more than so many bytes nothing is kept: it is read again.
const MOST_WORDS: usize = 64 << 10;

/// Sessions as they were listed last. A file counts as unchanged as long as its length and the time of its last change are the same.
/// Folders are looked at each time: a file that is new, or gone, is seen.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// A mutex and no task: it is held for a look-up, never while a file is read.
    known: Mutex<HashMap<PathBuf, Known>>,
}

#[derive(Debug, Clone)]
struct Known {
    mark: Mark,
    /// `None` if the file is no session.
    stored: Option<Arc<Stored>>,
    /// What it cost, if somebody asked.
    spent: Option<Usage>,
}

/// By what a change of a file is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    length: u64,
    changed: SystemTime,
}

impl Catalogue {
    /// The sessions of all projects, the last used first.
    pub fn list_all(&self, project: &Project) -> io::Result<Vec<Stored>> {
        self.list_in(&file::folders_in(&project.sessions)?)
    }

    /// The sessions in these folders, the last used first. A folder that is not there has none.
    pub fn list_in(&self, folders: &[PathBuf]) -> io::Result<Vec<Stored>> {
        let mut files = Vec::new();
        for folder in folders {
            files.extend(file::sessions_in(folder)?);
        }
        self.forget(folders, &files);
        Ok(list::read_all(&files, |listed| self.read(listed)))
    }

    /// What all answers in a listed session consumed.
    pub fn spent(&self, stored: &Stored) -> io::Result<Usage> {
        let mark = self.known().get(&stored.path).map(|known| (known.mark, known.spent.clone()));
        if let Some((_, Some(spent))) = mark {
            return Ok(spent);
        }
        let spent = export::spent(&stored.path)?;
        // What was read belongs to the file as it was listed: of one that changed meanwhile, the next list reads it again.
        if let Some((mark, _)) = mark
            && let Some(known) = self.known().get_mut(&stored.path).filter(|known| known.mark == mark)
        {
            known.spent = Some(spent.clone());
        }
        Ok(spent)
    }

    fn read(&self, listed: &Listed) -> io::Result<Option<Stored>> {
        let mark = Mark { length: listed.length, changed: listed.changed };
        let known = self.known().get(&listed.path).filter(|known| known.mark == mark).map(|known| known.stored.clone());
        if let Some(stored) = known {
            return Ok(stored.map(|stored| Stored::clone(&stored)));
        }
        let stored = list::read(listed)?;
        if stored.as_ref().is_none_or(|stored| stored.first_message.len() <= MOST_WORDS) {
            let known = Known { mark, stored: stored.clone().map(Arc::new), spent: None };
            self.known().insert(listed.path.clone(), known);
        }
        Ok(stored)
    }

    /// Lets go of what is not in these folders any more.
    fn forget(&self, folders: &[PathBuf], files: &[Listed]) {
        let folders: HashSet<&Path> = folders.iter().map(PathBuf::as_path).collect();
        let there: HashSet<&Path> = files.iter().map(|listed| listed.path.as_path()).collect();
        let is_elsewhere = |path: &Path| path.parent().is_none_or(|folder| !folders.contains(folder));
        self.known().retain(|path, _| there.contains(path.as_path()) || is_elsewhere(path));
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the world of these tests is made of files")]
mod tests {
    use std::{fs, time::Duration};

    use tempfile::TempDir;

    use super::*;

    /// A folder of sessions, and what is kept of them.
    struct World {
        folder: TempDir,
        catalogue: Catalogue,
    }

    impl World {
        fn new(sessions: usize) -> Self {
            let world = Self { folder: TempDir::new().expect("a folder"), catalogue: Catalogue::default() };
            (0..sessions).for_each(|number| world.write(number, "first"));
            world
        }

        fn path(&self, number: usize) -> PathBuf {
            self.folder.path().join(format!("{number}.jsonl"))
        }

        /// All texts of one length make a file of one length.
        fn write(&self, number: usize, said: &str) {
            let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
            let message = serde_json::json!({ "role": "user", "content": said, "timestamp": number });
            let entry = serde_json::json!({ "type": "message", "id": "1", "message": message });
            fs::write(self.path(number), format!("{header}\n{entry}\n")).expect("a file");
        }

        /// Changes what the file says in such a way that nobody sees it who looks at length and time only.
        fn write_unseen(&self, number: usize, said: &str) {
            let changed = fs::metadata(self.path(number)).and_then(|facts| facts.modified()).expect("a file");
            self.write(number, said);
            self.date(number, changed);
        }

        fn date(&self, number: usize, changed: SystemTime) {
            let file = fs::OpenOptions::new().append(true).open(self.path(number)).expect("a file");
            file.set_modified(changed).expect("a time");
        }

        fn said(&self) -> Vec<String> {
            let listed = self.catalogue.list_in(&[self.folder.path().to_owned()]).expect("a folder");
            let mut said: Vec<_> = listed.into_iter().map(|stored| stored.first_message).collect();
            said.sort();
            said
        }
    }

    #[test]
    fn files_that_did_not_change_are_not_read_again() {
        let world = World::new(1000);
        assert_eq!(world.said(), vec!["first"; 1000]);
        (0..1000).for_each(|number| world.write_unseen(number, "other"));
        assert_eq!(world.said(), vec!["first"; 1000], "no file was read a second time");
    }

    #[test]
    fn file_that_changed_is_read_anew() {
        let world = World::new(3);
        assert_eq!(world.said(), ["first", "first", "first"]);
        // Longer, at the same time; as long as before, at another time; gone, and a new one.
        world.write_unseen(0, "longer");
        let changed = fs::metadata(world.path(1)).and_then(|facts| facts.modified()).expect("a file");
        world.write(1, "other");
        world.date(1, changed + Duration::from_millis(1));
        fs::remove_file(world.path(2)).expect("it was there");
        world.write(3, "newer");
        assert_eq!(world.said(), ["longer", "newer", "other"]);
        assert_eq!(world.catalogue.known().len(), 3, "what is gone is not kept");
    }

    #[test]
    fn cost_is_read_once_and_anew_with_the_file() {
        let world = World::new(1);
        let cost = || {
            let listed = world.catalogue.list_in(&[world.folder.path().to_owned()]).expect("a folder");
            world.catalogue.spent(&listed[0]).expect("a file").input
        };
        let answer = |input: u64| {
            let usage = serde_json::json!({ "input": input, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": input,
                "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } });
            let message = serde_json::json!({ "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m",
                "usage": usage, "stopReason": "stop", "timestamp": 1 });
            let entry = serde_json::json!({ "type": "message", "id": "2", "parentId": "1",
                "timestamp": "2026-01-01T00:00:00.000Z", "message": message });
            world.write(0, "first");
            let said = fs::read_to_string(world.path(0)).expect("a file");
            fs::write(world.path(0), format!("{said}{entry}\n")).expect("a file");
        };
        assert_eq!(cost(), 0);
        answer(7);
        assert_eq!(cost(), 7);
        let changed = fs::metadata(world.path(0)).and_then(|facts| facts.modified()).expect("a file");
        answer(8);
        world.date(0, changed);
        assert_eq!(cost(), 7, "it was not read a second time");
        answer(19);
        assert_eq!(cost(), 19);
    }
}
