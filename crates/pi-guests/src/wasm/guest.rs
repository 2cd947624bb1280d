//! A guest as the rest of the system holds it.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use pi_exthost::{
    Ask, Desk, Guest, GuestFault, Occasion, Registration, Stopwatch, Terms,
    guest::{CommandCall, Rendering, StreamCall, Suggestion, ToolAnswer, ToolInvocation},
    port::ControlPass,
};
use pi_extproto::{
    connector::{
        Call,
        ui::{NoticeLevel, UiCall},
    },
    hook::{Outcome, event::Event},
    manifest::Tier,
};
use pi_transcript::{message::AssistantMessage, question::NotifyType};

use super::{
    code::Code,
    instance::{Answer, Fallen, Instance, Task},
    limits::Limits,
    machine::{Machine, Resident},
    pool::{Place, Pool, Standstill, Traffic},
    room::{Shared, Work},
};
use crate::health::{Consequence, Health, History};

/// How long a guest may take to put things in order at its end.
const FAREWELL: Duration = Duration::from_millis(500);

/// What is run, and how.
#[derive(Debug, Clone)]
pub struct Program {
    /// For people.
    pub name: String,
    /// Where it was loaded from; reports of errors name it.
    pub path: String,
    pub machine: Machine,
    pub code: Code,
    pub limits: Limits,
}

/// An extension that is a component.
pub struct WasmGuest {
    code: Code,
    shared: Shared,
    empty: Registration,
    /// Looked at for every event, by whoever hands them out; held for a moment.
    registration: Mutex<Arc<Registration>>,
    pool: Arc<Pool>,
    /// A lock and no task: it is written in `Drop`, and held for a look.
    condition: Mutex<Condition>,
    end: CancellationToken,
    _resident: Resident,
}

/// How a guest is, and how it was.
struct Condition {
    health: Health,
    history: History,
    /// When it may be asked again, if it rests.
    rests_until: Instant,
}

impl WasmGuest {
    /// Makes the first instance and waits until it has said what it offers. What it does to its host it does through
    /// `desk`, in whose name everything is recorded. Dropping the future ends the guest.
    pub async fn start(program: Program, desk: Desk) -> Result<Arc<Self>, GuestFault> {
        let Program { name, path, machine, code, limits } = program;
        let mut empty = Registration::new(desk.guest().clone(), path);
        empty.name = name;
        let traffic = Arc::new(Traffic::default());
        let pool = Arc::new(Pool::new(limits.instances, limits.standstill, Arc::clone(&traffic)));
        let resident = machine.resident();
        let shared = Shared { machine, desk, limits, traffic, memory: Arc::default() };
        let condition = Condition { health: Health::Running, history: History::default(), rests_until: Instant::now() };
        let guest = Self {
            code,
            shared,
            registration: Mutex::new(Arc::new(empty.clone())),
            empty,
            pool,
            condition: Mutex::new(condition),
            end: CancellationToken::new(),
            _resident: resident,
        };
        let place = guest.place().await?;
        let instance = guest.instance().await.map_err(Fallen::into_fault)?;
        place.keep(instance);
        Ok(Arc::new(guest))
    }

    /// How many bytes of memory its instance has.
    pub fn memory(&self) -> u64 {
        self.shared.memory.load(Ordering::Relaxed)
    }

    pub fn health(&self) -> Health {
        self.condition().health
    }

    fn condition(&self) -> std::sync::MutexGuard<'_, Condition> {
        self.condition.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new instance, which has said what it offers.
    async fn instance(&self) -> Result<Box<Instance>, Fallen> {
        let loading = self.shared.limits.loading;
        let work = Work {
            cancel: self.end.child_token(),
            stopwatch: Stopwatch::new(loading),
            occasion: Occasion::Loading,
            control: None,
        };
        let stopwatch = work.stopwatch.clone();
        let (instance, registration) = tokio::select! {
            biased;
            made = Instance::make(&self.code, self.shared.clone(), work, self.empty.clone()) => made?,
            () = stopwatch.run_down() => {
                return Err(Fallen::Guilty(GuestFault::OverLimit { limit: format!("{loading:?} to load") }));
            }
        };
        if let Some(said) = &registration.introduction {
            self.shared.desk.hold_to(said);
        }
        *self.registration.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(registration);
        Ok(instance)
    }

