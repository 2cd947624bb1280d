//! What extensions left on the screens of clients, to be taken away when they go.

use std::{collections::BTreeMap, sync::Arc};

use pi_exthost::{GuestId, Registration};
use pi_transcript::question::Announcement;

/// Of one extension; whoever leaves more has the oldest stay.
const MOST: usize = 64;

/// For each extension what would take away what it shows.
#[derive(Debug, Default)]
pub(crate) struct Traces(BTreeMap<GuestId, Vec<Announcement>>);

impl Traces {
    pub(super) fn note(&mut self, by: &GuestId, announcement: &Announcement) {
        let (removal, is_shown) = match announcement {
            Announcement::SetStatus { key, text } => {
                (Announcement::SetStatus { key: key.clone(), text: None }, text.is_some())
            }
            Announcement::SetWidget { key, content, placement } => {
                let (key, placement) = (key.clone(), *placement);
                (Announcement::SetWidget { key, content: None, placement }, content.is_some())
            }
            Announcement::SetWorkingMessage { message } => {
                (Announcement::SetWorkingMessage { message: None }, message.is_some())
            }
            Announcement::Notify { .. } | Announcement::SetTitle { .. } | Announcement::SetEditorText { .. } => return,
        };
        let own = self.0.entry(by.clone()).or_default();
        own.retain(|known| *known != removal);
        if is_shown {
            own.push(removal);
        }
        if own.len() > MOST {
            own.remove(0);
        }
    }

    /// What takes away what one left that has gone, whoever comes in its place.
    pub(super) fn of(&mut self, gone: &GuestId) -> Vec<Announcement> {
        self.0.remove(gone).unwrap_or_default()
    }

    /// What takes away what those left who are not here any more.
    pub(super) fn of_those_gone(&mut self, here: &[Arc<Registration>]) -> Vec<(GuestId, Announcement)> {
        let is_gone = |id: &GuestId| here.iter().all(|registration| registration.id != *id);
        let of_one = |(id, removals): (GuestId, Vec<Announcement>)| {
            removals.into_iter().map(move |removal| (id.clone(), removal))
        };
        self.0.extract_if(.., |id, _| is_gone(id)).flat_map(of_one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_still_shown_goes_with_who_showed_it() {
        let status = |key: &str, text: Option<&str>| Announcement::SetStatus {
            key: key.to_owned(),
            text: text.map(str::to_owned),
        };
        let mut traces = Traces::default();
        for announcement in [status("a", Some("1")), status("b", Some("1")), status("b", None), status("a", Some("2"))]
        {
            traces.note(&"g".into(), &announcement);
        }
        traces.note(&"stays".into(), &status("c", Some("1")));
        let here = [Arc::new(Registration::new("stays".into(), "x"))];
        assert_eq!(traces.of_those_gone(&here), [("g".into(), status("a", None))]);
        assert_eq!(traces.of_those_gone(&here), []);
        assert_eq!(traces.of(&"stays".into()), [status("c", None)]);
        assert_eq!(traces.of(&"stays".into()), []);
    }
}
