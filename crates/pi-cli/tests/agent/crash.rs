//! `kill -9` at random moments: what was told is in the file, no call is carried out twice, and the conversation goes on.
//!
//! Every conversation is begun, killed, gone on with and killed again several times before somebody lets it end. What
//! counts as told is an event on standard output: a message, or the end of a call. Commands take time and end in another
//! order than that of the calls, and each leaves a line that can be counted.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    process::Stdio,
    thread,
    time::Duration,
};

use pi_testkit::{
    model::Answer,
    server::{Reply, Script, Step},
};
use serde_json::{Value, json};

use crate::{
    room::{Room, read},
    times,
};

/// Deaths of one conversation, at most.
const DEATHS: usize = 8;
/// Calls of one run; each leaves a line in `effects.txt`.
const CALLS: usize = 4;
/// The longest time between what was read last and death.
const LAST_BREATH: Duration = Duration::from_millis(30);
/// How a result begins that nobody knows.
const UNKNOWN: &str = "The call was interrupted";
/// A file that is written in one piece or not at all.
const PIECE: &str = "a line of a file that must never be seen in part\n";

#[test]
fn killed_at_any_moment_nothing_told_is_lost_and_nothing_runs_twice() {
    let mut random = fastrand::Rng::with_seed(4);
    let mut seen = Seen::default();
    let mut left = times("PI_TEST_KILLS", 4);
    while left > 0 {
        let conversation = Conversation::new();
        let length = conversation.measure();
        let deaths = left.min(DEATHS);
        left -= deaths;
        for round in 1..=deaths {
            conversation.kill(round, random.usize(0..=length), LAST_BREATH.mul_f64(random.f64()), &mut seen);
        }
        conversation.finish(&seen);
        seen.told.clear();
        seen.results.clear();
    }
    // A test that always strikes at the same moment would prove little.
    assert!(seen.ends.len() >= 2, "all deaths were alike: {:?}", seen.ends);
}

