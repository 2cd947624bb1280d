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
    /// Every session that can be loaded, the last used first: what lies behind a link out of the folders of sessions is not
    /// told, be it the file itself or a folder above it. Projects are the folders in which somebody worked, and the one
    /// of the start.
    pub(super) async fn stored(&self) -> Result<Vec<Stored>, Undone> {
        let mut stored = self.workshop.stored(Arc::clone(&self.catalogue)).await?;
        let mut projects: BTreeSet<PathBuf> =
            self.rooms.everyone().iter().map(|room| PathBuf::from(room.berth().cwd)).collect();
        projects.insert(self.workshop.usual_folder());
        let (roots, catalogue) = (self.roots.clone(), Arc::clone(&self.catalogue));
        let sessions = self.workshop.sessions_folder();
        let found = spawn_blocking(move || {
            let may_be_loaded = |stored: &Stored| places::session_file(&stored.path, sessions.as_deref()).is_ok();
            // First: a file that a link leads to says nothing about projects.
            stored.retain(may_be_loaded);
            projects.extend(stored.iter().map(|stored| PathBuf::from(&stored.cwd)));
            let mut found = with_own(stored, &projects, &roots, &catalogue)?;
            found.retain(may_be_loaded);
            Ok::<_, std::io::Error>(found)
        })
        .await;
        let found = found.map_err(|panic| Error::Internal { incident: panic.to_string() })?;
        found.map_err(|error| Error::StorageUnreadable { reason: error.to_string() }.into())
    }
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
