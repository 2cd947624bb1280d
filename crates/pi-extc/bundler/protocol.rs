//! What the library asks of the bundler program, and what it is told: one document of JSON each way.
//!
//! This file belongs to both programs. The bundler's JSON reader keeps numbers as text (a feature of one of its crates), so
//! nothing here is flattened, untagged or a fraction.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::rule::Rule;

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Question {
    Bundle(Request),
    Scan(ScanRequest),
}

/// Look at a bundle that somebody else made.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ScanRequest {
    pub(crate) bundle: String,
    /// Names that the host answers itself, each with the shim that does.
    pub(crate) hosts: BTreeMap<String, String>,
    /// Names of files that other programs run by themselves.
    pub(crate) hooks: Vec<String>,
}

/// Bundle one entry.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    /// The folder of the extension: nothing outside it is read, but for packages.
    pub(crate) root: PathBuf,
    /// The file where the extension begins.
    pub(crate) entry: PathBuf,
    /// Where pi keeps what it builds: what lies around that is the person's or pi's, and no package.
    pub(crate) cache: PathBuf,
    /// Names that the host answers itself, each with the shim that does.
    pub(crate) hosts: BTreeMap<String, String>,
    /// Names of files that other programs run by themselves.
    pub(crate) hooks: Vec<String>,
    pub(crate) purpose: Purpose,
}

/// What the bundle is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Purpose {
    /// It runs as it is: what is not there is a module that throws when it is used.
    Script,
    /// It becomes part of a component: connectors stay imports, and nothing else of a host is there.
    Component,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Built(Box<Built>),
    Scanned(Scanned),
    /// The sources cannot be used, and why.
    Refused(Vec<Fault>),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Built {
    pub(crate) bundle: String,
    pub(crate) source_map: String,
    /// Every file that was read, with or without a place in the bundle.
    pub(crate) sources: Vec<PathBuf>,
    /// Files and folders that the sources name and that are there, inside the root.
    pub(crate) assets: Vec<PathBuf>,
    /// Packages that were not found.
    pub(crate) missing: Vec<String>,
    pub(crate) findings: Vec<Found>,
    /// What the code looks like it needs.
    pub(crate) capabilities: Vec<String>,
}

/// What was found in a bundle.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Scanned {
    pub(crate) findings: Vec<Found>,
    /// What the code looks like it needs.
    pub(crate) capabilities: Vec<String>,
}

/// Something that the scanner noticed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) rule: Rule,
    /// What it is about: the name of a module or an interface.
    pub(crate) subject: String,
    pub(crate) place: Place,
}

/// Lines and columns count from one; columns count characters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) file: PathBuf,
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// How many characters it is about, at least one.
    pub(crate) length: u32,
    /// The line as it is written.
    pub(crate) text: String,
}

/// Why there is no bundle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) place: Option<Place>,
}
