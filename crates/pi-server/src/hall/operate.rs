//! Commands to the server itself.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pi_engine::Change;
use pi_session::{
    Beginning,
    directory::{self, Catalogue, Stored},
};
use pi_transcript::{SessionId, SessionInfo, StoredSessionInfo, json::Amount};
use pi_wire::{
    Data, Error, ServerCommand,
    command::{
        CreateSession, DeleteSession, DeleteStoredSession, ListSessions, ListStoredSessions, LoadSession, Subscribe,
        SwitchSession, Unsubscribe,
    },
    is_session_id,
    response::{
        ChosenLifecycle, DeletedSession, DeletedStoredSession, ListedSession, ListedStoredSession, OpenedSession,
        Resume, SessionList, StoredSessionList, Subscription, SwitchedSession, Unsubscribed,
    },
};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::{Counts, Hall, Outcome, Undone, gone, now, said, session_name, told, unmade};
use crate::{
    answer, circuit,
    connection::Connection,
    door::Secret,
    feed::{Position, Start},
    journal::{Auto, Berth, Mark},
    places,
    room::{Account, Bill, Room, Standing},
    roots::Roots,
    workshop::{Conversation, MakeError, Order},
};

/// Stored sessions on a page if nobody says how many.
const PAGE: usize = 100;

impl Hall {
    pub(super) async fn operate(
        &self,
        command: ServerCommand,
        connection: &Arc<Connection>,
        cancel: &CancellationToken,
    ) -> Outcome {
        match command {
            ServerCommand::ListSessions(wanted) => self.list_sessions(&wanted).await,
            ServerCommand::CreateSession(wanted) => self.create_session(wanted, cancel).await,
            ServerCommand::DeleteSession(wanted) => self.delete_session(&wanted, cancel).await,
            ServerCommand::SwitchSession(SwitchSession { session_id }) => {
                let (room, session) = self.enter(&session_id).await?;
                let info = room.info(&session).await.map_err(gone(&session_id))?;
                told(Data::SwitchSession(SwitchedSession { session_info: info }))
            }
            ServerCommand::GetMetrics(_) => told(Data::GetMetrics(Box::new(self.metrics().await))),
            ServerCommand::HealthCheck(_) => told(Data::HealthCheck(self.health().await)),
            ServerCommand::ListStoredSessions(wanted) => self.list_stored_sessions(&wanted).await,
            ServerCommand::LoadSession(wanted) => self.load_session(wanted, cancel).await,
            ServerCommand::GetStartupRecovery(_) => {
                let reader = self.lobby.reader(&connection.identity);
                told(Data::GetStartupRecovery(self.recovery.told_to(&reader)))
            }
            ServerCommand::GetCommandHistory(wanted) => self.command_history(wanted, &connection.identity).await,
            ServerCommand::Subscribe(wanted) => self.subscribe(wanted).await,
            ServerCommand::Unsubscribe(Unsubscribe { session_id }) => {
                let room = self.rooms.get(&session_id);
                let unsubscribed = room.is_some_and(|room| room.feed().is_heard_by(&connection.outbox));
                told(Data::Unsubscribe(Unsubscribed { unsubscribed }))
            }
            ServerCommand::SetLifecycle(chosen) => {
                told(Data::SetLifecycle(ChosenLifecycle { lifecycle: chosen.lifecycle }))
            }
            ServerCommand::DeleteStoredSession(wanted) => self.delete_stored_session(&wanted).await,
            ServerCommand::ListExtensions(wanted) => self.list_extensions(wanted.session_id.as_ref()).await,
            ServerCommand::ReloadExtensions(wanted) => self.reload_extensions(wanted.extension_id).await,
            ServerCommand::EnableExtension(wanted) => self.enable_extension(&wanted.extension_id).await,
            ServerCommand::DisableExtension(wanted) => self.disable_extension(&wanted.extension_id).await,
        }
    }

