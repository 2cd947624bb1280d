//! What a well-behaved server can do.

use std::{fs, path::Path};

use pi_exthost::{GuestFault, Trouble};
use pi_guests::mcp::Standing;
use pi_transcript::question::Answer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    house::{Plan, start},
    http::Behind,
};

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_called_and_everything_is_recorded() {
    let house = start(Plan::pipes("good")).await.expect("it starts");
    let Standing::Ready(about) = house.guest.standing() else { panic!("not ready: {:?}", house.guest) };
    assert_eq!((about.name.as_str(), about.version.as_str()), ("hostile", "1.2.3"));
    assert!(house.tools().contains(&"echo".to_owned()) && house.tools().contains(&"resources".to_owned()));
    assert_eq!(house.call("echo", json!({ "text": "hi ä" })).await, "hi ä");
    assert_eq!(house.call("fail", json!({})).await, "! it did not work");
    assert_eq!(house.call("refuse", json!({})).await, "! MCP server srv: that is not how I work");
    let figures = house.guests.enrolled().await[0].figures;
    assert_eq!((figures.asked, figures.busy.is_zero()), (3, false), "{figures:?}");
    let (ledger, trace) = house.close().await;

    let of = |event: &str, method: &str| {
        let is_it = |line: &&Value| line["event"] == event && line["data"]["method"] == method;
        ledger.iter().filter(is_it).cloned().collect::<Vec<_>>()
    };
    assert_eq!(of("host_call.start", "mcp").len(), 3);
    assert_eq!(of("host_call.end", "mcp").len(), 3);
    assert_eq!((of("host_call.start", "exec").len(), of("host_call.end", "exec").len()), (1, 1));
    for start in of("host_call.start", "mcp") {
        assert_eq!(start["data"]["capability"], "tool");
        assert!(start["data"]["params_hash"].as_str().is_some_and(|hash| hash.len() == 64), "{start}");
        assert_eq!(start["correlation"]["extension_id"], "mcp:srv");
        assert_eq!(start["correlation"]["tool_call_id"], "c1");
    }
    assert_eq!(ledger.iter().filter(|line| line["event"] == "tool_call.start").count(), 3);

    let theirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec/extension-protocol.schema.json");
    let mut schemas = vec![pi_extproto::schema::protocol()];
    match fs::read(&theirs) {
        Ok(schema) => schemas.push(serde_json::from_slice(&schema).expect("a schema")),
        Err(_) => eprintln!("SKIPPED: {} is not there; the trace was compared with our own schema", theirs.display()),
    }
    for schema in schemas {
        let schema = jsonschema::validator_for(&schema).expect("a schema");
        for message in &trace {
            assert!(schema.is_valid(message), "{message}");
        }
    }
    let kinds = |kind: &str| trace.iter().filter(|message| message["type"] == kind).count();
    assert_eq!((kinds("tool_call"), kinds("tool_result")), (3, 3));
    assert_eq!(kinds("host_call"), kinds("host_result"));
    assert!(!json!([ledger, trace]).to_string().contains("sesame"));
}

