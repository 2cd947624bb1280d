//! The channel between what extensions draw and whoever sees it: frames go out, keys come in.
//!
//! A component lives as long as its [`Canvas`]: a guest that puts it away, fails or is abandoned drops it, and everybody is
//! told. Only the newest frame is kept, and frames are told at the pace of a screen, so a guest that paints without end
//! costs no more than one that paints a film. Any number of clients see the same components, and any of them may press keys.

pub mod key;
pub mod styled;

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, mpsc, watch},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use pi_transcript::{
    AgentEvent, RequestId,
    drawn::Placement,
    question::{Outcome, WidgetPlacement},
};

use crate::{
    guest::GuestId,
    port::{Canvas, Drawing, Easel, Size, canvas},
    questions::Audience,
};

/// Frames of one component are so far apart.
const PACE: Duration = Duration::from_millis(33);
/// A component that has taken none of the keys that wait for so long hangs.
const PATIENCE: Duration = Duration::from_secs(30);
/// So many components of one session may be there at once.
pub const MOST: usize = 16;
/// Until somebody says how large the window is.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// The components of one session. Clones are the same.
#[derive(Clone)]
pub struct Drawings {
    shared: Arc<Shared>,
}

struct Shared {
    audience: Audience,
    emit: Box<dyn Fn(AgentEvent) + Send + Sync>,
    ids: Box<dyn Fn() -> RequestId + Send + Sync>,
    /// A mutex and no task: a component is put away in `Drop`, which cannot wait for one. It is held for a look at a short
    /// list, never while anything is emitted or awaited.
    state: Mutex<State>,
}

struct State {
    open: Vec<Open>,
    /// As the last client said that has one.
    size: Size,
}

struct Open {
    id: RequestId,
    placement: Placement,
    size: watch::Sender<Size>,
    keys: mpsc::Sender<String>,
    pressed: Arc<Pressed>,
    /// As it was told last; nothing before the first frame.
    newest: Option<AgentEvent>,
    /// Given when it is to go.
    away: CancellationToken,
}

/// The keys that one component was given.
#[derive(Default)]
struct Pressed {
    count: AtomicU64,
    bell: Notify,
}

/// There are too many components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{MOST} components are there already")]
pub struct TooMany;

/// What a client says to a component.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Press {
    /// A key by its name, or text: see [`key::sent`].
    pub key: Option<String>,
    /// The room that the client has.
    pub columns: Option<u16>,
    pub rows: Option<u16>,
}

/// Why a key was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// Nobody drew it, or it is gone.
    #[error("there is no component {id}")]
    NotOpen { id: RequestId },
    /// It stands beside the editor.
    #[error("the component {id} takes no keys")]
    Keyless { id: RequestId },
    /// Its guest does not take those that wait.
    #[error("the component {id} takes no more keys for now")]
    Full { id: RequestId },
}

impl Drawings {
    /// `emit` hears what clients must be told, `ids` makes ids that no client has seen before. Neither may wait.
    pub fn new(
        audience: Audience,
        ids: impl Fn() -> RequestId + Send + Sync + 'static,
        emit: impl Fn(AgentEvent) + Send + Sync + 'static,
    ) -> Self {
        let state = Mutex::new(State { open: Vec::new(), size: USUAL });
        Self { shared: Arc::new(Shared { audience, emit: Box::new(emit), ids: Box::new(ids), state }) }
    }

    /// Room to draw in, and the future that carries what is drawn to clients: it ends with the component, which it takes away
    /// when `cancel` is signalled or it is dropped. Nothing where nobody could see it.
    pub fn open(
        &self,
        from: &GuestId,
        drawing: &Drawing,
        cancel: CancellationToken,
    ) -> Result<Option<(Canvas, impl Future<Output = ()> + Send + use<>)>, TooMany> {
        if self.shared.audience == Audience::Nobody || cancel.is_cancelled() {
            return Ok(None);
        }
        let (id, placement) = ((self.shared.ids)(), placement(drawing));
        let mut state = self.shared.state();
        if state.open.len() >= MOST {
            return Err(TooMany);
        }
        let (canvas, Easel { size, keys, frames }) = canvas(state.size);
        let (pressed, away) = (Arc::new(Pressed::default()), cancel);
        let carrier = Carrier {
            closing: Closing { shared: Arc::clone(&self.shared), id: id.clone(), outcome: Outcome::Cancelled },
            extension_id: from.to_string(),
            placement,
            frames,
            size: size.subscribe(),
            keys: keys.downgrade(),
            pressed: Arc::clone(&pressed),
            away: away.clone(),
        };
        state.open.push(Open { id, placement, size, keys, pressed, newest: None, away });
        Ok(Some((canvas, carrier.run())))
    }

    /// Gives a component a key, or tells it how much room there is. Keys arrive in the order of these calls.
    pub fn press(&self, id: &RequestId, press: &Press) -> Result<(), KeyFault> {
        let mut state = self.shared.state();
        let Some(position) = state.open.iter().position(|open| open.id == *id) else {
            return Err(KeyFault::NotOpen { id: id.clone() });
        };
        let open = &state.open[position];
        if press.key.is_some() && !open.placement.takes_keys() {
            return Err(KeyFault::Keyless { id: id.clone() });
        }
        let now = *open.size.borrow();
        let size = Size { columns: press.columns.unwrap_or(now.columns), rows: press.rows.unwrap_or(now.rows) };
        if size != now {
            open.size.send_replace(size);
        }
        if let Some(name) = &press.key {
            open.keys.try_send(key::sent(name)).map_err(|unsent| match unsent {
                mpsc::error::TrySendError::Full(_) => KeyFault::Full { id: id.clone() },
                mpsc::error::TrySendError::Closed(_) => KeyFault::NotOpen { id: id.clone() },
            })?;
            open.pressed.count.fetch_add(1, Ordering::Relaxed);
            open.pressed.bell.notify_one();
        }
        state.size = size;
        Ok(())
    }

