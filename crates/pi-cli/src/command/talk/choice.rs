//! Lets a person choose the conversation that they go on with, before it is opened.

use pi_session::directory;
use pi_terminal::{Catalogue, Chosen, Colours, Device};

use crate::{
    arguments::talk::SessionArguments,
    asking,
    console::Console,
    env::{self, Environment},
    exit::Exit,
    failure::{Failure, SessionFailure},
    workshop::{
        Ground,
        seat::{self, Seat},
    },
};

/// Whether somebody sits down.
pub(super) enum Seated {
    At(Box<Seat>),
    Gone(Exit),
}

/// The conversation that the arguments name, or that is chosen now. Where there is none to choose, a new one begins.
pub(super) async fn seat(
    arguments: &SessionArguments,
    ground: &Ground,
    environment: &Environment,
    console: &mut Console,
) -> Result<Seated, Failure> {
    let at = |seat| Ok(Seated::At(Box::new(seat)));
    if !arguments.resume {
        return at(Seat::take(arguments, ground, environment, console)?);
    }
    let project = seat::project(arguments.kept.session_dir.as_deref(), ground, environment);
    let project = project.ok_or(SessionFailure::Homeless)?;
    let stored = directory::list(&project).map_err(|error| seat::missed(error.into(), &project))?;
    if stored.is_empty() {
        console.remark("there is no session in this folder yet; a new one begins");
        return at(Seat::begin(&project));
    }
    let catalogue = Catalogue { stored, current: None, now: asking::milliseconds() };
    let mut device = Device::open(env::lookup("TERM").as_deref()).map_err(SessionFailure::Terminal)?;
    let colours = Colours::of(&env::lookup);
    let chosen = pi_terminal::choose(&catalogue, &mut device, &ground.theme(), colours).await;
    drop(device);
    match chosen.map_err(|error| SessionFailure::Terminal(error.into()))? {
        Chosen::Session(path) => at(Seat::at(&path, ground, console)?),
        Chosen::New => at(Seat::begin(&project)),
        Chosen::Quit => Ok(Seated::Gone(Exit::Success)),
        Chosen::Terminated => Ok(Seated::Gone(Exit::Terminated)),
    }
}