/// Two calls run side by side; the quick one is told of while the slow one holds up its place in the file.
#[test]
fn end_of_a_call_that_was_told_is_kept_though_another_call_still_runs() {
    let slow = json!({ "command": "touch begun; sleep 60; echo slow >> effects.txt" });
    let quick = json!({ "command": "until [ -e begun ]; do sleep 0.01; done; echo quick >> effects.txt; echo the quick result" });
    let calls = Answer::new().call("slow", "bash", &slow).call("quick", "bash", &quick);
    let script = Script::new().then(calls.usage(100, 10).reply()).then(Answer::new().text("Finished.").reply());
    let room = Room::new(script);
    let mut command = room.pi();
    command.args(["--model", "scripted/model", "--mode", "json", "Go"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("pi starts");
    let output = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let mut events = output.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    let ended = events.find(|event| event["type"] == "tool_execution_end").expect("a call ends");
    child.kill().expect("it is ours");
    child.wait().expect("it is dead");
    assert_eq!(ended["toolCallId"], "quick");
    let mut command = room.pi();
    let output = command.args(["--model", "scripted/model", "-p", "-c", "Go on"]).stdin(Stdio::null()).output();
    assert!(output.expect("pi starts").status.success());
    let requests = room.server.requests();
    let request = requests.last().expect("somebody asked").json();
    let results = request["messages"].as_array().expect("a list").iter().filter(|message| message["role"] == "tool");
    let mut results: Vec<(&str, &str)> = results
        .map(|message| (message["tool_call_id"].as_str().expect("an id"), message["content"].as_str().expect("words")))
        .collect();
    results.sort_unstable();
    assert_eq!(results[0], ("quick", "the quick result\n"));
    assert!(results[1].1.starts_with(UNKNOWN), "{results:?}");
    assert_eq!(read(&room.project().join("effects.txt")).expect("a file"), "quick\n");
}

/// What was read from the processes that are dead now.
#[derive(Default)]
struct Seen {
    /// Every message that was told of, in order.
    told: Vec<Value>,
    /// The result of every call that was told to have ended.
    results: BTreeMap<String, Value>,
    /// The last words of the dead, and how many had them.
    ends: BTreeMap<String, usize>,
}

struct Conversation {
    room: Room,
}

impl Conversation {
    /// Round 0 is for measuring, the last one for the end; each has a path and thereby answers of its own.
    fn new() -> Self {
        let rounds = (0..=DEATHS).flat_map(|round| answers(round).into_iter().map(move |reply| (round, reply)));
        let end = (DEATHS + 1, Answer::new().text("Finished.").usage(100, 10).reply());
        let script = rounds
            .chain([end])
            .fold(Script::new(), |script, (round, reply)| script.once(&format!("/{round}/chat/completions"), reply));
        Conversation { room: Room::new(script) }
    }

    /// How many lines a run prints that nobody kills, in a session that is not kept.
    fn measure(&self) -> usize {
        self.room.serve_at("/0");
        let mut command = self.room.pi();
        command.args(["--model", "scripted/model", "--mode", "json", "--no-session", "Round 0"]);
        let output = command.stdin(Stdio::null()).output().expect("pi starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").lines().count()
    }

    /// Goes on with the conversation, reads so many lines, waits, and kills. What the dead said before is read to its end.
    fn kill(&self, round: usize, lines: usize, breath: Duration, seen: &mut Seen) {
        self.room.serve_at(&format!("/{round}"));
        let mut command = self.room.pi();
        command.args(["--model", "scripted/model", "--mode", "json", "-c", &format!("Round {round}")]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("pi starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let mut told: Vec<String> = output.by_ref().take(lines).collect();
        thread::sleep(breath);
        child.kill().expect("it is ours");
        child.wait().expect("it is dead");
        told.extend(output);
        // The last line may be half of one: it was not told.
        let events: Vec<Value> = told.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let last = events.last().and_then(|event| event["type"].as_str()).unwrap_or("nothing");
        *seen.ends.entry(last.to_owned()).or_default() += 1;
        let results = events.iter().filter(|event| event["type"] == "tool_execution_end");
        seen.results.extend(results.map(|event| {
            let call = event["toolCallId"].as_str().expect("an id").to_owned();
            (call, event["result"]["content"].clone())
        }));
        let ends = events.into_iter().filter(|event| event["type"] == "message_end");
        seen.told.extend(ends.map(|mut event| event["message"].take()));
        self.check(&seen.told, &seen.results);
    }

    /// Whatever happened, the file holds what was told, and what was carried out was carried out once.
    fn check(&self, told: &[Value], results: &BTreeMap<String, Value>) {
        let kept = self.branch();
        let mut rest = kept.iter();
        for message in told {
            assert!(rest.any(|kept| kept == message), "it was told and is not kept, or not in order: {message}");
        }
        let effects = self.effects();
        assert!(effects.values().all(|count| *count == 1), "a call was carried out twice: {effects:?}");
        for call in results.keys().filter(|call| !call.ends_with(&format!("_{CALLS}"))) {
            assert_eq!(effects.get(call), Some(&1), "{call} was told of and not carried out");
        }
        for round in 1..=DEATHS {
            let written = read(&self.room.project().join(format!("{round}.txt")));
            assert!(written.is_none_or(|text| text == PIECE.repeat(1000)), "a file was written in part");
        }
    }

    /// Goes on a last time, and in peace.
    fn finish(&self, seen: &Seen) {
        self.room.serve_at(&format!("/{}", DEATHS + 1));
        let mut command = self.room.pi();
        let output = command.args(["--model", "scripted/model", "-p", "-c", "Finish"]).stdin(Stdio::null()).output();
        let output = output.expect("pi starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "Finished.\n");
        self.check(&seen.told, &seen.results);
        let branch = self.branch();
        for (call, content) in &seen.results {
            let kept = branch.iter().find(|message| message["toolCallId"] == call.as_str());
            assert_eq!(kept.map(|message| &message["content"]), Some(content), "{call} was told to have ended");
        }
        let requests = self.room.server.requests();
        let request = requests.last().expect("somebody asked").json();
        let messages = request["messages"].as_array().expect("a list");
        let said = |text: &str| messages.iter().any(|message| message["content"].to_string().contains(text));
        for message in seen.told.iter().filter(|message| message["role"] == "user") {
            let text = message["content"][0]["text"].as_str().or(message["content"].as_str()).expect("words");
            assert!(said(text), "the model does not hear of {text:?}");
        }
        assert!(said("Finish"));
        let unknown = messages.iter().filter(|message| message["content"].to_string().contains(UNKNOWN));
        for call in unknown.map(|message| message["tool_call_id"].as_str().expect("an id")) {
            assert!(!seen.results.contains_key(call), "{call} was told to have ended, and now nobody knows");
        }
        // Every call has one answer: providers refuse anything else.
        let calls = messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
        let mut calls: Vec<&str> = calls.map(|call| call["id"].as_str().expect("an id")).collect();
        let mut answers: Vec<&str> = messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
        calls.sort_unstable();
        answers.sort_unstable();
        assert_eq!(calls, answers);
    }

    /// The messages from the first to the last line of the session. All that was told is in one session.
    fn branch(&self) -> Vec<Value> {
        let files = self.room.sessions();
        assert!(files.len() <= 1, "the conversation was not found again: {files:?}");
        let text = files.first().and_then(|path| read(path)).unwrap_or_default();
        let parse = |line: &str| serde_json::from_str(line).ok();
        // What was cut off at the end is repaired by whoever opens it next.
        let entries: Vec<Value> = text.lines().skip(1).filter_map(parse).collect();
        let mut branch = Vec::new();
        let mut wanted = entries.last().map(|entry| entry["id"].clone());
        for entry in entries.iter().rev() {
            if wanted.as_ref() == Some(&entry["id"]) {
                wanted = Some(entry["parentId"].clone());
                branch.push(entry["message"].clone());
            }
        }
        assert!(wanted.is_none_or(|parent| parent.is_null()), "an entry hangs in the air");
        branch.reverse();
        branch
    }

    /// How often each call was carried out.
    fn effects(&self) -> BTreeMap<String, usize> {
        let text = read(&self.room.project().join("effects.txt")).unwrap_or_default();
        let mut effects = BTreeMap::new();
        for line in text.lines() {
            *effects.entry(line.to_owned()).or_default() += 1;
        }
        effects
    }
}

/// The answers of one run: commands, one of them beside a file that is written, and words that come slowly.
fn answers(round: usize) -> [Reply; 3] {
    let call = |number: usize| format!("call_{round}_{number}");
    // The later the call, the sooner it ends.
    let command = |number: usize| {
        let wait = 20 * (CALLS - number);
        json!({ "command": format!("sleep 0.{wait:03}; echo {0} >> effects.txt; echo done {0}", call(number)) })
    };
    let content = json!({ "path": format!("{round}.txt"), "content": PIECE.repeat(1000) });
    let first = Answer::new().text("I look.").call(&call(0), "bash", &command(0));
    let second = (1..CALLS).fold(Answer::new(), |answer, number| answer.call(&call(number), "bash", &command(number)));
    let second = second.call(&call(CALLS), "write", &content);
    let last = Answer::new().thinking("Hm.").text("One two three four five six seven.");
    [first, second, last].map(|answer| slowly(answer.usage(100, 10).reply()))
}

/// A pause before every piece, so that there is time to die in.
fn slowly(reply: Reply) -> Reply {
    let pause = || Step::Wait(Duration::from_millis(2));
    Reply { steps: reply.steps.into_iter().flat_map(|step| [pause(), step]).collect() }
}
