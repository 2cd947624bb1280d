//! The binary `pi`.
fn main() {}
