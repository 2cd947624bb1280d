//! What random clients say, and what it is to the engine: a table of its own, written from the document and the design,
//! so that a server which sorts a command wrongly is found out.

use std::hash::{DefaultHasher, Hash, Hasher};

use pi_engine::{
    Access, ClientName, CommandId, Fingerprint, Header, Key, Kind, Lane, Limit, Order, Principal, Role, SessionName,
    Span,
};
use serde_json::{Map, Value, json};

pub(super) const CLIENTS: [&str; 3] = ["a", "b", "c"];
pub(super) const SESSIONS: [&str; 3] = ["s0", "s1", "s2"];

/// One frame as it is sent, and as the engine should understand it.
#[derive(Clone)]
pub(super) struct Said {
    pub(super) client: usize,
    pub(super) frame: Value,
    pub(super) header: Header,
}

impl Said {
    pub(super) fn id(&self) -> Option<&str> {
        self.frame["id"].as_str()
    }

    pub(super) fn kind(&self) -> &str {
        self.header.kind.as_str()
    }

    /// Whether it may go on until somebody ends it.
    pub(super) fn is_long(&self) -> bool {
        matches!(self.kind(), "prompt" | "bash")
    }
}

const CONTROL: Order = Order::Control { span: Span::Short, role: Role::Bystander };
const NEEDED: Order = Order::Control { span: Span::Short, role: Role::NeededByRun };
const WORK: Order = Order::Work(Span::Short);
const LONG: Order = Order::Work(Span::Long);

/// Which session a command names, and in whose lane it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Server,
    /// In the server's lane, about a session.
    About,
    Session,
}

