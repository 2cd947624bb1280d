//! Makes sessions: from what a process has, and what somebody wants for one.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use pi_envelope::SystemPart;
use pi_exthost::{
    Drawings, GuestId, Guests, Incident, Questions, SessionPort,
    guests::Reporter,
    port::{Mode, Request},
    questions::{Audience, Lapse},
};
use pi_policy::{Moment, Policy};
use pi_redact::Redactor;
use pi_tools::{Registry, ShellWatch, Workspace};
use pi_transcript::{AgentEvent, Header, RequestId, SessionId, ThinkingLevel};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    archive::Archive,
    chute, context, cut,
    departure::{Beginning, Owner},
    extensions::{Steward, Unattended},
    file::{Opened, Reader},
    finished::{Finished, Notebook},
    furnishing::{Furnisher, Habits},
    herald::Brake,
    input::Composer,
    listing::Counted,
    mailbox::{Editor, Equipment, Hearing, Intake, Letter, Mailbox, Scribe, Traces, Worth, switched},
    models::{Choice, Models, scope::Scope},
    offer::{ActiveTools, Offer},
    queue::{
        Delivery, Queues,
        slate::{self, Slate, Waits},
    },
    retry::{Patience, RetrySettings},
    run::Parts,
    session::Session,
    tree::{Destination, Tree, stamp},
};

/// Letters that may wait; whoever writes one more waits until there is room.
const LETTERS: usize = 256;

/// What a session is made of.
pub struct Blueprint {
    pub id: SessionId,
    pub models: Models,
    /// Models that stand in no list, or at an address of their own; one of them comes before one of the same name.
    pub own_models: Vec<Arc<Choice>>,
    /// Which models somebody goes through who goes from one to the next.
    pub scope: Scope,
    pub choice: Arc<Choice>,
    pub thinking: ThinkingLevel,
    pub policy: Arc<Policy>,
    pub redactor: Arc<Redactor>,
    pub tools: Registry,
    pub active_tools: ActiveTools,
    pub workspace: Arc<Workspace>,
    /// Who watches over the shell commands of models, if anybody does.
    pub shell: Option<Arc<dyn ShellWatch>>,
    pub system: Arc<[SystemPart]>,
    pub guests: Arc<Guests>,
    /// Who is at the other end.
    pub mode: Mode,
    /// When questions are given up that nobody sees. A terminal sees them as long as it is there.
    pub lapse: Lapse,
    pub is_project_trusted: bool,
    pub retry: RetrySettings,
    pub compaction: cut::Settings,
    pub steering: Delivery,
    pub follow_up: Delivery,
    /// How long the first request waits for servers that are still starting.
    pub server_wait: Duration,
    /// Makes messages of what is typed.
    pub composer: Arc<Composer>,
    pub beginning: Beginning,
    pub owner: Owner,
    pub storage: Storage,
    pub now: fn() -> Moment,
}

/// Where a conversation is kept.
pub enum Storage {
    File(Box<Opened>),
    /// Nowhere; it is gone with the session.
    Memory,
}

/// The mailbox of a session that does not exist yet: extensions are started before it, and hold a port to it.
pub struct Post {
    letters: mpsc::Sender<Letter>,
    received: mpsc::Receiver<Letter>,
    emit: chute::Sender<AgentEvent>,
    heard: chute::Receiver<AgentEvent>,
    ended: CancellationToken,
    steward: Option<Arc<dyn Steward>>,
}

/// The way of extensions into the mailbox. It does not keep the session alive.
pub(crate) struct Port(pub(crate) mpsc::WeakSender<Letter>);

impl Post {
    pub fn new() -> Self {
        let (letters, received) = mpsc::channel(LETTERS);
        // Unbounded, because whoever tells something here cannot wait: questions that end when they are dropped,
        // extensions that fail, and what they draw. There are few of these, and frames come at the pace of a screen.
        let (emit, heard) = chute::open();
        Self { letters, received, emit, heard, ended: CancellationToken::new(), steward: None }
    }

    /// The same for a session whose extensions somebody looks after.
    #[must_use]
    pub fn attended(self, steward: Arc<dyn Steward>) -> Self {
        Self { steward: Some(steward), ..self }
    }

