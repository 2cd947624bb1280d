//! Packages: what `package.json` says about extensions.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;

/// A package that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageFault {
    #[error("{file}: {problem}")]
    Unreadable { file: String, problem: String },
}

/// A folder with a `package.json`.
pub(super) struct Package {
    folder: PathBuf,
    manifest: Option<Manifest>,
}

#[derive(Deserialize)]
struct PackageJson {
    pi: Option<Manifest>,
}

#[derive(Deserialize)]
struct Manifest {
    extensions: Option<Vec<String>>,
}

/// Reads the `package.json` of a folder; nothing if there is none.
#[expect(clippy::disallowed_methods, reason = "looking for extensions is reading manifests")]
pub(super) fn read_manifest(folder: &Path) -> Result<Option<Package>, PackageFault> {
    let file = folder.join("package.json");
    let fault = |problem: String| PackageFault::Unreadable { file: file.display().to_string(), problem };
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(fault(error.to_string())),
    };
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    let package: PackageJson = serde_json::from_slice(text).map_err(|error| fault(error.to_string()))?;
    Ok(Some(Package { folder: folder.to_owned(), manifest: package.pi }))
}

impl Package {
    /// Whether it says that it is a package of Pi's.
    pub(super) fn has_manifest(&self) -> bool {
        self.manifest.as_ref().is_some_and(|manifest| manifest.extensions.is_some())
    }

    /// The entries of its extensions. Without a manifest those in the folder `extensions`.
    pub(super) fn extensions(&self, filters: &[String]) -> Vec<PathBuf> {
        let named = self.manifest.as_ref().and_then(|manifest| manifest.extensions.clone());
        let patterns = named.unwrap_or_else(|| vec!["extensions".to_owned()]);
        let mut found: Vec<PathBuf> = Vec::new();
        for pattern in &patterns {
            self.apply(pattern, &mut found);
        }
        if filters.iter().any(|filter| !filter.starts_with(['+', '-', '!'])) {
            let wanted: Vec<GlobMatcher> = filters.iter().filter_map(|filter| glob(filter)).collect();
            found.retain(|path| wanted.iter().any(|glob| self.fits(glob, path)));
        }
        for filter in filters.iter().filter(|filter| filter.starts_with(['+', '-', '!'])) {
            self.apply(filter, &mut found);
        }
        found
    }

    fn fits(&self, glob: &GlobMatcher, path: &Path) -> bool {
        path.strip_prefix(&self.folder).is_ok_and(|inside| glob.is_match(inside))
    }

    fn apply(&self, pattern: &str, found: &mut Vec<PathBuf>) {
        if let Some(left_out) = pattern.strip_prefix('!').or_else(|| pattern.strip_prefix('-')) {
            let (glob, exact) = (glob(left_out), self.folder.join(left_out.trim_start_matches("./")));
            found.retain(|path| *path != exact && !glob.as_ref().is_some_and(|glob| self.fits(glob, path)));
            return;
        }
        let pattern = pattern.strip_prefix('+').unwrap_or(pattern).trim_start_matches("./");
        let path = self.folder.join(pattern);
        let mut add = |path: PathBuf| {
            if !found.contains(&path) {
                found.push(path);
            }
        };
        if path.is_file() {
            add(path);
        } else if path.is_dir() {
            entries_of(&path).into_iter().for_each(add);
        } else if let Some(glob) = glob(pattern) {
            walk(&self.folder, 0).into_iter().filter(|path| self.fits(&glob, path) && is_code(path)).for_each(add);
        }
    }
}

fn glob(pattern: &str) -> Option<GlobMatcher> {
    let pattern = pattern.trim_start_matches("./");
    GlobBuilder::new(pattern).literal_separator(true).build().ok().map(|glob| glob.compile_matcher())
}

fn is_code(path: &Path) -> bool {
    path.extension().is_some_and(|ending| super::ENDINGS.iter().any(|known| ending == *known))
        && !path.to_string_lossy().ends_with(".d.ts")
}

/// A folder is an extension if it has an index, and holds extensions otherwise.
fn entries_of(folder: &Path) -> Vec<PathBuf> {
    let index = |folder: &Path| super::INDEXES.iter().map(|name| folder.join(name)).find(|path| path.is_file());
    if let Some(index) = index(folder) {
        return vec![index];
    }
    let mut entries = Vec::new();
    for path in list(folder) {
        if path.is_dir() {
            entries.extend(index(&path));
        } else if is_code(&path) {
            entries.push(path);
        }
    }
    entries
}

/// The files of a package, without those of its dependencies.
fn walk(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in list(folder) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() && depth < 8 && name != "node_modules" && !name.starts_with('.') {
            files.extend(walk(&path, depth + 1));
        } else if path.is_file() {
            files.push(path);
        }
    }
    files
}

#[expect(clippy::disallowed_methods, reason = "looking for extensions is reading folders")]
fn list(folder: &Path) -> Vec<PathBuf> {
    // A folder that cannot be read holds nothing.
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
