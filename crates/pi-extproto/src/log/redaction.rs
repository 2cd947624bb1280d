//! Redaction of log entries: mandatory, and therefore a type.

use std::mem;

use serde::Serialize;
use serde_json::Value;

use pi_redact::Redactor;

use super::LogEntry;
use crate::Object;

/// An entry that may be written. Sinks take this type, so forgetting to redact does not compile.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct RedactedEntry(LogEntry);

impl LogEntry {
    /// Hides secrets and personal data in the message, the data and everything that this version does not know.
    ///
    /// Ids stay as they are: they join entries, and are made by the host.
    pub fn redact(mut self, redactor: &Redactor) -> RedactedEntry {
        self.message = redactor.redact_text(&self.message).into_owned();
        let free = [
            Some(&mut self.extra),
            Some(&mut self.correlation.extra),
            self.source.as_mut().map(|source| &mut source.extra),
            self.data.as_mut(),
        ];
        for object in free.into_iter().flatten() {
            redact_object(object, redactor);
        }
        RedactedEntry(self)
    }
}

impl RedactedEntry {
    pub fn entry(&self) -> &LogEntry {
        &self.0
    }

    /// The line of a log file, with its line feed.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("an entry holds nothing that JSON cannot");
        line.push('\n');
        line
    }
}

fn redact_object(object: &mut Object, redactor: &Redactor) {
    let mut value = Value::Object(mem::take(object));
    redactor.redact_value(&mut value);
    if let Value::Object(redacted) = value {
        *object = redacted;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use pi_redact::MARK;
    use pi_transcript::json::Digest;

    use super::*;

    fn entry(data: &Value) -> LogEntry {
        serde_json::from_value(json!({
            "schema": "pi.ext.log.v1", "ts": "2026-01-01T00:00:00Z", "level": "info", "event": "host_call.end",
            "message": "sent Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345", "data": data,
            "correlation": { "extension_id": "e", "scenario_id": "s", "host_call_id": "h", "password": "p" },
            "source": { "component": "runtime", "api_key": "k" }, "token": "t",
        }))
        .expect("an entry")
    }

    #[test]
    fn secrets_do_not_reach_a_line() {
        let data = json!({ "deep": [{ "access_token": "x1" }], "max_tokens": 7, "note": "fine" });
        let line = entry(&data).redact(&Redactor::default()).to_line();
        assert!(line.ends_with("}\n") && line.matches('\n').count() == 1, "{line}");
        let written: Value = serde_json::from_str(&line).expect("JSON");
        assert!(!line.contains("abcdefghijklmnopqrstuvwxyz012345"), "{line}");
        for place in ["/correlation/password", "/source/api_key", "/token", "/data/deep/0/access_token"] {
            assert_eq!(written.pointer(place), Some(&json!(MARK)), "{place}");
        }
        assert_eq!((&written["data"]["max_tokens"], &written["data"]["note"]), (&json!(7), &json!("fine")));
    }

    #[test]
    fn evidence_survives() {
        let data = json!({
            "capability": "credentials", "method": "credentials", "params_hash": Digest::of(b"x").to_string(),
            "timeout_ms": 1000, "duration_ms": 3, "is_error": true, "error": { "code": "denied" },
        });
        let redacted = entry(&data).redact(&Redactor::default());
        assert_eq!(redacted.entry().data.clone().map(Value::Object), Some(data));
        assert_eq!(redacted.entry().breaches(), []);
    }
}
