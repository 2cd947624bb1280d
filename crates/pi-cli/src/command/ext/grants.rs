//! `pi ext grants`: what was decided about extensions; and what `allow` and `deny` say of what they did.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pi_exthost::{GrantsFile, consent::Changed};
use pi_extproto::capability::Capability;
use pi_policy::{
    Moment,
    config::{ExtensionPolicy, ExtensionSection, Fault, ScopeEntry, Settings},
};
use pi_provider::likeness::nearest;
use serde_json::json;

use crate::{
    arguments::ext::DecisionArguments,
    console::{Console, Reader, Tone},
    env::Environment,
    exit::Exit,
    failure::{ConsentFailure, Failure},
    table::{self, Align, Cell, Column, Room},
};

const COLUMNS: [Column; 7] = [
    Column { title: "EXTENSION", align: Align::Left, room: Room::Whole },
    Column { title: "DECISION", align: Align::Left, room: Room::Whole },
    Column { title: "CAPABILITY", align: Align::Left, room: Room::Whole },
    Column { title: "SCOPE", align: Align::Left, room: Room::CutTo(20) },
    Column { title: "FROM", align: Align::Left, room: Room::LeaveOut(3) },
    Column { title: "VERSIONS", align: Align::Left, room: Room::LeaveOut(2) },
    Column { title: "UNTIL", align: Align::Left, room: Room::LeaveOut(1) },
];

/// What somebody has just decided.
pub(super) struct Decided<'a> {
    pub(super) name: &'a str,
    pub(super) capability: &'a str,
    pub(super) scope: Option<ScopeEntry>,
    pub(super) decision: Decision,
    pub(super) changed: Changed,
}

pub(super) enum Decision {
    Allowed {
        until: Option<Moment>,
        /// Which extension of that name is meant.
        origin: Option<String>,
    },
    Denied,
}

/// Says what was decided, and what it takes back.
pub(super) fn tell(decided: &Decided<'_>, console: &mut Console) {
    let Decided { name, capability, scope, decision, changed } = decided;
    match console.reader() {
        Reader::Machine => {
            let mut told = json!({ "extension": name, "capability": capability, "added": changed.added });
            match decision {
                Decision::Allowed { until, origin } => {
                    told["removedDenies"] = json!(changed.removed);
                    told["origin"] = json!(origin);
                    told["expires"] = json!(until.map(|end| end.to_string()));
                }
                Decision::Denied => told["removedGrants"] = json!(changed.removed),
            }
            console.line(&told.to_string());
        }
        Reader::Person => {
            let shown = scope_in_words(scope.as_ref());
            console.line(&match decision {
                Decision::Allowed { until, origin } => {
                    let until = until.map(|end| format!(", until {end}")).unwrap_or_default();
                    let origin = origin.as_ref().map(|origin| format!(", for {origin}")).unwrap_or_default();
                    format!("allowed: {name} {capability}{shown}{until}{origin}")
                }
                Decision::Denied => format!("denied: {name} {capability}{shown}"),
            });
            if changed.removed > 0 {
                console.remark(&match changed.removed {
                    1 => "a decision that said the opposite is taken back".to_owned(),
                    count => format!("{count} decisions that said the opposite are taken back"),
                });
            }
        }
    }
}

/// A capability that there is: one that nobody knows would decide nothing.
pub(super) fn capability(word: &str) -> Result<Capability, Failure> {
    match Capability::from(word) {
        Capability::Other(_) => {
            let known = Capability::KNOWN.iter().map(Capability::as_str);
            let meant = nearest(word, known).first().map(|meant| (*meant).to_owned());
            Err(ConsentFailure::NoCapability { word: word.to_owned(), meant }.into())
        }
        capability => Ok(capability),
    }
}

/// Whether a decision can be kept. What is wrong with it is told in the words of the command line.
pub(super) fn check(alone: ExtensionPolicy) -> Result<(), Failure> {
    let settings = Settings { extensions: Some(ExtensionSection { policy: Some(alone) }), agent: None };
    let in_words = |fault: &Fault| match fault {
        Fault::PointlessScope { capability, list } => {
            let option = match *list {
                "env" => "env",
                list => list.trim_end_matches('s'),
            };
            format!("{capability} is not narrowed by --{option}")
        }
        other => other.to_string(),
    };
    settings.resolve().map(drop).map_err(|invalid| {
        let faults = invalid.problems.iter().map(|problem| in_words(&problem.fault)).collect();
        ConsentFailure::BadDecision { faults }.into()
    })
}

