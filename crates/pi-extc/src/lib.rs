//! Turns the sources of an extension into an artifact: bundles, scans, shims, compiles and caches them. A component is taken
//! as it is.
//!
//! It runs no extension and grants nothing: what the scanner finds is evidence for `pi-policy`, and guests are started by
//! `pi-guests`. Bytecode is made on the user's machine only, from the bundle in the artifact, and is never taken from
//! anybody else.
//!
//! Start with [`build`], which gives an [`Artifact`]; [`load()`] does the same but only when the sources changed, and
//! [`Cache`] makes [`Bytecode`]. Bundling happens in a process of its own, see `build.rs`.

mod artifact;
mod bundler;
mod cache;
mod component;
mod container;
mod crates;
mod fault;
mod file;
mod frame;
mod load;
mod rules;
mod scan;
mod scripts;
mod seal;
mod shims;
mod signature;
mod source;
mod source_map;
mod unpacked;

pub use self::{
    artifact::{Artifact, Asset, Code, Compilers, Evidence, Workshop, build, build_all},
    cache::{Bytecode, Cache, Entry, Health, Kind, MachineCode, Module, Pruned},
    component::{COMPONENT_ENGINE, ComponentFault, Excess, Outline, OutlineFault, outline},
    container::{ContainerFault, read as read_container, write as write_container},
    crates::Progress,
    fault::{BuildFault, CacheFault, Fault},
    frame::frame,
    load::{Loaded, Origin, load},
    rules::{Meaning, rules},
    scan::{Scan, scan},
    shims::{HOST_MODULES, Shim, engine_version, globals, hollow_globals, shims},
    signature::{
        KeyFault, PublicKey, SIGNATURE, SecretKey, Signature, SignatureState, TrustedKeys, judge, sign, verify,
    },
    source::{Source, sources},
    source_map::{Position, SourceMap},
    unpacked::unpack,
};
