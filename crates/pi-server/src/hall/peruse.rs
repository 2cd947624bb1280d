//! Sessions that another process has open: what their files tell, for whoever only wants to look.
//!
//! No room is opened and nothing is written down. Commands that read are answered as of a session that is loaded, from the
//! files; every other command is refused. The few looks that are kept spare a page that reads one thing after the other
//! that the files are read anew for each.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use pi_session::{
    file::OpenError,
    listing::ReadingError,
    look::{Look, LookError, Sight},
    sidecar::RebuildError,
};
use pi_transcript::{ContextUsage, SessionId, SessionInfo};
use pi_wire::{
    Command, Data, Error, Frame, SessionCommand,
    error::{Missing, SessionPathError},
    response::{KeptEnvelope, KeptStrip, Queue},
};
use tokio::{sync::Semaphore, task::spawn_blocking};

use super::{
    Hall,
    conversation::{Wanted, listed, wanted},
    survey::{MOST_ENTRIES, priced, requests, tree, unread},
};
use crate::{answer, places};

/// Looks that are kept.
const KEPT: usize = 4;

/// So many are taken at a time; others wait.
const AT_ONCE: usize = 4;

/// What was seen of files of sessions.
#[derive(Debug)]
pub struct Looks {
    /// Not a task: looked at in passing, and never held while files are read.
    kept: Mutex<VecDeque<(PathBuf, Sight, Arc<Look>)>>,
    room: Semaphore,
}

impl Default for Looks {
    fn default() -> Self {
        Self { kept: Mutex::default(), room: Semaphore::new(AT_ONCE) }
    }
}

impl Looks {
    /// The files of a session as they are now; read anew only if somebody wrote to them. Blocks as long as the disk does.
    fn at(&self, path: &Path) -> Result<Arc<Look>, LookError> {
        // Before they are read: what comes in between is seen by the next one.
        let sight = Sight::at(path)?;
        let known = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let is_same = |(at, seen, _): &&(PathBuf, Sight, Arc<Look>)| at == path && seen.shows_the_same(&sight);
            kept.iter().find(is_same).map(|(_, _, look)| Arc::clone(look))
        };
        if let Some(look) = known {
            return Ok(look);
        }
        let look = Arc::new(Look::at(path)?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(at, ..)| at != path);
        kept.push_front((path.to_owned(), sight, Arc::clone(&look)));
        kept.truncate(KEPT);
        Ok(look)
    }
}

impl Hall {
    /// How the files of a session are.
    pub(crate) async fn sight(&self, path: &Path) -> Result<Sight, Error> {
        let path = self.may_look(path)?;
        let seen = spawn_blocking(move || Sight::at(&path)).await;
        seen.map_err(|panic| Error::Internal { incident: panic.to_string() })?.map_err(|error| unseen(&error))
    }

    /// Answers a command from the files of a session: a response, as it is sent.
    pub(crate) async fn peruse(self: &Arc<Self>, path: &Path, frame: Frame) -> String {
        let Frame { head, command, .. } = frame;
        let kind = command.kind().name();
        let answer = match self.read(path, command).await {
            Ok(data) => pi_wire::Outcome::Success(Some(answer::written(&data))),
            Err(error) => answer::failure(&error),
        };
        serde_json::to_string(&answer::response(head.id.as_ref(), kind, &answer, None)).expect("a response is JSON")
    }

    async fn read(self: &Arc<Self>, path: &Path, command: Command) -> Result<Data, Error> {
        let path = self.may_look(path)?;
        let Command::Session(id, command) = command else { return Err(only_looked(command.kind().name())) };
        let hall = Arc::clone(self);
        let _room = self.looks.room.acquire().await.expect("nobody closes the room");
        let told = spawn_blocking(move || {
            let look = hall.looks.at(&path).map_err(|error| unseen(&error))?;
            tell(&look, &path, id, command)
        });
        told.await.map_err(|panic| Error::Internal { incident: panic.to_string() })?
    }