    /// Hears how extensions fail, and tells everybody who listens to the session.
    pub fn reporter(&self) -> Reporter {
        let emit = self.emit.clone();
        Arc::new(move |incident: Incident| {
            tracing::warn!(guest = %incident.guest, during = %incident.during, trouble = %incident.trouble,
                "an extension failed");
            // A session that is gone has nobody left to be told.
            emit.send(incident.to_event());
        })
    }

    /// Signalled when the session has ended, its extensions with it.
    pub fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// For whoever reads the files of the session anew.
    pub fn furnisher(&self) -> Furnisher {
        Furnisher(self.letters.downgrade())
    }

    /// What extensions hold of the session.
    pub fn port(&self) -> Arc<dyn SessionPort> {
        Arc::new(Port(self.letters.downgrade()))
    }
}

impl Default for Post {
    fn default() -> Self {
        Self::new()
    }
}

impl SessionPort for Port {
    fn submit(&self, from: GuestId, request: Request) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(letters) = self.0.upgrade() {
                // A session that has ended drops the request, which tells whoever asked.
                drop(letters.send(Letter::Guest(Box::new((from, request)))).await);
            }
        })
    }
}

/// Makes a session without extensions that would need a port to it. Needs a tokio runtime.
pub fn start(blueprint: Blueprint) -> Session {
    start_at(Post::new(), blueprint)
}

/// Makes a session, which runs from here on. Needs a tokio runtime.
pub fn start_at(post: Post, blueprint: Blueprint) -> Session {
    let Post { letters, received, emit, heard, ended, steward } = post;
    let steward = steward.unwrap_or_else(|| Arc::new(Unattended(Arc::downgrade(&blueprint.guests))));
    let new = || Header::new(blueprint.id.clone(), stamp((blueprint.now)()), blueprint.workspace.project());
    let Conversation { scribe, tree, header, reader, finished, waits } =
        Conversation::of(blueprint.storage, blueprint.mode, new);
    let (questions, drawings) = people(blueprint.mode, blueprint.lapse, &blueprint.id, emit);
    let attendance = questions.attendance();
    let slate = reader.as_ref().filter(|_| blueprint.mode == Mode::Server).map(|reader| Slate::new(reader.neighbour()));
    let parts = Parts {
        session: blueprint.id,
        models: blueprint.models,
        guests: blueprint.guests,
        questions,
        drawings,
        redactor: blueprint.redactor,
        brake: Brake::new(),
        notebook: Notebook::new(reader.as_ref().map(|reader| reader.neighbour())),
        archive: Archive::start(reader.as_ref().map(|reader| reader.neighbour())),
        slate: slate.map(Arc::new),
        reader,
        has_waited: std::sync::atomic::AtomicBool::new(false),
        requests: std::sync::atomic::AtomicU64::new(0),
        now: blueprint.now,
        shell: blueprint.shell,
        patience: match blueprint.mode {
            Mode::Server => Patience::Refuses,
            Mode::Terminal | Mode::Json | Mode::Print => Patience::Waits,
        },
    };
    let (guest_tools, hearing) = (parts.guests.tools(), Hearing::new(Arc::clone(&parts.guests)));
    let life = CancellationToken::new();
    let whole_system = blueprint.system;
    let Offer { tools: chosen, switches } = context::build(&tree.entries()).offer;
    let mut tools = Equipment::new(blueprint.tools, guest_tools, blueprint.active_tools, chosen, blueprint.workspace);
    tools.switch(&switches);
    let system = switched(&whole_system, &switches, &tools.notes());
    let mut queues = Queues::new(blueprint.steering, blueprint.follow_up);
    if parts.slate.is_some() {
        fill(&mut queues, waits, &tree, &blueprint.beginning, (parts.now)());
    }
    // A task keeps room for what it is given and once more for whom it hands that to; a box is small.
    let mut mailbox = Box::new(Mailbox {
        parts: Arc::new(parts),
        tree,
        scribe,
        policy: blueprint.policy,
        thinking: blueprint.choice.clamp(blueprint.thinking),
        choice: blueprint.choice,
        offered: (Vec::new(), Vec::new()),
        own_models: blueprint.own_models,
        scope: blueprint.scope,
        habits: Habits {
            retry: blueprint.retry,
            compaction: blueprint.compaction,
            steering: blueprint.steering,
            follow_up: blueprint.follow_up,
            server_wait: blueprint.server_wait,
        },
        retry: blueprint.retry,
        compaction: blueprint.compaction,
        queues,
        tools,
        system,
        whole_system,
        switches,
        composer: blueprint.composer,
        intake: Intake::new(),
        hearing,
        traces: Traces::default(),
        editor: Editor::default(),
        running: None,
        awaiting_idle: Vec::new(),
        riding: Vec::new(),
        header,
        mode: blueprint.mode,
        is_project_trusted: blueprint.is_project_trusted,
        owner: blueprint.owner,
        steward: Arc::clone(&steward),
        is_closing: false,
        departure: None,
        closed: Vec::new(),
        unsaid: Vec::new(),
        asides: JoinSet::new(),
        errands: CancellationToken::new(),
        commands: life.child_token(),
        life,
        ran: Vec::new(),
        has_moved: false,
        counted: Counted::default(),
        letters: letters.downgrade(),
    });
    mailbox.restore(&finished);
    mailbox.begin(&blueprint.beginning);
    // Its owner is whoever holds the handle: it ends when the last one is dropped or somebody closes it.
    tokio::spawn(async move {
        let _ended = ended.drop_guard();
        mailbox.work(received, heard).await;
    });
    Session::new(letters, steward, attendance)
}

