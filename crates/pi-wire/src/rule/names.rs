//! The rules of the protocol's fields, by name.

use pi_transcript::{EntryId, ModelId, ProviderId, RequestId, SessionId, ThinkingLevel};

use super::{Blank, Characters, Image, List, Report, Text, TextOf, Whole, Word};
use crate::{
    fault::Fault,
    id::{ClientId, CommandId, ContextSourceId, Epoch, ExtensionId, IdempotencyKey, ModelRequestId, QueueItemId},
    limits,
};

/// Ids that a client may not choose: commands without an id get them from the server.
pub(crate) const RESERVED_ID: &str = "anon:";

const NAME: Text = Text::new(limits::NAME, Blank::Space, Characters::Any);

pub(crate) const COMMAND_ID: TextOf<CommandId> =
    TextOf { text: Text { reserved: Some(RESERVED_ID), ..NAME }, make: CommandId };
/// The id of any command, also of one that the server had to name.
pub(crate) const ANY_COMMAND_ID: TextOf<CommandId> = TextOf { text: NAME, make: CommandId };
pub(crate) const IDEMPOTENCY_KEY: TextOf<IdempotencyKey> = TextOf { text: NAME, make: IdempotencyKey };
pub(crate) const CLIENT_ID: TextOf<ClientId> =
    TextOf { text: Text { characters: Characters::RequestId, ..NAME }, make: ClientId };
pub(crate) const DEPENDENCIES: List<TextOf<CommandId>> = List {
    items: ANY_COMMAND_ID,
    max: limits::DEPENDENCIES,
    too_many: Fault::TooManyDependencies { max: limits::DEPENDENCIES },
};

/// The id of a session that is to be made.
pub(crate) const NEW_SESSION_ID: TextOf<SessionId> =
    TextOf { text: Text { characters: Characters::SessionId, ..NAME }, make: SessionId };
/// Whether a session can be made under this id.
pub fn is_session_id(id: &SessionId) -> bool {
    NEW_SESSION_ID.text.check(id.as_str(), &mut Report::default()).is_ok()
}

/// The id of a session that should be there. Whatever no session can be called is simply not found.
pub(crate) const SESSION_ID: TextOf<SessionId> = TextOf { text: NAME, make: SessionId };
pub(crate) const ENTRY_ID: TextOf<EntryId> = TextOf { text: NAME, make: EntryId };
pub(crate) const REQUEST_ID: TextOf<RequestId> =
    TextOf { text: Text { characters: Characters::RequestId, ..NAME }, make: RequestId };
pub(crate) const MODEL_REQUEST_ID: TextOf<ModelRequestId> = TextOf { text: NAME, make: ModelRequestId };
pub(crate) const QUEUE_ITEM_ID: TextOf<QueueItemId> = TextOf { text: NAME, make: QueueItemId };
pub(crate) const CONTEXT_SOURCE_ID: TextOf<ContextSourceId> =
    TextOf { text: Text { max: limits::PATH, ..NAME }, make: ContextSourceId };
pub(crate) const EXTENSION_ID: TextOf<ExtensionId> = TextOf { text: NAME, make: ExtensionId };
pub(crate) const EPOCH: TextOf<Epoch> = TextOf { text: NAME, make: Epoch };

pub(crate) const MESSAGE: Text = Text::new(limits::MESSAGE, Blank::Empty, Characters::Any);
pub(crate) const SHELL_COMMAND: Text = Text::new(limits::SHELL_COMMAND, Blank::Empty, Characters::Any);
pub(crate) const INSTRUCTIONS: Text = Text::new(limits::INSTRUCTIONS, Blank::Allowed, Characters::Any);
pub(crate) const SESSION_NAME: Text = Text::new(limits::NAME, Blank::Empty, Characters::Printable);
pub(crate) const LABEL: Text = Text::new(limits::NAME, Blank::Allowed, Characters::Printable);
pub(crate) const PROVIDER: TextOf<ProviderId> = TextOf { text: NAME, make: ProviderId };
pub(crate) const MODEL_ID: TextOf<ModelId> = TextOf { text: NAME, make: ModelId };
pub(crate) const TOOL_NAME: Text = NAME;
pub(crate) const FILE_NAME: Text = NAME;
pub(crate) const SEARCH: Text = Text::new(limits::SEARCH, Blank::Allowed, Characters::Any);
pub(crate) const CURSOR: Text = Text::new(limits::SEARCH, Blank::Empty, Characters::Printable);
pub(crate) const KEY: Text = Text::new(limits::KEY, Blank::Empty, Characters::Any);

pub(crate) const WHOLE: Whole = Whole { least: 0, most: limits::WHOLE };
pub(crate) const HISTORY_LIMIT: Whole = Whole { least: 1, most: limits::HISTORY };
pub(crate) const PAGE_LIMIT: Whole = Whole { least: 1, most: limits::PAGE };
pub(crate) const CELLS: Whole = Whole { least: 1, most: 10_000 };

pub(crate) const IMAGES: List<Image> =
    List { items: Image, max: limits::IMAGES, too_many: Fault::TooManyItems { max: limits::IMAGES } };
pub(crate) const EXTENSION_IDS: List<TextOf<ExtensionId>> =
    List { items: EXTENSION_ID, max: limits::NAMES, too_many: Fault::TooManyItems { max: limits::NAMES } };
pub(crate) const TOOL_NAMES: List<Text> =
    List { items: TOOL_NAME, max: limits::NAMES, too_many: Fault::TooManyItems { max: limits::NAMES } };

/// The reference knew `none` and neither `off` nor `minimal`; `none` stays as another word for `off`.
pub(crate) const THINKING_LEVEL: Word<ThinkingLevel> = Word(&[
    ("off", ThinkingLevel::Off),
    ("none", ThinkingLevel::Off),
    ("minimal", ThinkingLevel::Minimal),
    ("low", ThinkingLevel::Low),
    ("medium", ThinkingLevel::Medium),
    ("high", ThinkingLevel::High),
    ("xhigh", ThinkingLevel::Xhigh),
    ("max", ThinkingLevel::Max),
]);
