//! One extension of a session, whether it runs or not: where it comes from, what it is called and what is told of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use pi_exthost::{
    GuestId,
    launcher::{Identity, LaunchFault, Prepared, Source},
};
use pi_extproto::manifest::Tier;
use pi_guests::mcp::{Route, Server};
use pi_session::extensions::{Extension, Phase};

use crate::workshop::extensions::Named;

/// One of them, whether it runs or not.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// As it calls itself; with a number behind it if it does not run because another of that name comes first.
    pub(super) id: GuestId,
    pub(super) origin: Origin,
    /// The same as grants name it; nothing of what was never built.
    pub(super) origins: Vec<String>,
    pub(super) tier: Tier,
    pub(super) version: Option<String>,
    pub(super) capabilities: Vec<String>,
    pub(super) phase: Phase,
    pub(super) problem: Option<String>,
    /// The digest of what runs.
    pub(super) artifact: Option<String>,
    /// The files that it was built from, or those that are known of it.
    pub(super) sources: Vec<PathBuf>,
    /// The folders that are its own.
    pub(super) folders: Vec<PathBuf>,
    /// That it was built from older sources, and what to do about it.
    pub(super) outdated: Option<String>,
    /// Packages that it imports and that are not installed.
    pub(super) missing: Vec<String>,
    /// What it uses that extensions may not, as the scanner calls it.
    pub(super) forbidden: Vec<String>,
    /// Where packages would lie.
    pub(super) folder: PathBuf,
    /// When somebody began to read them, in milliseconds since 1970.
    pub(super) read_at: u64,
}

/// Where it comes from.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    Source(Source),
    Server(Box<Server>),
}

/// One that was looked at; what can be started, if it is to be.
pub(super) struct Candidate {
    pub(super) member: Member,
    pub(super) prepared: Option<Prepared>,
}

impl Candidate {
    pub(super) fn of(prepared: Prepared, origin: Origin, read_at: u64) -> Self {
        let Identity { id, version, origins, declared, artifact, folder, own, .. } = &prepared.identity;
        let needs = declared.requirements().iter().map(|need| need.capability.as_str().to_owned());
        let member = Member {
            id: id.clone(),
            tier: prepared.tier,
            version: matches!(origin, Origin::Source(_)).then(|| version.clone()),
            capabilities: origin.capabilities().unwrap_or_else(|| needs.collect()),
            origin,
            origins: origins.clone(),
            phase: Phase::Failed,
            problem: None,
            artifact: artifact.clone(),
            sources: prepared.sources.clone(),
            outdated: prepared.outdated.clone(),
            folders: own.folders.clone(),
            missing: prepared.missing.clone(),
            forbidden: prepared.forbidden.clone(),
            folder: folder.clone(),
            read_at,
        };
        Self { member, prepared: Some(prepared) }
    }
}

impl Member {
    /// What is known of its code; nothing of a server's.
    pub(super) fn code(&self) -> Option<Named> {
        let Origin::Source(Source { path, .. }) = &self.origin else { return None };
        let files = self.sources.iter().chain(path.is_file().then_some(path)).cloned().collect();
        Some(Named { id: self.id.to_string(), folders: self.folders.clone(), files })
    }

    /// The server, if it is one.
    pub(super) fn server(&self) -> Option<Server> {
        match &self.origin {
            Origin::Source(_) => None,
            Origin::Server(server) => Some(Server::clone(server)),
        }
    }

    /// Of what cannot be built only the name of the file is known.
    pub(super) fn unknown(origin: Origin, read_at: u64) -> Self {
        let (stem, is_component) = match &origin {
            Origin::Source(Source { path, .. }) => {
                let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
                (stem.unwrap_or_default(), path.extension().is_some_and(|ending| ending == "wasm"))
            }
            Origin::Server(server) => (server.name.clone(), false),
        };
        Self {
            id: GuestId::from(stem),
            sources: origin.files(),
            origin,
            origins: Vec::new(),
            tier: if is_component { Tier::Wasm } else { Tier::Js },
            version: None,
            capabilities: Vec::new(),
            phase: Phase::Failed,
            problem: None,
            artifact: None,
            outdated: None,
            folders: Vec::new(),
            missing: Vec::new(),
            forbidden: Vec::new(),
            folder: PathBuf::new(),
            read_at,
        }
    }

