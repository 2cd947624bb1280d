//! What tools of extensions answer that is more than a model is given.
//!
//! One place for all tiers: whoever runs an extension, its answers pass here before a session or another extension sees them.
//! A part is shown, the whole text is kept in a file that the model may read, and the answer says so. What servers beside us
//! answer is cut when it comes in, whoever asked for it. The bound for the others lies a little above that, and above those of
//! our own tools, so that what says what is missing is not cut itself.

use std::{io, pin::pin, sync::Weak};

use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender};

use pi_extproto::connector::tool;
use pi_tools::truncate::size;
use pi_transcript::{Block, ToolOutput};

use crate::{
    content,
    dispatcher::House,
    guest::{GuestFault, ToolAnswer},
    incident::Trouble,
};

/// For what an extension answers.
const USUAL: Bounds = Bounds { text: 80 << 10, parts: 1000 };
/// For what a server beside us answers, with room for what is said about the rest of it.
const SERVED: Bounds = Bounds { text: 64 << 10, parts: USUAL.parts - 1 };
/// Of the pictures of an answer, in bytes of base64.
const MOST_PICTURES: usize = 16 << 20;
/// Of what is kept beside it for people and programs, in bytes of JSON.
const MOST_DETAILS: usize = 1 << 20;

/// Where the whole of a long answer is kept. One that leads nowhere keeps nothing, and answers say that.
#[derive(Clone, Default)]
pub(crate) struct Shelf(pub(crate) Weak<House>);

/// How much of an answer is shown.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Of its text, in bytes.
    text: usize,
    /// Of its parts, whatever is in them.
    parts: usize,
}

/// How much there is of the parts of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Measure {
    text: usize,
    pictures: usize,
    picture_bytes: usize,
    parts: usize,
}

impl Measure {
    fn of(parts: &[Block]) -> Self {
        parts.iter().fold(Self::default(), |sum, part| sum.and(part))
    }

    fn and(self, part: &Block) -> Self {
        let parts = self.parts + 1;
        match part {
            Block::Text(block) => Self { text: self.text + block.text.len(), parts, ..self },
            Block::Image(image) => Self {
                pictures: self.pictures + 1,
                picture_bytes: self.picture_bytes + image.data.len(),
                parts,
                ..self
            },
            Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => Self { parts, ..self },
        }
    }

    fn fits(self, bounds: Bounds) -> bool {
        self.text <= bounds.text && self.picture_bytes <= MOST_PICTURES && self.parts <= bounds.parts
    }
}

/// Where all of a text is.
enum Whole {
    File(String),
    /// It could not be kept.
    Lost(String),
    /// Nobody wants it: more will come.
    Unwanted,
}

