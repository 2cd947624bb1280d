//! `pi "…"` and `pi -p "…"`: a conversation with the agent, in which it works with tools.

mod choice;
#[cfg(unix)]
mod hangup;
mod interactive;
mod lines;
mod lingering;
mod notes;
mod pipe;
mod print;
pub(crate) mod stop;
mod trust;

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use pi_exthost::port;
use pi_session::{
    Beginning, Session, Storage,
    input::{
        InputError, Mentions, Utterance,
        complete::{called, nearest},
    },
};
use pi_terminal::Draft;

use tokio::time::timeout;

use self::{
    choice::Seated,
    interactive::{Again, Chair, Left, Opening},
    print::{Keeping, Plan},
    stop::Stops,
    trust::Decided,
};
use crate::{
    arguments::{
        self,
        talk::{Mode, TalkArguments},
    },
    command::ext::project_trust,
    compiling::tell_while,
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
    input,
    providers::Providers,
    runtime,
    workshop::{
        self, Entrance, Ground, Rules, Started, Workshop,
        model::{Answering, Otherwise},
        seat::{self, Seat},
    },
};

/// How long nothing is said of what is waited for.
const SILENCE: Duration = Duration::from_secs(1);

pub(crate) fn run(
    arguments: &TalkArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let words = Words::of(arguments, pipe::read()?)?;
    let audience = Audience::of(arguments);
    if words.is_empty() && audience == Audience::Reader && !arguments.session.resume {
        let valued = arguments.extensions.extension_flag.iter().rfind(|flag| flag.contains('=')).cloned();
        return Err(SessionFailure::NothingToSay { valued }.into());
    }
    if audience == Audience::Person {
        console.hold_notes();
    }
    let outcome = lead(arguments, words, audience, environment, console);
    console.release_notes();
    outcome
}

fn lead(
    arguments: &TalkArguments,
    words: Words,
    audience: Audience,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let runtime = runtime::start()?;
    let mut start = Start::First(words);
    loop {
        match runtime.block_on(sit(arguments, start, audience, environment, console))? {
            Left::Ended(exit) => return Ok(exit),
            Left::Anew(again) => start = Start::Anew(again),
        }
    }
}

/// Why somebody sits down.
enum Start {
    First(Words),
    /// The project is trusted now, and everything is read anew for the same conversation.
    Anew(Box<Again>),
}

