//! One runtime from its first module to its end, and its event loop.
//!
//! The order is Node's: whatever runs is followed by what `process.nextTick` was given and then by the promises; a round
//! of the loop runs the timers that are due, then what came from outside, then the immediates.

use std::{
    rc::Rc,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::Duration,
};

use rquickjs::{CaughtError, Ctx, Function, Object, Persistent, Value};
use tokio::sync::oneshot;

use pi_exthost::GuestFault;
use pi_extproto::connector::{Call, session::SessionCall};

use super::{
    api::Api,
    engine::Engine,
    fuse::{BACKGROUND, Trip},
    job::{Answer, Job, JobId, Task},
    modules::{API, HOST, declare},
    natives::{self, finished, hang},
    rejections::Rejections,
    room::{Open, Returned, Room},
    thread::{Guest, Wake},
    value::{Unfit, to_js},
};

/// How a runtime came to its end.
pub(super) enum Ending {
    /// The guest is not wanted any more.
    Shutdown,
    /// It went over a limit.
    Tripped(Trip),
    /// The engine itself could not be started.
    Broken(String),
}

/// Why the loop came to a halt.
enum Halt {
    End(Ending),
    /// Somebody wants to know how much memory there is, which nobody can tell while the engine is entered.
    Measure(oneshot::Sender<Result<Answer, GuestFault>>),
}

impl From<Trip> for Halt {
    fn from(trip: Trip) -> Self {
        Self::End(Ending::Tripped(trip))
    }
}

/// Wakes that are taken in one round of the loop.
const ROUND: usize = 256;

/// Starts a runtime, has it do `load` and `then`, and whatever comes from then on.
pub(super) fn live(guest: &Arc<Guest>, inbox: &Receiver<Wake>, load: Job, then: Option<Job>) -> Ending {
    let Engine { runtime, context, rejections, room } = match Engine::start(guest) {
        Ok(engine) => engine,
        Err(error) => return Ending::Broken(error.to_string()),
    };
    let _withdraw = room.life.clone().drop_guard();
    let begun = context.with(|ctx| {
        let life = match Life::begin(&ctx, guest, Rc::clone(&room), rejections.clone()) {
            Ok(life) => life,
            Err(error) => return Err(Ending::Broken(CaughtError::from_error(&ctx, error).to_string())),
        };
        for job in [Some(load), then].into_iter().flatten() {
            life.take_job(job).map_err(Ending::Tripped)?;
        }
        Ok(life.save())
    });
    let ending = match begun {
        Err(ending) => ending,
        Ok(mut saved) => loop {
            let halt = context.with(|ctx| {
                let life = match Life::restore(&ctx, guest, Rc::clone(&room), rejections.clone(), saved.clone()) {
                    Ok(life) => life,
                    Err(error) => return (Halt::End(Ending::Broken(error.to_string())), saved.clone()),
                };
                let halt = life.run(inbox);
                (halt, life.save())
            });
            match halt {
                (Halt::End(ending), _) => break ending,
                (Halt::Measure(reply), again) => {
                    saved = again;
                    let used = u64::try_from(runtime.memory_usage().malloc_size).unwrap_or_default();
                    // Whoever asked may have gone away meanwhile.
                    drop(reply.send(Ok(Answer::Bytes(used))));
                }
            }
        },
    };
    let limit = match &ending {
        Ending::Shutdown => None,
        Ending::Tripped(trip) => Some(trip.limit()),
        Ending::Broken(_) => Some("its engine".to_owned()),
    };
    for (_, open) in room.jobs.take() {
        let fault = limit.clone().map_or(GuestFault::Gone, |limit| GuestFault::OverLimit { limit });
        if let Some(reply) = open.reply {
            drop(reply.send(Err(fault)));
        }
    }
    // Whatever the runtime still holds of the room is freed with it.
    drop(context);
    ending
}

/// What is kept of a runtime while nobody is in it.
#[derive(Clone)]
struct Saved {
    complete: Persistent<Function<'static>>,
    ticks: Persistent<Function<'static>>,
    immediate: Persistent<Function<'static>>,
    timer: Persistent<Function<'static>>,
    api: Persistent<Object<'static>>,
}

