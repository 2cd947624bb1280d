//! A conversation that a person takes part in: the chat on a session, and what follows when it is left for another one.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pi_exthost::port::Mode;
use pi_session::{
    Beginning, Departure, Session, Switch, Wish as Asked,
    directory::{self, ForkPoint, Project},
    file,
    input::{Utterance, complete},
    models::{Lacking, Models},
    settings::trust::{self, Trust},
};
use pi_terminal::{Colours, Device, DeviceError, Draft, Manner, Missing, Options, Wish, look::Thoughts};
use tokio::sync::{Notify, mpsc};

use super::lingering::Lingering;
use crate::{
    asking,
    compiling::tell_while,
    console::Console,
    env::{self, Environment},
    exit::Exit,
    failure::{self, Failure, SessionFailure, session_hint},
    trust::{agree_to_servers, brought},
    workshop::{Entrance, Furnished, Ground, Started, Workshop, extensions, model::Answering, now, seat::Seat, theme},
};

/// What a chat is opened with beside its session.
#[derive(Default)]
pub(super) struct Opening {
    pub(super) sayings: Vec<Utterance>,
    pub(super) draft: Draft,
    /// Who is here, where that was not said before.
    pub(super) heading: Option<String>,
    /// What was just done.
    pub(super) done: Option<String>,
    /// Whether what was said so far stands on the screen already.
    pub(super) is_on_screen: bool,
}

/// How the chat was left.
pub(super) enum Left {
    Ended(Exit),
    /// To come back to the same conversation when everything around it was read anew.
    Anew(Box<Again>),
}

/// What stays when everything else is read anew.
pub(super) struct Again {
    /// The file of the session, if something was said in it.
    path: Option<PathBuf>,
    answering: Answering,
    draft: Draft,
    done: String,
}

impl Again {
    /// Sits down where somebody got up.
    pub(super) fn open(
        self,
        project: Option<&Project>,
        ground: &Ground,
        console: &mut Console,
    ) -> Result<(Seat, Answering, Opening), Failure> {
        let Self { path, answering, draft, done } = self;
        let seat = match (path, project) {
            (Some(path), _) => Seat::at(&path, ground, console)?,
            (None, Some(project)) => Seat::begin(project),
            (None, None) => Seat::nowhere(ground),
        };
        Ok((
            seat,
            answering,
            Opening { sayings: Vec::new(), draft, heading: None, done: Some(done), is_on_screen: true },
        ))
    }
}

/// Where a person sits: everything that stays when they go to another session.
pub(super) struct Chair<'a> {
    pub(super) workshop: Arc<Workshop>,
    pub(super) ground: &'a Ground,
    pub(super) project: Option<Project>,
    pub(super) environment: &'a Environment,
}

/// What is shown at the beginning of a session.
struct Shown {
    opening: Opening,
    notices: Vec<String>,
    /// Signalled when what happens in it is shown.
    is_shown: Arc<Notify>,
}

/// What came of going to another session.
#[derive(Default)]
struct Followed {
    /// What is to stand in the editor.
    text: Option<String>,
    /// The one that was left, and is to be closed.
    left: Option<Session>,
}

/// A session that is open.
struct Open {
    session: Session,
    path: Option<PathBuf>,
    /// Whether it was told that its file cannot be written.
    is_unwritable: bool,
    /// Where extensions want to go.
    wishes: mpsc::Receiver<Asked>,
}

