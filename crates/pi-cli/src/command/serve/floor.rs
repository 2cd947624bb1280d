//! Where sessions are made for the server.
//!
//! Making one reads files, asks for local servers and says what is odd about all that, which only the main thread may say.
//! So the server sends an order here and waits; everything that a session does afterwards runs where the server runs.

use std::{cell::RefCell, collections::HashMap, path::PathBuf, rc::Rc, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use pi_exthost::port::Mode;
use pi_provider::breaker::{self, Breakers, Snapshot};
use pi_server::workshop::{Conversation, Made, MakeError, Order, Workshop as Makes};
use pi_session::{
    ShellWatch, Switch,
    directory::{self, Catalogue, ForkError, Stored},
    file::OpenError,
    input::Mentions,
    settings::trust::Trust,
};
use pi_transcript::{ProviderId, json::Amount};
use pi_wire::response::{CircuitBreakerMetrics, CircuitState};
use tokio::sync::{OnceCell, mpsc, oneshot};

use super::shelf::{Shelf, Written};
use crate::{
    arguments::serve::ServeArguments,
    asking,
    command::ext::project_trust::{self, Heard},
    console::Console,
    env::Environment,
    failure::{Failure, SessionFailure},
    providers::Providers,
    workshop::{
        self, Entrance, Ground, Kit, Rules, Started, Workshop, extensions,
        model::Answering,
        now,
        seat::{self, Seat},
    },
};

/// Orders that may wait.
const ORDERS: usize = 64;

/// The server's end.
pub(super) struct Counter {
    orders: mpsc::Sender<Sent>,
    /// Where sessions are kept, and where an agent works if nobody says where.
    sessions: Option<PathBuf>,
    here: PathBuf,
    /// Who answers if nobody chooses.
    model: String,
    /// Where the person's settings are.
    agent: Option<PathBuf>,
    breakers: Breakers,
    /// Whether sessions can have any.
    extensions: Switch,
}

/// An order on its way.
pub(super) struct Sent {
    order: Order,
    reply: oneshot::Sender<Result<Made, MakeError>>,
}

/// The end that makes sessions.
pub(super) struct Floor<'a> {
    pub(super) arguments: &'a ServeArguments,
    pub(super) environment: &'a Environment,
    /// One provider that fails is known to all sessions.
    pub(super) breakers: Breakers,
    pub(super) shelf: Shelf,
    /// What extensions decided about projects for this run; empty while they are asked.
    pub(super) trusted: RefCell<HashMap<PathBuf, Rc<OnceCell<Option<Trust>>>>>,
}

/// An order of which it is known whether its project is trusted.
pub(super) struct Cleared {
    order: Order,
    reply: oneshot::Sender<Result<Made, MakeError>>,
    ground: Ground,
    /// What was odd about that.
    notes: Vec<String>,
}

impl Counter {
    /// Both ends: what the server holds, and where its orders arrive.
    pub(super) fn open(
        sessions: Option<PathBuf>,
        here: PathBuf,
        model: String,
        agent: Option<PathBuf>,
        breakers: Breakers,
        extensions: Switch,
    ) -> (Self, mpsc::Receiver<Sent>) {
        let (orders, received) = mpsc::channel(ORDERS);
        (Self { orders, sessions, here, model, agent, breakers, extensions }, received)
    }

    /// All sessions of all projects.
    fn project(&self) -> Option<directory::Project> {
        let sessions = self.sessions.clone()?;
        Some(directory::Project { sessions, cwd: self.here.display().to_string() })
    }
}

impl Makes for Counter {
    fn make(&self, order: Order) -> BoxFuture<'_, Result<Made, MakeError>> {
        Box::pin(async move {
            let (reply, made) = oneshot::channel();
            let ended = || MakeError::Failed { reason: "the server is ending".to_owned() };
            self.orders.send(Sent { order, reply }).await.map_err(|_| ended())?;
            made.await.map_err(|_| ended())?
        })
    }

    fn stored(&self, catalogue: Arc<Catalogue>) -> BoxFuture<'_, Result<Vec<Stored>, MakeError>> {
        Box::pin(async move {
            let Some(project) = self.project() else { return Ok(Vec::new()) };
            blocking(move || catalogue.list_all(&project).map_err(|error| failed(&error))).await
        })
    }

    fn delete(&self, file: PathBuf, name: String) -> BoxFuture<'_, Result<(), MakeError>> {
        Box::pin(blocking(move || match directory::delete_exactly(&file, &name, now()) {
            Ok(()) => Ok(()),
            Err(directory::KeepError::Open(error)) => Err(unopened(&error)),
            Err(error) => Err(failed(&error)),
        }))
    }

    fn remember_extension(&self, id: &str, switch: Switch) -> BoxFuture<'_, Result<(), MakeError>> {
        let (agent, id) = (self.agent.clone(), id.to_owned());
        Box::pin(blocking(move || {
            extensions::remember(agent.as_deref(), &id, switch).map_err(|reason| MakeError::Failed { reason })
        }))
    }

    fn extensions(&self) -> Switch {
        self.extensions
    }

    fn circuits(&self) -> Vec<CircuitBreakerMetrics> {
        let now = asking::milliseconds();
        self.breakers.snapshots().into_iter().map(|(provider, seen)| circuit(provider, &seen, now)).collect()
    }

    fn left_alone(&self, provider: &ProviderId) -> Option<Duration> {
        let (_, seen) = self.breakers.snapshots().into_iter().find(|(known, _)| known == provider)?;
        seen.retry_in
    }

    fn usual_folder(&self) -> PathBuf {
        self.here.clone()
    }

    fn usual_model(&self) -> Option<String> {
        Some(self.model.clone())
    }

    fn sessions_folder(&self) -> Option<PathBuf> {
        self.sessions.clone()
    }
}

