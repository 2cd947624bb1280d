//! From bytes to events.

pub mod framing;
