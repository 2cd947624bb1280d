//! A guest of any tier, for whoever wants to look into it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value, json};

use pi_exthost::{Desk, Guest, GuestFault, Registration, launcher::Identity};
use pi_extproto::manifest::Tier;

use crate::{
    js::{self, JsGuest},
    wasm::{self, WasmGuest},
};

/// An extension that was looked at. None of its code has run.
#[derive(Debug)]
pub struct PreparedGuest {
    pub identity: Identity,
    pub program: Program,
    /// What its author should know.
    pub notices: Vec<String>,
    /// That its sources changed since a compiler made it of them, and what to do about it.
    pub outdated: Option<String>,
    /// The files that it was built from.
    pub sources: Vec<PathBuf>,
    /// Packages that it imports and that are not installed.
    pub missing: Vec<String>,
    /// What the scanner would have it blocked for.
    pub forbidden: Vec<String>,
}

/// What is run, by tier.
#[derive(Debug)]
pub enum Program {
    Js(Box<js::Program>),
    Wasm(Box<wasm::Program>),
}

/// A guest that runs.
#[derive(Debug, Clone)]
pub enum Started {
    Js(Arc<JsGuest>),
    Wasm(Arc<WasmGuest>),
}

impl Program {
    pub fn tier(&self) -> Tier {
        match self {
            Self::Js(_) => Tier::Js,
            Self::Wasm(_) => Tier::Wasm,
        }
    }

    /// Tells it where it may keep what it wants to find again. A component asks its host for that.
    pub(super) fn keep_data_in(&mut self, folder: &Path) {
        match self {
            Self::Js(program) => program.place.data_dir = folder.display().to_string(),
            Self::Wasm(_) => {}
        }
    }

    /// Starts it at its desk. Dropping the future stops it.
    pub async fn start(self, desk: Desk) -> Result<Started, GuestFault> {
        match self {
            Self::Js(program) => JsGuest::start(*program, desk).await.map(Started::Js),
            Self::Wasm(program) => WasmGuest::start(*program, desk).await.map(Started::Wasm),
        }
    }
}

impl Started {
    pub fn guest(&self) -> Arc<dyn Guest> {
        match self {
            Self::Js(guest) => Arc::clone(guest) as Arc<dyn Guest>,
            Self::Wasm(guest) => Arc::clone(guest) as Arc<dyn Guest>,
        }
    }

    pub fn tier(&self) -> Tier {
        match self {
            Self::Js(_) => Tier::Js,
            Self::Wasm(_) => Tier::Wasm,
        }
    }

    /// How many bytes of memory it has.
    pub async fn memory(&self) -> Result<u64, GuestFault> {
        match self {
            Self::Js(guest) => guest.memory().await,
            Self::Wasm(guest) => Ok(guest.memory()),
        }
    }

    /// What it registered, as the conformance harness wants it.
    pub async fn inspect(&self) -> Result<Value, GuestFault> {
        match self {
            Self::Js(guest) => guest.inspect().await,
            Self::Wasm(guest) => Ok(told(&guest.registration())),
        }
    }
}

/// What a guest offers, where it has no further way to say it.
fn told(registration: &Registration) -> Value {
    let handlers: Map<String, Value> =
        registration.hooks.iter().map(|(hook, count)| (hook.as_str().to_owned(), json!(count))).collect();
    let tools: Vec<&_> = registration.tools.iter().map(|tool| &tool.definition).collect();
    let commands: Vec<&_> = registration.commands.iter().map(|command| &command.definition).collect();
    json!({ "loaded": true, "error": null, "handlers": handlers, "tools": tools, "commands": commands, "shortcuts": [],
        "flags": [], "messageRenderers": [], "providers": [] })
}
