//! A conversation that a person takes part in: the chat on a session, and what follows when it is left for another one.

use std::{path::PathBuf, sync::Arc};

use pi_exthost::port::Mode;
use pi_session::{
    Beginning, CommandInfo, CommandSource, Departure, Session, Wish as Asked,
    directory::{self, ForkPoint, Project},
    file,
    input::{
        Utterance,
        complete::{self, Command, CommandKind},
    },
};
use pi_terminal::{Colours, Device, DeviceError, Options, Theme, Wish, look::Thoughts};
use tokio::sync::mpsc;

use crate::{
    console::Console,
    env::{self, Environment},
    exit::Exit,
    failure::{Failure, SessionFailure},
    workshop::{Entrance, Ground, Workshop, model::Answering, now, seat::Seat},
};

/// What a chat is opened with beside its session.
pub(super) struct Opening {
    pub(super) sayings: Vec<Utterance>,
    pub(super) draft: String,
}

/// Where a person sits: everything that stays when they go to another session.
pub(super) struct Chair<'a> {
    pub(super) workshop: Arc<Workshop>,
    pub(super) ground: &'a Ground,
    pub(super) project: Option<Project>,
    pub(super) environment: &'a Environment,
}

/// A session that is open.
struct Open {
    session: Session,
    path: Option<PathBuf>,
    /// Where extensions want to go.
    wishes: mpsc::Receiver<Asked>,
}

