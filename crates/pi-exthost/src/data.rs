//! The folders in which extensions keep what they write down: one for each name and place.
//!
//! An extension chooses its name, so a name alone says nothing: that of a project could read what another of its name keeps.

use std::{fs, path::Path, path::PathBuf};

use pi_transcript::json::Digest;

/// Between the name and the place; names of folders have no other.
const AT: char = '@';
/// Digits of the place.
const DIGITS: usize = 12;

/// The folder of an extension that has this name and comes from these origins, as grants name them.
pub fn folder(agent: &Path, name: &str, origins: &[String]) -> PathBuf {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() || "._-+".contains(letter) { letter } else { '+' };
    let name: String = name.chars().map(letter).collect();
    let place = Digest::of(origins.first().map_or("", String::as_str).as_bytes()).to_string();
    agent.join("extension-data").join(format!("{name}{AT}{}", &place[..DIGITS]))
}

/// Takes over what was kept under the name alone, as older versions did. Looks at the disk.
pub(crate) fn take_over(folder: &Path) {
    let name = folder.file_name().and_then(|name| name.to_str()).and_then(|name| name.rsplit_once(AT));
    let Some(former) = name.map(|(name, _)| folder.with_file_name(name)).filter(|former| former.is_dir()) else {
        return;
    };
    if let Err(error) = fs::rename(&former, folder) {
        tracing::warn!(%error, folder = %former.display(), "what an extension kept is not taken over");
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out files")]
mod tests {
    use super::*;

    #[test]
    fn same_name_from_another_place_has_another_folder() {
        let at = |name: &str, origin: &str| folder(Path::new("/agent"), name, &[origin.to_owned()]);
        assert_eq!(at("notes", "/a"), at("notes", "/a"));
        assert_ne!(at("notes", "/a"), at("notes", "/b"));
        assert_ne!(at("@me/notes", "/a"), at("me/notes", "/a"));
        let name = at("@me/../notes", "/a").file_name().expect("a name").to_string_lossy().into_owned();
        assert!(name.starts_with("+me+..+notes@") && name.len() == 25, "{name}");
    }

    #[test]
    fn what_was_kept_by_name_goes_to_the_first_who_takes_it() {
        let agent = tempfile::tempdir().expect("a folder");
        let mine = |origin: &str| folder(agent.path(), "notes", &[origin.to_owned()]);
        let former = agent.path().join("extension-data/notes");
        fs::create_dir_all(&former).expect("a folder");
        fs::write(former.join("kept"), "words").expect("a file");
        take_over(&mine("/a"));
        take_over(&mine("/b"));
        assert_eq!(fs::read_to_string(mine("/a").join("kept")).expect("it is there"), "words");
        assert!(!mine("/b").exists() && !former.exists());
    }
}
