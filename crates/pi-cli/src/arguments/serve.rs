//! The words of `pi serve`.

use std::net::SocketAddr;

use clap::{
    Args,
    builder::{NonEmptyStringValueParser, PossibleValuesParser},
};

use pi_server::settings::{LogForm, LogLevel};
use pi_wire::command::Lifecycle;

use super::talk::{KeptArguments, ModelArguments, ToldArguments, ToolArguments};

/// Whose lifecycle events are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Whose {
    All,
    Own,
    None,
}

impl From<Whose> for Lifecycle {
    fn from(whose: Whose) -> Self {
        match whose {
            Whose::All => Self::All,
            Whose::Own => Self::Own,
            Whose::None => Self::None,
        }
    }
}

#[derive(Args)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
    /// Speak with one client through standard input and output; listens only if --listen is given too
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Who the client on standard input is, across starts of the server [default: somebody new each time]
    #[arg(long, value_name = "NAME", requires = "stdio", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) client_id: Option<String>,
    /// Whose lifecycle events the client on standard input is sent
    #[arg(long, value_enum, value_name = "WHOSE", requires = "stdio", default_value = "all")]
    pub(crate) lifecycle: Whose,
    /// Let in whoever reaches the server, without a token; only on loopback
    #[arg(long)]
    pub(crate) insecure_no_auth: bool,
    /// Say with what the server would start and who said so, and whether it could
    #[arg(long)]
    pub(crate) check_config: bool,
    #[command(flatten)]
    pub(crate) who: ModelArguments,
    #[command(flatten)]
    pub(crate) told: ToldArguments,
    #[command(flatten)]
    pub(crate) offered: ToolArguments,
    #[command(flatten)]
    pub(crate) kept: KeptArguments,
}

/// What is said about the server's settings; it counts more than variables and the settings file.
#[derive(Args)]
pub(crate) struct SettingArguments {
    /// Where to listen [default: 127.0.0.1 and the port 3141, or that of PI_SERVER_PORT]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Another name by which clients reach the server; may be repeated
    #[arg(long = "host", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) hosts: Vec<String>,
    /// A folder below which clients may let an agent work, instead of this one and your home; may be repeated
    #[arg(long = "root", value_name = "DIR", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) roots: Vec<String>,
    /// What is told on standard error at least [default: info]
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(LogLevel::WORDS.map(|(word, _)| word)))]
    pub(crate) log: Option<String>,
    /// How it is told; auto is text on a terminal, else json [default: auto]
    #[arg(long, value_name = "FORM", value_parser = PossibleValuesParser::new(LogForm::WORDS.map(|(word, _)| word)))]
    pub(crate) log_format: Option<String>,
    /// Another setting of the server, such as server.maxSessions=10; may be repeated, and `pi config server` lists them
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,
}

/// The name without `server.`, which may be left out, and the value.
fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as server.maxSessions=10")?;
    let name = name.trim();
    Ok((name.strip_prefix("server.").unwrap_or(name).to_owned(), value.to_owned()))
}
