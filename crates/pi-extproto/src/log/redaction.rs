//! Redaction of log entries: mandatory, and therefore a type.

use std::{borrow::Cow, mem};

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use pi_redact::Redactor;
use pi_transcript::json::Extra;

use super::{Correlation, Level, LogEntry, LogEvent, LogSchema, Source};
use crate::Object;

/// An entry that may be written. Sinks take this type, so forgetting to redact does not compile.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct RedactedEntry(LogEntry);

impl LogEntry {
    /// Hides secrets and personal data in every text and in everything that this version does not know.
    ///
    /// Names and ids are no exception: an extension chooses the event of its notes, a provider the id of a tool call, and
    /// a whole entry may come from an extension. What is not a secret stays as it is, so ids still join entries.
    pub fn redact(mut self, redactor: &Redactor) -> RedactedEntry {
        if let Cow::Owned(event) = redactor.redact_text(self.event.as_str()) {
            self.event = LogEvent::from(event.as_str());
        }
        for text in texts(&mut self) {
            if let Cow::Owned(redacted) = redactor.redact_text(text) {
                *text = redacted;
            }
        }
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

/// Every text of an entry that its writer chooses, the event apart. Each member is named: a new one does not compile
/// before somebody has decided about it.
fn texts(entry: &mut LogEntry) -> impl Iterator<Item = &mut String> {
    let LogEntry { schema: _, ts, level: _, event: _, message, correlation, source, data: _, extra: _ } = entry;
    let Correlation {
        extension_id,
        scenario_id,
        session_id,
        run_id,
        artifact_id,
        tool_call_id,
        slash_command_id,
        event_id,
        host_call_id,
        rpc_id,
        trace_id,
        span_id,
        extra: _,
    } = correlation;
    let host = source.as_mut().and_then(|Source { component: _, host, pid: _, extra: _ }| host.as_mut());
    let ids = [session_id, run_id, artifact_id, tool_call_id, slash_command_id, event_id, host_call_id];
    let ids = ids.into_iter().chain([rpc_id, trace_id, span_id]).flatten();
    [ts, message, extension_id, scenario_id].into_iter().chain(ids).chain(host)
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

    /// Writes the line of a log file, with its line feed, and with `value` as the last member of `data`. One that is there
    /// under this name already is left out.
    pub fn write_line_with(&self, member: &str, value: &impl Serialize, into: &mut Vec<u8>) {
        let LogEntry { schema, ts, level, event, message, correlation, source, data, extra } = &self.0;
        let data = Extended { data: data.as_ref(), member, value };
        let line = Line {
            schema: *schema,
            ts,
            level: *level,
            event,
            message,
            correlation,
            source: source.as_ref(),
            data,
            extra,
        };
        serde_json::to_writer(&mut *into, &line).expect("an entry holds nothing that JSON cannot");
        into.push(b'\n');
    }

    /// The entry, for whoever gives back its memory.
    pub fn into_entry(self) -> LogEntry {
        self.0
    }
}

/// An entry whose data has a member more.
#[derive(Serialize)]
struct Line<'a, V: Serialize> {
    schema: LogSchema,
    ts: &'a str,
    level: Level,
    event: &'a LogEvent,
    message: &'a str,
    correlation: &'a Correlation,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a Source>,
    data: Extended<'a, V>,
    #[serde(flatten)]
    extra: &'a Extra,
}

struct Extended<'a, V> {
    data: Option<&'a Object>,
    member: &'a str,
    value: &'a V,
}

