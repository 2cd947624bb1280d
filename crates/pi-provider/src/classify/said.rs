//! What a provider said in the body of a refusal, whatever shape it has.

use serde_json::Value;

use super::builtin::Builtin;
use crate::{manifest::contract::ErrorExtraction, path::Path};

/// The parts of a refusal.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Said {
    /// Codes and types, the most telling first; a number is written out.
    pub(super) codes: Vec<String>,
    pub(super) message: Option<String>,
    pub(super) request_id: Option<String>,
}

impl Said {
    /// Reads a body; the contract's paths come first.
    pub(super) fn read(body: &Value, paths: &ErrorExtraction) -> Self {
        if let Value::String(text) = body {
            return Self::from_text(text);
        }
        // Gemini wraps an error in a list when it was asked for a stream.
        let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
        let own = |path: &Option<String>| word(Path::parse(path.as_deref()?).ok()?.first(body)?);
        let at = |path: &str| body.pointer(path).and_then(word);
        let places = &Builtin::get().places;
        let reasons = body.pointer(&places.reasons.list).and_then(Value::as_array);
        let reasons = reasons.into_iter().flatten().filter_map(|detail| word(detail.get(&places.reasons.member)?));
        let outer = at(&places.outer_kind).filter(|kind| *kind != places.wrapper);
        let mut codes: Vec<String> = Vec::new();
        let all = (own(&paths.code_path).into_iter())
            .chain(places.codes.iter().filter_map(|path| at(path)))
            .chain(reasons)
            .chain(own(&paths.type_path))
            .chain(places.kinds.iter().filter_map(|path| at(path)))
            .chain(outer);
        let forwarded = places.forwarded.iter().find_map(|path| at(path)).map(|text| Self::forwarded(&text));
        let forwarded = forwarded.unwrap_or_default();
        for code in all.chain(forwarded.codes) {
            if !codes.contains(&code) {
                codes.push(code);
            }
        }
        // A place that is there may be empty, and another one filled.
        let text =
            |path: &String| body.pointer(path)?.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let message = own(&paths.message_path).or_else(|| places.messages.iter().find_map(text));
        Self {
            codes,
            message: match (message, forwarded.message) {
                (Some(above), Some(below)) if !above.contains(&below) => Some(format!("{above}: {below}")),
                (above, below) => above.or(below),
            },
            request_id: places.request_ids.iter().find_map(|path| at(path)),
        }
    }

    /// What the server behind a router said.
    fn forwarded(text: &str) -> Self {
        match serde_json::from_str::<Value>(text) {
            Ok(body) => Self::read(&body, &ErrorExtraction::default()),
            Err(_) => Self::from_text(text),
        }
    }

    /// A body that is no JSON: its text, of a page only the title.
    pub(super) fn from_text(text: &str) -> Self {
        let text = text.trim();
        let is_page = text.starts_with('<');
        let title = is_page.then(|| {
            let (_, rest) = text.split_once("<title>")?;
            Some(rest.split_once("</title>")?.0.trim())
        });
        let message = match title {
            Some(title) => title.unwrap_or_default(),
            None => text,
        };
        Self { message: (!message.is_empty()).then(|| message.to_owned()), ..Self::default() }
    }

    /// A status that the body names where a code should be: `{"error": {"code": 429}}`.
    pub(super) fn status(&self) -> Option<u16> {
        self.codes.iter().filter_map(|code| code.parse().ok()).find(|status| (400..600).contains(status))
    }

    /// The provider's own name for the error: the first that is more than a number, else the number.
    pub(super) fn provider_code(&self) -> Option<&String> {
        self.codes.iter().find(|code| code.parse::<i64>().is_err()).or_else(|| self.codes.first())
    }
}

/// The first document of a body that is a stream of events: who was asked for a stream may refuse in the form of one.
pub(super) fn in_event(body: &[u8]) -> Option<Value> {
    let lines = str::from_utf8(body).ok()?.lines();
    let mut documents = lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok());
    documents.next()
}

