//! What a session can rely on, whatever its guests do.

mod questions;
