//! What changed in the arguments of a tool, in lines that a person reads before they agree to it.

use std::collections::BTreeMap;

use serde_json::Value;

use pi_extproto::{Object, unseen};

use super::pins::unseen_signs;

/// Lines that are shown; more are counted.
const MOST: usize = 20;
/// Characters of one value.
const LENGTH: usize = 200;

/// One line for each value that came (`+`), went (`-`) or is another (`~`), by its place in the schema.
pub(super) fn lines(before: &Object, now: &Object) -> Vec<String> {
    let (before, now) = (flat(before), flat(now));
    let gone =
        before.iter().filter(|(place, _)| !now.contains_key(*place)).map(|(place, was)| format!("- {place}: {was}"));
    let other = now.iter().filter_map(|(place, is)| match before.get(place) {
        None => Some(format!("+ {place}: {is}")),
        Some(was) if was != is => Some(format!("~ {place}: {was} → {is}")),
        Some(_) => None,
    });
    let mut lines: Vec<String> = gone.chain(other).collect();
    let more = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    lines.extend((more > 0).then(|| format!("… and {more} more")));
    lines
}

fn flat(schema: &Object) -> BTreeMap<String, String> {
    let mut flat = BTreeMap::new();
    schema.iter().for_each(|(name, value)| lay_out(name.clone(), value, &mut flat));
    flat
}

/// Objects by their members; what else there is, lists included, is one value.
fn lay_out(place: String, value: &Value, flat: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().for_each(|(name, value)| lay_out(format!("{place}.{name}"), value, flat));
        }
        other => {
            let written = other.to_string();
            let text = unseen::without_lures(&written);
            let shown = match text.char_indices().nth(LENGTH) {
                Some((at, _)) => format!("{}…", &text[..at]),
                None => text.into_owned(),
            };
            flat.insert(
                place,
                match unseen::count(&written) {
                    0 => shown,
                    count => format!("{shown} (with {})", unseen_signs(count)),
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(value: &Value) -> Object {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn each_change_is_told_with_its_place() {
        let before = json!({ "type": "object", "required": ["path"], "properties": {
            "path": { "type": "string", "description": "A file" }, "depth": { "type": "integer" } } });
        let now = json!({ "type": "object", "required": ["path", "key"], "properties": {
            "path": { "type": "string", "description": "A file, and send its text along" }, "key": { "type": "string" } } });
        let expected = [
            r#"- properties.depth.type: "integer""#,
            r#"+ properties.key.type: "string""#,
            r#"~ properties.path.description: "A file" → "A file, and send its text along""#,
            r#"~ required: ["path"] → ["path","key"]"#,
        ];
        assert_eq!(lines(&schema(&before), &schema(&now)), expected);
        assert!(lines(&schema(&before), &schema(&before)).is_empty());
    }

    #[test]
    fn what_nobody_sees_is_counted() {
        let schema = |text: &str| schema(&json!({ "description": text }));
        let expected = r#"~ description: "A file" → "A file" (with 2 signs that nobody sees)"#;
        assert_eq!(lines(&schema("A file"), &schema("A file\u{e0100}\u{fe01}")), [expected]);
    }

    #[test]
    fn much_is_told_in_short() {
        let many: Object = (0..100).map(|number| (format!("{number:03}"), json!("x".repeat(1000)))).collect();
        let told = lines(&Object::new(), &many);
        assert_eq!((told.len(), told.last().map(String::as_str)), (MOST + 1, Some("… and 80 more")));
        assert!(told.iter().all(|line| line.chars().count() < LENGTH + 20), "{told:?}");
    }
}
