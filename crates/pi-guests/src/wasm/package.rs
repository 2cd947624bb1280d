//! The package that extensions are written against, in every version of it that this host speaks.
//!
//! A version is one module: it has the bindings of that version, and turns their types into those of `pi-extproto`, which are
//! the latest. Nothing outside of here knows that there are versions; a further one is a module, a case of [`PreOf`] and one
//! of [`SpeakerOf`].

mod v1;

use pi_exthost::Registration;
use wasmtime::{
    Engine, Store,
    component::{InstancePre, Linker},
};

use super::{
    instance::{Answer, Refused, Task},
    room::Room,
};

/// A component that fits a version of the package and can be instantiated. Clones are the same.
#[derive(Clone)]
pub(super) struct Pre(PreOf);

#[derive(Clone)]
enum PreOf {
    V1(v1::ExtensionPre<Room>),
}

/// An instance that speaks a version of the package.
pub(super) struct Speaker(SpeakerOf);

enum SpeakerOf {
    V1(v1::Extension),
}

/// Gives a linker what extensions import, in every version.
pub(super) fn link(linker: &mut Linker<Room>) -> wasmtime::Result<()> {
    v1::link(linker)
}

/// Whether an interface of the package is of a version that this host speaks.
pub(super) fn knows(interface: &str) -> bool {
    v1::knows(interface)
}

impl Pre {
    /// Looks for what an extension must export.
    pub(super) fn new(pre: InstancePre<Room>) -> wasmtime::Result<Self> {
        Ok(Self(PreOf::V1(v1::ExtensionPre::new(pre)?)))
    }

    pub(super) fn engine(&self) -> &Engine {
        match &self.0 {
            PreOf::V1(pre) => pre.engine(),
        }
    }

    pub(super) async fn instantiate(&self, store: &mut Store<Room>) -> wasmtime::Result<Speaker> {
        match &self.0 {
            PreOf::V1(pre) => Ok(Speaker(SpeakerOf::V1(pre.instantiate_async(store).await?))),
        }
    }
}

impl Speaker {
    /// What the extension offers. The first thing that is asked of it.
    pub(super) async fn init(
        &self,
        store: &mut Store<Room>,
        empty: Registration,
    ) -> wasmtime::Result<Result<Registration, Refused>> {
        match &self.0 {
            SpeakerOf::V1(extension) => v1::init(extension, store, empty).await,
        }
    }

    /// Does what is asked.
    pub(super) async fn perform(
        &self,
        store: &mut Store<Room>,
        task: Task,
    ) -> wasmtime::Result<Result<Answer, Refused>> {
        match &self.0 {
            SpeakerOf::V1(extension) => v1::perform(extension, store, task).await,
        }
    }
}
