//! Files of versions 1 and 2.
//!
//! They are read whole, because their lines refer to each other by number; no program has written them for a long time.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use pi_transcript::{Line, migrate, read_line, write_line};

use super::{Disk, disk};
use crate::tree::{Destination, Tree};

/// The lines of an old file, brought to the version that we write.
pub(super) fn migrated(disk: &Disk, mut random: fastrand::Rng) -> io::Result<Vec<Line>> {
    let mut bytes = Vec::new();
    disk.reader().read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let lines = text.lines().filter(|line| !line.trim().is_empty()).map(read_line).collect();
    Ok(migrate(lines, || format!("{:08x}", random.u32(..)).into()))
}

/// The tree of such lines, in memory.
pub(super) fn tree(lines: Vec<Line>, random: fastrand::Rng) -> Tree {
    let mut tree = Tree::new(Destination::Memory, random);
    for line in lines {
        if let Line::Entry(entry) = line {
            tree.add_whole(entry.into_value());
        }
    }
    tree
}

/// Puts the new version in the place of the old one, which keeps a name that is returned.
pub(super) fn rewrite(path: &Path, disk: &Disk, version: u64, random: fastrand::Rng) -> io::Result<PathBuf> {
    let lines = migrated(disk, random)?;
    let kept = disk::beside(path, &format!("v{version}"));
    disk::keep_as(path, &kept)?;
    disk::replace(path, |file| lines.iter().try_for_each(|line| writeln!(file, "{}", write_line(line))))?;
    Ok(kept)
}
