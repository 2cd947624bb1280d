//! The protocol in writing: every exchange between host and guests, as JSON, one message a line.
//!
//! For those who look for a fault or check a tier against the schema. Secrets are hidden in it, credentials always.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

use pi_extproto::message::{Message, Payload};
use pi_redact::Redactor;

/// A file of messages. Clones are the same.
#[derive(Clone)]
pub struct Trace {
    shared: Arc<Shared>,
}

struct Shared {
    redactor: Arc<Redactor>,
    /// A lock and no task: whoever traces wants every line to be there when something breaks.
    file: Mutex<File>,
}

impl Trace {
    /// Adds to a file, which only its owner may read: sessions of one process write into the same.
    pub fn create(path: &Path, redactor: Arc<Redactor>) -> io::Result<Self> {
        Ok(Self { shared: Arc::new(Shared { redactor, file: Mutex::new(open(path)?) }) })
    }

    /// Whether a file can be added to; makes it if it is not there.
    pub fn try_out(path: &Path) -> io::Result<()> {
        open(path).map(drop)
    }

    /// Writes one message. A disk that does not take it costs the trace, not the work.
    pub fn write(&self, id: &str, payload: Payload) {
        let mut message = match serde_json::to_value(Message::new(id, payload)) {
            Ok(message) => message,
            Err(error) => return tracing::warn!(%error, "a message was not traced"),
        };
        self.hide(&mut message);
        let line = format!("{message}\n");
        let mut file = self.shared.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(line.as_bytes()) {
            tracing::warn!(%error, "a message was not traced");
        }
    }

    /// The words that the protocol itself needs stay as they are, so that the schema still fits.
    fn hide(&self, message: &mut Value) {
        if let Some(payload) = message.get_mut("payload").and_then(Value::as_object_mut) {
            for (name, member) in payload.iter_mut() {
                if !["call_id", "capability", "method", "name", "cancel_token"].contains(&name.as_str()) {
                    self.shared.redactor.redact_value(member);
                }
            }
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}
