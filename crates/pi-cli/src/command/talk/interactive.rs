//! A conversation that a person takes part in: the chat on a session, and what follows when it is left for another one.

use std::{path::PathBuf, sync::Arc};

use pi_exthost::port::Mode;
use pi_session::{
    Session,
    directory::{self, ForkPoint, Project},
    file,
    input::{Composed, InputError, Mentions, complete},
    queue::Saying,
    resources::Discovery,
};
use pi_terminal::{Colours, Compose, Device, DeviceError, Options, Theme, Wish, look::Thoughts};

use super::compose;
use crate::{
    asking,
    console::Console,
    env::{self, Environment},
    exit::Exit,
    failure::{Failure, SessionFailure},
    workshop::{Ground, Workshop, model::Answering, now, seat::Seat},
};

/// What a chat is opened with beside its session.
pub(super) struct Opening {
    pub(super) sayings: Vec<Saying>,
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
        let mut open = self.open(seat, &answering)?;
        let exit = loop {
            let notices = console.take_notes();
            let outcome = self.show(&open, std::mem::take(&mut sayings), &draft, notices, &mut device).await?;
            draft = outcome.draft;
            answering.follow(&open.session, &self.workshop.models).await;
            let next = match outcome.wish {
                Wish::Quit => break Exit::Success,
                Wish::Terminated => break Exit::Terminated,
                Wish::NewSession => self.begin(),
                Wish::Resume(path) if open.path.as_ref() == Some(&path) => continue,
                Wish::Resume(path) => Seat::at(&path, self.ground, console).map(|seat| (seat, None)),
                Wish::Fork(point) => self.fork(&open, &point).await,
            };
            match next {
                Ok((seat, text)) => {
                    draft = text.unwrap_or_default();
                    if let Some(missed) = answering.take_over(&seat.past, &self.workshop.models) {
                        let answers = answering.choice.name();
                        console
                            .note(&format!("{missed}, the model of this session, cannot be asked; {answers} answers"));
                    }
                    let next = self.open(seat, &answering)?;
                    let before = std::mem::replace(&mut open, next);
                    before.session.close().await.map_err(SessionFailure::Gone)?;
                }
                Err(failure) => console.note(&failure.told()),
            }
        };
        drop(device);
        open.session.close().await.map_err(SessionFailure::Gone)?;
        Ok(exit)
    }

    fn open(&self, mut seat: Seat, answering: &Answering) -> Result<Open, Failure> {
        seat.note(answering);
        let path = seat.path();
        let blueprint = self.workshop.blueprint(seat, answering, Mode::Terminal);
        let session = pi_session::start(blueprint).map_err(SessionFailure::Start)?;
        Ok(Open { session, path })
    }

    fn begin(&self) -> Result<(Seat, Option<String>), Failure> {
        let seat = match &self.project {
            Some(project) => Seat::begin(project),
            None => Seat::nowhere(self.ground),
        };
        Ok((seat, None))
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
        open: &Open,
        opening: Vec<Saying>,
        draft: &str,
        notices: Vec<String>,
        device: &mut Device,
    ) -> Result<pi_terminal::Outcome, Failure> {
        let settings = &self.workshop.settings;
        let skills = if settings.enable_skill_commands { Discovery::On } else { Discovery::Off };
        let options = Options {
            session: open.session.clone(),
            models: self.workshop.models.available(),
            commands: complete::commands(&[], &self.workshop.resources, skills),
            compose: self.compose(),
            project: self.project.clone(),
            branch: pi_terminal::branch(&self.ground.directory),
            directory: self.ground.directory.clone(),
            home: self.environment.home.clone(),
            theme: settings.theme.as_deref().and_then(Theme::named).unwrap_or_else(Theme::dark),
            colours: Colours::of(&env::lookup),
            thoughts: if settings.hide_thinking_block { Thoughts::Hidden } else { Thoughts::Shown },
            opening,
            draft: draft.to_owned(),
            notices,
            file: open.path.clone(),
        };
        let outcome = pi_terminal::run(options, device).await;
        Ok(outcome.map_err(|error| SessionFailure::Terminal(DeviceError::from(std::io::Error::other(error))))?)
    }

    /// Files that a person mentions are attached.
    fn compose(&self) -> Compose {
        let workshop = Arc::clone(&self.workshop);
        Arc::new(move |text: &str| -> Result<Composed, InputError> {
            compose(&workshop, super::typed(text), Mentions::Attach, asking::milliseconds())
        })
    }
}
