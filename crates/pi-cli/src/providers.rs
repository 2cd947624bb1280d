//! The providers that can be asked from here: their manifests from every source, their credentials, and the servers that
//! run on this machine.
//!
//! Loading touches files and nothing else; servers are looked for only when somebody asks ([`Providers::look_around`]).
//! Credentials are found here and handed to the client; what is shown of one is where it comes from.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use pi_provider::{
    Catalog, Manifest, Secret,
    breaker::Breakers,
    catalog::{Entry, Origin, Source},
    client::{self, Client, Timeouts},
    credential::{self, AuthFile, Resolved, SourceKind, Sources, Status, Trust, attachments},
    likeness,
    local::{self, Probe, Refused, Sightings, USUAL_PATIENCE},
    manifest::{Diagnostic, Rule, Severity},
    transport::{Network, Transport},
};
use pi_redact::{Evidence, Options, Personal, Redactor};
use pi_session::{
    models::{Keys, Models},
    settings::{
        DefaultTrust, Limit, Settings,
        trust::{self, Decisions},
    },
};
use pi_transcript::ProviderId;
use serde::Serialize;

use crate::{
    arguments::model::SourceArguments,
    console::Console,
    env::{self, Environment},
    failure::{Failure, ModelFailure},
};

/// The id of the model that is always there.
pub(crate) const DEMO: &str = "demo";
/// To connect to a server on this machine.
const CONNECT: Duration = Duration::from_secs(1);

pub(crate) struct Providers {
    pub(crate) catalog: Catalog,
    auth_file: AuthFile,
    now: SystemTime,
    /// Servers that were found on this machine.
    found: Vec<ProviderId>,
    /// Servers that would not tell what they are without a credential, or with the one that is there.
    refused: Vec<Refused>,
    /// Files that cannot be used, in the order of their sources.
    rejected: Vec<String>,
}

/// What is shown about a credential.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    /// Whether the provider can be asked as far as credentials are concerned.
    pub(crate) available: bool,
    pub(crate) source: SourceKind,
    /// The variable or the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) looked_in: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

impl Providers {
    /// Reads every source, and says what is wrong with those files that cannot be used.
    pub(crate) fn load(
        arguments: &SourceArguments,
        environment: &Environment,
        console: &mut Console,
    ) -> Result<Self, Failure> {
        Self::load_at(Path::new(""), arguments, environment, console)
    }

    /// The same for a project in another folder; without a name it is the one in which we are.
    pub(crate) fn load_at(
        folder: &Path,
        arguments: &SourceArguments,
        environment: &Environment,
        console: &mut Console,
    ) -> Result<Self, Failure> {
        let sources = sources(folder, arguments, environment)?;
        let is_left_out = |source: &Source| source.trust == Trust::UntrustedProject && !source.files.is_empty();
        let is_untrusted = sources.iter().any(is_left_out);
        let agent = environment.agent_directory.as_deref();
        let catalog = Catalog::load(&sources);
        let mut rejected: Vec<String> = Vec::new();
        // What Pi's file has of a wrong kind is left out, which nobody would see: models are known by their ids alone.
        let is_left_out = |it: &Diagnostic| {
            it.severity == Severity::Warning && matches!(it.rule, Rule::PiProviders | Rule::PiProvider)
        };
        let is_told = |it: &Diagnostic| it.severity == Severity::Error || is_left_out(it);
        for finding in catalog.findings().iter().filter(|it| is_told(&it.diagnostic)) {
            console.note(&finding.diagnostic.to_string());
            if is_left_out(&finding.diagnostic) {
                continue;
            }
            // By itself the file is well.
            if matches!(finding.diagnostic.rule, Rule::CatalogDuplicateId | Rule::CatalogDuplicateAlias) {
                console.hint(&finding.diagnostic.hint);
                continue;
            }
            // The other providers of this file are there.
            if let (Origin::PiModels, Some(name)) = (finding.origin, left_out(&finding.diagnostic.path)) {
                // What is wrong with one of its models leaves only that out.
                if ![".models[", ".modelOverrides."].iter().any(|it| finding.diagnostic.path.contains(it)) {
                    console.note(&format!("provider {name} of models.json is left out"));
                }
                continue;
            }
            if !rejected.contains(&finding.diagnostic.file) {
                rejected.push(finding.diagnostic.file.clone());
            }
        }
        for file in &rejected {
            console.note(&format!("{file} is rejected: no provider comes from it"));
        }
        if !rejected.is_empty() {
            console.hint(&rejected_hint(&rejected));
        }
        if is_untrusted {
            console.note(
                "this project brings manifests (.pi/providers) and nobody has trusted it: they are not asked, get no \
                 credentials and replace nothing; `pi trust` changes that",
            );
        }
        let auth_file = agent.map(|agent| AuthFile::read(&agent.join("auth.json"))).unwrap_or_default();
        let fault = auth_file.fault().map(|fault| format!("{fault}, so no credential comes from it; {}", fault.hint()));
        for note in auth_file.warning().iter().chain(&fault) {
            console.note(note);
        }
        Ok(Providers { catalog, auth_file, now: now(), found: Vec::new(), refused: Vec::new(), rejected })
    }

