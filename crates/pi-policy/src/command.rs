//! What a process call would run, and the patterns that name commands.
//!
//! A shell line is taken apart only as far as its meaning is plain: words, quotes without substitution, and commands
//! joined by `;`, `&`, `&&`, `||`, `|` or a new line. What a shell is told to run (`bash -c …`) is taken apart in the same
//! way and counts as run too. Anything else is *unclear*: no grant covers it, every deny does.
//! A deny of a command guards against accidents; an interpreter that may run can run anything else.

mod shell;

use std::fmt;

use crate::{case::is_same, place::Location};

/// What a call would run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Command {
    written: String,
    /// The words of each command in turn; nothing if the line is unclear.
    commands: Option<Vec<Vec<String>>>,
    /// Where it runs, if not in the project.
    folder: Option<Location>,
    /// Whether the call brings the input of the program, which may be another program (`python -`).
    has_input: bool,
    /// Names of variables that the call brings: such as `LD_PRELOAD` change what the program is.
    variables: Vec<String>,
}

/// A program, or a program with the first of its arguments.
#[derive(Debug, Clone)]
pub(crate) struct CommandPattern {
    written: String,
    words: Vec<String>,
}

/// Why a text names no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommandFault {
    #[error("expected a program, or a program with its first arguments")]
    Empty,
    #[error("a command pattern holds plain words only: no quotes, wildcards or shell operators")]
    NotPlain,
}

impl Command {
    /// A program that is started directly, without a shell.
    pub fn program(program: &str, arguments: &[String]) -> Self {
        let words: Vec<String> = std::iter::once(program.to_owned()).chain(arguments.iter().cloned()).collect();
        Self { written: words.join(" "), commands: shell::with_scripts(vec![words]), ..Self::default() }
    }

    /// A line for a shell.
    pub fn shell(line: &str) -> Self {
        let commands = take_apart(line).and_then(shell::with_scripts);
        Self { written: line.to_owned(), commands, ..Self::default() }
    }

    /// The same in another folder than the project, where other files decide what a program does (`make`, `npm test`).
    #[must_use]
    pub fn within(self, folder: Location) -> Self {
        let is_project = folder.relative() == Some("");
        Self { folder: (!is_project).then_some(folder), ..self }
    }

    /// The same with input that comes with the call.
    #[must_use]
    pub fn with_input(self) -> Self {
        Self { has_input: true, ..self }
    }

    /// The same with variables of its own. Nobody can tell what it does with any.
    #[must_use]
    pub fn with_variables(self, variables: Vec<String>) -> Self {
        let commands = self.commands.filter(|_| variables.is_empty());
        Self { commands, variables, ..self }
    }

    /// The names of the variables that the call brings.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Whether two calls that look alike do the same: not if we did not understand one, nor if its input differs.
    pub(crate) fn is_distinct(&self) -> bool {
        self.is_clear() && !self.has_input
    }

    /// The whole text: of a shell line, what the shell is to be given.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Where it runs, if not in the project.
    pub fn folder(&self) -> Option<&Location> {
        self.folder.as_ref()
    }

    /// The same, but nobody can tell what it does.
    pub(crate) fn made_unclear(self) -> Self {
        Self { commands: None, ..self }
    }

    /// Patterns that name exactly these commands and whatever arguments follow; nothing if no pattern can.
    pub(crate) fn naming(&self) -> Option<Vec<String>> {
        let pattern = |words: &Vec<String>| {
            let whole = words.join(" ");
            let is_whole = CommandPattern::read(&whole).is_ok_and(|pattern| pattern.begins(words));
            // What a shell is told to run has patterns of its own.
            let shell = shell::before_script(words).filter(|_| !is_whole);
            shell.map_or(whole, |shell| shell.join(" "))
        };
        let patterns: Vec<String> = self.commands.as_ref()?.iter().map(pattern).collect();
        CommandPattern::admits_all(&patterns, self).then_some(patterns)
    }

    /// Whether we know which programs it starts.
    pub fn is_clear(&self) -> bool {
        self.commands.is_some()
    }
}

/// The beginning of the command on one line, for a person.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 80;
        let flat = self.written.chars().map(|it| if it.is_control() { ' ' } else { it });
        let shown: String = flat.take(SHOWN).collect();
        let rest = if self.written.chars().nth(SHOWN).is_some() { "…" } else { "" };
        write!(f, "{shown}{rest}")?;
        match &self.folder {
            Some(folder) => write!(f, " (in {folder})"),
            None => Ok(()),
        }
    }
}

