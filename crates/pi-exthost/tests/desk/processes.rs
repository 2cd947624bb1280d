//! `exec`: no shell, a deadline, the whole tree, streams at the reader's pace.

use std::time::Duration;

use pi_exthost::{Limits, Output, Terms};
use pi_extproto::{
    connector::{
        Call,
        exec::Command,
        stream::{Channel, StreamItem},
    },
    host::{HostCall, stream},
};
use pi_tools::process::{Signal, Whom};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::stage::{AGES, Plan, Stage, check};

fn allowed() -> Plan {
    Plan { policy: json!({ "grants": { "g1": [{ "capability": "exec" }] } }), ..Plan::default() }
}

fn shell(script: &str, stream: bool) -> Call {
    Call::Exec(Command {
        command: "sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        cwd: None,
        env: [("GREETING".to_owned(), "hello".to_owned())].into(),
        unset: None,
        bare: None,
        announce: None,
        stdin: None,
        timeout_ms: None,
        max_output_bytes: None,
        stream,
    })
}

#[test]
fn programs_run_without_a_shell_and_their_end_is_a_result() {
    check(
        allowed(),
        r#"exec {"command":"printf","args":["%s|","$HOME","a b"],"env":{},"stream":false}
           exec {"command":"sh","args":["-c","echo out; echo err >&2; exit 3"],"env":{},"stream":false}
           exec {"command":"cat","args":[],"env":{},"stdin":{"text":"fed"},"stream":false}
           exec {"command":"sh","args":["-c","echo $A"],"env":{"A":"b"},"stream":false}
           exec {"command":"sh","args":["-c","echo $A${HOME:+home}"],"env":{"A":"b"},"unset":["HOME"],"stream":false}
           exec {"command":"sh","args":["-c","echo $A${HOME:+home}"],"env":{"A":"b"},"bare":true,"stream":false}
           exec {"command":"sh","args":["-c","echo $A${HOME:+home}"],"env":{"A":"b"},"stream":false}
           exec {"command":"no-such-program","args":[],"env":{},"stream":false}
           exec {"command":"sh","args":["-c","pwd; sleep 100"],"cwd":".","env":{},"timeout_ms":300,"stream":false}"#,
        r#"ok {"stdout":{"text":"$HOME|a b|"},"stderr":{"text":""},"exit":{"code":0,"killed":false},"truncated":false}
           ok {"stdout":{"text":"out\n"},"stderr":{"text":"err\n"},"exit":{"code":3,"killed":false},"truncated":false}
           ok {"stdout":{"text":"fed"},"stderr":{"text":""},"exit":{"code":0,"killed":false},"truncated":false}
           ok {"stdout":{"text":"b\n"},"stderr":{"text":""},"exit":{"code":0,"killed":false},"truncated":false}
           ok {"stdout":{"text":"b\n"},"stderr":{"text":""},"exit":{"code":0,"killed":false},"truncated":false}
           ok {"stdout":{"text":"b\n"},"stderr":{"text":""},"exit":{"code":0,"killed":false},"truncated":false}
           ok {"stdout":{"text":"bhome\n"},"stderr":{"text":""},"exit":{"code":0,"killed":false},"truncated":false}
           io ENOENT: no-such-program: No such file or directory (os error 2)
           ok {"stdout":{"text":"ROOT/project\n"},"stderr":{"text":""},"exit":{"signal":"SIGTERM","killed":true},"truncated":false}
           9 calls, 0 unfinished, 0 denied, 1 failed"#,
    );
}

