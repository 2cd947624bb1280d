//! Extensions in JavaScript, over the real engine.

mod api;
mod house;
mod limits;
mod order;
