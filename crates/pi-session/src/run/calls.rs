//! The tool calls of one turn: made ready one after the other, run side by side, answered in the order of the calls.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use pi_exthost::{
    content,
    guest::{GuestId, ToolAnswer, ToolInvocation},
    guests::GuestTool,
    verdict::{ToolCallVerdict, ToolResultVerdict},
};
use pi_extproto::hook::event::payload::{ToolCallEvent, ToolResultEvent};
use pi_policy::{Decision, Denial, Grant, Places, Subject};
use pi_provider::assembly::CallFault;
use pi_tools::{Arguments, Call, Failure, Output, Tool, arguments, progress};
use pi_transcript::{
    AgentEvent, Block, EntryId, Message, ToolCall, ToolCallId, ToolOutput,
    json::{Extra, Open},
    message::ToolResultMessage,
};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{
    Hand, Run, Written,
    answering::{self, Unanswered},
    desk::Gone,
    permission,
    tools::{ActiveTool, Manner, Runner, ToolSet},
    variables,
};
use crate::scrub;

/// Updates of a guest that may wait; those beyond are dropped, the next one says more.
const UPDATES: usize = 16;

/// The calls of one answer.
pub(super) struct Batch<'a> {
    /// The entry of the answer.
    pub(super) answer: &'a EntryId,
    pub(super) calls: Vec<ToolCall>,
    /// Those that are not run, and why.
    pub(super) unusable: &'a HashMap<ToolCallId, CallFault>,
    /// What extensions did to them before anybody looked at them.
    pub(super) hands: &'a [Hand],
}

/// What came of the calls of a turn.
pub(super) struct Answered {
    /// In the order of the calls.
    pub(super) results: Vec<Written>,
    /// Whether somebody wants the run to end with this turn.
    pub(super) terminate: bool,
}

/// A call that was looked at.
struct Checked {
    call: ToolCall,
    readiness: Readiness,
}

enum Readiness {
    Ready {
        tool: Box<ActiveTool>,
        arguments: Arguments,
        grant: Box<Grant>,
    },
    Refused {
        reason: String,
    },
    /// By an extension, which says to the model why.
    Blocked {
        by: GuestId,
        reason: String,
        terminate: bool,
    },
    Denied(Denial),
    /// Because an extension that had a hand in it may not.
    Unanswered(Unanswered),
}

/// What one call came to.
struct Outcome {
    output: ToolOutput,
    is_error: bool,
    terminate: bool,
    /// Secrets that were hidden in it.
    hidden: usize,
}

/// What the model is told of a call.
struct Answer {
    result: ToolResultMessage,
    terminate: bool,
}

impl Run {
    /// Runs the calls and appends their results.
    pub(super) async fn answer_calls(&mut self, set: &Arc<ToolSet>, batch: Batch<'_>) -> Result<Answered, Gone> {
        let Batch { answer, calls, unusable, hands } = batch;
        self.parts.notebook.clear().await;
        // What the model asked for is in the file before anything of it is done.
        self.desk.written().await?;
        let mut outcomes: Vec<Option<Answer>> = Vec::with_capacity(calls.len());
        let mut waiting = Vec::with_capacity(calls.len());
        for call in calls {
            let fault = unusable.get(&call.id);
            let checked = self.check(set, call, fault, hands).await?;
            // What is refused has ended before the next one begins.
            outcomes.push(match &checked.readiness {
                Readiness::Refused { .. }
                | Readiness::Blocked { .. }
                | Readiness::Denied(_)
                | Readiness::Unanswered(_) => Some(self.carry_out(set, answer, checked).await?),
                Readiness::Ready { .. } => {
                    waiting.push((outcomes.len(), checked));
                    None
                }
            });
        }
        let one_after_another = waiting.iter().any(|(_, call)| call.manner() == Manner::OneAfterAnother);
        let this = &*self;
        let waiting = waiting.into_iter();
        let run =
            |(index, checked): (usize, Checked)| async move { (index, this.carry_out(set, answer, checked).await) };
        if one_after_another {
            for item in waiting {
                let (index, outcome) = run(item).await;
                outcomes[index] = Some(outcome?);
            }
        } else {
            let mut running: FuturesUnordered<_> = waiting.map(run).collect();
            while let Some((index, outcome)) = running.next().await {
                outcomes[index] = Some(outcome?);
            }
        }
        let outcomes = outcomes.into_iter().map(|outcome| outcome.expect("every call has an outcome"));
        let mut answered = Answered { results: Vec::new(), terminate: false };
        for Answer { result, terminate } in outcomes {
            answered.terminate |= terminate;
            answered.results.push(self.say_result(result).await?);
        }
        Ok(answered)
    }

