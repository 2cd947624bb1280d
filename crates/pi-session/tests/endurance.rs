//! A conversation of thousands of turns: it needs no more memory at its end than at its beginning, and no more time; and
//! what it adds to its files at its end is as much as at its beginning.
//!
//! Alone in its program, because what other tests allocate would be counted.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a test makes and reads the files of its project, and measures time")]

#[path = "run/desks.rs"]
mod desks;
#[expect(dead_code, reason = "one conversation needs little of the stage")]
#[path = "run/stage.rs"]
mod stage;
#[path = "run/tell.rs"]
mod tell;

use std::time::{Duration, Instant};

use pi_session::{Ending, Prompted, cut};
use pi_testkit::{Request, Script, model::Answer};
use pi_transcript::AgentEvent;
use serde_json::json;

use stage::Stage;

/// KiB that may be added after the first tenth.
const MOST_GROWTH: u64 = 20 << 10;
/// A machine that others use is noisy; what grows with a conversation grows much more than this.
const MOST_SLOWDOWN: f64 = 2.0;
/// The part by which the last quarter may add more to a file than the first. Compactions come when they come, so that a
/// quarter has one more or less than another.
const MOST_SWELLING: u64 = 4;
/// The session, and what the model was shown. The second is where a conversation that is compacted would grow unseen.
const FILES: [&str; 2] = ["../session.jsonl", "../session.jsonl.envelopes"];
/// Every prompt is two turns: a call, and what the model makes of its result.
const TURNS_OF_A_PROMPT: usize = 2;

fn turns() -> usize {
    std::env::var("PI_TEST_TURNS").ok().and_then(|text| text.parse().ok()).unwrap_or(1500)
}

fn is_summary(request: &Request) -> bool {
    request.json()["messages"][0]["content"].to_string().contains("summaries")
}

fn follows_a_call(request: &Request) -> bool {
    let body = request.json();
    let last = body["messages"].as_array().and_then(|messages| messages.last());
    last.is_some_and(|message| message["role"] == "tool")
}

/// No usage is told, so the conversation is as long as it looks, and is compacted now and then.
fn script() -> Script {
    let summary = Answer::new().text("We read a file again and again.");
    let words = Answer::new().text(&"It says the same as before. ".repeat(10));
    let call = Answer::new().text("I look.").call("call", "read", &json!({ "path": "a.txt" }));
    Script::new().when(is_summary, summary.reply()).when(follows_a_call, words.reply()).otherwise(call.reply())
}

/// Resident memory of this process in KiB; nothing where the system does not tell.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Bytes of each file.
fn sizes(stage: &Stage) -> [u64; FILES.len()] {
    FILES.map(|name| std::fs::metadata(stage.path(name)).unwrap().len())
}

/// The least: what else the machine does makes others longer, and none shorter.
fn least(times: &[Duration]) -> Duration {
    times.iter().copied().min().expect("there are some")
}

#[tokio::test]
async fn long_conversation_stays_small_and_quick() {
    let settings = cut::Settings { keep_recent_tokens: 500, ..cut::Settings::default() };
    let mut stage = Stage::scripted(script(), |blueprint| blueprint.compaction = settings).await;
    std::fs::write(stage.path("a.txt"), "a line of text\n".repeat(20)).unwrap();
    let prompts = turns() / TURNS_OF_A_PROMPT;
    let (mut times, mut early, mut compactions) = (Vec::new(), None, 0);
    let mut written = Vec::new();
    for number in 0..prompts {
        let begin = Instant::now();
        assert_eq!(stage.say("Read it once more, please.").await, Prompted::Ran(Ending::Done));
        times.push(begin.elapsed());
        let told = stage.until(|event| matches!(event, AgentEvent::AgentSettled { .. })).await;
        compactions += told.matches("compaction ends, aborted: false").count();
        stage.server.forget();
        written.push(sizes(&stage));
        if number == prompts / 10 {
            early = resident();
        }
    }
    assert!(compactions > prompts / 50, "only {compactions} compactions");
    if let (Some(early), Some(late)) = (early, resident()) {
        assert!(late < early + MOST_GROWTH, "{early} KiB after a tenth, {late} KiB at the end");
    }
    let quarter = prompts / 4;
    let (first, last) = (least(&times[..quarter]), least(&times[prompts - quarter..]));
    assert!(last < first.mul_f64(MOST_SLOWDOWN), "{first:?} for a prompt at the beginning, {last:?} at the end");
    for (file, name) in FILES.iter().enumerate() {
        let [first, last] = [0, prompts - 1 - quarter].map(|from| written[from + quarter][file] - written[from][file]);
        println!("{name}: {first} bytes in the first quarter, {last} in the last");
        assert!(
            last > 0 && last < first + first / MOST_SWELLING,
            "{name}: {first} bytes in the first quarter, {last} in the last"
        );
    }
    println!("{prompts} prompts: {first:?} at first, {last:?} at last, {early:?} KiB, then {:?}", resident());
    let lines = stage.lines().await;
    let said = lines.iter().filter(|line| *line == "user").count();
    assert_eq!(said, prompts, "everything is in the file");
}
