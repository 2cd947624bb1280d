//! Every provider that there is, from all sources, and its models.
//!
//! Sources are read in order: those of the program, the user's folder, the project's, folders named on the command line,
//! Pi's `models.json`. A later one replaces a provider of an earlier one, unless it comes from a project that nobody
//! trusts. A file that is wrong never stops the others: what is wrong with it is in [`Catalog::findings`]. Only
//! [`Source::folder`] and [`Source::pi_models`] touch the file system. Start with [`Catalog::load`] and
//! [`Catalog::find_model`].

mod find;
mod folder;
mod held;
mod names;
mod overlay;
mod transcript;

use std::{collections::HashSet, fmt, sync::Arc};

use indexmap::IndexMap;

pub use self::{
    find::{FindError, Found},
    folder::{Unreadable, is_utf16},
    held::Held,
    names::{Claim, Names},
    overlay::examine_provider,
};
use crate::{
    builtin,
    credential::{Lookup, Trust},
    local::LocalServer,
    manifest::{
        Contract, Format, KeySource, MissingKey, ModelEntry,
        diagnostic::{Diagnostic, Rule, Severity, Style, masked, render},
        load::{Document, Ignored, Loaded, Place, WrittenNames, load_any},
    },
    request::Target,
    secret::Secret,
};

/// Where files come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    BuiltIn,
    /// The user's folder.
    User,
    /// The project's folder.
    Project,
    /// A folder named on the command line.
    CommandLine,
    /// Pi's `models.json`.
    PiModels,
}

/// Files that belong together: among them an id may occur once.
#[derive(Debug)]
pub struct Source {
    pub origin: Origin,
    pub trust: Trust,
    pub files: Vec<SourceFile>,
}

/// Does not print its text: there are keys in Pi's.
pub struct SourceFile {
    /// As it is shown to people.
    pub path: String,
    /// The text, or why there is none.
    pub text: Result<String, Unreadable>,
}

/// A provider and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub manifest: Held,
    pub origin: Origin,
    pub file: String,
    /// The version that the file is written in, where it was promoted from an older one.
    pub promoted_from: Option<String>,
    pub trust: Trust,
    /// The key that Pi's `models.json` has for it. It counts as spelled out by the user.
    pub key: Option<KeySource>,
    /// Headers whose values may be secret: those of the manifest, and of Pi's `models.json`.
    pub headers: IndexMap<String, KeySource>,
    /// What the file says that nobody here knows.
    pub ignored: Vec<Ignored>,
}

/// Which model of a provider is asked, and where.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// As the user names it.
    pub model: &'a str,
    /// What the manifest knows about it.
    pub known: Option<&'a ModelEntry>,
    /// Instead of the manifest's address.
    pub base_url: Option<&'a str>,
}

/// A diagnostic, and the text that it is about where that may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub diagnostic: Diagnostic,
    pub origin: Origin,
    source: Option<Arc<str>>,
}

/// All providers.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    entries: IndexMap<String, Entry>,
    held_back: Vec<Entry>,
    findings: Vec<Finding>,
    /// Where the names of a provider stand in its file, by its id.
    written: IndexMap<String, WrittenNames>,
}

impl Source {
    /// The manifests that come with the program. They are no files, and each is read when it is needed.
    pub fn built_in() -> Self {
        Self { origin: Origin::BuiltIn, trust: Trust::Trusted, files: Vec::new() }
    }
}

impl Entry {
    fn built_in(built_in: &'static builtin::BuiltIn) -> Self {
        Self {
            manifest: Held::built_in(built_in),
            origin: Origin::BuiltIn,
            file: built_in.path(),
            promoted_from: None,
            trust: Trust::Trusted,
            key: None,
            headers: IndexMap::new(),
            ignored: Vec::new(),
        }
    }

    /// Whether the manifest may be used at all: asked, looked for, and given credentials and values of the environment.
    pub fn is_trusted(&self) -> bool {
        match self.trust {
            Trust::Trusted => true,
            Trust::UntrustedProject => false,
        }
    }

