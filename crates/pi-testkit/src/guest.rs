//! An extension that does what its script says, faults included, and remembers what it heard.
//!
//! A script is text: sections say what the guest offers and what it listens to, the lines below each say what it does
//! then, in order.
//!
//! ```text
//! guest guard ./guard.ts
//! tool weather
//!     parameters {"type":"object","properties":{"city":{"type":"string"}}}
//!     update looking out of the window
//!     answer sunny
//! command review
//!     completes all last
//!     ask {"method":"confirm","title":"Sure?","message":"It costs."}
//!     append reviewed {"by":"guard"}
//! on tool_call
//!     outcome {"family":"tool_call","outcome":{"action":"block","reason":"no","terminate":false}}
//! on turn_end
//!     panic in the middle
//! ```
//!
//! [`script`] lists all words. The order of `on` sections of one hook is the order of its handlers.

mod run;
pub mod script;
pub mod stroke;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::{Value, json};

use pi_exthost::{
    Ask, Conversation, Guest, GuestFault, GuestId, Registration, SessionPort,
    guest::{CommandCall, Rendering, StreamCall, Subject, Suggestion, ToolAnswer, ToolInvocation},
    port::{ControlPass, Refusal, Request},
};
use pi_extproto::{
    hook::{Outcome, event::Event},
    manifest::Tier,
};
use pi_transcript::{ToolOutput, message::AssistantMessage};

pub use self::script::BadScript;
use self::{
    run::{Run, Said},
    script::{Script, Section, Trigger},
};

/// A guest that does what its script says.
pub struct ScriptedGuest {
    script: Script,
    conversation: Conversation,
    /// Tests look at it while the guest runs; it is held for a moment, never across an await.
    state: Mutex<State>,
}

struct State {
    registration: Arc<Registration>,
    heard: Vec<String>,
    /// The pass of a command that has ended, if the script says that it is kept.
    kept: Option<ControlPass>,
}

/// A session that is gone.
struct Nowhere;

impl SessionPort for Nowhere {
    fn submit(&self, _: GuestId, request: Request) -> BoxFuture<'_, ()> {
        // Nobody answers, which says that the session is gone.
        drop(request);
        async {}.boxed()
    }
}

impl ScriptedGuest {
    /// A guest in a conversation.
    pub fn new(script: &str, port: Arc<dyn SessionPort>) -> Result<Arc<Self>, BadScript> {
        let script = Script::read(script)?;
        let registration = Arc::new(script.registration());
        let conversation = Conversation::new(port, registration.id.clone());
        let state = State { registration, heard: Vec::new(), kept: None };
        Ok(Arc::new(Self { script, conversation, state: Mutex::new(state) }))
    }

    /// A guest whose session is gone: whatever it asks of it is refused.
    pub fn alone(script: &str) -> Result<Arc<Self>, BadScript> {
        Self::new(script, Arc::new(Nowhere))
    }

    /// What it heard and what came of it, line by line.
    pub fn heard(&self) -> Vec<String> {
        self.state().heard.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, line: String) {
        self.state().heard.push(line);
    }

    /// Does what the section says.
    async fn perform(&self, trigger: &Trigger, nth: usize, run: Run<'_>) -> Result<Said, GuestFault> {
        let section = self.script.sections(trigger).nth(nth);
        let Some(Section { steps, .. }) = section else { return Err(GuestFault::not_offered(trigger.to_string())) };
        let mut abandoned = Abandoned { guest: self, is_over: false };
        let said = run.steps(steps).await;
        abandoned.is_over = true;
        said
    }

    fn run<'a>(&'a self, ask: &'a Ask) -> Run<'a> {
        Run { guest: self, ask, updates: None, steps: None, control: None }
    }

    /// Offers a tool that the script kept for later.
    async fn offer(&self, name: &str) -> Result<(), Refusal> {
        {
            let mut state = self.state();
            let mut registration = Registration::clone(&state.registration);
            registration.tools.extend(self.script.later(name));
            state.registration = Arc::new(registration);
        }
        self.conversation.registration_changed().await
    }
}

impl Guest for ScriptedGuest {
    fn registration(&self) -> Arc<Registration> {
        self.state().registration.clone()
    }

    fn tier(&self) -> Tier {
        Tier::Js
    }

