//! What pi itself wants to know about a guest, beyond what a policy decides.

use pi_extproto::capability::Capability;
use pi_transcript::question::{Answer, Approval, Asked, Question};

use super::Desk;
use crate::port::Settled;

const NO: &str = "No";
const YES: &str = "Yes";

/// Whether something about a guest may be so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inquiry {
    /// What a yes lets happen.
    pub capability: Capability,
    /// What a person decides about, in lines. Those that are not ours must be marked, so that none passes for what pi says.
    pub about: String,
    /// The question itself, which stands below them.
    pub question: String,
}

impl Desk {
    /// Whether a person says yes to what pi itself asks about the guest; dismissing it, and nobody being there, is a no. The guest does not
    /// ask, so nothing is counted or recorded as its question. Dropping the future takes it back.
    pub async fn inquire(&self, inquiry: Inquiry) -> bool {
        let Inquiry { capability, about, question } = inquiry;
        let asked = Question::Select {
            title: format!("{about}\n\n{question}"),
            // Whoever presses enter without reading has allowed nothing.
            options: [NO, YES].map(str::to_owned).to_vec(),
            timeout: None,
        };
        let asked = Asked::try_from(asked).expect("two different options can be asked for");
        let approval = Approval {
            capability: capability.to_string(),
            target: about,
            folder: None,
            extension_id: Some(self.guest().to_string()),
            origin: None,
            tool_call_id: None,
        };
        match self.inner.conversation.ask_approval(approval, asked).await {
            Ok(Settled::Answered(Answer::Select { value })) => value == YES,
            Ok(Settled::Answered(_) | Settled::Dismissed | Settled::Cancelled | Settled::TimedOut) => false,
            Err(refusal) => {
                tracing::debug!(guest = %self.guest(), %refusal, "nobody could be asked");
                false
            }
        }
    }
}
