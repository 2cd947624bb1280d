//! Roots: the folders below which an agent may work for clients. The operator names them.
//!
//! They say what a client may name as `cwd`, and so where pages are exported and files are listed. What the agent itself may
//! do is policy's business.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use pi_wire::Error;

/// The folder in which the server was started.
pub const HERE: &str = ".";
/// The person's home.
pub const HOME: &str = "~";

/// Folders that are there, without links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots(Vec<PathBuf>);

/// Why there are no roots.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    #[error("server.roots names {}, which cannot be used", folder.display())]
    Unusable { folder: PathBuf, source: io::Error },
    #[error("server.roots names {}, which is no folder", folder.display())]
    NotAFolder { folder: PathBuf },
    #[error("server.roots names {said:?}, and there is no home folder")]
    Homeless { said: String },
    #[error("server.roots allows no folder at all")]
    Nothing,
}

impl RootError {
    /// What to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Unusable { .. } | Self::NotAFolder { .. } => "make the folder, or name another one with --root",
            Self::Homeless { .. } => "set HOME, or name the folder from / on",
            Self::Nothing => "name a folder with --root; all of the machine is --root /",
        }
    }
}

impl Roots {
    /// Finds what was said: `.` is where the server was started, `~` the home. Neither stands for the whole machine, and a home
    /// that is not there allows nothing; who means `/` says so.
    pub fn find(said: &[String], here: &Path, home: Option<&Path>) -> Result<Self, RootError> {
        let mut folders = Vec::new();
        for said in said {
            let found = match (said.as_str(), home) {
                (HERE, _) => here.canonicalize().ok().filter(|here| here.parent().is_some()),
                (HOME, home) => home
                    .and_then(|home| home.canonicalize().ok())
                    .filter(|home| home.is_dir() && home.parent().is_some()),
                (said, home) => Some(named(said, home)?),
            };
            folders.extend(found);
        }
        if folders.is_empty() { Err(RootError::Nothing) } else { Ok(Self(folders)) }
    }

    pub fn folders(&self) -> &[PathBuf] {
        &self.0
    }

    /// The folder at this path, if it is there and inside. Without links, so that everybody means the same one.
    ///
    /// Of what lies outside nobody learns whether it is there.
    pub(crate) fn folder(&self, path: &Path) -> Result<PathBuf, Error> {
        match path.canonicalize() {
            Ok(real) if !self.hold(&real) => Err(self.outside()),
            Ok(real) if real.is_dir() => Ok(real),
            Ok(_) => Err(Error::CwdMissing),
            Err(_) if self.hold(&destination(path)) => Err(Error::CwdMissing),
            Err(_) => Err(self.outside()),
        }
    }

    /// Whether a folder at this path would be inside, whether it is there or not.
    pub(crate) fn may_hold(&self, path: &Path) -> bool {
        !matches!(self.folder(path), Err(Error::CwdOutside { .. }))
    }

    /// Where an agent works if nobody says where: in this folder, or in the first root if it is not inside.
    pub(crate) fn usual(&self, here: &Path) -> PathBuf {
        self.folder(here).unwrap_or_else(|_| self.0.first().cloned().unwrap_or_else(|| here.to_owned()))
    }

    fn hold(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }

    fn outside(&self) -> Error {
        Error::CwdOutside { roots: self.0.iter().map(|root| root.to_string_lossy().into_owned()).collect() }
    }
}

/// Whether this can be said of a root: it must mean the same wherever the server is started.
pub(crate) fn is_root(said: &str) -> bool {
    said == HERE || said == HOME || said.starts_with("~/") || Path::new(said).is_absolute()
}

/// Links that are followed until it is clear that they lead in a circle.
const MOST_LINKS: usize = 40;

/// Where a path leads by its links, whether there is anything at its end or not.
pub(crate) fn destination(path: &Path) -> PathBuf {
    let mut left: Vec<PathBuf> = vec![path.to_owned()];
    let (mut reached, mut links) = (PathBuf::new(), 0);
    while let Some(path) = left.pop() {
        let mut parts = path.components();
        let Some(part) = parts.next() else { continue };
        left.push(parts.as_path().to_owned());
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(reached.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                let next = reached.join(part);
                match next.read_link() {
                    Ok(target) if links < MOST_LINKS => {
                        links += 1;
                        left.push(target);
                    }
                    // No link, or nothing that can be looked at.
                    Ok(_) | Err(_) => reached = next,
                }
            }
        }
    }
    reached
}

