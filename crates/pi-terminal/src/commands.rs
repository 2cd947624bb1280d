//! What can be asked of the terminal with a `/`.

use pi_session::input::complete::{Command, CommandKind, called};

/// A command of the terminal itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    Help,
    Model,
    Thinking,
    New,
    Resume,
    Fork,
    Tree,
    Compact,
    Context,
    Usage,
    Export,
    Name,
    Label,
    Trust,
    Extensions,
    Reload,
    Hotkeys,
    Quit,
}

/// Name, arguments and purpose of every command.
const TABLE: &[(BuiltIn, &str, Option<&str>, &str)] = &[
    (BuiltIn::Help, "help", None, "what can be typed here"),
    (BuiltIn::Model, "model", Some("[name]"), "choose the model"),
    (BuiltIn::Thinking, "thinking", Some("[level]"), "choose how hard the model thinks"),
    (BuiltIn::New, "new", None, "begin a new session"),
    (BuiltIn::Resume, "resume", None, "go on with another session"),
    (BuiltIn::Fork, "fork", None, "begin a new session with a part of this one"),
    (BuiltIn::Tree, "tree", None, "go to another place in this session"),
    (BuiltIn::Compact, "compact", Some("[instructions]"), "sum the conversation up to make room"),
    (BuiltIn::Context, "context", None, "show what the model is shown"),
    (BuiltIn::Usage, "usage", None, "show tokens and cost of this session"),
    (BuiltIn::Export, "export", Some("[file]"), "write the session to a file: .html, .md, .json or .jsonl"),
    (BuiltIn::Name, "name", Some("[name]"), "name the session"),
    (BuiltIn::Label, "label", Some("[label]"), "label the last message, or take its label away; /tree shows labels"),
    (BuiltIn::Trust, "trust", None, "use what this project brings: extensions, settings, skills, models"),
    (BuiltIn::Extensions, "extensions", None, "show extensions and MCP servers, switch them, load one anew"),
    (BuiltIn::Reload, "reload", None, "read extensions, skills, templates, settings and instructions anew"),
    (BuiltIn::Hotkeys, "hotkeys", None, "show all keys"),
    (BuiltIn::Quit, "quit", None, "leave"),
];

impl BuiltIn {
    /// The command that a line of text calls, and what stands behind it.
    pub(crate) fn read(line: &str) -> Option<(Self, &str)> {
        let call = line.strip_prefix('/')?;
        let (name, rest) = call.split_once(char::is_whitespace).unwrap_or((call, ""));
        let name = if name == "exit" { "quit" } else { name };
        let row = TABLE.iter().find(|row| row.1 == name)?;
        Some((row.0, rest.trim()))
    }
}

/// The name of a command that somebody calls and that there is not. A path is no call, and which skills there are the session
/// knows: they may not be listed.
pub(crate) fn unknown<'a>(text: &'a str, commands: &[Command]) -> Option<&'a str> {
    let name = called(text)?;
    (BuiltIn::read(text).is_none()
        && !name.starts_with("skill:")
        && commands.iter().all(|command| command.name != name))
    .then_some(name)
}

/// The commands that can be called, and the names of those that cannot because the terminal has one of that name.
pub(crate) fn visible(commands: Vec<Command>) -> (Vec<Command>, Vec<String>) {
    let is_free = |command: &Command| TABLE.iter().all(|row| row.1 != command.name);
    let (visible, hidden): (Vec<_>, Vec<_>) = commands.into_iter().partition(is_free);
    (visible, hidden.into_iter().map(|command| command.name).collect())
}

/// All commands of the terminal, for completion.
pub(crate) fn list() -> Vec<Command> {
    let command = |&(_, name, hint, description): &(BuiltIn, &str, Option<&str>, &str)| Command {
        name: name.to_owned(),
        description: description.to_owned(),
        hint: hint.map(str::to_owned),
        kind: CommandKind::BuiltIn,
    };
    TABLE.iter().map(command).collect()
}

/// Every key and what it does.
pub(crate) const KEYS: &[(&str, &str)] = &[
    ("enter", "send; while the model works, steer it"),
    ("alt+enter", "send when the model is done"),
    ("shift+enter, ctrl+j", "a new line"),
    ("esc", "stop the model; queued messages come back into the editor"),
    ("esc esc", "go to another place in the session"),
    ("ctrl+c", "clear the editor, or stop the model; twice within a second: leave"),
    ("ctrl+d", "leave, if the editor is empty; while the model works, twice"),
    ("shift+l", "in /tree: label the place; with nothing written, take its label away"),
    ("ctrl+d", "in /resume: delete the session"),
    ("ctrl+r", "in /extensions: load the extension anew"),
    ("ctrl+z", "suspend"),
    ("shift+tab", "think harder, or not at all"),
    ("ctrl+p, shift+ctrl+p", "next model, previous model"),
    ("ctrl+l", "choose a model"),
    ("ctrl+t", "show or hide thinking"),
    ("ctrl+o", "show output in full"),
    ("alt+up", "queued messages come back into the editor"),
    ("up, down", "what was said before"),
    ("@", "a file"),
    ("/", "a command"),
    ("!", "run a command in the shell; with !! the model does not see it"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_with_a_name_of_the_terminal_is_hidden() {
        let command = |name: &str| Command {
            name: name.to_owned(),
            description: String::new(),
            hint: None,
            kind: CommandKind::Extension,
        };
        let (visible, hidden) = visible(vec![command("review"), command("tree")]);
        assert_eq!((visible, hidden), (vec![command("review")], vec!["tree".to_owned()]));
    }

    #[test]
    fn call_of_nothing_is_told_from_a_path() {
        for (text, expected) in [
            ("/modle", Some("modle")),
            ("/modle gpt", Some("modle")),
            ("/model gpt", None),
            ("/exit", None),
            ("/etc/hosts", None),
            ("/tmp", Some("tmp")),
            ("/skill:none", None),
            ("/ what", None),
            ("/2", None),
            (" /modle", None),
            ("plain", None),
        ] {
            assert_eq!(unknown(text, &list()), expected, "{text}");
        }
    }

    #[test]
    fn commands_are_read_with_their_arguments() {
        for (line, expected) in [
            ("/model", Some((BuiltIn::Model, ""))),
            ("/model gpt", Some((BuiltIn::Model, "gpt"))),
            ("/compact  keep names ", Some((BuiltIn::Compact, "keep names"))),
            ("/exit", Some((BuiltIn::Quit, ""))),
            ("/models", None),
            ("model", None),
        ] {
            assert_eq!(BuiltIn::read(line), expected, "{line}");
        }
    }
}
