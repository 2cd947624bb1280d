//! What can lie in the mailbox of a session.

use std::sync::Arc;

use pi_envelope::Envelope;
use pi_exthost::{
    GuestId,
    drawings::{KeyFault, Press},
    guest::{Rendering, Suggestion},
    guests::GuestShortcut,
    port,
    questions::{AnswerFault, OpenQuestion},
};
use pi_extproto::hook::event::payload::ModelSource;
use pi_transcript::{
    AgentEvent, ContextUsage, EntryId, ModelId, ProviderId, RequestId, ThinkingLevel, drawn::Span,
    event::CompactionResult, message::BashExecutionMessage, question::Answer,
};
use tokio::sync::oneshot;

use super::intake::{Received, Words};
use crate::{
    complaint::Complaint,
    context::Spoken,
    departure::Departure,
    furnishing::Furnishing,
    herald::{Reading, Subscription},
    input::Composer,
    listing::{
        ContextSource, Counted, ListedTool, Outline, OutputError, Overview, Page, ReadingError, Side, SourceError,
        Whole,
    },
    models::{Absence, Choice, LackingModel, scope::ScopedModel},
    queue::{Delivery, Edit, EditError, Line, Saying, When},
    resources::{Skill, SourceId},
    run::{Ending, desk::Note},
    session::{
        BashError, CompactError, Cycled, Direction, Journey, NavigateError, PromptError, Prompted, Reloaded, State,
        Switch, Typed, Went,
    },
    sidecar::Listed,
    tree::NoEntry,
};

/// A letter in its envelope: a mailbox has room for many letters from the start, and most sessions get few.
#[derive(Debug)]
pub(crate) enum Letter {
    Client(Box<Request>),
    Guest(Box<(GuestId, port::Request)>),
    /// What somebody said has come in.
    Received(Box<Received>),
    Run(Box<Note>),
    /// The run is over; nothing more comes from it.
    Ended(Box<Ending>),
    /// So much of the session was counted.
    Counted(Box<Counted>),
    /// The files of the session were read anew.
    Furnished(Box<Furnishing>),
}

