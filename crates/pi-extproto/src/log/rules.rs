//! What a log entry must keep to beyond its schema: ids that join it to its call, evidence that is complete.

use serde_json::Value;

use pi_transcript::json::{Digest, Problem};

use super::{LogEntry, LogEvent};
use crate::host::ErrorCode;

impl LogEntry {
    /// Every rule of the logging contract that the entry breaks; none if it may be written.
    pub fn breaches(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut report = |path: &str, message: &str| {
            found.push(Problem { path: path.to_owned(), message: message.to_owned() });
        };
        if !is_rfc3339(&self.ts) {
            report("ts", "expected a date and time by RFC 3339");
        }
        if self.correlation.extension_id.is_empty() {
            report("correlation.extension_id", "every entry names its extension");
        }
        if self.correlation.scenario_id.is_empty() {
            report("correlation.scenario_id", "every entry names its scenario");
        }
        if let Some((name, id)) = self.most_specific_id()
            && id.is_none()
        {
            report(&format!("correlation.{name}"), &format!("an entry about {} names it", self.event));
        }
        self.ledger_breaches(&mut report);
        found
    }

    /// The id that an entry about this event cannot do without.
    fn most_specific_id(&self) -> Option<(&'static str, Option<&String>)> {
        let ids = &self.correlation;
        match &self.event {
            LogEvent::ToolCallStart | LogEvent::ToolCallEnd => Some(("tool_call_id", ids.tool_call_id.as_ref())),
            LogEvent::SlashCommandStart | LogEvent::SlashCommandEnd => {
                Some(("slash_command_id", ids.slash_command_id.as_ref()))
            }
            LogEvent::EventHookStart | LogEvent::EventHookEnd => Some(("event_id", ids.event_id.as_ref())),
            LogEvent::HostCallStart | LogEvent::HostCallEnd => Some(("host_call_id", ids.host_call_id.as_ref())),
            LogEvent::ExtensionRegister
            | LogEvent::ExtensionReady
            | LogEvent::PolicyDecision
            | LogEvent::CompatWarning
            | LogEvent::Other(_) => None,
        }
    }

    fn ledger_breaches(&self, report: &mut impl FnMut(&str, &str)) {
        if !matches!(self.event, LogEvent::HostCallStart | LogEvent::HostCallEnd) {
            return;
        }
        let member = |name: &str| self.data.as_ref().and_then(|data| data.get(name));
        for name in ["capability", "method"] {
            if !member(name).is_some_and(Value::is_string) {
                report(&format!("data.{name}"), "evidence of a host call needs this string");
            }
        }
        if member("params_hash").and_then(Value::as_str).is_none_or(|text| text.parse::<Digest>().is_err()) {
            report("data.params_hash", "evidence of a host call needs a digest of 64 lower-case hexadecimal digits");
        }
        if member("params").is_some() {
            report("data.params", "parameters are recorded by their digest only");
        }
        if self.event == LogEvent::HostCallStart {
            return;
        }
        if !member("duration_ms").is_some_and(Value::is_number) {
            report("data.duration_ms", "the end of a host call needs its duration");
        }
        let code = member("error").and_then(|error| error.get("code")).and_then(Value::as_str);
        match member("is_error").and_then(Value::as_bool) {
            None => report("data.is_error", "the end of a host call says whether it failed"),
            Some(true) if !code.is_some_and(is_error_code) => {
                report("data.error.code", "a failed host call needs its error code");
            }
            Some(_) => {}
        }
    }
}

fn is_error_code(word: &str) -> bool {
    serde_json::from_value::<ErrorCode>(Value::from(word)).is_ok()
}

