//! One program for all tests of the wire, because linking is what a test program costs.

mod examples;
mod generated;
mod golden;
mod hostile;
mod meaning;
mod schema;
mod validation;
