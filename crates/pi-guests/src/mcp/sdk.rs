//! The protocol, spoken by the official SDK. Nothing outside this module names it.
//!
//! Its typed model is passed through JSON in both directions: a server that sends one malformed tool among good ones then
//! costs us that tool, and a new version of the SDK costs us this module.

mod errand;
mod message;
mod pipe;
mod reopening;
mod salvage;
mod throttle;

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::{
    ErrorData, RoleClient,
    model::{
        CancelledNotificationParam, ClientCapabilities, ClientConfig, ClientRequest, ClientResult, ErrorCode,
        Implementation, ProgressToken, ProtocolVersion, RequestId, ServerNotification, ServerRequest, ServerResult,
    },
    service::{
        ClientInitializeError, NotificationContext, Peer, PeerRequestOptions, QuitReason, RequestContext, Service,
        ServiceError, serve_client_with_ct,
    },
    transport::{Transport, streamable_http_client::AuthRequiredError},
};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use pi_exthost::Desk;

use self::{errand::Errand, pipe::Program};
use super::{
    entry::Route,
    limits::Limits,
    link::{About, Counter, Elicited, Link, LinkFault, News, Progress, Request, Wanted},
};

/// Of one question of a server, its form included, and of one line of its log: so much of each may wait for somebody.
const SAID: usize = 16 << 10;
/// The code of a refusal by which a server wants somebody to look at a page first.
const PAGE_FIRST: ErrorCode = ErrorCode(-32042);
/// How long a server that is told to go may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// Reaches a server by its route and waits until it has answered `initialize`. Dropping the future gives it up, process
/// and all.
pub(super) async fn connect(
    route: &Route,
    desk: &Desk,
    limits: &Limits,
    counter: Counter,
) -> Result<Arc<dyn Link>, LinkFault> {
    match route {
        Route::Process(command) => {
            let (program, pipe) = Program::start(command, desk, limits).await?;
            let begun = begin(pipe, counter).await;
            match begun {
                Ok(begun) => Ok(Speaking::link(begun, Some(program))),
                Err(fault) => Err(program.explain(fault).await),
            }
        }
        Route::Http(address) => {
            let transport = Errand::transport(address, desk, limits)?;
            Ok(Speaking::link(begin(transport, counter).await?, None))
        }
    }
}

/// A connection over which both have introduced themselves.
struct Begun {
    about: About,
    peer: Peer<RoleClient>,
    listeners: Listeners,
    stop: CancellationToken,
    ended: watch::Receiver<Option<String>>,
}

/// Who hears of the progress of which request. A lock and no task: it is held for a look-up.
type Listeners = Arc<Mutex<Audience>>;

#[derive(Default)]
struct Audience {
    known: HashMap<ProgressToken, mpsc::Sender<Progress>>,
    /// Progress of requests whose listener is not there yet: a server may be faster than we are.
    early: VecDeque<(ProgressToken, Progress)>,
}

/// Early progress that is kept; the oldest gives way.
const EARLY: usize = 32;

async fn begin<T>(transport: T, counter: Counter) -> Result<Begun, LinkFault>
where
    T: Transport<RoleClient> + 'static,
{
    let (stop, listeners) = (CancellationToken::new(), Listeners::default());
    let ear = Ear { counter, listeners: Arc::clone(&listeners) };
    let running = serve_client_with_ct(ear, transport, stop.clone()).await.map_err(|error| not_begun(&error))?;
    let peer = running.peer().clone();
    let about = about(&peer);
    if !ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == about.protocol) {
        stop.cancel();
        return Err(strange_version(&about.protocol));
    }
    let (end, ended) = watch::channel(None);
    // Ends with the connection.
    tokio::spawn(async move {
        let reason = match running.waiting().await {
            Ok(QuitReason::Cancelled) => "it was closed".to_owned(),
            Ok(QuitReason::JoinError(broken)) => broken.to_string(),
            Ok(_) => "the server closed it".to_owned(),
            Err(broken) => broken.to_string(),
        };
        end.send_replace(Some(reason));
    });
    Ok(Begun { about, peer, listeners, stop, ended })
}