    /// The headers of a request for a model whose values may be secret: the provider's, and those that the model has
    /// beside or instead of them.
    pub fn headers_of<'a>(&'a self, model: Option<&'a ModelEntry>) -> IndexMap<&'a str, &'a KeySource> {
        let mut headers: IndexMap<&str, &KeySource> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value)).collect();
        for (name, value) in model.into_iter().flat_map(|model| &model.headers) {
            headers.retain(|known, _| !known.eq_ignore_ascii_case(name));
            headers.insert(name, value);
        }
        headers
    }

    /// Headers that requests for a model go without because a variable is not set, each with the reason. Commands are not
    /// run for it.
    pub fn missing_headers(&self, model: Option<&ModelEntry>, environment: Lookup<'_>) -> Vec<(String, MissingKey)> {
        let always = self.manifest.contract.request_mapping.required_headers.iter();
        let always = always.filter(|header| header.condition.is_none() && !header.is_harmless());
        let always =
            always.map(|header| (header.name.clone(), KeySource::of_manifest(Secret::new(header.value.as_str()))));
        let own = self.headers_of(model).into_iter().map(|(name, source)| (name.to_owned(), source.clone()));
        let is_read = |source: &KeySource| !matches!(source, KeySource::Command(_));
        let missing = |(name, source): (String, KeySource)| Some((name, source.look_up(environment).err()?));
        own.chain(always).filter(|(_, source)| is_read(source)).filter_map(missing).collect()
    }

    /// A model of this provider, to be asked. Whoever asks should have refused a manifest that nobody trusts; should it
    /// come this far, it gets no value of the environment.
    pub fn target<'a>(&'a self, asked: Asked<'a>, environment: Lookup<'a>) -> Target<'a> {
        let Asked { model, known, base_url } = asked;
        let lookup = if self.is_trusted() { environment } else { &|_: &str| None };
        Target { manifest: &self.manifest, model, entry: known, base_url, lookup }
    }
}

impl Finding {
    /// As a compiler shows it. Lines of files that hold keys are not shown, and nothing that may be a key in those of others.
    pub fn render(&self, style: Style) -> String {
        render(&self.diagnostic, &masked(self.source.as_deref().unwrap_or_default()), style)
    }
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.as_ref().map(|text| format!("{} bytes", text.len()));
        f.debug_struct("SourceFile").field("path", &self.path).field("text", &text).finish()
    }
}

impl Catalog {
    /// Reads the sources in order.
    pub fn load(sources: &[Source]) -> Self {
        let mut catalog = Self::default();
        let mut told = HashSet::new();
        for source in sources {
            Loading { catalog: &mut catalog, source, names: Names::default(), told: &mut told }.run();
        }
        catalog.hold_back_strangers();
        catalog.drop_shadowed_aliases(&told);
        for entry in catalog.entries.values_mut() {
            entry.manifest.price_models();
        }
        catalog
    }

    /// The provider of that id, or else of that alias, or else the only one whose id differs only in upper and lower case:
    /// those of `models.json` may have any name.
    pub fn provider(&self, name: &str) -> Option<&Entry> {
        self.called(name).or_else(|| {
            let alike = self.entries.values().filter(|entry| entry.manifest.id().eq_ignore_ascii_case(name));
            let (own, strange): (Vec<&Entry>, Vec<&Entry>) = alike.partition(|entry| entry.is_trusted());
            match (own.as_slice(), strange.as_slice()) {
                ([only], _) | ([], [only]) => Some(*only),
                (_, _) => None,
            }
        })
    }

