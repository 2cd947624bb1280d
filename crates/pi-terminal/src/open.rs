//! Opens the terminal on a session.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use pi_session::{Session, SessionGone, attached, directory::Project, input::Utterance, models::Choice};
use pi_transcript::Message;
use tokio::sync::{Notify, mpsc};

use crate::{
    app::{App, Beginning},
    chat::Tone,
    commands::{self, BuiltIn},
    device::Device,
    draft::Draft,
    run::{Link, drive},
    serve::{Advice, Manners, Remember, Service, of_extension, shown_directory},
    theme::Colours,
    wish::{Manner, Missing, Report, Wish},
};

/// Actions that may wait for the session; see [`Link`].
const ACTIONS: usize = 64;
/// Reports that may wait for the screen; whoever tells more waits.
const REPORTS: usize = 1024;

/// What the terminal is opened with.
pub struct Options {
    pub session: Session,
    /// Signalled by the terminal when whatever happens in the session is seen.
    pub is_shown: Arc<Notify>,
    /// Models that can be chosen beside those of the session, such as one that was named by its address.
    pub own: Vec<Arc<Choice>>,
    /// Templates, skills and how things are looked at; commands of extensions are asked of the session.
    pub manners: Manners,
    /// Models that could be chosen if something were set.
    pub missing: Vec<Missing>,
    /// Why the model of the session is the one that is asked.
    pub why: String,
    /// Why it cannot be asked, if so: the conversation can be read until somebody chooses another model.
    pub silence: Option<String>,
    /// What to do about a call to a model that failed.
    pub advice: Advice,
    /// Where it is written down that an extension was switched.
    pub remember: Remember,
    /// Milliseconds since 1970.
    pub clock: fn() -> u64,
    /// Who is here: the name of the program and its version, said at the top. Nothing where that was said before.
    pub heading: Option<String>,
    /// Where other sessions are; `None` if none are kept.
    pub project: Option<Project>,
    /// Files behind an `@` are looked for here.
    pub directory: PathBuf,
    /// Shown as `~`.
    pub home: Option<PathBuf>,
    pub branch: Option<String>,
    pub colours: Colours,
    /// Said at once, one after the other.
    pub opening: Vec<Utterance>,
    /// Stands in the editor.
    pub draft: Draft,
    /// What is odd, told before anything else.
    pub notices: Vec<String>,
    /// What was just done.
    pub done: Option<String>,
    /// Whether what was said so far stands on the screen already.
    pub is_on_screen: bool,
    /// Whether the notices say that its file cannot be written.
    pub is_unwritable: bool,
    /// Whether what the project brings is used already.
    pub is_trusted: bool,
    /// Where the session is written; `None` if it is not.
    pub file: Option<PathBuf>,
}

/// How the terminal was left.
#[derive(Debug)]
pub struct Outcome {
    pub wish: Wish,
    /// The extension that wanted this, which waits for a decision; nothing if a person did.
    pub asked: Option<pi_session::Wish>,
    /// What stood in the editor.
    pub draft: Draft,
}

#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("the terminal does not obey")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Gone(#[from] SessionGone),
}

