//! Where names lead: to files of the extension, to packages, to the host, or to nothing.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    mem,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rolldown::{
    ModuleType,
    plugin::{
        HookLoadArgs, HookLoadOutput, HookLoadReturn, HookResolveIdArgs, HookResolveIdOutput, HookResolveIdReturn,
        HookTransformArgs, HookTransformOutput, HookTransformOutputMap, HookTransformReturn, HookUsage, Plugin,
        PluginContext, PluginContextResolveOptions, SharedLoadPluginContext, SharedTransformPluginContext,
    },
};
use rolldown_common::{ImportKind, ResolvedId, side_effects::HookSideEffects};

use super::{
    builtin,
    protocol::{Fault, Found, Place, Purpose, Request},
    rule::Rule,
    scan::{self, As, Import, Scan},
};

/// The first line of every bundle. A name that a shim lacks must reach the shim, which then throws with the name of what is
/// missing; the copies that CommonJS interop makes of a module fall back to its prototype, so that is the shim itself.
pub(crate) const PRELUDE: &str = r#"import{shim as __pi_shim,missing as __pi_missing,place as __pi_place}from"pi:shims";const __pi_own=s=>new Proxy(s,{getPrototypeOf:()=>s}),__pi_host=n=>__pi_own(__pi_shim(n)),__pi_gone=n=>__pi_own(__pi_missing(n));"#;

const SHIM: &str = "\0pi:shim:";
const MISSING: &str = "\0pi:missing:";
const TEXT: &str = "?pi:text";
/// An address may hold a whole program.
const LONGEST_SUBJECT: usize = 80;
const NODE_MODULES: &str = "node_modules";
/// How the names of connectors begin, for components.
const CONNECTORS: &str = "pi:extension/";

/// What one bundling collects. Hooks run on several threads and hold a lock for a moment only.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) request: Request,
    collected: Mutex<Collected>,
}

#[derive(Debug, Default)]
struct Collected {
    sources: BTreeSet<PathBuf>,
    scans: BTreeMap<PathBuf, Scan>,
    /// Names that lead nowhere, by the file that imports them.
    lost: BTreeMap<(PathBuf, String), Rule>,
    missing: BTreeSet<String>,
    /// Folders of packages that were resolved by name.
    packages: BTreeSet<PathBuf>,
    /// Imports of files that the extension has no business with.
    outside: Vec<(PathBuf, String)>,
}

#[derive(Debug)]
pub(crate) struct Hall(pub(crate) Arc<State>);

impl State {
    pub(crate) fn new(request: Request) -> Self {
        Self { request, collected: Mutex::default() }
    }

