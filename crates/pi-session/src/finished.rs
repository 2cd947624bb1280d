//! Results that were told of and do not stand in the session's file yet.
//!
//! Calls that run side by side end in any order, and everybody is told of each end at once; their results stand in the file
//! in the order of the calls, so those of the quick ones wait for the slow ones. Meanwhile they lie in
//! `session.jsonl.results`, one line each, written before anybody is told. Whoever opens the session after a crash finds
//! them there ([`read`]) and puts them in their place ([`restorable`]). The file is there only while calls are answered.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use pi_transcript::{EntryId, Message, ToolCallId, message::ToolResultMessage};
use serde::{Deserialize, Serialize};

use crate::{
    context::{answers, calls},
    file::{Disk, Neighbour, append_to, beside, each_line, remove},
    tree::Kept,
};

/// A line: a result, and the answer that made the call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    pub answer: EntryId,
    pub result: Message,
}

/// The file of one session; none where a conversation is not kept.
#[derive(Debug)]
pub(crate) struct Notebook {
    path: Option<PathBuf>,
    /// What the path may lead through.
    _session: Option<Neighbour>,
    /// Whether there is a file. Only the run in flight writes, so this is no lock.
    is_there: AtomicBool,
}

fn path_of(session: &Path) -> PathBuf {
    beside(session, "results")
}

