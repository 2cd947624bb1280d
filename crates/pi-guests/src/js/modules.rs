//! Which modules there are, and who may import which.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use pi_extc::{Bytecode, Cache, Module, shims};
use rquickjs::{
    Ctx, Error, Module as JsModule,
    loader::{ImportAttributes, Loader, Resolver},
    module::Declared,
};

use super::raw;

/// The engine for shims and the Pi API.
pub(crate) const HOST: &str = "pi:host";
/// What a bundle imports, and all that it may.
pub(crate) const SHIMS: &str = "pi:shims";
/// The Pi API.
pub(crate) const API: &str = "pi:api";
/// The extension itself.
pub(crate) const BUNDLE: &str = "pi:bundle/";
const SHIM: &str = "pi:shim/";
const OWN: &str = "pi:api/";
const LOADING: &str = "pi:loading/";

/// A module, as it is kept.
#[derive(Debug, Clone)]
pub enum Code {
    /// Compiled when it is loaded.
    Source(Arc<str>),
    /// Made by this machine from its source.
    Compiled(Bytecode),
}

/// Every module that is not part of an extension: the engine's own, and the shims. Clones are the same.
#[derive(Debug, Clone)]
pub struct Library {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    sources: BTreeMap<String, &'static str>,
    /// Without it modules are compiled whenever they are loaded.
    cache: Option<Arc<Cache>>,
    /// What was loaded in this process. A lock and no task: every guest's thread looks here, and it is held for a look.
    loaded: Mutex<HashMap<String, Bytecode>>,
}

impl Library {
    /// The engine's own modules and the shims of this binary, compiled at first use and kept in the cache.
    pub fn new(cache: Option<Arc<Cache>>) -> Self {
        let own = OWN_MODULES.iter().map(|(name, source)| ((*name).to_owned(), *source));
        let shims = shims().iter().map(|shim| (shim.specifier.clone(), shim.source));
        Self { inner: Arc::new(Inner { sources: own.chain(shims).collect(), cache, loaded: Mutex::default() }) }
    }

    /// A module, if there is one of this name.
    pub(crate) fn get(&self, name: &str) -> Option<Code> {
        let source = *self.inner.sources.get(name)?;
        let Some(cache) = &self.inner.cache else { return Some(Code::Source(source.into())) };
        let loaded = || self.inner.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = loaded().get(name) {
            return Some(Code::Compiled(known.clone()));
        }
        let module = |name: &str| {
            let source = *self.inner.sources.get(name)?;
            Some(Module { name: name.to_owned(), source: source.into() })
        };
        let modules: Vec<Module> = match FIRST.contains(&name) {
            true => FIRST.iter().copied().filter_map(module).collect(),
            false => module(name).into_iter().collect(),
        };
        let kept = match modules.as_slice() {
            [one] => cache.bytecode(one).map(|bytecode| vec![bytecode]),
            several => cache.bytecodes("what every script loads", several),
        };
        match kept {
            Ok(bytecodes) => {
                let mut loaded = loaded();
                loaded.extend(modules.into_iter().map(|module| module.name).zip(bytecodes));
                loaded.get(name).cloned().map(Code::Compiled)
            }
            Err(fault) => {
                tracing::warn!(module = name, %fault, "a module is not taken from the cache");
                Some(Code::Source(source.into()))
            }
        }
    }
}

/// What most guests load sooner or later: all of the engine's own modules, and what they and a first tool need. One entry of the cache. A test
/// compares it with what they import.
const FIRST: &[&str] = &[
    HOST,
    API,
    SHIMS,
    "pi:api/context",
    "pi:api/drawing",
    "pi:api/model",
    "pi:api/outcome",
    "pi:api/partial",
    "pi:api/session",
    "pi:api/theme",
    "pi:api/ui",
    "pi:shim/assumed",
    "pi:shim/facade",
    "pi:shim/globals",
    "pi:shim/pi/ai/own",
    "pi:shim/web/abort",
    "pi:shim/web/events",
    "pi:shim/web/exception",
    "pi:shim/node/timers",
];

const OWN_MODULES: &[(&str, &str)] = &[
    (HOST, include_str!("../../js/kernel.js")),
    (SHIMS, include_str!("../../js/shims.js")),
    (API, include_str!("../../js/api.js")),
    ("pi:api/context", include_str!("../../js/context.js")),
    ("pi:api/drawing", include_str!("../../js/drawing.js")),
    ("pi:api/partial", include_str!("../../js/partial.js")),
    ("pi:api/model", include_str!("../../js/model.js")),
    ("pi:api/outcome", include_str!("../../js/outcome.js")),
    ("pi:api/session", include_str!("../../js/session.js")),
    ("pi:api/theme", include_str!("../../js/theme.js")),
    ("pi:api/ui", include_str!("../../js/ui.js")),
];

/// Makes a module of its code.
pub(crate) fn declare<'js>(ctx: &Ctx<'js>, name: &str, code: &Code) -> rquickjs::Result<JsModule<'js, Declared>> {
    match code {
        Code::Source(source) => JsModule::declare(ctx.clone(), name, source.as_bytes()),
        Code::Compiled(bytecode) => raw::load(ctx, bytecode),
    }
}

/// The name of a module that exists to load another one at once.
pub(crate) fn loading(specifier: &str) -> String {
    format!("{LOADING}{specifier}")
}

/// Says whether a module may import another. Relative paths are none of ours: a bundle is one module.
#[derive(Debug)]
pub(crate) struct Border;

impl Resolver for Border {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        let is_ours = base.starts_with(SHIM)
            || base.starts_with(OWN)
            || base.starts_with(LOADING)
            || [HOST, SHIMS, API].contains(&base);
        let may = if is_ours { name.starts_with("pi:") } else { base.starts_with(BUNDLE) && name == SHIMS };
        if may { Ok(name.to_owned()) } else { Err(Error::new_resolving(base, name)) }
    }
}

/// Finds modules in the library.
#[derive(Debug)]
pub(crate) struct Shelf(pub(crate) Library);

impl Loader for Shelf {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<JsModule<'js, Declared>> {
        let code = self.0.get(name).ok_or_else(|| Error::new_loading(name))?;
        declare(ctx, name, &code)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_most_guests_load_is_what_the_engines_modules_import() {
        let library = Library::new(None);
        let sources = &library.inner.sources;
        let own = OWN_MODULES.iter().map(|(name, _)| *name);
        let (mut found, mut waiting) = (BTreeSet::new(), own.chain(["pi:shim/web/abort"]).collect::<Vec<_>>());
        while let Some(name) = waiting.pop() {
            if found.insert(name) {
                let imports = sources[name].split("from \"").skip(1).filter_map(|rest| rest.split('"').next());
                waiting.extend(imports.filter(|name| sources.contains_key(*name)));
            }
        }
        assert_eq!(FIRST.iter().copied().collect::<BTreeSet<_>>(), found);
    }
}
