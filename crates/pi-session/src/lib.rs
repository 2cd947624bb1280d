//! Owns a conversation: will hold its mailbox, its turn loop, the tree of entries, its file, compaction and export.
//!
//! One task is to own all state of a session and never wait for a model, a tool, a guest, a disk or a client; what takes
//! time runs beside it and reports by message. It knows no transport: `pi-server` and `pi-terminal` drive it through the
//! same handle, and neither the client protocol nor HTTP appears here.
//!
//! Not built yet: this crate is empty. The first type to read will be `Factory`, which makes sessions for both.