    /// Waits for a place among its instances.
    async fn place(&self) -> Result<Place, GuestFault> {
        self.pool.place().await.map_err(|Standstill| {
            let (guest, most) = (self.shared.desk.guest(), self.shared.limits.instances);
            let limit = format!("{most} calls of {guest} at the same time, all of which wait for the host");
            GuestFault::OverLimit { limit }
        })
    }

    /// Whether it can be asked.
    fn admit(&self) -> Result<(), GuestFault> {
        let mut condition = self.condition();
        match condition.health {
            Health::Running => Ok(()),
            Health::Resting { .. } if Instant::now() >= condition.rests_until => {
                condition.health = Health::Running;
                Ok(())
            }
            Health::Resting { .. } => {
                Err(GuestFault::OverLimit { limit: "restarts: it rests for a moment".to_owned() })
            }
            Health::Quarantined | Health::Ended => Err(GuestFault::Gone),
        }
    }

    /// An instance was lost by its own fault.
    fn note_fault(&self, reason: &str) {
        self.shared.memory.store(0, Ordering::Relaxed);
        let mut condition = self.condition();
        if matches!(condition.health, Health::Ended | Health::Quarantined) {
            return;
        }
        let (guest, limit) = (self.shared.desk.guest(), &self.shared.limits.restarts);
        self.shared.desk.note_stop(reason);
        match condition.history.note(guest, reason, Instant::now().into_std(), limit) {
            Consequence::Rest { restarts, until } => {
                condition.rests_until = until.into();
                condition.health = Health::Resting { restarts };
            }
            Consequence::StayAway => {
                condition.health = Health::Quarantined;
                let message = format!(
                    "Extension {guest} was stopped too often and does not run any more. To start it anew: reload it (/extensions, \
                     ctrl+r). To switch it off: pi ext disable {guest}"
                );
                self.shared.desk.tell(message, NotifyType::Warning);
            }
        }
    }

    async fn ask(
        &self,
        task: Task,
        occasion: Occasion,
        ask: Ask,
        control: Option<ControlPass>,
    ) -> Result<Answer, GuestFault> {
        let Ask { cancel, stopwatch } = ask;
        let work = Work { cancel, stopwatch, occasion, control };
        tokio::select! {
            biased;
            answered = self.perform(task, work) => answered,
            () = self.end.cancelled() => Err(GuestFault::Gone),
        }
    }

    async fn perform(&self, task: Task, work: Work) -> Result<Answer, GuestFault> {
        self.admit()?;
        let mut place = tokio::select! {
            biased;
            place = self.place() => place?,
            () = work.cancel.cancelled() => return Err(GuestFault::Cancelled),
        };
        // It may have fallen while this call stood in line.
        self.admit()?;
        let mut instance = match place.take() {
            Some(instance) => instance,
            None => self.instance().await.map_err(|fallen| self.blame(fallen))?,
        };
        let mut asking = Asking { guest: self, is_away: instance.is_away(), is_over: false };
        let answered = instance.perform(task, work).await;
        asking.is_over = true;
        match answered {
            Ok(answered) => {
                place.keep(instance);
                answered
            }
            Err(fallen) => Err(self.blame(fallen)),
        }
    }

    /// Whose fault it was that an instance fell.
    fn blame(&self, fallen: Fallen) -> GuestFault {
        match &fallen {
            Fallen::Guilty(fault) => self.note_fault(&fault.to_string()),
            Fallen::Crowded(_) => {}
        }
        fallen.into_fault()
    }
}

/// Somebody waits for an answer. When they stop waiting while the guest computes, it did not hear that it was cancelled;
/// when it waits for its host, that was not its fault.
struct Asking<'a> {
    guest: &'a WasmGuest,
    is_away: Arc<AtomicBool>,
    is_over: bool,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if !self.is_over && !self.is_away.load(Ordering::SeqCst) {
            self.guest.note_fault("nobody waited for it any more");
        }
    }
}

fn nonsense(answer: &Answer) -> GuestFault {
    GuestFault::Nonsense { message: format!("{answer:?}") }
}

impl WasmGuest {
    /// Shows a person what a command has to say: as a notice of the extension, which may be refused as any other.
    async fn show(&self, message: String, occasion: Occasion) {
        let notice = UiCall::Notify { message, level: NoticeLevel::Info };
        let terms = Terms { occasion, ..Terms::background() };
        if let Err(fault) = self.shared.desk.call(Call::Ui(notice), terms).await {
            tracing::debug!(guest = %self.shared.desk.guest(), fault = fault.message, "what a command says is not shown");
        }
    }
}

impl Guest for WasmGuest {
    fn tier(&self) -> Tier {
        Tier::Wasm
    }

