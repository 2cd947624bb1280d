//! What is shown instead of carrying out a command: help, the version, or why the arguments are refused.

use std::{
    ffi::OsString,
    io::{self, IsTerminal, Write},
};

use crate::{
    arguments::When,
    complaint::Complaint,
    console::{self, Reader},
    env::Environment,
    exit::Exit,
    failure::Failure,
};

/// What clap has to say. The arguments are not known then, so those that decide how it is shown are looked for by hand.
pub(crate) struct Answer {
    error: clap::Error,
    when: When,
    reader: Reader,
}

impl Answer {
    pub(crate) fn new(error: clap::Error, arguments: &[OsString]) -> Self {
        Answer { error, when: wanted_colours(arguments), reader: wanted_reader(arguments) }
    }

    /// Shows it; help and version are no failures.
    pub(crate) fn print(&self, environment: &Environment) -> Exit {
        let written = if self.error.use_stderr() {
            if self.reader == Reader::Machine {
                let complaint = Complaint::about_arguments(&self.error.render().to_string());
                // Standard error says the same, and the code says that there is no answer.
                let _ = writeln!(io::stdout(), "{}", complaint.line());
            }
            let stream = io::stderr();
            write!(stream.lock(), "{}", self.text(environment, stream.is_terminal()))
        } else {
            let stream = io::stdout();
            write!(stream.lock(), "{}", self.text(environment, stream.is_terminal()))
        };
        match written {
            Err(error) if !self.error.use_stderr() && error.kind() != io::ErrorKind::BrokenPipe => {
                console::report_lost_output(&Failure::Unwritable(error))
            }
            // If nobody reads it there is nothing else to do.
            _ if self.error.exit_code() == 0 => Exit::Success,
            _ => Exit::Trouble,
        }
    }

    /// By the same rule as everything else that is shown, applied to the stream on which it appears.
    fn text(&self, environment: &Environment, is_terminal: bool) -> String {
        let text = self.error.render();
        if console::colours(environment, self.when, is_terminal) { text.ansi().to_string() } else { text.to_string() }
    }
}

fn wanted_colours(arguments: &[OsString]) -> When {
    let words: Vec<_> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let named = words.iter().find_map(|word| word.strip_prefix("--color="));
    let value = named.or_else(|| words.windows(2).find(|pair| pair[0] == "--color").map(|pair| pair[1]));
    match value {
        Some("always") => When::Always,
        Some("never") => When::Never,
        Some(_) | None => When::Auto,
    }
}

/// Whoever wrote `--json` or `--mode json` reads JSON even if the other arguments are wrong.
pub(crate) fn wanted_reader(arguments: &[OsString]) -> Reader {
    let mut words = arguments.iter().take_while(|word| *word != "--");
    let mut before = None;
    let asks = words.any(|word| {
        let is_mode = word == "--mode=json" || (before == Some("--mode") && word == "json");
        before = word.to_str();
        is_mode || word == "--json"
    });
    if asks { Reader::Machine } else { Reader::Person }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn stream_of_an_answer_decides_about_its_colours() {
        let environment = Environment {
            no_color: false,
            force_color: false,
            dumb_terminal: false,
            home: None,
            npm: pi_guests::discovery::Npm::default(),
            agent_directory: None,
            extension_logs: None,
            server: Vec::new(),
            scratch: crate::scratch::Scratch::new(&std::env::temp_dir()),
            stock: crate::stock::StockRoom::default(),
        };
        for (line, on_stderr, on_terminal, elsewhere) in [
            ("pi envelop", true, true, false),
            ("pi --help", false, true, false),
            ("pi --help --color=never", false, false, false),
            ("pi --color always envelop", true, true, true),
        ] {
            let Err(answer) = Arguments::read(line.split(' ').map(OsString::from)) else {
                panic!("{line} is carried out")
            };
            let coloured = |is_terminal| answer.text(&environment, is_terminal).contains('\u{1b}');
            assert_eq!(
                (answer.error.use_stderr(), coloured(true), coloured(false)),
                (on_stderr, on_terminal, elsewhere),
                "{line}"
            );
        }
    }
}
