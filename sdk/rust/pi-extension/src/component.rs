//! The host of an extension that runs: its imports.

use crate::{
    Chunk, Command, CommandInfo, CommandOutput, Completion, ContentBlock, Credential, Delivery, DirectoryEntry,
    EntrySelection, FieldAnswer, FileInfo, ForkPoint, FormField, Host, HostError, HostToolOutput, Level, ModelInfo,
    Navigation, NoticeLevel, OwnMessage, Placement, Request, Response, SessionState, Stream, StreamItem, ThinkingLevel,
    ToolInfo, WriteMode,
    bindings::pi::extension::{
        credentials, env, events, exec, fs, http, log, session, streams::OutputStream, tool, ui,
    },
};

/// What this component imports. It can be used where a component runs, and nowhere else.
#[derive(Debug, Clone, Copy)]
pub struct Component;

impl Stream for OutputStream {
    fn next(&self) -> Result<(Chunk, StreamItem), HostError> {
        OutputStream::next(self)
    }

    fn cancel(&self) {
        OutputStream::cancel(self);
    }
}

/// One function of [`Host`] after the other, each as the function of the package that it is.
macro_rules! pass {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty => $call:expr;)*) => {
        $(fn $name(&self, $($argument: $kind),*) -> Result<$result, HostError> {
            $call
        })*
    };
}

impl Host for Component {
    type Stream = OutputStream;

