//! What a person typed becomes a message: files, images, templates and skills are put where they were asked for.
//!
//! [`compose`] does all of it. Every stretch of the message that the person did not type is a span with its origin, so that
//! it shows as a segment of its own in the envelope. What comes from a file is redacted before it is put in; what was
//! typed is not touched. [`complete`] helps while somebody is typing.
//!
//! Two places, two answers to a file that cannot be attached: as an argument of the command line it is an error, because
//! somebody named it; as an `@name` in the text it stays the text that it is, because it may be no file at all. That it is
//! not attached is told where the name looks like that of a file.

mod below;
pub mod complete;
mod draft;
mod mention;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use pi_envelope::{Origin, Provenance, SpanSource, Trust};
use pi_exthost::{
    GuestId,
    port::{CommandInfo, CommandSource},
};
use pi_extproto::connector::tool::CommandDefinition;
use pi_redact::Redactor;
use pi_transcript::{Block, content::ImageBlock};

use self::{
    below::Found,
    draft::{Draft, Shown},
    mention::{Mention, mentions},
};
use crate::{
    attached::{picture_file, text_file},
    queue::Saying,
    resources::{self, Discovery, LARGEST, Places, Problem, Resources, Skill, template},
    scrub,
    settings::expand_home,
};

/// A larger image is not read.
pub const LARGEST_IMAGE: u64 = 64 << 20;
/// What a pipe is called as the origin of a text.
pub(crate) const PIPE: &str = "stdin";
/// How many files a text may mention.
const MOST_MENTIONS: usize = 32;

/// What arrived.
#[derive(Debug, Clone, Copy)]
pub struct Typed<'a> {
    pub text: &'a str,
    /// Files named as arguments, without the `@`.
    pub files: &'a [String],
    /// What came through a pipe.
    pub piped: Option<&'a str>,
    /// Images that a client sent along.
    pub images: &'a [ImageBlock],
}

/// What somebody typed, whole: extensions see it before a message is made of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Utterance {
    pub text: String,
    /// Files named as arguments, without the `@`.
    pub files: Vec<String>,
    /// What came through a pipe.
    pub piped: Option<String>,
    /// Images that a client sent along.
    pub images: Vec<ImageBlock>,
}

/// Whose words a text is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Voice {
    Person,
    /// An extension wrote it, or changed what a person wrote.
    Extension(GuestId),
}

/// Makes messages of what is typed in one project: [`Surroundings`] that a session keeps.
pub struct Composer {
    pub places: Places,
    pub resources: Resources,
    pub redactor: Arc<Redactor>,
    pub pictures: Box<Pictures<'static>>,
    /// What an `@name` of a person means; one of an extension means nothing.
    pub mentions: Mentions,
    pub images: ImageRule,
    /// Whether skills are listed as commands.
    pub skills: Discovery,
}

impl fmt::Debug for Composer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Composer").field("places", &self.places).finish_non_exhaustive()
    }
}

/// What is needed to make a message of it.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    pub places: &'a Places,
    pub resources: &'a Resources,
    pub redactor: &'a Redactor,
    pub pictures: &'a Pictures<'a>,
    pub mentions: Mentions,
    pub images: ImageRule,
}

/// What is done with an `@name` in the text that is a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mentions {
    /// The file is attached behind the text: for a person at this machine.
    Attach,
    /// The same if it lies below the folder of the session and not in the agent's directory: for clients elsewhere, who are
    /// not meant to read files of this machine by naming them.
    AttachBelow,
    /// It stays as it is, and the model reads the file if it wants to.
    Keep,
}

/// Whether images are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageRule {
    Send,
    Block,
}

/// Makes an image of bytes ready to be sent; `None` if they are none. [`as_it_is`] is one, the scaling of `pi-tools` the other.
pub type Pictures<'a> = dyn Fn(&[u8]) -> Option<Picture> + Send + Sync + 'a;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picture {
    Ready {
        image: ImageBlock,
        /// What a model should know: how much it was scaled.
        note: String,
    },
    LeftOut {
        why: String,
    },
}

/// The message, and what there is to tell about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Composed {
    pub saying: Saying,
    pub notices: Vec<InputNotice>,
    /// How many secrets were hidden in what came from files.
    pub hidden: usize,
}

