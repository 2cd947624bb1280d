//! What is shown: text on standard output, errors, notes and progress on standard error, in colour where somebody looks.
//!
//! A reader that went away (`pi schema wire | head`) is no error: nothing more is written, the work goes on, and the exit
//! code stays true.

use std::{
    borrow::Cow,
    io::{self, BufWriter, IsTerminal, StderrLock, StdoutLock, Write},
};

use pi_envelope::Kind;

use crate::{arguments::When, complaint::Complaint, env::Environment, exit::Exit, failure::Failure, table};

/// What the line of something odd begins with.
pub(crate) const NOTE: &str = "note:";

/// What a piece of text means; each has a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Warning,
    Strong,
    Accent,
    Quiet,
    /// A kind of segment, wherever it is named or drawn.
    Kind(Kind),
}

/// Who reads standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    Person,
    /// Everything there is JSON, one object per line.
    Machine,
}

/// Both streams of the process.
pub(crate) struct Console {
    reader: Reader,
    output: WholeLines<StdoutLock<'static>>,
    error: StderrLock<'static>,
    output_colours: bool,
    error_colours: bool,
    /// Somebody reads along: lines appear at once.
    is_watched: bool,
    /// Somebody looks at standard error.
    is_seen: bool,
    shows_progress: bool,
    /// How many letters fit into a line, where that matters to anybody.
    width: Option<usize>,
    /// The same on standard error.
    error_width: Option<usize>,
    /// Text was shown whose line is not complete.
    is_inside_line: bool,
    /// The same on standard error.
    is_inside_error_line: bool,
    /// What a model says and what it thinks, which go to different streams.
    said: Speech,
    thought: Speech,
    /// The line above the cursor says how far the work is.
    progress_is_shown: bool,
    /// What was advised; nobody needs to read it twice.
    hints: Vec<String>,
    /// What would be said on standard error, while something else has the screen.
    held: Option<Vec<String>>,
    /// Why nothing more is written, if so.
    lost: Option<io::Error>,
}

/// What a model says, on its way to whoever reads it: it must not command a terminal. Pieces may be cut anywhere.
struct Speech {
    /// Somebody reads along.
    is_watched: bool,
    /// The last piece ended with a return, which is half of a line end or would lead back over the line.
    has_return: bool,
}

/// Collects lines and hands on only whole ones, so that whoever interrupts `pi` finds no half line in a file.
struct WholeLines<W: Write>(BufWriter<W>);

impl Console {
    pub(crate) fn new(environment: &Environment, when: When, reader: Reader) -> Self {
        let (output, error) = (io::stdout(), io::stderr());
        let (output_watched, error_watched) = (output.is_terminal(), error.is_terminal());
        Console {
            reader,
            output_colours: colours(environment, when, output_watched),
            error_colours: colours(environment, when, error_watched),
            is_watched: output_watched,
            is_seen: error_watched && !environment.dumb_terminal,
            shows_progress: error_watched && !environment.dumb_terminal,
            width: output_watched.then(terminal_size::terminal_size).flatten().map(|(width, _)| width.0.into()),
            error_width: error_watched.then(terminal_size::terminal_size).flatten().map(|(width, _)| width.0.into()),
            is_inside_line: false,
            is_inside_error_line: false,
            said: Speech::new(output_watched),
            thought: Speech::new(error_watched),
            progress_is_shown: false,
            hints: Vec::new(),
            held: None,
            output: WholeLines(BufWriter::new(output.lock())),
            error: error.lock(),
            lost: None,
        }
    }

    /// How many letters fit into a line of standard output; `None` where nobody looks and nothing needs to fit.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Who reads standard output.
    pub(crate) fn reader(&self) -> Reader {
        self.reader
    }

    pub(crate) fn has_colours(&self) -> bool {
        self.output_colours
    }

