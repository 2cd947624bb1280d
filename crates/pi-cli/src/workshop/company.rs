//! The extensions of one session: started with it, switched and loaded anew while it runs.
//!
//! Each session has guests and a dispatcher of its own. An extension that cannot be started costs itself: the session goes
//! on without it, and whoever is there is told what to do about it.

mod candidates;
mod gathering;
mod lost;
mod member;
mod tasks;
mod watch;

use std::{
    collections::BTreeMap,
    fmt, mem,
    path::{Path, PathBuf},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use pi_exthost::{
    Dispatcher, Exchange, GuestId, Guests, Patience,
    exchange::{Absent, Place},
    guests::{AtWork, Busy, GuestTool},
    launcher::{LaunchFault, Prepared},
    port::{Mode, Notice, SessionPort},
};
use pi_extproto::{connector::tool::ToolDefinition, hook::event::payload::DiscoverReason};
use pi_guests::mcp::{self, Record, Server};
use pi_session::{
    Furnisher, Post, Switch,
    extensions::{Extension, Phase, Steward, SwitchError},
};
use pi_transcript::question::NotifyType;
use tokio::{
    sync::{self, OnceCell},
    time::{Instant, interval_at},
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::member::{disabled, namesake, server_capabilities};
use self::{
    candidates::{candidates, clash, leaving},
    lost::Lost,
    member::{Candidate, Member, Origin},
    tasks::{off_thread, to_its_end},
    watch::Refreshed,
};
use super::{
    cost::cost,
    extensions::{Bench, Extensions, Found, Named, rules},
    furniture::{Brought, Furnished, Furniture},
};
use crate::{
    asking::milliseconds,
    compiling::{LOOK, told},
    failure::{Failure, SessionFailure},
};

/// Why a guard is not loaded anew by itself when its files change: the model that it judges could have written them.
const HELD: &str = "its files changed, and what judges the model is loaded anew only when somebody says so: /reload";

/// The extensions of a session.
pub(crate) struct Company {
    /// For whoever watches its files, and does not keep it.
    own: Weak<Self>,
    extensions: Arc<Extensions>,
    bench: Arc<Bench>,
    furniture: Arc<Furniture>,
    /// What the session has of it. A lock and no task: it is held for a copy of a pointer.
    furnished: Mutex<Arc<Furnished>>,
    furnisher: Furnisher,
    /// What its extensions bring, as they last said. A lock and no task: it is held for a copy.
    brought: Mutex<Brought>,
    /// Held by whoever asks them for it, so that what is asked last counts. Nothing lies behind it.
    gathering: sync::Mutex<()>,
    session: String,
    /// The file of the session, if it is kept in one.
    kept_in: Option<PathBuf>,
    mode: Mode,
    port: Arc<dyn SessionPort>,
    ended: CancellationToken,
    guests: Arc<Guests>,
    /// Lets them come and go.
    exchange: Exchange,
    /// Made when there is somebody to serve.
    dispatcher: OnceCell<Dispatcher>,
    /// In the order in which they hear of events. A lock and no task: it is held for a look, and whoever looks does not wait
    /// for one that is just being started.
    members: Mutex<Vec<Member>>,
    /// Held by whoever changes something, over everything that it waits for: changes come one after the other, in the order
    /// in which they were asked for. Nothing lies behind it, so that nobody who looks waits for it, and whoever has it runs in
    /// a task of its own that comes to its end. A task that is sent changes would be this queue with one more place to fail.
    changing: sync::Mutex<()>,
    /// Set when somebody watches the files of its members.
    watched: OnceLock<()>,
}

/// What came of looking for them and starting them.
pub(crate) struct Loaded {
    /// What was odd about it.
    pub(crate) notes: Vec<String>,
    /// That something is not as somebody asked for it.
    pub(crate) unmet: Option<SessionFailure>,
}

/// Whether those who come are told that the session has begun: at its beginning the session tells all of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrival {
    AtTheBeginning,
    Later,
}

/// What counts where one is started by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Say {
    /// What the settings say.
    AsWritten,
    /// That somebody wants it on; what the project says comes first.
    On,
}

