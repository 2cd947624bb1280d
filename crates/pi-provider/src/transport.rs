//! Carries requests to providers: TLS, proxies, connections that are used again.
//!
//! Deliberately without retries, timeouts of its own (but for connecting) and knowledge of models; that is `client`'s.
//! A credential is put on the wire here and nowhere else. Errors never show an address, because a query may hold one.
//! Start with [`Network`] (what the environment says) and [`Routes`]; a [`Transport`] is one way to servers.

mod inflow;
mod named;
mod obstacle;
mod proxy;
mod roots;
mod routes;

use std::{path::PathBuf, time::Duration};

use bytes::{Bytes, BytesMut};
use reqwest::{
    ClientBuilder, Method, Response,
    header::{HeaderMap, HeaderValue, USER_AGENT},
    redirect,
};
use tokio::time::{Instant, timeout, timeout_at};
use url::{Host, Url};

use crate::{
    credential::{Attachment, Lookup},
    secret::Secret,
};

use self::{inflow::End, obstacle::Way};
pub use self::{inflow::Inflow, obstacle::Obstacle, proxy::Proxies, roots::Roots, routes::Routes};

/// Redirects on the same server that are followed.
const MOST_REDIRECTS: usize = 3;
/// Connections that nobody uses are closed after this.
const IDLE_CONNECTION: Duration = Duration::from_secs(90);

/// So long is waited for the end of an answer that is complete.
const MOMENT: Duration = Duration::from_millis(500);

/// How the network is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Network {
    pub proxies: Proxies,
    pub roots: Roots,
}

/// Why the network cannot be reached as asked. Proxies may hold a password, so their addresses are not shown.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error("{variable} is not the address of a proxy that can be used")]
    Proxy { variable: &'static str },
    #[error("{variable}: {} cannot be read", path.display())]
    Roots {
        variable: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{variable}: there is no certificate in {}", path.display())]
    NoCertificate { variable: &'static str, path: PathBuf },
    #[error("TLS cannot be set up")]
    Tls {
        #[source]
        source: reqwest::Error,
    },
    #[error("TLS cannot be set up with the certificates that are named")]
    Named {
        #[source]
        source: rustls::Error,
    },
}

impl TransportError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Proxy { variable } => {
                format!("write {variable} like http://host:port or socks5://host:port, or unset it")
            }
            Self::Roots { variable, .. } => format!("correct {variable}, make the file readable, or unset it"),
            Self::NoCertificate { variable, .. } => {
                format!("name a file of PEM certificates (-----BEGIN CERTIFICATE-----) in {variable}, or unset it")
            }
            Self::Named { .. } => {
                "name certificates of authorities in NODE_EXTRA_CA_CERTS, SSL_CERT_FILE or SSL_CERT_DIR, or unset them"
                    .to_owned()
            }
            Self::Tls { .. } => {
                "install the system's certificates (ca-certificates), or name a file in SSL_CERT_FILE".to_owned()
            }
        }
    }
}

/// A client of HTTP. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Transport {
    http: reqwest::Client,
    connect_timeout: Duration,
    proxies: Proxies,
}

/// A request that is ready but for the credential.
#[derive(Clone)]
pub struct Outgoing {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// What is shown to nobody if an answer repeats it, such as a key that is part of the address.
    pub hidden: Vec<Secret>,
    /// What else an answer may repeat, and what is looked for in its words as the credential is.
    pub secrets: Vec<Secret>,
    /// The variable in which the person named the server.
    pub named_by: Option<String>,
}

