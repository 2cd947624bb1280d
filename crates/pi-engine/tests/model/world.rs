//! Few clients, ids, keys and sessions, so that commands meet all the time.

use pi_engine::{
    Access, Change, ClientName, CommandId, Completion, Config, Ending, Failure, Fingerprint, Header, Key, Kind, Lane,
    Limit, Order, Principal, Retention, Role, SessionName, Span, Time,
};

use crate::random::Random;

const SHORT: Order = Order::Control { span: Span::Short, role: Role::Bystander };
const NEEDED: Order = Order::Control { span: Span::Short, role: Role::NeededByRun };
const SLASH: Order = Order::Control { span: Span::Long, role: Role::Bystander };

/// Commands that differ in all that the engine looks at.
const INTENTS: [(&str, Order, Access, Limit); 11] = [
    ("prompt", Order::Work(Span::Long), Access::Write, Limit::Unlimited),
    ("bash", Order::Work(Span::Long), Access::Write, Limit::Extended),
    ("fork", Order::Work(Span::Short), Access::Write, Limit::Normal),
    ("rename", Order::Work(Span::Short), Access::Write, Limit::Brief),
    ("export", Order::Work(Span::Short), Access::Read, Limit::Normal),
    ("get_state", SHORT, Access::Read, Limit::Brief),
    ("set_model", SHORT, Access::Write, Limit::Brief),
    ("abort", NEEDED, Access::Write, Limit::Brief),
    ("answer", NEEDED, Access::Act, Limit::Brief),
    ("peek", NEEDED, Access::Read, Limit::Brief),
    ("slash", SLASH, Access::Write, Limit::Unlimited),
];

pub(crate) const SESSIONS: [&str; 3] = ["s1", "s2", "s3"];

pub(crate) fn session(random: &mut Random) -> SessionName {
    SessionName::from(*random.pick(&SESSIONS))
}

fn some_id(random: &mut Random) -> CommandId {
    CommandId::from(format!("i{}", random.below(24)))
}

/// A command, often one that repeats or varies an earlier one.
pub(crate) fn header(random: &mut Random, earlier: &[Header]) -> Header {
    let mut header = if !earlier.is_empty() && random.percent(45) {
        let mut header = random.pick(earlier).clone();
        if random.percent(40) {
            header.id = random.percent(70).then(|| some_id(random));
        }
        if random.percent(20) {
            header.client = client(random);
        }
        header
    } else {
        fresh(random)
    };
    header.depends_on = dependencies(random, &header, earlier);
    header.if_version = random.percent(12).then(|| random.below(6) as u64);
    header
}

fn client(random: &mut Random) -> ClientName {
    ClientName::from(*random.pick(&["a", "b", "c"]))
}

fn fresh(random: &mut Random) -> Header {
    let (kind, order, access, limit) = *random.pick(&INTENTS);
    let place = random.below(SESSIONS.len() + 1);
    let variant = random.below(2);
    let lane = SESSIONS.get(place).map_or(Lane::Server, |session| Lane::Session(SessionName::from(*session)));
    let mut fingerprint = [0; 32];
    fingerprint[0] = place as u8;
    fingerprint[1] = variant as u8;
    fingerprint[2..2 + kind.len()].copy_from_slice(kind.as_bytes());
    Header {
        principal: Principal::from(*random.pick(&["p", "q"])),
        client: client(random),
        id: random.percent(80).then(|| some_id(random)),
        key: random.percent(40).then(|| Key::from(format!("k{}", random.below(6)))),
        kind: Kind::from(kind),
        fingerprint: Fingerprint(fingerprint),
        about: (lane == Lane::Server && random.percent(50)).then(|| session(random)),
        lane,
        order,
        access,
        limit,
        depends_on: Vec::new(),
        if_version: None,
    }
}

fn dependencies(random: &mut Random, header: &Header, earlier: &[Header]) -> Vec<CommandId> {
    if !random.percent(35) {
        return Vec::new();
    }
    let count = 1 + random.below(3);
    let recent: Vec<_> = earlier
        .iter()
        .rev()
        .take(12)
        .filter(|other| other.client == header.client)
        .filter_map(|other| other.id.clone())
        .collect();
    (0..count)
        .map(|_| if recent.is_empty() || random.percent(10) { some_id(random) } else { random.pick(&recent).clone() })
        .collect()
}

/// How some work ended. Bodies are numbers that never repeat.
pub(crate) fn completion(random: &mut Random, body: u64) -> Completion<u64> {
    let ending = match random.below(100) {
        0..=69 => Ending::Succeeded(body),
        70..=97 => Ending::Failed { error: format!("error {body}"), body },
        98 => Ending::Broken(Failure::Panicked { kind: Kind::from("panicking") }),
        _ => Ending::Broken(Failure::Killed { kind: Kind::from("killed") }),
    };
    let change = match random.below(100) {
        0..=59 => Change::Usual,
        60..=74 => Change::Altered,
        75..=91 => Change::Created(session(random)),
        _ => Change::Removed(session(random)),
    };
    Completion { ending, change, size: random.below(200) }
}

/// Limits small enough to be reached, differently in every episode.
pub(crate) fn config(random: &mut Random) -> Config {
    let tight = random.percent(30);
    let keep_count = random.below(6);
    Config {
        brief_ms: 300,
        normal_ms: 600,
        extended_ms: 1_500,
        dependency_ms: 400,
        kill_after_ms: 100,
        max_in_flight: if random.percent(25) { 6 } else { 40 },
        max_pending_per_client: if random.percent(25) { 4 } else { 30 },
        retention: Retention {
            key_ms: *random.pick(&[200, 1_000, 3_000]),
            keep_ms: *random.pick(&[100, 1_000, 4_000]),
            keep_count,
            max_count: if tight { keep_count + 5 } else { 60 },
            max_bytes: if random.percent(25) { 6_000 } else { 100_000 },
            reserve_bytes: 800,
            reads_ms: *random.pick(&[200, 1_000]),
            reads_count: 1 + random.below(6),
            reads_bytes: *random.pick(&[1_500, 10_000]),
        },
    }
}

/// A moment soon after: mostly none or a little later, sometimes far beyond every limit. Times are even, like the limits, so
/// that they meet exactly as often as they miss each other.
pub(crate) fn later(random: &mut Random, now: Time) -> Time {
    now.after(match random.below(20) {
        0..=9 => 0,
        10..=16 => 20 * random.below(4) as u64,
        17..=18 => 100 + 20 * random.below(15) as u64,
        _ => 20 * random.below(150) as u64,
    })
}
