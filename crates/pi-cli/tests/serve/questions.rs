//! Questions of extensions over the wire, asked by a scripted guest in the middle of a run.

use std::time::Duration;

use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{house::House, serving::fits};

/// A model that calls the tool of the extension and then says something.
fn looking() -> Script {
    Script::new()
        .then(Answer::new().call("c1", "look", &json!({})).reply())
        .then(Answer::new().text("Seen.").reply())
        .otherwise(Answer::new().text("More.").reply())
}

/// An extension whose tool asks this, and then does that.
fn asking(question: &Value, then: &str) -> String {
    format!("guest asker\ntool look\nask {question}\n{then}")
}

async fn prompt(client: &mut Client) {
    client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Look"})).await;
}

/// The next event of this type in the session.
async fn event(client: &mut Client, kind: &str) -> Value {
    let is_it = |frame: &Value| frame["type"] == "event" && frame["event"]["type"] == kind;
    client.expect(kind, is_it).await["event"].clone()
}

/// Answers the question that is asked.
fn response(id: &str, asked: &Value, response: &Value) -> Value {
    json!({"type": "extension_ui_response", "id": id, "sessionId": "s", "requestId": asked["requestId"],
        "response": response})
}

#[tokio::test]
async fn numbers_tell_what_became_of_questions_and_of_answers_that_did_not_fit() {
    let question = json!({"method": "confirm", "title": "Sure?", "message": "It costs."});
    let brief = json!({"method": "input", "title": "Name?", "timeout": 50});
    let script = format!("{}\nask {question}\nask {brief}\nanswer seen", asking(&question, "").trim_end());
    let house = House::open(looking(), &[&script]).await;
    let mut client = house.client("c").await;
    let numbers = async |client: &mut Client, id: &str| {
        client.ask(&json!({"type": "get_metrics", "id": id})).await["data"]["stores"]["extensionUI"].clone()
    };
    prompt(&mut client).await;
    let asked = event(&mut client, "extension_ui_request").await;
    let misfit = response("bad", &asked, &json!({"method": "confirm", "confirmed": "yes"}));
    assert_eq!(client.ask(&misfit).await["success"], false);
    let seen = numbers(&mut client, "m1").await;
    let counts = json!({"pendingCount": 1, "maxPendingRequests": 1000, "rejectedCount": 0, "answeredCount": 0,
        "timedOutCount": 0, "cancelledCount": 0, "refusedAnswerCount": 0});
    // A frame that fits no answer is refused before anybody looks at the question.
    assert_eq!(seen, counts);
    let other = response("other", &asked, &json!({"method": "input", "value": "yes"}));
    assert_eq!(client.ask(&other).await["code"], "answer_refused");
    client.ask(&response("good", &asked, &json!({"method": "confirm", "confirmed": true}))).await;
    let asked = event(&mut client, "extension_ui_request").await;
    client.ask(&response("dismissed", &asked, &json!({"method": "cancelled"}))).await;
    assert_eq!(client.answer("p").await["success"], true);
    let seen = numbers(&mut client, "m2").await;
    let counts = json!({"pendingCount": 0, "maxPendingRequests": 1000, "rejectedCount": 0, "answeredCount": 1,
        "timedOutCount": 1, "cancelledCount": 1, "refusedAnswerCount": 1});
    assert_eq!(seen, counts);
}

