//! Bounds for every server. What goes beyond them ends the connection or is left out, and is told.

use std::time::Duration;

/// What a server may use up of our time and memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// From the start of a connection until the server has introduced itself.
    pub connecting: Duration,
    /// How long a session waits for it at its start; afterwards its tools come when they come.
    pub patience: Duration,
    /// For a list of tools, prompts or resources, all pages together.
    pub listing: Duration,
    /// For a call without a sign of progress; time in which a person is asked does not count.
    pub call: Duration,
    /// For a call, whatever progress it shows.
    pub whole_call: Duration,
    /// Of one message.
    pub message_bytes: usize,
    /// Lines on the standard output of a process that are no messages.
    pub junk_lines: usize,
    /// Messages a second that are taken in on average, from a process or from one stream; beyond that it has to wait.
    pub messages_a_second: u32,
    /// Pages of a list.
    pub pages: usize,
    /// Tools, prompts or resources that are offered.
    pub items: usize,
    /// Of what is said of one tool, prompt or resource, and of the mark that leads to the next page.
    pub tool_bytes: usize,
    /// Images of one answer that are looked at; models are shown those that are good.
    pub images: usize,
    /// Attempts to connect again after a loss, in a row.
    pub attempts: u32,
    /// Whether a server that cannot be reached at its start is tried again as one that was lost is. Whoever only tries a
    /// server wants to know at once.
    pub retries_first: bool,
    /// Before the first of them; each next wait is twice as long.
    pub pause: Duration,
    /// The longest wait between them.
    pub longest_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connecting: Duration::from_secs(60),
            patience: Duration::from_secs(10),
            listing: Duration::from_secs(30),
            call: Duration::from_secs(120),
            whole_call: Duration::from_secs(3600),
            message_bytes: 16 << 20,
            junk_lines: 1000,
            messages_a_second: 1000,
            pages: 64,
            items: 256,
            tool_bytes: 64 << 10,
            images: 16,
            attempts: 5,
            retries_first: false,
            pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(30),
        }
    }
}
