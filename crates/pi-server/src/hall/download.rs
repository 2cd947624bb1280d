//! A session as a file for whoever sits before a browser, which may stand on another machine than the server.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use pi_session::{
    export::{self, ExportError},
    listing::OutputError,
    sidecar,
};
use pi_transcript::SessionId;
use pi_wire::Error;
use tokio::{sync::OwnedSemaphorePermit, task::spawn_blocking, time::timeout};

use super::{Hall, Undone, gone};

/// A file that is larger is not sent, nor is one made of a session that is: it would stand in the memory of both sides.
pub(crate) const MOST_BYTES: usize = 64 << 20;
/// So many stand in memory at a time, until they are sent; others wait.
pub(crate) const AT_ONCE: usize = 2;
/// So long they do.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a browser is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The conversation as one page.
    Html,
    Markdown,
    /// What the model was shown last, as a prompt envelope.
    Envelope,
    /// The same of every request, as a list.
    Envelopes,
    /// Every request, as one page with the view of the envelope.
    Viewer,
}

/// Of which session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Session(SessionId),
    /// One that somebody else may have open.
    File(PathBuf),
}

/// A file on its way to a browser.
#[derive(Debug)]
pub(crate) struct Download {
    /// ASCII, without quotes and separators.
    pub(crate) name: String,
    pub(crate) media_type: &'static str,
    pub(crate) text: String,
    /// Its room in memory; none in a test.
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsent {
    #[error(transparent)]
    Failed(#[from] Error),
    #[error("the session is larger than {} MiB", MOST_BYTES >> 20)]
    TooLarge,
    #[error("{AT_ONCE} other sessions are being downloaded")]
    Busy,
    #[error(transparent)]
    NoOutput(OutputError),
}

impl Form {
    pub(crate) const NAMES: [&'static str; 5] = ["html", "markdown", "envelope", "envelopes", "viewer"];

    pub(crate) fn read(name: &str) -> Option<Self> {
        match name {
            "html" => Some(Self::Html),
            "markdown" => Some(Self::Markdown),
            "envelope" => Some(Self::Envelope),
            "envelopes" => Some(Self::Envelopes),
            "viewer" => Some(Self::Viewer),
            _ => None,
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Html | Self::Viewer => "text/html; charset=utf-8",
            Self::Markdown => "text/markdown; charset=utf-8",
            Self::Envelope | Self::Envelopes => "application/json",
        }
    }

    fn name(self, stem: &str) -> String {
        match self {
            Self::Html => format!("pi-session-{stem}.html"),
            Self::Markdown => format!("pi-session-{stem}.md"),
            Self::Envelope => format!("pi-envelope-{stem}.json"),
            Self::Envelopes => format!("pi-envelopes-{stem}.json"),
            Self::Viewer => format!("pi-envelopes-{stem}.html"),
        }
    }

    fn write(self, file: &Path) -> Result<String, ExportError> {
        match self {
            Self::Html => Ok(export::html(&export::read_exactly(file)?)),
            Self::Markdown => Ok(export::markdown(&export::read_exactly(file)?)),
            Self::Envelope => {
                let envelope = export::envelope_exactly(file)?;
                Ok(serde_json::to_string_pretty(&envelope).expect("an envelope is plain JSON") + "\n")
            }
            Self::Envelopes => export::list_exactly(file, MOST_BYTES),
            Self::Viewer => {
                let title = export::read_exactly(file)?.title();
                let album = export::album_exactly(file, &title)?;
                Ok(pi_web::viewer_html(&serde_json::to_string(&album).expect("an album is plain JSON")))
            }
        }
    }
}

impl Hall {
    /// Writes the conversation down as it stands, for one reader and not for the disk.
    pub(crate) async fn download(&self, source: &Source, form: Form) -> Result<Download, Unsent> {
        let room = Arc::clone(&self.downloads).acquire_owned();
        let Ok(Ok(space)) = timeout(PATIENCE, room).await else { return Err(Unsent::Busy) };
        let file = match source {
            Source::Session(id) => self.written_file(id).await.map_err(|undone| undone.error)?,
            Source::File(path) => self.may_look(path)?,
        };
        let made = spawn_blocking(move || {
            if is_too_large(&file)
                || (matches!(form, Form::Envelopes | Form::Viewer) && is_too_large(&sidecar::path_of(&file)))
            {
                return Err(Unsent::TooLarge);
            }
            let text = form.write(&file).map_err(|error| Error::Refused { reason: error.to_string() })?;
            if text.len() > MOST_BYTES {
                return Err(Unsent::TooLarge);
            }
            Ok(Download { name: form.name(&stem(&file)), media_type: form.media_type(), text, room: Some(space) })
        });
        made.await.map_err(|panic| Error::Internal { incident: panic.to_string() })?
    }

    /// The file of a session, with everything in it that was said.
    async fn written_file(&self, id: &SessionId) -> Result<PathBuf, Undone> {
        let (room, session) = self.enter(id).await?;
        session.flush().await.map_err(gone(room.id()))?;
        self.own_file(&room, "a session that is not kept cannot be exported")
    }

    /// All that a command said, from the file that its message names.
    pub(crate) async fn output(&self, id: &SessionId, name: String) -> Result<Download, Unsent> {
        let room = Arc::clone(&self.downloads).acquire_owned();
        let Ok(Ok(space)) = timeout(PATIENCE, room).await else { return Err(Unsent::Busy) };
        let (_room, session) = self.enter(id).await.map_err(|undone| undone.error)?;
        let plain = plain(&name);
        let text = session.whole_output(name, MOST_BYTES as u64).await.map_err(Unsent::NoOutput)?;
        Ok(Download { name: plain, media_type: "text/plain; charset=utf-8", text, room: Some(space) })
    }
}

fn is_too_large(file: &Path) -> bool {
    file.metadata().is_ok_and(|facts| facts.len() > MOST_BYTES as u64)
}

/// The name of the file, without what it ends with.
fn stem(file: &Path) -> String {
    plain(&file.file_stem().unwrap_or_default().to_string_lossy())
}

/// A name as far as it can stand in a header and on every disk.
fn plain(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_download_breaks_no_header() {
        assert_eq!(stem(Path::new("/s/2026-01-01T00-00-00Z_abc.jsonl")), "2026-01-01T00-00-00Z_abc");
        assert_eq!(stem(Path::new("/s/a\"b\r\nc;é.jsonl")), "a-b--c--");
        assert_eq!(stem(Path::new(&format!("/s/{}.jsonl", "x".repeat(500)))).len(), 100);
    }

    #[test]
    fn every_form_has_a_name() {
        for name in Form::NAMES {
            assert!(Form::read(name).is_some(), "{name}");
        }
        assert_eq!(Form::read("exe"), None);
    }
}
