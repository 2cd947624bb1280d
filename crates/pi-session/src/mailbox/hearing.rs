//! What extensions hear outside of runs: that the session begins and ends, and what was changed about it.
//!
//! They hear it one after the other and in order, and nobody waits for them; only the first word waits until all have heard
//! that the session begins.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use pi_exthost::{Guests, Registration};
use pi_extproto::hook::{
    Hook,
    event::{
        Event,
        payload::{DiscoverReason, OtherEvent, SessionShutdownEvent, SessionStartEvent, ShutdownReason, StartReason},
    },
};
use pi_transcript::{AgentEvent, RequestId, json::Extra, question::UiRequest};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::lane::Lane;
use crate::{
    departure::{Beginning, Departure, shown},
    extensions::Steward,
};

/// The way to the ears of extensions.
pub(crate) struct Hearing {
    guests: Arc<Guests>,
    lane: Lane,
    /// Cancelled when everybody has heard that the session has begun, and it has what they bring. `None`: nobody listens to
    /// that.
    started: Option<CancellationToken>,
    /// What waits for a person, as extensions were told.
    prompts: HashSet<RequestId>,
    /// The servers of the Model Context Protocol and their tools, as extensions were told.
    servers: BTreeMap<String, Vec<String>>,
}

impl Hearing {
    pub(crate) fn new(guests: Arc<Guests>) -> Self {
        let is_heard = guests.listens(Hook::SessionStart) || guests.listens(Hook::ResourcesDiscover);
        let (started, servers) = (is_heard.then(CancellationToken::new), servers(&guests));
        Self { guests, lane: Lane::default(), started, prompts: HashSet::new(), servers }
    }

    /// Says that the session has begun, and has what extensions bring gathered.
    pub(super) fn begin(&self, beginning: &Beginning, steward: Arc<dyn Steward>) {
        let (guests, started) = (Arc::clone(&self.guests), self.started.clone());
        let event = Event::SessionStart(start(beginning));
        let reason = match beginning {
            Beginning::Reload => DiscoverReason::Reload,
            Beginning::Startup | Beginning::New { .. } | Beginning::Resume { .. } | Beginning::Fork { .. } => {
                DiscoverReason::Startup
            }
        };
        self.lane.push(async move {
            guests.notice(Hook::SessionStart, || event, &CancellationToken::new()).await;
            if let Some(started) = started {
                steward.gather(reason).await;
                started.cancel();
            }
        });
    }

    /// Tells which servers there are, if that or their tools changed.
    pub(super) fn compare_servers(&mut self) {
        let servers = servers(&self.guests);
        if servers != self.servers {
            self.servers = servers;
            let told: Vec<Value> =
                self.servers.iter().map(|(name, tools)| json!({ "name": name, "tools": tools })).collect();
            let (name, data) =
                (Hook::McpServersChange.as_str(), Extra::from_iter([("servers".to_owned(), told.into())]));
            self.notify(Event::Other(OtherEvent { name: name.to_owned(), data: Some(data) }));
        }
    }

    /// Whether everybody has heard that the session has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.started.as_ref().is_none_or(CancellationToken::is_cancelled)
    }

    /// Waits for that.
    pub(super) fn begun(&self) -> impl Future<Output = ()> + Send + 'static {
        let started = self.started.clone();
        async move {
            if let Some(started) = started {
                started.cancelled().await;
            }
        }
    }

    /// Tells of something that takes no answer.
    pub(super) fn notify(&self, event: Event) {
        let Some(hook) = event.hook().filter(|hook| self.guests.listens(*hook)) else { return };
        let guests = Arc::clone(&self.guests);
        self.lane.push(async move { guests.notice(hook, || event, &CancellationToken::new()).await });
    }

    /// What extensions hear of a question to a person, or of a component that has the keys: that it is there, and that it
    /// is not any more.
    pub(super) fn prompt(&mut self, event: &AgentEvent) -> Option<Event> {
        let (hook, data) = match event {
            AgentEvent::ExtensionUiRequest { request_id, request: UiRequest::Question(asked), .. } => {
                self.prompts.insert(request_id.clone());
                (Hook::UiPromptStart, json!({ "requestId": request_id, "method": asked.question().method() }))
            }
            AgentEvent::ExtensionUiRender { request_id, placement, .. }
                if placement.takes_keys() && !self.prompts.contains(request_id) =>
            {
                self.prompts.insert(request_id.clone());
                (Hook::UiPromptStart, json!({ "requestId": request_id, "method": "custom" }))
            }
            AgentEvent::ExtensionUiResolved { request_id, outcome } if self.prompts.remove(request_id) => {
                (Hook::UiPromptEnd, json!({ "requestId": request_id, "outcome": outcome }))
            }
            _ => return None,
        };
        let Value::Object(data) = data else { return None };
        Some(Event::Other(OtherEvent { name: hook.as_str().to_owned(), data: Some(data) }))
    }

    /// Says that the session ends; done when everybody has heard that and all that was said before.
    pub(super) fn end(&mut self, departure: &Departure) -> impl Future<Output = ()> + Send + 'static {
        self.notify(Event::SessionShutdown(shutdown(departure)));
        self.lane.finish()
    }
}

/// The servers that are connected, and the names of their tools.
fn servers(guests: &Guests) -> BTreeMap<String, Vec<String>> {
    let server = |registration: &Arc<Registration>| {
        let name = registration.id.server()?.to_owned();
        Some((name, registration.tools.iter().map(|tool| tool.definition.name.clone()).collect()))
    };
    guests.registrations().iter().filter_map(server).collect()
}

fn start(beginning: &Beginning) -> SessionStartEvent {
    let (reason, left) = match beginning {
        Beginning::Startup => (StartReason::Startup, None),
        Beginning::Reload => (StartReason::Reload, None),
        Beginning::New { left } => (StartReason::New, left.as_deref()),
        Beginning::Resume { left } => (StartReason::Resume, left.as_deref()),
        Beginning::Fork { left } => (StartReason::Fork, left.as_deref()),
    };
    SessionStartEvent { reason, previous_session_file: left.map(shown) }
}

fn shutdown(departure: &Departure) -> SessionShutdownEvent {
    let (reason, target) = match departure {
        Departure::Quit => (ShutdownReason::Quit, None),
        Departure::Reload => (ShutdownReason::Reload, None),
        Departure::New { .. } => (ShutdownReason::New, None),
        Departure::Resume(path) => (ShutdownReason::Resume, Some(shown(path))),
        Departure::Fork(_) => (ShutdownReason::Fork, None),
    };
    SessionShutdownEvent { reason, target_session_file: target }
}
