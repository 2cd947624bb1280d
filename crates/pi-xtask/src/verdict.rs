//! The verdicts in the tables of `docs/conformance.md` and `docs/faults.md`.
//!
//! Which rows there are, and which tests show each, is decided by lists beside the tests; tests compare them with the pages. The
//! last cell of a row is written here and nowhere else, from what the test programs printed: a test that failed, was
//! ignored or was not run turns the verdict of every row that names it.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::report::{Report, Verdict};
use crate::test::Chosen;
use crate::{cargo, console, files, test, typescript};

/// What runs the tests of the client, all of them or none.
pub(crate) const CLIENT: &str = "TypeScript client";
/// How the conformance suite tells of a sentence, and with which ending a file of sentences is named.
const SENTENCE: (&str, &str) = ("conformance row ", ".yaml");
const NOT_RUN: &str = "not run";

/// A page with a table.
struct Page {
    path: &'static str,
    /// Behind it the table begins.
    mark: &'static str,
    good: &'static str,
    bad: &'static str,
}

const PAGES: [Page; 2] = [
    Page {
        path: "docs/conformance.md",
        mark: "<!-- written by the test what_the_document_demands_holds -->\n",
        good: "holds",
        bad: "**does not hold**",
    },
    Page {
        path: "docs/faults.md",
        mark: "<!-- written by the test every_fault_has_its_tests -->\n",
        good: "passes",
        bad: "**fails**",
    },
];

/// How a test came out. Of several, the last in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Passed,
    /// What it needs is not on this machine, and that was told.
    Skipped,
    NotRun,
    Failed,
}

/// What a run of tests showed.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// By the path that the harness prints. Tests of the same path in two programs are one, as bad as the worse of them.
    tests: BTreeMap<String, Outcome>,
    /// By file and sentence.
    sentences: BTreeMap<(String, String), Outcome>,
    client: Option<Outcome>,
}

/// What shows a row.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shower {
    Test { file: String, name: String },
    Sentence { file: String, says: String },
}

impl Results {
    /// Takes a line that a test program printed.
    pub(crate) fn read(&mut self, line: &str) {
        if let Some((name, outcome)) = told(line, "test ") {
            note(&mut self.tests, name.to_owned(), outcome);
        } else if let Some((sentence, outcome)) = told(line, SENTENCE.0)
            && let Some((file, says)) = sentence.split_once(": ")
        {
            note(&mut self.sentences, (file.to_owned(), says.to_owned()), outcome);
        }
    }

    /// Takes how the tests of the client ended.
    pub(crate) fn of_client(&mut self, verdict: Option<&Verdict>) {
        self.client = verdict.map(|verdict| match verdict {
            Verdict::Passed(_) => Outcome::Passed,
            Verdict::Skipped(_) => Outcome::Skipped,
            Verdict::Failed(_) => Outcome::Failed,
        });
    }

    fn of(&self, shower: &Shower) -> Outcome {
        let found = match shower {
            Shower::Test { file, .. } if file.ends_with(".mjs") => self.client,
            Shower::Test { file, name } => {
                self.tests.iter().filter(|(path, _)| is_named(path, file, name)).map(|(_, outcome)| *outcome).max()
            }
            Shower::Sentence { file, says } => self.sentences.get(&(file.clone(), says.clone())).copied(),
        };
        found.unwrap_or(Outcome::NotRun)
    }
}

/// The name and the outcome in `KIND name ... ok`.
fn told<'a>(line: &'a str, kind: &str) -> Option<(&'a str, Outcome)> {
    let (name, outcome) = line.strip_prefix(kind)?.rsplit_once(" ... ")?;
    let outcome = match outcome {
        "ok" => Outcome::Passed,
        "FAILED" => Outcome::Failed,
        ignored if ignored.starts_with("ignored") => Outcome::NotRun,
        _ => return None,
    };
    Some((name, outcome))
}

fn note<K: Ord>(known: &mut BTreeMap<K, Outcome>, key: K, outcome: Outcome) {
    let worst = known.entry(key).or_insert(outcome);
    *worst = outcome.max(*worst);
}

/// Whether a path like `rates::tests::each_client` is that of the test in the file: a file is a module, or a program of its own.
fn is_named(path: &str, file: &str, name: &str) -> bool {
    let stem = file.rsplit('/').next().and_then(|file| file.strip_suffix(".rs")).unwrap_or(file);
    let mut modules: Vec<&str> = path.split("::").collect();
    modules.pop() == Some(name) && (modules.is_empty() || modules == ["tests"] || modules.contains(&stem))
}

