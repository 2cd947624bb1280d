//! By which names the server is known, so that no other site can speak to it through a browser of ours.
//!
//! Such a site lets its own name lead to this machine, and its page then speaks to us under that name. An address in
//! numbers and `localhost` cannot be made to lead elsewhere, so they are good with any port: a forwarded one is another
//! than ours. Any other name must be one that we were told.

use std::net::{IpAddr, SocketAddr};

/// Names, some with a port, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(Vec<String>);

impl Hosts {
    /// Of a server that listens at `at`; `more` are names under which others reach it, a proxy in front for example. One
    /// without a port is good with any.
    pub fn of(at: SocketAddr, more: impl IntoIterator<Item = String>) -> Self {
        let names = std::iter::once(at.to_string()).chain(more);
        Self(names.map(|name| name.to_ascii_lowercase()).collect())
    }

    /// Whether a request that was sent to `host` was meant for us.
    pub fn allow(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let name = name(&host);
        name == "localhost" || is_address(name) || self.0.iter().any(|known| *known == host || *known == name)
    }

    /// Whether `origin` is a page of ours: it came from the very place that it speaks to, or from another of our names.
    pub fn allow_origin(&self, origin: &str, host: &str) -> bool {
        let Some((scheme, from)) = origin.split_once("://") else { return false };
        let implied = match scheme {
            "http" => "80",
            "https" => "443",
            _ => return false,
        };
        let of = |host| port(host).unwrap_or(implied).to_owned();
        // Browsers leave out the port that their scheme implies.
        of(from) == of(host) && self.allow(from)
    }
}

/// A host without its port.
fn name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    }
}

/// The port of a host, if it has one.
pub(super) fn port(host: &str) -> Option<&str> {
    host[name(host).len()..].strip_prefix(':')
}

fn is_address(name: &str) -> bool {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Hosts {
        Hosts::of(SocketAddr::from(([127, 0, 0, 1], 3141)), ["Box.example".to_owned(), "proxy.example:8443".to_owned()])
    }

    #[test]
    fn only_names_that_lead_nowhere_else_are_ours() {
        for (host, expected) in [
            ("127.0.0.1:3141", true),
            ("127.0.0.1:3200", true),
            ("192.0.2.2:3141", true),
            ("[::1]:3141", true),
            ("LOCALHOST:3141", true),
            ("box.example", true),
            ("box.example:3141", true),
            ("proxy.example:8443", true),
            ("proxy.example:3141", false),
            ("evil.example:3141", false),
            ("127.0.0.1.evil.example:3141", false),
            ("localhost.evil.example", false),
            ("", false),
        ] {
            assert_eq!(hosts().allow(host), expected, "{host}");
        }
    }

    #[test]
    fn page_speaks_to_the_port_that_it_came_from() {
        for (origin, host, expected) in [
            ("http://127.0.0.1:3141", "127.0.0.1:3141", true),
            ("http://localhost:3141", "127.0.0.1:3141", true),
            ("http://127.0.0.1:3200", "127.0.0.1:3200", true),
            ("https://box.example", "box.example", true),
            ("https://box.example", "box.example:443", true),
            ("http://127.0.0.1:8080", "127.0.0.1:3141", false),
            ("http://evil.example:3141", "127.0.0.1:3141", false),
            ("file://", "127.0.0.1:3141", false),
            ("null", "127.0.0.1:3141", false),
        ] {
            assert_eq!(hosts().allow_origin(origin, host), expected, "{origin} {host}");
        }
    }
}
