//! Pages of what was said, also of what the model is not shown any more.
//!
//! The tree knows where every line lies, so a page above a compaction costs the lines of that page, however long the session is.

use tokio::sync::oneshot;

use super::{Mailbox, answer, tree::piece};
use crate::{
    context::{self, Spoken},
    file::{ReadError, Reader},
    listing::{self, Page, ReadingError, Side},
    run::{aside, desk::Piece},
    tree::{LeftOut, NoEntry},
};

/// Where a page above what the model is shown begins, and where it goes.
enum Way {
    /// To older messages, from before the entry at this index.
    Up(usize),
    /// To younger ones, from the entry at this index on.
    Down(usize),
}

impl Mailbox {
    /// Some of what was said on the current branch. What is not held is read beside the mailbox.
    pub(super) fn page(&mut self, side: &Side, most: usize, reply: oneshot::Sender<Result<Page, ReadingError>>) {
        let shown = context::build(&self.tree.entries()).messages;
        let above = self.tree.left_out();
        match self.way(side, &shown, &above) {
            Ok(None) => {
                let page = listing::page(shown, side, most).map(|page| match side {
                    Side::End | Side::Before(_) => Page { has_more: page.has_more || !above.is_empty(), ..page },
                    Side::After(_) => page,
                });
                answer(reply, page.map_err(ReadingError::from));
            }
            Ok(Some(way)) => self.page_above(&way, shown, &above, most, reply),
            Err(missing) => answer(reply, Err(missing.into())),
        }
    }

    /// The way of a page that lies above what is shown, or begins there.
    fn way(&self, side: &Side, shown: &[Spoken], above: &[LeftOut]) -> Result<Option<Way>, NoEntry> {
        let is_shown = |id| shown.iter().any(|(other, _)| other == id);
        let index = |id| {
            let place = self.tree.find(id)?;
            above.binary_search_by_key(&place, |left| left.place).map_err(|_| NoEntry { id: id.clone() })
        };
        match side {
            Side::Before(id) if shown.first().is_some_and(|(first, _)| first == id) => Ok(Some(Way::Up(above.len()))),
            Side::Before(id) if !is_shown(id) => Ok(Some(Way::Up(index(id)?))),
            Side::After(id) if !is_shown(id) => Ok(Some(Way::Down(index(id)? + 1))),
            Side::End | Side::Before(_) | Side::After(_) => Ok(None),
        }
    }

    fn page_above(
        &mut self,
        way: &Way,
        shown: Vec<Spoken>,
        above: &[LeftOut],
        most: usize,
        reply: oneshot::Sender<Result<Page, ReadingError>>,
    ) {
        let range = match *way {
            Way::Up(end) => 0..end,
            Way::Down(start) => start..above.len(),
        };
        let pieces = above[range].iter().filter_map(|left| {
            let edit = left.edit.and_then(|edit| piece(&self.tree, edit));
            Some((piece(&self.tree, left.place)?, edit))
        });
        let mut pieces: Vec<_> = pieces.collect();
        let rest = match way {
            Way::Up(_) => {
                pieces.reverse();
                Vec::new()
            }
            Way::Down(_) => shown,
        };
        let (reader, is_up) = (self.parts.reader.clone(), matches!(way, Way::Up(_)));
        self.asides.spawn_blocking(move || {
            let said = pieces.into_iter().filter_map(|(said, edit)| read(reader.as_deref(), said, edit).transpose());
            // One more tells whether there are more.
            let read: Result<Vec<Spoken>, ReadError> =
                said.chain(rest.into_iter().map(Ok)).take(most.saturating_add(1)).collect();
            let page = read.map(|mut messages| {
                let has_more = messages.len() > most;
                messages.truncate(most);
                if is_up {
                    messages.reverse();
                }
                Page { messages, has_more }
            });
            answer(reply, page.map_err(ReadingError::from));
        });
    }
}

/// What an entry says, as its edit has it. One that cannot be understood says nothing.
fn read(reader: Option<&Reader>, said: Piece, edit: Option<Piece>) -> Result<Option<Spoken>, ReadError> {
    let understood = |piece| match aside::read_one(reader, piece) {
        Err(ReadError::NotAnEntry { .. }) => Ok(None),
        read => read.map(Some),
    };
    let edit = edit.map_or(Ok(None), understood)?;
    Ok(understood(said)?.and_then(|kept| context::said(&kept, edit.as_deref())))
}