/// The argument by which cargo finds the program that holds the tests of a file: `crates/pi-cli/tests/serve/faults.rs` is in
/// `--test=serve`. Nothing for what cargo does not run.
fn program(file: &str) -> Option<String> {
    let within = file.strip_suffix(".rs")?.strip_prefix("crates/")?.split_once('/')?.1;
    match within.split_once('/')? {
        ("src", _) => Some("--lib".to_owned()),
        ("tests", file) => Some(format!("--test={}", file.split('/').next().unwrap_or(file))),
        _ => None,
    }
}

/// Cells of a row of a table; nothing for its head and for other lines.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let cells: Vec<&str> = inner.split(" | ").collect();
    (cells.len() >= 3 && cells.last() != Some(&"verdict")).then_some(cells)
}

/// What shows a row: the tests that the cell before the verdict names as `` `name` in [file](../path) ``, or its sentence.
fn showers(cells: &[&str]) -> Vec<Shower> {
    let [.., says, shown, _] = cells else { return Vec::new() };
    let mut found = Vec::new();
    let mut rest = *shown;
    while let Some((name, (path, after))) = rest.split_once('`').and_then(|(_, rest)| {
        let (name, rest) = rest.split_once('`')?;
        let after = rest.strip_prefix(" in [")?;
        Some((name, after.split_once("](../")?.1.split_once(')')?))
    }) {
        let file = path.to_owned();
        found.push(match file.ends_with(SENTENCE.1) {
            true => Shower::Sentence { file: stem(&file), says: name.to_owned() },
            false => Shower::Test { file, name: name.to_owned() },
        });
        rest = after;
    }
    if found.is_empty()
        && let Some((_, path)) = shown.strip_suffix(')').and_then(|shown| shown.split_once("](../"))
    {
        found.push(Shower::Sentence { file: stem(path), says: (*says).to_owned() });
    }
    found
}

fn stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(SENTENCE.1).unwrap_or(name).to_owned()
}

impl Page {
    /// The page with the verdicts that the results give.
    fn judged(&self, text: &str, results: &Results) -> String {
        let Some((before, table)) = text.split_once(self.mark) else { return text.to_owned() };
        let judge = |line: &str| match cells(line) {
            Some(mut cells) => {
                let worst = showers(&cells).iter().map(|shower| results.of(shower)).max();
                let verdict = cells.pop().unwrap_or(NOT_RUN);
                let verdict = match worst.unwrap_or(Outcome::NotRun) {
                    Outcome::Passed => self.good,
                    // Another machine knew.
                    Outcome::Skipped => verdict,
                    Outcome::NotRun => NOT_RUN,
                    Outcome::Failed => self.bad,
                };
                format!("| {} | {verdict} |\n", cells.join(" | "))
            }
            None => format!("{line}\n"),
        };
        let table: String = table.lines().map(judge).collect();
        format!("{before}{}{table}", self.mark)
    }

    /// Rows whose verdict is not the good one.
    fn unshown<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let table = text.split_once(self.mark).map_or("", |(_, table)| table);
        table.lines().filter(|line| cells(line).is_some_and(|cells| cells.last() != Some(&self.good))).collect()
    }
}

/// Every row of the pages whose verdict is not the good one, with its page.
pub(crate) fn unshown() -> Result<Vec<(&'static str, String)>> {
    let mut found = Vec::new();
    for page in &PAGES {
        let text = files::read(&cargo::root().join(page.path))?;
        found.extend(page.unshown(&text).into_iter().map(|row| (page.path, row.to_owned())));
    }
    Ok(found)
}

/// What is done with a page whose verdicts are others than those of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Otherwise {
    Fail,
    Write,
}

/// Compares the pages with what ran. Fails as well if a verdict is not the good one.
pub(crate) fn check(results: &Results, otherwise: Otherwise) -> Result<Verdict> {
    let mut wrong = Vec::new();
    for page in &PAGES {
        let path = cargo::root().join(page.path);
        let text = files::read(&path)?;
        let judged = page.judged(&text, results);
        for row in page.unshown(&judged) {
            console::say(row);
            wrong.push(format!("{}: a row is not shown", page.path));
        }
        if judged != text {
            match otherwise {
                Otherwise::Write => files::write(&path, judged.as_bytes())?,
                Otherwise::Fail => wrong.push(format!(
                    "{} has other verdicts than this run; `cargo xtask verdicts` writes them",
                    page.path
                )),
            }
        }
    }
    Ok(if wrong.is_empty() { Verdict::Passed(String::new()) } else { Verdict::Failed(wrong.join("; ")) })
}

