//! Engines for components, and the code that they run: one copy for all sessions of a process.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pi_extc::Cache;
use pi_extproto::artifact::Digest;

use crate::wasm::{Code, CodeFault, Machine, MachineFault, Piece, WeakCode, WeakMachine};

/// Guests that share an engine. It holds twice as many instances, because a guest that waits for its host may need another.
const GUESTS: usize = 100;

/// Engines that are made when a component needs one, and end with the last guest that they run.
#[derive(Debug, Default)]
pub(super) struct Machinery {
    /// A lock and no task: it is held for a look, and while an engine is made, which takes about a millisecond.
    halls: Mutex<Vec<Hall>>,
    /// A lock and no task: whoever compiles holds no task up, and this is held for a look.
    compiling: Mutex<Vec<Compiling>>,
    /// Held by whoever compiles a component, by the hash of its artifact: whoever comes second finds what came of it. Nothing lies
    /// behind it, and all wait on threads of their own. None is kept that nobody holds or waits for.
    turns: Mutex<HashMap<Digest, Arc<Mutex<()>>>>,
}

/// A component that is being compiled, which happens once on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiling {
    /// What the extension is called.
    pub name: String,
    /// Where it was found.
    pub path: PathBuf,
}

/// Somebody compiles a component, or waits for another to do so.
struct Turn<'a> {
    machinery: &'a Machinery,
    hash: Digest,
    lock: Arc<Mutex<()>>,
}

/// Something is being compiled as long as this lives.
struct Work<'a> {
    machinery: &'a Machinery,
    compiling: Compiling,
}

/// An engine and what it has loaded.
#[derive(Debug)]
struct Hall {
    memory: usize,
    machine: WeakMachine,
    /// By the hash of the artifact.
    codes: HashMap<Digest, WeakCode>,
}

/// Why a component does not run.
#[derive(Debug, thiserror::Error)]
pub(super) enum PieceFault {
    #[error(transparent)]
    Machine(#[from] MachineFault),
    #[error(transparent)]
    Code(#[from] CodeFault),
}

impl Machinery {
    /// An engine with room for a guest of at most `memory` bytes, and the code of the component in it: that of another
    /// session, that of the cache, or compiled now, for an extension that was found at `path`.
    pub(super) fn prepare(
        &self,
        piece: Piece<'_>,
        path: &Path,
        memory: usize,
        cache: &Cache,
    ) -> Result<(Machine, Code), PieceFault> {
        let turn = self.turn(*piece.hash());
        let _mine = lock(&turn.lock);
        let (machine, known) = self.look(piece.hash(), memory)?;
        if let Some(code) = known {
            return Ok((machine, code));
        }
        let code = match Code::kept(&machine, piece, Some(cache))? {
            Some(code) => code,
            None => {
                let work = self.begin(Compiling { name: piece.name().to_owned(), path: path.to_owned() });
                let code = Code::compile(&machine, piece, Some(cache))?;
                tracing::info!(extension = work.compiling.name, "compiled");
                code
            }
        };
        self.keep(&machine, *piece.hash(), &code);
        Ok((machine, code))
    }

    /// What is being compiled now, in the order in which that began.
    pub(super) fn compiling(&self) -> Vec<Compiling> {
        lock(&self.compiling).clone()
    }

    fn turn(&self, hash: Digest) -> Turn<'_> {
        let lock = Arc::clone(lock(&self.turns).entry(hash).or_default());
        Turn { machinery: self, hash, lock }
    }

    fn begin(&self, compiling: Compiling) -> Work<'_> {
        let Compiling { name, path } = &compiling;
        tracing::info!(extension = name, path = %path.display(), "compiling it for this machine, which is done once");
        lock(&self.compiling).push(compiling.clone());
        Work { machinery: self, compiling }
    }

    fn look(&self, hash: &Digest, memory: usize) -> Result<(Machine, Option<Code>), MachineFault> {
        let mut halls = lock(&self.halls);
        halls.retain(|hall| hall.machine.upgrade().is_some());
        let open = halls.iter().filter(|hall| hall.memory == memory).find_map(|hall| {
            let machine = hall.machine.upgrade().filter(|machine| machine.guests() < GUESTS)?;
            Some((machine, hall.codes.get(hash).and_then(WeakCode::upgrade)))
        });
        match open {
            Some(found) => Ok(found),
            None => {
                let machine = Machine::new(memory)?;
                halls.push(Hall { memory, machine: machine.downgrade(), codes: HashMap::new() });
                Ok((machine, None))
            }
        }
    }

    fn keep(&self, machine: &Machine, hash: Digest, code: &Code) {
        let mut halls = lock(&self.halls);
        if let Some(hall) = halls.iter_mut().find(|hall| hall.machine.upgrade().as_ref() == Some(machine)) {
            hall.codes.retain(|_, code| code.upgrade().is_some());
            hall.codes.insert(hash, code.downgrade());
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut turns = lock(&self.machinery.turns);
        // Ours and that of the table: others are taken while the table is locked.
        if Arc::strong_count(&self.lock) <= 2 {
            turns.remove(&self.hash);
        }
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let mut compiling = lock(&self.machinery.compiling);
        if let Some(place) = compiling.iter().position(|one| *one == self.compiling) {
            compiling.remove(place);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turn_is_kept_as_long_as_somebody_has_it_or_waits() {
        let (machinery, hash) = (Machinery::default(), Digest::of(b"code"));
        let kept = || lock(&machinery.turns).len();
        let (first, second) = (machinery.turn(hash), machinery.turn(hash));
        assert!(Arc::ptr_eq(&first.lock, &second.lock));
        drop(first);
        assert_eq!(kept(), 1, "another waits");
        drop(second);
        assert_eq!(kept(), 0);
    }

    #[test]
    fn nothing_is_left_of_what_cannot_be_compiled() {
        let (machinery, folder) = (Machinery::default(), tempfile::tempdir().expect("a folder"));
        let cache = Cache::open(folder.path()).expect("a cache");
        // A component, in which there is nobody to call.
        let piece = Piece::bare("x", b"\0asm\x0d\0\x01\0");
        let fault = machinery.prepare(piece, Path::new("x.wasm"), 1 << 20, &cache).err();
        assert!(matches!(fault, Some(PieceFault::Code(CodeFault::Uncalled))), "{fault:?}");
        assert_eq!((lock(&machinery.turns).len(), machinery.compiling()), (0, Vec::new()));
    }
}
