//! Lifecycle events, as the model makes them and as connections see them, in one form.

use std::fmt;

use pi_engine::{Announcement, Ending, Failure, Header, Phase, Replay};
use serde_json::Value;

use super::command::CLIENTS;

/// One lifecycle event.
#[derive(Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) client: usize,
    /// Its id, or the number that the server gave it: `anon:7`.
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) session: Option<String>,
    depends_on: Vec<String>,
    if_version: Option<u64>,
    key: Option<String>,
    pub(super) what: What,
}

#[derive(Clone, PartialEq)]
pub(super) enum What {
    Accepted,
    Started,
    Finished(Finish),
}

/// How it ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finish {
    pub(super) error: Option<String>,
    pub(super) version: Option<u64>,
    pub(super) replayed: bool,
}

impl Seen {
    /// What the model announces.
    pub(super) fn announced(announcement: &Announcement<u64>) -> Self {
        let Announcement { id, header, phase } = announcement;
        let what = match phase {
            Phase::Accepted => What::Accepted,
            Phase::Started => What::Started,
            Phase::Finished { outcome, replay } => What::Finished(Finish {
                error: outcome.error(),
                version: outcome.version,
                replayed: *replay == Replay::Replayed,
            }),
        };
        Self {
            client: client_of(header),
            name: id.as_str().to_owned(),
            kind: header.kind.to_string(),
            session: header.subject().map(ToString::to_string),
            depends_on: header.depends_on.iter().map(ToString::to_string).collect(),
            if_version: header.if_version,
            key: header.key.as_ref().map(ToString::to_string),
            what,
        }
    }

    /// What all observers saw at the same place: the owner's view, after the others were compared with it.
    pub(super) fn observed(views: &[Value]) -> Self {
        let is_own = |view: &Value| !view["data"]["commandId"].as_str().unwrap_or_default().starts_with("other:");
        let owners: Vec<usize> = (0..views.len()).filter(|at| is_own(&views[*at])).collect();
        let [client] = owners[..] else { panic!("it is {} clients' own: {views:#?}", owners.len()) };
        let own = &views[client];
        for other in views.iter().filter(|view| !is_own(view)) {
            check_foreign(own, other);
        }
        let data = &own["data"];
        let text = |name: &str| data[name].as_str().map(str::to_owned);
        let what = match own["type"].as_str() {
            Some("command_accepted") => What::Accepted,
            Some("command_started") => What::Started,
            Some("command_finished") => {
                let error = text("error");
                assert_eq!(error.is_none(), data["success"] == true, "{own}");
                let (version, replayed) = (data["sessionVersion"].as_u64(), data["replayed"] == true);
                What::Finished(Finish { error, version, replayed })
            }
            other => panic!("no lifecycle event: {other:?}"),
        };
        let ids = data["dependsOn"].as_array().expect("always there");
        Self {
            client,
            name: data["commandId"].as_str().expect("a name").to_owned(),
            kind: text("commandType").expect("a type"),
            session: text("sessionId"),
            depends_on: ids.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            if_version: data["ifSessionVersion"].as_u64(),
            key: text("idempotencyKey"),
            what,
        }
    }

    /// Whether it is told of this command.
    pub(super) fn is_of(&self, client: usize, name: &str) -> bool {
        self.client == client && self.name == name
    }
}

/// Others see that something happened, and neither names nor reasons.
fn check_foreign(own: &Value, other: &Value) {
    assert_eq!(own["type"], other["type"], "{own} {other}");
    let (own, other) = (&own["data"], &other["data"]);
    for name in ["commandType", "sessionId", "ifSessionVersion", "success", "sessionVersion", "replayed", "code"] {
        assert_eq!(own[name], other[name], "{name}: {own} {other}");
    }
    assert!(other["idempotencyKey"].is_null() && other["error"].is_null(), "{other}");
    assert!(other["dependsOn"].as_array().is_some_and(Vec::is_empty), "{other}");
}

pub(super) fn client_of(header: &Header) -> usize {
    CLIENTS.iter().position(|name| *name == header.client.as_str()).expect("one of ours")
}

/// What a response must say about how a command ended.
pub(super) fn error_of(ending: &Ending<u64>) -> Option<String> {
    match ending {
        Ending::Succeeded(_) => None,
        Ending::Failed { error, .. } => Some(error.clone()),
        Ending::Broken(failure) => Some(failure.to_string()),
    }
}

/// Whether a response must say that the time was up.
pub(super) fn has_timed_out(ending: &Ending<u64>) -> bool {
    matches!(ending, Ending::Broken(Failure::TimedOut { .. } | Failure::DependencyTimedOut { .. }))
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} {}", CLIENTS[self.client], self.name, self.kind)?;
        if let Some(session) = &self.session {
            write!(f, " {session}")?;
        }
        match &self.what {
            What::Accepted => f.write_str(" accepted")?,
            What::Started => f.write_str(" started")?,
            What::Finished(finish) => {
                let replayed = if finish.replayed { " again" } else { "" };
                write!(f, " finished{replayed} {:?} v{:?}", finish.error, finish.version)?;
            }
        }
        if !self.depends_on.is_empty() {
            write!(f, " after {:?}", self.depends_on)?;
        }
        if let Some(version) = self.if_version {
            write!(f, " if version {version}")?;
        }
        self.key.as_ref().map_or(Ok(()), |key| write!(f, " key {key}"))
    }
}