fn named(said: &str, home: Option<&Path>) -> Result<PathBuf, RootError> {
    let folder = match (said.strip_prefix("~/"), home) {
        (None, _) => PathBuf::from(said),
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_), None) => return Err(RootError::Homeless { said: said.to_owned() }),
    };
    let real = folder.canonicalize().map_err(|source| RootError::Unusable { folder: folder.clone(), source })?;
    if real.is_dir() { Ok(real) } else { Err(RootError::NotAFolder { folder }) }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the world of these tests is made of files")]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// A folder with `home/ada/project`, `work/one`, and in `home/ada` the links `out` to `work`, `void` to `work/none` and
    /// `circle` to itself.
    fn world() -> (TempDir, PathBuf) {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["home/ada/project", "work/one"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("work/file"), "").unwrap();
        for (target, link) in [("work", "out"), ("work/none", "void"), ("home/ada/circle", "circle")] {
            std::os::unix::fs::symlink(root.join(target), root.join("home/ada").join(link)).unwrap();
        }
        (folder, root)
    }

    #[test]
    fn folders_inside_are_found_and_nothing_is_told_of_others() {
        let (_folder, at) = world();
        let said = |said: &[&str]| {
            let said: Vec<String> = said.iter().map(|word| word.replace("AT", at.to_str().unwrap())).collect();
            Roots::find(&said, &at.join("home/ada/project"), Some(&at.join("home/ada"))).unwrap()
        };
        let outside = |roots: &Roots| Err(roots.outside());
        let (usual, here) = (said(&[".", "~"]), said(&["."]));
        for (roots, path, expected) in [
            (&usual, "home/ada", Ok(at.join("home/ada"))),
            (&usual, "home/ada/project", Ok(at.join("home/ada/project"))),
            (&usual, "home/ada/none", Err(Error::CwdMissing)),
            (&usual, "home", outside(&usual)),
            (&usual, "work/one", outside(&usual)),
            (&usual, "work/none", outside(&usual)),
            (&usual, "home/ada/out", outside(&usual)),
            (&usual, "home/ada/out/one", outside(&usual)),
            (&usual, "home/ada/out/none", outside(&usual)),
            (&usual, "home/ada/void", outside(&usual)),
            (&usual, "home/ada/void/none", outside(&usual)),
            (&usual, "home/ada/circle/none", Err(Error::CwdMissing)),
            (&usual, "home/ada/none/../../../work/none", outside(&usual)),
            (&here, "home/ada", outside(&here)),
            (&said(&["~/project", "AT/work"]), "home/ada/out/one", Ok(at.join("work/one"))),
            (&said(&["AT/work"]), "work/file", Err(Error::CwdMissing)),
            (&said(&["AT/home/ada/out"]), "work/one", Ok(at.join("work/one"))),
        ] {
            assert_eq!(roots.folder(&at.join(path)), expected, "{path} in {roots:?}");
        }
    }

    #[test]
    fn roots_that_cannot_be_used_are_told() {
        let (_folder, at) = world();
        let find = |said: &str, here: &str, home: Option<&str>| {
            Roots::find(&[said.to_owned()], Path::new(here), home.map(Path::new)).map_err(|error| error.to_string())
        };
        let gone = at.join("gone").display().to_string();
        assert_eq!(find(&gone, "/", None), Err(format!("server.roots names {gone}, which cannot be used")));
        let file = at.join("work/file").display().to_string();
        assert_eq!(find(&file, "/", None), Err(format!("server.roots names {file}, which is no folder")));
        assert_eq!(find("~/x", "/", None), Err("server.roots names \"~/x\", and there is no home folder".to_owned()));
        // Neither the folder nor the home stands for all of the machine.
        let nothing = Err("server.roots allows no folder at all".to_owned());
        assert_eq!((find(".", "/", None), find("~", "/", Some("/"))), (nothing.clone(), nothing));
        assert_eq!(find("/", "/", None), Ok(Roots(vec![PathBuf::from("/")])));
    }

    #[test]
    fn without_a_folder_the_start_counts_and_then_the_first_root() {
        let (_folder, at) = world();
        let project = at.join("home/ada/project");
        let roots = Roots(vec![at.join("work"), at.join("home")]);
        assert_eq!(roots.usual(&project), project);
        assert_eq!(Roots(vec![at.join("work")]).usual(&project), at.join("work"));
    }
}
