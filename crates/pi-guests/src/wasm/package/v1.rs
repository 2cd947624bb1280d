//! Version 1 of the package: its bindings, and every type of it as the types of `pi-extproto`.
//!
//! A second version gets a module of its own that turns its types into the same ones.

mod carry;
mod events;
mod host;
mod offer;
mod outcomes;
mod outputs;

pub(super) use self::bindings::{Extension, ExtensionPre};
use self::{
    bindings::{
        exports::pi::extension::guest::{SlashCommand, ToolCall},
        pi::extension::types::ErrorReport,
    },
    carry::{Lift, Lower, NotJson},
};
use pi_exthost::{Registration, content, guest::ToolAnswer};
use pi_extproto::Object;
use serde_json::json;
use wasmtime::{Store, component::Linker};

use crate::wasm::{
    instance::{Answer, Refused, Task},
    room::Room,
};

/// What the macro makes of the package.
mod bindings {
    wasmtime::component::bindgen!({
        path: "../pi-extproto/wit",
        world: "extension",
        imports: { "pi:extension/streams": async | trappable, default: async },
        exports: { default: async },
        with: { "pi:extension/streams.output-stream": crate::wasm::room::OutputStream },
    });
}

/// Whether an interface of the package is of this version.
pub(super) fn knows(interface: &str) -> bool {
    interface.rsplit_once('@').is_some_and(|(_, version)| version.starts_with("1."))
}

/// Gives a linker what an extension imports.
pub(super) fn link(linker: &mut Linker<Room>) -> wasmtime::Result<()> {
    Extension::add_to_linker::<Room, wasmtime::component::HasSelf<Room>>(linker, |room| room)
}

/// What the extension offers. The first thing that is asked of it.
pub(super) async fn init(
    extension: &Extension,
    store: &mut Store<Room>,
    registration: Registration,
) -> wasmtime::Result<Result<Registration, Refused>> {
    let offered = extension.pi_extension_guest().call_init(store).await?;
    Ok(offered.map_err(refused).and_then(|offered| offer::read(offered, registration)))
}

/// Does what is asked.
pub(super) async fn perform(
    extension: &Extension,
    store: &mut Store<Room>,
    task: Task,
) -> wasmtime::Result<Result<Answer, Refused>> {
    let guest = extension.pi_extension_guest();
    Ok(match task {
        Task::Tool { call_id, name, input } => {
            let call = ToolCall { call_id: call_id.0, name, input: input.lower(), context: None };
            let answered = guest.call_call_tool(store, &call).await?.map_err(refused);
            answered.and_then(|answered| {
                let output = answered.output.lift().map_err(Refused::from)?;
                let output = content::output_from_protocol(output);
                Ok(Answer::Tool(ToolAnswer { output, is_error: answered.is_error, terminate: false }))
            })
        }
        Task::Command { name, arguments } => {
            let args = Some(arguments.split_whitespace().map(str::to_owned).collect());
            // Words are what is between blanks; what was typed stands beside them as it was.
            let typed = Object::from_iter([("text".to_owned(), json!(arguments))]);
            let command = SlashCommand { name, args, input: Some(typed.lower()) };
            let answered = guest.call_run_command(store, &command).await?.map_err(refused);
            answered.and_then(|answered| match answered.is_error {
                false => Ok(Answer::Said(said(&answered.output))),
                true => Err(Refused::Threw { message: said(&answered.output).unwrap_or(answered.output) }),
            })
        }
        Task::Event(event) => {
            let answered = guest.call_handle_event(store, &event.lower()).await?.map_err(refused);
            answered.and_then(|outcome| outcome.lift().map(Answer::Outcome).map_err(Refused::from))
        }
        Task::Shutdown => {
            guest.call_shutdown(store).await?;
            Ok(Answer::Done)
        }
    })
}

impl From<NotJson> for Refused {
    fn from(fault: NotJson) -> Self {
        Self::Nonsense { problem: fault.to_string() }
    }
}

/// The text that an output is, if it is one and not empty.
fn said(output: &str) -> Option<String> {
    serde_json::from_str(output).ok().filter(|text: &String| !text.trim().is_empty())
}

fn refused(report: ErrorReport) -> Refused {
    let ErrorReport { code, message, details: _ } = report;
    Refused::Threw { message: if code.is_empty() { message } else { format!("{code}: {message}") } }
}
