//! Components: what can be told about one without running it.

use std::collections::BTreeSet;

use pi_extproto::{artifact::Finding, artifact::Verdict, capability::Capability};
use wasmparser::{Parser, Payload};

/// The engine that components are made for. Which release it is stands in the table of dependencies; a test of the tier
/// compares them.
pub const COMPONENT_ENGINE: &str = "wasmtime 48.0.8";

/// What every interface of extensions begins with.
const PACKAGE: &str = "pi:extension/";

/// What a component imports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Imports {
    names: BTreeSet<String>,
}

/// Why bytes are no component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComponentFault {
    #[error("it is a WebAssembly module and not a component")]
    Module,
    #[error("it is not a WebAssembly component: {problem}")]
    Invalid { problem: String },
}

/// Reads what a component imports. Whether it is valid is for the engine to say.
pub(crate) fn imports(bytes: &[u8]) -> Result<Imports, ComponentFault> {
    if Parser::is_core_wasm(bytes) {
        return Err(ComponentFault::Module);
    }
    let invalid = |error: wasmparser::BinaryReaderError| ComponentFault::Invalid { problem: error.to_string() };
    let (mut names, mut depth) = (BTreeSet::new(), 0_usize);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(invalid)? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    names.insert(import.map_err(invalid)?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(Imports { names })
}

impl Imports {
    /// What its imports can be used for. Every connector of the package that it does not import it cannot use.
    pub(crate) fn capabilities(&self) -> BTreeSet<Capability> {
        let mut needed = BTreeSet::new();
        for interface in self.names.iter().filter_map(|name| name.strip_prefix(PACKAGE)) {
            let connector = interface.split_once('@').map_or(interface, |(connector, _)| connector);
            match connector {
                "types" | "streams" | "hooks" | "outcomes" => {}
                // Which of its operations it uses nobody can tell.
                "fs" => needed.extend([Capability::Read, Capability::Write]),
                "tool" => needed.extend([Capability::Read, Capability::Write, Capability::Exec, Capability::Tool]),
                other => drop(needed.insert(Capability::from(other))),
            }
        }
        needed
    }

    /// What its author should know.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let foreign = self.names.iter().filter(|name| !name.starts_with(PACKAGE) && !name.starts_with("wasi:"));
        let foreign = foreign.map(|name| Finding {
            verdict: Verdict::Blocked,
            rule: "component.import".to_owned(),
            message: format!("it imports {name}, which no host of extensions has"),
            place: None,
            excerpt: None,
            remedy: Some("import interfaces of pi:extension and of WASI 0.2 only".to_owned()),
        });
        let system = |name: &&String| ["wasi:sockets/", "wasi:http/"].iter().any(|package| name.starts_with(package));
        let system = self.names.iter().filter(system).map(|name| Finding {
            verdict: Verdict::Warning,
            rule: "component.system".to_owned(),
            message: format!("it imports {name}, which traps when it is used"),
            place: None,
            excerpt: None,
            remedy: Some("use the connectors of pi:extension".to_owned()),
        });
        foreign.chain(system).collect()
    }
}
