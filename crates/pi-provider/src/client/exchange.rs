//! One request and the beginning of its answer, tried again while there is none.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use reqwest::{
    StatusCode,
    header::{CONTENT_TYPE, HeaderMap},
};
use tokio::time::sleep;

use super::{
    RetryListener,
    deadline::{Deadline, Patience, within},
    page,
    source::{is_undecided, may_be_words},
};
use crate::{
    breaker::{Breakers, Pass},
    call::Attempts,
    classify::{Refusal, classify},
    credential::Attachment,
    error::{CallError, Phase, SetBy},
    limits::Limits,
    manifest::Manifest,
    request::Mode,
    retry::{Decision, Retrying},
    secret::{Carried, Secret, hide, hide_in_address},
    transport::{
        Content, Inflow, Obstacle, Outgoing, Transport, TransportFault, is_on_this_machine, next_piece, read_beginning,
        read_rest,
    },
};

/// As much of a refusal's body is read, in bytes.
const LARGEST_REFUSAL: usize = 1024 * 1024;
/// How much is read to know whether a stream comes; it is looked through with each piece, which may be a single letter.
const LARGEST_UNDECIDED: usize = 16 * 1024;
/// A refusal's body is not waited for longer than this.
const REFUSAL_PATIENCE: Duration = Duration::from_secs(5);

/// What is needed to send a request as often as it takes.
pub(super) struct Exchange<'a> {
    pub(super) transport: &'a Transport,
    pub(super) breakers: &'a Breakers,
    pub(super) chance: fn() -> f64,
    pub(super) retry_listener: Option<&'a RetryListener>,
    pub(super) manifest: &'a Manifest,
    pub(super) outgoing: Outgoing,
    pub(super) attachments: Vec<Attachment>,
    pub(super) secret: Option<&'a Secret>,
    pub(super) mode: Mode,
    /// For each attempt.
    pub(super) patience: Option<Patience>,
    /// For all attempts together.
    pub(super) deadline: Option<Deadline>,
    pub(super) largest_answer: usize,
    /// What a whole answer is, unless it says that it has lines.
    pub(super) content: Content,
    pub(super) attempts: Attempts,
}

/// The answer has begun.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) limits: Limits,
    pub(super) body: ReplyBody,
    pub(super) attempts: u32,
    pub(super) waited: Duration,
    pub(super) pass: Pass,
}

pub(super) enum ReplyBody {
    Stream { first: Bytes, rest: Box<Inflow> },
    Whole(Bytes),
}

/// What one attempt brought.
struct Begun {
    status: u16,
    headers: HeaderMap,
    limits: Limits,
    body: ReplyBody,
}

/// How often a request was sent so far, and how long was waited in between.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tried {
    attempts: u32,
    waited: Duration,
}

/// Whether it is worth another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The time for it has come.
    Again,
    GivenUp,
}

/// What the beginning of a body turned out to be.
enum Heard {
    Stream(Bytes),
    Words(Bytes),
}

