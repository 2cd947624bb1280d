//! A disk that fails at any byte and loses what was not synced.

use std::{
    io,
    sync::{Arc, Mutex},
};

use pi_session::file::Medium;

/// A file on such a disk. Clones are the same file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faulty(Arc<Mutex<State>>);

#[derive(Debug, Default)]
pub(crate) struct State {
    pub bytes: Vec<u8>,
    /// How much of it survives a loss of power.
    pub safe: usize,
    /// The disk takes so many bytes, then it is full.
    pub room: Option<usize>,
    /// At most so many bytes go at once.
    pub gulp: Option<usize>,
    /// This many syncs fail, and lose what they were to save.
    pub bad_syncs: usize,
    /// Every operation fails.
    pub dead: bool,
    pub deleted: bool,
    pub syncs: usize,
}

impl Faulty {
    pub(crate) fn holding(bytes: &[u8]) -> Self {
        Self(Arc::new(Mutex::new(State { bytes: bytes.to_vec(), safe: bytes.len(), ..State::default() })))
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.change(|state| state.bytes.clone())
    }

    fn act<T>(&self, act: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        self.change(|state| if state.dead { Err(io::Error::other("the disk is gone")) } else { act(state) })
    }
}

impl Medium for Faulty {
    fn length(&mut self) -> io::Result<u64> {
        self.act(|state| Ok(state.bytes.len() as u64))
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.act(|state| {
            let room = state.room.map_or(usize::MAX, |room| room.saturating_sub(state.bytes.len()));
            let count = bytes.len().min(room).min(state.gulp.unwrap_or(usize::MAX));
            if count == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            state.bytes.extend_from_slice(&bytes[..count]);
            // What the disk took before it was full stays there, but the writer learns nothing of it.
            if count == room && count < bytes.len() && state.gulp.is_none() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            Ok(count)
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.act(|state| {
            state.syncs += 1;
            if state.bad_syncs > 0 {
                state.bad_syncs -= 1;
                // As Linux does it: the pages are gone, and the next sync knows nothing of them.
                let safe = state.safe;
                state.bytes[safe..].fill(0);
                return Err(io::Error::other("an error of the disk"));
            }
            state.safe = state.bytes.len();
            Ok(())
        })
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.act(|state| {
            state.bytes.truncate(usize::try_from(length).unwrap());
            state.safe = state.safe.min(state.bytes.len());
            Ok(())
        })
    }

    fn is_there(&mut self) -> io::Result<bool> {
        self.act(|state| Ok(!state.deleted))
    }
}
