//! A server as the rest of the system holds it: a guest whose tools and commands are those of the server.

mod asking;
mod calling;
mod survey;
mod typed;

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::{
    sync::{Notify, mpsc, watch},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use pi_exthost::{
    Ask, Desk, Guest, GuestFault, Registration, ServerCall, Terms, ToolServer,
    guest::{CommandCall, Condition, Rendering, StreamCall, Suggestion, ToolAnswer, ToolInvocation},
};
use pi_extproto::{
    connector::{
        Call,
        session::SessionCall,
        tool::{HostToolOutput, ToolDefinition},
        ui::{NoticeLevel, UiCall},
    },
    hook::{Outcome, event::Event},
    host::HostError,
    log::{Level, LogEvent, LogNote},
    manifest::Tier,
};
use pi_transcript::{message::AssistantMessage, question::NotifyType};

use self::survey::Offers;
use super::{
    entry::Server,
    keeper::{Keeper, Stage, Tenant},
    limits::Limits,
    link::{About, Connect, Counter, Link, LinkFault, News},
    pins::{Changed, Pins, Unagreed},
    sdk,
};

/// News that a server may be ahead of us; more are dropped.
const NEWS: usize = 256;
/// After it said that a list changed, more of that is waited for.
const SETTLING: Duration = Duration::from_millis(100);
/// Lists are not asked for more often, however often they change.
const LISTING: Duration = Duration::from_secs(1);

/// What a guest is made of.
#[derive(Debug, Clone)]
pub struct Program {
    pub server: Server,
    pub limits: Limits,
    /// Where its tools are compared with what they were; without it nothing is.
    pub pins: Option<Pins>,
    /// Folders that the server is told of, as URIs.
    pub roots: Vec<String>,
    pub weight: Weight,
}

/// What tools cost in every request, in tokens.
pub type Weight = fn(&[ToolDefinition]) -> u64;

/// A connected server.
pub struct McpGuest {
    shared: Arc<Shared>,
    keeper: Keeper,
}

/// How a server stands, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Connecting,
    Ready(About),
    /// Another try follows.
    Waiting(String),
    Down(String),
    Closed,
}

/// What the guest and the task that keeps its connection share.
struct Shared {
    server: Server,
    limits: Limits,
    pins: Option<Pins>,
    roots: Arc<[String]>,
    weight: Weight,
    desk: Desk,
    /// Locks and no task, all of them: each is held for a look-up.
    registration: Mutex<Arc<Registration>>,
    offers: Mutex<Arc<Offers>>,
    /// Of the newest connection, until somebody listens to it.
    news: Mutex<Option<mpsc::Receiver<News>>>,
    /// Questions that lie before a person.
    asking: watch::Sender<usize>,
    /// Tools may be held back that were not before.
    has_changed: Notify,
    /// A person agreed to tools that were held back: the lists are to be read again.
    is_agreed_to: Notify,
    /// Whether the session knows the guest, so that it can be told of changes.
    is_launched: watch::Sender<bool>,
    has_told_loss: AtomicBool,
    /// It was told that it is still starting, and not yet that it has.
    is_late: AtomicBool,
    /// Its entry is not the one that a person agreed to, and none has agreed to this one yet.
    unagreed: Mutex<Option<Unagreed>>,
}

