//! The terminal client.