impl Exchange<'_> {
    /// Sends the request until an answer begins or the policy gives up; once where the caller tries again. Only the first
    /// attempt can be refused by the breaker. Attempts that were made before count.
    pub(super) async fn run(&self, tried: &mut Tried) -> Result<Reply, CallError> {
        let provider = &self.manifest.id;
        loop {
            tried.attempts += 1;
            let attempt = tried.attempts;
            let mut pass = self.admit(attempt)?;
            let has_begun = AtomicBool::new(false);
            let error = match self.attempt(&has_begun).await {
                Ok(Begun { status, headers, limits, body }) => {
                    tracing::debug!(%provider, attempt, status, "the answer begins");
                    return Ok(Reply { status, headers, limits, body, attempts: attempt, waited: tried.waited, pass });
                }
                Err(error) => error,
            };
            pass.fail(&error);
            if has_begun.into_inner() || self.judge(&error, tried).await == Verdict::GivenUp {
                return Err(error);
            }
        }
    }

    /// Decides about another attempt after this error, of which nothing was shown but that it is tried again, and waits for it.
    pub(super) async fn judge(&self, error: &CallError, tried: &mut Tried) -> Verdict {
        let (provider, policy, attempt) = (&self.manifest.id, &self.manifest.retry_policy, tried.attempts);
        let decision = match self.attempts {
            Attempts::Client => policy.decide_after(attempt, error, (self.chance)()),
            Attempts::Caller { .. } => Decision::Exhausted,
        };
        tracing::debug!(%provider, attempt, code = error.code().name(), ?decision, "the attempt failed");
        match decision {
            // Where the time is over before the next attempt, waiting for it would tell nobody more.
            Decision::Retry { after } if self.deadline.is_some_and(|deadline| deadline.is_within(after)) => {
                Verdict::GivenUp
            }
            Decision::Retry { after } => {
                if let Some(listener) = self.retry_listener {
                    let retries = policy.retries_after(error);
                    listener(Retrying { retry: attempt, retries, after, error });
                }
                tried.waited += after;
                sleep(after).await;
                Verdict::Again
            }
            Decision::NotRetryable | Decision::NotListed | Decision::Exhausted | Decision::AskedTooLong { .. } => {
                Verdict::GivenUp
            }
        }
    }

    fn admit(&self, attempt: u32) -> Result<Pass, CallError> {
        match self.attempts {
            Attempts::Client if attempt == 1 => self.breakers.admit(self.manifest),
            Attempts::Caller { attempt: ..=1 } => self.breakers.admit(self.manifest),
            Attempts::Client | Attempts::Caller { .. } => Ok(self.breakers.admit_again(self.manifest)),
        }
    }

    /// One attempt; `has_begun` is set when a byte of the answer is there, also if the rest never comes.
    async fn attempt(&self, has_begun: &AtomicBool) -> Result<Begun, CallError> {
        let outcome = within(self.patience, self.deadline, self.begin(has_begun)).await;
        outcome.map_err(|overrun| overrun.into_error(&self.manifest.id))?
    }

    async fn begin(&self, has_begun: &AtomicBool) -> Result<Begun, CallError> {
        let sent = self.transport.send(&self.outgoing, &self.attachments).await;
        let response = sent.map_err(|fault| self.fault(fault))?;
        let status = response.status();
        let mut response = Inflow::of(response);
        let headers = response.take_headers();
        if status.is_redirection() {
            let to = page::destination(&self.outgoing.url, &headers, &self.carried());
            let to = to.map(|to| hide(&to, &self.outgoing.hidden));
            return Err(CallError::Redirected { provider: self.manifest.id.clone(), status: status.as_u16(), to });
        }
        if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED && self.transport.is_proxied(&self.outgoing.url) {
            return Err(CallError::Unreachable {
                provider: self.manifest.id.clone(),
                source: Obstacle::ProxyCredential,
            });
        }
        if !status.is_success() {
            return Err(self.refusal(status, &headers, Bytes::new(), &mut response).await);
        }
        let limits = Limits::read(&self.manifest.rate_limit_headers, &headers, now());
        let first = next_piece(&mut response).await.map_err(|fault| self.fault(fault))?;
        if first.as_deref().is_some_and(|first| page::is_page(&headers, first)) {
            return Err(CallError::WebPage { provider: self.manifest.id.clone(), address: self.address() });
        }
        let is_silent = first.is_none() && matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT);
        if self.mode == Mode::Stream && is_silent {
            return Err(self.refusal(status, &headers, Bytes::new(), &mut response).await);
        }
        let first = match first {
            Some(first) if self.mode == Mode::Stream && may_be_words(self.manifest, &headers, &first) => {
                match self.listen(first, &mut response).await? {
                    Heard::Stream(first) => Some(first),
                    Heard::Words(words) => return Err(self.refusal(status, &headers, words, &mut response).await),
                }
            }
            first => first,
        };
        has_begun.store(first.is_some(), Ordering::Relaxed);
        let content = if is_in_lines(&headers) { Content::Lines } else { self.content };
        let body = match (self.mode, first) {
            (Mode::Stream, Some(first)) => ReplyBody::Stream { first, rest: Box::new(response) },
            (Mode::Stream, None) => return Err(CallError::Truncated { provider: self.manifest.id.clone() }),
            (Mode::Whole, Some(first)) => {
                let rest = read_rest(first, &mut response, content, self.largest_answer).await;
                ReplyBody::Whole(rest.map_err(|fault| self.fault(fault))?)
            }
            (Mode::Whole, None) => ReplyBody::Whole(Bytes::new()),
        };
        Ok(Begun { status: status.as_u16(), headers, limits, body })
    }

    /// Reads until it is known whether a stream comes or only words do.
    async fn listen(&self, first: Bytes, response: &mut Inflow) -> Result<Heard, CallError> {
        let mut heard = Vec::from(first);
        while heard.len() < LARGEST_UNDECIDED && is_undecided(&heard) {
            match next_piece(response).await.map_err(|fault| self.fault(fault))? {
                Some(piece) => heard.extend_from_slice(&piece),
                None if heard.trim_ascii().is_empty() => break,
                None => return Ok(Heard::Words(heard.into())),
            }
        }
        Ok(Heard::Stream(heard.into()))
    }

    /// What a server says in the place of an answer, of which `first` was read.
    async fn refusal(&self, status: StatusCode, headers: &HeaderMap, first: Bytes, response: &mut Inflow) -> CallError {
        let rest = read_beginning(response, LARGEST_REFUSAL, REFUSAL_PATIENCE).await;
        let body = if first.is_empty() { rest } else { [first, rest].concat().into() };
        // Values of variables are found by the letter below: they may be short.
        let carried = Carried { others: self.outgoing.secrets.clone(), ..self.carried() };
        let mut error = refused(self.manifest, status.as_u16(), headers, &body, &carried);
        if let CallError::Refused { failure, .. } = &mut error {
            if let Some(encoding) = response.unknown_encoding() {
                failure.message = format!("{}; what it says is compressed as {encoding}", failure.message);
            }
            failure.is_anonymous = self.secret.is_none();
            // Many a server repeats the path that it does not know.
            failure.message = hide(&failure.message, &self.outgoing.hidden);
        }
        error
    }

    /// What an answer may repeat and nobody shall read in words about it.
    pub(super) fn carried(&self) -> Carried {
        let Outgoing { secrets, hidden, .. } = &self.outgoing;
        Carried { credential: self.secret.cloned(), others: secrets.iter().chain(hidden).cloned().collect() }
    }

    /// Scheme, host and port, without what is shown to nobody.
    fn address(&self) -> String {
        hide_in_address(&self.outgoing.url.origin().ascii_serialization(), &self.outgoing.hidden)
    }

    fn nothing_answers(&self) -> CallError {
        let (provider, named_by) = (self.manifest.id.clone(), self.outgoing.named_by.clone());
        CallError::NothingAnswers { provider, address: self.address(), named_by }
    }

    fn fault(&self, fault: TransportFault) -> CallError {
        let provider = self.manifest.id.clone();
        match fault {
            // Whoever named the address should read where it is written.
            TransportFault::ConnectTimeout { .. } if self.outgoing.named_by.is_some() => self.nothing_answers(),
            TransportFault::Unreachable(obstacle) if obstacle.is_absent() && self.outgoing.named_by.is_some() => {
                self.nothing_answers()
            }
            TransportFault::ConnectTimeout { after } => {
                Patience { phase: Phase::Connect, after, set_by: SetBy::Nobody }.into_error(&provider)
            }
            TransportFault::Unreachable(obstacle)
                if obstacle.is_refused() && is_on_this_machine(&self.outgoing.url) =>
            {
                self.nothing_answers()
            }
            TransportFault::Unreachable(source) => {
                CallError::Unreachable { provider, source: source.hiding(&self.outgoing.hidden) }
            }
            TransportFault::Broken(_) => CallError::Truncated { provider },
            TransportFault::TooLarge { limit } => {
                CallError::Malformed { provider, reason: format!("it is larger than {limit} bytes") }
            }
            TransportFault::Packed { name } => CallError::Encoded { provider, encoding: name },
            TransportFault::Garbled(_) => CallError::Malformed { provider, reason: GARBLED.to_owned() },
        }
    }
}

/// What is wrong with an answer that is packed in a known way, and not what it says.
pub(super) const GARBLED: &str = "it says that it is compressed, and cannot be unpacked";

/// Whether an answer says that there is a document in each of its lines.
fn is_in_lines(headers: &HeaderMap) -> bool {
    let said = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = said.split(';').next().unwrap_or_default().trim().as_bytes();
    let ends_with = |ending: &&str| {
        let end = kind.len().checked_sub(ending.len()).and_then(|start| kind.get(start..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(ending.as_bytes()))
    };
    ["ndjson", "jsonl", "jsonlines", "json-lines", "json-seq"].iter().any(ends_with)
}

/// A refusal, judged by the manifest and without the credential that the provider may have quoted.
pub(super) fn refused(
    manifest: &Manifest,
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    carried: &Carried,
) -> CallError {
    let refusal = Refusal { status, headers, body, received: now() };
    let failure = classify(manifest, refusal, &carried.redactor(&manifest.endpoint.auth));
    CallError::Refused { provider: manifest.id.clone(), failure: Box::new(failure) }
}

#[expect(clippy::disallowed_methods, reason = "dates in answers are held against the clock here")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}
