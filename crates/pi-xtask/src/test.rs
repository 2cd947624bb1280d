//! Everything that must pass, in the order in which a fault is cheapest to find. Green here is green in CI.
//!
//! A failing step does not end the round: one run names all that is wrong.

use std::ffi::OsString;

use anyhow::{Result, bail};

use crate::cargo::Beside;
use crate::install::{self, Missing, Need};
use crate::process::{Finished, Program, Stream};
use crate::report::{Report, Verdict};
use crate::verdict::{Otherwise, Results};
use crate::{
    bench, cargo, codegen, conformance, console, fuzz, page, peers, portable, sdk, shims, tidy, typescript, verdict,
};

/// What the long rounds set: cases of every property test, steps of the engine's random clients, deaths of processes,
/// turns of one conversation, commands of a server's random clients, frames that no sane client sends, and components that
/// hold a whole interpreter.
const LONG: [(&str, &str); 8] = [
    ("PI_TEST_CASES", "5000"),
    ("PI_TEST_STEPS", "1000000"),
    ("PI_TEST_KILLS", "200"),
    ("PI_TEST_CRASHES", "500"),
    ("PI_TEST_TURNS", "10000"),
    ("PI_TEST_COMMANDS", "100000"),
    ("PI_TEST_FRAMES", "1000000"),
    ("PI_TEST_INTERPRETERS", "1"),
];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Also the long rounds: a million random steps, many more generated cases, ten thousand turns, two hundred deaths,
    /// a hundred thousand commands of random clients, a million hostile frames, minutes of fuzzing, the release binary
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut report = Report::default();
    report.step("formatting", formatting);
    report.step("clippy", || with(install::CLIPPY, clippy));
    report.step("tidy", || tidy::run().map(passed));
    report.step("generated files", || codegen::check(Beside::Tests).map(passed));
    let mut environment = Vec::new();
    report.step("test peers", || {
        Ok(match peers::ensure() {
            Ok(folder) => {
                environment.push((peers::VARIABLE, folder.into_os_string()));
                passed(())
            }
            Err(Missing(why)) => Verdict::Skipped(why),
        })
    });
    report.step("Pi from npm", || {
        Ok(match peers::ensure_pi() {
            Ok(folder) => {
                environment.push((peers::PI_VARIABLE, folder.into_os_string()));
                passed(())
            }
            Err(Missing(why)) => Verdict::Skipped(why),
        })
    });
    report.step("MCP servers", || {
        Ok(match peers::ensure_servers() {
            Ok(folder) => {
                environment.push((peers::SERVERS_VARIABLE, folder.into_os_string()));
                passed(())
            }
            Err(Missing(why)) => Verdict::Skipped(why),
        })
    });
    for need in [install::TMUX, install::STRACE, install::COMPONENTS] {
        report.step(&need.name(), || with(need, || Ok(passed(()))));
    }
    let mut results = tests(&mut report, "tests", &Chosen::default(), &environment);
    report.step(verdict::CLIENT, typescript::check);
    results.of_client(report.verdict(verdict::CLIENT));
    report.step("SDK of extensions", sdk::check);
    report.step("shims of extensions", shims::check);
    report.step("extensions, compared with Pi", conformance::check);
    report.step("the page in a browser", page::check);
    report.step("verdicts", || verdict::check(&results, Otherwise::Fail));
    report.step("documentation", documentation);
    for platform in portable::PLATFORMS {
        report.step(&format!("portable crates for {platform}"), || portable::check(platform));
    }
    if arguments.full {
        environment.extend(LONG.map(|(name, value)| (name, value.into())));
        tests(&mut report, "tests, long rounds", &Chosen::default(), &environment);
        report.step("release binary", release_binary);
        report.step("bench, quick", || bench::smoke().map(passed));
    }
    fuzz::round(&mut report, None, fuzz::Round::Repeated);
    if arguments.full {
        fuzz::round(&mut report, None, fuzz::Round::Searching { seconds: fuzz::LONG });
    }

    console::header("summary");
    console::say(&report.summary());
    match report.failures() {
        0 => Ok(()),
        1 => bail!("1 step failed"),
        count => bail!("{count} steps failed"),
    }
}

fn passed((): ()) -> Verdict {
    Verdict::Passed(String::new())
}

fn with(need: Need, work: impl FnOnce() -> Result<Verdict>) -> Result<Verdict> {
    match install::ensure(need) {
        Ok(()) => work(),
        Err(Missing(why)) => Ok(Verdict::Skipped(why)),
    }
}

fn judge(line: &str, finished: &Finished) -> Verdict {
    if finished.status.success() { passed(()) } else { Verdict::Failed(format!("{line}: {}", finished.status)) }
}

fn show(command: Program) -> Result<Verdict> {
    let line = command.to_string();
    Ok(judge(&line, &command.show()?))
}

