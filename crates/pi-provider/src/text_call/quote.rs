//! Whether a place of a text is in code that is only shown: between backticks on a line, or between fences.

/// What the text up to a place has opened and not closed.
#[derive(Debug, Clone)]
pub(super) struct Quote {
    /// The sign of an open fence, and how many of them it is.
    fence: Option<(char, usize)>,
    /// How many backticks close what is open on this line.
    inline: Option<usize>,
    /// There is only white space before this place on its line.
    at_line_start: bool,
    run: Run,
}

/// Signs of a fence in a row, at the end of what was read.
#[derive(Debug, Clone, Copy)]
struct Run {
    sign: char,
    length: usize,
    began_line: bool,
}

/// A fence has at least so many signs.
const FENCE: usize = 3;

impl Quote {
    pub(super) fn new() -> Self {
        Self { fence: None, inline: None, at_line_start: true, run: Run { sign: '`', length: 0, began_line: true } }
    }

    /// Goes on behind this text.
    pub(super) fn read(&mut self, text: &str) {
        for letter in text.chars() {
            if matches!(letter, '`' | '~') {
                if letter != self.run.sign {
                    self.end_run(letter);
                }
                if self.run.length == 0 {
                    self.run = Run { sign: letter, length: 0, began_line: self.at_line_start };
                }
                self.run.length += 1;
                self.at_line_start = false;
                continue;
            }
            self.end_run(letter);
            if letter == '\n' {
                self.begin_line();
            } else if !letter.is_whitespace() {
                self.at_line_start = false;
            }
        }
    }

    /// What was taken out of the text stood on lines of its own.
    pub(super) fn begin_line(&mut self) {
        self.inline = None;
        self.at_line_start = true;
    }

    /// Whether `next`, which comes behind `before`, is in code.
    pub(super) fn holds(&self, before: &str, next: char) -> bool {
        let mut here = self.clone();
        here.read(before);
        here.end_run(next);
        here.fence.is_some() || here.inline.is_some()
    }

    fn end_run(&mut self, next: char) {
        let Run { sign, length, began_line } = self.run;
        self.run.length = 0;
        if length == 0 {
            return;
        }
        match self.fence {
            Some((open, least)) => {
                let closes = began_line && sign == open && length >= least && next.is_whitespace();
                if closes {
                    self.fence = None;
                }
            }
            None if began_line && length >= FENCE => self.fence = Some((sign, length)),
            None if sign == '`' => match self.inline {
                Some(open) if open == length => self.inline = None,
                Some(_) => {}
                None => self.inline = Some(length),
            },
            None => {}
        }
    }
}
