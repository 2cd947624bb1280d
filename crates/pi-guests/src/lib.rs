//! The three kinds of extension behind one trait: will run `js`, `wasm` and `mcp` guests.
//!
//! It decides nothing: a guest asks, and the dispatcher of `pi-exthost` answers. A guest that panics, hangs or eats memory
//! is to cost only itself. Nothing outside this crate is to know which engine runs a guest or which version of an
//! interface it speaks.
//!
//! Not built yet: this crate is empty. The first type to read will be `Tiers`, the launcher that chooses one of the three.
