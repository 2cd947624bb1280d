//! Results that come in pieces: the rules of a stream, kept by [`Sender`] and checked by [`Receiver`].
//!
//! Chunks of one call count from zero without gaps; exactly one is the last, and nothing follows it. A result without
//! a chunk answers the whole call. An error ends the call, so it is the last chunk or the only result.

use pi_transcript::json::Extra;

use super::{Chunk, HostError, HostResult};
use crate::{Object, count::Count};

/// Numbers the results of one call. Consumed by the result that ends the stream, so nothing can follow it.
#[derive(Debug)]
pub struct Sender {
    call_id: String,
    next: u64,
}

/// Checks the results of one call as they arrive.
#[derive(Debug)]
pub struct Receiver {
    call_id: String,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Streaming { next: u64 },
    Ended,
}

/// Whether more results of a call will come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    More,
    Ended,
}

/// The host broke the rules of a stream; the call it belongs to cannot be trusted any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("result of call {found:?} in the stream of {expected:?}")]
    OtherCall { expected: String, found: String },
    #[error("chunk {found} where {expected} was due")]
    OutOfOrder { expected: u64, found: u64 },
    #[error("result without a chunk after the stream began")]
    Unchunked,
    #[error("an error ends a stream, but its chunk is not the last")]
    ErrorIsNotLast,
    #[error("result after the last one")]
    AfterLast,
}

impl Sender {
    pub fn new(call_id: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), next: 0 }
    }

    /// A chunk that others will follow.
    pub fn more(&mut self, output: Object) -> HostResult {
        let chunk = self.chunk(Progress::More);
        self.next += 1;
        HostResult { chunk: Some(chunk), ..HostResult::success(self.call_id.clone(), output) }
    }

    /// The last chunk.
    pub fn finish(self, output: Object) -> HostResult {
        let chunk = Some(self.chunk(Progress::Ended));
        HostResult { chunk, ..HostResult::success(self.call_id, output) }
    }

    /// The last chunk, and the reason why the stream ends early.
    pub fn fail(self, error: HostError) -> HostResult {
        let chunk = Some(self.chunk(Progress::Ended));
        HostResult { chunk, ..HostResult::failure(self.call_id, error) }
    }

    fn chunk(&self, progress: Progress) -> Chunk {
        let is_last = progress == Progress::Ended;
        Chunk { index: Count::from(self.next), is_last, backpressure: None, extra: Extra::new() }
    }
}

impl Receiver {
    pub fn new(call_id: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), state: State::Waiting }
    }

    /// Takes the next result. After a fault the stream counts as ended.
    pub fn accept(&mut self, result: &HostResult) -> Result<Progress, Fault> {
        let next = self.advance(result);
        self.state = *next.as_ref().unwrap_or(&State::Ended);
        next.map(|state| match state {
            State::Ended => Progress::Ended,
            State::Waiting | State::Streaming { .. } => Progress::More,
        })
    }

    fn advance(&self, result: &HostResult) -> Result<State, Fault> {
        if result.call_id != self.call_id {
            return Err(Fault::OtherCall { expected: self.call_id.clone(), found: result.call_id.clone() });
        }
        let (chunk, expected) = match (self.state, &result.chunk) {
            (State::Ended, _) => return Err(Fault::AfterLast),
            (State::Waiting, None) => return Ok(State::Ended),
            (State::Streaming { .. }, None) => return Err(Fault::Unchunked),
            (State::Waiting, Some(chunk)) => (chunk, 0),
            (State::Streaming { next }, Some(chunk)) => (chunk, next),
        };
        match chunk.index.get() {
            found if found != expected => Err(Fault::OutOfOrder { expected, found }),
            _ if chunk.is_last => Ok(State::Ended),
            _ if result.error.is_some() => Err(Fault::ErrorIsNotLast),
            _ => Ok(State::Streaming { next: expected + 1 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::ErrorCode;

    /// `0` `1` … are chunks, `2.` is a last chunk, `2!` an error in a chunk, `2!.` in the last one, `-` has no chunk,
    /// `?` belongs to another call.
    #[track_caller]
    fn check(results: &str, expected: &str) {
        let mut receiver = Receiver::new("c");
        let verdicts = results.split_whitespace().map(|text| {
            let index = text.trim_end_matches(['.', '!']).parse::<u64>();
            let mut result = HostResult::success(if text == "?" { "other" } else { "c" }, Object::new());
            result.chunk = index.ok().map(|index| Chunk {
                index: index.into(),
                is_last: text.ends_with('.'),
                backpressure: None,
                extra: Extra::new(),
            });
            result.error = text.contains('!').then(|| HostError::new(ErrorCode::Io, "gone"));
            match receiver.accept(&result) {
                Ok(Progress::More) => "more".to_owned(),
                Ok(Progress::Ended) => "end".to_owned(),
                Err(fault) => fault.to_string(),
            }
        });
        assert_eq!(verdicts.collect::<Vec<_>>().join(", "), expected, "{results}");
    }

    #[test]
    fn chunks_count_from_zero_to_the_last() {
        check("0 1 2.", "more, more, end");
        check("0.", "end");
        check("-", "end");
        check("0 1!.", "more, end");
    }

    #[test]
    fn gaps_and_repetitions_are_faults() {
        check("1", "chunk 1 where 0 was due");
        check("0 0", "more, chunk 0 where 1 was due");
        check("0 2", "more, chunk 2 where 1 was due");
    }

    #[test]
    fn nothing_follows_the_last_result() {
        check("0. 1", "end, result after the last one");
        check("- -", "end, result after the last one");
        check("1 0", "chunk 1 where 0 was due, result after the last one");
    }

    #[test]
    fn results_that_do_not_belong_are_faults() {
        check("0 -", "more, result without a chunk after the stream began");
        check("0!", "an error ends a stream, but its chunk is not the last");
        check("?", "result of call \"other\" in the stream of \"c\"");
    }

    #[test]
    fn sender_keeps_the_rules_that_the_receiver_checks() {
        for (pieces, failing) in [(0, false), (1, false), (5, true)] {
            let (mut sender, mut receiver) = (Sender::new("c"), Receiver::new("c"));
            for _ in 0..pieces {
                assert_eq!(receiver.accept(&sender.more(Object::new())), Ok(Progress::More));
            }
            let last = match failing {
                true => sender.fail(HostError::new(ErrorCode::Timeout, "too slow")),
                false => sender.finish(Object::new()),
            };
            assert_eq!(receiver.accept(&last), Ok(Progress::Ended));
        }
    }
}