fn strange_version(version: &str) -> LinkFault {
    let known = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect::<Vec<_>>().join(", ");
    let message = format!("it speaks version {version:?} of the protocol; pi speaks {known}");
    LinkFault::Unreachable { message, is_permanent: true }
}

fn about(peer: &Peer<RoleClient>) -> About {
    let info = peer.peer_info();
    let told = info.as_deref().map(|info| json!(info)).unwrap_or_default();
    let text = |value: &Value| shorten(value.as_str().unwrap_or_default());
    let has = |name: &str| told["capabilities"].get(name).is_some_and(Value::is_object);
    About {
        name: text(&told["serverInfo"]["name"]),
        version: text(&told["serverInfo"]["version"]),
        protocol: text(&told["protocolVersion"]),
        has_tools: has("tools"),
        has_prompts: has("prompts"),
        has_resources: has("resources"),
    }
}

/// What we answer when the server asks.
struct Ear {
    counter: Counter,
    listeners: Listeners,
}

impl Service<RoleClient> for Ear {
    async fn handle_request(
        &self,
        request: ServerRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        let asked = json!(request);
        let method = asked["method"].as_str().unwrap_or_default();
        let answer = match method {
            "ping" => return Ok(ClientResult::empty(())),
            "roots/list" => {
                let root = |uri: &String| json!({ "uri": uri, "name": "project" });
                json!({ "roots": self.counter.roots.iter().map(root).collect::<Vec<_>>() })
            }
            "elicitation/create" => tokio::select! {
                said = self.elicit(&asked["params"]) => said,
                // The server does not want to know any more, and nobody is asked any longer.
                () = context.ct.cancelled() => json!({ "action": "cancel" }),
            },
            other => return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, other.to_owned(), None)),
        };
        serde_json::from_value(answer).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        let told = json!(notification);
        let params = &told["params"];
        let news = match told["method"].as_str().unwrap_or_default() {
            "notifications/progress" => {
                self.progress(params);
                return Ok(());
            }
            "notifications/tools/list_changed" => News::ToolsChanged,
            "notifications/prompts/list_changed" => News::PromptsChanged,
            "notifications/resources/list_changed" => News::ResourcesChanged,
            "notifications/message" => {
                let mut text = match &params["data"] {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                text.truncate(text.floor_char_boundary(SAID));
                News::Log { level: shorten(params["level"].as_str().unwrap_or("info")), text }
            }
            _ => return Ok(()),
        };
        // Whoever says more than is listened to is not waited for.
        let _ = self.counter.news.try_send(news);
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let capabilities = json!({ "roots": { "listChanged": false }, "elicitation": { "form": {}, "url": {} } });
        let capabilities: ClientCapabilities = serde_json::from_value(capabilities).unwrap_or_default();
        let us = Implementation::new("pi", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, us).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }
}

impl Ear {
    async fn elicit(&self, params: &Value) -> Value {
        if params.to_string().len() > SAID {
            return json!({ "action": "decline" });
        }
        let message = shorten(params["message"].as_str().unwrap_or_default());
        let wanted = match (params["url"].as_str(), params["requestedSchema"].as_object()) {
            (Some(url), _) => Wanted::Visit(url.to_owned()),
            (None, Some(schema)) => Wanted::Form(schema.clone()),
            (None, None) => return json!({ "action": "decline" }),
        };
        let is_visit = matches!(wanted, Wanted::Visit(_));
        let (answer, answered) = oneshot::channel();
        if self.counter.news.try_send(News::Question { message, wanted, answer }).is_err() {
            return json!({ "action": "decline" });
        }
        match answered.await {
            // Whoever opened an address filled in nothing.
            Ok(Elicited::Accepted(_)) if is_visit => json!({ "action": "accept" }),
            Ok(Elicited::Accepted(content)) => json!({ "action": "accept", "content": content }),
            Ok(Elicited::Declined) | Err(_) => json!({ "action": "decline" }),
            Ok(Elicited::Dismissed) => json!({ "action": "cancel" }),
        }
    }

