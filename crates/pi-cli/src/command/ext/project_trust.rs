//! What a person's own extensions say of a project that nobody has decided about, before anything of it is used.
//!
//! They are started without a session, asked, and ended: which extensions a session has hangs on what they say. Nobody can be
//! asked meanwhile.

use pi_exthost::verdict::TrustVerdict;
use pi_extproto::hook::{Hook, event::payload::ProjectTrustEvent};
use pi_guests::discovery::{Places, Wanted, discover};
use pi_session::settings::trust::{self, Trust};
use tokio_util::sync::CancellationToken;

use super::trial::Trial;
use crate::{
    arguments::talk::ExtensionArguments,
    env::Environment,
    failure,
    trust::{agree_to_servers, brought},
    workshop::{
        Ground,
        extensions::{Off, listed},
    },
};

/// What came of asking them.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// What counts, if one of them decided.
    pub(crate) decided: Option<Trust>,
    /// What a person is told of it.
    pub(crate) notes: Vec<String>,
}

/// Asks them, if the project brings something that nobody has decided about; `None` is that there was nothing to ask. What is to
/// be remembered is written down. What keeps them from being asked is told by the session, which starts them too. Needs a tokio
/// runtime.
pub(crate) async fn ask(ground: &Ground, arguments: &ExtensionArguments, environment: &Environment) -> Option<Heard> {
    if !ground.is_undecided() || brought(&ground.directory, environment).is_empty() {
        return None;
    }
    let places = Places {
        directory: ground.directory.clone(),
        is_trusted: false,
        agent: environment.agent_directory.clone(),
        home: environment.home.clone(),
        npm: environment.npm.clone(),
    };
    let wanted = Wanted {
        only_named: arguments.no_extensions,
        named: arguments.extension.clone(),
        listed: listed(&ground.settings),
    };
    let sources = discover(&places, &wanted).sources;
    if sources.is_empty() {
        return None;
    }
    let trial = Trial::before(ground, environment).await.ok()?;
    let off = Off::of(&ground.settings);
    let mut started = Vec::new();
    for source in sources {
        let Ok(prepared) = trial.prepare(source).await else { continue };
        if !off.holds(prepared.identity.id.as_str()) {
            started.extend(trial.launch(prepared).await.ok());
        }
    }
    let guests = trial.gather(started);
    let heard = match guests.listens(Hook::ProjectTrust) {
        true => {
            let event = || ProjectTrustEvent { cwd: ground.directory.display().to_string() };
            let verdict = guests.project_trust(event, &CancellationToken::new()).await;
            settle(verdict, &trial, ground, environment)
        }
        false => Heard::default(),
    };
    trial.end(&guests).await;
    Some(heard)
}

/// Lets it count. Who trusts a project lets its programs run, so only who may run programs can: any other could write some there
/// and trust it then.
fn settle(verdict: TrustVerdict, trial: &Trial, ground: &Ground, environment: &Environment) -> Heard {
    let (by, decided, is_to_last) = match verdict {
        TrustVerdict::Undecided => return Heard::default(),
        TrustVerdict::Trusted { by, .. } if !trial.may_run_anything(&by) => {
            let note = format!(
                "extension {by} wants to trust this project and may not: it would let its programs run. To allow it: `pi ext \
                 allow {by} exec`; to decide yourself: `pi trust`"
            );
            return Heard { decided: None, notes: vec![note] };
        }
        TrustVerdict::Trusted { by, remember } => (by, Trust::Trusted, remember),
        TrustVerdict::Distrusted { by, remember } => (by, Trust::Untrusted, remember),
    };
    let (verb, otherwise) = match decided {
        Trust::Trusted => ("trusts", "from now on; `pi trust --remove` takes that back"),
        Trust::Untrusted => ("does not trust", "from now on; `pi trust` decides otherwise"),
    };
    let (mut span, mut notes) = ("for this run", Vec::new());
    if decided == Trust::Trusted
        && let Err(fault) = agree_to_servers(&ground.directory, environment)
    {
        return Heard { decided: None, notes: vec![format!("{fault}; {}", fault.hint())] };
    }
    if let Some(agent) = environment.agent_directory.as_deref().filter(|_| is_to_last) {
        match trust::decide(agent, &ground.directory, decided) {
            Ok(()) => span = otherwise,
            Err(error) => notes.push(failure::told(&error)),
        }
    }
    notes.insert(0, format!("extension {by} {verb} this project {span}"));
    Heard { decided: Some(decided), notes }
}
