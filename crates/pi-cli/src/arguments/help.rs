//! The help that explains the words: groups of commands, examples and tables.

use clap::builder::{Styles, styling::AnsiColor};

use crate::{command, env, exit, table};

/// Lines of help are not longer, however wide the terminal is.
const WIDEST: usize = 100;
/// Explanations that would be narrower than this stand below their names.
const NARROWEST: usize = 28;

pub(super) const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Green.on_default());

/// The commands by what people want.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Talk to models", &["ask", "models", "provider"]),
    ("Look into sessions", &["sessions", "session", "export", "context"]),
    ("Look into files", &["envelope", "ext-message"]),
    ("Understand the system", &["schema", "policy"]),
    ("Run", &["trust", "config", "serve", "journal", "ext", "mcp", "completions", "help"]),
];

const EXAMPLES: [(&str, &str); 10] = [
    ("pi -p 'What does this project do?'", "let the agent work in this folder, and print its last answer"),
    ("git diff | pi -p 'Review this' @notes.md", "put a text and a file in front of the message"),
    ("pi ask 'What is a monad?' --model anthropic/claude-sonnet-5-5", "ask a model and see the answer as it comes"),
    ("pi export last -o session.html", "write the last session of this folder down as one page"),
    ("pi models --available", "see which models can be asked now"),
    ("pi envelope validate logs/", "check every envelope in a folder"),
    ("pi envelope diff before.json after.json", "see what changed, and where the cache breaks"),
    ("pi ext-message validate --json trace.jsonl", "check a recorded exchange, for a script"),
    ("pi schema extension --format ts > messages.ts", "get types for an extension"),
    ("pi policy explain --config settings.json --extension git --call @call.json", "see why a call is refused"),
];