    fn progress(&self, params: &Value) {
        let Ok(token) = serde_json::from_value::<ProgressToken>(params["progressToken"].clone()) else { return };
        let progress = Progress {
            done: params["progress"].as_f64().unwrap_or_default(),
            total: params["total"].as_f64(),
            message: params["message"].as_str().map(shorten),
        };
        let mut audience = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        match audience.known.get(&token) {
            // The next one says more.
            Some(listener) => drop(listener.try_send(progress)),
            None => {
                if audience.early.len() == EARLY {
                    audience.early.pop_front();
                }
                audience.early.push_back((token, progress));
            }
        }
    }
}

/// A link over the SDK.
struct Speaking {
    begun: Begun,
    /// The process behind it, if there is one.
    program: Option<Program>,
    /// Why nobody answers any more, as soon as a request has shown it: nothing else does where there is no pipe that closes.
    unanswered: watch::Sender<Option<String>>,
}

impl Speaking {
    fn link(begun: Begun, program: Option<Program>) -> Arc<dyn Link> {
        Arc::new(Self { begun, program, unanswered: watch::Sender::new(None) })
    }

    async fn ask(&self, request: Request, progress: Option<mpsc::Sender<Progress>>) -> Result<Value, LinkFault> {
        let written = json!({ "method": request.method(), "params": request.params() });
        let nonsense = |error: serde_json::Error| LinkFault::Nonsense { message: error.to_string() };
        let written: ClientRequest = serde_json::from_value(written).map_err(nonsense)?;
        let peer = &self.begun.peer;
        let sent = peer.send_cancellable_request(written, PeerRequestOptions::no_options()).await;
        let handle = sent.map_err(|error| refused(&error))?;
        let mut open = Open {
            peer: peer.clone(),
            listeners: Arc::clone(&self.begun.listeners),
            id: Some(handle.id.clone()),
            token: handle.progress_token.clone(),
        };
        if let Some(progress) = progress {
            open.listen(progress);
        }
        let answered = handle.rx.await;
        open.id = None;
        let result: ServerResult = match answered {
            Ok(answered) => answered.map_err(|error| refused(&error))?,
            Err(_) => return Err(LinkFault::Lost { message: "it did not answer".to_owned() }),
        };
        serde_json::to_value(result).map_err(nonsense)
    }
}

impl Link for Speaking {
    fn about(&self) -> &About {
        &self.begun.about
    }

    fn request(
        &self,
        request: Request,
        progress: Option<mpsc::Sender<Progress>>,
    ) -> BoxFuture<'_, Result<Value, LinkFault>> {
        async move {
            let answered = self.ask(request, progress).await;
            match (answered, &self.program) {
                (Err(fault @ LinkFault::Lost { .. }), Some(program)) => Err(program.explain(fault).await),
                (Err(LinkFault::Lost { message }), None) => {
                    self.unanswered.send_replace(Some(message.clone()));
                    Err(LinkFault::Lost { message })
                }
                (answered, _) => answered,
            }
        }
        .boxed()
    }

    fn lost(&self) -> BoxFuture<'_, String> {
        async move {
            let (mut ended, mut unanswered) = (self.begun.ended.clone(), self.unanswered.subscribe());
            // The senders are gone only together with the connection.
            let reason = tokio::select! {
                reason = ended.wait_for(Option::is_some) => reason.ok().and_then(|reason| reason.clone()),
                reason = unanswered.wait_for(Option::is_some) => reason.ok().and_then(|reason| reason.clone()),
            };
            let fault = LinkFault::Lost { message: reason.unwrap_or_else(|| "it is gone".to_owned()) };
            let explained = match &self.program {
                Some(program) => program.explain(fault).await,
                None => fault,
            };
            match explained {
                LinkFault::Lost { message } => message,
                other => other.to_string(),
            }
        }
        .boxed()
    }

    fn memory(&self) -> BoxFuture<'_, Option<u64>> {
        async move { self.program.as_ref()?.memory().await }.boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async move {
            self.begun.stop.cancel();
            let mut ended = self.begun.ended.clone();
            // One that does not end is killed below, or forgotten.
            let _ = timeout(FAREWELL, ended.wait_for(Option::is_some)).await;
            if let Some(program) = &self.program {
                program.end().await;
            }
        }
        .boxed()
    }
}

