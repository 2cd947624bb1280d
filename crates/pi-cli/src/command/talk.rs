//! `pi "…"` and `pi -p "…"`: a conversation with the agent, in which it works with tools.

mod interactive;
mod lines;
mod pipe;
mod print;
mod stop;

use std::{
    io::{self, IsTerminal as _},
    sync::Arc,
};

use pi_exthost::port;
use pi_session::{
    input::{self as composing, Composed, ImageRule, InputError, Mentions, Picture, Surroundings, Typed},
    queue::Saying,
};
use pi_tools::Images;
use pi_transcript::Block;

use self::{
    interactive::{Chair, Opening},
    print::Keeping,
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
    workshop::{
        self, Ground, Workshop,
        model::Answering,
        seat::{self, Seat},
    },
};

pub(crate) fn run(
    arguments: &TalkArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let words = Words::of(arguments, pipe::read()?)?;
    let audience = Audience::of(arguments);
    if words.is_empty() && audience == Audience::Reader && !arguments.session.resume {
        return Err(SessionFailure::NothingToSay.into());
    }
    if audience == Audience::Person {
        console.hold_notes();
    }
    let outcome = lead(arguments, &words, audience, environment, console);
    console.release_notes();
    outcome
}

fn lead(
    arguments: &TalkArguments,
    words: &Words,
    audience: Audience,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let ground = Ground::survey(environment)?;
    let policy = workshop::policy(environment, console)?;
    ground.tell(console);
    if arguments.session.resume && audience == Audience::Reader {
        return Err(seat::nobody_chooses(&arguments.session, &ground, environment)?);
    }
    let mut providers = Providers::load(&arguments.who.sources, environment, console)?;
    let mut seat = Seat::take(&arguments.session, &ground, environment, console)?;
    runtime::start()?.block_on(async {
        let answering =
            Answering::decide(&arguments.who, &seat.past, &ground.settings, &mut providers, console).await?;
        let workshop = Workshop::open(arguments, &ground, policy, providers, &answering, environment, console)?;
        let sayings = if words.is_empty() { Vec::new() } else { words.compose(&workshop, audience, console)? };
        words.doubt(console);
        answering.introduce(console);
        if audience == Audience::Person {
            let kept = !arguments.session.no_session;
            let project = seat::project(arguments.session.session_dir.as_deref(), &ground, environment);
            let chair =
                Chair { workshop: Arc::new(workshop), ground: &ground, project: project.filter(|_| kept), environment };
            // The list of sessions is one key away.
            let draft = if arguments.session.resume { "/resume".to_owned() } else { String::new() };
            return chair.talk(seat, answering, Opening { sayings, draft }, console).await;
        }
        seat.note(&answering);
        let header = seat.header.clone();
        let client = match arguments.mode {
            Mode::Text => port::Mode::Print,
            Mode::Json => port::Mode::Json,
        };
        let blueprint = workshop.blueprint(seat, &answering, client);
        let session = pi_session::start(blueprint).map_err(SessionFailure::Start)?;
        let keeping = if arguments.session.no_session { Keeping::Nothing } else { Keeping::File };
        match arguments.mode {
            Mode::Text => print::answer(&session, keeping, sayings, console).await,
            Mode::Json => print::events(&session, keeping, &header, sayings, console).await,
        }
    })
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
    fn compose(&self, workshop: &Workshop, audience: Audience, console: &mut Console) -> Result<Vec<Saying>, Failure> {
        let mentions = match audience {
            Audience::Person => Mentions::Attach,
            // A script may pass on what others wrote; only arguments name files here.
            Audience::Reader => Mentions::Keep,
        };
        let first = self.messages.first().map_or("", String::as_str);
        let opening = Typed { text: first, files: &self.files, piped: self.piped.as_deref(), images: &[] };
        let rest = self.messages.iter().skip(1).map(|text| typed(text));
        let mut sayings = Vec::new();
        for typed in std::iter::once(opening).chain(rest) {
            let composed = compose(workshop, typed, mentions, asking::milliseconds()).map_err(SessionFailure::Input)?;
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

/// Words and nothing else.
fn typed(text: &str) -> Typed<'_> {
    Typed { text, files: &[], piped: None, images: &[] }
}

/// A picture as the tool `read` would show it.
fn picture(bytes: &[u8], images: Images) -> Option<Picture> {
    Some(match pi_tools::picture(bytes, images)? {
        pi_tools::Picture::LeftOut { why } => Picture::LeftOut { why },
        pi_tools::Picture::Ready { data, mime_type, note } => {
            let Block::Image(image) = Block::image(data, mime_type) else { return None };
            Picture::Ready { image, note }
        }
    })
}

fn compose(workshop: &Workshop, typed: Typed<'_>, mentions: Mentions, timestamp: u64) -> Result<Composed, InputError> {
    let images = workshop::images(&workshop.settings);
    let pictures = |bytes: &[u8]| picture(bytes, images);
    let around = Surroundings {
        places: &workshop.places,
        resources: &workshop.resources,
        redactor: &workshop.redactor,
        pictures: &pictures,
        mentions,
        images: if workshop.settings.images.block_images { ImageRule::Block } else { ImageRule::Send },
    };
    composing::compose(typed, &around, timestamp)
}
