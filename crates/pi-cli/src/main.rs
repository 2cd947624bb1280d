//! The binary `pi`: arguments, configuration, wiring, printing.
//!
//! It does nothing by itself: every operation is a function that returns data, in the crate that owns the noun. Here
//! are the words a person types ([`arguments`]), the files they name ([`input`]), what is shown to them ([`console`]) and
//! the number that a script gets ([`exit`]). Each command is one file in [`command`]; start with that which you look for.

mod amount;
mod answer;
mod arguments;
mod asking;
mod browser;
mod choice;
mod command;
mod compiling;
mod complaint;
mod console;
mod env;
mod exit;
mod failure;
mod input;
mod log;
mod providers;
mod refusal;
mod runtime;
mod scratch;
mod servers;
mod stock;
mod table;
mod trust;
mod verdict;
mod workshop;

use std::process::ExitCode;

use self::{arguments::Arguments, console::Console, env::Environment, exit::Exit};

fn main() -> ExitCode {
    let environment = Environment::read();
    let arguments = match Arguments::read(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(answer) => return answer.print(&environment).into(),
    };
    let mut console = Console::new(&environment, arguments.color, arguments.reader());
    let outcome = command::run(&arguments, &environment, &mut console);
    let exit = outcome.unwrap_or_else(|failure| console.fail(&failure));
    console.close().map_or_else(|failure| console::report_lost_output(&failure), |()| exit).into()
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
