//! A guest as the rest of the system holds it.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Sender},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::Value;
use tokio::{runtime::Handle, sync::oneshot, time::sleep};
use tokio_util::sync::CancellationToken;

use pi_exthost::{
    Ask, Desk, Guest, GuestFault, Registration, Stopwatch,
    guest::{CommandCall, Condition, Rendering, StreamCall, Suggestion, ToolAnswer, ToolInvocation},
    port::ControlPass,
};
use pi_extproto::{
    hook::{Outcome, event::Event},
    manifest::Tier,
};
use pi_transcript::message::AssistantMessage;

use super::{
    fuse::Fuse,
    job::{Answer, Job, JobId, JobTerms, Task},
    life::GRACE,
    thread::{self, Program, Shared, Wake, loading_terms},
};
use crate::health::Health;

/// An extension in JavaScript: a runtime and a thread of its own.
pub struct JsGuest {
    wakes: Sender<Wake>,
    fuse: Fuse,
    shared: Arc<Shared>,
    tokio: Handle,
    jobs: AtomicU64,
    /// Withdraws what it has going in its host. Its thread may wait for that, and hear of nothing else.
    life: CancellationToken,
}

impl JsGuest {
    /// Starts the thread, loads the extension, and waits until its factory has run. What it does to its host it does
    /// through `desk`, in whose name everything is recorded. Dropping the future ends the guest.
    pub async fn start(program: Program, desk: Desk) -> Result<Arc<Self>, GuestFault> {
        let id = desk.guest().clone();
        let (wakes, inbox) = mpsc::channel();
        let mut registration = Registration::new(id.clone(), program.path.clone());
        registration.name.clone_from(&program.name);
        let shared = Arc::new(Shared::new(registration));
        let (fuse, tokio, life) = (Fuse::new(), Handle::current(), CancellationToken::new());
        let (reply, loaded) = oneshot::channel();
        let load = Job { id: 1, task: Task::Load, terms: loading_terms(&program.limits), reply };
        let guest = Arc::new(Self {
            wakes: wakes.clone(),
            fuse: fuse.clone(),
            shared: Arc::clone(&shared),
            tokio: tokio.clone(),
            jobs: AtomicU64::new(2),
            life: life.clone(),
        });
        let (loading, stopwatch) = (program.limits.loading, load.terms.stopwatch.clone());
        let inner = Arc::new(thread::Guest { id, program, desk, tokio, wakes, fuse, shared, life });
        thread::start(inner, inbox, load)
            .map_err(|error| GuestFault::threw(format!("the system gives it no thread: {error}")))?;
        let loaded = tokio::select! {
            biased;
            loaded = loaded => loaded.unwrap_or(Err(GuestFault::Gone)),
            () = stopwatch.run_down() => Err(GuestFault::OverLimit { limit: format!("{loading:?} to load") }),
        };
        loaded.map(|_| guest)
    }

    /// What it registered, as the conformance harness wants it.
    pub async fn inspect(&self) -> Result<Value, GuestFault> {
        match self.ask(Task::Inspect, &self.own(), None).await? {
            Answer::Inspected(value) => Ok(value),
            other => Err(nonsense(&other)),
        }
    }

    /// How many bytes its heap has.
    pub async fn memory(&self) -> Result<u64, GuestFault> {
        match self.ask(Task::Measure, &self.own(), None).await? {
            Answer::Bytes(bytes) => Ok(bytes),
            other => Err(nonsense(&other)),
        }
    }

    pub fn health(&self) -> Health {
        *self.shared.health().borrow()
    }

    /// Conditions for what we ask ourselves.
    fn own(&self) -> Ask {
        Ask { cancel: CancellationToken::new(), stopwatch: Stopwatch::new(Duration::from_secs(10)) }
    }

    async fn ask(&self, task: Task, ask: &Ask, control: Option<ControlPass>) -> Result<Answer, GuestFault> {
        let id = self.jobs.fetch_add(1, Ordering::Relaxed);
        let terms = JobTerms::new(ask, control);
        let (reply, mut answer) = oneshot::channel();
        let mut waiting = Waiting { guest: self, id, cancel: terms.cancel.clone(), is_over: false };
        let job = Job { id, task, terms, reply };
        self.wakes.send(Wake::Job(Box::new(job))).map_err(|_| GuestFault::Gone)?;
        let answered = tokio::select! {
            biased;
            answered = &mut answer => answered,
            () = ask.cancel.cancelled() => {
                // A guest that is gone answers all the same, by dropping the reply.
                drop(self.wakes.send(Wake::Cancel(id)));
                answer.await
            }
        };
        waiting.is_over = true;
        answered.unwrap_or(Err(GuestFault::Gone))
    }
}