    fn collected(&self) -> MutexGuard<'_, Collected> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn take_scans(&self) -> BTreeMap<PathBuf, Scan> {
        mem::take(&mut self.collected().scans)
    }

    pub(crate) fn sources(&self) -> Vec<PathBuf> {
        self.collected().sources.iter().cloned().collect()
    }

    pub(crate) fn missing(&self) -> Vec<String> {
        self.collected().missing.iter().cloned().collect()
    }

    /// What is to be said about an import that leads nowhere.
    pub(crate) fn judge(&self, file: &Path, import: &Import) -> Option<Found> {
        let key = (file.to_path_buf(), import.specifier.clone());
        let rule = self.collected().lost.get(&key).copied()?;
        let subject = import.specifier.chars().take(LONGEST_SUBJECT).collect();
        Some(Found { rule, subject, place: import.place.clone() })
    }

    /// Imports that leave the extension's folder, as faults.
    pub(crate) fn outside(&self) -> Vec<Fault> {
        let collected = self.collected();
        let place = |file: &Path, specifier: &str| -> Option<Place> {
            let imports = &collected.scans.get(file)?.imports;
            imports.iter().find(|it| it.specifier == specifier).map(|it| it.place.clone())
        };
        let fault = |(file, specifier): &(PathBuf, String)| Fault {
            message: format!("`{specifier}` lies outside the extension's folder, or is hidden in it"),
            hint: Some("move it into the folder, or make a package of it; data outside is read at run time".to_owned()),
            place: place(file, specifier),
        };
        collected.outside.iter().map(fault).collect()
    }

    /// Whether the importer asked for the words of the file.
    fn wants_text(&self, importer: Option<&str>, specifier: &str) -> bool {
        let collected = self.collected();
        let scan = importer.and_then(|it| collected.scans.get(Path::new(it)));
        scan.is_some_and(|it| it.imports.iter().any(|it| it.specifier == specifier && it.as_what == As::Text))
    }

    /// Remembers what is to be said about an import.
    fn note(&self, importer: Option<&str>, specifier: &str, rule: Rule) {
        let key = (importer.unwrap_or_default().into(), specifier.to_owned());
        self.collected().lost.insert(key, rule);
    }

    /// A module that stands for something that is not there.
    fn lose(&self, importer: Option<&str>, specifier: &str, rule: Rule) -> HookResolveIdOutput {
        self.note(importer, specifier, rule);
        if rule == Rule::MissingPackage {
            self.collected().missing.insert(specifier.to_owned());
        }
        HookResolveIdOutput { side_effects: Some(HookSideEffects::False), ..id(format!("{MISSING}{specifier}")) }
    }

    /// Whether a file that a name led to may be read, and remembers the packages on the way.
    fn admits(&self, specifier: &str, resolved: &ResolvedId) -> bool {
        let path = Path::new(resolved.id.as_str());
        let mut collected = self.collected();
        if !is_path(specifier)
            && let Some(package) = &resolved.package_json
            && let Some(folder) = package.realpath().parent()
            && path.starts_with(folder)
        {
            collected.packages.insert(folder.to_path_buf());
            return true;
        }
        // A single file may lie in somebody's home: what is hidden there is not a part of it.
        let beside = self.request.entry.parent().and_then(|folder| path.strip_prefix(folder).ok());
        let is_hidden = beside.and_then(|path| path.components().next()).is_some_and(is_dotted);
        (path.starts_with(&self.request.root) && !is_hidden)
            || collected.packages.iter().any(|folder| path.starts_with(folder))
    }
}

fn id(id: String) -> HookResolveIdOutput {
    HookResolveIdOutput::from_id(id)
}

fn is_path(specifier: &str) -> bool {
    specifier.starts_with(['.', '/']) || specifier.starts_with("file:")
}

#[expect(clippy::disallowed_methods, reason = "the bundler reads the sources that it was asked for")]
fn read(path: &str) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

fn is_native(name: &str) -> bool {
    name.ends_with(".node")
}

fn is_dotted(name: Component<'_>) -> bool {
    name.as_os_str().to_string_lossy().starts_with('.')
}

fn is_inside_package(file: &str) -> bool {
    Path::new(file).components().any(|part| part.as_os_str() == NODE_MODULES)
}

