//! What came of the cases, as a table and as findings.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::runner::case::Case;

/// What came of one case.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Passed,
    /// Each with its place.
    Failed(Vec<String>),
    /// It fails, and must: it asks for what its own fixture denies.
    Contradicted(String),
    /// Nobody here knows this kind.
    Unknown(String),
}

/// Whether kinds that nobody knows are faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknowns {
    Refused,
    Allowed,
}

#[derive(Default)]
pub(crate) struct Report {
    suites: BTreeMap<String, Row>,
    findings: String,
    contradictions: String,
}

#[derive(Debug, Clone, Copy, Default)]
struct Row {
    passed: usize,
    failed: usize,
    contradicted: usize,
    unknown: usize,
}

impl Report {
    pub(crate) fn add(&mut self, case: &Case, outcome: &Outcome) {
        let row = self.suites.entry(case.suite.clone()).or_default();
        let head = format!("{} ({}, {}): {}", case.id, case.kind(), case.file.display(), case.name);
        // Writing into a text cannot fail.
        match outcome {
            Outcome::Passed => row.passed += 1,
            Outcome::Failed(findings) => {
                row.failed += 1;
                let _ = writeln!(self.findings, "FAILED {head}");
                for finding in findings {
                    let _ = writeln!(self.findings, "    {finding}");
                }
            }
            Outcome::Contradicted(reason) => {
                row.contradicted += 1;
                let _ = writeln!(self.contradictions, "CONTRADICTED {head}\n    {reason}");
            }
            Outcome::Unknown(kind) => {
                row.unknown += 1;
                let _ = writeln!(self.findings, "UNKNOWN {head}\n    there is no runner for {kind}");
            }
        }
    }

    pub(crate) fn is_good(&self, unknowns: Unknowns) -> bool {
        let total = self.total();
        total.failed == 0 && (total.unknown == 0 || unknowns == Unknowns::Allowed) && total.passed > 0
    }

    /// The table, then what is wrong, then a line like those of other test programs.
    pub(crate) fn render(&self, unknowns: Unknowns) -> String {
        let width = self.suites.keys().map(String::len).max().unwrap_or(0).max("in all".len());
        let mut text = format!("{:width$}  passed  failed  contradicted  unknown\n", "suite");
        let total = self.total();
        for (suite, row) in self.suites.iter().map(|(suite, row)| (suite.as_str(), *row)).chain([("in all", total)]) {
            let Row { passed, failed, contradicted, unknown } = row;
            let _ = writeln!(text, "{suite:width$}  {passed:6}  {failed:6}  {contradicted:12}  {unknown:7}");
        }
        for part in [&self.contradictions, &self.findings] {
            if !part.is_empty() {
                let _ = write!(text, "\n{part}");
            }
        }
        let verdict = if self.is_good(unknowns) { "ok" } else { "FAILED" };
        let bad = total.failed + if unknowns == Unknowns::Refused { total.unknown } else { 0 };
        let _ = write!(
            text,
            "\ntest result: {verdict}. {} passed; {bad} failed; {} contradicted",
            total.passed, total.contradicted
        );
        text
    }

    fn total(&self) -> Row {
        self.suites.values().fold(Row::default(), |sum, row| Row {
            passed: sum.passed + row.passed,
            failed: sum.failed + row.failed,
            contradicted: sum.contradicted + row.contradicted,
            unknown: sum.unknown + row.unknown,
        })
    }
}