/// Somebody waits for a job. When they stop waiting, the guest is told; if it does not hear that, it is interrupted.
struct Waiting<'a> {
    guest: &'a JsGuest,
    id: JobId,
    cancel: CancellationToken,
    is_over: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.cancel.cancel();
        // A guest that is gone is told nothing.
        drop(self.guest.wakes.send(Wake::Abandon(self.id)));
        let (fuse, id) = (self.guest.fuse.clone(), self.id);
        if fuse.runs(id) {
            // It ends by itself after the grace.
            self.guest.tokio.spawn(async move {
                sleep(GRACE).await;
                if fuse.runs(id) {
                    fuse.give_up(id);
                }
            });
        }
    }
}

impl Drop for JsGuest {
    fn drop(&mut self) {
        self.fuse.end();
        self.life.cancel();
        // A thread that has ended does not listen.
        drop(self.wakes.send(Wake::Shutdown));
    }
}

fn nonsense(answer: &Answer) -> GuestFault {
    GuestFault::Nonsense { message: format!("{answer:?}") }
}

impl Guest for JsGuest {
    fn condition(&self) -> Condition {
        self.health().into()
    }

    fn memory(&self) -> BoxFuture<'_, Option<u64>> {
        // One that is gone has none.
        JsGuest::memory(self).map(Result::ok).boxed()
    }

    fn registration(&self) -> Arc<Registration> {
        self.shared.registration()
    }

    fn tier(&self) -> Tier {
        Tier::Js
    }

    fn handle(&self, handler: usize, event: Arc<Event>, ask: Ask) -> BoxFuture<'_, Result<Outcome, GuestFault>> {
        async move {
            match self.ask(Task::Handle { handler, event }, &ask, None).await? {
                Answer::Outcome(outcome) => Ok(*outcome),
                other => Err(nonsense(&other)),
            }
        }
        .boxed()
    }

    fn call_tool(&self, call: ToolInvocation, ask: Ask) -> BoxFuture<'_, Result<ToolAnswer, GuestFault>> {
        async move {
            let ToolInvocation { call_id, name, input, updates } = call;
            match self.ask(Task::Tool { call_id, name, input, updates }, &ask, None).await? {
                Answer::Tool(answer) => Ok(*answer),
                other => Err(nonsense(&other)),
            }
        }
        .boxed()
    }

    fn run_command(&self, call: CommandCall, ask: Ask) -> BoxFuture<'_, Result<(), GuestFault>> {
        async move {
            let CommandCall { name, arguments, control } = call;
            self.ask(Task::Command { name, arguments }, &ask, Some(control)).await.map(drop)
        }
        .boxed()
    }

    fn complete_argument(
        &self,
        command: String,
        prefix: String,
        ask: Ask,
    ) -> BoxFuture<'_, Result<Vec<Suggestion>, GuestFault>> {
        async move {
            match self.ask(Task::Complete { command, prefix }, &ask, None).await? {
                Answer::Suggestions(suggestions) => Ok(suggestions),
                other => Err(nonsense(&other)),
            }
        }
        .boxed()
    }

    fn press_shortcut(&self, key: String, ask: Ask) -> BoxFuture<'_, Result<(), GuestFault>> {
        async move { self.ask(Task::Shortcut { key }, &ask, None).await.map(drop) }.boxed()
    }

    fn render(&self, subject: Rendering, ask: Ask) -> BoxFuture<'_, Result<Option<Vec<String>>, GuestFault>> {
        async move {
            match self.ask(Task::Render(subject), &ask, None).await? {
                Answer::Drawn(lines) => Ok(lines),
                other => Err(nonsense(&other)),
            }
        }
        .boxed()
    }

    fn stream(&self, call: StreamCall, ask: Ask) -> BoxFuture<'_, Result<Box<AssistantMessage>, GuestFault>> {
        async move {
            let StreamCall { provider, model, context, options, steps } = call;
            match self.ask(Task::Stream { provider, model, context, options, steps }, &ask, None).await? {
                Answer::Message(message) => Ok(message),
                other => Err(nonsense(&other)),
            }
        }
        .boxed()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async move {
            let mut health = self.shared.health();
            if self.wakes.send(Wake::Shutdown).is_err() {
                return;
            }
            let ended = health.wait_for(|health| *health == Health::Ended);
            if tokio::time::timeout(GRACE * 10, ended).await.is_err() {
                self.fuse.end();
                self.life.cancel();
            }
        }
        .boxed()
    }
}

impl fmt::Debug for JsGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guest {}", self.registration().id)
    }
}