impl Chair<'_> {
    /// Shows one session after the other until the person leaves.
    pub(super) async fn talk(
        &self,
        seat: Seat,
        mut answering: Answering,
        opening: Opening,
        console: &mut Console,
    ) -> Result<Exit, Failure> {
        let mut device = Device::open(env::lookup("TERM").as_deref()).map_err(SessionFailure::Terminal)?;
        let Opening { mut sayings, mut draft } = opening;
        let mut open = self.open(seat, &answering, Beginning::Startup)?;
        let exit = loop {
            let notices = console.take_notes();
            let outcome = self.show(&mut open, std::mem::take(&mut sayings), &draft, notices, &mut device).await?;
            draft = outcome.draft;
            answering.follow(&open.session, &self.workshop.models).await;
            let departure = match departure(outcome.wish, outcome.asked.as_ref()) {
                Ok(departure) => departure,
                Err(exit) => {
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
            match self.follow(&mut open, &departure, &mut answering, console).await {
                Ok(text) => {
                    draft = text.unwrap_or_default();
                    if let Some(asked) = outcome.asked {
                        asked.grant();
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
        close(&open.session, Departure::Quit, console).await?;
        Ok(exit)
    }

    async fn may_leave(&self, open: &Open, departure: &Departure) -> Result<bool, Failure> {
        Ok(open.session.may_leave(departure.clone()).await.map_err(SessionFailure::Gone)?)
    }

    /// Puts another session in the place of the open one. Answers what is to stand in the editor.
    async fn follow(
        &self,
        open: &mut Open,
        departure: &Departure,
        answering: &mut Answering,
        console: &mut Console,
    ) -> Result<Option<String>, Failure> {
        let left = open.path.clone();
        let (seat, text, beginning) = match departure {
            Departure::Quit => return Ok(None),
            Departure::Resume(path) if left.as_ref() == Some(path) => return Ok(None),
            Departure::Reload => return self.reload(open, answering, console).await.map(|()| None),
            Departure::New { parent } => (self.begin(parent.clone()), None, Beginning::New { left }),
            Departure::Resume(path) => (Seat::at(path, self.ground, console)?, None, Beginning::Resume { left }),
            Departure::Fork(point) => {
                let (seat, text) = self.fork(open, point).await?;
                (seat, text, Beginning::Fork { left })
            }
        };
        if let Some(missed) = answering.take_over(&seat.past, &self.workshop.models) {
            let answers = answering.choice.name();
            console.note(&format!("{missed}, the model of this session, cannot be asked; {answers} answers"));
        }
        let next = self.open(seat, answering, beginning)?;
        let before = std::mem::replace(open, next);
        close(&before.session, departure.clone(), console).await?;
        Ok(text)
    }

    /// Opens the same session again. Its file has one writer, so it is closed first.
    async fn reload(&self, open: &mut Open, answering: &Answering, console: &mut Console) -> Result<(), Failure> {
        let Some(path) = open.path.clone() else { return Err(SessionFailure::NotKept.into()) };
        close(&open.session, Departure::Reload, console).await?;
        let seat = if path.exists() { Seat::at(&path, self.ground, console)? } else { self.begin(None) };
        *open = self.open(seat, answering, Beginning::Reload)?;
        Ok(())
    }

    fn open(&self, mut seat: Seat, answering: &Answering, beginning: Beginning) -> Result<Open, Failure> {
        seat.note(answering);
        let path = seat.path();
        let (owner, wishes) = pi_session::owner();
        let entrance = Entrance { mode: Mode::Terminal, beginning, owner };
        let blueprint = self.workshop.blueprint(seat, answering, entrance);
        let session = pi_session::start(blueprint).map_err(SessionFailure::Start)?;
        Ok(Open { session, path, wishes })
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
        opening: Vec<Utterance>,
        draft: &str,
        notices: Vec<String>,
        device: &mut Device,
    ) -> Result<pi_terminal::Outcome, Failure> {
        let settings = &self.workshop.settings;
        let commands = open.session.commands().await.map_err(SessionFailure::Gone)?;
        let own: Vec<Command> = commands.into_iter().filter_map(of_extension).collect();
        let complaints = open.session.complaints().await.map_err(SessionFailure::Gone)?;
        let composer = &self.workshop.composer;
        let options = Options {
            session: open.session.clone(),
            models: open.session.models().await.map_err(SessionFailure::Gone)?,
            commands: complete::commands(&own, &composer.resources, composer.skills),
            project: self.project.clone(),
            branch: pi_terminal::branch(&self.ground.directory),
            directory: self.ground.directory.clone(),
            home: self.environment.home.clone(),
            theme: settings.theme.as_deref().and_then(Theme::named).unwrap_or_else(Theme::dark),
            colours: Colours::of(&env::lookup),
            thoughts: if settings.hide_thinking_block { Thoughts::Hidden } else { Thoughts::Shown },
            opening,
            draft: draft.to_owned(),
            notices: notices.into_iter().chain(complaints.iter().map(ToString::to_string)).collect(),
            file: open.path.clone(),
        };
        let outcome = pi_terminal::run(options, &mut open.wishes, device).await;
        Ok(outcome.map_err(|error| SessionFailure::Terminal(DeviceError::from(std::io::Error::other(error))))?)
    }
}

/// What the session is left for, or how the program ends.
fn departure(wish: Wish, asked: Option<&Asked>) -> Result<Departure, Exit> {
    match wish {
        Wish::Quit => Err(Exit::Success),
        Wish::Terminated => Err(Exit::Terminated),
        Wish::NewSession => Ok(match asked.map(|asked| &asked.departure) {
            // An extension may say where the new one comes from.
            Some(new @ Departure::New { .. }) => new.clone(),
            _ => Departure::New { parent: None },
        }),
        Wish::Resume(path) => Ok(Departure::Resume(path)),
        Wish::Fork(point) => Ok(Departure::Fork(point)),
        Wish::Reload => Ok(Departure::Reload),
    }
}

/// Ends a session, and says what nobody will hear any more.
async fn close(session: &Session, departure: Departure, console: &mut Console) -> Result<(), Failure> {
    for saying in session.close_for(departure).await.map_err(SessionFailure::Gone)? {
        console.note(&format!("not said any more: {}", saying.text()));
    }
    Ok(())
}

/// Templates and skills are listed with what the terminal knows of them.
fn of_extension(info: CommandInfo) -> Option<Command> {
    match info.source {
        CommandSource::Extension { .. } => Some(Command {
            name: info.definition.name,
            description: info.definition.description.unwrap_or_default(),
            hint: None,
            kind: CommandKind::Extension,
        }),
        CommandSource::BuiltIn | CommandSource::Prompt { .. } | CommandSource::Skill { .. } => None,
    }
}
