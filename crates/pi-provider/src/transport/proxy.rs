//! Proxies, as the environment names them.

use std::fmt;

use reqwest::{ClientBuilder, NoProxy, Proxy};

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

    pub(super) fn are_none(&self) -> bool {
        [&self.http, &self.https, &self.all].into_iter().all(Option::is_none)
    }

    pub(super) fn apply(&self, builder: ClientBuilder) -> Result<ClientBuilder, TransportError> {
        let except = match &self.except {
            Some(except) => format!("{except},{LOOPBACK}"),
            None => LOOPBACK.to_owned(),
        };
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
    fn password_of_a_proxy_is_shown_nowhere() {
        let proxies = read(&[("ALL_PROXY", "gopher://user:planted@127.0.0.1:1")]);
        let error = proxies.apply(ClientBuilder::new()).unwrap_err();
        assert_eq!(error.to_string(), "ALL_PROXY is not the address of a proxy that can be used");
        assert!(!format!("{proxies:?} {error:?}").contains("planted"));
    }
}
