//! Which files may be read while an extension is bundled: its own, and those of packages that are there for it.
//!
//! All paths are real ones. A link is as good as what it leads to: nobody gets at a file that way which they could not name.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

use super::protocol::Request;

const NODE_MODULES: &str = "node_modules";
const MANIFEST: &str = "package.json";

/// Folders of packages that were resolved by name.
#[derive(Debug, Default)]
pub(crate) struct Packages(BTreeSet<PathBuf>);

impl Packages {
    /// Whether a file to which a name of the importer led may be read; remembers the package if it is of one.
    pub(crate) fn admit(&mut self, request: &Request, specifier: &str, importer: &Path, file: &Path) -> bool {
        if !is_path(specifier)
            && let Some(folder) = installed(file).or_else(|| linked(request, specifier, importer, file))
            && is_shown(&folder, file)
        {
            self.0.insert(folder);
            return true;
        }
        is_own(request, file) || self.0.iter().any(|folder| is_shown(folder, file))
    }
}

pub(crate) fn is_path(specifier: &str) -> bool {
    specifier.starts_with(['.', '/']) || specifier.starts_with("file:")
}

/// Whether a file belongs to a package that was installed.
pub(crate) fn is_inside_package(file: &str) -> bool {
    Path::new(file).components().any(|part| part.as_os_str() == NODE_MODULES)
}

/// What is hidden between the file where the extension begins and another one is not a part of it: the file may lie in
/// somebody's home, and the folder may be a project with secrets.
fn is_own(request: &Request, file: &Path) -> bool {
    let from = request.entry.parent().unwrap_or(&request.root);
    file.starts_with(reach(request)) && is_shown(common(from, file), file)
}

/// The folder whose files are the extension's. A `package.json` in the agent directory or around it, as whoever installs
/// something there gets one, makes no extension of all that is there.
pub(crate) fn reach(request: &Request) -> &Path {
    let beside = request.entry.parent().filter(|_| is_around(&request.root, &request.cache));
    beside.unwrap_or(&request.root)
}

fn is_around(folder: &Path, other: &Path) -> bool {
    other.starts_with(folder)
}

/// The installed package of a file: the innermost one that lies in a folder `node_modules` itself.
fn installed(file: &Path) -> Option<PathBuf> {
    let is_package = |folder: &&Path| lies_in_node_modules(folder) && folder.join(MANIFEST).is_file();
    file.ancestors().skip(1).find(is_package).map(Path::to_path_buf)
}

fn lies_in_node_modules(folder: &Path) -> bool {
    let mut above = folder.ancestors().skip(1).filter_map(Path::file_name);
    match above.next() {
        Some(name) if name == NODE_MODULES => true,
        Some(scope) if scope.to_string_lossy().starts_with('@') => {
            above.next().is_some_and(|name| name == NODE_MODULES)
        }
        Some(_) | None => false,
    }
}

/// The package of that name to which a link leads, as members of a workspace are installed.
fn linked(request: &Request, specifier: &str, importer: &Path, file: &Path) -> Option<PathBuf> {
    let name = package_name(specifier);
    importer.ancestors().skip(1).find_map(|above| {
        let folder = above.join(NODE_MODULES).join(&name).canonicalize().ok()?;
        let is_package = file.starts_with(&folder) && folder.join(MANIFEST).is_file();
        // What lies around the link is more than a package, unless it is the extension itself.
        let is_more = is_around(&folder, &request.cache) || is_around(&folder, above) && folder != reach(request);
        (is_package && !is_more && is_shown(common(above, &folder), &folder)).then_some(folder)
    })
}

fn package_name(specifier: &str) -> PathBuf {
    let parts = if specifier.starts_with('@') { 2 } else { 1 };
    specifier.split('/').take(parts).collect()
}

/// Whether a file lies in a folder, and nothing on the way is hidden. What managers of packages keep in a `node_modules`
/// has such a name and is not meant to be.
fn is_shown(folder: &Path, file: &Path) -> bool {
    let Ok(inside) = file.strip_prefix(folder) else { return false };
    let mut is_in_node_modules = folder.file_name().is_some_and(|name| name == NODE_MODULES);
    inside.components().all(|part| {
        let was_in_node_modules = std::mem::replace(&mut is_in_node_modules, part.as_os_str() == NODE_MODULES);
        was_in_node_modules || !is_dotted(part)
    })
}

fn is_dotted(name: Component<'_>) -> bool {
    name.as_os_str().to_string_lossy().starts_with('.')
}

/// The innermost folder that both lie in.
fn common<'a>(one: &Path, other: &'a Path) -> &'a Path {
    other.ancestors().find(|above| one.starts_with(above)).unwrap_or(Path::new("/"))
}
