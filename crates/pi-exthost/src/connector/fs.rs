//! `fs`: files, through the seam that tools use.
//!
//! Links are followed before anybody decides, so a grant names the real path; what is opened afterwards follows none.

use std::time::{Duration, SystemTime};

use pi_extproto::{
    connector::{
        data::Data,
        fs::{DirectoryEntry, FileContent, FileInfo, FileKind, FsCall, Listing, Place, Presence, WriteMode},
    },
    host::{ErrorCode, HostError},
};
use pi_policy::{Action, Location, Target};
use pi_tools::files::{
    operation::{self, Found, Info, Kind, Operation},
    real_location,
};

use super::{cancelled, failed, invalid};
use crate::desk::{Desk, Haul, Output, Terms};

pub(super) async fn perform(
    desk: &Desk,
    call: FsCall,
    action: Action,
    haul: &Haul,
    terms: &Terms,
) -> Result<Output, HostError> {
    let action = real(desk, action, Follow::of(&call)).await?;
    let shown = action.target.to_string();
    let resolved = match (&call, &action.target) {
        (FsCall::Resolve { .. }, Target::Path(location)) => Some(location.absolute().to_owned()),
        _ => None,
    };
    let grant = desk.authorize(action, terms).await?;
    // How long a file is, is known when it is read; so few are read at once.
    let _reader = match &call {
        FsCall::Read { .. } => desk.inner.reading.acquire().await.ok(),
        _ => None,
    };
    let operation = match call {
        FsCall::Resolve { .. } => Operation::Stat,
        FsCall::Read { offset, limit, .. } => {
            Operation::Read { offset, limit, most: desk.inner.house.fittings.limits.output_bytes as u64 }
        }
        FsCall::List { .. } => Operation::List,
        FsCall::Stat { .. } => Operation::Stat,
        FsCall::Write { content, mode: WriteMode::Replace, permissions, .. } => {
            Operation::Write { content: content.0, mode: permissions }
        }
        FsCall::Write { content, mode: WriteMode::CreateNew, permissions, .. } => {
            Operation::Create { content: content.0, mode: permissions }
        }
        FsCall::Append { content, .. } => Operation::Append { content: content.0 },
        FsCall::MakeDirectory { parents, .. } => Operation::MakeDirectory { parents },
        FsCall::MakeTemporary { prefix } => Operation::MakeTemporary { prefix },
        FsCall::Remove { recursive, .. } => Operation::Remove { recursive },
        FsCall::Rename { .. } => Operation::Rename,
        FsCall::SetMode { mode, .. } => Operation::SetMode { mode },
        FsCall::SetTimes { accessed_ms, modified_ms, .. } => {
            Operation::SetTimes { accessed: moment(accessed_ms)?, modified: moment(modified_ms)? }
        }
    };
    let fittings = &desk.inner.house.fittings;
    let done =
        operation::perform(grant, operation, &desk.inner.places, &fittings.queue, terms.cancel.child_token()).await;
    let found = done.map_err(|error| match terms.cancel.is_cancelled() {
        true => cancelled(),
        false => failed(&shown, &error),
    })?;
    Ok(match (found, resolved) {
        (Found::Info(None), Some(_)) => return Err(failed(&shown, &std::io::ErrorKind::NotFound.into())),
        (Found::Info(Some(_)), Some(path)) => Place { path }.into(),
        (Found::Nothing, _) => Output::Empty,
        (Found::Bytes(bytes), _) => {
            haul.grow(bytes.len())?;
            FileContent { content: Data(bytes) }.into()
        }
        (Found::Entries(entries), _) => listing(entries).into(),
        (Found::Info(info), None) => Presence { info: info.map(presence) }.into(),
        (Found::Path(path), _) => Place { path }.into(),
    })
}

/// Whether the last name of a path is followed if it is a link.
#[derive(Clone, Copy)]
enum Follow {
    All,
    Folders,
}

impl Follow {
    fn of(call: &FsCall) -> Self {
        match call {
            FsCall::Stat { follow_links: false, .. }
            | FsCall::SetTimes { follow_links: false, .. }
            | FsCall::Remove { .. }
            | FsCall::Rename { .. } => Self::Folders,
            FsCall::Read { .. }
            | FsCall::List { .. }
            | FsCall::Stat { .. }
            | FsCall::Resolve { .. }
            | FsCall::Write { .. }
            | FsCall::Append { .. }
            | FsCall::MakeDirectory { .. }
            | FsCall::MakeTemporary { .. }
            | FsCall::SetMode { .. }
            | FsCall::SetTimes { .. } => Self::All,
        }
    }
}

/// The action with the real paths of what it aims at. Looks at names on the disk, off the threads that wait.
async fn real(desk: &Desk, mut action: Action, follow: Follow) -> Result<Action, HostError> {
    let places = desk.inner.places.clone();
    let looking = tokio::task::spawn_blocking(move || {
        let find = |location: Location| match follow {
            Follow::All => real_location(&places, location),
            Follow::Folders => operation::real_name(&places, location),
        };
        action.target = match action.target {
            Target::Path(location) => Target::Path(find(location)),
            Target::Move { from, to } => Target::Move { from: find(from), to: find(to) },
            other => other,
        };
        action
    });
    looking.await.map_err(|broken| HostError::new(ErrorCode::Internal, broken.to_string()))
}

fn listing(entries: Vec<(String, Kind)>) -> Listing {
    let entry = |(name, found): (String, Kind)| DirectoryEntry { name, kind: kind(found) };
    Listing { entries: entries.into_iter().map(entry).collect() }
}

fn presence(info: Info) -> FileInfo {
    let modified_ms = info.modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    FileInfo {
        kind: kind(info.kind),
        size: info.size,
        modified_ms: modified_ms.and_then(|time| u64::try_from(time.as_millis()).ok()),
        mode: info.mode,
    }
}

/// Before 1970 as well.
fn moment(milliseconds: i64) -> Result<SystemTime, HostError> {
    let distance = Duration::from_millis(milliseconds.unsigned_abs());
    let moment = match milliseconds < 0 {
        true => SystemTime::UNIX_EPOCH.checked_sub(distance),
        false => SystemTime::UNIX_EPOCH.checked_add(distance),
    };
    moment.ok_or_else(|| invalid(format!("{milliseconds} is no time that this system knows")))
}

fn kind(kind: Kind) -> FileKind {
    match kind {
        Kind::File => FileKind::File,
        Kind::Directory => FileKind::Directory,
        Kind::Link => FileKind::Link,
        Kind::Other => FileKind::Other,
    }
}