/// Where one is let in, and who runs there until then.
struct Opening<'a> {
    place: Place<'a>,
    before: Option<Member>,
}

/// What is on the disk.
struct LookedAt {
    origin: Origin,
    prepared: Result<Prepared, LaunchFault>,
    read_at: u64,
}

impl Company {
    /// Starts all that are on, side by side, for the session behind `post`; says what was odd about it.
    pub(crate) async fn begin(
        extensions: Arc<Extensions>,
        bench: Arc<Bench>,
        furniture: Arc<Furniture>,
        post: &Post,
        (session, kept_in): (&str, Option<PathBuf>),
        mode: Mode,
    ) -> (Arc<Self>, Loaded) {
        let guests = Arc::new(Guests::new(Patience::default(), post.reporter()));
        let exchange = Exchange::new(Arc::clone(&guests), post.port(), post.ended());
        let company = Arc::new_cyclic(|own| Self {
            own: own.clone(),
            extensions,
            bench,
            furnished: Mutex::new(furniture.current()),
            furniture,
            furnisher: post.furnisher(),
            brought: Mutex::default(),
            gathering: sync::Mutex::default(),
            session: session.to_owned(),
            kept_in,
            mode,
            port: post.port(),
            ended: post.ended(),
            guests,
            exchange,
            dispatcher: OnceCell::new(),
            members: Mutex::default(),
            changing: sync::Mutex::default(),
            watched: OnceLock::new(),
        });
        let loaded = company.load(Arrival::AtTheBeginning).await;
        (company, loaded)
    }

    pub(crate) fn guests(&self) -> &Arc<Guests> {
        &self.guests
    }

    /// Looks what there is, and starts what is on in the place of what runs. What cannot be built goes on as it was. Each
    /// that comes back is exchanged in its seat: whatever is to be judged meanwhile waits for it.
    ///
    /// Cut off midway it leaves members that are listed and not there; whoever may be cut off uses [`to_its_end`].
    async fn load(&self, arrival: Arrival) -> Loaded {
        let _turn = self.changing.lock().await;
        let mut found = self.look().await;
        let mut notes = match arrival {
            // Whoever begins the session has been told.
            Arrival::AtTheBeginning => Vec::new(),
            Arrival::Later => mem::take(&mut found.notices),
        };
        if found.sources.is_empty() && found.servers.is_empty() && self.members().is_empty() {
            return Loaded { notes, unmet: self.extensions.unknown_flag(&self.guests) };
        }
        let dispatcher = match self.dispatcher(&mut notes).await {
            Ok(dispatcher) => dispatcher,
            Err(problem) => {
                let problem = format!("no extension is loaded: {problem}");
                let unmet = self.extensions.unloaded(&problem, &found.sources);
                notes.push(problem);
                return Loaded { notes, unmet };
            }
        };
        self.amend(dispatcher, &mut found, &mut notes).await;
        let extensions = Arc::clone(&self.extensions);
        let mut lost = Lost::of(off_thread(move || extensions.named()).await);
        let before = self.members().clone();
        let base = match arrival {
            Arrival::AtTheBeginning => self.extensions.first_base(self.mode),
            Arrival::Later => self.extensions.base().clone(),
        };
        let sources = found.sources.iter().map(|source| source.path.clone()).collect();
        let looking = candidates(found, &before, &self.extensions, (&base, self.mode), &mut lost);
        let candidates = match arrival {
            // The session in which somebody could be told begins when this is done.
            Arrival::AtTheBeginning => looking.await,
            Arrival::Later => self.tell_while(looking, sources).await,
        };
        let marked = candidates.iter().map(|candidate| candidate.member.clone()).collect();
        self.mark(marked).await;
        let openings = self.openings(&candidates, &before, arrival);
        join_all(leaving(&before, &candidates).iter().map(|id| self.guests.retire(id))).await;
        let started = join_all(candidates.into_iter().zip(openings).map(|(candidate, opening)| async move {
            let Candidate { member, prepared } = candidate;
            match prepared {
                Some(prepared) => {
                    let (member, raised) = self.raise(member, prepared, opening, dispatcher).await;
                    (member, Some(raised))
                }
                None => (member, None),
            }
        }));
        let mut members = Vec::new();
        for (member, raised) in started.await {
            // A server that is not there yet, and one whose tools are held back, tell that themselves.
            if let Some(Err(fault)) = raised {
                lost.add(&member.origin, member.lacking(&fault));
            }
            members.push(member);
        }
        notes.append(&mut lost.notes);
        let odd = self.guests.oddities(|name| self.bench.tools.get(name).is_some());
        notes.extend(odd.iter().map(ToString::to_string));
        notes.extend(members.iter().filter_map(Member::incomplete));
        notes.extend(members.iter().filter_map(Member::doubtful));
        let unmet = lost.unmet().or_else(|| self.unknown_flag(&members));
        *self.members() = members;
        self.watch();
        if arrival == Arrival::Later {
            self.exchange.publish().await;
        }
        Loaded { notes, unmet }
    }

