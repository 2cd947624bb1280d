//! What is written for people: the doc of every crate and file, and the table of crates in `ARCHITECTURE.md`.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::layers::{Layer, Limit, Row, Uses, find};
use super::sources::Source;
use crate::metadata::Package;

/// Purpose, non-goals and the first type to read need at least a line each.
const PARTS: usize = 3;

/// The root of every library and binary says what it is for, what it is not for, and where to begin.
pub(crate) fn check_crate(package: &Package, sources: &[Source]) -> Vec<Finding> {
    let product = |kind: &String| matches!(kind.as_str(), "lib" | "bin" | "proc-macro");
    let roots = package.targets.iter().filter(|target| target.kind.iter().any(product));
    let roots = roots.filter_map(|target| sources.iter().find(|source| target.src_path.ends_with(&source.name)));
    roots.filter_map(check_root).collect()
}

fn check_root(root: &Source) -> Option<Finding> {
    (root.doc_lines < PARTS).then(|| {
        let problem = format!("the doc of the crate has {} lines of text", root.doc_lines);
        Finding::new(
            &root.name,
            problem,
            "say what it is for, what it deliberately does not do, and which type to read first",
        )
    })
}

/// Every file begins with a doc.
pub(crate) fn check_modules(sources: &[Source]) -> Vec<Finding> {
    let silent = sources.iter().filter(|source| source.doc_lines == 0);
    silent.map(|source| Finding::new(&source.name, "has no module doc", "begin it with //! and a sentence")).collect()
}

/// The table that people read says what the table that we check says.
pub(crate) fn check_architecture(table: &[Row], page: &str) -> Vec<Finding> {
    let advice = "make ARCHITECTURE.md and tidy/layers.rs say the same";
    let complain = |problem: String| Finding::new("ARCHITECTURE.md", problem, advice);
    let lines = rows(page);
    let mut findings = Vec::new();
    for row in table {
        match lines.get(row.word) {
            None => findings.push(complain(format!("has no row for {}", row.word))),
            Some(line) => findings.extend(differences(row, line, table).into_iter().map(complain)),
        }
    }
    let unknown = lines.keys().filter(|word| find(word, table).is_none());
    findings.extend(unknown.map(|word| complain(format!("has a row for {word}, which is no crate of ours"))));
    findings
}

/// One row of the page: the columns that both tables have.
#[derive(Debug, PartialEq)]
struct Line {
    layer: String,
    uses: BTreeSet<String>,
    never: BTreeSet<String>,
}

/// The rows of the first Markdown table with these columns, by the word of the crate.
fn rows(page: &str) -> BTreeMap<String, Line> {
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut lines = page.lines().skip_while(|line| !line.starts_with("| layer |"));
    let titles = lines.next().map(cells).unwrap_or_default();
    let at = |title: &str| titles.iter().position(|cell| cell.starts_with(title));
    let (Some(layer), Some(word), Some(uses), Some(never)) = (at("layer"), at("crate"), at("may use"), at("never"))
    else {
        return BTreeMap::new();
    };
    let table = lines.skip(1).take_while(|line| line.starts_with('|')).map(cells);
    table
        .filter_map(|row| {
            let line =
                Line { layer: row.get(layer)?.clone(), uses: words(row.get(uses)?), never: words(row.get(never)?) };
            Some((row.get(word)?.split('`').nth(1)?.to_owned(), line))
        })
        .collect()
}

fn words(cell: &str) -> BTreeSet<String> {
    cell.split(", ").map(str::to_owned).filter(|word| word != "–").collect()
}

fn differences(row: &Row, line: &Line, table: &[Row]) -> Vec<String> {
    let mut found = Vec::new();
    let layer = match row.layer {
        Layer::At(layer) => layer.to_string(),
        Layer::Dev => "dev".to_owned(),
    };
    if line.layer != layer {
        found.push(format!("puts {} on layer {}, it stands on {layer}", row.word, line.layer));
    }
    let uses: BTreeSet<String> = match row.uses {
        Uses::Only(words) => words.iter().map(|word| (*word).to_owned()).collect(),
        Uses::All => ["all".to_owned()].into(),
    };
    if line.uses != uses {
        found.push(format!("lets {} use other crates than the rule does", row.word));
    }
    let broken = line.never.iter().filter(|word| !promised(row, word, table));
    found.extend(broken.map(|word| format!("says that {} never reaches {word}, which no rule holds", row.word)));
    found
}

