//! Where sessions live: Pi's folders and names.
//!
//! `<agent folder>/sessions/--home-ada-project--/2026-11-16T02-55-21-123Z_<id>.jsonl`: a folder for each working folder, a
//! file for each session. Everything here reads and writes files and blocks as long as they take; only a [`Catalogue`] keeps
//! what it read.

mod catalogue;
mod fork;
mod keep;
mod list;
mod title;

use std::{
    io,
    path::{Path, PathBuf},
};

use pi_policy::Moment;
use pi_transcript::{Header, SessionId};

pub(crate) use self::title::without_pipe;
pub use self::{
    catalogue::Catalogue,
    fork::{ForkError, ForkPoint, Forked, fork},
    keep::{KeepError, delete, delete_exactly, export, import, rename},
    list::{Stored, header, header_exactly, list, list_all, list_in, search_text, stored},
    title::{opening, title},
};
use crate::{
    file::{self, Opened},
    tree::stamp,
    uuid,
};

/// The sessions of one working folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The folder that holds the folders of all projects.
    pub sessions: PathBuf,
    /// The working folder.
    pub cwd: String,
}

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("there is no session {word:?}")]
    NotFound { word: String },
    #[error("{} sessions begin with {word:?}", paths.len())]
    Ambiguous { word: String, paths: Vec<PathBuf> },
    #[error("cannot read the folder of sessions")]
    Io(#[from] io::Error),
}

impl Project {
    /// The sessions of `cwd` below the agent's folder, which is `~/.pi/agent` unless somebody chose another.
    pub fn new(agent_folder: &Path, cwd: &str) -> Self {
        Self { sessions: agent_folder.join("sessions"), cwd: cwd.to_owned() }
    }

    /// Where its files lie.
    pub fn folder(&self) -> PathBuf {
        let bare = self.cwd.strip_prefix(['/', '\\']).unwrap_or(&self.cwd);
        self.sessions.join(format!("--{}--", bare.replace(['/', '\\', ':'], "-")))
    }

    /// Begins a session. Its file is made when the user says something.
    pub fn create(&self, now: Moment, mut random: fastrand::Rng) -> Opened {
        let header = self.header(now, &mut random);
        file::create(&self.path(now, &header.id), header, random)
    }

    /// The same, saying from which file it came.
    pub fn create_from(&self, parent: &Path, now: Moment, mut random: fastrand::Rng) -> Opened {
        let parent_session = Some(parent.display().to_string());
        let header = Header { parent_session, ..self.header(now, &mut random) };
        file::create(&self.path(now, &header.id), header, random)
    }

    /// Begins a session whose file will have this name, and the id that is in it.
    pub fn create_at(&self, path: &Path, now: Moment, mut random: fastrand::Rng) -> Opened {
        let named = path.file_stem().and_then(|name| name.to_str()?.split_once("Z_")).map(|(_, id)| id.into());
        let header = self.header(now, &mut random);
        let header = Header { id: named.unwrap_or_else(|| header.id.clone()), ..header };
        file::create(path, header, random)
    }

    /// The session that was written to last; `None` if there is none.
    pub fn most_recent(&self) -> io::Result<Option<PathBuf>> {
        let mut files = file::sessions_in(&self.folder())?;
        files.sort_by(|one, other| other.modified.cmp(&one.modified).then_with(|| other.path.cmp(&one.path)));
        Ok(files.into_iter().map(|listed| listed.path).find(|path| header(path).is_some()))
    }

    /// Finds a session by the path of its file or the beginning of its id, here first and then in every project.
    pub fn find(&self, word: &str) -> Result<PathBuf, FindError> {
        if word.ends_with(".jsonl") || word.contains(['/', '\\']) {
            let path = Path::new(&self.cwd).join(word);
            return if path.is_file() { Ok(path) } else { Err(FindError::NotFound { word: word.to_owned() }) };
        }
        let elsewhere = file::folders_in(&self.sessions)?.into_iter().filter(|folder| *folder != self.folder());
        let everywhere: Vec<PathBuf> = elsewhere.collect();
        for folders in [&[self.folder()][..], &everywhere] {
            let mut found = Vec::new();
            for folder in folders {
                let files = file::sessions_in(folder)?.into_iter().map(|listed| listed.path);
                found.extend(files.filter(|path| list::id(path).is_some_and(|id| id.as_str().starts_with(word))));
            }
            found.sort_unstable();
            match <[PathBuf; 1]>::try_from(found) {
                Ok([path]) => return Ok(path),
                Err(paths) if paths.is_empty() => {}
                Err(paths) => return Err(FindError::Ambiguous { word: word.to_owned(), paths }),
            }
        }
        Err(FindError::NotFound { word: word.to_owned() })
    }

    fn header(&self, now: Moment, random: &mut fastrand::Rng) -> Header {
        Header::new(uuid::timed(now, random).into(), stamp(now), &*self.cwd)
    }

    fn path(&self, now: Moment, id: &SessionId) -> PathBuf {
        // An id of a foreign file must not lead out of the folder.
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let id: String = id.as_str().chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
        self.folder().join(format!("{}_{id}.jsonl", stamp(now).replace([':', '.'], "-")))
    }
}
