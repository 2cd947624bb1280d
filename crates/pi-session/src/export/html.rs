//! A session as one page: no script, no network, and readable in any browser, light or dark.
//!
//! What people and models said is Markdown, see [`prose`]; what tools printed is shown as it is. Every text passes
//! [`escaped`]; images are shown only if they are of a kind that cannot hold a script.

use std::{borrow::Cow, fmt::Write as _};

use pi_transcript::{
    Block, Content, Entry, Message,
    content::{ImageBlock, ToolCall},
    json::Open,
    message::{AssistantMessage, BashExecutionMessage, StopReason, ToolResultMessage},
};
use serde_json::Value;

use super::{
    Story, aim, diff, price,
    prose::{Breaks, prose},
    results::Results,
};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// By this our pages are known again; it stands before anything that a session says.
const MARK: &str = "<meta name=\"generator\" content=\"pi\">";
/// Pictures that are only pictures.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// How much of a file says whether it is a page of ours.
pub const PAGE_HEAD: usize = 1024;

/// Whether a file that begins like this is a page that was exported.
pub fn is_page(beginning: &[u8]) -> bool {
    let head = &beginning[..beginning.len().min(PAGE_HEAD)];
    head.windows(MARK.len()).any(|part| part == MARK.as_bytes())
}

/// The page.
pub fn html(story: &Story) -> String {
    let header = &story.header;
    let folder = header.cwd.as_deref().unwrap_or_default();
    let facts = [header.id.to_string(), header.timestamp.clone(), folder.to_owned(), price(&story.usage)];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    let mut body = String::new();
    let results = Results::of(&story.entries);
    for (at, entry) in story.entries.iter().enumerate() {
        match entry {
            Entry::Message(entry) => message(&entry.message, at, &results, &mut body),
            Entry::CustomMessage(entry) if entry.display => {
                said("custom", &entry.custom_type, &content(&entry.content, Breaks::Flowing), &mut body);
            }
            Entry::ModelChange(entry) => mark(&format!("model: {}/{}", entry.provider, entry.model_id), &mut body),
            Entry::ThinkingLevelChange(entry) => {
                let level = serde_json::to_value(&entry.thinking_level).unwrap_or_default();
                mark(&format!("thinking: {}", level.as_str().unwrap_or_default()), &mut body);
            }
            Entry::Compaction(entry) => {
                mark("what came before was summarised for the model", &mut body);
                card("", "summary", "", &worded(&entry.summary, Breaks::Flowing), &mut body);
            }
            Entry::BranchSummary(entry) => {
                card("", "summary of another branch", "", &worded(&entry.summary, Breaks::Flowing), &mut body);
            }
            Entry::CustomMessage(_)
            | Entry::Custom(_)
            | Entry::Label(_)
            | Entry::SessionInfo(_)
            | Entry::Usage(_)
            | Entry::ContextEdit(_)
            | Entry::Other(_) => {}
        }
    }
    let parts = [
        ("{{title}}", escaped(&story.title()).into_owned()),
        ("{{style}}", STYLE.to_owned()),
        ("{{facts}}", escaped(&facts.join(" · ")).into_owned()),
        ("{{body}}", body),
    ];
    fill(PAGE, &parts)
}

/// Puts each part in its places. What is put in is not looked at again: it may hold such a name itself.
fn fill(page: &str, parts: &[(&str, String)]) -> String {
    let mut filled = String::new();
    let mut rest = page;
    let next = |rest: &str| {
        let found = parts.iter().filter_map(|(name, text)| Some((rest.find(name)?, *name, text)));
        found.min_by_key(|(at, ..)| *at).map(|(at, name, text)| (at, name.len(), text.clone()))
    };
    while let Some((at, length, text)) = next(rest) {
        filled.push_str(&rest[..at]);
        filled.push_str(&text);
        rest = &rest[at + length..];
    }
    filled.push_str(rest);
    filled
}

/// A message, which is the entry `at` of its branch.
fn message(message: &Message, at: usize, results: &Results<'_>, body: &mut String) {
    match message {
        Message::User(user) => said("user", "you", &content(&user.content, Breaks::Kept), body),
        Message::Assistant(answer) => assistant(answer, at, results, body),
        Message::ToolResult(result) if results.is_alone(at) => {
            tool_card(&result.tool_name, "", "", Some(result), body);
        }
        Message::ToolResult(_) => {}
        Message::BashExecution(run) => bash(run, body),
        Message::Custom(custom) if custom.display => {
            said("custom", &custom.custom_type, &content(&custom.content, Breaks::Flowing), body)
        }
        Message::Custom(_) => {}
        Message::BranchSummary(it) => {
            card("", "summary of another branch", "", &worded(&it.summary, Breaks::Flowing), body);
        }
        Message::CompactionSummary(it) => card("", "summary", "", &worded(&it.summary, Breaks::Flowing), body),
        Message::System(system) => card("", "system", "", &as_it_is(&system.content.text()), body),
        Message::Other(members) => {
            card("", "something else", "", &as_it_is(&pretty(&Value::Object(members.clone()))), body);
        }
    }
}