impl Shelf {
    /// What a tool answered, or how it failed, as a model is given it.
    pub(super) async fn shorten(&self, answer: Result<ToolAnswer, Trouble>) -> Result<ToolAnswer, Trouble> {
        match answer {
            Ok(answer) => Ok(ToolAnswer { output: self.shorten_output(answer.output).await, ..answer }),
            Err(Trouble::Fault(GuestFault::Threw { message, stack, at })) if message.len() > USUAL.text => {
                let place = self.keep(message.clone()).await;
                let message = whole(&cut(vec![Block::text(message)], &place, USUAL));
                Err(Trouble::Fault(GuestFault::Threw { message, stack, at }))
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// The same for an output alone.
    pub(super) async fn shorten_output(&self, output: ToolOutput) -> ToolOutput {
        self.shorten_to(output, USUAL).await
    }

    /// What a server beside us answered, be it a tool, a resource or a prompt.
    pub(crate) async fn shorten_served(&self, output: tool::ToolOutput) -> tool::ToolOutput {
        let output = self.shorten_to(content::output_from_protocol(output), SERVED).await;
        content::output_into_protocol(output)
    }

    async fn shorten_to(&self, output: ToolOutput, bounds: Bounds) -> ToolOutput {
        let ToolOutput { mut content, mut details, extra } = output;
        if let Some((length, known)) = excessive(details.as_ref()) {
            details = Some(left_out(length, &self.keep(known.to_string()).await));
        }
        let measure = Measure::of(&content);
        if !measure.fits(bounds) {
            let place = if measure.text > 0 { self.keep(whole(&content)).await } else { Whole::Unwanted };
            if let Whole::File(path) = &place {
                details = named(details, path);
            }
            content = cut(content, &place, bounds);
        }
        ToolOutput { content, details, extra }
    }

    async fn keep(&self, text: String) -> Whole {
        let Some(house) = self.0.upgrade() else { return Whole::Lost("nobody keeps it".to_owned()) };
        let kept = tokio::task::spawn_blocking(move || pi_tools::keep_whole(&house.fittings.tooling, &text)).await;
        match kept.unwrap_or_else(|broken| Err(io::Error::other(broken))) {
            Ok(path) => Whole::File(path.to_string_lossy().into_owned()),
            Err(error) => Whole::Lost(error.to_string()),
        }
    }
}

/// Passes on what a tool has found so far, while it works, no more of it than of an answer.
pub(super) async fn relay<T>(
    work: impl Future<Output = T>,
    mut news: Receiver<ToolOutput>,
    listener: &Sender<ToolOutput>,
) -> T {
    let pass = |output: ToolOutput| {
        let ToolOutput { mut content, mut details, extra } = output;
        if !Measure::of(&content).fits(USUAL) {
            content = cut(content, &Whole::Unwanted, USUAL);
        }
        if let Some((length, _)) = excessive(details.as_ref()) {
            details = Some(left_out(length, &Whole::Unwanted));
        }
        // A full channel drops it: the next one says more.
        let _ = listener.try_send(ToolOutput { content, details, extra });
    };
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => {
                while let Ok(last) = news.try_recv() {
                    pass(last);
                }
                return done;
            }
            Some(output) = news.recv() => pass(output),
        }
    }
}

/// Leaves out what is too much, and says behind the rest what it was and where all of it is.
fn cut(parts: Vec<Block>, place: &Whole, bounds: Bounds) -> Vec<Block> {
    let total = Measure::of(&parts);
    let (mut shown, mut kept, mut is_full) = (Measure::default(), Vec::new(), false);
    for part in parts.into_iter().take(bounds.parts) {
        let part = match part {
            // Behind what is cut nothing else is said.
            Block::Text(_) if is_full => continue,
            Block::Text(block) if shown.text + block.text.len() > bounds.text => {
                is_full = true;
                let end = block.text.floor_char_boundary(bounds.text - shown.text);
                Block::text(&block.text[..end])
            }
            part => part,
        };
        let more = shown.and(&part);
        // A picture is there or not; what comes after it may still fit.
        if more.picture_bytes <= MOST_PICTURES {
            shown = more;
            kept.push(part);
        }
    }
    let mut told = Vec::new();
    if shown.text < total.text {
        told.push(format!("Showing the first {} of {}", size(shown.text), size(total.text)));
    }
    if shown.pictures < total.pictures {
        let bytes = size(total.picture_bytes - shown.picture_bytes);
        told.push(format!("Pictures left out: {} of {bytes}", total.pictures - shown.pictures));
    }
    if total.parts > bounds.parts {
        told.push(format!("Showing the first {} of {} parts", bounds.parts, total.parts));
    }
    match place {
        Whole::File(path) => told.push(format!("Full output: {path}")),
        Whole::Lost(why) => told.push(format!("The full output could not be kept: {why}")),
        Whole::Unwanted => {}
    }
    kept.push(Block::text(format!("[{}]", told.join(". "))));
    kept
}

/// Details that are too long, and how long they are.
fn excessive(details: Option<&Value>) -> Option<(usize, &Value)> {
    details.map(|details| (content::written(details), details)).filter(|(length, _)| *length > MOST_DETAILS)
}

/// What stands in the place of details that are too long.
fn left_out(length: usize, place: &Whole) -> Value {
    let what = format!("details of {}", size(length));
    match place {
        Whole::File(path) => json!({ "leftOut": what, "fullDetailsPath": path }),
        Whole::Lost(why) => json!({ "leftOut": what, "lost": why }),
        Whole::Unwanted => json!({ "leftOut": what }),
    }
}

/// Details that name the file with the whole text, for the session: what is named there its model may read. What an
/// extension says itself stays.
fn named(details: Option<Value>, path: &str) -> Option<Value> {
    match details {
        None => Some(json!({ "fullOutputPath": path })),
        Some(Value::Object(mut members)) => {
            members.entry("fullOutputPath").or_insert_with(|| path.into());
            Some(Value::Object(members))
        }
        Some(other) => Some(other),
    }
}

/// Everything that was said in words.
fn whole(parts: &[Block]) -> String {
    parts.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(parts: Vec<Block>) -> String {
        let show = |part: &Block| match part {
            Block::Text(block) if block.text.len() > 200 => format!("text of {}", block.text.len()),
            Block::Text(block) => block.text.clone(),
            Block::Image(image) => format!("picture of {}", image.data.len()),
            Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => "?".to_owned(),
        };
        cut(parts, &Whole::File("/tmp/all".to_owned()), USUAL).iter().map(show).collect::<Vec<_>>().join("|")
    }

    fn long(bytes: usize) -> Block {
        Block::text("é".repeat(bytes / 2))
    }

    #[test]
    fn text_is_cut_at_a_letter_and_the_rest_is_told() {
        assert_eq!(
            shown(vec![long(1 << 20)]),
            "text of 81920|[Showing the first 80.0KB of 1.0MB. Full output: /tmp/all]"
        );
        let odd = vec![Block::text("a"), long(81_920), Block::text("b")];
        assert_eq!(shown(odd), "a|text of 81918|[Showing the first 80.0KB of 80.0KB. Full output: /tmp/all]");
    }

    #[test]
    fn pictures_and_parts_are_bounded_too() {
        let picture = |bytes: usize| Block::image("A".repeat(bytes), "image/png");
        let parts = vec![picture(10 << 20), picture(10 << 20), Block::text("what is seen")];
        let told = "[Pictures left out: 1 of 10.0MB. Full output: /tmp/all]";
        assert_eq!(shown(parts), format!("picture of 10485760|what is seen|{told}"));
        let told = shown(vec![Block::text(""); 1002]);
        assert!(told.ends_with("|[Showing the first 1000 of 1002 parts. Full output: /tmp/all]"), "{told}");
    }

    #[tokio::test]
    async fn what_a_server_answers_is_not_cut_twice() {
        for (content, told) in [
            (vec![long(1 << 20)], "Showing the first 64.0KB of 1.0MB"),
            (vec![Block::text("a"); 2000], "Showing the first 999B of 2.0KB. Showing the first 999 of 2000 parts"),
        ] {
            let output = ToolOutput { content, ..ToolOutput::default() };
            let served = Shelf::default().shorten_served(content::output_to_protocol(&output)).await;
            let served = content::output_from_protocol(served);
            let told = format!("[{told}. The full output could not be kept: nobody keeps it]");
            assert_eq!(served.content.last(), Some(&Block::text(told)));
            assert_eq!(Shelf::default().shorten_output(served.clone()).await, served);
        }
    }

    #[tokio::test]
    async fn what_a_tool_throws_is_cut_as_well() {
        let thrown = Err(Trouble::Fault(GuestFault::threw("a".repeat(1 << 20))));
        let Err(trouble) = Shelf::default().shorten(thrown).await else { panic!("it failed") };
        let told = trouble.to_string();
        let end = "[Showing the first 80.0KB of 1.0MB. The full output could not be kept: nobody keeps it]";
        assert!(told.len() < 90 << 10 && told.ends_with(end), "{}", &told[USUAL.text..]);
    }

    #[tokio::test]
    async fn news_are_cut_and_reach_who_listens() {
        let (told, news) = tokio::sync::mpsc::channel(4);
        let (listener, mut heard) = tokio::sync::mpsc::channel(4);
        let work = async move {
            let long = ToolOutput { content: vec![long(1 << 20)], ..ToolOutput::default() };
            told.send(long).await.expect("somebody listens");
            7
        };
        assert_eq!(relay(work, news, &listener).await, 7);
        let output = heard.recv().await.expect("news");
        assert_eq!(output.content.last(), Some(&Block::text("[Showing the first 80.0KB of 1.0MB]")));
    }

    #[tokio::test]
    async fn details_that_nobody_can_keep_are_told() {
        let output = ToolOutput { details: Some(json!("a".repeat(2 << 20))), ..ToolOutput::default() };
        let shortened = Shelf::default().shorten_output(output).await;
        assert_eq!(shortened.details, Some(json!({ "leftOut": "details of 2.0MB", "lost": "nobody keeps it" })));
    }
}
