//! Makes sessions: from what a process has, and what somebody wants for one.

use std::{io, sync::Arc};

use pi_envelope::SystemPart;
use pi_exthost::{Guests, Questions, questions::Audience};
use pi_policy::{Moment, Policy};
use pi_redact::Redactor;
use pi_tools::{Registry, Workspace};
use pi_transcript::{AgentEvent, RequestId, SessionId, ThinkingLevel};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    archive::Archive,
    cut,
    file::Opened,
    mailbox::{Equipment, Letter, Mailbox, Scribe},
    models::{Choice, Models},
    queue::{Delivery, Queues},
    retry::RetrySettings,
    run::Parts,
    session::Session,
    tree::{Destination, Tree},
};

/// Letters that may wait; whoever writes one more waits until there is room.
const LETTERS: usize = 256;

/// What a session is made of.
pub struct Blueprint {
    pub id: SessionId,
    pub models: Models,
    pub choice: Arc<Choice>,
    pub thinking: ThinkingLevel,
    pub policy: Policy,
    pub redactor: Arc<Redactor>,
    pub tools: Registry,
    pub active_tools: Vec<String>,
    pub workspace: Arc<Workspace>,
    pub system: Vec<SystemPart>,
    pub guests: Arc<Guests>,
    pub audience: Audience,
    pub retry: RetrySettings,
    pub compaction: cut::Settings,
    pub steering: Delivery,
    pub follow_up: Delivery,
    pub storage: Storage,
    pub now: fn() -> Moment,
}

/// Where a conversation is kept.
pub enum Storage {
    File(Box<Opened>),
    /// Nowhere; it is gone with the session.
    Memory,
}

/// Makes a session, which runs from here on. Needs a tokio runtime.
pub fn start(blueprint: Blueprint) -> io::Result<Session> {
    let (letters, received) = mpsc::channel::<Letter>(LETTERS);
    let (emit, heard) = mpsc::unbounded_channel::<AgentEvent>();
    let (scribe, tree, reader) = match blueprint.storage {
        Storage::File(opened) => (Scribe::on_disk(opened.log)?, opened.tree, Some(Arc::new(opened.reader))),
        Storage::Memory => (Scribe::in_memory()?, Tree::new(Destination::Memory, fastrand::Rng::new()), None),
    };
    let questions = questions(blueprint.audience, &blueprint.id, emit);
    let parts = Parts {
        session: blueprint.id,
        models: blueprint.models,
        guests: blueprint.guests,
        questions,
        redactor: blueprint.redactor,
        archive: Archive::start(reader.as_ref().map(|reader| reader.path().to_owned()))?,
        reader,
        requests: std::sync::atomic::AtomicU64::new(0),
        now: blueprint.now,
    };
    let guest_tools = parts.guests.tools();
    let mut mailbox = Mailbox {
        parts: Arc::new(parts),
        tree,
        scribe,
        policy: blueprint.policy,
        thinking: blueprint.choice.clamp(blueprint.thinking),
        choice: blueprint.choice,
        retry: blueprint.retry,
        compaction: blueprint.compaction,
        queues: Queues::new(blueprint.steering, blueprint.follow_up),
        tools: Equipment::new(blueprint.tools, guest_tools, blueprint.active_tools, blueprint.workspace),
        system: blueprint.system.into(),
        running: None,
        is_closing: false,
        asides: JoinSet::new(),
        errands: CancellationToken::new(),
        ran: Vec::new(),
        letters: letters.downgrade(),
    };
    mailbox.begin();
    // Its owner is whoever holds the handle: it ends when the last one is dropped or somebody closes it.
    tokio::spawn(mailbox.work(received, heard));
    Ok(Session::new(letters))
}

fn questions(audience: Audience, session: &SessionId, emit: mpsc::UnboundedSender<AgentEvent>) -> Questions {
    let session = session.clone();
    let counter = std::sync::atomic::AtomicU64::new(0);
    let ids = move || {
        let number = counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        RequestId::from(format!("{session}-q{number}"))
    };
    // A session that is gone has nobody left to be told.
    Questions::new(audience, ids, move |event| drop(emit.send(event)))
}
