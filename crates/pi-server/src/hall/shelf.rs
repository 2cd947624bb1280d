//! Sessions on the disk: those of the folder that holds all, and those that projects keep themselves.

use std::{
    collections::{BTreeSet, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use pi_session::directory::{Catalogue, Stored};
use pi_wire::Error;
use tokio::task::spawn_blocking;

use super::{Hall, Undone};
use crate::{places, roots::Roots};

/// Where a project keeps sessions of its own.
const OWN: &str = ".pi/sessions";

impl Hall {
    /// Every session that can be loaded, the last used first. Projects are the folders in which somebody worked, and the one
    /// of the start.
    pub(super) async fn stored(&self) -> Result<Vec<Stored>, Undone> {
        let stored = self.workshop.stored(Arc::clone(&self.catalogue)).await?;
        let mut projects: BTreeSet<PathBuf> = stored.iter().map(|stored| PathBuf::from(&stored.cwd)).collect();
        projects.extend(self.rooms.everyone().iter().map(|room| PathBuf::from(room.berth().cwd)));
        projects.insert(self.workshop.usual_folder());
        let (roots, catalogue) = (self.roots.clone(), Arc::clone(&self.catalogue));
        let sessions = self.workshop.sessions_folder();
        let found = spawn_blocking(move || {
            let mut found = with_own(stored, &projects, &roots, &catalogue)?;
            found.retain(|stored| !leads_out(&stored.path, sessions.as_deref()));
            Ok::<_, std::io::Error>(found)
        })
        .await;
        let found = found.map_err(|panic| Error::Internal { incident: panic.to_string() })?;
        found.map_err(|error| Error::StorageFailed { reason: error.to_string() }.into())
    }
}

/// Whether it is a link to a file that no client may name.
fn leads_out(path: &Path, sessions: Option<&Path>) -> bool {
    path.is_symlink() && places::session_file(path, sessions).is_err()
}

fn with_own(
    mut stored: Vec<Stored>,
    projects: &BTreeSet<PathBuf>,
    roots: &Roots,
    catalogue: &Catalogue,
) -> std::io::Result<Vec<Stored>> {
    let folders: BTreeSet<PathBuf> = projects.iter().filter_map(|project| own_folder(project, roots)).collect();
    if folders.is_empty() {
        return Ok(stored);
    }
    let known: HashSet<PathBuf> = stored.iter().map(|stored| stored.path.clone()).collect();
    let more = catalogue.list_in(&folders.into_iter().collect::<Vec<_>>())?;
    stored.extend(more.into_iter().filter(|stored| !known.contains(&stored.path)));
    stored.sort_by(|one, other| other.modified.cmp(&one.modified).then_with(|| other.path.cmp(&one.path)));
    Ok(stored)
}

/// The folder of a project's own sessions, if there is one inside: a link that leads elsewhere is none.
fn own_folder(project: &Path, roots: &Roots) -> Option<PathBuf> {
    let folder = roots.folder(project).ok()?.join(OWN);
    let is_there = folder.canonicalize().is_ok_and(|real| real == folder) && folder.is_dir();
    is_there.then_some(folder)
}