    /// The same when what is on the disk cannot be built, or has a name that is another's: what runs goes on.
    pub(super) fn unbuilt(self, why: String) -> Self {
        let phase = if self.phase == Phase::Running { Phase::Running } else { Phase::Failed };
        Self { phase, problem: Some(why), ..self }
    }

    /// The same when it was to be started and is not there.
    pub(super) fn fallen(self, why: String) -> Self {
        Self { phase: Phase::Failed, problem: Some(why), ..self }
    }

    /// What is told of it when what is on the disk does not run.
    pub(super) fn lacking(&self, fault: &LaunchFault) -> String {
        match (&self.origin, self.phase) {
            (Origin::Source(source), Phase::Running) => {
                format!(
                    "the extension {} goes on as it was, what is on the disk cannot be used: {fault}",
                    source.path.display()
                )
            }
            (Origin::Source(_) | Origin::Server(_), _) => not_loaded(&self.origin, fault),
        }
    }

    /// That what it runs on is not all there, and what to do about it.
    pub(super) fn incomplete(&self) -> Option<String> {
        let (id, packages, folder) = (&self.id, self.missing.join(" "), self.folder.display());
        (self.phase == Phase::Running && !self.missing.is_empty()).then(|| {
            format!(
                "{id} imports what is not installed, and fails where it uses it: {packages}; \
                 `npm install --prefix {folder} {packages}` gets it, and /reload takes it"
            )
        })
    }

    /// What people should know of one that runs although the scanner would have it blocked, as it is under strict rules.
    pub(super) fn doubtful(&self) -> Option<String> {
        let (id, first) = (&self.id, self.forbidden.first()?);
        let more = match self.forbidden.len() - 1 {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        (self.phase == Phase::Running).then(|| {
            format!(
                "{id} uses what extensions may not, and fails where it does: {first}{more}; `pi ext scan` shows where"
            )
        })
    }

    /// Where it was found.
    pub(super) fn path(&self) -> String {
        self.origin.path()
    }

    pub(super) fn is_up(&self, id: &GuestId) -> bool {
        self.id == *id && self.phase == Phase::Running
    }

    /// What is known of it, with what the guest says where it runs.
    pub(super) fn told(self, guest: Option<Extension>) -> Extension {
        let Self { id, origin, tier, version, capabilities, phase, problem, outdated, .. } = self;
        match guest.filter(|_| phase == Phase::Running) {
            Some(guest) => {
                let problem = guest.problem.or(problem).or(outdated);
                Extension { version, capabilities, problem, ..guest }
            }
            None => Extension {
                id: id.to_string(),
                name: origin.name().unwrap_or_else(|| id.to_string()),
                version,
                tier,
                path: origin.path(),
                phase,
                problem,
                capabilities,
                tools: Vec::new(),
                commands: Vec::new(),
                tokens: None,
                figures: Default::default(),
                memory: None,
            },
        }
    }
}

impl Origin {
    /// Whether both are the same place.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Source(one), Self::Source(other)) => one.path == other.path,
            (Self::Server(one), Self::Server(other)) => one.name == other.name,
            (Self::Source(_), Self::Server(_)) | (Self::Server(_), Self::Source(_)) => false,
        }
    }

    fn path(&self) -> String {
        match self {
            Self::Source(source) => source.path.display().to_string(),
            Self::Server(server) => server.file.display().to_string(),
        }
    }

    /// What can be known of the files of one that was never built.
    fn files(&self) -> Vec<PathBuf> {
        let Self::Source(Source { path, .. }) = self else { return Vec::new() };
        let inside = path.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        inside.filter(|path| path.is_file()).chain([path.clone()]).collect()
    }

    fn name(&self) -> Option<String> {
        match self {
            Self::Source(_) => None,
            Self::Server(server) => Some(server.name.clone()),
        }
    }

    /// What its entry allows a server.
    fn capabilities(&self) -> Option<Vec<String>> {
        match self {
            Self::Source(_) => None,
            Self::Server(server) => Some(server_capabilities(server)),
        }
    }

    pub(super) fn is_disabled(&self) -> bool {
        self.why_disabled().is_some()
    }

    pub(super) fn why_disabled(&self) -> Option<String> {
        match self {
            Self::Source(_) => None,
            Self::Server(server) => disabled(server),
        }
    }
}

