//! The files that a person names: `-`, folders, documents, and files with one document per line.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write as _},
    path::{Path, PathBuf},
};

use pi_provider::catalog::is_utf16;
use pi_transcript::json::Problem;

use crate::{
    failure::{Failure, ModelFailure},
    refusal::{self, Numbering, Refusal},
};

/// Nothing that we read comes near this; it keeps a mistaken argument from filling the memory.
const LARGEST_DOCUMENT_MIB: u64 = 256;
const LARGEST_DOCUMENT: u64 = LARGEST_DOCUMENT_MIB << 20;

/// How many documents a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    One,
    OnePerLine,
}

/// Something to read.
#[derive(Debug)]
pub(crate) struct Input {
    /// As it is shown, and as it was written on the command line.
    name: String,
    source: Source,
    layout: Layout,
}

#[derive(Debug)]
enum Source {
    Standard,
    File(PathBuf),
}

/// One document of an input.
pub(crate) struct Document {
    /// Counted from one, where a file holds one per line.
    pub(crate) line: Option<usize>,
    bytes: Vec<u8>,
}

/// Something that was named or found, or why it cannot be read, with the name that people know it by.
pub(crate) type Found = (String, Result<Input, Failure>);

/// Which files a folder stands for.
#[derive(Clone, Copy)]
pub(crate) struct Endings {
    list: &'static [&'static str],
    /// As people read them.
    told: &'static str,
}

impl Endings {
    pub(crate) const DOCUMENTS: Endings = Endings { list: &["json", "jsonl"], told: ".json or .jsonl" };
    pub(crate) const MANIFESTS: Endings = Endings { list: &["yaml", "yml", "json"], told: ".yaml, .yml or .json" };

    fn fit(self, path: &Path) -> bool {
        let ending = path.extension().unwrap_or_default();
        self.list.iter().any(|it| ending.eq_ignore_ascii_case(it))
    }
}

/// What is read for the arguments: folders stand for the files with these endings below them, in order of their names. A
/// folder that cannot be listed, or in which nothing is found, does not keep the others from being read.
pub(crate) fn expand(paths: &[PathBuf], forced: Option<Layout>, endings: Endings) -> Result<Vec<Found>, Failure> {
    Ok(expand_each(paths, forced, endings)?.into_iter().flatten().collect())
}

/// The same, argument by argument.
pub(crate) fn expand_each(
    paths: &[PathBuf],
    forced: Option<Layout>,
    endings: Endings,
) -> Result<Vec<Vec<Found>>, Failure> {
    if paths.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::InputTwice);
    }
    let expanded = |path: &PathBuf| {
        if path.as_os_str() == "-" {
            let layout = forced.unwrap_or(Layout::One);
            let input = Input { name: "-".to_owned(), source: Source::Standard, layout };
            vec![(input.name.clone(), Ok(input))]
        } else if path.is_dir() {
            let mut files = Vec::new();
            collect(path, endings, &mut files);
            if files.is_empty() {
                let folder = path.display().to_string();
                files.push((path.clone(), Some(Failure::EmptyFolder { folder, endings: endings.told })));
            }
            files.sort_by(|(left, _), (right, _)| left.cmp(right));
            let input = |(path, failure): (PathBuf, Option<Failure>)| match failure {
                Some(failure) => (path.display().to_string(), Err(failure)),
                None => (path.display().to_string(), Ok(Input::of_file(path, forced))),
            };
            files.into_iter().map(input).collect()
        } else {
            vec![(path.display().to_string(), Ok(Input::of_file(path.clone(), forced)))]
        }
    };
    Ok(paths.iter().map(expanded).collect())
}

/// Reads a whole file that holds one document.
pub(crate) fn read(path: &Path) -> Result<Document, Failure> {
    if path.as_os_str() != "-" && path.is_dir() {
        return Err(Failure::Folder { file: path.display().to_string() });
    }
    let source = if path.as_os_str() == "-" { Source::Standard } else { Source::File(path.to_owned()) };
    let name =
        if path.as_os_str().is_empty() { "a file without a name".to_owned() } else { path.display().to_string() };
    let bytes = Input { name, source, layout: Layout::One }.whole()?;
    Ok(Document { line: None, bytes })
}

