//! Cases as they lie in files, and the files that they name.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

/// One document of a file.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub id: String,
    pub suite: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub setup: Map<String, Value>,
    pub input: Map<String, Value>,
    pub expected: Value,
    /// Where it was found.
    #[serde(skip)]
    pub file: PathBuf,
}

/// A folder of the standard's layout.
pub(crate) struct Folder {
    /// Holds `cases` and `fixtures`.
    root: PathBuf,
}

impl Case {
    /// What is asked: the runner that the case is for.
    pub(crate) fn kind(&self) -> &str {
        self.input.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    /// A text of the input, else of the setup.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.input.get(name).or_else(|| self.setup.get(name)).and_then(Value::as_str)
    }
}

impl Folder {
    pub(crate) fn open(root: &Path) -> Result<Self, String> {
        let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
        if root.join("cases").is_dir() {
            Ok(Self { root })
        } else {
            Err(format!("{} has no folder cases", root.display()))
        }
    }

    /// All cases, by file and position. A file that cannot be read is an error: it would hide its cases.
    pub(crate) fn cases(&self) -> Result<Vec<Case>, String> {
        let mut files = Vec::new();
        list(&self.root.join("cases"), &mut files)?;
        files.sort();
        let mut cases = Vec::new();
        for file in files {
            let shown = file.strip_prefix(&self.root).unwrap_or(&file).to_owned();
            let found: Vec<Case> =
                serde_saphyr::from_multiple(&read(&file)?).map_err(|error| format!("{}: {error}", shown.display()))?;
            if found.is_empty() {
                return Err(format!("{} holds no case", shown.display()));
            }
            cases.extend(found.into_iter().map(|case| Case { file: shown.clone(), ..case }));
        }
        Ok(cases)
    }

    /// Reads a file that a case names: relative to the folder of the suite, to the case's own, or to the data's root.
    pub(crate) fn read(&self, case: &Case, name: &str) -> Result<String, String> {
        let own = self.root.join(&case.file);
        let beside = own.parent().unwrap_or(&self.root);
        let places = [self.root.as_path(), beside, &self.data()];
        let found = places.iter().map(|place| place.join(name)).find(|path| path.is_file());
        found.map_or_else(|| Err(format!("{name} is not there")), |path| read(&path))
    }

    /// Where manifests, contracts and schemas lie.
    fn data(&self) -> PathBuf {
        self.root.join("../..")
    }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = entries(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for path in entries {
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") {
            files.push(path);
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the runner's one look at a folder")]
fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

#[expect(clippy::disallowed_methods, reason = "the runner's one look into files")]
fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
