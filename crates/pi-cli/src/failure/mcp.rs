//! Why nothing could be done with a server of the Model Context Protocol.

use pi_guests::mcp::{PinFault, entry::EntryFault, places::ChangeFault};

use crate::command::mcp::Unused;

#[derive(Debug, thiserror::Error)]
pub(crate) enum McpFailure {
    #[error("there is no place for mcp.json: no home folder")]
    Homeless,
    #[error("there is nothing to connect to")]
    NoTarget,
    #[error("a URL takes no arguments, and {word:?} stands behind it")]
    BehindUrl { word: String },
    #[error("a server behind a URL has neither an environment nor a folder of ours")]
    NotForUrl,
    #[error("a program is sent no headers")]
    NotForProgram,
    #[error("{option} is not of the form {form}")]
    Pair { option: &'static str, form: &'static str },
    #[error("{name} cannot be a server: {fault}")]
    Entry { name: String, fault: EntryFault },
    #[error(transparent)]
    Change(ChangeFault),
    #[error(transparent)]
    Pins(PinFault),
    #[error("the MCP server {} is not used: {}", .0.name, .0.why)]
    Unused(Unused),
    #[error("there is no MCP server {name} here")]
    Unknown { name: String, elsewhere: Option<Elsewhere> },
    #[error("--accept agrees to the servers that you name, and none is named")]
    AcceptsNobody,
    #[error("{url:?} is no URL of an MCP server: pi reaches servers by http and https")]
    Scheme { url: String },
}

/// Where a server is written that is not where somebody looked.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    pub(crate) file: String,
    pub(crate) is_projects: bool,
}

impl McpFailure {
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Homeless => "set HOME, or PI_CODING_AGENT_DIR to the agent directory".to_owned(),
            Self::NoTarget => "`pi mcp add NAME COMMAND` or `pi mcp add NAME URL`".to_owned(),
            Self::BehindUrl { .. } => "options stand before the URL".to_owned(),
            Self::NotForUrl => "give it what it needs with --header".to_owned(),
            Self::NotForProgram => "give it what it needs with --env".to_owned(),
            Self::Pair { option, form } => format!("write {option} '{form}'"),
            Self::Entry { .. } => "`pi mcp add --help` shows the form".to_owned(),
            Self::Change(fault) => fault.hint().to_owned(),
            Self::Pins(fault) => fault.hint().to_owned(),
            Self::Unused(Unused { why, .. }) if why == "not trusted" => {
                "`pi trust` lets what this project brings be started".to_owned()
            }
            Self::Unused(Unused { file, .. }) => format!("it is written in {file}"),
            Self::Unknown { elsewhere: Some(Elsewhere { file, is_projects: true }), .. } => {
                format!("it is written in {file}; --project takes it out there")
            }
            Self::Unknown { elsewhere: Some(Elsewhere { file, is_projects: false }), .. } => {
                format!("it is written in {file}; without --project it is taken out there")
            }
            Self::AcceptsNobody => {
                "`pi mcp test` shows what changed, and `pi mcp test NAME --accept` agrees to it".to_owned()
            }
            Self::Scheme { .. } => "write its http:// or https:// address, or the program that reaches it".to_owned(),
            Self::Unknown { elsewhere: None, .. } => "`pi mcp list` shows those that there are".to_owned(),
        }
    }
}