/// Whether a word of the last column is kept by the rules. A crate of ours is kept out by the edges as well.
fn promised(row: &Row, word: &str, table: &[Row]) -> bool {
    match word {
        "everything" => row.limit == Limit::Nothing,
        "every other crate" | "every other crate of ours" => row.uses == Uses::Only(&[]),
        "IO" | "any IO" => row.pure && row.never_reaches("mio"),
        "QuickJS" => row.never_reaches("rquickjs"),
        "provider internals" => !row.may_use("provider", table),
        _ if find(word, table).is_some() => row.never_reaches(&format!("pi-{word}")) || !row.may_use(word, table),
        _ => row.never_reaches(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::layers::TABLE;

    const PAGE: &str = "# Title
| layer | crate | what | may use | never reaches |
|---|---|---|---|---|
| 0 | [`low`](crates/pi-low) | Low? | – | everything |
| 1 | `middle` | Middle? | low | tokio |

| layer | other |";
    const SMALL: &[Row] = &[
        Row { layer: Layer::At(0), word: "low", uses: Uses::Only(&[]), limit: Limit::Nothing, pure: true },
        Row {
            layer: Layer::At(1),
            word: "middle",
            uses: Uses::Only(&["low"]),
            limit: Limit::Never(&[&["tokio"]]),
            pure: false,
        },
    ];

    fn check(page: &str, expected: &[&str]) {
        let findings = check_architecture(SMALL, page);
        assert_eq!(findings.iter().map(|finding| finding.problem.as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_page_that_agrees_passes() {
        check(PAGE, &[]);
    }

    #[test]
    fn a_page_that_differs_fails() {
        check(&PAGE.replace("| 1 | `middle`", "| 2 | `middle`"), &["puts middle on layer 2, it stands on 1"]);
        check(&PAGE.replace("| low | tokio", "| – | tokio"), &["lets middle use other crates than the rule does"]);
        check(
            &PAGE.replace("| low | tokio", "| low | tokio, axum"),
            &["says that middle never reaches axum, which no rule holds"],
        );
        check(
            &PAGE.replace("`middle`", "`centre`"),
            &["has no row for middle", "has a row for centre, which is no crate of ours"],
        );
        check("no table", &["has no row for low", "has no row for middle"]);
    }

    /// The design's table, but for what ADRs changed: 134 lets the session name the events that extensions hear, and 220 lets
    /// tests of guests stand on the real dispatcher, with its policy, tools and redaction.
    const DEPARTURES: &[&str] =
        &["lets guests use other crates than the rule does", "lets session use other crates than the rule does"];

    #[test]
    fn the_design_has_the_same_table() {
        let design = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/DESIGN.md");
        match crate::files::read_if_there(std::path::Path::new(design)).expect("it can be read") {
            Some(page) => {
                let findings = check_architecture(TABLE, &page);
                let problems: Vec<&str> = findings.iter().map(|finding| finding.problem.as_str()).collect();
                assert_eq!(problems, DEPARTURES);
            }
            None => eprintln!("SKIPPED: the design is not beside this checkout"),
        }
    }

    #[test]
    fn a_short_crate_doc_and_a_silent_file_are_found() {
        let source = |text: &str| Source::parse("pi-low", "crates/pi-low/src/lib.rs", text).expect("it is Rust");
        assert!(check_root(&source("//! For this.\n//!\n//! Not for that.")).is_some());
        assert_eq!(check_root(&source("//! For this.\n//!\n//! Not for that.\n//! Begin there.")), None);
        assert_eq!(check_modules(&[source("// A comment is no doc.\nfn f() {}")]).len(), 1);
        assert_eq!(check_modules(&[source("#![no_main]\n//! A doc.")]), []);
    }
}
