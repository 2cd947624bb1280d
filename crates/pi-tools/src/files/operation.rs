//! What extensions do to files, one operation at a time.
//!
//! Tools have a purpose and speak to a model; these are the plain operations below them, with the system's own errors,
//! for whoever speaks to a program. They take a grant like everything else here, open what it names, and follow no link.

use std::{
    io::{self, Read, Seek, SeekFrom, Write},
    time::SystemTime,
};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, SystemTimeSpec};
use cap_std::fs::{FileType, Metadata, OpenOptions};
use tokio_util::sync::CancellationToken;

use pi_policy::{Extent, Grant, Location, Places, Target};

#[cfg(unix)]
use super::errno::raw;
use super::{
    FileFault, FileQueue, Folder, Missing, Spot, do_not_wait, granted, real_path,
    replace::{Put, begin_with},
};

/// What is to be done to what a grant names.
#[derive(Debug)]
pub enum Operation {
    /// At most `most` bytes; more is an error that says so.
    Read {
        offset: Option<u64>,
        limit: Option<u64>,
        most: u64,
    },
    List,
    Stat,
    /// As a whole or not at all; the file that is there is replaced.
    Write {
        content: Vec<u8>,
        /// Permission bits of a file that is made, less what the system takes from all; one that is there keeps its own.
        mode: Option<u32>,
    },
    /// Only if there is none.
    Create {
        content: Vec<u8>,
        mode: Option<u32>,
    },
    Append {
        content: Vec<u8>,
    },
    MakeDirectory {
        parents: bool,
    },
    /// A new folder in the folder that the grant names.
    MakeTemporary {
        prefix: String,
    },
    Remove {
        recursive: bool,
    },
    Rename,
    SetMode {
        mode: u32,
    },
    SetTimes {
        accessed: SystemTime,
        modified: SystemTime,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Nothing,
    Bytes(Vec<u8>),
    Entries(Vec<(String, Kind)>),
    Info(Option<Info>),
    Path(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Link,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    pub kind: Kind,
    pub size: u64,
    pub modified: Option<SystemTime>,
    /// Permission bits, where the system has them.
    pub mode: Option<u32>,
}

/// Does it, off the threads that wait, when those are done who came before. Dropping the future, or setting `cancel`,
/// stops what has not taken effect; a file is as it was or as it should become.
pub async fn perform(
    grant: Grant,
    operation: Operation,
    places: &Places,
    queue: &FileQueue,
    cancel: CancellationToken,
) -> io::Result<Found> {
    let changed = match &operation {
        Operation::Write { .. } | Operation::Create { .. } | Operation::Append { .. } => granted(&grant).ok().cloned(),
        Operation::Read { .. }
        | Operation::List
        | Operation::Stat
        | Operation::MakeDirectory { .. }
        | Operation::MakeTemporary { .. }
        | Operation::Remove { .. }
        | Operation::Rename
        | Operation::SetMode { .. }
        | Operation::SetTimes { .. } => None,
    };
    let _turn = match &changed {
        Some(location) => Some(queue.turn(location).await),
        None => None,
    };
    let (places, token) = (places.clone(), cancel.clone());
    let _stop = cancel.drop_guard();
    let work = tokio::task::spawn_blocking(move || apply(&grant, operation, &places, &token));
    work.await.unwrap_or_else(|broken| Err(io::Error::other(broken)))
}

/// The location with the links of the folders around it followed, and the last name as it is: for what is done to a
/// link and not to what it leads to.
pub fn real_name(places: &Places, location: Location) -> Location {
    let absolute = std::path::Path::new(location.absolute());
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else { return location };
    let real = super::real::as_text(&real_path(folder).join(name));
    let found = real.filter(|real| real != location.absolute());
    found.and_then(|real| places.locate(&real, location.extent()).ok()).unwrap_or(location)
}

fn apply(grant: &Grant, operation: Operation, places: &Places, cancel: &CancellationToken) -> io::Result<Found> {
    if cancel.is_cancelled() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let spot = |missing| Spot::find(grant, granted(grant)?, missing);
    match operation {
        Operation::Read { offset, limit, most } => read(&spot(Missing::Refuse)?, offset, limit, most),
        Operation::List => list(grant, places),
        Operation::Stat => stat(grant),
        Operation::Write { content, mode } => match spot(Missing::Refuse)?.put_with(&content, plain(mode), cancel)? {
            Put::Done => Ok(Found::Nothing),
            Put::GivenUp => Err(io::ErrorKind::Interrupted.into()),
        },
        Operation::Create { content, mode } => create(&spot(Missing::Refuse)?, &content, plain(mode)),
        Operation::Append { content } => append(&spot(Missing::Refuse)?, &content),
        Operation::MakeDirectory { parents } => make_directory(grant, parents),
        Operation::MakeTemporary { prefix } => make_temporary(grant, &prefix),
        Operation::Remove { recursive } => remove(grant, places, recursive),
        Operation::Rename => rename(grant),
        Operation::SetMode { mode } => set_mode(&spot(Missing::Refuse)?, mode),
        Operation::SetTimes { accessed, modified } => set_times(&spot(Missing::Refuse)?, accessed, modified),
    }
}

/// Nobody gets the right to run as somebody else from here.
fn plain(mode: Option<u32>) -> Option<u32> {
    mode.map(|mode| mode & 0o777)
}

fn read(spot: &Spot, offset: Option<u64>, limit: Option<u64>, most: u64) -> io::Result<Found> {
    let (mut file, metadata) = spot.open()?;
    let offset = offset.unwrap_or_default();
    let wanted = limit.unwrap_or(u64::MAX).min(metadata.len().saturating_sub(offset));
    if wanted > most {
        let message = format!("{wanted} bytes are more than the {most} that may be read at once; read it in parts");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::with_capacity(usize::try_from(wanted).unwrap_or_default());
    // A file may grow while it is read, and some say that they are empty and are not.
    let most = limit.unwrap_or(u64::MAX).min(most + 1);
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Found::Bytes(bytes))
}

fn list(grant: &Grant, places: &Places) -> io::Result<Found> {
    let location = granted(grant)?;
    let folder = Folder::of(grant, location)?;
    let mut entries = Vec::new();
    for entry in folder.dir().entries()? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if permits(grant, places, location, &name) {
            entries.push((name, kind(entry.file_type()?)));
        }
    }
    entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(Found::Entries(entries))
}

fn permits(grant: &Grant, places: &Places, folder: &Location, name: &str) -> bool {
    let path = format!("{}/{name}", folder.absolute().trim_end_matches('/'));
    places.locate(&path, Extent::File).is_ok_and(|file| grant.permits(&file))
}

fn stat(grant: &Grant) -> io::Result<Found> {
    let found = Spot::find(grant, granted(grant)?, Missing::Refuse)
        .map_err(io::Error::from)
        .and_then(|spot| spot.folder.dir.symlink_metadata(&spot.name));
    match found {
        Ok(metadata) => Ok(Found::Info(Some(info(&metadata)))),
        Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {
            Ok(Found::Info(None))
        }
        Err(error) => Err(error),
    }
}

fn create(spot: &Spot, content: &[u8], mode: Option<u32>) -> io::Result<Found> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).follow(FollowSymlinks::No);
    if let Some(mode) = mode {
        begin_with(&mut options, mode);
    }
    let mut file = spot.folder.dir.open_with(&spot.name, &options)?;
    if let Err(error) = file.write_all(content).and_then(|()| file.sync_all()) {
        // Nobody shall take a beginning for the whole.
        let _ = spot.folder.dir.remove_file(&spot.name);
        return Err(error);
    }
    Ok(Found::Nothing)
}