impl<V: Serialize> Serialize for Extended<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.data.into_iter().flatten().filter(|(name, _)| *name != self.member) {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry(self.member, self.value)?;
        map.end()
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
    use crate::log::Component;

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
    fn member_that_is_added_to_a_line_is_the_only_one_of_its_name() {
        let line = |data: &Value| {
            let mut entry = entry(&json!({}));
            entry.data = data.as_object().cloned();
            let (redacted, mut line) = (entry.redact(&Redactor::default()), b"before".to_vec());
            redacted.write_line_with("chain", &json!({ "index": 7 }), &mut line);
            String::from_utf8(line).expect("text")
        };
        let whole = json!({ "a": 1, "chain": "forged", "b": [2] });
        let written = line(&whole);
        assert!(
            written.ends_with("\"data\":{\"a\":1,\"b\":[2],\"chain\":{\"index\":7}},\"token\":\"[REDACTED]\"}\n"),
            "{written}"
        );
        assert!(line(&Value::Null).contains("\"data\":{\"chain\":{\"index\":7}}"));
        let mut expected = entry(&whole);
        expected.data = Some(Object::from_iter([
            ("a".to_owned(), json!(1)),
            ("b".to_owned(), json!([2])),
            ("chain".to_owned(), json!({ "index": 7 })),
        ]));
        // But for the member it is the line that everybody else writes.
        assert_eq!(written.strip_prefix("before"), Some(expected.redact(&Redactor::default()).to_line().as_str()));
    }

    #[test]
    fn secrets_in_names_and_ids_do_not_reach_a_line() {
        let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
        let ids = [
            "extension_id",
            "scenario_id",
            "session_id",
            "run_id",
            "artifact_id",
            "tool_call_id",
            "slash_command_id",
            "event_id",
            "host_call_id",
            "rpc_id",
            "trace_id",
            "span_id",
        ];
        let correlation: Object = ids.into_iter().map(|name| (name.to_owned(), json!(secret))).collect();
        let entry: LogEntry = serde_json::from_value(json!({
            "schema": "pi.ext.log.v1", "ts": secret, "level": "info", "event": secret, "message": secret,
            "correlation": correlation, "source": { "component": "extension", "host": secret },
        }))
        .expect("an entry");
        let redacted = entry.redact(&Redactor::default());
        let redacted_ids: Object = ids.into_iter().map(|name| (name.to_owned(), json!(MARK))).collect();
        let expected = json!({
            "schema": "pi.ext.log.v1", "ts": MARK, "level": "info", "event": MARK, "message": MARK,
            "correlation": redacted_ids, "source": { "component": "extension", "host": MARK },
        });
        assert_eq!(serde_json::to_value(&redacted).expect("JSON"), expected);
    }

    #[test]
    fn only_the_secret_in_a_name_is_hidden() {
        let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
        let mut entry = entry(&json!({}));
        entry.event = LogEvent::from(format!("login with {secret} done").as_str());
        entry.correlation.session_id = Some(format!("first {secret}"));
        let redacted = entry.redact(&Redactor::default());
        assert_eq!(redacted.entry().event.as_str(), format!("login with {MARK} done"));
        assert_eq!(redacted.entry().correlation.session_id, Some(format!("first {MARK}")));
    }

    #[test]
    fn names_times_and_ids_that_are_no_secrets_stay() {
        let mut entry = entry(&json!({}));
        entry.message = String::new();
        let ids = &mut entry.correlation;
        ids.extra.clear();
        ids.session_id = Some("0198c5c3-7d5e-7d0e-9b0e-6f1a2b3c4d5e".to_owned());
        ids.tool_call_id = Some("toolu_01A09q90qw90lq917835lq9".to_owned());
        ids.trace_id = Some("4bf92f3577b34da6a3ce929d0e0e4736".to_owned());
        ids.artifact_id = Some(Digest::of(b"a").to_string());
        entry.extra.clear();
        entry.source = Some(Source {
            component: Component::Runtime,
            host: Some("build-7.example.org".to_owned()),
            pid: None,
            extra: Object::new(),
        });
        for ts in ["2026-01-01T00:00:00Z", "2026-02-03T03:01:02.123456+01:30"] {
            ts.clone_into(&mut entry.ts);
            assert_eq!(entry.clone().redact(&Redactor::default()).entry(), &entry);
        }
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
