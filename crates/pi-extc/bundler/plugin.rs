//! Where names lead: to files of the extension, to packages, to the host, or to nothing.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    mem,
    path::{Path, PathBuf},
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
    admission::{Packages, is_inside_package, is_path},
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
/// The same where somebody stands by for the error. How it was asked for follows, and the name.
const ABSENT: &str = "\0pi:absent:";
const TEXT: &str = "?pi:text";
/// An address may hold a whole program.
const LONGEST_SUBJECT: usize = 80;
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
    packages: Packages,
    /// Imports of files that cannot be had.
    refused: Vec<Refused>,
}

/// An import of a file that is there, and that the extension cannot have.
#[derive(Debug)]
struct Refused {
    importer: PathBuf,
    specifier: String,
    message: String,
    hint: &'static str,
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
        // Whoever stands by for a package that is not there goes on without it.
        let is_missing = matches!(rule, Rule::MissingPackage | Rule::MissingFile);
        if import.is_tried && is_missing && self.request.purpose == Purpose::Script {
            return None;
        }
        let subject = import.specifier.chars().take(LONGEST_SUBJECT).collect();
        Some(Found { rule, subject, place: import.place.clone() })
    }

    /// What the extension may not have, or what nobody could run.
    pub(crate) fn refused(&self) -> Vec<Fault> {
        let collected = self.collected();
        let place = |it: &Refused| -> Option<Place> {
            let imports = &collected.scans.get(&it.importer)?.imports;
            imports.iter().find(|import| import.specifier == it.specifier).map(|import| import.place.clone())
        };
        let fault =
            |it: &Refused| Fault { message: it.message.clone(), hint: Some(it.hint.to_owned()), place: place(it) };
        let mut faults: Vec<Fault> = collected.refused.iter().map(fault).collect();
        // An extension is compiled as a whole: if one of its files has decorators of the standard, they all have.
        let own = |file: &Path| !is_inside_package(&file.to_string_lossy());
        let has_contexts = collected.scans.iter().any(|(file, scan)| own(file) && scan.decorators.knows_contexts());
        for (file, scan) in &collected.scans {
            let has_contexts = if own(file) { has_contexts } else { scan.decorators.knows_contexts() };
            faults.extend(scan.decorators.faults(has_contexts));
        }
        faults
    }

    /// What a file that was scanned was like before it was edited: the place there of a place in what the bundler saw.
    pub(crate) fn before_edits(&self, file: &Path, text: &str, line: u32, column: u32) -> u32 {
        self.collected().scans.get(file).map_or(column, |scan| scan.before_edits(text, line, column))
    }

    /// Whether everybody in a file who asks for a name in this way stands by for the error.
    fn is_tried(&self, importer: Option<&str>, specifier: &str, kind: ImportKind) -> bool {
        let collected = self.collected();
        let scan = importer.and_then(|it| collected.scans.get(Path::new(it)));
        let imports = scan.into_iter().flat_map(|it| &it.imports);
        let same: Vec<&Import> = imports.filter(|it| it.specifier == specifier && it.kind == kind).collect();
        !same.is_empty() && same.iter().all(|it| it.is_tried)
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

    /// A module that stands for something that is not there: it fails when it is used, or when it is loaded if somebody
    /// stands by for that.
    fn lose(&self, args: &HookResolveIdArgs<'_>, rule: Rule) -> HookResolveIdOutput {
        let (importer, specifier) = (args.importer, args.specifier);
        self.note(importer, specifier, rule);
        if rule == Rule::MissingPackage {
            self.collected().missing.insert(specifier.to_owned());
        }
        if self.is_tried(importer, specifier, args.kind) {
            let how = if args.kind == ImportKind::Require { "require" } else { "import" };
            let side_effects = Some(HookSideEffects::NoTreeshake);
            return HookResolveIdOutput { side_effects, ..id(format!("{ABSENT}{how}:{specifier}")) };
        }
        HookResolveIdOutput { side_effects: Some(HookSideEffects::False), ..id(format!("{MISSING}{specifier}")) }
    }

    /// An import that is refused, with what stands for it until that is told.
    fn refuse(&self, args: &HookResolveIdArgs<'_>, message: String, hint: &'static str) -> HookResolveIdOutput {
        let (importer, specifier) = (args.importer.unwrap_or_default().into(), args.specifier.to_owned());
        let stand_in = id(format!("{MISSING}{specifier}"));
        self.collected().refused.push(Refused { importer, specifier, message, hint });
        stand_in
    }

    /// Whether a file that a name led to may be read, and remembers the packages on the way.
    fn admits(&self, args: &HookResolveIdArgs<'_>, resolved: &ResolvedId) -> bool {
        let importer = Path::new(args.importer.unwrap_or_default());
        let file = Path::new(resolved.id.as_str());
        self.collected().packages.admit(&self.request, args.specifier, importer, file)
    }
}

