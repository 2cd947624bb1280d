//! The channel between extensions and a person: questions that are open, their answers, and announcements.
//!
//! A question lives exactly as long as the future that asks it; there is no task beside it. Any number of clients see
//! the same questions; the first answer that fits counts.

use std::{
    fmt,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use pi_transcript::{
    AgentEvent, RequestId,
    question::{Announcement, Answer, Approval, Asked, Asker, Misfit, Outcome, UiRequest, check},
};

use crate::{
    guest::GuestId,
    port::{Notice, Settled},
};

/// Questions of one session that may be open at a time; further ones are cancelled at once.
pub const MOST_OPEN: usize = 1000;

/// During what an extension failed that asked too much.
const ASKING: &str = "extension_ui_request";

/// Who could not ask whether something may be done.
const HOST: &str = "agent";

/// Whether there is a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Here, or coming back before the question lapses.
    Somebody,
    /// Every question is cancelled at once, and nothing is shown but notices.
    Nobody,
}

/// When a question is given up that names no time, while no client is there that could answer it. As long as one is there,
/// it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lapse {
    Never,
    After(Duration),
}

/// How many clients see the questions of a session. Clones are the same, and none of them keeps the session alive.
#[derive(Debug, Clone, Default)]
pub struct Attendance {
    presence: Arc<Presence>,
}

#[derive(Debug, Default)]
struct Presence {
    clients: AtomicUsize,
    /// Wakes questions that wait for somebody to come or to go.
    moved: Notify,
}

/// The questions of one session. Clones are the same.
#[derive(Clone)]
pub struct Questions {
    shared: Arc<Shared>,
}

struct Shared {
    audience: Audience,
    lapse: Lapse,
    attendance: Attendance,
    emit: Box<dyn Fn(AgentEvent) + Send + Sync>,
    ids: Box<dyn Fn() -> RequestId + Send + Sync>,
    /// A mutex and no task: closing a question must work in `Drop`, which cannot wait for one. It is held for a look at
    /// a list that is nearly always empty, never while anything is emitted or awaited.
    open: Mutex<Vec<Open>>,
}

