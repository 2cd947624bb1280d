//! Extensions of pi in Rust, as WebAssembly components.
//!
//! It has no access to anything: files, processes, the network and the conversation are reached through [`Host`], and
//! every call of it is decided and recorded there.
//!
//! Implement [`Extension`], name it in [`export!`], and build for `wasm32-wasip2`. [`testing::TestHost`] is a host for unit
//! tests, which run on any machine.

pub mod bindings;
mod component;
mod extension;
mod host;
pub mod testing;

pub use self::{
    bindings::{
        exports::pi::extension::guest::{
            CapabilityManifest, ExecutionMode, Hook, Register, Requirement, Scope, SlashCommand, SlashResult, ToolCall,
            ToolDefinition, ToolResult,
        },
        pi::extension::{
            credentials::Credential,
            exec::{Command, CommandOutput},
            fs::{DirectoryEntry, FileInfo, FileKind, WriteMode},
            hooks::{self, Event},
            http::{Request, Response},
            outcomes::{self, Outcome},
            session::{
                CommandInfo, CommandSource, ContextUsage, Delivery, EntrySelection, ForkPoint, ModelInfo, ModelName,
                SessionMode, SessionState, ThinkingLevel, ToolInfo,
            },
            streams::{Channel, Chunk, Exit, Piece, ResponseHead, StreamEnd, StreamItem},
            tool::HostToolOutput,
            types::{
                CommandDefinition, ContentBlock, ErrorCode, ErrorReport, Header, HostError, ImageBlock, Level,
                ToolOutput,
            },
            ui::{ChoiceField, FieldAnswer, FormField, NoticeLevel, OpenField, Placement},
        },
    },
    component::Component,
    extension::{Extension, command, failed, input, register, said, tool},
    host::{Completion, Host, Navigation, OwnMessage, Stream},
};

#[doc(hidden)]
pub use self::extension::Cell;

/// Makes a component of an [`Extension`]. Once, in a library whose crate type is `cdylib`.
///
/// ```ignore
/// pi_extension::export!(Greeter);
/// ```
#[macro_export]
macro_rules! export {
    ($extension:ty) => {
        struct ExportedExtension;

        impl ExportedExtension {
            fn cell() -> &'static $crate::Cell<$extension> {
                static CELL: $crate::Cell<$extension> = $crate::Cell::new();
                &CELL
            }
        }

        impl $crate::bindings::exports::pi::extension::guest::Guest for ExportedExtension {
            fn init() -> Result<$crate::Register, $crate::ErrorReport> {
                Self::cell().with(|it| $crate::Extension::register(it))
            }

            fn call_tool(call: $crate::ToolCall) -> Result<$crate::ToolResult, $crate::ErrorReport> {
                Self::cell().with(|it| $crate::Extension::call_tool(it, &$crate::Component, call))
            }

            fn run_command(command: $crate::SlashCommand) -> Result<$crate::SlashResult, $crate::ErrorReport> {
                Self::cell().with(|it| $crate::Extension::run_command(it, &$crate::Component, command))
            }

            fn handle_event(event: $crate::Event) -> Result<$crate::Outcome, $crate::ErrorReport> {
                Self::cell().with(|it| $crate::Extension::handle_event(it, &$crate::Component, event))
            }

            fn shutdown() {
                Self::cell().with(|it| $crate::Extension::shutdown(it, &$crate::Component))
            }
        }

        $crate::bindings::export!(ExportedExtension with_types_in $crate::bindings);
    };
}
