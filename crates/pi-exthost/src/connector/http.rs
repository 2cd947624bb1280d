//! `http`: requests to other machines.
//!
//! Every hop is a decision of its own. A name is resolved once, and every address that it leads to is checked against the
//! grant. Without a proxy the connection goes to those addresses and no other: a name that leads elsewhere a moment later
//! leads nowhere. Where a proxy leads to a URL it is used, if all of those addresses are of the public network
//! (`docs/adr/0244-raw-keys-by-name-and-proxies-for-the-public.md`): it looks the name up again, and where it then connects
//! to is for it to say.

mod clients;
mod redirect;
mod resolver;

use std::{error::Error, io, net::IpAddr};

use reqwest::{Method, Url, header::HeaderMap};

use pi_extproto::{
    connector::{
        data::Data,
        http::{Header, Request, Response, ResponseHead},
        stream::{Channel, Piece, StreamEnd, StreamItem},
    },
    host::{ErrorCode, HostError},
};
use pi_policy::{Action, Grant, Host, HostName, Target};

pub(crate) use self::clients::Clients;
pub use self::resolver::{Resolver, SystemResolver};
use super::{failed, invalid};
use crate::desk::{Desk, Haul, Sluice, Terms};

/// Headers that belong to the connection: the host sets them, and what a guest writes there goes nowhere.
const OURS: [&str; 7] = ["connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];

pub(super) async fn fetch(
    desk: &Desk,
    request: Request,
    action: Action,
    haul: &Haul,
    terms: &Terms,
) -> Result<Response, HostError> {
    let limits = desk.inner.house.fittings.limits;
    let url = request.url.clone();
    let whole = async {
        let mut response = send(desk, request, action, terms).await?;
        let head = head(&response);
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| broken(&url, &error))? {
            if body.len() + piece.len() > limits.output_bytes {
                let message = format!("the answer has more than {} bytes; ask for a stream", limits.output_bytes);
                return Err(HostError { retryable: Some(false), ..HostError::new(ErrorCode::Io, message) });
            }
            haul.grow(piece.len())?;
            body.extend_from_slice(&piece);
        }
        Ok(Response { head, body: Data(body) })
    };
    // Where the caller has a time of its own the call has it already.
    let late = |_| HostError::new(ErrorCode::Timeout, "the other machine did not answer in time");
    tokio::time::timeout(limits.request_time, whole).await.map_err(late)?
}

pub(super) async fn stream(
    desk: &Desk,
    request: Request,
    action: Action,
    terms: &Terms,
    sluice: &mut Sluice,
) -> Result<(), HostError> {
    let limits = desk.inner.house.fittings.limits;
    let url = request.url.clone();
    let late = |_| HostError::new(ErrorCode::Timeout, "the other machine did not answer in time");
    let sent = tokio::time::timeout(limits.request_time, send(desk, request, action, terms)).await;
    let mut response = sent.map_err(late)??;
    if sluice.send(StreamItem::Head(head(&response))).await.is_err() {
        return Ok(());
    }
    let (mut total, mut truncated) = (0_u64, false);
    while let Some(piece) = response.chunk().await.map_err(|error| broken(&url, &error))? {
        total += piece.len() as u64;
        if total > limits.stream_bytes {
            truncated = true;
            break;
        }
        let piece = Piece { channel: Channel::Body, data: Data(piece.to_vec()) };
        if sluice.send(StreamItem::Piece(piece)).await.is_err() {
            return Ok(());
        }
    }
    // Who does not listen any more has what it wanted.
    let _ = sluice.send(StreamItem::End(StreamEnd { exit: None, truncated })).await;
    Ok(())
}

/// Sends the request, and where it is sent on, decides again and sends it there.
async fn send(desk: &Desk, request: Request, action: Action, terms: &Terms) -> Result<reqwest::Response, HostError> {
    let limits = desk.inner.house.fittings.limits;
    let mut hop = Hop::read(&request)?;
    let mut action = action;
    for _ in 0..=limits.redirects {
        let grant = desk.authorize(action, terms).await?;
        let response = once(desk, &hop, &grant, terms).await?;
        let next = match request.follow_redirects {
            true => redirect::next(&hop, &response)?,
            false => None,
        };
        let Some(next) = next else { return Ok(response) };
        let host =
            Host::from_url(next.url.as_str()).map_err(|fault| invalid(format!("a redirect leads astray: {fault}")))?;
        action = Action { target: Target::Host(host), ..grant.action().clone() };
        hop = next;
    }
    let message = format!("the request was sent on more than {} times", limits.redirects);
    Err(HostError { retryable: Some(false), ..HostError::new(ErrorCode::Io, message) })
}