    /// Reads anew what the session has from files beside its extensions. What cannot be read leaves everything as it was.
    async fn refurnish(&self) {
        let (furniture, brought) = (Arc::clone(&self.furniture), self.brought());
        let renewed = off_thread(move || {
            let (_, mut notes) = furniture.renew()?;
            let (furnished, more) = furniture.with(&brought)?;
            notes.extend(more);
            Ok((furnished, notes))
        });
        match renewed.await {
            Ok((furnished, notes)) => {
                let difference = self.furnish(furnished, notes).await;
                if let Some(difference) = difference {
                    self.tell(NotifyType::Info, difference).await;
                }
            }
            Err(failure) => self.tell_unread(&failure).await,
        }
    }

    /// Gives the session what was read, says what was odd about it, and answers what is different.
    async fn furnish(&self, furnished: Arc<Furnished>, notes: Vec<String>) -> Option<String> {
        let before =
            mem::replace(&mut *self.furnished.lock().unwrap_or_else(PoisonError::into_inner), Arc::clone(&furnished));
        self.furnisher.furnish(furnished.furnishing()).await;
        for note in notes {
            self.tell(NotifyType::Warning, note).await;
        }
        furnished.difference(&before)
    }

    async fn tell_unread(&self, failure: &Failure) {
        let kept = "settings, skills, prompt templates and instructions stay as they were";
        self.tell(NotifyType::Error, format!("{kept}: {}", failure.told())).await;
    }

