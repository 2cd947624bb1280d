//! Too many calls, too large, too long, given up.

use std::{sync::Arc, time::Duration};

use pi_exthost::{Figures, Guests, Identity, Limits, Terms, port::Settled};
use pi_extproto::{
    connector::{Call, data::Data, fs::FsCall, fs::WriteMode},
    host::{ErrorCode, HostCall},
};
use serde_json::json;
use tokio::time::timeout;

use crate::stage::{AGES, Plan, Stage};

fn sleeper(seconds: u32) -> serde_json::Value {
    json!({ "command": "sleep", "args": [seconds.to_string()], "env": {}, "stream": false })
}

fn allowed() -> serde_json::Value {
    json!({ "grants": { "g1": [{ "capability": "exec" }] } })
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_beyond_those_at_work_wait_and_those_beyond_that_are_refused() {
    let limits = Limits { in_flight: 1, waiting: 2, ..Limits::default() };
    let stage = Stage::new(Plan { limits, policy: allowed(), ..Plan::default() });
    let call = || {
        let call = Call::parse(&"exec".into(), sleeper(100).as_object().expect("an object")).expect("a call");
        let terms = Terms { timeout: Some(Duration::from_millis(400)), ..Terms::background() };
        stage.desk.call(call, terms)
    };
    let results = timeout(AGES, futures_util::future::join_all((0..5).map(|_| call()))).await.expect("in time");
    let mut codes: Vec<_> = results.into_iter().map(|result| result.expect_err("none is done").code).collect();
    codes.sort_by_key(|code| format!("{code:?}"));
    let (refused, late) = (ErrorCode::InvalidRequest, ErrorCode::Timeout);
    assert_eq!(codes, [refused, refused, late, late, late]);
    assert_eq!(stage.ledger().await, "5 calls, 0 unfinished, 0 denied, 5 failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn notices_beyond_what_anybody_reads_are_left_out_and_slowed_down() {
    let stage = Stage::new(Plan::default());
    let began = tokio::time::Instant::now();
    for _ in 0..60 {
        let told = stage.told("ui", json!({ "op": "notify", "message": "look", "level": "info" })).await;
        assert_eq!(told, "ok {}");
    }
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    let asked = stage.session.asked();
    let with = |words: &str| asked.iter().filter(|line| line.contains(words)).count();
    assert_eq!((with("look"), with("it says more than anybody reads")), (50, 1), "{asked:?}");
    assert_eq!(stage.ledger().await, "60 calls, 0 unfinished, 0 denied, 0 failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn guest_that_is_loaded_anew_again_and_again_leaves_nothing_behind() {
    let stage = Stage::new(Plan::default());
    for _ in 0..20 {
        let anew = Identity { temporary: stage.path("tmp/g1"), ..stage.desk.identity().clone() };
        drop(stage.dispatcher.desk(anew).expect("a desk"));
    }
    let folders = std::fs::read_dir(stage.path("tmp")).expect("a folder").count();
    assert_eq!(folders, 2, "that of the one that is here, and that of the last one that went");
}

#[tokio::test(flavor = "multi_thread")]
async fn giant_parameters_and_giant_files_are_refused_with_a_word_about_the_bound() {
    let limits = Limits { params_bytes: 100, output_bytes: 10, ..Limits::default() };
    let stage = Stage::new(Plan { limits, ..Plan::default() });
    let write = FsCall::Write {
        path: "f".to_owned(),
        content: Data(vec![0; 100]),
        mode: WriteMode::Replace,
        permissions: None,
    };
    let error = stage.desk.call(Call::Fs(write), Terms::background()).await.expect_err("too large");
    assert_eq!(error.message, "the parameters have 101 bytes, and 100 is the limit; pass them in parts");
    std::fs::write(stage.path("project/g"), "01234567890").expect("a file");
    let told = stage.told("fs", json!({ "op": "read", "path": "g" })).await;
    assert_eq!(told, "io EFBIG: g: 11 bytes are more than the 10 that may be read at once; read it in parts");
    let told = stage.told("fs", json!({ "op": "read", "path": "g", "limit": 2, "offset": 9 })).await;
    assert_eq!(told, r#"ok {"content":{"text":"90"}}"#);
    assert_eq!(stage.ledger().await, "3 calls, 0 unfinished, 0 denied, 2 failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_count_together_until_the_guest_has_them() {
    let limits = Limits { untaken_bytes: 100, ..Limits::default() };
    let stage = Stage::new(Plan { limits, policy: allowed(), ..Plan::default() });
    std::fs::write(stage.path("project/f"), [b'x'; 60]).expect("a file");
    let read = || {
        let read = FsCall::Read { path: "f".to_owned(), offset: None, limit: None };
        stage.desk.call_weighed(stage.desk.weigh(Call::Fs(read)), Terms::background())
    };
    let first = read().await.expect("there is room");
    let error = read().await.expect_err("both together are too much");
    assert_eq!((error.code, error.retryable), (ErrorCode::InvalidRequest, Some(true)));
    assert!(error.message.contains("not taken yet have more than 100 bytes together"), "{}", error.message);
    drop(first);
    drop(read().await.expect("the guest has the first"));
    // Of a process what there is no room for is left out, which is told.
    let held = read().await.expect("there is room");
    let zeros = || json!({ "command": "printf", "args": ["%050d", "0"], "env": {}, "stream": false });
    let told = stage.told("exec", zeros()).await;
    assert!(told.contains(r#""truncated":true"#), "{told}");
    drop(held);
    let told = stage.told("exec", zeros()).await;
    assert!(told.contains(r#""truncated":false"#), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_count_from_the_moment_they_are_handed_in_until_the_call_is_over() {
    let limits = Limits { in_flight: 1, pending_bytes: 100, ..Limits::default() };
    let stage = Stage::new(Plan { limits, ..Plan::default() });
    let write = |bytes: usize| {
        let content = Data(vec![b'x'; bytes]);
        Call::Fs(FsCall::Write { path: "f".to_owned(), content, mode: WriteMode::Replace, permissions: None })
    };
    let terms = || Terms::background();
    // Nothing of it has begun, and its bytes count.
    let first = stage.desk.weigh(write(59));
    let refused = stage.desk.call(write(40), terms()).await.expect_err("too much together");
    assert_eq!(refused.code, ErrorCode::InvalidRequest);
    assert_eq!(refused.retryable, Some(true));
    assert!(refused.message.contains("more than 100 bytes of parameters"), "{}", refused.message);
    stage.desk.call(write(39), terms()).await.expect("it fits");
    stage.desk.call_weighed(first, terms()).await.expect("it fitted");
    // What was done, refused or given up does not count any more.
    drop(stage.desk.weigh(write(99)));
    stage.desk.call(write(99), terms()).await.expect("it is alone");
    let path = FsCall::List { path: "x".repeat(101) };
    let refused = stage.desk.call(Call::Fs(path), terms()).await.expect_err("paths have bytes as well");
    assert_eq!(refused.retryable, Some(true));
    let mut feed = stage.desk.open(write(100), terms());
    let refused = feed.next().await.expect("an item").expect_err("too much");
    assert_eq!(refused.retryable, Some(true));
    assert_eq!(stage.ledger().await, "6 calls, 0 unfinished, 0 denied, 3 failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_is_refused_for_its_bytes_does_not_wait_for_its_turn() {
    let limits = Limits { in_flight: 1, waiting: 0, pending_bytes: 100, ..Limits::default() };
    let stage = Stage::new(Plan { limits, policy: allowed(), ..Plan::default() });
    let sleeping = stage.desk.open(
        Call::parse(
            &"exec".into(),
            json!({ "command": "sleep", "args": ["100"], "env": {}, "stream": true }).as_object().expect("an object"),
        )
        .expect("a call"),
        Terms::background(),
    );
    timeout(AGES, async {
        while !stage.ledger().await.starts_with("1 calls, 1 unfinished") {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("it is at work");
    let write = FsCall::Write {
        path: "f".to_owned(),
        content: Data(vec![0; 100]),
        mode: WriteMode::Replace,
        permissions: None,
    };
    let refused = timeout(AGES, stage.desk.call(Call::Fs(write), Terms::background())).await.expect("at once");
    assert!(refused.expect_err("too much").message.contains("bytes of parameters"));
    drop(sleeping);
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_is_dropped_has_its_end_and_its_work_stops() {
    let stage = Stage::new(Plan { policy: allowed(), ..Plan::default() });
    let running = stage.ask("exec", sleeper(100));
    assert!(timeout(Duration::from_millis(300), running).await.is_err());
    assert_eq!(stage.ledger().await, "1 calls, 0 unfinished, 0 denied, 1 failed");
    assert!(stage.lines().contains(r#""dropped":true"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_tokens_are_idempotent_and_deadlines_count() {
    let stage = Stage::new(Plan { policy: allowed(), ..Plan::default() });
    let call = |token: &str, timeout: Option<u64>| -> HostCall {
        let mut call = json!({ "call_id": "c", "capability": "exec", "method": "exec", "params": sleeper(100),
            "cancel_token": token });
        if let Some(timeout) = timeout {
            call["timeout_ms"] = json!(timeout);
        }
        serde_json::from_value(call).expect("a call")
    };
    stage.desk.cancel("nobody");
    let running = stage.desk.exchange(call("one", None), Terms::background());
    let stop = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        for _ in 0..3 {
            stage.desk.cancel("one");
        }
    };
    let (result, ()) = timeout(AGES, async { tokio::join!(running, stop) }).await.expect("in time");
    assert_eq!(result.output["exit"]["killed"], json!(true), "{:?}", result.error);
    let late = timeout(AGES, stage.desk.exchange(call("two", Some(200)), Terms::background())).await.expect("in time");
    assert_eq!(late.error.expect("too late").code, ErrorCode::Timeout);
}

#[tokio::test(flavor = "multi_thread")]
async fn question_that_nobody_answers_is_a_timeout_and_a_dismissed_one_is_an_answer() {
    let stage = Stage::new(Plan { answers: vec![Settled::TimedOut, Settled::Dismissed], ..Plan::default() });
    let question = || stage.told("ui", json!({ "op": "confirm", "title": "t", "message": "m" }));
    assert_eq!(question().await, "timeout nobody answered in time");
    assert_eq!(question().await, r#"ok {"confirmed":false}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn guest_that_is_dismissed_again_and_again_is_dismissed_unseen() {
    let stage = Stage::new(Plan { answers: vec![Settled::Dismissed; 20], ..Plan::default() });
    let question = || stage.told("ui", json!({ "op": "input", "title": "password" }));
    for _ in 0..6 {
        assert_eq!(question().await, "ok {}");
    }
    assert_eq!(stage.session.questions().len(), 4);
    // Nobody has to wait for what is being told but whoever closes.
    stage.dispatcher.close().await;
    let told: Vec<_> = stage.session.asked().into_iter().filter(|line| line.contains("tell of g1")).collect();
    assert!(told.len() == 1 && told[0].contains("To let it ask again: reload it (/extensions, ctrl+r)"), "{told:?}");
    assert_eq!(stage.lines().matches("ui.unheard").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_go_on_when_a_guest_is_loaded_anew() {
    let stage = Stage::new(Plan::default());
    stage.ask("env", json!({ "op": "get", "name": "SECRET" })).await;
    let before = stage.desk.figures();
    let again = stage.dispatcher.desk(stage.desk.identity().clone()).expect("a desk");
    assert_eq!((before.denials, again.figures()), (1, before));
    let elsewhere = vec!["/elsewhere/g1".to_owned()];
    let other = Identity { origins: elsewhere.clone(), ..stage.desk.identity().clone() };
    let other = stage.dispatcher.desk(other).expect("a desk");
    assert_eq!(other.figures(), Figures::default(), "it is another of the name");
    let guests = Arc::new(Guests::none());
    stage.dispatcher.introduce(&guests);
    let past = |origins: &[String]| guests.past(stage.desk.guest(), "g1", origins);
    assert_eq!(past(&stage.desk.identity().origins), before);
    assert_eq!(past(&elsewhere), Figures::default());
}
