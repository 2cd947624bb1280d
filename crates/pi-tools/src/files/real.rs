//! Real paths: what a path means once its links are followed. Found before policy is asked, so that it judges what will be
//! opened and a person reads where a link leads.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use pi_policy::{Location, Marks, PathFault, PathStyle, Places, Root};

/// The folders of a machine and a project. [`Folders::places`] makes of them what policy judges by.
#[derive(Debug, Clone, Default)]
pub struct Folders {
    pub project: PathBuf,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// Where pi keeps settings, credentials and sessions.
    pub agent: Option<PathBuf>,
    /// The file of the session, which its extensions may read.
    pub session: Option<PathBuf>,
    /// Folders elsewhere in which sessions and ledgers are kept, which are not for extensions to read.
    pub kept: Vec<PathBuf>,
    /// What was found to be guarded.
    pub marks: Marks,
}

impl Folders {
    /// The same folders by their real paths. All paths in grants are real, so these have to be as well. Looks at the disk.
    pub fn places(&self) -> Result<Places, PathFault> {
        let text = |path: &Path| as_text(&real_path(path)).ok_or(PathFault::NotAbsolute);
        let mut places = Places::new(PathStyle::HOST, &text(&self.project)?)?;
        if let Some(home) = &self.home {
            places = places.with_home(&text(home)?)?;
        }
        if let Some(agent) = &self.agent {
            places = places.with(Root::Agent, &text(agent)?)?;
        }
        Ok(places.with_marks(self.marks.clone()))
    }
}

/// The location that remains when all links on the way are followed; what does not exist yet lies below what does. Looks
/// at the disk and opens nothing. A path that cannot be followed is left as it is: opening it will say why.
pub fn real_location(places: &Places, location: Location) -> Location {
    let real = as_text(&real_path(Path::new(location.absolute())));
    let found = real.filter(|real| real != location.absolute());
    found.and_then(|real| places.locate(&real, location.extent()).ok()).unwrap_or(location)
}

/// The real path as policy reads it; nothing if it is no text. Looks at the disk.
pub fn real_text(path: &Path) -> Option<String> {
    as_text(&real_path(path))
}

/// Whether there is anything under this path.
pub(crate) fn exists(path: &str) -> bool {
    Path::new(path).symlink_metadata().is_ok()
}

pub(crate) fn real_path(path: &Path) -> PathBuf {
    let mut existing = path.to_owned();
    let mut rest: Vec<OsString> = Vec::new();
    loop {
        match existing.canonicalize() {
            Ok(real) => return rest.into_iter().rev().fold(real, |path, name| path.join(name)),
            // A link that leads nowhere is there, so what is behind it is not below its folder.
            Err(_) if existing.is_symlink() => return path.to_owned(),
            Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {}
            Err(_) => return path.to_owned(),
        }
        match existing.file_name() {
            Some(name) => rest.push(name.to_owned()),
            None => return path.to_owned(),
        }
        existing.pop();
    }
}

/// The path as policy reads it; Windows writes real paths in a form that other programs do not understand.
pub(super) fn as_text(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let plain = match text.strip_prefix(r"\\?\") {
        Some(rest) => match rest.strip_prefix(r"UNC\") {
            Some(share) => format!(r"\\{share}"),
            None => rest.to_owned(),
        },
        None => text.to_owned(),
    };
    Some(plain)
}
