//! Calls of tools, resources and prompts: each through the dispatcher, within its time, with news while it runs.

use std::sync::Arc;

use serde_json::Value;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use pi_exthost::{
    Ask, GuestFault, Occasion, Output, ServerCall, content,
    guest::{CommandCall, ToolAnswer, ToolInvocation},
};
use pi_extproto::{
    Object,
    connector::{
        Call,
        session::{Delivery, SessionCall},
        tool::{HostToolOutput, McpUse},
    },
    host::{ErrorCode, HostError},
};
use pi_transcript::Block;

use super::{McpGuest, survey, typed};
use crate::mcp::{
    link::{Link, LinkFault, Progress, Request},
    media,
    reading::{self, Faults},
};

impl McpGuest {
    /// A model calls a tool.
    pub(super) async fn use_tool(&self, call: ToolInvocation, ask: Ask) -> Result<ToolAnswer, GuestFault> {
        let ToolInvocation { call_id, name, input, updates } = call;
        let server = self.shared.server.name.clone();
        let offers = self.shared.offers();
        let tool = offers.tool_named(&server, &name).ok_or_else(|| GuestFault::not_offered(format!("tool {name}")))?;
        let _hosting = self.shared.desk.host_tool_call(call_id.clone(), updates);
        let used = McpUse { server, name: tool, input };
        let HostToolOutput { output, is_error } = self.through_desk(used, &ask, Occasion::ToolCall(call_id)).await?;
        Ok(ToolAnswer { output: content::output_from_protocol(output), is_error, terminate: false })
    }

    /// A person types the command of a prompt: what the server makes of it is said in their place.
    pub(super) async fn fill_prompt(&self, call: CommandCall, ask: Ask) -> Result<(), GuestFault> {
        let shared = &self.shared;
        let server = shared.server.name.clone();
        let offers = shared.offers();
        let prompt = offers.prompt_named(&server, &call.name);
        let prompt = prompt.ok_or_else(|| GuestFault::not_offered(format!("command {}", call.name)))?;
        let misused = |fault| GuestFault::Misused {
            message: format!("/{}: {fault}; {}", call.name, typed::usage(&call.name, prompt)),
        };
        let arguments = typed::arguments(prompt, &call.arguments).map_err(misused)?;
        let input = Object::from_iter([
            ("name".to_owned(), Value::from(prompt.name.as_str())),
            ("arguments".to_owned(), Value::Object(arguments)),
        ]);
        let occasion = Occasion::SlashCommand(call.name.clone());
        let used = McpUse { server, name: survey::PROMPT.to_owned(), input };
        let filled = self.through_desk(used, &ask, occasion.clone()).await?;
        let said = SessionCall::SendUserMessage {
            content: filled.output.content,
            delivery: Delivery::FollowUp,
            expand: false,
        };
        let sent = shared.desk.call(Call::Session(said), self.terms(&ask, occasion)).await;
        sent.map(drop).map_err(|error| GuestFault::threw(error.message))
    }

    /// Asks the server by way of the dispatcher, which decides and records.
    async fn through_desk(&self, used: McpUse, ask: &Ask, occasion: Occasion) -> Result<HostToolOutput, GuestFault> {
        let answered = tokio::select! {
            biased;
            answered = self.shared.desk.call(Call::Mcp(used), self.terms(ask, occasion)) => answered,
            never = self.shared.count_people(&ask.stopwatch) => match never {},
        };
        match answered {
            Ok(Output::Tool(output)) => Ok(output),
            Ok(other) => Err(GuestFault::Nonsense { message: format!("{other:?}") }),
            Err(_) if ask.cancel.is_cancelled() => Err(GuestFault::Cancelled),
            Err(error) => Err(GuestFault::threw(error.message)),
        }
    }

    /// The dispatcher has allowed it: asks the server.
    pub(super) async fn answer(&self, call: ServerCall) -> Result<HostToolOutput, HostError> {
        let shared = &self.shared;
        let link = self.keeper.link(shared.limits.connecting).await.map_err(|fault| self.failed(&fault))?;
        // Only now: a connection is handed out when its lists were read, so these are its own, or newer ones.
        let offers = shared.offers();
        let name = call.name.as_str();
        let is_reserved = survey::RESERVED.contains(&name);
        if let Some(changed) = offers.changed.iter().find(|changed| changed.tool.name == name) {
            let server = &shared.server.name;
            let message = format!(
                "{name} is {} and is not used until a person agrees: `pi mcp test {server} --accept`",
                if changed.before.is_some() { "described otherwise than before" } else { "new" },
            );
            return Err(HostError { retryable: Some(false), ..HostError::new(ErrorCode::Denied, message) });
        }
        if !is_reserved && !offers.tools.iter().any(|tool| tool.name == name) {
            let message = format!("the server {} offers no tool {name}", shared.server.name);
            return Err(HostError::new(ErrorCode::InvalidRequest, message));
        }
        let limits = &shared.limits;
        let uri = call.input.get("uri").and_then(Value::as_str).filter(|uri| !uri.is_empty());
        let read = match (name, uri) {
            (survey::RESOURCES, None) => return self.list(&link).await.map_err(|fault| self.failed(&fault)),
            (survey::RESOURCES, Some(uri)) => {
                let result = self.drive(&link, Request::ReadResource { uri: uri.to_owned() }, &call).await?;
                reading::contents(&result)
            }
            (survey::PROMPT, _) => {
                let name = call.input.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
                let arguments = call.input.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default();
                let result = self.drive(&link, Request::GetPrompt { name, arguments }, &call).await?;
                reading::messages(&result)
            }
            (name, _) => {
                let request = Request::CallTool { name: name.to_owned(), arguments: call.input.clone() };
                let result = self.drive(&link, request, &call).await?;
                reading::answer(&result)
            }
        };
        let HostToolOutput { mut output, is_error } = read.map_err(|fault| self.failed(&fault))?;
        output.content = media::admit(output.content, &shared.desk, limits).await;
        Ok(HostToolOutput { output, is_error })
    }

