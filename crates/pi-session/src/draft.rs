//! An entry before it has a place in the tree.

use pi_envelope::Span;
use pi_exthost::{GuestId, content::content_from_protocol};
use pi_extproto::{Object, hook::DraftMessage};
use pi_transcript::{
    Content, Entry, EntryId, Message, ModelId, ProviderId, ThinkingLevel, Usage,
    entry::{
        Base, BranchSummary, Compaction, ContextEdit, CustomEntry, CustomMessageEntry, Label, MessageEntry,
        ModelChange, SessionName, ThinkingLevelChange,
    },
    json::{Extra, Loose, Open},
    message::CustomMessage,
};
use serde_json::Value;

use crate::{
    context,
    cut::Keep,
    offer::{self, Offer},
};

/// The member of an entry in which we remember which stretches of its message came from elsewhere. Pi does not look at
/// it; without it the origin of an attached file would be forgotten with the next start.
pub(crate) const SPANS: &str = "spans";

/// The member of a message in which we remember which extension said it: its type is a name that any extension may use.
/// Pi does not look at it.
pub(crate) const EXTENSION: &str = "extension";

/// What an entry will say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Draft {
    Message {
        message: Message,
        spans: Vec<Span>,
    },
    ModelChange {
        provider: ProviderId,
        model: ModelId,
        /// Where it is reached, if not where its manifest says.
        address: Option<String>,
    },
    ThinkingLevelChange(ThinkingLevel),
    Compaction {
        summary: String,
        keep: Keep,
        tokens_before: u64,
        details: Option<Value>,
        by: Author,
    },
    BranchSummary {
        from: EntryId,
        summary: String,
        details: Option<Value>,
        by: Author,
    },
    Custom {
        custom_type: String,
        data: Option<Value>,
    },
    /// What is to be offered to the model from here on.
    Offer(Offer),
    CustomMessage(Box<CustomMessage>),
    Label {
        target: EntryId,
        label: Option<String>,
    },
    ContextEdit {
        target: EntryId,
        replacement: Option<Content>,
    },
    Name(Option<String>),
}

/// Who wrote a summary.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Author {
    /// The model, for this price.
    Model(Box<Usage>),
    Extension,
}

impl Draft {
    pub(crate) fn message(message: Message) -> Self {
        Self::Message { message, spans: Vec::new() }
    }

    /// What an extension says in its own name has an entry of its own.
    pub(crate) fn of_message(message: Message, spans: Vec<Span>) -> Self {
        match message {
            Message::Custom(custom) => Self::CustomMessage(Box::new(custom)),
            message => Self::Message { message, spans },
        }
    }

    /// An entry as an extension hands it over: without a place, of one of the types that it may add.
    pub(crate) fn of_guest(by: &GuestId, mut entry: Object) -> Result<Self, String> {
        let kind = entry.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        entry.extend([("id".to_owned(), "".into()), ("parentId".to_owned(), Value::Null)]);
        entry.insert("timestamp".to_owned(), "".into());
        let read: Entry = serde_json::from_value(Value::Object(entry)).map_err(|error| error.to_string())?;
        match read {
            Entry::Custom(custom) if offer::is_told_by(&custom) => Err(reserved(&custom.custom_type)),
            Entry::Custom(custom) => Ok(Self::Custom { custom_type: custom.custom_type, data: custom.data }),
            Entry::CustomMessage(said) => {
                let CustomMessageEntry { custom_type, content, display, details, .. } = said;
                let extra = Extra::from_iter([(EXTENSION.to_owned(), by.as_str().into())]);
                let message = CustomMessage { custom_type, content, display, details, timestamp: 0, extra };
                Ok(Self::CustomMessage(Box::new(message)))
            }
            Entry::ContextEdit(ContextEdit { target_id, replacement, .. }) => {
                Ok(Self::ContextEdit { target: target_id, replacement })
            }
            Entry::Compaction(compaction) => Ok(Self::Compaction {
                summary: compaction.summary,
                keep: Keep::From(compaction.first_kept_entry_id),
                tokens_before: compaction.tokens_before,
                details: compaction.details,
                by: Author::Extension,
            }),
            Entry::Message(_)
            | Entry::ModelChange(_)
            | Entry::ThinkingLevelChange(_)
            | Entry::BranchSummary(_)
            | Entry::Label(_)
            | Entry::SessionInfo(_)
            | Entry::Usage(_)
            | Entry::Other(_) => Err(format!("an entry of type {kind:?} with missing or wrong members")),
        }
    }

