//! The extensions of one session: started with it, switched and loaded anew while it runs.
//!
//! Each session has guests and a dispatcher of its own. An extension that cannot be started costs itself: the session goes
//! on without it, and whoever is there is told what to do about it.

mod lost;
mod member;
mod watch;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, panic,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all, pending},
};
use pi_exthost::{
    Dispatcher, Guest, GuestId, Guests, Patience,
    guests::{AtWork, Busy, Change},
    launcher::{LaunchFault, Prepared},
    port::{Mode, Request, SessionPort},
};
use pi_extproto::connector::tool::ToolDefinition;
use pi_guests::mcp::{self, Record, Server};
use pi_session::{
    Post, Switch,
    extensions::{Extension, Phase, Steward, SwitchError},
};
use pi_transcript::question::{Announcement, NotifyType};
use tokio::{
    sync::{self, OnceCell, oneshot},
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::member::{disabled, namesake, server_capabilities};
use self::{
    lost::{Lost, late, odd_tools},
    member::{Candidate, Member, Origin, called_too, free_name, not_loaded},
    watch::Refreshed,
};
use super::{
    cost::cost,
    extensions::{Bench, Extensions, Found},
};
use crate::{asking::milliseconds, failure::SessionFailure};

/// How long an extension may take to load, waiting included.
const LOADING: Duration = Duration::from_secs(30);

/// Whose offers a session is told of when somebody came or went.
const STEWARD: &str = "pi";

/// The extensions of a session.
pub(crate) struct Company {
    /// For whoever watches its files, and does not keep it.
    own: Weak<Self>,
    extensions: Arc<Extensions>,
    bench: Arc<Bench>,
    session: String,
    mode: Mode,
    port: Arc<dyn SessionPort>,
    ended: CancellationToken,
    guests: Arc<Guests>,
    /// Made when there is somebody to serve.
    dispatcher: OnceCell<Dispatcher>,
    /// In the order in which they hear of events. A lock and no task: it is held for a look, and whoever looks does not wait
    /// for one that is just being started.
    members: Mutex<Vec<Member>>,
    /// Held by whoever changes something: changes come one after the other.
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
enum Wanted {
    /// What the settings say.
    AsWritten,
    /// That somebody wants it on; what the project says comes first.
    On,
}

/// Where one is let in.
enum Place<'a> {
    /// Among the others, before the session begins.
    First(usize),
    /// Among the others, while it runs.
    Free(usize),
    /// In the place of one that goes.
    Taken(Change<'a>),
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
        post: &Post,
        session: &str,
        mode: Mode,
    ) -> (Arc<Self>, Loaded) {
        let company = Arc::new_cyclic(|own| Self {
            own: own.clone(),
            extensions,
            bench,
            session: session.to_owned(),
            mode,
            port: post.port(),
            ended: post.ended(),
            guests: Arc::new(Guests::new(Patience::default(), post.reporter())),
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
        let mut found = self.extensions.look();
        let mut notes = Vec::new();
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
        self.amend(dispatcher, &mut found, &mut notes);
        let mut lost = Lost::of(self.extensions.named());
        let candidates = self.candidates(found, arrival, &mut lost).await;
        let seats = self.seats(&candidates, arrival);
        join_all(self.leaving(&candidates).iter().map(|id| self.guests.retire(id))).await;
        let started = join_all(candidates.into_iter().zip(seats).map(|(candidate, seat)| async move {
            let Candidate { member, prepared } = candidate;
            match prepared {
                Some(prepared) => {
                    let (member, raised) = self.raise(member, prepared, seat, dispatcher).await;
                    (member, Some(raised))
                }
                None => (member, None),
            }
        }));
        let mut members = Vec::new();
        for (member, raised) in started.await {
            match raised {
                Some(Ok(took)) => notes.extend(late(&member, took, self.extensions.base().limits.patience)),
                Some(Err(fault)) => lost.add(&member.origin, not_loaded(&member.origin, &fault)),
                None => {}
            }
            members.push(member);
        }
        notes.append(&mut lost.notes);
        notes.extend(odd_tools(&self.guests, &self.bench.tools.names().collect()));
        notes.extend(members.iter().filter_map(|member| self.held_back(member)));
        let unmet = lost.unmet().or_else(|| self.unknown_flag(&members));
        *self.members() = members;
        self.watch();
        if arrival == Arrival::Later {
            self.publish().await;
        }
        Loaded { notes, unmet }
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
    fn seats(&self, candidates: &[Candidate], arrival: Arrival) -> Vec<Place<'_>> {
        self.guests.arrange(|id| candidates.iter().position(|one| one.member.id == *id));
        let seat = |(place, Candidate { member, prepared }): (usize, &Candidate)| {
            let change = prepared.as_ref().map(|_| self.guests.begin_change(&member.id, AtWork::Ends));
            match change {
                Some(Ok(Some(change))) => Place::Taken(change),
                // Whatever it does ends with it: nobody is busy.
                Some(Ok(None) | Err(Busy)) | None => match arrival {
                    Arrival::AtTheBeginning => Place::First(place),
                    Arrival::Later => Place::Free(place),
                },
            }
        };
        candidates.iter().enumerate().map(seat).collect()
    }

    /// Those that neither come back nor stay as they are.
    fn leaving(&self, candidates: &[Candidate]) -> Vec<GuestId> {
        let is_kept = |id: &GuestId| {
            let keeps = |Candidate { member, prepared }: &Candidate| match prepared {
                Some(_) => member.id == *id,
                None => member.is_up(id),
            };
            candidates.iter().any(keeps)
        };
        self.members().iter().map(|member| member.id.clone()).filter(|id| !is_kept(id)).collect()
    }

    /// Looks at all of them. Of those with one name the first has it; the others do not run, and are listed with a number
    /// behind it.
    async fn candidates(&self, found: Found, arrival: Arrival, lost: &mut Lost) -> Vec<Candidate> {
        let Found { sources, servers, off, notices: _ } = found;
        let (before, read_at) = (self.members().clone(), milliseconds());
        let (mut names, mut nameless, mut candidates) = (BTreeMap::new(), Vec::new(), Vec::new());
        for (source, looked_at) in self.extensions.prepare(sources).await {
            let candidate = match looked_at {
                Ok(prepared) => {
                    let clash = namesake(&prepared.identity.id, &source, &mut names);
                    let candidate = Candidate::of(prepared, Origin::Source(source), read_at);
                    match clash {
                        None => candidate,
                        Some(clash) => {
                            lost.add(&candidate.member.origin, clash.clone());
                            nameless.push(candidates.len());
                            Candidate { member: candidate.member.unbuilt(clash), prepared: None }
                        }
                    }
                }
                Err(fault) => {
                    let origin = Origin::Source(source.clone());
                    lost.add(&origin, not_loaded(&origin, &fault));
                    let known = before.iter().find(|member| member.origin.is(&origin)).cloned();
                    let mut member = known.unwrap_or_else(|| Member::unknown(origin, read_at));
                    // What runs keeps its name, as does what is off, unless another has it now.
                    let is_named = member.phase != Phase::Failed;
                    if !is_named || namesake(&member.id, &source, &mut names).is_some() {
                        member.phase = Phase::Failed;
                        nameless.push(candidates.len());
                    }
                    Candidate { member: member.unbuilt(fault.to_string()), prepared: None }
                }
            };
            candidates.push(candidate);
        }
        let mut taken: BTreeSet<String> = names.into_keys().collect();
        for place in nameless {
            if let Some(Candidate { member, .. }) = candidates.get_mut(place) {
                member.id = GuestId::from(free_name(member.id.as_str(), &mut taken));
            }
        }
        let base = match arrival {
            Arrival::AtTheBeginning => self.extensions.first_base(self.mode),
            Arrival::Later => self.extensions.base().clone(),
        };
        for server in servers {
            let prepared = mcp::prepare(&server, &base);
            candidates.push(Candidate::of(prepared, Origin::Server(Box::new(server)), read_at));
        }
        for candidate in &mut candidates {
            let Candidate { member, prepared } = candidate;
            if off.holds(member.id.as_str()) || member.origin.is_disabled() {
                *prepared = None;
                member.phase = Phase::Off;
                member.problem = off.by_project(member.id.as_str()).or_else(|| member.origin.why_disabled());
                lost.leave_off(member, self.mode);
            }
        }
        candidates
    }

    /// Starts one of them anew, or for the first time.
    async fn renew(&self, id: &str, wanted: Wanted) -> Result<Extension, SwitchError> {
        let _turn = self.changing.lock().await;
        let (place, member) = self.find(id)?;
        let mut found = self.extensions.look();
        let withheld = found.off.by_project(id);
        let server = found.servers.iter().find(|server| mcp::guest_id(&server.name).as_str() == id).cloned();
        let withheld = withheld.or_else(|| server.as_ref().and_then(disabled));
        let is_off = withheld.is_some() || (wanted == Wanted::AsWritten && found.off.holds(id));
        match withheld {
            Some(why) if wanted == Wanted::On => return Err(SwitchError::Withheld { id: id.to_owned(), why }),
            problem if is_off => {
                self.put_down(place, Member { phase: Phase::Off, problem, ..member }).await;
                return self.told(id).await;
            }
            _ => {}
        }
        let mut notes = Vec::new();
        let raised = match self.dispatcher(&mut notes).await {
            Ok(dispatcher) => {
                self.amend(dispatcher, &mut found, &mut notes);
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
                let looked_at = self.extensions.prepare(vec![source.clone()]).await;
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
                if let Some(clash) = self.clash(place, &prepared.identity.id, &origin) {
                    let id = member.id.to_string();
                    tracing::warn!(extension = %id, "{clash}");
                    self.note(place, member.unbuilt(clash));
                    return Ok(id);
                }
                let change = self.guests.begin_change(&member.id, at_work)?;
                let Candidate { member, prepared } = Candidate::of(prepared, origin, read_at);
                let Some(prepared) = prepared else { return Ok(member.id.to_string()) };
                let seat = change.map_or(Place::Free(place), Place::Taken);
                let (member, raised) = self.raise(member, prepared, seat, dispatcher).await;
                if let Err(fault) = raised {
                    tracing::warn!(extension = %member.id, %fault, "an extension does not start");
                }
                let id = member.id.to_string();
                self.note(place, member);
                self.publish().await;
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
        match &looked_at.prepared {
            Ok(prepared) if before.phase == Phase::Running && prepared.identity.artifact == before.artifact => {
                // Only what does not count was changed, or it was changed back.
                let (sources, read_at) = (prepared.sources.clone(), looked_at.read_at);
                self.note(place, Member { problem: None, sources, read_at, ..before });
            }
            Ok(_) | Err(_) => {
                let (id, problem) = (before.id.clone(), before.problem.clone());
                if let Err(Busy) = self.replace(place, before, looked_at, dispatcher, AtWork::GoesOn).await {
                    tracing::debug!(extension = %id, "its files changed; it is at work and loaded anew later");
                    return Refreshed::Later;
                }
                let told = self.members().get(place).and_then(|now| renewed(now, problem.as_deref()));
                if let Some(announcement) = told {
                    self.tell(announcement).await;
                }
            }
        }
        Refreshed::Done
    }

    /// Tells whoever is there.
    async fn tell(&self, announcement: Announcement) {
        let (reply, taken) = oneshot::channel();
        self.port.submit(GuestId::from(STEWARD), Request::Announce(announcement, reply)).await;
        // Of a session that is gone nobody is told.
        drop(taken.await);
    }

    /// Why one cannot be called so: another is.
    fn clash(&self, place: usize, id: &GuestId, origin: &Origin) -> Option<String> {
        let Origin::Source(source) = origin else { return None };
        let members = self.members();
        let other = members.iter().enumerate().find(|(other, member)| *other != place && member.id == *id);
        match other.map(|(_, member)| &member.origin) {
            Some(Origin::Source(first)) => Some(called_too(id, source, first)),
            Some(Origin::Server(_)) | None => None,
        }
    }

    /// Starts one at a desk of its own, and lets it in; who was in its place goes before. Answers how long that took.
    async fn raise(
        &self,
        member: Member,
        prepared: Prepared,
        mut place: Place<'_>,
        dispatcher: &Dispatcher,
    ) -> (Member, Result<Duration, LaunchFault>) {
        if let Place::Taken(change) = &mut place {
            change.dismiss().await;
            self.clear(change.id()).await;
        }
        let began = Instant::now();
        let launched = launch(prepared, dispatcher).await;
        let took = began.elapsed();
        let raised = match launched {
            Ok(guest) => {
                let seated = match place {
                    Place::First(place) => self.guests.admit(guest, place),
                    Place::Free(place) => self.guests.welcome(guest, place).await,
                    Place::Taken(change) => change.finish(guest).await,
                };
                seated.map_err(|duplicate| LaunchFault::Unusable { message: duplicate.to_string() })
            }
            Err(fault) => Err(fault),
        };
        match raised {
            Ok(()) => (Member { phase: Phase::Running, problem: None, ..member }, Ok(took)),
            Err(fault) => (Member { phase: Phase::Failed, problem: Some(fault.to_string()), ..member }, Err(fault)),
        }
    }

    /// Takes away what one left on the screens of clients, before another in its place shows its own.
    async fn clear(&self, gone: GuestId) {
        let (reply, cleared) = oneshot::channel();
        self.port.submit(gone, Request::Left(reply)).await;
        // A session that is gone shows nothing.
        drop(cleared.await);
    }

    /// Takes one out of the session.
    async fn put_down(&self, place: usize, member: Member) {
        let id = member.id.clone();
        self.note(place, member);
        self.guests.retire(&id).await;
        self.publish().await;
    }

    /// Tells the session that what it is offered has changed. A session that ended meanwhile keeps none of them.
    async fn publish(&self) {
        let (reply, taken) = oneshot::channel();
        self.port.submit(GuestId::from(STEWARD), Request::RegistrationChanged(reply)).await;
        // Of a session that is gone nobody wants to know what it is offered.
        drop(taken.await);
        if self.ended.is_cancelled() {
            self.guests.shutdown().await;
        }
    }

    /// The one place where what they ask is decided, done and recorded.
    async fn dispatcher(&self, notes: &mut Vec<String>) -> Result<&Dispatcher, String> {
        let made = self.dispatcher.get_or_try_init(|| async {
            let trace = self.extensions.trace(&self.bench.redactor).unwrap_or_else(|problem| {
                notes.push(problem);
                None
            });
            let ledger = self.extensions.ledger(&self.session, &self.bench.redactor).await?;
            let port = Arc::clone(&self.port);
            let dispatcher = self.extensions.dispatcher(port, ledger.clone(), &self.bench, trace.clone())?;
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
    fn amend(&self, dispatcher: &Dispatcher, found: &mut Found, notes: &mut Vec<String>) {
        let amended = self.extensions.rules(&found.servers).and_then(|policy| {
            dispatcher.amend(&policy).map_err(|fault| format!("the rules stay as they were: {fault}"))
        });
        if let Err(problem) = amended {
            found.servers.clear();
            notes.push(problem);
        }
    }

    /// What is recorded of a server: which version it was when it was last seen, and which of its tools are held back.
    fn recorded(&self, member: &Member) -> Option<Record> {
        let Origin::Server(server) = &member.origin else { return None };
        // A record that cannot be read is told by the server itself, whose tools it costs.
        self.extensions.base().pins.as_ref()?.recorded(server).ok()
    }

    /// Which tools of a server are held back because they are not described as they were.
    fn held_back(&self, member: &Member) -> Option<String> {
        let Origin::Server(server) = &member.origin else { return None };
        let Record { changed, .. } = self.recorded(member).filter(|_| member.phase != Phase::Off)?;
        let (name, tools) = (&server.name, changed.join(", "));
        (!changed.is_empty()).then(|| {
            format!(
                "MCP server {name} changed the description of {tools}; not offered until you agree: `pi mcp test {name} --accept`"
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
            let listed = members.into_iter().map(|member| {
                let guest = running.iter().position(|guest| guest.id == member.id.as_str());
                let guest = guest.map(|place| running.swap_remove(place));
                let (held_back, record) = (self.held_back(&member), self.recorded(&member));
                let mut one = member.told(guest.map(Extension::from));
                one.problem = one.problem.or(held_back);
                one.version = one.version.or_else(|| record.and_then(|record| record.version));
                let own = offered.iter().filter(|tool| tool.guest.as_str() == one.id);
                let own: Vec<ToolDefinition> = own.map(|tool| tool.offer.definition.clone()).collect();
                one.tokens = (!one.tools.is_empty()).then(|| cost(&own));
                one
            });
            listed.collect()
        }
        .boxed()
    }

    fn switch<'a>(&'a self, id: &'a str, switch: Switch) -> BoxFuture<'a, Result<Extension, SwitchError>> {
        let (company, id) = (self.kept(), id.to_owned());
        to_its_end(async move {
            match switch {
                Switch::On if company.find(&id)?.1.phase == Phase::Running => company.told(&id).await,
                Switch::On => company.renew(&id, Wanted::On).await,
                Switch::Off => {
                    let _turn = company.changing.lock().await;
                    let (place, member) = company.find(&id)?;
                    // One that is off for another reason stays off for it.
                    if member.phase != Phase::Off {
                        company.put_down(place, Member { phase: Phase::Off, problem: None, ..member }).await;
                    }
                    company.told(&id).await
                }
            }
        })
        .boxed()
    }

    fn reload<'a>(&'a self, id: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Extension>, SwitchError>> {
        let (company, id) = (self.kept(), id.map(str::to_owned));
        to_its_end(async move {
            match id {
                Some(id) => Ok(vec![company.renew(&id, Wanted::AsWritten).await?]),
                None => {
                    let Loaded { notes, unmet } = company.load(Arrival::Later).await;
                    let unmet = unmet.map(|failure| failure.to_string());
                    notes.iter().chain(&unmet).for_each(|note| tracing::warn!("{note}"));
                    Ok(company.list().await)
                }
            }
        })
        .boxed()
    }
}

impl fmt::Debug for Company {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Company").field("session", &self.session).field("guests", &self.guests).finish_non_exhaustive()
    }
}

/// What a person is told of one that was loaded anew because its files changed; nothing of what they know.
fn renewed(member: &Member, known_problem: Option<&str>) -> Option<Announcement> {
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
    Some(Announcement::Notify { message, notify_type: Some(notify_type) })
}

/// Does a change in a task of its own, and waits for it. Dropping the future only ends the waiting: a change that is cut off
/// midway would leave members that are listed and not there.
async fn to_its_end<T: Send + 'static>(change: impl Future<Output = T> + Send + 'static) -> T {
    // Its owner is the company, which it keeps. It ends by itself: whatever a change waits for is waited for a bounded time.
    match tokio::spawn(change).await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(cause)) => panic::resume_unwind(cause),
        // The program ends, and with it whoever waits here.
        Err(Err(_)) => pending().await,
    }
}

async fn launch(prepared: Prepared, dispatcher: &Dispatcher) -> Result<Arc<dyn Guest>, LaunchFault> {
    let Prepared { identity, launch, .. } = prepared;
    let desk = dispatcher.desk(identity).map_err(|fault| LaunchFault::Unusable { message: fault.to_string() })?;
    let began = Instant::now();
    let guest = match timeout(LOADING, launch(desk.clone())).await {
        Ok(launched) => launched?,
        Err(_) => return Err(LaunchFault::Unusable { message: format!("it did not load within {LOADING:?}") }),
    };
    desk.registered(&guest.registration(), began.elapsed());
    Ok(guest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn change_that_nobody_waits_for_comes_to_its_end() {
        let (go, gone) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        let mut change = to_its_end(async move {
            gone.await.expect("somebody says go");
            done.send("changed").expect("somebody looks");
        })
        .boxed();
        assert!(futures_util::poll!(&mut change).is_pending());
        drop(change);
        go.send(()).expect("it goes on");
        assert_eq!(is_done.await, Ok("changed"));
    }
}
