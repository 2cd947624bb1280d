//! `pi provider list`: every provider, where it was described, and whether a credential is found.

use pi_provider::{catalog::Entry, manifest::Status};
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
    /// Whether credentials may be sent there.
    trusted: bool,
    status: Status,
    protocol_version: &'a str,
    models: usize,
    credential: &'a Shown,
    base_url: &'a str,
    local: bool,
    demo: bool,
}

pub(crate) fn run(
    arguments: &ListArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let providers = Providers::load(&arguments.sources, environment, console)?;
    let entries: Vec<(&Entry, Shown)> =
        providers.catalog.providers().map(|entry| (entry, Shown::of(&providers.credential(entry, None)))).collect();
    if arguments.json {
        for (entry, credential) in &entries {
            console.line(&serde_json::to_string(&line(entry, credential)).expect("a provider is plain JSON"));
        }
        return Ok(Exit::Success);
    }
    let rows: Vec<Vec<Cell>> = entries.iter().map(|(entry, credential)| cells(entry, credential)).collect();
    let left_out = table::show(&COLUMNS, &rows, console);
    let found = entries.iter().filter(|(_, credential)| credential.available).count();
    console.remark(&format!("{}; {found} have a credential or need none", counted(rows.len(), "provider")));
    if !left_out.is_empty() {
        console.remark(&format!("there was no room for: {}", left_out.join(", ")));
    }
    Ok(Exit::Success)
}

fn line<'a>(entry: &'a Entry, credential: &'a Shown) -> Line<'a> {
    let manifest = &entry.manifest;
    Line {
        id: manifest.id.as_str(),
        aliases: &manifest.aliases,
        name: manifest.name.as_deref(),
        source: entry.origin.to_string(),
        file: &entry.file,
        trusted: entry.may_have_credentials(),
        status: manifest.status,
        protocol_version: &manifest.protocol_version,
        models: manifest.models.len(),
        credential,
        base_url: &manifest.endpoint.base_url,
        local: is_local(manifest),
        demo: manifest.id.as_str() == DEMO,
    }
}

fn cells(entry: &Entry, credential: &Shown) -> Vec<Cell> {
    let manifest = &entry.manifest;
    let source = entry.origin.to_string();
    let source = if entry.may_have_credentials() {
        Cell::plain(source)
    } else {
        Cell::toned(Tone::Warning, format!("{source}, untrusted"))
    };
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
    let address = if manifest.id.as_str() == DEMO { "inside pi: no real model" } else { &manifest.endpoint.base_url };
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
