//! Which file of a source has which name.
//!
//! Providers are found by their id and their aliases, so that among the files of one source every name belongs to one
//! provider. Sources may replace each other's providers; what that does to aliases is settled when all are read. Whoever
//! only looks at files, one source after the other, is told of it here ([`Names::next_source`]).

use indexmap::IndexMap;

use crate::{
    builtin,
    manifest::{
        Manifest,
        diagnostic::{Diagnostic, Rule, Severity},
        load::{Format, Place, WrittenNames, load},
    },
};

/// The names that the files of one source have taken so far.
#[derive(Debug, Default)]
pub struct Names {
    taken: IndexMap<String, Taken>,
    /// The names that earlier sources have.
    earlier: IndexMap<String, Taken>,
}

/// What the names of one manifest come to.
#[derive(Debug, Default)]
pub struct Claim {
    /// One for each name that another file of the source has.
    pub findings: Vec<Diagnostic>,
    /// Another file has the id: this one is left out.
    pub is_left_out: bool,
    /// Aliases that are aliases of earlier files.
    pub lost: Vec<String>,
    /// Providers with an alias that is the id of another one, so that it does not lead to them.
    pub shadowed: Vec<(String, String)>,
}

#[derive(Debug)]
struct Taken {
    provider: String,
    kind: Kind,
    file: String,
    place: Place,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Id,
    Alias,
}

/// How two providers come by the same name.
#[derive(Debug, Clone, Copy)]
enum Clash {
    DuplicateId,
    DuplicateAlias,
    /// An alias of one is a name of another one, which counts.
    Shadow,
    /// A later source has the id of an earlier one.
    Replacement,
}

impl Names {
    /// The names of the providers that come with the program, as those of an earlier source.
    pub fn of_program() -> Self {
        let mut names = Self::default();
        for built_in in builtin::MANIFESTS {
            let path = built_in.path();
            if let Some(manifest) = load(built_in.json, &path, Format::Json).manifest {
                // Nobody looks them up by line.
                names.claim(&path, &manifest, &WrittenNames::default());
            }
        }
        names.next_source();
        names
    }

    /// Whether an earlier source has a provider of this id or alias.
    pub fn is_known(&self, name: &str) -> bool {
        self.earlier.contains_key(name)
    }

    /// Files that follow belong to a later source: they replace providers of earlier ones.
    pub fn next_source(&mut self) {
        for (name, taken) in std::mem::take(&mut self.taken) {
            // A name that an earlier source has as well belongs to whoever has it as an id, and else to the earlier one.
            let is_kept = self.earlier.get(&name).is_some_and(|first| taken.is_alias() || !first.is_alias());
            if !is_kept {
                self.earlier.insert(name, taken);
            }
        }
    }

    /// Takes the names of a manifest, as far as no other file has them. An id beats an alias, an earlier file a later one.
    pub fn claim(&mut self, file: &str, manifest: &Manifest, written: &WrittenNames) -> Claim {
        let mut claim = Claim::default();
        let id = manifest.id.as_str();
        match self.taken.get(id) {
            Some(first @ Taken { kind: Kind::Id, .. }) => {
                let message = format!("the id {id:?} stands in {} too; this file is left out", first.shown());
                claim.findings.push(finding(Clash::DuplicateId, file, written.id, "id", message));
                claim.is_left_out = true;
                return claim;
            }
            Some(first @ Taken { kind: Kind::Alias, .. }) => {
                let Taken { provider, .. } = first;
                let message = format!("the id {id:?} is an alias of {provider} in {}; the id counts", first.shown());
                claim.findings.push(finding(Clash::Shadow, file, written.id, "id", message));
                claim.shadowed.push((provider.clone(), id.to_owned()));
            }
            None => claim.findings.extend(self.replaced(file, id, written.id)),
        }
        self.take(id, Kind::Id, id, file, written.id);
        for (index, alias) in manifest.aliases.iter().enumerate().filter(|(_, alias)| *alias != id) {
            let place = written.alias(alias);
            let Some(first) = self.taken.get(alias) else {
                claim.findings.extend(self.shadowed(file, id, alias, (index, place)));
                self.take(alias, Kind::Alias, id, file, place);
                continue;
            };
            let Taken { provider, kind, .. } = first;
            let (clash, what) = match kind {
                Kind::Id => (Clash::Shadow, "the id"),
                Kind::Alias => (Clash::DuplicateAlias, "an alias"),
            };
            let message = format!("{alias:?} is {what} of {provider} in {}, which counts", first.shown());
            claim.findings.push(finding(clash, file, place, &format!("aliases[{index}]"), message));
            match kind {
                Kind::Id => claim.shadowed.push((id.to_owned(), alias.clone())),
                Kind::Alias => claim.lost.push(alias.clone()),
            }
        }
        claim
    }

