//! Models, sessions and the small types that all share.

use std::fmt::Debug;

use pi_transcript::{
    Content, EntryId, Message, Model, SessionInfo, SessionStats, StoredSessionInfo, ThinkingLevel,
    json::{Amount, Digest, Open, Problem, amount::NotFinite, digest::NotADigest},
    model::Modality,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// `value` is read as a `T` and written as it was read.
fn check<T: Serialize + DeserializeOwned>(value: &Value) -> T {
    let read: T = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), value.to_string());
    read
}

/// `value` is not a `T`.
fn refuse<T: DeserializeOwned + Debug>(value: &Value) {
    let read = serde_json::from_value::<T>(value.clone());
    assert!(read.is_err(), "{value} was read as {read:?}");
}

fn model() -> Value {
    json!({
        "id": "m", "name": "M", "api": "openai-completions", "provider": "p", "baseUrl": "http://localhost",
        "reasoning": true, "input": ["text", "image", "smell"],
        "cost": { "input": 3, "output": 15.5, "cacheRead": 0, "cacheWrite": 0, "tiers": [1] },
        "contextWindow": 200_000, "maxTokens": 8192, "compat": { "supportsStore": false },
        "thinkingLevelMap": { "off": null, "high": "max" }, "later": 1
    })
}

#[test]
fn models() {
    let read: Model = check(&model());
    let senses = [Open::Known(Modality::Text), Open::Known(Modality::Image), Open::Other("smell".to_owned())];
    assert_eq!(read.input, senses);
    assert_eq!(read.cost.output.as_f64(), 15.5);
    let mut least = model();
    for optional in ["compat", "thinkingLevelMap", "later"] {
        least.as_object_mut().unwrap().shift_remove(optional);
    }
    check::<Model>(&least);
    for required in
        ["id", "name", "api", "provider", "baseUrl", "reasoning", "input", "cost", "contextWindow", "maxTokens"]
    {
        let mut lacking = least.clone();
        lacking.as_object_mut().unwrap().shift_remove(required);
        refuse::<Model>(&lacking);
    }
}

#[test]
fn headers_of_a_model_are_neither_written_nor_printed() {
    for name in ["headers", "Headers"] {
        let mut secret = model();
        secret[name] = json!({ "Authorization": "Bearer sk-1" });
        let session = json!({
            "sessionId": "s", "model": secret, "thinkingLevel": "off", "isStreaming": false, "messageCount": 0,
            "createdAt": "t"
        });
        let read: SessionInfo = serde_json::from_str(&session.to_string()).unwrap();
        assert_eq!(serde_json::to_string(&read.model).unwrap(), model().to_string());
        assert!(!format!("{read:?}").contains("sk-1"));
    }
}

#[test]
fn sessions() {
    check::<SessionInfo>(&json!({
        "sessionId": "s", "sessionName": "n", "sessionFile": "/f", "model": model(), "thinkingLevel": "off",
        "isStreaming": false, "messageCount": 0, "createdAt": "2026-03-15T10:00:00.000Z"
    }));
    let least = json!({
        "sessionId": "s", "thinkingLevel": "medium", "isStreaming": true, "messageCount": 2, "createdAt": "t"
    });
    check::<SessionInfo>(&least);
    let mut nameless = least.clone();
    nameless["sessionName"] = Value::Null;
    refuse::<SessionInfo>(&nameless);

    // The example of the server protocol, §20.1, names neither thinking level nor streaming; the reference sends both.
    let mut stored = json!({
        "sessionId": "s", "sessionName": "n", "sessionFile": "/f", "sessionPath": "/f", "cwd": "/c",
        "createdAt": "2026-02-28T10:00:00Z", "fileExists": true, "messageCount": 42
    });
    check::<StoredSessionInfo>(&stored);
    stored["thinkingLevel"] = "medium".into();
    stored["isStreaming"] = false.into();
    check::<StoredSessionInfo>(&stored);

    let mut stats = json!({
        "sessionFile": "/f", "sessionId": "s", "userMessages": 1, "assistantMessages": 2, "toolCalls": 3,
        "toolResults": 3, "totalMessages": 6,
        "tokens": { "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "total": 10 }, "cost": 0.25
    });
    check::<SessionStats>(&stats);
    stats["costAtLeast"] = true.into();
    stats["costAtMost"] = 0.5.into();
    check::<SessionStats>(&stats);
}

#[test]
fn thinking_levels_ascend_and_have_one_name_each() {
    assert!(ThinkingLevel::ALL.is_sorted());
    for level in ThinkingLevel::ALL {
        assert_eq!(level.as_str().parse(), Ok(level));
        assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
    }
    for word in ["none", "OFF", "", "ultra"] {
        assert_eq!(word.parse::<ThinkingLevel>().unwrap_err().to_string(), format!("{word:?} is not a thinking level"));
    }
}

#[test]
fn amounts_are_written_as_they_were_read_or_as_javascript_would() {
    for text in ["0", "0.0", "-0.0", "3", "-3", "0.1", "1e-7", "18446744073709551615", "1e+300"] {
        let amount: Amount = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&amount).unwrap(), text);
    }
    for (double, text) in [(0.0, "0"), (-0.0, "0"), (15.0, "15"), (-2.0, "-2"), (0.1, "0.1"), (1e16, "1e+16")] {
        assert_eq!(Amount::try_from(double).unwrap().to_string(), text);
    }
    assert_eq!(Amount::try_from(f64::NAN), Err(NotFinite));
    assert_eq!(Amount::try_from(f64::INFINITY), Err(NotFinite));
    assert_eq!((Amount::default(), Amount::from(7).as_f64()), (Amount::try_from(0.0).unwrap(), 7.0));
    refuse::<Amount>(&json!("1"));
    refuse::<Amount>(&json!(null));
}

#[test]
fn ids_are_plain_text() {
    let id: EntryId = check(&json!("a1b2c3d4"));
    assert_eq!((id.as_str(), id.to_string()), ("a1b2c3d4", "a1b2c3d4".to_owned()));
    refuse::<EntryId>(&json!(5));
}

#[test]
fn digests_are_64_lower_case_digits() {
    let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let digest: Digest = check(&json!(text));
    assert_eq!(digest, Digest::of(b""));
    for wrong in ["", &text[1..], &text.to_uppercase(), &format!("{text}0"), &text.replace('e', "g"), &"é".repeat(32)]
    {
        assert_eq!(wrong.parse::<Digest>(), Err(NotADigest));
        refuse::<Digest>(&json!(wrong));
    }
}

#[test]
fn problems_are_data() {
    let problem: Problem = check(&json!({ "path": "a[0].b", "message": "is wrong" }));
    assert_eq!(problem.to_string(), "a[0].b: is wrong");
}

#[test]
fn text_of_content_is_its_text_blocks() {
    let content: Content = check(&json!([
        { "type": "thinking", "thinking": "not this" },
        { "type": "text", "text": "one " },
        { "type": "image", "data": "", "mimeType": "image/png" },
        { "type": "text", "text": "two" }
    ]));
    assert_eq!(content.text(), "one two");
    assert_eq!(Content::from("plain").text(), "plain");
}

#[test]
fn message_without_a_role_is_kept() {
    let message: Message = check(&json!({ "content": "x" }));
    assert_eq!(message.role(), "");
}
