//! What a person chose to offer to the model: which tools, and which sources of context. A session file remembers it.
//!
//! It is an entry of Pi's type `custom`, which Pi keeps and does not look at. Each tells everything, so the last one of a
//! path counts, as it is with the model. What an extension chooses is not in it: an extension chooses anew at each start.

use pi_transcript::{Entry, entry::CustomEntry};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{resources::Switches, tree::Kept};

/// The name by which such an entry is known. No extension may use it.
pub const TYPE: &str = "pi.offer";

/// What was chosen on a path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// None: nobody chose, and the session offers what the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ChosenTools>,
    /// The sources that are switched off.
    #[serde(default, rename = "sourcesOff", skip_serializing_if = "Switches::are_all_on")]
    pub switches: Switches,
}

/// Tools by name. One that is in neither list came later, and nobody has chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenTools {
    #[serde(default)]
    pub on: Vec<String>,
    #[serde(default)]
    pub off: Vec<String>,
}

/// With which tools a session begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActiveTools {
    /// These, unless the file says that others were chosen.
    Usual(Vec<String>),
    /// These, whatever the file says: somebody asked for them. The file still says what it said.
    Asked(Vec<String>),
}

impl Offer {
    pub(crate) fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("an offer is words")
    }
}

/// What an entry tells of it. One that cannot be read tells nothing.
pub(crate) fn of(kept: &Kept) -> Option<Offer> {
    let Kept::Other(entry) = kept else { return None };
    told_by(entry)
}

/// The same for an entry that is not kept.
pub(crate) fn told_by(entry: &Entry) -> Option<Offer> {
    let Entry::Custom(entry) = entry else { return None };
    is_told_by(entry).then(|| Offer::deserialize(entry.data.as_ref()?).ok()).flatten()
}

/// Whether an entry is one that tells of it.
pub(crate) fn is_told_by(entry: &CustomEntry) -> bool {
    entry.custom_type == TYPE
}
