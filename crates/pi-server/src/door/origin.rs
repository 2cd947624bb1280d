//! By which names the server is known, so that no other site can speak to it through a browser of ours.

use std::net::SocketAddr;

/// Names with their port, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(Vec<String>);

impl Hosts {
    /// Of a server that listens at `at`; `more` are names under which others reach it, a proxy in front for example.
    pub fn of(at: SocketAddr, more: impl IntoIterator<Item = String>) -> Self {
        let port = at.port();
        let ours = if at.ip().is_loopback() || at.ip().is_unspecified() {
            vec![format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")]
        } else {
            vec![at.to_string()]
        };
        Self(ours.into_iter().chain(more.into_iter().map(|name| name.to_ascii_lowercase())).collect())
    }

    pub fn allow(&self, host: &str) -> bool {
        self.0.iter().any(|known| known.eq_ignore_ascii_case(host) || is_default(known, host))
    }

    /// A page of ours, under any of our names.
    pub fn allow_origin(&self, origin: &str) -> bool {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| self.allow(host))
    }
}

/// Browsers leave out the port that their scheme implies.
fn is_default(known: &str, host: &str) -> bool {
    let bare = known.strip_suffix(":80").or_else(|| known.strip_suffix(":443"));
    bare.is_some_and(|bare| bare.eq_ignore_ascii_case(host))
}
