//! What the commands of a shell do.

use super::{
    commands::{WRITTEN, commands, is_veiled},
    paths::{folder, is_much, secret, written},
};

/// Words before a command that change nothing about what it does, their options that a value follows, and how many words of
/// their own come before the command.
const BEFORE: [(&str, &[&str], usize); 26] = [
    ("env", &["-u", "--unset", "-C", "--chdir"], 0),
    ("nohup", &[], 0),
    ("time", &["-f", "--format", "-o", "--output"], 0),
    ("command", &[], 0),
    ("builtin", &[], 0),
    ("exec", &["-a"], 0),
    ("nice", &["-n", "--adjustment"], 0),
    ("ionice", &["-c", "--class", "-n", "--classdata"], 0),
    ("timeout", &["-k", "--kill-after", "-s", "--signal"], 1),
    ("stdbuf", &["-i", "--input", "-o", "--output", "-e", "--error"], 0),
    ("setsid", &[], 0),
    ("chrt", &[], 1),
    ("taskset", &[], 1),
    ("xargs", &["-E", "-I", "-L", "-P", "-a", "-d", "-n", "-s", "--max-args", "--max-procs", "--arg-file"], 0),
    ("watch", &["-n", "--interval"], 0),
    ("then", &[], 0),
    ("do", &[], 0),
    ("else", &[], 0),
    ("elif", &[], 0),
    ("if", &[], 0),
    ("while", &[], 0),
    ("until", &[], 0),
    ("!", &[], 0),
    ("{", &[], 0),
    ("}", &[], 0),
    ("coproc", &[], 0),
];
const SHELLS: [&str; 5] = ["sh", "bash", "zsh", "dash", "ksh"];
/// What runs a text that it is given, beside shells.
const RUNNERS: [&str; 7] = ["source", ".", "python", "python3", "perl", "ruby", "node"];
const LOADERS: [&str; 3] = ["curl", "wget", "fetch"];
/// What changes every file that it names, and what changes the last one only, or the one behind `-t`.
const CHANGERS: [&str; 11] =
    ["tee", "rm", "rmdir", "unlink", "shred", "truncate", "touch", "chmod", "chown", "mv", "ln"];
const COPIERS: [&str; 4] = ["cp", "install", "rsync", "scp"];
/// What changes the files that it names if it is told to do it in place.
const EDITORS: [&str; 3] = ["sed", "perl", "ruby"];
/// What programs do, whatever their arguments. A star stands for the rest of a name.
const ALWAYS: [(&[&str], &str); 3] = [
    (&["sudo", "doas", "su", "pkexec", "runuser", "run0"], "it would act as another user"),
    (&["mkfs*", "mkswap", "fdisk", "sfdisk", "parted", "wipefs", "blkdiscard"], "it would change disks"),
    (&["shutdown", "reboot", "halt", "poweroff"], "it would stop the machine"),
];
/// What commands of git do with one of these arguments. An option of one letter is found among others, a star stands for the
/// rest of a word.
const GIT: [(&str, &[&str], &str); 12] = [
    ("push", &["--force*", "-f", "+*", "--mirror", "--delete", "-d", ":*"], "it would overwrite what others pushed"),
    ("reset", &["--hard", "--merge"], "it would throw away changes"),
    ("checkout", &["--", ".", "-f", "--force"], "it would throw away changes"),
    ("switch", &["-f", "--force", "--discard-changes"], "it would throw away changes"),
    ("rm", &["-f", "--force"], "it would throw away changes"),
    ("clean", &["-f", "--force"], "it would remove files that nobody committed"),
    ("branch", &["-D", "--force"], "it would remove commits that stand nowhere else"),
    ("stash", &["drop", "clear"], "it would throw away changes that were put aside"),
    ("reflog", &["expire", "delete"], "it would remove commits that stand nowhere else"),
    ("gc", &["--prune*"], "it would remove commits that stand nowhere else"),
    ("worktree", &["-f", "--force"], "it would throw away changes"),
    ("filter-branch", &["*"], "it would rewrite all commits"),
];

