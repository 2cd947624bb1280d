//! Engines for components, and the code that they run: one copy for all sessions of a process.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
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
    /// session, that of the cache, or compiled now.
    pub(super) fn prepare(
        &self,
        piece: Piece<'_>,
        memory: usize,
        cache: &Cache,
    ) -> Result<(Machine, Code), PieceFault> {
        let (machine, known) = self.look(piece.hash(), memory)?;
        if let Some(code) = known {
            return Ok((machine, code));
        }
        let code = Code::prepare(&machine, piece, Some(cache))?;
        self.keep(&machine, *piece.hash(), &code);
        Ok((machine, code))
    }

    fn look(&self, hash: &Digest, memory: usize) -> Result<(Machine, Option<Code>), MachineFault> {
        let mut halls = self.halls.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut halls = self.halls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hall) = halls.iter_mut().find(|hall| hall.machine.upgrade().as_ref() == Some(machine)) {
            hall.codes.retain(|_, code| code.upgrade().is_some());
            hall.codes.insert(hash, code.downgrade());
        }
    }
}
