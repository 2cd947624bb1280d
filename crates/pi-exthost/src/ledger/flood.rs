//! How much an extension may say in its log.

use std::time::Duration;

use pi_policy::Moment;

/// Lines and bytes that one extension may log by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Lines in each span of time.
    pub lines: u32,
    pub span: Duration,
    /// Of a message, and of the data beside it; what is longer is cut and says so.
    pub bytes: usize,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { lines: 500, span: Duration::from_secs(10), bytes: 8 << 10 }
    }
}

/// Counts what an extension says.
#[derive(Debug)]
pub(crate) struct Flood {
    allowance: Allowance,
    since: Moment,
    lines: u32,
    left_out: u64,
}

/// What becomes of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// It is written; before it goes how many were left out, if any were.
    Written { left_out: u64 },
    LeftOut {
        /// Of those that nobody was told of yet.
        is_first: bool,
    },
}

impl Flood {
    pub(crate) fn new(allowance: Allowance, now: Moment) -> Self {
        Self { allowance, since: now, lines: 0, left_out: 0 }
    }

    pub(crate) fn next(&mut self, now: Moment) -> Passage {
        let passed = now.unix_millis().saturating_sub(self.since.unix_millis());
        if u128::from(passed) >= self.allowance.span.as_millis() {
            (self.since, self.lines) = (now, 0);
        }
        if self.lines >= self.allowance.lines {
            self.left_out += 1;
            return Passage::LeftOut { is_first: self.left_out == 1 };
        }
        self.lines += 1;
        Passage::Written { left_out: self.take() }
    }

    /// How many were left out and not told of.
    pub(crate) fn take(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_allowance_are_counted_and_told_of_later() {
        let allowance = Allowance { lines: 2, span: Duration::from_secs(1), bytes: 10 };
        let at = Moment::from_unix_millis;
        let mut flood = Flood::new(allowance, at(0));
        let fate: Vec<_> = [0, 1, 2, 3, 999, 1000, 1001].into_iter().map(|time| flood.next(at(time))).collect();
        let written = |left_out| Passage::Written { left_out };
        let out = |is_first| Passage::LeftOut { is_first };
        assert_eq!(fate, [written(0), written(0), out(true), out(false), out(false), written(3), written(0)]);
        assert_eq!(flood.take(), 0);
    }
}
