//! The vocabulary from outside: what is read, what is written, what is refused.
//!
//! One test program, because linking one is faster than linking one for each module.

#[cfg(test)]
mod canonical;
#[cfg(test)]
mod change;
#[cfg(test)]
mod events;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod lossless;
#[cfg(test)]
mod meaning;
#[cfg(test)]
mod migration;
#[cfg(test)]
mod nouns;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod shape;
#[cfg(test)]
mod verbatim;
