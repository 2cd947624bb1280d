//! Asks a provider and hands out its answer.
//!
//! A call goes: build the request, filter and intercept it, ask the breaker, send it, try again while no byte of the
//! answer has arrived or all that it says is an error, then decode what comes. [`Client::stream`] gives an [`Answer`] that
//! is read event by event, [`Client::complete`] waits for a whole answer, [`Client::send`] is for requests that are no
//! chats. Deliberately not here: retrying an answer of which something was said, which is the session's decision.

mod answer;
mod deadline;
mod exchange;
mod facts;
mod page;
mod prepared;
mod seam;
mod settings;
mod source;
mod toolless;
mod watch;

use std::{fmt, sync::Arc, time::Duration};

use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::exchange::now;
pub use self::{
    answer::{Answer, Completion, Whole},
    facts::Facts,
    seam::{Draft, EventStream, ForeignCall, ForeignStream, Interception, Interceptor, Replacer},
    settings::{RetryListener, Settings, Timeouts},
};
use self::{
    deadline::{Deadline, within},
    exchange::{Exchange, ReplyBody, Tried, Verdict},
    prepared::{Prepared, PreparedProviders},
    source::Source,
    toolless::Toolless,
};
use crate::{
    breaker::{Breakers, Outcome, Pass},
    call::{Attempts, Call},
    credential::{Credential, attachments},
    demo,
    dialect::Dialect,
    error::CallError,
    guardrail::Finding,
    manifest::{Manifest, endpoint::SecretHeader},
    request::{
        Address, LastAddress, Mode, Request, Target, build_after, has_words, in_words, refuses_tools, text_calls,
    },
    secret::Carried,
    text_call::Grammar,
    transport::{Content, Outgoing, Routes},
};

/// Asks providers. Cheap to clone; clones share connections and breakers.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    routes: Arc<Routes>,
    timeouts: Timeouts,
    largest_answer: usize,
    breakers: Breakers,
    interceptor: Option<Arc<dyn Interceptor>>,
    chance: fn() -> f64,
    retry_listener: Option<RetryListener>,
    demo_pause: Duration,
    prepared: Arc<PreparedProviders>,
    toolless: Arc<Toolless>,
    last_address: Arc<LastAddress>,
}

/// What holds for a chat from its beginning to the end of its answer.
struct Terms<'a> {
    manifest: &'a Manifest,
    prepared: &'a Prepared,
    mode: Mode,
    credential: Option<&'a Credential>,
    cancel: &'a CancellationToken,
    /// How calls in the text of the answer are read; absent where its text is left alone.
    text_calls: Option<Grammar>,
    /// Should the model refuse the tools of this request, it can be told of them in words.
    has_words: bool,
    deadline: Option<Deadline>,
    attempts: Attempts,
}

impl Client {
    /// Reads no file and opens nothing: what the network needs is prepared for the first call that needs it.
    pub fn new(settings: Settings) -> Self {
        let Settings { network, timeouts, largest_answer, breakers, interceptor, chance, retry_listener, demo_pause } =
            settings;
        let routes = Arc::new(Routes::new(network, timeouts.connect));
        let (prepared, toolless, last_address) = (Arc::default(), Arc::default(), Arc::default());
        let inner = Inner {
            routes,
            timeouts,
            largest_answer,
            breakers,
            interceptor,
            chance,
            retry_listener,
            demo_pause,
            prepared,
            toolless,
            last_address,
        };
        Self { inner: Arc::new(inner) }
    }

    /// The same client with another interceptor: connections, breakers and what was prepared are shared.
    #[must_use]
    pub fn with_interceptor(&self, interceptor: Arc<dyn Interceptor>) -> Self {
        let inner = Inner { interceptor: Some(interceptor), ..Inner::clone(&self.inner) };
        Self { inner: Arc::new(inner) }
    }

    pub fn breakers(&self) -> &Breakers {
        &self.inner.breakers
    }

    /// Asks for an answer in pieces and returns when the first word of it is there, or the end; where the caller tries
    /// again and tools have one form only, when its first byte has arrived. Cancelling the token, or dropping the future,
    /// closes the connection.
    pub async fn stream(
        &self,
        target: &Target<'_>,
        call: Call<'_>,
        credential: Option<&Credential>,
        cancel: &CancellationToken,
    ) -> Result<Answer, CallError> {
        self.begin(target, call, Mode::Stream, credential, cancel).await
    }

