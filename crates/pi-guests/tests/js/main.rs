//! Extensions in JavaScript, over the real engine.

mod api;
mod hostile;
mod house;
mod limits;
mod order;
