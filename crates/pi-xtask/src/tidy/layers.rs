//! The table of crates, as data: what each is allowed to know. `ARCHITECTURE.md` shows the same table to people, and a
//! rule compares the two.

use std::collections::BTreeSet;

use super::Finding;

/// How high a crate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    At(u8),
    /// Beside the layers: for tests and tasks, never in the product.
    Dev,
}

/// Which of our crates one may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uses {
    Only(&'static [&'static str]),
    /// All of the product.
    All,
}

/// What must not be found behind a crate, however long the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    None,
    /// Not these packages.
    Never(&'static [&'static [&'static str]]),
    /// No package at all.
    Nothing,
}

/// One crate. `word` is its name without `pi-`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub layer: Layer,
    pub word: &'static str,
    pub uses: Uses,
    pub limit: Limit,
    /// Whether its sources must also keep away from files, sockets, processes, threads and clocks of the standard library.
    pub pure: bool,
}

/// Packages that wait for something or talk to somebody: none of them belongs behind a vocabulary.
const IO: &[&str] = &[
    "async-std",
    "axum",
    "hyper",
    "mio",
    "reqwest",
    "rusqlite",
    "rustls",
    "smol",
    "socket2",
    "tokio",
    "tokio-postgres",
    "tokio-util",
    "tungstenite",
    "ureq",
];
const TOKIO: &[&str] = &["tokio", "mio"];
const WASM: &[&str] = &["wasmtime", "wasmtime-wasi", "cranelift-codegen"];
const SCRIPT: &[&str] = &["rquickjs", "rquickjs-core", "rquickjs-sys"];
const HTTP: &[&str] = &["axum", "hyper", "tungstenite"];

use Layer::{At, Dev};
use Limit::{Never, Nothing};
use Uses::{All, Only};

/// Every crate of the workspace.
pub(crate) const TABLE: &[Row] = &[
    pure(0, "web", &[], Nothing),
    pure(0, "redact", &[], Never(&[IO, WASM, SCRIPT])),
    pure(0, "transcript", &[], Never(&[IO, WASM, SCRIPT])),
    pure(0, "extproto", &["transcript", "redact"], Never(&[IO, WASM, SCRIPT])),
    pure(1, "envelope", &["transcript"], Never(&[IO, WASM, SCRIPT])),
    pure(1, "policy", &["extproto"], Never(&[IO, WASM, SCRIPT])),
    pure(1, "wire", &["transcript", "envelope"], Never(&[IO, WASM, SCRIPT])),
    row(At(1), "engine", Only(&[]), Never(&[HTTP, WASM, SCRIPT])),
    row(At(2), "provider", Only(&["transcript", "envelope", "redact"]), Never(&[&["pi-tools", "pi-session"]])),
    row(At(2), "tools", Only(&["transcript", "policy", "redact"]), Never(&[&["pi-session", "pi-exthost"]])),
    row(At(2), "extc", Only(&["extproto"]), Never(&[&["pi-session", "pi-exthost"]])),
    row(
        At(3),
        "exthost",
        Only(&["transcript", "extproto", "policy", "tools", "redact"]),
        Never(&[WASM, SCRIPT, &["pi-session"]]),
    ),
    row(
        At(4),
        "guests",
        Only(&["transcript", "extproto", "policy", "tools", "extc", "exthost", "redact"]),
        Never(&[&["pi-session", "pi-provider"]]),
    ),
    row(
        At(4),
        "session",
        Only(&["transcript", "envelope", "extproto", "policy", "provider", "tools", "exthost", "redact"]),
        Never(&[&["axum", "pi-wire", "pi-server", "pi-guests"], WASM, SCRIPT]),
    ),
    row(
        At(5),
        "server",
        Only(&["transcript", "envelope", "wire", "engine", "session", "redact", "web"]),
        // A model is reached through a session; that `provider` is not named here itself is the column before.
        Never(&[&["pi-guests"], WASM, SCRIPT]),
    ),
    row(
        At(5),
        "terminal",
        Only(&["transcript", "envelope", "session"]),
        Never(&[&["pi-server", "pi-guests"], WASM, SCRIPT]),
    ),
    row(At(6), "cli", All, Limit::None),
    row(
        Dev,
        "testkit",
        Only(&["transcript", "envelope", "wire", "extproto", "exthost"]),
        Never(&[&["pi-provider", "pi-session", "pi-guests"]]),
    ),
    row(Dev, "xtask", Only(&[]), Never(&[TOKIO, WASM, SCRIPT])),
];

