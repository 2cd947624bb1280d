//! HTTP: the way in for WebSockets, the page, whether the server is well, and the login of a browser.

use std::{path::PathBuf, sync::Arc};

use axum::{
    Extension, Json, Router,
    extract::{
        Query, Request, State, WebSocketUpgrade,
        rejection::{BytesRejection, JsonRejection, QueryRejection},
        ws::rejection::WebSocketUpgradeRejection,
    },
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use pi_session::{OutputFault, listing::OutputError, look::Sight, settings::nearest};
use pi_transcript::SessionId;
use pi_wire::{ConnectionOptions, Error};
use serde::{Deserialize, Serialize};
use tokio::{net::TcpListener, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{accept::accept, page, strangers::Place, traffic::Traffic, websocket};
use crate::{
    connection::Identity,
    door::{COOKIE_MS, Door, Refused, TICKET_MS, Visitor},
    hall::{
        Counts,
        download::{Form, Source, Unsent},
        now,
    },
    lobby::Crowded,
    server::Server,
};

/// Bytes that are read from a connection at once. The whole buffer is cleared before every read, so a usual frame should
/// fill much of it; a larger one is read in several goes.
const READ_BUFFER: usize = 8 << 10;

const EXPORT: &str = "/export";
const OUTPUT: &str = "/output";

/// Whoever holds the token is one principal: there is one token.
const PRINCIPAL: &str = "token";

/// By what another `pi` knows who has its port. Tells no version.
pub const SERVER: &str = "pi";
/// When a client that found no room should try again.
const FULL_SECONDS: u64 = 5;

/// What every request needs.
#[derive(Clone)]
struct Desk {
    server: Arc<Server>,
    door: Arc<Door>,
}

/// Serves until it is told to stop; connections that are open are not waited for.
pub async fn serve(server: Arc<Server>, door: Arc<Door>, listener: TcpListener, stop: CancellationToken) {
    let hall = Arc::clone(server.hall());
    let desk = Desk { server, door };
    let router = Router::new()
        .route("/", get(root))
        .route("/ws", get(connect))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route(EXPORT, get(export))
        .route(OUTPUT, get(output))
        .route("/look", get(sight).post(peruse))
        .route("/login", post(login))
        .route("/ticket", post(ticket))
        .fallback(elsewhere)
        .method_not_allowed_fallback(otherwise)
        .layer(middleware::from_fn_with_state(desk.clone(), in_time))
        .with_state(desk);
    accept(listener, router, &hall, stop).await;
}

impl Desk {
    /// Whether somebody may come in.
    fn enter(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        self.door.enter(&visitor(headers), now().0).map_err(|refused| self.turn_away(headers, refused))
    }

    /// Whether the request was meant for us.
    fn look(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        self.door.look(&visitor(headers)).map_err(|refused| self.turn_away(headers, refused))
    }

    /// What whoever looks after the server should know of.
    fn turn_away(&self, headers: &HeaderMap, reason: Refused) -> Refusal {
        let Visitor { host, origin, .. } = visitor(headers);
        tracing::warn!(%reason, host, origin, "somebody was turned away");
        Counts::count(&self.server.hall().counts.refused_visitors);
        Refusal(reason)
    }
}

/// Gives whoever shows a credential a place that nobody takes, and a request the time to be said to its end.
async fn in_time(
    State(desk): State<Desk>,
    Extension(place): Extension<Arc<Place>>,
    request: Request,
    next: Next,
) -> Response {
    if let Some(twice) = [header::HOST, header::ORIGIN].iter().find(|name| is_twice(request.headers(), name)) {
        // Whoever is in front of us may have looked at the other one.
        let error = format!("{twice} stands there twice");
        return refuse(StatusCode::BAD_REQUEST, &error, "send it once");
    }
    if desk.door.enter(&visitor(request.headers()), now().0).is_ok() {
        place.show_credential();
    }
    // A file is made and sent as long as that takes. Nothing of it waits for whoever asks: it has no body.
    if [EXPORT, OUTPUT].contains(&request.uri().path()) {
        return next.run(request).await;
    }
    match timeout(desk.server.hall().settings.heartbeat.patience, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let hint = "send the whole request in one go";
            let late = refuse(StatusCode::REQUEST_TIMEOUT, "the request took too long", hint);
            ([(header::CONNECTION, "close")], late).into_response()
        }
    }
}

/// The page of the server, or a WebSocket for clients that ask for one here.
async fn root(
    State(desk): State<Desk>,
    query: Query<Vec<(String, String)>>,
    traffic: Extension<Arc<Traffic>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    match upgrade {
        Ok(upgrade) => connect(State(desk), query, traffic, headers, Ok(upgrade)).await,
        Err(_) => match desk.look(&headers) {
            Ok(()) => page::front(&headers),
            Err(refusal) => refusal.into_response(),
        },
    }
}

async fn connect(
    State(desk): State<Desk>,
    Query(query): Query<Vec<(String, String)>>,
    Extension(traffic): Extension<Arc<Traffic>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if let Err(refusal) = desk.enter(&headers) {
        return refusal.into_response();
    }
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => {
            let hint = "this is the address of a WebSocket: open it with a client, as ws://";
            return refuse(rejection.status(), &rejection.body_text(), hint);
        }
    };
    // Whoever comes now would be refused everything, and takes up its commands with the next server.
    if desk.server.is_draining() {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "the server is ending", "connect again when it is back");
    }
    let names = || query.iter().map(|(name, _)| name);
    if let Some((name, meant)) = names().find_map(|name| Some((name, misspelt(name)?))) {
        let error = format!("the parameter {} is not known", name.escape_debug());
        return refuse(StatusCode::BAD_REQUEST, &error, &format!("it is called {meant}"));
    }
    if let Some(twice) =
        ConnectionOptions::NAMES.iter().find(|option| names().filter(|name| name == *option).count() > 1)
    {
        return refuse(StatusCode::BAD_REQUEST, &format!("the parameter {twice} stands there twice"), "send it once");
    }
    let pairs = query.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let options = match ConnectionOptions::from_pairs(pairs) {
        Ok(options) => options,
        Err(faults) => {
            let faults = faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            let hint =
                "clientId and lifecycle are described in docs/protocol-additions.md, under client_id and lifecycle";
            return refuse(StatusCode::BAD_REQUEST, &faults, hint);
        }
    };
    let identity = Identity::new(PRINCIPAL, options.client_id.as_ref().map(|id| id.as_str()));
    let client = match desk.server.enter(identity, options.lifecycle) {
        Ok(client) => client,
        Err(crowded) => return full(crowded),
    };
    let limit = client.hall.settings.frame.bytes;
    let connection = Arc::clone(&client.connection);
    let (server, failing) = (Arc::clone(&desk.server), Arc::clone(&desk.server));
    upgrade
        // What is a little too large is answered; what is much too large is not even read.
        .read_buffer_size(READ_BUFFER)
        .max_message_size(limit.saturating_mul(2))
        .max_frame_size(limit.saturating_mul(2))
        .on_failed_upgrade(move |error| {
            tracing::info!(%error, "a client went away before it was connected");
            failing.leave(&connection);
        })
        .on_upgrade(move |socket| websocket::serve(server, client, socket, traffic))
}

