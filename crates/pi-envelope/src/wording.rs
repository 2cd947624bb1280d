//! The words in which structured parts are sent to a model.
//!
//! `Words` keeps the texts that a segment shows apart from the markup around them, so that the two together are
//! exactly what is sent. The other functions turn messages that no provider knows into the text of a user.

use pi_transcript::message::{BashExecutionMessage, BranchSummaryMessage, CompactionSummaryMessage};

use crate::prompt::SystemText;

/// Texts, and the markup before, between and after them: one more than there are texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words {
    texts: Vec<String>,
    frame: Vec<String>,
}

impl Words {
    pub(crate) fn of(text: &SystemText) -> Self {
        match text {
            SystemText::Instructions { text } => Self::start("").text(text, ""),
            SystemText::Memory { title, content } => {
                Self::start("\n\n<memory path=\"").text(title, "\">\n").text(content, "\n</memory>")
            }
            SystemText::Skills { skills } if skills.is_empty() => Self::start(""),
            SystemText::Skills { skills } => {
                let lead = "\n\nRead the file of a skill before you do what it is for.\n<skills>";
                let words = skills.iter().fold(Self::start(lead), |words, skill| {
                    let location = format!("</description><location>{}</location></skill>", skill.location);
                    words
                        .glue("\n<skill><name>")
                        .text(&skill.name, "</name><description>")
                        .text(&skill.description, &location)
                });
                words.glue("\n</skills>")
            }
            SystemText::Variable { value, label, name: _ } => Self::start(&format!("\n{label}: ")).text(value, ""),
        }
    }

    /// The whole text.
    pub(crate) fn join(&self) -> String {
        interleave(&self.frame, self.texts.iter().map(String::as_str)).expect("there is one more markup than texts")
    }

    /// The markup, unless there is none.
    pub(crate) fn into_frame(self) -> Option<Vec<String>> {
        self.frame.iter().any(|markup| !markup.is_empty()).then_some(self.frame)
    }

    fn start(markup: &str) -> Self {
        Self { texts: Vec::new(), frame: vec![markup.to_owned()] }
    }

    fn text(mut self, text: &str, markup: &str) -> Self {
        self.texts.push(text.to_owned());
        self.frame.push(markup.to_owned());
        self
    }

    fn glue(mut self, markup: &str) -> Self {
        self.frame.last_mut().expect("a frame begins with markup").push_str(markup);
        self
    }
}

/// Puts each text between its markup; `None` if their numbers do not fit.
pub(crate) fn interleave<'a>(frame: &[String], texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let (first, rest) = frame.split_first()?;
    let mut whole = first.clone();
    let mut markup = rest.iter();
    for text in texts {
        whole.push_str(text);
        whole.push_str(markup.next()?);
    }
    markup.next().is_none().then_some(whole)
}

/// What the model is told of a command that the user ran.
pub fn bash_execution(bash: &BashExecutionMessage) -> String {
    let mut text = format!("The user ran `{}`", bash.command);
    // A fence that the output itself contains would end the block too early.
    let longest = bash.output.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    match bash.output.as_str() {
        "" => text.push_str("\n(no output)"),
        output => text.push_str(&format!("\n{fence}\n{output}\n{fence}")),
    }
    match bash.exit_code {
        _ if bash.cancelled => text.push_str("\nThe command was cancelled."),
        Some(code) if code != 0 => text.push_str(&format!("\nThe command ended with exit code {code}.")),
        Some(_) | None => {}
    }
    match (&bash.full_output_path, bash.truncated) {
        (Some(path), true) => text.push_str(&format!("\nThe output was cut; all of it is in {path}.")),
        (None, true) => text.push_str("\nThe output was cut."),
        (_, false) => {}
    }
    text
}

/// What the model is told of a branch that was left.
pub fn branch_summary(branch: &BranchSummaryMessage) -> String {
    summary("What happened on a branch of this conversation that was left:", &branch.summary)
}

/// What stands for the messages before a compaction.
pub fn compaction_summary(compaction: &CompactionSummaryMessage) -> String {
    summary("The conversation before this point, in summary:", &compaction.summary)
}

fn summary(lead: &str, summary: &str) -> String {
    format!("{lead}\n<summary>\n{summary}\n</summary>")
}
