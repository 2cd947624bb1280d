//! `ui`: questions to a person, and things shown to one.

use std::time::Duration;

use tokio::time::sleep;

use pi_extproto::{
    connector::ui::{Answer, Confirmation, FormAnswer, NoticeLevel, Placement, UiCall},
    host::{ErrorCode, HostError},
};
use pi_transcript::question::{self, Announcement, Asked, NotifyType, Question, WidgetPlacement};

use super::{invalid, refused};
use crate::{
    desk::{Desk, Output, Terms, Turn},
    ledger::flood::Passage,
    port::{Conversation, Settled},
    stopwatch::Stopwatch,
};

/// What each notice takes that nobody is shown any more: who says too much is slowed down, and so is what is written of it.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn perform(desk: &Desk, call: UiCall, terms: &Terms) -> Result<Output, HostError> {
    let conversation = &desk.conversation(terms);
    match call {
        UiCall::Select { title, options, timeout_ms } => {
            text(ask(desk, (conversation, terms), Question::Select { title, options, timeout: timeout_ms }).await?)
        }
        UiCall::Input { title, placeholder, timeout_ms } => {
            text(ask(desk, (conversation, terms), Question::Input { title, placeholder, timeout: timeout_ms }).await?)
        }
        UiCall::Editor { title, prefill, timeout_ms } => {
            text(ask(desk, (conversation, terms), Question::Editor { title, prefill, timeout: timeout_ms }).await?)
        }
        UiCall::Confirm { title, message, timeout_ms } => {
            let answer =
                ask(desk, (conversation, terms), Question::Confirm { title, message, timeout: timeout_ms }).await?;
            let confirmed = matches!(answer, Some(question::Answer::Confirm { confirmed: true }));
            Ok(Confirmation { confirmed }.into())
        }
        UiCall::Interview { title, questions, timeout_ms } => {
            let fields = questions.iter().map(question::FormField::from).collect();
            let asked = Question::Interview { title, questions: fields, timeout: timeout_ms };
            let answer = ask(desk, (conversation, terms), asked).await?.unwrap_or(question::Answer::Cancelled);
            let read = FormAnswer::read(&questions, &answer);
            read.map(Output::from).map_err(|error| HostError::new(ErrorCode::Internal, error.to_string()))
        }
        UiCall::GetEditorText => {
            let text = conversation.editor_text().await.map_err(|refusal| refused(&refusal))?;
            Ok(Answer { text }.into())
        }
        UiCall::Notify { message, level } => {
            let notify_type = Some(match level {
                NoticeLevel::Info => NotifyType::Info,
                NoticeLevel::Warning => NotifyType::Warning,
                NoticeLevel::Error => NotifyType::Error,
            });
            match desk.count_notice() {
                Passage::Passed { left_out: 0 } => {}
                Passage::Passed { left_out } => {
                    drop(warn(conversation, format!("{left_out} notices were left out")).await?)
                }
                Passage::LeftOut { is_first } => {
                    if is_first {
                        warn(
                            conversation,
                            "it says more than anybody reads; for some seconds it is not shown".to_owned(),
                        )
                        .await?;
                    }
                    sleep(PAUSE).await;
                    return Ok(Output::Empty);
                }
            }
            announce(conversation, Announcement::Notify { message, notify_type }).await
        }
        UiCall::SetStatus { key, text } => announce(conversation, Announcement::SetStatus { key, text }).await,
        UiCall::SetWidget { key, lines, placement } => {
            let placement = Some(match placement {
                Placement::AboveEditor => WidgetPlacement::AboveEditor,
                Placement::BelowEditor => WidgetPlacement::BelowEditor,
            });
            announce(conversation, Announcement::SetWidget { key, content: lines, placement }).await
        }
        UiCall::SetTitle { title } => announce(conversation, Announcement::SetTitle { title }).await,
        UiCall::SetWorkingMessage { text } => {
            announce(conversation, Announcement::SetWorkingMessage { message: text }).await
        }
        UiCall::SetEditorText { text } => {
            announce(conversation, Announcement::SetEditorText { text, inserted: None }).await
        }
        // What is written there is known to the session.
        UiCall::PasteToEditor { text } => {
            let announcement = Announcement::SetEditorText { text: text.clone(), inserted: Some(text) };
            announce(conversation, announcement).await
        }
    }
}

/// Nothing if the person dismissed it, does not want to be asked by this guest any more, or if there is none.
async fn ask(
    desk: &Desk,
    (conversation, terms): (&Conversation, &Terms),
    question: Question,
) -> Result<Option<question::Answer>, HostError> {
    let asked = Asked::try_from(question).map_err(|flaw| invalid(flaw.to_string()))?;
    let withdrawn = match desk.turn_to_ask() {
        Turn::Put { withdrawn } => withdrawn,
        Turn::Unseen { after } => {
            sleep(after).await;
            return Ok(None);
        }
    };
    let _attending = terms.stopwatch.as_ref().map(Stopwatch::attend);
    let settled = tokio::select! {
        biased;
        settled = conversation.ask(asked) => settled.map_err(|refusal| refused(&refusal))?,
        // Dropping the question takes it away from the person.
        () = withdrawn.cancelled() => return Ok(None),
    };
    desk.note_answer(&settled);
    match settled {
        Settled::Answered(answer) => Ok(Some(answer)),
        Settled::Dismissed | Settled::Cancelled => Ok(None),
        Settled::TimedOut => Err(HostError::new(ErrorCode::Timeout, "nobody answered in time")),
    }
}

fn text(answer: Option<question::Answer>) -> Result<Output, HostError> {
    let text = match answer {
        None | Some(question::Answer::Cancelled) => None,
        Some(
            question::Answer::Select { value } | question::Answer::Input { value } | question::Answer::Editor { value },
        ) => Some(value),
        Some(answer @ (question::Answer::Confirm { .. } | question::Answer::Interview { .. })) => {
            let message = format!("a question was answered with {}", answer.method());
            return Err(HostError::new(ErrorCode::Internal, message));
        }
    };
    Ok(Answer { text }.into())
}

async fn warn(conversation: &Conversation, message: String) -> Result<Output, HostError> {
    announce(conversation, Announcement::Notify { message, notify_type: Some(NotifyType::Warning) }).await
}

async fn announce(conversation: &Conversation, announcement: Announcement) -> Result<Output, HostError> {
    conversation.announce(announcement).await.map_err(|refusal| refused(&refusal))?;
    Ok(Output::Empty)
}
