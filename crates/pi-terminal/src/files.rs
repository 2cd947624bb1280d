//! The only place here that reads and writes files by itself: the branch of a folder, and exports.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
};

/// The branch of the git repository that a folder lies in, or the beginning of the commit where none is checked out.
/// Reads two small files and asks no program.
pub fn branch(directory: &Path) -> Option<String> {
    let git = directory.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let folder = if git.is_dir() {
        git
    } else {
        // In a worktree or submodule `.git` is a file that says where the folder is.
        let pointer = read(&git)?;
        git.parent()?.join(pointer.strip_prefix("gitdir:")?.trim())
    };
    let head = read(&folder.join("HEAD"))?;
    match head.trim().strip_prefix("ref: refs/heads/") {
        Some(branch) => Some(branch.to_owned()),
        None => head.get(..7).map(str::to_owned),
    }
}

/// Writes a new file; one that is there already stays as it is.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

#[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads files")]
fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the world of a test is made of files")]
    fn make(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(path, text).unwrap();
    }

    #[test]
    fn branch_is_that_of_the_nearest_repository() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        make(&at("main/.git/HEAD"), "ref: refs/heads/feature/x\n");
        make(&at("main/src/a.rs"), "");
        make(&at("main/.git/worktrees/w/HEAD"), "0123456789abcdef\n");
        make(&at("w/.git"), "gitdir: ../main/.git/worktrees/w\n");
        assert_eq!(branch(&at("main/src")).as_deref(), Some("feature/x"));
        assert_eq!(branch(&at("w")).as_deref(), Some("0123456"));
        make(&at("broken/.git"), "nonsense");
        assert_eq!(branch(&at("broken")), None);
    }
}
