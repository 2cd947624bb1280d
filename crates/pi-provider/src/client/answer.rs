//! An answer, while it comes and when it is there.

use std::{
    fmt,
    future::poll_fn,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use pi_redact::Redactor;
use pi_transcript::ProviderId;
use tokio_util::sync::CancellationToken;

use super::{
    Terms,
    deadline::{Deadline, Patience},
    exchange::{GARBLED, now, refused},
    facts::Facts,
    prepared::Prepared,
    source::{Source, begins_with_words},
    watch::{Interruption, Wait, Watch},
};
use crate::{
    breaker::{Outcome as Health, Pass},
    error::{CallError, Failure, SetBy},
    event::StreamEvent,
    guardrail::OutputGuard,
    response::Reading,
    secret::Carried,
    stream::{self, FrameTooLarge, Outcome, Outlook},
    text_call::filter::Filter,
    transport::{TransportFault, next_of_document, next_piece},
};

/// An answer that comes in pieces. Dropping it closes the connection.
pub struct Answer {
    provider: ProviderId,
    facts: Facts,
    source: Source,
    /// All of it, where it was not streamed.
    body: Bytes,
    /// Decoded and filtered; the next one is the last, so that it can be taken off.
    ready: Vec<StreamEvent>,
    /// Kept for its memory: what the decoder writes into.
    decoded: Vec<StreamEvent>,
    /// How it will end when `ready` is empty.
    ending: Option<Ending>,
    /// Finds calls that the model writes as text.
    text_calls: Option<Filter>,
    guard: Option<OutputGuard>,
    /// How many findings there are of the prompt; those of the answer come behind them.
    found_before: usize,
    pass: Option<Pass>,
    carried: Carried,
    /// Not here before something was waited for, and while anything but a piece of a stream is.
    watch: Option<Box<Watch>>,
    idle: Patience,
    deadline: Option<Deadline>,
    /// What may follow, and when an answer that may be complete is waited for no longer.
    outlook: Outlook,
    linger: Option<Deadline>,
    cancel: CancellationToken,
    prepared: Prepared,
}

/// A whole answer to a chat.
#[derive(Debug)]
pub struct Completion {
    pub events: Vec<StreamEvent>,
    pub body: Bytes,
    pub facts: Facts,
}

/// A whole answer to anything else.
#[derive(Debug)]
pub struct Whole {
    pub body: Bytes,
    pub facts: Facts,
}

enum Ending {
    Complete,
    Error(CallError),
}

impl Answer {
    pub(super) fn new(
        terms: &Terms<'_>,
        carried: Carried,
        facts: Facts,
        source: Source,
        pass: Option<Pass>,
        idle: Patience,
    ) -> Self {
        let guardrails = &terms.prepared.guardrails;
        Self {
            provider: terms.manifest.id.clone(),
            found_before: facts.findings.len(),
            facts,
            body: if let Source::Whole(body) = &source { body.clone() } else { Bytes::new() },
            source,
            ready: Vec::new(),
            decoded: Vec::new(),
            ending: None,
            text_calls: terms.text_calls.clone().map(Filter::new),
            guard: guardrails.has_output().then(|| guardrails.stream_output()),
            pass,
            carried,
            watch: None,
            idle,
            deadline: terms.deadline,
            outlook: Outlook::More,
            linger: None,
            cancel: terms.cancel.clone(),
            prepared: terms.prepared.clone(),
        }
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The next event; `None` after the end. An error is the last thing that comes. Dropping the future loses nothing;
    /// cancelling the token closes the connection and gives [`CallError::Cancelled`].
    pub async fn next(&mut self) -> Option<Result<StreamEvent, CallError>> {
        loop {
            match self.ready.pop() {
                Some(StreamEvent::StreamError { failure }) => return Some(Err(self.report(failure))),
                Some(event) => return Some(Ok(event)),
                None => {}
            }
            match self.ending.take() {
                Some(Ending::Complete) => {
                    self.source = Source::Over;
                    if let Some(pass) = &mut self.pass {
                        pass.report(Health::Succeeded);
                    }
                    return None;
                }
                Some(Ending::Error(error)) => return Some(Err(self.fail(error))),
                None if matches!(self.source, Source::Over) => return None,
                None => {}
            }
            let mut wait = Wait::default();
            let advanced = match self.source {
                Source::Http { .. } => poll_fn(|context| self.poll_piece(&mut wait, context)).await,
                Source::Local { .. }
                | Source::Foreign(_)
                | Source::Whole(_)
                | Source::Unstreamed { .. }
                | Source::Over => self.advance().await,
            };
            if let Err(error) = advanced {
                return Some(Err(error));
            }
        }
    }

    /// Waits until the answer says something, fails or ends, and gives the provider's error if it has said nothing else: then
    /// nobody has seen anything of it, and it may be asked for again. What came is kept for [`next`](Self::next).
    pub(super) async fn refusal_at_the_beginning(&mut self) -> Option<&CallError> {
        let says_something = |event: &StreamEvent| !matches!(event, StreamEvent::Metadata { .. });
        let mut held = Vec::new();
        let first = loop {
            held.extend(self.ready.drain(..).rev());
            let first = held.iter().position(says_something);
            let is_over = self.ending.is_some() || matches!(self.source, Source::Over);
            if first.is_some() || is_over || held.len() > MOST_HELD {
                break first;
            }
            if let Err(error) = self.advance().await {
                self.ending = Some(Ending::Error(error));
            }
        };
        if let Some(place) = first
            && let StreamEvent::StreamError { failure } = &held[place]
        {
            self.ending = Some(Ending::Error(self.refused(failure.clone())));
            held.truncate(place);
            // Nothing more is read of it.
            self.source = Source::Over;
        }
        let has_said = held.iter().any(says_something);
        held.reverse();
        self.ready = held;
        match &self.ending {
            Some(Ending::Error(error @ (CallError::Refused { .. } | CallError::Truncated { .. }))) if !has_said => {
                Some(error)
            }
            Some(Ending::Error(_) | Ending::Complete) | None => None,
        }
    }

    /// Gives up an answer of which nobody has seen anything, for another attempt.
    pub(super) fn abandon(mut self) -> Facts {
        if let Some(Ending::Error(error)) = self.ending.take() {
            self.fail(error);
        }
        self.facts.findings.truncate(self.found_before);
        self.facts
    }

    /// The error that it ends with in the place of an answer of which nobody has seen anything.
    pub(super) fn or_error(mut self) -> Result<Self, CallError> {
        match self.ending.take() {
            Some(Ending::Error(error)) => Err(self.fail(error)),
            ending @ (Some(Ending::Complete) | None) => {
                self.ending = ending;
                Ok(self)
            }
        }
    }

    /// Fetches what comes next and makes it ready. An error is the last thing that comes.
    async fn advance(&mut self) -> Result<(), CallError> {
        if let Source::Http { .. } = self.source {
            let mut wait = Wait::default();
            return poll_fn(|context| self.poll_piece(&mut wait, context)).await;
        }
        let fetched = if let Source::Whole(body) = &mut self.source
            && !self.cancel.is_cancelled()
        {
            // Nothing is waited for.
            let body = std::mem::take(body);
            self.read_whole(&body)
        } else {
            let mut watch = self.watch.take().unwrap_or_else(|| self.new_watch());
            let before = self.outlook;
            let fetched = watch.over(self.fetch()).await;
            // A watch cannot become less patient, or more.
            self.watch = Some(watch).filter(|_| self.outlook == before);
            match fetched {
                Ok(fetched) => fetched,
                Err(Interruption::Cancelled) => return Err(self.fail(CallError::Cancelled)),
                Err(Interruption::Overrun(overrun)) => Err(overrun.into_error(&self.provider)),
            }
        };
        self.take(fetched);
        Ok(())
    }

    /// What [`advance`](Self::advance) does for a stream of HTTP, which has thousands of pieces: without a future for each
    /// step on the way to one. `wait` lasts until the piece is there.
    fn poll_piece(&mut self, wait: &mut Wait, context: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        if self.watch.is_none() {
            self.watch = Some(self.new_watch());
        }
        let (Some(watch), Source::Http { first, rest, .. }) = (&mut self.watch, &mut self.source) else {
            return Poll::Ready(Ok(()));
        };
        let next = |context: &mut Context<'_>| match first.take() {
            Some(first) => Poll::Ready(Ok(Some(first))),
            None => rest.poll_next(context),
        };
        let fetched = match ready!(watch.poll(wait, context, next)) {
            Ok(Ok(piece)) => {
                let before = self.outlook;
                let decoded = self.decode(piece.as_ref());
                if self.outlook != before {
                    // A watch cannot become less patient, or more.
                    self.watch = None;
                }
                decoded
            }
            Ok(Err(fault)) => Err(broken(&self.provider, &fault)),
            Err(Interruption::Cancelled) => return Poll::Ready(Err(self.fail(CallError::Cancelled))),
            Err(Interruption::Overrun(overrun)) => Err(overrun.into_error(&self.provider)),
        };
        self.take(fetched);
        Poll::Ready(Ok(()))
    }

    /// Makes ready what was decoded, or the end of it.
    fn take(&mut self, fetched: Result<(), CallError>) {
        if let Err(error) = fetched {
            self.ending = Some(self.break_off(error));
        }
        self.filter();
    }

    fn new_watch(&self) -> Box<Watch> {
        let deadline = [self.deadline, self.linger].into_iter().flatten().reduce(Deadline::sooner);
        Box::new(Watch::new(self.cancel.clone(), self.idle, deadline))
    }

    /// Nothing more comes. An answer that had said its end is complete however its connection ends; of any other, what came
    /// before is still an answer, as far as it goes. One that went on behind a reason for its end has said none.
    fn break_off(&mut self, error: CallError) -> Ending {
        let source = std::mem::replace(&mut self.source, Source::Over);
        let (Source::Http { decoder, .. } | Source::Local { decoder, .. }) = source else {
            return Ending::Error(error);
        };
        let goes_on = decoder.goes_on();
        let ending = decoder.finish(&mut self.decoded);
        self.facts.unread = ending.as_ref().map_or(0, |ending| ending.unread);
        match ending {
            Ok(stream::Ending { outcome: Outcome::Complete, .. }) if !goes_on => {
                tracing::debug!(provider = %self.provider, %error, "the connection ended badly after the whole answer");
                Ending::Complete
            }
            Ok(stream::Ending { outcome: Outcome::Complete | Outcome::Truncated | Outcome::Failed, .. })
            | Err(FrameTooLarge { .. }) => Ending::Error(error),
        }
    }

    /// Reads the rest of it.
    pub(super) async fn into_completion(mut self) -> Result<Completion, CallError> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event?);
        }
        Ok(Completion { events, body: self.body, facts: self.facts })
    }

    /// Waits for what comes next, unless that is a piece of HTTP, and decodes it.
    async fn fetch(&mut self) -> Result<(), CallError> {
        let piece = match &mut self.source {
            Source::Local { pieces, .. } => pieces.next().await,
            Source::Foreign(events) => {
                match events.next().await {
                    Some(Ok(event)) => self.decoded.push(event),
                    Some(Err(error)) => return Err(error),
                    None => self.ending = Some(Ending::Complete),
                }
                return Ok(());
            }
            Source::Unstreamed { body, rest } => {
                match next_of_document(body, rest).await.map_err(|fault| broken(&self.provider, &fault))? {
                    Some(piece) if body.len() + piece.len() <= LARGEST_UNSTREAMED => body.extend_from_slice(&piece),
                    Some(_) => {
                        return Err(malformed(&self.provider, "it is large, and came whole instead of streamed"));
                    }
                    None => self.source = Source::Whole(std::mem::take(body).freeze()),
                }
                // Its first piece may have been a blank line.
                self.source.reconsider(&self.prepared, &self.carried);
                self.facts.is_streamed = self.source.is_streamed();
                return Ok(());
            }
            Source::Whole(body) => {
                let body = std::mem::take(body);
                return self.read_whole(&body);
            }
            // Pieces of HTTP are polled for.
            Source::Http { .. } | Source::Over => return Ok(()),
        };
        self.decode(piece.as_ref())
    }

    fn decode(&mut self, piece: Option<&Bytes>) -> Result<(), CallError> {
        let (Source::Http { decoder, .. } | Source::Local { decoder, .. }) = &mut self.source else { return Ok(()) };
        let too_large = |error: FrameTooLarge| malformed(&self.provider, &error.to_string());
        if let Some(piece) = piece {
            decoder.push(piece, &mut self.decoded).map_err(too_large)?;
            if !decoder.is_done() {
                let outlook = decoder.outlook();
                if outlook != self.outlook {
                    self.outlook = outlook;
                    self.linger = linger(outlook).map(|time| Deadline::after(time, SetBy::Nobody));
                }
                return Ok(());
            }
        }
        // The end of the body is usually here already; taking it lets the connection be used again.
        if let Source::Http { rest, .. } = &mut self.source {
            let _ = next_piece(rest).now_or_never();
        }
        let source = std::mem::replace(&mut self.source, Source::Over);
        let (Source::Http { decoder, .. } | Source::Local { decoder, .. }) = source else { return Ok(()) };
        let ending = decoder.finish(&mut self.decoded).map_err(too_large)?;
        self.facts.unread = ending.unread;
        self.ending = Some(match ending.outcome {
            Outcome::Complete => Ending::Complete,
            Outcome::Truncated => Ending::Error(CallError::Truncated { provider: self.provider.clone() }),
            Outcome::Failed => Ending::Error(malformed(&self.provider, "it reported an error without saying which")),
        });
        Ok(())
    }

    fn read_whole(&mut self, body: &[u8]) -> Result<(), CallError> {
        self.source = Source::Over;
        let Carried { credential, others } = &self.carried;
        let manifest = &self.prepared.manifest;
        let reading = Reading { manifest, secret: credential.as_ref(), others, received: now() };
        let events = self.prepared.answers.read(&reading, body).map_err(|error| self.or_words(error, body))?;
        match self.text_calls.take() {
            Some(mut filter) => filter.apply_whole(events, &mut self.decoded),
            None => self.decoded = events,
        }
        self.ending = Some(Ending::Complete);
        Ok(())
    }

    /// The words of a server that says something else than an answer, or that it says nothing; else the error that reading it
    /// gave.
    fn or_words(&self, error: CallError, body: &[u8]) -> CallError {
        const SILENT: [u16; 2] = [204, 205];
        let is_text = || begins_with_words(body) && std::str::from_utf8(body).is_ok();
        match (self.facts.status, &error) {
            (Some(status), CallError::Malformed { .. }) if SILENT.contains(&status) || is_text() => {
                refused(&self.prepared.manifest, status, &self.facts.headers, body, &self.carried)
            }
            (Some(_) | None, _) => error,
        }
    }

    /// Hides what the request carried in the words that a server makes up.
    fn hide_carried(&mut self) {
        let Self { carried, decoded, .. } = self;
        if !carried.is_nothing() {
            decoded.iter_mut().for_each(|event| carried.hide_in_event(event));
        }
    }

    /// Moves what was decoded to what is ready, through the search for calls and through the guardrails. Nothing else is
    /// ready by then.
    fn filter(&mut self) {
        self.hide_carried();
        if let Some(filter) = &mut self.text_calls {
            let events = std::mem::take(&mut self.decoded);
            events.into_iter().for_each(|event| filter.apply(event, &mut self.decoded));
            if self.ending.is_some() {
                filter.flush(&mut self.decoded);
            }
        }
        let Some(guard) = &mut self.guard else {
            std::mem::swap(&mut self.ready, &mut self.decoded);
            self.ready.reverse();
            return;
        };
        let mut passed = Vec::new();
        let mut outcome = self.decoded.drain(..).try_for_each(|event| guard.push(event, &mut passed));
        if outcome.is_ok() && self.ending.is_some() {
            outcome = guard.finish(&mut passed);
        }
        self.facts.findings.truncate(self.found_before);
        self.facts.findings.extend(guard.findings().iter().cloned());
        passed.reverse();
        self.ready = passed;
        if let Err(error) = outcome {
            self.ending = Some(Ending::Error(error));
            self.guard = None;
        }
    }

    /// An error that the provider reported in its answer.
    fn report(&mut self, failure: Failure) -> CallError {
        let error = self.refused(failure);
        self.fail(error)
    }

    fn refused(&self, failure: Failure) -> CallError {
        let auth = &self.prepared.manifest.endpoint.auth;
        let is_clean = self.carried.is_nothing() && auth.secret_headers.is_empty();
        let failure = if is_clean { failure } else { without(&self.carried.redactor(auth), failure) };
        CallError::Refused { provider: self.provider.clone(), failure: Box::new(failure) }
    }

    fn fail(&mut self, error: CallError) -> CallError {
        self.ready.clear();
        self.ending = None;
        self.source = Source::Over;
        if let Some(pass) = &mut self.pass {
            pass.fail(&error);
        }
        error
    }
}