impl CommandPattern {
    pub(crate) fn read(written: &str) -> Result<Self, CommandFault> {
        let words: Vec<String> = written.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return Err(CommandFault::Empty);
        }
        match take_apart(written) {
            Some(commands) if commands == [words.as_slice()] => Ok(Self { written: written.to_owned(), words }),
            Some(_) | None => Err(CommandFault::NotPlain),
        }
    }

    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    fn admits_all(written: &[String], call: &Command) -> bool {
        let patterns: Result<Vec<Self>, _> = written.iter().map(|pattern| Self::read(pattern)).collect();
        patterns.is_ok_and(|patterns| admits(&patterns, call))
    }

    /// A program of a grant is meant exactly as written: `git` is not `./git`.
    fn begins(&self, command: &[String]) -> bool {
        command.starts_with(&self.words)
    }

    /// A program of a deny is found in any folder, in any case, and behind other programs (`env rm`, `sudo rm`). Options
    /// may stand before its arguments (`git -C x push`), and words that come from elsewhere behind them (`xargs git`).
    fn occurs(&self, command: &[String]) -> bool {
        // For each word of the pattern: whether it was met, with nothing but options and their values since.
        let mut met = vec![false; self.words.len()];
        let mut is_behind_option = false;
        for word in command {
            let is_option = word.starts_with('-');
            for at in (0..met.len()).rev() {
                let meets = match at {
                    0 => is_program(word, &self.words[0]),
                    at => met[at - 1] && is_same(&self.words[at], word),
                };
                met[at] = meets || (met[at] && (is_option || is_behind_option));
            }
            if met.last() == Some(&true) {
                return true;
            }
            is_behind_option = is_option;
        }
        met.contains(&true) && shell::is_open(command)
    }
}

/// Whether a word may start the program of this name.
fn is_program(word: &str, name: &str) -> bool {
    [word, file_name(word), bare_name(word)].iter().any(|form| is_same(form, name))
}

fn file_name(program: &str) -> &str {
    program.rsplit(['/', '\\']).next().unwrap_or(program)
}

/// The name of a program without its folder and without the endings that Windows adds or passes over.
fn bare_name(program: &str) -> &str {
    let name = file_name(program).trim_end_matches(['.', ' ']);
    let stem = name.len().checked_sub(4).and_then(|end| name.split_at_checked(end));
    let runs = |ending: &str| [".exe", ".com", ".cmd", ".bat"].iter().any(|known| is_same(ending, known));
    stem.filter(|(_, ending)| runs(ending)).map_or(name, |(stem, _)| stem)
}

/// Whether grants of `patterns` together give every command of the call.
pub(crate) fn admits(patterns: &[CommandPattern], call: &Command) -> bool {
    let given = |command: &Vec<String>| patterns.iter().any(|pattern| pattern.begins(command));
    call.commands.as_ref().is_some_and(|commands| commands.iter().all(given))
}

/// The first pattern of a deny that some command of the call meets, or may meet: in a folder of its own a program runs
/// what it finds there. A list without patterns denies nothing.
pub(crate) fn touched<'a>(patterns: &'a [CommandPattern], call: &Command) -> Option<&'a CommandPattern> {
    patterns.iter().find(|pattern| match (&call.commands, &call.folder) {
        (Some(commands), None) => commands.iter().any(|command| pattern.occurs(command)),
        (None, _) | (_, Some(_)) => true,
    })
}