    pub(crate) fn get(&self, name: &str) -> Result<&Entry, ModelFailure> {
        self.catalog.provider(name).ok_or_else(|| {
            let ids = self.catalog.providers().map(|entry| entry.manifest.id());
            let nearest = likeness::nearest(name, ids).first().map(|&meant| meant.to_owned());
            self.missed(ModelFailure::NoSuchProvider { id: name.to_owned(), nearest })
        })
    }

    /// The provider of that id or alias, unless it comes from a project that nobody trusts: such a one takes no name away
    /// from models of others.
    pub(crate) fn trusted(&self, name: &str) -> Option<&Entry> {
        self.catalog.provider(name).filter(|entry| entry.is_trusted())
    }

    /// Nobody of that name was found, which a file that was rejected may explain.
    pub(crate) fn missed(&self, failure: ModelFailure) -> ModelFailure {
        if self.rejected.is_empty() {
            return failure;
        }
        ModelFailure::Rejected { files: self.rejected.clone(), missing: Box::new(failure) }
    }

    /// The credential of a provider; `explicit` is what somebody spelled out.
    pub(crate) fn credential(&self, entry: &Entry, explicit: Option<&Secret>) -> Resolved {
        let sources = Sources {
            explicit,
            written: entry.key.as_ref(),
            environment: &env::lookup,
            auth_file: &self.auth_file,
            trust: entry.trust,
            now: self.now,
        };
        credential::resolve(&entry.manifest, &sources)
    }

    /// Whether anything is there that may be a credential of this provider.
    pub(crate) fn may_have_credential(&self, entry: &Entry) -> bool {
        entry.key.is_some() || credential::may_be_there(&entry.manifest, &env::lookup, &self.auth_file)
    }

    /// The variables in which credentials of providers may stand.
    pub(crate) fn credential_names(&self) -> Vec<String> {
        variables(&self.catalog)
    }

    /// Hides what looks like a secret, the values of variables whose names are those of secrets, and those of credentials.
    pub(crate) fn redactor(&self, evidence: Evidence) -> Redactor {
        Redactor::new(Options { secrets: self.secrets(), evidence, personal: Personal::Keep })
    }

