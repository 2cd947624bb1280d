//! What all sessions of a process share.

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use pi_extc::{Cache, CacheFault};

use super::machinery::{Compiling, Machinery};
use crate::js::Library;

/// The cache, the modules that were loaded from it, and the engines for components: a session more holds no further copy of
/// them. Clones are the same.
#[derive(Clone)]
pub struct Stock(Arc<Shared>);

struct Shared {
    folder: PathBuf,
    cache: Arc<Cache>,
    library: Library,
    machinery: Machinery,
    /// By what is in them. A lock and no task: it is held for a look.
    source_maps: Mutex<HashMap<u64, Weak<str>>>,
}

impl Stock {
    /// Opens the cache in the folder of the agent, which is made at first use.
    pub fn open(agent: &Path) -> Result<Self, CacheFault> {
        let folder = agent.join("cache").join("extensions");
        let cache = Arc::new(Cache::open(&folder)?);
        let library = Library::new(Some(Arc::clone(&cache)));
        let (machinery, source_maps) = (Machinery::default(), Mutex::default());
        Ok(Self(Arc::new(Shared { folder, cache, library, machinery, source_maps })))
    }

    /// The components that are compiled now, for whoever wonders what is waited for.
    pub fn compiling(&self) -> Vec<Compiling> {
        self.0.machinery.compiling()
    }

    /// Where the cache is.
    pub(super) fn folder(&self) -> &Path {
        &self.0.folder
    }

    pub(super) fn cache(&self) -> &Cache {
        &self.0.cache
    }

    pub(super) fn library(&self) -> &Library {
        &self.0.library
    }

    pub(super) fn machinery(&self) -> &Machinery {
        &self.0.machinery
    }

    /// The same map as others have it, or this one. Not by artifact: a comment changes the places in it and not the bundle.
    pub(super) fn source_map(&self, source_map: &Arc<str>) -> Arc<str> {
        let key = BuildHasherDefault::<DefaultHasher>::default().hash_one(source_map);
        let mut known = self.0.source_maps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = known.get(&key).and_then(Weak::upgrade).filter(|shared| shared == source_map) {
            return shared;
        }
        known.retain(|_, map| map.strong_count() > 0);
        known.insert(key, Arc::downgrade(source_map));
        Arc::clone(source_map)
    }
}

impl fmt::Debug for Stock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stock").field("folder", &self.0.folder).finish_non_exhaustive()
    }
}
