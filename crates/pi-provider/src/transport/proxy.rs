//! Proxies, as the environment names them.

use std::{fmt, net::IpAddr};

use reqwest::{ClientBuilder, NoProxy, Proxy};
use url::{Host, Url};

use super::TransportError;
use crate::credential::Lookup;

/// A server on this machine is never reached through a proxy, as with Go's and most other clients.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// The ways in which a proxy can be spoken to. With `socks5h` and `socks4a` the proxy looks names up, else this machine.
const SCHEMES: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];

type Make = fn(&str) -> reqwest::Result<Proxy>;

/// Which proxy serves which kind of address. Does not print what may hold a password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    pub http: Option<String>,
    pub https: Option<String>,
    /// For whatever the other two do not name.
    pub all: Option<String>,
    /// Hosts that are reached directly, separated by commas.
    pub except: Option<String>,
}

impl Proxies {
    /// Lower case wins, as with curl. `HTTP_PROXY` is ignored where a web server may have set it from a header.
    pub fn from_environment(environment: Lookup<'_>) -> Self {
        let read = |name: &str| environment(name).map(|value| value.trim().to_owned()).filter(|it| !it.is_empty());
        let either = |lower: &str, upper: &str| read(lower).or_else(|| read(upper));
        let is_cgi = environment("REQUEST_METHOD").is_some();
        Self {
            http: read("http_proxy").or_else(|| if is_cgi { None } else { read("HTTP_PROXY") }),
            https: either("https_proxy", "HTTPS_PROXY"),
            all: either("all_proxy", "ALL_PROXY"),
            except: either("no_proxy", "NO_PROXY"),
        }
    }

    /// The proxy that leads to this address, as it was written; nothing if none does.
    pub fn leading_to(&self, url: &Url) -> Option<&str> {
        let own = match url.scheme() {
            "http" | "ws" => &self.http,
            _ => &self.https,
        };
        own.as_deref().or(self.all.as_deref()).filter(|_| !self.excepts(url))
    }

    /// Whether a proxy leads to this address. The library decides by itself in the same way; this is for telling whose
    /// fault it is when nothing answers.
    pub(super) fn lead_to(&self, url: &Url) -> bool {
        self.leading_to(url).is_some()
    }

    fn excepts(&self, url: &Url) -> bool {
        let except = self.exceptions();
        let mut names = except.split(',').map(str::trim).filter(|name| !name.is_empty());
        match url.host() {
            Some(Host::Domain(host)) => names.any(|name| name == "*" || is_within(host, name)),
            Some(Host::Ipv4(address)) => names.any(|name| name == "*" || covers(name, address.into())),
            Some(Host::Ipv6(address)) => names.any(|name| name == "*" || covers(name, address.into())),
            None => false,
        }
    }

    fn exceptions(&self) -> String {
        match &self.except {
            Some(except) => format!("{except},{LOOPBACK}"),
            None => LOOPBACK.to_owned(),
        }
    }

    pub(super) fn apply(&self, builder: ClientBuilder) -> Result<ClientBuilder, TransportError> {
        let except = self.exceptions();
        // Without this, reqwest would read the environment itself.
        let mut builder = builder.no_proxy();
        let named: [(_, _, Make); 3] = [
            ("HTTP_PROXY", &self.http, |url| Proxy::http(url)),
            ("HTTPS_PROXY", &self.https, |url| Proxy::https(url)),
            ("ALL_PROXY", &self.all, |url| Proxy::all(url)),
        ];
        for (variable, url, proxy) in named {
            let Some(url) = url else { continue };
            let scheme = url.split_once("://").map_or("http", |(scheme, _)| scheme);
            let is_usable = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
            let proxy = Some(url).filter(|_| is_usable).and_then(|url| proxy(url).ok());
            let proxy = proxy.ok_or(TransportError::Proxy { variable })?;
            builder = builder.proxy(proxy.no_proxy(NoProxy::from_string(&except)));
        }
        Ok(builder)
    }
}