    /// The newest frame of every component that was shown, the oldest component first: for a client that comes (back).
    pub fn list_open(&self) -> Vec<AgentEvent> {
        self.shared.state().open.iter().filter_map(|open| open.newest.clone()).collect()
    }

    /// How many components there are, shown or not.
    pub fn count(&self) -> usize {
        self.shared.state().open.len()
    }

    /// Takes away what has the keys, because somebody wants to stop what goes on.
    pub fn cancel_keyed(&self) {
        self.cancel(|open| open.placement.takes_keys());
    }

    /// Takes everything away, because the session goes away.
    pub fn cancel_all(&self) {
        self.cancel(|_| true);
    }

    fn cancel(&self, which: impl Fn(&Open) -> bool) {
        for open in self.shared.state().open.iter().filter(|open| which(open)) {
            open.away.cancel();
        }
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // Nothing that is done under it can panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody what a component looks like, and keeps that for those who come later.
    fn show(&self, render: AgentEvent, id: &RequestId) {
        if let Some(open) = self.state().open.iter_mut().find(|open| open.id == *id) {
            open.newest = Some(render.clone());
        }
        (self.emit)(render);
    }
}

/// Carries the frames of one component.
struct Carrier {
    closing: Closing,
    /// Who draws it.
    extension_id: String,
    placement: Placement,
    frames: watch::Receiver<crate::port::Frame>,
    size: watch::Receiver<Size>,
    /// Only to see how many wait.
    keys: mpsc::WeakSender<String>,
    pressed: Arc<Pressed>,
    away: CancellationToken,
}

impl Carrier {
    async fn run(mut self) {
        let (away, pressed) = (self.away.clone(), Arc::clone(&self.pressed));
        // Whether there is a frame that was not told, and from when on it may be.
        let (mut is_new, mut due) = (false, Instant::now());
        // The keys that it had taken when somebody last looked, and when that was, while keys wait.
        let mut stuck: Option<(u64, Instant)> = None;
        self.closing.outcome = loop {
            let looks_at = stuck.map(|(_, since)| since + PATIENCE);
            tokio::select! {
                biased;
                () = away.cancelled() => break Outcome::Cancelled,
                () = at(looks_at) => match (self.taken(), stuck) {
                    (Some(taken), Some((before, _))) if taken == before => break Outcome::TimedOut,
                    (taken, _) => stuck = taken.map(|taken| (taken, Instant::now())),
                },
                () = pressed.bell.notified() => {
                    stuck = stuck.or_else(|| self.taken().map(|taken| (taken, Instant::now())));
                }
                () = sleep_until(due), if is_new => {
                    self.show();
                    (is_new, due) = (false, Instant::now() + PACE);
                }
                changed = self.frames.changed() => match changed {
                    Ok(()) => is_new = true,
                    Err(_) => {
                        if is_new {
                            self.show();
                        }
                        break Outcome::Closed;
                    }
                },
            }
        };
    }

    /// Tells what it looks like now.
    fn show(&mut self) {
        let lines = styled::styled(&self.frames.borrow_and_update());
        let width = self.size.borrow().columns;
        let (request_id, placement) = (self.closing.id.clone(), self.placement);
        let extension_id = Some(self.extension_id.clone());
        let render = AgentEvent::ExtensionUiRender { request_id, extension_id, lines, width, placement };
        self.closing.shared.show(render, &self.closing.id);
    }

    /// How many keys the guest has taken, if some wait for it.
    fn taken(&self) -> Option<u64> {
        let keys = self.keys.upgrade()?;
        let waiting = keys.max_capacity() - keys.capacity();
        let waiting = u64::try_from(waiting).unwrap_or(u64::MAX);
        (waiting > 0).then(|| self.pressed.count.load(Ordering::Relaxed).saturating_sub(waiting))
    }
}

/// That moment, if there is one.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Takes the component off the list, and tells clients that it is gone if they were told that it is there.
struct Closing {
    shared: Arc<Shared>,
    id: RequestId,
    outcome: Outcome,
}

impl Drop for Closing {
    fn drop(&mut self) {
        let gone = {
            let mut state = self.shared.state();
            let position = state.open.iter().position(|open| open.id == self.id);
            position.map(|position| state.open.remove(position))
        };
        if gone.is_some_and(|open| open.newest.is_some()) {
            let (request_id, outcome) = (self.id.clone(), self.outcome);
            (self.shared.emit)(AgentEvent::ExtensionUiResolved { request_id, outcome });
        }
    }
}

fn placement(drawing: &Drawing) -> Placement {
    match drawing {
        Drawing::Editor => Placement::Editor,
        Drawing::Overlay => Placement::Overlay,
        Drawing::Widget { placement: WidgetPlacement::AboveEditor, .. } => Placement::AboveEditor,
        Drawing::Widget { placement: WidgetPlacement::BelowEditor, .. } => Placement::BelowEditor,
        Drawing::Header => Placement::Header,
        Drawing::Footer => Placement::Footer,
    }
}

impl fmt::Debug for Drawings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drawings").field("open", &self.count()).finish_non_exhaustive()
    }
}