/// Why there is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    #[error("there is no file {path}", path = .path.display())]
    Missing { path: PathBuf },
    #[error("{path} is not a file", path = .path.display())]
    NotAFile { path: PathBuf },
    #[error("{path} is neither text nor an image", path = .path.display())]
    NotText { path: PathBuf },
    /// Whether there is such a file is not told.
    #[error("{path} does not lie in the folder of the session", path = .path.display())]
    Outside { path: PathBuf },
    #[error("{path} cannot be attached: {problem}", path = .path.display())]
    Unreadable { path: PathBuf, problem: Problem },
    #[error("there is no skill {name:?}{}", meant(.nearest))]
    UnknownSkill { name: String, nearest: Option<String> },
    /// What stands behind the command of an extension, which says in its own words what it wants.
    #[error("{message}")]
    Misused { message: String },
}

fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

/// Something that was left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputNotice {
    #[error("there is no skill {name:?}")]
    UnknownSkill { name: String },
    #[error("the skill {name:?} is not used: {problem}")]
    Skill { name: String, problem: Problem },
    #[error("a file that was mentioned is not attached: {0}")]
    NotAttached(InputError),
    #[error("{path} is not shown to the model: {why}", path = .path.display())]
    NotShown { path: PathBuf, why: String },
    #[error("more than {MOST_MENTIONS} files are mentioned; the rest is not attached")]
    TooMany,
    #[error("{count} images are not sent, because images are switched off")]
    ImagesBlocked { count: usize },
}

/// Makes a message of what was typed at `timestamp`, milliseconds since 1970. Reads files.
pub fn compose(typed: Typed<'_>, around: &Surroundings<'_>, timestamp: u64) -> Result<Composed, InputError> {
    compose_as(&Voice::Person, typed, around, timestamp)
}

fn compose_as(
    voice: &Voice,
    typed: Typed<'_>,
    around: &Surroundings<'_>,
    timestamp: u64,
) -> Result<Composed, InputError> {
    let mut work = Work { around, voice, draft: Draft::default(), notices: Vec::new(), hidden: 0 };
    if let Some(piped) = typed.piped.filter(|piped| !piped.trim().is_empty()) {
        work.piped(piped);
    }
    for name in typed.files {
        let path = around.places.directory.join(expand_home(name, around.places.home.as_deref()));
        let attached = work.read(&path)?;
        work.attach(&path, attached);
    }
    work.text(typed.text)?;
    match around.mentions {
        Mentions::Attach | Mentions::AttachBelow => work.mentioned(typed.text),
        Mentions::Keep => {}
    }
    work.draft.images.extend(typed.images.iter().map(|image| Shown { image: image.clone(), file: None }));
    if around.images == ImageRule::Block && !work.draft.images.is_empty() {
        work.notices.push(InputNotice::ImagesBlocked { count: work.draft.images.len() });
        work.draft.images.clear();
    }
    let Work { draft, notices, hidden, .. } = work;
    let own = match voice {
        Voice::Person => Some(typed.text.to_owned()),
        Voice::Extension(_) => None,
    };
    Ok(Composed { saying: draft.finish(own, timestamp), notices, hidden })
}

impl Utterance {
    /// Words and nothing else.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Whether nothing stands before its text.
    pub(crate) fn is_bare(&self) -> bool {
        self.files.is_empty() && self.piped.is_none()
    }
}

impl Composer {
    /// Makes a message of what was said at `timestamp`, milliseconds since 1970. Reads files.
    pub(crate) fn compose(&self, said: &Utterance, voice: &Voice, timestamp: u64) -> Result<Composed, InputError> {
        let around = Surroundings {
            places: &self.places,
            resources: &self.resources,
            redactor: &self.redactor,
            pictures: &*self.pictures,
            mentions: match voice {
                Voice::Person => self.mentions,
                Voice::Extension(_) => Mentions::Keep,
            },
            images: self.images,
        };
        let Utterance { text, files, piped, images } = said;
        compose_as(voice, Typed { text, files, piped: piped.as_deref(), images }, &around, timestamp)
    }

    /// Whether a message can be made of it: what is wrong with it is found before anything is said. Reads files.
    pub fn check(&self, said: &Utterance) -> Result<(), InputError> {
        self.compose(said, &Voice::Person, 0).map(drop)
    }

    /// The templates and skills that can be called.
    pub(crate) fn commands(&self) -> Vec<CommandInfo> {
        let info = |name: String, description: &str, source| CommandInfo {
            definition: CommandDefinition { name, description: Some(description.to_owned()) },
            source,
        };
        let path = |path: &Path| path.display().to_string();
        let templates = self.resources.templates.iter().map(|template| {
            let source = CommandSource::Prompt { path: path(&template.path) };
            info(template.name.clone(), &template.description, source)
        });
        let offered = self.resources.skills.iter().filter(|_| self.skills == Discovery::On);
        let skills = offered.map(|skill| {
            let source = CommandSource::Skill { path: path(&skill.path) };
            info(format!("skill:{}", skill.name), &skill.description, source)
        });
        templates.chain(skills).collect()
    }
}

