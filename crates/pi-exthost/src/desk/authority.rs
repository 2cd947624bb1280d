//! May it? Decides, asks if it must, writes the decision down, and tells a person about a refusal once.

use std::{net::IpAddr, sync::Arc, time::Duration};

use serde_json::json;

use pi_extproto::{
    host::{ErrorCode, HostError},
    log::{Level, LogEvent, program},
};
use pi_policy::{
    Action, Answer, Decision, Denial, Explanation, Feature, Fit, Grant, Host, Reason, Request, Rule, Target,
    command_to_allow, decide, explain,
};
use pi_transcript::question::NotifyType;

use super::{Desk, Occasion, Terms};
use crate::{
    consent::asking::{self, Petitioner},
    ledger::object,
    stopwatch::Stopwatch,
};

/// Denials in this session that make an extension look as bad as they can.
const WORST_DENIALS: u64 = 10;

/// How often it may have to be stopped until it looks as bad.
const WORST_TRAPS: u64 = 5;

/// Denials of one kind that a person is told of in a session, each of another target.
const MOST_TOLD: usize = 8;

/// What a person is told of once.
struct Told {
    kind: String,
    target: String,
}

/// Whether a person has heard of a denial.
enum News {
    Known,
    First,
    /// Nothing more of its kind is told.
    Last,
}

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
        let evidence = inner.identity.evidence;
        let evidence = evidence.with_count(Feature::Denials, inner.counters.denials(), WORST_DENIALS);
        let evidence = evidence.with_count(Feature::Traps, inner.counters.traps(), WORST_TRAPS);
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
                let _attending = terms.stopwatch.as_ref().map(Stopwatch::attend);
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
        let command = command_to_allow(self.guest().as_str(), &action.capability, ("--host", &host.to_string()));
        let message =
            format!("Extension {} wanted http: {host} and may not ({reason}). To allow it: {command}", self.guest());
        self.tell_once(Told { kind: format!("{} address", action.capability), target: host.to_string() }, &message);
        let details = json!({ "capability": "http", "rule": "address", "extension": self.guest().as_str(),
            "wanted": wanted(action), "address": address.to_string(), "command": command });
        HostError { details: object(details), retryable: Some(false), ..HostError::new(ErrorCode::Denied, message) }
    }

    /// The error for a guest that was granted variables, and asks for one that holds a secret, which nobody named.
    pub(crate) fn denied_secret(&self, action: &Action, name: &str, terms: &Terms) -> HostError {
        let guest = self.guest();
        let reason = "it holds a secret, and those are handed out only if a grant names them";
        self.note(action, "deny", reason, terms);
        let command = command_to_allow(guest.as_str(), &action.capability, ("--env", name));
        let wanted = wanted(action);
        let message = format!("Extension {guest} wanted {wanted} and may not ({reason}). To allow it: {command}");
        self.tell_once(Told { kind: format!("{} secret", action.capability), target: name.to_owned() }, &message);
        let details = json!({ "capability": action.capability, "rule": "secret", "extension": guest.as_str(),
            "wanted": wanted, "command": command });
        HostError { details: object(details), retryable: Some(false), ..HostError::new(ErrorCode::Denied, message) }
    }

    /// Tells a person something about the guest in the name of the program. Nobody waits for it; the words must be ours, none of
    /// the guest.
    pub fn tell(&self, message: String, notify_type: NotifyType) {
        let conversation = self.inner.conversation.clone();
        // It must not hold up the call, and the session may be gone: then there is nobody to tell. Its owner is the
        // dispatcher, which waits for it when it is closed.
        let telling = async move { drop(conversation.tell(message, notify_type).await) };
        self.inner.house.notices.spawn_on(telling, &self.inner.house.handle);
    }

    /// Tells a person, once, that the guest calls its host too often.
    pub(super) fn tell_flood(&self, calls: u32, span: Duration) {
        let guest = self.guest();
        let message = format!(
            "Extension {guest} called its host more than {calls} times within {span:?}, and is refused until that time is over. To \
             switch it off: pi ext disable {guest}"
        );
        self.tell_once(Told { kind: "calls".to_owned(), target: String::new() }, &message);
    }

    /// Tells a person that the guest is not heard any more, for how long, and how it may ask again: once for each time.
    pub(super) fn tell_unheard(&self, minutes: u64) {
        let guest = self.guest();
        let message = format!(
            "Extension {guest} asks again and again and was dismissed each time; for {minutes} minutes its questions are dismissed \
             without being shown. To let it ask again: reload it (/extensions, ctrl+r). To switch it off: pi ext disable {guest}"
        );
        self.tell_once(Told { kind: "questions".to_owned(), target: minutes.to_string() }, &message);
    }

    /// Tells a person, once for each thing and session; of many of a kind only the first.
    fn tell_once(&self, told: Told, message: &str) {
        let message = match self.count_denial(told) {
            News::Known => return,
            News::First => message.to_owned(),
            News::Last => format!("{message}\nFurther refusals of this kind stand in the ledger: pi ext ledger show"),
        };
        self.tell(message, NotifyType::Warning);
    }

    /// What a person is to hear of a denial.
    fn count_denial(&self, told: Told) -> News {
        let mut known = super::lock(&self.inner.told);
        let targets = known.entry(told.kind).or_default();
        if targets.len() == MOST_TOLD || !targets.insert(told.target) {
            return News::Known;
        }
        if targets.len() == MOST_TOLD { News::Last } else { News::First }
    }

    /// The error for the guest; the person is told of it, once.
    fn denied(&self, request: &Request, denial: &Denial, terms: &Terms) -> HostError {
        let policy = self.inner.house.fittings.rulebook.policy();
        let explanation = explain(&policy, request);
        self.note_decision(request, "deny", &denial.reason().to_string(), terms);
        let wanted = wanted(&request.action);
        let message = told(self.guest().as_str(), &wanted, denial, &explanation);
        let kind = format!("{} {}", request.action.capability, denial.rule());
        self.tell_once(Told { kind, target: request.action.target.to_string() }, &message);
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
    if let Some(short) = falls_short(denial.reason(), explanation) {
        why.push_str(&format!("; what you granted does not cover it: {short}"));
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

/// Why a grant of the same capability is not enough: whoever gave one looks there first.
fn falls_short<'a>(reason: &Reason, explanation: &'a Explanation) -> Option<&'a str> {
    match reason {
        Reason::DeniedByDefault | Reason::Secret | Reason::Strict => {}
        Reason::Untrusted
        | Reason::Denied { .. }
        | Reason::NotDeclared(_)
        | Reason::Refused
        | Reason::Dismissed
        | Reason::Unanswered => return None,
    }
    let grants = explanation.steps.iter().filter(|step| step.rule == Rule::ExtensionGrant);
    let checks: Vec<_> = grants.flat_map(|step| &step.checks).collect();
    // One that holds and leads elsewhere says more than one that is over.
    let short = [Fit::OutOfScope, Fit::Expired].iter().find_map(|fit| checks.iter().find(|check| check.fit == *fit));
    short.map(|check| check.note.as_str())
}
