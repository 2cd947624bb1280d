//! A server on another machine, or behind a socket of this one: messages are requests over HTTP.
//!
//! The SDK keeps the session and its streams; every request goes through the desk, so that each is decided and recorded,
//! and leads to no address that was not checked.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use http::{HeaderName, HeaderValue};
use rmcp::{
    model::{ClientJsonRpcMessage, JsonRpcError, JsonRpcMessage, RequestId, ServerJsonRpcMessage},
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
    host::{ErrorCode, HostError},
};

use super::{
    message,
    reopening::Reopening,
    salvage,
    throttle::{Pace, Throttle},
};
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
    /// Of the events of each stream.
    pace: Pace,
    reopening: Reopening,
    /// Requests that were refused together with their session, and may be sent once more in a new one. A lock and no task:
    /// it is held for a look-up.
    refused: Arc<Mutex<HashSet<RequestId>>>,
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
    #[error(
        "the server refused the credentials that its entry sends (status {status}: {body}); look at its \"headers\""
    )]
    Rejected { status: u16, body: String },
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
        let errand = Self {
            desk: desk.clone(),
            most: limits.message_bytes,
            pace: Pace::new(limits.messages_a_second, desk.clone()),
            reopening: Reopening::new(limits, desk.clone()),
            refused: Arc::default(),
        };
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

    /// That a server wants to know who asks, or knows and does not want them. What it says of it is read.
    async fn unauthorized(&self, head: &ResponseHead, feed: Feed, sender: Sender) -> Fault {
        let kind = value(head, "content-type").unwrap_or_default().to_ascii_lowercase();
        // What it says is for people; without it there is still the status.
        let body = excerpt(&kind, &self.whole(feed).await.unwrap_or_default());
        match sender {
            Sender::Named => Fault::Client(NoAnswer::Rejected { status: head.status, body }),
            Sender::Nameless => {
                let challenge = value(head, "www-authenticate").map_or(body, str::to_owned);
                Fault::AuthRequired(AuthRequiredError::new(challenge))
            }
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
    fn events(&self, feed: Feed, asked: Option<RequestId>) -> BoxStream<'static, Result<Sse, SseError>> {
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
        let state = (SseStream::from_bytes_stream(pieces.boxed()).boxed(), Throttle::new(self.pace.clone()), asked);
        let events = stream::unfold(state, |(mut events, mut throttle, asked)| async move {
            throttle.wait().await;
            let event =
                whole_or_told(events.next().await?, asked.as_ref()).map(|event| readable(event, asked.as_ref()));
            throttle.count();
            Some((event, (events, throttle, asked)))
        });
        events.boxed()
    }

    /// Whether a request that was refused in this way may have been refused because of its session. A server that was started
    /// anew does not know the session any more and says so with 400, as the protocol has it with 404; the SDK then begins a
    /// new session and sends the request once more, and what is refused again is refused for another reason.
    fn may_have_expired(&self, status: u16, asked: &RequestId) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        status == 400 && !refused.remove(asked) && refused.insert(asked.clone())
    }
}

impl NoAnswer {
    /// Whether there is nobody any more who could answer the next request.
    fn is_loss(&self) -> bool {
        match self {
            Self::Host(error) => matches!(error.code, ErrorCode::Io | ErrorCode::Timeout),
            // A gateway before a server that is gone.
            Self::Status { status, .. } => matches!(status, 502..=504),
            Self::TooLarge(_) | Self::Unreadable(_) | Self::Rejected { .. } => false,
        }
    }
}

