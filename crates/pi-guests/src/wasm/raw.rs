//! What the compiler cannot check: machine code.
//!
//! This is the only `unsafe` code of this tier.

use pi_extc::MachineCode;
use wasmtime::{Engine, component::Component};

/// A component of machine code.
#[expect(unsafe_code, reason = "the engine believes machine code, whatever it says")]
pub(super) fn load(engine: &Engine, code: &MachineCode) -> wasmtime::Result<Component> {
    // SAFETY: machine code that this machine did not make itself would be unsound. `MachineCode` is made by the cache
    // alone, from an entry that was sealed with this machine's key under the digest of its component and the identity of
    // the engine, and `code::compile` alone hands the cache anything to seal: what the same engine serialised. The bytes
    // are in memory of ours and cannot change any more.
    unsafe { Component::deserialize(engine, code.as_bytes()) }
}