#[test]
fn nothing_runs_without_a_grant_nor_in_a_folder_that_is_not_granted() {
    check(
        Plan::default(),
        r#"exec {"command":"touch","args":["made"],"env":{},"stream":false}
           tool {"name":"bash","input":{"command":"touch made"}}
           show project/made"#,
        r#"denied Extension g1 wanted exec: touch made and may not (denied unless it is granted by name). To allow it: pi ext allow g1 exec --command 'touch made'
           denied Extension g1 wanted exec: touch made and may not (denied unless it is granted by name). To allow it: pi ext allow g1 exec --command 'touch made'
           project/made: nothing
           2 calls, 0 unfinished, 2 denied, 0 failed"#,
    );
    check(
        Plan { policy: json!({ "mode": "strict", "grants": { "g1": [{ "capability": "exec" }] } }), ..Plan::default() },
        r#"exec {"command":"touch","args":["made"],"cwd":"ROOT/home","env":{},"stream":false}
           show home/made"#,
        r#"denied Extension g1 wanted exec: touch made (in ROOT/home) and may not (denied unless it is granted by name). To allow it: pi ext allow g1 exec --path ROOT/home --command 'touch made'
           home/made: nothing
           1 calls, 0 unfinished, 1 denied, 0 failed"#,
    );
}

