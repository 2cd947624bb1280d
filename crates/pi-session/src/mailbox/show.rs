//! What clients read of a session. What lies in the file is read beside the mailbox.

use std::{path::PathBuf, sync::Arc};

use pi_transcript::{ContextUsage, json::Amount};
use tokio::sync::oneshot;

use super::{Mailbox, answer, letter::Letter, note::full_output};
use crate::{
    cut,
    listing::{self, Counted, Outline, OutputError, Overview, ReadingError, Whole},
    run::aside::{self, piece},
    tree::Kept,
};

impl Mailbox {
    /// How full the window of the model is. After a compaction nobody knows until the model has answered.
    pub(super) fn context_usage(&self) -> ContextUsage {
        let path = self.tree.entries();
        let tokens = cut::is_counted(&path).then(|| cut::context_tokens(&path));
        let window = self.choice.model().context_window;
        let percent = tokens.filter(|_| window > 0).map(|tokens| tokens as f64 * 100.0 / window as f64);
        ContextUsage {
            tokens,
            context_window: window,
            percent: percent.and_then(|percent| Amount::try_from(percent).ok()),
        }
    }

    /// Counts everything on every branch: what is new since the last time.
    pub(super) fn overview(&mut self, reply: oneshot::Sender<Result<Overview, ReadingError>>) {
        let session = self.parts.session.clone();
        let file = self.parts.reader.as_ref().map(|reader| reader.path().to_string_lossy().into_owned());
        let Counted { entries, mut tally } = self.counted.clone();
        let pieces: Vec<_> = self.tree.places().skip(entries).filter_map(|place| piece(&self.tree, place)).collect();
        let entries = self.tree.len();
        let (reader, letters) = (self.parts.reader.clone(), self.letters.clone());
        self.asides.spawn_blocking(move || {
            // One entry after the other, so that a long session is never held as a whole.
            let read = pieces.into_iter().try_for_each(|piece| {
                aside::read_one(reader.as_deref(), piece).map(|kept| tally.add(&kept.to_entry()))
            });
            if let (Ok(()), Some(letters)) = (&read, letters.upgrade()) {
                // If the mailbox is full, the same is counted once more the next time.
                let counted = Counted { entries, tally: tally.clone() };
                let _ = letters.try_send(Letter::Counted(Box::new(counted)));
            }
            answer(reply, read.map(|()| tally.finish(session, file)).map_err(ReadingError::from));
        });
    }

    /// Somebody else may have counted more meanwhile.
    pub(super) fn keep_count(&mut self, counted: Counted) {
        if counted.entries > self.counted.entries {
            self.counted = counted;
        }
    }

    /// Reads everything that is not held.
    pub(super) fn whole(&mut self, reply: oneshot::Sender<Result<Whole, ReadingError>>) {
        let (header, name) = (self.header.clone(), self.tree.name().map(str::to_owned));
        let leaf = self.tree.leaf().map(|leaf| self.tree.id(leaf));
        let pieces: Vec<_> = self.tree.places().filter_map(|place| piece(&self.tree, place)).collect();
        let reader = self.parts.reader.clone();
        self.asides.spawn_blocking(move || {
            let read = |piece| aside::read_one(reader.as_deref(), piece).map(|kept| kept.to_entry());
            let entries: Result<Vec<_>, _> = pieces.into_iter().map(read).collect();
            answer(reply, entries.map(|entries| Whole { header, name, leaf, entries }).map_err(ReadingError::from));
        });
    }

    /// Looks for the message that names the file: whoever knows a name alone gets nothing.
    pub(super) fn whole_output(
        &mut self,
        name: String,
        most: u64,
        reply: oneshot::Sender<Result<String, OutputError>>,
    ) {
        let pieces: Vec<_> = self.tree.places().filter_map(|place| piece(&self.tree, place)).collect();
        let (reader, workspace) = (self.parts.reader.clone(), Arc::clone(&self.tools.workspace));
        self.asides.spawn_blocking(move || {
            let path_in = |kept: &Kept| match kept {
                Kept::Message { message, .. } => full_output(message).map(PathBuf::from),
                Kept::Other(_) => None,
            };
            let is_it = |path: &PathBuf| path.file_name() == Some(name.as_ref());
            let named = pieces.into_iter().rev().find_map(|piece| {
                let read = aside::read_one(reader.as_deref(), piece).map(|kept| path_in(&kept).filter(is_it));
                read.transpose()
            });
            answer(
                reply,
                match named {
                    Some(Ok(path)) => workspace.whole_output(&path, most).map_err(OutputError::from),
                    Some(Err(fault)) => Err(ReadingError::from(fault).into()),
                    None => Err(OutputError::Unknown { name }),
                },
            );
        });
    }

    /// The newest entries, so many at most.
    pub(super) fn outline(&mut self, most: usize, reply: oneshot::Sender<Result<Outline, ReadingError>>) {
        let left_out = self.tree.len().saturating_sub(most);
        let pieces: Vec<_> = self
            .tree
            .places()
            .skip(left_out)
            .filter_map(|place| {
                let label = self.tree.label_of(&self.tree.id(place)).map(str::to_owned);
                Some((piece(&self.tree, place)?, label))
            })
            .collect();
        let leaf = self.tree.leaf().map(|leaf| self.tree.id(leaf));
        let reader = self.parts.reader.clone();
        self.asides.spawn_blocking(move || {
            let nodes = pieces.into_iter().map(|(piece, label)| {
                aside::read_one(reader.as_deref(), piece).map(|kept| listing::node(&kept.to_entry(), label))
            });
            let nodes: Result<Vec<_>, _> = nodes.collect();
            answer(reply, nodes.map(|nodes| Outline { leaf, nodes, left_out }).map_err(ReadingError::from));
        });
    }
}
