//! `pi serve`: the agent for clients, on a WebSocket or on standard input and output.

mod address;
mod check;
mod files;
mod floor;
mod shed;
mod shelf;
mod ticket;

use std::{
    cell::RefCell,
    fs::File,
    io::{self, IsTerminal as _, Read as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    thread,
    time::Duration,
};

use futures_util::{StreamExt as _, future::LocalBoxFuture, stream::FuturesUnordered};
use pi_provider::breaker::Breakers;
use pi_redact::{Evidence, Redactor};
use pi_server::{
    bustle::Busy,
    connection::{Identity, STDIO},
    door::{Door, NotLoopback, Rule},
    journal::{Earlier, JournalError},
    server::{Server, StartError},
    settings::{LogLevel, Origin, Problem, Resolved, Settings},
    transport::{http, stdio},
    workshop::Workshop,
};
use pi_session::Switch;
use tokio::{
    io::{AsyncWriteExt as _, BufReader, DuplexStream, duplex},
    runtime::Handle,
    sync::mpsc,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use self::{
    floor::{Cleared, Counter, Floor, Sent},
    shelf::Shelf,
};
use super::{
    config, journal,
    talk::stop::{Stop, Stops},
};
use crate::{
    arguments::serve::ServeArguments,
    browser,
    console::{Console, NOTE, Tone},
    env::Environment,
    exit::Exit,
    failure::{Failure, ServeFailure},
    log,
    providers::Providers,
    runtime,
    workshop::{
        Ground,
        model::{Answering, Otherwise},
        seat::{self, Past},
    },
};

/// Servers on standard input that may run beside each other for clients without a name.
const MOST_BESIDE: usize = 64;
/// What every system takes as the name of a file, with room for what stands before it.
const LONGEST_NAME: usize = 200;
/// How long clients have to read the last that is said to them.
const GOODBYE: Duration = Duration::from_secs(2);
/// How long nothing must be done until the code that was needed is given back.
const SETTLED: Duration = Duration::from_millis(500);
/// Bytes of standard input that are read before somebody takes them.
const AHEAD: usize = 1 << 16;

pub(crate) fn run(
    arguments: &ServeArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let agent = environment.agent_directory.as_deref().ok_or(ServeFailure::Homeless)?;
    let resolved = config::resolved(&arguments.settings, Some(agent), environment);
    if arguments.check_config {
        return runtime::start_many()?.block_on(check::check(arguments, resolved, environment, console));
    }
    let (level, form) = (resolved.settings.log.level, log::Form::of(resolved.settings.log.form));
    if arguments.ticket {
        let settings = settings(resolved, arguments, console)?;
        return runtime::start_many()?.block_on(ticket::print(&settings, console));
    }
    if form == log::Form::Json {
        // What would be said in words becomes lines of the log.
        console.hold_notes();
    }
    let ended = begin(resolved, arguments, form, environment, console);
    let ended = match ended {
        Err(failure) if form == log::Form::Json => {
            // It may have ended before it knew what to hide beyond what the environment says.
            let level = if level == LogLevel::Off { LogLevel::Error } else { level };
            drop(log::start(level, form, Arc::new(journal::redactor())));
            log_notes(console);
            let (error, hint) = (failure.told(), failure.hint());
            tracing::error!(hint, exit_code = failure.exit() as u8, "{error}");
            Ok(failure.exit())
        }
        ended => ended,
    };
    log_notes(console);
    console.release_notes();
    ended
}

/// Serves, if the settings can be used.
fn begin(
    resolved: Resolved,
    arguments: &ServeArguments,
    form: log::Form,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let settings = settings(resolved, arguments, console)?;
    closed_to_others(arguments, &settings)?;
    let runtime = runtime::start_many()?;
    let ended = runtime.block_on(serve(arguments, settings, form, environment, console));
    // Whoever reads nothing of our output cannot keep us here: it waits a moment.
    drop(runtime);
    ended
}

/// Without a token only this machine is served.
fn closed_to_others(arguments: &ServeArguments, settings: &Settings) -> Result<(), ServeFailure> {
    match settings.listen {
        Some(at) if arguments.insecure_no_auth && !at.ip().is_loopback() => {
            Err(ServeFailure::NotLoopback(NotLoopback(at)))
        }
        Some(_) | None => Ok(()),
    }
}

/// Puts what was said on the console into the log; what is odd is a warning there.
fn log_notes(console: &mut Console) {
    for note in console.take_notes() {
        match note.strip_prefix(NOTE) {
            Some(odd) => tracing::warn!("{}", odd.trim_start()),
            None => tracing::info!("{note}"),
        }
    }
}

/// With what the server starts: a limit that somebody meant and misspelt must not be passed over.
fn settings(resolved: Resolved, arguments: &ServeArguments, console: &mut Console) -> Result<Settings, ServeFailure> {
    let (settings, fatal) = sorted(resolved, arguments, console);
    if fatal.is_empty() { Ok(settings) } else { Err(ServeFailure::Settings { problems: fatal }) }
}

/// The settings, and what stops a server; what is only odd is told.
fn sorted(resolved: Resolved, arguments: &ServeArguments, console: &mut Console) -> (Settings, Vec<Problem>) {
    let Resolved { settings, rows, problems } = resolved;
    let (fatal, odd): (Vec<_>, Vec<_>) = problems.into_iter().partition(Problem::is_fatal);
    for problem in &odd {
        console.note(&problem.to_string());
    }
    // On pipes it listens only if that is said here and now.
    let is_said = rows.iter().any(|row| row.key.name == "listen" && matches!(row.origin, Origin::Flag(_)));
    let listen = settings.listen.filter(|_| !arguments.stdio || is_said);
    (Settings { listen, ..settings }, fatal)
}

/// What is known before anything is served.
struct Prepared {
    ground: Ground,
    redactor: Arc<Redactor>,
    /// Who answers where nobody chooses.
    model: String,
}

/// Reads everything that sessions are made of, so that what is wrong is said now and not to every client.
async fn prepare(
    arguments: &ServeArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Prepared, Failure> {
    let here = std::env::current_dir().map_err(crate::failure::SessionFailure::NoFolder)?;
    let ground = Ground::at(here.canonicalize().unwrap_or(here), environment);
    let ground = ground.scoped(&arguments.who.models, environment);
    ground.tell(console);
    let mut providers = Providers::load_at(&ground.directory, &arguments.who.sources, environment, console)?;
    let redactor = Arc::new(providers.redactor(Evidence::Literals));
    let nothing = Past { model: None, thinking: None, address: None };
    let answering =
        Answering::decide(&arguments.who, &nothing, &ground.settings, Otherwise::Another, &mut providers, console)
            .await?;
    answering.introduce(console);
    let model = answering.choice.name();
    floor::try_out(arguments, &ground, providers, answering, environment, console)?;
    Ok(Prepared { ground, redactor, model })
}

async fn serve(
    arguments: &ServeArguments,
    mut settings: Settings,
    form: log::Form,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let Prepared { ground, redactor, model } = prepare(arguments, environment, console).await?;
    log::start(settings.log.level, form, Arc::clone(&redactor)).map_err(ServeFailure::Log)?;
    console.share_error();
    files::raise_limit();
    let breakers = Breakers::new();
    seat::make_folder(arguments.kept.session_dir.as_deref(), &ground)?;
    let sessions = seat::project(arguments.kept.session_dir.as_deref(), &ground, environment);
    let sessions = sessions.map(|project| project.sessions);
    let (home, extensions) = (environment.agent_directory.clone(), extensions(arguments));
    let (counter, orders) =
        Counter::open(sessions, ground.directory.clone(), model, home, breakers.clone(), extensions);
    // Before anybody is told that we serve: whoever ends us from then on is heard.
    let stops = Stops::listen().map_err(ServeFailure::Signals)?;
    // Before anything is written: a port that is taken is the usual mistake.
    let socket = match settings.listen {
        Some(at) => Some(address::take(at, &settings).await?),
        None => None,
    };
    let counter = Arc::new(counter);
    let server = start(&mut settings, arguments, || (Arc::clone(&counter) as _, Arc::clone(&redactor)))?;
    let server = Arc::new(server);
    let (stop, closing) = (CancellationToken::new(), CancellationToken::new());
    let mut tasks = tokio::task::JoinSet::new();
    if let Some(socket) = socket {
        let at =
            socket.local_addr().map_err(|source| ServeFailure::Bind { at: SocketAddr::from(([0; 4], 0)), source })?;
        let rule = if arguments.insecure_no_auth { Rule::Anybody } else { Rule::Token };
        let door = Arc::new(server.door(rule, at).map_err(ServeFailure::Start)?);
        // Now that there is a token: whoever reaches the server can read it.
        let listener = address::listen(socket, at, &settings).await?;
        tracing::info!(%at, "listening");
        address::warn(at, console);
        if let Err(error) = address::remember(at, &settings) {
            tracing::warn!(%error, "where the server is cannot be written down; --ticket will not find it");
        }
        if !arguments.stdio {
            announce(at, &door, &settings, rule, console);
        }
        if arguments.open {
            open_page(&address::for_browsers(at, &settings), &door, rule, console);
        }
        // Whoever asks how we are is answered as long as there is somebody to answer.
        tasks.spawn(http::serve(Arc::clone(&server), door, listener, closing.clone()));
    } else if let Err(error) = address::forget(&settings) {
        tracing::warn!(%error, "the address of an earlier server is still written down");
    }
    if arguments.stdio {
        // Ids of an earlier process mean nothing to a program that does not say that it is the same.
        let name = arguments.client_id.clone().unwrap_or_else(|| format!("{:016x}", fastrand::u64(..)));
        let identity = Identity::new(STDIO, Some(&name));
        let client = server.enter(identity, arguments.lifecycle.into()).map_err(ServeFailure::Crowded)?;
        let (output, ended) = (stdout()?, stop.clone());
        let input = BufReader::new(stdin().map_err(ServeFailure::Input)?);
        tasks.spawn(stdio::serve(Arc::clone(&server), client, input, output, ended));
    }
    let floor = Floor { arguments, environment, breakers, shelf: Shelf::default(), trusted: RefCell::default() };
    log_notes(console);
    let shedding = tokio::spawn(shed::code_at(server.hall().bustle.lulls(SETTLED)));
    work(&floor, &server, orders, (&stop, stops), console).await;
    shedding.abort();
    closing.cancel();
    server.close().await;
    // What they still have to say is said; a client that does not read is not waited for.
    drop(timeout(GOODBYE, async { while tasks.join_next().await.is_some() {} }).await);
    Ok(Exit::Success)
}

/// Whether sessions can have extensions.
fn extensions(arguments: &ServeArguments) -> Switch {
    let arguments = &arguments.extensions;
    if arguments.no_extensions && arguments.extension.is_empty() { Switch::Off } else { Switch::On }
}

/// Makes sessions until somebody asks for the end, and then until every command has its answer. Whoever asks is heard whatever a
/// session is made of meanwhile: what is still being read when everything has its answer is given up.
async fn work(
    floor: &Floor<'_>,
    server: &Server,
    orders: mpsc::Receiver<Sent>,
    (stop, stops): (&CancellationToken, Stops),
    console: &mut Console,
) {
    let (asked, heard) = mpsc::channel(1);
    tokio::select! {
        () = make(floor, server, orders, heard, console) => {}
        () = end(server, stop, stops, asked) => {}
    }
}

/// Ends the server when somebody asks for it, and says who did. Returns when every command has its answer.
async fn end(server: &Server, stop: &CancellationToken, mut stops: Stops, asked: mpsc::Sender<Stop>) {
    tokio::select! {
        // There is room for one, and whoever tells of it runs as long as we do.
        signal = stops.next() => drop(asked.try_send(signal)),
        () = stop.cancelled() => {}
    }
    stop.cancel();
    server.drain().await;
    let mut ended = pin!(server.ended());
    loop {
        tokio::select! {
            _ = stops.next() => server.hurry().await,
            () = &mut ended => return,
        }
    }
}

/// Makes sessions, without an end.
///
/// What a session is made of is read here, one after the other: it is told on the console. Its extensions then begin beside
/// everything else, and none of them keeps others waiting.
async fn make(
    floor: &Floor<'_>,
    server: &Server,
    mut orders: mpsc::Receiver<Sent>,
    mut asked: mpsc::Receiver<Stop>,
    console: &mut Console,
) {
    let (mut clearing, mut beginning) = (FuturesUnordered::new(), FuturesUnordered::new());
    // Also for a command that only looks, where it finds a session asleep.
    let clear = |sent| {
        let busy = server.hall().bustle.enter();
        async move { (busy, floor.clear(sent).await) }
    };
    loop {
        tokio::select! {
            Some(sent) = orders.recv() => clearing.push(clear(sent)),
            Some((busy, cleared)) = clearing.next() => {
                beginning.extend(begin_session(floor, busy, cleared, console).await);
            }
            Some(notes) = beginning.next() => tell(&notes, console),
            Some(signal) = asked.recv() => {
                console.remark(&format!("{}: waiting for what is in flight; once more ends it now", signal.told()));
                log_notes(console);
            }
        }
    }
}

/// Reads what a session is made of. What is left of its beginning is handed back, and says what was odd about it.
async fn begin_session<'a>(
    floor: &Floor<'_>,
    busy: Busy<'a>,
    cleared: Cleared,
    console: &mut Console,
) -> Option<LocalBoxFuture<'a, Vec<String>>> {
    let begun = floor.serve(cleared, console).await;
    log_notes(console);
    let begun = begun?;
    Some(Box::pin(async move {
        let notes = begun.await;
        drop(busy);
        notes
    }))
}

/// Says what was odd about a session that began.
fn tell(notes: &[String], console: &mut Console) {
    notes.iter().for_each(|note| console.note(note));
    log_notes(console);
}

/// Starts the server in its folder. The one that listens has the usual folder. Those on standard input alone may run beside it
/// and beside each other: a client that has a name has a folder of its own, so that what it asked is known when it comes
/// again, and one without takes the first that is free and begins with an empty journal.
fn start(
    settings: &mut Settings,
    arguments: &ServeArguments,
    parts: impl Fn() -> (Arc<dyn Workshop>, Arc<Redactor>),
) -> Result<Server, ServeFailure> {
    if settings.listen.is_none() && arguments.client_id.is_none() {
        settings.earlier = Earlier::Removed;
    }
    let mut in_use = None;
    for folder in folders(settings, arguments) {
        settings.folder = folder;
        let (workshop, redactor) = parts();
        match Server::start(settings.clone(), workshop, redactor) {
            Err(StartError::Journal(error @ JournalError::InUse { .. })) => in_use = Some(error),
            started => return started.map_err(ServeFailure::Start),
        }
    }
    let error = in_use.unwrap_or(JournalError::Ended);
    Err(match (settings.listen, &arguments.client_id) {
        (None, Some(name)) => ServeFailure::SameClient { name: name.clone(), by: error },
        _ => ServeFailure::Start(StartError::Journal(error)),
    })
}

/// Where the server may keep what it keeps: in the first of these that is free.
fn folders(settings: &Settings, arguments: &ServeArguments) -> Vec<PathBuf> {
    let base = &settings.folder;
    match (settings.listen, &arguments.client_id) {
        (Some(_), _) => vec![base.clone()],
        (None, Some(name)) => vec![client_folder(base, name)],
        (None, None) => (1..=MOST_BESIDE).map(|number| base.join(format!("stdio-{number}"))).collect(),
    }
}

/// The folder of a client on standard input. Its name may hold what no file may be called, and be longer than one may be.
fn client_folder(base: &Path, name: &str) -> PathBuf {
    let plain = name.replace(':', "+");
    let pieces =
        plain.as_bytes().chunks(LONGEST_NAME).map(|piece| format!("client-{}", String::from_utf8_lossy(piece)));
    pieces.fold(base.to_owned(), |folder, piece| folder.join(piece))
}

/// Says where the server is and how to come in. Nobody but a person at a terminal is shown a ticket.
fn announce(at: SocketAddr, door: &Door, settings: &Settings, rule: Rule, console: &mut Console) {
    let address = format!("http://{at}");
    let painted = console.paint(Tone::Strong, &address);
    console.line(&format!("pi serves on {painted}"));
    match rule {
        Rule::Anybody => console.line("anybody on this machine may come in: there is no token"),
        Rule::Token => {
            console.line(&format!("the token is in {}", settings.token().display()));
            if io::stdout().is_terminal() {
                let ticket = door.ticket(pi_server::hall::now().0);
                let address = address::for_browsers(at, settings);
                console.line(&format!("for a browser, once: {address}/#ticket={}", ticket.reveal()));
            } else {
                console.line("for a browser: `pi serve --ticket` prints an address that lets it in once");
            }
        }
    }
    console.flush();
}

/// Shows the page to the person at this machine. The ticket stands in the arguments of the opener for a moment: whoever reads it there and is
/// quicker than the browser gets in, and the browser says that its ticket was used.
fn open_page(address: &str, door: &Door, rule: Rule, console: &mut Console) {
    let address = match rule {
        Rule::Anybody => format!("{address}/"),
        Rule::Token => format!("{address}/#ticket={}", door.ticket(pi_server::hall::now().0).reveal()),
    };
    match browser::open_address(&address) {
        Ok(browser::Opened::Yes) => {}
        Ok(browser::Opened::NoDisplay) => console.note("there is no screen here: open the address above in a browser"),
        Err(error) => console.note(&format!("no browser could be opened ({error}): open the address above yourself")),
    }
}

/// Standard input for the protocol. It is read on a thread of its own, for which nobody waits: a read ends when the other side
/// wants, and the runtime would wait for one of its own.
fn stdin() -> io::Result<DuplexStream> {
    let (mut taken, given) = duplex(AHEAD);
    let runtime = Handle::current();
    let read = move || {
        let (mut input, mut piece) = (io::stdin().lock(), vec![0; AHEAD]);
        loop {
            let bytes = match input.read(&mut piece) {
                Ok(0) => return,
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return tracing::warn!(%error, "standard input cannot be read"),
            };
            if runtime.block_on(taken.write_all(&piece[..bytes])).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("standard input".to_owned()).spawn(read)?;
    Ok(given)
}

/// Standard output for the protocol. The console holds the lock of the usual one for its whole life.
#[cfg(unix)]
fn stdout() -> Result<tokio::fs::File, ServeFailure> {
    use std::os::fd::AsFd as _;
    let copy = io::stdout().as_fd().try_clone_to_owned().map_err(ServeFailure::Output)?;
    Ok(tokio::fs::File::from_std(File::from(copy)))
}

#[cfg(windows)]
fn stdout() -> Result<tokio::fs::File, ServeFailure> {
    use std::os::windows::io::AsHandle as _;
    let copy = io::stdout().as_handle().try_clone_to_owned().map_err(ServeFailure::Output)?;
    Ok(tokio::fs::File::from_std(File::from(copy)))
}
