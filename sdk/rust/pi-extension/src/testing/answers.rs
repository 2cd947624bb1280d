//! How the host of a test answers each call.

use std::collections::BTreeMap;

use super::{TestHost, TestStream, fault};
use crate::{
    Channel, Command, CommandInfo, CommandOutput, Completion, ContentBlock, Credential, Delivery, DirectoryEntry,
    EntrySelection, ErrorCode, Exit, FieldAnswer, FileInfo, FileKind, ForkPoint, FormField, Host, HostError,
    HostToolOutput, Level, ModelInfo, Navigation, NoticeLevel, OwnMessage, Piece, Placement, Request, Response,
    SessionState, StreamEnd, StreamItem, ThinkingLevel, ToolInfo, WriteMode,
};

/// A path without `./` at its beginning, and empty for the project itself.
fn plain(path: &str) -> &str {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    if path == "." { "" } else { path }
}

fn missing(what: impl std::fmt::Display) -> HostError {
    fault(ErrorCode::Io, format!("ENOENT: {what}"))
}

/// Contents in few words.
fn shown(content: &[ContentBlock]) -> String {
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.clone(),
        ContentBlock::Image(image) => format!("[{}]", image.mime_type),
    };
    content.iter().map(text).collect::<Vec<_>>().join("|")
}

impl TestHost {
    fn printed(&self, command: &Command) -> Result<Vec<u8>, HostError> {
        self.ask("exec", format!("{} {}", command.command, command.args.join(" ")))?;
        let prints = self.programs.get(&command.command).ok_or_else(|| missing(&command.command))?;
        Ok(prints.clone().into_bytes())
    }

    fn answered(&self, request: &Request) -> Result<Response, HostError> {
        self.ask("http", format!("{} {}", request.method, request.url))?;
        let none = || fault(ErrorCode::Io, format!("this test has no page {}", request.url));
        self.pages.get(&request.url).cloned().ok_or_else(none)
    }

    fn question(&self, kind: &str, title: &str) -> Result<Option<String>, HostError> {
        self.ask("ui", format!("{kind} {title}"))?;
        Ok(self.answers.get(title).cloned())
    }
}

const DONE: Exit = Exit { code: Some(0), killed: false };

impl Host for TestHost {
    type Stream = TestStream;

    fn read(&self, path: &str) -> Result<Vec<u8>, HostError> {
        self.ask("fs", format!("read {path}"))?;
        self.files.borrow().get(plain(path)).cloned().ok_or_else(|| missing(path))
    }

    fn read_part(&self, path: &str, offset: u64, limit: u64) -> Result<Vec<u8>, HostError> {
        let bytes = self.read(path)?;
        let place = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        Ok(bytes.into_iter().skip(place(offset)).take(place(limit)).collect())
    }

    fn list(&self, path: &str) -> Result<Vec<DirectoryEntry>, HostError> {
        self.ask("fs", format!("list {path}"))?;
        let folder = plain(path);
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut entries = BTreeMap::new();
        for file in self.files.borrow().keys() {
            if let Some(rest) = file.strip_prefix(&prefix) {
                match rest.split_once('/') {
                    Some((folder, _)) => entries.insert(folder.to_owned(), FileKind::Directory),
                    None => entries.insert(rest.to_owned(), FileKind::File),
                };
            }
        }
        match entries.is_empty() && !folder.is_empty() {
            true => Err(missing(path)),
            false => Ok(entries.into_iter().map(|(name, kind)| DirectoryEntry { name, kind }).collect()),
        }
    }

    fn stat(&self, path: &str) -> Result<Option<FileInfo>, HostError> {
        self.ask("fs", format!("stat {path}"))?;
        let files = self.files.borrow();
        let path = plain(path);
        let info = |kind, size| FileInfo { kind, size, modified_ms: None, mode: None };
        if let Some(bytes) = files.get(path) {
            return Ok(Some(info(FileKind::File, bytes.len() as u64)));
        }
        let is_folder = path.is_empty() || files.keys().any(|file| file.starts_with(&format!("{path}/")));
        Ok(is_folder.then(|| info(FileKind::Directory, 0)))
    }

    fn stat_link(&self, path: &str) -> Result<Option<FileInfo>, HostError> {
        self.stat(path)
    }

    fn resolve(&self, path: &str) -> Result<String, HostError> {
        self.ask("fs", format!("resolve {path}"))?;
        Ok(format!("/project/{}", plain(path)).trim_end_matches('/').to_owned())
    }

