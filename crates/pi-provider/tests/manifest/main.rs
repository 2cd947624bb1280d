//! Manifests: how they are read, checked, promoted and found.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod catalog;
mod data;
mod expressions;
mod faults;
mod limits;
mod page;
mod pi_models;
mod prices;
mod promotion;
mod rules;
