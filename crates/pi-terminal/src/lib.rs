//! The terminal client: will show a chat, markdown, pickers, diffs, and what extensions draw.
//!
//! It is a view of a session in the same process and keeps no state of the conversation itself. It does not speak the
//! client protocol and knows neither the server nor how extensions run.
//!
//! Not built yet: this crate is empty. The first type to read will be `Screen`, what one frame shows as data.