    async fn list_sessions(&self, wanted: &ListSessions) -> Outcome {
        if wanted.search.is_none()
            && let Some(list) = self.rooms.list()
        {
            return said(list, Change::Usual);
        }
        // First: whatever happens while the sessions are asked makes the list old.
        let edition = self.rooms.edition();
        let (mut sessions, mut is_known) = (Vec::new(), wanted.search.is_none());
        for room in self.rooms.everyone() {
            let awake = awake(&room).await;
            is_known &= awake.is_some();
            let listed = match awake {
                Some(listed) => listed,
                None => asleep(&room, self.workshop.sessions_folder()).await,
            };
            let (name, cwd, first) =
                (listed.info.session_name.as_deref(), listed.cwd.as_deref(), listed.first_message.as_deref());
            if holds(&[name, cwd, Some(room.id().as_str()), first], wanted.search.as_deref()) {
                sessions.push(listed);
            }
        }
        let list = answer::written(&Data::ListSessions(SessionList { sessions }));
        if is_known {
            self.rooms.keep_list(edition, list.clone());
        }
        said(list, Change::Usual)
    }

    async fn create_session(&self, wanted: CreateSession, cancel: &CancellationToken) -> Outcome {
        let id = wanted.session_id.unwrap_or_else(new_id);
        self.admit(&id)?;
        let cwd = match wanted.cwd {
            Some(cwd) => self.roots.folder(Path::new(&cwd))?,
            None => self.usual_folder(),
        };
        let conversation = Conversation::New { parent: None };
        let shell = circuit::watch(&self.bash, &id);
        let order =
            Order { cwd, conversation, beginning: Beginning::Startup, owner: self.rooms.ties().owner(&id), shell };
        self.open(id, order, Data::CreateSession, cancel).await
    }

    async fn load_session(&self, wanted: LoadSession, cancel: &CancellationToken) -> Outcome {
        let path = places::session_file(Path::new(&wanted.session_path), self.workshop.sessions_folder().as_deref())?;
        if let Some(by) = self.rooms.holder(&path).await? {
            return Err(Error::SessionInUse { by }.into());
        }
        let stored = places::header(&path)?;
        // Anybody can write a file: one whose id no command could name gets another.
        let id = wanted.session_id.unwrap_or_else(|| if is_session_id(&stored.id) { stored.id } else { new_id() });
        self.admit(&id)?;
        let cwd = match (wanted.cwd, stored.cwd.filter(|cwd| !cwd.is_empty())) {
            (Some(cwd), _) => self.roots.folder(Path::new(&cwd))?,
            (None, Some(cwd)) => self.roots.folder(Path::new(&cwd)).map_err(|error| match error {
                Error::CwdMissing => Error::FolderMissing { cwd },
                error => error,
            })?,
            // Some old files do not say.
            (None, None) => self.usual_folder(),
        };
        let conversation = Conversation::Stored(path);
        let beginning = Beginning::Resume { left: None };
        let shell = circuit::watch(&self.bash, &id);
        let owner = self.rooms.ties().owner(&id);
        self.open(id, Order { cwd, conversation, beginning, owner, shell }, Data::LoadSession, cancel).await
    }

    /// Where an agent works if nobody says where.
    pub(crate) fn usual_folder(&self) -> PathBuf {
        self.roots.usual(&self.workshop.usual_folder())
    }

    fn admit(&self, id: &SessionId) -> Result<(), Undone> {
        self.rooms.admit(id).map_err(|error| {
            if matches!(error, Error::SessionLimit { .. }) {
                Counts::count(&self.counts.refused_sessions);
            }
            error.into()
        })
    }

    /// Makes a session, remembers where it is, and shows it. Nobody else makes or removes one meanwhile: both are work of
    /// the server's lane. Where the time is up before it is remembered, there is no session.
    async fn open(
        &self,
        id: SessionId,
        order: Order,
        answer: fn(OpenedSession) -> Data,
        cancel: &CancellationToken,
    ) -> Outcome {
        let cwd = order.cwd.to_string_lossy().into_owned();
        let made = tokio::select! {
            made = self.workshop.make(order) => made.map_err(|error| unmade(&id, &error))?,
            // It ends as soon as it is made.
            () = cancel.cancelled() => return Err(Error::Aborted.into()),
        };
        let file = made.file.as_ref().map(|file| file.to_string_lossy().into_owned());
        let created = pi_session::tree::stamp_of(now().0);
        let berth = Berth { session: id.clone(), file, cwd, created, mark: Mark::default(), auto: Auto::default() };
        let room = Arc::new(Room::new(berth, self.settings.kept, self.rooms.ties()));
        let session = room.enter(made, &self.turns).await.map_err(gone(&id))?;
        let info = room.info(&session).await.map_err(gone(&id))?;
        if cancel.is_cancelled() {
            // One that has ended by itself is closed.
            let _ = session.close().await;
            return Err(Error::Aborted.into());
        }
        if let Err(error) = self.journal.keep(room.berth()).await {
            // Nobody would find it any more.
            let _ = session.close().await;
            return Err(Error::StorageFailed { reason: error.to_string() }.into());
        }
        self.rooms.insert(room);
        let change = Change::Created(session_name(&id));
        let opened = OpenedSession { session_id: id, session_info: info };
        said(answer::written(&answer(opened)), change)
    }