/// One request to one host.
#[derive(Debug, Clone)]
pub(super) struct Hop {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
}

impl Hop {
    fn read(request: &Request) -> Result<Self, HostError> {
        let method = Method::from_bytes(request.method.to_ascii_uppercase().as_bytes())
            .ok()
            .filter(|method| ![Method::CONNECT, Method::TRACE].contains(method))
            .ok_or_else(|| invalid(format!("params.method: {:?} cannot be asked for", request.method)))?;
        let url = Url::parse(&request.url).map_err(|error| invalid(format!("params.url: {error}")))?;
        let mut headers = HeaderMap::new();
        for Header { name, value } in &request.headers {
            if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) || names_host(name, value, &url) {
                continue;
            }
            if ["host", "proxy-authorization"].iter().any(|other| name.eq_ignore_ascii_case(other)) {
                return Err(invalid(format!("params.headers: {name} would speak to another than the URL")));
            }
            let bad = |_| invalid(format!("params.headers: {name} cannot be sent"));
            let header = reqwest::header::HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad(()))?;
            let value = reqwest::header::HeaderValue::from_bytes(value.as_bytes()).map_err(|_| bad(()))?;
            headers.append(header, value);
        }
        Ok(Self { method, url, headers, body: request.body.as_ref().map(|body| body.0.clone()) })
    }
}

/// Whether a header says nothing but what the URL says.
fn names_host(name: &str, value: &str, url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let with_port = url.port_or_known_default().map(|port| format!("{host}:{port}"));
    name.eq_ignore_ascii_case("host") && (value == host || Some(value) == with_port.as_deref())
}

async fn once(desk: &Desk, hop: &Hop, grant: &Grant, terms: &Terms) -> Result<reqwest::Response, HostError> {
    let Target::Host(host) = &grant.action().target else {
        return Err(HostError::new(ErrorCode::Internal, "the grant is not for a host"));
    };
    // What was judged must be what is asked: two readers of a URL may differ.
    let read = hop.url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    if read != host.name().to_string() || hop.url.port_or_known_default() != Some(host.port()) {
        return Err(invalid("params.url: the host can be read in two ways; write it plainly"));
    }
    let addresses = addresses(desk, host, grant, terms).await?;
    // A proxy looks names up by itself: what only this machine may reach is not for it to find.
    let is_public = addresses.iter().all(|address| pi_policy::is_public(*address));
    let finder = desk.inner.house.fittings.proxy.as_ref().filter(|_| is_public);
    let proxy = finder.and_then(|finder| finder(hop.url.as_str()));
    let client = desk
        .inner
        .clients
        .get(&read, &addresses, proxy.as_deref())
        .map_err(|error| HostError::new(ErrorCode::Internal, error.to_string()))?;
    let mut request = client.request(hop.method.clone(), hop.url.clone()).headers(hop.headers.clone());
    if let Some(body) = &hop.body {
        request = request.body(body.clone());
    }
    request.send().await.map_err(|error| broken(hop.url.as_str(), &error))
}

/// Where a host leads, if all of it may be connected to.
async fn addresses(desk: &Desk, host: &Host, grant: &Grant, terms: &Terms) -> Result<Vec<IpAddr>, HostError> {
    let found = match host.name() {
        HostName::Address(address) => vec![*address],
        HostName::Name(name) => {
            let resolver = &desk.inner.house.fittings.resolver;
            resolver.resolve(name, host.port()).await.map_err(|error| failed(name, &error))?
        }
    };
    if found.is_empty() {
        return Err(failed(&host.to_string(), &io::Error::new(io::ErrorKind::NotFound, "the name leads nowhere")));
    }
    match found.iter().find(|address| !grant.may_connect(**address)) {
        Some(address) => Err(desk.denied_address(grant.action(), host, *address, terms)),
        None => Ok(found),
    }
}

fn head(response: &reqwest::Response) -> ResponseHead {
    let header = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| Header {
        name: name.as_str().to_owned(),
        value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
    };
    ResponseHead {
        status: response.status().as_u16(),
        url: response.url().to_string(),
        headers: response.headers().iter().map(header).collect(),
    }
}

/// The innermost error of the system says most.
fn broken(url: &str, error: &reqwest::Error) -> HostError {
    let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let mut source = error.source();
    let mut last = error.to_string();
    while let Some(inner) = source {
        if let Some(error) = inner.downcast_ref::<io::Error>()
            && pi_tools::files::errno(error).is_some()
        {
            return failed(&host, error);
        }
        last = inner.to_string();
        source = inner.source();
    }
    HostError::new(ErrorCode::Io, format!("{host}: {last}"))
}