impl Plugin for Hall {
    fn name(&self) -> Cow<'static, str> {
        "pi".into()
    }

    fn register_hook_usage(&self) -> HookUsage {
        HookUsage::ResolveId | HookUsage::Load | HookUsage::Transform
    }

    async fn resolve_id(&self, context: &PluginContext, args: &HookResolveIdArgs<'_>) -> HookResolveIdReturn {
        let Self(state) = self;
        let (specifier, importer) = (args.specifier, args.importer);
        if args.is_entry || specifier.starts_with('\0') || importer.is_some_and(|it| it.starts_with('\0')) {
            return Ok(None);
        }
        if state.request.purpose == Purpose::Component && specifier.starts_with(CONNECTORS) {
            return Ok(Some(HookResolveIdOutput { external: Some(true.into()), ..id(specifier.to_owned()) }));
        }
        if let Some(shim) = state.request.hosts.get(specifier) {
            // A module that loads, and whose use throws, is to be told of all the same.
            if let Some(rule) = builtin::rule_of_shim(specifier) {
                state.note(importer, specifier, rule);
            }
            let side_effects = Some(HookSideEffects::False);
            return Ok(Some(HookResolveIdOutput { side_effects, ..id(format!("{SHIM}{shim}")) }));
        }
        if let Some(rule) = builtin::rule(specifier) {
            return Ok(Some(state.lose(importer, specifier, rule)));
        }
        if is_native(specifier) {
            return Ok(Some(state.lose(importer, specifier, Rule::Native)));
        }
        if let Some(data) = specifier.strip_prefix("data:") {
            // Data is data; code in an address is code that nobody looks at.
            let is_data = data.starts_with("application/json");
            return Ok((!is_data).then(|| state.lose(importer, specifier, Rule::Forbidden)));
        }
        let options = PluginContextResolveOptions { import_kind: args.kind, ..PluginContextResolveOptions::default() };
        match context.resolve(specifier, importer, Some(options)).await? {
            Ok(resolved) if is_native(resolved.id.as_str()) => Ok(Some(state.lose(importer, specifier, Rule::Native))),
            // A package says that there is nothing for this platform; the bundler knows what that is.
            Ok(resolved) if !Path::new(resolved.id.as_str()).is_absolute() => Ok(None),
            Ok(resolved) if !state.admits(specifier, &resolved) => {
                let importer = importer.unwrap_or_default().into();
                state.collected().outside.push((importer, specifier.to_owned()));
                Ok(Some(id(format!("{MISSING}{specifier}"))))
            }
            Ok(resolved) if state.wants_text(importer, specifier) => {
                Ok(Some(id(format!("{}{TEXT}", resolved.id.as_str()))))
            }
            Ok(resolved) => Ok(Some(HookResolveIdOutput::from_resolved_id(resolved))),
            Err(_) if !is_path(specifier) => Ok(Some(state.lose(importer, specifier, Rule::MissingPackage))),
            Err(_) if importer.is_some_and(is_inside_package) || args.kind == ImportKind::NewUrl => {
                Ok(Some(state.lose(importer, specifier, Rule::MissingFile)))
            }
            Err(_) => Ok(None),
        }
    }

    async fn load(&self, _context: SharedLoadPluginContext, args: &HookLoadArgs<'_>) -> HookLoadReturn {
        if let Some(path) = args.id.strip_suffix(TEXT) {
            self.0.collected().sources.insert(path.into());
            return Ok(Some(HookLoadOutput {
                code: read(path)?.into(),
                module_type: Some(ModuleType::Text),
                ..HookLoadOutput::default()
            }));
        }
        let call = match (args.id.strip_prefix(SHIM), args.id.strip_prefix(MISSING)) {
            (Some(shim), _) => ("__pi_host", shim),
            (None, Some(package)) => ("__pi_gone", package),
            (None, None) => {
                if !args.id.starts_with('\0') {
                    self.0.collected().sources.insert(args.id.into());
                }
                return Ok(None);
            }
        };
        let (function, name) = call;
        let name = serde_json::to_string(name)?;
        Ok(Some(HookLoadOutput {
            code: format!("module.exports={function}({name})").into(),
            module_type: Some(ModuleType::Js),
            side_effects: Some(HookSideEffects::False),
            ..HookLoadOutput::default()
        }))
    }

    async fn transform(
        &self,
        _context: SharedTransformPluginContext,
        args: &HookTransformArgs<'_>,
    ) -> HookTransformReturn {
        let is_code = matches!(args.module_type, ModuleType::Js | ModuleType::Jsx | ModuleType::Ts | ModuleType::Tsx);
        if args.id.starts_with('\0') || !is_code {
            return Ok(None);
        }
        let file = PathBuf::from(args.id);
        let Some(scan) = scan::scan(&file, args.code, args.module_type, &self.0.request) else { return Ok(None) };
        let code = match self.0.request.purpose {
            Purpose::Script => scan.edited(args.code),
            // There is nothing that the edits could lead to.
            Purpose::Component => None,
        };
        self.0.collected().scans.insert(file, scan);
        // Edits stay on their line, so that the map needs to know nothing of them.
        Ok(code.map(|code| HookTransformOutput {
            code: Some(code),
            map: HookTransformOutputMap::Null,
            ..HookTransformOutput::default()
        }))
    }
}