/// A runtime that runs.
struct Life<'js, 'g> {
    ctx: Ctx<'js>,
    guest: &'g Guest,
    room: Rc<Room>,
    rejections: Rejections,
    /// Functions of the kernel.
    complete: Function<'js>,
    ticks: Function<'js>,
    immediate: Function<'js>,
    timer: Function<'js>,
    api: Api<'js>,
}

impl<'js, 'g> Life<'js, 'g> {
    fn begin(ctx: &Ctx<'js>, guest: &'g Guest, room: Rc<Room>, rejections: Rejections) -> rquickjs::Result<Self> {
        let library = &guest.program.library;
        let own = |name: &str| {
            let code = library.get(name).ok_or_else(|| rquickjs::Error::new_loading(name))?;
            let (module, done) = declare(ctx, name, &code)?.eval()?;
            finished(ctx, &done)?;
            module.namespace()
        };
        room.fuse.light(BACKGROUND, room.limits.stretch, None);
        let native = natives::functions(ctx, &room, &guest.program.place)?;
        let kernel = own(HOST)?;
        let start: Function<'js> = kernel.get("start")?;
        let kernel: Object<'js> = start.call((native.clone(),))?;
        let api = own(API)?;
        let make: Function<'js> = api.get("make")?;
        let flags = natives::thrown(ctx, to_js(ctx, &guest.program.flags))?;
        let api = Api::new(ctx, make.call((native, flags))?);
        Ok(Self {
            complete: kernel.get("complete")?,
            ticks: kernel.get("ticks")?,
            immediate: kernel.get("immediate")?,
            timer: kernel.get("timer")?,
            ctx: ctx.clone(),
            guest,
            room,
            rejections,
            api,
        })
    }

    fn restore(
        ctx: &Ctx<'js>,
        guest: &'g Guest,
        room: Rc<Room>,
        rejections: Rejections,
        saved: Saved,
    ) -> rquickjs::Result<Self> {
        Ok(Self {
            ctx: ctx.clone(),
            guest,
            room,
            rejections,
            complete: saved.complete.restore(ctx)?,
            ticks: saved.ticks.restore(ctx)?,
            immediate: saved.immediate.restore(ctx)?,
            timer: saved.timer.restore(ctx)?,
            api: Api::restore(ctx, saved.api)?,
        })
    }

    fn save(self) -> Saved {
        let ctx = &self.ctx;
        Saved {
            complete: Persistent::save(ctx, self.complete),
            ticks: Persistent::save(ctx, self.ticks),
            immediate: Persistent::save(ctx, self.immediate),
            timer: Persistent::save(ctx, self.timer),
            api: self.api.save(),
        }
    }

    fn run(&self, inbox: &Receiver<Wake>) -> Halt {
        loop {
            match self.round(inbox) {
                Ok(()) => {}
                Err(Halt::End(Ending::Shutdown)) => return self.see_out(inbox),
                Err(halt) => return halt,
            }
        }
    }