    /// The provider of exactly that id, or else of that alias.
    fn called(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name).or_else(|| self.entries.values().find(|entry| entry.manifest.is_called(name)))
    }

    /// In the order of the sources; one that was replaced keeps its place.
    pub fn providers(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Providers of a project that nobody trusts which would have replaced a trusted one, and do not.
    pub fn held_back(&self) -> &[Entry] {
        &self.held_back
    }

    /// What is wrong with the files, source by source.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Takes over what a server on this machine says of itself: where it answers and what it serves.
    pub fn take_local(&mut self, server: LocalServer) {
        if let Some(entry) = self.entries.get_mut(server.provider.as_str()) {
            entry.manifest.endpoint.base_url = server.base_url;
            entry.manifest.models.extend(server.models);
            entry.manifest.price_models();
        }
    }

    /// Every model that is listed.
    pub fn models(&self) -> impl Iterator<Item = Found<'_>> {
        self.entries.values().flat_map(|entry| {
            let models = entry.manifest.models.iter();
            models.map(move |(id, model)| Found { entry, id: id.clone(), model: Some(model) })
        })
    }

    /// A project that nobody trusts replaces nothing, also where a later source has the name.
    fn hold_back_strangers(&mut self) {
        let is_trusted_name =
            |name: &str| self.entries.values().any(|entry| entry.is_trusted() && entry.manifest.is_called(name));
        let strangers = self.entries.iter().filter(|(id, entry)| !entry.is_trusted() && is_trusted_name(id));
        let ids: Vec<String> = strangers.map(|(id, _)| id.clone()).collect();
        for id in ids {
            if let Some(entry) = self.take_stranger(&id) {
                self.hold_back(entry);
            }
        }
    }

    /// Takes out the entry of this id, if nobody trusts it.
    fn take_stranger(&mut self, id: &str) -> Option<Entry> {
        if self.entries.get(id).is_none_or(Entry::is_trusted) {
            return None;
        }
        self.written.shift_remove(id);
        self.entries.shift_remove(id)
    }

    /// Keeps an entry of a project that nobody trusts apart, because a trusted one has its name.
    fn hold_back(&mut self, entry: Entry) {
        let message = format!("{} is not replaced, because the project is not trusted", entry.manifest.id());
        let diagnostic = Diagnostic::new(Severity::Warning, Rule::CatalogUntrusted, &entry.file, message);
        self.findings.push(Finding { diagnostic, origin: entry.origin, source: None });
        self.held_back.push(entry);
    }

    /// An alias that is the id of another provider, or that an earlier one has already, leads nowhere. It is taken away
    /// so that one name means one provider everywhere. There is a finding unless one was made already.
    fn drop_shadowed_aliases(&mut self, told: &HashSet<(String, String)>) {
        let written = &self.written;
        let names = |id: &str| written.get(id).cloned().unwrap_or_default();
        let shown = |file: &str, Place { line, column, .. }: Place| match line {
            0 => file.to_owned(),
            line => format!("{file}:{line}:{column}"),
        };
        // Each name with its provider and the place where it stands.
        let ids = self.entries.iter().map(|(id, entry)| (id.clone(), (id.clone(), shown(&entry.file, names(id).id))));
        let mut taken: IndexMap<String, (String, String)> = ids.collect();
        let owners: IndexMap<String, (String, Origin)> =
            self.entries.iter().map(|(id, entry)| (id.clone(), (entry.file.clone(), entry.origin))).collect();
        let mut shadowed = Vec::new();
        // Names of projects that nobody trusts come last.
        let mut entries: Vec<&mut Entry> = self.entries.values_mut().collect();
        entries.sort_by_key(|entry| !entry.is_trusted());
        for Entry { manifest, origin, file, .. } in entries {
            let id = manifest.id().to_owned();
            manifest.retain_aliases(|alias| {
                let place @ Place { line, column, length } = names(&id).alias(alias);
                let Some((other, elsewhere)) = taken.get(alias) else {
                    taken.insert(alias.to_owned(), (id.clone(), shown(file, place)));
                    return true;
                };
                let owner = owners.get(alias).filter(|(_, owner)| *owner != Origin::BuiltIn);
                if let (Origin::BuiltIn, Some((file, owner))) = (*origin, owner) {
                    // Nobody can take the alias out of a manifest that comes with the program.
                    let Place { line, column, length } = names(alias).id;
                    let message = format!("the id {alias:?} is an alias of {id}, which is built in; the id counts");
                    let usual = Diagnostic::new(Severity::Warning, Rule::CatalogAlias, file, message);
                    let hint = format!("choose another id, unless {alias} is to mean this provider and not {id}");
                    let diagnostic = Diagnostic { line, column, length, path: "id".to_owned(), hint, ..usual };
                    shadowed.push(Finding { diagnostic, origin: *owner, source: None });
                } else if *other != id && !told.contains(&(id.clone(), alias.to_owned())) {
                    let message =
                        format!("the alias {alias:?} of {id} is a name of {other} in {elsewhere}, which counts");
                    let usual = Diagnostic::new(Severity::Warning, Rule::CatalogAlias, &*file, message);
                    let diagnostic = Diagnostic { line, column, length, path: "aliases".to_owned(), ..usual };
                    shadowed.push(Finding { diagnostic, origin: *origin, source: None });
                }
                false
            });
        }
        self.findings.extend(shadowed);
    }
}

/// One source while it is read.
struct Loading<'a> {
    catalog: &'a mut Catalog,
    source: &'a Source,
    /// The names that this source brought so far.
    names: Names,
    /// Providers and those of their aliases about which there is a finding already.
    told: &'a mut HashSet<(String, String)>,
}