    /// Asks for a whole answer and returns when it is there. Cancelling the token, or dropping the future, closes the
    /// connection.
    pub async fn complete(
        &self,
        target: &Target<'_>,
        call: Call<'_>,
        credential: Option<&Credential>,
        cancel: &CancellationToken,
    ) -> Result<Completion, CallError> {
        self.begin(target, call, Mode::Whole, credential, cancel).await?.into_completion().await
    }

    /// Asks, and once more with tools in words where the model says that it takes none. Only the server knows that: lists
    /// of models do not tell. What it said is remembered, so that it is refused once and not in every turn.
    async fn begin(
        &self,
        target: &Target<'_>,
        call: Call<'_>,
        mode: Mode,
        credential: Option<&Credential>,
        cancel: &CancellationToken,
    ) -> Result<Answer, CallError> {
        let tools = call.callable();
        let is_known = !tools.is_empty() && self.inner.toolless.has(target);
        let entry = if let Some(entry) = is_known.then(|| in_words(target, tools)).flatten() {
            entry
        } else {
            let asked = self.begin_once(target, call, mode, credential, cancel).await;
            let is_refused = asked.as_ref().is_err_and(refuses_tools);
            let Some(entry) = is_refused.then(|| in_words(target, tools)).flatten() else { return asked };
            self.inner.toolless.add(target);
            entry
        };
        tracing::debug!(provider = %target.manifest.id, model = target.model, "tools are told of in words");
        self.begin_once(&Target { entry: Some(&entry), ..*target }, call, mode, credential, cancel).await
    }

    async fn begin_once(
        &self,
        target: &Target<'_>,
        call: Call<'_>,
        mode: Mode,
        credential: Option<&Credential>,
        cancel: &CancellationToken,
    ) -> Result<Answer, CallError> {
        let request = build_after(&self.inner.last_address, target, call, mode)?;
        let manifest = target.manifest;
        let prepared = &self.inner.prepared.get(manifest, request.dialect)?;
        let text_calls = text_calls(target, call.callable());
        // As a whole, where the provider declares no streaming: then it has no first byte that says anything.
        let (mode, deadline) = (request.mode, self.inner.timeouts.deadline(manifest, request.mode));
        let (attempts, has_words) = (call.options.attempts, has_words(target, call.callable()));
        let terms = Terms { manifest, prepared, mode, credential, cancel, text_calls, has_words, deadline, attempts };
        // It is large: pinned here, it is not moved to where it is waited for.
        let asked = std::pin::pin!(self.ask(target, request, terms));
        until_cancelled(cancel, asked).await
    }

    /// Sends a request that is no chat and returns the whole body. It is not filtered and not intercepted.
    pub async fn send(
        &self,
        manifest: &Manifest,
        request: Request,
        credential: Option<&Credential>,
        cancel: &CancellationToken,
    ) -> Result<Whole, CallError> {
        let read = |_: &Whole| Ok(());
        let sent = self.send_and_read(manifest, request, credential, cancel, (Content::Document, read)).await;
        sent.map(|((), whole)| whole)
    }

    /// The same for whoever knows what the body is and can read it: only what can be read is a success to the breaker.
    pub(crate) async fn send_and_read<T>(
        &self,
        manifest: &Manifest,
        request: Request,
        credential: Option<&Credential>,
        cancel: &CancellationToken,
        (content, read): (Content, impl FnOnce(&Whole) -> Result<T, CallError>),
    ) -> Result<(T, Whole), CallError> {
        let mut facts = Facts { changes: request.changes.clone(), ..Facts::new(request.dialect) };
        let deadline = self.inner.timeouts.deadline(manifest, Mode::Whole);
        let exchange = self.exchange(manifest, outgoing(manifest, request)?, Mode::Whole, credential, deadline)?;
        let exchange = Exchange { content, ..exchange };
        let mut reply = until_cancelled(cancel, exchange.run(&mut Tried::default())).await?;
        facts.take(&mut reply, &exchange.carried());
        let ReplyBody::Whole(body) = reply.body else { unreachable!("a whole answer was asked for") };
        let whole = Whole { body, facts };
        let value = read(&whole);
        match &value {
            Ok(_) => reply.pass.report(Outcome::Succeeded),
            Err(error) => reply.pass.fail(error),
        }
        Ok((value?, whole))
    }

