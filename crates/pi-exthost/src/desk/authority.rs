//! May it? Decides, asks if it must, writes the decision down, and tells a person about a refusal once.

use std::{net::IpAddr, sync::Arc};

use serde_json::json;

use pi_extproto::{
    host::{ErrorCode, HostError},
    log::{Level, LogEvent, program},
};
use pi_policy::{
    Action, Answer, Decision, Denial, Explanation, Feature, Grant, Host, Reason, Request, Target, decide, explain,
};
use pi_transcript::question::NotifyType;

use super::{Desk, Occasion, Terms};
use crate::{
    consent::asking::{self, Petitioner},
    ledger::object,
};

/// Denials in this session that make an extension look as bad as they can.
const WORST_DENIALS: u64 = 10;

impl Desk {
    /// A grant for this one action, or the error that the guest gets. Waits for a person if it must; dropping the future
    /// takes the question back.
    pub(crate) async fn authorize(&self, action: Action, terms: &Terms) -> Result<Grant, HostError> {
        let request = self.request(action);
        match self.decide(&request).await {
            Decision::Allow(grant) => {
                if grant.warning().is_some() {
                    self.note_decision(&request, "allow", "allowed with a warning", terms);
                }
                Ok(grant)
            }
            Decision::Deny(denial) => Err(self.denied(&request, &denial, terms)),
            Decision::Ask(_) => self.ask(request, terms).await,
        }
    }

    /// Whether something would be allowed without asking anybody, by what was last read. Leaves no trace.
    pub(crate) fn would_allow(&self, action: Action) -> Option<Grant> {
        match decide(&self.inner.house.fittings.rulebook.policy(), &self.request(action)) {
            Decision::Allow(grant) => Some(grant),
            Decision::Ask(_) | Decision::Deny(_) => None,
        }
    }

    fn request(&self, action: Action) -> Request {
        let Self { inner } = self;
        let evidence = inner.identity.evidence.with_count(Feature::Denials, inner.counters.denials(), WORST_DENIALS);
        Request { action: Arc::new(action), evidence, now: inner.house.now() }
    }

    /// What is refused is looked at again if somebody has just changed what is remembered.
    async fn decide(&self, request: &Request) -> Decision {
        let rulebook = &self.inner.house.fittings.rulebook;
        rulebook.glance(request.now).await;
        let decision = decide(&rulebook.policy(), request);
        match decision {
            Decision::Deny(_) | Decision::Ask(_) if rulebook.refresh().await => decide(&rulebook.policy(), request),
            decision => decision,
        }
    }

    async fn ask(&self, request: Request, terms: &Terms) -> Result<Grant, HostError> {
        let Self { inner } = self;
        let gate = inner.gates.of(&request.action.capability);
        let _turn = gate.turn.lock().await;
        // Somebody may have answered while we waited for our turn.
        let question = match self.decide(&request).await {
            Decision::Allow(grant) => return Ok(grant),
            Decision::Deny(denial) => return Err(self.denied(&request, &denial, terms)),
            Decision::Ask(question) => question,
        };
        let answer = match gate.silence(request.now) {
            Some(silence) => silence,
            // The session begins when its extensions have loaded: a question would wait for itself.
            None if terms.occasion == Occasion::Loading => Answer::Nobody,
            None => {
                let identity = &inner.identity;
                let origin = identity.origins.first().map(String::as_str);
                let call = match &terms.occasion {
                    Occasion::ToolCall(id) => Some(id),
                    Occasion::Loading | Occasion::SlashCommand(_) | Occasion::Event(_) | Occasion::Background => None,
                };
                let petitioner = Petitioner { name: identity.id.as_str(), version: &identity.version, origin, call };
                let rulebook = &inner.house.fittings.rulebook;
                asking::ask(&question, &petitioner, &gate, &self.conversation(terms), rulebook, request.now).await
            }
        };
        match question.answer(answer) {
            Ok(grant) => {
                self.note_decision(&request, "allow", "a person said yes", terms);
                Ok(grant)
            }
            Err(denial) => Err(self.denied(&request, &denial, terms)),
        }
    }

