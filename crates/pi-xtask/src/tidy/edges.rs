//! Who may name whom: the edges between our crates, what lies behind them, and what the pure ones touch.

use super::Finding;
use super::layers::{Layer, Row, find};
use super::sources::Source;
use crate::metadata::{Graph, Kind, Metadata};

const TESTKIT: &str = "testkit";

/// Roads out of a pure crate that no dependency shows.
const IMPURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::ToSocketAddrs",
    "std::net::UdpSocket",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// Every crate of the workspace is in the table, and keeps to its row.
pub(crate) fn check(table: &[Row], metadata: &Metadata) -> Vec<Finding> {
    let graph = metadata.graph();
    let members: Vec<&str> = metadata.members().map(|package| package.name.as_str()).collect();
    let mut findings = Vec::new();
    for member in &members {
        match member.strip_prefix("pi-").and_then(|word| find(word, table)) {
            Some(row) => {
                findings.extend(check_edges(row, table, &graph, &members));
                findings.extend(check_reach(row, &graph));
            }
            None => findings.push(Finding::new(
                *member,
                "is not in the table of crates",
                "give it a row in tidy/layers.rs and in ARCHITECTURE.md, with the reason in an ADR",
            )),
        }
    }
    for row in table.iter().filter(|row| !members.contains(&row.package().as_str())) {
        findings.push(Finding::new(
            row.package(),
            "is in the table, but there is no such crate",
            "add it, or take its row out",
        ));
    }
    findings
}

fn check_edges(row: &Row, table: &[Row], graph: &Graph, members: &[&str]) -> Vec<Finding> {
    let package = row.package();
    let mut findings = Vec::new();
    for kind in [Kind::Normal, Kind::Build, Kind::Dev] {
        for used in graph.direct(&package, kind).filter(|used| members.contains(used) && *used != package) {
            let word = used.strip_prefix("pi-").unwrap_or(used);
            if !may(row, word, kind, table) {
                let what = format!("has {} {used}, which its row does not allow", name(kind));
                findings.push(Finding::new(&package, what, advice(row, word, table)));
            }
        }
    }
    findings
}

/// Tests may use what the crate may use, and the parts that tests share; nothing else may use those.
fn may(row: &Row, word: &str, kind: Kind, table: &[Row]) -> bool {
    row.may_use(word, table) || (word == TESTKIT && kind == Kind::Dev)
}

const fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Normal => "a normal edge to",
        Kind::Dev => "a dev edge to",
        Kind::Build => "a build edge to",
    }
}

fn advice(row: &Row, word: &str, table: &[Row]) -> &'static str {
    match find(word, table) {
        Some(used) if used.layer == Layer::Dev => "tests may use testkit as a dev-dependency; nothing may use xtask",
        Some(used) if used.layer > row.layer => "move what both need down, or pass it in from above",
        Some(_) | None => "pass the value in, or argue for a new edge in a commit of its own (tidy/layers.rs, ADR)",
    }
}

fn check_reach(row: &Row, graph: &Graph) -> Vec<Finding> {
    let package = row.package();
    let reached = graph.reached(&package);
    let forbidden = reached.iter().filter(|(name, _)| row.never_reaches(name));
    forbidden
        .map(|(name, way)| {
            let problem = format!("reaches {name} ({})", way.join(" → "));
            Finding::new(&package, problem, "take out the dependency, or the feature of it that brings this one in")
        })
        .collect()
}

/// Pure crates keep away from the outside world, and the parts for tests are named in `tests/` only.
pub(crate) fn check_sources(table: &[Row], sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let row = source.package.strip_prefix("pi-").and_then(|word| find(word, table));
        let pure = row.is_some_and(|row| row.pure) && source.in_product;
        for path in source.paths.iter().filter(|path| pure && IMPURE.iter().any(|road| begins(path, road))) {
            let problem = format!("names {path}, but {} does no IO and reads no clock", source.package);
            findings.push(Finding::new(&source.name, problem, "take the value as an argument; the caller does the IO"));
        }
        if source.in_product
            && source.package != "pi-testkit"
            && source.paths.iter().any(|path| begins(path, "pi_testkit"))
        {
            findings.push(Finding::new(
                &source.name,
                "names pi_testkit",
                "move the test into the tests/ folder of the crate",
            ));
        }
    }
    findings
}