/// Reads a whole file that holds text.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    Ok(read(path)?.text(path)?.to_owned())
}

/// Arguments in which an `@` in front marks the name of a file: what is said, and the files.
pub(crate) fn said_and_files(words: &[String]) -> (Vec<String>, Vec<String>) {
    let (files, said): (Vec<_>, Vec<_>) = words.iter().partition(|word| word.len() > 1 && word.starts_with('@'));
    (said.into_iter().cloned().collect(), files.into_iter().map(|word| word[1..].to_owned()).collect())
}

/// What happens to a file that exists where another is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    Keep,
    Replace,
}

/// Writes a file. What somebody wrote before is not overwritten.
pub(crate) fn write_new(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let unwritable = |source| Failure::UnwritableFile { file: path.display().to_string(), source };
    write_beside(path, content.as_ref(), None).map_err(unwritable)
}

/// Says that a file could not be written because it exists, before anything is done for it.
pub(crate) fn check_new(path: &Path) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let source = io::Error::from(io::ErrorKind::AlreadyExists);
    Err(Failure::UnwritableFile { file: path.display().to_string(), source })
}

/// Writes a file that only the person may read: folders for temporary files are everybody's.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let unwritable = |source| Failure::UnwritableFile { file: path.display().to_string(), source };
    write_beside(path, text.as_bytes(), private()).map_err(unwritable)
}

#[cfg(unix)]
fn private() -> Option<fs::Permissions> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn private() -> Option<fs::Permissions> {
    None
}

/// Makes the folder in which a file is to be, and those above it; answers which, if it was not there.
pub(crate) fn make_folder_of(path: &Path) -> Result<Option<&Path>, Failure> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) else {
        return Ok(None);
    };
    let unwritable = |source| Failure::UnwritableFile { file: path.display().to_string(), source };
    make_folder(folder).map_err(unwritable).map(|()| Some(folder))
}

/// Makes a folder, and those above it.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "the command line names files, and this is where they are made")]
    fs::create_dir_all(folder)
}

/// Writes a file; one that exists is replaced as a whole or not at all.
pub(crate) fn write(path: &Path, text: &str, existing: Existing) -> Result<(), Failure> {
    let unwritable = |source| Failure::UnwritableFile { file: path.display().to_string(), source };
    match existing {
        Existing::Keep => write_new(path, text),
        // What is no file, such as a pipe or a terminal, cannot be replaced and is written to.
        Existing::Replace if path.exists() && !path.is_file() => OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut it| it.write_all(text.as_bytes()))
            .map_err(unwritable),
        Existing::Replace => replace(path, text).map_err(unwritable),
    }
}

/// Writes beside the file, and gives that its name when it is complete. A link is replaced where it points to.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let beside = target.with_file_name(name);
    let permissions = target.metadata().ok().map(|known| known.permissions());
    let written = write_beside(&beside, text.as_bytes(), permissions).and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        // What was wrong before is told; a leftover that cannot be removed either adds nothing to it.
        #[expect(clippy::disallowed_methods, reason = "what this function wrote is removed again")]
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_beside(path: &Path, content: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.write_all(content)?;
    file.sync_all()
}

/// Bytes as text, if they are UTF-8.
fn text<'a>(bytes: &'a [u8], name: &str) -> Result<&'a str, ModelFailure> {
    let file = name.to_owned();
    if is_utf16(bytes) {
        return Err(ModelFailure::Utf16 { file });
    }
    str::from_utf8(bytes).map_err(|_| ModelFailure::NotText { file })
}

