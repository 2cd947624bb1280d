//! Turns the sources of an extension into an artifact: will bundle, scan, shim, compile and cache them.
//!
//! It runs no extension and grants nothing: what the scanner finds is evidence for `pi-policy`, and guests are started by
//! `pi-guests`. Bytecode is to be made on the user's machine only, from the bundle in the artifact, and is never taken from
//! anybody else.
//!
//! Not built yet: this crate is empty. The first type to read will be `Artifact`, whose descriptor `pi-extproto` defines.