    /// Tells that an earlier source has the id, whose provider is replaced with all its names, or has it as an alias.
    fn replaced(&mut self, file: &str, id: &str, place: Place) -> Option<Diagnostic> {
        let first = self.earlier.get(id)?;
        let (shown, provider) = (first.shown(), first.provider.clone());
        if first.is_alias() {
            let message = format!("the id {id:?} is an alias of {provider} in {shown}; the id counts");
            return Some(finding(Clash::Shadow, file, place, "id", message));
        }
        self.earlier.retain(|_, taken| taken.provider != id);
        let message = format!("the id {id:?} stands in {shown} too, an earlier source; this file replaces it");
        Some(finding(Clash::Replacement, file, place, "id", message))
    }

    /// Tells that an alias is a name of another provider of an earlier source.
    fn shadowed(&self, file: &str, id: &str, alias: &str, (index, place): (usize, Place)) -> Option<Diagnostic> {
        let first = self.earlier.get(alias).filter(|first| first.provider != id)?;
        let what = if first.is_alias() { "an alias" } else { "the id" };
        let message = format!("{alias:?} is {what} of {} in {}, which counts", first.provider, first.shown());
        Some(finding(Clash::Shadow, file, place, &format!("aliases[{index}]"), message))
    }

    fn take(&mut self, name: &str, kind: Kind, provider: &str, file: &str, place: Place) {
        let taken = Taken { provider: provider.to_owned(), kind, file: file.to_owned(), place };
        self.taken.insert(name.to_owned(), taken);
    }
}

impl Taken {
    fn is_alias(&self) -> bool {
        match self.kind {
            Kind::Id => false,
            Kind::Alias => true,
        }
    }

    /// The file and the place in it, where anybody knows it.
    fn shown(&self) -> String {
        let Self { file, place: Place { line, column, .. }, .. } = self;
        if *line == 0 { file.clone() } else { format!("{file}:{line}:{column}") }
    }
}

impl Clash {
    const fn rule(self) -> Rule {
        match self {
            Self::DuplicateId => Rule::CatalogDuplicateId,
            Self::DuplicateAlias => Rule::CatalogDuplicateAlias,
            Self::Shadow => Rule::CatalogAlias,
            Self::Replacement => Rule::CatalogReplaced,
        }
    }

    /// Files that claim the same name are wrong. An alias that is an id elsewhere only leads nowhere: files of the standard
    /// itself have one. To replace a provider is what sources are for.
    const fn severity(self) -> Severity {
        match self {
            Self::DuplicateId | Self::DuplicateAlias => Severity::Error,
            Self::Shadow => Severity::Warning,
            Self::Replacement => Severity::Note,
        }
    }
}

fn finding(clash: Clash, file: &str, place: Place, path: &str, message: String) -> Diagnostic {
    let Place { line, column, length } = place;
    let path = path.to_owned();
    Diagnostic { line, column, length, path, ..Diagnostic::new(clash.severity(), clash.rule(), file, message) }
}
