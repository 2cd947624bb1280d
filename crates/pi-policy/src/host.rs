//! Which host a URL leads to, and the patterns that name hosts.
//!
//! The reader of URLs is narrower than the standard on purpose: whatever two readers could understand differently
//! (user names, encoded or non-ASCII hosts, numbers that turn into addresses, backslashes) is refused.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// The host and port of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    name: HostName,
    port: u16,
    /// Whether the port is the one that the scheme implies.
    usual_port: bool,
}

/// A name in lower case without a dot at its end, or an address; a mapped IPv4 address is an IPv4 address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostName {
    Name(String),
    Address(IpAddr),
}

/// Why a text does not lead to a host that we would judge. The caller's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostFault {
    #[error("expected a URL that begins with http:// or https://")]
    Scheme,
    #[error("the URL contains a blank, a control character or a backslash")]
    Character,
    #[error("the URL contains a user name or a password")]
    UserInfo,
    #[error("the host name is not made of letters, digits, '-', '_' and single dots")]
    Name,
    #[error("the host looks like an address but is not written as one")]
    Address,
    #[error("the port is not a number between 1 and 65535")]
    Port,
    #[error("'*' may only stand for the labels before a domain, as in *.example.org")]
    Wildcard,
}

/// A pattern of a scope: a host, or everything below a domain, with what it says about ports.
#[derive(Debug, Clone)]
pub(crate) struct HostPattern {
    written: String,
    name: NamePattern,
    port: PortPattern,
}

#[derive(Debug, Clone)]
enum NamePattern {
    Exactly(HostName),
    /// Every name that ends in this, which begins with a dot.
    Below(String),
}

#[derive(Debug, Clone, Copy)]
enum PortPattern {
    Unsaid,
    Any,
    Exactly(u16),
}