    /// The error for a guest whose host leads to an address that its grant does not cover.
    pub(crate) fn denied_address(&self, action: &Action, host: &Host, address: IpAddr, terms: &Terms) -> HostError {
        let reason = format!("{host} leads to {address}, which is not of the public network");
        self.note(action, "deny", &reason, terms);
        let command = format!("pi ext allow {} http --host {host}", self.guest());
        let message =
            format!("Extension {} wanted http: {host} and may not ({reason}). To allow it: {command}", self.guest());
        self.tell_once(format!("{} address", action.capability), &message);
        let details = json!({ "capability": "http", "rule": "address", "extension": self.guest().as_str(),
            "wanted": wanted(action), "address": address.to_string(), "command": command });
        HostError { details: object(details), retryable: Some(false), ..HostError::new(ErrorCode::Denied, message) }
    }

    /// Tells a person, once for each kind of thing and session.
    fn tell_once(&self, kind: String, message: &str) {
        if !self.is_first_denial(kind) {
            return;
        }
        self.tell(message.to_owned(), NotifyType::Warning);
    }

    /// Tells a person something about the guest in the name of the program. Nobody waits for it; the words must be ours, none of
    /// the guest.
    pub fn tell(&self, message: String, notify_type: NotifyType) {
        let conversation = self.inner.conversation.clone();
        // It must not hold up the call, and the session may be gone: then there is nobody to tell. It ends with the
        // session's mailbox.
        self.inner.house.handle.spawn(async move { drop(conversation.tell(message, notify_type).await) });
    }

    /// The error for the guest; the person is told of the first of its kind.
    fn denied(&self, request: &Request, denial: &Denial, terms: &Terms) -> HostError {
        let policy = self.inner.house.fittings.rulebook.policy();
        let explanation = explain(&policy, request);
        self.note_decision(request, "deny", &denial.reason().to_string(), terms);
        let wanted = wanted(&request.action);
        let message = told(self.guest().as_str(), &wanted, denial, &explanation);
        let kind = format!("{} {}", request.action.capability, denial.rule());
        self.tell_once(kind, &message);
        let mut error = HostError { message, ..denial.to_host_error() };
        let details = error.details.get_or_insert_default();
        details.insert("extension".to_owned(), json!(self.guest().as_str()));
        details.insert("wanted".to_owned(), json!(wanted));
        details.insert("hint".to_owned(), json!(explanation.hint.text));
        if let Some(command) = explanation.hint.command {
            details.insert("command".to_owned(), json!(command));
        }
        error
    }

    fn note_decision(&self, request: &Request, verdict: &str, reason: &str, terms: &Terms) {
        self.note(&request.action, verdict, reason, terms);
    }

    fn note(&self, action: &Action, verdict: &str, reason: &str, terms: &Terms) {
        let target = match &action.target {
            // Its arguments may hold anything.
            Target::Command(command) => program(command.written()).to_owned(),
            target => target.to_string(),
        };
        let data = json!({ "capability": action.capability, "method": action.method, "target": target,
            "verdict": verdict, "reason": reason });
        let level = if verdict == "allow" { Level::Info } else { Level::Warn };
        let message = format!("{verdict} {}", action.capability);
        self.events().write(LogEvent::PolicyDecision, level, message, &terms.occasion, object(data));
    }
}

/// What was wanted, in words.
fn wanted(action: &Action) -> String {
    match &action.target {
        Target::Nothing => action.capability.to_string(),
        target => format!("{}: {}", action.capability, target.in_one_line()),
    }
}

fn told(guest: &str, wanted: &str, denial: &Denial, explanation: &Explanation) -> String {
    let mut why = denial.reason().to_string();
    if let Some(grantee) = &explanation.grantee {
        why.push_str(&format!("; the grant was given to another extension of this name, the one from {grantee}"));
    }
    match &explanation.hint.command {
        // Taking a deny back leaves it undecided.
        Some(command) if matches!(denial.reason(), Reason::Denied { .. }) => {
            format!("Extension {guest} wanted {wanted} and may not ({why}). To take that back: {command}")
        }
        Some(command) => format!("Extension {guest} wanted {wanted} and may not ({why}). To allow it: {command}"),
        None => {
            format!("Extension {guest} wanted {wanted} and may not ({why}). To change it, {}", explanation.hint.text)
        }
    }
}