/// For the pages of commands, by their words.
const MORE_EXAMPLES: [(&str, &[(&str, &str)]); 15] = [
    (
        "export",
        &[
            ("pi export last -o session.html", "the last session of this folder as one page"),
            ("pi export 01a1e293 --md", "a session by the beginning of its id, as Markdown"),
            ("pi export last --envelope > request.json", "what the model was shown last"),
            ("pi export --list", "every request of the last session"),
        ],
    ),
    (
        "ask",
        &[
            ("pi ask 'What is a monad?'", "ask the model that is set up, a local one, or the demo"),
            (
                "git diff | pi ask 'Review this' --model openai/gpt-5.5 --thinking high",
                "put a text in front of the question",
            ),
            ("pi ask 'What is in it?' --image photo.png", "show a picture"),
            ("pi ask 'Hello' --base-url http://127.0.0.1:8080/v1 --model any", "ask a server of your own"),
            ("pi ask 'Hello' --model deepseek --dry-run", "see what would be sent"),
        ],
    ),
    (
        "models",
        &[
            ("pi models", "see every model"),
            ("pi models 'openai/gpt-5*' claude", "see some of them"),
            ("pi models --can tools,vision", "those that call tools and look at pictures"),
            ("pi models --available --json", "those that can be asked now, for a script"),
        ],
    ),
    (
        "provider",
        &[
            ("pi provider list", "see every provider and where it was described"),
            ("pi provider show anthropic", "see everything that its manifest says"),
            ("pi provider show openai --source > ~/.pi/agent/providers/openai.yaml", "copy a manifest to change it"),
            ("pi provider new workshop --output ~/.pi/agent/providers/workshop.yaml", "begin a manifest of your own"),
            ("pi provider validate ~/.pi/agent/providers/", "check your own manifests"),
            ("pi provider promote old.yaml > new.yaml", "bring a manifest to version 2"),
            ("pi provider test groq", "send three small requests and see how each went"),
            ("pi provider call embed 'a text' --json", "turn a text into a vector"),
            ("pi provider call draw 'a cat in a hat' -o cat.png", "make a picture"),
        ],
    ),
    (
        "completions",
        &[
            ("source <(pi completions bash)", "in ~/.bashrc"),
            ("pi completions zsh > \"${fpath[1]}/_pi\"", "once, for zsh"),
            ("pi completions fish > ~/.config/fish/completions/pi.fish", "once, for fish"),
            ("pi completions powershell | Out-String | Invoke-Expression", "in $PROFILE"),
        ],
    ),
    (
        "ext",
        &[
            ("pi ext new greeter", "begin an extension in Rust; --engine js for TypeScript"),
            ("pi ext scan greeter", "see what is to be said about it"),
            ("pi ext build greeter", "make an artifact of it"),
            ("pi ext run-tool greeter hello '{\"name\":\"Ada\"}'", "call its tool, without a model"),
            ("pi ext sign greeter/dist", "vouch for the artifact"),
        ],
    ),
    (
        "ext new",
        &[
            ("pi ext new greeter", "a component in Rust, with the SDK beside it"),
            ("pi ext new greeter --engine js", "a tool and a command in TypeScript"),
            ("pi ext new greeter --engine js --tool", "only the tool"),
        ],
    ),
    (
        "ext build",
        &[
            ("pi ext build greeter", "a folder, into greeter/dist"),
            ("pi ext build greeter.ts -o out", "one file, into another folder"),
            ("pi ext build component.wasm", "a component that another compiler made"),
            ("pi ext build greeter --json", "what was built, for a script"),
        ],
    ),
    (
        "ext scan",
        &[
            ("pi ext scan greeter", "every finding with its place and what to do about it"),
            ("pi ext scan --strict .pi/extensions/*", "fail on warnings too, for a build server"),
            ("pi ext scan --json greeter", "findings and what it needs, for a script"),
        ],
    ),
    (
        "ext run-tool",
        &[
            ("pi ext run-tool greeter hello '{\"name\":\"Ada\"}'", "call a tool as a model would"),
            ("pi ext run-tool greeter hello '{}' --profile strict", "see what it may not do without a grant"),
            ("pi ext run-tool mcp:time get_current_time '{\"timezone\":\"UTC\"}'", "call a tool of an MCP server"),
        ],
    ),
    (
        "ext run-command",
        &[
            ("pi ext run-command greeter hello Ada", "run /hello Ada"),
            ("pi ext run-command greeter hello 'Ada and Bob'", "everything behind the name is one argument"),
        ],
    ),
    (
        "ext fire",
        &[
            ("pi ext fire guard.ts tool_call", "with what such an event usually says"),
            (
                "pi ext fire guard.ts tool_call '{\"toolName\":\"bash\",\"input\":{\"command\":\"rm -r /\"}}'",
                "with something that it shall stop",
            ),
        ],
    ),
    (
        "mcp",
        &[
            ("pi mcp add time uvx mcp-server-time", "add a program that is a server"),
            ("pi mcp add -H 'Authorization: Bearer ${KEY}' linear https://mcp.linear.app/mcp", "add one behind a URL"),
            ("pi mcp test time", "connect to it, and see its tools and what they cost"),
            ("pi mcp list --json", "see what is written, for a script"),
        ],
    ),
    (
        "envelope",
        &[
            ("pi envelope validate logs/", "check every envelope in a folder"),
            ("pi envelope validate --json --jsonl -", "check one envelope per line of standard input, for a script"),
            ("pi envelope diff before.json after.json", "see what changed, and where the cache breaks"),
            ("pi envelope stats request.json", "see what fills the context"),
        ],
    ),
    (
        "policy",
        &[
            (
                "pi policy explain --config settings.json --extension git --call @call.json",
                "see why a call is allowed or refused",
            ),
            (
                "pi policy explain --config settings.json --extension git --mode strict --json --call @-",
                "ask about a call on standard input in another mode, for a script",
            ),
        ],
    ),
];