/// What a session left behind that ended in the middle of its calls. A line that was not written to its end was not told.
pub(crate) fn read(session: &Path) -> io::Result<Vec<Finished>> {
    let disk = match Disk::read_own(&path_of(session)) {
        Ok(disk) => disk,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    each_line::<io::Error>(disk.reader(), |line| {
        found.extend(serde_json::from_slice::<Finished>(line));
        Ok(())
    })?;
    Ok(found)
}

/// The results among `finished` that are missing on a path whose last words are the answer that they belong to, in the
/// order of its calls. Where the conversation went on without them they come too late.
pub(crate) fn restorable(path: &[Arc<Kept>], finished: &[Finished]) -> Vec<Message> {
    let mut answered: Vec<&ToolCallId> = Vec::new();
    let messages = path.iter().rev().filter_map(|kept| match &**kept {
        Kept::Message { base, message, .. } => Some((&base.id, &**message)),
        Kept::Other(_) => None,
    });
    for (id, message) in messages {
        match message {
            Message::ToolResult(result) => answered.push(&result.tool_call_id),
            Message::Assistant(said) => {
                let find = |call: &ToolCallId| {
                    let is_it = |it: &&Finished| it.answer == *id && answers(&it.result) == Some(call);
                    finished.iter().find(is_it).map(|it| it.result.clone())
                };
                return calls(said)
                    .filter(|call| !answered.contains(&&call.id))
                    .filter_map(|call| find(&call.id))
                    .collect();
            }
            Message::User(_)
            | Message::BashExecution(_)
            | Message::Custom(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::System(_)
            | Message::Other(_) => return Vec::new(),
        }
    }
    Vec::new()
}

impl Notebook {
    /// The notebook of a session; what an earlier process left in it goes with the next turn.
    pub(crate) fn new(session: Option<Neighbour>) -> Self {
        let path = session.as_ref().map(|session| path_of(&session.place()));
        let is_there = path.as_ref().is_some_and(|path| path.exists());
        Self { path, _session: session, is_there: is_there.into() }
    }

    /// Returns when the result is in the file. A disk that fails is told of by the recorder, and the conversation goes on.
    pub(crate) async fn keep(&self, answer: &EntryId, result: &ToolResultMessage) {
        let Some(path) = self.path.clone() else { return };
        let line = Finished { answer: answer.clone(), result: Message::ToolResult(Box::new(result.clone())) };
        let mut line = serde_json::to_vec(&line).expect("a message is JSON");
        line.push(b'\n');
        self.is_there.store(true, Ordering::Relaxed);
        let written = tokio::task::spawn_blocking(move || append_to(&path, &line)).await;
        if let Err(error) = written.unwrap_or_else(|broken| Err(io::Error::other(broken))) {
            tracing::warn!(%error, "a result is told of and not on the disk");
        }
    }

    /// Throws the file away: everything in it stands in the session's own, or belongs to a turn that is gone.
    pub(crate) async fn clear(&self) {
        let Some(path) = self.path.clone().filter(|_| self.is_there.swap(false, Ordering::Relaxed)) else { return };
        let removed = tokio::task::spawn_blocking(move || remove(&path)).await;
        match removed.unwrap_or_else(|broken| Err(io::Error::other(broken))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                // It names the answer that its results belong to, so it does no harm.
                tracing::debug!(%error, "results that are kept elsewhere were not removed");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(id: &str, message: &serde_json::Value) -> Arc<Kept> {
        let line = json!({ "type": "message", "id": id, "parentId": null, "timestamp": "", "message": message });
        let entry: pi_transcript::Entry = serde_json::from_value(line).expect("an entry");
        Arc::new(Kept::from(entry))
    }

    fn result(call: &str) -> serde_json::Value {
        json!({ "role": "toolResult", "toolCallId": call, "toolName": "bash", "content": [], "isError": false, "timestamp": 1 })
    }

    fn answer(id: &str) -> Arc<Kept> {
        let calls =
            ["c1", "c2", "c3"].map(|id| json!({ "type": "toolCall", "id": id, "name": "bash", "arguments": {} }));
        kept(
            id,
            &json!({
                "role": "assistant", "content": calls, "api": "", "provider": "", "model": "", "usage": {},
                "stopReason": "toolUse", "timestamp": 1
            }),
        )
    }

    /// The calls whose results are put back.
    #[track_caller]
    fn check(path: &[Arc<Kept>], finished: &[(&str, &str)], expected: &[&str]) {
        let finished = finished.iter().map(|(answer, call)| Finished {
            answer: EntryId::from(*answer),
            result: serde_json::from_value(result(call)).expect("a message"),
        });
        let restored = restorable(path, &finished.collect::<Vec<_>>());
        let calls: Vec<_> = restored
            .into_iter()
            .map(|message| match message {
                Message::ToolResult(result) => result.tool_call_id.to_string(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(calls, expected);
    }

    #[test]
    fn results_are_put_back_in_the_order_of_the_calls() {
        check(&[answer("a")], &[("a", "c3"), ("a", "c1")], &["c1", "c3"]);
        check(&[answer("a"), kept("r", &result("c1"))], &[("a", "c3"), ("a", "c1")], &["c3"]);
    }

    #[test]
    fn results_of_another_answer_are_left_alone() {
        check(&[answer("a")], &[("b", "c1")], &[]);
        check(&[answer("a"), answer("b")], &[("a", "c1")], &[]);
        check(&[], &[("a", "c1")], &[]);
    }

    #[test]
    fn conversation_that_went_on_gets_no_late_results() {
        let user = kept("u", &json!({ "role": "user", "content": "x", "timestamp": 1 }));
        check(&[answer("a"), user], &[("a", "c1")], &[]);
    }

    #[tokio::test]
    async fn line_that_was_cut_was_not_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let session = folder.path().join("s.jsonl");
        let notebook = Notebook::new(Some(Neighbour::new(session.as_path().into(), None)));
        let Ok(Message::ToolResult(first)) = serde_json::from_value(result("c1")) else { panic!("a result") };
        notebook.keep(&EntryId::from("a"), &first).await;
        append_to(&path_of(&session), b"{\"answer\":\"a\",\"resul").expect("it is written");
        let whole = Finished { answer: EntryId::from("a"), result: Message::ToolResult(first) };
        assert_eq!(read(&session).expect("a file"), [whole]);
        notebook.clear().await;
        assert_eq!(read(&session).expect("no file"), []);
        assert!(!path_of(&session).exists());
    }
}
