//! A run that has told its end is over for whoever looks, and stays so.

use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};

use crate::serving::{Serving, fits};

/// A look just between the end that is told and the end that is on the disk is a matter of luck.
const ROUNDS: usize = 40;

/// Whether the session streams, by its state and by the list.
async fn streaming(client: &mut Client, at: &str) -> (Value, Value) {
    let state = client.ask(&json!({"type": "get_state", "id": format!("{at}-state"), "sessionId": "s"})).await;
    let list = client.ask(&json!({"type": "list_sessions", "id": format!("{at}-list")})).await;
    (state["data"]["isStreaming"].clone(), list["data"]["sessions"][0]["isStreaming"].clone())
}

#[test]
fn a_session_whose_run_told_its_end_does_not_stream() {
    let serving = Serving::start(Script::new().otherwise(Answer::new().text("Done.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let mut watcher = serving.connect("").await;
        let listening = watcher.ask(&json!({"type": "subscribe", "id": "w", "sessionId": "s"})).await;
        assert_eq!(listening["success"], true, "{listening}");
        for round in 0..ROUNDS {
            let id = format!("p{round}");
            client.send(&json!({"type": "prompt", "id": id, "sessionId": "s", "message": "Hello"})).await;
            watcher
                .expect("the end of the run", |frame| fits(frame, &json!({"event": {"type": "agent_settled"}})))
                .await;
            // Who looks now may be told of the prompt that is not answered yet; nobody may remember it.
            streaming(&mut watcher, &format!("early{round}")).await;
            let said = client.answer(&id).await;
            assert_eq!(said["success"], true, "{said}");
            let idle = (json!(false), json!(false));
            assert_eq!(streaming(&mut watcher, &format!("late{round}")).await, idle, "in round {round}");
        }
    });
}