    /// A file of a session that may be looked at: one that could be loaded here if nobody else had it.
    pub(super) fn may_look(&self, path: &Path) -> Result<PathBuf, Error> {
        let path = places::session_file(path, self.workshop.sessions_folder().as_deref())?;
        // Nobody works there, so it does not matter whether that folder is still there.
        if let Some(cwd) = places::header(&path)?.cwd.filter(|cwd| !cwd.is_empty())
            && let Err(outside @ Error::CwdOutside { .. }) = self.roots.folder(Path::new(&cwd))
        {
            return Err(outside);
        }
        Ok(path)
    }
}

fn tell(look: &Look, path: &Path, id: SessionId, command: SessionCommand) -> Result<Data, Error> {
    let fault = |error: ReadingError| unread(&id, &error).error;
    Ok(match command {
        SessionCommand::GetState(_) => Data::GetState(SessionInfo {
            session_name: look.name().map(str::to_owned),
            session_file: Some(path.to_string_lossy().into_owned()),
            // The file has the name of its model, and not what that can do.
            model: None,
            thinking_level: look.thinking_level(),
            // Whoever has it open knows.
            is_streaming: false,
            message_count: u64::try_from(look.message_count()).unwrap_or(u64::MAX),
            created_at: look.header().timestamp.clone(),
            session_id: id,
        }),
        SessionCommand::GetMessages(asked) => {
            let Wanted { side, most, member } = wanted(&asked);
            match look.page(&side, most) {
                Ok(page) => Data::GetMessages(listed(&page)),
                Err(ReadingError::NoEntry(missing)) => {
                    return Err(Error::NotFound(Missing::Entry { id: missing.id, member }));
                }
                Err(error) => return Err(fault(error)),
            }
        }
        SessionCommand::GetTree(_) => Data::GetTree(tree(look.outline(MOST_ENTRIES).map_err(fault)?)),
        SessionCommand::GetSessionStats(_) => Data::GetSessionStats(priced(look.stats(id.clone()).map_err(fault)?)),
        // How large the window is knows whoever asks the model.
        SessionCommand::GetContextUsage(_) => Data::GetContextUsage(Some(ContextUsage {
            tokens: look.context_tokens(),
            context_window: 0,
            percent: None,
        })),
        SessionCommand::GetQueue(_) => Data::GetQueue(Queue { revision: 0, items: Vec::new() }),
        SessionCommand::ListRequests(wanted) => Data::ListRequests(requests(look.requests(), &wanted)?),
        SessionCommand::GetEnvelope(wanted) => match look.envelope(wanted.request_id.as_str()).map_err(unbuilt)? {
            Some(envelope) => Data::GetEnvelope(Box::new(KeptEnvelope { request_id: wanted.request_id, envelope })),
            None => return Err(Error::NotFound(Missing::ModelRequest(wanted.request_id))),
        },
        SessionCommand::GetStrip(wanted) => {
            let before = wanted.before.as_ref().map(|before| before.as_str());
            match look.strip(wanted.request_id.as_str(), before).map_err(unbuilt)? {
                Some(strip) => Data::GetStrip(KeptStrip { request_id: wanted.request_id, strip }),
                None => return Err(Error::NotFound(Missing::ModelRequest(wanted.request_id))),
            }
        }
        command => return Err(only_looked(command.kind().name())),
    })
}

fn only_looked(command: &str) -> Error {
    Error::Refused { reason: format!("{command} cannot be asked of a session that is only looked at; load it first") }
}

#[expect(clippy::needless_pass_by_value, reason = "it is mapped from a result")]
fn unbuilt(error: RebuildError) -> Error {
    Error::StorageUnreadable { reason: error.to_string() }
}

/// Why the files of a session cannot be looked at, in the protocol's words.
fn unseen(error: &LookError) -> Error {
    let LookError::Session(error) = error else { return Error::StorageUnreadable { reason: error.to_string() } };
    match error {
        OpenError::NotFound { .. } => Error::SessionPath(SessionPathError::Missing),
        OpenError::NotASession { .. } | OpenError::Unfinished { .. } => {
            Error::SessionPath(SessionPathError::NotASession)
        }
        OpenError::Elsewhere { .. } => Error::SessionPath(SessionPathError::OutsideRoots),
        OpenError::InUse { .. } | OpenError::Io { .. } => Error::StorageUnreadable { reason: error.to_string() },
    }
}
