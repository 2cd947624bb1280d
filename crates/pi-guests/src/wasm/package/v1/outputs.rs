//! What passes between a guest and the connectors, beside the calls themselves.

use pi_extproto::{
    connector::{
        data, environment, exec as ours_exec, fs as ours_fs, http as ours_http, session as ours_session,
        stream as ours_stream, tool as ours_tool, ui as ours_ui,
    },
    host,
    log::Level,
};
use pi_transcript::ThinkingLevel;

use super::{
    bindings::pi::extension::{credentials, exec, fs, http, session, streams, tool, types, ui},
    carry::{Lift, Lower, NotJson, lift, lower},
};

impl Lower<types::HostError> for host::HostError {
    fn lower(self) -> types::HostError {
        let Self { code, message, details, retryable, extra: _ } = self;
        types::HostError { code: code.lower(), message, details: details.lower(), retryable }
    }
}

lower! {
    words host::ErrorCode => types::ErrorCode { Timeout, Denied, Io, InvalidRequest, Internal }
    words ThinkingLevel => session::ThinkingLevel { Off, Minimal, Low, Medium, High, Xhigh, Max }
    words ours_session::SessionMode => session::SessionMode { Terminal, Server, Json, Print }
    words ours_session::CommandSource => session::CommandSource { BuiltIn, Extension, Prompt, Skill }
    words ours_fs::FileKind => fs::FileKind { File, Directory, Link, Other }
    words ours_stream::Channel => streams::Channel { Stdout, Stderr, Body }
}

lift! {
    words session::ThinkingLevel => ThinkingLevel { Off, Minimal, Low, Medium, High, Xhigh, Max }
    words session::Delivery => ours_session::Delivery { Steer, FollowUp, NextTurn }
    words session::EntrySelection => ours_session::EntrySelection { All, Branch }
    words session::ForkPoint => ours_session::ForkPoint { Before, At }
    words fs::WriteMode => ours_fs::WriteMode { Replace, CreateNew }
    words ui::NoticeLevel => ours_ui::NoticeLevel { Info, Warning, Error }
    words ui::Placement => ours_ui::Placement { AboveEditor, BelowEditor }
    words types::Level => Level { Debug, Info, Warn, Error }
}

lower! {
    record ours_tool::ToolOutput => types::ToolOutput { content, details }
    record ours_exec::CommandOutput => exec::CommandOutput { stdout, stderr, exit, truncated }
    record ours_fs::DirectoryEntry => fs::DirectoryEntry { name, kind }
    record ours_fs::FileInfo => fs::FileInfo { kind, size, modified_ms, mode }
    record ours_http::Header => types::Header { name, value }
    record ours_http::ResponseHead => streams::ResponseHead { status, url, headers }
    record ours_http::Response => http::Response { head, body }
    record ours_stream::Piece => streams::Piece { channel, data }
    record ours_stream::StreamEnd => streams::StreamEnd { exit, truncated }
    record ours_session::ModelName => session::ModelName { provider, model }
    record ours_session::ContextUsage => session::ContextUsage { tokens, context_window }
    record ours_session::SessionState => session::SessionState {
        session_id, file, folder, name, leaf_id, cwd, model, model_info, thinking_level, is_idle, has_pending_messages,
        mode, has_ui, is_project_trusted, context_usage,
    }
    record ours_session::ToolInfo => session::ToolInfo { name, description, parameters, is_active, source }
    record ours_session::CommandInfo => session::CommandInfo { name, description, source, path }
    record ours_session::ModelInfo => session::ModelInfo { provider, model, is_usable, info }
    record environment::Credential => credentials::Credential { api_key, headers }
}

lift! {
    record types::ToolOutput => ours_tool::ToolOutput { content, details }
    record types::Header => ours_http::Header { name, value }
    record session::ModelName => ours_session::ModelName { provider, model }
    record ui::OpenField => ours_ui::OpenField { id, label, required }
    record ui::ChoiceField => ours_ui::ChoiceField { id, label, options, required }
}

impl Lower<types::ImageBlock> for ours_tool::ImageBlock {
    fn lower(self) -> types::ImageBlock {
        // Whoever wrote it knows what is in it; what is no base64 arrives as no bytes.
        types::ImageBlock { data: data::decode(&self.data).unwrap_or_default(), mime_type: self.mime_type }
    }
}

