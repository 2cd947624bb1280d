//! Which branch of a git repository is checked out in a folder, as Pi tells it to what extensions draw.
//!
//! Reads two small files above the folder, wherever the project ends: nothing of them is told but the name of the branch. No
//! program is asked.

use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

/// More than this is in no such file.
const MOST: u64 = 4 << 10;
const DETACHED: &str = "detached";

/// The branch, or `detached` where none is checked out; nothing outside of a repository. Blocks.
pub(super) fn of(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let head = text_of(&repository(git)?.join("HEAD"))?;
    Some(match head.trim().strip_prefix("ref: refs/heads/") {
        // Of a repository that keeps its references in tables this stands there, and only git can read those.
        Some(".invalid") | None => DETACHED.to_owned(),
        Some(branch) => branch.to_owned(),
    })
}

/// In a worktree or a submodule `.git` is a file that says where the folder is.
fn repository(git: PathBuf) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git);
    }
    let pointer = text_of(&git)?;
    Some(git.parent()?.join(pointer.trim().strip_prefix("gitdir: ")?.trim()))
}

#[expect(
    clippy::disallowed_methods,
    reason = "what git keeps stands outside of the folders that a desk has handles to"
)]
fn text_of(path: &Path) -> Option<String> {
    // A pipe would never end.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the world of a test is made of files")]
    fn make(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    #[test]
    fn branch_is_that_of_the_nearest_repository() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for (file, text) in [
            ("main/.git/HEAD", "ref: refs/heads/feature/x\n"),
            ("main/src/deep/a.rs", ""),
            ("main/.git/worktrees/w/HEAD", "ref: refs/heads/side\n"),
            ("w/.git", "gitdir: ../main/.git/worktrees/w\n"),
            ("w/src/a.rs", ""),
            ("loose/.git/HEAD", "0123456789abcdef\n"),
            ("tables/.git/HEAD", "ref: refs/heads/.invalid\n"),
            ("tagged/.git/HEAD", "ref: refs/tags/one\n"),
            ("broken/.git", "nonsense"),
            ("empty/.git/config", ""),
        ] {
            make(&at(file), text);
        }
        for (place, expected) in [
            ("main", Some("feature/x")),
            ("main/src/deep", Some("feature/x")),
            ("w/src", Some("side")),
            ("loose", Some("detached")),
            ("tables", Some("detached")),
            ("tagged", Some("detached")),
            ("broken", None),
            ("empty", None),
        ] {
            assert_eq!(of(&at(place)).as_deref(), expected, "{place}");
        }
    }
}