/// What whoever holds the session asks of it.
#[derive(Debug)]
pub(crate) enum Request {
    Prompt {
        words: Box<Words>,
        during: Option<When>,
        reply: oneshot::Sender<Result<Prompted, PromptError>>,
    },
    /// Answered when nothing runs any more.
    Abort(oneshot::Sender<()>),
    AbortRetry(oneshot::Sender<()>),
    AbortCompaction(oneshot::Sender<()>),
    /// Answered when nothing runs and nothing is on its way to a run.
    Idle(oneshot::Sender<()>),
    State(oneshot::Sender<State>),
    Messages(oneshot::Sender<Vec<Spoken>>),
    /// Some of them, so many at most.
    Page(Side, usize, oneshot::Sender<Result<Page, ReadingError>>),
    ContextUsage(oneshot::Sender<ContextUsage>),
    Overview(oneshot::Sender<Result<Overview, ReadingError>>),
    /// The newest entries of the tree, so many at most.
    Outline(usize, oneshot::Sender<Result<Outline, ReadingError>>),
    /// Everything that was ever said and done.
    Whole(oneshot::Sender<Result<Whole, ReadingError>>),
    /// All that a command said, by the name of the file that it is in, and how many bytes at most.
    WholeOutput(String, u64, oneshot::Sender<Result<String, OutputError>>),
    Tools(oneshot::Sender<Vec<port::ToolInfo>>),
    ListedTools(oneshot::Sender<Vec<ListedTool>>),
    Skills(oneshot::Sender<Vec<Skill>>),
    /// Who makes messages of what is typed.
    Composer(oneshot::Sender<Arc<Composer>>),
    /// Answered when all extensions have heard that the session has begun, and it has what they bring.
    Begun(oneshot::Sender<()>),
    ContextSources(oneshot::Sender<Vec<ContextSource>>),
    SetContextSource(SourceId, Switch, oneshot::Sender<Result<ContextSource, SourceError>>),
    Queue(oneshot::Sender<Line>),
    EditQueue(u64, Vec<Edit>, oneshot::Sender<Result<Line, EditError>>),
    /// Everything that can be called with a `/`.
    Commands(oneshot::Sender<Vec<port::CommandInfo>>),
    /// Every model that can be asked.
    Models(oneshot::Sender<Vec<Arc<Choice>>>),
    ScopedModels(oneshot::Sender<Vec<ScopedModel>>),
    /// What stands in the editor, and after which change of an extension.
    NoteEditor(String, Option<RequestId>, oneshot::Sender<()>),
    /// Every key of extensions.
    Shortcuts(oneshot::Sender<Vec<GuestShortcut>>),
    /// Answered when what is done at it is done: whether it is anybody's.
    PressShortcut(String, oneshot::Sender<bool>),
    /// What could stand in the place of an argument, by the command of an extension.
    CompleteArgument {
        command: String,
        prefix: String,
        reply: oneshot::Sender<Vec<Suggestion>>,
    },
    /// Every model that could be asked if it had a credential.
    LackingModels(oneshot::Sender<Vec<LackingModel>>),
    /// The variables in which a credential for this model was looked for in vain.
    Absence(ProviderId, ModelId, oneshot::Sender<Absence>),
    Complaints(oneshot::Sender<Vec<Complaint>>),
    SetModel(Arc<Choice>, ModelSource, oneshot::Sender<()>),
    CycleModel(Direction, oneshot::Sender<Option<Cycled>>),
    CycleThinkingLevel(oneshot::Sender<Option<ThinkingLevel>>),
    SetThinkingLevel(ThinkingLevel, oneshot::Sender<ThinkingLevel>),
    SetActiveTools(Vec<String>, oneshot::Sender<()>),
    SetDelivery(When, Delivery, oneshot::Sender<()>),
    ClearQueue(oneshot::Sender<Vec<Saying>>),
    TakeBack(oneshot::Sender<Vec<Saying>>),
    /// What waits though nothing runs.
    TakeStranded(oneshot::Sender<Vec<Saying>>),
    Rename(String, oneshot::Sender<()>),
    /// The last one, unless one is named.
    Envelope(Option<RequestId>, oneshot::Sender<Option<Arc<Envelope>>>),
    /// Every request to a model, the oldest first.
    Requests(oneshot::Sender<Vec<Listed>>),
    Compact(Option<String>, oneshot::Sender<Result<CompactionResult, CompactError>>),
    Bash(Typed, oneshot::Sender<Result<BashExecutionMessage, BashError>>),
    AbortBash(oneshot::Sender<()>),
    Navigate(Box<Journey>, oneshot::Sender<Result<Went, NavigateError>>),
    Answer(RequestId, Box<Answer>, oneshot::Sender<Result<(), AnswerFault>>),
    OpenQuestions(oneshot::Sender<Vec<OpenQuestion>>),
    Press(RequestId, Press, oneshot::Sender<Result<(), KeyFault>>),
    /// The newest frame of every component.
    OpenDrawings(oneshot::Sender<Vec<AgentEvent>>),
    /// What something of an extension looks like, if one of them draws it.
    Draw(Box<Rendering>, oneshot::Sender<Option<Vec<Vec<Span>>>>),
    /// The tools whose calls and results extensions draw.
    DrawnTools(oneshot::Sender<Vec<String>>),
    SetAutoCompaction(Switch, oneshot::Sender<()>),
    SetAutoRetry(Switch, oneshot::Sender<()>),
    Label(EntryId, Option<String>, oneshot::Sender<Result<(), NoEntry>>),
    /// How long the file is when everything so far is written.
    FileLength(oneshot::Sender<Option<u64>>),
    /// Answered when everything so far is on the disk.
    Flush(oneshot::Sender<()>),
    /// Told when everything so far is in the file, on the disk or not.
    Written(oneshot::Sender<()>),
    Subscribe(Reading, oneshot::Sender<(State, Subscription)>),
    /// For a reader that must begin anew.
    Reload(oneshot::Sender<Reloaded>),
    /// Whether no extension objects.
    MayLeave(Departure, oneshot::Sender<bool>),
    /// Answers what was not said.
    Close(Departure, oneshot::Sender<Vec<Saying>>),
}