    async fn delete_session(&self, wanted: &DeleteSession, cancel: &CancellationToken) -> Outcome {
        let id = &wanted.session_id;
        let room = self.rooms.find(id)?;
        // Whoever brings another conversation into the room is done first, or finds that it is gone.
        let mut standing = tokio::select! {
            standing = room.hold() => standing.map_err(gone(id))?,
            () = cancel.cancelled() => return Err(Error::Aborted.into()),
        };
        self.journal
            .drop_berth(id.clone())
            .await
            .map_err(|error| Error::StorageFailed { reason: error.to_string() })?;
        *standing = Standing::Removed;
        drop(standing);
        self.rooms.remove(id);
        self.bash.forget(id);
        if let Some(session) = room.loaded() {
            let closed = async {
                // One that has ended has nothing left to say.
                let mut unsaid = session.clear_queue().await.unwrap_or_default();
                unsaid.extend(session.close().await.unwrap_or_default());
                unsaid.len()
            };
            let messages = tokio::select! {
                messages = closed => messages,
                // It ends by itself, and is not of this server any more.
                () = cancel.cancelled() => 0,
            };
            if messages > 0 {
                tracing::info!(session = %id, messages, "what waited to be said went with the session");
            }
            // The last that happened in it is told before anybody hears that it is gone.
            room.caught_up().await;
        }
        room.feed().dismiss();
        let change = Change::Removed(session_name(id));
        said(answer::written(&Data::DeleteSession(DeletedSession { deleted: true })), change)
    }

    async fn subscribe(&self, wanted: Subscribe) -> Outcome {
        let Subscribe { session_id, after_seq, epoch } = wanted;
        let (room, session) = self.enter(&session_id).await?;
        let session_info = room.info(&session).await.map_err(gone(&session_id))?;
        let after = epoch.zip(after_seq).map(|(epoch, seq)| Position { epoch, seq });
        let (start, position) = room.feed().would_start(after.as_ref());
        let resume = match start {
            Start::Live(_) => Resume::Live,
            Start::Replay { .. } => Resume::Replay,
            Start::Snapshot { .. } => Resume::Snapshot,
        };
        let Position { epoch, seq } = position;
        told(Data::Subscribe(Subscription { session_info, epoch, seq, resume }))
    }

    async fn list_stored_sessions(&self, wanted: &ListStoredSessions) -> Outcome {
        let stored = self.stored().await?;
        let search = wanted.search.as_deref();
        let is_wanted = |stored: &&Stored| {
            holds(&[stored.name.as_deref(), Some(&*stored.cwd), Some(&*stored.first_message)], search)
        };
        let limit = wanted.limit.map_or(PAGE, |limit| usize::try_from(limit).unwrap_or(PAGE));
        let from = match wanted.cursor.as_deref() {
            None => 0,
            Some(cursor) => {
                let (modified, path) = cursor.split_once(':').ok_or(Error::CursorUnknown)?;
                let modified: u64 = modified.parse().map_err(|_| Error::CursorUnknown)?;
                // By its place in the order, and not by what is there: that may be gone by now.
                let last = (modified, Path::new(path));
                stored.partition_point(|stored| (stored.modified, &*stored.path) >= last)
            }
        };
        // One more than is wanted says whether there are more.
        let mut page: Vec<&Stored> = stored.iter().skip(from).filter(is_wanted).take(limit.saturating_add(1)).collect();
        let has_more = page.len() > limit;
        page.truncate(limit);
        let cursor = |stored: &&Stored| format!("{}:{}", stored.modified, stored.path.display());
        let next_cursor = page.last().filter(|_| has_more).map(cursor);
        let page: Vec<Stored> = page.into_iter().cloned().collect();
        let (catalogue, roots) = (Arc::clone(&self.catalogue), self.roots.clone());
        let list = move || page.iter().map(|stored| list_stored(stored, &catalogue, &roots)).collect();
        let listed = spawn_blocking(list).await;
        let sessions = listed.map_err(|panic| Error::Internal { incident: panic.to_string() })?;
        told(Data::ListStoredSessions(StoredSessionList { sessions, next_cursor }))
    }

