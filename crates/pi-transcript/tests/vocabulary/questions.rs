//! Which answers fit which questions.

use pi_transcript::{
    AgentEvent,
    question::{Answer, Asked, Flaw, Misfit, Question, UiRequest, check},
};
use serde_json::{Value, json};

fn question(value: Value) -> Question {
    serde_json::from_value(value).expect("well formed")
}

fn asked(value: Value) -> Asked {
    Asked::new(question(value)).expect("it can be answered")
}

fn answer(value: Value) -> Answer {
    serde_json::from_value(value).expect("well formed")
}

fn id() -> String {
    "q".to_owned()
}

fn simple() -> [Asked; 5] {
    [
        asked(json!({ "method": "select", "title": "t", "options": ["a", "b"] })),
        asked(json!({ "method": "confirm", "title": "t", "message": "m" })),
        asked(json!({ "method": "input", "title": "t" })),
        asked(json!({ "method": "editor", "title": "t", "prefill": "p" })),
        asked(json!({ "method": "interview", "questions": [{ "id": "q", "type": "text", "label": "l" }] })),
    ]
}

fn answers() -> [Answer; 5] {
    [
        answer(json!({ "method": "select", "value": "b" })),
        answer(json!({ "method": "confirm", "confirmed": false })),
        answer(json!({ "method": "input", "value": "" })),
        answer(json!({ "method": "editor", "value": "two\nlines" })),
        answer(json!({ "method": "interview", "responses": { "q": "x" } })),
    ]
}

#[test]
fn answer_must_be_of_the_method_of_its_question() {
    for (asked, question) in simple().iter().enumerate() {
        assert_eq!(check(question, &Answer::Cancelled), Ok(()));
        for (answered, answer) in answers().iter().enumerate() {
            let expected = match asked == answered {
                true => Ok(()),
                false => Err(Misfit::Method { wanted: question.question().method(), found: answer.method() }),
            };
            assert_eq!(check(question, answer), expected);
        }
    }
}

#[test]
fn only_offered_options_can_be_selected() {
    let [select, ..] = simple();
    let misfit = check(&select, &Answer::Select { value: "c".to_owned() });
    assert_eq!(misfit, Err(Misfit::NotOffered { value: "c".to_owned() }));
}

/// One field `q` with these members is answered with these responses.
fn fill(mut field: Value, responses: &Value) -> Result<(), Misfit> {
    field["id"] = "q".into();
    field["label"] = "l".into();
    let form = asked(json!({ "method": "interview", "questions": [field] }));
    check(&form, &answer(json!({ "method": "interview", "responses": responses })))
}

fn wrong(wanted: &'static str) -> Result<(), Misfit> {
    Err(Misfit::Type { id: id(), wanted })
}

#[test]
fn responses_have_the_type_of_their_question() {
    let not_offered = |value: &str| Err(Misfit::OptionNotOffered { id: id(), value: value.to_owned() });
    let twice = Err(Misfit::ChosenTwice { id: id(), value: "a".to_owned() });
    for (kind, response, expected) in [
        ("text", json!("x"), Ok(())),
        ("text", json!(""), Ok(())),
        ("text", json!(5), wrong("a string")),
        ("text", json!(["x"]), wrong("a string")),
        ("select", json!("a"), Ok(())),
        ("select", json!("c"), not_offered("c")),
        ("select", json!(""), not_offered("")),
        ("select", json!(["a"]), wrong("a string")),
        ("multi", json!([]), Ok(())),
        ("multi", json!(["b", "a"]), Ok(())),
        ("multi", json!("a"), wrong("a list of strings")),
        ("multi", json!(["a", 1]), wrong("a list of strings")),
        ("multi", json!(["a", "c"]), not_offered("c")),
        ("multi", json!(["a", "b", "a"]), twice),
        ("confirm", json!(false), Ok(())),
        ("confirm", json!("yes"), wrong("true or false")),
        ("confirm", json!(0), wrong("true or false")),
    ] {
        let mut field = json!({ "type": kind });
        if matches!(kind, "select" | "multi") {
            field["options"] = json!(["a", "b"]);
        }
        assert_eq!(fill(field, &json!({ "q": response })), expected, "{kind} {response}");
    }
}