    /// The values of variables whose names are those of secrets, and those of credentials.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let mut secrets = env::secrets();
        secrets.extend(self.credential_names().iter().filter_map(|name| env::lookup(name)));
        secrets
    }

    /// Whether the provider can be asked now: a credential is there or none is needed, and a local server runs.
    pub(crate) fn is_available(&self, entry: &Entry, shown: &Shown) -> bool {
        shown.available && (!entry.manifest.is_local() || self.found.contains(&entry.manifest.id))
    }

    /// Looks for model servers on this machine and takes over what they serve.
    pub(crate) async fn look_around(&mut self, console: &mut Console) {
        let probes = Probe::all(self.catalog.providers(), &env::lookup);
        let named: Vec<(ProviderId, String)> =
            probes.iter().filter_map(|probe| Some((probe.provider.clone(), probe.named_by.clone()?))).collect();
        self.probe(probes, console).await;
        // One that refuses is there, and is told of where it is asked.
        let is_there = |provider| self.found.contains(provider) || self.refusal(provider).is_some();
        for (provider, variable) in named.iter().filter(|(provider, _)| !is_there(provider)) {
            console.note(&format!("no {provider} answers at the address that {variable} names"));
        }
    }

    /// Looks for the server of one provider, if it is one that runs on this machine.
    pub(crate) async fn look_for(&mut self, id: &str, console: &mut Console) {
        let probes = Probe::all(self.catalog.provider(id), &env::lookup);
        self.probe(probes, console).await;
    }

    async fn probe(&mut self, mut probes: Vec<Probe>, console: &mut Console) {
        for probe in &mut probes {
            let entry = self.catalog.provider(probe.provider.as_str());
            let Some(entry) = entry.filter(|entry| self.may_have_credential(entry)) else { continue };
            let credential = self.credential(entry, None).credential;
            // One that cannot be sent is told when the server is asked for an answer.
            probe.credential = attachments(&entry.manifest.endpoint.auth, credential.as_ref()).unwrap_or_default();
        }
        if probes.is_empty() {
            return;
        }
        let names: Vec<&str> = probes.iter().map(|probe| probe.provider.as_str()).collect();
        console.activity(&format!("looking for servers on this machine: {}", names.join(", ")));
        // Whoever is asked is near, on this machine unless somebody names another: no proxy, and no certificates to be read.
        let Sightings { servers, refused } = match Transport::near(CONNECT) {
            Ok(transport) => local::find(&transport, &probes, USUAL_PATIENCE).await,
            Err(error) => return console.note(&format!("servers on this machine are not looked for: {error}")),
        };
        for server in servers {
            self.found.push(server.provider.clone());
            self.catalog.take_local(server);
        }
        // Who is asked once more may answer otherwise.
        self.refused.retain(|known| probes.iter().all(|probe| probe.provider != known.provider));
        self.refused.extend(refused);
    }

    /// The same for sessions, with a client that asks; `explicit` is a credential that somebody spelled out.
    pub(crate) fn into_models(
        self,
        explicit: Option<(ProviderId, Secret)>,
        settings: &Settings,
        breakers: Breakers,
    ) -> Models {
        let network = Network::from_environment(&env::lookup);
        let client = client::Settings { timeouts: timeouts(settings), breakers, ..client::Settings::new(network) };
        let keys = Keys { environment: Arc::new(env::lookup), auth_file: self.auth_file, explicit, now };
        Models::new(self.catalog, Client::new(client), keys)
    }

    /// Why the server of a provider on this machine tells nothing, if somebody answers in its place and wants a credential.
    pub(crate) fn refusal(&self, provider: &ProviderId) -> Option<&Refused> {
        self.refused.iter().find(|refused| refused.provider == *provider)
    }

    /// Servers on this machine that tell nothing without a credential, or another one.
    pub(crate) fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// Servers that were found on this machine.
    pub(crate) fn found(&self) -> &[ProviderId] {
        &self.found
    }
}

impl Shown {
    pub(crate) fn of(resolved: &Resolved) -> Self {
        Shown {
            available: resolved.status() == Status::Available,
            source: resolved.source_kind,
            name: resolved.source_name.clone(),
            looked_in: resolved.looked_in.clone(),
            notes: resolved.notes.clone(),
        }
    }

    /// In few words: where it comes from, or that there is none.
    pub(crate) fn words(&self) -> String {
        match (self.source, self.available, &self.name) {
            (SourceKind::None, true, _) => "not needed".to_owned(),
            (SourceKind::None, false, _) if !self.notes.is_empty() && self.looked_in.is_empty() => {
                "untrusted project".to_owned()
            }
            (SourceKind::None, false, _) => "no credential".to_owned(),
            (SourceKind::AuthFile, _, _) => "auth.json".to_owned(),
            (_, _, Some(name)) => name.clone(),
            (_, _, None) => "given".to_owned(),
        }
    }
}

