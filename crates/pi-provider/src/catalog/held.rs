//! The manifest of an entry, which may not have been read yet.
//!
//! Those that come with the program are many, and a call needs one of them. What is asked of all (their names, the variables
//! of their credentials, their models) is answered here from the index that was made with the program; whoever looks at
//! anything else gets the manifest, which is read then and kept.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::OnceLock,
};

use crate::{
    builtin::{BuiltIn, Listed},
    credential,
    manifest::{Format, Manifest, load},
};

/// A manifest. It is read when somebody looks into it for the first time.
#[derive(Clone)]
pub struct Held {
    /// Where it is read from; one that comes from elsewhere was read at once.
    waiting: Option<Waiting>,
    read: OnceLock<Manifest>,
}

#[derive(Clone)]
struct Waiting {
    built_in: &'static BuiltIn,
    /// Those that lead to it.
    aliases: Vec<&'static str>,
    /// Whether models without a price get the provider's.
    is_priced: bool,
}

impl Held {
    /// A manifest that comes with the program.
    pub(super) fn built_in(built_in: &'static BuiltIn) -> Self {
        let waiting = Waiting { built_in, aliases: built_in.index.aliases.to_vec(), is_priced: false };
        Self { waiting: Some(waiting), read: OnceLock::new() }
    }

    pub fn id(&self) -> &str {
        match self.state() {
            State::Read(manifest) => manifest.id.as_str(),
            State::Waiting(waiting) => waiting.built_in.id,
        }
    }

    /// Whether the provider is called that.
    pub fn is_called(&self, name: &str) -> bool {
        match self.state() {
            State::Read(manifest) => manifest.is_called(name),
            State::Waiting(waiting) => waiting.built_in.id == name || waiting.aliases.contains(&name),
        }
    }

    /// The names under which it is found beside its id.
    pub fn aliases(&self) -> Vec<&str> {
        match self.state() {
            State::Read(manifest) => manifest.aliases.iter().map(String::as_str).collect(),
            State::Waiting(waiting) => waiting.aliases.clone(),
        }
    }

    /// The variables that may hold its credential.
    pub fn variables(&self) -> Vec<String> {
        match self.state() {
            State::Read(manifest) => credential::variables(manifest),
            State::Waiting(Waiting { built_in, .. }) => credential::variables_of(built_in.id, built_in.index.token_env),
        }
    }

    /// Whether it describes a server that runs on this machine.
    pub fn is_local(&self) -> bool {
        match self.state() {
            State::Read(manifest) => manifest.metadata.contains_key("local"),
            State::Waiting(waiting) => waiting.built_in.index.is_local,
        }
    }

    /// The names of its models, in the order of the file.
    pub fn listed(&self) -> impl Iterator<Item = Listed<'_>> {
        let (read, waiting) = match self.state() {
            State::Read(manifest) => (Some(manifest), None),
            State::Waiting(waiting) => (None, Some(waiting.built_in.index.models)),
        };
        let read = read.into_iter().flat_map(|manifest| &manifest.models).map(|(id, model)| Listed {
            id,
            wire_id: model.model_id.as_deref().unwrap_or(id),
            name: model.name.as_deref(),
        });
        read.chain(waiting.into_iter().flatten().copied())
    }

    /// Keeps those aliases of which it is true.
    pub(super) fn retain_aliases(&mut self, mut is_kept: impl FnMut(&str) -> bool) {
        match (self.read.get_mut(), &mut self.waiting) {
            (Some(manifest), _) => manifest.aliases.retain(|alias| is_kept(alias)),
            (None, Some(waiting)) => waiting.aliases.retain(|alias| is_kept(alias)),
            (None, None) => {}
        }
    }

    /// Gives the provider's prices to those of its models that have none of their own.
    pub(super) fn price_models(&mut self) {
        match (self.read.get_mut(), &mut self.waiting) {
            (Some(manifest), _) => manifest.price_models(),
            (None, Some(waiting)) => waiting.is_priced = true,
            (None, None) => {}
        }
    }

    fn state(&self) -> State<'_> {
        match (self.read.get(), &self.waiting) {
            (None, Some(waiting)) => State::Waiting(waiting),
            (Some(_) | None, _) => State::Read(self),
        }
    }
}

enum State<'a> {
    Read(&'a Manifest),
    Waiting(&'a Waiting),
}

impl Waiting {
    fn read(&self) -> Manifest {
        let loaded = load(self.built_in.json, &self.built_in.path(), Format::Json);
        let mut manifest = loaded.manifest.expect("our own manifests are valid, which a test checks");
        manifest.aliases.retain(|alias| self.aliases.contains(&alias.as_str()));
        if self.is_priced {
            manifest.price_models();
        }
        manifest
    }
}

impl From<Manifest> for Held {
    fn from(manifest: Manifest) -> Self {
        Self { waiting: None, read: manifest.into() }
    }
}

impl Deref for Held {
    type Target = Manifest;

    fn deref(&self) -> &Manifest {
        let read = || self.waiting.as_ref().expect("what waits for nothing was read").read();
        self.read.get_or_init(read)
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Manifest {
        let _: &Manifest = self;
        self.read.get_mut().expect("it was read in the line above")
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state() {
            State::Read(manifest) => manifest.fmt(f),
            State::Waiting(waiting) => f.debug_tuple("Waiting").field(&waiting.built_in.id).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::MANIFESTS;

    /// All that can be asked without reading.
    fn answers(held: &Held) -> String {
        let listed: Vec<Listed<'_>> = held.listed().collect();
        let (id, aliases, variables) = (held.id(), held.aliases(), held.variables());
        format!("{id} {aliases:?} {variables:?} {} {listed:#?}", held.is_local())
    }

    #[test]
    fn index_of_a_manifest_says_what_the_manifest_says() {
        for built_in in MANIFESTS {
            let held = Held::built_in(built_in);
            let before = answers(&held);
            assert!(held.read.get().is_none(), "{} was read", built_in.id);
            assert_eq!(held.id.as_str(), built_in.id);
            assert_eq!(before, answers(&held));
        }
    }

    #[test]
    fn alias_that_was_lost_stays_so_when_the_manifest_is_read() {
        let gemini = MANIFESTS.iter().find(|built_in| built_in.id == "gemini").expect("it is built in");
        let mut held = Held::built_in(gemini);
        assert!(held.is_called("google"));
        held.retain_aliases(|alias| alias != "google");
        assert!(!held.is_called("google"));
        held.name = Some("changed".to_owned());
        assert!(!held.is_called("google"));
        assert_eq!(held.name.as_deref(), Some("changed"));
    }
}