struct Intent {
    name: &'static str,
    weight: usize,
    place: Place,
    order: Order,
    access: Access,
    limit: Limit,
    /// Members beyond the usual ones, in two variants.
    payload: [&'static str; 2],
}

const fn intent(
    name: &'static str,
    weight: usize,
    place: Place,
    kind: (Order, Access, Limit),
    payload: [&'static str; 2],
) -> Intent {
    Intent { name, weight, place, order: kind.0, access: kind.1, limit: kind.2, payload }
}

const READ: (Order, Access, Limit) = (CONTROL, Access::Read, Limit::Brief);
const CHANGE: (Order, Access, Limit) = (CONTROL, Access::Write, Limit::Brief);
const ABORT: (Order, Access, Limit) = (NEEDED, Access::Write, Limit::Brief);

const INTENTS: [Intent; 19] = [
    intent("health_check", 4, Place::Server, READ, ["{}", "{}"]),
    intent("list_sessions", 4, Place::Server, READ, ["{}", r#"{"search":"s1"}"#]),
    intent("unsubscribe", 3, Place::About, READ, ["{}", "{}"]),
    intent("create_session", 9, Place::About, (LONG, Access::Write, Limit::Normal), ["{}", "{}"]),
    intent("delete_session", 4, Place::About, (LONG, Access::Write, Limit::Normal), ["{}", "{}"]),
    intent("get_state", 9, Place::Session, READ, ["{}", "{}"]),
    intent("get_messages", 5, Place::Session, READ, ["{}", r#"{"limit":2}"#]),
    intent("get_session_stats", 4, Place::Session, READ, ["{}", "{}"]),
    intent("set_session_name", 12, Place::Session, CHANGE, [r#"{"name":"one"}"#, r#"{"name":"two"}"#]),
    intent("set_auto_retry", 6, Place::Session, CHANGE, [r#"{"enabled":true}"#, r#"{"enabled":false}"#]),
    intent("set_thinking_level", 5, Place::Session, CHANGE, [r#"{"level":"low"}"#, r#"{"level":"high"}"#]),
    intent("abort", 5, Place::Session, ABORT, ["{}", "{}"]),
    intent("abort_bash", 5, Place::Session, ABORT, ["{}", "{}"]),
    intent(
        "extension_ui_response",
        3,
        Place::Session,
        (NEEDED, Access::Act, Limit::Brief),
        [
            r#"{"requestId":"r1","response":{"method":"cancelled"}}"#,
            r#"{"requestId":"r2","response":{"method":"cancelled"}}"#,
        ],
    ),
    intent(
        "prompt",
        5,
        Place::Session,
        (LONG, Access::Write, Limit::Unlimited),
        [r#"{"message":"be quick"}"#, r#"{"message":"hold on"}"#],
    ),
    intent(
        "prompt",
        5,
        Place::Session,
        (LONG, Access::Write, Limit::Unlimited),
        [r#"{"message":"hold on"}"#, r#"{"message":"fail now"}"#],
    ),
    intent(
        "bash",
        4,
        Place::Session,
        (LONG, Access::Write, Limit::Extended),
        [r#"{"command":"echo hello"}"#, r#"{"command":"exit 3"}"#],
    ),
    intent(
        "bash",
        2,
        Place::Session,
        (LONG, Access::Write, Limit::Extended),
        [r#"{"command":"sleep 600"}"#, r#"{"command":"sleep 601"}"#],
    ),
    intent("new_session", 3, Place::Session, (WORK, Access::Write, Limit::Normal), ["{}", "{}"]),
];

/// Chooses what is said next. Few sessions, and ids and keys that come again, so that commands meet all the time.
pub(super) struct Chooser {
    pub(super) random: fastrand::Rng,
    earlier: Vec<Said>,
    ids: usize,
    keys: usize,
}

impl Chooser {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), earlier: Vec::new(), ids: 0, keys: 0 }
    }

    pub(super) fn percent(&mut self, chance: usize) -> bool {
        self.random.usize(..100) < chance
    }

    /// Something for `client` to say, which may expect one of these versions, as far as they are known.
    pub(super) fn choose(&mut self, client: usize, versions: &[Option<u64>]) -> Said {
        let own: Vec<usize> = (0..self.earlier.len()).filter(|at| self.earlier[*at].client == client).collect();
        let mut said = if !own.is_empty() && self.percent(25) {
            let at = own[self.random.usize(..own.len())];
            self.vary(at)
        } else {
            self.fresh()
        };
        self.add_conditions(client, &mut said, versions);
        let header = header(client, &said);
        let said = Said { client, frame: said, header };
        self.remember(said.clone());
        said
    }

    /// A frame that is made for a purpose and counts like any other.
    pub(super) fn particular(&mut self, client: usize, mut frame: Value) -> Said {
        frame["id"] = self.fresh_id().into();
        let header = header(client, &frame);
        let said = Said { client, frame, header };
        self.remember(said.clone());
        said
    }

    fn remember(&mut self, said: Said) {
        self.earlier.push(said);
        if self.earlier.len() > 60 {
            self.earlier.remove(0);
        }
    }

    fn fresh_id(&mut self) -> String {
        self.ids += 1;
        format!("i{}", self.ids)
    }

    fn fresh(&mut self) -> Value {
        let total: usize = INTENTS.iter().map(|intent| intent.weight).sum();
        let mut at = self.random.usize(..total);
        let intent = INTENTS.iter().find(|intent| {
            let found = at < intent.weight;
            at = at.saturating_sub(intent.weight);
            found
        });
        let intent = intent.unwrap_or(&INTENTS[0]);
        let mut frame: Value = serde_json::from_str(intent.payload[self.random.usize(..2)]).expect("a payload is JSON");
        frame["type"] = intent.name.into();
        if intent.place != Place::Server {
            frame["sessionId"] = SESSIONS[self.random.usize(..SESSIONS.len())].into();
        }
        // What goes on for long is told apart by its name.
        if matches!(intent.name, "prompt" | "bash") || self.percent(85) {
            frame["id"] = self.fresh_id().into();
        }
        if self.percent(35) {
            if self.keys == 0 || self.percent(60) {
                self.keys += 1;
            }
            let key = if self.percent(60) { self.keys } else { self.random.usize(..=self.keys) };
            frame["idempotencyKey"] = format!("k{key}").into();
        }
        frame
    }

    /// An earlier frame, as it was or a little different.
    fn vary(&mut self, at: usize) -> Value {
        let mut frame = self.earlier[at].frame.clone();
        let members = frame.as_object_mut().expect("a frame is an object");
        members.remove("dependsOn");
        members.remove("ifSessionVersion");
        let is_long = self.earlier[at].is_long();
        match self.random.usize(..10) {
            // The same key from somebody who lost the id.
            0 | 1 if members.contains_key("idempotencyKey") => {
                members.insert("id".to_owned(), self.fresh_id().into());
            }
            2 if members.contains_key("idempotencyKey") && !is_long => {
                members.remove("id");
            }
            // The same id for something else.
            3 if members.contains_key("id") => {
                let id = members["id"].clone();
                frame = self.fresh();
                frame["id"] = id;
            }
            _ => {}
        }
        frame
    }

    fn add_conditions(&mut self, client: usize, frame: &mut Value, versions: &[Option<u64>]) {
        let intent = intent_of(frame);
        let session = frame["sessionId"].as_str().and_then(|name| SESSIONS.iter().position(|known| *known == name));
        if let Some(at) = session.filter(|_| intent.place == Place::Session && self.percent(18)) {
            let version = if self.percent(65) { versions[at].unwrap_or(0) } else { self.random.u64(..6) };
            frame["ifSessionVersion"] = version.into();
        }
        if frame["id"].is_string() && self.percent(25) {
            let needed = matches!(intent.order, Order::Control { role: Role::NeededByRun, .. });
            let run = needed.then(|| self.some_run(client, &frame["sessionId"])).flatten();
            let first = run.unwrap_or_else(|| self.some_dependency(client, &frame["id"]));
            let mut ids = vec![first];
            if self.percent(50) {
                ids.push(self.some_dependency(client, &frame["id"]));
            }
            frame["dependsOn"] = ids.into();
        }
    }

    /// Long work of the client in a session: what must never be waited for by what may have to end it.
    fn some_run(&mut self, client: usize, session: &Value) -> Option<Value> {
        let lately = self.earlier.iter().rev().take(30);
        let run = lately
            .into_iter()
            .find(|said| said.client == client && said.is_long() && said.frame["sessionId"] == *session)?;
        let id = run.frame["id"].clone();
        self.percent(60).then_some(id)
    }

    /// Mostly something that the client itself said lately; ids of others mean nothing to it.
    fn some_dependency(&mut self, client: usize, own: &Value) -> Value {
        match self.random.usize(..100) {
            0..=4 => own.clone(),
            5..=10 => "nobody".into(),
            dice => {
                let lately = self.earlier.iter().rev().take(30).filter(|said| said.client == client || dice < 14);
                let recent: Vec<&Value> = lately.map(|said| &said.frame["id"]).filter(|id| id.is_string()).collect();
                if recent.is_empty() { "nobody".into() } else { recent[self.random.usize(..recent.len())].clone() }
            }
        }
    }
}

fn intent_of(frame: &Value) -> &'static Intent {
    let name = frame["type"].as_str().expect("a frame has a type");
    INTENTS.iter().find(|intent| intent.name == name).expect("a command of the table")
}

/// What the engine should be told about a frame.
fn header(client: usize, frame: &Value) -> Header {
    let intent = intent_of(frame);
    let session = frame["sessionId"].as_str().map(SessionName::from);
    let (lane, about) = match (intent.place, session) {
        (Place::Session, Some(session)) => (Lane::Session(session), None),
        (_, about) => (Lane::Server, about),
    };
    let ids = frame["dependsOn"].as_array().map(Vec::as_slice).unwrap_or_default();
    Header {
        principal: Principal::from("token"),
        client: ClientName::from(CLIENTS[client]),
        id: frame["id"].as_str().map(CommandId::from),
        key: frame["idempotencyKey"].as_str().map(Key::from),
        kind: Kind::from(intent.name),
        fingerprint: fingerprint(frame),
        lane,
        about,
        order: intent.order,
        access: intent.access,
        limit: intent.limit,
        depends_on: ids.iter().filter_map(Value::as_str).map(CommandId::from).collect(),
        if_version: frame["ifSessionVersion"].as_u64(),
    }
}

/// Equal for frames that mean the same: all members but those that say who asks, and when it may be done.
fn fingerprint(frame: &Value) -> Fingerprint {
    let mut meant: Map<String, Value> = frame.as_object().expect("a frame is an object").clone();
    for name in ["id", "idempotencyKey", "dependsOn", "ifSessionVersion"] {
        meant.remove(name);
    }
    let mut members: Vec<String> = meant.iter().map(|(name, value)| json!([name, value]).to_string()).collect();
    members.sort_unstable();
    let mut hash = DefaultHasher::new();
    members.hash(&mut hash);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&hash.finish().to_le_bytes());
    Fingerprint(bytes)
}