const fn row(layer: Layer, word: &'static str, uses: Uses, limit: Limit) -> Row {
    Row { layer, word, uses, limit, pure: false }
}

const fn pure(layer: u8, word: &'static str, uses: &'static [&'static str], limit: Limit) -> Row {
    Row { layer: At(layer), word, uses: Only(uses), limit, pure: true }
}

impl Row {
    pub(crate) fn package(&self) -> String {
        format!("pi-{}", self.word)
    }

    pub(crate) fn may_use(&self, word: &str, table: &[Row]) -> bool {
        match self.uses {
            Only(words) => words.contains(&word),
            All => word != self.word && find(word, table).is_some_and(|row| row.layer != Dev),
        }
    }

    pub(crate) fn never_reaches(&self, package: &str) -> bool {
        match self.limit {
            Limit::None => false,
            Never(groups) => groups.iter().any(|group| group.contains(&package)),
            Nothing => true,
        }
    }
}

pub(crate) fn find<'a>(word: &str, table: &'a [Row]) -> Option<&'a Row> {
    table.iter().find(|row| row.word == word)
}

/// The crates that must build on every platform: the two lowest layers, and the tools.
pub(crate) fn portable() -> impl Iterator<Item = String> {
    let low = |row: &&Row| row.layer <= At(1) || row.word == "tools";
    TABLE.iter().filter(low).map(Row::package)
}

/// The table itself: words exist, edges go down or sideways, nothing comes back to where it started, and what a crate
/// may use does not already lead to what it must not reach.
pub(crate) fn check_table(table: &[Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut complain = |row: &Row, problem: String| {
        findings.push(Finding::new("the table of crates", format!("{} {problem}", row.word), "correct tidy/layers.rs"));
    };
    for row in table {
        if let Only(words) = row.uses {
            for word in words {
                match find(word, table) {
                    None => complain(row, format!("may use {word}, which is not in the table")),
                    Some(used) if used.layer > row.layer => {
                        complain(row, format!("may use {word}, which stands above it"))
                    }
                    Some(_) => {}
                }
            }
        }
        let reached = closure(row, table);
        if reached.contains(row.word) {
            complain(row, "may use itself over a cycle".to_owned());
        }
        for word in reached.iter().filter(|word| row.never_reaches(&format!("pi-{word}"))) {
            complain(row, format!("must never reach {word}, but may by the crates it may use"));
        }
    }
    findings
}

/// Everything that may stand behind a crate.
fn closure(row: &Row, table: &[Row]) -> BTreeSet<&'static str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![*row];
    while let Some(from) = open.pop() {
        let next = table.iter().filter(|to| from.may_use(to.word, table));
        open.extend(next.filter(|to| reached.insert(to.word)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(table: &[Row]) -> Vec<String> {
        check_table(table).into_iter().map(|finding| finding.problem).collect()
    }

    #[test]
    fn our_table_holds_its_own_rules() {
        assert_eq!(check_table(TABLE), []);
    }

    #[test]
    fn a_cycle_in_the_table_is_found() {
        let table = [row(At(0), "a", Only(&["b"]), Limit::None), row(At(0), "b", Only(&["a"]), Limit::None)];
        assert_eq!(problems(&table), ["a may use itself over a cycle", "b may use itself over a cycle"]);
    }

    #[test]
    fn an_edge_upwards_is_found() {
        let table = [row(At(0), "a", Only(&["b"]), Limit::None), row(At(1), "b", Only(&[]), Limit::None)];
        assert_eq!(problems(&table), ["a may use b, which stands above it"]);
    }

    #[test]
    fn a_limit_that_the_edges_break_is_found() {
        let table = [
            row(At(0), "a", Only(&[]), Limit::None),
            row(At(1), "b", Only(&["a", "gone"]), Limit::None),
            row(At(2), "c", Only(&["b"]), Never(&[&["pi-a"]])),
        ];
        assert_eq!(
            problems(&table),
            ["b may use gone, which is not in the table", "c must never reach a, but may by the crates it may use"]
        );
    }

    #[test]
    fn the_portable_crates_are_the_two_lowest_layers_and_the_tools() {
        let words = ["web", "redact", "transcript", "extproto", "envelope", "policy", "wire", "engine", "tools"];
        assert_eq!(portable().collect::<Vec<_>>(), words.map(|word| format!("pi-{word}")));
    }
}