/// The option that is meant by a name which is not quite one. Others may be those of a proxy, and are left alone.
fn misspelt(name: &str) -> Option<&'static str> {
    let names = ConnectionOptions::NAMES;
    if names.contains(&name) { None } else { nearest(name, names) }
}

/// What everybody is told who is refused: why, and what to do.
fn refuse(status: StatusCode, error: &str, hint: &str) -> Response {
    (status, Json(serde_json::json!({"error": error, "hint": hint}))).into_response()
}

/// What there is, for whoever asks for something else.
const PATHS: &str = "GET / (the page), GET /ws (WebSocket), GET /healthz, GET /readyz, GET /metrics, GET /export, GET /output, GET and POST /look, POST /ticket, POST /login";

/// The files of the page tell nobody anything: they ask for no token, as the page that logs in cannot have one yet.
async fn elsewhere(State(desk): State<Desk>, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    if (method == Method::GET || method == Method::HEAD)
        && desk.door.look(&visitor(&headers)).is_ok()
        && let Some(file) = page::file(uri.path(), &headers)
    {
        return file;
    }
    nothing(&desk, &headers, StatusCode::NOT_FOUND, "there is nothing at this path")
}

async fn otherwise(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    nothing(&desk, &headers, StatusCode::METHOD_NOT_ALLOWED, "this path is asked in another way")
}

/// Says what there is instead, to whoever meant us.
fn nothing(desk: &Desk, headers: &HeaderMap, status: StatusCode, error: &str) -> Response {
    match desk.look(headers) {
        Ok(()) => refuse(status, error, &format!("there are {PATHS}")),
        Err(refusal) => refusal.into_response(),
    }
}

/// There is no room for one more client now.
fn full(Crowded { limit }: Crowded) -> Response {
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    let error = Error::ConnectionLimit { limit, retry_after_ms: 1000 * FULL_SECONDS };
    let told = serde_json::json!({
        "error": error.to_string(),
        "code": error.code(),
        "hint": error.hint(),
        "retryAfterMs": error.retry_after_ms(),
    });
    let headers = [(header::RETRY_AFTER, FULL_SECONDS.to_string())];
    (StatusCode::SERVICE_UNAVAILABLE, headers, Json(told)).into_response()
}

