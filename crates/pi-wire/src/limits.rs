//! How much a client may send.
//!
//! [`Limits`] bound a whole frame and are the server's to configure. The constants bound single fields; they belong to
//! the protocol, so that a client can check them before it sends.

/// Bounds of one frame, checked before or while it is read: what lies beyond them is never held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a frame. Checked before anything is parsed.
    pub bytes: usize,
    /// How deep objects and arrays may be nested; the frame's own object is level one.
    pub depth: usize,
    /// How many values, members and items together, a frame may hold. A parsed value takes some forty times the
    /// memory of the two bytes that can spell it, so the size in bytes alone does not bound memory.
    pub values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 10 * 1024 * 1024, depth: 64, values: 65_536 }
    }
}

// Lengths of text are counted in UTF-16 units, as JavaScript counts them.

/// Of a command id, an idempotency key, a session id, a request id, a session name.
pub const NAME: usize = 256;
/// Of the text of a prompt, a steering or a follow-up message.
pub const MESSAGE: usize = 200_000;
/// Of a shell command line.
pub const SHELL_COMMAND: usize = 20_000;
/// Of a path.
pub const PATH: usize = 4096;
/// Of instructions to a summary.
pub const INSTRUCTIONS: usize = 20_000;
/// Of one answer that a person types.
pub const ANSWER: usize = 200_000;
/// Of a search text.
pub const SEARCH: usize = 1024;
/// Of the bytes that one key press sends to a drawn component.
pub const KEY: usize = 4096;

/// Commands that one command may depend on.
pub const DEPENDENCIES: usize = 32;
/// Answers in an interview, and values in one answer that is a list or an object.
pub const ANSWERS: usize = 1024;
/// Images in one message.
pub const IMAGES: usize = 32;
/// Entries of the command history in one answer.
pub const HISTORY: u64 = 500;
/// Items in one page of any other list.
pub const PAGE: u64 = 1000;
/// Names in one list of names.
pub const NAMES: usize = 1024;
/// The largest whole number that a JavaScript client holds exactly.
pub const WHOLE: u64 = 9_007_199_254_740_991;