/// Reads everything, and talks until that is over.
async fn sit(
    arguments: &TalkArguments,
    start: Start,
    audience: Audience,
    environment: &Environment,
    console: &mut Console,
) -> Result<Left, Failure> {
    let survey = || Ok::<_, Failure>(Ground::survey(environment)?.scoped(&arguments.who.models, environment));
    let mut ground = survey()?;
    let policy = workshop::policy(environment)?;
    let is_first_for_a_person = audience == Audience::Person && matches!(start, Start::First(_));
    let heard = project_trust::ask(&ground, &arguments.extensions, environment).await.unwrap_or_default();
    heard.notes.iter().for_each(|note| console.note(note));
    if let Some(decided) = heard.decided {
        ground = ground.settled(decided, environment);
    }
    if is_first_for_a_person {
        match trust::ask(&ground, environment).await? {
            Decided::Now => ground = survey()?,
            Decided::Not => {}
            Decided::Terminated => return Ok(Left::Ended(Exit::Terminated)),
        }
    }
    ground.tell(console);
    if is_first_for_a_person {
        ground.tell_theme(console);
    }
    trust::note(&ground, audience.way_to_trust(), environment, console);
    if arguments.session.resume && audience == Audience::Reader {
        return Err(seat::nobody_chooses(&arguments.session, &ground, environment)?);
    }
    let mut providers = Providers::load(&arguments.who.sources, environment, console)?;
    let project = seat::project(arguments.session.kept.session_dir.as_deref(), &ground, environment)
        .filter(|_| !arguments.session.no_session);
    let (seat, answering, opening) = match start {
        Start::First(words) => {
            let seat = match choice::seat(&arguments.session, &ground, environment, console).await? {
                Seated::At(seat) => *seat,
                Seated::Gone(exit) => return Ok(Left::Ended(exit)),
            };
            let (who, settings) = (&arguments.who, &ground.settings);
            let who = match audience {
                Audience::Person => {
                    Answering::decide_or_read(who, &seat.past, settings, &mut providers, console).await?
                }
                Audience::Reader => {
                    Answering::decide(who, &seat.past, settings, Otherwise::Another, &mut providers, console).await?
                }
            };
            words.doubt(console);
            let is_quiet = ground.settings.quiet_startup;
            let heading = (!is_quiet).then(|| format!("pi {}", arguments::VERSION));
            (
                seat,
                who,
                Opening {
                    sayings: words.into_utterances(),
                    draft: Draft::default(),
                    heading,
                    done: None,
                    is_on_screen: false,
                },
            )
        }
        Start::Anew(again) => again.open(project.as_ref(), &ground, console)?,
    };
    let rules = Rules { policy, mentions: audience.mentions() };
    let workshop = Workshop::open(&arguments.kit(), &ground, rules, providers, &answering, environment, console)?;
    let answering = answering.unless_alone(&workshop)?;
    let furnished = workshop.furnished();
    for said in &opening.sayings {
        match furnished.composer.check(said) {
            // Extensions may bring it, which is known when they run.
            Err(InputError::UnknownSkill { .. }) if workshop.has_extensions() => {}
            checked => checked.map_err(SessionFailure::Input)?,
        }
        // Extensions may have commands of that name, which are known when they run.
        if !workshop.has_extensions()
            && let Some(failure) = uncalled(said, &workshop, &[])
        {
            return Err(failure.into());
        }
    }
    if opening.done.is_none() {
        answering.introduce(console);
    }
    match audience {
        Audience::Person => {
            let chair = Chair { workshop: Arc::new(workshop), ground: &ground, project, environment };
            chair.talk(seat, answering, opening, console).await
        }
        Audience::Reader => {
            print(arguments, seat, &answering, &workshop, opening.sayings, console).await.map(Left::Ended)
        }
    }
}

/// What somebody called with a `/` and what there is not, neither among templates nor among these `commands` of
/// extensions. A path that is there is no call.
fn uncalled(said: &Utterance, workshop: &Workshop, commands: &[String]) -> Option<SessionFailure> {
    let name = called(&said.text).filter(|name| !name.starts_with("skill:"))?;
    let furnished = workshop.furnished();
    let resources = &furnished.composer.resources;
    let is_command = commands.iter().any(|command| command == name);
    if is_command || resources.template(name).is_some() || Path::new("/").join(name).exists() {
        return None;
    }
    let templates = resources.templates.iter().map(|template| template.name.as_str());
    let known = templates.chain(commands.iter().map(String::as_str));
    let nearest = nearest(name, known).first().map(|name| (*name).to_owned());
    Some(SessionFailure::NoSuchTemplate { name: name.to_owned(), nearest })
}

/// The same for all that is to be said in a session, whose extensions run.
async fn uncalled_of(
    session: &Session,
    workshop: &Workshop,
    sayings: &[Utterance],
) -> Result<Option<SessionFailure>, Failure> {
    if sayings.iter().any(|said| uncalled(said, workshop, &[]).is_some()) {
        // Extensions may bring it when they hear that the session has begun; nobody is here whom they could ask meanwhile.
        session.begun().await.map_err(SessionFailure::Gone)?;
    }
    let commands = session.commands().await.map_err(SessionFailure::Gone)?;
    let commands: Vec<String> = commands.into_iter().map(|command| command.definition.name).collect();
    Ok(sayings.iter().find_map(|said| uncalled(said, workshop, &commands)))
}

