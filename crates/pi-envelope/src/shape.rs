//! What Prompt Envelope 1.0 accepts, as data.
//!
//! The one list of kinds and members in this crate: faults are named from it, the streaming validator compiles its
//! rules from it, and segments are split into known and unknown members by it. Tests hold it, the Rust types and the
//! published schema together. `meta` is not listed: whatever a file says there leaves it valid.

use pi_transcript::json::shape::{Member, Shape, optional, required};

/// The only version of the format.
pub const VERSION: &str = "1.0";

pub(crate) const VERSIONS: &[&str] = &[VERSION];
pub(crate) const ROLES: &[&str] = &["system", "user", "assistant", "tool"];
pub(crate) const MEDIA_TYPES: &[&str] = &["image", "audio", "video"];

pub(crate) const DOCUMENT: &[Member] = &[
    required("version", Shape::Word(VERSIONS)),
    optional("model", Shape::Text),
    required("messages", Shape::List { items: &Shape::Record(MESSAGE), least: 1 }),
];

pub(crate) const MESSAGE: &[Member] = &[
    required("id", Shape::Text),
    required("role", Shape::Word(ROLES)),
    required("segments", Shape::List { items: &Shape::Tagged { tag: "kind", records: KINDS }, least: 1 }),
    required("timestamp", Shape::Number),
];

/// The kinds, in the order of [`Kind`](crate::Kind), with the members of each.
pub(crate) const KINDS: &[(&str, &[Member])] = &[
    ("text", &[required("content", Shape::Text)]),
    (
        "static_var",
        &[required("name", Shape::Text), required("value", Shape::Text), optional("description", Shape::Text)],
    ),
    ("system_prompt", &[required("content", Shape::Text), required("collapsed", Shape::Flag)]),
    (
        "memory",
        &[
            optional("description", Shape::Text),
            required("items", Shape::List { items: &Shape::Record(MEMORY_ITEM), least: 1 }),
            required("collapsed", Shape::Flag),
        ],
    ),
    (
        "skills",
        &[
            optional("description", Shape::Text),
            required("items", Shape::List { items: &Shape::Record(SKILL_ITEM), least: 1 }),
            required("collapsed", Shape::Flag),
        ],
    ),
    (
        "tool_overview",
        &[
            required("items", Shape::List { items: &Shape::Record(TOOL_ITEM), least: 1 }),
            required("collapsed", Shape::Flag),
        ],
    ),
    (
        "tool_call_request",
        &[
            required("toolName", Shape::Text),
            required("arguments", Shape::Record(&[])),
            required("collapsed", Shape::Flag),
        ],
    ),
    (
        "tool_call_result",
        &[
            required("toolName", Shape::Text),
            required("result", Shape::Text),
            required("success", Shape::Flag),
            required("collapsed", Shape::Flag),
        ],
    ),
    (
        "document",
        &[
            required("fileName", Shape::Text),
            required("mimeType", Shape::Text),
            required("snippet", Shape::Text),
            required("sizeBytes", Shape::Number),
            optional("parsedContent", Shape::Text),
        ],
    ),
    (
        "long_text",
        &[required("content", Shape::Text), required("charCount", Shape::Number), required("collapsed", Shape::Flag)],
    ),
    (
        "media",
        &[
            required("mediaType", Shape::Word(MEDIA_TYPES)),
            required("url", Shape::Text),
            optional("altText", Shape::Text),
        ],
    ),
];

pub(crate) const MEMORY_ITEM: &[Member] = &[required("title", Shape::Text), required("content", Shape::Text)];

pub(crate) const SKILL_ITEM: &[Member] = &[required("name", Shape::Text), required("description", Shape::Text)];

pub(crate) const TOOL_ITEM: &[Member] = &[
    required("name", Shape::Text),
    required("description", Shape::Text),
    required("parameters", Shape::Text),
    optional("schema", Shape::Record(&[])),
];

/// The shape of a whole envelope.
pub const ENVELOPE: Shape = Shape::Record(DOCUMENT);
