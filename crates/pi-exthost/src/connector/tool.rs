//! `tool`: the tools of the host, and those of other guests.

use tokio::sync::mpsc;

use pi_extproto::{
    connector::tool::{HostToolOutput, ToolOutput, ToolUse},
    host::HostError,
};
use pi_policy::Target;
use pi_tools::{Call, Progress};
use pi_transcript::ToolCallId;
use serde_json::Value;

use super::{cancelled, invalid};
use crate::{
    content,
    desk::{Desk, Terms},
    guest::ToolInvocation,
};

pub(super) async fn run(desk: &Desk, call: ToolUse, terms: &Terms) -> Result<HostToolOutput, HostError> {
    match desk.inner.house.fittings.tools.get(&call.name).cloned() {
        Some(tool) => {
            let arguments = match tool.prepare(Value::Object(call.input)).await {
                Ok(arguments) => arguments,
                Err(bad) => return Ok(failure(bad.to_string(), None)),
            };
            let (places, subject) = (&desk.inner.places, desk.subject().clone());
            let arguments = pi_tools::spell(places, &call.name, arguments).await;
            let request = pi_tools::request(places, subject, &call.name, &arguments, desk.inner.house.now()).await;
            let action = (*request.map_err(|bad| bad.to_host_error())?.action).clone();
            let grant = desk.authorize(action, terms).await?;
            let call = Call {
                id: ToolCallId::from(desk.next_id()),
                arguments,
                grant,
                cancel: terms.cancel.child_token(),
                progress: Progress::unheard(),
                workspace: desk.inner.workspace.clone(),
            };
            Ok(match tool.execute(call).await {
                Ok(output) => success(&output.content, output.details),
                Err(failed) => failure(failed.text, failed.details),
            })
        }
        None => foreign(desk, call, terms).await,
    }
}

/// Whether the guest may use a tool that somebody else runs for it.
pub(crate) async fn allow(desk: &Desk, call: &ToolUse, terms: &Terms) -> Result<(), HostError> {
    let (places, subject) = (&desk.inner.places, desk.subject().clone());
    let request = pi_tools::request(places, subject, &call.name, &call.input, desk.inner.house.now()).await;
    let action = (*request.map_err(|bad| bad.to_host_error())?.action).clone();
    desk.authorize(action, terms).await.map(drop)
}

/// A tool of another guest, or of its own.
async fn foreign(desk: &Desk, call: ToolUse, terms: &Terms) -> Result<HostToolOutput, HostError> {
    use pi_extproto::capability::{Capability, Method};

    desk.authorize(desk.action(Capability::Tool, Method::Tool, Target::Tool(call.name.clone())), terms).await?;
    let guests = desk.inner.house.guests.get().and_then(std::sync::Weak::upgrade);
    let tool = guests.and_then(|guests| guests.tool(&call.name));
    let tool = tool.ok_or_else(|| invalid(format!("there is no tool {}", call.name)))?;
    // News of it go to nobody: the caller wants the result.
    let (updates, _unheard) = mpsc::channel(1);
    let invocation =
        ToolInvocation { call_id: ToolCallId::from(desk.next_id()), name: call.name, input: call.input, updates };
    let answer = tool.call(invocation, &terms.cancel).await;
    match answer {
        Ok(answer) => {
            Ok(HostToolOutput { output: content::output_to_protocol(&answer.output), is_error: answer.is_error })
        }
        Err(_) if terms.cancel.is_cancelled() => Err(cancelled()),
        Err(trouble) => Ok(failure(trouble.to_string(), None)),
    }
}

fn success(blocks: &[pi_transcript::Block], details: Option<Value>) -> HostToolOutput {
    HostToolOutput { output: ToolOutput { content: content::to_protocol(blocks), details }, is_error: false }
}

fn failure(text: String, details: Option<Value>) -> HostToolOutput {
    let content = content::to_protocol(&[pi_transcript::Block::text(text)]);
    HostToolOutput { output: ToolOutput { content, details }, is_error: true }
}