#[tokio::test]
async fn every_kind_of_question_is_answered_and_what_fits_none_is_refused() {
    let form = json!({"method": "interview", "title": "About you", "questions": [
        {"id": "name", "type": "text", "label": "Name?", "required": true},
        {"id": "colour", "type": "select", "label": "Colour?", "options": ["red", "blue"]},
        {"id": "days", "type": "multi", "label": "Days?", "options": ["mo", "tu", "we"]},
        {"id": "sure", "type": "confirm", "label": "Sure?"}]});
    for (question, misfit, good) in [
        (
            json!({"method": "confirm", "title": "Sure?", "message": "It costs."}),
            json!({"method": "confirm", "confirmed": "yes"}),
            json!({"method": "confirm", "confirmed": true}),
        ),
        (
            json!({"method": "select", "title": "Which?", "options": ["red", "blue"]}),
            json!({"method": "select", "value": "green"}),
            json!({"method": "select", "value": "blue"}),
        ),
        (
            json!({"method": "input", "title": "Name?", "placeholder": "somebody"}),
            json!({"method": "confirm", "confirmed": true}),
            json!({"method": "input", "value": "me"}),
        ),
        (
            json!({"method": "editor", "title": "Text?", "prefill": "a\nb"}),
            json!({"method": "input", "value": "me"}),
            json!({"method": "editor", "value": "a\nb\nc"}),
        ),
        (
            form,
            json!({"method": "interview", "responses": {"colour": "red"}}),
            json!({"method": "interview", "responses": {"name": "me", "colour": "red", "days": ["mo", "we"], "sure": false}}),
        ),
        (json!({"method": "input", "title": "Name?"}), json!({"method": "nod"}), json!({"method": "cancelled"})),
    ] {
        let house = House::open(looking(), &[&asking(&question, "answer seen")]).await;
        let mut client = house.client("c").await;
        prompt(&mut client).await;
        let asked = event(&mut client, "extension_ui_request").await;
        assert!(fits(&asked, &question), "{asked:#}\nis not like {question:#}");
        let refused = client.ask(&response("bad", &asked, &misfit)).await;
        assert_eq!(refused["success"], false, "{misfit} was taken for {question}");
        let taken = client.ask(&response("good", &asked, &good)).await;
        assert_eq!(taken["success"], true, "{taken}");
        assert_eq!(client.answer("p").await["success"], true);
        let heard = house.heard().join("\n");
        let expected =
            if good["method"] == "cancelled" { "answer cancelled".to_owned() } else { format!("answer {good}") };
        assert!(heard.contains(&expected), "{heard}\nhas no {expected}");
    }
}