    /// Takes an answer that somebody else produces, with the same filters, timeouts and cancellation. It is neither
    /// retried nor counted by a breaker: whoever produces it does that.
    pub async fn stream_foreign(
        &self,
        foreign: &dyn ForeignStream,
        manifest: &Manifest,
        model: &str,
        call: Call<'_>,
        cancel: &CancellationToken,
    ) -> Result<Answer, CallError> {
        let dialect = Dialect::of(manifest, None);
        let prepared = self.inner.prepared.get(manifest, dialect)?;
        let (masked, findings) = seam::filter_prompt(&prepared.guardrails, call.prompt)?;
        let replaced_by = masked.iter().map(|_| Replacer::Guardrail).collect();
        let call = Call { prompt: masked.as_ref().unwrap_or(call.prompt), options: call.options };
        let asked = ForeignCall { provider: &manifest.id, model, call, cancel };
        let deadline = self.inner.timeouts.deadline(manifest, Mode::Stream);
        let opened = within(None, deadline, until_cancelled(cancel, foreign.open(asked))).await;
        let events = opened.map_err(|overrun| overrun.into_error(&manifest.id))??;
        let facts = Facts { replaced_by, findings, is_streamed: true, ..Facts::new(dialect) };
        let prepared = &prepared;
        let (mode, credential, text_calls) = (Mode::Stream, None, None);
        let (attempts, has_words) = (call.options.attempts, false);
        let terms = Terms { manifest, prepared, mode, credential, cancel, text_calls, has_words, deadline, attempts };
        Ok(self.answer(&terms, Carried::default(), facts, Source::Foreign(events), None))
    }

    async fn ask(&self, target: &Target<'_>, mut request: Request, terms: Terms<'_>) -> Result<Answer, CallError> {
        let Terms { manifest, prepared, mode, credential, deadline, attempts, .. } = terms;
        let mut replaced_by = Vec::new();
        let findings = prepared.guardrails.filter_request(&mut request)?;
        if findings.iter().any(Finding::is_masked) {
            replaced_by.push(Replacer::Guardrail);
        }
        if let Some(interceptor) = self.inner.interceptor.as_deref() {
            let replaced = within(None, deadline, intercept(interceptor, target, &mut request)).await;
            let replaced = replaced.map_err(|overrun| overrun.into_error(&manifest.id))??;
            replaced_by.extend(replaced);
        }
        request.doubt_credential(credential);
        let mut facts = Facts { replaced_by, findings, ..Facts::new(request.dialect) };
        facts.changes = std::mem::take(&mut request.changes);
        let outgoing = outgoing(manifest, request)?;
        facts.sent_body = (!facts.replaced_by.is_empty()).then(|| outgoing.body.clone());
        if facts.dialect == Dialect::Demo {
            return self.ask_demo(&terms, &outgoing.body, facts);
        }
        let exchange = self.exchange(manifest, outgoing, mode, credential, deadline)?;
        let exchange = Exchange { attempts, ..exchange };
        let mut tried = Tried::default();
        loop {
            let mut reply = exchange.run(&mut tried).await?;
            reply.pass.begun();
            let carried = exchange.carried();
            facts.take(&mut reply, &carried);
            let source = Source::of_reply(reply.body, prepared, &carried, &facts.headers);
            facts.is_streamed = source.is_streamed();
            let mut answer = self.answer(&terms, carried, facts, source, Some(reply.pass));
            // Whoever repeats the whole call looks at its beginning alone, but has no other form of it.
            if attempts != Attempts::Client && !terms.has_words {
                return Ok(answer);
            }
            let Some(error) = answer.refusal_at_the_beginning().await else { return Ok(answer) };
            if terms.has_words && refuses_tools(error) {
                return answer.or_error();
            }
            if exchange.judge(error, &mut tried).await == Verdict::GivenUp {
                return Ok(answer);
            }
            facts = answer.abandon();
        }
    }

