//! The files that an artifact brings, where its code can read them.

use std::{
    io,
    path::{Path, PathBuf},
};

use pi_extproto::artifact::Digest;

use crate::{artifact::Asset, file};

const UNPACKED: &str = "unpacked";

/// Puts the assets of the container with this digest into a folder below `cache` that is theirs alone, unless they are there.
/// Whoever sees the folder sees all of them: it gets its name when it is complete.
pub fn unpack(container: &Digest, assets: &[Asset], cache: &Path) -> io::Result<PathBuf> {
    let folder = cache.join(UNPACKED).join(container.to_string());
    if is_complete(&folder, assets) {
        return Ok(folder);
    }
    let draft = file::draft(&folder);
    let placed = fill(&draft, assets).and_then(|()| place(&draft, &folder, assets));
    if placed.is_err() {
        // The draft is nobody's; what matters is why it could not be put in place.
        let _ = file::remove_folder(&draft);
    }
    placed.map(|()| folder)
}

/// Every folder of unpacked files, and what was left of making some.
pub(crate) fn folders(cache: &Path) -> io::Result<Vec<PathBuf>> {
    file::list(&cache.join(UNPACKED))
}

fn is_complete(folder: &Path, assets: &[Asset]) -> bool {
    folder.is_dir()
        && assets.iter().all(|it| file::read(&folder.join(it.path.as_str())).is_ok_and(|bytes| *bytes == *it.bytes))
}

fn fill(draft: &Path, assets: &[Asset]) -> io::Result<()> {
    file::make_folder(draft)?;
    for asset in assets {
        let path = draft.join(asset.path.as_str());
        file::make_folder(path.parent().unwrap_or(draft))?;
        // Nobody waits for the disk: what did not get there is seen the next time, and put there again.
        file::write(&path, &asset.bytes)?;
    }
    Ok(())
}

fn place(draft: &Path, folder: &Path, assets: &[Asset]) -> io::Result<()> {
    if file::rename(draft, folder).is_ok() {
        return Ok(());
    }
    if is_complete(folder, assets) {
        // Another process was first.
        return file::remove_folder(draft);
    }
    // Somebody changed what was there, or the machine stopped before it was on the disk.
    let aside = file::draft(folder);
    file::rename(folder, &aside)?;
    file::rename(draft, folder)?;
    file::remove_folder(&aside)
}
