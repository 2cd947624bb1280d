//! Connections whose other end has not shown a credential yet.
//!
//! They have so many places and no more. When all are taken, whoever has had his longest goes, with a word: who has the
//! token shows it in his first breath, and so gets in however many hold their places and say nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

/// How many there may be; and how many of those who showed one on a connection that is no WebSocket.
const PLACES: usize = 512;
/// When somebody who had to go should try again.
const AGAIN_SECONDS: u64 = 1;

/// All of them.
#[derive(Debug, Default)]
pub struct Strangers {
    /// Not a task: a line in a list, for as long as it takes to write one.
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    next: u64,
    /// In the order in which they came.
    strangers: BTreeMap<u64, CancellationToken>,
    known: BTreeSet<u64>,
}

impl Strangers {
    pub(crate) fn count(&self) -> usize {
        self.list().strangers.len()
    }

    /// Gives somebody a place, and says whether another had to go for it.
    pub(super) fn enter(self: &Arc<Self>) -> (Place, Somebody) {
        let mut list = self.list();
        let gone = if list.strangers.len() < PLACES { None } else { list.strangers.pop_first() };
        list.next += 1;
        let (number, lost) = (list.next, CancellationToken::new());
        list.strangers.insert(number, lost.clone());
        drop(list);
        let somebody = match gone {
            Some((_, lost)) => {
                lost.cancel();
                Somebody::HadToGo
            }
            None => Somebody::Stays,
        };
        (Place { strangers: Arc::clone(self), number, lost }, somebody)
    }

    fn list(&self) -> MutexGuard<'_, List> {
        // Nothing in here can panic half-way.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What became of the others when somebody came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Somebody {
    Stays,
    HadToGo,
}

/// The place of one connection; it is free when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    strangers: Arc<Strangers>,
    number: u64,
    lost: CancellationToken,
}

impl Place {
    /// A credential was shown: the place is for others. Where too many have shown theirs and stay, it is kept.
    pub(super) fn show_credential(&self) {
        let mut list = self.strangers.list();
        if list.known.len() < PLACES && list.strangers.remove(&self.number).is_some() {
            list.known.insert(self.number);
        }
    }

    pub(super) fn is_strangers(&self) -> bool {
        self.strangers.list().strangers.contains_key(&self.number)
    }

    /// Cancelled when another gets the place.
    pub(super) fn lost(&self) -> &CancellationToken {
        &self.lost
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut list = self.strangers.list();
        list.strangers.remove(&self.number);
        list.known.remove(&self.number);
    }
}

/// What somebody hears whose place another got, as it goes over the wire.
pub(super) fn refusal() -> String {
    let body = serde_json::json!({
        "error": format!("too many connections without a credential (max {PLACES})"),
        "code": pi_wire::ErrorCode::ConnectionLimit,
        "hint": "send the token with the first request, and that in one go",
        "retryAfterMs": 1000 * AGAIN_SECONDS,
    })
    .to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nserver: pi\r\ncontent-type: application/json\r\n\
         retry-after: {AGAIN_SECONDS}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}