/// Why no answer, or no more of it, came.
#[derive(Debug, thiserror::Error)]
pub enum TransportFault {
    #[error("no connection was made in {after:?}")]
    ConnectTimeout { after: Duration },
    #[error("the server was not reached")]
    Unreachable(#[source] Obstacle),
    #[error("the connection ended in the middle of the answer")]
    Broken(#[source] reqwest::Error),
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// Nobody asked for it, and it cannot be unpacked here.
    #[error("the answer is compressed as {name}")]
    Packed { name: String },
    #[error("the answer says that it is compressed, and is not what it says")]
    Garbled(#[source] std::io::Error),
}

impl Network {
    /// `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`, `SSL_CERT_DIR`, `NODE_EXTRA_CA_CERTS`.
    pub fn from_environment(environment: Lookup<'_>) -> Self {
        Self { proxies: Proxies::from_environment(environment), roots: Roots::from_environment(environment) }
    }
}

impl Transport {
    /// Reads the certificates and prepares TLS; the first call in a process costs some milliseconds.
    pub fn new(network: &Network, connect_timeout: Duration) -> Result<Self, TransportError> {
        let builder = network.proxies.apply(builder(connect_timeout))?;
        let builder = network.roots.load()?.apply(builder)?;
        Self::made(builder, connect_timeout, network.proxies.clone())
    }

    /// For plain HTTP to this machine: it goes through no proxy and believes no certificate, so none is read.
    pub fn near(connect_timeout: Duration) -> Result<Self, TransportError> {
        Self::made(builder(connect_timeout).no_proxy().tls_certs_only([]), connect_timeout, Proxies::default())
    }

    fn made(builder: ClientBuilder, connect_timeout: Duration, proxies: Proxies) -> Result<Self, TransportError> {
        let http = builder.build().map_err(|source| TransportError::Tls { source })?;
        Ok(Self { http, connect_timeout, proxies })
    }

    /// Whether a request to this address is sent to a proxy.
    pub(crate) fn is_proxied(&self, url: &Url) -> bool {
        self.proxies.lead_to(url)
    }

    /// Sends a request and waits for the head of the answer. Dropping the future closes the connection.
    pub async fn send(&self, outgoing: &Outgoing, attachments: &[Attachment]) -> Result<Response, TransportFault> {
        let Outgoing { method, url, headers, body, hidden: _, secrets: _, named_by: _ } = outgoing;
        let mut request = reqwest::Request::new(method.clone(), url.clone());
        *request.headers_mut() = headers.clone();
        for attachment in attachments {
            match attachment {
                Attachment::Header { name, value } => {
                    request.headers_mut().insert(name, value.clone());
                }
                Attachment::Query { name, value } => {
                    request.url_mut().query_pairs_mut().append_pair(name, value.expose());
                }
            }
        }
        let agent = HeaderValue::from_static(concat!("pi/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().entry(USER_AGENT).or_insert(agent);
        *request.body_mut() = Some(body.clone().into());
        self.http.execute(request).await.map_err(|error| {
            if error.is_connect() && error.is_timeout() {
                return TransportFault::ConnectTimeout { after: self.connect_timeout };
            }
            let error = error.without_url();
            tracing::debug!(error = &error as &dyn std::error::Error, "no server was reached");
            let way = if self.is_proxied(url) { Way::Proxied } else { Way::Direct };
            TransportFault::Unreachable(Obstacle::of(&error, url, way))
        })
    }
}

/// What a whole answer is, as far as its end depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// One document: an object that is closed may be all of it.
    Document,
    /// A document in each line: behind one there may be another.
    Lines,
}

/// Reads a whole answer that is one document, up to a limit.
pub async fn read_body(response: &mut Inflow, limit: usize) -> Result<Bytes, TransportFault> {
    match next_piece(response).await? {
        Some(first) => read_rest(first, response, Content::Document, limit).await,
        None => Ok(Bytes::new()),
    }
}

/// Reads the rest of an answer of which the first piece is there, up to a limit. An answer in one piece is not copied.
///
/// A document is read as `next_of_document` says, any other answer to its end.
pub async fn read_rest(
    first: Bytes,
    response: &mut Inflow,
    content: Content,
    limit: usize,
) -> Result<Bytes, TransportFault> {
    let mut body = Body::One(first);
    loop {
        if body.len() > limit {
            return Err(TransportFault::TooLarge { limit });
        }
        let next = match content {
            Content::Document => next_of_document(body.as_slice(), response).await?,
            Content::Lines => next_piece(response).await?,
        };
        let Some(piece) = next else { return Ok(body.into_bytes()) };
        body = body.and(&piece);
    }
}

/// The next piece of a document of which this is there, `None` at its end.
///
/// One that is a closed object is the whole answer, where the connection breaks then, and where the server neither says how
/// long it is nor marks its end: one that leaves the connection open is not waited for longer than a moment.
pub(crate) async fn next_of_document(body: &[u8], response: &mut Inflow) -> Result<Option<Bytes>, TransportFault> {
    let next = if response.end() == End::Untold && is_closed_object(body) {
        timeout(MOMENT, next_piece(response)).await.unwrap_or(Ok(None))
    } else {
        next_piece(response).await
    };
    match next {
        Err(TransportFault::Broken(_)) if is_closed_object(body) => Ok(None),
        next => next,
    }
}

/// Whether a body is one object of JSON and nothing else.
fn is_closed_object(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    body.starts_with(b"{") && body.ends_with(b"}") && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

/// The beginning of an answer, as far as it comes in time and fits: half of an error's text is better than none.
pub async fn read_beginning(response: &mut Inflow, limit: usize, patience: Duration) -> Bytes {
    let deadline = Instant::now() + patience;
    let mut body = BytesMut::new();
    while let Ok(Ok(Some(piece))) = timeout_at(deadline, next_piece(response)).await {
        let room = limit - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if body.len() == limit {
            break;
        }
    }
    body.freeze()
}

/// The next piece of an answer, `None` at its end.
pub async fn next_piece(response: &mut Inflow) -> Result<Option<Bytes>, TransportFault> {
    response.next().await
}

/// What has been read of an answer.
enum Body {
    One(Bytes),
    Many(BytesMut),
}

impl Body {
    fn len(&self) -> usize {
        match self {
            Self::One(bytes) => bytes.len(),
            Self::Many(bytes) => bytes.len(),
        }
    }

    fn as_slice(&self) -> &[u8] {
        match self {
            Self::One(bytes) => bytes,
            Self::Many(bytes) => bytes,
        }
    }

    fn and(self, piece: &[u8]) -> Self {
        let mut bytes = match self {
            Self::One(bytes) => BytesMut::from(bytes),
            Self::Many(bytes) => bytes,
        };
        bytes.extend_from_slice(piece);
        Self::Many(bytes)
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::One(bytes) => bytes,
            Self::Many(bytes) => bytes.freeze(),
        }
    }
}

fn builder(connect_timeout: Duration) -> ClientBuilder {
    // Whoever was first in this process decides; both outcomes leave one installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(IDLE_CONNECTION)
        .redirect(redirect::Policy::custom(follow))
        // Trying again is decided in one place, and not here.
        .retry(reqwest::retry::never())
        .referer(false)
}

/// Whether an address is one of this machine.
pub fn is_on_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// Only on the same server, and only where the request stays what it was: elsewhere it would carry credentials along.
fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let keeps_request = matches!(attempt.status().as_u16(), 307 | 308);
    let is_same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
    if keeps_request && is_same && attempt.previous().len() <= MOST_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
