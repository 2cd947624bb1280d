//! What the host does for a guest, connector by connector. Each gets a call that was checked, asks for a grant, and does
//! what the grant says.

mod environment;
mod events;
pub(crate) mod exec;
mod fs;
pub(crate) mod http;
mod mcp;
mod session;
pub(crate) mod tool;
mod ui;

use std::io;

use serde::Serialize;
use serde_json::json;

use pi_extproto::{
    Object,
    capability::{Capability, derive},
    connector::{Call, fs::FsCall, session::SessionCall, tool::ToolUse},
    host::{CheckedCall, ErrorCode, HostError},
};
use pi_policy::Action;

use crate::{
    desk::{Desk, Haul, Occasion, Output, Sluice, Terms},
    port::Refusal,
};

/// Does what a call asks for, if it may. What comes from files, processes and other machines counts in the haul.
pub(crate) async fn execute(
    desk: &Desk,
    checked: CheckedCall,
    haul: &Haul,
    terms: &Terms,
) -> Result<Output, HostError> {
    let action = aim(desk, &checked)?;
    match checked.into_call() {
        Call::Fs(call) => fs::perform(desk, call, action, haul, terms).await,
        Call::Exec(command) => exec::run(desk, command, action, haul, terms).await.map(Output::from),
        Call::Http(request) => http::fetch(desk, request, action, haul, terms).await.map(Output::from),
        Call::Tool(call) => tool::run(desk, call, terms).await.map(Output::from),
        Call::Env(call) => environment::look(desk, call, terms).await,
        Call::Credentials(call) => {
            desk.authorize(action, terms).await?;
            environment::unlock(desk, call).await
        }
        // Extensions name models while they load, as they may in Pi.
        Call::Session(SessionCall::GetModels) if terms.occasion == Occasion::Loading => {
            desk.authorize(action, terms).await?;
            session::known_models(desk)
        }
        Call::Session(_) | Call::Ui(_) if terms.occasion == Occasion::Loading => Err(not_yet()),
        Call::Session(call) => {
            desk.authorize(action, terms).await?;
            session::perform(desk, call, terms).await
        }
        Call::Ui(call) => {
            desk.authorize(action, terms).await?;
            ui::perform(desk, call, terms).await
        }
        Call::Events(call) => {
            desk.authorize(action, terms).await?;
            events::perform(desk, call).await
        }
        Call::Log(note) => {
            desk.authorize(action, terms).await?;
            // What was left out is counted in the log.
            drop(desk.say(note, &terms.occasion));
            Ok(Output::Empty)
        }
        Call::Mcp(call) => {
            desk.authorize(action, terms).await?;
            mcp::call(desk, call, terms).await.map(Output::from)
        }
        Call::Other(call) => {
            desk.authorize(action, terms).await?;
            Err(HostError::from(&call))
        }
    }
}

/// The same for output that is wanted while it comes.
pub(crate) async fn stream(
    desk: &Desk,
    checked: CheckedCall,
    terms: &Terms,
    sluice: &mut Sluice,
) -> Result<(), HostError> {
    let action = aim(desk, &checked)?;
    match checked.into_call() {
        Call::Exec(command) => exec::stream(desk, command, action, terms, sluice).await,
        Call::Http(request) => http::stream(desk, request, action, terms, sluice).await,
        Call::Session(_) if terms.occasion == Occasion::Loading => Err(not_yet()),
        Call::Session(call) => {
            desk.authorize(action, terms).await?;
            session::stream(desk, call, sluice).await
        }
        other => Err(invalid(format!("the output of {} does not come in pieces", other.method()))),
    }
}

/// What a call asks for, as policy judges it.
pub(crate) fn aim(desk: &Desk, checked: &CheckedCall) -> Result<Action, HostError> {
    let aimed = Action::from_host_call(desk.subject().clone(), &desk.inner.places, checked);
    aimed.map_err(|bad| bad.to_host_error())
}

/// The capability that a call needs, without its parameters in JSON.
pub(crate) fn needed(call: &Call) -> Capability {
    let word = |name: &str, value: &str| Object::from_iter([(name.to_owned(), json!(value))]);
    let selector = match call {
        Call::Tool(ToolUse { name, .. }) => word("name", name),
        Call::Fs(FsCall::Write { .. }) => word("op", "write"),
        Call::Fs(FsCall::Append { .. }) => word("op", "append"),
        Call::Fs(_)
        | Call::Exec(_)
        | Call::Http(_)
        | Call::Session(_)
        | Call::Ui(_)
        | Call::Events(_)
        | Call::Env(_)
        | Call::Credentials(_)
        | Call::Log(_)
        | Call::Mcp(_)
        | Call::Other(_) => Object::new(),
    };
    derive(&call.method(), &selector).unwrap_or(Capability::Tool)
}

