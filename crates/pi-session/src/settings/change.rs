//! Changes one member of a settings file and leaves the rest of it as it was written.
//!
//! The new text is made by [`splice`](splice()), which touches the member alone. It reaches the disk as a whole or not at all: it is
//! written beside the file, synced and renamed, and a lock keeps two of us from losing each other's change. A file that
//! is a link is changed where it points to, and a file keeps its mode.

mod splice;

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{keys, layer};
use crate::session::Switch;

pub use self::splice::{NoObject, splice};

/// Why a change was not made. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("{key} is not a setting")]
    UnknownKey { key: String },
    #[error("{path} cannot be changed: it is not a JSON object", path = .path.display())]
    NotAnObject {
        path: PathBuf,
        #[source]
        source: NoObject,
    },
    #[error("{path} is not text", path = .path.display())]
    NotText { path: PathBuf },
    #[error("{path} cannot be written", path = .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Writes one setting; `null` takes it out of the file, so that the layer below counts again.
pub fn set(path: &Path, key: &str, value: &Value) -> Result<(), ChangeError> {
    let key = keys::find(key).ok_or_else(|| ChangeError::UnknownKey { key: key.to_owned() })?;
    let steps: Vec<&str> = key.key.splitn(2, '.').collect();
    put(path, &steps, (!value.is_null()).then_some(value))
}

/// Switches an extension off for this person, or on again, by its id.
pub fn switch_extension(path: &Path, id: &str, switch: Switch) -> Result<(), ChangeError> {
    const KEY: &str = "disabledExtensions";
    change(path, &[KEY], |settings| {
        let listed = settings.get(KEY).and_then(Value::as_array).cloned().unwrap_or_default();
        // What is no name is somebody's mistake, which the settings tell, and not ours to take away.
        let mut listed: Vec<Value> = listed.into_iter().filter(|name| name.as_str() != Some(id)).collect();
        if switch == Switch::Off {
            listed.push(id.into());
        }
        (!listed.is_empty()).then(|| listed.into())
    })
}

/// Puts a value at a path of member names, or takes it out.
pub(super) fn put(path: &Path, steps: &[&str], value: Option<&Value>) -> Result<(), ChangeError> {
    change(path, steps, |_| value.cloned())
}

/// Puts at a path of member names what is made of the settings as they are.
fn change(path: &Path, steps: &[&str], make: impl FnOnce(&Value) -> Option<Value>) -> Result<(), ChangeError> {
    let failed = |source| ChangeError::Io { path: path.to_owned(), source };
    // A link is changed where it points to; what does not exist yet is made where it was named.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or(Path::new("."));
    make_folder(folder).map_err(failed)?;
    let _lock = lock(folder).map_err(failed)?;
    let bytes = match layer::read(&target) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed(error)),
    };
    let text = String::from_utf8(bytes).map_err(|_| ChangeError::NotText { path: path.to_owned() })?;
    // What is no JSON is not changed either.
    let value = make(&serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default());
    let changed = splice(&text, steps, value.as_ref())
        .map_err(|source| ChangeError::NotAnObject { path: path.to_owned(), source })?;
    if changed != text {
        replace(&target, changed.as_bytes()).map_err(failed)?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "this is the place where settings are written")]
fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

/// Waits for its turn. The lock ends when the file is dropped, whatever happens to the process.
fn lock(folder: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(folder.join(".settings.lock"))?;
    file.lock()?;
    Ok(file)
}

#[expect(clippy::disallowed_methods, reason = "this is the place where settings are written")]
fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let beside = target.with_file_name(name);
    let written = write_new(&beside, target, bytes).and_then(|()| std::fs::rename(&beside, target));
    if written.is_err() {
        // What was wrong before is told; a leftover that cannot be removed either adds nothing to it.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn write_new(beside: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut file = options.open(beside)?;
    if let Ok(known) = target.metadata() {
        file.set_permissions(known.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}
