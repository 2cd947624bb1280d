//! What is not as somebody wants it when the extensions of a session are started, and whether the session may begin then.

use pi_exthost::{launcher::Source, port::Mode};

use super::member::{Member, Origin};
use crate::failure::SessionFailure;

/// Extensions that are not there, and why.
pub(super) struct Lost {
    /// Those that somebody wants above all.
    wanted: Vec<Source>,
    named: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl Lost {
    pub(super) fn of(wanted: Vec<Source>) -> Self {
        Self { wanted, named: Vec::new(), notes: Vec::new() }
    }

    pub(super) fn add(&mut self, origin: &Origin, why: String) {
        // Whoever is told with a failure need not be told twice.
        if self.is_named(origin) { self.named.push(why) } else { self.notes.push(why) }
    }

    /// One that is switched off, which matters to whoever named it. Those who switch one off in a server want its sessions
    /// to begin without it.
    pub(super) fn leave_off(&mut self, member: &Member, mode: Mode) {
        let Origin::Source(Source { path, .. }) = &member.origin else { return };
        if !self.is_named(&member.origin) {
            return;
        }
        let usual = || format!("it is switched off; `pi ext enable {}` switches it on", member.id);
        let why = member.problem.clone().unwrap_or_else(usual);
        let told = format!("the extension {} is not loaded: {why}", path.display());
        if mode == Mode::Server { self.notes.push(told) } else { self.named.push(told) }
    }

    /// That something is missing which somebody named.
    pub(super) fn unmet(self) -> Option<SessionFailure> {
        (!self.named.is_empty()).then_some(SessionFailure::Unloaded { problems: self.named })
    }

    fn is_named(&self, origin: &Origin) -> bool {
        match origin {
            Origin::Source(source) => self.wanted.contains(source),
            Origin::Server(_) => false,
        }
    }
}
