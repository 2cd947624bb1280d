//! A server on another machine, or behind a socket of this one: messages are requests over HTTP.
//!
//! The SDK keeps the session and its streams; every request goes through the desk, so that each is decided and recorded,
//! and leads to no address that was not checked.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use http::{HeaderName, HeaderValue};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        StreamableHttpClientTransport,
        streamable_http_client::{
            AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpClientTransportConfig,
            StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};
use sse_stream::{Sse, SseStream};

use pi_exthost::{Desk, Feed, Occasion, Terms};
use pi_extproto::{
    connector::{
        Call,
        data::Data,
        http::{Header, Request, ResponseHead},
        stream::StreamItem,
    },
    host::HostError,
};

use super::{salvage, throttle::Throttle};
use crate::mcp::{entry::HttpRoute, limits::Limits, link::LinkFault};

const SESSION: &str = "Mcp-Session-Id";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Sends requests in the name of a guest. Clones are the same.
#[derive(Clone)]
pub(super) struct Errand {
    desk: Desk,
    /// Of one answer, or of one event of a stream.
    most: usize,
    /// Events of a stream in a second.
    rate: u32,
}

/// Why a request brought nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    #[error("{}", .0.message)]
    Host(HostError),
    #[error("the answer has more than {0} bytes")]
    TooLarge(usize),
    #[error("its answer cannot be read: {0}")]
    Unreadable(serde_json::Error),
    #[error("the server answered with status {status}: {body}")]
    Status { status: u16, body: String },
}

type Fault = StreamableHttpError<NoAnswer>;

impl Errand {
    /// A transport of the SDK that sends its requests through the desk.
    pub(super) fn transport(
        route: &HttpRoute,
        desk: &Desk,
        limits: &Limits,
    ) -> Result<StreamableHttpClientTransport<Self>, LinkFault> {
        let mut headers = HashMap::new();
        for (name, value) in &route.headers {
            let bad = |_| LinkFault::Unreachable {
                message: format!("the header {name} cannot be sent; look at its entry"),
                is_permanent: true,
            };
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad(()))?;
            headers.insert(name, HeaderValue::from_str(value).map_err(|_| bad(()))?);
        }
        let mut config = StreamableHttpClientTransportConfig::with_uri(route.url.as_str()).custom_headers(headers);
        config = config.control_request_timeout(Duration::from_secs(10)).max_sse_event_size(limits.message_bytes);
        let errand = Self { desk: desk.clone(), most: limits.message_bytes, rate: limits.messages_a_second };
        Ok(StreamableHttpClientTransport::with_client(errand, config))
    }

    async fn send(
        &self,
        method: &str,
        url: &str,
        headers: Vec<Header>,
        body: Option<Vec<u8>>,
    ) -> Result<(ResponseHead, Feed), Fault> {
        let request = Request {
            method: method.to_owned(),
            url: url.to_owned(),
            headers,
            body: body.map(Data),
            timeout_ms: None,
            follow_redirects: false,
            stream: true,
        };
        let terms = Terms { occasion: Occasion::Background, ..Terms::background() };
        let mut feed = self.desk.open(Call::Http(request), terms);
        match feed.next().await {
            Some(Ok(StreamItem::Head(head))) => Ok((head, feed)),
            Some(Err(error)) => Err(Fault::Client(NoAnswer::Host(error))),
            Some(Ok(_)) | None => Err(Fault::UnexpectedEndOfStream),
        }
    }

    async fn whole(&self, mut feed: Feed) -> Result<Vec<u8>, Fault> {
        let mut body = Vec::new();
        while let Some(item) = feed.next().await {
            match item {
                Ok(StreamItem::Piece(piece)) => body.extend_from_slice(&piece.data.0),
                Ok(StreamItem::Head(_) | StreamItem::End(_)) => {}
                Err(error) => return Err(Fault::Client(NoAnswer::Host(error))),
            }
            if body.len() > self.most {
                return Err(Fault::Client(NoAnswer::TooLarge(self.most)));
            }
        }
        Ok(body)
    }

    /// The events of an answer, each within its bound and none too fast. Each stream counts for itself: one is opened for
    /// every request of ours and no more.
    fn events(&self, feed: Feed) -> BoxStream<'static, Result<Sse, SseError>> {
        let state = (feed, 0_usize, self.most);
        let pieces = stream::unfold(state, |(mut feed, open, most)| async move {
            loop {
                let piece = match feed.next().await? {
                    Ok(StreamItem::Piece(piece)) => piece.data.0,
                    Ok(StreamItem::Head(_) | StreamItem::End(_)) => continue,
                    Err(error) => return Some((Err(NoAnswer::Host(error)), (feed, open, most))),
                };
                // An event ends with an empty line; what stands before it in this piece belongs to the one before.
                let ended = piece
                    .windows(2)
                    .rposition(|pair| pair == b"\n\n")
                    .or_else(|| piece.windows(4).rposition(|pair| pair == b"\r\n\r\n"));
                let open = ended.map_or(open + piece.len(), |at| piece.len() - at);
                if open > most {
                    return Some((Err(NoAnswer::TooLarge(most)), (feed, 0, most)));
                }
                return Some((Ok(bytes::Bytes::from(piece)), (feed, open, most)));
            }
        });
        let state = (SseStream::from_bytes_stream(pieces.boxed()).boxed(), Throttle::new(self.rate));
        let events = stream::unfold(state, |(mut events, mut throttle)| async move {
            throttle.wait().await;
            let event = events.next().await?.map(readable);
            throttle.count();
            Some((event, (events, throttle)))
        });
        events.boxed()
    }
}