fn id(id: String) -> HookResolveIdOutput {
    HookResolveIdOutput::from_id(id)
}

#[expect(clippy::disallowed_methods, reason = "the bundler reads the sources that it was asked for")]
fn read(path: &str) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

/// As a text of JavaScript.
fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

fn is_native(name: &str) -> bool {
    name.ends_with(".node")
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
            match builtin::rule_of_shim(specifier) {
                // It would load, and there would be nothing in it.
                Some(rule @ Rule::Unsupported) if state.is_tried(importer, specifier, args.kind) => {
                    return Ok(Some(state.lose(args, rule)));
                }
                // A module that loads, and whose use throws, is to be told of all the same.
                Some(rule) => state.note(importer, specifier, rule),
                None => {}
            }
            let side_effects = Some(HookSideEffects::False);
            return Ok(Some(HookResolveIdOutput { side_effects, ..id(format!("{SHIM}{shim}")) }));
        }
        if let Some(rule) = builtin::rule(specifier) {
            return Ok(Some(state.lose(args, rule)));
        }
        if is_native(specifier) {
            return Ok(Some(state.lose(args, Rule::Native)));
        }
        if let Some(data) = specifier.strip_prefix("data:") {
            // Data is data; code in an address is code that nobody looks at.
            let is_data = data.starts_with("application/json");
            return Ok((!is_data).then(|| state.lose(args, Rule::Forbidden)));
        }
        let options = PluginContextResolveOptions { import_kind: args.kind, ..PluginContextResolveOptions::default() };
        match context.resolve(specifier, importer, Some(options)).await? {
            Ok(resolved) if is_native(resolved.id.as_str()) => Ok(Some(state.lose(args, Rule::Native))),
            // A package says that there is nothing for this platform; the bundler knows what that is.
            Ok(resolved) if !Path::new(resolved.id.as_str()).is_absolute() => Ok(None),
            Ok(resolved) if !state.admits(args, &resolved) => {
                let message = format!("`{specifier}` lies outside the extension's folder, or is hidden in it");
                let hint = "move it into the folder, or make a package of it; data outside is read at run time";
                Ok(Some(state.refuse(args, message, hint)))
            }
            Ok(resolved) if state.wants_text(importer, specifier) => Ok(Some(match read(resolved.id.as_str()) {
                Ok(_) => id(format!("{}{TEXT}", resolved.id.as_str())),
                Err(error) => {
                    let message = format!("`{specifier}` cannot be read as text: {error}");
                    state.refuse(args, message, "only texts can be imported; read other files at run time")
                }
            })),
            Ok(resolved) => Ok(Some(HookResolveIdOutput::from_resolved_id(resolved))),
            Err(_) if !is_path(specifier) => Ok(Some(state.lose(args, Rule::MissingPackage))),
            Err(_)
                if importer.is_some_and(is_inside_package)
                    || args.kind == ImportKind::NewUrl
                    || state.is_tried(importer, specifier, args.kind) =>
            {
                Ok(Some(state.lose(args, Rule::MissingFile)))
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
        let (code, side_effects) = if let Some(shim) = args.id.strip_prefix(SHIM) {
            (format!("module.exports=__pi_host({})", quoted(shim)), HookSideEffects::False)
        } else if let Some(package) = args.id.strip_prefix(MISSING) {
            (format!("module.exports=__pi_gone({})", quoted(package)), HookSideEffects::False)
        } else if let Some((how, package)) = args.id.strip_prefix(ABSENT).and_then(|it| it.split_once(':')) {
            // A module that throws while it is loaded is one without exports the next time; this one throws each time.
            let call = format!("__pi_missing({},{})", quoted(package), quoted(how));
            let code = format!("Object.defineProperty(module,\"exports\",{{get(){{return {call}}}}})");
            (code, HookSideEffects::NoTreeshake)
        } else {
            if !args.id.starts_with('\0') {
                self.0.collected().sources.insert(args.id.into());
            }
            return Ok(None);
        };
        Ok(Some(HookLoadOutput {
            code: code.into(),
            module_type: Some(ModuleType::Js),
            side_effects: Some(side_effects),
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
        let code = scan.edited(args.code);
        self.0.collected().scans.insert(file, scan);
        // Edits stay on their line, so that the map needs to know nothing of them.
        Ok(code.map(|code| HookTransformOutput {
            code: Some(code),
            map: HookTransformOutputMap::Null,
            ..HookTransformOutput::default()
        }))
    }
}
