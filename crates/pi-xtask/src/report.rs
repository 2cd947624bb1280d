//! What a round of checks found out: one line per step, and a table at the end.

use std::time::Duration;

use crate::console::{self, Cell, Tone, paint};
use crate::process::{self, Usage};

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// With a remark, possibly empty.
    Passed(String),
    Failed(String),
    /// Not run, and why; never silent.
    Skipped(String),
}

/// One step that was run, or was not.
struct Line {
    name: String,
    verdict: Verdict,
    usage: Usage,
}

/// The steps so far.
#[derive(Default)]
pub(crate) struct Report {
    lines: Vec<Line>,
}

impl Report {
    /// Announces a step, runs it, and keeps how it ended. An error is a failed step: the round goes on.
    pub(crate) fn step(&mut self, name: &str, work: impl FnOnce() -> anyhow::Result<Verdict>) {
        console::header(name);
        let (verdict, usage) = process::measure(work);
        let verdict = verdict.unwrap_or_else(|error| Verdict::Failed(format!("{error:#}")));
        match &verdict {
            Verdict::Passed(_) => {}
            Verdict::Failed(why) => console::say(&paint(Tone::Bad, &format!("FAILED: {why}"))),
            Verdict::Skipped(why) => console::say(&paint(Tone::Warning, &format!("SKIPPED: {why}"))),
        }
        self.keep(name, verdict, usage);
    }

    fn keep(&mut self, name: &str, verdict: Verdict, usage: Usage) {
        self.lines.push(Line { name: name.to_owned(), verdict, usage });
    }

    /// Keeps what a step that passed has left out.
    pub(crate) fn skip(&mut self, name: &str, why: &str) {
        self.keep(&format!("{name}, in part"), Verdict::Skipped(why.to_owned()), Usage::default());
    }

    /// How the step of this name ended, if it was run.
    pub(crate) fn verdict(&self, name: &str) -> Option<&Verdict> {
        self.lines.iter().find(|line| line.name == name).map(|line| &line.verdict)
    }

    pub(crate) fn failures(&self) -> usize {
        self.lines.iter().filter(|line| matches!(line.verdict, Verdict::Failed(_))).count()
    }

    /// The table at the end; what was skipped and what failed is said once more, in full.
    pub(crate) fn summary(&self) -> String {
        let title = |text| Cell::left(Tone::Quiet, text);
        let mut rows = vec![vec![
            title("step"),
            title("verdict"),
            Cell::right(Tone::Quiet, "time"),
            Cell::right(Tone::Quiet, "CPU"),
            title(""),
        ]];
        rows.extend(self.lines.iter().map(Line::cells));
        let total = self.lines.iter().fold(Usage::default(), |sum, line| Usage {
            wall: sum.wall + line.usage.wall,
            cpu: sum.cpu + line.usage.cpu,
        });
        let verdict = match self.failures() {
            0 => Cell::left(Tone::Good, "passed"),
            count => Cell::left(Tone::Bad, format!("{count} failed")),
        };
        rows.push(vec![
            Cell::left(Tone::Strong, "all"),
            verdict,
            Cell::right(Tone::Strong, seconds(total.wall)),
            Cell::right(Tone::Strong, seconds(total.cpu)),
        ]);
        let table = console::table(&rows);
        [table].into_iter().chain(self.lines.iter().filter_map(Line::remark)).collect::<Vec<_>>().join("\n")
    }
}

impl Line {
    fn cells(&self) -> Vec<Cell> {
        let (verdict, note) = match &self.verdict {
            Verdict::Passed(note) => (Cell::left(Tone::Good, "passed"), note.as_str()),
            Verdict::Failed(_) => (Cell::left(Tone::Bad, "FAILED"), ""),
            Verdict::Skipped(_) => (Cell::left(Tone::Warning, "SKIPPED"), ""),
        };
        vec![
            Cell::left(Tone::Plain, &self.name),
            verdict,
            Cell::right(Tone::Plain, seconds(self.usage.wall)),
            Cell::right(Tone::Plain, seconds(self.usage.cpu)),
            Cell::left(Tone::Quiet, note),
        ]
    }

    fn remark(&self) -> Option<String> {
        match &self.verdict {
            Verdict::Passed(_) => None,
            Verdict::Failed(why) => Some(paint(Tone::Bad, &format!("  FAILED: {}: {why}", self.name))),
            Verdict::Skipped(why) => Some(paint(Tone::Warning, &format!("  SKIPPED: {}: {why}", self.name))),
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_and_what_was_skipped_is_said_once_more_below_the_table() {
        let mut report = Report::default();
        report.keep("first", Verdict::Passed("2 files".to_owned()), Usage::default());
        report.keep("second", Verdict::Failed("it broke".to_owned()), Usage::default());
        report.skip("third", "no compiler");
        assert_eq!(report.failures(), 1);
        let summary = report.summary();
        let words: Vec<Vec<&str>> = summary.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[1], ["first", "passed", "0.0", "s", "0.0", "s", "2", "files"]);
        assert_eq!(words[2][..2], ["second", "FAILED"]);
        assert_eq!(words[3][..4], ["third,", "in", "part", "SKIPPED"]);
        assert_eq!(words[4][..3], ["all", "1", "failed"]);
        assert_eq!(words[5], ["FAILED:", "second:", "it", "broke"]);
        assert_eq!(words[6], ["SKIPPED:", "third,", "in", "part:", "no", "compiler"]);
    }

    #[test]
    fn an_error_is_a_failed_step_and_does_not_end_the_round() {
        let mut report = Report::default();
        report.step("first", || anyhow::bail!("it broke"));
        report.step("second", || Ok(Verdict::Passed(String::new())));
        assert_eq!((report.failures(), report.lines.len()), (1, 2));
    }
}