    fn handle(&self, handler: usize, event: Arc<Event>, ask: Ask) -> BoxFuture<'_, Result<Outcome, GuestFault>> {
        async move {
            let (name, data) = event.write();
            self.hear(format!("{name} {}", data.map_or(Value::Null, Value::Object)));
            let said = self.perform(&Trigger::On(name.to_owned()), handler, self.run(&ask)).await?;
            Ok(said.outcome.unwrap_or(Outcome::Notice))
        }
        .boxed()
    }

    fn call_tool(&self, call: ToolInvocation, ask: Ask) -> BoxFuture<'_, Result<ToolAnswer, GuestFault>> {
        async move {
            self.hear(format!("tool {} {}", call.name, json!(call.input)));
            let run = Run { updates: Some(&call.updates), ..self.run(&ask) };
            let said = self.perform(&Trigger::Tool(call.name.clone()), 0, run).await?;
            let empty = ToolAnswer { output: ToolOutput::default(), is_error: false, terminate: false };
            Ok(said.answer.unwrap_or(empty))
        }
        .boxed()
    }

    fn run_command(&self, call: CommandCall, ask: Ask) -> BoxFuture<'_, Result<(), GuestFault>> {
        async move {
            self.hear(format!("command {} {}", call.name, call.arguments));
            let run = Run { control: Some(&call.control), ..self.run(&ask) };
            self.perform(&Trigger::Command(call.name.clone()), 0, run).await.map(drop)
        }
        .boxed()
    }

    fn complete_argument(
        &self,
        command: String,
        prefix: String,
        _: Ask,
    ) -> BoxFuture<'_, Result<Vec<Suggestion>, GuestFault>> {
        let words = self.script.completions(&command).filter(move |word| word.starts_with(&prefix));
        let suggestion = |word: &String| Suggestion { value: word.clone(), label: word.clone(), description: None };
        let suggestions = words.map(suggestion).collect();
        async { Ok(suggestions) }.boxed()
    }

    fn press_shortcut(&self, key: String, ask: Ask) -> BoxFuture<'_, Result<(), GuestFault>> {
        async move {
            self.hear(format!("shortcut {key}"));
            self.perform(&Trigger::Shortcut(key), 0, self.run(&ask)).await.map(drop)
        }
        .boxed()
    }

    fn render(&self, rendering: Rendering, ask: Ask) -> BoxFuture<'_, Result<Option<Vec<String>>, GuestFault>> {
        async move {
            let trigger = match &rendering.subject {
                Subject::Message(message) => {
                    let custom_type = json!(message)["customType"].as_str().unwrap_or_default().to_owned();
                    Trigger::Renderer(custom_type)
                }
                // Its tools and entries draw nothing of their own.
                Subject::Entry(_) | Subject::ToolCall(_) | Subject::ToolResult { .. } => return Ok(None),
            };
            let said = self.perform(&trigger, 0, self.run(&ask)).await?;
            Ok(Some(said.drawn))
        }
        .boxed()
    }

    fn stream(&self, call: StreamCall, ask: Ask) -> BoxFuture<'_, Result<Box<AssistantMessage>, GuestFault>> {
        async move {
            self.hear(format!("stream {} {}", call.provider, call.context));
            let run = Run { steps: Some(&call.steps), ..self.run(&ask) };
            let said = self.perform(&Trigger::Provider(call.provider.clone()), 0, run).await?;
            let content = said.answer.map(|answer| answer.output.content).unwrap_or_default();
            let mut message = json!({ "content": content, "api": "scripted", "provider": call.provider, "model": "scripted",
                "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
                    "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } },
                "stopReason": "stop", "timestamp": 0 });
            for (name, value) in said.message.into_iter().flatten() {
                message[name] = value;
            }
            serde_json::from_value(message).map_err(|error| GuestFault::Nonsense { message: error.to_string() })
        }
        .boxed()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async move {
            self.hear("shutdown".to_owned());
            if self.script.sections(&Trigger::Shutdown).next().is_some() {
                let ask = Ask { cancel: Default::default(), stopwatch: pi_exthost::Stopwatch::unlimited() };
                // Nobody asks how it went.
                drop(self.perform(&Trigger::Shutdown, 0, self.run(&ask)).await);
            }
        }
        .boxed()
    }
}

/// Notes that nobody waited for the end.
struct Abandoned<'a> {
    guest: &'a ScriptedGuest,
    is_over: bool,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if !self.is_over && !std::thread::panicking() {
            self.guest.hear("abandoned".to_owned());
        }
    }
}

impl fmt::Debug for ScriptedGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scripted guest {}", self.registration().id)
    }
}
