//! Pages of what was said, for whoever asks the mailbox.

use tokio::sync::oneshot;

use super::{Mailbox, answer};
use crate::listing::{
    Page, ReadingError, Side,
    paging::{Plan, plan},
};

impl Mailbox {
    /// Some of what was said on the current branch. What is not held is read beside the mailbox.
    pub(super) fn page(&mut self, side: &Side, most: usize, reply: oneshot::Sender<Result<Page, ReadingError>>) {
        match plan(&self.tree, side, most) {
            Ok(Plan::Ready(page)) => answer(reply, Ok(page)),
            Ok(Plan::Read(reading)) => {
                let reader = self.parts.reader.clone();
                self.asides.spawn_blocking(move || answer(reply, reading.read(reader.as_deref()).map_err(Into::into)));
            }
            Err(missing) => answer(reply, Err(missing.into())),
        }
    }
}