    fn write(&self, path: &str, content: &[u8], mode: WriteMode) -> Result<(), HostError> {
        self.ask("fs", format!("write {path}"))?;
        let mut files = self.files.borrow_mut();
        if mode == WriteMode::CreateNew && files.contains_key(plain(path)) {
            return Err(fault(ErrorCode::Io, format!("EEXIST: {path}")));
        }
        files.insert(plain(path).to_owned(), content.to_vec());
        Ok(())
    }

    fn append(&self, path: &str, content: &[u8]) -> Result<(), HostError> {
        self.ask("fs", format!("append {path}"))?;
        self.files.borrow_mut().entry(plain(path).to_owned()).or_default().extend_from_slice(content);
        Ok(())
    }

    /// Folders are there as soon as there is a file in them.
    fn make_directory(&self, path: &str) -> Result<(), HostError> {
        self.ask("fs", format!("make-directory {path}"))
    }

    fn make_directories(&self, path: &str) -> Result<(), HostError> {
        self.ask("fs", format!("make-directory {path}"))
    }

    fn make_temporary(&self, prefix: &str) -> Result<String, HostError> {
        self.ask("fs", format!("make-temporary {prefix}"))?;
        Ok(format!("/tmp/{prefix}test"))
    }

    fn remove(&self, path: &str) -> Result<(), HostError> {
        self.ask("fs", format!("remove {path}"))?;
        self.files.borrow_mut().remove(plain(path)).map(drop).ok_or_else(|| missing(path))
    }

    fn remove_all(&self, path: &str) -> Result<(), HostError> {
        self.ask("fs", format!("remove {path}"))?;
        let (path, inside) = (plain(path), format!("{}/", plain(path)));
        self.files.borrow_mut().retain(|file, _| file != path && !file.starts_with(&inside));
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), HostError> {
        self.ask("fs", format!("rename {from} {to}"))?;
        let mut files = self.files.borrow_mut();
        let content = files.remove(plain(from)).ok_or_else(|| missing(from))?;
        files.insert(plain(to).to_owned(), content);
        Ok(())
    }

    fn set_mode(&self, path: &str, mode: u32) -> Result<(), HostError> {
        self.ask("fs", format!("set-mode {path} {mode:o}"))
    }

    fn run(&self, command: &Command) -> Result<CommandOutput, HostError> {
        let stdout = self.printed(command)?;
        Ok(CommandOutput { stdout, stderr: Vec::new(), exit: DONE, truncated: false })
    }

    fn start(&self, command: &Command) -> Result<TestStream, HostError> {
        let piece = Piece { channel: Channel::Stdout, data: self.printed(command)? };
        let end = StreamEnd { exit: Some(DONE), truncated: false };
        Ok(TestStream::new(vec![StreamItem::Piece(piece), StreamItem::End(end)]))
    }

    fn fetch(&self, request: &Request) -> Result<Response, HostError> {
        self.answered(request)
    }

    fn open(&self, request: &Request) -> Result<TestStream, HostError> {
        let Response { head, body } = self.answered(request)?;
        let piece = Piece { channel: Channel::Body, data: body };
        let end = StreamEnd { exit: None, truncated: false };
        Ok(TestStream::new(vec![StreamItem::Head(head), StreamItem::Piece(piece), StreamItem::End(end)]))
    }

    fn use_tool(&self, name: &str, input: &str) -> Result<HostToolOutput, HostError> {
        self.ask("tool", format!("{name} {input}"))?;
        let none = || fault(ErrorCode::InvalidRequest, format!("there is no tool {name}"));
        self.tools.get(name).cloned().ok_or_else(none)
    }

    fn session_state(&self) -> Result<SessionState, HostError> {
        self.ask("session", "state".to_owned())?;
        Ok(self.state.borrow().clone())
    }

    fn system_prompt(&self) -> Result<String, HostError> {
        self.ask("session", "system-prompt".to_owned())?;
        Ok(self.system_prompt.clone())
    }

