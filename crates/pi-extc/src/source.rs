//! Where an extension begins: a file, or a folder that says so in one of three ways.

use std::path::{Path, PathBuf};

use globset::Glob;
use pi_extproto::{
    artifact::Extra,
    manifest::{Entry, ExtensionManifest, InsidePath, Tier, parse},
};
use serde::Deserialize;

use crate::{
    crates::{self, Described},
    fault::BuildFault,
    file,
};

const SCRIPTS: [&str; 6] = ["ts", "js", "mts", "mjs", "cts", "cjs"];
const INDEXES: [&str; 4] = ["index.ts", "index.js", "index.mts", "index.mjs"];
/// The ending of components.
const COMPONENT: &str = "wasm";
/// How long the name of an extension may be.
const LONGEST_NAME: usize = 214;
/// How deep patterns of a package look.
const DEPTH: usize = 6;

/// One extension before it is built.
#[derive(Debug, Clone)]
pub struct Source {
    /// The folder that is the extension: nothing outside it is read, but for packages.
    pub root: PathBuf,
    /// The file where it begins.
    pub entry: PathBuf,
    /// As written in `extension.json`, or made from `package.json` and names.
    pub manifest: ExtensionManifest,
    /// The files that said so.
    pub described_by: Vec<PathBuf>,
}

impl Source {
    /// The file or the folder that is the extension, for whoever has to tell it from another of its name: it stays the same
    /// when a described extension begins with another file.
    pub fn origin(&self) -> &Path {
        let is_index = self.entry.file_stem().is_some_and(|stem| stem == "index");
        if self.described_by.is_empty() && !is_index { &self.entry } else { &self.root }
    }
}

/// The members of `package.json` that matter here; all of them may be missing or odd.
#[derive(Debug, Default, Deserialize)]
struct Package {
    name: Option<String>,
    version: Option<String>,
    description: Option<String>,
    main: Option<String>,
    pi: Option<PiPart>,
}

#[derive(Debug, Deserialize)]
struct PiPart {
    extensions: Option<Vec<String>>,
}

/// Every extension at `path`: one for a file, one or more for a folder.
pub fn sources(path: &Path) -> Result<Vec<Source>, BuildFault> {
    let path = path.canonicalize().map_err(|source| BuildFault::Unreadable { path: path.to_path_buf(), source })?;
    if path.is_dir() {
        return match lone_index(&path) {
            Some(index) => Ok(vec![of_file(&path, &index)?]),
            None => of_folder(&path),
        };
    }
    let name = path.file_name().unwrap_or_default();
    match path.parent() {
        Some(folder) if name == "extension.json" || name == "package.json" || name == crates::MANIFEST => {
            of_folder(folder)
        }
        // What has no ending may be anything; what has another one is something else, even if it can be read as a script.
        Some(_) if path.extension().is_some() && !is_script(&path) && !is_component(&path) => {
            Err(BuildFault::OtherTier { path })
        }
        Some(folder) => Ok(vec![of_file(folder, &path)?]),
        None => Err(BuildFault::NoEntry { path }),
    }
}

/// A file belongs to the description that names it, else it stands for itself.
fn of_file(folder: &Path, file: &Path) -> Result<Source, BuildFault> {
    for above in folder.ancestors() {
        let described = above.join("extension.json").is_file() || above.join("package.json").is_file();
        // A description that cannot be read does not name this file; whoever builds the folder is told what is wrong.
        if described && let Some(source) = of_folder(above).ok().into_iter().flatten().find(|it| it.entry == file) {
            return Ok(source);
        }
    }
    Ok(Source {
        root: folder.to_path_buf(),
        entry: file.to_path_buf(),
        manifest: made(folder, file, &own_name(file), &Package::default())?,
        described_by: Vec::new(),
    })
}