    pass! {
        read(path: &str) -> Vec<u8> => fs::read(path, None, None);
        read_part(path: &str, offset: u64, limit: u64) -> Vec<u8> => fs::read(path, Some(offset), Some(limit));
        list(path: &str) -> Vec<DirectoryEntry> => fs::list(path);
        stat(path: &str) -> Option<FileInfo> => fs::stat(path, true);
        stat_link(path: &str) -> Option<FileInfo> => fs::stat(path, false);
        resolve(path: &str) -> String => fs::resolve(path);
        write(path: &str, content: &[u8], mode: WriteMode) -> () => fs::write(path, content, mode);
        append(path: &str, content: &[u8]) -> () => fs::append(path, content);
        make_directory(path: &str) -> () => fs::make_directory(path, false);
        make_directories(path: &str) -> () => fs::make_directory(path, true);
        make_temporary(prefix: &str) -> String => fs::make_temporary(prefix);
        remove(path: &str) -> () => fs::remove(path, false);
        remove_all(path: &str) -> () => fs::remove(path, true);
        rename(from: &str, to: &str) -> () => fs::rename(from, to);
        set_mode(path: &str, mode: u32) -> () => fs::set_mode(path, mode);

        run(command: &Command) -> CommandOutput => exec::run(command);
        start(command: &Command) -> OutputStream => exec::start(command);
        fetch(request: &Request) -> Response => http::fetch(request);
        open(request: &Request) -> OutputStream => http::open(request);
        use_tool(name: &str, input: &str) -> HostToolOutput => tool::use_(name, input);

        session_state() -> SessionState => session::get_state();
        system_prompt() -> String => session::get_system_prompt();
        session_header() -> String => session::get_header();
        entries(selection: EntrySelection) -> Vec<String> => session::get_entries(selection);
        entry(id: &str) -> Option<String> => session::get_entry(id);
        label(entry: &str) -> Option<String> => session::get_label(entry);
        tools() -> Vec<ToolInfo> => session::get_tools();
        commands() -> Vec<CommandInfo> => session::get_commands();
        models() -> Vec<ModelInfo> => session::get_models();
        append_entry(custom_type: &str, data: Option<&str>) -> String => session::append_entry(custom_type, data);
        send_message(message: &OwnMessage) -> () => session::send_message(
            &message.custom_type,
            &message.content,
            message.display,
            message.details.as_deref(),
            message.delivery,
            message.trigger_turn,
        );
        send_user_message(content: &[ContentBlock], delivery: Delivery) -> () =>
            session::send_user_message(content, delivery, false);
        send_prompt(content: &[ContentBlock], delivery: Delivery) -> () =>
            session::send_user_message(content, delivery, true);
        set_name(name: &str) -> () => session::set_name(name);
        set_label(entry: &str, label: Option<&str>) -> () => session::set_label(entry, label);
        set_active_tools(names: &[String]) -> () => session::set_active_tools(names);
        set_model(provider: &str, model: &str) -> bool => session::set_model(provider, model);
        set_thinking_level(level: ThinkingLevel) -> ThinkingLevel => session::set_thinking_level(level);
        complete(completion: &Completion) -> String => session::complete(
            completion.model.as_ref(),
            completion.system_prompt.as_deref(),
            &completion.messages,
            completion.tools.as_deref(),
            completion.max_tokens,
            completion.thinking_level,
        );
        compact(instructions: Option<&str>) -> String => session::compact(instructions);
        abort() -> () => session::abort();
        registration_changed() -> () => session::registration_changed();
        quit() -> () => session::quit();
        wait_for_idle() -> () => session::wait_for_idle();
        new_session(parent: Option<&str>) -> bool => session::new_session(parent);
        fork(entry: &str, position: ForkPoint) -> bool => session::fork(entry, position);
        navigate(navigation: &Navigation) -> bool => session::navigate_tree(
            &navigation.entry,
            navigation.summarize,
            navigation.instructions.as_deref(),
            navigation.replace_instructions,
            navigation.label.as_deref(),
        );
        switch_session(path: &str) -> bool => session::switch_session(path);
        reload() -> bool => session::reload();

        notify(message: &str, level: NoticeLevel) -> () => ui::notify(message, level);
        confirm(title: &str, message: &str) -> bool => ui::confirm(title, message, None);
        confirm_within(title: &str, message: &str, timeout_ms: u64) -> bool =>
            ui::confirm(title, message, Some(timeout_ms));
        select(title: &str, options: &[String], timeout_ms: Option<u64>) -> Option<String> =>
            ui::select(title, options, timeout_ms);
        input(title: &str, placeholder: Option<&str>, timeout_ms: Option<u64>) -> Option<String> =>
            ui::input(title, placeholder, timeout_ms);
        editor(title: &str, prefill: Option<&str>, timeout_ms: Option<u64>) -> Option<String> =>
            ui::editor(title, prefill, timeout_ms);
        interview(title: Option<&str>, questions: &[FormField], timeout_ms: Option<u64>) ->
            Option<Vec<(String, FieldAnswer)>> => ui::interview(title, questions, timeout_ms);
        set_status(key: &str, text: Option<&str>) -> () => ui::set_status(key, text);
        set_widget(key: &str, lines: Option<&[String]>, placement: Placement) -> () =>
            ui::set_widget(key, lines, placement);
        set_title(title: &str) -> () => ui::set_title(title);
        set_working_message(text: Option<&str>) -> () => ui::set_working_message(text);
        set_editor_text(text: &str) -> () => ui::set_editor_text(text);
        editor_text() -> Option<String> => ui::get_editor_text();

        emit(channel: &str, data: &str) -> () => events::emit(channel, data);
        subscribe(channel: &str) -> () => events::subscribe(channel);
        unsubscribe(channel: &str) -> () => events::unsubscribe(channel);
        tool_update(call_id: &str, content: &[ContentBlock], details: Option<&str>) -> () =>
            events::tool_update(call_id, content, details);

        variable(name: &str) -> Option<String> => env::get(name);
        variables() -> Vec<String> => env::list();
        credential(provider: &str) -> Credential => credentials::get(provider);
        log(level: Level, event: &str, message: &str) -> () => log::write(level, event, message, None);
        log_with(level: Level, event: &str, message: &str, data: &str) -> () =>
            log::write(level, event, message, Some(data));
    }
}