/// Says everything, and prints what comes of it.
async fn print(
    arguments: &TalkArguments,
    mut seat: Seat,
    answering: &Answering,
    workshop: &Workshop,
    sayings: Vec<Utterance>,
    console: &mut Console,
) -> Result<Exit, Failure> {
    seat.note(answering);
    let keeping = match seat.storage {
        Storage::Memory => Keeping::Nothing,
        Storage::File(_) if seat.is_unwritable() => Keeping::InVain,
        Storage::File(_) => Keeping::File,
    };
    let header = seat.header.clone();
    let client = match arguments.mode {
        Mode::Text => port::Mode::Print,
        Mode::Json => port::Mode::Json,
    };
    let (owner, wishes) = pi_session::owner();
    let entrance = Entrance { mode: client, beginning: Beginning::Startup, owner };
    // Extensions and servers may take long to start, and whoever cannot wait for them leaves nothing behind.
    let mut stops = Stops::listen().map_err(Failure::NoRuntime)?;
    let started = tokio::select! {
        started = patiently(workshop.start(seat, answering, entrance, None), workshop, console) => started,
        stop = stops.next() => return Err(Failure::Stopped(stop)),
    };
    let Started { session, notes, unmet } = started;
    notes.iter().for_each(|note| console.note(note));
    // The run waits for the printer: of what is printed nothing may be missing.
    let (_, events) = session.subscribe_in_full().await.map_err(SessionFailure::Gone)?;
    let uncalled = uncalled_of(&session, workshop, &sayings).await?;
    if let Some(failure) = unmet.or(uncalled) {
        session.close().await.map_err(SessionFailure::Gone)?;
        return Err(failure.into());
    }
    match arguments.mode {
        Mode::Text => print::answer(Plan { session, events, keeping, sayings, wishes, stops }, console).await,
        Mode::Json => print::events(Plan { session, events, keeping, sayings, wishes, stops }, &header, console).await,
    }
}

/// Waits for a session to begin, and says what for if that takes long.
async fn patiently(starting: impl Future<Output = Started>, workshop: &Workshop, console: &mut Console) -> Started {
    let mut starting = pin!(starting);
    if let Ok(started) = timeout(SILENCE, starting.as_mut()).await {
        return started;
    }
    let servers = workshop.servers();
    if !servers.is_empty() {
        console.note(&format!("waiting for MCP servers: {}", servers.join(", ")));
    }
    tell_while(starting, workshop.stock(), console).await
}

/// Who is at the other end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// Somebody at a terminal who takes part.
    Person,
    /// Whoever reads what is printed.
    Reader,
}

impl Audience {
    fn of(arguments: &TalkArguments) -> Self {
        let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        let wants_print = arguments.print || arguments.mode == Mode::Json;
        if is_terminal && !wants_print { Audience::Person } else { Audience::Reader }
    }
}

impl Audience {
    /// How somebody says here that they trust a project.
    fn way_to_trust(self) -> &'static str {
        match self {
            Audience::Person => "/trust",
            Audience::Reader => "`pi trust`",
        }
    }

    /// What an `@name` in a text means.
    fn mentions(self) -> Mentions {
        match self {
            Audience::Person => Mentions::Attach,
            // A script may pass on what others wrote; only arguments name files here.
            Audience::Reader => Mentions::Keep,
        }
    }
}

/// What is to be said, as it was typed.
struct Words {
    messages: Vec<String>,
    /// Files that are attached to the first message.
    files: Vec<String>,
    piped: Option<String>,
}

impl Words {
    /// A `-` is what is piped in, which comes first in any case.
    fn of(arguments: &TalkArguments, piped: Option<String>) -> Result<Self, Failure> {
        let is_pipe = |word: &String| word == "-" || word == "@-";
        if piped.is_none() && arguments.messages.iter().any(is_pipe) {
            return Err(SessionFailure::NothingPiped.into());
        }
        let words: Vec<String> = arguments.messages.iter().filter(|word| !is_pipe(word)).cloned().collect();
        let (messages, files) = input::said_and_files(&words);
        Ok(Words { messages, files, piped })
    }

    /// Says so where somebody seems to have meant one message and forgotten the quotes.
    fn doubt(&self, console: &mut Console) {
        let count = self.messages.len();
        if count > 1 && self.messages.iter().all(|text| !text.contains(char::is_whitespace)) {
            let whole = self.messages.join(" ");
            console.note(&format!("these are {count} messages, said one after the other; one message is '{whole}'"));
        }
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.piped.is_none() && self.messages.iter().all(|text| text.trim().is_empty())
    }

    /// The messages in their order; what was piped in and the files belong to the first.
    fn into_utterances(self) -> Vec<Utterance> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut texts = self.messages.into_iter();
        let text = texts.next().unwrap_or_default();
        let opening = Utterance { text, files: self.files, piped: self.piped, images: Vec::new() };
        std::iter::once(opening).chain(texts.map(Utterance::new)).collect()
    }
}