    fn condition(&self) -> pi_exthost::guest::Condition {
        self.health().into()
    }

    fn memory(&self) -> BoxFuture<'_, Option<u64>> {
        std::future::ready(Some(WasmGuest::memory(self))).boxed()
    }

    fn registration(&self) -> Arc<Registration> {
        let mut registration = self.registration.lock().unwrap_or_else(PoisonError::into_inner);
        // The desk knows the channels that it subscribed to.
        if let Some(channels) = self.shared.desk.channels_unless(&registration.channels) {
            *registration = Arc::new(Registration { channels, ..Registration::clone(&registration) });
        }
        Arc::clone(&registration)
    }

    fn handle(&self, _: usize, event: Arc<Event>, ask: Ask) -> BoxFuture<'_, Result<Outcome, GuestFault>> {
        async move {
            let occasion = Occasion::Event(event.name().to_owned());
            match self.ask(Task::Event(event), occasion, ask, None).await? {
                Answer::Outcome(outcome) => Ok(outcome),
                other => Err(nonsense(&other)),
            }
        }
        .boxed()
    }

    fn call_tool(&self, call: ToolInvocation, ask: Ask) -> BoxFuture<'_, Result<ToolAnswer, GuestFault>> {
        async move {
            let ToolInvocation { call_id, name, input, updates } = call;
            if self.registration().tool(&name).is_none() {
                return Err(GuestFault::not_offered(format!("tool {name}")));
            }
            let _hosting = self.shared.desk.host_tool_call(call_id.clone(), updates);
            let occasion = Occasion::ToolCall(call_id.clone());
            match self.ask(Task::Tool { call_id, name, input }, occasion, ask, None).await? {
                Answer::Tool(answer) => Ok(answer),
                other => Err(nonsense(&other)),
            }
        }
        .boxed()
    }

    fn run_command(&self, call: CommandCall, ask: Ask) -> BoxFuture<'_, Result<(), GuestFault>> {
        async move {
            let CommandCall { name, arguments, control } = call;
            if !self.registration().commands.iter().any(|command| command.definition.name == name) {
                return Err(GuestFault::not_offered(format!("command {name}")));
            }
            let occasion = Occasion::SlashCommand(name.clone());
            let task = Task::Command { name, arguments };
            match self.ask(task, occasion.clone(), ask, Some(control)).await? {
                Answer::Said(Some(text)) => self.show(text, occasion).await,
                Answer::Said(None) | Answer::Done => {}
                other @ (Answer::Tool(_) | Answer::Outcome(_)) => return Err(nonsense(&other)),
            }
            Ok(())
        }
        .boxed()
    }

    /// The interface of components has no such thing, nor any of the following.
    fn complete_argument(&self, _: String, _: String, _: Ask) -> BoxFuture<'_, Result<Vec<Suggestion>, GuestFault>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn press_shortcut(&self, key: String, _: Ask) -> BoxFuture<'_, Result<(), GuestFault>> {
        async move { Err(GuestFault::not_offered(format!("shortcut {key}"))) }.boxed()
    }

    fn render(&self, _: Rendering, _: Ask) -> BoxFuture<'_, Result<Option<Vec<String>>, GuestFault>> {
        async { Ok(None) }.boxed()
    }

    fn stream(&self, call: StreamCall, _: Ask) -> BoxFuture<'_, Result<Box<AssistantMessage>, GuestFault>> {
        async move { Err(GuestFault::not_offered(format!("provider {}", call.provider))) }.boxed()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async move {
            self.condition().health = Health::Ended;
            let farewell = async {
                let Ok(mut place) = self.place().await else { return };
                let Some(mut instance) = place.take() else { return };
                let work = Work {
                    cancel: CancellationToken::new(),
                    stopwatch: Stopwatch::new(FAREWELL),
                    occasion: Occasion::Background,
                    control: None,
                };
                if let Err(fallen) = instance.perform(Task::Shutdown, work).await {
                    let fault = fallen.into_fault();
                    tracing::debug!(guest = %self.shared.desk.guest(), %fault, "an extension did not end well");
                }
            };
            // One that is busy, or does not come to an end, is ended.
            if timeout(FAREWELL, farewell).await.is_err() {
                tracing::debug!(guest = %self.shared.desk.guest(), "an extension did not end in time");
            }
            self.end.cancel();
        }
        .boxed()
    }
}

impl fmt::Debug for WasmGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guest {}", self.empty.id)
    }
}