/// What its entry allows a server.
pub(crate) fn server_capabilities(server: &Server) -> Vec<String> {
    let reach = match server.route {
        Route::Process(_) => "exec",
        Route::Http(_) => "http",
    };
    vec![reach.to_owned(), "tool".to_owned()]
}

/// Why a server is off whatever anybody switches.
pub(crate) fn disabled(server: &Server) -> Option<String> {
    server.is_disabled.then(|| format!("its entry in {} says so; change it there", server.file.display()))
}

/// Why an extension is not loaded: another has its name, which decisions, ledger and data know it by. Whoever comes first
/// has the name from here on.
pub(crate) fn namesake(id: &GuestId, source: &Source, names: &mut BTreeMap<String, Source>) -> Option<String> {
    let first = &*names.entry(id.as_str().to_owned()).or_insert_with(|| source.clone());
    (first != source).then(|| called_too(id, source, first))
}

pub(super) fn called_too(id: &GuestId, source: &Source, first: &Source) -> String {
    let (path, first) = (source.path.display(), first.path.display());
    format!("the extension {path} is not loaded: {first} is called {id} too, and comes first; rename one of them")
}

/// The name, with a number behind it if somebody has it already.
pub(super) fn free_name(wanted: &str, names: &mut BTreeSet<String>) -> String {
    let (mut name, mut number) = (wanted.to_owned(), 2);
    while !names.insert(name.clone()) {
        name = format!("{wanted}-{number}");
        number += 1;
    }
    name
}

/// That one is not started, and what to do about it.
fn not_loaded(origin: &Origin, fault: &LaunchFault) -> String {
    let path = match origin {
        Origin::Source(source) => source.path.display(),
        Origin::Server(server) => {
            let name = &server.name;
            return format!(
                "the MCP server {name} is not connected: {fault}; when that is mended, `/reload` tries it again, and `pi mcp test \
                 {name}` shows more"
            );
        }
    };
    let what_to_do = match fault {
        LaunchFault::Missing { .. } => "look at the path".to_owned(),
        LaunchFault::Unusable { message } if message.contains("pi ext build") => {
            return format!("the extension {path} is not loaded: {fault}");
        }
        LaunchFault::Unusable { .. } => format!("`pi ext scan {path}` says more"),
        LaunchFault::Failed(_) => format!("`pi ext inspect {path}` tries it without a session"),
    };
    let fault = fault.to_string();
    let fault = fault.trim_end();
    // What is told over several lines, with the place in the source, ends with one of its own.
    let between = if fault.contains('\n') { "\n" } else { "; " };
    format!("the extension {path} is not loaded: {fault}{between}{what_to_do}")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use pi_exthost::launcher::Provenance;

    use super::*;

    #[test]
    fn second_of_a_name_is_told_with_both_places() {
        let sources = ["/a/twin.ts", "/b/twin.ts"]
            .map(|path| Source { path: PathBuf::from(path), provenance: Provenance::Trusted });
        let mut names = BTreeMap::new();
        let told = sources.each_ref().map(|source| namesake(&GuestId::from("twin"), source, &mut names));
        let clash = "the extension /b/twin.ts is not loaded: /a/twin.ts is called twin too, and comes first; rename one of them";
        assert_eq!(told, [None, Some(clash.to_owned())]);
    }

    #[test]
    fn those_without_a_name_of_their_own_are_numbered() {
        let mut names = BTreeSet::from(["twin".to_owned(), "twin-3".to_owned()]);
        let free = ["twin", "twin", "other"].map(|wanted| free_name(wanted, &mut names));
        assert_eq!(free, ["twin-2", "twin-4", "other"]);
    }
}
