//! How JavaScript answers what was asked of it.

use std::rc::Rc;

use rquickjs::{Ctx, Function, Object, Result, Value};
use serde::{Deserialize, de::DeserializeOwned};

use pi_exthost::{
    GuestFault,
    comparison::{is_same, is_same_value},
    guest::{Suggestion, ToolAnswer},
};
use pi_extproto::hook::{
    Outcome, ToolCallOutcome, ToolResultOutcome, ToolResultPatch,
    event::{Event, payload::ToolResultEvent},
};
use pi_transcript::{AssistantMessageEvent, ToolOutput};
use tokio::sync::mpsc;

use super::{
    fuse::Trip,
    job::{Answer, JobId, Task},
    natives::{refused, start},
    offered::Offered,
    raw,
    room::{Returned, Room},
    value::{Unfit, from_js},
};

/// The functions with which the Pi API answers.
pub(super) fn functions<'js>(ctx: &Ctx<'js>, native: &Object<'js>, room: &Rc<Room>) -> Result<()> {
    let here = Rc::clone(room);
    let done = move |job: JobId, value: Value<'js>| {
        let is_load = here.jobs.borrow().get(&job).is_some_and(|open| matches!(open.task, Task::Load));
        let answer = if is_load {
            Some(loaded(&here, value))
        } else {
            here.jobs.borrow().get(&job).map(|open| read(&open.task, value))
        };
        if let Some(answer) = answer {
            here.settle(job, answer);
        }
    };
    native.set("done", Function::new(ctx.clone(), done)?)?;

    let here = Rc::clone(room);
    let failed = move |job: JobId, fault: Object<'js>| {
        // What was stopped is answered when the runtime has ended, whatever it says of that itself.
        if !here.fuse.has_tripped() {
            let fault = fault_of(&here, job, &fault);
            here.settle(job, Err(fault));
        }
    };
    native.set("failed", Function::new(ctx.clone(), failed)?)?;

    let here = Rc::clone(room);
    let update = move |job: JobId, value: Value<'js>| {
        let Ok(output) = from_js::<ToolOutput>(value) else { return };
        if let Some(Task::Tool { updates, .. }) = here.jobs.borrow().get(&job).map(|open| &open.task) {
            // A full channel drops updates: the next one says more.
            drop(updates.try_send(output));
        }
    };
    native.set("update", Function::new(ctx.clone(), update)?)?;

    let here = Rc::clone(room);
    let step = move |id: u64, job: JobId, value: Value<'js>| {
        let step = from_js::<AssistantMessageEvent>(value);
        let steps = here.jobs.borrow().get(&job).and_then(|open| steps_of(&open.task));
        start(&here, id, |_, _| async move {
            let nonsense = |unfit: Unfit| refused(pi_extproto::host::ErrorCode::InvalidRequest, unfit.to_string());
            let step = step.map_err(nonsense)?;
            if let Some(steps) = steps {
                // Whoever listened may have gone away.
                drop(steps.send(step).await);
            }
            Ok(Returned::Nothing)
        });
    };
    native.set("step", Function::new(ctx.clone(), step)?)?;

    let here = Rc::clone(room);
    native.set("changed", Function::new(ctx.clone(), move || here.has_changed.set(true))?)?;
    let here = Rc::clone(room);
    native.set("isOpen", Function::new(ctx.clone(), move |job: JobId| here.jobs.borrow().contains_key(&job))?)?;
    let here = Rc::clone(room);
    native.set("currentJob", Function::new(ctx.clone(), move || here.owner())?)
}

fn steps_of(task: &Task) -> Option<mpsc::Sender<AssistantMessageEvent>> {
    if let Task::Stream { steps, .. } = task { Some(steps.clone()) } else { None }
}

/// The factory has run, and this is what it registered.
fn loaded(room: &Rc<Room>, offered: Value<'_>) -> std::result::Result<Answer, GuestFault> {
    let offered = from_js::<Offered>(offered)
        .map_err(|unfit| GuestFault::Nonsense { message: format!("what it registers cannot be read: {unfit}") })?;
    room.publish(offered);
    room.is_loading.set(false);
    Ok(Answer::Done)
}

