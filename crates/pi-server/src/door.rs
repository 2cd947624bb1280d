//! Who may come in.
//!
//! Whoever holds the token of this server may, and nobody else, on loopback too: other users and other programs of this
//! machine reach it as well. A browser cannot send a token with a WebSocket, so it brings a ticket that works once and
//! gets a cookie for it that the token has sealed. Pages of other sites are told by `Host` and `Origin` and never get as
//! far as a credential.
//!
//! Start with [`Door::enter`].

mod cookie;
mod origin;
mod secret;
mod token;

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use self::cookie::Seal;
pub use self::{
    cookie::COOKIE_MS,
    origin::Hosts,
    secret::Secret,
    token::{TokenError, load as load_token, load_or_create, look as look_at_token},
};

/// How long a ticket waits to be used.
pub const TICKET_MS: u64 = 10 * 60 * 1000;
/// Tickets that may be out at a time; the oldest goes.
const MOST: usize = 256;

/// What is asked of somebody who comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    Token,
    /// Spelled out by whoever started the server, and only on loopback.
    Anybody,
}

/// Why auth cannot be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("without a token only this machine may be served, and {0} is open to others")]
pub struct NotLoopback(pub SocketAddr);

/// What somebody brings, as it stands in the request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Visitor<'a> {
    pub host: Option<&'a str>,
    pub origin: Option<&'a str>,
    pub authorization: Option<&'a str>,
    pub cookies: Option<&'a str>,
}

impl Visitor<'_> {
    /// The name of the cookie with which he comes again. Browsers have the same cookies for all ports of a host: the port is
    /// in the name, so that two servers of one host have two.
    pub fn cookie(&self) -> String {
        match self.host.and_then(origin::port) {
            Some(port) => format!("pi_session_{port}"),
            None => "pi_session".to_owned(),
        }
    }
}

/// Why somebody may not come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("this server is not known by that host name")]
    Host,
    #[error("pages of other origins may not come here")]
    Origin,
    #[error("a token is needed")]
    NoCredential,
    #[error("the token or cookie is not good")]
    Credential,
    #[error("the ticket is not good: it was used, or is too old")]
    Ticket,
}

impl Refused {
    /// Which it is, for programs.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Host => "unknown_host",
            Self::Origin => "foreign_origin",
            Self::NoCredential => "no_credential",
            Self::Credential => "bad_credential",
            Self::Ticket => "bad_ticket",
        }
    }

    /// What to do about it.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Host => "whoever starts the server allows a name with --host NAME",
            Self::Origin => "open the page of the server itself; a program sends no Origin",
            Self::NoCredential => {
                "send Authorization: Bearer TOKEN; the token is in the file that the server names when it starts"
            }
            Self::Credential => {
                "the token is in the file that the server names when it starts; for a browser, `pi serve --ticket` prints an address"
            }
            Self::Ticket => {
                "a ticket works once and for some minutes; `pi serve --ticket` prints an address with a new one"
            }
        }
    }
}

/// The door of a server.
#[derive(Debug)]
pub struct Door {
    rule: Rule,
    token: Secret,
    seal: Seal,
    hosts: Hosts,
    /// What was given out, by digest, and when. Not a task: looked at once per login, for as long as a comparison takes.
    tickets: Mutex<Tickets>,
}

type Tickets = HashMap<[u8; 32], u64>;

impl Door {
    pub fn new(rule: Rule, token: Secret, hosts: Hosts, at: SocketAddr) -> Result<Self, NotLoopback> {
        if rule == Rule::Anybody && !at.ip().is_loopback() {
            return Err(NotLoopback(at));
        }
        Ok(Self { rule, seal: Seal::of(&token), token, hosts, tickets: Mutex::default() })
    }

    /// Whether the request was meant for us and comes from no other site. All that `/healthz` asks.
    pub fn look(&self, visitor: &Visitor<'_>) -> Result<(), Refused> {
        let host = visitor.host.filter(|host| self.hosts.allow(host)).ok_or(Refused::Host)?;
        if visitor.origin.is_some_and(|origin| !self.hosts.allow_origin(origin, host)) {
            return Err(Refused::Origin);
        }
        Ok(())
    }

    /// Whether somebody may come in. `now` is in milliseconds.
    pub fn enter(&self, visitor: &Visitor<'_>, now: u64) -> Result<(), Refused> {
        self.look(visitor)?;
        if self.rule == Rule::Anybody {
            return Ok(());
        }
        if let Some(authorization) = visitor.authorization {
            let good = bearer(authorization).is_some_and(|token| self.token.matches(token));
            return if good { Ok(()) } else { Err(Refused::Credential) };
        }
        let name = visitor.cookie();
        let cookie = visitor.cookies.and_then(|cookies| value(cookies, &name)).ok_or(Refused::NoCredential)?;
        if self.seal.is_good(cookie, now) { Ok(()) } else { Err(Refused::Credential) }
    }

    /// A ticket for a browser: good once, for some minutes.
    pub fn ticket(&self, now: u64) -> Secret {
        let ticket = Secret::random();
        let mut tickets = self.tickets();
        tickets.retain(|_, made| now.saturating_sub(*made) < TICKET_MS);
        if tickets.len() >= MOST
            && let Some(oldest) = tickets.iter().min_by_key(|(_, made)| **made).map(|(digest, _)| *digest)
        {
            tickets.remove(&oldest);
        }
        tickets.insert(Secret::digest(ticket.reveal()), now);
        ticket
    }

