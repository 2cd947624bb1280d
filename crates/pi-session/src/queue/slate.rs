//! What waits, on the disk: whoever said it to a server was told that it was taken, however the server ends.
//!
//! It lies in `session.jsonl.queue`, written anew with every change, and is gone when nothing waits. Messages are taken from
//! it when they stand in the session's own file, so a crash in between finds them in both; [`unsaid`] leaves those out.

use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use pi_envelope::Span;
use pi_transcript::Message;
use serde::{Deserialize, Serialize};

use super::{Saying, When};
use crate::{
    file::{Disk, Neighbour, beside, remove, replace},
    tree::Kept,
};

/// A message that waits, as it is written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    when: When,
    message: Message,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spans: Vec<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    typed: Option<String>,
}

/// The file of one session.
#[derive(Debug)]
pub(crate) struct Slate {
    path: PathBuf,
    /// What the path may lead through.
    _session: Neighbour,
    /// One more than the edition that is in the file; 0 as long as nobody knows what is.
    written: AtomicU64,
    /// Not a message: held by whoever writes, on a thread that may wait.
    pen: Mutex<()>,
}

fn path_of(session: &Path) -> PathBuf {
    beside(session, "queue")
}

/// What a server left behind. A file that cannot be understood is none of ours.
pub(crate) fn read(session: &Path) -> io::Result<Vec<Waits>> {
    let disk = match Disk::read_own(&path_of(session)) {
        Ok(disk) => disk,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    disk.reader().read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes).unwrap_or_else(|error| {
        tracing::warn!(%error, "what waited to be said cannot be read");
        Vec::new()
    }))
}

/// What of this was not said on a path.
pub(crate) fn unsaid(waits: Vec<Waits>, path: &[Arc<Kept>]) -> impl Iterator<Item = (When, Saying)> {
    let is_said = |message: &Message| {
        path.iter().any(|kept| match &**kept {
            Kept::Message { message: said, .. } => **said == *message,
            Kept::Other(_) => false,
        })
    };
    waits.into_iter().filter(move |waits| !is_said(&waits.message)).map(|waits| {
        let Waits { when, message, spans, typed } = waits;
        (when, Saying { message, spans, typed })
    })
}

impl Waits {
    pub(super) fn new(when: When, saying: &Saying) -> Self {
        let Saying { message, spans, typed } = saying.clone();
        Self { when, message, spans, typed }
    }
}

impl Slate {
    pub(crate) fn new(session: Neighbour) -> Self {
        let path = path_of(&session.place());
        let written = u64::from(!path.exists()).into();
        Self { path, _session: session, written, pen: Mutex::default() }
    }

    /// Whether this, or something later, is in the file.
    pub(crate) fn has(&self, edition: u64) -> bool {
        self.written.load(Ordering::Acquire) > edition
    }

    /// Returns when this, or something later, is in the file and on the disk. `edition` says what is later.
    pub(crate) async fn keep(self: Arc<Self>, edition: u64, waits: Vec<Waits>) -> io::Result<()> {
        let writing = tokio::task::spawn_blocking(move || self.write(edition, &waits));
        writing.await.unwrap_or_else(|broken| Err(io::Error::other(broken)))
    }

    fn write(&self, edition: u64, waits: &[Waits]) -> io::Result<()> {
        let _pen = self.pen.lock().unwrap_or_else(PoisonError::into_inner);
        if self.has(edition) {
            return Ok(());
        }
        if waits.is_empty() {
            match remove(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        } else {
            replace(&self.path, |file| Ok(serde_json::to_writer(file, waits)?))?;
        }
        self.written.store(edition + 1, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Queues;

    fn session() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let session = folder.path().join("s.jsonl");
        (folder, session)
    }

    #[tokio::test]
    async fn what_waits_is_found_again_until_nothing_waits() {
        let (_folder, session) = session();
        let slate = Arc::new(Slate::new(Neighbour::new(session.as_path().into(), None)));
        let mut queues = Queues::default();
        queues.push(When::FollowUp, Saying::new(Message::user("later", 1)));
        queues.push(When::Steer, Saying { typed: Some("/now".to_owned()), ..Saying::new(Message::user("now", 2)) });
        let (edition, waits) = queues.written();
        Arc::clone(&slate).keep(edition, waits.clone()).await.expect("it is written");
        assert_eq!(read(&session).expect("it is there"), waits);
        let found: Vec<_> = unsaid(waits.clone(), &[]).map(|(when, saying)| (when, saying.written())).collect();
        assert_eq!(found, [(When::Steer, "/now".to_owned()), (When::FollowUp, "later".to_owned())]);
        // What is older comes too late.
        Arc::clone(&slate).keep(edition - 1, Vec::new()).await.expect("nothing is done");
        assert_eq!(read(&session).expect("it is there"), waits);
        queues.clear();
        let (edition, waits) = queues.written();
        slate.keep(edition, waits).await.expect("it is removed");
        assert_eq!(read(&session).expect("none"), []);
        assert!(!path_of(&session).exists());
    }

    #[test]
    fn what_was_said_before_the_crash_does_not_wait_any_more() {
        let entry = |text: &str, time: u64| {
            let message = serde_json::to_value(Message::user(text, time)).expect("a message");
            let line = serde_json::json!({
                "type": "message", "id": "a", "parentId": null, "timestamp": "", "message": message
            });
            let entry: pi_transcript::Entry = serde_json::from_value(line).expect("an entry");
            Arc::new(Kept::from(entry))
        };
        let waits = |text: &str, time| Waits::new(When::Steer, &Saying::new(Message::user(text, time)));
        let path = [entry("go on", 1), entry("other", 2)];
        let left = unsaid(vec![waits("go on", 1), waits("go on", 2)], &path);
        assert_eq!(left.map(|(_, saying)| saying.message).collect::<Vec<_>>(), [Message::user("go on", 2)]);
    }
}
