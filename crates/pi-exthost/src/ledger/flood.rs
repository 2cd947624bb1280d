//! How often an extension may do something in a span of time: say a line in its log, show a notice, call its host.

use std::time::Duration;

use pi_policy::Moment;

/// So often in each span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub most: u32,
    pub span: Duration,
}

/// Lines and bytes that one extension may log by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    pub lines: Pace,
    /// Of a message, and of the data beside it; what is longer is cut and says so.
    pub bytes: usize,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { lines: Pace { most: 500, span: Duration::from_secs(10) }, bytes: 8 << 10 }
    }
}

/// Counts what an extension does.
#[derive(Debug)]
pub(crate) struct Flood {
    pace: Pace,
    since: Moment,
    count: u32,
    left_out: u64,
}

/// What becomes of one of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// It passes; before it goes how many were left out, if any were.
    Passed { left_out: u64 },
    LeftOut {
        /// Of those that nobody was told of yet.
        is_first: bool,
    },
}

impl Flood {
    pub(crate) fn new(pace: Pace, now: Moment) -> Self {
        Self { pace, since: now, count: 0, left_out: 0 }
    }

    pub(crate) fn next(&mut self, now: Moment) -> Passage {
        let passed = now.unix_millis().saturating_sub(self.since.unix_millis());
        if u128::from(passed) >= self.pace.span.as_millis() {
            (self.since, self.count) = (now, 0);
        }
        if self.count >= self.pace.most {
            self.left_out += 1;
            return Passage::LeftOut { is_first: self.left_out == 1 };
        }
        self.count += 1;
        Passage::Passed { left_out: self.take() }
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
    fn what_is_beyond_the_pace_is_counted_and_told_of_later() {
        let pace = Pace { most: 2, span: Duration::from_secs(1) };
        let at = Moment::from_unix_millis;
        let mut flood = Flood::new(pace, at(0));
        let fate: Vec<_> = [0, 1, 2, 3, 999, 1000, 1001].into_iter().map(|time| flood.next(at(time))).collect();
        let passed = |left_out| Passage::Passed { left_out };
        let out = |is_first| Passage::LeftOut { is_first };
        assert_eq!(fate, [passed(0), passed(0), out(true), out(false), out(false), passed(3), passed(0)]);
        assert_eq!(flood.take(), 0);
    }
}
