//! A loss of power: what was answered is on the disk, and so is every turn that is over.
//!
//! Some cases are spelled out; random conversations then lose their power at random moments.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use pi_policy::Moment;
use pi_session::{
    Blueprint, Ending, Prompted, Storage,
    file::{self, Disk, Log, Medium, Source},
    tree::Kind,
};
use pi_testkit::model::Answer;
use pi_transcript::{Line, write_line};
use serde_json::json;

use crate::stage::{Stage, saying};

/// A real file that remembers how much of it would survive.
#[derive(Debug)]
struct Losing {
    disk: Disk,
    safe: Arc<AtomicU64>,
}

impl Medium for Losing {
    fn length(&mut self) -> io::Result<u64> {
        self.disk.length()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.sync()?;
        self.safe.store(self.disk.length()?, Ordering::SeqCst);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.disk.truncate(length)
    }

    fn is_there(&mut self) -> io::Result<bool> {
        self.disk.is_there()
    }
}

/// Lets the session write to a file of which only what was synced survives.
fn lose(blueprint: &mut Blueprint, safe: &Arc<AtomicU64>) {
    let Storage::File(opened) = &mut blueprint.storage else { panic!("it has a file") };
    let (path, safe) = (opened.reader.path().to_owned(), Arc::clone(safe));
    let make = move || Ok(Box::new(Losing { disk: Disk::create(&path)?, safe: Arc::clone(&safe) }) as Box<dyn Medium>);
    opened.log = Log::new(Source::Absent(Box::new(make)));
    opened.log.push(format!("{}\n", write_line(&Line::Header(opened.header.clone().into()))).as_bytes());
}

/// What a process would find that starts after the power is back.
fn surviving(stage: &Stage, safe: &AtomicU64) -> Vec<Kind> {
    surviving_at(stage, safe.load(Ordering::SeqCst))
}

/// The same if the power had gone when so much was safe.
fn surviving_at(stage: &Stage, safe: u64) -> Vec<Kind> {
    let text = std::fs::read(stage.file()).unwrap();
    let image = stage.path("../after.jsonl");
    std::fs::write(&image, &text[..usize::try_from(safe).unwrap()]).unwrap();
    let opened = file::open(&image, Moment::from_unix_millis(0), fastrand::Rng::with_seed(1)).unwrap();
    assert_eq!(opened.notices, []);
    let path = opened.tree.path(opened.tree.leaf());
    let said = path.into_iter().map(|place| opened.tree.kind(place));
    said.filter(|kind| matches!(kind, Kind::User | Kind::Assistant | Kind::ToolResult)).collect()
}

#[tokio::test]
async fn turn_that_is_over_and_an_answer_that_was_given_survive() {
    let call = Answer::new().call("c1", "write", &json!({ "path": "a.txt", "content": "abc" }));
    let answers = [call.reply(), Answer::new().text("Done").hold().reply()];
    let safe = Arc::new(AtomicU64::new(0));
    let stage = Stage::with(answers, |blueprint| lose(blueprint, &safe)).await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("write")).await })
    };
    // The model is asked for the second turn, so the first is over; nothing else happens until it may go on.
    stage.server.received(2).await;
    assert_eq!(surviving(&stage, &safe), [Kind::User, Kind::Assistant, Kind::ToolResult]);
    stage.server.release(1);
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Done)));
    assert_eq!(surviving(&stage, &safe), [Kind::User, Kind::Assistant, Kind::ToolResult, Kind::Assistant]);
}

#[tokio::test]
async fn aborted_answer_survives_once_the_abort_is_answered() {
    let safe = Arc::new(AtomicU64::new(0));
    let stage = Stage::with([Answer::new().text("Half").hold().reply()], |blueprint| lose(blueprint, &safe)).await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("go")).await })
    };
    stage.server.received(1).await;
    stage.session.abort().await.unwrap();
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Aborted)));
    assert_eq!(surviving(&stage, &safe), [Kind::User, Kind::Assistant]);
}

#[tokio::test]
async fn flush_is_answered_when_everything_is_safe() {
    let safe = Arc::new(AtomicU64::new(0));
    let stage = Stage::with([Answer::new().text("x").hold().reply()], |blueprint| lose(blueprint, &safe)).await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("go")).await })
    };
    stage.server.received(1).await;
    assert_eq!(safe.load(Ordering::SeqCst), 0, "a turn that goes on is not waited for");
    stage.session.flush().await.unwrap();
    assert_eq!(surviving(&stage, &safe), [Kind::User]);
    stage.server.release(1);
    running.await.unwrap().unwrap();
}

