//! TypeScript declarations of the messages, of what stands in them, and of the two files: manifest and log.
//!
//! Each function returns a module that needs no other: a type that two of them mention is declared in both.

use std::{any::TypeId, collections::HashSet};

use ts_rs::{Config, TS, TypeVisitor};

use crate::{
    artifact::Artifact,
    connector::{environment, events, exec, fs, http, session, stream, tool, ui},
    hook::Outcome,
    log::{self, LogEntry},
    manifest::ExtensionManifest,
    message::{Payload, VERSION},
};

/// Every type of the protocol: messages, parameters and outputs of the connectors, manifest.
pub fn protocol() -> String {
    let mut writer = Writer::new("extension");
    writer.module.push_str(&format!(
        "\n/** One message between an extension and its host. */\n\
         export type Message = {{ id: string, version: \"{VERSION}\" }} & Payload;\n"
    ));
    writer.visit::<Payload>();
    writer.visit::<ExtensionManifest>();
    writer.visit::<Artifact>();
    writer.visit::<Outcome>();
    writer.visit::<log::ledger::End>();
    writer.connectors();
    writer.module
}

/// The file `extension.json`.
pub fn manifest() -> String {
    let mut writer = Writer::new("manifest");
    writer.visit::<ExtensionManifest>();
    writer.module
}

/// A line of an extension log, and what stands in the `data` of the ledger's lines.
pub fn log() -> String {
    let mut writer = Writer::new("log");
    writer.visit::<LogEntry>();
    writer.visit::<log::ledger::Start>();
    writer.visit::<log::ledger::End>();
    writer.module
}

struct Writer {
    config: Config,
    visited: HashSet<TypeId>,
    /// Whole declarations, because the library describes one type through several stand-ins; two types with one name
    /// are both written, and a test fails.
    declared: HashSet<String>,
    module: String,
}

impl Writer {
    /// A module that says which command prints it.
    fn new(schema: &str) -> Self {
        Self {
            config: Config::new().with_large_int("number"),
            visited: HashSet::new(),
            declared: HashSet::new(),
            module: format!("// Made by `pi schema {schema} --format ts`; changes belong into the Rust types.\n"),
        }
    }

    fn connectors(&mut self) {
        self.visit::<tool::ToolDefinition>();
        self.visit::<tool::CommandDefinition>();
        self.visit::<tool::ToolUse>();
        self.visit::<tool::McpUse>();
        self.visit::<tool::ToolOutput>();
        self.visit::<tool::HostToolOutput>();
        self.visit::<exec::Command>();
        self.visit::<exec::CommandOutput>();
        self.visit::<fs::FsCall>();
        self.visit::<fs::FileContent>();
        self.visit::<fs::Listing>();
        self.visit::<fs::Presence>();
        self.visit::<fs::Place>();
        self.visit::<http::Request>();
        self.visit::<http::Response>();
        self.visit::<stream::StreamItem>();
        self.visit::<session::SessionCall>();
        self.visit::<session::SessionState>();
        self.visit::<session::Entries>();
        self.visit::<session::AppendedEntry>();
        self.visit::<session::Tools>();
        self.visit::<session::Commands>();
        self.visit::<session::Models>();
        self.visit::<session::Acceptance>();
        self.visit::<session::Completion>();
        self.visit::<ui::UiCall>();
        self.visit::<ui::Answer>();
        self.visit::<ui::Confirmation>();
        self.visit::<ui::FormAnswer>();
        self.visit::<events::EventsCall>();
        self.visit::<events::BusEvent>();
        self.visit::<environment::EnvCall>();
        self.visit::<environment::Variable>();
        self.visit::<environment::Variables>();
        self.visit::<environment::CredentialsCall>();
        self.visit::<environment::Credential>();
        self.visit::<log::LogNote>();
    }
}

impl TypeVisitor for Writer {
    /// Writes a type and everything that it mentions, each once. Types without a file of their own are built in.
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        if !self.visited.insert(TypeId::of::<T>()) {
            return;
        }
        if T::output_path().is_some() && self.declared.insert(T::decl(&self.config)) {
            self.module.push('\n');
            self.module.push_str(&T::docs().unwrap_or_default());
            self.module.push_str("export ");
            self.module.push_str(&T::decl(&self.config));
            self.module.push('\n');
        }
        T::visit_dependencies(self);
        T::visit_generics(self);
    }
}
