//! What the screen asks of the world, and what the world tells it: all of both.

use std::{path::PathBuf, sync::Arc};

use pi_envelope::Envelope;
use pi_session::{
    Departure, Exposure, GuestId, GuestShortcut, Journey, Press, Rendering, Suggestion, Switch, Went,
    directory::{ForkPoint, Stored},
    export::Form,
    extensions::Extension,
    input::complete::{Command, Listing},
    queue::When,
};
use pi_transcript::{
    AgentEvent, EntryId, Message, Model, ModelId, ProviderId, RequestId, ThinkingLevel, Usage, drawn::Span,
    message::BashExecutionMessage, question::Answer,
};

use crate::{draft::Draft, look::Thoughts, theme::Theme};

/// What the files say of the screen, as they were last read.
#[derive(Debug, Clone, PartialEq)]
pub struct Manner {
    /// Templates and skills.
    pub commands: Vec<Command>,
    pub theme: Theme,
    pub thoughts: Thoughts,
}

/// Something that the person wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// To be said to the model: at once if it is idle, and otherwise at its time.
    Say {
        text: String,
        when: When,
    },
    /// Stop what runs. What waits to be said comes back.
    Abort,
    /// Do not try again.
    AbortRetry,
    /// What waits to be said comes back.
    TakeBack,
    /// Run a command of the shell.
    Run {
        command: String,
        exposure: Exposure,
        /// Extensions that wrote in it: they answer for it.
        written_by: Vec<GuestId>,
    },
    SetModel {
        provider: ProviderId,
        model: ModelId,
    },
    /// The same for somebody who goes through them.
    CycleModel {
        provider: ProviderId,
        model: ModelId,
    },
    SetThinking(ThinkingLevel),
    Rename(String),
    Compact {
        instructions: Option<String>,
    },
    /// Put a label on a place of the session, or take it away.
    Label {
        place: Marked,
        label: Option<String>,
    },
    /// Switch an extension on or off, here and for later.
    SwitchExtension {
        id: String,
        switch: Switch,
    },
    /// Start an extension anew from what is on the disk.
    ReloadExtension(String),
    /// Read everything anew: extensions, skills, templates, settings, instructions. What cannot be used leaves what was.
    Reload,
    /// Delete the session in this file, which is not the one that is open.
    Delete(PathBuf),
    /// Write the session to a file.
    Export {
        path: Option<PathBuf>,
    },
    FindFiles {
        query: String,
    },
    /// What could stand in the place of what is typed behind a command of an extension.
    CompleteArgument {
        command: String,
        prefix: String,
    },
    /// Go on from another place of the same session.
    Navigate(Journey),
    Fetch(Fetch),
    Answer {
        request: RequestId,
        answer: Answer,
    },
    /// What stands in the editor now, after an extension has put its last text there.
    Wrote {
        text: String,
        after: Option<RequestId>,
    },
    /// A key that an extension has.
    PressShortcut(String),
    /// A key for a component that an extension draws, or the room that there is for it.
    Press {
        request: RequestId,
        press: Press,
    },
    /// Have an extension draw a message of its own, or a call of its tool.
    Draw {
        place: Place,
        rendering: Box<Rendering>,
    },
    Suspend,
    Leave(Wish),
}

/// What an extension draws in the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Which of the chat's items it is.
    pub item: usize,
    pub part: Part,
}

/// The part of an item that is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A message.
    Whole,
    /// What a tool is called with.
    Call,
    /// What it found.
    Result,
}

/// What a label is put on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marked {
    /// What was said last.
    Last,
    At(EntryId),
}

/// A model that could be asked if something were set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// `provider/model`.
    pub name: String,
    /// What it lacks, such as the name of a variable.
    pub needs: String,
}

/// Something that the screen needs to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetch {
    /// What the model was shown last.
    Envelope,
    /// The sessions of this folder.
    Sessions,
    /// What the user said, to fork there.
    ForkPoints,
    /// Every place in this session.
    Tree,
    /// Every extension, and what it has done.
    Extensions,
}

/// Why the terminal was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    Quit,
    /// A signal ended it: the terminal is restored, and the process should end.
    Terminated,
    NewSession,
    Resume(PathBuf),
    Fork(ForkPoint),
    /// The same session, in a project that is trusted from now on.
    Trust,
}

impl Wish {
    /// What an extension wants; nothing if nobody has to leave for it.
    pub(crate) fn of(departure: &Departure) -> Option<Self> {
        match departure {
            Departure::Quit => Some(Self::Quit),
            Departure::New { .. } => Some(Self::NewSession),
            Departure::Resume(path) => Some(Self::Resume(path.clone())),
            Departure::Fork(point) => Some(Self::Fork(point.clone())),
            Departure::Reload => None,
        }
    }
}

/// A place in a session, for a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    pub entry: EntryId,
    /// How many forks lie above it.
    pub depth: usize,
    /// Who spoke there: a role, or the type of the entry.
    pub who: String,
    pub text: String,
    pub label: Option<String>,
    /// Whether the conversation goes through it now.
    pub is_current: bool,
}

/// Something that happened outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    Event(Arc<AgentEvent>),
    Files {
        query: String,
        listing: Listing,
    },
    /// What an extension proposes for the argument of its command.
    Arguments {
        command: String,
        prefix: String,
        suggestions: Vec<Suggestion>,
    },
    TakenBack(Vec<Draft>),
    /// What came of a text that was said, or of a key of an extension, is there: it has ended.
    Answered(String),
    /// What waited for its turn in a run that ended before; it comes back.
    Unsent(Vec<Draft>),
    Model(Box<Model>),
    Thinking(ThinkingLevel),
    Envelope(Option<Arc<Envelope>>),
    Sessions(Catalogue),
    /// What a part of the chat looks like, if an extension draws it.
    Drawn {
        place: Place,
        lines: Option<Vec<Vec<Span>>>,
    },
    /// The settings say how things are looked at.
    Manner {
        theme: Box<Theme>,
        thoughts: Thoughts,
    },
    /// Extensions brought other models, commands or keys, or files were read anew; these are all that there are now.
    Offers {
        models: Vec<Model>,
        /// How many of them, the first, are gone through; none for all.
        scoped: usize,
        commands: Vec<Command>,
        /// Tools that extensions draw.
        drawn_tools: Vec<String>,
        /// Keys that extensions want.
        shortcuts: Vec<GuestShortcut>,
    },
    ForkPoints(Vec<Point>),
    Tree(Vec<Point>),
    Extensions(Vec<Extension>),
    /// The user's command ended, or was refused.
    Ran(Result<BashExecutionMessage, String>),
    /// The conversation goes on from another place, where this was said.
    Went {
        went: Went,
        messages: Vec<Arc<Message>>,
    },
    /// What all calls in the file of the session consumed before it was opened.
    Spent {
        usage: Usage,
        calls: u64,
    },
    /// Some events were missed; this was said so far.
    Missed(Vec<Arc<Message>>),
    /// An extension wants to leave.
    Leave(Wish),
    /// The session was written to a file.
    Exported {
        path: PathBuf,
        form: Form,
    },
    Told(String),
    Failed(String),
    /// What to do about the error with which a run ended.
    Advice(String),
}

/// The sessions of a folder, to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    pub stored: Vec<Stored>,
    /// The file of the one that is open, if it has one.
    pub current: Option<PathBuf>,
    /// Milliseconds since 1970.
    pub now: u64,
}