    fn session_header(&self) -> Result<String, HostError> {
        self.ask("session", "header".to_owned())?;
        Ok(r#"{"type":"session","version":3,"id":"test","cwd":"/project"}"#.to_owned())
    }

    fn entries(&self, _: EntrySelection) -> Result<Vec<String>, HostError> {
        self.ask("session", "entries".to_owned())?;
        Ok(self.entries.borrow().clone())
    }

    fn entry(&self, id: &str) -> Result<Option<String>, HostError> {
        self.ask("session", format!("entry {id}"))?;
        let is_it = |entry: &&String| {
            let entry: Option<serde_json::Value> = serde_json::from_str(entry).ok();
            entry.is_some_and(|entry| entry["id"] == id)
        };
        Ok(self.entries.borrow().iter().find(is_it).cloned())
    }

    fn label(&self, entry: &str) -> Result<Option<String>, HostError> {
        self.ask("session", format!("label {entry}"))?;
        Ok(self.labels.borrow().get(entry).cloned())
    }

    fn tools(&self) -> Result<Vec<ToolInfo>, HostError> {
        self.ask("session", "tools".to_owned())?;
        let tool = |name: &String| ToolInfo {
            name: name.clone(),
            description: String::new(),
            parameters: r#"{"type":"object"}"#.to_owned(),
            is_active: true,
            source: None,
        };
        Ok(self.tools.keys().map(tool).collect())
    }

    fn commands(&self) -> Result<Vec<CommandInfo>, HostError> {
        self.ask("session", "commands".to_owned())?;
        Ok(Vec::new())
    }

    fn models(&self) -> Result<Vec<ModelInfo>, HostError> {
        self.ask("session", "models".to_owned())?;
        Ok(Vec::new())
    }

    fn append_entry(&self, custom_type: &str, data: Option<&str>) -> Result<String, HostError> {
        self.ask("session", format!("append-entry {custom_type} {}", data.unwrap_or_default()))?;
        let mut entries = self.entries.borrow_mut();
        let id = format!("own-{}", entries.len());
        let data: serde_json::Value = data.and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
        let entry = serde_json::json!({ "type": "custom", "id": id, "customType": custom_type, "data": data });
        entries.push(entry.to_string());
        Ok(id)
    }

    fn send_message(&self, message: &OwnMessage) -> Result<(), HostError> {
        self.ask("session", format!("send-message {} {}", message.custom_type, shown(&message.content)))
    }

    fn send_user_message(&self, content: &[ContentBlock], _: Delivery) -> Result<(), HostError> {
        self.ask("session", format!("send-user-message {}", shown(content)))
    }

    fn send_prompt(&self, content: &[ContentBlock], _: Delivery) -> Result<(), HostError> {
        self.ask("session", format!("send-prompt {}", shown(content)))
    }

    fn set_name(&self, name: &str) -> Result<(), HostError> {
        self.ask("session", format!("set-name {name}"))?;
        self.state.borrow_mut().name = Some(name.to_owned());
        Ok(())
    }

    fn set_label(&self, entry: &str, label: Option<&str>) -> Result<(), HostError> {
        self.ask("session", format!("set-label {entry} {}", label.unwrap_or_default()))?;
        let mut labels = self.labels.borrow_mut();
        match label {
            Some(label) => drop(labels.insert(entry.to_owned(), label.to_owned())),
            None => drop(labels.remove(entry)),
        }
        Ok(())
    }

    fn set_active_tools(&self, names: &[String]) -> Result<(), HostError> {
        self.ask("session", format!("set-active-tools {}", names.join(" ")))
    }

    /// There is a key for a provider whose key was prepared.
    fn set_model(&self, provider: &str, model: &str) -> Result<bool, HostError> {
        self.ask("session", format!("set-model {provider} {model}"))?;
        Ok(self.keys.contains_key(provider))
    }

    fn set_thinking_level(&self, level: ThinkingLevel) -> Result<ThinkingLevel, HostError> {
        self.ask("session", format!("set-thinking-level {level:?}"))?;
        self.state.borrow_mut().thinking_level = level;
        Ok(level)
    }

    fn complete(&self, completion: &Completion) -> Result<String, HostError> {
        self.ask("session", format!("complete {}", completion.messages.join("|")))?;
        let none = || fault(ErrorCode::Io, "this test has no further answer of a model");
        self.completions.borrow_mut().pop_front().ok_or_else(none)
    }

    fn compact(&self, instructions: Option<&str>) -> Result<String, HostError> {
        self.ask("session", format!("compact {}", instructions.unwrap_or_default()))?;
        Ok("{}".to_owned())
    }

    fn abort(&self) -> Result<(), HostError> {
        self.ask("session", "abort".to_owned())
    }

    fn registration_changed(&self) -> Result<(), HostError> {
        self.ask("session", "registration-changed".to_owned())
    }

    fn quit(&self) -> Result<(), HostError> {
        self.ask("session", "quit".to_owned())
    }

    fn wait_for_idle(&self) -> Result<(), HostError> {
        self.ask("session", "wait-for-idle".to_owned())
    }

    fn new_session(&self, parent: Option<&str>) -> Result<bool, HostError> {
        self.ask("session", format!("new-session {}", parent.unwrap_or_default())).map(|()| true)
    }

    fn fork(&self, entry: &str, position: ForkPoint) -> Result<bool, HostError> {
        self.ask("session", format!("fork {entry} {position:?}")).map(|()| true)
    }

    fn navigate(&self, navigation: &Navigation) -> Result<bool, HostError> {
        self.ask("session", format!("navigate {}", navigation.entry)).map(|()| true)
    }

    fn switch_session(&self, path: &str) -> Result<bool, HostError> {
        self.ask("session", format!("switch-session {path}")).map(|()| true)
    }

    fn reload(&self) -> Result<bool, HostError> {
        self.ask("session", "reload".to_owned()).map(|()| true)
    }

    fn notify(&self, message: &str, _: NoticeLevel) -> Result<(), HostError> {
        self.ask("ui", format!("notify {message}"))
    }

    fn confirm(&self, title: &str, message: &str) -> Result<bool, HostError> {
        self.ask("ui", format!("confirm {title}: {message}"))?;
        Ok(self.consents)
    }

    fn confirm_within(&self, title: &str, message: &str, _: u64) -> Result<bool, HostError> {
        self.confirm(title, message)
    }

    /// An answer that is no option is none.
    fn select(&self, title: &str, options: &[String], _: Option<u64>) -> Result<Option<String>, HostError> {
        Ok(self.question("select", title)?.filter(|answer| options.contains(answer)))
    }

    fn input(&self, title: &str, _: Option<&str>, _: Option<u64>) -> Result<Option<String>, HostError> {
        self.question("input", title)
    }

    fn editor(&self, title: &str, _: Option<&str>, _: Option<u64>) -> Result<Option<String>, HostError> {
        self.question("editor", title)
    }

    fn interview(
        &self,
        title: Option<&str>,
        _: &[FormField],
        _: Option<u64>,
    ) -> Result<Option<Vec<(String, FieldAnswer)>>, HostError> {
        let title = title.unwrap_or_default();
        self.ask("ui", format!("interview {title}"))?;
        Ok(self.forms.get(title).cloned())
    }

    fn set_status(&self, key: &str, text: Option<&str>) -> Result<(), HostError> {
        self.ask("ui", format!("set-status {key} {}", text.unwrap_or_default()))
    }

    fn set_widget(&self, key: &str, lines: Option<&[String]>, _: Placement) -> Result<(), HostError> {
        self.ask("ui", format!("set-widget {key} {}", lines.unwrap_or_default().join("|")))
    }

    fn set_title(&self, title: &str) -> Result<(), HostError> {
        self.ask("ui", format!("set-title {title}"))
    }

    fn set_working_message(&self, text: Option<&str>) -> Result<(), HostError> {
        self.ask("ui", format!("set-working-message {}", text.unwrap_or_default()))
    }

    fn set_editor_text(&self, text: &str) -> Result<(), HostError> {
        self.ask("ui", format!("set-editor-text {text}"))?;
        *self.editor.borrow_mut() = Some(text.to_owned());
        Ok(())
    }

    fn editor_text(&self) -> Result<Option<String>, HostError> {
        self.ask("ui", "editor-text".to_owned())?;
        Ok(self.editor.borrow().clone())
    }

    fn emit(&self, channel: &str, data: &str) -> Result<(), HostError> {
        self.ask("events", format!("emit {channel} {data}"))
    }

    fn subscribe(&self, channel: &str) -> Result<(), HostError> {
        self.ask("events", format!("subscribe {channel}"))
    }

    fn unsubscribe(&self, channel: &str) -> Result<(), HostError> {
        self.ask("events", format!("unsubscribe {channel}"))
    }

    fn tool_update(&self, call_id: &str, content: &[ContentBlock], _: Option<&str>) -> Result<(), HostError> {
        self.ask("events", format!("tool-update {call_id} {}", shown(content)))
    }

    fn variable(&self, name: &str) -> Result<Option<String>, HostError> {
        self.ask("env", name.to_owned())?;
        Ok(self.variables.get(name).cloned())
    }

    fn variables(&self) -> Result<Vec<String>, HostError> {
        self.ask("env", "list".to_owned())?;
        Ok(self.variables.keys().cloned().collect())
    }

    fn credential(&self, provider: &str) -> Result<Credential, HostError> {
        self.ask("credentials", provider.to_owned())?;
        let none = || fault(ErrorCode::Io, format!("there is no key for {provider}"));
        self.keys.get(provider).cloned().ok_or_else(none)
    }

    fn log(&self, _: Level, event: &str, message: &str) -> Result<(), HostError> {
        self.ask("log", format!("{event} {message}"))
    }

    fn log_with(&self, _: Level, event: &str, message: &str, data: &str) -> Result<(), HostError> {
        self.ask("log", format!("{event} {message} {data}"))
    }
}
