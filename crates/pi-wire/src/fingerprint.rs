//! Whether two frames are the same command.

use pi_transcript::json::{Digest, canonical};
use serde_json::Value;

use crate::frame::Frame;

impl Frame {
    /// The digest of what the command means.
    ///
    /// Two frames have the same fingerprint if they differ only in `id`, `idempotencyKey`, `dependsOn` and
    /// `ifSessionVersion`, in the order of members, in spelling (`1` and `1.0`, `é` and `\u00e9`), or in members that
    /// one leaves out and the other spells as their default. Members that we do not know count.
    pub fn fingerprint(&self) -> Digest {
        canonical::digest(&Value::Object(self.meaning()))
    }
}
