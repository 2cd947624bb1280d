//! The words of `pi serve`.

use std::net::{IpAddr, SocketAddr};

use clap::{
    Args,
    builder::{NonEmptyStringValueParser, PossibleValuesParser},
};

use pi_server::settings::{LogForm, LogLevel};
use pi_wire::{ConnectionOptions, command::Lifecycle};

use super::talk::{ExtensionArguments, KeptArguments, ModelArguments, ToldArguments, ToolArguments};

const USUAL_PORT: u16 = 3141;

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
    #[arg(long, value_name = "NAME", requires = "stdio", value_parser = client_id)]
    pub(crate) client_id: Option<String>,
    /// Whose lifecycle events the client on standard input is sent
    #[arg(long, value_enum, value_name = "WHOSE", requires = "stdio", default_value = "all")]
    pub(crate) lifecycle: Whose,
    /// Let in whoever reaches the server, without a token; only on loopback
    #[arg(long)]
    pub(crate) insecure_no_auth: bool,
    /// Open the page in your browser, logged in
    #[arg(long, conflicts_with_all = ["check_config", "ticket"])]
    pub(crate) open: bool,
    /// Say with what the server would start and who said so, and whether it could
    #[arg(long)]
    pub(crate) check_config: bool,
    /// Print an address that lets a browser in once, for your server that runs already
    #[arg(long, conflicts_with_all = ["stdio", "check_config"])]
    pub(crate) ticket: bool,
    /// With --check-config: one object per setting as `pi config --json` has it, and one per check: {check, value}
    #[arg(long, requires = "check_config")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) who: ModelArguments,
    #[command(flatten)]
    pub(crate) told: ToldArguments,
    #[command(flatten)]
    pub(crate) offered: ToolArguments,
    #[command(flatten)]
    pub(crate) extensions: ExtensionArguments,
    #[command(flatten)]
    pub(crate) kept: KeptArguments,
}

/// What is said about the server's settings; it counts more than variables and the settings file.
#[derive(Args, Default)]
pub(crate) struct SettingArguments {
    /// Where to listen [default: 127.0.0.1 and the port 3141, or that of PI_SERVER_PORT]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
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

/// An address with a port; one that is not quite is told as it should be.
fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    text.parse().map_err(|_| {
        let bare = ["http://", "https://", "ws://", "wss://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let bare = bare.unwrap_or(text).split('/').next().unwrap_or_default();
        let port = bare.strip_prefix("localhost:").or_else(|| bare.strip_prefix(':')).unwrap_or(bare);
        let host = bare.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(bare);
        let meant = match (port.parse::<u16>(), host.parse::<IpAddr>(), bare.parse::<SocketAddr>()) {
            (Ok(port), _, _) => Some(SocketAddr::from(([127, 0, 0, 1], port))),
            (_, Ok(address), _) => Some(SocketAddr::new(address, USUAL_PORT)),
            (_, _, Ok(at)) => Some(at),
            _ if bare == "localhost" => Some(SocketAddr::from(([127, 0, 0, 1], USUAL_PORT))),
            _ => None,
        };
        match meant {
            Some(at) => format!("expected an address with a port; did you mean {at}?"),
            None => "expected an address with a port: 127.0.0.1:3141 for this machine, 127.0.0.1:0 for any free port, \
                     0.0.0.0:3141 for other machines too"
                .to_owned(),
        }
    })
}

/// The name without `server.`, which may be left out, and the value.
fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as server.maxSessions=10")?;
    let name = name.trim();
    Ok((name.strip_prefix("server.").unwrap_or(name).to_owned(), value.to_owned()))
}

/// By the rule for clients of all transports: their names become names of files.
fn client_id(text: &str) -> Result<String, String> {
    match ConnectionOptions::from_pairs([("clientId", text)]) {
        Ok(_) => Ok(text.to_owned()),
        Err(faults) => Err(faults.first().map_or_else(String::new, |fault| fault.fault.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_that_is_not_quite_one_is_told_as_it_should_be() {
        assert_eq!(address("127.0.0.1:0"), Ok(SocketAddr::from(([127, 0, 0, 1], 0))));
        for (text, meant) in [
            ("8080", "127.0.0.1:8080"),
            (":8080", "127.0.0.1:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("localhost", "127.0.0.1:3141"),
            ("0.0.0.0", "0.0.0.0:3141"),
            ("::1", "[::1]:3141"),
            ("http://192.0.2.1:80/", "192.0.2.1:80"),
        ] {
            let told = format!("expected an address with a port; did you mean {meant}?");
            assert_eq!(address(text), Err(told), "{text}");
        }
        assert!(address("box.example:80").is_err_and(|told| told.contains("127.0.0.1:0 for any free port")));
    }
}