/// Whether a host is of this name or below it; a leading dot says no more.
fn is_within(host: &str, name: &str) -> bool {
    let (host, name) = (host.to_ascii_lowercase(), name.trim_start_matches('.').to_ascii_lowercase());
    host.strip_suffix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Whether an address of the network is this one, or in this part of the network (`10.0.0.0/8`).
fn covers(name: &str, address: IpAddr) -> bool {
    let (start, length) = name.split_once('/').map_or((name, None), |(start, length)| (start, length.parse().ok()));
    let is_whole = !name.contains('/');
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32_u32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let Ok(start) = start.trim_matches(['[', ']']).parse::<IpAddr>() else { return false };
    let ((start, size), (address, other)) = (bits(start), bits(address));
    let length: Option<u32> = if is_whole { Some(size) } else { length };
    let Some(length) = length.filter(|&length| length <= size && size == other) else { return false };
    // Shifting by all 128 bits would be none at all.
    length == 0 || (start ^ address) >> (128 - length) == 0
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = |value: &Option<String>| if value.is_some() { "set" } else { "not set" };
        f.debug_struct("Proxies")
            .field("http", &set(&self.http))
            .field("https", &set(&self.https))
            .field("all", &set(&self.all))
            .field("except", &self.except)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Proxies {
        let find = |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Proxies::from_environment(&find)
    }

    #[test]
    fn variables_are_read_in_both_cases() {
        let proxies =
            read(&[("HTTP_PROXY", "http://a"), ("http_proxy", "http://b"), ("HTTPS_PROXY", " "), ("no_proxy", "x.y")]);
        let expected =
            Proxies { http: Some("http://b".to_owned()), https: None, all: None, except: Some("x.y".to_owned()) };
        assert_eq!(proxies, expected);
    }

    #[test]
    fn web_servers_cannot_be_made_to_set_a_proxy() {
        assert_eq!(read(&[("HTTP_PROXY", "http://evil"), ("REQUEST_METHOD", "GET")]), Proxies::default());
    }

    #[test]
    fn proxies_lead_where_no_exception_is_made() {
        let proxies = read(&[
            ("HTTPS_PROXY", "http://p"),
            ("NO_PROXY", "corp.example, .lab.example,10.0.0.0/8,192.168.1.7,fd00::/8"),
        ]);
        for (url, expected) in [
            ("https://models.example", true),
            ("http://models.example", false),
            ("https://corp.example", false),
            ("https://a.CORP.example", false),
            ("https://notcorp.example", true),
            ("https://lab.example", false),
            ("https://a.lab.example", false),
            ("https://10.9.8.7", false),
            ("https://11.9.8.7", true),
            ("https://192.168.1.7", false),
            ("https://192.168.1.8", true),
            ("https://[fd12::1]", false),
            ("https://[fe80::1]", true),
            ("https://localhost", false),
            ("https://127.0.0.9", false),
            ("https://[::1]", false),
        ] {
            assert_eq!(proxies.lead_to(&Url::parse(url).unwrap()), expected, "{url}");
        }
        let nowhere = read(&[("ALL_PROXY", "http://p"), ("NO_PROXY", "*")]);
        assert!(!nowhere.lead_to(&Url::parse("https://models.example").unwrap()));
        assert!(!Proxies::default().lead_to(&Url::parse("https://models.example").unwrap()));
    }

    #[test]
    fn password_of_a_proxy_is_shown_nowhere() {
        let proxies = read(&[("ALL_PROXY", "gopher://user:planted@127.0.0.1:1")]);
        let error = proxies.apply(ClientBuilder::new()).unwrap_err();
        assert_eq!(error.to_string(), "ALL_PROXY is not the address of a proxy that can be used");
        assert!(!format!("{proxies:?} {error:?}").contains("planted"));
    }
}
