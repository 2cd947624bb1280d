//! Machine code in memory that nobody can write any more, and that an engine can map: it is copied once, checked there, and runs
//! from there.
//!
//! A mapping of the entry itself would not do: whoever may write the file changes what was checked (ADR 360).

use std::{
    fs::File,
    io,
    os::{fd::AsRawFd as _, unix::fs::FileExt as _},
    path::PathBuf,
};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create, sendfile};

/// Bytes that are looked at together: as many as the caches of a processor hold.
const PIECE: usize = 64 << 10;

/// What cannot change any more.
#[derive(Debug)]
pub(super) struct Frozen {
    memory: File,
    length: u64,
}

impl Frozen {
    /// Copies what stands in a file from `start` on.
    pub(super) fn copy(file: &File, start: u64) -> io::Result<Self> {
        let memory = memfd_create("pi-code", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let (mut at, most) = (start, usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX));
        while sendfile(&memory, file, Some(&mut at), most)? > 0 {}
        fcntl_add_seals(&memory, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        Ok(Self { memory: memory.into(), length: at - start })
    }

    /// Hands out all of it, piece by piece.
    pub(super) fn look(&self, mut see: impl FnMut(&[u8])) -> io::Result<()> {
        let (mut piece, mut at) = (vec![0; PIECE], 0);
        while at < self.length {
            let read = self.memory.read_at(&mut piece, at)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            see(&piece[..read]);
            at += read as u64;
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.look(|piece| bytes.extend_from_slice(piece))?;
        Ok(bytes)
    }

    /// Where this process finds it, as long as `self` is kept.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.memory.as_raw_fd()))
    }
}