/// Whether the process answers. Asks for no token, but for the right host.
async fn healthz(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    match desk.look(&headers) {
        Ok(()) => (StatusCode::OK, [(header::SERVER, SERVER)], "ok\n").into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

/// Whether commands that change something are taken.
async fn readyz(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    if let Err(refusal) = desk.enter(&headers) {
        return refusal.into_response();
    }
    let problems = desk.server.problems().await;
    let status = if problems.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Readiness { ready: problems.is_empty(), problems })).into_response()
}

/// Which session is wanted, and as what.
#[derive(Debug, Deserialize)]
struct Wanted {
    session: Option<String>,
    /// One that is only looked at.
    file: Option<PathBuf>,
    form: String,
}

/// A session as a file. A command cannot hand out that much: its answer would stand before every event of its connection.
async fn export(
    State(desk): State<Desk>,
    wanted: Result<Query<Wanted>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    if let Err(refusal) = desk.enter(&headers) {
        return refusal.into_response();
    }
    let hint = || {
        format!(
            "ask as /export?session=ID&form=FORM, or with file=PATH of a stored one; forms are {}",
            Form::NAMES.join(", ")
        )
    };
    let (source, form) = match wanted {
        Ok(Query(Wanted { session, file, form })) => match (session, file, Form::read(&form)) {
            (Some(session), None, Some(form)) => (Source::Session(SessionId::from(session)), form),
            (None, Some(file), Some(form)) => (Source::File(file), form),
            (_, _, None) => return refuse(StatusCode::BAD_REQUEST, "there is no such form", &hint()),
            (_, _, Some(_)) => return refuse(StatusCode::BAD_REQUEST, "one session is to be named", &hint()),
        },
        Err(rejection) => return refuse(rejection.status(), &rejection.body_text(), &hint()),
    };
    match desk.server.hall().download(&source, form).await {
        Ok(download) => page::download(download),
        Err(unsent) => leave_unsent(&unsent),
    }
}

/// Which output of a command is wanted.
#[derive(Debug, Deserialize)]
struct WantedOutput {
    session: String,
    name: String,
}

/// All that a command said whose output was too long to be shown.
async fn output(
    State(desk): State<Desk>,
    wanted: Result<Query<WantedOutput>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    if let Err(refusal) = desk.enter(&headers) {
        return refusal.into_response();
    }
    let Query(WantedOutput { session, name }) = match wanted {
        Ok(wanted) => wanted,
        Err(rejection) => {
            let hint = "ask as /output?session=ID&name=NAME; the name is that of the file in fullOutputPath";
            return refuse(rejection.status(), &rejection.body_text(), hint);
        }
    };
    match desk.server.hall().output(&SessionId::from(session), name).await {
        Ok(download) => page::download(download),
        Err(unsent) => leave_unsent(&unsent),
    }
}

/// Which file of a session is looked at.
#[derive(Debug, Deserialize)]
struct Looked {
    file: PathBuf,
}

/// How a session is told whose files are looked at.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Seen {
    length: u64,
    envelopes_length: u64,
    /// The number of the process that has it open, where the system tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_by: Option<u32>,
}

const LOOK: &str = "ask as /look?file=PATH, where PATH is the sessionPath of a stored session";

/// How the files of a session are that somebody else may have open.
async fn sight(
    State(desk): State<Desk>,
    wanted: Result<Query<Looked>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    if let Err(refusal) = desk.enter(&headers) {
        return refusal.into_response();
    }
    let Query(Looked { file }) = match wanted {
        Ok(wanted) => wanted,
        Err(rejection) => return refuse(rejection.status(), &rejection.body_text(), LOOK),
    };
    match desk.server.hall().sight(&file).await {
        Ok(Sight { length, envelopes, holder }) => {
            let seen = Seen { length, envelopes_length: envelopes, held_by: holder.map(|holder| holder.process) };
            ([(header::CACHE_CONTROL, "no-store")], Json(seen)).into_response()
        }
        Err(error) => leave_unsent(&Unsent::Failed(error)),
    }
}

/// Answers one command that reads, from the files of a session that somebody else may have open. The answer is the response that
/// a connection would be sent, be it a failure.
async fn peruse(
    State(desk): State<Desk>,
    wanted: Result<Query<Looked>, QueryRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    if let Err(refusal) = desk.enter(&headers) {
        return refusal.into_response();
    }
    let Query(Looked { file }) = match wanted {
        Ok(wanted) => wanted,
        Err(rejection) => return refuse(rejection.status(), &rejection.body_text(), LOOK),
    };
    let body = match body {
        Ok(body) => body,
        Err(rejection) => return refuse(rejection.status(), &rejection.body_text(), "send one command"),
    };
    let hall = desk.server.hall();
    let answer = match pi_wire::parse(&body, &hall.settings.frame) {
        Ok(frame) => hall.peruse(&file, frame).await,
        Err(reject) => serde_json::to_string(&reject.response()).expect("a response is JSON"),
    };
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (headers, answer).into_response()
}