impl Host {
    /// Finds the host of an absolute `http` or `https` URL.
    pub fn from_url(url: &str) -> Result<Self, HostFault> {
        let (scheme, rest) = url.split_once("://").ok_or(HostFault::Scheme)?;
        let usual = match scheme {
            _ if scheme.eq_ignore_ascii_case("https") => 443,
            _ if scheme.eq_ignore_ascii_case("http") => 80,
            _ => return Err(HostFault::Scheme),
        };
        if url.contains(|it: char| it.is_control() || it.is_whitespace() || it == '\\') {
            return Err(HostFault::Character);
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        if authority.contains('@') {
            return Err(HostFault::UserInfo);
        }
        let (name, port) = divide(authority)?;
        let port = match port {
            Some("") | None => usual,
            Some(digits) => number(digits)?,
        };
        Ok(Self { name: HostName::read(name)?, port, usual_port: port == usual })
    }

    pub fn name(&self) -> &HostName {
        &self.name
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether the host can only be meant as one of the public network. A public name may still lead to a private
    /// address: the executor asks [`crate::Grant::may_connect`] once it knows the address.
    pub fn is_public(&self) -> bool {
        match &self.name {
            HostName::Address(address) => is_public(*address),
            HostName::Name(name) => {
                let private = ["localhost", "local", "internal", "home.arpa", "lan", "intranet", "corp", "home"];
                name.contains('.') && !private.iter().any(|domain| name == domain || is_below(name, domain))
            }
        }
    }
}

/// Whether an address belongs to the public network: not loopback, private, link-local, shared, reserved or a
/// translation of such an address.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let special = matches!(
        (first, second, third),
        (0 | 10 | 127 | 224..=255, _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18..=19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Only 2000::/3 is handed out. Inside it: protocol use and Teredo, documentation, and 6to4, which hides an IPv4.
    let special = match first {
        0x2001 => second < 0x0200 || second == 0x0db8,
        0x2002 => true,
        0x3fff => second < 0x1000,
        _ => false,
    };
    first & 0xe000 == 0x2000 && !special
}

impl HostName {
    fn read(text: &str) -> Result<Self, HostFault> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(HostFault::Address)?;
            let address: Ipv6Addr = inner.parse().map_err(|_| HostFault::Address)?;
            return Ok(Self::Address(IpAddr::V6(address).to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let valid = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        if name.len() > 253 || !name.split('.').all(valid) {
            return Err(HostFault::Name);
        }
        let last = name.rsplit('.').next().unwrap_or(&name);
        // Browsers read 127.1, 2130706433 and 0x7f.0.0.1 as addresses; we want them written out.
        let hexadecimal = last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if hexadecimal || last.bytes().all(|byte| byte.is_ascii_digit()) {
            let address: Ipv4Addr = name.parse().map_err(|_| HostFault::Address)?;
            return Ok(Self::Address(IpAddr::V4(address)));
        }
        Ok(Self::Name(name))
    }
}

impl HostPattern {
    pub(crate) fn read(written: &str) -> Result<Self, HostFault> {
        let (name, port) = divide(written)?;
        let port = match port {
            None => PortPattern::Unsaid,
            Some("*") => PortPattern::Any,
            Some(digits) => PortPattern::Exactly(number(digits)?),
        };
        let name = match name.strip_prefix("*.") {
            Some(domain) => match HostName::read(domain)? {
                HostName::Name(domain) => NamePattern::Below(format!(".{domain}")),
                HostName::Address(_) => return Err(HostFault::Wildcard),
            },
            None if name.contains('*') => return Err(HostFault::Wildcard),
            None => NamePattern::Exactly(HostName::read(name)?),
        };
        Ok(Self { written: written.to_owned(), name, port })
    }

    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    /// Whether a grant with this pattern gives `host`: without a port it means the usual one.
    pub(crate) fn admits(&self, host: &Host) -> bool {
        self.names(host)
            && match self.port {
                PortPattern::Unsaid => host.usual_port,
                PortPattern::Any => true,
                PortPattern::Exactly(port) => host.port == port,
            }
    }

    /// Whether a deny with this pattern takes `host` away: without a port it means every port.
    pub(crate) fn touches(&self, host: &Host) -> bool {
        self.names(host)
            && match self.port {
                PortPattern::Unsaid | PortPattern::Any => true,
                PortPattern::Exactly(port) => host.port == port,
            }
    }

    fn names(&self, host: &Host) -> bool {
        match (&self.name, &host.name) {
            (NamePattern::Exactly(name), found) => name == found,
            (NamePattern::Below(suffix), HostName::Name(found)) => {
                found.len() > suffix.len() && found.ends_with(suffix.as_str())
            }
            (NamePattern::Below(_), HostName::Address(_)) => false,
        }
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// As a pattern that names exactly this host would be written.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.usual_port {
            true => write!(f, "{}", self.name),
            false => write!(f, "{}:{}", self.name, self.port),
        }
    }
}

fn is_below(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|head| head.ends_with('.'))
}

/// Divides `name:port`, where the name may be an address in brackets.
fn divide(authority: &str) -> Result<(&str, Option<&str>), HostFault> {
    let end = if authority.starts_with('[') { authority.find(']').ok_or(HostFault::Address)? + 1 } else { 0 };
    match authority[end..].split_once(':') {
        None if end == 0 || end == authority.len() => Ok((authority, None)),
        Some((between, port)) if end == 0 || between.is_empty() => Ok((&authority[..end + between.len()], Some(port))),
        None | Some(_) => Err(HostFault::Address),
    }
}

fn number(digits: &str) -> Result<u16, HostFault> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|port| plain && *port != 0).ok_or(HostFault::Port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: &str) {
        let found = match Host::from_url(url) {
            Ok(host) => format!("{host}{}", if host.is_public() { "" } else { " private" }),
            Err(fault) => format!("{fault:?}"),
        };
        assert_eq!(found, expected, "{url}");
    }

    #[test]
    fn hosts_are_read_in_one_way_only() {
        check("https://api.github.com/repos?x=1#y", "api.github.com");
        check("HTTPS://API.GITHUB.COM:443/", "api.github.com");
        check("https://api.github.com./", "api.github.com");
        check("https://api.github.com:", "api.github.com");
        check("http://api.github.com:443/", "api.github.com:443");
        check("https://api.github.com?@evil.org", "api.github.com");
        check("https://xn--mnchen-3ya.de", "xn--mnchen-3ya.de");
        check("https://api.github.com@evil.org/", "UserInfo");
        check("https://user:pw@api.github.com/", "UserInfo");
        check("https://api.github.com\\@evil.org/", "Character");
        check("https://api.github.com\t.evil.org/", "Character");
        check("https://münchen.de/", "Name");
        check("https://api%2egithub.com/", "Name");
        check("https://a..b/", "Name");
        check("https:///x", "Name");
        check("https://a.b..", "Name");
        check("file:///etc/passwd", "Scheme");
        check("//api.github.com", "Scheme");
        check("api.github.com", "Scheme");
        check("https://a.b:0/", "Port");
        check("https://a.b:70000/", "Port");
        check("https://a.b:+443/", "Port");
        check("https://a:1:2/", "Port");
    }

    #[test]
    fn addresses_are_recognised_in_disguise() {
        check("https://127.0.0.1:8080/", "127.0.0.1:8080 private");
        check("https://169.254.169.254/latest", "169.254.169.254 private");
        check("https://[::ffff:127.0.0.1]/", "127.0.0.1 private");
        check("https://[::ffff:8.8.8.8]/", "8.8.8.8");
        check("https://[::1]:99/", "[::1]:99 private");
        check("https://[2606:4700::1111]/", "[2606:4700::1111]");
        check("https://[64:ff9b::7f00:1]/", "[64:ff9b::7f00:1] private");
        check("https://[2002:7f00:1::]/", "[2002:7f00:1::] private");
        check("https://[fe80::1%25eth0]/", "Address");
        check("https://[::1/", "Address");
        check("https://[::1]x/", "Address");
        check("https://2130706433/", "Address");
        check("https://0x7f.0.0.1/", "Address");
        check("https://evil.0x7f/", "Address");
        check("https://127.1/", "Address");
        check("https://0177.0.0.1/", "Address");
        check("https://localhost/", "localhost private");
        check("https://metadata.google.internal/", "metadata.google.internal private");
        check("https://printer/", "printer private");
    }

    #[track_caller]
    fn check_pattern(pattern: &str, url: &str, expected: (bool, bool)) {
        let (pattern, host) = (HostPattern::read(pattern).expect("a pattern"), Host::from_url(url).expect("a URL"));
        assert_eq!((pattern.admits(&host), pattern.touches(&host)), expected, "{} {url}", pattern.written());
    }

    #[test]
    fn patterns_name_hosts_and_what_is_below_a_domain() {
        check_pattern("api.github.com", "https://API.GITHUB.COM:443", (true, true));
        check_pattern("API.GitHub.com.", "https://api.github.com", (true, true));
        check_pattern("api.github.com", "https://api.github.com:8443", (false, true));
        check_pattern("api.github.com:8443", "https://api.github.com:8443", (true, true));
        check_pattern("api.github.com:8443", "https://api.github.com", (false, false));
        check_pattern("api.github.com:*", "https://api.github.com:1", (true, true));
        check_pattern("*.github.com", "https://api.github.com", (true, true));
        check_pattern("*.github.com", "https://a.b.github.com", (true, true));
        check_pattern("*.github.com", "https://github.com", (false, false));
        check_pattern("*.github.com", "https://evilgithub.com", (false, false));
        check_pattern("*.github.com", "https://github.com.evil.org", (false, false));
        check_pattern("github.com", "https://github.com.evil.org", (false, false));
        check_pattern("127.0.0.1:80", "http://[::ffff:127.0.0.1]", (true, true));
        check_pattern("[::1]:9", "http://[0:0::1]:9", (true, true));
    }

    #[test]
    fn patterns_that_mean_too_much_are_refused() {
        for pattern in ["*", "*.", "a*.org", "*.*.org", "*.1.2.3.4", "a.*", "", "a b", "http://a.b", "[::1"] {
            assert!(HostPattern::read(pattern).is_err(), "{pattern}");
        }
    }
}
