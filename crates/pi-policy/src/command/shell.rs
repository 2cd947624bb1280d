//! Shells among the words of a command: what they are told to run is run as well.
//!
//! Only the plain forms are read: a flag and then the script as one word. Whatever else makes a shell run something
//! (several flags in one, its input, another language) makes the command unclear.

use super::{bare_name, take_apart};
use crate::case::is_same;

/// A family of shells that are told in the same way what to run.
#[derive(Clone, Copy)]
enum Shell {
    /// `-c` and then a line.
    Posix,
    /// `/c` or `/k` and then the rest, in a language of its own.
    Cmd,
    /// `-Command`, `-EncodedCommand` or nothing, and then the rest, in a language of its own.
    Power,
    /// The rest is a line.
    Eval,
}

const POSIX: [&str; 13] =
    ["sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "mksh", "csh", "tcsh", "rbash", "busybox", "su"];

/// Programs that start what follows: behind one of these a shell is not a mere argument.
const STARTERS: [&str; 17] = [
    "env", "sudo", "doas", "nohup", "xargs", "nice", "ionice", "time", "timeout", "setsid", "stdbuf", "command",
    "exec", "builtin", "busybox", "find", "start",
];

/// How deep a script may stand in a script.
const DEPTH: usize = 4;

/// Adds the commands of every script that a command hands to a shell; nothing if one of them is unclear.
pub(super) fn with_scripts(commands: Vec<Vec<String>>) -> Option<Vec<Vec<String>>> {
    expand(commands, DEPTH)
}

fn expand(commands: Vec<Vec<String>>, depth: usize) -> Option<Vec<Vec<String>>> {
    let mut all = Vec::new();
    for words in commands {
        let lines = scripts(&words)?;
        all.push(words);
        for line in lines {
            all.extend(expand(take_apart(&line)?, depth.checked_sub(1)?)?);
        }
    }
    Some(all)
}

/// The lines that a command hands to shells; nothing if it cannot be told what they run.
fn scripts(words: &[String]) -> Option<Vec<String>> {
    let starter = words.first().is_some_and(|word| is_one_of(word, &STARTERS));
    let splits = |word: &String| word.starts_with("--split") || is_cluster_with(word, 'S');
    if starter && words.iter().any(splits) && words.iter().any(|word| is_one_of(word, &["env"])) {
        return None;
    }
    let mut lines = Vec::new();
    let mut shell: Option<Shell> = None;
    let mut reads_input = false;
    let mut rest = words.iter().enumerate();
    while let Some((at, word)) = rest.next() {
        let started = at == 0 || starter;
        if let Some(found) = Shell::named(word) {
            // A shell without arguments reads what it does from its input.
            let silent = started && at + 1 == words.len();
            match found {
                Shell::Eval if started => {
                    lines.push(words[at + 1..].join(" "));
                    return Some(lines);
                }
                Shell::Eval => {}
                Shell::Power if started && !words.get(at + 1).is_some_and(|word| is_same(word, "-file")) => {
                    return None;
                }
                Shell::Posix | Shell::Cmd | Shell::Power if silent => return None,
                Shell::Posix | Shell::Cmd | Shell::Power => {
                    shell = Some(found);
                    reads_input |= started;
                }
            }
            continue;
        }
        match shell.map_or(Flag::None, |shell| shell.flag(word)) {
            // The first word that is no option is a file of commands; one behind `o` is the name of an option.
            Flag::None if !word.starts_with(['-', '+']) => reads_input = false,
            Flag::None if word.contains(['o', 'O']) && !word.starts_with("--") => {
                rest.next();
            }
            Flag::None => {}
            Flag::Script => match rest.next() {
                Some((_, line)) if !line.starts_with(['-', '+']) => {
                    lines.push(line.clone());
                    reads_input = false;
                }
                Some(_) | None => return None,
            },
            Flag::Unclear => return None,
        }
    }
    (!reads_input).then_some(lines)
}

/// Whether a word is short options in one, with this letter among them.
fn is_cluster_with(word: &str, letter: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

/// What an argument of a shell says about what it runs.
enum Flag {
    None,
    /// The next argument is a line.
    Script,
    Unclear,
}

impl Shell {
    fn named(word: &str) -> Option<Self> {
        match word {
            word if is_one_of(word, &POSIX) => Some(Self::Posix),
            word if is_one_of(word, &["cmd"]) => Some(Self::Cmd),
            word if is_one_of(word, &["powershell", "pwsh"]) => Some(Self::Power),
            "eval" => Some(Self::Eval),
            _ => None,
        }
    }

    fn flag(self, word: &str) -> Flag {
        let lower = word.to_lowercase();
        match self {
            Self::Posix => {
                let runs_more = ["--c", "--init", "--session-c"].iter().any(|flag| lower.starts_with(flag));
                if runs_more || is_cluster_with(word, 's') {
                    return Flag::Unclear;
                }
                match lower.strip_prefix('-') {
                    Some(letters) if letters.starts_with('-') || !letters.contains('c') => Flag::None,
                    // Of several letters `o` takes an argument, and letters behind `c` may be one.
                    Some(letters) if letters.ends_with('c') && !letters.contains('o') => Flag::Script,
                    Some(_) => Flag::Unclear,
                    None => Flag::None,
                }
            }
            Self::Cmd => match lower.starts_with('/') && lower.contains(['c', 'k', 'r']) {
                true => Flag::Unclear,
                false => Flag::None,
            },
            Self::Power => match ["-c", "/c", "-e", "/e"].iter().any(|flag| lower.starts_with(flag)) {
                true => Flag::Unclear,
                false => Flag::None,
            },
            Self::Eval => Flag::None,
        }
    }
}

fn is_one_of(word: &str, names: &[&str]) -> bool {
    let bare = bare_name(word);
    names.iter().any(|name| is_same(bare, name))
}