/// What a request that could not be sent, or was not answered, says of its server. Nothing if it was not sent by HTTP.
pub(super) fn explain(error: &(dyn std::error::Error + 'static)) -> Option<LinkFault> {
    let fault = error.downcast_ref::<Fault>()?;
    let message = match fault {
        Fault::Client(inner) => super::shorten(&inner.to_string()),
        other => super::root_cause(other),
    };
    if let Fault::Client(NoAnswer::Rejected { .. }) = fault {
        return Some(LinkFault::Unreachable { message, is_permanent: true });
    }
    let is_loss = match fault {
        Fault::Client(inner) => inner.is_loss(),
        Fault::UnexpectedEndOfStream
        | Fault::SessionExpired
        | Fault::SessionRecoveryTimeout
        | Fault::ReinitializationFailed(_)
        | Fault::TransportChannelClosed => true,
        _ => false,
    };
    Some(match is_loss {
        true => LinkFault::Lost { message },
        false => LinkFault::Unreachable { message, is_permanent: false },
    })
}

/// An event that is too long ends its stream. Whoever asked is told that, and not that nobody is there any more.
fn whole_or_told(event: Result<Sse, SseError>, asked: Option<&RequestId>) -> Result<Sse, SseError> {
    let (Err(SseError::Body(cause)), Some(asked)) = (&event, asked) else { return event };
    let Some(NoAnswer::TooLarge(most)) = cause.downcast_ref::<NoAnswer>() else { return event };
    let answer = salvage::none(asked.clone(), &format!("its answer is a message of more than {most} bytes"));
    match serde_json::to_string(&answer) {
        Ok(answer) => Ok(Sse { data: Some(answer), ..Sse::default() }),
        Err(_) => event,
    }
}

/// An event with an answer that cannot be read says so in its place, and an error that names no request is one of the request
/// whose stream it is in: the SDK would leave both out, and whoever asked would wait.
fn readable(event: Sse, asked: Option<&RequestId>) -> Sse {
    let Some(written) = &event.data else { return event };
    let answer = match message::read::<ServerJsonRpcMessage>(written.as_bytes()) {
        Ok(JsonRpcMessage::Error(JsonRpcError { id: None, error, .. })) => {
            asked.map(|asked| JsonRpcMessage::Error(JsonRpcError::new(Some(asked.clone()), error)))
        }
        // What the SDK reads is what was written.
        Ok(_) => match message::marked(written.as_bytes()) {
            Some(marked) => return Sse { data: Some(marked.to_string()), ..event },
            None => return event,
        },
        Err(fault) => salvage::answer(written.as_bytes(), &fault),
    };
    let answer = answer.and_then(|answer| serde_json::to_string(&answer).ok());
    Sse { data: answer.or(event.data), ..event }
}

/// The answer to a request that came as one message: an error that names no request is about this one, and an answer to
/// another is none.
fn addressed(answer: ServerJsonRpcMessage, asked: &RequestId) -> ServerJsonRpcMessage {
    let is_ours = match &answer {
        JsonRpcMessage::Response(response) => response.id == *asked,
        JsonRpcMessage::Error(error) => error.id.as_ref() == Some(asked),
        // It asks or tells something instead.
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => false,
    };
    match answer {
        answer if is_ours => answer,
        JsonRpcMessage::Error(JsonRpcError { id: None, error, .. }) => {
            JsonRpcMessage::Error(JsonRpcError::new(Some(asked.clone()), error))
        }
        _ => salvage::none(asked.clone(), "it answers another request"),
    }
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

/// What a person needs of a body that is no message: nothing of a page, which is for browsers.
fn excerpt(kind: &str, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let is_page = kind.starts_with("text/html") || text.trim_start().starts_with('<');
    match text.trim() {
        "" => "nothing else".to_owned(),
        _ if is_page => "a page for browsers, and no message".to_owned(),
        text => text.chars().take(200).collect(),
    }
}

/// Whether a request says who sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sender {
    Named,
    Nameless,
}

impl Sender {
    /// By what an entry has for that.
    fn of(headers: &[Header]) -> Self {
        let is_credential = |name: &str| ["auth", "key", "token"].iter().any(|word| name.contains(word));
        match headers.iter().any(|header| is_credential(&header.name.to_ascii_lowercase())) {
            true => Self::Named,
            false => Self::Nameless,
        }
    }
}

/// What every answer may be instead of an answer.
fn admitted(head: &ResponseHead) -> Result<(), Fault> {
    match head.status {
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
        let (body, sender) = (serde_json::to_vec(&message)?, Sender::of(&headers));
        let (head, feed) = self.send("POST", &uri, headers, Some(body)).await?;
        if let 401 | 403 = head.status {
            return Err(self.unauthorized(&head, feed, sender).await);
        }
        admitted(&head)?;
        if matches!(head.status, 202 | 204) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if head.status == 404 && session_id.is_some() {
            return Err(Fault::SessionExpired);
        }
        let asked = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            ClientJsonRpcMessage::Response(_)
            | ClientJsonRpcMessage::Notification(_)
            | ClientJsonRpcMessage::Error(_) => None,
        };
        let session = value(&head, SESSION).map(str::to_owned);
        let kind = value(&head, "content-type").unwrap_or_default().to_ascii_lowercase();
        let is_good = (200..300).contains(&head.status);
        if is_good && kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(self.events(feed, asked), session));
        }
        let body = self.whole(feed).await?;
        let read = message::read::<ServerJsonRpcMessage>(&body);
        let names_ours = matches!(&read, Ok(JsonRpcMessage::Error(error)) if error.id.is_some() && error.id == asked);
        if let (Some(asked), true, false) = (&asked, session_id.is_some(), names_ours)
            && self.may_have_expired(head.status, asked)
        {
            return Err(Fault::SessionExpired);
        }
        match (read, asked) {
            (Ok(answer), Some(asked)) if kind.starts_with(JSON) => {
                Ok(StreamableHttpPostResponse::Json(addressed(answer, &asked), session))
            }
            (Ok(answer), None) if kind.starts_with(JSON) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            (_, None) if is_good => Ok(StreamableHttpPostResponse::Accepted),
            (Err(fault), Some(_)) if is_good && kind.starts_with(JSON) => match salvage::answer(&body, &fault) {
                Some(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
                None => Err(Fault::Client(NoAnswer::Unreadable(fault))),
            },
            _ => Err(Fault::Client(NoAnswer::Status { status: head.status, body: excerpt(&kind, &body) })),
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
        // However soon the server wants it to be.
        self.reopening.wait().await;
        let sender = Sender::of(&headers);
        let (head, feed) = self.send("GET", &uri, headers, None).await?;
        if let 401 | 403 = head.status {
            return Err(self.unauthorized(&head, feed, sender).await);
        }
        admitted(&head)?;
        let kind = value(&head, "content-type").unwrap_or_default().to_ascii_lowercase();
        match head.status {
            200..=299 if kind.starts_with(EVENTS) => Ok(self.events(feed, None)),
            404 if session_id.is_some() => Err(Fault::SessionExpired),
            _ => Err(Fault::ServerDoesNotSupportSse),
        }
    }
}