    /// Text for standard output in its colour.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        paint(self.output_colours, tone, text)
    }

    /// Writes text and a line end to standard output.
    pub(crate) fn line(&mut self, text: &str) {
        // Whoever reads through a pipe may show it on the same terminal, where another line would then be taken away.
        self.clear_progress();
        if self.is_watched {
            self.end_error_line();
        }
        if self.lost.is_none() {
            let written = self.output.put(&format!("{text}\n"));
            let flushed = if self.is_watched { self.output.0.flush() } else { Ok(()) };
            self.lost = written.and(flushed).err();
        }
    }

    /// Writes a piece of text to standard output at once, whoever reads: more of the line may follow.
    pub(crate) fn piece(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.clear_progress();
        self.end_error_line();
        if self.lost.is_none() {
            let written = self.output.put(text);
            self.lost = written.and_then(|()| self.output.0.flush()).err();
        }
        self.is_inside_line = !text.ends_with('\n');
    }

    /// Writes a piece of what a model says, harmless, to standard output at once.
    pub(crate) fn say(&mut self, text: &str) {
        let shown = self.said.shown(text);
        self.piece(&shown);
    }

    /// Writes a piece of what a model thinks, harmless, to standard error at once.
    pub(crate) fn think(&mut self, text: &str) {
        let shown = self.thought.shown(text);
        self.murmur(&shown);
    }

    /// Writes a piece of quiet text to standard error at once: more of the line may follow.
    pub(crate) fn murmur(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.clear_progress();
        if self.is_watched {
            self.end_line();
        }
        // If standard error is gone there is nobody left to tell.
        let _ =
            write!(self.error, "{}", paint(self.error_colours, Tone::Quiet, text)).and_then(|()| self.error.flush());
        self.is_inside_error_line = !text.ends_with('\n');
    }

    /// Completes the line that pieces have begun.
    pub(crate) fn end_line(&mut self) {
        let rest = self.said.rest();
        self.piece(rest);
        if self.is_inside_line {
            self.piece("\n");
        }
    }

    /// Hands on every line that was written so far, for whoever reads along through a pipe.
    pub(crate) fn flush(&mut self) {
        if self.lost.is_none() {
            self.lost = self.output.0.flush().err();
        }
    }

    /// Whether whoever reads standard output has gone away, or it failed: nothing more needs to be made.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Says something about what was done, on standard error.
    pub(crate) fn remark(&mut self, text: &str) {
        let text = paint(self.error_colours, Tone::Quiet, &printable(text));
        self.complain(&text);
    }

    /// Says something that is odd but stops nothing.
    pub(crate) fn note(&mut self, text: &str) {
        let note = paint(self.error_colours, Tone::Warning, NOTE);
        self.complain(&format!("{note} {}", printable(text)));
    }

    /// Says why something could not be done and what to do next; a machine gets an object as well.
    pub(crate) fn fail(&mut self, failure: &Failure) -> Exit {
        if self.reader == Reader::Machine {
            self.line(&Complaint::about(failure).line());
        }
        let error = paint(self.error_colours, Tone::Bad, "error:");
        self.complain(&format!("{error} {}", printable(&failure.told())));
        self.hint(&failure.hint());
        failure.exit()
    }

    /// Says what went wrong with something that was done.
    pub(crate) fn complaint(&mut self, text: &str) {
        let error = paint(self.error_colours, Tone::Bad, "error:");
        self.complain(&format!("{error} {}", printable(text)));
    }

    /// Advises on standard error, once for each advice.
    pub(crate) fn hint(&mut self, text: &str) {
        if !self.hints.iter().any(|hint| hint == text) {
            let hint = paint(self.error_colours, Tone::Accent, "hint:");
            self.complain(&format!("{hint} {}", printable(text)));
            self.hints.push(text.to_owned());
        }
    }

    /// Shows how far a long piece of work is; only to people. Whatever is written next takes its place.
    pub(crate) fn progress(&mut self, done: usize, total: usize, name: &str) {
        if self.shows_progress {
            self.clear_progress();
            // It ends with a line end, so that after an interrupt the shell does not go on behind it. If it is lost,
            // nothing is.
            let _ = writeln!(self.error, "{}", self.fitting(&progress_line(done, total, &printable(name))));
            self.progress_is_shown = true;
        }
    }

    /// Shows what is being done; only to people. Whatever is written next takes its place.
    pub(crate) fn activity(&mut self, text: &str) {
        if self.shows_progress {
            self.clear_progress();
            let text = paint(self.error_colours, Tone::Quiet, &self.fitting(&printable(text)));
            // With a return: somebody may have made the terminal ready to draw on it.
            let _ = write!(self.error, "{text}\r\n");
            self.progress_is_shown = true;
        }
    }

    /// What fits into one line of standard error: only one line is taken away again.
    fn fitting(&self, text: &str) -> String {
        self.error_width.map_or_else(|| text.to_owned(), |width| table::cut(text, width))
    }

    /// Writes what is left. A reader that went away is not an error.
    pub(crate) fn close(mut self) -> Result<(), Failure> {
        self.clear_progress();
        self.end_line();
        self.end_error_line();
        let lost = self.lost.take().or_else(|| self.output.0.flush().err());
        match lost {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Unwritable(error)),
            Some(_) | None => Ok(()),
        }
    }

    /// Keeps what would be said on standard error, for whoever has the screen.
    pub(crate) fn hold_notes(&mut self) {
        self.clear_progress();
        (self.held, self.shows_progress, self.error_colours) = (Some(Vec::new()), false, false);
    }

    /// Shows what is being done although notes are kept: whoever has the screen has not drawn on it yet.
    pub(crate) fn show_beginning(&mut self) {
        self.shows_progress = self.is_seen;
    }

    /// The first thing is drawn now.
    pub(crate) fn hide_beginning(&mut self) {
        self.clear_progress();
        self.shows_progress = false;
    }

    /// Others write lines to standard error as well from now on: a line of progress would take one of theirs away.
    pub(crate) fn share_error(&mut self) {
        self.clear_progress();
        self.shows_progress = false;
    }

    /// What was kept so far.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        self.held.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Says what was kept, and holds nothing back any more.
    pub(crate) fn release_notes(&mut self) {
        for note in self.held.take().unwrap_or_default() {
            self.complain(&note);
        }
    }

    /// Takes the progress line away.
    fn clear_progress(&mut self) {
        if std::mem::take(&mut self.progress_is_shown) {
            let _ = write!(self.error, "\x1b[A\r\x1b[K");
        }
    }

    fn end_error_line(&mut self) {
        let rest = self.thought.rest();
        if std::mem::take(&mut self.is_inside_error_line) || !rest.is_empty() {
            let _ = writeln!(self.error, "{rest}");
        }
    }

    fn complain(&mut self, text: &str) {
        if let Some(held) = &mut self.held {
            return held.push(text.to_owned());
        }
        self.clear_progress();
        self.end_error_line();
        // On a terminal both streams share the line.
        if self.is_watched {
            self.end_line();
        }
        // Where both streams end in the same place, it shall read in order.
        if self.lost.is_none() {
            self.lost = self.output.0.flush().err();
        }
        // If standard error is gone there is nobody left to tell.
        let _ = writeln!(self.error, "{text}");
    }
}

