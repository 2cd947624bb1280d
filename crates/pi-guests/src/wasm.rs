//! Extensions that are WebAssembly components: one instance for each, under limits that are always on.
//!
//! [`WasmGuest`] is what the rest of the system holds, [`Machine`] is the engine that all of them share. A component has
//! no files, no network and no environment of its own: what it reaches of its host goes through the desk that it was
//! started with. It runs inside the future of whoever asks, which comes to a pause every millisecond; dropping that
//! future is the end of the work. Whatever traps, or is dropped on its way, costs its instance, and the next call gets a
//! new one.

mod code;
mod guest;
mod instance;
mod limits;
mod machine;
mod package;
mod pool;
mod raw;
mod room;
mod ticker;
mod wasi;

pub(crate) use self::{code::WeakCode, machine::WeakMachine};
pub use self::{
    code::{Code, CodeFault, Piece},
    guest::{Program, WasmGuest},
    limits::Limits,
    machine::{Machine, MachineFault},
};