/// What was thrown, as a fault of the guest. One that has no memory left is stopped here.
fn fault_of(room: &Rc<Room>, job: JobId, fault: &Object<'_>) -> GuestFault {
    let part = |name: &str| fault.get::<_, Option<String>>(name).ok().flatten();
    let (name, message, stack) = (part("name"), part("message").unwrap_or_default(), part("stack"));
    let is_out_of_memory = match name.as_deref() {
        Some("InternalError") => message == "out of memory",
        // Where there is no room for an error either, the engine throws null, as anybody may.
        Some("null") => raw::reached(fault.ctx()) > room.limits.memory - room.limits.memory / 8,
        Some(_) | None => false,
    };
    if is_out_of_memory {
        room.fuse.trip(Trip::Memory);
        return GuestFault::OverLimit { limit: Trip::Memory.limit() };
    }
    let is_cancelled = room.jobs.borrow().get(&job).is_some_and(|open| open.terms.cancel.is_cancelled());
    if is_cancelled && name.as_deref() == Some("AbortError") {
        return GuestFault::Cancelled;
    }
    room.guest.program.sources.fault(message, stack)
}

/// Reads the answer that a task wants.
fn read(task: &Task, value: Value<'_>) -> std::result::Result<Answer, GuestFault> {
    fn typed<T: DeserializeOwned>(value: Value<'_>) -> std::result::Result<T, GuestFault> {
        from_js(value).map_err(|unfit| GuestFault::Nonsense { message: unfit.to_string() })
    }
    match task {
        Task::Load | Task::Command { .. } | Task::Shortcut { .. } | Task::Measure => Ok(Answer::Done),
        Task::Handle { event, .. } => {
            typed(value).map(|outcome| Answer::Outcome(Box::new(without_noise(event, outcome))))
        }
        Task::Tool { .. } => {
            let ToolReply { is_error, terminate, output } = typed(value)?;
            Ok(Answer::Tool(Box::new(ToolAnswer { output, is_error, terminate })))
        }
        Task::Complete { .. } => {
            let items: Option<Vec<Item>> = typed(value)?;
            let suggestion = |item: Item| Suggestion {
                label: item.label.unwrap_or_else(|| item.value.clone()),
                value: item.value,
                description: item.description,
            };
            Ok(Answer::Suggestions(items.unwrap_or_default().into_iter().map(suggestion).collect()))
        }
        Task::Render(_) => typed(value).map(Answer::Drawn),
        Task::Stream { .. } => typed(value).map(Answer::Message),
        Task::Inspect => typed(value).map(Answer::Inspected),
    }
}

/// Handlers may change these in place, so they are told with all that they hold; what is the same is no change.
fn without_noise(event: &Event, outcome: Outcome) -> Outcome {
    match (event, outcome) {
        (Event::ToolCall(event), Outcome::ToolCall(ToolCallOutcome::Transform { input }))
            if input.as_object().is_some_and(|input| is_same(input, &event.input)) =>
        {
            Outcome::ToolCall(ToolCallOutcome::Continue)
        }
        (Event::ToolResult(event), Outcome::ToolResult(ToolResultOutcome::Transform(patch))) => {
            Outcome::ToolResult(without_same(event, patch))
        }
        (_, outcome) => outcome,
    }
}

fn without_same(event: &ToolResultEvent, patch: ToolResultPatch) -> ToolResultOutcome {
    let ToolResultPatch { content, details, is_error } = patch;
    let content = content.filter(|content| *content != event.content);
    let details = details.filter(|new| !event.details.as_ref().is_some_and(|old| is_same_value(new, old)));
    match (content, details, is_error) {
        (None, None, None) => ToolResultOutcome::Continue,
        (content, details, is_error) => ToolResultOutcome::Transform(ToolResultPatch { content, details, is_error }),
    }
}

#[derive(Deserialize)]
struct ToolReply {
    is_error: bool,
    terminate: bool,
    output: ToolOutput,
}

#[derive(Deserialize)]
struct Item {
    value: String,
    label: Option<String>,
    description: Option<String>,
}
