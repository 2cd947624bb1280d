//! Shells among the words of a command: what they are told to run is run as well.
//!
//! Only the plain forms are read: options that we know, and then the script as one word or a file of commands. Whatever
//! else makes a shell run something (its input, an option that we do not know, another language) makes the command
//! unclear.

use super::{bare_name, take_apart};
use crate::case::is_same;

/// A family of shells that are told in the same way what to run.
#[derive(Clone, Copy)]
enum Shell {
    /// `-c` and then a line, or a file of commands, or else its input.
    Posix,
    /// Starts a shell as somebody else: `-c` and then a line, before or behind a name.
    Login,
    /// `/c` or `/k` and then the rest, in a language of its own.
    Cmd,
    /// `-Command`, `-EncodedCommand` or nothing, and then the rest, in a language of its own.
    Power,
    /// The rest is a line.
    Eval,
    /// A file of commands.
    Source,
}

const POSIX: [&str; 18] = [
    "sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "mksh", "csh", "tcsh", "rbash", "yash", "hush", "posh", "oksh",
    "ksh93", "rzsh", "elvish",
];

/// Programs that start what follows: behind one of these a shell is not a mere argument.
const STARTERS: [&str; 35] = [
    "env",
    "sudo",
    "doas",
    "nohup",
    "xargs",
    "nice",
    "ionice",
    "time",
    "timeout",
    "setsid",
    "stdbuf",
    "command",
    "exec",
    "builtin",
    "busybox",
    "toybox",
    "find",
    "start",
    "chroot",
    "unshare",
    "nsenter",
    "strace",
    "ltrace",
    "flock",
    "watch",
    "ssh",
    "pkexec",
    "setpriv",
    "systemd-run",
    "taskset",
    "chrt",
    "fakeroot",
    "caffeinate",
    "unbuffer",
    "winpty",
];

/// Words of a shell behind which a command begins.
const KEYWORDS: [&str; 8] = ["if", "then", "else", "elif", "do", "while", "until", "coproc"];

/// Programs that hand an argument to a shell.
const LINE_TAKERS: [&str; 6] = ["trap", "watch", "script", "flock", "sg", "ssh"];

/// Programs that run their input, or give programs other names.
const INPUT_TAKERS: [&str; 4] = ["at", "batch", "parallel", "alias"];

/// Options of shells that take no argument and do not change what is run, in any shell.
const PLAIN_LETTERS: &str = "abehilmnuvx";
const PLAIN_OPTIONS: [&str; 8] =
    ["--login", "--noprofile", "--norc", "--posix", "--restricted", "--verbose", "--no-config", "--version"];

/// How deep a script may stand in a script.
const DEPTH: usize = 4;

/// How many shells one command may name: each costs a look at the words behind it.
const SHELLS: usize = 16;

/// Adds the commands of every script that a command hands to a shell; nothing if one of them is unclear.
pub(super) fn with_scripts(commands: Vec<Vec<String>>) -> Option<Vec<Vec<String>>> {
    expand(commands, DEPTH)
}

/// The words before the first line that a command hands to a shell, if it hands one over.
pub(super) fn before_script(words: &[String]) -> Option<&[String]> {
    let lines = scripts(words)?;
    let at = words.iter().position(|word| lines.contains(word))?;
    Some(&words[..at])
}

/// Whether the words get arguments from elsewhere behind them.
pub(super) fn is_open(words: &[String]) -> bool {
    words.iter().any(|word| is_one_of(word, &["xargs"]))
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
    let begin = words.iter().take_while(|word| KEYWORDS.contains(&word.as_str())).count();
    let words = &words[begin..];
    let Some((program, arguments)) = words.split_first() else { return Some(Vec::new()) };
    let starter = is_one_of(program, &STARTERS);
    if is_one_of(program, &INPUT_TAKERS) || (starter && is_told_otherwise(program, words)) {
        return None;
    }
    let mut lines = Vec::new();
    if is_one_of(program, &LINE_TAKERS) {
        lines.extend(arguments.iter().filter(|word| word.contains(char::is_whitespace)).cloned());
    }
    let mut shells = 0;
    for (at, word) in words.iter().enumerate() {
        let Some(shell) = Shell::named(word) else { continue };
        shells += 1;
        if shells > SHELLS {
            return None;
        }
        let arguments = &words[at + 1..];
        match (shell, shell.runs(arguments), at == 0 || starter) {
            (Shell::Source, None, _) if at == 0 => return None,
            (Shell::Source, _, _) | (Shell::Eval, _, false) => {}
            (Shell::Eval, found, true) => {
                // All that follows is its line.
                lines.extend(found?);
                break;
            }
            (_, Some(found), _) => lines.extend(found),
            (_, None, false) if !arguments.iter().any(|word| shell.may_mean_script(word)) => {}
            (_, None, _) => return None,
        }
    }
    lines.dedup();
    Some(lines)
}

