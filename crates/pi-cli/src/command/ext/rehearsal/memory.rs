//! How the conversation of a rehearsal stands.

use std::sync::Arc;

use pi_exthost::port::{Mode, ModelInfo, SessionState, ToolInfo};
use pi_extproto::{Object, connector::tool::ToolDefinition};
use pi_transcript::{
    Entry, EntryId, Message, ModelId, ProviderId, SessionId, ThinkingLevel, event::CompactionResult,
    message::AssistantMessage, question::Announcement,
};
use serde_json::{Value, json};

use super::{BEGAN, Person, Scene};

/// All that can change, and the scene that does not.
pub(super) struct Memory {
    pub(super) id: SessionId,
    directory: String,
    is_trusted: bool,
    scene: Option<Scene>,
    pub(super) person: Person,
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) name: Option<String>,
    pub(super) thinking_level: ThinkingLevel,
    pub(super) editor: Option<String>,
    chosen: Option<Chosen>,
}

/// Which tools an extension wanted, and which there were then: those that come later are active.
struct Chosen {
    names: Vec<String>,
    known: Vec<String>,
}

impl Memory {
    pub(super) fn new(id: &str, directory: String, is_trusted: bool, mut scene: Option<Scene>) -> Self {
        let entries = scene.as_mut().map(|scene| std::mem::take(&mut scene.entries)).unwrap_or_default();
        Self {
            id: SessionId::from(id),
            directory,
            is_trusted,
            scene,
            person: Person::Nobody,
            entries: entries.into_iter().map(Arc::new).collect(),
            name: None,
            thinking_level: ThinkingLevel::Off,
            editor: None,
            chosen: None,
        }
    }

    /// Whether there is no scene: then nothing that needs a session is done.
    pub(super) fn is_alone(&self) -> bool {
        self.scene.is_none()
    }

    pub(super) fn state(&self) -> SessionState {
        SessionState {
            session_id: self.id.clone(),
            file: None,
            folder: None,
            name: self.name.clone(),
            leaf_id: self.leaf(),
            cwd: self.directory.clone(),
            model: self.scene.as_ref().map(|scene| scene.model.clone()),
            thinking_level: self.thinking_level,
            is_idle: true,
            has_pending_messages: false,
            mode: if self.person.is_there() { Mode::Terminal } else { Mode::Print },
            is_project_trusted: self.is_trusted,
            context_usage: self.scene.as_ref().map(|scene| scene.context_usage.clone()),
        }
    }

    pub(super) fn system_prompt(&self) -> String {
        self.scene.as_ref().map(|scene| scene.system_prompt.clone()).unwrap_or_default()
    }

    pub(super) fn models(&self) -> Vec<ModelInfo> {
        self.scene.iter().map(|scene| ModelInfo { model: scene.model.clone(), is_usable: true }).collect()
    }

    pub(super) fn has_model(&self, provider: &ProviderId, model: &ModelId) -> bool {
        self.models().iter().any(|known| known.model.provider == *provider && known.model.id == *model)
    }

    /// What an extension asked a model for.
    pub(super) fn completed(&self) -> Option<Box<AssistantMessage>> {
        let Scene { model, completion, .. } = self.scene.as_ref()?;
        let message = json!({
            "role": "assistant", "content": [{ "type": "text", "text": completion }], "api": model.api,
            "provider": model.provider, "model": model.id, "stopReason": "stop", "timestamp": 0,
            "usage": { "input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } },
        });
        match serde_json::from_value(message) {
            Ok(Message::Assistant(message)) => Some(message),
            other => unreachable!("this is the message of an assistant: {other:?}"),
        }
    }

    pub(super) fn compacted(&self) -> Option<CompactionResult> {
        let Scene { completion, .. } = self.scene.as_ref()?;
        Some(CompactionResult {
            summary: completion.clone(),
            first_kept_entry_id: self.leaf().unwrap_or_else(|| EntryId::from("00000000")),
            tokens_before: 1000,
            details: None,
            estimated_tokens_after: None,
            usage: None,
        })
    }

    /// All tools, in the order in which they came to be.
    pub(super) fn tools(&self, offered: Vec<ToolInfo>) -> Vec<ToolInfo> {
        let own = self.scene.iter().flat_map(|scene| &scene.tools);
        let own = own.filter(|prop| offered.iter().all(|tool| tool.definition.name != prop.name));
        let own = own.map(|prop| ToolInfo { definition: bare(&prop.name), is_active: prop.is_active, source: None });
        let mut tools: Vec<ToolInfo> = own.collect();
        tools.extend(offered);
        if let Some(chosen) = &self.chosen {
            for tool in &mut tools {
                let name = &tool.definition.name;
                tool.is_active = chosen.names.contains(name) || !chosen.known.contains(name);
            }
        }
        tools
    }

    pub(super) fn choose_tools(&mut self, names: Vec<String>, known: Vec<String>) {
        self.chosen = Some(Chosen { names, known });
    }

    /// Adds an entry that has no id yet.
    pub(super) fn append(&mut self, mut members: Value) -> EntryId {
        let id = format!("ee{:06}", self.entries.len());
        members["id"] = json!(id);
        members["parentId"] = json!(self.leaf());
        members["timestamp"] = json!(BEGAN);
        if let Value::Object(members) = &mut members {
            members.retain(|name, value| name == "parentId" || !value.is_null());
        }
        let entry = serde_json::from_value(members).expect("an entry with an id is an entry");
        self.entries.push(Arc::new(entry));
        EntryId::from(id.as_str())
    }

    pub(super) fn entry(&self, id: &EntryId) -> Option<Arc<Entry>> {
        self.entries.iter().find(|entry| entry.id() == id).cloned()
    }

    pub(super) fn label(&self, id: &EntryId) -> Option<String> {
        let newest = self.entries.iter().rev().find_map(|entry| {
            if let Entry::Label(label) = &**entry { (label.target_id == *id).then_some(label) } else { None }
        })?;
        newest.label.clone()
    }

    /// From the root to the newest entry.
    pub(super) fn branch(&self) -> Vec<Arc<Entry>> {
        let mut path = Vec::new();
        let mut next = self.entries.last().cloned();
        while let Some(entry) = next {
            next = entry.parent_id().and_then(|id| self.entry(id));
            path.push(entry);
        }
        path.reverse();
        path
    }

    /// What stays of something that was only shown.
    pub(super) fn hear(&mut self, announcement: Announcement) {
        if let Announcement::SetEditorText { text, inserted } = announcement {
            // Nobody moves a cursor there.
            let pasted = inserted.map(|inserted| self.editor.take().unwrap_or_default() + &inserted);
            self.editor = Some(pasted.unwrap_or(text));
        }
    }

    fn leaf(&self) -> Option<EntryId> {
        self.entries.last().map(|entry| entry.id().clone())
    }
}

/// A tool of which only the name matters.
fn bare(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        label: None,
        description: name.to_owned(),
        parameters: Object::new(),
        prompt_snippet: None,
        execution_mode: None,
    }
}