    /// Looks whether a call can and may be run.
    async fn check(
        &self,
        set: &Arc<ToolSet>,
        call: ToolCall,
        fault: Option<&CallFault>,
        hands: &[Hand],
    ) -> Result<Checked, Gone> {
        self.tell(AgentEvent::ToolExecutionStart {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: Value::Object(call.arguments.clone()),
            parent_tool_call_id: None,
        })
        .await?;
        let readiness = self.readiness(set, &call, fault, hands).await?;
        Ok(Checked { call, readiness })
    }

    async fn readiness(
        &self,
        set: &Arc<ToolSet>,
        call: &ToolCall,
        fault: Option<&CallFault>,
        hands: &[Hand],
    ) -> Result<Readiness, Gone> {
        if self.cancel.is_cancelled() {
            return Ok(Readiness::refused("Operation aborted"));
        }
        if let Some(fault) = fault {
            return Ok(Readiness::refused(told(fault)));
        }
        let Some(tool) = set.get(&call.name) else {
            return Ok(Readiness::refused(not_found(&call.name, &set.names())));
        };
        let arguments = match prepare(tool, call).await {
            Ok(arguments) => arguments,
            Err(failure) => return Ok(Readiness::refused(failure.text)),
        };
        // Guards judge the path that is opened.
        let places = set.workspace.places();
        let arguments = pi_tools::spell(places, &call.name, arguments).await;
        let (arguments, changed_by) = match self.hear_guards(places, call, arguments).await {
            Ok(heard) => heard,
            Err(refused) => return Ok(refused),
        };
        let request = pi_tools::request(places, Subject::Agent, &call.name, &arguments, self.now());
        let request = match request.await {
            Ok(request) => request,
            Err(bad) => return Ok(Readiness::refused(bad.to_string())),
        };
        let target = request.action.target.clone();
        let decision = self.desk.judge(request).await?;
        let granted = match decision {
            Decision::Allow(grant) => Ok(grant),
            Decision::Deny(denial) => Err(denial),
            Decision::Ask(question) => match &tool.runner {
                Runner::BuiltIn(_) => self.ask_permission(&call.id, question).await?,
                // Somebody installed it; what it does is judged when it asks its host for it.
                Runner::Guest(_) => question.answer(pi_policy::Answer::Yes),
            },
        };
        let grant = match granted {
            Ok(grant) => Box::new(grant),
            Err(denial) => return Ok(Readiness::Denied(denial)),
        };
        let guests = answering::influences(hands, &call.id, changed_by, tool.origin());
        Ok(match self.let_answer(guests, call, &arguments, &target).await {
            Ok(()) => Readiness::Ready { tool: Box::new(tool.clone()), arguments, grant },
            Err(unanswered) => Readiness::Unanswered(unanswered),
        })
    }

    /// Lets extensions see the call, change it or forbid it. Tells which of them changed it.
    async fn hear_guards(
        &self,
        places: &Places,
        call: &ToolCall,
        arguments: Arguments,
    ) -> Result<(Arguments, Vec<GuestId>), Readiness> {
        let event = || ToolCallEvent {
            tool_name: call.name.clone(),
            tool_call_id: call.id.to_string(),
            input: arguments.clone(),
        };
        let spell = |input| pi_tools::spell(places, &call.name, input);
        match self.parts.guests.tool_call(event, spell, &self.cancel).await {
            ToolCallVerdict::Proceed => Ok((arguments, Vec::new())),
            ToolCallVerdict::Transformed { by, input } => Ok((input, by)),
            ToolCallVerdict::Blocked { by, reason, terminate } => {
                let reason = reason.unwrap_or_else(|| "Tool execution was blocked".to_owned());
                Err(Readiness::Blocked { by, reason, terminate })
            }
        }
    }

