//! What a project brings that is used only if somebody trusts it.
//!
//! What each of these is and who reads it is decided elsewhere; here they are only found, so that people can be told and asked.

use std::path::{Path, PathBuf};

use pi_guests::{
    discovery,
    mcp::{pins::PinFault, places::Where},
};
use pi_provider::{
    catalog::{Origin, Source},
    credential,
};
use pi_session::{
    resources::{self, Places},
    settings::{self, Files, Resolved, trust::Trust},
};

use crate::{env::Environment, servers::Offered};

/// Something that waits for a decision.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Brought {
    pub(crate) path: PathBuf,
    /// In words.
    pub(crate) what: &'static str,
    /// The MCP servers that stand in it, each as it is written: they are agreed to as they are.
    pub(crate) servers: Vec<String>,
}

/// The folder of a project in which manifests lie.
const MANIFESTS: &str = ".pi/providers";
/// The folder of a project in which extensions lie.
const EXTENSIONS: &str = ".pi/extensions";

/// Everything of the project in `directory` that a decision about it would switch on. The folder is absolute and without
/// links.
pub(crate) fn brought(directory: &Path, environment: &Environment) -> Vec<Brought> {
    let mut brought = programs(directory);
    let mut add = |path: PathBuf, what| brought.push(Brought { path, what, servers: Vec::new() });
    let agent = environment.agent_directory.as_deref();
    let files = Files { agent, project: Some(directory), trust: Trust::Untrusted };
    let Resolved { settings, notices, .. } = settings::load(&files, Vec::new());
    let untrusted = notices.into_iter().filter(|notice| notice.problem == settings::Problem::Untrusted);
    for path in untrusted.filter_map(|notice| notice.file) {
        add(path, "settings, which may name more extensions");
    }
    let (agent, home) = (environment.agent_directory.clone(), environment.home.clone());
    let places = Places::usual(agent, home, directory.to_owned(), Trust::Untrusted);
    // A folder above the project needs a decision of its own.
    let is_covered = |path: &Path| path.starts_with(places.root());
    for notice in resources::discover(&places).notices {
        if notice.problem == resources::Problem::Untrusted && is_covered(&notice.path) {
            let what = told(&notice.path);
            add(notice.path, what);
        }
    }
    let manifests = directory.join(MANIFESTS);
    if !Source::folder(Origin::Project, &manifests, credential::Trust::UntrustedProject).files.is_empty() {
        add(manifests, "models and their providers");
    }
    let offered = Offered::look(directory, &settings, environment);
    for it in &mut brought {
        it.servers = offered.of_file(&it.path);
    }
    brought
}

/// Records that somebody agreed to the MCP servers that the project names now. Before it is trusted: what is written into it
/// later is asked about.
pub(crate) fn agree_to_servers(directory: &Path, environment: &Environment) -> Result<(), PinFault> {
    let agent = environment.agent_directory.as_deref();
    let resolved = settings::load(&Files { agent, project: Some(directory), trust: Trust::Untrusted }, Vec::new());
    Offered::look(directory, &resolved.settings, environment).agree()
}

/// What would be started, with the rights of whoever says yes.
fn programs(directory: &Path) -> Vec<Brought> {
    let places = discovery::Places {
        directory: directory.to_owned(),
        is_trusted: false,
        agent: None,
        home: None,
        npm: discovery::Npm::default(),
    };
    let found = discovery::discover(&places, &discovery::Wanted::default());
    let extensions = found.notices.iter().any(|notice| matches!(notice, discovery::Notice::Untrusted(_)));
    let extensions = extensions.then(|| (directory.join(EXTENSIONS), "extensions: programs that will run"));
    let servers = Where { project: directory.to_owned(), is_trusted: false, agent: None };
    let servers = servers.files().into_iter().filter(|(_, path)| path.is_file());
    let servers = servers.map(|(_, path)| (path, "MCP servers: programs that will run"));
    let all = extensions.into_iter().chain(servers);
    all.map(|(path, what)| Brought { path, what, servers: Vec::new() }).collect()
}

impl Brought {
    /// Its path as people write it in the project.
    pub(crate) fn name(&self, directory: &Path) -> String {
        self.path.strip_prefix(directory).unwrap_or(&self.path).display().to_string()
    }

    /// Whether it is told by whoever would load it: models, extensions.
    pub(crate) fn is_told_elsewhere(&self) -> bool {
        self.path.ends_with(MANIFESTS) || self.path.ends_with(EXTENSIONS)
    }
}

fn told(path: &Path) -> &'static str {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("SYSTEM.md") => "instructions instead of pi's own",
        Some("APPEND_SYSTEM.md") => "more instructions",
        Some("skills") => "skills",
        Some("prompts") => "prompt templates",
        _ => "more for the model",
    }
}
