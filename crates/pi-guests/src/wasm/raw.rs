//! What the compiler cannot check: machine code.
//!
//! This is the only `unsafe` code of this tier.

use pi_extc::MachineCode;
use wasmtime::{Engine, component::Component};

/// A component of machine code, which is mapped where the system has a place for that, and copied elsewhere.
#[expect(unsafe_code, reason = "the engine believes machine code, whatever it says")]
pub(super) fn load(engine: &Engine, code: &MachineCode) -> wasmtime::Result<Component> {
    if let Some(place) = code.place() {
        // SAFETY: machine code that this machine did not make itself would be unsound. `MachineCode` is made by the cache
        // alone, from an entry that was sealed with this machine's key under a digest and the identity of the engine, and
        // `code::compile` alone hands the cache anything to seal: what the same engine serialised of the bytes of a `Piece`, whose
        // digest is that of its artifact, or of these bytes where there is none. What lies in this place was made unwritable for
        // everybody before its seal was looked at, and is there as long as `code` is.
        match unsafe { Component::deserialize_file(engine, &place) } {
            Ok(component) => return Ok(component),
            Err(error) => tracing::debug!(%error, "machine code is not mapped"),
        }
    }
    let bytes = code.bytes()?;
    // SAFETY: the same code, in memory of ours.
    unsafe { Component::deserialize(engine, bytes) }
}
