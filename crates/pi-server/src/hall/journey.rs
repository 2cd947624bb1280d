//! Commands that take a session to another conversation, or write its own down elsewhere.
//!
//! The session keeps its name; what is in the room changes. The other conversation is opened before this one is left, so
//! that whoever cannot go stays where he is.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pi_session::{Beginning, Departure, Session, SessionGone, directory::ForkPoint, export};
use pi_wire::{
    Data, Error, SessionCommand,
    command::{ExportHtml, Fork, NewSession, SwitchSessionFile},
    error::SessionPathError,
    response::{Cancellable, ExportedFile, Forked},
};
use tokio::task::spawn_blocking;

use super::{Hall, Outcome, Undone, gone, told, unmade};
use crate::{
    places::{self, Replace, WriteError},
    room::Room,
    workshop::{Conversation, Order},
};

impl Hall {
    pub(super) async fn depart(&self, room: &Arc<Room>, session: &Session, command: SessionCommand) -> Outcome {
        match command {
            SessionCommand::NewSession(wanted) => self.new_session(room, session, wanted).await,
            SessionCommand::SwitchSessionFile(wanted) => self.switch_file(room, session, &wanted).await,
            SessionCommand::Fork(wanted) => self.fork(room, session, wanted).await,
            SessionCommand::ExportHtml(wanted) => self.export_html(room, session, wanted).await,
            // Everything else was done before it came here.
            command => Err(Error::Internal { incident: format!("nobody does {}", command.kind().name()) }.into()),
        }
    }

    async fn new_session(&self, room: &Arc<Room>, session: &Session, wanted: NewSession) -> Outcome {
        let parent = wanted.parent_session.map(PathBuf::from);
        let departure = Departure::New { parent: parent.clone() };
        let went = self.leave(room, session, departure, |left| (Conversation::New { parent }, Beginning::New { left }));
        told(Data::NewSession(Cancellable { cancelled: went.await?.is_none() }))
    }

    async fn switch_file(&self, room: &Arc<Room>, session: &Session, wanted: &SwitchSessionFile) -> Outcome {
        let sessions = self.workshop.sessions_folder();
        let path = places::session_file(Path::new(&wanted.session_path), sessions.as_deref())?;
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
        let departure = Departure::Resume(path.clone());
        let went =
            self.leave(room, session, departure, |left| (Conversation::Stored(path), Beginning::Resume { left }));
        told(Data::SwitchSessionFile(Cancellable { cancelled: went.await?.is_none() }))
    }

    async fn fork(&self, room: &Arc<Room>, session: &Session, wanted: Fork) -> Outcome {
        // What was said is in the file before it is copied, and the file is there before it is looked where it is.
        session.flush().await.map_err(gone(room.id()))?;
        let from = self.own_file(room, "a session that is not kept cannot be forked")?;
        let at = ForkPoint::Before(wanted.entry_id);
        let departure = Departure::Fork(at.clone());
        let went =
            self.leave(room, session, departure, |left| (Conversation::Fork { from, at }, Beginning::Fork { left }));
        let text = went.await?;
        let cancelled = text.is_none();
        told(Data::Fork(Forked { text: text.flatten().unwrap_or_default(), cancelled }))
    }

    /// The file of a session that is to be read once more. One that was not written yet has nothing to lead elsewhere.
    pub(super) fn own_file(&self, room: &Room, without: &str) -> Result<PathBuf, Undone> {
        let file = file(room).ok_or_else(|| refused(without))?;
        match places::kept_file(&file, self.workshop.sessions_folder().as_deref()) {
            Err(Error::SessionPath(SessionPathError::Missing)) => Ok(file),
            checked => Ok(checked?),
        }
    }

    /// Goes from one conversation to another; `None` if an extension objects. Answers what the person said at a fork.
    async fn leave(
        &self,
        room: &Arc<Room>,
        session: &Session,
        departure: Departure,
        to: impl FnOnce(Option<PathBuf>) -> (Conversation, Beginning),
    ) -> Result<Option<Option<String>>, Undone> {
        if !session.may_leave(departure.clone()).await.map_err(gone(room.id()))? {
            return Ok(None);
        }
        let _standing = room.hold().await.map_err(gone(room.id()))?;
        let (conversation, beginning) = to(file(room));
        let cwd = self.workplace(room)?;
        let order = Order { cwd, conversation, beginning, shell: room.shell() };
        let mut made = self.workshop.make(order).await.map_err(|error| unmade(room.id(), &error))?;
        if matches!(departure, Departure::New { .. }) {
            carry(session, &made.session).await.map_err(gone(room.id()))?;
        }
        let text = made.text.take();
        // One that has ended meanwhile is left as well.
        let unsaid = session.close_for(departure).await.unwrap_or_default();
        if !unsaid.is_empty() {
            tracing::info!(session = %room.id(), messages = unsaid.len(), "what waited to be said was left behind");
        }
        room.enter(made, &self.turns).await.map_err(gone(room.id()))?;
        let kept = self.journal.keep(room.berth()).await;
        kept.map_err(|error| Error::StorageFailed { reason: error.to_string() })?;
        Ok(Some(text))
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

/// Whoever begins a new conversation goes on with the tools and the thinking that he chose: they are the agent's, and not of
/// what was said.
async fn carry(from: &Session, to: &Session) -> Result<(), SessionGone> {
    let (chosen, usual) = (from.state().await?, to.state().await?);
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