/// Whether a starter has options that make it run something else than the words behind it.
fn is_told_otherwise(program: &str, words: &[String]) -> bool {
    let splits = |word: &&String| word.starts_with("--s") || is_cluster_with(word, &['S']);
    let env = words.iter().position(|word| is_one_of(word, &["env"]));
    if env.is_some_and(|at| own_options(&words[at..], "uCP").iter().any(splits)) {
        return true;
    }
    if is_one_of(program, &["sudo", "doas"]) {
        let shell =
            |word: &&String| is_cluster_with(word, &['s', 'i']) || word.starts_with("--s") || *word == "--login";
        return own_options(words, "ugpCDRTUrth").iter().any(shell);
    }
    if is_one_of(program, &["xargs"]) {
        let replaces = |word: &&String| is_cluster_with(word, &['I', 'i', 'J']) || word.starts_with("--r");
        // Behind another starter the program itself comes from the input.
        let names_none = words[1..].last().is_some_and(|word| is_one_of(word, &STARTERS));
        return names_none || own_options(words, "adELnPsR").iter().any(replaces);
    }
    false
}

/// The options of a program itself, before the command that it starts; some of them take the next word.
fn own_options<'a>(words: &'a [String], taking: &str) -> Vec<&'a String> {
    let mut options = Vec::new();
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next().filter(|word| word.starts_with('-') && *word != "--") {
        options.push(word);
        if word.len() == 2 && word.ends_with(|letter| taking.contains(letter)) {
            rest.next();
        }
    }
    options
}

/// Whether a word is short options in one, with one of these letters among them.
fn is_cluster_with(word: &str, letters: &[char]) -> bool {
    word.starts_with(['-', '+']) && !word.starts_with("--") && word.contains(letters)
}

impl Shell {
    fn named(word: &str) -> Option<Self> {
        match word {
            "eval" => Some(Self::Eval),
            "." | "source" => Some(Self::Source),
            word if is_one_of(word, &POSIX) => Some(Self::Posix),
            word if is_one_of(word, &["su", "runuser"]) => Some(Self::Login),
            word if is_one_of(word, &["cmd"]) => Some(Self::Cmd),
            word if is_one_of(word, &["powershell", "pwsh"]) => Some(Self::Power),
            _ => None,
        }
    }

    /// The lines that it runs with these arguments; nothing if it runs something else.
    fn runs(self, arguments: &[String]) -> Option<Vec<String>> {
        match self {
            Self::Posix => script(arguments),
            Self::Login => login_scripts(arguments),
            Self::Cmd => None,
            Self::Power => match arguments {
                [option, file, ..] if is_same(option, "-file") && !file.starts_with('-') => Some(Vec::new()),
                _ => None,
            },
            Self::Eval => Some(vec![arguments.join(" ")]),
            Self::Source => arguments.first().is_some_and(|file| !is_input(file)).then(Vec::new),
        }
    }

    /// Whether an argument of a program that we do not know could be a script for this shell, or lead to one.
    fn may_mean_script(self, word: &str) -> bool {
        let begins = |beginnings: &[&str]| beginnings.iter().any(|it| word.to_lowercase().starts_with(it));
        match self {
            Self::Posix | Self::Login => is_cluster_with(word, &['c', 'C']) || begins(&["--command", "--init"]),
            Self::Cmd => word.starts_with('/') && word.to_lowercase().contains(['c', 'k', 'r']),
            Self::Power => begins(&["-c", "/c", "-e", "/e"]),
            Self::Eval | Self::Source => false,
        }
    }
}

/// The line of a shell that has one, none for a shell that runs a file; nothing if it reads its input or we cannot tell.
fn script(arguments: &[String]) -> Option<Vec<String>> {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let Some(letters) = word.strip_prefix(['-', '+']) else {
            return (!is_input(word)).then(Vec::new);
        };
        match letters {
            "" | "-" => return rest.next().filter(|file| !is_input(file)).map(|_| Vec::new()),
            _ if PLAIN_OPTIONS.contains(&word.as_str()) => {}
            letters => match letters.strip_suffix(|letter| "coO".contains(letter)) {
                None if is_plain(letters) => {}
                Some(before) if is_plain(before) && letters.ends_with('c') => {
                    return rest.next().filter(|line| !line.starts_with(['-', '+'])).map(|line| vec![line.clone()]);
                }
                // The next word is the name of an option.
                Some(before) if is_plain(before) => _ = rest.next()?,
                None | Some(_) => return None,
            },
        }
    }
    None
}

/// The lines of `su`, wherever they stand; nothing if there is none, because then a shell reads its input.
fn login_scripts(arguments: &[String]) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.strip_prefix('-') {
            None | Some("" | "-" | "-login") => {}
            Some("-command") => lines.push(rest.next()?.clone()),
            Some(letters) => match letters.strip_suffix('c') {
                Some(before) if is_plain(before) => lines.push(rest.next()?.clone()),
                None if is_plain(letters) => {}
                None | Some(_) => return None,
            },
        }
    }
    (!lines.is_empty()).then_some(lines)
}

fn is_plain(letters: &str) -> bool {
    letters.chars().all(|letter| PLAIN_LETTERS.contains(letter))
}

/// Whether a file is the input by another name.
fn is_input(file: &str) -> bool {
    file.split('/').any(|name| ["stdin", "fd"].contains(&name))
}

fn is_one_of(word: &str, names: &[&str]) -> bool {
    let bare = bare_name(word);
    names.iter().any(|name| is_same(bare, name))
}