impl Speech {
    const fn new(is_watched: bool) -> Self {
        Self { is_watched, has_return: false }
    }

    /// As much of it as can be shown. Line ends stay as they were written, and tabs.
    ///
    /// In a pipe or a file a lone return is a letter like others, and whoever asked gets what the model said. On a terminal it
    /// would let what follows take the place of what stands there, so it is shown.
    fn shown<'t>(&mut self, piece: &'t str) -> Cow<'t, str> {
        if !self.is_watched {
            return harmless(piece, |letter| matches!(letter, '\n' | '\t' | '\r'));
        }
        let stays = |letter| matches!(letter, '\n' | '\t');
        if !self.has_return && !piece.contains('\r') {
            return harmless(piece, stays);
        }
        let mut text = if self.has_return { format!("\r{piece}") } else { piece.to_owned() };
        self.has_return = text.ends_with('\r');
        text.truncate(text.len() - usize::from(self.has_return));
        text.split("\r\n").map(|line| harmless(line, stays)).collect::<Vec<_>>().join("\r\n").into()
    }

    /// What was held back, where nothing of it follows.
    fn rest(&mut self) -> &'static str {
        if std::mem::take(&mut self.has_return) { "\\u{d}" } else { "" }
    }
}

impl<W: Write> WholeLines<W> {
    fn put(&mut self, lines: &str) -> io::Result<()> {
        if lines.len() > self.0.capacity() - self.0.buffer().len() {
            self.0.flush()?;
        }
        self.0.write_all(lines.as_bytes())
    }
}

