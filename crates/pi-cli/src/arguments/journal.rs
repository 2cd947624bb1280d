//! The words of `pi journal`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub(crate) enum JournalCommand {
    /// List commands that changed something and what became of them, the newest first
    Show(JournalShowArguments),
    /// Check that the journal is sound; somebody may be writing it meanwhile
    Verify(JournalVerifyArguments),
    /// Write every command as a line of JSON, the oldest first, without secrets
    Export(JournalExportArguments),
    /// Drop old history and give its room back to the disk; not while a server runs
    ///
    /// Commands whose outcome a client may still ask for stay, whatever is said here: `server.outcomesKept` says how many.
    Compact(JournalCompactArguments),
}

#[derive(Args)]
pub(crate) struct Whereabouts {
    /// The journal [default: server/journal.sqlite in the agent directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct JournalShowArguments {
    #[command(flatten)]
    pub(crate) at: Whereabouts,
    /// Only commands to this session
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Only the command with this id
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// How many at most
    #[arg(short = 'n', long, value_name = "COUNT", default_value = "20")]
    pub(crate) limit: usize,
    /// One object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct JournalVerifyArguments {
    #[command(flatten)]
    pub(crate) at: Whereabouts,
    /// As an object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct JournalExportArguments {
    #[command(flatten)]
    pub(crate) at: Whereabouts,
}

#[derive(Args)]
pub(crate) struct JournalCompactArguments {
    #[command(flatten)]
    pub(crate) at: Whereabouts,
    /// Keep what is not older than so many days [default: what server.historyMs says, 30 days unless set]
    #[arg(long, value_name = "DAYS")]
    pub(crate) days: Option<u64>,
    /// Keep so many commands at most [default: what server.historyCommands says, 100000 unless set]
    #[arg(long, value_name = "COUNT")]
    pub(crate) count: Option<u64>,
    /// As an object
    #[arg(long)]
    pub(crate) json: bool,
}
