//! Engines that are made at first use.

use std::sync::{Mutex, PoisonError};

use crate::wasm::{Machine, MachineFault};

/// The engine for components, which most sessions do not need.
#[derive(Debug)]
pub(super) struct Machinery {
    memory: usize,
    /// A lock and no task: it is held while the engine is made, which takes about a millisecond.
    machine: Mutex<Option<Machine>>,
}

impl Machinery {
    /// For components that have at most `memory` bytes each.
    pub(super) fn new(memory: usize) -> Self {
        Self { memory, machine: Mutex::default() }
    }

    pub(super) fn machine(&self) -> Result<Machine, MachineFault> {
        let mut made = self.machine.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some(machine) => Ok(machine.clone()),
            None => {
                let machine = Machine::new(self.memory)?;
                *made = Some(machine.clone());
                Ok(machine)
            }
        }
    }
}
