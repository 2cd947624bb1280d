//! Questions to a person: those of the server, and ours about the server.

use std::{
    convert::Infallible,
    future::pending,
    sync::{Arc, PoisonError},
};

use tokio::sync::oneshot;

use pi_exthost::{GuestFault, Inquiry, Output, Stopwatch, Terms};
use pi_extproto::{
    Object,
    capability::Capability,
    connector::{
        Call,
        ui::{Answer, FormAnswer, FormField, NoticeLevel, UiCall},
    },
    host::ErrorCode,
};
use pi_transcript::question::NotifyType;

use super::Shared;
use crate::mcp::{
    elicitation,
    entry::Route,
    link::{Elicited, LinkFault, Wanted},
    pins::{Changed, Unagreed},
};

/// Questions of one server that lie before a person at a time; more are declined.
const MOST: usize = 4;
/// How often a person is asked about, or told of, tools of one server that are not as they were, in one session.
const QUESTIONS: usize = 16;
/// After so many times no in a row nobody is asked any more in this session.
const REFUSALS: usize = 3;
/// How often a form is put before a person whose answers do not fit.
const ATTEMPTS: usize = 3;

/// Counts a question as long as it lies before a person.
struct Lying(Arc<Shared>);

impl Drop for Lying {
    fn drop(&mut self) {
        self.0.asking.send_modify(|count| *count -= 1);
    }
}

impl Shared {
    /// Puts a question of the server before a person.
    pub(super) fn put_question(self: &Arc<Self>, message: String, wanted: Wanted, answer: oneshot::Sender<Elicited>) {
        let is_free = self.asking.send_if_modified(|count| {
            let is_free = *count < MOST;
            *count += usize::from(is_free);
            is_free
        });
        // Dropping the answer declines.
        if !is_free {
            return;
        }
        let (shared, lying) = (Arc::clone(self), Lying(Arc::clone(self)));
        // Ends when it is answered, when its time is over, or when the server is gone.
        tokio::spawn(async move {
            let mut answer = answer;
            let said = tokio::select! {
                said = shared.ask(message, wanted) => said,
                () = answer.closed() => return,
            };
            drop(lying);
            // A server that is gone does not need to know.
            let _ = answer.send(said);
        });
    }

    /// Counts, for whoever waits for the server, the time in which its questions lie before a person. Ends when it is dropped.
    pub(super) async fn count_people(&self, stopwatch: &Stopwatch) -> Infallible {
        let mut asking = self.asking.subscribe();
        while asking.wait_for(|count| *count > 0).await.is_ok() {
            let _attending = stopwatch.attend();
            if asking.wait_for(|count| *count == 0).await.is_err() {
                break;
            }
        }
        // The sender is ours; without it nobody asks any more.
        pending().await
    }

    async fn ask(&self, message: String, wanted: Wanted) -> Elicited {
        let title = format!("MCP server {} asks", self.server.name);
        match wanted {
            Wanted::Visit(url) => {
                let message = format!("{message}\nIt wants you to open {url}; have you, or will you?");
                self.confirm(&title, &message).await
            }
            Wanted::Form(schema) => {
                let Some(questions) = elicitation::form(&schema) else { return Elicited::Declined };
                if questions.is_empty() {
                    return self.confirm(&title, &message).await;
                }
                self.fill_in(&format!("{title}: {message}"), &schema, &questions).await
            }
        }
    }

    /// Has a form filled in, again if the answers are not what the server wants: it is sent nothing else.
    async fn fill_in(&self, title: &str, schema: &Object, questions: &[FormField]) -> Elicited {
        let mut shown = title.to_owned();
        for _ in 0..ATTEMPTS {
            let form = UiCall::Interview { title: Some(shown), questions: questions.to_vec(), timeout_ms: None };
            let answers = match self.desk.call(Call::Ui(form), Terms::background()).await {
                Ok(Output::Form(FormAnswer { responses: Some(answers) })) => answers,
                Ok(_) => return Elicited::Dismissed,
                Err(fault) if fault.code == ErrorCode::Timeout => return Elicited::Dismissed,
                Err(_) => return Elicited::Declined,
            };
            match elicitation::content(schema, &answers) {
                Ok(content) => return Elicited::Accepted(content),
                Err(problem) => {
                    self.tell(format!("{problem}; the answer was not sent"), NoticeLevel::Warning);
                    shown = format!("{title}\n{problem}");
                }
            }
        }
        Elicited::Dismissed
    }

    /// A choice and no yes or no: whoever dismisses it, or is not there, has not said no.
    async fn confirm(&self, title: &str, message: &str) -> Elicited {
        const YES: &str = "Yes";
        let question = UiCall::Select {
            title: format!("{title}: {message}"),
            options: vec![YES.to_owned(), "No".to_owned()],
            timeout_ms: None,
        };
        match self.desk.call(Call::Ui(question), Terms::background()).await {
            Ok(Output::Answer(Answer { text: Some(chosen) })) if chosen == YES => Elicited::Accepted(Object::new()),
            Ok(Output::Answer(Answer { text: Some(_) })) => Elicited::Declined,
            Ok(_) | Err(_) => Elicited::Dismissed,
        }
    }

    /// Whether its entry is not the one that a person agreed to. Without a record that can be read nothing of a project is
    /// started.
    pub(super) async fn unagreed_entry(&self) -> Result<Option<Unagreed>, GuestFault> {
        let Some(pins) = self.pins.clone() else { return Ok(None) };
        let server = self.server.clone();
        match tokio::task::spawn_blocking(move || pins.unagreed(&server)).await {
            Ok(Ok(unagreed)) => Ok(unagreed),
            Ok(Err(fault)) => Err(GuestFault::threw(format!("{fault}; {}", fault.hint()))),
            Err(broken) => Err(GuestFault::threw(broken.to_string())),
        }
    }