impl Chair<'_> {
    /// Shows one session after the other until the person leaves.
    pub(super) async fn talk(
        &self,
        seat: Seat,
        mut answering: Answering,
        mut opening: Opening,
        console: &mut Console,
    ) -> Result<Left, Failure> {
        let mut device = Device::open(env::lookup("TERM").as_deref()).map_err(SessionFailure::Terminal)?;
        // Who comes back to what stands on the screen has read everything anew for the same conversation.
        let beginning = if opening.is_on_screen { Beginning::Reload } else { Beginning::Startup };
        if !opening.is_on_screen {
            console.show_beginning();
        }
        let opened = self.open_first(seat, &answering, beginning, console).await;
        console.hide_beginning();
        let mut open = opened?;
        let mut lingering = Lingering::default();
        let exit = loop {
            let is_shown = lingering.next_shown();
            let shown = Shown { opening: std::mem::take(&mut opening), notices: console.take_notes(), is_shown };
            let outcome = self.show(&mut open, shown, &answering, &mut device).await?;
            opening.draft = outcome.draft;
            // Where nothing happens meanwhile, nothing of it is missing when the same session is shown again.
            opening.is_on_screen = !open.session.state().await.map_err(SessionFailure::Gone)?.is_running;
            answering.follow(&open.session, &self.workshop.models).await;
            let departure = match departure(outcome.wish, outcome.asked.as_ref()) {
                Next::Departure(departure) => departure,
                Next::Trust => {
                    let Some(done) = self.trust(&open, console) else { continue };
                    drop(device);
                    lingering.end().await;
                    close(&open.session, Departure::Reload, console).await?;
                    let path = open.path.filter(|path| path.exists());
                    return Ok(Left::Anew(Box::new(Again { path, answering, draft: opening.draft, done })));
                }
                Next::End(exit) => {
                    if let Some(asked) = outcome.asked {
                        asked.grant();
                    }
                    break exit;
                }
            };
            // An extension that wants to leave has asked the others already.
            if outcome.asked.is_none() && !self.may_leave(&open, &departure).await? {
                console.note("an extension wants this session to stay");
                continue;
            }
            let is_failing = open.session.state().await.map_err(SessionFailure::Gone)?.is_failing;
            let before = open.path.clone();
            match self.follow(&mut open, &departure, &mut answering, console).await {
                Ok(Followed { text, left }) => {
                    opening.draft = text.map(Draft::said).unwrap_or_default();
                    opening.is_on_screen &= is_same(&departure, before.as_deref());
                    opening.done = self.told(&departure, is_failing);
                    match (left, outcome.asked) {
                        (Some(left), Some(asked)) => lingering.leave(left, departure, asked, open.session.clone()),
                        (Some(left), None) => {
                            lingering.end().await;
                            close(&left, departure, console).await?;
                        }
                        (None, asked) => asked.into_iter().for_each(Asked::grant),
                    }
                }
                Err(failure) => {
                    let reason = failure.told();
                    if let Some(asked) = outcome.asked {
                        asked.refuse(reason.as_str());
                    }
                    console.note(&reason);
                }
            }
        };
        drop(device);
        lingering.end().await;
        close(&open.session, Departure::Quit, console).await?;
        Ok(Left::Ended(exit))
    }

    /// Trusts the project. Says what was done, if what it brings can be used at once.
    fn trust(&self, open: &Open, console: &mut Console) -> Option<String> {
        let Some(agent) = self.environment.agent_directory.as_deref() else {
            console.note(&SessionFailure::NothingRemembered.to_string());
            return None;
        };
        let directory = &self.ground.directory;
        let brought: Vec<String> = brought(directory, self.environment).iter().map(|it| it.name(directory)).collect();
        if let Err(fault) = agree_to_servers(directory, self.environment) {
            console.note(&format!("{fault}; {}", fault.hint()));
            return None;
        }
        if let Err(error) = trust::decide(agent, directory, Trust::Trusted) {
            console.note(&failure::told(&error));
            return None;
        }
        let used = if brought.is_empty() { "it brings nothing yet".to_owned() } else { brought.join(", ") };
        if open.path.is_none() {
            console.note(
                "this project is trusted from the next start on: this session is kept nowhere, and goes on as it is",
            );
            return None;
        }
        Some(format!("this project is trusted; used from now on: {used}"))
    }

    /// What was done, for whoever did it with one word.
    fn told(&self, departure: &Departure, is_left_behind: bool) -> Option<String> {
        let back = if self.project.is_some() && !is_left_behind { "; /resume goes back to the one before" } else { "" };
        match departure {
            Departure::New { .. } => Some(format!("a new session begins{back}")),
            Departure::Fork(_) => Some(format!("a new session goes on from there{back}")),
            // What was said in it is shown.
            Departure::Resume(_) | Departure::Quit | Departure::Reload => None,
        }
    }

    async fn may_leave(&self, open: &Open, departure: &Departure) -> Result<bool, Failure> {
        Ok(open.session.may_leave(departure.clone()).await.map_err(SessionFailure::Gone)?)
    }

    /// Puts another session in the place of the open one, which is not closed yet.
    async fn follow(
        &self,
        open: &mut Open,
        departure: &Departure,
        answering: &mut Answering,
        console: &mut Console,
    ) -> Result<Followed, Failure> {
        let left = open.path.clone();
        let (seat, text, beginning) = match departure {
            Departure::Quit | Departure::Reload => return Ok(Followed::default()),
            Departure::Resume(path) if left.as_ref() == Some(path) => return Ok(Followed::default()),
            Departure::New { parent } => (self.begin(parent.clone()), None, Beginning::New { left }),
            Departure::Resume(path) => (Seat::at(path, self.ground, console)?, None, Beginning::Resume { left }),
            Departure::Fork(point) => {
                let (seat, text) = self.fork(open, point).await?;
                (seat, text, Beginning::Fork { left })
            }
        };
        answering.take_over(&seat.past, &self.workshop.models, console);
        let next = self.open(seat, answering, beginning, console).await;
        let before = std::mem::replace(open, next);
        Ok(Followed { text, left: Some(before.session) })
    }

    /// Opens the first session. What somebody asked for on the command line must be there then.
    async fn open_first(
        &self,
        seat: Seat,
        answering: &Answering,
        beginning: Beginning,
        console: &mut Console,
    ) -> Result<Open, Failure> {
        let (open, unmet) = self.enter(seat, answering, beginning, console).await;
        let Some(failure) = unmet else { return Ok(open) };
        close(&open.session, Departure::Quit, console).await?;
        Err(failure.into())
    }

    /// Opens a session. Whoever is in the middle of something is told what is missing, and goes on.
    async fn open(&self, seat: Seat, answering: &Answering, beginning: Beginning, console: &mut Console) -> Open {
        let (open, unmet) = self.enter(seat, answering, beginning, console).await;
        if let Some(failure) = unmet {
            console.note(&Failure::from(failure).told());
        }
        open
    }

    async fn enter(
        &self,
        mut seat: Seat,
        answering: &Answering,
        beginning: Beginning,
        console: &mut Console,
    ) -> (Open, Option<SessionFailure>) {
        seat.note(answering);
        let (path, is_unwritable) = (seat.path(), seat.is_unwritable());
        let (owner, wishes) = pi_session::owner();
        let entrance = Entrance { mode: Mode::Terminal, beginning, owner };
        let starting = self.workshop.start(seat, answering, entrance, None);
        let Started { session, notes, unmet } = tell_while(starting, self.workshop.stock(), console).await;
        notes.iter().for_each(|note| console.note(note));
        (Open { session, path, is_unwritable, wishes }, unmet)
    }

    /// A new session, which says that it came from `parent`.
    fn begin(&self, parent: Option<PathBuf>) -> Seat {
        match (&self.project, parent) {
            (Some(project), None) => Seat::begin(project),
            (Some(project), Some(parent)) => Seat::begin_from(&parent, project),
            (None, _) => Seat::nowhere(self.ground),
        }
    }

    /// A copy of the session up to a point, in a file of its own.
    async fn fork(&self, open: &Open, point: &ForkPoint) -> Result<(Seat, Option<String>), Failure> {
        let (Some(project), Some(path)) = (&self.project, &open.path) else {
            return Err(SessionFailure::NotKept.into());
        };
        open.session.flush().await.map_err(SessionFailure::Gone)?;
        let viewed = file::view(path, fastrand::Rng::new()).map_err(SessionFailure::Open)?;
        let forked = directory::fork(&viewed.tree, &viewed.reader, point, project, now(), fastrand::Rng::new());
        let forked = forked.map_err(SessionFailure::Fork)?;
        Ok((Seat::of(forked.opened), forked.text))
    }

    async fn show(
        &self,
        open: &mut Open,
        shown: Shown,
        answering: &Answering,
        device: &mut Device,
    ) -> Result<pi_terminal::Outcome, Failure> {
        let Shown { opening, notices, is_shown } = shown;
        let complaints = open.session.complaints().await.map_err(SessionFailure::Gone)?;
        let options = Options {
            session: open.session.clone(),
            is_shown,
            own: answering.own.clone(),
            missing: missing(&self.workshop.models),
            why: answering.why.to_string(),
            silence: answering.silence.as_ref().map(|silence| silence.why.clone()),
            manners: {
                let workshop = Arc::clone(&self.workshop);
                Arc::new(move || manner(&workshop.furnished()))
            },
            advice: Arc::new(|cause| session_hint(cause.error())),
            remember: {
                let agent = self.environment.agent_directory.clone();
                Arc::new(move |id: &str, switch: Switch| extensions::remember(agent.as_deref(), id, switch))
            },
            clock: asking::milliseconds,
            heading: opening.heading,
            project: self.project.clone(),
            branch: pi_terminal::branch(&self.ground.directory),
            directory: self.ground.directory.clone(),
            home: self.environment.home.clone(),
            colours: Colours::of(&env::lookup),
            opening: opening.sayings,
            draft: opening.draft,
            notices: notices.into_iter().chain(complaints.iter().map(ToString::to_string)).collect(),
            done: opening.done,
            is_on_screen: opening.is_on_screen,
            is_unwritable: open.is_unwritable,
            is_trusted: self.ground.is_trusted(),
            file: open.path.clone(),
        };
        let outcome = pi_terminal::run(options, &mut open.wishes, device).await;
        Ok(outcome.map_err(|error| SessionFailure::Terminal(DeviceError::from(std::io::Error::other(error))))?)
    }
}