#[test]
fn grant_that_does_not_cover_a_shell_is_named_in_the_refusal() {
    let grant = json!({ "capability": "exec", "scope": { "commands": ["git"] } });
    check(
        Plan { policy: json!({ "grants": { "g1": [grant] } }), ..Plan::default() },
        r#"exec {"command":"/bin/sh","args":["-c","git status"],"env":{},"stream":false}"#,
        r#"denied Extension g1 wanted exec: /bin/sh -c git status and may not (denied unless it is granted by name; what you granted does not cover it: commands git and /bin/sh -c git status do not match). To allow it: pi ext allow g1 exec --command '/bin/sh -c' --command 'git status'
           1 calls, 0 unfinished, 1 denied, 0 failed"#,
    );
    // The shell by name, and what it may run.
    let grant = json!({ "capability": "exec", "scope": { "commands": ["/bin/sh -c", "true"] } });
    check(
        Plan { policy: json!({ "grants": { "g1": [grant] } }), ..Plan::default() },
        r#"exec {"command":"/bin/sh","args":["-c","true 1"],"env":{},"stream":false}
           exec {"command":"/bin/sh","args":["-c","true; id"],"env":{},"stream":false}"#,
        r#"ok {"stdout":{"text":""},"stderr":{"text":""},"exit":{"code":0,"killed":false},"truncated":false}
           denied Extension g1 wanted exec: /bin/sh -c true; id and may not (denied unless it is granted by name; what you granted does not cover it: commands /bin/sh -c, true and /bin/sh -c true; id do not match). To allow it: pi ext allow g1 exec --command '/bin/sh -c' --command true --command id
           2 calls, 0 unfinished, 1 denied, 0 failed"#,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn output_beyond_the_limit_is_dropped_and_said_so() {
    let stage = Stage::new(Plan { limits: Limits { process_bytes: 10, ..Limits::default() }, ..allowed() });
    let output = stage.desk.call(shell("printf '%s' 0123456789abcdef", false), Terms::background()).await;
    let Ok(Output::Command(output)) = output else { panic!("{output:?}") };
    assert_eq!((output.stdout.0.as_slice(), output.truncated, output.exit.code), (&b"0123456789"[..], true, Some(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_waits_for_its_reader_and_ends_with_it() {
    let stage = Stage::new(allowed());
    let mut feed = stage.desk.open(shell("echo $GREETING; yes", true), Terms::background());
    let mut first = Vec::new();
    while first.len() < 6 {
        let item = timeout(AGES, feed.next()).await.expect("in time").expect("an item").expect("no error");
        let StreamItem::Piece(piece) = item else { panic!("{item:?}") };
        assert_eq!(piece.channel, Channel::Stdout);
        first.extend(piece.data.0);
    }
    assert_eq!(&first[..6], b"hello\n");
    // Nobody reads, so `yes` cannot get far ahead; then nobody is there at all, and it ends.
    drop(feed);
    timeout(AGES, async {
        while stage.ledger().await != "1 calls, 0 unfinished, 0 denied, 0 failed" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("the process ends with its reader");
    assert!(stage.desk.figures().received < 64 << 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_of_a_process_that_says_too_much_is_ended() {
    let stage = Stage::new(Plan { limits: Limits { stream_bytes: 1 << 20, ..Limits::default() }, ..allowed() });
    let mut feed = stage.desk.open(shell("yes", true), Terms::background());
    let (mut total, mut end) = (0, None);
    while let Some(item) = timeout(AGES, feed.next()).await.expect("it ends") {
        match item.expect("no error") {
            StreamItem::Piece(piece) => total += piece.data.0.len(),
            StreamItem::End(told) => end = Some(told),
            other @ StreamItem::Head(_) => panic!("{other:?}"),
        }
    }
    let end = end.expect("an end");
    assert_eq!((total, end.truncated, end.exit.expect("a process").killed), (1 << 20, true, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn process_whose_reader_wants_little_goes_on_to_its_own_end() {
    let stage = Stage::new(allowed());
    let Call::Exec(mut command) = shell("printf 0123456789; exit 3", true) else { panic!("a command") };
    command.max_output_bytes = Some(4);
    let mut feed = stage.desk.open(Call::Exec(command), Terms::background());
    let mut told = Vec::new();
    while let Some(item) = timeout(AGES, feed.next()).await.expect("it ends") {
        told.push(match item.expect("no error") {
            StreamItem::Piece(piece) => String::from_utf8(piece.data.0).expect("text"),
            StreamItem::End(end) => format!("{} {:?}", end.truncated, end.exit.and_then(|exit| exit.code)),
            other @ StreamItem::Head(_) => panic!("{other:?}"),
        });
    }
    assert_eq!(told, ["0123", "true Some(3)"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn process_is_written_to_while_it_runs() {
    let stage = Stage::new(allowed());
    let script = "while read line; do echo got $line; done; echo over";
    let (mut feed, intake) = stage.desk.open_to_write(shell(script, true), Terms::background());
    let mut said = async |words: &str| {
        let mut text = String::new();
        while !text.contains(words) {
            match timeout(AGES, feed.next()).await.expect("in time").expect("an item").expect("no error") {
                StreamItem::Piece(piece) => text.push_str(&String::from_utf8_lossy(&piece.data.0)),
                other => panic!("{other:?} before {words}"),
            }
        }
        text
    };
    for word in ["one", "two"] {
        intake.write(format!("{word}\n").into_bytes()).await.expect("it reads");
        assert_eq!(said("\n").await, format!("got {word}\n"), "it answers before more is written");
    }
    drop(intake);
    assert_eq!(said("over\n").await, "over\n");
    let end = timeout(AGES, feed.next()).await.expect("in time").expect("an item").expect("no error");
    let StreamItem::End(end) = end else { panic!("{end:?}") };
    assert_eq!(end.exit.and_then(|exit| exit.code), Some(0));
    assert!(timeout(AGES, feed.next()).await.expect("in time").is_none(), "nothing after the end");
    assert_eq!(stage.ledger().await, "1 calls, 0 unfinished, 0 denied, 0 failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn writing_to_a_process_that_is_gone_or_was_denied_is_an_error() {
    for (plan, ends) in [(allowed(), "ok"), (Plan::default(), "denied")] {
        let stage = Stage::new(plan);
        let (mut feed, intake) = stage.desk.open_to_write(shell("exit 0", true), Terms::background());
        let mut end = "nothing";
        while let Some(item) = timeout(AGES, feed.next()).await.expect("in time") {
            end = if item.is_ok() { "ok" } else { "denied" };
        }
        assert_eq!(end, ends);
        let error = intake.write(b"late".to_vec()).await.expect_err("nobody reads");
        assert_eq!(error.details.expect("the system's word")["errno"], "EPIPE");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_of_a_model_comes_in_pieces_and_as_a_whole() {
    let stage = Stage::new(Plan::default());
    let params = json!({ "op": "complete", "messages": [{ "role": "user", "content": "say it", "timestamp": 0 }] });
    let open = |params: &Value| {
        let call = Call::parse(&"session".into(), params.as_object().expect("an object")).expect("a call");
        stage.desk.open(call, Terms::background())
    };
    let mut feed = open(&params);
    let mut told = Vec::new();
    while let Some(item) = timeout(AGES, feed.next()).await.expect("in time") {
        if let StreamItem::Piece(piece) = item.expect("no error") {
            told.push(serde_json::from_slice::<Value>(&piece.data.0).expect("JSON"));
        }
    }
    let [step, answer] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(*step, json!({ "type": "text_delta", "contentIndex": 0, "delta": "say it" }));
    assert_eq!(answer["message"]["content"][0]["text"], "say it");
    let error = open(&json!({ "op": "get_state" })).next().await.expect("an item").expect_err("an error");
    assert_eq!(error.message, "of a session only the answer of a model comes in pieces");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_process_is_killed_with_its_children_and_tells_what_it_said() {
    let stage = Stage::new(allowed());
    let terms = Terms::background();
    let cancel = terms.cancel.clone();
    let running = stage.desk.call(shell("(sleep 100; touch late) & echo begun; touch begun; wait", false), terms);
    let begun = stage.path("project/begun");
    let stop = async {
        while !begun.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        cancel.cancel();
        cancel.cancel();
    };
    let (output, ()) = timeout(AGES, async { tokio::join!(running, stop) }).await.expect("in time");
    let Ok(Output::Command(output)) = output else { panic!("{output:?}") };
    assert_eq!((output.stdout.0.as_slice(), output.exit.killed), (&b"begun\n"[..], true));
    assert_eq!(stage.ledger().await, "1 calls, 0 unfinished, 0 denied, 0 failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn exchange_of_a_stream_gives_a_result_for_each_piece() {
    let stage = Stage::new(allowed());
    let told = async |params: Value| {
        let call = json!({ "call_id": "c7", "capability": "exec", "method": "exec", "params": params });
        let call: HostCall = serde_json::from_value(call).expect("a call");
        let mut results = stage.desk.exchange_in_pieces(call, Terms::background()).await;
        let mut checked = stream::Receiver::new("c7");
        let (mut text, mut count) = (String::new(), 0);
        while let Some(result) = timeout(AGES, results.next()).await.expect("it ends") {
            let progress = checked.accept(&result).expect("the rules of a stream are kept");
            text.push_str(json!(result.output)["data"]["text"].as_str().unwrap_or_default());
            text.push_str(result.error.as_ref().map(|error| error.message.as_str()).unwrap_or_default());
            count += 1;
            assert_eq!(result.chunk.is_none(), count == 1 && progress == stream::Progress::Ended);
        }
        (text, count)
    };
    let command =
        |script: &str, stream: bool| json!({ "command": "sh", "args": ["-c", script], "env": {}, "stream": stream });
    let (text, count) = told(command("echo one; sleep 0.2; echo two", true)).await;
    assert_eq!(text, "one\ntwo\n");
    assert!(count >= 3, "two pieces and an end, not {count} results");
    let (_, count) = told(command("echo one; echo two", false)).await;
    assert_eq!(count, 1);
    let (text, count) = told(json!({ "command": 7 })).await;
    assert!(count == 1 && text.contains("params"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn streamed_call_of_another_connector_is_refused() {
    let stage = Stage::new(Plan::default());
    let call = Call::parse(&"env".into(), json!({ "op": "list" }).as_object().expect("an object")).expect("a call");
    let mut feed = stage.desk.open(call, Terms::background());
    let error = feed.next().await.expect("an item").expect_err("an error");
    assert_eq!(error.message, "the output of env does not come in pieces");
    assert!(feed.next().await.is_none());
    let _: Value = json!(error);
}

/// Ends in its own way when it is asked to.
const TRAPS: &str = "trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.02; done";

#[tokio::test(flavor = "multi_thread")]
async fn process_that_had_its_time_is_asked_to_end_before_it_is_killed() {
    let stage = Stage::new(allowed());
    let Call::Exec(mut command) = shell(TRAPS, false) else { panic!("a command") };
    command.timeout_ms = Some(500);
    let output = timeout(AGES, stage.desk.call(Call::Exec(command), Terms::background())).await.expect("in time");
    let Ok(Output::Command(output)) = output else { panic!("{output:?}") };
    assert_eq!(output.stdout.0.as_slice(), b"ready\nasked\n");
    assert_eq!((output.exit.code, output.exit.killed), (Some(7), true));
}

#[tokio::test(flavor = "multi_thread")]
async fn process_is_told_by_name_and_answers_in_its_own_way() {
    let stage = Stage::new(allowed());
    let told = async |script: &str, signal| {
        let mut feed = stage.desk.open(shell(script, true), Terms::background());
        let mut said = String::new();
        while let Some(item) = timeout(AGES, feed.next()).await.expect("it ends") {
            match item.expect("no error") {
                StreamItem::Piece(piece) => said.push_str(&String::from_utf8_lossy(&piece.data.0)),
                StreamItem::End(end) => {
                    let exit = end.exit.expect("a process");
                    return format!("{said}{:?} {:?} {}", exit.code, exit.signal, exit.killed);
                }
                other @ StreamItem::Head(_) => panic!("{other:?}"),
            }
            if said == "ready\n" {
                feed.reins().tell(signal, Whom::Process);
            }
        }
        panic!("no end after {said}")
    };
    assert_eq!(told(TRAPS, Signal::Terminate).await, "ready\nasked\nSome(7) None false");
    // None that whoever started the tests may have had ignored, as a shell does with SIGINT for what it starts beside it.
    assert_eq!(told(TRAPS, Signal::User2).await, "ready\nNone Some(\"SIGUSR2\") false");
    assert_eq!(told(TRAPS, Signal::Kill).await, "ready\nNone Some(\"SIGKILL\") false");
    let counts = "trap 'echo one; exit 1' USR1; echo ready; while :; do sleep 0.02; done";
    assert_eq!(told(counts, Signal::User1).await, "ready\none\nSome(1) None false");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_call_does_not_wait_for_a_process_that_takes_its_time() {
    let stage = Stage::new(allowed());
    let terms = Terms::background();
    let cancel = terms.cancel.clone();
    let script = "trap 'sleep 0.4; echo late > late; exit' TERM; echo ready; while :; do sleep 0.02; done";
    let mut feed = stage.desk.open(shell(script, true), terms);
    let first = timeout(AGES, feed.next()).await.expect("in time");
    assert!(matches!(first, Some(Ok(StreamItem::Piece(_)))), "{first:?}");
    cancel.cancel();
    let end = loop {
        match timeout(AGES, feed.next()).await.expect("in time") {
            // The shell may say what became of its `sleep`.
            Some(Ok(StreamItem::Piece(_))) => {}
            Some(Ok(StreamItem::End(end))) => break end,
            other => panic!("{other:?}"),
        }
    };
    let exit = end.exit.expect("a process");
    assert_eq!((exit.code, exit.killed), (None, true));
    let late = stage.path("project/late");
    timeout(AGES, async {
        while !late.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("it comes to its own end");
}

#[tokio::test(flavor = "multi_thread")]
async fn process_that_runs_says_so_before_it_says_anything_if_asked_to() {
    let stage = Stage::new(allowed());
    let Call::Exec(mut command) = shell("cat", true) else { panic!("a command") };
    command.announce = Some(true);
    let (mut feed, intake) = stage.desk.open_to_write(Call::Exec(command), Terms::background());
    let mut next =
        async || match timeout(AGES, feed.next()).await.expect("in time").expect("an item").expect("no error") {
            StreamItem::Piece(piece) => String::from_utf8(piece.data.0).expect("text"),
            other => panic!("{other:?}"),
        };
    assert_eq!(next().await, "");
    intake.write(b"fed".to_vec()).await.expect("it reads");
    assert_eq!(next().await, "fed");
}
