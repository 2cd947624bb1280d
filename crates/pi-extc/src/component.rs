//! Components: what can be told about one without running it.

mod outline;

use std::collections::BTreeSet;

use pi_extproto::{artifact::Finding, artifact::Verdict, capability::Capability};
use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentOuterAliasKind, ComponentType, ComponentTypeRef,
    InstanceTypeDeclaration, Parser, Payload,
};

pub use self::outline::{Excess, Outline, OutlineFault, outline};

/// The engine that components are made for. Which release it is stands in the table of dependencies; a test of the tier
/// compares them.
pub const COMPONENT_ENGINE: &str = "wasmtime 48.0.8";

/// What is looked for here, as it is written: what was found by other rules is looked for anew.
pub(crate) const RULES: &str = include_str!("component.rs");

/// What every interface of extensions begins with.
const PACKAGE: &str = "pi:extension/";

/// What an extension is called by.
const GUEST: &str = "pi:extension/guest@";
/// The versions of the package that this release speaks begin so.
const VERSION: &str = "@1.";

/// What a component imports, and what of ours it exports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Imports {
    names: BTreeSet<String>,
    /// Those of them that only bring types: there is nothing in them that could be called.
    types: BTreeSet<String>,
    /// Interfaces of the package that it exports.
    exports: BTreeSet<String>,
}

/// Why bytes are no component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComponentFault {
    #[error("it is not WebAssembly")]
    Foreign,
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
    if !Parser::is_component(bytes) {
        return Err(ComponentFault::Foreign);
    }
    let invalid = |error: wasmparser::BinaryReaderError| ComponentFault::Invalid { problem: error.to_string() };
    let (mut names, mut types, mut depth) = (BTreeSet::new(), BTreeSet::new(), 0_usize);
    let mut exports = BTreeSet::new();
    // Whether the types of the component, by their numbers, are instances without a function.
    let mut are_empty: Vec<bool> = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(invalid)? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    let import = import.map_err(invalid)?;
                    let name = import.name.name.to_owned();
                    match import.ty {
                        ComponentTypeRef::Instance(index)
                            if usize::try_from(index).is_ok_and(|index| are_empty.get(index) == Some(&true)) =>
                        {
                            types.insert(name.clone());
                        }
                        // It takes a number itself.
                        ComponentTypeRef::Type(_) => are_empty.push(false),
                        _ => {}
                    }
                    names.insert(name);
                }
            }
            Payload::ComponentTypeSection(section) if depth == 0 => {
                for kind in section {
                    are_empty.push(brings_no_function(&kind.map_err(invalid)?));
                }
            }
            Payload::ComponentAliasSection(section) if depth == 0 => {
                for alias in section {
                    let is_type = match alias.map_err(invalid)? {
                        ComponentAlias::InstanceExport { kind, .. } => kind == ComponentExternalKind::Type,
                        ComponentAlias::Outer { kind, .. } => kind == ComponentOuterAliasKind::Type,
                        ComponentAlias::CoreInstanceExport { .. } => false,
                    };
                    are_empty.extend(is_type.then_some(false));
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    let export = export.map_err(invalid)?;
                    let is_type = export.kind == ComponentExternalKind::Type;
                    are_empty.extend(is_type.then_some(false));
                    exports.extend(Some(export.name.name.to_owned()).filter(|name| name.starts_with(PACKAGE)));
                }
            }
            _ => {}
        }
    }
    Ok(Imports { names, types, exports })
}

/// Whether a type is that of an instance in which nothing can be called.
fn brings_no_function(kind: &ComponentType<'_>) -> bool {
    let is_callable = |declared: &InstanceTypeDeclaration<'_>| {
        matches!(
            declared,
            InstanceTypeDeclaration::Export {
                ty: ComponentTypeRef::Func(_) | ComponentTypeRef::Instance(_) | ComponentTypeRef::Component(_),
                ..
            }
        )
    };
    matches!(kind, ComponentType::Instance(declared) if !declared.iter().any(is_callable))
}

impl Imports {
    /// What its imports can be used for. Every connector of the package that it does not import it cannot use.
    pub(crate) fn capabilities(&self) -> BTreeSet<Capability> {
        let connectors = self.names.difference(&self.types).filter_map(|name| name.strip_prefix(PACKAGE));
        needed(connectors.map(|interface| interface.split_once('@').map_or(interface, |(connector, _)| connector)))
    }

