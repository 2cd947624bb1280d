//! Extensions that are components, over the real engine; and the same behaviour over every tier that has it.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests make, damage and look at files, start compilers, and say loudly what they skip"
)]

mod cache;
mod component;
mod connectors;
mod hostile;
mod house;
mod languages;
mod launch;
mod rows;
mod tiers;