/// What is dangerous about a line for a shell, and about lines inside it, so many deep.
pub(super) fn line(line: &str, depth: usize) -> Option<String> {
    if is_veiled(line) {
        return Some(format!("it would hide what it runs: {line}"));
    }
    let commands = commands(line);
    let commands: Vec<Vec<&str>> =
        commands.iter().map(|command| command.iter().map(String::as_str).collect()).collect();
    let is_fetched = commands.iter().any(|command| LOADERS.contains(&program(bare(command))));
    let is_run = commands.iter().any(|command| runs_what_comes_in(bare(&without_targets(command))));
    if is_fetched && is_run {
        return Some("it would run what it loads from the network".to_owned());
    }
    commands.iter().find_map(|command| {
        let targets = command.windows(2).filter(|pair| pair[0] == WRITTEN);
        let target = targets.map(|pair| pair[1]).find_map(written);
        let words: Vec<&str> = command.iter().copied().filter(|word| *word != WRITTEN).collect();
        dangerous(&words, depth).or(target)
    })
}

/// What is dangerous about one command, and about those that it runs.
fn dangerous(words: &[&str], depth: usize) -> Option<String> {
    let words = bare(words);
    let lines = lines_inside(words).into_iter().map(|inside| match depth.checked_sub(1) {
        Some(depth) => line(&inside, depth),
        None => Some(format!("it would run a line inside of too many others: {inside}")),
    });
    let commands = commands_inside(words).map(|inside| match depth.checked_sub(1) {
        Some(depth) => dangerous(inside, depth),
        None => Some(format!("it would run a command inside of too many others: {}", inside.join(" "))),
    });
    lines.chain(commands).flatten().next().or_else(|| command(words))
}

/// The lines that a command has another shell run.
fn lines_inside(words: &[&str]) -> Option<String> {
    let (program, arguments) = (program(words), words.get(1..)?);
    if program.contains(char::is_whitespace) {
        // A whole line as one word, as `watch` and `env -S` take it.
        return Some(words.join(" "));
    }
    if program == "eval" {
        return Some(arguments.join(" "));
    }
    let is_line = |word: &&&str| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    let at = arguments.iter().position(|word| is_line(&word)).filter(|_| SHELLS.contains(&program))?;
    arguments.get(at + 1).map(|line| (*line).to_owned())
}

/// The commands that `find` runs for what it finds.
fn commands_inside<'a, 'b>(words: &'a [&'b str]) -> impl Iterator<Item = &'a [&'b str]> {
    let words = if ["find", "fd"].contains(&program(words)) { words } else { &[] };
    let runs = |word: &&str| ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X"].contains(word);
    words.split(runs).skip(1).map(|inside| inside.split(|word| [";", "+"].contains(word)).next().unwrap_or(inside))
}

/// Whether a command runs what comes in, or what is filled in: it names no file, or says that what it names are arguments.
fn runs_what_comes_in(command: &[&str]) -> bool {
    let (program, arguments) = (program(command), command.get(1..).unwrap_or_default());
    let is_shell = SHELLS.contains(&program);
    let mut options = arguments.iter().take_while(|word| word.starts_with('-'));
    let takes_input = options.any(|word| is_shell && !word.starts_with("--") && word.contains('s'));
    let names_no_file = arguments.iter().all(|word| word.is_empty() || word.starts_with('-') || *word == "/dev/stdin");
    (is_shell || RUNNERS.contains(&program)) && (takes_input || names_no_file)
}

/// A command without the files that it writes to, and without the numbers of what goes there.
fn without_targets<'a>(command: &[&'a str]) -> Vec<&'a str> {
    let is_target = |at: usize| at > 0 && command[at - 1] == WRITTEN;
    let is_number = |at: usize| {
        let is_redirected = command.get(at + 1).is_some_and(|next| *next == WRITTEN);
        is_redirected && command[at].bytes().all(|digit| digit.is_ascii_digit())
    };
    let words = command.iter().enumerate();
    words.filter(|(at, word)| **word != WRITTEN && !is_target(*at) && !is_number(*at)).map(|(_, word)| *word).collect()
}

/// What a command runs, without its folder.
fn program<'a>(words: &[&'a str]) -> &'a str {
    let first = words.first().copied().unwrap_or_default();
    if first.contains(char::is_whitespace) { first } else { first.rsplit('/').next().unwrap_or(first) }
}

/// A command without the variables and the words before it.
fn bare<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    let is_variable = |word: &str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| !name.is_empty() && name.chars().all(|sign| sign.is_alphanumeric() || sign == '_'))
    };
    let Some((first, mut rest)) = words.split_first() else { return words };
    if is_variable(first) && !rest.is_empty() {
        return bare(rest);
    }
    let known = BEFORE.iter().find(|(name, ..)| *name == program(words));
    let Some((name, valued, own)) = known.filter(|_| !rest.is_empty()) else { return words };
    while let Some((option, behind)) = rest.split_first().filter(|(word, _)| word.starts_with('-')) {
        if *name == "command" && ["-v", "-V"].contains(option) {
            // It only says where that is.
            return &[];
        }
        rest = if valued.contains(option) { behind.get(1..).unwrap_or_default() } else { behind };
    }
    bare(rest.get(*own..).unwrap_or_default())
}