/// Shows a session and lets a person talk to it, until they leave. The session goes on afterwards: whoever opened the
/// terminal closes it, or opens another one on the same device.
///
/// Wishes of extensions are as good as those of the person: the first one is what the terminal is left for.
///
/// Dropping the future ends the terminal and not the session; what was drawn stays.
pub async fn run(
    options: Options,
    wishes: &mut mpsc::Receiver<pi_session::Wish>,
    device: &mut Device,
) -> Result<Outcome, TerminalError> {
    let (state, events) = options.session.subscribe().await?;
    options.is_shown.notify_one();
    let spoken = options.session.messages().await?;
    let said = spoken.iter().filter_map(|(_, message)| match &**message {
        Message::User(user) => Some(attached::split(&user.content.text()).0),
        _ => None,
    });
    // A person who types a command says nothing to the model: an extension may have said it in their place.
    let said = said.filter(|text| !text.trim().starts_with('!') && BuiltIn::read(text.trim()).is_none());
    let (actions, wanted) = mpsc::channel(ACTIONS);
    let (reports, told) = mpsc::channel(REPORTS);
    let service = Service {
        session: options.session.clone(),
        own: options.own,
        manners: Arc::clone(&options.manners),
        advice: options.advice,
        remember: options.remember,
        clock: options.clock,
        project: options.project,
        directory: options.directory.clone(),
        file: options.file,
        reports: reports.clone(),
    };
    let of_extensions = options.session.commands().await?.into_iter().filter_map(of_extension);
    let Manner { commands, theme, thoughts } = (options.manners)();
    let (commands, hidden) = commands::visible(of_extensions.chain(commands).collect());
    let (models, scoped) = service.models().await?;
    let undescribed = models.iter().filter(|choice| !choice.is_described()).map(|choice| choice.name());
    let mut app = App::new(Beginning {
        state,
        undescribed: undescribed.collect(),
        models: models.iter().map(|choice| choice.model().clone()).collect(),
        scoped,
        missing: options.missing,
        why: options.why,
        silence: options.silence,
        colours: options.colours,
        commands,
        drawn_tools: options.session.drawn_tools().await?,
        theme,
        thoughts,
        directory: shown_directory(&options.directory, options.home.as_deref()),
        branch: options.branch,
        history: said.collect(),
        is_trusted: options.is_trusted,
        is_unwritable: options.is_unwritable,
    });
    if let Some(program) = options.heading {
        app.introduce(&program);
    }
    for name in hidden {
        app.note(Tone::Warning, format!("/{name} is a command of the terminal; another one of that name is hidden"));
    }
    app.give_keys(options.session.shortcuts().await?);
    for notice in options.notices {
        app.note(Tone::Warning, notice);
    }
    if let Some(done) = options.done {
        app.note(Tone::Good, done);
    }
    let said_before = spoken.iter().map(|(_, message)| &**message);
    if options.is_on_screen {
        app.remember(said_before);
    } else {
        app.recall(said_before, Duration::ZERO);
    }
    for question in options.session.open_questions().await? {
        app.report(&Report::Event(Arc::new(question.to_event())), Duration::ZERO);
    }
    for frame in options.session.open_drawings().await? {
        app.report(&Report::Event(Arc::new(frame)), Duration::ZERO);
    }
    app.write(&options.draft);
    let mut link = Link { actions, reports: told };
    let serving = service.run(events, wanted, options.opening);
    let showing = drive(&mut app, device, &mut link, options.colours);
    let (wish, asked) = until_left(serving, showing, wishes, &reports).await?;
    let asked = asked.filter(|asked| Wish::of(&asked.departure).as_ref() == Some(&wish));
    Ok(Outcome { asked, wish, draft: app.written() })
}

/// Serves and shows until somebody wants to leave: answers where to, and the last extension that wanted to.
async fn until_left(
    serving: impl Future<Output = ()>,
    showing: impl Future<Output = io::Result<Wish>>,
    wishes: &mut mpsc::Receiver<pi_session::Wish>,
    reports: &mpsc::Sender<Report>,
) -> io::Result<(Wish, Option<pi_session::Wish>)> {
    tokio::pin!(serving, showing);
    let mut asked = None;
    let mut is_served = true;
    loop {
        tokio::select! {
            wish = &mut showing => return Ok((wish?, asked)),
            // The session is gone, but what it said last is still to be read.
            () = &mut serving, if is_served => is_served = false,
            Some(wish) = wishes.recv(), if asked.is_none() => match Wish::of(&wish.departure) {
                Some(leave) => {
                    // The screen may be closed already.
                    drop(reports.send(Report::Leave(leave)).await);
                    asked = Some(wish);
                }
                None => wish.refuse("a session is loaded anew without leaving it"),
            },
        }
    }
}
