//! The modules that the host answers itself, and the JavaScript that does.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use crate::{bundler::globals, cache::Module};

/// What bytecode depends on besides its source.
const ENGINE: &str = "quickjs-ng 0.16.2";

/// Every JavaScript file in `shims/`, by its path without `.js`.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shims.rs"));

/// Every name that an extension can import from the host, with the shim behind it.
pub static HOST_MODULES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let files: BTreeMap<String, String> =
        serde_json::from_str(include_str!("../shims/modules.json")).expect("our own file, read by a test");
    files.into_iter().map(|(name, file)| (name, specifier(file.strip_suffix(".js").unwrap_or(&file)))).collect()
});

static SHIMS: LazyLock<Vec<Shim>> = LazyLock::new(|| {
    let shim = |(path, source): &(&str, &'static str)| {
        let specifier = specifier(path);
        let names = HOST_MODULES.iter().filter(|(_, shim)| **shim == specifier).map(|(name, _)| name.clone()).collect();
        Shim { specifier, names, source }
    };
    FILES.iter().map(shim).collect()
});

/// A module that the host brings.
#[derive(Debug)]
pub struct Shim {
    /// As other shims import it: `pi:shim/node/fs`.
    pub specifier: String,
    /// As extensions import it: `fs`, `node:fs`. Parts of other shims have none.
    pub names: Vec<String>,
    pub source: &'static str,
}

impl Shim {
    /// For the cache, which compiles it at first use.
    pub fn module(&self) -> Module {
        Module { name: self.specifier.clone(), source: Arc::from(self.source) }
    }
}

/// Every shim in this binary.
pub fn shims() -> &'static [Shim] {
    &SHIMS
}

/// The names that a script finds without importing them, in order.
pub fn globals() -> &'static [&'static str] {
    globals::GLOBALS
}

/// Those among them whose use only says what to use instead.
pub fn hollow_globals() -> &'static [&'static str] {
    globals::HOLLOW
}

/// The engine that artifacts are made for, with what its bytecode depends on.
pub fn engine_version() -> &'static str {
    ENGINE
}

fn specifier(path: &str) -> String {
    format!("pi:shim/{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_package_has_both_scopes_and_node_modules_both_spellings() {
        for (name, shim) in &*HOST_MODULES {
            let other = match name.strip_prefix("@mariozechner/") {
                Some(package) => format!("@earendil-works/{package}"),
                None if shim.starts_with("pi:shim/node/") && !name.starts_with("node:") => format!("node:{name}"),
                None => continue,
            };
            // The newer scope may have words of its own.
            let is_it = |found: &String| found == shim || *found == format!("{shim}/newer");
            assert!(HOST_MODULES.get(&other).is_some_and(is_it), "{name}");
        }
        for name in ["fs", "node:path", "@mariozechner/pi-tui", "@sinclair/typebox", "typebox/value"] {
            assert!(HOST_MODULES.contains_key(name), "{name}");
        }
    }
}