    /// A cookie in the place of a ticket.
    pub fn exchange(&self, ticket: &str, now: u64) -> Result<Secret, Refused> {
        let made = self.tickets().remove(&Secret::digest(ticket)).ok_or(Refused::Ticket)?;
        if now.saturating_sub(made) >= TICKET_MS {
            return Err(Refused::Ticket);
        }
        Ok(self.seal.cookie(now))
    }

    fn tickets(&self) -> MutexGuard<'_, Tickets> {
        // Nothing in here can panic half-way.
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The scheme is a word in any case, as HTTP has it.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The value of a cookie among others.
fn value<'a>(cookies: &'a str, name: &str) -> Option<&'a str> {
    let pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.into_iter().find(|(found, _)| *found == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 3141);
    const HOST: Visitor<'_> =
        Visitor { host: Some("127.0.0.1:3141"), origin: None, authorization: None, cookies: None };

    fn door() -> Door {
        Door::new(Rule::Token, Secret::from("the-token".to_owned()), Hosts::of([]), AT).expect("loopback")
    }

    fn enter(visitor: Visitor<'_>) -> Result<(), Refused> {
        door().enter(&visitor, 0)
    }

    #[test]
    fn only_the_token_opens() {
        for (authorization, expected) in [
            (Some("Bearer the-token"), Ok(())),
            (Some("bearer  the-token "), Ok(())),
            (Some("Bearer the-toker"), Err(Refused::Credential)),
            (Some("Bearer "), Err(Refused::Credential)),
            (Some("the-token"), Err(Refused::Credential)),
            (Some("Basic the-token"), Err(Refused::Credential)),
            (None, Err(Refused::NoCredential)),
        ] {
            assert_eq!(enter(Visitor { authorization, ..HOST }), expected, "{authorization:?}");
        }
    }

    #[test]
    fn pages_of_other_sites_stay_outside_whatever_they_bring() {
        let token = Some("Bearer the-token");
        for (host, origin, expected) in [
            (Some("localhost:3141"), None, Ok(())),
            (Some("[::1]:3141"), Some("http://[::1]:3141"), Ok(())),
            (Some("127.0.0.1:3141"), Some("http://localhost:3141"), Ok(())),
            (Some("127.0.0.1:3141"), Some("http://127.0.0.1:8080"), Err(Refused::Origin)),
            (Some("127.0.0.1:3141"), Some("https://evil.example"), Err(Refused::Origin)),
            (Some("127.0.0.1:3141"), Some("null"), Err(Refused::Origin)),
            (Some("evil.example:3141"), None, Err(Refused::Host)),
            (Some("127.0.0.1.evil.example"), None, Err(Refused::Host)),
            (None, None, Err(Refused::Host)),
        ] {
            let visitor = Visitor { host, origin, authorization: token, cookies: None };
            assert_eq!(enter(visitor), expected, "{host:?} {origin:?}");
        }
    }

    #[test]
    fn a_ticket_works_once_and_in_time() {
        let door = door();
        let ticket = door.ticket(0);
        let cookie = door.exchange(ticket.reveal(), 1).expect("it is new");
        assert_eq!(door.exchange(ticket.reveal(), 2), Err(Refused::Ticket));
        let late = door.ticket(0);
        assert_eq!(door.exchange(late.reveal(), TICKET_MS), Err(Refused::Ticket));
        let line = format!("theme=dark; pi_session_3141={}", cookie.reveal());
        let visitor = Visitor { cookies: Some(&line), ..HOST };
        assert_eq!(door.enter(&visitor, COOKIE_MS), Ok(()));
        assert_eq!(door.enter(&visitor, COOKIE_MS + 1), Err(Refused::Credential));
    }

    #[test]
    fn two_servers_of_one_host_have_two_cookies() {
        for (host, name) in [
            (Some("127.0.0.1:3141"), "pi_session_3141"),
            (Some("[::1]:3200"), "pi_session_3200"),
            (Some("box.example"), "pi_session"),
            (Some("[::1]"), "pi_session"),
            (None, "pi_session"),
        ] {
            assert_eq!(Visitor { host, ..HOST }.cookie(), name, "{host:?}");
        }
    }

    #[test]
    fn without_a_token_only_this_machine_is_served() {
        let outside = SocketAddr::from(([0, 0, 0, 0], 3141));
        let opened = Door::new(Rule::Anybody, Secret::random(), Hosts::of([]), outside);
        assert_eq!(opened.map(|_| ()), Err(NotLoopback(outside)));
        let door = Door::new(Rule::Anybody, Secret::random(), Hosts::of([]), AT).expect("loopback");
        assert_eq!(door.enter(&HOST, 0), Ok(()));
        assert_eq!(door.enter(&Visitor { host: Some("evil.example"), ..HOST }, 0), Err(Refused::Host));
    }

    #[test]
    fn nobody_sees_the_token_in_a_log() {
        assert!(!format!("{:?}", door()).contains("the-token"));
    }
}
