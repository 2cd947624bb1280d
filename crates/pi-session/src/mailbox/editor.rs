//! What stands in the editor of whoever is here, for extensions that ask.

use pi_transcript::RequestId;

/// A copy of the text. Whoever draws the editor tells every change; what an extension puts there counts at once, although the
/// editor shows it a moment later.
#[derive(Debug, Default)]
pub(crate) struct Editor {
    /// Nothing where nobody draws one.
    text: Option<String>,
    /// The change of an extension that the editor has not made yet: what it tells before that is of the past.
    awaited: Option<RequestId>,
}

impl Editor {
    pub(super) fn text(&self) -> Option<String> {
        self.text.clone()
    }

    /// The editor has this text, after the change `after` of an extension.
    pub(super) fn note(&mut self, text: String, after: Option<&RequestId>) {
        if self.awaited.is_none() || self.awaited.as_ref() == after {
            (self.text, self.awaited) = (Some(text), None);
        }
    }

    /// An extension puts this text there.
    pub(super) fn change(&mut self, text: String, by: RequestId) {
        if self.text.is_some() {
            (self.text, self.awaited) = (Some(text), Some(by));
        }
    }

    /// Somebody begins to listen, who has not heard of changes from before.
    pub(super) fn begin_anew(&mut self) {
        self.awaited = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_editor_tells_of_the_past_does_not_count() {
        let mut editor = Editor::default();
        let (first, second) = (RequestId::from("1"), RequestId::from("2"));
        editor.change("nobody draws it".to_owned(), first.clone());
        assert_eq!(editor.text(), None);
        editor.note("typed".to_owned(), None);
        editor.change("typed, a".to_owned(), first.clone());
        editor.change("typed, a, b".to_owned(), second.clone());
        editor.note("typed before".to_owned(), None);
        editor.note("typed, a".to_owned(), Some(&first));
        assert_eq!(editor.text().as_deref(), Some("typed, a, b"));
        editor.note("typed, a, b".to_owned(), Some(&second));
        editor.note("typed, a, b and more".to_owned(), Some(&second));
        assert_eq!(editor.text().as_deref(), Some("typed, a, b and more"));
        editor.change("never heard of".to_owned(), first);
        editor.begin_anew();
        editor.note("of the next terminal".to_owned(), None);
        assert_eq!(editor.text().as_deref(), Some("of the next terminal"));
    }
}
