//! Which answers fit which questions.

use pi_transcript::question::{Answer, Flaw, Misfit, Question, check, check_question};
use serde_json::{Value, json};

fn question(value: Value) -> Question {
    serde_json::from_value(value).expect("well formed")
}

fn answer(value: Value) -> Answer {
    serde_json::from_value(value).expect("well formed")
}

fn id() -> String {
    "q".to_owned()
}

fn simple() -> [Question; 5] {
    [
        question(json!({ "method": "select", "title": "t", "options": ["a", "b"] })),
        question(json!({ "method": "confirm", "title": "t", "message": "m" })),
        question(json!({ "method": "input", "title": "t" })),
        question(json!({ "method": "editor", "title": "t", "prefill": "p" })),
        question(json!({ "method": "interview", "questions": [{ "id": "q", "type": "text", "label": "l" }] })),
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
        assert_eq!(check_question(question), Ok(()));
        assert_eq!(check(question, &Answer::Cancelled), Ok(()));
        for (answered, answer) in answers().iter().enumerate() {
            let expected = match asked == answered {
                true => Ok(()),
                false => Err(Misfit::Method { wanted: question.method(), found: answer.method() }),
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
    let form = question(json!({ "method": "interview", "questions": [field] }));
    assert_eq!(check_question(&form), Ok(()));
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
        assert_eq!(check_question(&question), Err(flaw));
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
