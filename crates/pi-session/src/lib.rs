//! Owns a conversation: its mailbox, its turn loop, the tree of entries, its file, compaction and export.
//!
//! One task owns all state of a session and never waits for a model, a tool, a guest, a disk or a client; what takes
//! time runs beside it and reports by message. It knows no transport: `pi-server` and `pi-terminal` drive it through the
//! same handle, and neither the client protocol nor HTTP appears here.
//!
//! Start with [`Session`], then [`Blueprint`], of which [`start`] makes one.

mod archive;
pub mod attached;
mod chute;
mod clerk;
pub mod code;
mod complaint;
pub mod context;
pub mod cut;
mod departure;
pub mod directory;
mod draft;
pub mod export;
pub mod extensions;
mod factory;
pub mod file;
mod finished;
mod furnishing;
mod herald;
pub mod hooks;
pub mod input;
pub mod listing;
pub mod look;
mod mailbox;
pub mod models;
pub mod offer;
pub mod queue;
pub mod resources;
pub mod retry;
mod run;
pub mod scrub;
mod session;
pub mod settings;
pub mod sidecar;
pub mod tree;
mod uuid;
pub mod weights;

pub use pi_exthost::{
    GuestId,
    drawings::{KeyFault, Press},
    guest::{Rendering, ResultState, Subject, Suggestion, ToolDrawing, chord},
    guests::GuestShortcut,
    port::{CommandInfo, CommandSource, ToolInfo},
    questions::{AnswerFault, Attendance, Lapse, MOST_OPEN as MOST_OPEN_QUESTIONS, OpenQuestion, is_unasked},
};
pub use pi_extproto::manifest::Tier as ExtensionTier;
pub use pi_policy::Moment;
pub use pi_tools::{OutputFault, ShellEnd, ShellPass, ShellWatch};

pub use self::{
    complaint::Complaint,
    departure::{Beginning, Departure, Owner, Wish, owner},
    factory::{Blueprint, Post, Storage, start, start_at},
    finished::Finished,
    furnishing::{Furnisher, Furnishing, Habits},
    herald::{Silence, Subscription},
    run::{Cause, Ending},
    session::{
        BashError, CompactError, Cycled, Direction, Exposure, Journey, NavigateError, PromptError, Prompted, Reloaded,
        Session, SessionGone, State, Summarise, Switch, Went,
    },
};