/// Standard output failed, so the result is incomplete whatever the command had found.
pub(crate) fn report_lost_output(failure: &Failure) -> Exit {
    let _ = writeln!(io::stderr(), "error: {}\nhint: {}", failure.told(), failure.hint());
    failure.exit()
}

/// Whether a stream gets colours: what was asked for, then NO_COLOR, then CLICOLOR_FORCE, then who looks.
pub(crate) fn colours(environment: &Environment, when: When, is_terminal: bool) -> bool {
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto if environment.no_color => false,
        When::Auto if environment.force_color => true,
        When::Auto => is_terminal && !environment.dumb_terminal,
    }
}

fn paint(colours: bool, tone: Tone, text: &str) -> String {
    if !colours {
        return text.to_owned();
    }
    format!("\x1b[{}m{text}\x1b[0m", code(tone))
}

/// Kinds have colours of the larger palette, of middle brightness: they can be read on black and on white, and none is
/// one of the colours that judge.
fn code(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "32",
        Tone::Bad => "1;31",
        Tone::Warning => "33",
        Tone::Strong => "1",
        Tone::Accent => "36",
        Tone::Quiet => "2",
        Tone::Kind(kind) => match kind {
            Kind::Text => "38;5;75",
            Kind::StaticVar => "38;5;178",
            Kind::SystemPrompt => "38;5;135",
            Kind::Memory => "38;5;71",
            Kind::Skills => "38;5;37",
            Kind::ToolOverview => "38;5;208",
            Kind::ToolCallRequest => "38;5;169",
            Kind::ToolCallResult => "38;5;137",
            Kind::Document => "38;5;63",
            Kind::LongText => "38;5;109",
            Kind::Media => "38;5;167",
        },
    }
}

/// What stands in a file must not command the terminal: control characters are shown, line ends stay.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    harmless(text, |letter| letter == '\n')
}

/// Shows control characters but for those that stay.
fn harmless(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    // Letters that turn the direction of what follows make one thing look like another.
    let turns = |letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_plain = |letter: char| !letter.is_control() && !turns(letter) || stays(letter);
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(String::new(), |mut shown, letter| {
        if is_plain(letter) {
            shown.push(letter)
        } else {
            shown.extend(letter.escape_unicode())
        }
        shown
    }))
}

