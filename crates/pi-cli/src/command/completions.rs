//! `pi completions`: a script that lets a shell complete the words of `pi`.

use crate::{
    arguments::{self, CompletionsArguments},
    console::Console,
    exit::Exit,
};

pub(crate) fn run(arguments: &CompletionsArguments, console: &mut Console) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut arguments::described(), "pi", &mut script);
    console.line(String::from_utf8_lossy(&script).trim_end());
    Exit::Success
}