    /// Asks whether it may be started as its entry is now.
    pub(super) async fn ask_about_entry(&self, unagreed: &Unagreed) -> Result<(), LinkFault> {
        let (name, file) = (&self.server.name, self.server.file.display());
        let (capability, question) = match self.server.route {
            Route::Process(_) => (Capability::Exec, "Start it?"),
            Route::Http(_) => (Capability::Http, "Connect to it?"),
        };
        let inquiry = Inquiry {
            capability,
            about: format!("MCP server {name} of {file} is not the one that you agreed to\n{}", unagreed.told()),
            question: question.to_owned(),
        };
        if !self.desk.inquire(inquiry).await {
            let message = format!(
                "its entry in {file} is not the one that you agreed to; `pi mcp test {name}` shows what changed, \
                 and with --accept you agree"
            );
            return Err(LinkFault::Unreachable { message, is_permanent: true });
        }
        *self.unagreed.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let (pins, server) = (self.pins.clone(), self.server.clone());
        let recorded = tokio::task::spawn_blocking(move || pins.map(|pins| pins.agree(&server))).await;
        let problem = match recorded {
            Ok(Some(Err(fault))) => format!("{fault}; {}", fault.hint()),
            Err(broken) => broken.to_string(),
            Ok(Some(Ok(())) | None) => return Ok(()),
        };
        let told = format!("MCP server {name}: what you agreed to cannot be recorded: {problem}");
        self.desk.tell(told, NotifyType::Warning);
        Ok(())
    }

    /// Asks whether tools that are described otherwise than before may be used, once the session has begun and one question
    /// at a time. Goes on until it is dropped, which takes an open question back.
    pub(super) async fn ask_about_changes(self: Arc<Self>) {
        let mut launched = self.is_launched.subscribe();
        if launched.wait_for(|is_launched| *is_launched).await.is_err() {
            return;
        }
        let (mut asked, mut held_back, mut times, mut refusals) = (Vec::new(), String::new(), 0, 0);
        loop {
            let changed = self.offers().changed.clone();
            if changed.is_empty() || changed == asked {
                self.has_changed.notified().await;
                continue;
            }
            times += 1;
            if times <= QUESTIONS && refusals < REFUSALS && self.is_agreed(&changed).await {
                self.accept(&changed).await;
                held_back.clear();
                refusals = 0;
            } else {
                refusals += 1;
                let told = told_held_back(&self.server.name, &changed);
                // A server may describe the same tools anew every second, and name others every second.
                if refusals == REFUSALS {
                    let last = format!("{told}; you are not asked again in this session");
                    self.desk.tell(last, NotifyType::Warning);
                } else if told != held_back && refusals < REFUSALS {
                    self.desk.tell(told.clone(), NotifyType::Warning);
                }
                held_back = told;
            }
            asked = changed;
        }
    }

    async fn is_agreed(&self, changed: &[Changed]) -> bool {
        let title = format!("MCP server {} describes its tools otherwise than before", self.server.name);
        let message = changed.iter().map(difference).collect::<Vec<_>>().join("\n\n");
        // Nobody reads so much in a question, and nobody is to agree to what they did not see.
        if message.len() > self.limits.tool_bytes {
            return false;
        }
        let (about, question) = (format!("{title}\n{message}"), "Use them?".to_owned());
        self.desk.inquire(Inquiry { capability: Capability::Tool, about, question }).await
    }

    /// Records that a person has seen changed tools, and has the lists read again, which offers them. A tool that is
    /// described in yet another way by now is not among them.
    async fn accept(&self, seen: &[Changed]) {
        let now = self.offers();
        let tools: Vec<_> =
            seen.iter().filter(|seen| now.changed.contains(seen)).map(|seen| seen.tool.clone()).collect();
        let (pins, server) = (self.pins.clone(), self.server.clone());
        let recorded = tokio::task::spawn_blocking(move || pins.map(|pins| pins.accept(&server, &tools))).await;
        let problem = match recorded {
            Ok(Some(Err(fault))) => format!("{fault}; {}", fault.hint()),
            Err(broken) => broken.to_string(),
            Ok(Some(Ok(())) | None) => return self.is_agreed_to.notify_one(),
        };
        let told = format!("MCP server {}: what you agreed to cannot be recorded: {problem}", self.server.name);
        self.desk.tell(told, NotifyType::Warning);
    }
}

/// That tools are held back: those that are described otherwise, and those that are new.
fn told_held_back(server: &str, changed: &[Changed]) -> String {
    let names = |is_new: bool| {
        let those = changed.iter().filter(|changed| changed.before.is_none() == is_new);
        those.map(|changed| changed.told().0).collect::<Vec<_>>().join(", ")
    };
    let what = match (names(false), names(true)) {
        (changed, new) if new.is_empty() => format!("changed the description of {changed}"),
        (changed, new) if changed.is_empty() => format!("has new tools: {new}"),
        (changed, new) => format!("changed the description of {changed} and has new tools: {new}"),
    };
    let hint = format!("`pi mcp test {server} --accept` shows what changed and accepts it");
    format!("MCP server {server} {what}; not offered until you agree: {hint}")
}

/// What changed about a tool, for a person.
fn difference(changed: &Changed) -> String {
    let (name, lines) = changed.told();
    std::iter::once(name).chain(lines).collect::<Vec<_>>().join("\n")
}
