//! Every environment variable that `pi` looks at, read once.

use std::{ffi::OsString, path::PathBuf};

use pi_guests::discovery::Npm;
use pi_session::scrub;

use crate::{scratch::Scratch, stock::StockRoom};

/// Name and meaning of each variable, for `--help` and the documentation.
pub(crate) const VARIABLES: [(&str, &str); 13] = [
    ("NO_COLOR", "no colours, if not empty"),
    ("CLICOLOR_FORCE", "colours even where nobody looks, if neither empty nor 0"),
    ("TERM", "no colours and no progress, if dumb"),
    ("HOME", "what ~ means in paths that policy judges"),
    ("PI_CODING_AGENT_DIR", "the agent directory, if not ~/.pi/agent"),
    ("PI_EXTENSION_LOG_DIR", "the folder of the logs of extensions, if not logs/extensions in the agent directory"),
    ("NPM_CONFIG_PREFIX, PATH", "where the packages are that `npm install -g` installed"),
    ("PI_SERVER_PORT", "the port of `pi serve`, if not 3141"),
    ("PI_SERVER_<SETTING>", "a setting of the server, such as PI_SERVER_MAX_SESSIONS; `pi config server` lists them"),
    ("<PROVIDER>_API_KEY", "credential of a provider, unless its manifest names another variable"),
    ("HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY", "how providers are reached"),
    ("SSL_CERT_FILE, SSL_CERT_DIR, NODE_EXTRA_CA_CERTS", "certificates that providers may show"),
    ("OLLAMA_HOST and others that manifests name", "where servers on this machine listen"),
];

/// The value of a variable that a manifest names. Everything else is in [`Environment`].
pub(crate) fn lookup(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Every variable, for the processes that tools start and to know which values are secret.
pub(crate) fn all() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

/// What of the variables is secret.
pub(crate) fn secrets() -> Vec<String> {
    scrub::secrets(all().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))))
}

/// What the variables say.
#[derive(Clone)]
pub(crate) struct Environment {
    pub(crate) no_color: bool,
    pub(crate) force_color: bool,
    pub(crate) dumb_terminal: bool,
    pub(crate) home: Option<PathBuf>,
    pub(crate) agent_directory: Option<PathBuf>,
    /// Where the logs of extensions go, if somebody says so.
    pub(crate) extension_logs: Option<PathBuf>,
    /// What tells where npm installs for everything.
    pub(crate) npm: Npm,
    /// What is said about the server: every variable whose name begins with `PI_SERVER_`, unless it is empty.
    pub(crate) server: Vec<(String, String)>,
    /// Where guests keep what nobody needs afterwards.
    pub(crate) scratch: Scratch,
    /// What they share.
    pub(crate) stock: StockRoom,
}

impl Environment {
    pub(crate) fn read() -> Self {
        let filled = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        // Services that shall have no home are given one that is a file, such as /dev/null.
        let home = std::env::home_dir().filter(|home| home.is_absolute() && (home.is_dir() || !home.exists()));
        let chosen = filled("PI_CODING_AGENT_DIR").map(PathBuf::from);
        Environment {
            no_color: filled("NO_COLOR").is_some(),
            force_color: filled("CLICOLOR_FORCE").is_some_and(|value| value != "0"),
            dumb_terminal: filled("TERM").is_some_and(|value| value == "dumb"),
            agent_directory: chosen.or_else(|| home.as_ref().map(|home| home.join(".pi").join("agent"))),
            home,
            extension_logs: filled("PI_EXTENSION_LOG_DIR").map(PathBuf::from),
            npm: Npm {
                prefix: filled("NPM_CONFIG_PREFIX").or_else(|| filled("npm_config_prefix")).map(PathBuf::from),
                path: filled("PATH"),
                application_data: filled("APPDATA").map(PathBuf::from),
            },
            server: server(),
            scratch: Scratch::new(&std::env::temp_dir()),
            stock: StockRoom::default(),
        }
    }
}

/// In the order of their names, so that what is said about them has an order too.
fn server() -> Vec<(String, String)> {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let ours = all().map(|(name, value)| (text(name), text(value)));
    let mut ours: Vec<_> = ours.filter(|(name, value)| name.starts_with("PI_SERVER_") && !value.is_empty()).collect();
    ours.sort_unstable();
    ours
}