/// Counts and the like that come before the first word are held back up to this number.
const MOST_HELD: usize = 256;

/// How long an answer that may be complete is waited for in all, whatever else comes.
fn linger(outlook: Outlook) -> Option<Duration> {
    match outlook {
        Outlook::More => None,
        Outlook::Silence => Some(Duration::from_secs(30)),
        Outlook::Counts => Some(Duration::from_secs(5)),
    }
}

/// The largest answer that is accepted in one piece where a stream was asked for, in bytes.
const LARGEST_UNSTREAMED: usize = 8 * 1024 * 1024;

fn broken(provider: &ProviderId, fault: &TransportFault) -> CallError {
    tracing::debug!(%provider, %fault, "the stream broke off");
    match fault {
        TransportFault::Packed { name } => CallError::Encoded { provider: provider.clone(), encoding: name.clone() },
        TransportFault::Garbled(_) => malformed(provider, GARBLED),
        TransportFault::ConnectTimeout { .. }
        | TransportFault::Unreachable(_)
        | TransportFault::Broken(_)
        | TransportFault::TooLarge { .. } => CallError::Truncated { provider: provider.clone() },
    }
}

fn malformed(provider: &ProviderId, reason: &str) -> CallError {
    CallError::Malformed { provider: provider.clone(), reason: reason.to_owned() }
}

/// The failure without credentials, should the provider have quoted one.
fn without(redactor: &Redactor, failure: Failure) -> Failure {
    let safe = |text: String| redactor.redact_text(&text).into_owned();
    Failure {
        message: safe(failure.message),
        provider_code: failure.provider_code.map(safe),
        request_id: failure.request_id.map(safe),
        ..failure
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("provider", &self.provider).field("facts", &self.facts).finish_non_exhaustive()
    }
}
