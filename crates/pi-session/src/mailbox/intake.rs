//! What somebody says, on its way to the model.
//!
//! The way is Pi's: a command of an extension runs at once and goes no further; `input` hooks may change or keep the rest;
//! then skills, templates and files are put in; then it begins a run or waits for its turn. Hooks and files take time, so
//! this happens beside the mailbox, one after the other: what was said first arrives first.

use std::sync::Arc;

use pi_exthost::{GuestFault, GuestId, Trouble, content, guests::GuestCommand, port::Mode, verdict::InputVerdict};
use pi_extproto::{
    connector::{session::Delivery, tool::ContentBlock},
    hook::{
        Hook,
        event::payload::{InputEvent, InputSource, StreamingBehavior},
    },
};
use pi_transcript::{AgentEvent, Block, Content, Message, content::ImageBlock, message::UserMessage};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{Letter, Mailbox, Request, answer, guest::Trigger, job::Prompter, lane::Lane};
use crate::{
    input::{Composed, Composer, InputError, Utterance, Voice},
    queue::{Saying, When},
    run::Parts,
    session::{PromptError, Prompted},
};

/// What was said.
#[derive(Debug)]
pub(crate) enum Words {
    /// As it was typed: it may call commands, templates and skills.
    Typed { utterance: Box<Utterance>, voice: Voice },
    /// To be said as it is.
    Composed(Box<Saying>),
}

/// Who said it, and what is to become of it.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A client, which waits.
    Client { during: Option<When>, reply: Prompter },
    /// An extension, which does not.
    Guest { from: GuestId, delivery: Delivery },
}

/// Something that has come in.
#[derive(Debug)]
pub(crate) struct Received {
    arrival: Arrival,
    taken: Taken,
}

#[derive(Debug)]
enum Taken {
    Ready {
        saying: Box<Saying>,
        /// What there is to tell about it.
        notices: Vec<String>,
    },
    /// An extension keeps it from the model.
    Handled {
        by: GuestId,
    },
    /// Somebody stopped it on its way.
    Aborted(Words),
    Unreadable(InputError),
}

/// What is on its way.
pub(crate) struct Intake {
    lane: Lane,
    /// How much is on its way.
    waiting: usize,
    /// So much of what is on its way was stopped. Some of it may have been ready by then, and only not arrived.
    stopped: usize,
    /// Stops what is on its way.
    cancel: CancellationToken,
    /// Who wants back what is on its way, the first who asked first.
    recalls: Vec<Recall>,
}

/// Somebody wants back what they said.
struct Recall {
    /// So much of what was on its way then has not arrived.
    left: usize,
    /// What has, and was not said.
    unsaid: Vec<Saying>,
    reply: oneshot::Sender<Vec<Saying>>,
}

impl Intake {
    pub(crate) fn new() -> Self {
        Self { lane: Lane::default(), waiting: 0, stopped: 0, cancel: CancellationToken::new(), recalls: Vec::new() }
    }

