//! Servers behind a socket.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use pi_guests::mcp::{Limits, Standing};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::house::{House, Plan, script, start};

/// The misbehaving server behind a port of its own; it ends with the test.
pub(crate) struct Behind {
    child: Child,
    pub(crate) url: String,
}

impl Behind {
    pub(crate) fn port(mode: &str) -> Self {
        Self::at("0", mode)
    }

    fn at(port: &str, mode: &str) -> Self {
        let mut child = Command::new("python3")
            .args([&script(), mode, port])
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python is there");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        Self { child, url: format!("http://127.0.0.1:{}/mcp", line.trim()) }
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_called_over_http() {
    let behind = Behind::port("good");
    let house = start(Plan::entry(json!({ "type": "http", "url": behind.url }))).await.expect("it starts");
    assert!(matches!(house.guest.standing(), Standing::Ready(_)));
    assert_eq!(house.call("echo", json!({ "text": "over there" })).await, "over there");
    let (_, news) = house.call_with("slow", json!({}), &Default::default()).await;
    assert_eq!(news, ["step (1 of 2)", "step (2 of 2)"]);
    let giant = house.call("giant", json!({})).await;
    assert!(giant.starts_with("! ") && giant.contains("a message of more than"), "{giant:.200}");
    let (ledger, _) = house.close().await;
    let requests = |line: &&Value| line["event"] == "host_call.start" && line["data"]["capability"] == "http";
    assert!(ledger.iter().filter(requests).count() >= 5, "{}", json!(ledger));
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_forgot_the_session_is_asked_in_a_new_one() {
    let behind = Behind::port("forgetful");
    let house = start(Plan::entry(json!({ "url": behind.url }))).await.expect("it starts");
    // Without an answer each would take two minutes.
    let call = |tool: &'static str, input: Value| {
        let called = house.call(tool, input);
        async { tokio::time::timeout(Duration::from_secs(60), called).await.expect("an answer") }
    };
    for said in ["one", "two", "three"] {
        assert_eq!(call("echo", json!({ "text": said })).await, said);
    }
    // What is refused in the new session too is refused for another reason, and an answer to somebody else is none.
    assert_eq!(call("refuse", json!({})).await, "! MCP server srv: never");
    let nonsense = "! MCP server srv: the server answered nonsense: it answers another request";
    assert_eq!(call("nonsense", json!({})).await, nonsense);
    assert_eq!(call("echo", json!({ "text": "on" })).await, "on");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_is_gone_is_tried_again() {
    let behind = Behind::port("good");
    let url = behind.url.clone();
    let mut plan = Plan::entry(json!({ "url": url }));
    plan.limits = Limits { attempts: 100, longest_pause: Duration::from_millis(50), ..plan.limits };
    let house = start(plan).await.expect("it starts");
    drop(behind);
    let lost = house.call("echo", json!({ "text": "anybody?" })).await;
    assert!(lost.starts_with("! MCP server srv: the connection to the server was lost: ECONNREFUSED"), "{lost}");
    let told =
        |house: &House, words: &str| house.diary.lock().expect("no panic").told.iter().any(|told| told.contains(words));
    house.until("it is told", |house| told(house, "was lost: ECONNREFUSED")).await;
    assert!(!matches!(house.guest.standing(), Standing::Ready(_)), "{:?}", house.guest);
    let port = url.trim_end_matches("/mcp").rsplit(':').next().expect("a port");
    let _back = Behind::at(port, "good");
    house.until("it is back", |house| told(house, "MCP server srv is connected again")).await;
    assert_eq!(house.call("echo", json!({ "text": "here" })).await, "here");
}

#[tokio::test(flavor = "multi_thread")]
async fn flood_over_http_is_slowed_down() {
    let behind = Behind::port("good");
    let mut plan = Plan::entry(json!({ "url": behind.url }));
    plan.limits = Limits { messages_a_second: 100, ..plan.limits };
    let house = start(plan).await.expect("it starts");
    let began = Instant::now();
    assert_eq!(house.call("chatter", json!({ "times": 400 })).await, "that is all");
    // Two seconds' worth come at once, the rest in its time.
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    // Whoever waits longer is told why, once.
    assert_eq!(house.call("chatter", json!({ "times": 700 })).await, "that is all");
    assert_eq!(house.call("chatter", json!({ "times": 700 })).await, "that is all");
    let told = |house: &House| {
        let diary = house.diary.lock().expect("no panic");
        diary.told.iter().filter(|told| told.contains("MCP server srv sends more than 100 messages a second")).count()
    };
    house.until("it is told", |house| told(house) > 0).await;
    assert_eq!(told(&house), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_that_closes_at_once_is_opened_with_growing_pauses() {
    let behind = Behind::port("flapping");
    let house = start(Plan::entry(json!({ "url": behind.url }))).await.expect("it starts");
    let told = |house: &House| {
        let diary = house.diary.lock().expect("no panic");
        diary.told.iter().filter(|told| told.contains("MCP server srv closes its streams again and again")).count()
    };
    house.until("it is told", |house| told(house) > 0).await;
    let requests = |house: &House| house.ledger().matches("\"host_call.start\"").count();
    // So long that the server could have closed hundreds.
    let before = requests(&house);
    for said in ["one", "two", "three"] {
        assert_eq!(house.call("echo", json!({ "text": said })).await, said);
    }
    assert_eq!(told(&house), 1);
    let (ledger, _) = house.close().await;
    let requests = ledger.iter().filter(|line| line["event"] == "host_call.start").count();
    assert!(requests < before + 10, "{before} and then {requests}");
    let noted = |line: &&Value| line["message"].as_str().is_some_and(|text| text.contains("closes its streams"));
    assert_eq!(ledger.iter().filter(noted).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_behind_a_socket_say_what_is_wrong() {
    let locked = Behind::port("locked");
    let plan = |headers: Value| Plan::entry(json!({ "url": locked.url, "headers": headers }));
    let refused = start(plan(json!({}))).await.err().expect("it is locked");
    let told = "the server wants authorization (Bearer realm=\"test\"); pi does not sign in for you (OAuth): \
                get a token from it and write \"headers\": {\"Authorization\": \"Bearer ${YOUR_TOKEN}\"} into its entry";
    assert_eq!(refused, told);
    let rejected = start(plan(json!({ "Authorization": "Bearer wrong" }))).await.err().expect("it is locked");
    let expected =
        "the server refused the credentials that its entry sends (status 401: nothing else); look at its \"headers\"";
    assert_eq!(rejected, expected);
    let open = start(plan(json!({ "Authorization": "Bearer open" }))).await.expect("it opens");
    assert_eq!(open.call("echo", json!({ "text": "in" })).await, "in");

    let expiring = Behind::port("expiring");
    let house = start(Plan::entry(json!({ "url": expiring.url }))).await.expect("it opens");
    assert_eq!(house.call("echo", json!({ "text": "in" })).await, format!("! MCP server srv: {told}"));

    let moved = Behind::port("moved");
    let refused = start(Plan::entry(json!({ "url": moved.url }))).await.err().expect("it moved");
    assert!(refused.contains("http://127.0.0.1:1/elsewhere"), "{refused}");
    let html = Behind::port("html");
    let refused = start(Plan::entry(json!({ "url": html.url }))).await.err().expect("it is a page");
    assert!(refused.contains("status 200"), "{refused}");
    let nobody = start(Plan::entry(json!({ "url": "http://127.0.0.1:1/mcp" }))).await.err().expect("nobody is there");
    assert!(nobody.contains("ECONNREFUSED"), "{nobody}");
}