#[tokio::test(flavor = "multi_thread")]
async fn environment_is_what_the_entry_names() {
    let house = start(Plan::pipes("good")).await.expect("it starts");
    let names: Vec<String> =
        serde_json::from_str(&house.call("environment", json!({})).await).expect("a list of names");
    // A wrapper around Python may add its own.
    let is_ours = |name: &&String| name.starts_with("CARGO") || name.as_str() == "ANTHROPIC_API_KEY";
    assert_eq!(names.iter().filter(is_ours).collect::<Vec<_>>(), [""; 0]);
    assert!(names.contains(&"SECRET".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_news_and_cancelling_reaches_the_server() {
    let house = start(Plan::pipes("good")).await.expect("it starts");
    let (answer, news) = house.call_with("slow", json!({}), &CancellationToken::new()).await;
    assert_eq!((answer.as_str(), news), ("done", vec!["step (1 of 2)".to_owned(), "step (2 of 2)".to_owned()]));
    let cancel = CancellationToken::new();
    let (hung, ()) = tokio::join!(house.call_with("hang", json!({}), &cancel), async {
        house.until("the server has the call", |house| house.ledger().contains("hanging now")).await;
        cancel.cancel();
    });
    assert_eq!(hung.0, "! cancelled");
    let mut seen = String::new();
    for _ in 0..50 {
        seen = house.call("cancelled", json!({})).await;
        if seen == "1" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(seen, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_of_a_server_go_to_a_person() {
    let answer = Answer::Interview { responses: [("age".to_owned(), json!("36"))].into_iter().collect() };
    let house = start(Plan { answer: Some(answer), ..Plan::pipes("good") }).await.expect("it starts");
    let said: Value = serde_json::from_str(&house.call("ask", json!({})).await).expect("JSON");
    assert_eq!(said, json!({ "action": "accept", "content": { "age": 36 } }));
    let asked = house.diary.lock().expect("no panic").asked.join("");
    assert!(asked.contains("MCP server srv asks: How old?"), "{asked}");

    // An answer that the server does not want is not sent: the person is asked again, and told why.
    assert!(asked.contains("age (a whole number, 0 to 200)"), "{asked}");
    assert_eq!(house.call("ask", json!({ "most": 30 })).await, r#"{"action": "cancel"}"#);
    {
        let diary = house.diary.lock().expect("no panic");
        let again = |asked: &&String| asked.contains("age: expected at most 30");
        assert_eq!((diary.asked.len(), diary.asked.iter().filter(again).count()), (4, 2), "{:?}", diary.asked);
        assert!(diary.told.iter().any(|told| told.contains("the answer was not sent")), "{:?}", diary.told);
    }

    let nobody = start(Plan::pipes("good")).await.expect("it starts");
    assert_eq!(nobody.call("ask", json!({})).await, r#"{"action": "cancel"}"#);
    let page = json!({ "url": "https://sign.in/" });
    assert_eq!(nobody.call("ask", page.clone()).await, r#"{"action": "cancel"}"#);
    let first = "! MCP server srv: not yet; it wants a person to open https://sign.in/ first";
    assert_eq!(nobody.call("refuse", page.clone()).await, first);
    for (chosen, action) in [("Yes", "accept"), ("No", "decline")] {
        let answer = Some(Answer::Select { value: chosen.to_owned() });
        let house = start(Plan { answer, ..Plan::pipes("good") }).await.expect("it starts");
        let said: Value = serde_json::from_str(&house.call("ask", page.clone()).await).expect("JSON");
        assert_eq!(said, json!({ "action": action }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn question_that_is_taken_back_lies_before_nobody() {
    let house = start(Plan { is_silent: true, ..Plan::pipes("good") }).await.expect("it starts");
    assert_eq!(house.call("withdraw", json!({})).await, "never mind");
    house
        .until("it is taken back", |house| {
            let diary = house.diary.lock().expect("no panic");
            !diary.open.is_empty() && diary.open.iter().all(|reply| reply.is_closed())
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn roots_resources_and_prompts_are_there() {
    let house = start(Plan::pipes("good")).await.expect("it starts");
    let roots = house.call("roots", json!({})).await;
    assert!(roots.contains(&format!("file://{}/project", house.folder.display())), "{roots}");
    assert_eq!(house.call("resources", json!({})).await, "test://one  One\ntest://{x}  Any");
    assert_eq!(house.call("resources", json!({ "uri": "test://one" })).await, "one!");
    let command = house.guests.commands().into_iter().next().expect("a command");
    assert_eq!(command.offer.definition.name, "srv:greet");
    command.run("Rome".to_owned(), &CancellationToken::new()).await.expect("it runs");
    assert_eq!(house.diary.lock().expect("no panic").said, [r#"[{"type":"text","text":"Greet Rome!"}]"#]);
    // Nothing failed: whoever typed it learns what is missing, and nobody else is told.
    let misused = command.run(String::new(), &CancellationToken::new()).await;
    let message = "/srv:greet: missing: city; type /srv:greet city=…".to_owned();
    assert_eq!(misused, Err(Trouble::Fault(GuestFault::Misused { message })));
    assert_eq!(house.diary.lock().expect("no panic").told, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_wanted_tools_are_offered() {
    let mut plan = Plan::pipes("good");
    plan.entry["includeTools"] = json!(["echo", "fail"]);
    plan.entry["excludeTools"] = json!(["fail"]);
    let house = start(plan).await.expect("it starts");
    assert_eq!(house.tools(), ["echo", "resources"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_that_is_a_task_only_is_not_offered_and_told() {
    let behind = Behind::port("tasks");
    for plan in [Plan::pipes("tasks"), Plan::entry(json!({ "url": behind.url }))] {
        let house = start(plan).await.expect("it starts");
        let tools = house.tools();
        let offered = |name: &str| tools.iter().any(|tool| tool == name);
        assert_eq!((offered("required"), offered("optional"), offered("forbidden")), (false, true, true), "{tools:?}");
        let why = "the tool required is not offered: it can only be called as a task (taskSupport \"required\"), and pi \
                   waits for answers";
        assert_eq!(house.guest.faults(), [why]);
    }
}

/// A process, and one that it started which left its group and its session.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn memory_is_that_of_all_processes_of_a_server() {
    use pi_exthost::Guest as _;

    let house = start(Plan::pipes("good")).await.expect("it starts");
    let alone = house.guest.memory().await.expect("bytes");
    assert!((1 << 20..1 << 30).contains(&alone), "{alone}");
    assert_eq!(house.call("grow", json!({ "mebibytes": 64 })).await, "grown");
    let with_child = house.guest.memory().await.expect("bytes");
    assert!(with_child >= alone + (60 << 20), "{alone} {with_child}");
    house.guests.shutdown().await;
    assert_eq!(house.guest.memory().await, None);

    let behind = Behind::port("good");
    let house = start(Plan::entry(json!({ "url": behind.url }))).await.expect("it starts");
    assert_eq!(house.guest.memory().await, None, "what a server behind a URL has is its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn written_denies_come_before_what_an_entry_grants() {
    let denies = |capability: &str| json!({ "denies": { "mcp:srv": [{ "capability": capability }] } });
    let refused = start(Plan { policy: denies("exec"), ..Plan::pipes("good") }).await.err().expect("it may not start");
    assert!(refused.contains("may not"), "{refused}");
    let house = start(Plan { policy: denies("tool"), ..Plan::pipes("good") }).await.expect("it starts");
    let refused = house.call("echo", json!({ "text": "x" })).await;
    assert!(refused.starts_with("! ") && refused.contains("may not"), "{refused}");
    let (ledger, _) = house.close().await;
    let denied = |line: &&Value| line["event"] == "host_call.end" && line["data"]["error"]["code"] == "denied";
    assert_eq!(ledger.iter().filter(denied).count(), 1, "{}", json!(ledger));
}
