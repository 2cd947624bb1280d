//! `pi ext`: extensions, from an empty folder to one that runs. One file a command.

mod allow;
mod build;
mod cache;
mod deny;
mod fire;
mod forget;
mod grants;
mod inspect;
mod ledger;
mod list;
pub(crate) mod meant;
mod new;
mod place;
pub(crate) mod project_trust;
mod rehearsal;
mod rehearse;
mod run_command;
mod run_tool;
mod scan;
mod sdk;
mod sign;
mod switch;
mod trial;
mod verify;

use pi_session::Switch;

use crate::{arguments::ext::ExtCommand, console::Console, env::Environment, exit::Exit, failure::Failure};

pub(crate) fn run(command: &ExtCommand, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    match command {
        ExtCommand::Build(arguments) => build::run(arguments, environment, console),
        ExtCommand::Scan(arguments) => scan::run(arguments, environment, console),
        ExtCommand::Cache(command) => cache::run(command, environment, console),
        ExtCommand::Sign(arguments) => sign::run(arguments, environment, console),
        ExtCommand::Verify(arguments) => verify::run(arguments, environment, console),
        ExtCommand::New(arguments) => new::run(arguments, environment, console),
        ExtCommand::Sdk(arguments) => sdk::run(arguments, console),
        ExtCommand::Inspect(arguments) => inspect::run(arguments, environment, console),
        ExtCommand::RunTool(arguments) => run_tool::run(arguments, environment, console),
        ExtCommand::RunCommand(arguments) => run_command::run(arguments, environment, console),
        ExtCommand::Fire(arguments) => fire::run(arguments, environment, console),
        ExtCommand::Rehearse(arguments) => rehearse::run(arguments, environment, console),
        ExtCommand::List(arguments) => list::run(arguments, environment, console),
        ExtCommand::Allow(arguments) => allow::run(arguments, environment, console),
        ExtCommand::Deny(arguments) => deny::run(arguments, environment, console),
        ExtCommand::Forget(arguments) => forget::run(arguments, environment, console),
        ExtCommand::Enable(arguments) => switch::run(arguments, Switch::On, environment, console),
        ExtCommand::Disable(arguments) => switch::run(arguments, Switch::Off, environment, console),
        ExtCommand::Grants(_) => grants::run(environment, console),
        ExtCommand::Ledger(command) => ledger::run(command, environment, console),
    }
}
