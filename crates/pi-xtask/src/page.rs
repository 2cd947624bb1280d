//! The page in a real browser, against the real server.

use anyhow::Result;

use crate::cargo::{self, Beside};
use crate::process::Program;
use crate::report::Verdict;

/// Which binary the tests start.
const BINARY: &str = "PI_TEST_BINARY";
/// By these names a browser that the tests can drive is found.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Checks the types of the page and runs its tests. Skipped without Node or without a browser.
pub(crate) fn check() -> Result<Verdict> {
    for program in ["node", "npm"] {
        if !Program::new(program).arg("--version").works() {
            return Ok(Verdict::Skipped(format!("{program} is not installed")));
        }
    }
    if !has_browser() {
        // Whoever may install programs gets one; others are told that these tests did not run.
        let _ = Program::new("apt-get").args(["update"]).succeed();
        let installed = Program::new("apt-get").args(["install", "-y", "chromium"]).succeed();
        if let Err(error) = installed
            && !has_browser()
        {
            return Ok(Verdict::Skipped(format!("there is no Chromium, and none could be installed: {error:#}")));
        }
    }
    let page = cargo::root().join("web");
    if let Err(error) = npm().folder(&page).arg("ci").succeed() {
        return Ok(Verdict::Skipped(format!("what the page is tested with could not be installed: {error:#}")));
    }
    npm().folder(&page).args(["run", "check"]).succeed()?;
    let pi = cargo::build_pi(Beside::Tests)?;
    let tests = npm().folder(&page).arg("test").env(BINARY, pi);
    let line = tests.to_string();
    let finished = tests.show()?;
    Ok(match finished.status.success() {
        true => Verdict::Passed(String::new()),
        false => Verdict::Failed(format!("{line}: {}", finished.status)),
    })
}

fn npm() -> Program {
    Program::new("npm").env("npm_config_fund", "false").env("npm_config_audit", "false")
}

fn has_browser() -> bool {
    BROWSERS.iter().any(|name| Program::new(name).arg("--version").works())
}