/// What a session has of its conversation when it begins, and where it writes.
struct Conversation {
    scribe: Scribe,
    tree: Tree,
    header: Header,
    reader: Option<Arc<Reader>>,
    finished: Vec<Finished>,
    waits: Vec<Waits>,
}

impl Conversation {
    /// `new` is the header of a conversation that has none yet.
    fn of(storage: Storage, mode: Mode, new: impl FnOnce() -> Header) -> Self {
        let worth = match mode {
            Mode::Server => Worth::Anything,
            Mode::Terminal | Mode::Json | Mode::Print => Worth::Words,
        };
        match storage {
            Storage::File(opened) => {
                let Opened { header, tree, reader, log, finished, waits, notices: _ } = *opened;
                let (scribe, reader) = (Scribe::on_disk(log).worth(worth), Some(Arc::new(reader)));
                Self { scribe, tree, header, reader, finished, waits }
            }
            Storage::Memory => Self {
                scribe: Scribe::in_memory(),
                tree: Tree::new(Destination::Memory, fastrand::Rng::new()),
                header: new(),
                reader: None,
                finished: Vec::new(),
                waits: Vec::new(),
            },
        }
    }
}

/// Puts back what waited to be said when a server ended. Nothing is said by itself: it waits for the next run.
fn fill(queues: &mut Queues, waits: Vec<Waits>, tree: &Tree, beginning: &Beginning, now: Moment) {
    if matches!(beginning, Beginning::Resume { .. }) {
        queues.count_from(now.unix_millis());
    }
    slate::unsaid(waits, &tree.entries()).for_each(|(when, saying)| queues.push(when, saying));
}

/// The ways to the people who see the session.
fn people(mode: Mode, lapse: Lapse, session: &SessionId, emit: chute::Sender<AgentEvent>) -> (Questions, Drawings) {
    let lapse = match mode {
        Mode::Terminal => Lapse::Never,
        Mode::Server | Mode::Json | Mode::Print => lapse,
    };
    let audience = if mode.has_ui() { Audience::Somebody } else { Audience::Nobody };
    let ids = |kind: char| {
        let (session, counter) = (session.clone(), std::sync::atomic::AtomicU64::new(0));
        move || {
            let number = counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            RequestId::from(format!("{session}-{kind}{number}"))
        }
    };
    let shown = emit.clone();
    // A session that is gone has nobody left to be told.
    let questions = Questions::new(audience, lapse, ids('q'), move |event| emit.send(event));
    (questions, Drawings::new(audience, ids('d'), move |event| shown.send(event)))
}
