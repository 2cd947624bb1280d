//! One call to a model: its credential, its events, the message that grows from them, and what it cost.

use std::{
    fmt,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use pi_provider::{
    Call, CallError, Secret, StreamEvent, Target,
    assembly::{Asked, Assembly, End},
    client::{Client, Facts, RetryListener, Settings, Timeouts},
    credential::{Credential, Resolved, SourceKind, in_the_clear},
    operation::Asking,
    retry::Retrying,
    transport::Network,
};
use pi_transcript::{ModelId, message::AssistantMessage};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    arguments::model::ReachArguments,
    choice::Chosen,
    env,
    failure::{self, Failure, ModelFailure},
    providers::Providers,
};

/// Whoever asks, and how a call is ended early.
pub(crate) struct Asker {
    client: Client,
    timeouts: Timeouts,
    listener: RetryListener,
    credential: Option<Credential>,
    cancel: CancellationToken,
    /// Retries that are not told yet. If nobody reads them the newest are dropped: they are only told.
    retries: mpsc::Receiver<Retry>,
}

/// How many retries wait to be told; one call makes fewer.
const UNTOLD: usize = 32;

/// A call that failed is made again.
pub(crate) struct Retry {
    number: u32,
    most: u32,
    after: Duration,
    reason: String,
}

/// What came of a call.
pub(crate) struct Answered {
    pub(crate) message: AssistantMessage,
    pub(crate) facts: Facts,
    pub(crate) time: Duration,
    /// To the first event that says something.
    pub(crate) first: Option<Duration>,
}

/// A call that has no whole answer.
pub(crate) struct Unanswered {
    pub(crate) error: CallError,
    /// Until that was known, with all attempts.
    pub(crate) time: Duration,
    /// What had come by then; absent where the answer never began.
    pub(crate) partial: Option<Box<Answered>>,
}

/// Whether the answer comes in pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Stream,
    Whole,
}

/// What is told while a call is made.
pub(crate) enum News<'a> {
    /// An attempt failed, and the next follows.
    Retrying(&'a Retry),
    /// It is answered: what was changed in it is known, and nothing of the answer was told yet.
    Opened(&'a Facts),
    Event(&'a StreamEvent),
}

/// Whether more events are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    More,
    Enough,
}

impl Asker {
    /// Finds the credential; without one that is needed there is no asking.
    pub(crate) fn new(
        reach: &ReachArguments,
        chosen: &mut Chosen,
        providers: &Providers,
        timeouts: Timeouts,
    ) -> Result<Self, Failure> {
        let resolved = resolve(reach, chosen, providers)?;
        let credential = resolved.into_credential(&chosen.entry.manifest.id).map_err(|error| chosen.failure(error))?;
        add_headers(chosen);
        let (sender, retries) = mpsc::channel(UNTOLD);
        let listener: RetryListener = Arc::new(move |retrying: Retrying<'_>| {
            // A full channel means that nobody is told, which harms nobody.
            let _ = sender.try_send(Retry::of(retrying));
        });
        let client = client(timeouts, &listener);
        Ok(Asker { client, timeouts, listener, credential, cancel: CancellationToken::new(), retries })
    }

    /// For calls that are no chats.
    pub(crate) fn asking<'a>(&'a self, target: &'a Target<'a>) -> Asking<'a> {
        Asking { client: &self.client, target, credential: self.credential.as_ref(), cancel: &self.cancel }
    }

    /// What to say, before anything is sent, of a credential that travels to a server elsewhere in the clear.
    pub(crate) fn in_the_clear(&self, chosen: &Chosen) -> Option<String> {
        let auth = &chosen.entry.manifest.endpoint.auth;
        let is_secret = self.credential.is_some() || !auth.secret_headers.is_empty();
        in_the_clear(&chosen.entry.manifest, chosen.address()).filter(|_| is_secret)
    }

    /// Forgets how earlier calls went, so that the next is made whatever became of them.
    pub(crate) fn forget(&mut self) {
        self.client = client(self.timeouts, &self.listener);
    }

    /// Closes the connection when somebody presses Ctrl-C. The task ends with the runtime that it was started on.
    pub(crate) fn stop_on_interrupt(&self) {
        let cancel = self.cancel.clone();
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                cancel.cancel();
            }
        });
    }

    /// Makes the call and hands out its events as they come. What came of an answer that breaks off is not lost.
    pub(crate) async fn ask(
        &mut self,
        chosen: &Chosen,
        call: Call<'_>,
        manner: Manner,
        mut take: impl FnMut(News<'_>) -> Wish,
    ) -> Result<Answered, Unanswered> {
        let started = instant();
        let target = chosen.target();
        let mut assembly = Assembly::new(Asked {
            api: pi_provider::Dialect::of(target.manifest, target.entry).api().to_owned(),
            provider: target.manifest.id.clone(),
            model: ModelId::from(chosen.model.as_str()),
            pricing: chosen.pricing(),
            thinking_level: Some(call.options.thinking),
            timestamp: milliseconds(),
        });
        let mut first = None;
        let mut grown = Vec::new();
        let mut push = |event: StreamEvent, take: &mut dyn FnMut(News<'_>) -> Wish| {
            first.get_or_insert_with(|| started.elapsed());
            let wish = take(News::Event(&event));
            assembly.push(event, &mut grown);
            grown.clear();
            wish
        };
        let credential = self.credential.as_ref();
        let unanswered = |error| Unanswered { error, time: started.elapsed(), partial: None };
        let (facts, end, broken) = match manner {
            Manner::Whole => {
                let asked = self.client.complete(&target, call, credential, &self.cancel);
                let whole = telling_retries(asked, &mut self.retries, &mut take).await.map_err(unanswered)?;
                take(News::Opened(&whole.facts));
                whole.events.into_iter().for_each(|event| {
                    push(event, &mut take);
                });
                (whole.facts, End::Proper, None)
            }
            Manner::Stream => {
                let asked = self.client.stream(&target, call, credential, &self.cancel);
                let mut answer = telling_retries(asked, &mut self.retries, &mut take).await.map_err(unanswered)?;
                take(News::Opened(answer.facts()));
                let (mut end, mut broken) = (End::Proper, None);
                while let Some(event) = answer.next().await {
                    match event.map(|event| push(event, &mut take)) {
                        Ok(Wish::More) => {}
                        Ok(Wish::Enough) => {
                            end = End::Aborted;
                            break;
                        }
                        Err(error) => {
                            let error = chosen.told(error);
                            end = end_of(&error);
                            broken = Some(error);
                        }
                    }
                }
                (answer.facts().clone(), end, broken)
            }
        };
        let time = started.elapsed();
        let answered = Answered { message: assembly.finish(end, &mut grown), facts, time, first };
        match broken {
            None => Ok(answered),
            Some(error) => Err(Unanswered { error, time, partial: Some(Box::new(answered)) }),
        }
    }
}

