//! What can be seen of a session: what the model was given, what fills its window, what waits, which files there are.

use std::{path::PathBuf, sync::Arc};

use pi_engine::Change;
use pi_session::{
    Session, SessionGone, Switch, directory,
    input::complete,
    listing::{ContextKind, ContextSource, ListedTool as Weighed, Node, Outline, ReadingError, SourceError},
    queue::{self, EditError, ItemId, When},
    resources::{Scope, Skill, SourceId},
    sidecar::Listed,
};
use pi_transcript::{RequestId, SessionId, SessionStats};
use pi_wire::{
    Data, Error, SessionCommand,
    command::{EditQueue, Extended, GetStrip, ListFiles, ListRequests, QueueEdit, SetContextSource, StreamingBehavior},
    error::Missing,
    id::{ContextSourceId, ModelRequestId, QueueItemId},
    limits,
    response::{
        ContextSource as ToldSource, ContextSourceKind, ContextSourceList, EntryTree, FileKind, FileList, KeptEnvelope,
        KeptStrip, ListedFile, ListedTool, ModelRequest, ModelRequestList, Queue, QueueItem, SessionFile,
        SessionFileList, Skill as ToldSkill, SkillList, ToolList, TreeNode,
    },
};
use tokio::task::spawn_blocking;

use super::{Hall, Outcome, Undone, told};
use crate::room::Room;

/// Entries of a tree that are shown at most.
pub(super) const MOST_ENTRIES: usize = 10_000;
/// Files of a completion if nobody says how many.
const USUAL_FILES: usize = 50;

impl Hall {
    pub(super) async fn survey(
        &self,
        room: &Arc<Room>,
        session: &Session,
        command: SessionCommand,
    ) -> Result<Outcome, SessionGone> {
        Ok(match command {
            SessionCommand::GetSkills(_) => {
                let skills = session.skills().await?.into_iter().map(skill).collect();
                told(Data::GetSkills(SkillList { skills }))
            }
            SessionCommand::GetTools(_) => {
                let tools =
                    session.listed_tools().await?.into_iter().map(|Weighed { info, source, tokens }| ListedTool {
                        name: info.definition.name,
                        description: info.definition.description,
                        active: Some(info.is_active),
                        source: Some(info.source.unwrap_or_else(|| "builtin".to_owned())),
                        source_id: Some(ContextSourceId(source.to_string())),
                        tokens: Some(tokens),
                    });
                told(Data::GetTools(ToolList { tools: tools.collect() }))
            }
            SessionCommand::GetSessionStats(_) => match session.stats().await {
                Ok(stats) => told(Data::GetSessionStats(priced(stats))),
                Err(error) => Err(unread(room.id(), &error)),
            },
            SessionCommand::GetContextUsage(_) => told(Data::GetContextUsage(Some(session.context_usage().await?))),
            SessionCommand::GetTree(_) => match session.outline(MOST_ENTRIES).await {
                Ok(outline) => told(Data::GetTree(tree(outline))),
                Err(error) => Err(unread(room.id(), &error)),
            },
            SessionCommand::ListRequests(wanted) => match requests(&session.requests().await?, &wanted) {
                Ok(list) => told(Data::ListRequests(list)),
                Err(error) => Err(error.into()),
            },
            SessionCommand::GetEnvelope(wanted) => {
                match session.envelope(RequestId(wanted.request_id.0.clone())).await? {
                    Some(envelope) => told(Data::GetEnvelope(Box::new(KeptEnvelope {
                        request_id: wanted.request_id,
                        envelope: Arc::unwrap_or_clone(envelope),
                    }))),
                    None => Err(Error::NotFound(Missing::ModelRequest(wanted.request_id)).into()),
                }
            }
            SessionCommand::GetStrip(wanted) => strip(session, wanted).await?,
            SessionCommand::GetQueue(_) => told(Data::GetQueue(line(session.queue().await?))),
            SessionCommand::EditQueue(wanted) => edit_queue(session, wanted).await?,
            SessionCommand::ListContextSources(_) => {
                let sources = session.context_sources().await?.into_iter().map(source).collect();
                told(Data::ListContextSources(ContextSourceList { sources }))
            }
            SessionCommand::SetContextSource(wanted) => set_source(room.id(), session, wanted).await,
            SessionCommand::ListFiles(wanted) => match self.workplace(room) {
                Ok(cwd) => list_files(cwd, wanted).await,
                Err(error) => Err(error.into()),
            },
            SessionCommand::ListSessionFiles(_) => self.list_session_files(room).await,
            // Everything else was done before it came here.
            command => Err(Error::Internal { incident: format!("nobody does {}", command.kind().name()) }.into()),
        })
    }

