//! Parts that the tests of several crates share; a dev-dependency only, used from `tests/` folders.
//!
//! A part moves in when a second crate needs it, not before. The lowest crates test themselves with data and generated
//! values of their own, so nothing is shared yet and this crate is empty. To come, with the first session and server
//! tests: a scripted model behind a real socket, a scripted guest, a fake clock, scenario files and a test client.
//!
//! It never links what it stands in for (providers, sessions, guests) and holds no second implementation of the logic
//! under test. The first type to read will be `Scenario`.
