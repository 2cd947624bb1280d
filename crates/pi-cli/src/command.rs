//! The commands: one file each, with what it asks of the other crates and how the answer is shown.

pub(crate) mod ask;
mod completions;
mod config;
mod context;
mod diff;
mod explain;
mod export;
pub(crate) mod ext;
mod journal;
pub(crate) mod mcp;
mod models;
mod provider;
pub(crate) mod schema;
mod serve;
mod session;
pub(crate) mod sessions;
mod stats;
pub(crate) mod talk;
mod trust;
mod validate;
mod view;

use crate::{
    arguments::{Arguments, Command, EnvelopeCommand, ExtMessageCommand, PolicyCommand},
    console::Console,
    env::Environment,
    exit::Exit,
    failure::Failure,
};

pub(crate) fn run(arguments: &Arguments, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    let Some(command) = &arguments.command else { return talk::run(&arguments.talk, environment, console) };
    match command {
        Command::Models(arguments) => models::run(arguments, environment, console),
        Command::Provider(command) => provider::run(command, environment, console),
        Command::Ask(arguments) => ask::run(arguments, environment, console),
        Command::Sessions(arguments) => sessions::run(arguments, environment, console),
        Command::Session(command) => session::run(command, environment, console),
        Command::Export(arguments) => export::run(arguments, environment, console),
        Command::Context(arguments) => context::run(arguments, environment, console),
        Command::Schema(arguments) => schema::run(arguments, console),
        Command::Envelope(EnvelopeCommand::Validate(arguments)) => {
            validate::run(arguments, &validate::ENVELOPES, console)
        }
        Command::Envelope(EnvelopeCommand::Diff(arguments)) => diff::run(arguments, console),
        Command::Envelope(EnvelopeCommand::Stats(arguments)) => stats::run(arguments, console),
        Command::Envelope(EnvelopeCommand::View(arguments)) => view::run(arguments, console),
        Command::ExtMessage(ExtMessageCommand::Validate(arguments)) => {
            validate::run(arguments, &validate::EXTENSION_MESSAGES, console)
        }
        Command::Policy(PolicyCommand::Explain(arguments)) => explain::run(arguments, environment, console),
        Command::Trust(arguments) => trust::run(arguments, environment, console),
        Command::Completions(arguments) => Ok(completions::run(arguments, console)),
        Command::Serve(arguments) => serve::run(arguments, environment, console),
        Command::Config(arguments) => config::run(arguments, environment, console),
        Command::Journal(command) => journal::run(command, environment, console),
        Command::Ext(command) => ext::run(command, environment, console),
        Command::Mcp(command) => mcp::run(command, environment, console),
    }
}