    /// The session files of the folder in which the session works.
    async fn list_session_files(&self, room: &Room) -> Outcome {
        let cwd = room.berth().cwd;
        let files = self.stored().await?.into_iter().filter(|stored| stored.cwd == cwd);
        let file = |stored: directory::Stored| SessionFile {
            name: stored.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            path: stored.path.to_string_lossy().into_owned(),
            modified_at: Some(pi_session::tree::stamp_of(stored.modified)),
        };
        told(Data::ListSessionFiles(SessionFileList { files: files.map(file).collect() }))
    }
}

/// Of tokens without any price it is known that they cost nothing less than nothing.
pub(super) fn priced(stats: SessionStats) -> SessionStats {
    let is_unknown = stats.tokens.total > 0 && stats.cost.as_f64() <= 0.0;
    SessionStats { cost_at_least: stats.cost_at_least.or(is_unknown.then_some(true)), ..stats }
}

/// Why something could not be read, in the protocol's words.
pub(super) fn unread(id: &SessionId, error: &ReadingError) -> Undone {
    match error {
        ReadingError::NoEntry(missing) => Error::NotFound(Missing::Entry { id: missing.id.clone(), member: None }),
        ReadingError::File(fault) => Error::StorageUnreadable { reason: fault.to_string() },
        ReadingError::Gone(SessionGone) => Error::SessionNotFound(id.clone()),
    }
    .into()
}

fn skill(skill: Skill) -> ToldSkill {
    ToldSkill {
        name: skill.name,
        description: skill.description,
        file_path: skill.path.to_string_lossy().into_owned(),
        source: match skill.scope {
            Scope::Named => "path",
            Scope::Project => "project",
            Scope::User => "user",
            Scope::Extension => "extension",
        }
        .to_owned(),
    }
}

pub(super) fn tree(outline: Outline) -> EntryTree {
    let node = |node: Node| {
        let label = node.label;
        // What has no words is named by what it is.
        let text =
            if node.text.is_empty() { format!("[{}]", node.role.as_deref().unwrap_or(&node.kind)) } else { node.text };
        TreeNode {
            entry_id: node.entry,
            parent_id: node.parent,
            entry_type: node.kind,
            role: node.role,
            text,
            timestamp: Some(node.timestamp),
            label,
        }
    };
    EntryTree {
        current_leaf_id: outline.leaf,
        nodes: outline.nodes.into_iter().map(node).collect(),
        truncated: (outline.left_out > 0).then_some(true),
    }
}

/// What a bar of a request needs.
async fn strip(session: &Session, wanted: GetStrip) -> Result<Outcome, SessionGone> {
    let GetStrip { request_id, before } = wanted;
    let before = before.map(|before| RequestId(before.0));
    Ok(match session.strip(RequestId(request_id.0.clone()), before).await? {
        Some(strip) => told(Data::GetStrip(KeptStrip { request_id, strip })),
        None => Err(Error::NotFound(Missing::ModelRequest(request_id)).into()),
    })
}

/// The latest first.
pub(super) fn requests(listed: &[Listed], wanted: &ListRequests) -> Result<ModelRequestList, Error> {
    let limit = wanted.limit.unwrap_or(limits::PAGE);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let end = match &wanted.before {
        None => listed.len(),
        Some(before) => {
            let found = listed.iter().position(|it| it.request == before.0);
            found.ok_or_else(|| Error::NotFound(Missing::RequestBefore(before.clone())))?
        }
    };
    let earlier = &listed[..end];
    let has_more = earlier.len() > limit;
    let requests = earlier.iter().rev().take(limit).map(request).collect();
    Ok(ModelRequestList { requests, has_more })
}