    async fn list(&self, link: &Arc<dyn Link>) -> Result<HostToolOutput, LinkFault> {
        let limits = &self.shared.limits;
        let mut faults = Faults::default();
        let lists = async {
            let resources = |page: &Value| reading::resources(page, "resources", "uri", limits);
            let list = |cursor| Request::ListResources { cursor };
            let mut lines = survey::all(link, limits, &mut faults, list, resources).await?;
            // Servers without templates need not know the question.
            let templates = |page: &Value| reading::resources(page, "resourceTemplates", "uriTemplate", limits);
            let list = |cursor| Request::ListTemplates { cursor };
            lines.extend(survey::all(link, limits, &mut faults, list, templates).await.unwrap_or_default());
            Ok(lines)
        };
        let late = |_| LinkFault::Lost { message: format!("no list within {:?}", limits.listing) };
        let mut lines = tokio::time::timeout(limits.listing, lists).await.map_err(late)??;
        if lines.is_empty() {
            lines.push("there are no resources".to_owned());
        }
        lines.extend(faults.into_told().into_iter().map(|fault| format!("[not listed: {fault}]")));
        Ok(reading::listed(&lines))
    }

    /// Waits for an answer as long as it may take, and hands on what is known meanwhile. Dropping it cancels the request.
    async fn drive(&self, link: &Arc<dyn Link>, request: Request, call: &ServerCall) -> Result<Value, HostError> {
        let shared = &self.shared;
        let (progress, mut steps) = mpsc::channel(16);
        let answering = link.request(request, Some(progress));
        tokio::pin!(answering);
        let allowed = shared.server.call_time.unwrap_or(shared.limits.call);
        let last = Instant::now() + shared.limits.whole_call;
        let mut deadline = Instant::now() + allowed;
        let mut asking = shared.asking.subscribe();
        let tell = |step: &Progress| {
            let content = vec![Block::text(shown(step))];
            let news = pi_transcript::ToolOutput { content, ..Default::default() };
            // A full channel drops it: the next one says more.
            call.updates.as_ref().map(|updates| updates.try_send(news).is_ok())
        };
        loop {
            let is_asking = *asking.borrow_and_update() > 0;
            let until = if is_asking { last } else { deadline.min(last) };
            tokio::select! {
                biased;
                answer = &mut answering => {
                    // Said before the answer, and not heard yet.
                    while let Ok(step) = steps.try_recv() {
                        tell(&step);
                    }
                    if let Err(LinkFault::Lost { .. }) = &answer {
                        self.keeper.left(link).await;
                    }
                    return answer.map_err(|fault| self.failed(&fault));
                }
                Some(step) = steps.recv() => {
                    deadline = Instant::now() + allowed;
                    tell(&step);
                }
                // A person was asked, or has answered: the clock starts anew.
                Ok(()) = asking.changed() => deadline = Instant::now() + allowed,
                () = sleep_until(until) => {
                    let message = format!("the server {} did not answer within {allowed:?}", shared.server.name);
                    return Err(HostError::new(ErrorCode::Timeout, message));
                }
            }
        }
    }

    fn failed(&self, fault: &LinkFault) -> HostError {
        let (code, retryable) = match fault {
            LinkFault::Refused { .. } => (ErrorCode::InvalidRequest, false),
            LinkFault::Unauthorized { .. } => (ErrorCode::Denied, false),
            LinkFault::Unreachable { is_permanent, .. } => (ErrorCode::Io, !is_permanent),
            LinkFault::Nonsense { .. } => (ErrorCode::Io, false),
            LinkFault::Lost { .. } => (ErrorCode::Io, true),
        };
        let message = format!("MCP server {}: {fault}", self.shared.server.name);
        HostError { retryable: Some(retryable), ..HostError::new(code, message) }
    }
}

/// Progress, for a person.
fn shown(step: &Progress) -> String {
    let Progress { done, total, message } = step;
    let far = match total {
        Some(total) => format!("{done} of {total}"),
        None => done.to_string(),
    };
    match message {
        Some(message) => format!("{message} ({far})"),
        None => far,
    }
}