/// About how many bytes a call brings along, without a copy of any of them.
pub(crate) fn weigh(call: &Call) -> usize {
    match call {
        Call::Fs(call) => weigh_file_call(call),
        Call::Exec(command) => {
            command.command.len()
                + command.args.iter().map(String::len).sum::<usize>()
                + command.cwd.as_ref().map_or(0, String::len)
                + command.env.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
                + command.stdin.as_ref().map_or(0, |input| input.0.len())
        }
        Call::Http(request) => {
            request.method.len()
                + request.url.len()
                + request.headers.iter().map(|header| header.name.len() + header.value.len()).sum::<usize>()
                + request.body.as_ref().map_or(0, |body| body.0.len())
        }
        Call::Tool(call) => written(call),
        Call::Mcp(call) => written(call),
        Call::Session(call) => written(call),
        Call::Ui(call) => written(call),
        Call::Events(call) => written(call),
        Call::Env(call) => written(call),
        Call::Credentials(call) => written(call),
        Call::Log(note) => written(note),
        Call::Other(call) => written(&call.params),
    }
}

fn weigh_file_call(call: &FsCall) -> usize {
    match call {
        FsCall::Write { path, content, .. } | FsCall::Append { path, content } => path.len() + content.0.len(),
        FsCall::Rename { from, to } => from.len() + to.len(),
        FsCall::MakeTemporary { prefix } => prefix.len(),
        FsCall::Read { path, .. }
        | FsCall::List { path }
        | FsCall::Stat { path, .. }
        | FsCall::Resolve { path }
        | FsCall::MakeDirectory { path, .. }
        | FsCall::Remove { path, .. }
        | FsCall::SetMode { path, .. }
        | FsCall::SetTimes { path, .. } => path.len(),
    }
}

/// How many bytes a value has as JSON, none of which is kept.
fn written(value: &impl Serialize) -> usize {
    struct Counted(usize);

    impl io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut counted = Counted(0);
    match serde_json::to_writer(&mut counted, value) {
        Ok(()) => counted.0,
        // What cannot be written is not let through either.
        Err(_) => usize::MAX,
    }
}

/// What an extension is told that asks something of a session which begins when its extensions have loaded.
fn not_yet() -> HostError {
    let message = "not while the extension loads: its session begins afterwards; do it in session_start or later";
    HostError { retryable: Some(true), ..invalid(message) }
}

/// What the caller of something that was stopped is told.
pub(crate) fn cancelled() -> HostError {
    let details = Object::from_iter([("cancelled".to_owned(), json!(true))]);
    HostError {
        details: Some(details),
        retryable: Some(false),
        ..HostError::new(ErrorCode::Timeout, "the call was cancelled")
    }
}

/// What a conversation did not want to do.
pub(crate) fn refused(refusal: &Refusal) -> HostError {
    let code = match refusal {
        Refusal::Gone | Refusal::Failed { .. } => ErrorCode::Io,
        Refusal::NotFound { .. } | Refusal::NotNow { .. } | Refusal::Invalid { .. } => ErrorCode::InvalidRequest,
    };
    HostError {
        retryable: Some(matches!(refusal, Refusal::NotNow { .. })),
        ..HostError::new(code, refusal.to_string())
    }
}

/// The caller wrote something that cannot be done.
pub(crate) fn invalid(message: impl Into<String>) -> HostError {
    HostError::new(ErrorCode::InvalidRequest, message)
}

/// A connector met the outside and it failed; the system's word for it goes along.
pub(crate) fn failed(what: &str, error: &io::Error) -> HostError {
    let name = pi_tools::files::errno(error);
    let mut details = Object::new();
    if let Some(name) = name {
        details.insert("errno".to_owned(), json!(name));
    }
    let message = match name {
        Some(name) => format!("{name}: {what}: {error}"),
        None => format!("{what}: {error}"),
    };
    let permanent = name.is_some_and(|name| !["EAGAIN", "EBUSY", "EINTR", "ETIMEDOUT", "EMFILE"].contains(&name));
    HostError {
        details: (!details.is_empty()).then_some(details),
        retryable: permanent.then_some(false),
        ..HostError::new(ErrorCode::Io, message)
    }
}
