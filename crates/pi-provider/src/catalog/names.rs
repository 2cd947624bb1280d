//! Which file of a source has which name.
//!
//! Providers are found by their id and their aliases, so that among the files of one source every name belongs to one
//! provider. Sources may replace each other's providers; what that does to aliases is settled when all are read.

use indexmap::IndexMap;

use crate::manifest::{
    Manifest,
    diagnostic::{Diagnostic, Rule, Severity},
    load::{Place, WrittenNames},
};

/// The names that the files of one source have taken so far.
#[derive(Debug, Default)]
pub struct Names {
    taken: IndexMap<String, Taken>,
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

impl Names {
    /// Takes the names of a manifest, as far as no other file has them. An id beats an alias, an earlier file a later one.
    pub fn claim(&mut self, file: &str, manifest: &Manifest, written: &WrittenNames) -> Claim {
        let mut claim = Claim::default();
        let id = manifest.id.as_str();
        match self.taken.get(id) {
            Some(first @ Taken { kind: Kind::Id, .. }) => {
                let message = format!("the id {id:?} stands in {} too; this file is left out", first.shown());
                claim.findings.push(finding(Rule::CatalogDuplicateId, file, written.id, "id", message));
                claim.is_left_out = true;
                return claim;
            }
            Some(first @ Taken { kind: Kind::Alias, .. }) => {
                let Taken { provider, .. } = first;
                let message = format!("the id {id:?} is an alias of {provider} in {}; the id counts", first.shown());
                claim.findings.push(finding(Rule::CatalogAlias, file, written.id, "id", message));
                claim.shadowed.push((provider.clone(), id.to_owned()));
            }
            None => {}
        }
        self.take(id, Kind::Id, id, file, written.id);
        for (index, alias) in manifest.aliases.iter().enumerate().filter(|(_, alias)| *alias != id) {
            let place = written.alias(alias);
            let Some(first) = self.taken.get(alias) else {
                self.take(alias, Kind::Alias, id, file, place);
                continue;
            };
            let Taken { provider, kind, .. } = first;
            let (rule, what) = match kind {
                Kind::Id => (Rule::CatalogAlias, "the id"),
                Kind::Alias => (Rule::CatalogDuplicateAlias, "an alias"),
            };
            let message = format!("{alias:?} is {what} of {provider} in {}, which counts", first.shown());
            claim.findings.push(finding(rule, file, place, &format!("aliases[{index}]"), message));
            match kind {
                Kind::Id => claim.shadowed.push((id.to_owned(), alias.clone())),
                Kind::Alias => claim.lost.push(alias.clone()),
            }
        }
        claim
    }

    fn take(&mut self, name: &str, kind: Kind, provider: &str, file: &str, place: Place) {
        let taken = Taken { provider: provider.to_owned(), kind, file: file.to_owned(), place };
        self.taken.insert(name.to_owned(), taken);
    }
}

impl Taken {
    /// The file and the place in it.
    fn shown(&self) -> String {
        format!("{}:{}:{}", self.file, self.place.line, self.place.column)
    }
}

/// Files that claim the same name are wrong. An alias that is an id elsewhere only leads nowhere: files of the standard
/// itself have one.
fn finding(rule: Rule, file: &str, place: Place, path: &str, message: String) -> Diagnostic {
    let severity = if rule == Rule::CatalogAlias { Severity::Warning } else { Severity::Error };
    let Place { line, column } = place;
    let path = path.to_owned();
    Diagnostic { line, column, path, ..Diagnostic::new(severity, rule, file, message) }
}