    fn brought(&self) -> Brought {
        self.brought.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells whoever is there something that is about no extension.
    async fn tell(&self, notify_type: NotifyType, message: String) {
        match notify_type {
            NotifyType::Info => tracing::info!("{message}"),
            NotifyType::Warning | NotifyType::Error => tracing::warn!("{message}"),
        }
        self.exchange.tell(Notice { message, notify_type, about: None }).await;
    }

    /// Waits for work that may compile what was found at these places, and tells whoever is there of it.
    async fn tell_while<T>(&self, work: impl Future<Output = T>, mut places: Vec<PathBuf>) -> T {
        let mut work = pin!(work);
        let mut looks = interval_at(Instant::now() + LOOK, LOOK);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                _ = looks.tick() => {
                    for one in self.extensions.stock().compiling() {
                        if places.extract_if(.., |place| *place == one.path).count() > 0 {
                            self.tell(NotifyType::Info, told(&one)).await;
                        }
                    }
                }
            }
        }
    }

    /// Has the files of its members watched from here on, where somebody is there who edits them.
    fn watch(&self) {
        let is_attended = match self.mode {
            Mode::Terminal | Mode::Server => true,
            Mode::Json | Mode::Print => false,
        };
        if is_attended && self.extensions.is_watching() && self.watched.set(()).is_ok() {
            tracing::debug!(session = self.session, "the files of its extensions are watched");
            // Its owner is the session: it ends with it.
            tokio::spawn(watch::watch(self.own.clone(), self.ended.clone()));
        }
    }

    /// That somebody gave a value to a flag that no extension has, or one that it does not take. Which flags those have that
    /// are off nobody knows.
    fn unknown_flag(&self, members: &[Member]) -> Option<SessionFailure> {
        let is_off = |member: &Member| member.phase == Phase::Off && matches!(member.origin, Origin::Source(_));
        let unknown = self.extensions.unknown_flag(&self.guests)?;
        let may_be_known = matches!(unknown, SessionFailure::NoSuchFlag { .. }) && members.iter().any(is_off);
        (!may_be_known).then_some(unknown)
    }

    /// Where each of them is let in. From here on nobody reaches those that come back.
    fn openings(&self, candidates: &[Candidate], before: &[Member], arrival: Arrival) -> Vec<Opening<'_>> {
        self.guests.arrange(|id| candidates.iter().position(|one| one.member.id == *id));
        let opening = |(place, Candidate { member, prepared }): (usize, &Candidate)| {
            let change = prepared.as_ref().map(|_| self.guests.begin_change(&member.id, AtWork::Ends));
            let place = match change {
                Some(Ok(Some(change))) => Place::Taken(change),
                // Whatever it does ends with it: nobody is busy.
                Some(Ok(None) | Err(Busy)) | None => match arrival {
                    Arrival::AtTheBeginning => Place::First(place),
                    Arrival::Later => Place::Free(place),
                },
            };
            Opening { place, before: before.iter().find(|known| known.id == member.id).cloned() }
        };
        candidates.iter().enumerate().map(opening).collect()
    }

    /// Starts one, and answers how it stands then and how long that took. Where it does not start, whoever ran goes on.
    async fn raise(
        &self,
        member: Member,
        prepared: Prepared,
        Opening { place, before }: Opening<'_>,
        dispatcher: &Dispatcher,
    ) -> (Member, Result<Duration, LaunchFault>) {
        match (self.exchange.raise(prepared, place, dispatcher).await, before) {
            (Ok(took), _) => (Member { phase: Phase::Running, problem: None, ..member }, Ok(took)),
            (Err(Absent::Kept(fault)), Some(before)) => {
                // Its files are those that are to be mended.
                let Member { sources, read_at, .. } = member;
                (Member { sources, read_at, ..before.unbuilt(fault.to_string()) }, Err(fault))
            }
            (Err(Absent::Kept(fault) | Absent::Empty(fault)), _) => (member.fallen(fault.to_string()), Err(fault)),
        }
    }

    /// Starts one of them anew, or for the first time.
    async fn renew(&self, id: &str, say: Say) -> Result<Extension, SwitchError> {
        let _turn = self.changing.lock().await;
        let (place, member) = self.find(id)?;
        let mut found = self.look().await;
        let withheld = found.off.by_project(id);
        let server = found.servers.iter().find(|server| GuestId::of_server(&server.name).as_str() == id).cloned();
        let withheld = withheld.or_else(|| server.as_ref().and_then(disabled));
        let is_off = withheld.is_some() || (say == Say::AsWritten && found.off.holds(id));
        match withheld {
            Some(why) if say == Say::On => return Err(SwitchError::Withheld { id: id.to_owned(), why }),
            problem if is_off => {
                self.put_down(place, Member { phase: Phase::Off, problem, ..member }).await;
                return self.told(id).await;
            }
            _ => {}
        }
        let mut notes = Vec::new();
        let raised = match self.dispatcher(&mut notes).await {
            Ok(dispatcher) => {
                self.amend(dispatcher, &mut found, &mut notes).await;
                let looked_at = self.look_again(&member, server).await;
                // Whatever it does ends with it.
                self.replace(place, member, looked_at, dispatcher, AtWork::Ends)
                    .await
                    .unwrap_or_else(|Busy| id.to_owned())
            }
            Err(problem) => {
                let problem = Some(problem);
                self.note(place, Member { phase: Phase::Failed, problem, ..member });
                id.to_owned()
            }
        };
        notes.iter().for_each(|note| tracing::warn!(extension = id, "{note}"));
        let now = self.members().get(place).cloned();
        self.tell_incomplete(now.as_ref()).await;
        self.told(&raised).await
    }

    /// What is on the disk now in the place of a member.
    async fn look_again(&self, member: &Member, server: Option<Server>) -> LookedAt {
        let read_at = milliseconds();
        let (origin, prepared) = match (&member.origin, server) {
            (Origin::Server(_), Some(server)) => {
                let prepared = mcp::prepare(&server, self.extensions.base());
                (Origin::Server(Box::new(server)), Ok(prepared))
            }
            (Origin::Server(known), None) => {
                let fault = LaunchFault::Missing { path: known.file.display().to_string() };
                (member.origin.clone(), Err(fault))
            }
            (Origin::Source(source), _) => {
                let looking = self.extensions.prepare(vec![source.clone()]);
                let looked_at = self.tell_while(looking, vec![source.path.clone()]).await;
                let missing = || Err(LaunchFault::Missing { path: source.path.display().to_string() });
                let prepared = looked_at.into_iter().next().map_or_else(missing, |(_, prepared)| prepared);
                (member.origin.clone(), prepared)
            }
        };
        LookedAt { origin, prepared, read_at }
    }

    /// Puts what was looked at in the place of a member; what cannot be built goes on as it was. Answers its id then.
    async fn replace(
        &self,
        place: usize,
        member: Member,
        LookedAt { origin, prepared, read_at }: LookedAt,
        dispatcher: &Dispatcher,
        at_work: AtWork,
    ) -> Result<String, Busy> {
        match prepared {
            Ok(prepared) => {
                let clash = clash(&self.members(), place, &prepared.identity.id, &origin);
                if let Some(clash) = clash {
                    let id = member.id.to_string();
                    tracing::warn!(extension = %id, "{clash}");
                    self.note(place, member.unbuilt(clash));
                    return Ok(id);
                }
                let change = self.guests.begin_change(&member.id, at_work)?;
                let opening = Opening { place: change.map_or(Place::Free(place), Place::Taken), before: Some(member) };
                let Candidate { member, prepared } = Candidate::of(prepared, origin, read_at);
                let Some(prepared) = prepared else { return Ok(member.id.to_string()) };
                let mut members = self.members().clone();
                if let Some(known) = members.get_mut(place) {
                    known.clone_from(&member);
                }
                self.mark(members).await;
                let (member, raised) = self.raise(member, prepared, opening, dispatcher).await;
                if let Err(fault) = raised {
                    tracing::warn!(extension = %member.id, %fault, "an extension does not start");
                }
                let id = member.id.to_string();
                self.note(place, member);
                self.exchange.publish().await;
                Ok(id)
            }
            Err(fault) => {
                let id = member.id.to_string();
                tracing::warn!(extension = %id, %fault, "an extension cannot be built anew");
                if matches!(origin, Origin::Server(_)) {
                    // A server that is written nowhere any more has nobody who wants it to run.
                    let problem = Some(fault.to_string());
                    self.put_down(place, Member { phase: Phase::Failed, problem, ..member }).await;
                } else {
                    self.note(place, Member { read_at, ..member.unbuilt(fault.to_string()) });
                }
                Ok(id)
            }
        }
    }

    /// Loads one anew whose files changed, and tells whoever is there what came of it. Whatever it is doing goes on.
    async fn refresh(&self, source: &Path) -> Refreshed {
        let _turn = self.changing.lock().await;
        let is_it = |member: &Member| matches!(&member.origin, Origin::Source(known) if known.path == source);
        let found =
            self.members().iter().enumerate().find(|(_, member)| is_it(member)).map(|(place, it)| (place, it.clone()));
        let (Some((place, before)), Some(dispatcher)) = (found, self.dispatcher.get()) else { return Refreshed::Done };
        if before.phase == Phase::Off {
            return Refreshed::Done;
        }
        let looked_at = self.look_again(&before, None).await;
        let built = looked_at.prepared.as_ref().ok().filter(|_| before.phase == Phase::Running);
        let built = built.map(|prepared| {
            let Prepared { identity, sources, outdated, .. } = prepared;
            (identity.artifact == before.artifact, sources.clone(), outdated.clone())
        });
        let read_at = looked_at.read_at;
        match built {
            // Only what does not count was changed, or it was changed back, or it has to be compiled by hand.
            Some((true, sources, outdated)) => {
                let news = outdated.clone().filter(|_| before.outdated.is_none());
                let notice = news.map(|outdated| Notice {
                    message: format!("{} goes on as it was: {outdated}", before.id),
                    notify_type: NotifyType::Warning,
                    about: Some(before.id.clone()),
                });
                self.note(place, Member { problem: None, sources, outdated, read_at, ..before });
                if let Some(notice) = notice {
                    self.exchange.tell(notice).await;
                }
            }
            Some((false, sources, _)) if self.guests.guards(&before.id) => {
                let is_known = before.problem.as_deref() == Some(HELD);
                let notice = Notice {
                    message: format!("{} goes on as it was: {HELD}", before.id),
                    notify_type: NotifyType::Warning,
                    about: Some(before.id.clone()),
                };
                self.note(place, Member { problem: Some(HELD.to_owned()), sources, read_at, ..before });
                if !is_known {
                    self.exchange.tell(notice).await;
                }
            }
            Some((false, ..)) | None => {
                let (id, problem, missing) = (before.id.clone(), before.problem.clone(), before.missing.clone());
                if let Err(Busy) = self.replace(place, before, looked_at, dispatcher, AtWork::GoesOn).await {
                    tracing::debug!(extension = %id, "its files changed; it is at work and loaded anew later");
                    return Refreshed::Later;
                }
                let told = self.members().get(place).and_then(|now| renewed(now, problem.as_deref()));
                if let Some(notice) = told {
                    self.exchange.tell(notice).await;
                }
                let now = self.members().get(place).cloned().filter(|now| now.missing != missing);
                self.tell_incomplete(now.as_ref()).await;
            }
        }
        Refreshed::Done
    }

    /// Tells whoever is there what one lacks, if it lacks something.
    async fn tell_incomplete(&self, member: Option<&Member>) {
        let Some((member, message)) = member.and_then(|member| Some((member, member.incomplete()?))) else { return };
        self.exchange.tell(Notice { message, notify_type: NotifyType::Warning, about: Some(member.id.clone()) }).await;
    }

    /// Takes one out of the session.
    async fn put_down(&self, place: usize, member: Member) {
        let id = member.id.clone();
        self.note(place, member);
        self.exchange.retire(&id).await;
    }

    /// The one place where what they ask is decided, done and recorded.
    async fn dispatcher(&self, notes: &mut Vec<String>) -> Result<&Dispatcher, String> {
        let made = self.dispatcher.get_or_try_init(|| async {
            let trace = self.extensions.trace(&self.bench.record_redactor).unwrap_or_else(|problem| {
                notes.push(problem);
                None
            });
            let ledger = self.extensions.ledger(&self.session, &self.bench.record_redactor).await?;
            let port = Arc::clone(&self.port);
            let dispatcher = self.extensions.dispatcher_of(
                self.kept_in.clone(),
                port,
                ledger.clone(),
                &self.bench,
                trace.clone(),
            )?;
            self.guests.record(ledger, trace);
            dispatcher.introduce(&self.guests);
            let (ended, closed) = (self.ended.clone(), dispatcher.clone());
            // Its owner is the session: it ends soon after.
            tokio::spawn(async move {
                ended.cancelled().await;
                closed.close().await;
            });
            Ok(dispatcher)
        });
        made.await
    }

    /// Lets what is written now count. Rules that cannot be read cost the servers whose entries they come from.
    async fn amend(&self, dispatcher: &Dispatcher, found: &mut Found, notes: &mut Vec<String>) {
        let policy = Arc::clone(&self.furniture.current().policy);
        let amended = match rules(&policy, &found.servers) {
            Ok(policy) => {
                let (dispatcher, extensions) = (dispatcher.clone(), Arc::clone(&self.extensions));
                let amended = off_thread(move || dispatcher.amend(&policy, extensions.project_policy().as_ref())).await;
                amended.map_err(|fault| format!("the rules stay as they were: {fault}"))
            }
            Err(problem) => Err(problem),
        };
        if let Err(problem) = amended {
            found.servers.clear();
            notes.push(problem);
        }
    }

    /// Guards what these consist of, before any of their code runs. Sessions of the folder share it.
    async fn mark(&self, members: Vec<Member>) {
        let named: Vec<Named> = members.iter().filter_map(Member::code).collect();
        let servers: Vec<Server> = members.iter().filter_map(Member::server).collect();
        let (extensions, marks) = (Arc::clone(&self.extensions), self.bench.folders.marks.clone());
        off_thread(move || marks.set(extensions.marks(&named, &servers))).await;
    }

    /// Those that there are now.
    async fn look(&self) -> Found {
        let extensions = Arc::clone(&self.extensions);
        off_thread(move || extensions.look()).await
    }

    /// What is recorded of the servers among them, in their order: which version each was when it was last seen, and which of
    /// its tools are held back.
    async fn recorded(&self, members: &[Member]) -> Vec<Option<Record>> {
        let server = |member: &Member| match &member.origin {
            Origin::Server(server) => Some(server.clone()),
            Origin::Source(_) => None,
        };
        let servers: Vec<Option<Box<Server>>> = members.iter().map(server).collect();
        let extensions = Arc::clone(&self.extensions);
        let read = move || {
            let pins = extensions.base().pins.as_ref();
            // A record that cannot be read is told by the server itself, whose tools it costs.
            servers.iter().map(|server| pins?.recorded(server.as_ref()?).ok()).collect()
        };
        off_thread(read).await
    }

    /// Which tools of a server are held back because they are not described as they were.
    fn held_back(member: &Member, record: Option<&Record>) -> Option<String> {
        let Origin::Server(server) = &member.origin else { return None };
        let Record { changed, .. } = record.filter(|_| member.phase != Phase::Off)?;
        let (name, tools) = (&server.name, changed.join(", "));
        (!changed.is_empty()).then(|| {
            format!(
                "MCP server {name} has new or changed tools: {tools}; not offered until you agree: `pi mcp test {name} --accept`"
            )
        })
    }

    fn find(&self, id: &str) -> Result<(usize, Member), SwitchError> {
        let members = self.members();
        let found = members.iter().enumerate().find(|(_, member)| member.id.as_str() == id);
        let (place, member) = found.ok_or_else(|| SwitchError::Unknown { id: id.to_owned() })?;
        Ok((place, member.clone()))
    }

    fn note(&self, place: usize, member: Member) {
        if let Some(known) = self.members().get_mut(place) {
            *known = member;
        }
    }

    /// How one of them stands.
    async fn told(&self, id: &str) -> Result<Extension, SwitchError> {
        let unknown = || SwitchError::Unknown { id: id.to_owned() };
        self.list().await.into_iter().find(|one| one.id == id).ok_or_else(unknown)
    }

    /// For a change, which goes on when nobody waits for it.
    fn kept(&self) -> Arc<Self> {
        self.own.upgrade().expect("it was lent by somebody who keeps it")
    }

    fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        // Nothing in here can panic half-way.
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Steward for Company {
    fn list(&self) -> BoxFuture<'_, Vec<Extension>> {
        async {
            let mut running = self.guests.enrolled().await;
            let (members, offered) = (self.members().clone(), self.guests.tools());
            let (records, costs) = (self.recorded(&members).await, costs(offered).await);
            let listed = members.into_iter().zip(records).map(|(member, record)| {
                let guest = running.iter().position(|guest| guest.id == member.id.as_str());
                let guest = guest.map(|place| running.swap_remove(place));
                let (held_back, tokens) = (Self::held_back(&member, record.as_ref()), costs.get(&member.id).copied());
                let is_here = guest.is_some() && member.phase == Phase::Running;
                let past = (!is_here).then(|| self.guests.past(&member.id, &member.path(), &member.origins));
                let mut one = member.told(guest.map(Extension::from));
                one.figures = past.unwrap_or(one.figures);
                one.problem = one.problem.or(held_back);
                one.version = one.version.or_else(|| record.and_then(|record| record.version));
                one.tokens = tokens.filter(|_| !one.tools.is_empty());
                one
            });
            listed.collect()
        }
        .boxed()
    }

    fn switch<'a>(&'a self, id: &'a str, switch: Switch) -> BoxFuture<'a, Result<Extension, SwitchError>> {
        let (company, id) = (self.kept(), id.to_owned());
        to_its_end(async move {
            let id = match switch {
                Switch::On if company.find(&id)?.1.phase == Phase::Running => id,
                Switch::On => company.renew(&id, Say::On).await?.id,
                Switch::Off => {
                    let _turn = company.changing.lock().await;
                    let (place, member) = company.find(&id)?;
                    // One that is off for another reason stays off for it.
                    if member.phase != Phase::Off {
                        company.put_down(place, Member { phase: Phase::Off, problem: None, ..member }).await;
                    }
                    id
                }
            };
            company.gather_anew(DiscoverReason::Reload).await;
            company.told(&id).await
        })
        .boxed()
    }

    fn reload<'a>(&'a self, id: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Extension>, SwitchError>> {
        let (company, id) = (self.kept(), id.map(str::to_owned));
        to_its_end(async move {
            match id {
                Some(id) => {
                    let renewed = company.renew(&id, Say::AsWritten).await?;
                    company.gather_anew(DiscoverReason::Reload).await;
                    Ok(vec![renewed])
                }
                None => {
                    // First: what is allowed counts for those that are started then.
                    company.refurnish().await;
                    let Loaded { notes, unmet } = company.load(Arrival::Later).await;
                    company.gather_anew(DiscoverReason::Reload).await;
                    for note in notes.into_iter().chain(unmet.map(|failure| failure.to_string())) {
                        company.tell(NotifyType::Warning, note).await;
                    }
                    Ok(company.list().await)
                }
            }
        })
        .boxed()
    }

    fn gather(&self, reason: DiscoverReason) -> BoxFuture<'_, ()> {
        self.gather_anew(reason).boxed()
    }
}