impl Drop for Speaking {
    fn drop(&mut self) {
        self.begun.stop.cancel();
    }
}

/// A request that is not answered yet. The server is told when nobody waits for it any more.
struct Open {
    peer: Peer<RoleClient>,
    listeners: Listeners,
    id: Option<RequestId>,
    token: ProgressToken,
}

impl Open {
    fn listen(&self, progress: mpsc::Sender<Progress>) {
        let mut audience = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        audience.early.retain(|(token, early)| {
            let is_ours = *token == self.token;
            if is_ours {
                // The next one says more.
                drop(progress.try_send(early.clone()));
            }
            !is_ours
        });
        audience.known.insert(self.token.clone(), progress);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).known.remove(&self.token);
        if let Some(id) = self.id.take() {
            let peer = self.peer.clone();
            // Ends as soon as it is said, or cannot be.
            tokio::spawn(async move {
                let param = CancelledNotificationParam::new(Some(id), Some("nobody waits for it".to_owned()));
                // A server that is gone needs not be told.
                let _ = timeout(FAREWELL, peer.notify_cancelled(param)).await;
            });
        }
    }
}

fn not_begun(error: &ClientInitializeError) -> LinkFault {
    if let Some(challenge) = error.auth_challenge() {
        return LinkFault::Unauthorized { message: shorten(challenge) };
    }
    match error {
        ClientInitializeError::JsonRpcError(error) => told(error),
        ClientInitializeError::ConnectionClosed(_) => {
            LinkFault::Lost { message: "it closed before it introduced itself".to_owned() }
        }
        ClientInitializeError::TransportError { error, .. } => {
            let (message, is_permanent) = match errand::explain(error.error.as_ref()) {
                Some(LinkFault::Unreachable { message, is_permanent }) => (message, is_permanent),
                Some(LinkFault::Lost { message }) => (message, false),
                Some(_) | None => (root_cause(error.error.as_ref()), false),
            };
            LinkFault::Unreachable { message, is_permanent }
        }
        ClientInitializeError::Cancelled => LinkFault::Lost { message: "it was given up".to_owned() },
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            let message = "it answered `initialize` with something else than what it is and can do".to_owned();
            LinkFault::Nonsense { message }
        }
        other => LinkFault::Nonsense { message: shorten(&other.to_string()) },
    }
}

fn refused(error: &ServiceError) -> LinkFault {
    match error {
        ServiceError::McpError(error) => told(error),
        ServiceError::TransportSend(error) => match challenge(error.error.as_ref()) {
            Some(message) => LinkFault::Unauthorized { message },
            None => errand::explain(error.error.as_ref()).unwrap_or_else(|| LinkFault::Unreachable {
                message: root_cause(error.error.as_ref()),
                is_permanent: false,
            }),
        },
        ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
            LinkFault::Lost { message: "it closed".to_owned() }
        }
        other => LinkFault::Nonsense { message: shorten(&other.to_string()) },
    }
}

/// What a server wants to have before it answers, if that is why it did not.
fn challenge(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let causes = std::iter::successors(Some(error), |cause| cause.source());
    let wanted = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<AuthRequiredError>().map(|wanted| shorten(&wanted.www_authenticate_header))
    };
    causes.filter_map(wanted).next()
}

/// An error in the place of an answer: the server's own, or ours about what it answered.
fn told(error: &ErrorData) -> LinkFault {
    let mut message = shorten(&error.message);
    // What it wants somebody to do stands beside its words.
    let wanted = error.data.as_ref().filter(|_| error.code == PAGE_FIRST).map(|data| &data["elicitations"]);
    for page in wanted.and_then(Value::as_array).into_iter().flatten().filter_map(|page| page["url"].as_str()).take(4) {
        message.push_str(&format!("; it wants a person to open {} first", shorten(page)));
    }
    match error.code {
        salvage::UNREADABLE => LinkFault::Nonsense { message },
        code => LinkFault::Refused { code: i64::from(code.0), message },
    }
}

/// The innermost cause says most.
fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    shorten(&cause.to_string())
}

/// What a server says to a person is not longer than somebody reads.
fn shorten(text: &str) -> String {
    const MOST: usize = 2000;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
