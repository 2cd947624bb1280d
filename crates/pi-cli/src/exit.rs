//! The numbers with which `pi` ends. `docs/exit-codes.md` is written for people; a test compares the two.

/// How a command ended, as a script sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// It was done, and where it was a question the answer is yes.
    Success = 0,
    /// It was done, and the answer is no: of several files one is not valid or cannot be read, two envelopes differ, nothing
    /// fits what was looked for, the model answered the agent with an error.
    No = 1,
    /// It could not be done: wrong arguments, a file without which there is no answer, output that cannot be written.
    Trouble = 2,
    /// The model's server failed in a way that may be over soon; what `sysexits.h` calls a temporary failure.
    TryAgain = 75,
    /// Somebody pressed Ctrl-C, as shells write it.
    Interrupted = 130,
    /// The process was asked to end, by `kill` or `timeout`, as shells write it.
    Terminated = 143,
}

/// Every code with its meaning, for `--help`.
pub(crate) const MEANINGS: [(Exit, &str); 6] = [
    (Exit::Success, "done; all files are valid, nothing differs"),
    (Exit::No, "done, and the answer is no: not valid, different, nothing fits, a check or the model fails"),
    (Exit::Trouble, "not done: wrong arguments, nothing to compare or explain, no answer, unwritable output"),
    (Exit::TryAgain, "not done: the model's server failed, and may not if asked again later"),
    (Exit::Interrupted, "not done: interrupted"),
    (Exit::Terminated, "not done: asked to end by a signal"),
];