impl McpGuest {
    /// Connects, and waits until the server has listed its tools or the patience for it is over; then its tools come
    /// later. So they do if the first try fails, the limits want another, and that may help. Dropping the future ends it.
    pub async fn start(program: Program, desk: Desk) -> Result<Arc<Self>, GuestFault> {
        let (route, limits, at) = (program.server.route.clone(), program.limits.clone(), desk.clone());
        let connect: Connect = Arc::new(move |counter| {
            let (route, desk, limits) = (route.clone(), at.clone(), limits.clone());
            async move { sdk::connect(&route, &desk, &limits, counter).await }.boxed()
        });
        let Program { server, limits, pins, roots, weight } = program;
        let mut registration = Registration::new(desk.guest().clone(), server.file.display().to_string());
        registration.name.clone_from(&server.name);
        let shared = Arc::new(Shared {
            server,
            limits: limits.clone(),
            pins,
            roots: roots.into(),
            weight,
            desk: desk.clone(),
            registration: Mutex::new(Arc::new(registration)),
            offers: Mutex::default(),
            news: Mutex::default(),
            asking: watch::Sender::new(0),
            has_changed: Notify::new(),
            is_agreed_to: Notify::new(),
            is_launched: watch::Sender::new(false),
            has_told_loss: AtomicBool::new(false),
            is_late: AtomicBool::new(false),
            unagreed: Mutex::default(),
        });
        if let Some(unagreed) = shared.unagreed_entry().await? {
            *shared.unagreed.lock().unwrap_or_else(PoisonError::into_inner) = Some(unagreed);
            shared.is_late.store(true, Ordering::Relaxed);
        }
        let stop = CancellationToken::new();
        let keeper = Keeper::start(connect, limits.clone(), Arc::clone(&shared), stop.clone());
        let guest = Arc::new(Self { shared: Arc::clone(&shared), keeper });
        // Ends with the guest, which sets the token however it ends.
        tokio::spawn(stop.run_until_cancelled_owned(Arc::clone(&shared).ask_about_changes()));
        let served: Arc<dyn ToolServer> = guest.clone();
        desk.serve(&shared.server.name, &served);
        if shared.is_unagreed() {
            // The session in which somebody can be asked begins when this is done.
            shared.is_launched.send_replace(true);
            return Ok(guest);
        }
        match timeout(limits.patience, guest.keeper.settled()).await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) if fault.is_permanent() || !limits.retries_first => {
                return Err(GuestFault::threw(fault.to_string()));
            }
            Ok(Err(fault)) => {
                shared.is_late.store(true, Ordering::Relaxed);
                let name = &shared.server.name;
                shared.desk.tell(format!("MCP server {name}: {fault}; trying again"), NotifyType::Warning);
            }
            // It was ready in the last moment.
            Err(_) if matches!(guest.keeper.stage(), Stage::Ready(_)) => {}
            Err(_) => {
                let name = &shared.server.name;
                shared.is_late.store(true, Ordering::Relaxed);
                let late = format!(
                    "MCP server {name} is still starting; its tools come when it is ready, and `pi mcp test {name}` shows what \
                     it does"
                );
                shared.desk.tell(late, NotifyType::Warning);
            }
        }
        shared.is_launched.send_replace(true);
        Ok(guest)
    }

    pub fn standing(&self) -> Standing {
        match self.keeper.stage() {
            Stage::Connecting => Standing::Connecting,
            Stage::Ready(link) => Standing::Ready(link.about().clone()),
            Stage::Waiting { reason } => Standing::Waiting(reason.to_string()),
            Stage::Down { reason } => Standing::Down(reason.to_string()),
            Stage::Closed => Standing::Closed,
        }
    }

    /// Tools that are held back because they are not described as they were.
    pub fn changed(&self) -> Vec<Changed> {
        self.shared.offers().changed.clone()
    }

    /// What the server offers that cannot be used, and why.
    pub fn faults(&self) -> Vec<String> {
        self.shared.offers().faults.clone()
    }

    fn terms(&self, ask: &Ask, occasion: pi_exthost::Occasion) -> Terms {
        Terms {
            cancel: ask.cancel.clone(),
            timeout: None,
            stopwatch: Some(ask.stopwatch.clone()),
            occasion,
            control: None,
        }
    }
}

impl Drop for McpGuest {
    fn drop(&mut self) {
        self.keeper.stop();
    }
}

