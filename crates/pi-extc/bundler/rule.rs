//! The rules of the scanner by their stable names. What each means is in `src/rules.rs`.

use serde::{Deserialize, Serialize};

/// A rule of the scanner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Rule {
    #[serde(rename = "code.eval")]
    Eval,
    #[serde(rename = "code.function")]
    Function,
    #[serde(rename = "code.timer-text")]
    TimerText,
    #[serde(rename = "code.computed-global")]
    ComputedGlobal,
    #[serde(rename = "code.encoded")]
    Encoded,
    #[serde(rename = "api.process-binding")]
    ProcessBinding,
    #[serde(rename = "api.process")]
    Process,
    #[serde(rename = "api.prototype")]
    Prototype,
    #[serde(rename = "api.global")]
    AbsentGlobal,
    #[serde(rename = "file.hook")]
    Hook,
    #[serde(rename = "import.forbidden")]
    Forbidden,
    #[serde(rename = "import.unsupported")]
    Unsupported,
    #[serde(rename = "import.dynamic")]
    DynamicImport,
    #[serde(rename = "package.missing")]
    MissingPackage,
    #[serde(rename = "package.incomplete")]
    MissingFile,
    #[serde(rename = "package.native")]
    Native,
    #[serde(rename = "entry.no-factory")]
    NoFactory,
}
