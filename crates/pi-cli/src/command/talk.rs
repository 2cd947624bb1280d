//! `pi "…"` and `pi -p "…"`: a conversation with the agent, in which it works with tools.

mod lines;
mod print;

use std::{
    io::{self, IsTerminal as _},
    path::Path,
};

use pi_exthost::port;
use pi_session::{
    input::{self as composing, Composed, ImageRule, Mentions, Surroundings, Typed},
    queue::Saying,
};

use crate::{
    arguments::talk::{Mode, TalkArguments},
    asking,
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
    input,
    providers::Providers,
    runtime,
    workshop::{Ground, Workshop, model::Answering, seat::Seat},
};

pub(crate) fn run(
    arguments: &TalkArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let words = Words::of(arguments, piped()?);
    if words.is_empty() && !arguments.session.resume {
        return Err(SessionFailure::NothingToSay.into());
    }
    let ground = Ground::survey(environment, console)?;
    let mut providers = Providers::load(&arguments.who.sources, environment, console)?;
    let mut seat = Seat::take(&arguments.session, &ground, environment, console)?;
    runtime::start()?.block_on(async {
        let answering =
            Answering::decide(&arguments.who, &seat.past, &ground.settings, &mut providers, console).await?;
        let workshop = Workshop::open(arguments, ground, providers, &answering, environment, console)?;
        let sayings = words.compose(&workshop, console)?;
        answering.introduce(console);
        seat.note(&answering);
        let header = seat.header.clone();
        let client = match arguments.mode {
            Mode::Text => port::Mode::Print,
            Mode::Json => port::Mode::Json,
        };
        let blueprint = workshop.blueprint(seat, &answering, client);
        let session = pi_session::start(blueprint).map_err(SessionFailure::Start)?;
        match arguments.mode {
            Mode::Text => print::answer(&session, sayings, console).await,
            Mode::Json => print::events(&session, &header, sayings, console).await,
        }
    })
}

/// What came through a pipe, if it was one and something came.
fn piped() -> Result<Option<String>, Failure> {
    if io::stdin().is_terminal() {
        return Ok(None);
    }
    Ok(Some(input::read_text(Path::new("-"))?).filter(|piped| !piped.trim().is_empty()))
}

/// What is to be said, as it was typed.
struct Words {
    messages: Vec<String>,
    /// Files that are attached to the first message.
    files: Vec<String>,
    piped: Option<String>,
}

impl Words {
    fn of(arguments: &TalkArguments, piped: Option<String>) -> Self {
        let is_file = |word: &&String| word.len() > 1 && word.starts_with('@');
        let files = arguments.messages.iter().filter(is_file).map(|word| word[1..].to_owned()).collect();
        let messages = arguments.messages.iter().filter(|word| !is_file(word)).cloned().collect();
        Words { messages, files, piped }
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.piped.is_none() && self.messages.iter().all(|text| text.trim().is_empty())
    }

    /// The messages in their order; what was piped in and the files belong to the first.
    fn compose(&self, workshop: &Workshop, console: &mut Console) -> Result<Vec<Saying>, Failure> {
        let around = Surroundings {
            places: &workshop.places,
            resources: &workshop.resources,
            redactor: &workshop.redactor,
            pictures: &composing::as_it_is,
            // A script may pass on what others wrote; only arguments name files here.
            mentions: Mentions::Keep,
            images: if workshop.settings.images.block_images { ImageRule::Block } else { ImageRule::Send },
        };
        let first = self.messages.first().map_or("", String::as_str);
        let opening = Typed { text: first, files: &self.files, piped: self.piped.as_deref(), images: &[] };
        let rest = self.messages.iter().skip(1).map(|text| Typed { text, files: &[], piped: None, images: &[] });
        let mut sayings = Vec::new();
        for typed in std::iter::once(opening).chain(rest) {
            let composed = composing::compose(typed, &around, asking::milliseconds()).map_err(SessionFailure::Input)?;
            let Composed { saying, notices, hidden } = composed;
            for notice in notices {
                console.note(&notice.to_string());
            }
            if hidden > 0 {
                console.note("what is attached holds secrets; the model does not see them");
            }
            sayings.push(saying);
        }
        Ok(sayings)
    }
}
