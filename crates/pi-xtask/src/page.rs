//! The page in a real browser, against the real server.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::cargo::{self, Beside};
use crate::console::{self, Tone, paint};
use crate::files;
use crate::install::Missing;
use crate::process::Program;
use crate::report::Verdict;

/// Which binary the tests start.
const BINARY: &str = "PI_TEST_BINARY";
/// How often a test that failed is run again. One that passes then is told by name: it is a fault that was not met, not none.
const RETRIES: (&str, &str) = ("PAGE_TEST_RETRIES", "1");
/// Where the outcome of every test is written.
const REPORT: &str = "PAGE_TEST_REPORT";
/// By these names a browser that the tests can drive is found.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Checks the types of the page and runs its tests. Skipped without Node or without a browser.
pub(crate) fn check() -> Result<Verdict> {
    let page = match prepare() {
        Ok(page) => page,
        Err(Missing(why)) => return Ok(Verdict::Skipped(why)),
    };
    npm().folder(&page).args(["run", "check"]).succeed()?;
    let pi = cargo::build_pi(Beside::Tests)?;
    let folder = cargo::target_folder()?.join("xtask-page");
    // No report of an earlier run is read.
    files::remove_folder(&folder)?;
    let report = folder.join("report.json");
    let tests = script(&page, "test", &pi).env(RETRIES.0, RETRIES.1).env(REPORT, &report);
    let line = tests.to_string();
    let finished = tests.show()?;
    let outcome = Outcome::read(&report)?;
    if !finished.status.success() {
        let why = if outcome.failed.is_empty() { finished.status.to_string() } else { outcome.failed.join("; ") };
        return Ok(Verdict::Failed(format!("{line}: {why}")));
    }
    if !outcome.flaky.is_empty() {
        console::say(&paint(Tone::Warning, &outcome.remark()));
    }
    Ok(Verdict::Passed(outcome.remark()))
}

/// How the tests ended, by name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    passed: usize,
    /// Failed at first and passed when they were run again.
    flaky: Vec<String>,
    failed: Vec<String>,
}

/// A suite in the report: a file, or a group in it.
#[derive(Deserialize)]
struct Suite {
    #[serde(default)]
    suites: Vec<Suite>,
    #[serde(default)]
    specs: Vec<Spec>,
}

#[derive(Deserialize)]
struct Spec {
    title: String,
    file: String,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Expected,
    Unexpected,
    Flaky,
    Skipped,
}

impl Outcome {
    fn read(report: &Path) -> Result<Self> {
        let text = files::read(report).context("the browser tests wrote no report")?;
        let whole: Suite = serde_json::from_str(&text).context("the report of the browser tests cannot be read")?;
        let mut outcome = Self::default();
        outcome.add(&whole);
        Ok(outcome)
    }

    fn add(&mut self, suite: &Suite) {
        for spec in &suite.specs {
            let name = || format!("{}: {}", spec.file, spec.title);
            for test in &spec.tests {
                match test.status {
                    Status::Expected => self.passed += 1,
                    Status::Flaky => self.flaky.push(name()),
                    Status::Unexpected => self.failed.push(name()),
                    Status::Skipped => {}
                }
            }
        }
        suite.suites.iter().for_each(|inner| self.add(inner));
    }

    /// For the line of the summary.
    fn remark(&self) -> String {
        let Self { passed, flaky, .. } = self;
        match flaky.len() {
            0 => format!("{passed} tests"),
            count => {
                format!("{passed} tests, and {count} FLAKY, which passed only when run again: {}", flaky.join("; "))
            }
        }
    }
}

/// The folder of the page, with all that runs it in a browser.
pub(crate) fn prepare() -> Result<PathBuf, Missing> {
    for program in ["node", "npm"] {
        if !Program::new(program).arg("--version").works() {
            return Err(Missing(format!("{program} is not installed")));
        }
    }
    if !has_browser() {
        // Whoever may install programs gets one; others are told that nothing was run.
        let _ = Program::new("apt-get").args(["update"]).succeed();
        let installed = Program::new("apt-get").args(["install", "-y", "chromium"]).succeed();
        if let Err(error) = installed
            && !has_browser()
        {
            return Err(Missing(format!("there is no Chromium, and none could be installed: {error:#}")));
        }
    }
    let page = cargo::root().join("web");
    match npm().folder(&page).arg("ci").succeed() {
        Ok(()) => Ok(page),
        Err(error) => Err(Missing(format!("what the page is tested with could not be installed: {error:#}"))),
    }
}

/// Runs a script of the page's package against a binary.
pub(crate) fn script(page: &Path, name: &str, pi: &Path) -> Program {
    npm().folder(page).args(["run", name]).env(BINARY, pi)
}

fn npm() -> Program {
    Program::new("npm").env("npm_config_fund", "false").env("npm_config_audit", "false")
}

fn has_browser() -> bool {
    BROWSERS.iter().any(|name| Program::new(name).arg("--version").works())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(report: &str, expected: &Outcome, remark: &str) {
        let mut outcome = Outcome::default();
        outcome.add(&serde_json::from_str(report).expect("it is a report"));
        assert_eq!(&outcome, expected);
        assert_eq!(outcome.remark(), remark);
    }

    #[test]
    fn a_test_that_passed_when_run_again_is_told_by_name() {
        check(
            r#"{"suites":[{"title":"a.spec.ts","file":"a.spec.ts","specs":[
                 {"title":"opens","file":"a.spec.ts","ok":true,"tests":[{"status":"expected"}]},
                 {"title":"is slow","file":"a.spec.ts","ok":true,"tests":[{"status":"flaky"}]}],
               "suites":[{"title":"approvals","file":"a.spec.ts","specs":[
                 {"title":"asks","file":"a.spec.ts","ok":false,"tests":[{"status":"unexpected"}]},
                 {"title":"is left out","file":"a.spec.ts","ok":true,"tests":[{"status":"skipped"}]}]}]}],
             "stats":{"expected":1}}"#,
            &Outcome {
                passed: 1,
                flaky: vec!["a.spec.ts: is slow".to_owned()],
                failed: vec!["a.spec.ts: asks".to_owned()],
            },
            "1 tests, and 1 FLAKY, which passed only when run again: a.spec.ts: is slow",
        );
    }

    #[test]
    fn tests_that_all_passed_are_counted() {
        let report = r#"{"suites":[{"specs":[{"title":"opens","file":"a.spec.ts","tests":[{"status":"expected"}]}]}]}"#;
        check(report, &Outcome { passed: 1, ..Outcome::default() }, "1 tests");
    }
}