/// The models that could be asked, and what each of them needs.
fn missing(models: &Models) -> Vec<Missing> {
    let of_provider = |lacking: Lacking| {
        let needs = lacking.lack.settable().into_iter().next().unwrap_or_else(|| "a credential".to_owned());
        let provider = lacking.provider;
        let missing = move |model: String| Missing { name: format!("{provider}/{model}"), needs: needs.clone() };
        lacking.models.into_iter().map(missing)
    };
    models.lacking().into_iter().flat_map(of_provider).collect()
}

/// What the files say of the screen.
fn manner(furnished: &Furnished) -> Manner {
    let Furnished { settings, composer, .. } = furnished;
    Manner {
        commands: complete::commands(&[], &composer.resources, composer.skills),
        theme: theme(settings),
        thoughts: if settings.hide_thinking_block { Thoughts::Hidden } else { Thoughts::Shown },
    }
}

/// What comes after the screen was left.
enum Next {
    /// The session is left for this.
    Departure(Departure),
    /// The same session in a project that is trusted.
    Trust,
    /// The program ends.
    End(Exit),
}

fn departure(wish: Wish, asked: Option<&Asked>) -> Next {
    match wish {
        Wish::Quit => Next::End(Exit::Success),
        Wish::Terminated => Next::End(Exit::Terminated),
        Wish::NewSession => Next::Departure(match asked.map(|asked| &asked.departure) {
            // An extension may say where the new one comes from.
            Some(new @ Departure::New { .. }) => new.clone(),
            _ => Departure::New { parent: None },
        }),
        Wish::Resume(path) => Next::Departure(Departure::Resume(path)),
        Wish::Fork(point) => Next::Departure(Departure::Fork(point)),
        Wish::Trust => Next::Trust,
    }
}

/// Whether the same conversation is shown after this.
fn is_same(departure: &Departure, before: Option<&Path>) -> bool {
    match departure {
        Departure::Reload => true,
        Departure::Resume(path) => before == Some(path),
        Departure::New { .. } | Departure::Fork(_) | Departure::Quit => false,
    }
}

/// Ends a session, and says what nobody will hear any more.
async fn close(session: &Session, departure: Departure, console: &mut Console) -> Result<(), Failure> {
    for saying in session.close_for(departure).await.map_err(SessionFailure::Gone)? {
        console.note(&format!("not said any more: {}", saying.written()));
    }
    Ok(())
}
