//! Talks to a model: will read provider manifests, build requests and decode the streams that come back.
//!
//! Providers are to differ by manifest, that is by data; Rust is written only for a new *dialect*, and the demo model is
//! one of those. Retrying happens here only before the first byte has arrived; retrying a whole turn, running tools and
//! keeping the conversation belong to `pi-session`.
//!
//! Not built yet: this crate is empty. The first type to read will be `Manifest`, then `StreamError`, whose variants
//! answer whether to try again, whose fault it was, and what to do next.