/// Only what was named narrows.
pub(super) fn scope(arguments: &DecisionArguments) -> Option<ScopeEntry> {
    let given = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    let scope = ScopeEntry {
        paths: given(&arguments.path),
        hosts: given(&arguments.host),
        env: given(&arguments.env),
        commands: given(&arguments.command),
    };
    (scope != ScopeEntry::default()).then_some(scope)
}

pub(crate) fn run(environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    let file = file(environment)?;
    let policy = file.read().map_err(ConsentFailure::Grants)?;
    if console.reader() == Reader::Machine {
        console.line(&json!({ "file": file.path(), "grants": policy.grants, "denies": policy.denies }).to_string());
        return Ok(Exit::Success);
    }
    let now = now();
    let mut rows = Vec::new();
    for (name, denies) in &policy.denies {
        for deny in denies {
            rows.push(row(
                name,
                (Tone::Bad, "deny"),
                deny.capability.as_str(),
                deny.scope.as_ref(),
                [None, deny.versions.as_deref(), None],
            ));
        }
    }
    for (name, grants) in &policy.grants {
        for grant in grants {
            let until = grant.expires.as_deref();
            let is_over = until.unwrap_or_default().parse::<Moment>().is_ok_and(|end| end <= now);
            let decision = if is_over { (Tone::Warning, "expired") } else { (Tone::Good, "allow") };
            rows.push(row(
                name,
                decision,
                grant.capability.as_str(),
                grant.scope.as_ref(),
                [grant.origin.as_deref(), grant.versions.as_deref(), until],
            ));
        }
    }
    if rows.is_empty() {
        console.remark("nothing was decided yet; `pi ext allow` and `pi ext deny` do, and so do answers in a session");
        return Ok(Exit::Success);
    }
    rows.sort_by_key(|cells| format!("{cells:?}"));
    table::show(&COLUMNS, &rows, console);
    Ok(Exit::Success)
}

fn row(
    name: &str,
    (tone, decision): (Tone, &str),
    capability: &str,
    scope: Option<&ScopeEntry>,
    bounds: [Option<&str>; 3],
) -> Vec<Cell> {
    let scope = scope_in_words(scope);
    let [origin, versions, until] = bounds.map(|bound| Cell::plain(bound.unwrap_or("")));
    vec![
        Cell::plain(name),
        Cell::toned(tone, decision),
        Cell::plain(capability),
        Cell::plain(scope.trim_start()),
        origin,
        versions,
        until,
    ]
}

/// Where decisions are remembered.
pub(super) fn file(environment: &Environment) -> Result<GrantsFile, Failure> {
    let agent = environment.agent_directory.as_deref().ok_or(ConsentFailure::Homeless)?;
    Ok(GrantsFile::in_folder(agent))
}

/// The scope behind a capability, with a blank before it; nothing if there is none.
fn scope_in_words(scope: Option<&ScopeEntry>) -> String {
    let Some(scope) = scope else { return String::new() };
    let lists = [("paths", &scope.paths), ("hosts", &scope.hosts), ("env", &scope.env), ("commands", &scope.commands)];
    let words = lists.into_iter().filter_map(|(name, list)| Some(format!(" {name} {}", list.as_ref()?.join(", "))));
    words.collect()
}

/// When a time that was written as `30m` or `7d` is over, from now on.
pub(super) fn end_of(text: &str) -> Result<Moment, Failure> {
    let wrong = || ConsentFailure::NoDuration { text: text.to_owned() };
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(wrong().into()),
    };
    let count: u64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    let length =
        count.checked_mul(seconds).filter(|seconds| (1..=3_155_760_000).contains(seconds)).ok_or_else(wrong)?;
    Ok(Moment::from_unix_millis(now().unix_millis() + length * 1000))
}

#[expect(clippy::disallowed_methods, reason = "a decision ends by the clock of the machine")]
pub(super) fn now() -> Moment {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Moment::from_unix_millis(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}
