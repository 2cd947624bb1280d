//! `pi provider`: check manifests of providers.

mod promote;
mod validate;

use crate::{arguments::model::ProviderCommand, console::Console, exit::Exit, failure::Failure};

pub(crate) fn run(command: &ProviderCommand, console: &mut Console) -> Result<Exit, Failure> {
    match command {
        ProviderCommand::Validate(arguments) => validate::run(arguments, console),
        ProviderCommand::Promote(arguments) => promote::run(arguments, console),
    }
}
