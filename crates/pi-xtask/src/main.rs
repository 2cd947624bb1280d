//! The tasks of this repository: `cargo xtask test | tidy | codegen | compliance | conformance | verdicts | fuzz | bench`.
//!
//! It starts cargo, the binary `pi` and test programs and reads what they say. It links none of our crates, so a broken
//! crate never keeps its own checks from running; and it holds no logic of the product.
//! Start with [`test::run`], the list of everything that must pass; `process` is the one place where programs start,
//! `files` the one place where files are touched, `console` the one that prints.

mod bench;
mod cargo;
mod codegen;
mod compliance;
mod conformance;
mod console;
mod files;
mod fuzz;
mod install;
mod metadata;
mod page;
mod peers;
mod portable;
mod process;
mod report;
mod sdk;
mod shims;
mod test;
mod tidy;
mod typescript;
mod verdict;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "The tasks of this repository",
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what is missing, then run everything that must pass; this is what CI runs
    Test(test::Arguments),
    /// Check the rules of the workspace: edges between crates, manifests, docs, paths; list what is large
    Tidy,
    /// Write the files that the binary can print: schemas, TypeScript, WIT
    Codegen(codegen::Arguments),
    /// Run AI-Protocol's compliance cases, those beside the checkout or any folder of their layout
    Compliance(compliance::Arguments),
    /// Compare extensions of others with the real Pi: capture what they do there, replay it here
    Conformance(conformance::Arguments),
    /// Run the tests that the tables of the server's conformance and faults name, and write their verdicts
    Verdicts,
    /// Feed the parsers with generated input, guided by coverage
    Fuzz(fuzz::Arguments),
    /// Measure in a release build, beside a peer or a limit in the same run
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Test(arguments) => test::run(&arguments),
        Task::Tidy => tidy::run(),
        Task::Codegen(arguments) => codegen::run(&arguments),
        Task::Compliance(arguments) => compliance::run(&arguments),
        Task::Conformance(arguments) => conformance::run(&arguments),
        Task::Verdicts => verdict::run(),
        Task::Fuzz(arguments) => fuzz::run(&arguments),
        Task::Bench(arguments) => bench::run(&arguments),
    };
    exit_code(done)
}

fn exit_code(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
