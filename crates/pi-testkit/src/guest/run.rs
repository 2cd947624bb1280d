//! Plays the steps of a section.

use std::future::pending;

use serde_json::json;
use tokio::{sync::mpsc, time::sleep};

use pi_exthost::{
    Ask, GuestFault,
    guest::ToolAnswer,
    port::{Canvas, Completion, ControlPass, Expansion, Refusal, Settled},
};
use pi_extproto::{
    Object,
    connector::tool::{Content, ContentBlock, TextBlock},
    hook::{DraftMessage, Outcome},
};
use pi_transcript::{AssistantMessageEvent, Block, Message, ToolOutput};

use super::{
    ScriptedGuest,
    script::{Step, Wish},
};

/// One play.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) guest: &'a ScriptedGuest,
    pub(super) ask: &'a Ask,
    /// Where a tool tells what it has found so far.
    pub(super) updates: Option<&'a mpsc::Sender<ToolOutput>>,
    /// Where a model tells what it has so far.
    pub(super) steps: Option<&'a mpsc::Sender<AssistantMessageEvent>>,
    /// Only commands have one.
    pub(super) control: Option<&'a ControlPass>,
}

/// What was said in the course of it.
#[derive(Default)]
pub(super) struct Said {
    pub(super) outcome: Option<Outcome>,
    pub(super) answer: Option<ToolAnswer>,
    pub(super) drawn: Vec<String>,
    /// Members of what a model says in the end.
    pub(super) message: Option<Object>,
    /// A component that is there.
    pub(super) canvas: Option<Canvas>,
}