fn client(timeouts: Timeouts, listener: &RetryListener) -> Client {
    let network = Network::from_environment(&env::lookup);
    Client::new(Settings { retry_listener: Some(Arc::clone(listener)), timeouts, ..Settings::new(network) })
}

/// How a message ends that this error broke off.
fn end_of(error: &CallError) -> End {
    if matches!(error, CallError::Cancelled) { End::Aborted } else { End::Broken(failure::told(error)) }
}

/// Waits for the work and tells of retries meanwhile.
async fn telling_retries<T>(
    work: impl Future<Output = T>,
    retries: &mut mpsc::Receiver<Retry>,
    take: &mut dyn FnMut(News<'_>) -> Wish,
) -> T {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            Some(retry) = retries.recv() => {
                take(News::Retrying(&retry));
            }
            outcome = &mut work => return outcome,
        }
    }
}

impl Retry {
    fn of(retrying: Retrying<'_>) -> Self {
        let Retrying { retry, retries, after, error } = retrying;
        Retry { number: retry, most: retries, after, reason: failure::told(error) }
    }
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Retry { number, most, after, reason } = self;
        write!(f, "retrying {number} of {most} in {:.1} s: {reason}", after.as_secs_f64())
    }
}

/// The credential that a call would have.
pub(crate) fn resolve(reach: &ReachArguments, chosen: &Chosen, providers: &Providers) -> Result<Resolved, Failure> {
    let mut resolved = providers.credential(&chosen.entry, explicit(reach)?.as_ref());
    if resolved.source_kind == SourceKind::Explicit && reach.api_key_env.is_some() {
        resolved.source_name.clone_from(&reach.api_key_env);
    }
    Ok(resolved)
}

/// The credential that was spelled out by the name of its variable.
pub(crate) fn explicit(reach: &ReachArguments) -> Result<Option<Secret>, ModelFailure> {
    spelled_out(reach.api_key_env.as_deref())
}

/// The same by that name alone.
pub(crate) fn spelled_out(api_key_env: Option<&str>) -> Result<Option<Secret>, ModelFailure> {
    let Some(name) = api_key_env else { return Ok(None) };
    let value = env::lookup(name).map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
    Ok(Some(Secret::new(value.ok_or_else(|| not_set(name))?)))
}

/// Whoever writes the key where its name belongs shall not read it again in an error: only what looks like a name is
/// repeated.
fn not_set(name: &str) -> ModelFailure {
    let is_letter = |it: char| it.is_ascii_uppercase() || it == '_';
    let looks_like_a_name =
        name.len() <= 40 && name.starts_with(is_letter) && name.chars().all(|it| is_letter(it) || it.is_ascii_digit());
    if looks_like_a_name { ModelFailure::NoSuchVariable { name: name.to_owned() } } else { ModelFailure::NotAVariable }
}

/// Headers of Pi's `models.json`; their values may be secret, so they travel like the credential.
pub(crate) fn add_headers(chosen: &mut Chosen) {
    let mut auth = chosen.entry.manifest.endpoint.auth.clone();
    auth.carry(chosen.entry.headers_of(chosen.known.as_ref()), &env::lookup);
    chosen.entry.manifest.endpoint.auth = auth;
}

pub(crate) fn milliseconds() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the command line is where the clock enters")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "how long a call takes is shown to people")]
fn instant() -> Instant {
    Instant::now()
}