    /// What of that a script inside uses, whose engine imports every connector: those that it names. One that hides the names is
    /// still held to its grants, and is weighed by all imports wherever it is scanned anew.
    pub(crate) fn capabilities_of_script(&self, script: &str) -> BTreeSet<Capability> {
        let is_letter = |letter: char| letter.is_ascii_lowercase() || letter == '-';
        let named = script.split(PACKAGE).skip(1);
        let named = named.map(|rest| &rest[..rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len())]);
        self.capabilities().intersection(&needed(named)).cloned().collect()
    }

    /// What its author should know.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let blocked = |rule: &str, message: String, remedy: &str| Finding {
            verdict: Verdict::Blocked,
            rule: rule.to_owned(),
            message,
            place: None,
            excerpt: None,
            remedy: Some(remedy.to_owned()),
        };
        let own = self.names.iter().chain(&self.exports).filter(|name| name.starts_with(PACKAGE));
        let other = own.into_iter().find(|name| !name.contains(VERSION)).map(|name| {
            let message = format!("it was written for {name}, of which this release speaks version 1");
            blocked("component.version", message, "build it with docs/wit/extension.wit of this release")
        });
        let is_called = self.exports.iter().any(|name| name.starts_with(GUEST));
        let uncalled = (!is_called).then(|| {
            let message = "it does not export pi:extension/guest, by which extensions are called".to_owned();
            blocked("component.export", message, "build it with the world extension of docs/wit/extension.wit")
        });
        let foreign = self.names.iter().filter(|name| !name.starts_with(PACKAGE) && !name.starts_with("wasi:"));
        let foreign = foreign.map(|name| {
            let message = format!("it imports {name}, which no host of extensions has");
            blocked("component.import", message, "import interfaces of pi:extension and of WASI 0.2 only")
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
        other.into_iter().chain(uncalled).chain(foreign).chain(system).collect()
    }
}

/// What connectors can be used for.
fn needed<'a>(connectors: impl Iterator<Item = &'a str>) -> BTreeSet<Capability> {
    let mut needed = BTreeSet::new();
    for connector in connectors {
        match connector {
            "types" | "streams" | "hooks" | "outcomes" | "guest" => {}
            // Which of its operations it uses nobody can tell.
            "fs" => needed.extend([Capability::Read, Capability::Write]),
            "tool" => needed.extend([Capability::Read, Capability::Write, Capability::Exec, Capability::Tool]),
            other => drop(needed.insert(Capability::from(other))),
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn component_that_cannot_be_called_is_blocked() {
        let rules = |name: &str, export: &str| {
            let imports = Imports {
                names: [name.to_owned()].into(),
                types: BTreeSet::new(),
                exports: [export.to_owned()].into(),
            };
            imports.findings().into_iter().map(|finding| finding.rule).collect::<Vec<_>>()
        };
        assert_eq!(rules("pi:extension/fs@1.0.0", "pi:extension/guest@1.0.0"), [""; 0]);
        assert_eq!(rules("pi:extension/fs@1.0.0", "pi:extension/other@1.0.0"), ["component.export"]);
        assert_eq!(rules("pi:extension/fs@2.0.0", "pi:extension/guest@2.0.0"), ["component.version"]);
    }

    #[test]
    fn what_is_no_component_is_told_apart() {
        assert_eq!(imports(b"hello"), Err(ComponentFault::Foreign));
        assert_eq!(imports(b""), Err(ComponentFault::Foreign));
        assert_eq!(imports(b"\0asm\x01\0\0\0"), Err(ComponentFault::Module));
        assert_eq!(imports(b"\0asm\x0d\0\x01\0"), Ok(Imports::default()));
    }

    #[test]
    fn script_in_a_component_needs_what_it_names() {
        let names = ["fs", "exec", "http", "session", "log", "types"].map(|name| format!("pi:extension/{name}@1.0.0"));
        let imports = Imports { names: names.into(), ..Imports::default() };
        let script = r#"import fs from "pi:extension/fs@1.0.0"; import * as log from 'pi:extension/log@1.0.0';
            import { x } from "pi:extension/env@1.0.0"; export const guest = "pi:extension/guest";"#;
        let told = |needs: BTreeSet<Capability>| needs.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(told(imports.capabilities_of_script(script)), ["read", "write", "log"]);
        assert_eq!(told(imports.capabilities()), ["read", "write", "exec", "http", "session", "log"]);
        assert!(imports.capabilities_of_script("").is_empty());
    }
}
