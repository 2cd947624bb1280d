//! `pi provider list`: every provider, where it was described, and whether a credential is found.

use pi_provider::{
    catalog::Entry,
    manifest::{Status, endpoint::shown_address},
};
use serde::Serialize;

use crate::{
    amount::counted,
    arguments::model::ListArguments,
    console::{Console, Tone},
    env::Environment,
    exit::Exit,
    failure::Failure,
    providers::{DEMO, Providers, Shown, is_local},
    table::{self, Align, Cell, Column, Room},
};

const COLUMNS: [Column; 7] = [
    Column { title: "id", align: Align::Left, room: Room::Whole },
    Column { title: "name", align: Align::Left, room: Room::LeaveOut(4) },
    Column { title: "source", align: Align::Left, room: Room::LeaveOut(2) },
    Column { title: "status", align: Align::Left, room: Room::LeaveOut(3) },
    Column { title: "models", align: Align::Right, room: Room::LeaveOut(1) },
    Column { title: "credential", align: Align::Left, room: Room::CutTo(13) },
    Column { title: "address", align: Align::Left, room: Room::CutTo(16) },
];

#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    aliases: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    source: String,
    file: &'a str,
    /// Whether it may be asked.
    trusted: bool,
    /// Whether it stands behind a trusted one of the same name, because nobody trusts its project.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    held_back: bool,
    status: Status,
    protocol_version: &'a str,
    models: usize,
    credential: &'a Shown,
    base_url: String,
    local: bool,
    demo: bool,
}

/// A manifest with what is asked only once for it.
struct Listed<'a> {
    entry: &'a Entry,
    standing: Standing,
    credential: Shown,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Used,
    /// It would replace a trusted one, and nobody trusts it.
    HeldBack,
}

pub(crate) fn run(
    arguments: &ListArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let providers = Providers::load(&arguments.sources, environment, console)?;
    let used = providers.catalog.providers().map(|entry| (entry, Standing::Used));
    let held_back = providers.catalog.held_back().iter().map(|entry| (entry, Standing::HeldBack));
    let listed: Vec<Listed<'_>> = used
        .chain(held_back)
        .map(|(entry, standing)| {
            let credential = Shown::of(&providers.credential(entry, None));
            Listed { entry, standing, credential }
        })
        .collect();
    if arguments.json {
        for listed in &listed {
            console.line(&serde_json::to_string(&listed.line()).expect("a provider is plain JSON"));
        }
        return Ok(Exit::Success);
    }
    let rows: Vec<Vec<Cell>> = listed.iter().map(Listed::cells).collect();
    let left_out = table::show(&COLUMNS, &rows, console);
    let found = listed.iter().filter(|listed| listed.credential.available).count();
    let used = listed.iter().filter(|listed| listed.standing == Standing::Used).count();
    console.remark(&format!("{}; {found} have a credential or need none", counted(used, "provider")));
    if used < listed.len() {
        console.remark(&format!("{} held back until the project is trusted", counted(listed.len() - used, "manifest")));
    }
    if !left_out.is_empty() {
        console.remark(&format!("there was no room for: {}", left_out.join(", ")));
    }
    Ok(Exit::Success)
}

impl Listed<'_> {
    fn line(&self) -> Line<'_> {
        let manifest = &self.entry.manifest;
        Line {
            id: manifest.id.as_str(),
            aliases: &manifest.aliases,
            name: manifest.name.as_deref(),
            source: self.entry.origin.to_string(),
            file: &self.entry.file,
            trusted: self.entry.is_trusted(),
            held_back: self.standing == Standing::HeldBack,
            status: manifest.status,
            protocol_version: &manifest.protocol_version,
            models: manifest.models.len(),
            credential: &self.credential,
            base_url: shown_address(&manifest.endpoint.base_url),
            local: is_local(manifest),
            demo: manifest.id.as_str() == DEMO,
        }
    }

    fn cells(&self) -> Vec<Cell> {
        let (entry, credential) = (self.entry, &self.credential);
        let source = entry.origin.to_string();
        let source = match self.standing {
            Standing::HeldBack => Cell::toned(Tone::Warning, format!("{source}, held back")),
            Standing::Used if entry.is_trusted() => Cell::plain(source),
            Standing::Used => Cell::toned(Tone::Warning, format!("{source}, untrusted")),
        };
        cells(entry, source, credential)
    }
}

fn cells(entry: &Entry, source: Cell, credential: &Shown) -> Vec<Cell> {
    let manifest = &entry.manifest;
    let status = match manifest.status {
        Status::Stable => Cell::plain("stable"),
        Status::Beta => Cell::toned(Tone::Warning, "beta"),
        Status::Deprecated => Cell::toned(Tone::Bad, "deprecated"),
    };
    let models = match manifest.models.len() {
        0 => Cell::toned(Tone::Quiet, "any"),
        count => Cell::plain(count.to_string()),
    };
    let tone = if credential.available { Tone::Good } else { Tone::Quiet };
    let address = match manifest.id.as_str() {
        DEMO => "inside pi: no real model".to_owned(),
        _ => shown_address(&manifest.endpoint.base_url),
    };
    vec![
        Cell::toned(Tone::Strong, manifest.id.as_str()),
        Cell::plain(manifest.name.clone().unwrap_or_default()),
        source,
        status,
        models,
        Cell::toned(tone, credential.words()),
        Cell::plain(address),
    ]
}
