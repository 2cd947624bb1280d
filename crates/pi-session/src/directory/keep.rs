//! Sessions as files that are named, taken along, brought in and thrown away.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use pi_policy::Moment;
use pi_transcript::{
    entry::{Entry, SessionName},
    json::Extra,
};

use super::{Project, list};
use crate::{
    file::{self, Disk, Fault, Held, OpenError, beginning_with, create_folder, remove, replace},
    sidecar,
};

#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The name of the file is asked for, so that nothing is deleted by mistake.
    #[error("the file is called {name:?}")]
    OtherName { name: String },
    #[error("{path} is already there")]
    Exists { path: PathBuf },
    #[error("cannot write the session")]
    Write(#[from] Fault),
    #[error("cannot use the folder of sessions")]
    Io(#[from] io::Error),
}

/// Deletes a session, its envelopes, and what was ever kept beside it. `name` must be the name of its file.
///
/// One that is open in another process, and what is no session, stays.
pub fn delete(path: &Path, name: &str, now: Moment) -> Result<(), KeepError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
    let path = folder.join(path.file_name().unwrap_or_default());
    delete_by(&path, name, |place| file::open(place, now, fastrand::Rng::with_seed(0)))
}

/// The same for a path that somebody checked, absolute and without links: if it leads elsewhere by now, nothing is deleted.
pub fn delete_exactly(path: &Path, name: &str, now: Moment) -> Result<(), KeepError> {
    delete_by(path, name, |_| file::open_exactly(path, now, fastrand::Rng::with_seed(0)))
}

/// Deletes what lies in a folder that is held.
fn delete_by(
    path: &Path,
    name: &str,
    open: impl FnOnce(&Path) -> Result<file::Opened, OpenError>,
) -> Result<(), KeepError> {
    let found = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if found != name {
        return Err(KeepError::OtherName { name: found.to_owned() });
    }
    let held = Held::at(path.parent().unwrap_or(Path::new(".")))?;
    let folder = held.path();
    let place = &folder.join(found);
    // Held until the end, so that nobody begins to write to it.
    let opened = match open(place) {
        Ok(opened) => Some(opened),
        Err(OpenError::Unfinished { .. }) => None,
        Err(error) => return Err(error.about(path).into()),
    };
    sidecar::delete(place)?;
    for beside in beginning_with(&folder, &format!("{name}."))? {
        remove(&beside)?;
    }
    remove(place)?;
    drop(opened);
    Ok(())
}

/// Names a session that is not open.
pub fn rename(path: &Path, name: &str, now: Moment, random: fastrand::Rng) -> Result<(), KeepError> {
    let mut opened = file::open(path, now, random)?;
    let name = Some(name.trim().to_owned());
    let line = opened.tree.append(now, |base| Entry::SessionInfo(SessionName { base, name, extra: Extra::new() })).line;
    opened.log.push(format!("{}\n", line.text).as_bytes());
    Ok(opened.log.sync()?)
}

/// Copies a session as it is, every branch of it, to a file of its own.
pub fn export(path: &Path, target: &Path) -> Result<(), KeepError> {
    copy(path, target)
}

/// Takes a session file of any version into a project, and says where it lies. Its id stays.
pub fn import(source: &Path, project: &Project) -> Result<PathBuf, KeepError> {
    let Some(header) = list::header(source) else {
        return Err(OpenError::NotASession { path: source.to_owned() }.into());
    };
    // Whatever is wrong with it is said before anything is copied.
    file::view(source, fastrand::Rng::with_seed(0))?;
    let created = header.timestamp.parse().unwrap_or(Moment::from_unix_millis(0));
    let target = project.path(created, &header.id);
    create_folder(&project.folder())?;
    copy(source, &target)?;
    Ok(target)
}

fn copy(source: &Path, target: &Path) -> Result<(), KeepError> {
    if target.exists() {
        return Err(KeepError::Exists { path: target.to_owned() });
    }
    let disk = Disk::read(source)?;
    replace(target, |file: &mut dyn Write| io::copy(&mut disk.reader(), file).map(drop))?;
    Ok(())
}