impl Loading<'_> {
    fn run(&mut self) {
        if self.source.origin == Origin::BuiltIn {
            let entries = builtin::MANIFESTS.iter().map(|built_in| (built_in.id.to_owned(), Entry::built_in(built_in)));
            self.catalog.entries.extend(entries);
        }
        let mut beside = Vec::new();
        for file in &self.source.files {
            match &file.text {
                Ok(text) => beside.extend(self.document(file, text)),
                Err(fault) => self.find(Severity::Error, Rule::CatalogUnreadable, &file.path, fault.to_string()),
            }
        }
        // Contracts and models wait for the manifests of their own source, whatever the files are called.
        for (file, document) in beside {
            match document {
                Document::Contract(loaded) => {
                    if let Some((provider, contract)) = loaded.contract {
                        self.contract(&file, &provider, &contract);
                    }
                }
                Document::Models(loaded) => {
                    for (provider, models) in loaded.models {
                        self.models(&file, &provider, &models);
                    }
                }
                Document::PiModels(loaded) => {
                    for (name, provider) in loaded.providers {
                        self.overlay(&file, &name, provider);
                    }
                }
                Document::Manifest(_) => {}
            }
        }
    }

    fn document(&mut self, file: &SourceFile, text: &str) -> Option<(String, Document)> {
        let document = load_any(text, &file.path, Format::of_file(&file.path));
        let (diagnostics, shown) = match &document {
            Document::Manifest(loaded) => (&loaded.diagnostics, true),
            Document::Contract(loaded) => (&loaded.diagnostics, true),
            Document::Models(loaded) => (&loaded.diagnostics, true),
            Document::PiModels(loaded) => (&loaded.diagnostics, false),
        };
        // A file that is broken cannot be told apart by what it holds, only by its name.
        let shown = shown && self.source.origin != Origin::PiModels && !file.path.ends_with("models.json");
        let source = (shown && !diagnostics.is_empty()).then(|| Arc::from(text));
        let origin = self.source.origin;
        let findings = diagnostics.iter().map(|diagnostic| Finding {
            diagnostic: diagnostic.clone(),
            origin,
            source: source.clone(),
        });
        self.catalog.findings.extend(findings);
        match document {
            Document::Manifest(loaded) => {
                self.manifest(file, text, *loaded);
                None
            }
            other => Some((file.path.clone(), other)),
        }
    }

    fn manifest(&mut self, file: &SourceFile, text: &str, loaded: Loaded) {
        let Loaded { manifest: Some(mut manifest), original_version, names, ignored, .. } = loaded else { return };
        let id = manifest.id.to_string();
        let Claim { findings, is_left_out, lost, shadowed } = self.names.claim(&file.path, &manifest, &names);
        let origin = self.source.origin;
        let shown =
            findings.into_iter().map(|diagnostic| Finding { diagnostic, origin, source: Some(Arc::from(text)) });
        self.catalog.findings.extend(shown);
        if is_left_out {
            return;
        }
        self.told.extend(shadowed);
        manifest.aliases.retain(|alias| !lost.contains(alias));
        let headers = std::mem::take(&mut manifest.endpoint.auth.secret_headers);
        let headers = headers.into_iter().map(|header| (header.name, KeySource::of_manifest(header.value)));
        let entry = Entry {
            manifest: manifest.into(),
            origin,
            file: file.path.clone(),
            promoted_from: original_version.filter(|version| !version.starts_with('2')),
            trust: self.source.trust,
            key: None,
            headers: headers.collect(),
            ignored,
        };
        let replaces_trusted = self.catalog.called(&id).is_some_and(Entry::is_trusted);
        if !entry.is_trusted() && replaces_trusted {
            self.catalog.hold_back(entry);
            return;
        }
        if entry.is_trusted()
            && let Some(stranger) = self.catalog.take_stranger(&id)
        {
            self.catalog.hold_back(stranger);
        }
        self.catalog.written.insert(id.clone(), names);
        self.catalog.entries.insert(id, entry);
    }

    /// The entries that a file of this source may change under a name. There is a finding if there are none.
    fn reachable(&mut self, file: &str, name: &str) -> Vec<String> {
        let may = |entry: &&Entry| entry.trust == self.source.trust;
        let called = self.catalog.entries.values().filter(|entry| entry.manifest.is_called(name));
        let ids: Vec<String> = called.filter(may).map(|entry| entry.manifest.id().to_owned()).collect();
        if ids.is_empty() {
            let reason = if self.catalog.called(name).is_some() {
                format!("{name} is not changed, because the project is not trusted")
            } else {
                format!("there is no provider {name:?} for it")
            };
            self.find(Severity::Warning, Rule::CatalogNoProvider, file, reason);
        }
        ids
    }

    fn contract(&mut self, file: &str, provider: &str, contract: &Contract) {
        for id in self.reachable(file, provider) {
            if let Some(entry) = self.catalog.entries.get_mut(&id) {
                entry.manifest.contract = overlay::contract(contract, &entry.manifest.contract);
            }
        }
    }

    fn models(&mut self, file: &str, provider: &str, models: &IndexMap<String, ModelEntry>) {
        for id in self.reachable(file, provider) {
            let Some(entry) = self.catalog.entries.get_mut(&id) else { continue };
            for (name, model) in models {
                entry.manifest.models.entry(name.clone()).or_insert_with(|| model.clone());
            }
        }
    }

    /// A finding about a file as a whole.
    fn find(&mut self, severity: Severity, rule: Rule, file: &str, message: String) {
        let diagnostic = Diagnostic::new(severity, rule, file, message);
        self.catalog.findings.push(Finding { diagnostic, origin: self.source.origin, source: None });
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BuiltIn => "built in",
            Self::User => "user",
            Self::Project => "project",
            Self::CommandLine => "command line",
            Self::PiModels => "models.json",
        })
    }
}
