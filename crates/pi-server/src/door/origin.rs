//! By which names the server is known, so that no other site can speak to it through a browser of ours.
//!
//! Such a site lets its own name lead to this machine, and its page then speaks to us under that name. An address in
//! numbers and `localhost` cannot be made to lead elsewhere, so they are good with any port: a forwarded one is another
//! than ours. Any other name must be one that we were told.

use std::net::IpAddr;

/// Names that we were told, some with a port, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(Vec<String>);

impl Hosts {
    /// Names under which others reach the server, a proxy in front for example. One without a port is good with any.
    pub fn of(told: impl IntoIterator<Item = String>) -> Self {
        Self(told.into_iter().map(|name| name.to_ascii_lowercase()).collect())
    }

    /// Whether a request that was sent to `host` was meant for us.
    pub fn allow(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let name = name(&host);
        name == "localhost" || address(name).is_some() || self.0.iter().any(|known| *known == host || *known == name)
    }

    /// Whether `origin` is a page of ours: it came from the very place that it speaks to, from this machine to this machine, or
    /// from a name that we were told. That its address is in numbers says nothing: anybody's page can have one.
    pub fn allow_origin(&self, origin: &str, host: &str) -> bool {
        let Some((scheme, from)) = origin.split_once("://") else { return false };
        let implied = match scheme {
            "http" => "80",
            "https" => "443",
            _ => return false,
        };
        // Browsers leave out the port that their scheme implies.
        let place = |host: &str| {
            let host = host.to_ascii_lowercase();
            (name(&host).to_owned(), port(&host).unwrap_or(implied).to_owned())
        };
        let (from, to) = (place(from), place(host));
        let is_told = |known: &String| match port(known) {
            Some(port) => name(known) == from.0 && port == from.1,
            None => *known == from.0 && from.1 == to.1,
        };
        from == to || (from.1 == to.1 && is_loopback(&from.0) && is_loopback(&to.0)) || self.0.iter().any(is_told)
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

fn address(name: &str) -> Option<IpAddr> {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    bare.parse().ok()
}

/// Whether a name leads to the machine on which it is used.
fn is_loopback(name: &str) -> bool {
    name == "localhost" || address(name).is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Hosts {
        Hosts::of(["Box.example".to_owned(), "proxy.example:8443".to_owned()])
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
            ("http://[::1]:3141", "localhost:3141", true),
            ("http://192.0.2.2:3141", "192.0.2.2:3141", true),
            ("https://proxy.example:8443", "127.0.0.1:3141", true),
            ("http://box.example:3141", "127.0.0.1:3141", true),
            ("http://box.example:8080", "127.0.0.1:3141", false),
            ("http://203.0.113.9:3141", "127.0.0.1:3141", false),
            ("http://203.0.113.9:3141", "192.0.2.2:3141", false),
            ("http://[2001:db8::9]:3141", "localhost:3141", false),
            ("http://127.0.0.1:3141", "192.0.2.2:3141", false),
            ("http://127.0.0.1:8080", "127.0.0.1:3141", false),
            ("http://evil.example:3141", "127.0.0.1:3141", false),
            ("file://", "127.0.0.1:3141", false),
            ("null", "127.0.0.1:3141", false),
        ] {
            assert_eq!(hosts().allow_origin(origin, host), expected, "{origin} {host}");
        }
    }
}