    /// Runs a call, or takes its refusal for its result, and tells how it ended once that is written down.
    async fn carry_out(&self, set: &Arc<ToolSet>, answer: &EntryId, checked: Checked) -> Result<Answer, Gone> {
        let Checked { call, readiness } = checked;
        let started = tokio::time::Instant::now();
        let (mut denied, mut denied_by) = (None, None);
        let outcome = match readiness {
            Readiness::Denied(denial) => {
                let told = permission::told(&denial, self.parts.questions.has_audience());
                denied = Some(scrub::text(&self.parts.redactor, &told).0.into_owned());
                denied_by = Some(Open::Known(permission::denied_by(&denial)));
                Outcome::failure(Failure::new(permission::refusal(&denial)))
            }
            Readiness::Blocked { by, reason, terminate } => {
                let told = format!("the extension {by} blocked it: {reason}");
                denied = Some(scrub::text(&self.parts.redactor, &told).0.into_owned());
                Outcome { terminate, ..Outcome::failure(Failure::new(reason)) }
            }
            Readiness::Unanswered(unanswered) => {
                denied = Some(scrub::text(&self.parts.redactor, &unanswered.told()).0.into_owned());
                Outcome::failure(Failure::new(unanswered.refusal()))
            }
            Readiness::Refused { reason } => Outcome::failure(Failure::new(reason)),
            Readiness::Ready { tool, arguments, grant } => {
                let outcome = match &tool.runner {
                    Runner::BuiltIn(tool) => self.run_built_in(tool, set, &call, arguments.clone(), *grant).await?,
                    Runner::Guest(tool) => self.run_guest(tool, &call, arguments.clone()).await?,
                };
                self.hear_result(&call, arguments, self.scrub(outcome)).await
            }
        };
        let Outcome { mut output, is_error, terminate, hidden } = self.scrub(outcome);
        scrub::admit(&mut output.content, hidden);
        let duration_ms = u64::try_from(started.elapsed().as_millis()).ok();
        let ended = AgentEvent::ToolExecutionEnd {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            result: output.clone(),
            is_error,
            denied,
            denied_by: denied_by.clone(),
            duration_ms,
            parent_tool_call_id: None,
        };
        let result = ToolResultMessage {
            tool_call_id: call.id,
            tool_name: call.name,
            content: output.content,
            details: output.details,
            is_error,
            timestamp: self.now().unix_millis(),
            usage: None,
            nested_calls: None,
            duration_ms,
            denied_by,
            extra: Extra::new(),
        };
        self.parts.notebook.keep(answer, &result).await;
        self.tell(ended).await?;
        Ok(Answer { result, terminate })
    }

    async fn run_built_in(
        &self,
        tool: &Arc<dyn Tool>,
        set: &Arc<ToolSet>,
        call: &ToolCall,
        arguments: Arguments,
        grant: Grant,
    ) -> Result<Outcome, Gone> {
        let workspace = match tool.definition().name.as_str() {
            "bash" => {
                let terms = self.desk.terms().await?;
                variables::tell(&set.workspace, &self.parts, &terms.choice, terms.thinking)
            }
            _ => Arc::clone(&set.workspace),
        };
        let (progress, mut reports) = progress();
        let execution = tool.execute(Call {
            id: call.id.clone(),
            arguments,
            grant,
            cancel: self.cancel.child_token(),
            progress,
            workspace,
        });
        let mut execution = std::pin::pin!(AssertUnwindSafe(execution).catch_unwind());
        loop {
            tokio::select! {
                biased;
                done = &mut execution => {
                    // What it reported last is told before what it came to.
                    if let Some(report) = reports.next().now_or_never().flatten() {
                        self.tell_progress(call, to_output(report)).await?;
                    }
                    return Ok(match done {
                        Ok(Ok(output)) => Outcome::success(output),
                        Ok(Err(failure)) => Outcome::failure(failure),
                        Err(_) => Outcome::failure(Failure::new(format!("The tool {} broke. Try another way.", call.name))),
                    });
                }
                Some(report) = reports.next() => self.tell_progress(call, to_output(report)).await?,
            }
        }
    }

    async fn run_guest(&self, tool: &GuestTool, call: &ToolCall, input: Arguments) -> Result<Outcome, Gone> {
        let (updates, mut reports) = mpsc::channel(UPDATES);
        let invocation = ToolInvocation { call_id: call.id.clone(), name: call.name.clone(), input, updates };
        let mut execution = std::pin::pin!(tool.call(invocation, &self.cancel));
        loop {
            tokio::select! {
                biased;
                done = &mut execution => {
                    // What it reported last is told before what it came to; what it still reports meanwhile is not.
                    for _ in 0..UPDATES {
                        let Ok(report) = reports.try_recv() else { break };
                        self.tell_progress(call, report).await?;
                    }
                    return Ok(match done {
                        Ok(ToolAnswer { output, is_error, terminate }) => {
                            Outcome { output, is_error, terminate, hidden: 0 }
                        }
                        Err(trouble) => Outcome::failure(Failure::new(trouble.to_string())),
                    });
                }
                Some(report) = reports.recv() => self.tell_progress(call, report).await?,
            }
        }
    }