fn assistant(answer: &AssistantMessage, at: usize, results: &Results<'_>, body: &mut String) {
    let usage = answer.usage.known().map(price).unwrap_or_default();
    let who = format!("{}/{}", answer.provider, answer.model);
    let who = if usage.is_empty() { who } else { format!("{who} · {usage}") };
    writeln!(body, "<article class=\"assistant\"><div class=\"who\">{}</div>", escaped(&who))
        .expect("text can be written");
    for (place, block) in answer.content.iter().enumerate() {
        match block {
            Block::Thinking(thinking) if thinking.thinking.trim().is_empty() => {}
            Block::Thinking(thinking) => {
                card("thinking", "thinking", "", &worded(&thinking.thinking, Breaks::Flowing), body);
            }
            Block::ToolCall(call) => tool_call(call, results.of_call(at, place), body),
            Block::Text(_) | Block::Image(_) | Block::Other(_) => body.push_str(&shown(block, Breaks::Flowing)),
        }
    }
    if let Some(error) = &answer.error_message {
        writeln!(body, "<div class=\"text error\">{}</div>", escaped(error)).expect("text can be written");
    } else if answer.stop_reason == Open::Known(StopReason::Length) {
        body.push_str("<div class=\"text error\">the answer was cut: it reached its largest length</div>\n");
    }
    body.push_str("</article>\n");
}

fn tool_call(call: &ToolCall, result: Option<&ToolResultMessage>, body: &mut String) {
    let arguments = pretty(&Value::Object(call.arguments.clone()));
    tool_card(&call.name, &aim(&call.arguments), &arguments, result, body);
}

fn tool_card(name: &str, aim: &str, arguments: &str, result: Option<&ToolResultMessage>, body: &mut String) {
    let class = if result.is_some_and(|result| result.is_error) { "tool failed" } else { "tool" };
    let open = if result.is_some_and(|result| diff(result).is_some()) { " open" } else { "" };
    let (name, aim) = (escaped(name), escaped(aim));
    writeln!(body, "<details class=\"{class}\"{open}><summary><b>{name}</b> {aim}</summary>")
        .expect("text can be written");
    if !arguments.is_empty() {
        writeln!(body, "<pre>{}</pre>", escaped(arguments)).expect("text can be written");
    }
    match result {
        None => body.push_str("<pre class=\"quiet\">no result</pre>\n"),
        Some(result) => {
            if let Some(diff) = diff(result) {
                coloured(diff, body);
            }
            result.content.iter().for_each(|block| body.push_str(&printed(block)));
        }
    }
    body.push_str("</details>\n");
}

/// A diff, each line by what it does.
fn coloured(diff: &str, body: &mut String) {
    body.push_str("<pre class=\"diff\">");
    for line in diff.lines() {
        let class = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "",
            [b'+', ..] => "added",
            [b'-', ..] => "removed",
            _ => "",
        };
        match class {
            "" => writeln!(body, "{}", escaped(line)),
            class => write!(body, "<span class=\"{class}\">{}</span>", escaped(line)),
        }
        .expect("text can be written");
    }
    body.push_str("</pre>\n");
}

fn bash(run: &BashExecutionMessage, body: &mut String) {
    let failed = run.cancelled || run.exit_code.is_some_and(|code| code != 0);
    card(if failed { "tool failed" } else { "tool" }, "$", &run.command, &as_it_is(&run.output), body);
}

fn said(class: &str, who: &str, inner: &str, body: &mut String) {
    let who = escaped(who);
    writeln!(body, "<article class=\"{class}\"><div class=\"who\">{who}</div>\n{inner}</article>")
        .expect("text can be written");
}

/// Something that can be opened; `inner` is markup already.
fn card(class: &str, title: &str, more: &str, inner: &str, body: &mut String) {
    let (title, more) = (escaped(title), escaped(more));
    writeln!(body, "<details class=\"{class}\"><summary><b>{title}</b> {more}</summary>\n{inner}</details>")
        .expect("text can be written");
}

fn mark(text: &str, body: &mut String) {
    writeln!(body, "<p class=\"mark\">{}</p>", escaped(text)).expect("text can be written");
}

fn content(content: &Content, breaks: Breaks) -> String {
    content.blocks().iter().map(|block| shown(block, breaks)).collect()
}

/// A block of a message.
fn shown(block: &Block, breaks: Breaks) -> String {
    match block {
        Block::Text(text) => worded(&text.text, breaks),
        Block::Thinking(thinking) => worded(&thinking.thinking, breaks),
        Block::Image(image) => picture(image),
        Block::ToolCall(call) => as_it_is(&pretty(&Value::Object(call.arguments.clone()))),
        Block::Other(members) => as_it_is(&pretty(&Value::Object(members.clone()))),
    }
}

/// A block of what a tool answered: its words are no Markdown.
fn printed(block: &Block) -> String {
    match block {
        Block::Text(text) => as_it_is(&text.text),
        Block::Thinking(_) | Block::Image(_) | Block::ToolCall(_) | Block::Other(_) => shown(block, Breaks::Kept),
    }
}

fn worded(text: &str, breaks: Breaks) -> String {
    format!("<div class=\"prose\">{}</div>\n", prose(text, breaks))
}

fn as_it_is(text: &str) -> String {
    format!("<pre>{}</pre>\n", escaped(text))
}

fn picture(image: &ImageBlock) -> String {
    let is_base64 = image.data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
    match SHOWN.iter().find(|kind| **kind == image.mime_type) {
        Some(kind) if is_base64 => format!("<img alt=\"image\" src=\"data:{kind};base64,{}\">\n", image.data),
        Some(_) | None => worded("[an image that is not shown]", Breaks::Kept),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a value is JSON")
}

/// Text that a browser shows and never obeys. Control characters become pictures of themselves.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| !matches!(letter, '&' | '<' | '>' | '"' | '\'') && !is_control(letter);
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\'' => written.push_str("&#39;"),
            '\r' => {}
            letter if is_control(letter) => {
                let picture = char::from_u32(0x2400 + u32::from(letter)).filter(|_| u32::from(letter) < 0x20);
                written.push(picture.unwrap_or('\u{fffd}'));
            }
            letter => written.push(letter),
        }
    }
    Cow::Owned(written)
}

fn is_control(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\t')
}