struct Open {
    id: RequestId,
    asker: Asker,
    asked: Asked,
    since: Instant,
    answer: oneshot::Sender<Answer>,
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    pub id: RequestId,
    pub asker: Asker,
    /// Of the time that it names, what is left.
    pub asked: Asked,
}

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerFault {
    /// Nobody asked it, or it is over.
    #[error("there is no open question {id}")]
    NotOpen { id: RequestId },
    /// The question stays open.
    #[error(transparent)]
    Misfit(#[from] Misfit),
}

impl Attendance {
    /// So many clients see the questions now.
    pub fn count(&self, clients: usize) {
        let before = self.presence.clients.swap(clients, Ordering::AcqRel);
        // Only the first who comes and the last who goes matter: the rest would let a question that nobody sees wait anew.
        if (before == 0) != (clients == 0) {
            self.presence.moved.notify_waiters();
        }
    }

    /// Waits until nobody has been there for so long.
    async fn missed_for(&self, long: Duration) {
        loop {
            let mut moved = pin!(self.presence.moved.notified());
            // Before the look, so that nothing is missed between the two.
            moved.as_mut().enable();
            if self.presence.clients.load(Ordering::Acquire) > 0 {
                moved.await;
            } else {
                tokio::select! {
                    () = moved => {}
                    () = sleep(long) => return,
                }
            }
        }
    }
}

impl Questions {
    /// `emit` hears what clients must be told, `ids` makes ids that no client has seen before. Neither may wait.
    pub fn new(
        audience: Audience,
        lapse: Lapse,
        ids: impl Fn() -> RequestId + Send + Sync + 'static,
        emit: impl Fn(AgentEvent) + Send + Sync + 'static,
    ) -> Self {
        let attendance = Attendance::default();
        let (emit, ids) = (Box::new(emit), Box::new(ids));
        Self { shared: Arc::new(Shared { audience, lapse, attendance, emit, ids, open: Mutex::default() }) }
    }

    /// For whoever knows which clients are there. Until it is told, nobody is.
    pub fn attendance(&self) -> Attendance {
        self.shared.attendance.clone()
    }

    /// Puts a question before a person and waits for its end. When `cancel` is signalled, or the future is dropped, the
    /// question is cancelled and clients are told so. Whoever asks for a guest pauses its stopwatch meanwhile.
    pub async fn ask(&self, from: &GuestId, asked: Asked, cancel: &CancellationToken) -> Settled {
        self.put(Asker::extension(from.as_str()), asked, cancel).await
    }

    /// The same for the host itself, which wants to know whether something may be done.
    pub async fn ask_approval(&self, approval: Approval, asked: Asked, cancel: &CancellationToken) -> Settled {
        self.put(Asker::Host { approval }, asked, cancel).await
    }

    async fn put(&self, asker: Asker, asked: Asked, cancel: &CancellationToken) -> Settled {
        if self.shared.audience == Audience::Nobody || cancel.is_cancelled() {
            return Settled::Cancelled;
        }
        let named = asked.question().timeout().map(Duration::from_millis);
        let Some((mut closing, mut answer)) = self.open(asker, asked) else { return Settled::Cancelled };
        let over = tokio::select! {
            // An answer that was taken counts, even if the time is up by now.
            biased;
            answer = &mut answer => return closing.settle(settled(answer.ok())),
            () = cancel.cancelled() => Settled::Cancelled,
            () = self.shared.run_out(named) => Settled::TimedOut,
        };
        if self.shared.close(&closing.id).is_some() {
            return closing.settle(over);
        }
        // Somebody was quicker and has been told that the answer was taken.
        closing.settle(settled(answer.await.ok()))
    }

    /// Whether there is a person who could answer.
    pub fn has_audience(&self) -> bool {
        self.shared.audience == Audience::Somebody
    }

    /// Answers an open question.
    pub fn answer(&self, id: &RequestId, answer: Answer) -> Result<(), AnswerFault> {
        let open = {
            let mut list = self.shared.list();
            let position = list.iter().position(|open| open.id == *id);
            let Some(position) = position else { return Err(AnswerFault::NotOpen { id: id.clone() }) };
            check(&list[position].asked, &answer)?;
            list.remove(position)
        };
        // Only a future that is being dropped does not receive it, and that one tells of its end itself.
        open.answer.send(answer).map_err(|_| AnswerFault::NotOpen { id: id.clone() })
    }

    /// What is open, the oldest first: for a client that comes (back).
    pub fn list_open(&self) -> Vec<OpenQuestion> {
        let now = Instant::now();
        let open = self.shared.list();
        let question = |open: &Open| OpenQuestion {
            id: open.id.clone(),
            asker: open.asker.clone(),
            asked: open.asked.clone().after(now - open.since),
        };
        open.iter().map(question).collect()
    }

    /// Cancels everything that is open, because the session goes away.
    pub fn cancel_all(&self) {
        // The senders are dropped, and every future that waits ends with that.
        let all = std::mem::take(&mut *self.shared.list());
        drop(all);
    }

    /// Shows something that needs no answer. Where nobody is, a notice is still told: whoever reads what comes of it reads
    /// that as well. Everything else dresses a screen that is not there. Answers the id by which it was told.
    pub fn announce(&self, from: &GuestId, announcement: Announcement) -> Option<RequestId> {
        match (self.shared.audience, &announcement) {
            (
                Audience::Nobody,
                Announcement::SetStatus { .. }
                | Announcement::SetWidget { .. }
                | Announcement::SetTitle { .. }
                | Announcement::SetWorkingMessage { .. }
                | Announcement::SetEditorText { .. },
            ) => None,
            (Audience::Nobody, Announcement::Notify { .. }) | (Audience::Somebody, _) => {
                let (id, asker) = ((self.shared.ids)(), Asker::extension(from.as_str()));
                self.shared.request(id.clone(), asker, UiRequest::Announcement(announcement));
                Some(id)
            }
        }
    }

    /// Tells something in the name of the program, whoever is there.
    pub fn tell(&self, Notice { message, notify_type, about }: Notice) {
        let asker = Asker::Pi { extension_id: about.map(|guest| guest.to_string()) };
        let announcement = Announcement::Notify { message, notify_type: Some(notify_type) };
        self.shared.request((self.shared.ids)(), asker, UiRequest::Announcement(announcement));
    }

    /// Nothing, and an event that says so, if too many are open.
    fn open(&self, asker: Asker, asked: Asked) -> Option<(Closing, oneshot::Receiver<Answer>)> {
        let (answer, receiver) = oneshot::channel();
        let (id, since) = ((self.shared.ids)(), Instant::now());
        let question = UiRequest::Question(asked.clone());
        {
            let mut list = self.shared.list();
            if list.len() >= MOST_OPEN {
                drop(list);
                self.shared.turn_away(asker);
                return None;
            }
            list.push(Open { id: id.clone(), asker: asker.clone(), asked, since, answer });
        }
        let closing = Closing { shared: self.shared.clone(), id: id.clone(), outcome: Outcome::Cancelled };
        self.shared.request(id, asker, question);
        Some((closing, receiver))
    }
}

impl OpenQuestion {
    /// As clients hear of it.
    pub fn to_event(&self) -> AgentEvent {
        let request = UiRequest::Question(self.asked.clone());
        AgentEvent::ExtensionUiRequest { request_id: self.id.clone(), asker: Some(self.asker.clone()), request }
    }
}

impl Shared {
    fn list(&self) -> std::sync::MutexGuard<'_, Vec<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the question off the list; nothing if somebody did before.
    fn close(&self, id: &RequestId) -> Option<Open> {
        let mut list = self.list();
        let position = list.iter().position(|open| open.id == *id)?;
        Some(list.remove(position))
    }

    /// Waits until it is too late for an answer.
    async fn run_out(&self, named: Option<Duration>) {
        match (named, self.lapse) {
            (Some(named), _) => sleep(named).await,
            (None, Lapse::After(long)) => self.attendance.missed_for(long).await,
            (None, Lapse::Never) => std::future::pending().await,
        }
    }

    fn turn_away(&self, asker: Asker) {
        (self.emit)(AgentEvent::ExtensionError {
            extension_path: match asker {
                Asker::Extension { extension_id } => extension_id,
                Asker::Host { .. } | Asker::Pi { .. } => HOST.to_owned(),
            },
            event: ASKING.to_owned(),
            error: format!("{MOST_OPEN} questions are open, and no more may be"),
        });
    }

    fn request(&self, request_id: RequestId, asker: Asker, request: UiRequest) {
        (self.emit)(AgentEvent::ExtensionUiRequest { request_id, asker: Some(asker), request });
    }
}

/// Whether the event tells of a question that was not put before anybody, because too many are open.
pub fn is_unasked(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::ExtensionError { event, .. } if event == ASKING)
}

/// Tells clients that a question is over, however its future ends.
struct Closing {
    shared: Arc<Shared>,
    id: RequestId,
    outcome: Outcome,
}

impl Closing {
    fn settle(&mut self, settled: Settled) -> Settled {
        self.outcome = match &settled {
            Settled::Answered(_) => Outcome::Answered,
            Settled::Dismissed | Settled::Cancelled => Outcome::Cancelled,
            Settled::TimedOut => Outcome::TimedOut,
        };
        settled
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.shared.close(&self.id);
        (self.shared.emit)(AgentEvent::ExtensionUiResolved { request_id: self.id.clone(), outcome: self.outcome });
    }
}

fn settled(answer: Option<Answer>) -> Settled {
    match answer {
        Some(Answer::Cancelled) => Settled::Dismissed,
        None => Settled::Cancelled,
        Some(answer) => Settled::Answered(answer),
    }
}

impl fmt::Debug for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Questions").field("open", &self.list_open()).finish()
    }
}