/// Says why a file was not sent.
fn leave_unsent(unsent: &Unsent) -> Response {
    let (status, hint) = match unsent {
        Unsent::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "`pi export` writes it on the server's own disk"),
        Unsent::Busy => (StatusCode::SERVICE_UNAVAILABLE, "ask again when they are done"),
        Unsent::NoOutput(OutputError::Unknown { .. } | OutputError::File(OutputFault::NotOutput)) => {
            (StatusCode::NOT_FOUND, "the name is that of the file in fullOutputPath of a message of this session")
        }
        Unsent::NoOutput(OutputError::File(OutputFault::Removed)) => (StatusCode::GONE, "run the command again"),
        Unsent::NoOutput(OutputError::File(OutputFault::TooLarge { .. })) => {
            (StatusCode::PAYLOAD_TOO_LARGE, "read it where the server is; the message says where")
        }
        Unsent::NoOutput(OutputError::File(OutputFault::Unreadable(_)) | OutputError::Session(_)) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "the log of the server may say more")
        }
        Unsent::Failed(error) => {
            let is_missing = matches!(error, Error::SessionNotFound(_));
            let is_ours =
                matches!(error, Error::Internal { .. } | Error::StorageFailed { .. } | Error::StorageUnreadable { .. });
            let status = match (is_missing, is_ours) {
                (true, _) => StatusCode::NOT_FOUND,
                (false, true) => StatusCode::INTERNAL_SERVER_ERROR,
                (false, false) => StatusCode::CONFLICT,
            };
            (status, error.hint().unwrap_or("`pi export` writes it on the server's own disk"))
        }
    };
    match unsent {
        Unsent::Failed(error) => {
            let told = serde_json::json!({"error": error.to_string(), "hint": hint, "code": error.code()});
            (status, Json(told)).into_response()
        }
        Unsent::TooLarge | Unsent::Busy | Unsent::NoOutput(_) => refuse(status, &unsent.to_string(), hint),
    }
}

async fn metrics(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    if let Err(refusal) = desk.enter(&headers) {
        return refusal.into_response();
    }
    let text = desk.server.prometheus().await;
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// Whether the server can do its work, for machines.
#[derive(Debug, Serialize)]
struct Readiness {
    ready: bool,
    problems: Vec<String>,
}

/// What a browser brings from the address it was given.
#[derive(Debug, Deserialize)]
struct Login {
    ticket: String,
}

/// Exchanges a ticket for a cookie that no script can read and no other site can send.
async fn login(State(desk): State<Desk>, headers: HeaderMap, login: Result<Json<Login>, JsonRejection>) -> Response {
    if let Err(refusal) = desk.look(&headers) {
        return refusal.into_response();
    }
    let Json(login) = match login {
        Ok(login) => login,
        Err(rejection) => {
            let hint = r#"send {"ticket": "…"} with Content-Type: application/json"#;
            return refuse(rejection.status(), &rejection.body_text(), hint);
        }
    };
    match desk.door.exchange(&login.ticket, now().0) {
        Ok(cookie) => {
            let (name, seconds) = (visitor(&headers).cookie(), COOKIE_MS / 1000);
            let cookie = format!("{name}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}", cookie.reveal());
            (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
        }
        Err(refused) => desk.turn_away(&headers, refused).into_response(),
    }
}

/// One more ticket, for whoever may come in anyway: for a second browser, or for another day.
async fn ticket(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    if let Err(refusal) = desk.enter(&headers) {
        return refusal.into_response();
    }
    let ticket = desk.door.ticket(now().0);
    let told = serde_json::json!({"ticket": ticket.reveal(), "expiresInMs": TICKET_MS});
    ([(header::CACHE_CONTROL, "no-store")], Json(told)).into_response()
}

/// Why somebody was turned away.
struct Refusal(Refused);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match self.0 {
            Refused::Host | Refused::Origin => StatusCode::FORBIDDEN,
            Refused::NoCredential | Refused::Credential | Refused::Ticket => StatusCode::UNAUTHORIZED,
        };
        let told = serde_json::json!({"error": self.0.to_string(), "hint": self.0.hint(), "code": self.0.code()});
        let mut response = (status, Json(told)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

fn is_twice(headers: &HeaderMap, name: &HeaderName) -> bool {
    headers.get_all(name).iter().nth(1).is_some()
}

fn visitor(headers: &HeaderMap) -> Visitor<'_> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    Visitor {
        host: text(header::HOST),
        origin: text(header::ORIGIN),
        authorization: text(header::AUTHORIZATION),
        cookies: text(header::COOKIE),
    }
}
