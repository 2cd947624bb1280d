//! Context files: what `AGENTS.md` and its kin say, from the most general folder to the nearest one.

use std::path::{Path, PathBuf};

use pi_envelope::Provenance;

use super::{
    Discovery, Places, disk,
    notice::{Notice, Problem},
};
use crate::settings::trust::Trust;

/// The first of these counts in each folder.
const NAMES: [&str; 3] = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md"];

#[derive(Debug, Clone, PartialEq)]
pub struct ContextFile {
    pub path: PathBuf,
    pub text: String,
    pub provenance: Provenance,
}

/// The agent directory first, then every folder from the root of the file system to the directory of the session.
pub(super) fn find(places: &Places, notices: &mut Vec<Notice>) -> Vec<ContextFile> {
    if places.context_files == Discovery::Off {
        return Vec::new();
    }
    let mut above: Vec<&Path> = places.directory.ancestors().collect();
    above.reverse();
    let mut found: Vec<ContextFile> = Vec::new();
    for folder in places.agent.as_deref().into_iter().chain(above) {
        let names = NAMES.iter().map(|name| folder.join(name));
        let Some((path, text)) = first(places, names, notices) else { continue };
        // The session may run in the agent directory itself.
        if !found.iter().any(|file| file.path == path) {
            found.push(ContextFile { provenance: places.provenance(&path), path, text });
        }
    }
    found
}

/// The first that can be read. One that is there and cannot be is told, and the next one is tried.
fn first(
    places: &Places,
    paths: impl Iterator<Item = PathBuf>,
    notices: &mut Vec<Notice>,
) -> Option<(PathBuf, String)> {
    // Most are not there, and whether somebody trusts a folder takes many looks at the disk.
    let mut there = paths.filter(|path| !disk::is_missing(path));
    there.find_map(|path| {
        if let Some(target) = leads_out(places, &path) {
            notices.push(Notice::new(&path, Problem::LeadsOut { target }));
            return None;
        }
        let text = disk::text(&path, notices)?;
        Some((path, text))
    })
}

/// Where a link of somebody whom nobody trusts leads, if that is out of its folder: a repository with an `AGENTS.md`
/// that is a link to a private key would have the key sent to a provider.
fn leads_out(places: &Places, path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    if places.trust_of(folder) == Trust::Trusted {
        return None;
    }
    let inside = if folder.starts_with(places.root()) { places.root() } else { folder };
    let target = path.canonicalize().ok()?;
    (!target.starts_with(inside)).then_some(target)
}