fn append(spot: &Spot, content: &[u8]) -> io::Result<Found> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).follow(FollowSymlinks::No);
    do_not_wait(&mut options);
    let mut file = spot.folder.dir.open_with(&spot.name, &options)?;
    if !file.metadata()?.is_file() {
        return Err(FileFault::Special { path: spot.shown.clone() }.into());
    }
    file.write_all(content)?;
    file.sync_data()?;
    Ok(Found::Nothing)
}

fn make_directory(grant: &Grant, parents: bool) -> io::Result<Found> {
    let location = granted(grant)?;
    let spot = Spot::find(grant, location, if parents { Missing::Make } else { Missing::Refuse })?;
    match spot.folder.dir.create_dir(&spot.name) {
        Err(error) if parents && error.kind() == io::ErrorKind::AlreadyExists => {
            let is_folder = spot.folder.dir.symlink_metadata(&spot.name)?.is_dir();
            if is_folder { Ok(Found::Nothing) } else { Err(error) }
        }
        made => made.map(|()| Found::Nothing),
    }
}

fn make_temporary(grant: &Grant, prefix: &str) -> io::Result<Found> {
    if prefix.contains(['/', '\\', '\0', ':']) || prefix.starts_with('.') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the prefix of a temporary folder is a plain name"));
    }
    let location = granted(grant)?;
    let folder = Folder::of(grant, location)?;
    let name = format!("{prefix}{:012x}", fastrand::u64(..) & 0xffff_ffff_ffff);
    folder.dir().create_dir(&name)?;
    Ok(Found::Path(format!("{}/{name}", location.absolute())))
}

