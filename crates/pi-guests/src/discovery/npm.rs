//! Where `npm install -g` puts packages, as Pi installs them. npm itself is not asked: it takes half a second, and may be another
//! program in every project.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// What the environment says about it.
#[derive(Debug, Clone, Default)]
pub struct Npm {
    /// `NPM_CONFIG_PREFIX`.
    pub prefix: Option<PathBuf>,
    /// `PATH`: beside the programs of Node are its packages.
    pub path: Option<OsString>,
    /// `APPDATA` of Windows.
    pub application_data: Option<PathBuf>,
}

const NODE_MODULES: &str = "node_modules";
const PROGRAMS: [&str; 2] = if cfg!(windows) { ["npm.cmd", "node.exe"] } else { ["npm", "node"] };

impl Npm {
    /// The folders that hold packages for everything, the likeliest first.
    pub(super) fn roots(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let written = home.and_then(|home| written(&home.join(".npmrc"), home));
        let prefixes = self.prefix.clone().into_iter().chain(written).chain(self.beside_programs());
        let of_windows = self.application_data.iter().map(|folder| folder.join("npm"));
        prefixes
            .chain(of_windows)
            .filter(|prefix| prefix.is_absolute())
            .flat_map(|prefix| packages_of(&prefix))
            .collect()
    }

    /// The prefix of the first Node in the path: as it stands there, and where a link leads.
    fn beside_programs(&self) -> Vec<PathBuf> {
        let folders = self.path.iter().flat_map(env::split_paths).filter(|folder| folder.is_absolute());
        let program =
            folders.flat_map(|folder| PROGRAMS.map(|name| folder.join(name))).find(|program| program.is_file());
        let Some(program) = program else { return Vec::new() };
        let node = program.with_file_name(PROGRAMS[1]);
        let real = fs::canonicalize(node).ok();
        [Some(program), real].into_iter().flatten().filter_map(|program| prefix_of(&program)).collect()
    }
}

fn prefix_of(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?;
    if cfg!(windows) { Some(folder.to_path_buf()) } else { folder.parent().map(Path::to_path_buf) }
}

fn packages_of(prefix: &Path) -> Option<PathBuf> {
    let folder = if cfg!(windows) { prefix.join(NODE_MODULES) } else { prefix.join("lib").join(NODE_MODULES) };
    folder.is_dir().then_some(folder)
}

/// The prefix that a person wrote into the settings of npm.
#[expect(clippy::disallowed_methods, reason = "looking for extensions is reading settings")]
fn written(file: &Path, home: &Path) -> Option<PathBuf> {
    // A file that is not there says nothing.
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "prefix").then(|| value.trim().trim_matches(['"', '\'']))
    })?;
    Some(match value.strip_prefix("~/").or_else(|| value.strip_prefix("${HOME}/")) {
        Some(inside) => home.join(inside),
        None => PathBuf::from(value),
    })
}
