//! What a turn costs beyond the model: the demo model answers inside this process, and at once.
//!
//! `turn/run` is everything from what is said to its answer; the file is in memory where there is a file system in memory,
//! so that a sync costs nothing. `turn/model` is the model alone, asked for the same. What lies between them is printed as
//! `overhead`, from samples that were taken in turns.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock and makes the folders that it works in")]

use std::{
    hint::black_box,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use criterion::{Criterion, criterion_group, criterion_main};
use pi_envelope::{Origin, Prompt, Provenance, Said};
use pi_exthost::{Guests, port::Mode};
use pi_policy::{Moment, Policy};
use pi_provider::{
    Catalog, Options,
    catalog::Source,
    client::{Client, Settings as ClientSettings},
    credential::AuthFile,
    transport::Network,
};
use pi_redact::{Evidence, Options as Redaction, Personal, Redactor};
use pi_session::{
    Beginning, Blueprint, Ending, Lapse, Owner, Prompted, Session, Storage, cut, file,
    input::{self, Composer, ImageRule, Mentions},
    models::{Keys, Models},
    offer::ActiveTools,
    queue::{Delivery, Saying},
    resources::{Discovery, Places, Resources},
    retry::RetrySettings,
    settings::trust::Trust,
    start,
};
use pi_tools::{
    Environment, Images, Registry, Settings, Shell, Workspace,
    files::{FileQueue, Folders},
};
use pi_transcript::{Header, Message, SessionId, ThinkingLevel};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

/// Turns of one conversation; the model is compared at the middle of it.
const TURNS: usize = 10;
/// Conversations for the difference.
const CONVERSATIONS: usize = 40;

struct Stage {
    runtime: Runtime,
    folder: TempDir,
    models: Models,
}

impl Stage {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        std::fs::create_dir_all(folder.path().join("project")).unwrap();
        let keys = Keys {
            environment: Arc::new(|_| None),
            auth_file: AuthFile::none(),
            explicit: None,
            now: || std::time::SystemTime::UNIX_EPOCH,
        };
        let client = Client::new(ClientSettings::new(Network::default()));
        let models = Models::new(Catalog::load(&[Source::built_in()]), client, keys);
        Self { runtime: Builder::new_current_thread().enable_all().build().unwrap(), folder, models }
    }

    /// A conversation in a file of its own, as the binary has it but for its system prompt.
    fn session(&self) -> Session {
        let project = self.folder.path().join("project");
        let name = format!("{:016x}.jsonl", fastrand::u64(..));
        let id = SessionId::from("s");
        let header = Header::new(id.clone(), "2026-11-16T00:00:00.000Z", project.to_string_lossy());
        let opened = file::create(&self.folder.path().join(name), header, fastrand::Rng::new());
        let folders = Folders { project: project.clone(), home: None, agent: None, ..Folders::default() };
        let settings = Settings {
            shell: Shell::default(),
            environment: Environment::default(),
            temporary: self.folder.path().to_owned(),
            redactor: Arc::new(Redactor::default()),
            images: Images::Scaled,
        };
        let places = Places::usual(None, None, project, Trust::Trusted);
        let redaction = Redaction { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Keep };
        let redactor = Arc::new(Redactor::new(redaction));
        let composer = Composer {
            places,
            resources: Resources::default(),
            redactor: Arc::clone(&redactor),
            pictures: Box::new(input::as_it_is),
            mentions: Mentions::Keep,
            images: ImageRule::Send,
            skills: Discovery::Off,
        };
        let blueprint = Blueprint {
            id,
            models: self.models.clone(),
            own_models: Vec::new(),
            scope: pi_session::models::scope::Scope::default(),
            choice: self.models.find("demo").unwrap(),
            thinking: ThinkingLevel::Off,
            policy: Arc::new(Policy::default()),
            redactor,
            tools: Registry::built_in(),
            active_tools: ActiveTools::Usual(Vec::new()),
            workspace: Arc::new(Workspace::new(folders.places().unwrap(), settings, Arc::new(FileQueue::default()))),
            shell: None,
            system: Arc::default(),
            guests: Arc::new(Guests::none()),
            mode: Mode::Print,
            lapse: Lapse::Never,
            is_project_trusted: true,
            retry: RetrySettings::default(),
            compaction: cut::Settings::default(),
            steering: Delivery::OneAtATime,
            follow_up: Delivery::OneAtATime,
            server_wait: Duration::from_secs(10),
            composer: Arc::new(composer),
            beginning: Beginning::Startup,
            owner: Owner::Nobody,
            storage: Storage::File(Box::new(opened)),
            now: || Moment::from_unix_millis(1_794_787_200_000),
        };
        start(blueprint)
    }

    /// A conversation from its first to its last turn, and how long its turns took.
    async fn converse(&self) -> (Session, Duration) {
        let session = self.session();
        let begin = Instant::now();
        for _ in 0..TURNS {
            let saying = Saying::new(Message::user("hello", 0));
            assert_eq!(session.prompt(saying).await.unwrap(), Prompted::Ran(Ending::Done));
        }
        let took = begin.elapsed();
        (session, took)
    }

    /// What the model is given in the middle of a conversation.
    fn prompt(&self) -> Prompt {
        let spoken = self.runtime.block_on(async {
            let (session, _) = self.converse().await;
            session.messages().await.unwrap()
        });
        let said = spoken.into_iter().take(TURNS);
        let said = said.map(|(id, message)| Said::new(id, message, Provenance::usual(Origin::User)));
        Prompt { system: Vec::new(), messages: said.collect(), tools: Vec::new() }
    }

    /// One answer of the model to its end.
    async fn ask(&self, prompt: &Prompt) -> Duration {
        let choice = self.models.find("demo").unwrap();
        let begin = Instant::now();
        let cancel = CancellationToken::new();
        let mut answer = self.models.ask(&choice, prompt, &Options::plain(), None, &cancel).await.unwrap();
        while let Some(event) = answer.next().await {
            black_box(event.unwrap());
        }
        begin.elapsed()
    }
}

fn turn(criterion: &mut Criterion) {
    let stage = Stage::new();
    let prompt = stage.prompt();
    print_difference(&stage, &prompt);
    let mut group = criterion.benchmark_group("turn");
    group.bench_function("run", |bencher| {
        bencher.iter_custom(|turns| {
            let conversations = u32::try_from(turns).unwrap();
            let one = || stage.runtime.block_on(async { stage.converse().await.1 });
            (0..conversations).map(|_| one()).sum::<Duration>() / u32::try_from(TURNS).unwrap()
        });
    });
    group.bench_function("model", |bencher| {
        bencher.iter_custom(|answers| (0..answers).map(|_| stage.runtime.block_on(stage.ask(&prompt))).sum());
    });
    group.finish();
}

#[expect(clippy::print_stdout, reason = "read from the output of the bench by `cargo xtask bench`")]
fn print_difference(stage: &Stage, prompt: &Prompt) {
    let (mut turns, mut answers) = (Vec::new(), Vec::new());
    for _ in 0..CONVERSATIONS {
        stage.runtime.block_on(async {
            turns.push(stage.converse().await.1 / u32::try_from(TURNS).unwrap());
            answers.push(stage.ask(prompt).await);
        });
    }
    let overhead = median(turns).saturating_sub(median(answers));
    println!("metric turn/overhead {} ns", overhead.as_nanos());
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

criterion_group!(benches, turn);
criterion_main!(benches);