impl Lift<ours_tool::ImageBlock> for types::ImageBlock {
    fn lift(self) -> Result<ours_tool::ImageBlock, NotJson> {
        Ok(ours_tool::ImageBlock { data: data::encode(&self.data), mime_type: self.mime_type })
    }
}

impl Lower<types::ContentBlock> for ours_tool::ContentBlock {
    fn lower(self) -> types::ContentBlock {
        match self {
            Self::Text(block) => types::ContentBlock::Text(block.text),
            Self::Image(block) => types::ContentBlock::Image(block.lower()),
        }
    }
}

/// Components say everything in parts.
impl Lift<ours_tool::Content> for Vec<types::ContentBlock> {
    fn lift(self) -> Result<ours_tool::Content, NotJson> {
        Ok(ours_tool::Content::Blocks(self.lift()?))
    }
}

impl Lift<ours_tool::ContentBlock> for types::ContentBlock {
    fn lift(self) -> Result<ours_tool::ContentBlock, NotJson> {
        Ok(match self {
            Self::Text(text) => ours_tool::ContentBlock::Text(ours_tool::TextBlock { text }),
            Self::Image(block) => ours_tool::ContentBlock::Image(block.lift()?),
        })
    }
}

impl Lower<tool::HostToolOutput> for ours_tool::HostToolOutput {
    fn lower(self) -> tool::HostToolOutput {
        let Self { output: ours_tool::ToolOutput { content, details }, is_error } = self;
        tool::HostToolOutput { content: content.lower(), details: details.lower(), is_error }
    }
}

impl Lower<streams::Exit> for ours_exec::Exit {
    fn lower(self) -> streams::Exit {
        let Self { code, signal: _, killed } = self;
        streams::Exit { code, killed }
    }
}

impl Lower<streams::StreamItem> for ours_stream::StreamItem {
    fn lower(self) -> streams::StreamItem {
        match self {
            Self::Head(head) => streams::StreamItem::Head(head.lower()),
            Self::Piece(piece) => streams::StreamItem::Piece(piece.lower()),
            Self::End(end) => streams::StreamItem::End(end.lower()),
        }
    }
}

impl Lift<ours_ui::FormField> for ui::FormField {
    fn lift(self) -> Result<ours_ui::FormField, NotJson> {
        Ok(match self {
            Self::Text(field) => ours_ui::FormField::Text(field.lift()?),
            Self::Select(field) => ours_ui::FormField::Select(field.lift()?),
            Self::Multi(field) => ours_ui::FormField::Multi(field.lift()?),
            Self::Confirm(field) => ours_ui::FormField::Confirm(field.lift()?),
        })
    }
}

impl Lower<ui::FieldAnswer> for ours_ui::FieldAnswer {
    fn lower(self) -> ui::FieldAnswer {
        match self {
            Self::Text(text) => ui::FieldAnswer::Text(text),
            Self::Choice(choice) => ui::FieldAnswer::Choice(choice),
            Self::Choices(choices) => ui::FieldAnswer::Choices(choices),
            Self::Flag(flag) => ui::FieldAnswer::Flag(flag),
        }
    }
}

impl Lower<Vec<(String, ui::FieldAnswer)>> for std::collections::BTreeMap<String, ours_ui::FieldAnswer> {
    fn lower(self) -> Vec<(String, ui::FieldAnswer)> {
        self.into_iter().map(|(id, answer)| (id, answer.lower())).collect()
    }
}

/// A command, whose output is wanted at its end or while it comes.
pub(super) fn command(command: exec::Command, stream: bool) -> ours_exec::Command {
    let exec::Command { command, args, cwd, env, stdin, timeout_ms, max_output_bytes } = command;
    let env = env.into_iter().collect();
    ours_exec::Command {
        command,
        args,
        cwd,
        env,
        unset: None,
        bare: None,
        announce: None,
        stdin: stdin.map(data::Data),
        timeout_ms,
        max_output_bytes,
        stream,
    }
}

/// A request, whose body is wanted at its end or while it comes.
pub(super) fn request(request: http::Request, stream: bool) -> ours_http::Request {
    let http::Request { method, url, headers, body, timeout_ms, follow_redirects } = request;
    let header = |types::Header { name, value }| ours_http::Header { name, value };
    let headers = headers.into_iter().map(header).collect();
    ours_http::Request { method, url, headers, body: body.map(data::Data), timeout_ms, follow_redirects, stream }
}