/// What is done in a random conversation.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Say,
    /// The model makes so many calls before it answers.
    SayWithCalls(usize),
    /// Somebody stops the answer in its middle.
    Interrupt,
    Rename,
    Flush,
}

impl Operation {
    fn random(random: &mut fastrand::Rng) -> Self {
        match random.u8(0..6) {
            0 | 1 => Self::Say,
            2 | 3 => Self::SayWithCalls(random.usize(1..5)),
            4 => Self::Interrupt,
            _ if random.bool() => Self::Rename,
            _ => Self::Flush,
        }
    }

    /// What the model answers.
    fn replies(self) -> Vec<pi_testkit::Reply> {
        let done = || Answer::new().text("Done").reply();
        match self {
            Self::Say => vec![done()],
            Self::SayWithCalls(count) => {
                let call = |answer: Answer, number: usize| {
                    let file = json!({ "path": format!("{number}.txt"), "content": "abc" });
                    answer.call(&format!("c{number}"), "write", &file)
                };
                vec![(0..count).fold(Answer::new(), call).reply(), done()]
            }
            Self::Interrupt => vec![Answer::new().text("Half").hold().reply()],
            Self::Rename | Self::Flush => Vec::new(),
        }
    }

    /// What is in the conversation once it was answered.
    fn said(self) -> Vec<Kind> {
        match self {
            Self::Say | Self::Interrupt => vec![Kind::User, Kind::Assistant],
            Self::SayWithCalls(count) => {
                let results = std::iter::repeat_n(Kind::ToolResult, count);
                [Kind::User, Kind::Assistant].into_iter().chain(results).chain([Kind::Assistant]).collect()
            }
            Self::Rename | Self::Flush => Vec::new(),
        }
    }
}

/// Does what is to be done and notes how much was safe at every event.
async fn perform(operation: Operation, stage: &mut Stage, asked: &mut usize, safe: &AtomicU64, moments: &mut Vec<u64>) {
    *asked += operation.replies().len();
    match operation {
        Operation::Rename => stage.session.rename("a name".to_owned()).await.unwrap(),
        Operation::Flush => stage.session.flush().await.unwrap(),
        Operation::Say | Operation::SayWithCalls(_) | Operation::Interrupt => {
            let session = stage.session.clone();
            let running = tokio::spawn(async move { session.prompt(saying("go")).await });
            if matches!(operation, Operation::Interrupt) {
                stage.server.received(*asked).await;
                stage.session.abort().await.unwrap();
            }
            let noted = std::sync::Mutex::new(Vec::new());
            let until_settled = stage.until(|event| {
                noted.lock().unwrap().push(safe.load(Ordering::SeqCst));
                matches!(event, pi_transcript::AgentEvent::AgentSettled { .. })
            });
            until_settled.await;
            running.await.unwrap().unwrap();
            moments.extend(noted.into_inner().unwrap());
        }
    }
}

#[tokio::test]
async fn random_conversation_loses_nothing_that_was_answered_and_keeps_a_beginning() {
    for seed in 0..24 {
        let mut random = fastrand::Rng::with_seed(seed);
        let operations: Vec<Operation> = (0..random.usize(1..6)).map(|_| Operation::random(&mut random)).collect();
        let safe = Arc::new(AtomicU64::new(0));
        let replies = operations.iter().flat_map(|operation| operation.replies());
        let mut stage = Stage::with(replies, |blueprint| lose(blueprint, &safe)).await;
        let (mut said, mut moments, mut asked) = (Vec::new(), Vec::new(), 0);
        for operation in &operations {
            perform(*operation, &mut stage, &mut asked, &safe, &mut moments).await;
            said.extend(operation.said());
            // Without a word of the person there is no file.
            if !said.is_empty() {
                assert_eq!(surviving(&stage, &safe), said, "{seed}: {operation:?} of {operations:?} was answered");
            }
        }
        moments.dedup();
        for moment in moments.into_iter().filter(|moment| *moment > 0) {
            let found = surviving_at(&stage, moment);
            assert!(said.starts_with(&found), "{seed}: at {moment} of {operations:?} there is {found:?}");
        }
    }
}
