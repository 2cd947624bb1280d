//! What the sessions of one folder share, as long as it would be made the same.
//!
//! A session needs manifests, settings, a redactor, tools, skills and context files, which together are many times as large
//! as the session. All of it is read anew for every session, so that what somebody changed counts from the next one on; but
//! where nothing was changed, the session gets what the one before it has.

use std::{
    cell::RefCell,
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use pi_provider::credential::Trust;
use pi_session::{models::Choice, tree::stamp};

use crate::{
    arguments::model::SourceArguments,
    env::Environment,
    failure::Failure,
    input,
    providers::{self, Providers},
    workshop::{Workshop, model::Answering, now},
};

/// Folders that are remembered; more of them are forgotten together.
const FOLDERS: usize = 64;

#[derive(Default)]
pub(super) struct Shelf {
    folders: RefCell<HashMap<PathBuf, Kept>>,
}

struct Kept {
    written: Written,
    workshop: Rc<Workshop>,
    choice: Arc<Choice>,
}

/// What stands in the files that a workshop is made of, beside those that it finds itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written(u64);

impl Written {
    pub(super) fn read(folder: &Path, arguments: &SourceArguments, environment: &Environment) -> Result<Self, Failure> {
        let mut hasher = DefaultHasher::new();
        // What the model is told about the day, and folders that may be others than before under the same names.
        stamp(now())[..10].hash(&mut hasher);
        let agent = environment.agent_directory.as_deref();
        for place in [Some(folder), agent, environment.home.as_deref()] {
            place.map(identity).hash(&mut hasher);
        }
        let own = ["settings.json", "trust.json", "auth.json"];
        let own = own.into_iter().filter_map(|name| agent.map(|agent| agent.join(name)));
        for file in own.chain([folder.join(".pi/settings.json")]) {
            // One that cannot be read is none here, and told where it is used.
            let bytes = input::read(&file).ok();
            (&file, bytes.as_ref().map(input::Document::bytes)).hash(&mut hasher);
        }
        for source in providers::sources(folder, arguments, environment)? {
            for file in &source.files {
                (&file.path, file.text.as_ref().ok(), source.trust == Trust::Trusted).hash(&mut hasher);
            }
        }
        Ok(Self(hasher.finish()))
    }
}

impl Shelf {
    /// The workshop of a folder, made by `make` if there is none that would be the same. Who answers is shared as well.
    pub(super) fn workshop(
        &self,
        folder: &Path,
        written: Written,
        answering: &mut Answering,
        providers: Providers,
        make: impl FnOnce(Providers, &Answering) -> Result<Workshop, Failure>,
    ) -> Result<Rc<Workshop>, Failure> {
        // Servers come and go, and keys that somebody spelled out are for one provider.
        if !providers.found().is_empty() || answering.key.is_some() {
            return Ok(Rc::new(make(providers, answering)?));
        }
        let folders = self.folders.borrow();
        if let Some(kept) = folders.get(folder).filter(|kept| kept.written == written && kept.workshop.is_current()) {
            if answering.is_same(&kept.choice) {
                answering.choice = Arc::clone(&kept.choice);
            }
            return Ok(Rc::clone(&kept.workshop));
        }
        drop(folders);
        let workshop = Rc::new(make(providers, answering)?);
        let mut folders = self.folders.borrow_mut();
        if folders.len() >= FOLDERS {
            folders.clear();
        }
        let kept = Kept { written, workshop: Rc::clone(&workshop), choice: Arc::clone(&answering.choice) };
        folders.insert(folder.to_owned(), kept);
        Ok(workshop)
    }
}

/// Tells a folder from another one that has got its name.
#[cfg(unix)]
fn identity(folder: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    folder.metadata().ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(folder: &Path) -> Option<std::time::SystemTime> {
    folder.metadata().ok().and_then(|found| found.created().ok())
}
