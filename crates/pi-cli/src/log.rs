//! What goes on inside, told on standard error: one line for each event, for people or for machines.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Write},
    sync::{Arc, Mutex},
};

use pi_redact::Redactor;
use pi_server::settings::{LogForm, LogLevel};
use tracing::{Level, subscriber};
use tracing_subscriber::{
    Registry,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
};

/// What our own crates begin with.
const OWN: &str = "pi";
/// What others tell beyond that is about their inside.
const FOREIGN: LevelFilter = LevelFilter::INFO;

/// How lines look where somebody looks, or nobody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

impl Form {
    pub(crate) fn of(form: LogForm) -> Self {
        match form {
            LogForm::Auto if io::stderr().is_terminal() => Self::Text,
            LogForm::Text => Self::Text,
            LogForm::Auto | LogForm::Json => Self::Json,
        }
    }
}

const fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::from_level(Level::ERROR),
        LogLevel::Warn => LevelFilter::from_level(Level::WARN),
        LogLevel::Info => LevelFilter::from_level(Level::INFO),
        LogLevel::Debug => LevelFilter::from_level(Level::DEBUG),
        LogLevel::Trace => LevelFilter::from_level(Level::TRACE),
    }
}

/// The library that speaks to MCP servers tells what they say, which is not for this log: theirs is the ledger.
const CHATTY: (&str, LevelFilter) = ("rmcp", LevelFilter::WARN);

/// From here on events are told. What looks like a secret, or is one, is not.
pub(crate) fn start(level: LogLevel, form: Form, redactor: Arc<Redactor>) -> io::Result<()> {
    let writer = Mutex::new(Discreet { to: standard_error()?, redactor });
    let level = filter(level);
    let (chatty, most) = CHATTY;
    let wanted = Targets::new().with_target(OWN, level).with_target(chatty, level.min(most));
    let wanted = wanted.with_default(level.min(FOREIGN));
    let lines = fmt::layer().with_writer(writer).with_ansi(false);
    let set = match form {
        Form::Text => subscriber::set_global_default(Registry::default().with(wanted).with(lines.compact())),
        Form::Json => {
            let lines = lines.json().flatten_event(true);
            subscriber::set_global_default(Registry::default().with(wanted).with(lines))
        }
    };
    set.map_err(io::Error::other)
}

/// Standard error once more: the console holds the lock of the usual one for its whole life.
#[cfg(unix)]
fn standard_error() -> io::Result<File> {
    use std::os::fd::AsFd as _;
    Ok(File::from(io::stderr().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn standard_error() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;
    Ok(File::from(io::stderr().as_handle().try_clone_to_owned()?))
}

/// Writes without secrets. A line comes as a whole.
struct Discreet<W> {
    to: W,
    redactor: Arc<Redactor>,
}

impl<W: Write> Write for Discreet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.to.write_all(self.redactor.redact_text(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use pi_redact::{Evidence, Options, Personal};

    use super::*;

    #[test]
    fn a_secret_of_the_environment_is_not_in_a_line() {
        let options = Options {
            secrets: vec!["hunter2hunter2".to_owned()],
            evidence: Evidence::Shapes,
            personal: Personal::Keep,
        };
        let mut writer = Discreet { to: Vec::new(), redactor: Arc::new(Redactor::new(options)) };
        writer.write_all(b"error=the key hunter2hunter2 is refused\n").unwrap();
        let text = String::from_utf8(writer.to).unwrap();
        assert!(text.starts_with("error=the key ") && !text.contains("hunter2"), "{text}");
    }
}