    /// What was asked of the host and nobody waits for is still done: a notice that was the last word of a command is seen.
    /// What takes longer than the grace is withdrawn with the runtime.
    fn see_out(&self, inbox: &Receiver<Wake>) -> Halt {
        for _ in 0..ROUND {
            if self.room.calls.borrow().is_empty() {
                break;
            }
            match inbox.recv_timeout(GRACE) {
                Ok(Wake::Completed { id, result }) => {
                    if let Err(trip) = self.complete(id, result) {
                        return trip.into();
                    }
                }
                // Nothing else is begun any more.
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        Halt::End(Ending::Shutdown)
    }

    /// One round of the loop.
    fn round(&self, inbox: &Receiver<Wake>) -> Result<(), Halt> {
        let (now, before) = (self.room.clock.monotonic(), self.room.timers.borrow().count());
        loop {
            let due = self.room.timers.borrow_mut().take_due(now, before);
            let Some((id, job)) = due else { break };
            self.turn(job, || self.timer.call((id,)))?;
        }
        for index in 0..ROUND {
            let wake = if index == 0 { self.wait(inbox) } else { inbox.try_recv().map(Some).map_err(|_| Nothing) };
            match wake {
                Ok(Some(wake)) => self.take(wake)?,
                Ok(None) => break,
                Err(Nothing) if index > 0 => break,
                Err(Nothing) => return Err(Halt::End(Ending::Shutdown)),
            }
        }
        for _ in 0..self.room.immediates.take() {
            self.turn(BACKGROUND, || self.immediate.call(()))?;
        }
        Ok(())
    }

    /// Parks until something comes or a timer is due. Nothing came if there is none; an error if nothing can come.
    fn wait(&self, inbox: &Receiver<Wake>) -> Result<Option<Wake>, Nothing> {
        let due = self.room.timers.borrow().next_due();
        if self.room.immediates.get() > 0 {
            return inbox.try_recv().map(Some).or(Ok(None));
        }
        let Some(due) = due else { return inbox.recv().map(Some).map_err(|_| Nothing) };
        let clock = &self.room.clock;
        if clock.is_virtual() {
            return match inbox.try_recv() {
                Ok(wake) => Ok(Some(wake)),
                Err(TryRecvError::Disconnected) => Err(Nothing),
                Err(TryRecvError::Empty) if self.room.calls.borrow().is_empty() => {
                    clock.jump(due);
                    Ok(None)
                }
                Err(TryRecvError::Empty) => inbox.recv().map(Some).map_err(|_| Nothing),
            };
        }
        match inbox.recv_timeout(due.saturating_sub(clock.monotonic())) {
            Ok(wake) => Ok(Some(wake)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Nothing),
        }
    }

    /// Does what came from outside.
    fn take(&self, wake: Wake) -> Result<(), Halt> {
        match wake {
            Wake::Job(job) if matches!(job.task, Task::Measure) => return Err(Halt::Measure(job.reply)),
            Wake::Job(job) => self.take_job(*job)?,
            Wake::Cancel(job) => {
                if self.room.jobs.borrow().contains_key(&job) {
                    self.turn(job, || self.api.call("abort", (job,)))?;
                }
            }
            Wake::Abandon(job) => {
                let open = self.room.jobs.borrow_mut().remove(&job);
                if open.is_some() {
                    self.turn(BACKGROUND, || self.api.call("abort", (job,)))?;
                }
            }
            Wake::Completed { id, result } => self.complete(id, result)?,
            Wake::Fed { feed, rest } => match rest {
                Some(rest) => {
                    if let Some(slot) = self.room.feeds.borrow_mut().get_mut(&feed) {
                        slot.feed = Some(rest);
                    }
                }
                None => drop(self.room.feeds.borrow_mut().remove(&feed)),
            },
            Wake::Key { canvas, key } => self.turn(self.painter(canvas), || self.api.call("key", (canvas, key)))?,
            Wake::Resized { canvas } => self.turn(self.painter(canvas), || self.api.call("resized", (canvas,)))?,
            Wake::Taken { canvas } => self.turn(self.painter(canvas), || self.api.call("taken", (canvas,)))?,
            Wake::Shutdown => {
                self.turn(BACKGROUND, || self.api.call("retire", ()))?;
                return Err(Halt::End(Ending::Shutdown));
            }
        }
        Ok(())
    }

    fn painter(&self, canvas: u64) -> JobId {
        self.room.canvases.borrow().get(&canvas).map_or(BACKGROUND, |easel| easel.job)
    }

    fn complete(&self, id: u64, result: Result<Returned, pi_extproto::host::HostError>) -> Result<(), Trip> {
        let going = self.room.calls.borrow_mut().remove(&id);
        let job = going.map_or(BACKGROUND, |going| going.job);
        self.turn(job, || {
            let ctx = &self.ctx;
            let thrown = |value: Result<Value<'js>, Unfit>| natives::thrown(ctx, value);
            let (ok, value) = match result {
                Ok(Returned::Output(hauled)) => (true, thrown(to_js(ctx, &hauled.output))?),
                Ok(Returned::Item(item)) => (true, thrown(to_js(ctx, &item))?),
                Ok(Returned::Nothing | Returned::Canvas(None)) => (true, Value::new_null(ctx.clone())),
                Ok(Returned::Canvas(Some(canvas))) => {
                    hang(&self.room, id, job, canvas);
                    (true, thrown(to_js(ctx, &id))?)
                }
                Err(fault) => (false, thrown(to_js(ctx, &fault))?),
            };
            self.complete.call((id, ok, value))
        })
    }

    fn take_job(&self, job: Job) -> Result<(), Trip> {
        let Job { id, task, terms, reply } = job;
        if terms.cancel.is_cancelled() {
            // Nobody waits for it any more.
            drop(reply.send(Err(GuestFault::Cancelled)));
            return Ok(());
        }
        self.room.jobs.borrow_mut().insert(id, Open { task, terms, reply: Some(reply), heard: None });
        self.turn(id, || self.api.begin(id, self.guest, &self.room))
    }

    /// Runs JavaScript for a job, with everything that follows from it at once.
    fn turn(&self, job: JobId, work: impl FnOnce() -> rquickjs::Result<()>) -> Result<(), Trip> {
        let (room, fuse) = (&self.room, &self.room.fuse);
        let stopwatch = room.jobs.borrow().get(&job).map(|open| open.terms.stopwatch.clone());
        room.current.set(job);
        room.hear(job);
        fuse.light(job, room.limits.stretch, stopwatch);
        if let Err(error) = work() {
            self.caught(job, error);
        }
        self.drain();
        if room.has_changed.take() {
            self.offer();
        }
        room.current.set(BACKGROUND);
        let unheard = self.rejections.take();
        if unheard.is_out_of_memory {
            fuse.trip(Trip::Memory);
        }
        for told in unheard.told {
            natives::uncaught(room, &told);
        }
        fuse.put_out().map_or(Ok(()), Err)
    }

    fn drain(&self) {
        let mut count: u32 = 0;
        loop {
            if self.room.wants_ticks.take()
                && let Err(error) = self.ticks.call::<_, ()>(())
            {
                self.caught(BACKGROUND, error);
            }
            while self.ctx.execute_pending_job() {
                count = count.wrapping_add(1);
                // Each job may be too short for the engine to look at the clock.
                if count.is_multiple_of(256) && self.room.fuse.is_blown() {
                    return;
                }
            }
            // What was stopped in the middle of its ticks has more of them.
            if !self.room.wants_ticks.get() || self.room.fuse.is_blown() {
                return;
            }
        }
    }

    /// Something was thrown out of JavaScript.
    fn caught(&self, job: JobId, error: rquickjs::Error) {
        if self.room.fuse.is_blown() {
            // It was stopped: what it was doing is answered when the runtime has ended.
            drop(self.ctx.catch());
            return;
        }
        let caught = CaughtError::from_error(&self.ctx, error);
        let fault = match &caught {
            CaughtError::Exception(exception) => {
                let message = exception.message().unwrap_or_default();
                if message == "out of memory" {
                    self.room.fuse.trip(Trip::Memory);
                }
                self.guest.program.sources.fault(message, exception.stack())
            }
            CaughtError::Error(rquickjs::Error::Allocation) => {
                self.room.fuse.trip(Trip::Memory);
                GuestFault::OverLimit { limit: Trip::Memory.limit() }
            }
            CaughtError::Error(_) | CaughtError::Value(_) => GuestFault::threw(caught.to_string()),
        };
        if self.room.jobs.borrow().contains_key(&job) {
            self.room.settle(job, Err(fault));
        } else {
            natives::uncaught(&self.room, &fault.told());
        }
    }

    /// Takes over what the extension offers now, and tells the session if it has begun.
    fn offer(&self) {
        match self.api.offered() {
            Ok(offered) => self.room.publish(offered),
            Err(problem) => {
                return natives::uncaught(&self.room, &format!("what it registers cannot be read: {problem}"));
            }
        }
        if self.room.is_loading.get() {
            return;
        }
        let (desk, terms) = (self.room.desk.clone(), self.room.terms(None, self.room.life.child_token()));
        // Nobody waits for it; it ends with the runtime at the latest.
        self.room.tokio.spawn(async move {
            let told = desk.call(Call::Session(SessionCall::RegistrationChanged), terms).await;
            if let Err(fault) = told {
                tracing::debug!(guest = %desk.guest(), fault = fault.message, "the session does not take new offers");
            }
        });
    }
}

/// Nothing can come any more.
struct Nothing;

/// How long a guest that was asked to stop is waited for.
pub(super) const GRACE: Duration = Duration::from_millis(50);
