//! What one command costs: neither the number of lanes nor what is remembered should matter.
//!
//! Every lane has a command in flight all the time. One iteration lets one of them end and sends the next into its lane:
//! admitted, accepted durably, started, completed, durably answered, and the oldest outcome forgotten. `lanes/1_empty` does
//! that without history, the others with a million stored outcomes. Beside the times, the counted container touches
//! are printed as `metric` lines: they do not depend on the machine.

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pi_engine::{
    Access, Admission, Change, ClientName, CommandId, Completion, Config, Effect, Ending, Engine, Fingerprint, Header,
    Input, Kind, Lane, Limit, Order, Outcome, Record, Request, Sequence, SessionName, Span, Ticket, Time,
};

const HISTORY: u64 = 1_000_000;
const STEPS_PER_CYCLE: u64 = 4;

struct Load {
    engine: Engine<(), u64>,
    effects: Vec<Effect<(), u64>>,
    lanes: Vec<Lane>,
    clients: Vec<ClientName>,
    kind: Kind,
    now: u64,
    sent: u64,
    durable: Sequence,
    started: Option<Ticket>,
    /// What runs in each lane.
    running: Vec<Ticket>,
}

impl Load {
    /// An engine with `history` stored outcomes and one command in flight in each of `lanes` lanes.
    fn new(lanes: usize, history: u64) -> Self {
        let mut config = Config::standard();
        config.max_in_flight = usize::MAX;
        config.max_pending_per_client = usize::MAX;
        config.retention.keep_ms = 0;
        config.retention.keep_count = history as usize;
        config.retention.max_count = usize::MAX;
        config.retention.max_bytes = usize::MAX / 2;
        let mut effects = Vec::new();
        let clients: Vec<_> = (0..16).map(|client| ClientName::from(format!("client-{client}"))).collect();
        let lanes: Vec<_> =
            (0..lanes).map(|lane| Lane::Session(SessionName::from(format!("session-{lane}")))).collect();
        let kind = Kind::from("set_session_name");
        let mut load = Self {
            engine: Engine::new(config.clone()),
            effects: Vec::new(),
            lanes,
            clients,
            kind,
            now: 1,
            sent: 0,
            durable: Sequence(0),
            started: None,
            running: Vec::new(),
        };
        let outcome = Arc::new(Outcome { ending: Ending::Succeeded(0), version: None });
        let records = (0..history).flat_map(|number| {
            let (ticket, at, header) = (Ticket(number + 1), Time(0), Arc::new(load.header(number)));
            let finished = Record::Finished { ticket, at, outcome: Arc::clone(&outcome), size: 100, version: None };
            let accepted = Record::Accepted { ticket, at, header };
            [(Sequence(2 * number + 1), accepted), (Sequence(2 * number + 2), finished)]
        });
        load.engine = Engine::restore(config, Time(1), records, &mut effects);
        load.sent = history;
        for lane in 0..load.lanes.len() {
            let ticket = load.send(lane);
            load.running.push(ticket);
        }
        load
    }

    fn header(&self, number: u64) -> Header {
        let mut fingerprint = [0; 32];
        fingerprint[..8].copy_from_slice(&number.to_le_bytes());
        Header {
            principal: "somebody".into(),
            client: self.clients[number as usize % self.clients.len()].clone(),
            id: Some(CommandId::from(format!("command-{number}"))),
            key: None,
            kind: self.kind.clone(),
            fingerprint: Fingerprint(fingerprint),
            lane: self.lanes[number as usize % self.lanes.len()].clone(),
            about: None,
            order: Order::Work(Span::Short),
            access: Access::Write,
            limit: Limit::Normal,
            depends_on: Vec::new(),
            if_version: None,
        }
    }

    fn step(&mut self, input: Input<(), u64>) {
        self.effects.clear();
        self.engine.step(input, Time(self.now), &mut self.effects);
        for effect in &self.effects {
            match effect {
                Effect::Persist { sequence, .. } => self.durable = *sequence,
                Effect::Start { ticket, .. } => self.started = Some(*ticket),
                _ => {}
            }
        }
    }

    /// Sends the next command into a lane that is free.
    fn send(&mut self, lane: usize) -> Ticket {
        let number = self.sent;
        self.sent += 1;
        let header = Header { lane: self.lanes[lane].clone(), ..self.header(number) };
        self.step(Input::Admit(Admission { request: Request(number), header, command: () }));
        self.step(Input::Persisted(self.durable));
        self.started.take().expect("a command starts in a lane that is free")
    }

    /// One command ends and is answered, and the next starts in its place.
    fn cycle(&mut self) {
        self.now += 1;
        let lane = self.sent as usize % self.lanes.len();
        let completion = Completion { ending: Ending::Succeeded(0), change: Change::Usual, size: 100 };
        self.step(Input::Completed { ticket: self.running[lane], completion });
        self.step(Input::Persisted(self.durable));
        assert!(self.effects.iter().any(|effect| matches!(effect, Effect::Respond { .. })), "the command is answered");
        self.running[lane] = self.send(lane);
    }
}

fn engine(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("engine");
    group.throughput(Throughput::Elements(STEPS_PER_CYCLE));
    for (name, lanes, history) in
        [("1_empty", 1, 0), ("1", 1, HISTORY), ("100", 100, HISTORY), ("10000", 10_000, HISTORY)]
    {
        let mut load = Load::new(lanes, history);
        print_operations(name, &mut load);
        group.bench_function(format!("lanes/{name}"), |bencher| bencher.iter(|| load.cycle()));
        let held = load.engine.load();
        assert_eq!(
            (held.outcomes as u64, held.lanes),
            (history, lanes),
            "the history is still there, and so are the lanes"
        );
    }
    group.finish();
}

/// Counted operations, for whoever compares runs on different machines.
#[expect(clippy::print_stdout, reason = "read from the output of the bench by `cargo xtask bench`")]
fn print_operations(name: &str, load: &mut Load) {
    let cycles = 10_000;
    let before = load.engine.operations();
    (0..cycles).for_each(|_| load.cycle());
    let operations = (load.engine.operations() - before) as f64 / (cycles * STEPS_PER_CYCLE) as f64;
    println!("metric engine/ops_per_step/lanes_{name} {operations:.2} ops");
}

criterion_group!(benches, engine);
criterion_main!(benches);