/// Runs the tests that the pages name, and writes the verdicts.
pub(crate) fn run() -> Result<()> {
    let mut chosen = Chosen { programs: Vec::new(), words: vec!["what_the_document_demands_holds".to_owned()] };
    for page in &PAGES {
        let text = files::read(&cargo::root().join(page.path))?;
        let table = text.split_once(page.mark).map_or("", |(_, table)| table);
        for shower in table.lines().filter_map(cells).flat_map(|cells| showers(&cells)) {
            if let Shower::Test { file, name } = shower
                && let Some(program) = program(&file)
            {
                if !chosen.programs.contains(&program) {
                    chosen.programs.push(program);
                }
                chosen.words.push(name);
            }
        }
    }
    let mut report = Report::default();
    let mut results = test::some(&mut report, &chosen);
    report.step(CLIENT, typescript::check);
    results.of_client(report.verdict(CLIENT));
    report.step("verdicts", || check(&results, Otherwise::Write));
    console::say(&report.summary());
    match report.failures() {
        0 => Ok(()),
        count => bail!("{count} steps failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "text
<!-- written by the test what_the_document_demands_holds -->

| section | demand | sentence, in short | shown by | verdict |
|---|---|---|---|---|
| 4 | MUST | a command; with a type | [envelope](../tests/conformance/envelope.yaml) | holds |
| 9.1 | MUST | waiting ends | `waiting_ends` in [dependencies.rs](../crates/e/tests/scenarios/dependencies.rs) | holds |
| 13 | MUST | ids | `ids are new` in [client.test.mjs](../clients/client.test.mjs); `waiting_ends` in [driver.rs](../crates/e/tests/driver.rs) | holds |
";

    /// The verdicts that a run gives which printed this.
    fn verdicts(printed: &str, client: Option<&Verdict>) -> Vec<String> {
        let mut results = Results::default();
        printed.lines().for_each(|line| results.read(line));
        results.of_client(client);
        let judged = PAGES[0].judged(TABLE, &results);
        judged.lines().filter_map(cells).map(|cells| cells[4].to_owned()).collect()
    }

    const GOOD: &str = "test dependencies::waiting_ends ... ok
test other::waiting_ends ... FAILED
test waiting_ends ... ok
conformance row envelope: a command; with a type ... ok";

    fn passed() -> Verdict {
        Verdict::Passed(String::new())
    }

    #[test]
    fn verdicts_are_what_ran() {
        assert_eq!(verdicts(GOOD, Some(&passed())), ["holds", "holds", "holds"]);
    }

    #[test]
    fn test_that_fails_or_is_ignored_turns_its_rows() {
        let failed =
            GOOD.replace("test dependencies::waiting_ends ... ok", "test dependencies::waiting_ends ... FAILED");
        assert_eq!(verdicts(&failed, Some(&passed())), ["holds", "**does not hold**", "holds"]);
        let ignored = GOOD.replace("test waiting_ends ... ok", "test waiting_ends ... ignored, it takes long");
        assert_eq!(verdicts(&ignored, Some(&passed())), ["holds", "not run", "not run"]);
        let sentence = GOOD.replace("with a type ... ok", "with a type ... FAILED");
        assert_eq!(verdicts(&sentence, Some(&passed())), ["**does not hold**", "holds", "holds"]);
        assert_eq!(verdicts("", Some(&passed())), ["not run", "not run", "not run"]);
    }

    #[test]
    fn client_counts_as_a_whole_and_what_cannot_be_run_here_stays() {
        let failed = Verdict::Failed("one test".to_owned());
        assert_eq!(verdicts(GOOD, Some(&failed))[2], "**does not hold**");
        assert_eq!(verdicts(GOOD, None)[2], "not run");
        assert_eq!(verdicts(GOOD, Some(&Verdict::Skipped("no node".to_owned())))[2], "holds");
    }

    #[test]
    fn programs_are_found_by_the_files_of_their_tests() {
        let files = ["crates/e/tests/scenarios/x.rs", "crates/e/tests/driver.rs", "crates/s/src/hall/x.rs", "a/x.mjs"];
        let found = files.map(|file| program(file).unwrap_or_default());
        assert_eq!(found, ["--test=scenarios", "--test=driver", "--lib", ""]);
    }

    #[test]
    fn rows_without_a_good_verdict_are_found() {
        assert_eq!(PAGES[0].unshown(TABLE), Vec::<&str>::new());
        let turned = TABLE.replace("dependencies.rs) | holds", "dependencies.rs) | not run");
        assert_eq!(PAGES[0].unshown(&turned).len(), 1);
    }
}
