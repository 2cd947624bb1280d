//! Sessions of which what is said is in memory only: their file cannot be written, or somebody took it away.

use std::{fmt, sync::Arc, time::Duration};

use pi_transcript::SessionId;
use tokio::{sync::Mutex, task::spawn_blocking, time::Instant};

use crate::{
    room::Room,
    rooms::{Edition, Rooms},
};

/// How long a look at the disk holds: health is asked for more often than files are taken away.
const HOLDS: Duration = Duration::from_millis(500);
/// Sessions that are told one by one.
const MOST_TOLD: usize = 10;

/// The last look at the sessions that are loaded.
#[derive(Debug, Default)]
pub struct Unwritten {
    /// Not a task: whoever comes while somebody looks waits for what he finds.
    last: Mutex<Option<Look>>,
}

#[derive(Debug)]
struct Look {
    at: Instant,
    edition: Edition,
    found: Arc<[Found]>,
}

/// A session that is not written, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    session: SessionId,
    why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Why {
    Fails(Arc<str>),
    Lost { file: String },
}

impl Unwritten {
    /// Which sessions those are. Looks at the disk unless somebody just did.
    pub(super) async fn find(&self, rooms: &Rooms) -> Arc<[Found]> {
        let mut last = self.last.lock().await;
        // First: what begins to fail while somebody looks makes the look old.
        let edition = rooms.troubles();
        if let Some(look) = &*last
            && look.edition == edition
            && look.at.elapsed() < HOLDS
        {
            return Arc::clone(&look.found);
        }
        let everyone = rooms.everyone();
        let found = spawn_blocking(move || everyone.iter().filter_map(|room| look_at(room)).collect());
        let found: Arc<[Found]> = found.await.unwrap_or_else(|panic| {
            tracing::error!(%panic, "nobody knows which sessions are written");
            Arc::default()
        });
        *last = Some(Look { at: Instant::now(), edition, found: Arc::clone(&found) });
        found
    }
}

fn look_at(room: &Room) -> Option<Found> {
    let why = match room.lost_file() {
        Some(file) => Why::Lost { file },
        None => Why::Fails(room.trouble()?),
    };
    Some(Found { session: room.id().clone(), why })
}

/// What health tells of them.
pub(super) fn issues(found: &[Found]) -> impl Iterator<Item = String> {
    let rest = found.len().saturating_sub(MOST_TOLD);
    let more = (rest > 0).then(|| format!("{rest} more sessions are not written to their files"));
    found.iter().take(MOST_TOLD).map(ToString::to_string).chain(more)
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, why } = self;
        match why {
            Why::Fails(why) => write!(
                f,
                "session {session} is not written to its file: {why}; what is said in it is in memory only until it can be \
                 written"
            ),
            Why::Lost { file } => write!(
                f,
                "session {session} has lost its file {file}; what was said in it is in memory only, and nothing is added to it \
                 until the file is back"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_sessions_are_counted_and_not_named() {
        let found = |number: usize| Found {
            session: SessionId::from(format!("s{number}")),
            why: Why::Fails("the disk is full".into()),
        };
        let told = |count: usize| issues(&(0..count).map(found).collect::<Vec<_>>()).collect::<Vec<_>>();
        assert_eq!(told(0), Vec::<String>::new());
        assert_eq!(
            told(1),
            [
                "session s0 is not written to its file: the disk is full; what is said in it is in memory only until it can \
              be written"
            ]
        );
        assert_eq!(told(10).len(), 10);
        assert_eq!(
            told(12).split_last().map(|(last, rest)| (last.as_str(), rest.len())),
            Some(("2 more sessions are not written to their files", 10))
        );
    }
}