fn of_folder(folder: &Path) -> Result<Vec<Source>, BuildFault> {
    let described = folder.join("extension.json");
    if described.is_file() {
        return Ok(vec![of_manifest(folder, &described)?]);
    }
    let packaged = folder.join("package.json");
    let package = match packaged.is_file() {
        true => Some(package(&packaged)?),
        false => None,
    };
    let found = match &package {
        Some(package) => entries(folder, package),
        None => index(folder).or_else(|| crate_of(folder)).into_iter().collect(),
    };
    if found.is_empty() {
        return Err(BuildFault::NoEntry { path: folder.to_path_buf() });
    }
    let package = match (package, found.as_slice()) {
        (Some(package), _) => package,
        (None, [lone]) if crates::is_crate(lone) => of_crate(lone)?,
        (None, _) => Package::default(),
    };
    let folder_name = || fitting_name(&folder.file_name().unwrap_or_default().to_string_lossy());
    let name = package.name.clone().unwrap_or_else(folder_name);
    let described_by = if packaged.is_file() { vec![packaged] } else { Vec::new() };
    let several = found.len() > 1;
    let source = |entry: PathBuf| {
        let name = if several { format!("{name}-{}", own_name(&entry)) } else { name.clone() };
        let manifest = made(folder, &entry, &name, &package)?;
        Ok(Source { root: folder.to_path_buf(), entry, manifest, described_by: described_by.clone() })
    };
    found.into_iter().map(source).collect()
}

fn of_manifest(folder: &Path, path: &Path) -> Result<Source, BuildFault> {
    let bad = |problems| BuildFault::BadManifest { path: path.to_path_buf(), problems };
    let manifest =
        parse(&file::read_source(path)?).map_err(|problems| bad(problems.iter().map(ToString::to_string).collect()))?;
    let entry = match (&manifest.entry, manifest.tier()) {
        (Entry::File(entry), Ok(Tier::Js | Tier::Wasm)) => folder.join(entry.as_str()),
        _ => return Err(BuildFault::OtherTier { path: folder.to_path_buf() }),
    };
    let entry = entry.canonicalize().map_err(|source| BuildFault::Unreadable { path: entry, source })?;
    if !entry.starts_with(folder) {
        return Err(bad(vec!["entry: leads out of the extension's folder".to_owned()]));
    }
    Ok(Source { root: folder.to_path_buf(), entry, manifest, described_by: vec![path.to_path_buf()] })
}

fn package(path: &Path) -> Result<Package, BuildFault> {
    serde_json::from_slice(&file::read_source(path)?)
        .map_err(|error| BuildFault::BadManifest { path: path.to_path_buf(), problems: vec![error.to_string()] })
}

/// What a package offers: what it lists, what lies in `extensions`, its main file, its index.
fn entries(folder: &Path, package: &Package) -> Vec<PathBuf> {
    if let Some(listed) = package.pi.as_ref().and_then(|pi| pi.extensions.as_ref()) {
        return listed_entries(folder, listed);
    }
    let conventional = inside(folder, &folder.join("extensions"));
    if !conventional.is_empty() {
        return conventional;
    }
    let main = package.main.as_ref().map(|main| folder.join(main)).filter(|main| main.is_file());
    let main = main.and_then(|main| main.canonicalize().ok()).filter(|main| main.starts_with(folder));
    main.or_else(|| index(folder)).into_iter().collect()
}

fn listed_entries(folder: &Path, listed: &[String]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for line in listed {
        let (pattern, is_out) = match line.strip_prefix('!') {
            Some(pattern) => (pattern, true),
            None => (line.as_str(), false),
        };
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        let matching = match pattern.contains(['*', '?', '[', '{']) {
            true => matching(folder, pattern),
            false => inside(folder, &folder.join(pattern)),
        };
        found.retain(|path| !matching.contains(path));
        if !is_out {
            found.extend(matching);
        }
    }
    found
}

fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    // A pattern that is none matches nothing, and the package then has no entry.
    let Ok(glob) = Glob::new(pattern) else { return Vec::new() };
    let (glob, mut found) = (glob.compile_matcher(), Vec::new());
    let mut waiting = vec![(folder.to_path_buf(), 0)];
    while let Some((at, depth)) = waiting.pop() {
        for path in file::list(&at).unwrap_or_default() {
            let is_skipped = path.file_name().is_some_and(|name| name == "node_modules" || name == ".git");
            if path.is_dir() && depth < DEPTH && !is_skipped {
                waiting.push((path, depth + 1));
            } else if path.strip_prefix(folder).is_ok_and(|path| glob.is_match(path))
                && (is_script(&path) || is_component(&path))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// What a file or a folder stands for: itself, its index, or every extension that lies in it.
fn inside(root: &Path, path: &Path) -> Vec<PathBuf> {
    let Some(path) = path.canonicalize().ok().filter(|path| path.starts_with(root)) else { return Vec::new() };
    if path.is_file() {
        return vec![path];
    }
    if let Some(index) = index(&path) {
        return vec![index];
    }
    let entry = |path: PathBuf| match path.is_dir() {
        true => index(&path),
        false => Some(path).filter(|path| is_script(path) || is_component(path)),
    };
    file::list(&path).unwrap_or_default().into_iter().filter_map(entry).collect()
}

fn index(folder: &Path) -> Option<PathBuf> {
    INDEXES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// The index of a folder that says nothing else about itself. Whoever points to the folder means the same extension as
/// whoever points to the file, so both find it in the same way.
fn lone_index(folder: &Path) -> Option<PathBuf> {
    let is_described = ["extension.json", "package.json"].iter().any(|name| folder.join(name).is_file());
    if is_described { None } else { index(folder) }
}

/// Whether it is a file of TypeScript or JavaScript.
pub(crate) fn is_script(path: &Path) -> bool {
    let is_declaration = path.to_string_lossy().ends_with(".d.ts");
    !is_declaration && path.extension().and_then(|end| end.to_str()).is_some_and(|end| SCRIPTS.contains(&end))
}

/// What a crate in Rust says of itself.
fn of_crate(manifest: &Path) -> Result<Package, BuildFault> {
    let text = file::read_source(manifest)?;
    let Described { name, version, description } = crates::described(&String::from_utf8_lossy(&text));
    Ok(Package { name, version, description, ..Package::default() })
}

/// A folder that is nothing else may be a crate in Rust.
fn crate_of(folder: &Path) -> Option<PathBuf> {
    Some(folder.join(crates::MANIFEST)).filter(|path| path.is_file())
}

fn is_component(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == COMPONENT)
}

/// What an entry is called after: itself, or the folder whose index it is.
fn own_name(entry: &Path) -> String {
    let stem = entry.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = entry.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    fitting_name(if stem == "index" { &folder } else { &stem })
}

/// The nearest name that a manifest may have.
fn fitting_name(name: &str) -> String {
    let letter = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_".contains(c) => c,
        _ => '-',
    };
    let name: String = name.chars().map(letter).collect();
    let name: String = name.trim_start_matches(['.', '-', '_']).chars().take(LONGEST_NAME).collect();
    if name.is_empty() { "extension".to_owned() } else { name }
}

/// A manifest for an extension that has none. It declares nothing: what the scan infers may be too little.
fn made(root: &Path, entry: &Path, name: &str, package: &Package) -> Result<ExtensionManifest, BuildFault> {
    let outside = || BuildFault::NoEntry { path: entry.to_path_buf() };
    let entry = entry.strip_prefix(root).map_err(|_| outside())?;
    let entry = InsidePath::try_from(entry.to_string_lossy().replace('\\', "/")).map_err(|_| outside())?;
    let manifest = |name: &str, version: &str| ExtensionManifest {
        name: name.to_owned(),
        version: version.to_owned(),
        api_version: pi_extproto::message::VERSION.to_owned(),
        entry: Entry::File(entry.clone()),
        engine: Some(if is_component(Path::new(entry.as_str())) || crates::is_crate(Path::new(entry.as_str())) {
            Tier::Wasm
        } else {
            Tier::Js
        }),
        description: package.description.clone(),
        license: None,
        homepage: None,
        capabilities: None,
        capability_manifest: None,
        assets: None,
        extra: Extra::new(),
    };
    // npm is laxer with names and versions than manifests are.
    let is_valid = |it: &ExtensionManifest| serde_json::to_vec(it).is_ok_and(|bytes| parse(&bytes).is_ok());
    let version = package.version.as_deref().unwrap_or("0.0.0");
    let candidates = [manifest(name, version), manifest(name, "0.0.0"), manifest(&fitting_name(name), version)];
    let fallback = manifest(&fitting_name(name), "0.0.0");
    Ok(candidates.into_iter().find(is_valid).unwrap_or(fallback))
}
