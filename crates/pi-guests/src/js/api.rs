//! The Pi API inside a runtime: jobs are handed to it, and it says what its extension offers.

use std::sync::Arc;

use rquickjs::{CaughtError, Ctx, Function, Object, Persistent, Value, function::IntoArgs};
use serde_json::{Value as Json, json};

use pi_exthost::guest::{Rendering, ResultState, Subject, ToolDrawing};
use pi_extproto::hook::event::Said;
use pi_transcript::Entry;

use super::{
    job::{JobId, Task},
    modules::{BUNDLE, declare},
    natives,
    offered::Offered,
    room::Room,
    thread::{self, Guest},
    value::{from_js, to_js},
};

/// The Pi API of a runtime.
pub(super) struct Api<'js> {
    ctx: Ctx<'js>,
    functions: Object<'js>,
}

impl<'js> Api<'js> {
    pub(super) fn new(ctx: &Ctx<'js>, functions: Object<'js>) -> Self {
        Self { ctx: ctx.clone(), functions }
    }

    pub(super) fn restore(ctx: &Ctx<'js>, saved: Persistent<Object<'static>>) -> rquickjs::Result<Self> {
        Ok(Self::new(ctx, saved.restore(ctx)?))
    }

    pub(super) fn save(self) -> Persistent<Object<'static>> {
        Persistent::save(&self.ctx, self.functions)
    }

    pub(super) fn call<A: IntoArgs<'js>>(&self, name: &str, args: A) -> rquickjs::Result<()> {
        let function: Function<'js> = self.functions.get(name)?;
        function.call(args)
    }

    /// Hands a job to the Pi API.
    pub(super) fn begin(&self, id: JobId, guest: &Guest, room: &Room) -> rquickjs::Result<()> {
        let ctx = &self.ctx;
        // Made of what is asked as it lies there: no code of the extension runs meanwhile.
        let js = |value: &Json| natives::thrown(ctx, to_js(ctx, value));
        let jobs = room.jobs.borrow();
        let Some(open) = jobs.get(&id) else { return Ok(()) };
        match &open.task {
            Task::Load => {
                drop(jobs);
                self.load(id, guest)
            }
            Task::Handle { handler, event } => {
                let (event, handler) = (Arc::clone(event), *handler);
                drop(jobs);
                let data = natives::thrown(ctx, to_js(ctx, &Said(&event)))?;
                self.call("handle", (id, event.name(), handler, data))
            }
            Task::Tool { call_id, name, input, .. } => {
                let input = natives::thrown(ctx, to_js(ctx, input))?;
                let (call_id, name) = (call_id.to_string(), name.clone());
                drop(jobs);
                self.call("tool", (id, call_id, name, input))
            }
            Task::Command { name, arguments } => {
                let (name, arguments) = (name.clone(), arguments.clone());
                drop(jobs);
                self.call("command", (id, name, arguments))
            }
            Task::Complete { command, prefix } => {
                let (command, prefix) = (command.clone(), prefix.clone());
                drop(jobs);
                self.call("completions", (id, command, prefix))
            }
            Task::Shortcut { key } => {
                let key = key.clone();
                drop(jobs);
                self.call("shortcut", (id, key))
            }
            Task::Render(rendering) => {
                let subject = subject(rendering);
                drop(jobs);
                self.call("render", (id, js(&subject)?))
            }
            Task::Stream { provider, model, context, options, .. } => {
                let (provider, model, context, options) = (provider.clone(), js(model)?, js(context)?, js(options)?);
                drop(jobs);
                self.call("stream", (id, provider, model, context, options))
            }
            Task::Inspect => {
                drop(jobs);
                self.call("inspect", (id,))
            }
            Task::Measure => Ok(()),
        }
    }

    /// Evaluates the bundle and calls its factory.
    fn load(&self, id: JobId, guest: &Guest) -> rquickjs::Result<()> {
        let module = declare(&self.ctx, &format!("{BUNDLE}{}", guest.program.name), &guest.program.bundle)?;
        let (module, done) = module.eval()?;
        let is_again = id == thread::RELOAD;
        self.call("load", (id, module.namespace()?, done, is_again))
    }

    /// What the extension offers now, or why that cannot be read.
    pub(super) fn offered(&self) -> Result<Offered, String> {
        let offered =
            self.functions.get::<_, Function<'js>>("offered").and_then(|offered| offered.call::<_, Value<'js>>(()));
        match offered {
            Ok(value) => from_js::<Offered>(value).map_err(|unfit| unfit.to_string()),
            Err(error) => Err(CaughtError::from_error(&self.ctx, error).to_string()),
        }
    }
}

fn subject(rendering: &Rendering) -> Json {
    let Rendering { subject, width, expanded } = rendering;
    let mut told = match subject {
        Subject::Message(message) => json!({ "kind": "message", "message": message }),
        Subject::Entry(entry) => json!({ "kind": "entry", "entry": Entry::Custom((**entry).clone()) }),
        Subject::ToolCall(ToolDrawing { call_id, name, input }) => {
            json!({ "kind": "call", "callId": call_id, "name": name, "input": input })
        }
        Subject::ToolResult { call: ToolDrawing { call_id, name, input }, output, state } => {
            let (is_partial, is_error) = (*state == ResultState::Partial, *state == ResultState::Failed);
            json!({ "kind": "result", "callId": call_id, "name": name, "input": input, "output": output, "isPartial": is_partial, "isError": is_error })
        }
    };
    told["width"] = (*width).into();
    told["expanded"] = (*expanded).into();
    told
}
