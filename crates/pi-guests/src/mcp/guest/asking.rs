//! Questions to a person: those of the server, and ours about the server.

use std::sync::Arc;

use tokio::sync::oneshot;

use pi_exthost::{Output, Terms};
use pi_extproto::{
    Object,
    connector::{
        Call,
        ui::{Confirmation, FormAnswer, FormField, NoticeLevel, UiCall},
    },
    host::ErrorCode,
};

use super::Shared;
use crate::mcp::{
    elicitation,
    link::{Elicited, Wanted},
    pins::Changed,
};

/// Questions of one server that lie before a person at a time; more are declined.
const MOST: usize = 4;
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

    async fn ask(&self, message: String, wanted: Wanted) -> Elicited {
        let title = format!("MCP server {} asks", self.server.name);
        match wanted {
            Wanted::Visit(url) => {
                let message = format!("{message}\nIt wants you to open {url}");
                self.confirm(title, message).await
            }
            Wanted::Form(schema) => {
                let Some(questions) = elicitation::form(&schema) else { return Elicited::Declined };
                if questions.is_empty() {
                    return self.confirm(title, message).await;
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

    async fn confirm(&self, title: String, message: String) -> Elicited {
        let question = UiCall::Confirm { title, message, timeout_ms: None };
        match self.desk.call(Call::Ui(question), Terms::background()).await {
            Ok(Output::Confirmation(Confirmation { confirmed: true })) => Elicited::Accepted(Object::new()),
            Ok(Output::Confirmation(_)) => Elicited::Declined,
            Ok(_) | Err(_) => Elicited::Dismissed,
        }
    }

    /// Asks whether tools that are described otherwise than before may be used, once the session has begun and one question
    /// at a time. Goes on until it is dropped, which takes an open question back.
    pub(super) async fn ask_about_changes(self: Arc<Self>) {
        let mut launched = self.is_launched.subscribe();
        if launched.wait_for(|is_launched| *is_launched).await.is_err() {
            return;
        }
        let (mut asked, mut held_back) = (Vec::new(), String::new());
        loop {
            let changed = self.offers().changed.clone();
            if changed.is_empty() || changed == asked {
                self.has_changed.notified().await;
                continue;
            }
            if self.is_agreed(&changed).await {
                self.accept(&changed).await;
                held_back.clear();
            } else {
                let names = changed.iter().map(|changed| changed.tool.name.as_str()).collect::<Vec<_>>().join(", ");
                // A server may describe the same tools anew every second.
                if names != held_back {
                    self.tell_held_back(&names);
                }
                held_back = names;
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
        let question = UiCall::Confirm { title, message: format!("{message}\n\nUse them?"), timeout_ms: None };
        let answer = self.desk.call(Call::Ui(question), Terms::background()).await;
        matches!(answer, Ok(Output::Confirmation(Confirmation { confirmed: true })))
    }

    fn tell_held_back(&self, names: &str) {
        let server = &self.server.name;
        let hint = format!("`pi mcp test {server} --accept` shows what changed and accepts it");
        let told =
            format!("MCP server {server} changed the description of {names}; not offered until you agree: {hint}");
        self.tell(told, NoticeLevel::Warning);
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
        self.tell(told, NoticeLevel::Warning);
    }
}

/// What changed about a tool, for a person.
fn difference(changed: &Changed) -> String {
    let Changed { tool, before, arguments } = changed;
    let mut lines = vec![tool.name.clone()];
    match before {
        Some(before) if *before == tool.description => {}
        Some(before) => {
            lines.push(format!("  before: {}", before.trim()));
            lines.push(format!("  now: {}", tool.description.trim()));
        }
        None => {
            lines.push("  new, since the entry of the server was changed".to_owned());
            lines.push(format!("  now: {}", tool.description.trim()));
        }
    }
    if !arguments.is_empty() {
        lines.push("  its arguments:".to_owned());
        lines.extend(arguments.iter().map(|line| format!("    {line}")));
    }
    lines.join("\n")
}