fn formatting() -> Result<Verdict> {
    with(install::RUSTFMT, || {
        let ours = show(cargo::cargo().args(["fmt", "--all", "--check"]))?;
        let beside = |manifest| show(cargo::cargo().args(["fmt", "--check", "--manifest-path", manifest]));
        let sdk = show(cargo::cargo().args(["fmt", "--all", "--check", "--manifest-path", sdk::MANIFEST]))?;
        let all = [ours, beside("fuzz/Cargo.toml")?, beside("bench/Cargo.toml")?, sdk];
        Ok(all.into_iter().find(|verdict| !matches!(verdict, Verdict::Passed(_))).unwrap_or_else(|| passed(())))
    })
}

fn clippy() -> Result<Verdict> {
    show(cargo::cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// A link that leads nowhere is a warning of rustdoc, and as wrong as any other.
fn documentation() -> Result<Verdict> {
    let command = cargo::cargo().args(["doc", "--workspace", "--no-deps", "--document-private-items"]);
    show(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn release_binary() -> Result<Verdict> {
    show(Program::new(cargo::build_released_pi()?).arg("--help"))
}

/// Some tests; by default all of them.
#[derive(Default)]
pub(crate) struct Chosen {
    /// Cargo's arguments that name test programs.
    pub(crate) programs: Vec<String>,
    /// Words, one of which a test has in its name.
    pub(crate) words: Vec<String>,
}

/// Runs some tests.
pub(crate) fn some(report: &mut Report, chosen: &Chosen) -> Results {
    tests(report, "tests", chosen, &[])
}

/// Runs tests; what they skip is a line of the report, although they pass.
fn tests(report: &mut Report, name: &str, chosen: &Chosen, environment: &[(&str, OsString)]) -> Results {
    let mut reader = Reader::default();
    report.step(name, || {
        let mut command = cargo::cargo().args(["test", "--workspace", "--no-fail-fast"]).args(&chosen.programs);
        command = command.args(["--", "--show-output"]).args(&chosen.words);
        command = command.env("CARGO_TERM_COLOR", console::cargo_colour());
        for (name, value) in environment {
            command = command.env(name, value);
        }
        let line = command.to_string();
        let finished = command.watch(|stream, line| match stream {
            Stream::Stdout if reader.read(line) => console::say(line),
            Stream::Stdout => {}
            Stream::Stderr => {
                reader.notice(line);
                console::pass_on(line);
            }
        })?;
        Ok(match judge(&line, &finished) {
            Verdict::Passed(_) => Verdict::Passed(format!("{} tests", reader.passed)),
            other => other,
        })
    });
    for why in reader.skipped {
        report.skip(name, &why);
    }
    reader.results
}

/// Reads what test programs print. `--show-output` is asked for the `SKIPPED` lines of tests that pass; the rest of their
/// output is nobody's concern.
#[derive(Default)]
struct Reader {
    passed: u64,
    skipped: Vec<String>,
    in_successes: bool,
    results: Results,
}

impl Reader {
    /// Keeps what a test says it left out; some say so past the harness, on stderr.
    fn notice(&mut self, line: &str) {
        if let Some((_, why)) = line.split_once("SKIPPED: ")
            && !self.skipped.iter().any(|known| known == why)
        {
            self.skipped.push(why.to_owned());
        }
    }

    /// Takes a line of stdout and says whether to show it.
    fn read(&mut self, line: &str) -> bool {
        self.notice(line);
        self.results.read(line);
        if let Some(result) = line.strip_prefix("test result: ") {
            self.passed += passed_tests(result).unwrap_or(0);
        }
        self.in_successes = match line {
            "successes:" => true,
            "failures:" => false,
            _ => self.in_successes && !line.starts_with("test result: "),
        };
        let is_fine = line.starts_with("test ") && line.ends_with(" ... ok");
        !self.in_successes && !is_fine
    }
}

fn passed_tests(result: &str) -> Option<u64> {
    result.split_once(" passed")?.0.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "running 2 tests
test a ... ok
test b ... FAILED

successes:

---- a stdout ----
SKIPPED: the design is not beside this checkout
noise

successes:
    a

failures:

---- b stdout ----
the reason

test result: FAILED. 1 passed; 1 failed; 0 ignored

running 1 test
test result: ok. 12 passed; 0 failed; 0 ignored";

    #[test]
    fn what_a_passing_test_skips_is_kept_and_its_noise_is_not_shown() {
        let mut reader = Reader::default();
        let shown: Vec<&str> = PRINTED.lines().filter(|line| reader.read(line)).collect();
        assert_eq!(reader.skipped, ["the design is not beside this checkout"]);
        assert_eq!(reader.passed, 13);
        assert!(shown.contains(&"the reason") && shown.contains(&"test b ... FAILED"));
        assert!(!shown.contains(&"test a ... ok") && !shown.contains(&"noise") && !shown.contains(&"    a"));
    }
}