/// `2026-02-03T03:01:02.123Z` and its variants; ranges of day and month are checked, calendars are not.
fn is_rfc3339(text: &str) -> bool {
    let digits = |range: std::ops::Range<usize>, from: u8, to: u8| {
        text.get(range).is_some_and(|part| {
            part.bytes().all(|byte| byte.is_ascii_digit())
                && part.parse().is_ok_and(|number: u16| (u16::from(from)..=u16::from(to)).contains(&number))
        })
    };
    let mark =
        |index: usize, marks: &str| text.as_bytes().get(index).is_some_and(|byte| marks.as_bytes().contains(byte));
    let date = text.get(..4).is_some_and(|year| year.bytes().all(|byte| byte.is_ascii_digit()))
        && mark(4, "-")
        && digits(5..7, 1, 12)
        && mark(7, "-")
        && digits(8..10, 1, 31);
    let time = mark(10, "Tt ")
        && digits(11..13, 0, 23)
        && mark(13, ":")
        && digits(14..16, 0, 59)
        && mark(16, ":")
        && digits(17..19, 0, 60);
    let Some(rest) = text.get(19..).filter(|_| date && time) else { return false };
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if zone.len() == fraction.len() {
                return false;
            }
            zone
        }
        None => rest,
    };
    let offset = text.len() - zone.len();
    matches!(zone, "Z" | "z")
        || (zone.len() == 6
            && zone.starts_with(['+', '-'])
            && digits(offset + 1..offset + 3, 0, 23)
            && mark(offset + 3, ":")
            && digits(offset + 4..offset + 6, 0, 59))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(change: &Value, expected: &[&str]) {
        let mut entry = json!({
            "schema": "pi.ext.log.v1", "ts": "2026-02-03T03:01:02.123Z", "level": "info", "event": "host_call.end",
            "message": "", "correlation": { "extension_id": "e", "scenario_id": "s", "host_call_id": "h" },
            "data": { "capability": "read", "method": "fs", "params_hash": Digest::of(b"").to_string(),
                      "duration_ms": 1, "is_error": true, "error": { "code": "io" } },
        });
        for (pointer, value) in change.as_object().expect("pointers and values") {
            *entry.pointer_mut(pointer).expect("a place in the entry") = value.clone();
        }
        let entry: LogEntry = serde_json::from_value(entry).expect("an entry");
        let paths: Vec<_> = entry.breaches().into_iter().map(|problem| problem.path).collect();
        assert_eq!(paths, expected, "{change}");
    }

    #[test]
    fn complete_evidence_breaks_no_rule() {
        check(&json!({}), &[]);
        check(&json!({ "/data/is_error": false, "/data/error": null }), &[]);
        check(&json!({ "/event": "host_call.start", "/data/duration_ms": null, "/data/is_error": null }), &[]);
    }

    #[test]
    fn entry_names_what_it_is_about() {
        let ids = json!({ "extension_id": "", "scenario_id": "" });
        let both = ["correlation.extension_id", "correlation.scenario_id"];
        for (event, id) in [
            ("tool_call.start", "correlation.tool_call_id"),
            ("slash_command.end", "correlation.slash_command_id"),
            ("event_hook.start", "correlation.event_id"),
            ("host_call.end", "correlation.host_call_id"),
        ] {
            check(&json!({ "/event": event, "/correlation": ids }), &[both[0], both[1], id]);
        }
        check(&json!({ "/event": "policy.decision", "/correlation": ids }), &both);
        check(&json!({ "/event": "weather.change", "/correlation": ids, "/data": {} }), &both);
    }

    #[test]
    fn evidence_is_complete_and_holds_no_parameters() {
        let all = ["data.capability", "data.method", "data.params_hash", "data.duration_ms", "data.is_error"];
        check(&json!({ "/data": {} }), &all);
        check(&json!({ "/event": "host_call.start", "/data": {} }), &all[..3]);
        check(&json!({ "/data/error": { "code": "sad" } }), &["data.error.code"]);
        check(&json!({ "/data/params_hash": "ABC" }), &["data.params_hash"]);
        let raw = json!({ "capability": "read", "method": "fs", "params": {},
                          "params_hash": Digest::of(b"").to_string() });
        check(&json!({ "/event": "host_call.start", "/data": raw }), &["data.params"]);
    }

    #[test]
    fn time_is_rfc3339() {
        for time in ["2026-02-03T03:01:02Z", "2026-02-03t03:01:02.1+01:30", "2026-12-31 23:59:60-00:00"] {
            check(&json!({ "/ts": time }), &[]);
        }
        for time in [
            "",
            "now",
            "2026-02-03",
            "2026-02-03T03:01:02",
            "2026-13-03T03:01:02Z",
            "2026-02-03T24:01:02Z",
            "2026-02-03T03:01:02.Z",
            "2026-02-03T03:01:02+1:00",
            "2026-02-03T03:01:02Zx",
            "２026-02-03T03:01:02Z",
        ] {
            check(&json!({ "/ts": time }), &["ts"]);
        }
    }
}