impl Shared {
    fn registration(&self) -> Arc<Registration> {
        Arc::clone(&self.registration.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn offers(&self) -> Arc<Offers> {
        Arc::clone(&self.offers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_unagreed(&self) -> bool {
        self.unagreed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Takes over what the server offers now, and tells the session if it has begun.
    fn publish(&self, offers: Offers) {
        let mut registration = Registration::clone(&self.registration());
        registration.tools = offers.tool_offers(&self.server.name);
        registration.commands = offers.command_offers(&self.server.name);
        let is_new = registration != *self.registration();
        *self.offers.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(offers);
        *self.registration.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(registration);
        if is_new && *self.is_launched.borrow() {
            let desk = self.desk.clone();
            // Nobody waits for it; it is answered at once.
            tokio::spawn(async move {
                let told = desk.call(Call::Session(SessionCall::RegistrationChanged), Terms::background()).await;
                if let Err(fault) = told {
                    tracing::debug!(guest = %desk.guest(), fault = fault.message, "the session does not take new offers");
                }
            });
        }
    }

    /// Tells a person something. Nobody waits for it.
    fn tell(&self, message: String, level: NoticeLevel) {
        self.show(UiCall::Notify { message, level });
    }

    fn show(&self, call: UiCall) {
        let desk = self.desk.clone();
        // It is answered at once, or refused because the session is over.
        tokio::spawn(async move {
            if let Err(fault) = desk.call(Call::Ui(call), Terms::background()).await {
                tracing::debug!(guest = %desk.guest(), fault = fault.message, "nobody was told");
            }
        });
    }

    fn log(&self, level: Level, text: String) {
        let note = LogNote { level, event: LogEvent::from("mcp.server"), message: text, data: None };
        self.desk.events().note(note, &pi_exthost::Occasion::Background);
    }

    /// A short word in the status line; nothing removes it.
    fn status(&self, text: Option<String>) {
        if *self.is_launched.borrow() {
            self.show(UiCall::SetStatus { key: format!("mcp:{}", self.server.name), text });
        }
    }

    fn hear(self: &Arc<Self>, news: News) {
        match news {
            News::Log { level, text } => {
                let level = match level.as_str() {
                    "debug" => Level::Debug,
                    "warning" => Level::Warn,
                    "error" | "critical" | "alert" | "emergency" => Level::Error,
                    _ => Level::Info,
                };
                self.log(level, text);
            }
            News::Question { message, wanted, answer } => self.put_question(message, wanted, answer),
            News::ToolsChanged | News::PromptsChanged | News::ResourcesChanged => {}
        }
    }
}

impl Tenant for Arc<Shared> {
    fn counter(&self) -> Counter {
        let (news, heard) = mpsc::channel(NEWS);
        *self.news.lock().unwrap_or_else(PoisonError::into_inner) = Some(heard);
        Counter { news, roots: Arc::clone(&self.roots) }
    }

    async fn admit(&self) -> Result<(), LinkFault> {
        let unagreed = self.unagreed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(unagreed) = unagreed else { return Ok(()) };
        let mut launched = self.is_launched.subscribe();
        // The sender is ours.
        let _ = launched.wait_for(|is_launched| *is_launched).await;
        self.ask_about_entry(&unagreed).await
    }

    async fn move_in(&self, link: &Arc<dyn Link>) -> Result<(), LinkFault> {
        self.survey(link).await?;
        let name = &self.server.name;
        let (is_late, is_back) =
            (self.is_late.swap(false, Ordering::Relaxed), self.has_told_loss.swap(false, Ordering::Relaxed));
        if is_late {
            let tools = self.registration().tools.len();
            self.desk.tell(format!("MCP server {name} is ready; tools: {tools}"), NotifyType::Info);
        } else if is_back {
            self.desk.tell(format!("MCP server {name} is connected again"), NotifyType::Info);
        }
        if is_back {
            self.status(None);
        }
        Ok(())
    }

    async fn live(&self, link: &Arc<dyn Link>) {
        let heard = self.news.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut heard) = heard else { return std::future::pending().await };
        let mut last = Instant::now();
        let mut due = None::<Instant>;
        loop {
            let is_due = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                news = heard.recv() => match news {
                    Some(News::ToolsChanged | News::PromptsChanged | News::ResourcesChanged) => {
                        due = due.or_else(|| Some((last + LISTING).max(Instant::now() + SETTLING)));
                    }
                    Some(news) => self.hear(news),
                    None => return std::future::pending().await,
                },
                () = self.is_agreed_to.notified() => due = Some((last + LISTING).max(Instant::now())),
                () = is_due => {
                    (due, last) = (None, Instant::now());
                    if let Err(fault) = self.survey(link).await {
                        self.log(Level::Warn, format!("its lists cannot be read again: {fault}"));
                    }
                }
            }
        }
    }

    fn lost(&self, reason: &LinkFault, tries_again: bool) {
        let name = &self.server.name;
        let next = match tries_again {
            true => "trying again".to_owned(),
            // What has no tools is used by nobody.
            false if self.registration().tools.is_empty() => {
                "given up; reload it to try it again (/extensions, ctrl+r)".to_owned()
            }
            false => "given up until one of its tools is used".to_owned(),
        };
        self.log(Level::Warn, format!("{reason}; {next}"));
        let is_first = !self.has_told_loss.swap(true, Ordering::Relaxed);
        // What goes wrong at the start is told by whoever starts it.
        if *self.is_launched.borrow() && (is_first || !tries_again) {
            self.tell(format!("MCP server {name}: {reason}; {next}"), NoticeLevel::Warning);
        }
        self.status(Some(format!("mcp {name}: {}", if tries_again { "reconnecting" } else { "down" })));
    }
}

impl ToolServer for McpGuest {
    fn call(&self, call: ServerCall) -> BoxFuture<'_, Result<HostToolOutput, HostError>> {
        self.answer(call).boxed()
    }
}

impl Guest for McpGuest {
    fn tier(&self) -> Tier {
        Tier::Mcp
    }

    fn condition(&self) -> Condition {
        match self.standing() {
            Standing::Ready(_) => Condition::Running,
            Standing::Connecting if self.shared.is_unagreed() => {
                Condition::Failed { why: "its entry changed, and it waits until you agree to it".to_owned() }
            }
            Standing::Connecting => Condition::Starting,
            Standing::Waiting(why) | Standing::Down(why) => Condition::Failed { why },
            Standing::Closed => Condition::Failed { why: "it was closed".to_owned() },
        }
    }

    fn started(&self) -> BoxFuture<'_, ()> {
        // One that cannot be reached has come to an end, too.
        async move { drop(self.keeper.settled().await) }.boxed()
    }

    /// That of its processes: what a server behind a URL has is its own.
    fn memory(&self) -> BoxFuture<'_, Option<u64>> {
        async move {
            match self.keeper.stage() {
                Stage::Ready(link) => link.memory().await,
                Stage::Connecting | Stage::Waiting { .. } | Stage::Down { .. } | Stage::Closed => None,
            }
        }
        .boxed()
    }

    fn registration(&self) -> Arc<Registration> {
        self.shared.registration()
    }

    /// It hears nothing: servers know no events.
    fn handle(&self, _: usize, _: Arc<Event>, _: Ask) -> BoxFuture<'_, Result<Outcome, GuestFault>> {
        async { Ok(Outcome::Notice) }.boxed()
    }

    fn call_tool(&self, call: ToolInvocation, ask: Ask) -> BoxFuture<'_, Result<ToolAnswer, GuestFault>> {
        self.use_tool(call, ask).boxed()
    }

    fn run_command(&self, call: CommandCall, ask: Ask) -> BoxFuture<'_, Result<(), GuestFault>> {
        self.fill_prompt(call, ask).boxed()
    }

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
        self.keeper.close().boxed()
    }
}

impl fmt::Debug for McpGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guest {} ({:?})", self.registration().id, self.standing())
    }
}