/// Makes what a session needs and throws it away: settings, tools and policy that cannot be used are told.
pub(super) fn try_out(
    arguments: &ServeArguments,
    ground: &Ground,
    providers: Providers,
    answering: Answering,
    environment: &Environment,
    console: &mut Console,
) -> Result<(), Failure> {
    let rules = Rules { policy: workshop::policy(environment)?, mentions: Mentions::AttachBelow };
    let kit = kit(arguments, Breakers::new());
    let workshop = Workshop::open(&kit, ground, rules, providers, &answering, environment, console)?;
    answering.unless_alone(&workshop).map(drop)
}

fn kit(arguments: &ServeArguments, breakers: Breakers) -> Kit<'_> {
    Kit { told: &arguments.told, offered: &arguments.offered, extensions: &arguments.extensions, breakers }
}

/// A session of which everything is read, and that has not begun.
struct Ready {
    workshop: Rc<Workshop>,
    seat: Seat,
    answering: Answering,
    entrance: Entrance,
    shell: Arc<dyn ShellWatch>,
    file: Option<PathBuf>,
    text: Option<String>,
}

impl Ready {
    /// Begins it, with its extensions, and says what was odd about those.
    async fn start(self) -> (Result<Made, MakeError>, Vec<String>) {
        let Self { workshop, seat, answering, entrance, shell, file, text } = self;
        let Started { session, mut notes, unmet } = workshop.start(seat, &answering, entrance, Some(shell)).await;
        let Some(unmet) = unmet else { return (Ok(Made { session, file, text }), notes) };
        let failure = match session.close().await {
            Ok(_) => unmet,
            Err(gone) => SessionFailure::Gone(gone),
        };
        let error = MakeError::Failed { reason: Failure::from(failure).told() };
        notes.push(error.to_string());
        (Err(error), notes)
    }
}

