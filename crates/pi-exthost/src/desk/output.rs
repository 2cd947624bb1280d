//! What a host call gives back, typed: one variant per output of the protocol.

use serde::{Serialize, Serializer, ser::SerializeMap as _};

use pi_extproto::{
    Object,
    connector::{
        environment::{Credential, Variable, Variables},
        exec::CommandOutput,
        fs::{FileContent, Listing, Place, Presence},
        http::Response,
        session::{
            Acceptance, AppendedEntry, ChosenLevel, Commands, Compaction, Completion, Entries, EntryLabel, FoundEntry,
            GitBranch, Models, ScopedModels, SessionHeader, SessionState, SystemPrompt, Tools,
        },
        to_object,
        tool::HostToolOutput,
        ui::{Answer, Confirmation, FormAnswer},
    },
};

macro_rules! outputs {
    ($($variant:ident($output:ty),)*) => {
        /// What a connector found.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Output {
            /// It was done, and there is nothing to say.
            Empty,
            $($variant($output),)*
        }

        $(impl From<$output> for Output {
            fn from(output: $output) -> Self {
                Self::$variant(output)
            }
        })*

        /// As it stands in a host result, without the detour over JSON.
        impl Serialize for Output {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    Self::Empty => serializer.serialize_map(Some(0))?.end(),
                    $(Self::$variant(output) => output.serialize(serializer),)*
                }
            }
        }

        impl Output {
            /// As it stands in a host result.
            pub fn to_object(&self) -> Object {
                match self {
                    Self::Empty => Object::new(),
                    $(Self::$variant(output) => to_object(output),)*
                }
            }
        }
    };
}

outputs! {
    Tool(HostToolOutput),
    Command(CommandOutput),
    Content(FileContent),
    Listing(Listing),
    Presence(Presence),
    Place(Place),
    Response(Response),
    State(SessionState),
    SystemPrompt(SystemPrompt),
    Header(SessionHeader),
    Entries(Entries),
    Entry(FoundEntry),
    Label(EntryLabel),
    AppendedEntry(AppendedEntry),
    Tools(Tools),
    Commands(Commands),
    Models(Models),
    ScopedModels(ScopedModels),
    GitBranch(GitBranch),
    Acceptance(Acceptance),
    Level(ChosenLevel),
    Compaction(Compaction),
    Completion(Completion),
    Answer(Answer),
    Confirmation(Confirmation),
    Form(FormAnswer),
    Variable(Variable),
    Variables(Variables),
    Credential(Credential),
}

impl From<()> for Output {
    fn from((): ()) -> Self {
        Self::Empty
    }
}

impl Output {
    /// Bytes that came from outside: of files, processes and other machines.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Command(output) => output.stdout.0.len() + output.stderr.0.len(),
            Self::Content(output) => output.content.0.len(),
            Self::Response(output) => output.body.0.len(),
            _ => 0,
        };
        bytes as u64
    }
}
