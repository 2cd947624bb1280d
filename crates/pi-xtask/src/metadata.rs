//! What `cargo metadata` says about the workspace, as far as the tasks need it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::cargo;

/// The workspace, its packages, and the resolved graph of everything they depend on.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub target_directory: PathBuf,
    pub packages: Vec<Package>,
    workspace_members: BTreeSet<String>,
    resolve: Resolve,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub id: String,
    pub name: String,
    pub manifest_path: PathBuf,
    #[serde(default)]
    pub targets: Vec<Target>,
}

/// A library, binary, test or bench of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub kind: Vec<String>,
    pub src_path: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Debug, Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

/// What a dependency is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// In the product.
    Normal,
    /// In tests, benches and examples only.
    Dev,
    /// In the build script only.
    Build,
}

/// Who depends on whom, by name of package.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Graph {
    edges: BTreeMap<String, BTreeSet<(String, Kind)>>,
}

impl Metadata {
    /// Asks cargo. All platforms and all features that the lock file holds are in it.
    pub(crate) fn load() -> Result<Self> {
        let text = cargo::cargo().args(["metadata", "--format-version", "1"]).capture()?.text("cargo metadata")?;
        Self::parse(&text)
    }

    pub(crate) fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).context("cannot read the output of cargo metadata")
    }

    /// The packages of this workspace.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    pub(crate) fn graph(&self) -> Graph {
        let names: BTreeMap<&str, &str> =
            self.packages.iter().map(|package| (package.id.as_str(), package.name.as_str())).collect();
        let name = |id: &str| names.get(id).copied().unwrap_or(id).to_owned();
        let mut graph = Graph::default();
        for node in &self.resolve.nodes {
            // Two versions of one package share a name; their edges are united, which only makes the checks stricter.
            let edges = graph.edges.entry(name(&node.id)).or_default();
            for dependency in &node.deps {
                edges.extend(dependency.dep_kinds.iter().map(|kind| (name(&dependency.pkg), Kind::of(kind))));
            }
        }
        graph
    }
}

impl Kind {
    fn of(kind: &DependencyKind) -> Self {
        match kind.kind.as_deref() {
            Some("dev") => Self::Dev,
            Some("build") => Self::Build,
            Some(_) | None => Self::Normal,
        }
    }
}

impl Graph {
    /// What a package names itself, of one kind.
    pub(crate) fn direct<'a>(&'a self, package: &str, kind: Kind) -> impl Iterator<Item = &'a str> {
        let edges = self.edges.get(package).into_iter().flatten();
        edges.filter(move |(_, of)| *of == kind).map(|(name, _)| name.as_str())
    }

    /// Everything in the product of a package, with the way that leads there.
    pub(crate) fn reached<'a>(&'a self, package: &'a str) -> BTreeMap<&'a str, Vec<&'a str>> {
        let mut ways: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut open = VecDeque::from([vec![package]]);
        while let Some(way) = open.pop_front() {
            let Some(here) = way.last() else { continue };
            for next in self.direct(here, Kind::Normal) {
                if next != package && !ways.contains_key(next) {
                    let longer: Vec<&str> = way.iter().copied().chain([next]).collect();
                    ways.insert(next, longer.clone());
                    open.push_back(longer);
                }
            }
        }
        ways
    }
}

#[cfg(test)]
pub(crate) mod fake {
    //! A small workspace as cargo would describe it.

    use super::{Graph, Metadata};

    /// Lines of `from -> to` (normal), `from -dev-> to`, `from -build-> to`.
    pub(crate) fn graph(lines: &str) -> Graph {
        metadata(lines).graph()
    }

    /// The same, through the parser of cargo's output. Names with `pi-` are members.
    pub(crate) fn metadata(lines: &str) -> Metadata {
        let edges: Vec<(&str, &str, &str)> = lines
            .lines()
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let [from, arrow, to] = words[..] else { panic!("not an edge: {line}") };
                (from, arrow, to)
            })
            .collect();
        let names: std::collections::BTreeSet<&str> = edges.iter().flat_map(|(from, _, to)| [*from, *to]).collect();
        let packages: Vec<_> = names
            .iter()
            .map(|name| serde_json::json!({"id": id(name), "name": name, "manifest_path": format!("crates/{name}/Cargo.toml")}))
            .collect();
        let nodes: Vec<_> = names
            .iter()
            .map(|name| {
                let deps: Vec<_> = edges
                    .iter()
                    .filter(|(from, ..)| from == name)
                    .map(|(_, arrow, to)| serde_json::json!({"pkg": id(to), "dep_kinds": [{"kind": kind(arrow)}]}))
                    .collect();
                serde_json::json!({"id": id(name), "deps": deps})
            })
            .collect();
        let members: Vec<_> = names.iter().filter(|name| name.starts_with("pi-")).map(|name| id(name)).collect();
        let whole = serde_json::json!({
            "target_directory": "target", "packages": packages, "workspace_members": members, "resolve": {"nodes": nodes},
        });
        Metadata::parse(&whole.to_string()).expect("the fake has the shape of the real one")
    }

    fn id(name: &str) -> String {
        format!("path+file:///checkout/{name}#0.1.0")
    }

    fn kind(arrow: &str) -> Option<&'static str> {
        match arrow {
            "->" => None,
            "-dev->" => Some("dev"),
            "-build->" => Some("build"),
            other => panic!("not an arrow: {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_reached_package_is_a_shortest_one() {
        let graph = fake::graph("pi-a -> b\nb -> c\nc -> d\npi-a -> c\npi-a -dev-> e\nb -build-> f");
        let reached = graph.reached("pi-a");
        assert_eq!(reached.keys().copied().collect::<Vec<_>>(), ["b", "c", "d"]);
        assert_eq!(reached["d"], ["pi-a", "c", "d"]);
    }

    #[test]
    fn members_are_told_from_what_they_depend_on() {
        let metadata = fake::metadata("pi-a -> serde\npi-b -> pi-a");
        assert_eq!(metadata.members().map(|package| package.name.as_str()).collect::<Vec<_>>(), ["pi-a", "pi-b"]);
    }
}