/// Divides a line into commands and those into words; nothing if that takes more than reading.
fn take_apart(line: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut rest = line.trim_matches([' ', '\t', '\n']).chars().peekable();
    while let Some(sign) = rest.next() {
        match sign {
            ' ' | '\t' => commands.last_mut()?.extend(word.take()),
            '\n' | ';' | '&' | '|' => {
                commands.last_mut()?.extend(word.take());
                if sign != '\n' && sign != ';' {
                    rest.next_if_eq(&sign);
                }
                commands.push(Vec::new());
            }
            '\'' => loop {
                match rest.next()? {
                    '\'' => break word.get_or_insert_default().push_str(""),
                    inner => word.get_or_insert_default().push(inner),
                }
            },
            '"' => loop {
                match rest.next()? {
                    '"' => break word.get_or_insert_default().push_str(""),
                    '$' | '`' | '\\' | '!' => return None,
                    inner => word.get_or_insert_default().push(inner),
                }
            },
            '\\' => word.get_or_insert_default().push(rest.next().filter(|next| !next.is_control())?),
            '$' | '`' | '<' | '>' | '(' | ')' | '{' | '}' | '[' | ']' | '*' | '?' | '!' | '#' | '~' | '^' | '%' => {
                return None;
            }
            control if control.is_control() => return None,
            plain => word.get_or_insert_default().push(plain),
        }
    }
    commands.last_mut()?.extend(word);
    // An assignment before a command changes what the command does (`LD_PRELOAD=… git`).
    let plain = |command: &Vec<String>| command.first().is_some_and(|program| !program.contains('='));
    commands.iter().all(plain).then_some(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(written: &[&str]) -> Vec<CommandPattern> {
        written.iter().map(|pattern| CommandPattern::read(pattern).expect("a pattern")).collect()
    }

    #[track_caller]
    fn check(pattern: &str, line: &str, expected: (bool, bool)) {
        let (patterns, call) = (patterns(&[pattern]), Command::shell(line));
        assert_eq!((admits(&patterns, &call), touched(&patterns, &call).is_some()), expected, "{pattern}: {line}");
    }

    #[test]
    fn patterns_are_whole_words_from_the_start() {
        check("git", "git status", (true, true));
        check("git log", "git  log --oneline", (true, true));
        check("git log", "git logout", (false, false));
        check("git log", "git status", (false, false));
        check("git", "gitk", (false, false));
        check("git", "'git' \"log\" a\\ b", (true, true));
        check("git", "g''it log", (true, true));
        check("git", "./git log", (false, true));
        check("git", "/usr/bin/GIT log", (false, true));
        check("git", "git.exe log", (false, true));
        check("git", "", (false, true));
    }

    #[test]
    fn every_command_of_a_line_counts() {
        check("git", "git log && git status; git diff | git apply\ngit push & git pull || git gc", (true, true));
        for joined in
            ["git log; rm -rf x", "git log && rm x", "git log || rm x", "git log | rm x", "git log & rm x", "git\nrm x"]
        {
            check("git", joined, (false, true));
            check("rm", joined, (false, true));
        }
        check("rm", "env sudo rm x", (false, true));
        check("git push", "git log; git push", (false, true));
    }

    #[test]
    fn unclear_lines_are_given_to_nobody_and_taken_by_every_deny() {
        let unclear = [
            "git log $(rm x)",
            "git log `rm x`",
            "git log > /etc/x",
            "git <(rm x)",
            "git log \"$(rm x)\"",
            "FOO=1 git log",
            "git log;;",
            "git 'log",
            "git log |& rm",
            "(git log)",
            "{ git; }",
            "git $X",
            "git l*g",
            "git ~",
            "git \\\n log",
            "git\rlog",
            "git log #",
            "git \"a\\\"b\"",
            "&& git",
            "git ${IFS}log",
            "git <<X",
        ];
        for line in unclear {
            assert!(!Command::shell(line).is_clear(), "{line}");
            check("git", line, (false, true));
            check("ls", line, (false, true));
        }
    }

    #[test]
    fn empty_list_of_patterns_gives_nothing_and_denies_nothing() {
        let call = Command::program("git", &[]);
        assert!(!admits(&[], &call));
        assert!(touched(&[], &call).is_none());
    }

    #[test]
    fn arguments_of_a_program_are_not_read_as_shell() {
        let call = Command::program("git", &["log".into(), "$(rm x); rm".into()]);
        assert!(admits(&patterns(&["git log"]), &call));
        assert!(touched(&patterns(&["rm"]), &call).is_none());
        assert!(touched(&patterns(&["git log"]), &call).is_some());
    }

    #[test]
    fn line_of_a_shell_is_named_beside_the_shell() {
        let naming = |program: &str, arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&it| it.to_owned()).collect();
            Command::program(program, &arguments).naming()
        };
        let some = |patterns: &[&str]| Some(patterns.iter().map(|&it| it.to_owned()).collect::<Vec<_>>());
        assert_eq!(naming("/bin/sh", &["-c", "git --version"]), some(&["/bin/sh -c", "git --version"]));
        assert_eq!(
            naming("bash", &["-c", "git log | wc -l"]),
            some(&["bash -c", "git log", "wc -l"]),
            "every command of the line"
        );
        assert_eq!(naming("sh", &["-c", "ls"]), some(&["sh -c ls", "ls"]));
        assert_eq!(naming("/bin/sh", &["-c", "git log > x"]), None, "unclear");
        assert_eq!(naming("git", &["commit", "-m", "a b"]), None, "what is no script is not cut off");
        let granted = patterns(&["/bin/sh -c", "git --version"]);
        let call = |line: &str| Command::program("/bin/sh", &["-c".to_owned(), line.to_owned()]);
        assert!(admits(&granted, &call("git --version")));
        assert!(!admits(&granted, &call("git push")) && !admits(&granted, &call("rm x")));
    }

    /// What a program that is started directly runs, or `?`.
    fn runs(words: &[&str]) -> String {
        let arguments: Vec<String> = words[1..].iter().map(|&word| word.to_owned()).collect();
        let commands = Command::program(words[0], &arguments).commands;
        let lines = commands.map(|commands| commands.iter().map(|words| words.join(" ")).collect::<Vec<_>>());
        lines.map_or("?".to_owned(), |lines| lines.join(" + "))
    }

    #[test]
    fn scripts_of_shells_are_taken_apart() {
        for shell in ["sh", "bash", "zsh", "dash", "ksh", "fish", "/bin/BASH", "C:\\x\\bash.exe"] {
            assert_eq!(runs(&[shell, "-c", "rm -rf x; ls"]), format!("{shell} -c rm -rf x; ls + rm -rf x + ls"));
            check("rm", &format!("'{shell}' -c 'rm x'"), (false, true));
            check("ls", &format!("'{shell}' -c 'rm x'"), (false, false));
        }
        assert_eq!(runs(&["env", "A=1", "bash", "-lc", "rm x"]), "env A=1 bash -lc rm x + rm x");
        assert_eq!(runs(&["xargs", "-n", "1", "sh", "-c", "rm x"]), "xargs -n 1 sh -c rm x + rm x");
        assert_eq!(runs(&["bash", "-c", "sh -c 'rm x'"]), "bash -c sh -c 'rm x' + sh -c rm x + rm x");
        assert_eq!(runs(&["find", "-exec", "sh", "-c", "rm x", ";"]), "find -exec sh -c rm x ; + rm x");
        assert_eq!(runs(&["eval", "rm", "x"]), "eval rm x + rm x");
        for line in ["sudo bash -c 'rm x'", "nohup sh -c 'rm x' &", "git log && bash -c 'rm x'", "busybox sh -c 'rm x'"]
        {
            check("rm", line, (false, true));
            check("sudo", line, (false, line.contains("sudo") || !Command::shell(line).is_clear()));
        }
        check("bash", "bash -c 'bash x'", (true, true));
        check("bash", "bash -c 'rm x'", (false, true));
    }

    #[test]
    fn shells_that_are_told_otherwise_are_unclear() {
        let unclear: [&[&str]; 29] = [
            &["bash", "-c", "rm $X"],
            &["bash", "-c"],
            &["bash", "-c", "-e", "rm x"],
            &["bash", "-ce", "rm x"],
            &["bash", "-co", "pipefail", "rm x"],
            &["fish", "--command=rm x"],
            &["fish", "--init-command", "rm x"],
            &["bash", "-s"],
            &["bash", "-es"],
            &["bash", "-x"],
            &["sh", "-"],
            &["bash", "-o", "pipefail"],
            &["sudo", "sh", "-l"],
            &["env", "-iS", "rm x"],
            &["su", "--session-command=rm x"],
            &["bash"],
            &["sudo", "-u", "root", "sh"],
            &["cmd", "/c", "del x"],
            &["cmd.exe", "/d", "/S/C", "del x"],
            &["cmd", "/Kdel"],
            &["powershell", "-Command", "rm x"],
            &["powershell", "rm x"],
            &["pwsh", "-NoProfile", "-c", "rm x"],
            &["pwsh", "-enc", "AAAA"],
            &["env", "pwsh", "/Command", "rm x"],
            &["env", "-S", "bash -c rm"],
            &["nice", "env", "-Sbash"],
            &["eval", "rm $X"],
            &["bash", "-c", "bash -c \"bash -c 'bash -c bash\\ -c\\ x'\""],
        ];
        for words in unclear {
            assert_eq!(runs(words), "?", "{words:?}");
            check(
                "git",
                &words.iter().map(|word| format!("'{}'", word.replace('\'', ""))).collect::<Vec<_>>().join(" "),
                (false, true),
            );
        }
        check("git", "curl x | bash", (false, true));
    }

    #[test]
    fn shells_run_their_input_in_more_ways_than_one() {
        let unclear: [&[&str]; 33] = [
            &["bash", "+s", "x"],
            &["bash", "--rcfile", "/dev/null"],
            &["bash", "-rcfile", "/dev/null", "-i"],
            &["bash", "-o"],
            &["bash", "--"],
            &["fish", "-d", "2"],
            &["fish", "-p", "profile"],
            &["bash", "/dev/stdin"],
            &["sh", "-e", "/proc/self/fd/0"],
            &[".", "/dev/stdin"],
            &["source", "/dev/fd/0"],
            &["su", "root"],
            &["su", "-", "root"],
            &["su", "--se=rm x"],
            &["su", "-c", "ls", "-s", "/bin/evil"],
            &["cmd", "/s"],
            &["pwsh", "-File", "-"],
            &["env", "--s=rm x"],
            &["sudo", "-s"],
            &["sudo", "-u", "root", "-i"],
            &["doas", "-s"],
            &["then", "sh"],
            &["do", "env", "-S", "rm x"],
            &["xargs", "-IX", "sh", "-c", "X"],
            &["xargs", "-n", "1", "-I", "X", "X"],
            &["xargs", "--replace=X", "X"],
            &["xargs", "env"],
            &["parallel"],
            &["at", "now"],
            &["alias", "ls=rm"],
            &["toybox", "sh"],
            &["chroot", "/", "sh"],
            &["yash"],
        ];
        for words in unclear {
            assert_eq!(runs(words), "?", "{words:?}");
        }
    }

    #[test]
    fn lines_are_found_in_more_places_than_one() {
        for (words, line) in [
            (&["bash", "+c", "rm x"][..], "rm x"),
            (&["sh", "-e", "+xc", "rm x"], "rm x"),
            (&["bash", "-euo", "pipefail", "-c", "rm x"], "rm x"),
            (&["bash", "--norc", "-O", "extglob", "-c", "rm x"], "rm x"),
            (&["su", "root", "-c", "rm x"], "rm x"),
            (&["su", "-lc", "rm x", "root"], "rm x"),
            (&["then", "eval", "rm x"], "rm x"),
            (&["else", "sudo", "-u", "root", "eval", "rm", "x"], "rm x"),
            (&["trap", "rm x", "EXIT"], "rm x"),
            (&["watch", "-n", "1", "rm x"], "rm x"),
            (&["script", "-qc", "rm x", "log"], "rm x"),
            (&["flock", "file", "-c", "rm x"], "rm x"),
            (&["ssh", "host", "rm x"], "rm x"),
            (&["kubectl", "exec", "pod", "--", "sh", "-c", "rm x"], "rm x"),
        ] {
            assert_eq!(runs(words), format!("{} + {line}", words.join(" ")));
        }
    }

    #[test]
    fn denied_arguments_are_found_behind_options() {
        for line in [
            "git -C sub push",
            "git --no-pager -c a.b=c push origin",
            "sudo git --git-dir x push",
            "echo push | xargs git",
            "echo x | xargs -n 1 git --no-pager",
            "git.cmd push",
            "GIT.BAT. push",
        ] {
            check("git push", line, (false, true));
        }
        for line in [
            "git commit -m push",
            "git log push",
            "git stash push",
            "git -C push log",
            "echo a | xargs git log",
            "gitpush.com",
            "xargs ls",
        ] {
            check("git push", line, (false, line.contains("-C push")));
        }
    }

    #[test]
    fn command_of_many_shells_is_unclear_and_soon_so() {
        for word in ["su", "eval", "sh", "cmd"] {
            for first in ["env", "x"] {
                let arguments = vec![word.to_owned(); 100_000];
                assert!(!Command::program(first, &arguments).is_clear(), "{first} {word}");
            }
        }
    }

    #[test]
    fn blanks_are_those_of_a_shell() {
        check("git", " \tgit log\n", (true, true));
        check("git", "\u{a0}git log", (false, false));
        check("git", "git log\r", (false, true));
    }

    #[test]
    fn words_that_are_no_shell_to_be_run_stay_clear() {
        for words in [
            &["bash", "build.sh"][..],
            &["bash", "-e", "build.sh", "x"],
            &["grep", "-c", "bash", "file"],
            &["git", "log", "bash"],
            &["npm", "run", "cmd"],
            &["pwsh", "-File", "build.ps1"],
            &["cc", "-c", "sh.c"],
            &["bash", "build.sh", "--config", "x"],
            &["sh", "-eu", "--", "build.sh", "-c"],
            &["bash", "-euo", "pipefail", "build.sh"],
            &["git", "diff", "bash", "--cached"],
            &["sudo", "-u", "root", "make", "-s"],
            &["xargs", "-0", "grep", "-i", "x"],
            &["busybox", "ls", "-c"],
            &["trap", "-", "EXIT"],
            &["find", "."],
            &["find", ".", "-name", "x"],
            &["env", "-u", "X", "git", "log", "--stat", "-S", "x"],
        ] {
            assert_eq!(runs(words), words.join(" "));
        }
    }

    #[test]
    fn patterns_hold_plain_words() {
        for wrong in ["", "  ", "git *", "git;rm", "'git'", "A=1 git", "git >x"] {
            assert!(CommandPattern::read(wrong).is_err(), "{wrong}");
        }
    }
}