/// One line that fits into a terminal; of a long name the end is kept, which tells files apart.
fn progress_line(done: usize, total: usize, name: &str) -> String {
    const LONGEST_NAME: usize = 56;
    let length = name.chars().count();
    let name = match length.checked_sub(LONGEST_NAME) {
        Some(excess) if excess > 0 => format!("…{}", name.chars().skip(excess + 1).collect::<String>()),
        _ => name.to_owned(),
    };
    let width = total.to_string().len();
    format!("[{done:>width$}/{total}] {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(no_color: bool, force_color: bool, dumb_terminal: bool) -> Environment {
        Environment {
            no_color,
            force_color,
            dumb_terminal,
            home: None,
            npm: pi_guests::discovery::Npm::default(),
            agent_directory: None,
            extension_logs: None,
            server: Vec::new(),
            scratch: crate::scratch::Scratch::new(&std::env::temp_dir()),
            stock: crate::stock::StockRoom::default(),
        }
    }

    #[test]
    fn colours_follow_argument_then_variables_then_terminal() {
        for (no_color, force_color, dumb, when, terminal, expected) in [
            (false, false, false, When::Auto, true, true),
            (false, false, false, When::Auto, false, false),
            (false, false, true, When::Auto, true, false),
            (true, false, false, When::Auto, true, false),
            (true, true, false, When::Auto, true, false),
            (false, true, false, When::Auto, false, true),
            (true, false, false, When::Always, false, true),
            (false, true, false, When::Never, true, false),
        ] {
            assert_eq!(colours(&environment(no_color, force_color, dumb), when, terminal), expected);
        }
    }

    #[test]
    fn every_kind_has_a_colour_of_its_own() {
        let codes: std::collections::BTreeSet<_> = Kind::ALL.map(|kind| code(Tone::Kind(kind))).into();
        assert_eq!(codes.len(), Kind::ALL.len());
    }

    /// Keeps each piece that is handed on.
    struct Pieces(Vec<String>);

    impl Write for Pieces {
        fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
            self.0.push(String::from_utf8_lossy(piece).into_owned());
            Ok(piece.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_whole_lines_are_handed_on() {
        let mut lines = WholeLines(BufWriter::with_capacity(8, Pieces(Vec::new())));
        for text in ["one\n", "two\n", "three\n", "longer than all\n", "end\n"] {
            lines.put(text).unwrap();
        }
        lines.0.flush().unwrap();
        assert_eq!(lines.0.get_ref().0, ["one\ntwo\n", "three\n", "longer than all\n", "end\n"]);
    }

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(printable("a\nb é"), "a\nb é");
        assert_eq!(printable("a\u{1b}[31m\r"), "a\\u{1b}[31m\\u{d}");
    }

    /// What is shown of a text whose pieces end at these places.
    fn spoken(is_watched: bool, text: &str, cuts: &[usize]) -> String {
        let mut speech = Speech::new(is_watched);
        let (mut shown, mut from) = (String::new(), 0);
        for end in cuts.iter().copied().chain([text.len()]) {
            shown += &speech.shown(&text[from..end]);
            from = end;
        }
        shown + speech.rest()
    }

    #[test]
    fn what_a_model_says_keeps_its_line_ends_however_it_is_cut() {
        let text = "a\tb\r\nover\rwritten\r\r\n\r\n\u{1b}[31m\r";
        let on_terminal = "a\tb\r\nover\\u{d}written\\u{d}\r\n\r\n\\u{1b}[31m\\u{d}";
        let in_pipe = "a\tb\r\nover\rwritten\r\r\n\r\n\\u{1b}[31m\r";
        for (is_watched, expected) in [(true, on_terminal), (false, in_pipe)] {
            assert_eq!(spoken(is_watched, text, &[]), expected);
            assert_eq!(spoken(is_watched, text, &(1..text.len()).collect::<Vec<_>>()), expected, "letter by letter");
            for first in 0..=text.len() {
                for second in first..=text.len() {
                    assert_eq!(spoken(is_watched, text, &[first, second]), expected, "{first} {second}");
                }
            }
        }
    }

    #[test]
    fn progress_keeps_the_end_of_a_long_name() {
        assert_eq!(progress_line(7, 120, "a.json"), "[  7/120] a.json");
        let line = progress_line(7, 8, &format!("{}/last.json", "folder/".repeat(20)));
        assert!(line.starts_with("[7/8] …") && line.ends_with("/last.json"), "{line}");
        assert_eq!(line.chars().count(), "[7/8] ".len() + 56);
    }
}
