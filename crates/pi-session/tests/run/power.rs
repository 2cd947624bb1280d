//! A loss of power: what was answered is on the disk, and so is every turn that is over.

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
    let text = std::fs::read(stage.path("../session.jsonl")).unwrap();
    let image = stage.path("../after.jsonl");
    std::fs::write(&image, &text[..usize::try_from(safe.load(Ordering::SeqCst)).unwrap()]).unwrap();
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
