//! Asks a person whether the model may do something that no rule decides.

use pi_exthost::port::Settled;
use pi_policy::{Answer, Breadth, Denial, Grant, Question, Reason, Term};
use pi_transcript::{
    ToolCallId,
    question::{self, Approval, Asked},
};

use super::{Run, desk::Gone};

const ONCE: &str = "Yes, this once";
const SESSION: &str = "Yes, for this session";
const NO: &str = "No";

impl Run {
    /// Waits for the answer of a person; nobody answering is a no.
    pub(super) async fn ask_permission(
        &self,
        call: &ToolCallId,
        question: Question,
    ) -> Result<Result<Grant, Denial>, Gone> {
        // Of a command that nobody understands nothing is remembered: it may do something else the next time.
        let remembered = question.keep(Answer::Yes, Breadth::Target, Term::Session);
        let asked = question::Question::Select {
            title: format!("The model asks for {}", describe(&question)),
            // Whoever presses enter without reading has allowed nothing.
            options: [NO, ONCE].into_iter().chain(remembered.as_ref().map(|_| SESSION)).map(str::to_owned).collect(),
            timeout: None,
        };
        let asked = Asked::try_from(asked).expect("a few different options can be asked for");
        let action = question.action();
        let approval = Approval {
            capability: action.capability.to_string(),
            target: action.target.in_one_line(),
            extension_id: None,
            origin: None,
            tool_call_id: Some(call.clone()),
        };
        let settled = self.parts.questions.ask_approval(approval, asked, &self.cancel).await;
        let answer = match settled {
            Settled::Answered(question::Answer::Select { value }) if value == ONCE => Answer::Yes,
            Settled::Answered(question::Answer::Select { value }) if value == SESSION => {
                if let Some(remembered) = remembered {
                    self.desk.remember(remembered).await?;
                }
                Answer::Yes
            }
            Settled::Answered(_) => Answer::No,
            Settled::Cancelled if self.parts.questions.has_audience() && !self.cancel.is_cancelled() => {
                Answer::Dismissed
            }
            Settled::Cancelled | Settled::TimedOut => Answer::Nobody,
        };
        Ok(question.answer(answer))
    }
}

/// What is asked for, in words.
fn describe(question: &Question) -> String {
    let action = question.action();
    format!("{}: {}", action.capability, action.target.in_one_line())
}

/// What a person reads when the model may not: what it wanted, and what would let it.
pub(super) fn told(denial: &Denial, has_audience: bool) -> String {
    let (capability, target) = (&denial.action().capability, &denial.action().target);
    let grants = "`agent.policy.grants` in settings.json allows it for good";
    let (reason, remedy) = match denial.reason() {
        Reason::Unanswered if !has_audience => {
            ("nobody is here who could be asked".to_owned(), format!("the chat asks, and {grants}"))
        }
        reason @ Reason::Denied { .. } => (reason.to_string(), "take that out to allow it".to_owned()),
        // Who said no knows how to say yes.
        reason @ (Reason::Refused | Reason::Dismissed) => return format!("deny {capability}: {reason}: {target}"),
        reason @ (Reason::Unanswered
        | Reason::Untrusted
        | Reason::NotDeclared(_)
        | Reason::DeniedByDefault
        | Reason::Secret
        | Reason::Strict) => (reason.to_string(), grants.to_owned()),
    };
    format!("deny {capability}: {reason}: {target}; {remedy}")
}

/// What the model reads when it may not.
pub(super) fn refusal(denial: &Denial) -> String {
    format!("Not allowed: {denial}. Do not try the same another way; ask the user, or go on without it.")
}
