//! A shell command that a person runs, beside whatever else goes on.

use std::sync::Arc;

use futures_util::FutureExt as _;
use pi_exthost::{guests::Influenced, verdict::BashVerdict};
use pi_extproto::{connector::tool::ToolUse, hook::event::payload::UserBashEvent, host::HostError};
use pi_policy::{Answer, Decision, Subject};
use pi_tools::{Arguments, BashExecution, Output, Workspace, progress};
use pi_transcript::{AgentEvent, Block, event::Grown, json::Extra, message::BashExecutionMessage};
use tokio_util::sync::CancellationToken;

use super::{
    Parts,
    desk::{Desk, Gone},
};
use crate::{
    scrub,
    session::{BashError, Exposure, Typed},
};

/// What is needed to run a command of a person.
pub(crate) struct Errand {
    pub(crate) parts: Arc<Parts>,
    pub(crate) desk: Desk,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) cancel: CancellationToken,
}

impl Errand {
    /// Runs it to its end, or until somebody cancels; then says so in the conversation. Of one that took too long it says
    /// nothing: whoever asked was told before.
    pub(crate) async fn run(self, typed: Typed) -> Result<BashExecutionMessage, BashError> {
        let execution = {
            let mut executing = std::pin::pin!(self.execute(&typed));
            tokio::select! {
                execution = &mut executing => execution,
                () = typed.late.cancelled() => {
                    self.cancel.cancel();
                    executing.await
                }
            }
        };
        if typed.late.is_cancelled() {
            return Err(BashError::TimedOut);
        }
        let execution = execution?;
        let Typed { command, exposure, written_by: _, name: _, late: _ } = typed;
        let (output, _) = scrub::text(&self.parts.redactor, &execution.output);
        let message = BashExecutionMessage {
            output: output.into_owned(),
            command,
            exit_code: execution.exit_code,
            cancelled: execution.cancelled,
            truncated: execution.truncated,
            full_output_path: execution.full_output_path,
            exclude_from_context: match exposure {
                Exposure::Shown => None,
                Exposure::Hidden => Some(true),
            },
            timestamp: (self.parts.now)().unix_millis(),
            extra: Extra::new(),
        };
        self.desk.ran(message.clone()).await?;
        Ok(message)
    }

    async fn execute(&self, typed: &Typed) -> Result<BashExecution, BashError> {
        let Typed { command, exposure, written_by, name, late: _ } = typed;
        let arguments: Arguments = [("command".to_owned(), command.as_str().into())].into_iter().collect();
        for guest in written_by {
            let call = ToolUse { name: "bash".to_owned(), input: arguments.clone() };
            let answered = self.parts.guests.answer_for(guest, Influenced { id: None, call }, &self.cancel).await;
            let unanswered = |error: HostError| BashError::Refused {
                reason: format!("the extension {guest} wrote it: {}", error.message),
            };
            answered.map_err(unanswered)?;
        }
        let event = || UserBashEvent {
            command: command.clone(),
            exclude_from_context: *exposure == Exposure::Hidden,
            cwd: self.workspace.project().to_owned(),
        };
        match self.parts.guests.user_bash(event, &self.cancel).await {
            BashVerdict::Proceed => {}
            BashVerdict::Handled { by: _, result } => {
                return Ok(BashExecution {
                    output: result.output,
                    exit_code: result.exit_code.map(i64::from),
                    cancelled: result.cancelled,
                    truncated: result.truncated,
                    full_output_path: result.full_output_path,
                });
            }
            BashVerdict::Blocked { by: _, reason } => return Err(BashError::Refused { reason }),
        }
        let refused = |reason: String| BashError::Refused { reason };
        let asking = pi_tools::request(self.workspace.places(), Subject::Agent, "bash", &arguments, (self.parts.now)());
        let request = asking.await.map_err(|bad| refused(bad.to_string()))?;
        let grant = match self.desk.judge(request).await? {
            Decision::Allow(grant) => grant,
            // Whoever would be asked has just typed it.
            Decision::Ask(question) => question.answer(Answer::Yes).map_err(|denial| refused(denial.to_string()))?,
            Decision::Deny(denial) => return Err(refused(denial.to_string())),
        };
        let (progress, mut reports) = progress();
        let mut running = std::pin::pin!(pi_tools::run_command(&self.workspace, grant, &self.cancel, &progress));
        let mut told = String::new();
        let done = loop {
            tokio::select! {
                biased;
                done = &mut running => break done,
                Some(report) = reports.next() => self.tell_output(name.as_ref(), &report, &mut told).await?,
            }
        };
        // What came last, perhaps just before the end.
        while let Some(Some(report)) = reports.next().now_or_never() {
            self.tell_output(name.as_ref(), &report, &mut told).await?;
        }
        done.or_else(|failure| match self.cancel.is_cancelled() {
            // Stopped before there was a shell, which is an end like any other that somebody wanted.
            true => Ok(BashExecution {
                output: String::new(),
                exit_code: None,
                cancelled: true,
                truncated: false,
                full_output_path: None,
            }),
            false => Err(BashError::Broken { reason: failure.text }),
        })
    }

    /// Tells what was added to the output, and what went from its beginning because only its end is kept.
    async fn tell_output(&self, name: Option<&String>, report: &Output, told: &mut String) -> Result<(), Gone> {
        let output: String = report.content.iter().filter_map(Block::as_text).collect();
        let (output, _) = scrub::text(&self.parts.redactor, &output);
        let all = || Grown { dropped: told.chars().count() as u64, kept: 0 };
        let Grown { dropped, kept } = Grown::between(told, &output).unwrap_or_else(all);
        let (delta, dropped) = (output[kept..].to_owned(), (dropped > 0).then_some(dropped));
        *told = output.into_owned();
        self.desk.tell(AgentEvent::BashExecutionUpdate { id: name.cloned(), delta, dropped }).await
    }
}