impl fmt::Debug for Company {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Company").field("session", &self.session).field("guests", &self.guests).finish_non_exhaustive()
    }
}

/// What the tools of each guest cost in every request.
async fn costs(offered: Vec<GuestTool>) -> BTreeMap<GuestId, u64> {
    let mut tools = BTreeMap::<GuestId, Vec<ToolDefinition>>::new();
    for tool in offered {
        tools.entry(tool.guest).or_default().push(tool.offer.definition.clone());
    }
    off_thread(move || tools.into_iter().map(|(guest, tools)| (guest, cost(&tools))).collect()).await
}

/// What a person is told of one that was loaded anew because its files changed; nothing of what they know.
fn renewed(member: &Member, known_problem: Option<&str>) -> Option<Notice> {
    let Member { id, phase, problem, .. } = member;
    let (message, notify_type) = match problem.as_deref() {
        None => (format!("{id} was loaded anew: its files changed"), NotifyType::Info),
        Some(problem) if Some(problem) == known_problem => return None,
        Some(problem) if *phase == Phase::Running => (
            format!("{id} goes on as it was, what is on the disk cannot be used: {}", problem.trim_end()),
            NotifyType::Error,
        ),
        Some(problem) => (format!("{id} does not run: {}", problem.trim_end()), NotifyType::Error),
    };
    Some(Notice { message, notify_type, about: Some(id.clone()) })
}