impl Run<'_> {
    pub(super) async fn steps(self, steps: &[Step]) -> Result<Said, GuestFault> {
        let mut said = Said::default();
        for step in steps {
            self.step(step, &mut said).await?;
        }
        Ok(said)
    }

    async fn step(self, step: &Step, said: &mut Said) -> Result<(), GuestFault> {
        match step {
            Step::Wait(time) => sleep(*time).await,
            Step::Hang => pending().await,
            Step::Heed => {
                self.ask.cancel.cancelled().await;
                self.guest.hear("cancelled".to_owned());
                return Err(GuestFault::Cancelled);
            }
            Step::Panic(text) => panic!("{text}"),
            Step::Throw(text) => return Err(GuestFault::threw(text)),
            Step::Gone => return Err(GuestFault::Gone),
            Step::Outcome(outcome) => said.outcome = Some(Outcome::clone(outcome)),
            Step::Update(text) => {
                if let Some(updates) = self.updates {
                    // A full channel drops updates, as every tier does.
                    drop(updates.try_send(output(text)));
                }
            }
            Step::Answer(text) => said.answer = Some(answer(text)),
            Step::Fail(text) => said.answer = Some(ToolAnswer { is_error: true, ..answer(text) }),
            Step::Finish(text) => said.answer = Some(ToolAnswer { terminate: true, ..answer(text) }),
            Step::Keep => self.guest.state().kept = self.control.cloned(),
            Step::Draw(text) => said.drawn.push(text.clone()),
            Step::Stroke(stroke) => self.stroke(stroke, &mut said.canvas).await?,
            Step::Step(step) => {
                if let Some(steps) = self.steps {
                    // Whoever listened may have gone away.
                    drop(steps.send(AssistantMessageEvent::clone(step)).await);
                }
            }
            Step::Message(members) => said.message = Some(members.clone()),
            Step::Ask(wish) => {
                // The time that the session takes is not the guest's own.
                let _pause = self.ask.stopwatch.pause();
                if let Err(refusal) = self.request(wish).await {
                    self.guest.hear(format!("refused: {refusal}"));
                    return Err(GuestFault::threw(refusal.to_string()));
                }
            }
        }
        Ok(())
    }

    /// Asks something of the conversation.
    async fn request(self, wish: &Wish) -> Result<(), Refusal> {
        let conversation = &self.guest.conversation;
        match wish {
            Wish::Question(asked) => {
                let settled = conversation.ask(asked.clone()).await?;
                self.guest.hear(format!("answer {}", ending(&settled)));
            }
            Wish::Announce(announcement) => conversation.announce(announcement.clone()).await?,
            Wish::Append { custom_type, data } => {
                conversation.append_entry(custom_type.clone(), data.clone()).await?;
            }
            Wish::Send { custom_type, delivery, text } => {
                conversation.send_message(draft(custom_type, text), *delivery).await?;
            }
            Wish::Start { custom_type, delivery, text } => {
                conversation.send_message_and_run(draft(custom_type, text), *delivery).await?;
            }
            Wish::Say { delivery, text } => {
                conversation.send_user_message(vec![block(text)], *delivery, Expansion::Verbatim).await?;
            }
            Wish::Type { delivery, text } => {
                conversation.send_user_message(vec![block(text)], *delivery, Expansion::Templates).await?;
            }
            Wish::Quit => conversation.quit().await?,
            Wish::Commands => {
                let infos = conversation.commands().await?;
                let names: Vec<_> = infos.into_iter().map(|info| info.definition.name).collect();
                self.guest.hear(format!("commands {}", names.join(" ")));
            }
            Wish::Written => {
                let text = conversation.editor_text().await?;
                self.guest.hear(format!("written {text:?}"));
            }
            Wish::Name(name) => conversation.set_name(name.clone()).await?,
            Wish::Label { entry, label } => conversation.set_label(entry.clone(), label.clone()).await?,
            Wish::Emit { channel, data } => conversation.emit(channel.clone(), data.clone()).await?,
            Wish::Activate(names) => conversation.set_active_tools(names.clone()).await?,
            Wish::Model { provider, model } => {
                let done = conversation.set_model(provider.as_str().into(), model.as_str().into()).await?;
                self.guest.hear(format!("model {done}"));
            }
            Wish::Think(level) => {
                let level = conversation.set_thinking_level(*level).await?;
                self.guest.hear(format!("thinks {level}"));
            }
            Wish::Complete(text) => {
                let message = conversation.complete(completion(text)).await?;
                self.guest.hear(format!("completion {}", json!(message.content)));
            }
            Wish::Compact => {
                let result = conversation.compact(None).await?;
                self.guest.hear(format!("compacted {}", result.summary));
            }
            Wish::Abort => conversation.abort().await?,
            Wish::Look => {
                let state = conversation.state().await?;
                self.guest.hear(format!("session {} idle {}", state.session_id, state.is_idle));
            }
            Wish::Control(control) => {
                let Some(pass) = self.control.cloned().or_else(|| self.guest.state().kept.clone()) else {
                    return Err(Refusal::NotNow { reason: "only a command controls a session".to_owned() });
                };
                let done = conversation.control(&pass, control.clone()).await?;
                self.guest.hear(format!("control {done}"));
            }
            Wish::Offer(name) => self.guest.offer(name).await?,
        }
        Ok(())
    }
}

fn ending(settled: &Settled) -> String {
    match settled {
        Settled::Answered(answer) => json!(answer).to_string(),
        Settled::Dismissed | Settled::Cancelled => "cancelled".to_owned(),
        Settled::TimedOut => "timed out".to_owned(),
    }
}

fn block(text: &str) -> ContentBlock {
    ContentBlock::Text(TextBlock { text: text.to_owned() })
}

fn draft(custom_type: &str, text: &str) -> DraftMessage {
    DraftMessage {
        custom_type: custom_type.to_owned(),
        content: Content::Text(text.to_owned()),
        display: true,
        details: None,
    }
}

fn output(text: &str) -> ToolOutput {
    ToolOutput { content: vec![Block::text(text)], ..ToolOutput::default() }
}

fn answer(text: &str) -> ToolAnswer {
    ToolAnswer { output: output(text), is_error: false, terminate: false }
}

fn completion(text: &str) -> Completion {
    Completion {
        model: None,
        system_prompt: None,
        messages: vec![Message::user(text, 0)],
        tools: Vec::new(),
        max_tokens: None,
        thinking_level: None,
        steps: None,
    }
}