/// What is dangerous about a command that stands by itself.
fn command(words: &[&str]) -> Option<String> {
    let (program, arguments) = (program(words), words.get(1..)?);
    let has = |option: &str| arguments.iter().any(|argument| is_meant(argument, option));
    let is_recursive = ["-r", "-R", "--recursive"].into_iter().any(has);
    let mut operands = arguments.iter().copied().filter(|it| !it.starts_with('-'));
    let always = ALWAYS.iter().find(|(names, _)| names.iter().any(|name| is_meant(program, name)));
    let what = match program {
        _ if let Some((_, what)) = always => *what,
        "systemctl" if ["poweroff", "reboot", "halt"].into_iter().any(has) => "it would stop the machine",
        "dd" if arguments.iter().any(|it| it.starts_with("of=/dev/") && written(it).is_some()) => {
            "it would write over a device"
        }
        "rm" if operands.clone().all(|it| it == "{}") => "it would remove what comes in",
        "rm" if is_recursive && operands.clone().any(is_much) => "it would remove everything there",
        "find" if has("-delete") => "it would remove what it finds",
        "chmod" if is_recursive && arguments.iter().any(|it| is_for_everybody(it)) => {
            "it would let everybody write everything"
        }
        "git" if let Some(what) = git(arguments) => what,
        _ => {
            let secret = arguments.iter().find_map(|argument| secret(argument, "touch"));
            let is_changed_in_place = || has("-i") || has("--in-place*");
            let behind = arguments.iter().skip_while(|it| !["-t", "--target-directory"].contains(it)).nth(1);
            let written = match program {
                "dd" => arguments.iter().filter(|it| it.starts_with("of=")).find_map(|it| written(it)),
                _ if CHANGERS.contains(&program) => operands.find_map(written),
                _ if COPIERS.contains(&program) => {
                    let joined = arguments.iter().find(|it| it.starts_with("--target-directory="));
                    [behind, joined, arguments.last()].into_iter().flatten().find_map(|it| written(it))
                }
                _ if EDITORS.contains(&program) && is_changed_in_place() => {
                    operands.find_map(|it| folder(it, "change"))
                }
                _ => None,
            };
            return secret.or(written);
        }
    };
    Some(format!("{what}: {}", words.join(" ")))
}

/// What a command of git would do that cannot be undone.
fn git(arguments: &[&str]) -> Option<&'static str> {
    // Options of git itself come before the command, some with a value.
    let mut rest = arguments;
    while let Some((option, behind)) = rest.split_first().filter(|(word, _)| word.starts_with('-')) {
        let is_valued = ["-C", "-c", "--git-dir", "--work-tree", "--namespace"].contains(option);
        rest = if is_valued { behind.get(1..).unwrap_or_default() } else { behind };
    }
    let (name, arguments) = rest.split_first()?;
    let has = |option: &str| arguments.iter().any(|argument| is_meant(argument, option));
    let is_only_shown = ["-n", "--dry-run"].into_iter().any(has);
    if *name == "restore" {
        // What is taken out of the index only is still in the file.
        let is_kept = (has("--staged") || has("-S")) && !has("--worktree") && !has("-W");
        return (!is_kept).then_some("it would throw away changes");
    }
    let known = GIT.iter().find(|(command, options, _)| command == name && options.iter().any(|option| has(option)));
    known.filter(|_| !is_only_shown).map(|(.., what)| *what)
}

/// Whether a word is this option: as it stands, as a letter among others, or what the star stands for.
fn is_meant(word: &str, option: &str) -> bool {
    if let Some(beginning) = option.strip_suffix('*') {
        return word.starts_with(beginning);
    }
    let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1 && *letter != "-");
    let is_among = |letter: &str| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
    word == option || letter.is_some_and(is_among)
}

/// Whether a mode lets everybody write.
fn is_for_everybody(mode: &str) -> bool {
    mode.trim_start_matches('0') == "777"
        || ["a+rwx", "ugo+rwx", "+rwx", "a+w", "o+w", "o+rwx", "a=rwx"].contains(&mode)
}
