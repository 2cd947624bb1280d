//! The driver on real tasks, with tokio's clock paused: time passes only when nothing else can happen.

use std::{
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use pi_engine::{
    Access, Admission, Change, Completion, Config, Ending, Engine, Failure, Fingerprint, Header, Lane, Limit, Order,
    Phase, Record, Refusal, Replay, Request, Sequence, Span, Ticket, Time,
    driver::{Ended, Event, Host, Journal, Mailbox, Options, spawn},
};
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

/// What the work of a command does.
#[derive(Debug, Clone, Copy)]
enum Work {
    Reply,
    ReplyAfter(u64),
    Panic,
    UntilCancelled,
    IgnoreCancel,
    QuickReply,
    QuickReplyAfter(u64),
    QuickPanic,
    /// Replies, and says when it starts.
    Told(&'static str),
}

#[derive(Default)]
struct Log {
    lines: Mutex<Vec<String>>,
    /// Told which command was answered, where somebody asks again.
    answered: OnceLock<mpsc::UnboundedSender<String>>,
}

impl Host for Log {
    type Command = Work;
    type Body = &'static str;

    async fn run(
        &self,
        _: Ticket,
        _: Time,
        header: Arc<Header>,
        work: Work,
        cancel: CancellationToken,
    ) -> Completion<&'static str> {
        self.note(format!("run {}", header.kind));
        match work {
            Work::Reply | Work::QuickReply | Work::Told(_) => {}
            Work::ReplyAfter(milliseconds) | Work::QuickReplyAfter(milliseconds) => {
                sleep(Duration::from_millis(milliseconds)).await
            }
            Work::Panic | Work::QuickPanic => panic!("as told"),
            Work::UntilCancelled => cancel.cancelled().await,
            Work::IgnoreCancel => std::future::pending().await,
        }
        self.note(format!("end {}", header.kind));
        Completion { ending: Ending::Succeeded("done"), change: Change::Usual, size: 4 }
    }

    async fn wind_up(&self) {}

    fn start(&self, work: &mut Work) {
        if let Work::Told(name) = work {
            self.note(format!("start {name}"));
        }
    }

    fn is_quick(&self, work: &Work) -> bool {
        matches!(work, Work::QuickReply | Work::QuickPanic | Work::QuickReplyAfter(_))
    }

    fn emit(&self, event: Event<&'static str>) {
        match event {
            Event::Answered { header, outcome, replay, .. } => {
                let how = if replay == Replay::Replayed { "replay" } else { "answer" };
                self.note(format!("{how} {} {}", header.kind, outcome.error().unwrap_or_else(|| "ok".to_owned())));
                if let Some(answered) = self.answered.get() {
                    answered.send(header.kind.to_string()).expect("it is heard");
                }
            }
            Event::Refused { header, refusal, .. } => self.note(format!("refuse {} {refusal}", header.kind)),
            Event::Announced(announcement) => {
                let phase = match announcement.phase {
                    Phase::Accepted => "accepted",
                    Phase::Started => "started",
                    Phase::Finished { .. } => "finished",
                };
                self.note(format!("{phase} {}", announcement.header.kind));
            }
            Event::Belated { header, .. } => self.note(format!("belated {}", header.kind)),
            Event::JournalLost { error } => self.note(format!("journal lost: {error}")),
            Event::JournalBack => self.note("journal back".to_owned()),
            Event::Drained => self.note("drained".to_owned()),
        }
    }
}

impl Log {
    fn note(&self, line: String) {
        self.lines.lock().expect("nobody panics with the lock held").push(line);
    }
}

/// A journal in memory that takes its time and fails on command.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Pages>>);

#[derive(Default)]
struct Pages {
    records: Vec<(Sequence, Record<&'static str>)>,
    batches: Vec<usize>,
    delay: u64,
    full: bool,
    panics: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("no space left")]
struct Full;

impl Journal<&'static str> for Memory {
    type Error = Full;

    async fn append(&mut self, records: Vec<(Sequence, Record<&'static str>)>) -> Result<(), Full> {
        let delay = self.0.lock().expect("nobody panics with the lock held").delay;
        sleep(Duration::from_millis(delay)).await;
        let mut pages = self.0.lock().expect("nobody panics with the lock held");
        assert!(!pages.panics, "as told");
        if pages.full {
            return Err(Full);
        }
        pages.batches.push(records.len());
        pages.records.extend(records);
        assert!(pages.records.is_sorted_by_key(|(sequence, _)| *sequence), "a place in the journal is taken once");
        Ok(())
    }

    async fn forget(&mut self, _: Vec<Ticket>) -> Result<(), Full> {
        Ok(())
    }

    async fn recover(&mut self) -> Result<(), Full> {
        if self.0.lock().expect("nobody panics with the lock held").full { Err(Full) } else { Ok(()) }
    }
}

struct Rig {
    log: Arc<Log>,
    journal: Memory,
    mailbox: Mailbox<Work, &'static str>,
    task: JoinHandle<()>,
    next: u64,
}

impl Rig {
    fn new() -> Self {
        Self::with(Memory::default())
    }

    fn with(journal: Memory) -> Self {
        let log = Arc::new(Log::default());
        let (retry, start) = (Duration::from_secs(1), Time(1_000_000));
        let is_full = journal.0.lock().expect("nobody panics with the lock held").full;
        let trouble = is_full.then(|| Full.to_string());
        let options = Options { mailbox: 4, retry, start, opened: Vec::new(), trouble };
        let records = journal.0.lock().expect("nobody panics with the lock held").records.clone();
        let mut effects = Vec::new();
        let engine = Engine::restore(Config::standard(), options.start, records, &mut effects);
        let (mailbox, task) = spawn(engine, effects, Arc::clone(&log), journal.clone(), options);
        Self { log, journal, mailbox, task, next: 0 }
    }

    /// Sends a command to session `s`: its kind is its id, and says what order it keeps.
    async fn send(&mut self, kind: &str, work: Work) {
        self.send_to("s", kind, work).await;
    }

    /// The same to another session.
    async fn send_to(&mut self, session: &str, kind: &str, work: Work) {
        self.next += 1;
        let (order, access, limit) = match kind.split('.').next() {
            Some("run") => (Order::Work(Span::Long), Access::Write, Limit::Unlimited),
            Some("read") => (Order::Work(Span::Short), Access::Read, Limit::Brief),
            _ => (Order::Work(Span::Short), Access::Write, Limit::Normal),
        };
        let header = Header {
            principal: "somebody".into(),
            client: "client".into(),
            id: Some(kind.into()),
            key: None,
            kind: kind.into(),
            fingerprint: Fingerprint([0; 32]),
            lane: Lane::Session(session.into()),
            about: None,
            order,
            access,
            limit,
            depends_on: Vec::new(),
            if_version: None,
        };
        let admission = Admission { request: Request(self.next), header, command: work };
        self.mailbox.admit(admission).await.expect("the driver runs");
    }

    /// Lets everything happen that happens within `milliseconds`.
    async fn pass(&self, milliseconds: u64) {
        sleep(Duration::from_millis(milliseconds)).await;
    }

    /// What was noted since the last look.
    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lines.lock().expect("nobody panics with the lock held"))
    }

    fn pages<T>(&self, look: impl FnOnce(&mut Pages) -> T) -> T {
        look(&mut self.journal.0.lock().expect("nobody panics with the lock held"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_is_recorded_run_recorded_and_answered() {
    let mut rig = Rig::new();
    rig.pages(|pages| pages.delay = 10);
    rig.send("write", Work::Reply).await;
    rig.pass(5).await;
    assert_eq!(rig.heard(), [""; 0], "nothing is told before the acceptance is durable");
    rig.pass(10).await;
    assert_eq!(rig.heard(), ["accepted write", "started write", "run write", "end write"]);
    rig.pass(10).await;
    assert_eq!(rig.heard(), ["finished write", "answer write ok"]);
}

#[tokio::test(start_paused = true)]
async fn commands_start_in_their_order_and_before_any_of_them_runs() {
    let mut rig = Rig::new();
    for (session, name) in [("s", "first"), ("t", "second"), ("u", "third")] {
        rig.send_to(session, &format!("read.{name}"), Work::Told(name)).await;
    }
    rig.pass(5).await;
    let heard = rig.heard();
    let is_told = |line: &&str| line.starts_with("start ") || line.starts_with("run ");
    let told: Vec<&str> = heard.iter().map(String::as_str).filter(is_told).collect();
    let expected =
        ["start first", "start second", "start third", "run read.first", "run read.second", "run read.third"];
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn records_that_gather_while_one_is_written_share_the_next_batch() {
    let mut rig = Rig::new();
    rig.pages(|pages| pages.delay = 10);
    for kind in ["write.1", "write.2", "write.3", "write.4", "write.5"] {
        rig.send(kind, Work::Reply).await;
    }
    rig.pass(1_000).await;
    let batches = rig.pages(|pages| pages.batches.clone());
    assert_eq!(batches[..2], [1, 5], "with the end of the first command: {batches:?}");
    assert_eq!(batches.iter().sum::<usize>(), 10);
    assert_eq!(rig.heard().iter().filter(|line| line.starts_with("answer")).count(), 5);
}

#[tokio::test(start_paused = true)]
async fn clients_that_begin_apart_share_their_waits_for_a_slow_disk() {
    const CLIENTS: usize = 20;
    const COMMANDS: usize = 10;
    const DISK: u64 = 4;
    let mut rig = Rig::new();
    rig.pages(|pages| pages.delay = DISK);
    let (sender, mut answered) = mpsc::unbounded_channel();
    rig.log.answered.set(sender).expect("nobody else hears");
    let began = Instant::now();
    for client in 0..CLIENTS {
        if client == CLIENTS / 2 {
            // The others are at the disk by now.
            rig.pass(DISK / 2).await;
        }
        rig.send_to(&client.to_string(), &format!("write.{client}.1"), Work::Reply).await;
    }
    let mut left = CLIENTS * COMMANDS;
    while left > 0 {
        let kind = answered.recv().await.expect("the driver runs");
        left -= 1;
        let mut parts = kind.split('.').skip(1);
        let client = parts.next().expect("a client").to_owned();
        let count: usize = parts.next().and_then(|count| count.parse().ok()).expect("a number");
        if count < COMMANDS {
            rig.send_to(&client, &format!("write.{client}.{}", count + 1), Work::Reply).await;
        }
    }
    let took = began.elapsed().as_millis();
    let alone = u128::from(DISK) * 2 * COMMANDS as u128;
    let batches = rig.pages(|pages| pages.batches.clone());
    assert!(took <= alone + alone / 4, "{took} ms, where one alone takes {alone}: {batches:?}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_fails_its_command_and_frees_the_lane() {
    let mut rig = Rig::new();
    rig.send("write.1", Work::Panic).await;
    rig.send("write.2", Work::Reply).await;
    rig.pass(1).await;
    let heard = rig.heard();
    assert!(heard.contains(&"answer write.1 Command 'write.1' failed: its handler panicked".to_owned()), "{heard:?}");
    assert!(heard.contains(&"answer write.2 ok".to_owned()), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn quick_work_is_told_like_any_other() {
    let mut rig = Rig::new();
    rig.send("read.1", Work::QuickReply).await;
    rig.pass(1).await;
    let told = ["accepted read.1", "started read.1", "run read.1", "end read.1", "finished read.1", "answer read.1 ok"];
    assert_eq!(rig.heard(), told);
    rig.send("write.2", Work::QuickReply).await;
    rig.pass(1).await;
    assert_eq!(rig.heard().last().unwrap(), "answer write.2 ok");
    assert_eq!(rig.pages(|pages| pages.records.len()), 2);
}

#[tokio::test(start_paused = true)]
async fn quick_work_that_waits_or_panics_holds_nobody_up() {
    let mut rig = Rig::new();
    rig.send("read.1", Work::QuickReplyAfter(20)).await;
    rig.send("read.2", Work::QuickPanic).await;
    rig.send("read.3", Work::QuickReply).await;
    rig.pass(10).await;
    let answered = |heard: Vec<String>| heard.into_iter().filter(|line| line.starts_with("answer")).collect::<Vec<_>>();
    assert_eq!(answered(rig.heard()), [""; 0], "a lane keeps its order");
    rig.pass(20).await;
    let panicked = "answer read.2 Command 'read.2' failed: its handler panicked";
    assert_eq!(answered(rig.heard()), ["answer read.1 ok", panicked, "answer read.3 ok"]);
}

#[tokio::test(start_paused = true)]
async fn quick_work_that_does_not_end_is_killed() {
    let mut rig = Rig::new();
    rig.send("read.1", Work::QuickReplyAfter(100_000_000)).await;
    rig.pass(100_000).await;
    let heard = rig.heard();
    assert_eq!(heard.last().unwrap(), "answer read.1 Command 'read.1' timed out after 30000ms");
    rig.send("read.2", Work::QuickReply).await;
    rig.pass(1).await;
    assert_eq!(rig.heard().last().unwrap(), "answer read.2 ok");
}

#[tokio::test(start_paused = true)]
async fn work_that_ignores_its_cancellation_is_killed_and_frees_the_lane() {
    let mut rig = Rig::new();
    rig.send("write.1", Work::IgnoreCancel).await;
    rig.send("write.2", Work::Reply).await;
    rig.pass(60_001).await;
    assert_eq!(rig.heard().last().unwrap(), "answer write.1 Command 'write.1' timed out after 60000ms");
    rig.pass(5_000).await;
    assert_eq!(rig.heard().last().unwrap(), "answer write.2 ok");
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_refuses_writes_lets_reads_pass_and_recovers() {
    let mut rig = Rig::new();
    rig.send("write.1", Work::ReplyAfter(100)).await;
    rig.pass(1).await;
    rig.pages(|pages| pages.full = true);
    rig.pass(200).await;
    let lost = "answer write.1 Durable journal append failed for command 'write.1': no space left";
    let heard = rig.heard();
    assert_eq!(heard[heard.len() - 3..], ["journal lost: no space left", "finished write.1", lost]);
    rig.send("write.2", Work::Reply).await;
    rig.send("read.1", Work::Reply).await;
    rig.pass(1).await;
    let heard = rig.heard();
    assert_eq!(heard[0], format!("refuse write.2 {}", Refusal::JournalUnavailable));
    assert_eq!(heard.last().unwrap(), "answer read.1 ok");
    rig.pages(|pages| pages.full = false);
    rig.pass(2_000).await;
    rig.send("write.2", Work::Reply).await;
    rig.send("write.1", Work::Reply).await;
    rig.pass(1).await;
    let heard = rig.heard();
    assert_eq!(heard[0], "journal back");
    assert!(heard.contains(&"answer write.2 ok".to_owned()), "{heard:?}");
    assert!(heard.contains(&lost.replace("answer", "replay")), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_panics_is_a_journal_that_fails() {
    let mut rig = Rig::new();
    rig.pages(|pages| pages.panics = true);
    rig.send("write", Work::Reply).await;
    rig.pass(1).await;
    rig.send("read", Work::Reply).await;
    rig.pass(1).await;
    let heard = rig.heard();
    assert_eq!(heard[..2], ["journal lost: the journal panicked", "refuse write Durable journal is not available"]);
    assert_eq!(heard.last().unwrap(), "answer read ok");
}

#[tokio::test(start_paused = true)]
async fn shutdown_lets_work_end_then_ends_it() {
    let mut rig = Rig::new();
    rig.send("write.1", Work::ReplyAfter(100)).await;
    rig.send("run.2", Work::UntilCancelled).await;
    rig.pass(1).await;
    rig.mailbox.shut_down(Duration::from_millis(999)).await.unwrap();
    rig.send("write.3", Work::Reply).await;
    rig.pass(500).await;
    let heard = rig.heard();
    assert!(heard.contains(&"refuse write.3 Server is shutting down".to_owned()), "{heard:?}");
    assert!(heard.contains(&"answer write.1 ok".to_owned()), "{heard:?}");
    rig.pass(1_000).await;
    let heard = rig.heard();
    assert_eq!(heard[heard.len() - 2..], [format!("answer run.2 {}", Failure::ShutDown), "drained".to_owned()]);
    rig.task.await.unwrap();
    assert_eq!(rig.mailbox.changed("s".into()).await, Err(Ended));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_mailbox_ends_the_engine() {
    let mut rig = Rig::new();
    rig.send("run", Work::IgnoreCancel).await;
    rig.pass(1).await;
    let Rig { log, mailbox, task, .. } = rig;
    drop(mailbox);
    task.await.unwrap();
    let heard = std::mem::take(&mut *log.lines.lock().expect("nobody panics with the lock held"));
    assert_eq!(heard[heard.len() - 2..], [format!("answer run {}", Failure::ShutDown), "drained".to_owned()]);
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_answers_replay_and_unfinished_work_is_not_run_again() {
    let mut rig = Rig::new();
    rig.send("write.1", Work::Reply).await;
    rig.pass(1).await;
    rig.send("run.2", Work::IgnoreCancel).await;
    rig.pass(1).await;
    rig.task.abort();
    assert!(rig.task.await.unwrap_err().is_cancelled());
    let mut rig = Rig::with(rig.journal);
    rig.send("write.1", Work::Reply).await;
    rig.send("run.2", Work::Reply).await;
    rig.pass(1).await;
    let replays: Vec<_> = rig.heard().into_iter().filter(|line| !line.starts_with("accepted")).collect();
    let recovered = format!("replay run.2 {}", Failure::Recovered);
    assert_eq!(replays, ["finished write.1", "replay write.1 ok", "finished run.2", recovered.as_str()]);
}

#[tokio::test(start_paused = true)]
async fn disk_that_is_full_at_the_start_lets_answers_replay_and_recovers() {
    let mut rig = Rig::new();
    rig.send("write", Work::Reply).await;
    rig.pass(10).await;
    rig.send("run", Work::IgnoreCancel).await;
    rig.pass(10).await;
    rig.task.abort();
    rig.pages(|pages| pages.full = true);
    let mut rig = Rig::with(rig.journal.clone());
    rig.send("write", Work::Reply).await;
    rig.send("more", Work::Reply).await;
    rig.pass(10).await;
    assert_eq!(
        rig.heard(),
        [
            "journal lost: no space left",
            "accepted write",
            "finished write",
            "replay write ok",
            "refuse more Durable journal is not available"
        ]
    );
    rig.pages(|pages| pages.full = false);
    rig.pass(1_100).await;
    assert_eq!(rig.heard(), ["journal back"]);
    // What was cut short is recorded as such, and once.
    let ends = |pages: &mut Pages| {
        pages.records.iter().filter(|(_, record)| matches!(record, Record::Finished { .. })).count()
    };
    assert_eq!(rig.pages(ends), 2);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_arrives_with_the_end_is_refused_not_lost() {
    let mut rig = Rig::new();
    rig.mailbox.shut_down(Duration::ZERO).await.expect("the engine runs");
    rig.send("write", Work::Reply).await;
    rig.pass(1).await;
    assert_eq!(rig.heard(), [format!("refuse write {}", Refusal::ShutDown), "drained".to_owned()]);
}

#[tokio::test(start_paused = true)]
async fn load_and_versions_can_be_looked_at() {
    let mut rig = Rig::new();
    rig.mailbox.opened("s".into()).await.expect("the engine runs");
    rig.send("write.1", Work::Reply).await;
    rig.pass(1).await;
    rig.send("run.2", Work::UntilCancelled).await;
    rig.pass(1).await;
    let load = rig.mailbox.load().await.expect("the engine runs");
    assert_eq!((load.in_flight, load.running, load.outcomes), (1, 1, 1));
    assert_eq!(rig.mailbox.version("s".into()).await, Ok(Some(1)));
    assert_eq!(rig.mailbox.version("t".into()).await, Ok(None));
}
