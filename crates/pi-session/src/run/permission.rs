//! Asks a person whether the model may do something that no rule decides.

use pi_exthost::{consent::wording, port::Settled};
use pi_policy::{Answer, Breadth, Denial, Grant, Question, Reason, Term};
use pi_transcript::{
    ToolCallId,
    message::DeniedBy,
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
            title: format!("The model asks for {}", wording::wanted(&question)),
            // Whoever presses enter without reading has allowed nothing.
            options: [NO, ONCE].into_iter().chain(remembered.as_ref().map(|_| SESSION)).map(str::to_owned).collect(),
            timeout: None,
        };
        let asked = Asked::try_from(asked).expect("a few different options can be asked for");
        let approval = Approval { tool_call_id: Some(call.clone()), ..wording::approval(&question) };
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
            Settled::Dismissed => Answer::Dismissed,
            Settled::Cancelled | Settled::TimedOut => Answer::Nobody,
        };
        Ok(question.answer(answer))
    }
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

/// Who said so.
pub(super) fn denied_by(denial: &Denial) -> DeniedBy {
    match denial.reason() {
        Reason::Refused | Reason::Dismissed => DeniedBy::Person,
        Reason::Unanswered => DeniedBy::Nobody,
        Reason::Untrusted
        | Reason::Denied { .. }
        | Reason::NotDeclared(_)
        | Reason::DeniedByDefault
        | Reason::Secret
        | Reason::Strict => DeniedBy::Rule,
    }
}

/// What the model reads when it may not.
pub(super) fn refusal(denial: &Denial) -> String {
    format!("Not allowed: {denial}. Do not try the same another way; ask the user, or go on without it.")
}