fn request(listed: &Listed) -> ModelRequest {
    let asked = listed.asked.as_ref();
    ModelRequest {
        request_id: ModelRequestId(listed.request.clone()),
        time: listed.time,
        provider: asked.map_or_else(|| "unknown".into(), |asked| asked.provider.clone()),
        model: asked.map_or_else(|| "unknown".into(), |asked| asked.model.clone()),
        purpose: asked.map(|asked| asked.purpose).unwrap_or_default(),
        entry_id: Some(listed.entry.clone()).filter(|entry| !entry.as_str().is_empty()),
        tokens: listed.tokens,
        message_count: u64::try_from(listed.messages).unwrap_or(u64::MAX),
        usage: listed.usage.clone(),
    }
}

fn line(line: queue::Line) -> Queue {
    let item = |item: queue::Item| QueueItem {
        item_id: QueueItemId(item.id.to_string()),
        behavior: match item.when {
            When::Steer => StreamingBehavior::Steer,
            When::FollowUp => StreamingBehavior::FollowUp,
        },
        message: item.text,
        image_count: u64::try_from(item.images).unwrap_or(u64::MAX),
    };
    Queue { revision: line.revision, items: line.items.into_iter().map(item).collect() }
}

/// What waits, for a snapshot.
pub(crate) async fn queue_of(session: &Session) -> Result<Queue, SessionGone> {
    Ok(line(session.queue().await?))
}

async fn edit_queue(session: &Session, wanted: EditQueue) -> Result<Outcome, SessionGone> {
    let edit = |edit: Extended<QueueEdit>| queue::Edit {
        id: ItemId::from(edit.known.item_id.as_str()),
        text: edit.known.message,
        when: edit.known.behavior.map(super::steer::when),
    };
    let edits = wanted.items.into_iter().map(edit).collect();
    Ok(match session.edit_queue(wanted.revision, edits).await? {
        Ok(edited) => told(Data::EditQueue(line(edited))),
        Err(EditError::Changed { expected, actual }) => Err(Error::QueueChanged { expected, actual }.into()),
        Err(error @ EditError::Unwritten { .. }) => {
            Err(Undone { error: Error::StorageFailed { reason: error.to_string() }, change: Change::Altered })
        }
        Err(error @ (EditError::NoItem { .. } | EditError::Twice { .. })) => {
            Err(Error::Refused { reason: error.to_string() }.into())
        }
    })
}

fn source(source: ContextSource) -> ToldSource {
    ToldSource {
        source_id: ContextSourceId(source.id.to_string()),
        kind: match source.kind {
            ContextKind::Skill => ContextSourceKind::Skill,
            ContextKind::Memory => ContextSourceKind::Memory,
            ContextKind::Tools => ContextSourceKind::Tools,
        },
        name: source.name,
        path: source.path.map(|path| path.to_string_lossy().into_owned()),
        enabled: source.switch == Switch::On,
        tokens: Some(source.tokens),
    }
}

async fn set_source(id: &SessionId, session: &Session, wanted: SetContextSource) -> Outcome {
    let switch = crate::room::switch(wanted.enabled);
    match session.set_context_source(SourceId::from(wanted.source_id.as_str()), switch).await {
        Ok(switched) => told(Data::SetContextSource(source(switched))),
        Err(SourceError::Unknown { .. }) => Err(Error::NotFound(Missing::ContextSource(wanted.source_id)).into()),
        Err(SourceError::Gone(SessionGone)) => Err(Error::SessionNotFound(id.clone()).into()),
    }
}

async fn list_files(cwd: PathBuf, wanted: ListFiles) -> Outcome {
    let limit = wanted.limit.map_or(USUAL_FILES, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let query = wanted.query.unwrap_or_default();
    let found = spawn_blocking(move || complete::files_exactly(&cwd, &query, limit, &|| false)).await;
    let listing = found.map_err(|panic| Error::Internal { incident: panic.to_string() })?;
    let listing = listing.map_err(|error| Error::Refused { reason: error.to_string() })?;
    let kind = |is_folder: bool| if is_folder { FileKind::Directory } else { FileKind::File };
    let files = listing.files.into_iter().map(|file| ListedFile { path: file.path, kind: kind(file.is_folder) });
    told(Data::ListFiles(FileList { files: files.collect(), truncated: listing.is_cut }))
}
