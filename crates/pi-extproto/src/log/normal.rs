//! Normal form for fixtures: whatever differs between two runs of the same scenario becomes a placeholder.

use serde_json::Value;

use super::{Count, LogEntry};

impl LogEntry {
    /// Replaces time, process, machine and run ids by placeholders, and paths below `cwd` by `<cwd>/…`.
    ///
    /// `pid` becomes zero, everything else the name of its member in angle brackets. The schema still accepts the entry,
    /// but `<ts>` is no time: it is for comparing, and [`breaches`](Self::breaches) says so.
    pub fn normalise(&mut self, cwd: &str) {
        "<ts>".clone_into(&mut self.ts);
        let correlation = &mut self.correlation;
        for (id, placeholder) in [
            (&mut correlation.session_id, "<session_id>"),
            (&mut correlation.run_id, "<run_id>"),
            (&mut correlation.artifact_id, "<artifact_id>"),
            (&mut correlation.trace_id, "<trace_id>"),
            (&mut correlation.span_id, "<span_id>"),
        ] {
            replace(id, placeholder);
        }
        if let Some(source) = &mut self.source {
            replace(&mut source.host, "<host>");
            if source.pid.is_some() {
                source.pid = Some(Count::from(0));
            }
        }
        self.message = normalise_text(&self.message, cwd);
        let free = [Some(&mut self.extra), Some(&mut self.correlation.extra), self.data.as_mut()];
        for member in free.into_iter().flatten().flat_map(|object| object.values_mut()) {
            normalise_paths(member, cwd);
        }
        if let Some(source) = &mut self.source {
            source.extra.values_mut().for_each(|member| normalise_paths(member, cwd));
        }
    }
}

/// Replaces paths below `cwd` by `<cwd>/…` in every string of `value`, names of members excepted.
pub fn normalise_paths(value: &mut Value, cwd: &str) {
    match value {
        Value::String(text) => *text = normalise_text(text, cwd),
        Value::Array(items) => items.iter_mut().for_each(|item| normalise_paths(item, cwd)),
        Value::Object(members) => members.values_mut().for_each(|member| normalise_paths(member, cwd)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn replace(id: &mut Option<String>, placeholder: &str) {
    if id.is_some() {
        *id = Some(placeholder.to_owned());
    }
}

fn normalise_text(text: &str, cwd: &str) -> String {
    let cwd = cwd.trim_end_matches(['/', '\\']);
    if cwd.is_empty() {
        return text.to_owned();
    }
    let mut normal = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(cwd) {
        let (before, after) = (&rest[..start], &rest[start + cwd.len()..]);
        normal.push_str(before);
        let whole = !normal.ends_with(is_name) && !continues_name(after);
        rest = after;
        if !whole {
            normal.push_str(cwd);
            continue;
        }
        normal.push_str("<cwd>");
        if cwd.contains('\\') {
            let end = after.find(|c: char| c.is_whitespace() || "\"'<>|*?".contains(c)).unwrap_or(after.len());
            normal.push_str(&after[..end].replace('\\', "/"));
            rest = &after[end..];
        }
    }
    normal + rest
}

/// Whether the text after a path still belongs to its last name: `/a/b` is not a folder of `/a/bc` or `/a/b.old`,
/// but a full stop at the end of a sentence is not part of a name.
fn continues_name(after: &str) -> bool {
    after.trim_start_matches('.').starts_with(is_name)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || "._-".contains(c)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(cwd: &str, text: &str, expected: &str) {
        assert_eq!(normalise_text(text, cwd), expected, "{text:?} in {cwd:?}");
    }

    #[test]
    fn paths_below_the_folder_become_relative_to_it() {
        check("/home/u/p", "read /home/u/p/src/a.rs", "read <cwd>/src/a.rs");
        check("/home/u/p/", "/home/u/p", "<cwd>");
        check("/home/u/p", "file:///home/u/p/a \"/home/u/p\".", "file://<cwd>/a \"<cwd>\".");
        check("/home/u/p", "it is /home/u/p.", "it is <cwd>.");
        check(r"C:\p", r"open C:\p\src\a.rs now, not D:\x", "open <cwd>/src/a.rs now, not D:\\x");
    }

    #[test]
    fn paths_beside_the_folder_stay() {
        for text in ["/home/u/pi/a", "/home/u/p.old", "/mnt/home/u/p/a", "/home/u", ""] {
            check("/home/u/p", text, text);
        }
        check("/", "/etc/passwd", "/etc/passwd");
        check("", "/etc/passwd", "/etc/passwd");
    }

    #[test]
    fn two_runs_of_a_scenario_have_one_normal_form() {
        let entry = |run: u32, cwd: &str| -> LogEntry {
            serde_json::from_value(json!({
                "schema": "pi.ext.log.v1", "ts": format!("2026-01-01T00:00:0{run}Z"), "level": "info",
                "event": "tool_call.end", "message": format!("wrote {cwd}/out"),
                "correlation": {
                    "extension_id": "ext.a", "scenario_id": "scn-1", "tool_call_id": "tool-1",
                    "session_id": format!("s{run}"), "run_id": format!("r{run}"), "artifact_id": format!("a{run}"),
                    "trace_id": format!("t{run}"), "span_id": format!("p{run}"),
                },
                "source": { "component": "runtime", "host": format!("h{run}"), "pid": run, "where": [cwd] },
                "data": { "paths": [{ "path": format!("{cwd}/out") }], "size": 3 },
            }))
            .expect("an entry")
        };
        let (mut first, mut second) = (entry(1, "/tmp/a"), entry(2, "/tmp/b"));
        first.normalise("/tmp/a");
        second.normalise("/tmp/b");
        assert_eq!(first, second);
        let expected = json!({
            "schema": "pi.ext.log.v1", "ts": "<ts>", "level": "info", "event": "tool_call.end",
            "message": "wrote <cwd>/out",
            "correlation": {
                "extension_id": "ext.a", "scenario_id": "scn-1", "session_id": "<session_id>", "run_id": "<run_id>",
                "artifact_id": "<artifact_id>", "tool_call_id": "tool-1", "trace_id": "<trace_id>",
                "span_id": "<span_id>",
            },
            "source": { "component": "runtime", "host": "<host>", "pid": 0, "where": ["<cwd>"] },
            "data": { "paths": [{ "path": "<cwd>/out" }], "size": 3 },
        });
        assert_eq!(serde_json::to_value(&first).expect("JSON"), expected);
    }
}
