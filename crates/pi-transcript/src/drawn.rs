//! Text with styles: what a component looks like that an extension draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::json::present;

/// Where a component stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "ComponentPlacement")]
pub enum Placement {
    /// In the place of the editor, with the keys.
    #[default]
    Editor,
    /// Above everything else, with the keys.
    Overlay,
    /// Without keys, as the others.
    AboveEditor,
    BelowEditor,
    Header,
    Footer,
}

impl Placement {
    /// Whether what stands there gets the keys.
    pub fn takes_keys(self) -> bool {
        match self {
            Self::Editor | Self::Overlay => true,
            Self::AboveEditor | Self::BelowEditor | Self::Header | Self::Footer => false,
        }
    }
}

/// Text in one style. It has no character that a terminal would obey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Span {
    pub text: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Style {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub foreground: Option<Colour>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub background: Option<Colour>,
    #[serde(default, skip_serializing_if = "is_false")]
    #[ts(as = "Option<bool>")]
    pub bold: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    #[ts(as = "Option<bool>")]
    pub dim: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    #[ts(as = "Option<bool>")]
    pub italic: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    #[ts(as = "Option<bool>")]
    pub underline: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    #[ts(as = "Option<bool>")]
    pub strikethrough: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    #[ts(as = "Option<bool>")]
    pub inverse: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// A colour: `#rrggbb`, or one of the sixteen that every terminal has its own idea of, such as `red` or `brightRed`
/// ([`Colour::NAMES`]).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(transparent)]
#[ts(type = "string")]
pub struct Colour(pub String);

impl Colour {
    /// In the order of the terminal's numbers.
    pub const NAMES: [&'static str; 16] = [
        "black",
        "red",
        "green",
        "yellow",
        "blue",
        "magenta",
        "cyan",
        "white",
        "brightBlack",
        "brightRed",
        "brightGreen",
        "brightYellow",
        "brightBlue",
        "brightMagenta",
        "brightCyan",
        "brightWhite",
    ];
}
