//! Brotli, as much at a time as is wanted.

use std::io;

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::{PIECE, Step};

type State = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

/// Its memory is the window that a body asks for, 16 MiB at most.
pub(super) struct Brotli {
    state: Box<State>,
    /// Whether there is more to be told of what was taken.
    has_more: bool,
}

impl Brotli {
    pub(super) fn new() -> Self {
        // `strict`: without the windows of a GiB that a dialect of brotli has and the web has not.
        let state =
            BrotliState::new_strict(StandardAlloc::default(), StandardAlloc::default(), StandardAlloc::default());
        Self { state: Box::new(state), has_more: false }
    }

    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    pub(super) fn step(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<Step> {
        let before = out.len();
        out.resize(before + PIECE, 0);
        let (mut left, mut taken, mut room, mut written, mut total) = (bytes.len(), 0, PIECE, 0, 0);
        let result = BrotliDecompressStream(
            &mut left,
            &mut taken,
            bytes,
            &mut room,
            &mut written,
            &mut out[before..],
            &mut total,
            &mut self.state,
        );
        out.truncate(before + written);
        self.has_more = matches!(result, BrotliResult::NeedsMoreOutput);
        match result {
            BrotliResult::ResultSuccess => Ok(Step::Over),
            BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => Ok(Step::Took(taken)),
            BrotliResult::ResultFailure => Err(io::Error::new(io::ErrorKind::InvalidData, "this is no brotli")),
        }
    }
}
