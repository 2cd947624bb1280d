//! What an extension may be allowed to do, and what each of its calls needs.
//!
//! A [`Capability`] is what policy grants; a [`Method`] is how a call is made. [`derive`](fn@derive) says which capability a call
//! needs, from its method and parameters alone, by the one table [`DERIVATION`] that every tier uses;
//! [`HostCall::check`](crate::host::HostCall::check) refuses a call that claims another one. What an extension announced
//! in advance is [`Declared`].

mod declared;
mod derivation;
mod hooks;

pub(crate) use self::derivation::check_claim;
pub use self::{
    declared::{CapabilityManifest, CapabilitySchema, Declared, DeclaredBy, Requirement, Scope},
    derivation::{DERIVATION, Mismatch, Rule, Selector, Underivable, Unlisted, derive},
    hooks::HOOKS,
};
use crate::word::open_words;

open_words! {
    /// A capability: the key that policy evaluates, the manifest declares and the ledger records.
    pub enum Capability {
        /// Look at files of the project and its surroundings.
        Read = "read",
        /// Change files.
        Write = "write",
        /// Start processes.
        Exec = "exec",
        /// Speak to other machines.
        Http = "http",
        /// Use tools whose effects we do not know.
        Tool = "tool",
        /// Look at and act on the conversation.
        Session = "session",
        /// Ask and tell a person.
        Ui = "ui",
        /// Speak to other extensions over the shared bus.
        Events = "events",
        /// Read environment variables.
        Env = "env",
        /// Write log entries.
        Log = "log",
        /// Obtain raw provider keys.
        Credentials = "credentials",
    }
}

open_words! {
    /// A connector method: the door through which a host call goes.
    pub enum Method {
        Tool = "tool",
        Exec = "exec",
        Fs = "fs",
        Http = "http",
        Session = "session",
        Ui = "ui",
        Events = "events",
        Env = "env",
        Log = "log",
        Credentials = "credentials",
        Mcp = "mcp",
    }
}