    async fn tell_progress(&self, call: &ToolCall, output: ToolOutput) -> Result<(), Gone> {
        let outcome = self.scrub(Outcome { output, is_error: false, terminate: false, hidden: 0 });
        self.tell(AgentEvent::ToolExecutionUpdate {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: Some(Value::Object(call.arguments.clone())),
            partial_result: outcome.output,
            delta: None,
            dropped: None,
            parent_tool_call_id: None,
        })
        .await
    }

    /// Lets extensions see the result and change what the model sees of it.
    async fn hear_result(&self, call: &ToolCall, input: Arguments, outcome: Outcome) -> Outcome {
        let event = || ToolResultEvent {
            tool_name: call.name.clone(),
            tool_call_id: call.id.to_string(),
            input,
            content: content::to_protocol(&outcome.output.content),
            details: outcome.output.details.clone(),
            is_error: outcome.is_error,
        };
        match self.parts.guests.tool_result(event, &self.cancel).await {
            ToolResultVerdict::Keep => outcome,
            ToolResultVerdict::Transformed { by: _, content, details, is_error } => {
                let content = content::from_protocol(content);
                let output = ToolOutput { content, details, extra: outcome.output.extra.clone() };
                let output = self.parts.guests.shorten(output).await;
                Outcome { output, is_error, ..outcome }
            }
        }
    }

    /// Takes out what must not be written: from here the result goes to the model, the file and the clients.
    fn scrub(&self, mut outcome: Outcome) -> Outcome {
        let hidden;
        (outcome.output.content, hidden) = scrub::blocks(&self.parts.redactor, outcome.output.content);
        outcome.hidden += hidden;
        if let Some(details) = &mut outcome.output.details {
            scrub::details(&self.parts.redactor, details);
        }
        outcome
    }

    async fn say_result(&mut self, result: ToolResultMessage) -> Result<Written, Gone> {
        let message = Message::ToolResult(Box::new(result));
        self.tell(AgentEvent::MessageStart { message: message.clone() }).await?;
        let (message, _) = self.finish_message(message).await;
        self.write(Vec::new(), message).await
    }
}

/// What the model is told of a call that cannot be read: shorter ones help where one was cut, and nowhere else. What it wrote
/// is shown to it, because only what could be read of it is in its history.
fn told(fault: &CallFault) -> String {
    match fault {
        CallFault::Cut => "The call ended in the middle of its arguments. Make it again, with less in it.".to_owned(),
        CallFault::Malformed { flaw, written } => format!(
            "The arguments of the call are not a JSON object: {flaw}. They begin with: {written}\nMake the call again, with \
             one JSON object as its arguments and nothing around it."
        ),
    }
}

/// Pi's words, and which tools there are.
fn not_found(name: &str, known: &[String]) -> String {
    match known {
        [] => format!("Tool {name} not found. There are no tools."),
        known => format!("Tool {name} not found. There are: {}.", known.join(", ")),
    }
}

/// Makes the arguments fit, or says what is wrong with them.
async fn prepare(tool: &ActiveTool, call: &ToolCall) -> Result<Arguments, Failure> {
    let written = Value::Object(call.arguments.clone());
    let prepared = match &tool.runner {
        Runner::BuiltIn(tool) => tool.prepare(written).await,
        Runner::Guest(tool) => arguments::fit(&tool.offer.definition.parameters, written),
    };
    prepared.map_err(Failure::from)
}

fn to_output(output: Output) -> ToolOutput {
    ToolOutput { content: output.content, details: output.details, extra: Extra::new() }
}

impl Checked {
    fn manner(&self) -> Manner {
        match &self.readiness {
            Readiness::Ready { tool, .. } => tool.manner(),
            Readiness::Refused { .. } | Readiness::Blocked { .. } | Readiness::Denied(_) | Readiness::Unanswered(_) => {
                Manner::SideBySide
            }
        }
    }
}

impl Readiness {
    fn refused(reason: impl Into<String>) -> Self {
        Self::Refused { reason: reason.into() }
    }
}

impl Outcome {
    fn success(output: Output) -> Self {
        let hidden = output.hidden;
        Self { output: to_output(output), is_error: false, terminate: false, hidden }
    }

    fn failure(failure: Failure) -> Self {
        let Failure { text, details, hidden } = failure;
        let details = Some(details.unwrap_or_else(|| Value::Object(Extra::new())));
        let output = Output { content: vec![Block::text(text)], details, hidden };
        Self { is_error: true, ..Self::success(output) }
    }
}