    /// The demo model answers inside this process, in the bytes that a server would send.
    fn ask_demo(&self, terms: &Terms<'_>, body: &[u8], facts: Facts) -> Result<Answer, CallError> {
        let reply = demo::answer(body);
        if reply.status != 200 {
            return Err(exchange::refused(
                terms.manifest,
                reply.status,
                &HeaderMap::new(),
                &reply.body(),
                &Carried::default(),
            ));
        }
        let is_streamed = terms.mode == Mode::Stream;
        let facts = Facts { status: Some(reply.status), attempts: 1, is_streamed, ..facts };
        let source = match terms.mode {
            Mode::Stream => {
                let pieces = Box::pin(reply.into_stream(self.inner.demo_pause));
                Source::Local { pieces, decoder: terms.prepared.decoder(&Carried::default()) }
            }
            Mode::Whole => Source::Whole(reply.body()),
        };
        Ok(self.answer(terms, Carried::default(), facts, source, None))
    }

    fn answer(&self, terms: &Terms<'_>, carried: Carried, facts: Facts, source: Source, pass: Option<Pass>) -> Answer {
        Answer::new(terms, carried, facts, source, pass, self.inner.timeouts.idle())
    }

    fn exchange<'a>(
        &'a self,
        manifest: &'a Manifest,
        outgoing: Outgoing,
        mode: Mode,
        credential: Option<&'a Credential>,
        deadline: Option<Deadline>,
    ) -> Result<Exchange<'a>, CallError> {
        let attachments = attachments(&manifest.endpoint.auth, credential)
            .map_err(|error| CallError::Option { option: "credential".to_owned(), reason: error.to_string() })?;
        let transport = self.inner.routes.to(&outgoing.url);
        let unusable = |source| CallError::NoNetwork { provider: manifest.id.clone(), source };
        Ok(Exchange {
            transport: transport.map_err(unusable)?,
            breakers: &self.inner.breakers,
            chance: self.inner.chance,
            retry_listener: self.inner.retry_listener.as_ref(),
            manifest,
            outgoing,
            attachments,
            secret: credential.map(|credential| &credential.secret),
            mode,
            patience: self.inner.timeouts.patience(manifest, mode),
            deadline,
            largest_answer: self.inner.largest_answer,
            content: Content::Document,
            attempts: Attempts::Client,
        })
    }
}

/// Lets the interceptor see the request, and change it.
async fn intercept(
    interceptor: &dyn Interceptor,
    target: &Target<'_>,
    request: &mut Request,
) -> Result<Option<Replacer>, CallError> {
    let payload = request.payload()?;
    let draft =
        Draft { provider: &target.manifest.id, model: target.model, payload: &payload, headers: &request.headers };
    let Interception::Replaced { payload, headers } = interceptor.intercept(draft).await? else { return Ok(None) };
    if let Some(payload) = payload {
        request.body = payload.to_string().into_bytes();
    }
    if let Some(headers) = headers {
        request.headers = headers;
    }
    Ok(Some(Replacer::Interceptor))
}

/// The request as HTTP has it; the body is not copied.
fn outgoing(manifest: &Manifest, request: Request) -> Result<Outgoing, CallError> {
    let unusable = |option: &str| CallError::Option {
        option: option.to_owned(),
        reason: format!("it is not something that HTTP can carry (manifest of {})", manifest.id),
    };
    let method = Method::from_bytes(request.method.as_bytes()).map_err(|_| unusable("method"))?;
    let mut headers = HeaderMap::with_capacity(request.headers.len() + 4);
    for (name, value) in &request.headers {
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable(name))?;
        headers.insert(header, HeaderValue::from_str(value).map_err(|_| unusable(name))?);
    }
    for SecretHeader { name, value } in &request.secret_headers {
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable(name))?;
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| unusable(name))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    let secrets = request.secrets();
    let Address { url, hidden, named_by, .. } = request.address;
    Ok(Outgoing { method, url, headers, body: request.body.into(), hidden, secrets, named_by })
}

/// Waits for the work, unless it is cancelled first; then the work is dropped at once.
async fn until_cancelled<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(CallError::Cancelled),
        outcome = work => outcome,
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.inner;
        f.debug_struct("Client").field("timeouts", &inner.timeouts).field("breakers", &inner.breakers).finish()
    }
}
