//! Commands that take a session to another conversation, or write its own down elsewhere.
//!
//! The session keeps its name; what is in the room changes. The other conversation is opened before this one is left, so
//! that whoever cannot go stays where he is.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use pi_session::{
    Beginning, Departure, Session, SessionGone, Switch, Wish, directory::ForkPoint, export, listing::SourceError,
    models::Choice,
};
use pi_transcript::SessionId;
use pi_wire::{
    Data, Error, SessionCommand,
    command::ExportHtml,
    response::{Cancellable, ExportedFile, Forked},
};
use tokio::{task::spawn_blocking, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{Hall, Outcome, Undone, gone, told, unmade};
use crate::{
    places::{self, Replace, WriteError},
    room::Room,
    workshop::{Conversation, Made, Order},
};

/// How long what runs in a conversation that a command left may go on when the command has ended.
const LINGERING: Duration = Duration::from_secs(2);

/// Why an extension of a session that is closed soon cannot leave it once more.
const LEFT: &str = "this session was left already";

impl Hall {
    pub(super) async fn depart(
        &self,
        room: &Arc<Room>,
        session: &Session,
        command: SessionCommand,
        cancel: &CancellationToken,
    ) -> Outcome {
        match command {
            SessionCommand::NewSession(wanted) => {
                let departure = Departure::New { parent: wanted.parent_session.map(PathBuf::from) };
                let went = self.leave(room, session, departure, cancel).await?;
                told(Data::NewSession(Cancellable { cancelled: went.is_none() }))
            }
            SessionCommand::SwitchSessionFile(wanted) => {
                let path = self.another_file(Path::new(&wanted.session_path)).await?;
                let went = self.leave(room, session, Departure::Resume(path), cancel).await?;
                told(Data::SwitchSessionFile(Cancellable { cancelled: went.is_none() }))
            }
            SessionCommand::Fork(wanted) => {
                let departure = Departure::Fork(ForkPoint::Before(wanted.entry_id));
                let text = self.leave(room, session, departure, cancel).await?;
                let cancelled = text.is_none();
                told(Data::Fork(Forked { text: text.flatten().unwrap_or_default(), cancelled }))
            }
            SessionCommand::ExportHtml(wanted) => self.export_html(room, session, wanted).await,
            // Everything else was done before it came here.
            command => Err(Error::Internal { incident: format!("nobody does {}", command.kind().name()) }.into()),
        }
    }

    /// A file of a session that a room can go on with.
    async fn another_file(&self, path: &Path) -> Result<PathBuf, Undone> {
        let path = places::session_file(path, self.workshop.sessions_folder().as_deref())?;
        if let Some(by) = self.rooms.holder(&path).await? {
            return Err(Error::SessionInUse { by }.into());
        }
        let stored = places::header(&path)?;
        // The agent stays where it is, so it does not matter whether that folder is still there.
        if let Some(cwd) = stored.cwd.filter(|cwd| !cwd.is_empty())
            && let Err(outside @ Error::CwdOutside { .. }) = self.roots.folder(Path::new(&cwd))
        {
            return Err(outside.into());
        }
        Ok(path)
    }

    /// The file of a session that is to be read once more, in which something was said.
    pub(super) fn own_file(&self, room: &Room, without: &str) -> Result<PathBuf, Undone> {
        let file = file(room).ok_or_else(|| refused(without))?;
        if places::is_lost(&room.berth()) {
            let path = file.to_string_lossy().into_owned();
            return Err(Error::SessionFileMissing { session_id: room.id().clone(), path }.into());
        }
        // It is written with the first message.
        if matches!(file.try_exists(), Ok(false)) {
            return Err(refused("nothing was said in this session yet"));
        }
        Ok(places::kept_file(&file, self.workshop.sessions_folder().as_deref())?)
    }

    /// Goes from one conversation to another; `None` if an extension objects. Answers what the person said at a fork.
    async fn leave(
        &self,
        room: &Arc<Room>,
        session: &Session,
        departure: Departure,
        cancel: &CancellationToken,
    ) -> Result<Option<Option<String>>, Undone> {
        let opened = async {
            if !session.may_leave(departure.clone()).await.map_err(gone(room.id()))? {
                return Ok(None);
            }
            let standing = room.hold().await.map_err(gone(room.id()))?;
            let next = self.prepare(room, session, &departure).await?;
            Ok::<_, Undone>(Some((standing, next)))
        };
        let opened = tokio::select! {
            // Whoever was stopped in time stays where he is.
            biased;
            () = cancel.cancelled() => return Err(Error::Aborted.into()),
            opened = opened => opened?,
        };
        let Some((_standing, mut next)) = opened else { return Ok(None) };
        let text = next.text.take();
        // First: at no moment is there a conversation in the room that has ended, wherever this is broken off.
        self.bring(room, next).await?;
        tokio::select! {
            () = close(room, session, departure) => {}
            // It ends by itself, and the room does not need it any more.
            () = cancel.cancelled() => self.changed_untold(room.id()).await,
        }
        Ok(Some(text))
    }

    /// Does what an extension of a session wants: another conversation comes into the room, and the command goes on there. The
    /// one that was left is closed when the command has ended.
    pub(crate) async fn fulfil(&self, id: &SessionId, wish: Wish) {
        match self.exchange(id, &wish).await {
            Ok(Exchanged { room, left, next }) => {
                let (departure, ended) = (wish.departure.clone(), wish.ended());
                wish.grant_in(&next);
                drop(next);
                ended.cancelled().await;
                // Whoever called the command is told how it ended before its session ends.
                if timeout(LINGERING, left.idle()).await.is_err() {
                    tracing::info!(session = %id, "a run in a conversation that was left ends with it");
                }
                close(&room, &left, departure).await;
            }
            Err(Undone { error, .. }) => {
                tracing::info!(session = %id, by = %wish.by, %error, "an extension does not leave its session");
                wish.refuse(error.to_string());
            }
        }
    }

    async fn exchange(&self, id: &SessionId, wish: &Wish) -> Result<Exchanged, Undone> {
        let room = self.rooms.find(id)?;
        let departure = match &wish.departure {
            Departure::Resume(path) => Departure::Resume(self.another_file(path).await?),
            departure @ (Departure::New { .. } | Departure::Fork(_)) => departure.clone(),
            Departure::Quit | Departure::Reload => return Err(refused("a session of a server is not left for that")),
        };
        let _standing = room.hold().await.map_err(gone(id))?;
        let left = room.loaded().ok_or_else(|| refused(LEFT))?;
        if left.state().await.map_err(gone(id))?.session != wish.session {
            return Err(refused(LEFT));
        }
        let next = self.prepare(&room, &left, &departure).await?;
        let next = self.bring(&room, next).await?;
        // Nobody commanded it.
        self.changed_untold(id).await;
        Ok(Exchanged { room: Arc::clone(&room), left, next })
    }

    /// Opens the conversation that one is left for.
    async fn prepare(&self, room: &Arc<Room>, session: &Session, departure: &Departure) -> Result<Made, Undone> {
        let left = file(room);
        let (conversation, beginning) = match departure {
            Departure::New { parent } => (Conversation::New { parent: parent.clone() }, Beginning::New { left }),
            Departure::Resume(path) => (Conversation::Stored(path.clone()), Beginning::Resume { left }),
            Departure::Fork(at) => {
                // What was said is in the file before it is copied, and the file is there before it is looked where it is.
                session.flush().await.map_err(gone(room.id()))?;
                let from = self.own_file(room, "a session that is not kept cannot be forked")?;
                (Conversation::Fork { from, at: at.clone() }, Beginning::Fork { left })
            }
            Departure::Quit | Departure::Reload => return Err(refused("a session is not left for that")),
        };
        let cwd = self.workplace(room)?;
        let order = Order { cwd, conversation, beginning, owner: room.owner(), shell: room.shell() };
        let made = self.workshop.make(order).await.map_err(|error| unmade(room.id(), &error))?;
        if matches!(departure, Departure::New { .. }) {
            carry(session, &made.session).await.map_err(gone(room.id()))?;
        }
        Ok(made)
    }

    /// Puts it into the room.
    async fn bring(&self, room: &Arc<Room>, made: Made) -> Result<Session, Undone> {
        let session = room.enter(made, &self.turns).await.map_err(gone(room.id()))?;
        let kept = self.journal.keep(room.berth()).await;
        kept.map_err(|error| Error::StorageFailed { reason: error.to_string() })?;
        Ok(session)
    }

    /// Writes the conversation as a page, into the folder of the session and nowhere else.
    async fn export_html(&self, room: &Room, session: &Session, wanted: ExportHtml) -> Outcome {
        session.flush().await.map_err(gone(room.id()))?;
        let from = self.own_file(room, "a session that is not kept cannot be exported")?;
        let cwd = self.workplace(room)?;
        let written = spawn_blocking(move || {
            let story = export::read_exactly(&from).map_err(|error| Error::Refused { reason: error.to_string() })?;
            let page = export::html(&story);
            let replace = if wanted.overwrite { Replace::Anything } else { Replace::Pages };
            match wanted.output_path {
                Some(name) => write(&cwd, &name, &page, replace),
                None => write_somewhere(&cwd, &from, &page, replace),
            }
        });
        let written = written.await.map_err(|panic| Error::Internal { incident: panic.to_string() })?;
        told(Data::ExportHtml(ExportedFile { path: written?.to_string_lossy().into_owned() }))
    }
}

/// A room in which one session took the place of another, which is still open.
struct Exchanged {
    room: Arc<Room>,
    left: Session,
    next: Session,
}

/// Ends a session that is left. One that has ended meanwhile is left as well.
async fn close(room: &Room, session: &Session, departure: Departure) {
    let unsaid = session.close_for(departure).await.unwrap_or_default();
    if !unsaid.is_empty() {
        tracing::info!(session = %room.id(), messages = unsaid.len(), "what waited to be said was left behind");
    }
}

/// Whoever begins a new conversation goes on with the model, the tools, the sources and the thinking that he chose: they are the
/// agent's, and not of what was said.
async fn carry(from: &Session, to: &Session) -> Result<(), SessionGone> {
    for source in from.context_sources().await?.into_iter().filter(|source| source.switch == Switch::Off) {
        match to.set_context_source(source.id, Switch::Off).await {
            // What the other does not have need not be off.
            Ok(_) | Err(SourceError::Unknown { .. }) => {}
            Err(SourceError::Gone(gone)) => return Err(gone),
        }
    }
    let (chosen, usual) = (from.state().await?, to.state().await?);
    // Before the thinking, which depends on it. A model that the other cannot have leaves it with its own.
    let is_chosen = |choice: &Arc<Choice>| *choice.model() == *chosen.model;
    if chosen.model != usual.model
        && let Some(choice) = to.models().await?.into_iter().find(is_chosen)
    {
        to.set_model(choice).await?;
    }
    let usual = to.state().await?;
    if chosen.thinking != usual.thinking {
        to.set_thinking_level(chosen.thinking).await?;
    }
    if chosen.active_tools != usual.active_tools {
        to.set_active_tools(chosen.active_tools).await?;
    }
    Ok(())
}

/// Names of its own that are tried for a page.
const MOST_NAMES: usize = 100;

/// Writes a page under a name that no other conversation has, and that no file has which is no page.
fn write_somewhere(folder: &Path, session: &Path, page: &str, replace: Replace) -> Result<PathBuf, Error> {
    let stem = session.file_stem().unwrap_or_default().to_string_lossy();
    let name = |number: usize| match number {
        1 => format!("pi-session-{stem}.html"),
        number => format!("pi-session-{stem}-{number}.html"),
    };
    let mut written = write(folder, &name(1), page, replace);
    for number in 2..=MOST_NAMES {
        if !matches!(written, Err(Error::FileExists { .. })) {
            break;
        }
        written = write(folder, &name(number), page, replace);
    }
    written
}

fn write(folder: &Path, name: &str, page: &str, replace: Replace) -> Result<PathBuf, Error> {
    places::write_inside(folder, Path::new(name), page.as_bytes(), replace).map_err(|error| match error {
        WriteError::Exists { path } => Error::FileExists { path: path.to_string_lossy().into_owned() },
        error @ (WriteError::Outside { .. } | WriteError::Io { .. }) => Error::Refused { reason: error.to_string() },
    })
}

fn file(room: &Room) -> Option<PathBuf> {
    room.berth().file.map(PathBuf::from)
}

fn refused(reason: &str) -> Undone {
    Error::Refused { reason: reason.to_owned() }.into()
}