/// Whether a path of the language begins with another, in whole words.
fn begins(path: &str, with: &str) -> bool {
    path.strip_prefix(with).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::fake;
    use crate::tidy::layers::Limit::{Never, Nothing};
    use crate::tidy::layers::{Limit, Uses};

    const LOW: Row = Row { layer: Layer::At(0), word: "low", uses: Uses::Only(&[]), limit: Nothing, pure: true };
    const MIDDLE: Row = Row {
        layer: Layer::At(1),
        word: "middle",
        uses: Uses::Only(&["low"]),
        limit: Never(&[&["tokio"]]),
        pure: false,
    };
    const TOP: Row = Row { layer: Layer::At(2), word: "top", uses: Uses::All, limit: Limit::None, pure: false };
    const KIT: Row =
        Row { layer: Layer::Dev, word: "testkit", uses: Uses::Only(&["low"]), limit: Limit::None, pure: false };
    const SMALL: &[Row] = &[LOW, MIDDLE, TOP, KIT];
    const GOOD: &str = "pi-middle -> pi-low
        pi-middle -> serde
        pi-middle -dev-> tokio
        pi-middle -dev-> pi-testkit
        pi-testkit -> pi-low
        pi-top -> pi-middle
        pi-top -> pi-low
        pi-top -> tokio";

    fn check_with(more: &str, expected: &[&str]) {
        let findings = check(SMALL, &fake::metadata(&format!("{GOOD}{more}")));
        let found: Vec<String> =
            findings.iter().map(|finding| format!("{} {}", finding.place, finding.problem)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn edges_of_the_table_pass() {
        check_with("", &[]);
    }

    #[test]
    fn an_edge_upwards_fails() {
        check_with(
            "\npi-middle -> pi-top",
            &[
                "pi-middle has a normal edge to pi-top, which its row does not allow",
                "pi-middle reaches tokio (pi-middle → pi-top → tokio)",
            ],
        );
    }

    #[test]
    fn a_dev_edge_is_checked_like_a_normal_one() {
        check_with("\npi-middle -dev-> pi-top", &["pi-middle has a dev edge to pi-top, which its row does not allow"]);
    }

    #[test]
    fn the_parts_for_tests_are_for_tests() {
        check_with("\npi-top -> pi-testkit", &["pi-top has a normal edge to pi-testkit, which its row does not allow"]);
        check_with(
            "\npi-top -build-> pi-testkit",
            &["pi-top has a build edge to pi-testkit, which its row does not allow"],
        );
    }

    #[test]
    fn a_forbidden_package_is_found_behind_others_with_the_way_to_it() {
        check_with("\nserde -> tokio", &["pi-middle reaches tokio (pi-middle → serde → tokio)"]);
    }

    #[test]
    fn a_crate_that_reaches_nothing_has_no_dependency() {
        check_with("\npi-low -> serde", &["pi-low reaches serde (pi-low → serde)"]);
        check_with("\npi-low -build-> cc\npi-low -dev-> proptest", &[]);
    }

    #[test]
    fn a_crate_outside_the_table_and_a_row_without_a_crate_are_found() {
        check_with("\npi-other -> serde", &["pi-other is not in the table of crates"]);
        let findings = check(SMALL, &fake::metadata("pi-middle -> pi-low\npi-testkit -> pi-low"));
        assert_eq!(findings.iter().map(|finding| finding.place.as_str()).collect::<Vec<_>>(), ["pi-top"]);
    }

    #[test]
    fn a_pure_crate_names_no_files_outside_its_tests() {
        let code = "use std::{collections::BTreeMap, fs};\n#[cfg(test)]\nmod tests { use std::env; }\nfn f() { std::time::Instant::now(); }";
        let source = |package: &str, folder: &str| {
            Source::parse(package, &format!("{package}/{folder}/a.rs"), code).expect("it is Rust")
        };
        let found =
            |source| check_sources(SMALL, &[source]).into_iter().map(|finding| finding.problem).collect::<Vec<_>>();
        assert_eq!(
            found(source("pi-low", "src")),
            [
                "names std::fs, but pi-low does no IO and reads no clock",
                "names std::time::Instant::now, but pi-low does no IO and reads no clock"
            ]
        );
        assert_eq!(found(source("pi-low", "tests")), [] as [&str; 0]);
        assert_eq!(found(source("pi-middle", "src")), [] as [&str; 0]);
    }

    #[test]
    fn the_parts_for_tests_are_named_in_tests_folders_only() {
        let source = |folder: &str| {
            Source::parse("pi-low", &format!("pi-low/{folder}/a.rs"), "use pi_testkit::Clock;").expect("it is Rust")
        };
        assert_eq!(check_sources(SMALL, &[source("src")]).len(), 1);
        assert_eq!(check_sources(SMALL, &[source("tests")]), []);
    }
}