/// A text or a number, if it says anything.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(codes: &[&str], message: Option<&str>) -> Said {
        let codes = codes.iter().map(|&code| code.to_owned()).collect();
        Said { codes, message: message.map(str::to_owned), request_id: None }
    }

    #[test]
    fn every_shape_is_read() {
        let bodies = [
            (json!({"error": {"code": 400, "message": "m", "type": "t"}}), said(&["400", "t"], Some("m"))),
            (json!({"type": "error", "error": {"type": "t", "message": "m"}}), said(&["t"], Some("m"))),
            (json!([{"error": {"code": 429, "status": "S", "message": "m"}}]), said(&["429", "S"], Some("m"))),
            (json!({"error": {"details": [{"reason": "R"}], "status": "S"}}), said(&["R", "S"], None)),
            (json!({"error": "no such model"}), said(&[], Some("no such model"))),
            (json!({"message": "m"}), said(&[], Some("m"))),
            (json!({"detail": "m"}), said(&[], Some("m"))),
            (json!({"detail": [{"msg": "m"}]}), said(&[], Some("m"))),
            (json!({"base_resp": {"status_code": 1008, "status_msg": "m"}}), said(&["1008"], Some("m"))),
            (json!({"error": {"code": null, "message": ""}}), said(&[], None)),
            (json!({"error": {"message": " ", "code": "c"}, "message": "m"}), said(&["c"], Some("m"))),
            (json!({"object": "error", "message": {"detail": [{"msg": "m"}]}}), said(&[], Some("m"))),
            (json!({"errors": ["m"]}), said(&[], Some("m"))),
            (json!("m"), said(&[], Some("m"))),
            (json!(7), said(&[], None)),
        ];
        for (body, expected) in bodies {
            assert_eq!(Said::read(&body, &ErrorExtraction::default()), expected, "{body}");
        }
    }

    #[test]
    fn what_a_router_forwards_is_read_behind_its_own_words() {
        let inner = r#"{"type": "error", "error": {"type": "t", "message": "prompt is too long"}}"#;
        for (raw, expected) in [
            (inner, said(&["400", "t"], Some("Provider returned error: prompt is too long"))),
            ("try again", said(&["400"], Some("Provider returned error: try again"))),
            ("", said(&["400"], Some("Provider returned error"))),
        ] {
            let body = json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}});
            assert_eq!(Said::read(&body, &ErrorExtraction::default()), expected, "{raw}");
        }
    }

    #[test]
    fn paths_of_the_contract_come_first() {
        let paths = ErrorExtraction {
            type_path: Some("$.failure.kinds[1]".to_owned()),
            message_path: Some("failure.text".to_owned()),
            code_path: Some("$.failure.number".to_owned()),
        };
        let body = json!({"failure": {"number": 7, "kinds": ["a", "b"], "text": "m"}, "message": "other", "code": "c"});
        assert_eq!(Said::read(&body, &paths), said(&["7", "c", "b"], Some("m")));
    }

    #[test]
    fn refusal_in_the_form_of_a_stream_is_read() {
        let body = "event: error\ndata: {\"error\": {\"message\": \"m\"}}\n\ndata: [DONE]\n\n";
        assert_eq!(in_event(body.as_bytes()), Some(json!({"error": {"message": "m"}})));
        for body in ["data: no document\n\n", "{\"a\": 1}", "some data: {}"] {
            assert_eq!(in_event(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn page_gives_its_title() {
        let page = "<html><head><title> 502 Bad Gateway </title></head><body>long</body></html>";
        assert_eq!(Said::from_text(page), said(&[], Some("502 Bad Gateway")));
        assert_eq!(Said::from_text("<html></html>"), said(&[], None));
        assert_eq!(Said::from_text(" upstream gone \n"), said(&[], Some("upstream gone")));
        assert_eq!(Said::from_text(""), said(&[], None));
    }
}