impl Floor<'_> {
    /// Finds the ground of what was ordered. What its person's extensions say of a project is asked once; they may take their
    /// time, and other orders go on meanwhile.
    pub(super) async fn clear(&self, sent: Sent) -> Cleared {
        let Sent { order, reply } = sent;
        let ground = Ground::at(order.cwd.clone(), self.environment);
        let ground = ground.scoped(&self.arguments.who.models, self.environment);
        let mut notes = Vec::new();
        let known = Rc::clone(self.trusted.borrow_mut().entry(ground.directory.clone()).or_default());
        let ask = async || {
            let heard = project_trust::ask(&ground, &self.arguments.extensions, self.environment).await;
            let Some(Heard { decided, notes: told }) = heard else {
                // What the project brings later is asked about then.
                self.trusted.borrow_mut().remove(&ground.directory);
                return None;
            };
            notes = told;
            decided
        };
        let decided = *known.get_or_init(ask).await;
        let ground = match decided.filter(|_| ground.is_undecided()) {
            Some(trust) => ground.settled(trust, self.environment),
            None => ground,
        };
        Cleared { order, reply, ground, notes }
    }

    /// Reads what was ordered. What is handed back begins it, and says what was odd; an order that nobody waits for any more is
    /// made all the same and dropped.
    pub(super) async fn serve(
        &self,
        cleared: Cleared,
        console: &mut Console,
    ) -> Option<impl Future<Output = Vec<String>> + use<>> {
        let Cleared { order, reply, ground, notes } = cleared;
        notes.iter().for_each(|note| console.note(note));
        match self.read(order, ground, console).await {
            Ok(ready) => Some(async move {
                let (made, notes) = ready.start().await;
                // Whoever ordered it may have gone; the session ends with the answer then.
                drop(reply.send(made));
                notes
            }),
            Err(error) => {
                console.note(&error.to_string());
                drop(reply.send(Err(error)));
                None
            }
        }
    }

    async fn read(&self, order: Order, ground: Ground, console: &mut Console) -> Result<Ready, MakeError> {
        let Order { cwd: _, conversation, beginning, owner, shell } = order;
        let (mut seat, text) = self.seat(conversation, &ground, console)?;
        let file = seat.path();
        let read: Result<_, Failure> = async {
            let sources = &self.arguments.who.sources;
            let written = Written::read(&ground.directory, sources, self.environment)?;
            let mut providers = Providers::load_at(&ground.directory, sources, self.environment, console)?;
            let (who, past) = (&self.arguments.who, &seat.past);
            let mut answering = Answering::decide_served(who, past, &ground.settings, &mut providers, console).await?;
            let make = |providers, answering: &Answering| {
                let rules = Rules { policy: workshop::policy(self.environment)?, mentions: Mentions::AttachBelow };
                let kit = kit(self.arguments, self.breakers.clone());
                Workshop::open(&kit, &ground, rules, providers, answering, self.environment, console)
            };
            let workshop = self.shelf.workshop(&ground.directory, written, &mut answering, providers, make)?;
            Ok((workshop, answering))
        }
        .await;
        let (workshop, answering) = read.map_err(|failure| MakeError::Failed { reason: failure.told() })?;
        seat.note(&answering);
        let entrance = Entrance { mode: Mode::Server, beginning, owner };
        Ok(Ready { workshop, seat, answering, entrance, shell, file, text })
    }

    fn seat(
        &self,
        conversation: Conversation,
        ground: &Ground,
        console: &mut Console,
    ) -> Result<(Seat, Option<String>), MakeError> {
        let project = seat::project(self.arguments.kept.session_dir.as_deref(), ground, self.environment);
        let Some(project) = project else { return Ok((Seat::nowhere(ground), None)) };
        match conversation {
            Conversation::New { parent: None } => Ok((Seat::begin(&project), None)),
            Conversation::New { parent: Some(parent) } => Ok((Seat::begin_from(&parent, &project), None)),
            Conversation::NewAt(path) => Ok((Seat::of(project.create_at(&path, now(), fastrand::Rng::new())), None)),
            Conversation::Stored(path) => match Seat::at_exactly(&path, ground, console) {
                Ok(seat) => Ok((seat, None)),
                Err(Failure::Session(SessionFailure::Open(error))) => Err(unopened(&error)),
                Err(failure) => Err(MakeError::Failed { reason: failure.told() }),
            },
            Conversation::Fork { from, at } => {
                let viewed =
                    pi_session::file::view_exactly(&from, fastrand::Rng::new()).map_err(|error| unopened(&error))?;
                let forked = directory::fork(&viewed.tree, &viewed.reader, &at, &project, now(), fastrand::Rng::new());
                let forked = forked.map_err(|error| unforked(&error))?;
                Ok((Seat::of(forked.opened), forked.text))
            }
        }
    }
}

/// What takes as long as the disk does.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, MakeError> + Send + 'static,
) -> Result<T, MakeError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|panic| Err(failed(&panic)))
}

fn failed(error: &dyn std::error::Error) -> MakeError {
    let mut reason = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        reason.push_str(": ");
        reason.push_str(&cause.to_string());
        source = cause.source();
    }
    MakeError::Failed { reason }
}

fn unforked(error: &ForkError) -> MakeError {
    match error {
        ForkError::NoEntry(missing) => MakeError::NoEntry { entry: missing.id.clone() },
        error => failed(error),
    }
}

fn unopened(error: &OpenError) -> MakeError {
    match error {
        OpenError::InUse { .. } => MakeError::InUse,
        OpenError::NotASession { .. } => MakeError::NotASession,
        OpenError::Elsewhere { .. } => MakeError::Elsewhere,
        error => failed(error),
    }
}

/// Milliseconds until it was known that a call succeeded.
fn average(history: breaker::History) -> Amount {
    let calls = u32::try_from(history.successes).unwrap_or(u32::MAX);
    let average = history.waited.checked_div(calls).unwrap_or_default();
    // Less than a millisecond is more than nothing.
    let milliseconds = average.as_millis().max(u128::from(!average.is_zero()));
    Amount::from(u32::try_from(milliseconds).unwrap_or(u32::MAX))
}

/// A breaker in the protocol's words. How slow a provider is, is no failure here.
fn circuit(provider: ProviderId, seen: &Snapshot, now: u64) -> CircuitBreakerMetrics {
    let history = seen.history;
    let at = |ago: Duration| now.saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX));
    CircuitBreakerMetrics {
        provider_name: provider,
        state: match seen.state {
            breaker::CircuitState::Closed => CircuitState::Closed,
            breaker::CircuitState::Open => CircuitState::Open,
            breaker::CircuitState::HalfOpen => CircuitState::HalfOpen,
        },
        failure_count: seen.failures.into(),
        last_failure_time: history.last_failure.map(at),
        last_state_change: at(history.last_change),
        last_access_time: at(history.last_access),
        total_calls: history.calls,
        total_rejected: history.rejected,
        total_slow_calls: 0,
        total_successes: history.successes,
        total_failures: history.failures,
        avg_latency_ms: average(history),
        half_open_calls: history.probes,
        retry_after_ms: seen.retry_in.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
    }
}