#[tokio::test]
async fn first_answer_counts_and_everybody_is_told() {
    let question = json!({"method": "confirm", "title": "Sure?", "message": "It costs."});
    let house = House::open(looking(), &[&asking(&question, "answer seen")]).await;
    let (mut one, mut other) = (house.client("one").await, house.client("other").await);
    prompt(&mut one).await;
    let asked = event(&mut one, "extension_ui_request").await;
    assert_eq!(event(&mut other, "extension_ui_request").await["requestId"], asked["requestId"]);
    // A client that comes later is asked as well.
    let mut late = house.client("late").await;
    assert_eq!(event(&mut late, "extension_ui_request").await["requestId"], asked["requestId"]);
    let taken = other.ask(&response("r", &asked, &json!({"method": "confirm", "confirmed": false}))).await;
    assert_eq!(taken["success"], true, "{taken}");
    for client in [&mut one, &mut other, &mut late] {
        let resolved = event(client, "extension_ui_resolved").await;
        assert!(fits(&resolved, &json!({"requestId": asked["requestId"], "outcome": "answered"})), "{resolved}");
    }
    let second = one.ask(&response("r", &asked, &json!({"method": "confirm", "confirmed": true}))).await;
    assert_eq!(second["success"], false, "{second}");
    assert_eq!(one.answer("p").await["success"], true);
    let heard = house.heard().join("\n");
    assert!(heard.contains(r#""confirmed":false"#) && !heard.contains(r#""confirmed":true"#), "{heard}");
}

#[tokio::test]
async fn question_that_nobody_answers_times_out_and_everybody_is_told() {
    let question = json!({"method": "confirm", "title": "Sure?", "message": "It costs.", "timeout": 20});
    let house = House::open(looking(), &[&asking(&question, "answer seen")]).await;
    let mut client = house.client("c").await;
    prompt(&mut client).await;
    let asked = event(&mut client, "extension_ui_request").await;
    let resolved = event(&mut client, "extension_ui_resolved").await;
    assert!(fits(&resolved, &json!({"requestId": asked["requestId"], "outcome": "timed_out"})), "{resolved}");
    let late = client.ask(&response("r", &asked, &json!({"method": "confirm", "confirmed": true}))).await;
    assert_eq!(late["success"], false, "{late}");
    assert_eq!(client.answer("p").await["success"], true);
    assert!(house.heard().contains(&"answer timed out".to_owned()), "{:?}", house.heard());
}

/// The sentence of the task: all of it is done long before the run would have ended.
#[tokio::test]
async fn during_a_run_of_ten_seconds_a_client_looks_answers_and_aborts() {
    let question = json!({"method": "confirm", "title": "Sure?", "message": "It takes long."});
    let house = House::open(looking(), &[&asking(&question, "wait 10000\nanswer seen")]).await;
    let mut client = house.client("c").await;
    let began = Instant::now();
    prompt(&mut client).await;
    let asked = event(&mut client, "extension_ui_request").await;
    let state = client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
    assert!(fits(&state, &json!({"success": true, "data": {"isStreaming": true}})), "{state}");
    let taken = client.ask(&response("r", &asked, &json!({"method": "confirm", "confirmed": true}))).await;
    assert_eq!(taken["success"], true, "{taken}");
    event(&mut client, "extension_ui_resolved").await;
    let state = client.ask(&json!({"type": "get_state", "id": "g2", "sessionId": "s"})).await;
    assert!(fits(&state, &json!({"success": true, "data": {"isStreaming": true}})), "the tool still works: {state}");
    let aborted = client.ask(&json!({"type": "abort", "id": "a", "sessionId": "s"})).await;
    assert_eq!(aborted["success"], true, "{aborted}");
    let ended = client.answer("p").await;
    assert!(fits(&ended, &json!({"success": false, "code": "aborted"})), "{ended}");
    assert!(began.elapsed() < Duration::from_secs(5), "it took {:?}", began.elapsed());
    assert!(house.heard().iter().any(|line| line.contains(r#""confirmed":true"#)), "{:?}", house.heard());
}

#[tokio::test]
async fn abort_takes_an_open_question_back() {
    let question = json!({"method": "input", "title": "Name?"});
    let house = House::open(looking(), &[&asking(&question, "answer seen")]).await;
    let mut client = house.client("c").await;
    prompt(&mut client).await;
    let asked = event(&mut client, "extension_ui_request").await;
    client.ask(&json!({"type": "abort", "id": "a", "sessionId": "s"})).await;
    let resolved = event(&mut client, "extension_ui_resolved").await;
    assert!(fits(&resolved, &json!({"requestId": asked["requestId"], "outcome": "cancelled"})), "{resolved}");
    assert_eq!(client.answer("p").await["code"], "aborted");
}

/// The sessions of this house give up within a millisecond what nobody sees.
#[tokio::test]
async fn question_that_a_client_sees_waits_and_lapses_when_the_last_one_is_gone() {
    let question = json!({"method": "input", "title": "Name?"});
    let script = format!("{}\nask {question}\nanswer seen", asking(&question, "").trim_end());
    let house = House::open(looking(), &[&script]).await;
    let (mut one, mut other) = (house.client("one").await, house.client("other").await);
    prompt(&mut one).await;
    let asked = event(&mut one, "extension_ui_request").await;
    assert_eq!(asked.get("timeout"), None, "nobody named a time: {asked}");
    let gone = other.ask(&json!({"type": "unsubscribe", "id": "u", "sessionId": "s"})).await;
    assert_eq!(gone["success"], true, "{gone}");
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(50) {
        let state = one.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
        assert_eq!(state["success"], true, "{state}");
    }
    let taken = one.ask(&response("r", &asked, &json!({"method": "input", "value": "me"}))).await;
    assert_eq!(taken["success"], true, "it was still open: {taken}");
    let asked = event(&mut one, "extension_ui_request").await;
    one.ask(&json!({"type": "unsubscribe", "id": "u", "sessionId": "s"})).await;
    assert_eq!(one.answer("p").await["success"], true);
    let heard = house.heard().join("\n");
    assert!(heard.contains(r#""value":"me""#) && heard.contains("answer timed out"), "{heard}");
    let late = one.ask(&response("l", &asked, &json!({"method": "input", "value": "late"}))).await;
    assert_eq!(late["success"], false, "{late}");
}