impl Document {
    /// Hands it to its parser, and tells what is wrong with it by the numbering of the file.
    pub(crate) fn parse<T>(&self, parser: impl FnOnce(&[u8]) -> Result<T, Vec<Problem>>) -> Result<T, Refusal> {
        let numbering = if self.line.is_some() { Numbering::Columns } else { Numbering::LinesAndColumns };
        refusal::parse(&self.bytes, numbering, parser)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The document of this file as text, if it is UTF-8.
    pub(crate) fn text(&self, path: &Path) -> Result<&str, ModelFailure> {
        text(&self.bytes, &path.display().to_string())
    }
}

impl Input {
    fn of_file(path: PathBuf, forced: Option<Layout>) -> Self {
        let by_line = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jsonl"));
        let layout = forced.unwrap_or(if by_line { Layout::OnePerLine } else { Layout::One });
        Input { name: path.display().to_string(), source: Source::File(path), layout }
    }

    /// Hands over each document; lines are read one by one and blank ones are passed over. A file of lines without any
    /// counts as one empty document, so that somebody notices.
    pub(crate) fn documents(&self, mut take: impl FnMut(Document)) -> Result<(), Failure> {
        match self.layout {
            Layout::One => {
                let bytes = self.whole()?;
                take(Document { line: None, bytes });
                Ok(())
            }
            Layout::OnePerLine => self.lines(take),
        }
    }

    /// The whole of it as text.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        Ok(text(&self.whole()?, &self.name)?.to_owned())
    }

    fn whole(&self) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        self.open()?.take(LARGEST_DOCUMENT + 1).read_to_end(&mut bytes).map_err(|error| self.unreadable(error))?;
        self.check_size(bytes.len() as u64)?;
        Ok(bytes)
    }

    fn lines(&self, mut take: impl FnMut(Document)) -> Result<(), Failure> {
        let mut reader = BufReader::new(self.open()?);
        let mut is_empty = true;
        for line in 1.. {
            let mut bytes = Vec::new();
            let limited = &mut (&mut reader).take(LARGEST_DOCUMENT + 1);
            if limited.read_until(b'\n', &mut bytes).map_err(|error| self.unreadable(error))? == 0 {
                break;
            }
            self.check_size(bytes.len() as u64)?;
            bytes.truncate(bytes.trim_ascii_end().len());
            if !bytes.is_empty() {
                is_empty = false;
                take(Document { line: Some(line), bytes });
            }
        }
        if is_empty {
            take(Document { line: None, bytes: Vec::new() });
        }
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "the command line names files, and this is where they are opened")]
    fn open(&self) -> Result<Box<dyn Read>, Failure> {
        match &self.source {
            Source::Standard => Ok(Box::new(io::stdin().lock())),
            Source::File(path) => {
                let file = File::open(path).map_err(|error| self.unreadable(error))?;
                if self.layout == Layout::One {
                    let size = file.metadata().map_err(|error| self.unreadable(error))?.len();
                    self.check_size(size)?;
                }
                Ok(Box::new(file))
            }
        }
    }

    fn check_size(&self, size: u64) -> Result<(), Failure> {
        if size > LARGEST_DOCUMENT {
            return Err(Failure::TooLarge { file: self.name.clone(), limit: LARGEST_DOCUMENT_MIB });
        }
        Ok(())
    }

    fn unreadable(&self, source: io::Error) -> Failure {
        Failure::Unreadable { file: self.name.clone(), source }
    }
}

/// Finds files, and folders that cannot be listed. Names that begin with a dot are passed over, and links to folders are
/// not followed.
#[expect(clippy::disallowed_methods, reason = "the command line names folders, and this is where they are listed")]
fn collect(folder: &Path, endings: Endings, files: &mut Vec<(PathBuf, Option<Failure>)>) {
    let unreadable = |source| {
        let failure = Failure::Unreadable { file: folder.display().to_string(), source };
        (folder.to_owned(), Some(failure))
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return files.push(unreadable(error)),
    };
    for entry in entries {
        let found = entry.and_then(|entry| Ok((entry.path(), entry.file_name(), entry.file_type()?.is_dir())));
        match found {
            Err(error) => files.push(unreadable(error)),
            Ok((_, name, _)) if name.to_string_lossy().starts_with('.') => {}
            Ok((path, _, true)) => collect(&path, endings, files),
            Ok((path, _, false)) if endings.fit(&path) => files.push((path, None)),
            Ok(_) => {}
        }
    }
}
