//! Sessions of which what is said is in memory only: their file cannot be written, or somebody took it away.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use pi_transcript::SessionId;
use tokio::{
    sync::watch,
    task::spawn_blocking,
    time::{Instant, timeout},
};

use crate::{
    room::Room,
    rooms::{Edition, Rooms},
};

/// How long a look at the disk holds: health is asked for more often than files are taken away.
const HOLDS: Duration = Duration::from_millis(500);
/// How long somebody waits for a look. Health is asked for where something is wrong, and a disk may never answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Sessions that are told one by one.
const MOST_TOLD: usize = 10;

/// The last look at the sessions that are loaded.
#[derive(Debug, Default)]
pub struct Unwritten {
    last: watch::Sender<Option<Look>>,
    /// Somebody looks. A disk that does not answer holds one thread, and no more for everybody who asks.
    is_looking: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Look {
    at: Instant,
    edition: Edition,
    found: Arc<[Found]>,
}

/// What is known of these sessions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known {
    found: Arc<[Found]>,
    /// That is from earlier: nobody could look by now.
    is_late: bool,
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
    pub(super) async fn find(&self, rooms: &Rooms) -> Known {
        // First: what begins to fail while somebody looks makes the look old.
        let edition = rooms.troubles();
        self.known(edition, PATIENCE, || {
            let everyone = rooms.everyone();
            move || everyone.iter().filter_map(|room| look_at(room)).collect()
        })
        .await
    }

    /// What a look finds that began in this edition or later, if it ends in time.
    async fn known<L>(&self, edition: Edition, patience: Duration, look: impl Fn() -> L) -> Known
    where
        L: FnOnce() -> Arc<[Found]> + Send + 'static,
    {
        let mut looks = self.last.subscribe();
        let fresh = async {
            loop {
                let held = looks.borrow_and_update().as_ref().filter(|look| look.holds(edition)).map(Look::found);
                if let Some(found) = held {
                    return found;
                }
                self.begin(edition, look());
                looks.changed().await.expect("the sender is in self");
            }
        };
        match timeout(patience, fresh).await {
            Ok(found) => Known { found, is_late: false },
            Err(_) => Known { found: self.last.borrow().as_ref().map(Look::found).unwrap_or_default(), is_late: true },
        }
    }

    /// Looks, unless somebody is at it.
    fn begin(&self, edition: Edition, look: impl FnOnce() -> Arc<[Found]> + Send + 'static) {
        if self.is_looking.swap(true, Ordering::SeqCst) {
            return;
        }
        let (looking, last) = (Looking(Arc::clone(&self.is_looking)), self.last.clone());
        // Nobody can end it: what it waits for is the disk. Whoever wants its result waits for the news.
        spawn_blocking(move || {
            let found = look();
            // Before the news: whom this look is too old for begins another one.
            drop(looking);
            last.send_replace(Some(Look { at: Instant::now(), edition, found }));
        });
    }
}

impl Look {
    fn holds(&self, edition: Edition) -> bool {
        self.edition >= edition && self.at.elapsed() < HOLDS
    }

    fn found(&self) -> Arc<[Found]> {
        Arc::clone(&self.found)
    }
}

/// Somebody looks as long as there is one of these, also where the look falls.
struct Looking(Arc<AtomicBool>);

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Known {
    pub(super) fn count(&self) -> usize {
        self.found.len()
    }

    /// What health tells of them.
    pub(super) fn issues(&self) -> impl Iterator<Item = String> {
        let rest = self.found.len().saturating_sub(MOST_TOLD);
        let more = (rest > 0).then(|| format!("{rest} more sessions are not written to their files"));
        let late = self.is_late.then(|| {
            "the disk with the files of the sessions does not answer: which of them are written is not known".to_owned()
        });
        self.found.iter().take(MOST_TOLD).map(ToString::to_string).chain(more).chain(late)
    }
}

fn look_at(room: &Room) -> Option<Found> {
    let why = match room.lost_file() {
        Some(file) => Why::Lost { file },
        None => Why::Fails(room.trouble()?),
    };
    Some(Found { session: room.id().clone(), why })
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
        let known = |count: usize| Known { found: (0..count).map(found).collect(), is_late: false };
        let told = |count: usize| known(count).issues().collect::<Vec<_>>();
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

    #[tokio::test]
    async fn a_disk_that_does_not_answer_holds_one_thread_and_nobody_else() {
        let (rooms, _wishes) = Rooms::new(1);
        let (unwritten, edition) = (Unwritten::default(), rooms.troubles());
        let one: Arc<[Found]> =
            [Found { session: SessionId::from("s".to_owned()), why: Why::Lost { file: "/s".to_owned() } }].into();
        let (answer, disk) = std::sync::mpsc::channel::<()>();
        let disk = Arc::new(std::sync::Mutex::new(disk));
        let look = || {
            let (disk, found) = (Arc::clone(&disk), Arc::clone(&one));
            move || {
                disk.lock().expect("nobody panics").recv().expect("the test is there");
                found
            }
        };
        let soon = Duration::from_millis(20);
        let nothing = Known { found: Arc::default(), is_late: true };
        assert_eq!(unwritten.known(edition, soon, look).await, nothing);
        assert_eq!(nothing.issues().count(), 1);
        // This one begins no other look, and is told what the first finds.
        let asked = unwritten.known(edition, Duration::from_secs(60), look);
        let answers = async { answer.send(()).expect("it waits") };
        let (known, ()) = tokio::join!(asked, answers);
        assert_eq!(known, Known { found: one.clone(), is_late: false });
        assert_eq!(unwritten.known(edition, soon, look).await, known, "the look holds");
        // Something failed since then.
        rooms.ties().troubles.tell();
        assert_eq!(unwritten.known(rooms.troubles(), soon, look).await, Known { found: one.clone(), is_late: true });
        answer.send(()).expect("it waits");
    }
}