    /// What arrives goes to whoever wanted it back first; everything that is on its way is counted by each.
    fn recall(&mut self) -> Option<&mut Recall> {
        self.recalls.iter_mut().find(|recall| recall.left > 0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Stops what is on its way; what comes later is taken in.
    pub(super) fn abort(&mut self) {
        self.stopped = self.waiting;
        std::mem::take(&mut self.cancel).cancel();
    }
}

impl Taken {
    /// The same after somebody stopped it: what is ready is not said.
    fn stopped(self) -> Self {
        match self {
            Self::Ready { saying, notices: _ } => Self::Aborted(Words::Composed(saying)),
            Self::Handled { .. } | Self::Aborted(_) | Self::Unreadable(_) => self,
        }
    }
}

impl Words {
    /// To be said as it is, whatever it calls.
    pub(super) fn verbatim(self) -> Saying {
        match self {
            Self::Typed { utterance, .. } => Saying::new(Message::user(utterance.text.as_str(), 0)),
            Self::Composed(saying) => *saying,
        }
    }
}

impl Mailbox {
    /// Takes in what somebody says.
    pub(super) fn take_in(&mut self, words: Words, arrival: Arrival) {
        // Whoever waits is told by the reply that is dropped.
        let Some(letters) = self.letters.upgrade().filter(|_| !self.is_closing) else { return };
        if let Some((command, arguments)) = self.command_in(&words) {
            return self.run_command(command, arguments, arrival);
        }
        let words = match words {
            Words::Composed(saying) if self.is_quiet() => return self.admit(*saying, arrival),
            words => words,
        };
        let composing = match self.hearing.has_begun() {
            true => Composing::Known(Arc::clone(&self.composer)),
            false => Composing::Asked(letters.clone()),
        };
        let reception = Reception {
            parts: Arc::clone(&self.parts),
            composing,
            source: self.source(&arrival),
            cancel: self.intake.cancel.child_token(),
        };
        let (begun, stopped) = (self.hearing.begun(), reception.cancel.clone());
        self.intake.waiting += 1;
        self.intake.lane.push(async move {
            let taken = tokio::select! {
                biased;
                () = begun => reception.take(words, arrival.behaviour()).await,
                // An extension that asks a person while it begins may take as long as it wants.
                () = stopped.cancelled() => Taken::Aborted(words),
            };
            // A session that is gone has nobody left to be told.
            drop(letters.send(Letter::Received(Box::new(Received { arrival, taken }))).await);
        });
    }

    /// Nobody wants to see what is said before it is, and nothing is ahead of it.
    fn is_quiet(&self) -> bool {
        self.intake.is_empty() && self.hearing.has_begun() && !self.parts.guests.listens(Hook::Input)
    }

    /// The command that is called, and what stands behind its name.
    fn command_in(&self, words: &Words) -> Option<(GuestCommand, String)> {
        let Words::Typed { utterance, .. } = words else { return None };
        // With something before it, it is a text that begins with a slash by chance.
        let call = utterance.text.strip_prefix('/').filter(|_| utterance.is_bare())?;
        let (name, arguments) = call.split_once(' ').unwrap_or((call, ""));
        Some((self.parts.guests.command(name)?, arguments.to_owned()))
    }

    /// Runs a command beside whatever else goes on.
    fn run_command(&mut self, command: GuestCommand, arguments: String, arrival: Arrival) {
        let (begun, cancel) = (self.hearing.begun(), self.commands.child_token());
        self.asides.spawn(async move {
            begun.await;
            let done = command.run(arguments, &cancel).await;
            match arrival {
                Arrival::Client { reply, .. } => {
                    let by = command.guest;
                    let prompted = match done {
                        Ok(()) => Ok(Prompted::Handled { by, trouble: None }),
                        Err(Trouble::Fault(GuestFault::Misused { message })) => {
                            Err(PromptError::Input(InputError::Misused { message }))
                        }
                        Err(trouble) => Ok(Prompted::Handled { by, trouble: Some(trouble.to_string()) }),
                    };
                    answer(reply, prompted);
                }
                // What went wrong was reported, and nobody waits.
                Arrival::Guest { .. } => {}
            }
        });
    }

    /// Takes what was on its way.
    pub(super) fn receive(&mut self, received: Received) {
        let Received { arrival, taken } = received;
        self.intake.waiting -= 1;
        let taken = if self.intake.stopped > 0 { taken.stopped() } else { taken };
        // What was said first arrives first.
        self.intake.stopped = self.intake.stopped.saturating_sub(1);
        if let Some((arrival, taken)) = self.withhold(arrival, taken) {
            self.pass_on(arrival, taken);
        }
        // What arrives was counted by everybody who wants something back: nothing passes anything else on its way.
        self.intake.recalls.iter_mut().for_each(|recall| recall.left = recall.left.saturating_sub(1));
        self.hand_back();
        self.look_whether_idle();
    }

    /// Hands back what waits, and what is on its way as soon as it has arrived.
    pub(super) fn take_back(&mut self, reply: oneshot::Sender<Vec<Saying>>) {
        self.intake.abort();
        self.intake.recalls.push(Recall { left: self.intake.waiting, unsaid: Vec::new(), reply });
        self.hand_back();
    }

    /// Keeps what somebody wants back from being said. What an extension says, or has taken, is not theirs.
    fn withhold(&mut self, arrival: Arrival, taken: Taken) -> Option<(Arrival, Taken)> {
        let Some(recall) = self.intake.recall() else { return Some((arrival, taken)) };
        let saying = match (&arrival, taken) {
            (Arrival::Client { .. }, Taken::Ready { saying, notices: _ }) => *saying,
            (Arrival::Client { .. }, Taken::Aborted(words)) => words.verbatim(),
            (_, other) => return Some((arrival, other)),
        };
        recall.unsaid.push(saying);
        if let Arrival::Client { reply, .. } = arrival {
            answer(reply, Ok(Prompted::TakenBack));
        }
        None
    }

    /// Answers those for whom nothing is on its way any more.
    fn hand_back(&mut self) {
        while self.intake.recalls.first().is_some_and(|recall| recall.left == 0) {
            let Recall { unsaid, reply, .. } = self.intake.recalls.remove(0);
            let mut back = self.queues.clear();
            back.extend(unsaid);
            self.tell_queues();
            self.keep_queues_aside();
            answer(reply, back);
        }
    }

    fn pass_on(&mut self, arrival: Arrival, taken: Taken) {
        match taken {
            Taken::Ready { saying, notices } => {
                self.tell(notices.into_iter().map(|message| AgentEvent::InputNotice { message }).collect());
                self.admit(*saying, arrival);
            }
            Taken::Handled { by } => match arrival {
                Arrival::Client { reply, .. } => answer(reply, Ok(Prompted::Handled { by, trouble: None })),
                Arrival::Guest { .. } => {}
            },
            Taken::Aborted(words) if self.is_closing => self.unsaid.push(words.verbatim()),
            Taken::Aborted(words) => match arrival {
                Arrival::Client { reply, .. } => answer(reply, Ok(Prompted::Unsaid)),
                Arrival::Guest { .. } => self.tell(vec![super::left_unsaid(&[words.verbatim()])]),
            },
            Taken::Unreadable(error) => match arrival {
                Arrival::Client { reply, .. } => answer(reply, Err(PromptError::Input(error))),
                Arrival::Guest { from, .. } => self.tell(vec![self.refused(&from, &error)]),
            },
        }
    }

    /// Lets the model hear it, now or at its time.
    fn admit(&mut self, saying: Saying, arrival: Arrival) {
        if self.is_closing {
            return self.unsaid.push(saying);
        }
        match arrival {
            Arrival::Guest { from: _, delivery } => self.deliver(saying, delivery, Trigger::Run),
            Arrival::Client { during, reply } => match (&self.running, during) {
                (None, _) => {
                    // Only here is it known that it begins a run: a command, an extension or a run in flight took the others.
                    if let Err(left) = self.parts.refuse(&self.choice) {
                        return answer(reply, Err(left.into()));
                    }
                    let opening = std::iter::once(saying).chain(std::mem::take(&mut self.riding)).collect();
                    self.start_run(opening, Some(reply));
                }
                (Some(_), Some(when)) => {
                    self.queues.push(when, saying);
                    self.tell_queues();
                    self.answer_queued(when, reply);
                }
                (Some(_), None) => answer(reply, Err(PromptError::Busy)),
            },
        }
    }

    /// Says that it waits, once that is on the disk where it is kept.
    fn answer_queued(&mut self, when: When, reply: oneshot::Sender<Result<Prompted, PromptError>>) {
        let queued = Ok(Prompted::Queued(when));
        let Some(kept) = self.keep_queues() else { return answer(reply, queued) };
        self.asides.spawn(async move {
            let unwritten = |error: std::io::Error| PromptError::Unwritten { reason: error.to_string() };
            answer(reply, kept.await.map_err(unwritten).and(queued));
        });
    }

    fn source(&self, arrival: &Arrival) -> InputSource {
        match (arrival, self.mode) {
            (Arrival::Guest { .. }, _) => InputSource::Extension,
            (Arrival::Client { .. }, Mode::Server) => InputSource::Rpc,
            (Arrival::Client { .. }, Mode::Terminal | Mode::Json | Mode::Print) => InputSource::Interactive,
        }
    }

    /// What an extension said could not be made a message.
    fn refused(&self, from: &GuestId, error: &InputError) -> AgentEvent {
        let paths = self.parts.guests.registrations();
        let path = paths.iter().find(|known| known.id == *from).map(|known| known.path.clone());
        AgentEvent::ExtensionError {
            extension_path: path.unwrap_or_default(),
            event: Hook::Input.as_str().to_owned(),
            error: error.to_string(),
        }
    }
}

impl Arrival {
    fn behaviour(&self) -> Option<StreamingBehavior> {
        let when = match self {
            Self::Client { during, .. } => *during,
            Self::Guest { delivery, .. } => super::guest::when(*delivery),
        };
        when.map(|when| match when {
            When::Steer => StreamingBehavior::Steer,
            When::FollowUp => StreamingBehavior::FollowUp,
        })
    }
}

/// What is needed to take something in.
struct Reception {
    parts: Arc<Parts>,
    composing: Composing,
    source: InputSource,
    cancel: CancellationToken,
}

/// Who makes messages of what is typed.
enum Composing {
    Known(Arc<Composer>),
    /// To be asked for when the session has begun: extensions may bring skills and templates until then.
    Asked(mpsc::Sender<Letter>),
}

impl Composing {
    /// Nobody, if the session ends.
    async fn known(self) -> Option<Arc<Composer>> {
        match self {
            Self::Known(composer) => Some(composer),
            Self::Asked(letters) => {
                let (reply, composer) = oneshot::channel();
                // What was gathered lies before this in the mailbox.
                letters.send(Letter::Client(Box::new(Request::Composer(reply)))).await.ok()?;
                composer.await.ok()
            }
        }
    }
}

impl Reception {
    async fn take(self, words: Words, behaviour: Option<StreamingBehavior>) -> Taken {
        let words = match self.hear(words, behaviour).await {
            Ok(words) => words,
            Err(by) => return Taken::Handled { by },
        };
        if self.cancel.is_cancelled() {
            return Taken::Aborted(words);
        }
        match words {
            Words::Composed(saying) => Taken::Ready { saying, notices: Vec::new() },
            Words::Typed { utterance, voice } => self.compose(*utterance, voice).await,
        }
    }

    /// Lets extensions change it, or keep it: then it names who did.
    async fn hear(&self, words: Words, behaviour: Option<StreamingBehavior>) -> Result<Words, GuestId> {
        let event = || {
            let (text, images) = shown(&words);
            let images: Vec<_> = content::to_protocol(&images).into_iter().filter_map(image).collect();
            let images = (!images.is_empty()).then_some(images);
            InputEvent { text, images, source: self.source, streaming_behavior: behaviour }
        };
        let (by, text, images) = match self.parts.guests.input(event, &self.cancel).await {
            InputVerdict::Proceed => return Ok(words),
            InputVerdict::Handled { by } => return Err(by),
            InputVerdict::Transformed { by, text, images } => (by, text, images),
        };
        let images = content::from_protocol(images.into_iter().map(ContentBlock::Image).collect());
        Ok(match words {
            Words::Typed { utterance, .. } => {
                let images = images.into_iter().filter_map(picture).collect();
                let utterance = Utterance { text, images, ..*utterance };
                Words::Typed { utterance: Box::new(utterance), voice: Voice::Extension(by) }
            }
            Words::Composed(_) => {
                let blocks = std::iter::once(Block::text(text)).chain(images).collect();
                Words::Composed(Box::new(Saying::quoted(&by, blocks, (self.parts.now)().unix_millis())))
            }
        })
    }

    /// Puts skills, templates and files in.
    async fn compose(self, utterance: Utterance, voice: Voice) -> Taken {
        let now = (self.parts.now)().unix_millis();
        let Some(composer) = self.composing.known().await else {
            return Taken::Aborted(Words::Typed { utterance: Box::new(utterance), voice });
        };
        let work = tokio::task::spawn_blocking(move || {
            let composed = composer.compose(&utterance, &voice, now);
            (composed, Words::Typed { utterance: Box::new(utterance), voice })
        });
        match work.await {
            Ok((Ok(Composed { saying, notices, hidden }), _)) => {
                let mut notices: Vec<String> = notices.iter().map(ToString::to_string).collect();
                if hidden > 0 {
                    notices.push("what is attached holds secrets; the model does not see them".to_owned());
                }
                Taken::Ready { saying: Box::new(saying), notices }
            }
            Ok((Err(error), _)) => Taken::Unreadable(error),
            Err(error) => {
                tracing::error!(%error, "what was said could not be made a message");
                Taken::Aborted(Words::Composed(Box::new(Saying::new(Message::user("", now)))))
            }
        }
    }
}

/// Text and images of what was said.
fn shown(words: &Words) -> (String, Vec<Block>) {
    match words {
        Words::Typed { utterance, .. } => {
            (utterance.text.clone(), utterance.images.iter().cloned().map(Block::Image).collect())
        }
        Words::Composed(saying) => {
            let blocks = match &saying.message {
                Message::User(UserMessage { content: Content::Blocks(blocks), .. }) => blocks.as_slice(),
                _ => &[],
            };
            let images = blocks.iter().filter(|block| matches!(block, Block::Image(_))).cloned().collect();
            (saying.text(), images)
        }
    }
}

fn image(block: ContentBlock) -> Option<pi_extproto::connector::tool::ImageBlock> {
    match block {
        ContentBlock::Image(image) => Some(image),
        ContentBlock::Text(_) => None,
    }
}

fn picture(block: Block) -> Option<ImageBlock> {
    match block {
        Block::Image(image) => Some(image),
        Block::Text(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => None,
    }
}
