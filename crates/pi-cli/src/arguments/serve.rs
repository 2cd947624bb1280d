//! The words of `pi serve`.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, builder::NonEmptyStringValueParser};

use pi_wire::command::Lifecycle;

use super::talk::{ModelArguments, ToldArguments};
use crate::log::{Form, Least};

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
    /// Where to listen [default: 127.0.0.1 and the port 3141, or that of PI_SERVER_PORT]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
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
    /// Another name by which clients reach the server; may be repeated
    #[arg(long = "host", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) hosts: Vec<String>,
    /// What is told on standard error at least
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "info")]
    pub(crate) log: Least,
    /// How it is told [default: text on a terminal, else json]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) log_format: Option<Form>,
    /// Say with what the server would start, and whether it could
    #[arg(long)]
    pub(crate) check_config: bool,
    #[command(flatten)]
    pub(crate) who: ModelArguments,
    #[command(flatten)]
    pub(crate) told: ToldArguments,
    /// The only tools that are offered, such as read,grep,find,ls
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "no_tools", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) tools: Vec<String>,
    /// Offer no tools
    #[arg(long)]
    pub(crate) no_tools: bool,
    /// Keep sessions below this folder instead of the agent directory
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
}