    async fn delete_stored_session(&self, wanted: &DeleteStoredSession) -> Outcome {
        let path = places::session_file(Path::new(&wanted.session_path), self.workshop.sessions_folder().as_deref())?;
        if let Some(by) = self.rooms.holder(&path).await? {
            return Err(Error::SessionInUse { by }.into());
        }
        self.workshop.delete(path, wanted.file_name.clone()).await?;
        let session_path = wanted.session_path.clone();
        told(Data::DeleteStoredSession(DeletedStoredSession { deleted: true, session_path }))
    }
}

/// What a list tells about a session that is loaded.
async fn awake(room: &Room) -> Option<ListedSession> {
    let session = room.loaded()?;
    let info = room.info(&session).await.ok()?;
    let Account { cost, updated_at, opening, messages } = room.account(&session).await.ok()?;
    let (cwd, first_message) = (Some(room.berth().cwd), opening.as_deref().map(str::to_owned));
    let info = SessionInfo { message_count: messages.unwrap_or(info.message_count), ..info };
    let (cost, cost_at_least) = told_cost(cost);
    Some(ListedSession { info, cwd, cost, cost_at_least, updated_at, first_message, file_exists: None })
}

/// The same of one that is not. It is not loaded for a list: its file is looked at, which others may change.
async fn asleep(room: &Room, sessions: Option<PathBuf>) -> ListedSession {
    let berth = room.berth();
    let cwd = Some(berth.cwd.clone());
    let looked = spawn_blocking(move || (places::sleeping(&berth, sessions.as_deref()), places::is_lost(&berth))).await;
    let (told, is_lost) = looked.unwrap_or_else(|_| (places::unread(&room.berth()), false));
    let (info, Account { cost, updated_at, opening, messages: _ }) = told;
    let first_message = opening.as_deref().map(str::to_owned);
    let (cost, cost_at_least) = told_cost(cost);
    ListedSession { info, cwd, cost, cost_at_least, updated_at, first_message, file_exists: is_lost.then_some(false) }
}

/// As lists tell it: the sum, and that it may be more.
fn told_cost(bill: Option<Bill>) -> (Option<Amount>, Option<bool>) {
    bill.map_or((None, None), |Bill { sum, is_least }| (Some(sum), is_least.then_some(true)))
}

/// Whether one of the texts holds what is searched for, in whichever case.
fn holds(texts: &[Option<&str>], search: Option<&str>) -> bool {
    let Some(search) = search.map(str::to_lowercase) else { return true };
    texts.iter().flatten().any(|text| text.to_lowercase().contains(&search))
}

/// Reads the file for its cost, unless that is known.
fn list_stored(stored: &Stored, catalogue: &Catalogue, roots: &Roots) -> ListedStoredSession {
    let path = stored.path.to_string_lossy().into_owned();
    let info = StoredSessionInfo {
        session_id: stored.id.clone(),
        session_name: stored.name.clone(),
        session_file: path.clone(),
        session_path: path,
        cwd: stored.cwd.clone(),
        created_at: stored.created.clone(),
        file_exists: true,
        message_count: stored.message_count,
        thinking_level: None,
        is_streaming: None,
    };
    // Old files do not say where they were at work; they are loaded into the usual folder.
    let is_outside = !stored.cwd.is_empty() && !roots.may_hold(Path::new(&stored.cwd));
    let updated_at = Some(pi_session::tree::stamp_of(stored.modified));
    let (cost, cost_at_least) = told_cost(places::cost(stored, |stored| catalogue.spent(stored)));
    ListedStoredSession {
        info,
        first_message: directory::opening(&stored.first_message).as_deref().map(str::to_owned),
        outside_roots: is_outside.then_some(true),
        cost,
        cost_at_least,
        updated_at,
    }
}

fn new_id() -> SessionId {
    format!("session-{}", &Secret::random().reveal()[..16]).into()
}

impl From<MakeError> for Undone {
    fn from(error: MakeError) -> Self {
        Error::StorageFailed { reason: error.to_string() }.into()
    }
}
