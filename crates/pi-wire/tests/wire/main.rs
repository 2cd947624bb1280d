//! One program for all tests of the wire, because linking is what a test program costs.

#[cfg(test)]
mod documented;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod generated;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod meaning;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod specified;
#[cfg(test)]
mod validation;