/// Adds the groups, the examples and the tables to the help.
pub(super) fn described(arguments: clap::Command) -> clap::Command {
    let (header, literal) = (*STYLES.get_header(), *STYLES.get_literal());
    let table = |title: &str, lines: &[(String, String)]| format!("{header}{title}:{header:#}\n{}", rows(lines));
    let about = |name: &str| match name {
        "help" => "Print help for a command".to_owned(),
        _ => arguments.find_subcommand(name).and_then(|it| it.get_about()).map(ToString::to_string).unwrap_or_default(),
    };
    let groups = GROUPS.map(|(title, names)| {
        let rows: Vec<_> = names.iter().map(|name| ((*name).to_owned(), about(name))).collect();
        table(title, &rows)
    });
    let shown = |examples: &[(&str, &str)]| -> String {
        let width = line_width().saturating_sub(6).max(NARROWEST);
        let lines = examples.iter().map(|(line, meaning)| {
            let meaning = table::wrap(meaning, Some(width)).join("\n      ");
            format!("  {literal}{line}{literal:#}\n      {meaning}\n")
        });
        format!("{header}Examples:{header:#}\n{}", lines.collect::<String>())
    };
    let examples = shown(&EXAMPLES);
    let codes = exit::MEANINGS.map(|(code, meaning)| ((code as u8).to_string(), meaning.to_owned()));
    let variables = env::VARIABLES.map(|(name, meaning)| (name.to_owned(), meaning.to_owned()));
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}\n{header}Options:{header:#}\n{{options}}\n\n{examples}\n{}\n{}",
        groups.join("\n"),
        table("Exit codes", &codes),
        table("Environment", &variables),
    );
    let schemas = table("Schemas", &command::schema::table());
    let arguments = arguments
        .help_template(template.trim_end().to_owned())
        .mut_subcommand("schema", |schema| schema.after_help(schemas.trim_end().to_owned()));
    MORE_EXAMPLES.iter().fold(arguments, |arguments, (words, examples)| {
        with_help(arguments, words, shown(examples).trim_end().to_owned())
    })
}

/// Puts a text below the help of the command that these words name.
fn with_help(command: clap::Command, words: &str, text: String) -> clap::Command {
    match words.split_once(' ') {
        None => command.mut_subcommand(words, |it| it.after_help(text)),
        Some((first, rest)) => command.mut_subcommand(first, |it| with_help(it, rest, text)),
    }
}

/// Each name and what it means, in lines that fit: beside each other, or below where there is little room.
pub(super) fn rows(lines: &[(String, String)]) -> String {
    rows_in(lines, line_width())
}

fn rows_in(lines: &[(String, String)], available: usize) -> String {
    let literal = *STYLES.get_literal();
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let indent = width + 4;
    let is_beside = indent + NARROWEST <= available;
    let mut shown = String::new();
    for (name, text) in lines {
        let (indent, head) = match is_beside {
            true => (indent, format!("  {literal}{name:<width$}{literal:#}  ")),
            false => (6, format!("  {literal}{name}{literal:#}\n      ")),
        };
        shown.push_str(&head);
        let text = table::wrap(text, Some(available.saturating_sub(indent).max(NARROWEST)));
        shown.push_str(&text.join(&format!("\n{}", " ".repeat(indent))));
        shown.push('\n');
    }
    shown
}

/// How long lines of help are: as clap's, which are never longer than this.
fn line_width() -> usize {
    terminal_size::terminal_size().map_or(WIDEST, |(width, _)| WIDEST.min(width.0.into()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn explanations_stand_beside_or_below() {
        let lines = [("ask".to_owned(), "one two three four five six seven".to_owned())];
        let plain = |width| rows_in(&lines, width).replace("\u{1b}[36m", "").replace("\u{1b}[0m", "");
        assert_eq!(plain(36), "  ask  one two three four five six\n       seven\n");
        assert_eq!(plain(30), "  ask\n      one two three four five six\n      seven\n");
    }

    #[test]
    fn every_command_stands_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let command = Arguments::command();
        let mut expected: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).chain(["help"]).collect();
        expected.sort_unstable();
        assert_eq!(grouped, expected);
    }
}