/// The image as it is, whatever its size.
pub fn as_it_is(bytes: &[u8]) -> Option<Picture> {
    let mime_type = image_type(bytes)?;
    let Block::Image(image) = Block::image(STANDARD.encode(bytes), mime_type) else { return None };
    Some(Picture::Ready { image, note: String::new() })
}

/// The type of an image, by how its bytes begin.
pub fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// What a file holds.
enum Attached {
    Nothing,
    Text(String),
    Picture(Picture),
}

struct Work<'a> {
    around: &'a Surroundings<'a>,
    voice: &'a Voice,
    draft: Draft,
    notices: Vec<InputNotice>,
    hidden: usize,
}

impl Work<'_> {
    fn piped(&mut self, piped: &str) {
        let text = self.scrubbed(piped);
        // Anybody may have written what a command printed.
        let provenance = Provenance { origin: Origin::File { path: PIPE.to_owned() }, trust: Trust::Untrusted };
        let source = SpanSource::Document { file_name: PIPE.to_owned(), mime_type: "text/plain".to_owned() };
        self.draft.mark(&format!("{}\n\n", text.trim_end()), provenance, source);
    }

    /// What was typed; a template or skill that it calls is expanded.
    fn text(&mut self, text: &str) -> Result<(), InputError> {
        let call = text.strip_prefix('/').map(|call| match call.split_once(char::is_whitespace) {
            Some((name, rest)) => (name, rest.trim()),
            None => (call, ""),
        });
        let Some((name, rest)) = call else {
            self.own(text);
            return Ok(());
        };
        let resources = self.around.resources;
        if let Some(name) = name.strip_prefix("skill:") {
            match resources.skill(name) {
                Some(skill) => {
                    self.skill(skill, text, rest);
                    return Ok(());
                }
                None if *self.voice == Voice::Person => {
                    let known = resources.skills.iter().map(|skill| skill.name.as_str());
                    let nearest = complete::nearest(name, known).first().map(|name| format!("/skill:{name}"));
                    return Err(InputError::UnknownSkill { name: name.to_owned(), nearest });
                }
                None => self.notices.push(InputNotice::UnknownSkill { name: name.to_owned() }),
            }
        } else if let Some(found) = resources.template(name) {
            self.template(found, rest);
            return Ok(());
        }
        self.own(text);
        Ok(())
    }

    /// What whoever speaks wrote.
    fn own(&mut self, text: &str) {
        match self.voice {
            Voice::Person => self.draft.plain(text),
            Voice::Extension(_) => self.draft.mark(text, self.spoken(), SpanSource::Quote),
        }
    }

    fn spoken(&self) -> Provenance {
        Provenance::usual(match self.voice {
            Voice::Person => Origin::User,
            Voice::Extension(by) => Origin::Extension { id: by.to_string() },
        })
    }

    fn template(&mut self, found: &resources::Template, rest: &str) {
        let source = document(&found.path);
        for piece in template::expand(found.text.trim(), &template::words(rest)) {
            match piece {
                template::Piece::Text(text) => self.draft.mark(&text, found.provenance.clone(), source.clone()),
                template::Piece::Argument { placeholder, value } => {
                    let source = SpanSource::Variable { name: placeholder };
                    self.draft.mark(&value, self.spoken(), source);
                }
            }
        }
    }

    /// Pi recognises a skill in a message by this form.
    fn skill(&mut self, skill: &Skill, text: &str, rest: &str) {
        let body = match skill.body() {
            Ok(body) => self.scrubbed(&body),
            Err(problem) => {
                self.notices.push(InputNotice::Skill { name: skill.name.clone(), problem });
                return self.own(text);
            }
        };
        let (location, folder) = (skill.path.display(), skill.folder.display());
        let block = format!(
            "<skill name=\"{}\" location=\"{location}\">\nPaths in this skill are relative to {folder}.\n\n{}\n</skill>",
            skill.name,
            body.trim()
        );
        self.draft.mark(&block, skill.provenance.clone(), document(&skill.path));
        if !rest.is_empty() {
            self.draft.plain("\n\n");
            self.own(rest);
        }
    }

    fn mentioned(&mut self, text: &str) {
        let mut seen: Vec<PathBuf> = Vec::new();
        for mention in mentions(text) {
            let Some((path, attached)) = self.find(&mention) else {
                if let Some(name) = mention.file_name() {
                    let path = PathBuf::from(name);
                    self.notices.push(InputNotice::NotAttached(InputError::Missing { path }));
                }
                continue;
            };
            if seen.contains(&path) {
                continue;
            }
            if seen.len() == MOST_MENTIONS {
                return self.notices.push(InputNotice::TooMany);
            }
            match attached {
                Ok(attached) => {
                    if seen.is_empty() {
                        self.draft.plain("\n\n");
                    }
                    self.attach(&path, attached);
                }
                Err(error) => self.notices.push(InputNotice::NotAttached(error)),
            }
            seen.push(path);
        }
    }

    /// The first reading of a mention that is a file.
    fn find(&self, mention: &Mention<'_>) -> Option<(PathBuf, Result<Attached, InputError>)> {
        let places = self.around.places;
        let mut paths =
            mention.readings().into_iter().map(|name| places.directory.join(expand_home(name, places.home.as_deref())));
        match self.around.mentions {
            Mentions::Attach => {
                let path = paths.find(|path| path.is_file())?;
                let attached = self.read(&path);
                Some((path, attached))
            }
            Mentions::AttachBelow => paths.find_map(|path| match below::read(places, &path, LARGEST_IMAGE) {
                Found::Nothing => None,
                // What is no name of a file is more likely one of a person, and stays without a word as it does elsewhere.
                Found::Outside => mention.is_path().then(|| (path.clone(), Err(InputError::Outside { path }))),
                Found::File { path, bytes: Ok(bytes) } => {
                    let attached = self.read_as(&path, &bytes);
                    Some((path, attached))
                }
                Found::File { path, bytes: Err(problem) } => {
                    Some((path.clone(), Err(InputError::Unreadable { path, problem })))
                }
            }),
            Mentions::Keep => None,
        }
    }

    fn read(&self, path: &Path) -> Result<Attached, InputError> {
        match resources::read(path, LARGEST_IMAGE) {
            Ok(Some(bytes)) => self.read_as(path, &bytes),
            Ok(None) => Err(InputError::Missing { path: path.to_owned() }),
            Err(Problem::NotAFile) => Err(InputError::NotAFile { path: path.to_owned() }),
            Err(problem) => Err(InputError::Unreadable { path: path.to_owned(), problem }),
        }
    }

    /// What the bytes of a file are.
    fn read_as(&self, path: &Path, bytes: &[u8]) -> Result<Attached, InputError> {
        if bytes.is_empty() {
            return Ok(Attached::Nothing);
        }
        if let Some(picture) = (self.around.pictures)(bytes) {
            return Ok(Attached::Picture(picture));
        }
        if bytes.len() as u64 > LARGEST {
            let problem = Problem::TooLarge { bytes: bytes.len() as u64, limit: LARGEST };
            return Err(InputError::Unreadable { path: path.to_owned(), problem });
        }
        if bytes.contains(&0) {
            return Err(InputError::NotText { path: path.to_owned() });
        }
        Ok(Attached::Text(resources::Text::of(bytes).text))
    }

    fn attach(&mut self, path: &Path, attached: Attached) {
        let (provenance, source) = (self.around.places.provenance(path), document(path));
        let text = match attached {
            Attached::Nothing => return,
            Attached::Text(text) => text_file(path, &self.scrubbed(&text)),
            Attached::Picture(Picture::LeftOut { why }) => {
                let text = picture_file(path, &format!("[Image left out: {why}]"));
                self.notices.push(InputNotice::NotShown { path: path.to_owned(), why });
                text
            }
            Attached::Picture(Picture::Ready { image, note }) => {
                self.draft.images.push(Shown { image, file: Some((provenance.clone(), source.clone())) });
                picture_file(path, &note)
            }
        };
        self.draft.mark(&format!("{text}\n"), provenance, source);
    }

    fn scrubbed(&mut self, text: &str) -> String {
        let (text, count) = scrub::text(self.around.redactor, text);
        self.hidden += count;
        text.into_owned()
    }
}

/// A stretch that came from a file. What it says is text, whatever the file is.
fn document(path: &Path) -> SpanSource {
    let file_name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let is_markdown = path.extension().is_some_and(|ending| ending == "md");
    let mime_type = if is_markdown { "text/markdown" } else { "text/plain" };
    SpanSource::Document { file_name, mime_type: mime_type.to_owned() }
}
