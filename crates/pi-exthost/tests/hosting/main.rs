//! What a session can rely on, whatever its guests do.

mod coming;
mod drawings;
mod faults;
mod folding;
mod house;
mod mixtures;
mod offers;
mod people;
mod questions;
