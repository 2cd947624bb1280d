//! What can be known of a message that cannot be read: which request it answers.
//!
//! A server may write half of a character, `NaN`, or more brackets than anybody opens. Whoever asked is then to be told at
//! once that the answer is none, and not to wait for the rest of its time.

use rmcp::{
    ErrorData, RoleClient,
    model::{ErrorCode, JsonRpcError, JsonRpcMessage, RequestId},
    service::RxJsonRpcMessage,
};
use serde_json::Value;

/// The code of an answer that we put in the place of one that cannot be read. No server has a reason to use it.
pub(super) const UNREADABLE: ErrorCode = ErrorCode(i32::MIN);

/// What is said in the place of an answer that cannot be read; nothing if it answers no request, or nobody can tell which.
pub(super) fn answer(written: &[u8], why: &serde_json::Error) -> Option<RxJsonRpcMessage<RoleClient>> {
    Some(none(answered(written)?, &format!("its answer cannot be read: {why}")))
}

/// Says to whoever made a request that what came is no answer to it.
pub(super) fn none(asked: RequestId, why: &str) -> RxJsonRpcMessage<RoleClient> {
    let error = ErrorData::new(UNREADABLE, why.to_owned(), None);
    JsonRpcMessage::Error(JsonRpcError::new(Some(asked), error))
}

/// Which request a message answers. One pass over its signs, without a stack: brackets are only counted.
fn answered(written: &[u8]) -> Option<RequestId> {
    let (mut depth, mut at, mut id, mut is_answer) = (0_usize, 0, None, false);
    while let Some(sign) = written.get(at) {
        match sign {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                // A line that ends in a text may still have said enough.
                let Some(text) = text(&written[at..]) else { break };
                let behind = &written[at + text.len()..];
                let blank = behind.iter().take_while(|sign| sign.is_ascii_whitespace()).count();
                if depth == 1 && behind.get(blank) == Some(&b':') {
                    match text {
                        // It asks or tells, and answers nothing.
                        br#""method""# => return None,
                        br#""result""# | br#""error""# => is_answer = true,
                        br#""id""# => id = value(&behind[blank + 1..]),
                        _ => {}
                    }
                }
                at += text.len() - 1;
            }
            _ => {}
        }
        at += 1;
    }
    id.filter(|_| is_answer)
}

/// The text at the beginning, with its quotes.
fn text(written: &[u8]) -> Option<&[u8]> {
    let mut is_escaped = false;
    let end = written.iter().skip(1).position(|sign| {
        let is_end = *sign == b'"' && !is_escaped;
        is_escaped = *sign == b'\\' && !is_escaped;
        is_end
    })?;
    written.get(..end + 2)
}

/// The id at the beginning: a number or a text.
fn value(written: &[u8]) -> Option<RequestId> {
    let written = written.trim_ascii_start();
    let written = match written.first()? {
        b'"' => text(written)?,
        _ => written.split(|sign| b",}".contains(sign) || sign.is_ascii_whitespace()).next()?,
    };
    let value: Value = serde_json::from_slice(written).ok()?;
    serde_json::from_value(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, expected: &str) {
        let found =
            answered(written.as_bytes()).map_or_else(|| "none".to_owned(), |id| serde_json::json!(id).to_string());
        assert_eq!(found, expected, "{written}");
    }

    #[test]
    fn request_is_known_whatever_is_wrong_with_its_answer() {
        check(r#"{"jsonrpc":"2.0","id":7,"result":{"text":"\ud83d"}}"#, "7");
        check(r#"{"result":{"n":NaN},"id" : "a\"b" }"#, r#""a\"b""#);
        check(&format!(r#"{{"id":3,"result":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000)), "3");
        check(&format!(r#"{{"result":{}1{},"id":3}}"#, "{\"id\":9,\"a\":[".repeat(500), "]}".repeat(500)), "3");
        check(r#"{"id":5,"result":{"text":"never en"#, "5");
        check(r#"{"id":5,"result":{"a":1"#, "5");
    }

    #[test]
    fn what_answers_nothing_is_nobodys() {
        check("Welcome!", "none");
        check(r#"{"id":4,"method":"roots/list","params":{"x":NaN}}"#, "none");
        check(r#"{"result":{"id":4,"x":NaN}}"#, "none");
        check(r#"{"id":NaN,"result":{}}"#, "none");
        check(r#"{"id":4,"params":{"x":"never en"#, "none");
        check("\"", "none");
    }
}
