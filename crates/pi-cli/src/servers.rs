//! The MCP servers of a folder, and agreement to those that a project brings.

use std::{
    cell::LazyCell,
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use pi_guests::mcp::{
    Origin, Pins, Variables,
    pins::PinFault,
    places::{self, Found, Notice, Where},
};
use pi_session::settings::Settings;
use pi_tools::Withheld;

use crate::{
    console::printable,
    env::{self, Environment},
    providers,
};

/// Looks for them. Credentials are read only by servers that a person wrote down themselves, but for those that they pass to
/// every program.
pub(crate) fn find(places: &Where, settings: &Settings, environment: &Environment) -> Found {
    // Reading all manifests takes a moment, and hardly any project names a variable.
    let withheld = LazyCell::new(|| Withheld {
        credentials: providers::credential_names(environment),
        passed: settings.pass_environment.clone(),
    });
    let is_withheld = |name: &str, value: &str| withheld.holds_back(name.as_ref(), value.as_ref());
    places::find(places, &Variables { lookup: &env::lookup, is_withheld: &is_withheld })
}

/// The files in which servers are written, whether or not those can be used.
pub(crate) fn written_in(places: &Where) -> BTreeSet<PathBuf> {
    let Found { servers, notices } = places::find(places, &Variables { lookup: &|_| None, is_withheld: &|_, _| false });
    let of_notice = |notice: Notice| match notice {
        Notice::Entry { file, .. } | Notice::Shadowed { file, .. } | Notice::Unreadable { file, .. } => {
            Some(PathBuf::from(file))
        }
        Notice::Untrusted(_) | Notice::Unclear { .. } | Notice::Odd(_) => None,
    };
    servers.into_iter().map(|server| server.file).chain(notices.into_iter().filter_map(of_notice)).collect()
}

/// Takes those of the project for agreed to whose files are met for the first time.
pub(crate) fn meet(found: &Found, places: &Where) -> Result<(), PinFault> {
    match places.agent.as_deref().map(Pins::in_folder) {
        Some(pins) => pins.meet(&places.counted(), &found.servers),
        None => Ok(()),
    }
}

/// Those that a project brings, each as it is written: what somebody agrees to who trusts it.
pub(crate) struct Offered {
    places: Where,
    found: Found,
}

impl Offered {
    pub(crate) fn look(directory: &Path, settings: &Settings, environment: &Environment) -> Self {
        let agent = environment.agent_directory.clone();
        let places = Where { project: directory.to_owned(), is_trusted: true, agent };
        let found = find(&places, settings, environment);
        Self { places, found }
    }

    /// Those of a file, in lines for people.
    pub(crate) fn of_file(&self, file: &Path) -> Vec<String> {
        let servers =
            self.found.servers.iter().filter(|server| server.origin == Origin::Project && server.file == file);
        let shown = file.display().to_string();
        let unused = self.found.notices.iter().filter_map(|notice| match notice {
            Notice::Entry { name, file, fault } if *file == shown => Some(format!("{name}: not used: {fault}")),
            Notice::Shadowed { name, file, kept } if *file == shown => {
                Some(format!("{name}: not used: {kept} has one of that name"))
            }
            Notice::Entry { .. }
            | Notice::Shadowed { .. }
            | Notice::Unreadable { .. }
            | Notice::Untrusted(_)
            | Notice::Unclear { .. }
            | Notice::Odd(_) => None,
        });
        let servers = servers.map(|server| format!("{}: {}", server.name, server.shown_whole()));
        servers.chain(unused).map(|line| printable(&line).replace('\n', "\\n")).collect()
    }

    /// Records that somebody agreed to them.
    pub(crate) fn agree(&self) -> Result<(), PinFault> {
        match self.places.agent.as_deref().map(Pins::in_folder) {
            Some(pins) => pins.trust(&self.places.counted(), &self.found.servers),
            None => Ok(()),
        }
    }
}
