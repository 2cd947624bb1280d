//! What the documentation says is what the binary does.

use std::process::Output;

use crate::world::World;

const PAGE: &str = include_str!("../../../../docs/cli.md");

/// `UPDATE=1 cargo test -p pi-cli --test cli documents` writes the page anew.
#[test]
fn examples_in_the_documentation_print_what_they_say() {
    let (page, count) = with_output(PAGE);
    assert!(count >= 15, "only {count} examples were found");
    if std::env::var_os("UPDATE").is_some() {
        #[expect(clippy::disallowed_methods, reason = "this test is the writer of the page's examples")]
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md"), page)
            .expect("the page can be written");
        return;
    }
    let difference = page.lines().zip(PAGE.lines()).find(|(prints, says)| prints != says);
    assert_eq!(difference, None, "docs/cli.md is out of date: UPDATE=1 cargo test -p pi-cli --test cli documents");
    assert_eq!(page.len(), PAGE.len());
}

#[test]
fn exit_codes_are_documented_as_the_help_tells_them() {
    let help = World::new().run("--help");
    let codes: Vec<_> = help
        .lines()
        .skip_while(|line| *line != "Exit codes:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(|line| line.trim_start().split_once(' ').expect("a code and its meaning"))
        .map(|(code, meaning)| (code, meaning.trim_start()))
        .collect();
    assert_eq!(codes.iter().map(|(code, _)| *code).collect::<Vec<_>>(), ["0", "1", "2", "75", "130", "143"]);
    let documented = include_str!("../../../../docs/exit-codes.md");
    for (code, meaning) in codes {
        assert!(documented.contains(&format!("| {code} | {meaning} |")), "docs/exit-codes.md lacks {code}: {meaning}");
    }
}

/// The page with what its commands really print, and how many there are.
///
/// A command is a line that begins with `$ ` inside a console block; its output reaches to the next or to the end.
fn with_output(page: &str) -> (String, usize) {
    let mut written = String::new();
    let (mut is_console, mut count) = (false, 0);
    for line in page.lines() {
        let command = line.strip_prefix("$ ").filter(|_| is_console);
        let is_fence = line.starts_with("```");
        if is_fence {
            is_console = line == "```console";
        }
        if is_fence || command.is_some() || !is_console {
            written.push_str(line);
            written.push('\n');
        }
        if let Some(command) = command {
            written.push_str(&run(command));
            count += 1;
        }
    }
    (written, count)
}

/// Runs `pi …`, which may end with `| head -N`, in the root of the repository; a code other than 0 is shown at the end.
fn run(line: &str) -> String {
    let (line, shown_lines) = match line.split_once(" | head -") {
        Some((line, count)) => (line, count.parse().expect("a number of lines")),
        None => (line, usize::MAX),
    };
    let words = words(line.strip_prefix("pi").expect("an example runs pi"));
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let Output { status, stdout, stderr } =
        World::new().command("").args(words).current_dir(root).output().expect("pi runs");
    let text = [stdout, stderr].map(|bytes| String::from_utf8(bytes).expect("text")).concat();
    let mut text: String = text.lines().take(shown_lines).map(|line| format!("{line}\n")).collect();
    if let Some(code) = status.code().filter(|code| *code != 0) {
        text.push_str(&format!("[exit {code}]\n"));
    }
    text
}

/// Words as a shell takes them, with single quotes only.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}