fn remove(grant: &Grant, places: &Places, recursive: bool) -> io::Result<Found> {
    let location = granted(grant)?;
    let spot = Spot::find(grant, location, Missing::Refuse)?;
    let dir = &spot.folder.dir;
    let metadata = dir.symlink_metadata(&spot.name)?;
    match (metadata.is_dir(), recursive) {
        (false, _) => dir.remove_file(&spot.name)?,
        (true, false) => dir.remove_dir(&spot.name)?,
        (true, true) => {
            let inside = dir.open_dir(&spot.name)?;
            check_whole(grant, places, location.absolute(), &inside)?;
            dir.remove_dir_all(&spot.name)?;
        }
    }
    Ok(Found::Nothing)
}

/// A folder goes only if all of it may.
fn check_whole(grant: &Grant, places: &Places, path: &str, dir: &cap_std::fs::Dir) -> io::Result<()> {
    for entry in dir.entries()? {
        let entry = entry?;
        let path = format!("{path}/{}", entry.file_name().to_string_lossy());
        let may_go = places.locate(&path, Extent::File).is_ok_and(|file| grant.permits(&file));
        if !may_go {
            return Err(FileFault::NotGranted { path }.into());
        }
        if entry.file_type()?.is_dir() {
            check_whole(grant, places, &path, &entry.open_dir()?)?;
        }
    }
    Ok(())
}

fn rename(grant: &Grant) -> io::Result<Found> {
    let Target::Move { from, to } = &grant.action().target else {
        return Err(FileFault::NotGranted { path: grant.action().target.to_string() }.into());
    };
    let from = Spot::find(grant, from, Missing::Refuse)?;
    let to = Spot::find(grant, to, Missing::Refuse)?;
    from.folder.dir.rename(&from.name, &to.folder.dir, &to.name)?;
    Ok(Found::Nothing)
}

#[cfg(unix)]
fn set_mode(spot: &Spot, mode: u32) -> io::Result<Found> {
    use std::os::unix::fs::PermissionsExt;

    use cap_std::fs::Permissions;

    let dir = &spot.folder.dir;
    if dir.symlink_metadata(&spot.name)?.is_symlink() {
        return Err(raw(rustix::io::Errno::LOOP));
    }
    let permissions = std::fs::Permissions::from_mode(mode & 0o777);
    dir.set_permissions(&spot.name, Permissions::from_std(permissions))?;
    Ok(Found::Nothing)
}

#[cfg(not(unix))]
fn set_mode(spot: &Spot, mode: u32) -> io::Result<Found> {
    let dir = &spot.folder.dir;
    let mut permissions = dir.metadata(&spot.name)?.permissions();
    permissions.set_readonly(mode & 0o200 == 0);
    dir.set_permissions(&spot.name, permissions)?;
    Ok(Found::Nothing)
}

/// A link is not followed: who wants what it leads to names that.
fn set_times(spot: &Spot, accessed: SystemTime, modified: SystemTime) -> io::Result<Found> {
    let time = |moment| Some(SystemTimeSpec::Absolute(cap_std::time::SystemTime::from_std(moment)));
    spot.folder.dir.set_symlink_times(&spot.name, time(accessed), time(modified))?;
    Ok(Found::Nothing)
}

fn info(metadata: &Metadata) -> Info {
    Info {
        kind: kind(metadata.file_type()),
        size: metadata.len(),
        modified: metadata.modified().ok().map(|time| time.into_std()),
        mode: mode(metadata),
    }
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> Option<u32> {
    use cap_std::fs::MetadataExt;
    Some(metadata.mode())
}

#[cfg(not(unix))]
fn mode(_: &Metadata) -> Option<u32> {
    None
}

fn kind(file_type: FileType) -> Kind {
    match (file_type.is_file(), file_type.is_dir(), file_type.is_symlink()) {
        (true, _, _) => Kind::File,
        (_, true, _) => Kind::Directory,
        (_, _, true) => Kind::Link,
        (false, false, false) => Kind::Other,
    }
}