#[test]
fn required_questions_need_something_said() {
    let missing = || Err(Misfit::Missing { id: id() });
    for (kind, responses, expected) in [
        ("text", json!({}), missing()),
        ("text", json!({ "q": null }), missing()),
        ("text", json!({ "q": "" }), missing()),
        ("text", json!({ "q": "x" }), Ok(())),
        ("confirm", json!({}), missing()),
        ("confirm", json!({ "q": false }), Ok(())),
        ("multi", json!({ "q": [] }), missing()),
        ("multi", json!({ "q": ["a"] }), Ok(())),
        ("select", json!({}), missing()),
    ] {
        let mut field = json!({ "type": kind, "required": true });
        if matches!(kind, "select" | "multi") {
            field["options"] = json!(["a"]);
        }
        assert_eq!(fill(field.clone(), &responses), expected, "{kind} {responses}");
        field["required"] = false.into();
        assert_eq!(fill(field, &responses), Ok(()), "optional {kind} {responses}");
    }
}

#[test]
fn responses_name_questions_that_were_asked() {
    let misfit = fill(json!({ "type": "text" }), &json!({ "q": "x", "other": "y" }));
    assert_eq!(misfit, Err(Misfit::UnknownId { id: "other".to_owned() }));
}

#[test]
fn questions_that_nobody_can_answer_have_flaws() {
    let interview = |fields: Value| question(json!({ "method": "interview", "questions": fields }));
    let text = json!({ "id": "q", "type": "text", "label": "l" });
    for (question, flaw) in [
        (question(json!({ "method": "select", "title": "t", "options": [] })), Flaw::NoOptions),
        (interview(json!([])), Flaw::NoQuestions),
        (interview(json!([text, text])), Flaw::DuplicateId { id: id() }),
        (interview(json!([{ "id": "q", "type": "select", "label": "l" }])), Flaw::FieldWithoutOptions { id: id() }),
        (
            interview(json!([{ "id": "q", "type": "multi", "label": "l", "options": [] }])),
            Flaw::FieldWithoutOptions { id: id() },
        ),
        (
            interview(json!([{ "id": "q", "type": "confirm", "label": "l", "options": ["a"] }])),
            Flaw::NeedlessOptions { id: id() },
        ),
    ] {
        assert_eq!(Asked::new(question.clone()), Err(flaw.clone()));
        let written = serde_json::to_value(&question).unwrap();
        assert_eq!(serde_json::from_value::<Asked>(written.clone()).unwrap_err().to_string(), flaw.to_string());
        assert_eq!(serde_json::from_value::<UiRequest>(written.clone()).unwrap_err().to_string(), flaw.to_string());
        // As an event it is not understood, and not lost either.
        let mut event = json!({ "type": "extension_ui_request", "requestId": "r" });
        event.as_object_mut().unwrap().extend(written.as_object().unwrap().clone());
        let read: AgentEvent = serde_json::from_value(event.clone()).unwrap();
        assert!(matches!(read, AgentEvent::Other(_)));
        assert_eq!(serde_json::to_value(read).unwrap(), event);
    }
}

#[test]
fn answers_that_are_none_are_not_read() {
    for value in [
        json!({ "method": "select" }),
        json!({ "method": "select", "value": null }),
        json!({ "method": "confirm", "confirmed": "yes" }),
        json!({ "method": "interview", "responses": [] }),
        json!({ "method": "notify" }),
        json!({ "value": "x" }),
        json!("cancelled"),
    ] {
        assert!(serde_json::from_value::<Answer>(value.clone()).is_err(), "{value}");
    }
}

