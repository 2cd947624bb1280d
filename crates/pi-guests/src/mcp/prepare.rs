//! From an entry to a guest: who it is, what its entry allows it, and how it is started.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::FutureExt;

use pi_exthost::{
    Guest, GuestId, data,
    launcher::{Evidence, Feature, Identity, Own, Prepared, Provenance},
};
use pi_extproto::{
    capability::{Capability, Declared, Method},
    manifest::Tier,
};
use pi_policy::{
    Host,
    config::{ExtensionPolicy, ExtensionSection, GrantEntry, ScopeEntry, Settings},
};

use super::{
    entry::{Route, Server},
    guest::{McpGuest, Program, Weight},
    limits::Limits,
    pins::Pins,
};

/// Servers that this process has prepared.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// Where servers run.
#[derive(Debug, Clone)]
pub struct Base {
    pub project: PathBuf,
    pub agent: PathBuf,
    pub temporary: PathBuf,
    pub limits: Limits,
    /// Where its tools are compared with what they were; without it nothing is.
    pub pins: Option<Pins>,
    pub weight: Weight,
}

/// What a guest is made of.
pub fn program(server: Server, base: &Base) -> Program {
    let roots = vec![file_uri(&base.project.to_string_lossy())];
    Program { server, limits: base.limits.clone(), pins: base.pins.clone(), roots, weight: base.weight }
}

/// Says who a server is, and how it is started. Nothing of it has run.
pub fn prepare(server: &Server, base: &Base) -> Prepared {
    let level = |is_so: bool| if is_so { 1.0 } else { 0.0 };
    let is_process = matches!(server.route, Route::Process(_));
    let evidence = Evidence::CLEAN
        .with(Feature::Unsigned, 1.0)
        .with(Feature::Unscanned, 1.0)
        .with(Feature::UsesExec, level(is_process))
        .with(Feature::UsesNetwork, level(!is_process));
    // Sessions of one process may each have this server, and each removes its own folder.
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let folder = server.file.parent().filter(|folder| folder.is_dir()).unwrap_or(&base.project).to_owned();
    let origins = vec![server.file.display().to_string()];
    let identity = Identity {
        id: GuestId::of_server(&server.name),
        version: "0.0.0".to_owned(),
        artifact: Some(format!("sha256:{}", server.digest.trim_start_matches("sha256:"))),
        provenance: Provenance::Trusted,
        declared: Declared::new(None, None),
        evidence,
        own: Own::folder(folder.clone()),
        folder,
        data: data::folder(&base.agent, &format!("mcp+{}", server.name), &origins),
        origins,
        temporary: base.temporary.join(format!("pi-mcp-{}-{number}-{}", std::process::id(), server.name)),
    };
    let program = program(server.clone(), base);
    let launch = move |desk| {
        async move {
            let guest: Arc<dyn Guest> = McpGuest::start(program, desk).await?;
            Ok(guest)
        }
        .boxed()
    };
    Prepared {
        identity,
        tier: Tier::Mcp,
        sources: Vec::new(),
        outdated: None,
        missing: Vec::new(),
        forbidden: Vec::new(),
        launch: Box::new(launch),
    }
}

/// What entries allow: whoever writes one wants its program to run, or its address to be spoken to, and its tools to be
/// used. A deny that is written anywhere still comes first.
pub fn grants<'a>(servers: impl IntoIterator<Item = &'a Server>) -> Settings {
    let entry = |capability, method, scope| GrantEntry {
        capability,
        methods: Some(vec![method]),
        scope,
        versions: None,
        expires: None,
        origin: None,
    };
    let grants: BTreeMap<String, Vec<GrantEntry>> = servers
        .into_iter()
        .map(|server| {
            let reach = match &server.route {
                Route::Process(process) => {
                    let paths = process.folder.clone().map(|folder| vec![folder]);
                    let scope = paths.map(|paths| ScopeEntry { paths: Some(paths), ..ScopeEntry::default() });
                    entry(Capability::Exec, Method::Exec, scope)
                }
                Route::Http(http) => {
                    // An address that cannot be read is granted to nobody, and says so when it is used.
                    let hosts = Host::from_url(&http.url).map(|host| vec![host.to_string()]).unwrap_or_default();
                    let scope = ScopeEntry { hosts: Some(hosts), ..ScopeEntry::default() };
                    entry(Capability::Http, Method::Http, Some(scope))
                }
            };
            let tools = entry(Capability::Tool, Method::Mcp, None);
            (GuestId::of_server(&server.name).to_string(), vec![reach, tools])
        })
        .collect();
    let policy = ExtensionPolicy { grants, ..ExtensionPolicy::default() };
    Settings { extensions: Some(ExtensionSection { policy: Some(policy) }), agent: None }
}

/// A folder as servers are told of it.
fn file_uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "file:///" });
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' => uri.push(byte.into()),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_told_as_uris() {
        assert_eq!(file_uri("/home/ä b"), "file:///home/%C3%A4%20b");
        assert_eq!(file_uri(r"C:\x"), "file:///C:/x");
    }
}