/// An event with an answer that cannot be read says so in its place: the SDK would leave it out, and whoever asked would wait.
fn readable(event: Sse) -> Sse {
    let Some(written) = &event.data else { return event };
    let Err(fault) = serde_json::from_str::<ServerJsonRpcMessage>(written) else { return event };
    let answer = salvage::answer(written.as_bytes(), &fault).and_then(|answer| serde_json::to_string(&answer).ok());
    Sse { data: answer.or(event.data), ..event }
}

fn headers(
    session: Option<&str>,
    token: Option<&str>,
    custom: &HashMap<HeaderName, HeaderValue>,
    more: &[(&str, &str)],
) -> Vec<Header> {
    let header = |name: &str, value: &str| Header { name: name.to_owned(), value: value.to_owned() };
    let mut all: Vec<Header> = more.iter().map(|(name, value)| header(name, value)).collect();
    all.extend(session.map(|session| header(SESSION, session)));
    all.extend(token.map(|token| header("Authorization", &format!("Bearer {token}"))));
    for (name, value) in custom {
        let is_ours = all.iter().any(|ours| ours.name.eq_ignore_ascii_case(name.as_str()));
        if let (false, Ok(value)) = (is_ours, value.to_str()) {
            all.push(header(name.as_str(), value));
        }
    }
    all
}

fn value<'a>(head: &'a ResponseHead, name: &str) -> Option<&'a str> {
    head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value.as_str())
}

/// What every answer may be instead of an answer.
fn admitted(head: &ResponseHead) -> Result<(), Fault> {
    match head.status {
        401 | 403 => {
            let challenge = value(head, "www-authenticate").unwrap_or("no credentials, or wrong ones").to_owned();
            Err(Fault::AuthRequired(AuthRequiredError::new(challenge)))
        }
        300..=399 => {
            let elsewhere = value(head, "location").unwrap_or("nowhere").to_owned();
            let body = format!("it moved to {elsewhere}; write that address into the entry");
            Err(Fault::Client(NoAnswer::Status { status: head.status, body }))
        }
        _ => Ok(()),
    }
}

impl StreamableHttpClient for Errand {
    type Error = NoAnswer;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let both = format!("{EVENTS}, {JSON}");
        let more = [("Accept", both.as_str()), ("Content-Type", JSON)];
        let headers = headers(session_id.as_deref(), auth_header.as_deref(), &custom_headers, &more);
        let body = serde_json::to_vec(&message)?;
        let (head, feed) = self.send("POST", &uri, headers, Some(body)).await?;
        admitted(&head)?;
        if matches!(head.status, 202 | 204) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if head.status == 404 && session_id.is_some() {
            return Err(Fault::SessionExpired);
        }
        let session = value(&head, SESSION).map(str::to_owned);
        let kind = value(&head, "content-type").unwrap_or_default().to_ascii_lowercase();
        if (200..300).contains(&head.status) && kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(self.events(feed), session));
        }
        let body = self.whole(feed).await?;
        let expects_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(answer) if kind.starts_with(JSON) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            _ if (200..300).contains(&head.status) && !expects_answer => Ok(StreamableHttpPostResponse::Accepted),
            Err(fault) if (200..300).contains(&head.status) && kind.starts_with(JSON) => {
                match salvage::answer(&body, &fault) {
                    Some(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
                    None => Err(Fault::Client(NoAnswer::Unreadable(fault))),
                }
            }
            _ => {
                let body = String::from_utf8_lossy(&body).chars().take(200).collect();
                Err(Fault::Client(NoAnswer::Status { status: head.status, body }))
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault> {
        let headers = headers(Some(&session_id), auth_header.as_deref(), &custom_headers, &[]);
        // Whether the server forgets its session is its own concern.
        self.send("DELETE", &uri, headers, None).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        let mut more = vec![("Accept", EVENTS)];
        more.extend(last_event_id.as_deref().map(|id| ("Last-Event-ID", id)));
        let headers = headers(session_id.as_deref(), auth_header.as_deref(), &custom_headers, &more);
        let (head, feed) = self.send("GET", &uri, headers, None).await?;
        admitted(&head)?;
        let kind = value(&head, "content-type").unwrap_or_default().to_ascii_lowercase();
        match head.status {
            200..=299 if kind.starts_with(EVENTS) => Ok(self.events(feed)),
            404 if session_id.is_some() => Err(Fault::SessionExpired),
            _ => Err(Fault::ServerDoesNotSupportSse),
        }
    }
}