/// A request is refused with the member that is to blame.
#[test]
fn refused_requests_name_the_member() {
    let methods = r#""select", "confirm", "input", "editor", "interview", "notify", "setStatus", "setWidget", "setTitle", "setWorkingMessage", "setEditorText", "set_editor_text""#;
    let field = json!({ "id": "q", "type": "colour", "label": "l" });
    for (request, message) in [
        (json!({ "title": "t" }), "method: required member is missing"),
        (json!({ "method": "later" }), &*format!("method: expected one of {methods}, found \"later\"")),
        (json!({ "method": "select", "title": "t" }), "options: required member is missing"),
        (json!({ "method": "select", "title": "t", "options": [1] }), "options[0]: expected a string, found 1"),
        (json!({ "method": "confirm", "title": 5, "message": "m" }), "title: expected a string, found 5"),
        (json!({ "method": "input", "title": "t", "placeholder": null }), "placeholder: expected a string, found null"),
        (
            json!({ "method": "editor", "title": "t", "timeout": -1 }),
            "timeout: expected a whole number, zero or more, found -1",
        ),
        (
            json!({ "method": "editor", "title": "t", "timeout": 1.0 }),
            "invalid type: floating point `1.0`, expected u64",
        ),
        (
            json!({ "method": "interview", "questions": [field] }),
            r#"questions[0].type: expected one of "text", "select", "multi", "confirm", found "colour""#,
        ),
        (
            json!({ "method": "notify", "message": "m", "notifyType": "loud" }),
            r#"notifyType: expected one of "info", "warning", "error", found "loud""#,
        ),
        (json!({ "method": "setStatus", "key": "k", "text": 1 }), "text: expected a string, found 1"),
        (json!({ "method": "setTitle" }), "title: required member is missing"),
        (json!({ "method": "set_editor_text" }), "text: required member is missing"),
    ] {
        let refused = serde_json::from_value::<UiRequest>(request.clone()).unwrap_err();
        assert_eq!(refused.to_string(), message, "{request}");
    }
}

/// Every wrong value of every member is explained: the explanation knows all members that the types know.
#[test]
fn every_refusal_of_a_request_is_explained() {
    let field = json!({ "id": "q", "type": "multi", "label": "l", "options": ["a"], "required": true });
    for right in [
        json!({ "method": "select", "title": "t", "options": ["a"], "timeout": 1 }),
        json!({ "method": "confirm", "title": "t", "message": "m", "timeout": 1 }),
        json!({ "method": "input", "title": "t", "placeholder": "p", "timeout": 1 }),
        json!({ "method": "editor", "title": "t", "prefill": "p", "timeout": 1 }),
        json!({ "method": "interview", "title": "t", "questions": [field], "timeout": 1 }),
        json!({ "method": "notify", "message": "m", "notifyType": "info" }),
        json!({ "method": "setStatus", "key": "k", "text": "t" }),
        json!({ "method": "setWidget", "key": "k", "content": ["a"], "placement": "aboveEditor" }),
        json!({ "method": "setTitle", "title": "t" }),
        json!({ "method": "setWorkingMessage", "message": "m" }),
        json!({ "method": "setEditorText", "text": "at", "inserted": "t" }),
    ] {
        let read: UiRequest = serde_json::from_value(right.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), right);
        let explained = |wrong: Value, place: &str| {
            let refused = serde_json::from_value::<UiRequest>(wrong).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("{place}: expected ")), "{place} of {right}: {refused}");
        };
        for member in right.as_object().unwrap().keys() {
            let mut wrong = right.clone();
            wrong[member] = json!({});
            explained(wrong, member);
        }
        for member in right["questions"][0].as_object().into_iter().flatten().map(|(name, _)| name) {
            let mut wrong = right.clone();
            wrong["questions"][0][member] = json!({});
            explained(wrong, &format!("questions[0].{member}"));
        }
    }
}
