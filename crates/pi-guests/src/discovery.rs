//! Finds extensions where Pi finds them: in the folders of project and person, in settings, in packages, and where
//! somebody points.
//!
//! It looks at names and at `package.json`, and runs nothing. What a project brings is left out until it is trusted, and
//! whatever is left out is told.

mod npm;
mod package;

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use serde_json::Value;

use pi_exthost::launcher::{Provenance, Source};

use crate::{launcher::packed::is_packed, mcp::Origin};

use self::package::{Package, read_manifest};
pub use self::{npm::Npm, package::PackageFault};

/// Where to look.
#[derive(Debug, Clone)]
pub struct Places {
    /// The project.
    pub directory: PathBuf,
    /// Whether what the project brings may run.
    pub is_trusted: bool,
    pub agent: Option<PathBuf>,
    pub home: Option<PathBuf>,
    pub npm: Npm,
}

impl Places {
    /// Whether a real path is the project's: code in its folder is, whoever names it. The agent directory is not, wherever it is.
    pub fn is_of_project(&self, real: &Path) -> bool {
        let lies_in = |folder: &Path| {
            folder.canonicalize().is_ok_and(|folder| real.starts_with(folder)) || real.starts_with(folder)
        };
        lies_in(&self.directory) && !self.agent.as_deref().is_some_and(lies_in)
    }
}

/// What somebody wants beside what is found.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Nothing but what is named.
    pub only_named: bool,
    /// Named on the command line; files, folders or `npm:` packages that are installed.
    pub named: Vec<String>,
    /// Of settings, the project's first.
    pub listed: Vec<Listed>,
}

/// An entry of the settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// An entry of `extensions`, which is a path, or of `packages`, which may be an object with a source.
    pub entry: Value,
    /// The folder that it is relative to.
    pub folder: PathBuf,
    pub kind: Kind,
    /// Who says it.
    pub origin: Origin,
}

/// Of which list an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `extensions`.
    Extension,
    /// `packages`: an entry point of its own needs no `pi` manifest.
    Package,
}

/// What was found, in the order in which it is loaded.
#[derive(Debug, Default)]
pub struct Discovered {
    pub sources: Vec<Source>,
    pub notices: Vec<Notice>,
}

/// Something that is not loaded, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Notice {
    #[error("{0}: there is no such file or folder")]
    Missing(String),
    #[error(
        "{0}: there is no extension in it; it takes a .ts, .js or .wasm file, a folder with index.ts or index.js, a package.json with pi.extensions, or what `pi ext build` made"
    )]
    NoExtension(String),
    #[error("{source_name}: it is not installed; `npm install {package}` in {folder} installs it")]
    NotInstalled { source_name: String, package: String, folder: String },
    #[error("{0}: packages from git are used once they are cloned into the folder git of the agent directory")]
    NotCloned(String),
    #[error("the extensions of this project are not loaded until it is trusted: {}", .0.join(", "))]
    Untrusted(Vec<String>),
    #[error(transparent)]
    Package(#[from] PackageFault),
}

/// The endings of files that are extensions.
const ENDINGS: [&str; 8] = ["ts", "js", "mts", "mjs", "cts", "cjs", "wasm", "artifact"];
const INDEXES: [&str; 4] = ["index.ts", "index.js", "index.mts", "index.mjs"];

/// Looks everywhere. The same file is loaded once, where it was found first.
pub fn discover(places: &Places, wanted: &Wanted) -> Discovered {
    let mut search = Search { places, found: Discovered::default(), seen: BTreeSet::new(), withheld: Vec::new() };
    // As in Pi: what somebody names for this run comes before what is there anyway.
    for name in &wanted.named {
        search.named(name);
    }
    if !wanted.only_named {
        search.folder(&places.directory.join(".pi/extensions"), Origin::Project);
        if let Some(agent) = &places.agent {
            search.folder(&agent.join("extensions"), Origin::Person);
        }
        for listed in &wanted.listed {
            search.listed(listed);
        }
    }
    if !search.withheld.is_empty() {
        let names = std::mem::take(&mut search.withheld);
        search.found.notices.push(Notice::Untrusted(names));
    }
    search.found
}

