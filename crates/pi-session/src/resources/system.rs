//! Texts that replace or follow our own words: `SYSTEM.md` and `APPEND_SYSTEM.md`.

use std::path::PathBuf;

use pi_envelope::Provenance;

use super::{
    Places, disk,
    notice::{Notice, Problem},
};
use crate::settings::trust::Trust;

#[derive(Debug, Clone, PartialEq)]
pub struct SystemFile {
    pub path: PathBuf,
    pub text: String,
    pub provenance: Provenance,
}

/// The project's, if it is trusted and has one; else the person's.
pub(super) fn find(places: &Places, name: &str, notices: &mut Vec<Notice>) -> Option<SystemFile> {
    let project = places.directory.join(".pi").join(name);
    let of_project = match places.trust {
        Trust::Trusted => Some(project),
        Trust::Untrusted => {
            if disk::exists(&project) {
                notices.push(Notice::new(&project, Problem::Untrusted));
            }
            None
        }
    };
    let of_person = places.agent.as_ref().map(|agent| agent.join(name));
    of_project.into_iter().chain(of_person).find_map(|path| {
        let text = disk::text(&path, notices)?;
        Some(SystemFile { provenance: places.provenance(&path), text, path })
    })
}