/// Where manifests come from, for a project in a folder; what stands there is read.
pub(crate) fn sources(
    folder: &Path,
    arguments: &SourceArguments,
    environment: &Environment,
) -> Result<Vec<Source>, Failure> {
    let mut sources = vec![Source::built_in()];
    let agent = environment.agent_directory.as_deref();
    sources.extend(agent.map(|it| Source::folder(Origin::User, &it.join("providers"), Trust::Trusted)));
    sources.push(project_source(folder, agent)?);
    for path in &arguments.provider_dir {
        sources.push(command_line_source(path)?);
    }
    sources.extend(agent.map(|it| Source::pi_models(&it.join("models.json"))));
    Ok(sources)
}

/// How long to wait for what, as the settings say. Silence before the first byte is silence too: a slow machine gets more
/// time for both by one setting.
pub(crate) fn timeouts(settings: &Settings) -> Timeouts {
    let silence = settings.http_idle_timeout.map(|limit| match limit {
        Limit::Never => Duration::MAX,
        Limit::After(time) => time,
    });
    let total = match settings.http_total_timeout {
        Limit::Never => None,
        Limit::After(time) => Some(time),
    };
    Timeouts { first_byte: silence, idle: silence, total, ..Timeouts::default() }
}

/// Whether the manifest describes a server that runs on this machine.
pub(crate) fn is_local(manifest: &Manifest) -> bool {
    manifest.metadata.contains_key("local")
}

/// The provider of Pi's file that a path leads into.
fn left_out(path: &str) -> Option<&str> {
    path.strip_prefix("providers.")?.split('.').next()
}

/// What to do about files that cannot be used.
pub(crate) fn rejected_hint(files: &[String]) -> String {
    let it = if files.len() == 1 { "it" } else { "them" };
    format!("`pi provider validate {}` shows what is wrong with {it}", files.join(" "))
}

/// The variables in which credentials of providers may stand, of all manifests in the usual places.
pub(crate) fn credential_names(environment: &Environment) -> Vec<String> {
    let agent = environment.agent_directory.as_deref();
    let mut sources = vec![Source::built_in()];
    sources.extend(agent.map(|it| Source::folder(Origin::User, &it.join("providers"), Trust::Trusted)));
    // Without a folder to be in there is no project.
    sources.extend(project_source(Path::new(""), agent).ok());
    sources.extend(agent.map(|it| Source::pi_models(&it.join("models.json"))));
    variables(&Catalog::load(&sources))
}

fn variables(catalog: &Catalog) -> Vec<String> {
    catalog.providers().flat_map(|entry| entry.manifest.variables()).collect()
}

/// The manifests of the project in which `pi` was started.
fn project_source(folder: &Path, agent: Option<&Path>) -> Result<Source, Failure> {
    let here = std::env::current_dir().map_err(|source| Failure::Unreadable { file: ".".to_owned(), source })?;
    let here = here.join(folder);
    let decisions = agent.map(Decisions::read).unwrap_or_default();
    // Pi writes folders without links in them.
    let plain = here.canonicalize().unwrap_or(here);
    let trust = match decisions.trust(&plain, DefaultTrust::Ask) {
        trust::Trust::Trusted => Trust::Trusted,
        trust::Trust::Untrusted => Trust::UntrustedProject,
    };
    Ok(Source::folder(Origin::Project, &folder.join(".pi/providers"), trust))
}

/// What somebody named is there, or the command ends: going on without it would ask somebody else.
fn command_line_source(path: &Path) -> Result<Source, ModelFailure> {
    let found = path.metadata();
    let found = found.map_err(|source| ModelFailure::NoManifests { path: path.display().to_string(), source })?;
    Ok(if found.is_dir() {
        Source::folder(Origin::CommandLine, path, Trust::Trusted)
    } else {
        Source::file(Origin::CommandLine, path, Trust::Trusted)
    })
}

#[expect(clippy::disallowed_methods, reason = "the command line is where the clock enters")]
fn now() -> SystemTime {
    SystemTime::now()
}
