//! `pi provider`: look at providers, check their manifests, and try them.

mod call;
mod list;
mod new;
mod promote;
mod show;
mod test;
mod validate;

use crate::{arguments::model::ProviderCommand, console::Console, env::Environment, exit::Exit, failure::Failure};

pub(crate) fn run(
    command: &ProviderCommand,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    match command {
        ProviderCommand::List(arguments) => list::run(arguments, environment, console),
        ProviderCommand::Show(arguments) => show::run(arguments, environment, console),
        ProviderCommand::Validate(arguments) => validate::run(arguments, console),
        ProviderCommand::New(arguments) => new::run(arguments, console),
        ProviderCommand::Promote(arguments) => promote::run(arguments, console),
        ProviderCommand::Call(command) => call::run(command, environment, console),
        ProviderCommand::Test(arguments) => test::run(arguments, environment, console),
    }
}