struct Search<'a> {
    places: &'a Places,
    found: Discovered,
    seen: BTreeSet<PathBuf>,
    withheld: Vec<String>,
}

impl Search<'_> {
    /// One level deep, in the order of names.
    #[expect(clippy::disallowed_methods, reason = "looking for extensions is reading folders")]
    fn folder(&mut self, folder: &Path, origin: Origin) {
        // A folder that is not there holds nothing.
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if !is_hidden {
                // What is no extension may lie beside those that are.
                self.found_in(&path, origin);
            }
        }
    }

    /// Adds what is at a path; whether there was anything.
    fn found_in(&mut self, path: &Path, origin: Origin) -> bool {
        if path.is_file() {
            let is_extension = path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
                && !path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".d.ts"));
            if is_extension {
                self.add(path, origin);
            }
            return is_extension;
        }
        match read_manifest(path) {
            Ok(Some(package)) if package.has_manifest() => return self.package(&package, &[], origin),
            Ok(_) => {}
            Err(fault) => {
                self.found.notices.push(fault.into());
                return true;
            }
        }
        if path.join("extension.json").is_file() || is_packed(path) {
            self.add(path, origin);
            return true;
        }
        let index = INDEXES.iter().map(|name| path.join(name)).find(|path| path.is_file());
        if let Some(index) = &index {
            self.add(index, origin);
        }
        index.is_some()
    }

    fn package(&mut self, package: &Package, filters: &[String], origin: Origin) -> bool {
        let entries = package.extensions(filters);
        for entry in &entries {
            self.add(entry, origin);
        }
        !entries.is_empty()
    }

    fn add(&mut self, path: &Path, origin: Origin) {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // What is withheld is not loaded from here, and may still be found where the person put it.
        if origin == Origin::Project && !self.places.is_trusted {
            self.withhold(path, &real);
            return;
        }
        if !self.seen.insert(real.clone()) {
            return;
        }
        // Whatever is loaded was installed by the person, or came with a project that they trust.
        self.found.sources.push(Source { path: real, provenance: Provenance::Trusted });
    }

    fn withhold(&mut self, path: &Path, real: &Path) {
        // A link is told by its own name: what it leads to is not the project's.
        let name = shorten(if self.places.is_of_project(real) { real } else { path }, &self.places.directory);
        if !self.withheld.contains(&name) {
            self.withheld.push(name);
        }
    }

    fn listed(&mut self, listed: &Listed) {
        let (name, filters) = match &listed.entry {
            Value::String(name) => (name.as_str(), None),
            Value::Object(members) => {
                let Some(Value::String(name)) = members.get("source") else { return };
                let texts = |list: &Vec<Value>| list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                let filters: Option<Vec<String>> = members.get("extensions").and_then(Value::as_array).map(texts);
                (name.as_str(), filters)
            }
            _ => return,
        };
        if filters.as_ref().is_some_and(Vec::is_empty) {
            return;
        }
        let filters = filters.unwrap_or_default();
        if let Some(pattern) = name.strip_prefix('!').or_else(|| name.strip_prefix('-')) {
            let left_out = self.at(pattern, &listed.folder);
            self.found.sources.retain(|source| !source.path.starts_with(&left_out));
            return;
        }
        let name = name.strip_prefix('+').unwrap_or(name);
        self.named_in(name, &listed.folder, &filters, listed.kind, listed.origin);
    }

    fn named(&mut self, name: &str) {
        let folder = self.places.directory.clone();
        self.named_in(name, &folder, &[], Kind::Extension, Origin::Person);
    }

    fn named_in(&mut self, name: &str, folder: &Path, filters: &[String], kind: Kind, origin: Origin) {
        if let Some(package) = name.strip_prefix("npm:") {
            return self.npm(name, package, filters, origin);
        }
        if let Some(place) = name.strip_prefix("git:").or_else(|| name.contains("://").then_some(name)) {
            return self.git(name, place, filters, origin);
        }
        let path = self.at(name, folder);
        if !path.exists() {
            self.found.notices.push(Notice::Missing(name.to_owned()));
            return;
        }
        let before = self.found.notices.len();
        let is_found = match read_manifest(&path) {
            Ok(Some(package)) if kind == Kind::Package || package.has_manifest() => {
                self.package(&package, filters, origin)
            }
            Ok(_) => self.found_in(&path, origin) || self.all_in(&path, origin),
            Err(fault) => {
                self.found.notices.push(fault.into());
                true
            }
        };
        if !is_found && self.found.notices.len() == before {
            self.found.notices.push(Notice::NoExtension(name.to_owned()));
        }
    }

    /// A folder of extensions, such as one that somebody points to.
    fn all_in(&mut self, path: &Path, origin: Origin) -> bool {
        let before = (self.found.sources.len(), self.withheld.len());
        self.folder(path, origin);
        before != (self.found.sources.len(), self.withheld.len())
    }

    fn npm(&mut self, source_name: &str, package: &str, filters: &[String], origin: Origin) {
        // A version behind the name says what to install, and that is done.
        let name = package.get(1..).and_then(|rest| rest.find('@')).map_or(package, |at| &package[..=at]);
        let own = self.places.agent.iter().map(|agent| agent.join("npm"));
        let (inside, beside) = (self.places.directory.join(".pi/npm"), self.places.directory.clone());
        let folders: Vec<PathBuf> = match origin {
            // A package of the same name in the project does not take the place of the one that the person means.
            Origin::Person => own.chain([inside, beside]).collect(),
            Origin::Project => std::iter::once(inside).chain(own).chain([beside]).collect(),
        };
        let installed = |folder: PathBuf| Some(folder.join(name)).filter(|path| path.is_dir());
        let found = folders.iter().find_map(|folder| installed(folder.join("node_modules")));
        // Where Pi installs what a person adds. A project does not choose what stands there.
        let found =
            found.or_else(|| self.places.npm.roots(self.places.home.as_deref()).into_iter().find_map(installed));
        let Some(path) = found else {
            let folder =
                self.places.agent.as_ref().map_or_else(String::new, |agent| agent.join("npm").display().to_string());
            let (source_name, package) = (source_name.to_owned(), package.to_owned());
            self.found.notices.push(Notice::NotInstalled { source_name, package, folder });
            return;
        };
        // Code in the folder of a project is the project's, whoever names it.
        let origin = if self.places.is_of_project(&path) { Origin::Project } else { origin };
        match read_manifest(&path) {
            Ok(Some(package)) if self.package(&package, filters, origin) => {}
            Ok(_) => self.found.notices.push(Notice::NoExtension(source_name.to_owned())),
            Err(fault) => self.found.notices.push(fault.into()),
        }
    }

    fn git(&mut self, source_name: &str, place: &str, filters: &[String], origin: Origin) {
        let bare = place.trim_start_matches("https://").trim_start_matches("ssh://").trim_start_matches("git@");
        let bare = bare.split('@').next().unwrap_or(bare).trim_end_matches(".git").replace(':', "/");
        let is_plain = Path::new(&bare).components().all(|part| matches!(part, Component::Normal(_)));
        let path = self.places.agent.as_ref().filter(|_| is_plain).map(|agent| agent.join("git").join(&bare));
        match path.filter(|path| path.is_dir()).map(|path| read_manifest(&path)) {
            Some(Ok(Some(package))) if self.package(&package, filters, origin) => {}
            Some(Ok(_)) => self.found.notices.push(Notice::NoExtension(source_name.to_owned())),
            Some(Err(fault)) => self.found.notices.push(fault.into()),
            None => self.found.notices.push(Notice::NotCloned(source_name.to_owned())),
        }
    }

    fn at(&self, name: &str, folder: &Path) -> PathBuf {
        match (name.strip_prefix("~/"), &self.places.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) | (None, _) => folder.join(name),
        }
    }
}

fn shorten(path: &Path, directory: &Path) -> String {
    path.strip_prefix(directory).unwrap_or(path).display().to_string()
}
