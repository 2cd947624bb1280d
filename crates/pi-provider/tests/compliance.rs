//! Runs a folder of AI-Protocol's compliance cases through the functions that calls go through.
//!
//! The folder is `--dir DIR`, else the one that lies beside this checkout; without it there is nothing to run, which is
//! said loudly. Other words on the command line choose cases by a part of their id or suite. `--allow-unknown` lets kinds
//! pass that nobody here knows. Each kind has a function in `kind/` that asks the crate and answers in the words of the
//! format; `assertion` holds that against what the case expects. No kind computes an answer of its own.

#[path = "compliance/runner.rs"]
mod runner;

use std::{path::PathBuf, process::ExitCode};

use runner::Unknowns;

/// Where the data lies beside a checkout.
const BESIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/ai-protocol/tests/compliance");

/// What was asked for.
struct Arguments {
    folder: Option<PathBuf>,
    unknowns: Unknowns,
    wanted: Vec<String>,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a test program talks to whoever started it")]
fn main() -> ExitCode {
    let arguments = Arguments::read(std::env::args().skip(1));
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None if PathBuf::from(BESIDE).is_dir() => PathBuf::from(BESIDE),
        None => {
            eprintln!("SKIPPED: the compliance cases are not beside this checkout");
            return ExitCode::SUCCESS;
        }
    };
    match runner::run(&folder, &arguments.wanted) {
        Ok(report) => {
            println!("\n{}", report.render(arguments.unknowns));
            if report.is_good(arguments.unknowns) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    /// Options of the usual test programs are for those; their words choose tests, as ours do.
    fn read(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut read = Self { folder: None, unknowns: Unknowns::Refused, wanted: Vec::new() };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--dir" => read.folder = arguments.next().map(PathBuf::from),
                "--allow-unknown" => read.unknowns = Unknowns::Allowed,
                "--skip" | "--test-threads" | "--format" | "--color" => drop(arguments.next()),
                option if option.starts_with('-') => {}
                word => read.wanted.push(word.to_owned()),
            }
        }
        read
    }
}

/// Compiled only under the usual harness, which would run nothing and call that a success.
#[test]
fn there_must_be_no_harness() {
    panic!("Cargo.toml has lost `harness = false` of the test compliance");
}