    /// The entry, in its place.
    pub(crate) fn into_entry(self, base: Base) -> Entry {
        let extra = Extra::new();
        match self {
            Self::Message { message, spans } => {
                let mut extra = extra;
                if !spans.is_empty() {
                    let spans = serde_json::to_value(spans).expect("spans are plain data");
                    extra.insert(SPANS.to_owned(), spans);
                }
                Entry::Message(Box::new(MessageEntry { base, message, extra }))
            }
            Self::ModelChange { provider, model, address } => {
                let extra = address.map(|address| (context::ADDRESS.to_owned(), address.into())).into_iter().collect();
                Entry::ModelChange(ModelChange { base, provider, model_id: model, extra })
            }
            Self::ThinkingLevelChange(level) => {
                Entry::ThinkingLevelChange(ThinkingLevelChange { base, thinking_level: Open::Known(level), extra })
            }
            Self::Compaction { summary, keep, tokens_before, details, by } => {
                let (from_hook, usage) = by.members();
                let first_kept = match keep {
                    Keep::From(id) => id,
                    Keep::Nothing => base.id.clone(),
                };
                Entry::Compaction(Box::new(Compaction {
                    base,
                    summary,
                    first_kept_entry_id: first_kept,
                    tokens_before,
                    details,
                    from_hook,
                    usage,
                    system_message: None,
                    extra,
                }))
            }
            Self::BranchSummary { from, summary, details, by } => {
                let (from_hook, usage) = by.members();
                Entry::BranchSummary(Box::new(BranchSummary {
                    base,
                    from_id: from,
                    summary,
                    details,
                    from_hook,
                    usage,
                    extra,
                }))
            }
            Self::Offer(offer) => {
                let (custom_type, data) = (offer::TYPE.to_owned(), Some(offer.to_value()));
                Entry::Custom(CustomEntry { base, custom_type, data, extra })
            }
            Self::Custom { custom_type, data } => Entry::Custom(CustomEntry { base, custom_type, data, extra }),
            Self::CustomMessage(said) => {
                let CustomMessage { custom_type, content, display, details, extra: said, .. } = *said;
                let extra = author(&said).into_iter().chain(extra).collect();
                Entry::CustomMessage(CustomMessageEntry { base, custom_type, content, display, details, extra })
            }
            Self::Label { target, label } => Entry::Label(Label { base, target_id: target, label, extra }),
            Self::ContextEdit { target, replacement } => {
                Entry::ContextEdit(ContextEdit { base, target_id: target, replacement, extra })
            }
            Self::Name(name) => Entry::SessionInfo(SessionName { base, name, extra }),
        }
    }
}

impl Author {
    fn members(self) -> (Option<bool>, Option<Loose<Usage>>) {
        match self {
            Self::Model(usage) => (None, Some(Loose::Known(*usage))),
            Self::Extension => (Some(true), None),
        }
    }
}

/// Why an entry that only a person may cause is not taken from an extension.
pub(crate) fn reserved(custom_type: &str) -> String {
    format!("the type {custom_type:?} of an entry belongs to pi itself")
}

/// A message of an extension's own type.
pub(crate) fn custom(by: &GuestId, draft: DraftMessage, timestamp: u64) -> Message {
    Message::Custom(CustomMessage {
        custom_type: draft.custom_type,
        content: content_from_protocol(draft.content),
        display: draft.display,
        details: draft.details,
        timestamp,
        extra: Extra::from_iter([(EXTENSION.to_owned(), by.as_str().into())]),
    })
}

/// The member that says which extension said it.
pub(crate) fn author(extra: &Extra) -> Option<(String, Value)> {
    extra.get(EXTENSION).map(|id| (EXTENSION.to_owned(), id.clone()))
}

/// The stretches that an entry remembers. What cannot be read is not ours.
pub(crate) fn spans(extra: &Extra) -> Vec<Span> {
    let written = extra.get(SPANS).cloned();
    written.and_then(|spans| serde_json::from_value(spans).ok()).unwrap_or_default()
}
