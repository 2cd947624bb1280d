//! A session as Markdown: what was said as it is, everything that tools did in fences.

use std::fmt::Write as _;

use pi_transcript::{Block, Content, Entry, Message, message::ToolResultMessage};
use serde_json::Value;

use super::{Story, aim, diff, price, results::Results};

/// The document.
pub fn markdown(story: &Story) -> String {
    let header = &story.header;
    let mut text = format!("# {}\n\n", plain(&story.title()));
    let facts =
        [header.id.to_string(), header.timestamp.clone(), header.cwd.clone().unwrap_or_default(), price(&story.usage)];
    let facts: Vec<String> = facts.iter().filter(|fact| !fact.is_empty()).map(|fact| plain(fact)).collect();
    writeln!(text, "{}", facts.join(" · ")).expect("text can be written");
    let results = Results::of(&story.entries);
    for (at, entry) in story.entries.iter().enumerate() {
        match entry {
            Entry::Message(entry) => match &entry.message {
                Message::User(user) => section("You", &content(&user.content), &mut text),
                Message::Assistant(answer) => {
                    let usage = answer.usage.known().map(price).filter(|usage| !usage.is_empty());
                    let usage = usage.map(|usage| format!(" ({usage})")).unwrap_or_default();
                    section(&format!("{}/{}{usage}", answer.provider, answer.model), "", &mut text);
                    for (place, block) in answer.content.iter().enumerate() {
                        match block {
                            Block::ToolCall(call) => {
                                let arguments = Value::Object(call.arguments.clone());
                                tool(
                                    &call.name,
                                    &aim(&call.arguments),
                                    Some(&arguments),
                                    results.of_call(at, place),
                                    &mut text,
                                );
                            }
                            Block::Thinking(thinking) if !thinking.thinking.trim().is_empty() => {
                                let quoted = thinking.thinking.trim().replace('\n', "\n> ");
                                writeln!(text, "\n> *thinking:* {quoted}").expect("text can be written");
                            }
                            Block::Thinking(_) => {}
                            Block::Text(_) | Block::Image(_) | Block::Other(_) => {
                                writeln!(text, "\n{}", block_text(block)).expect("text can be written");
                            }
                        }
                    }
                    if let Some(error) = &answer.error_message {
                        writeln!(text, "\n**Error:** {}", plain(error)).expect("text can be written");
                    }
                }
                Message::ToolResult(result) if results.is_alone(at) => {
                    tool(&result.tool_name, "", None, Some(result), &mut text);
                }
                Message::ToolResult(_) => {}
                Message::BashExecution(run) => {
                    section("You ran a command", &fenced(&format!("$ {}\n{}", run.command, run.output), ""), &mut text);
                }
                Message::Custom(custom) if custom.display => {
                    section(&custom.custom_type, &content(&custom.content), &mut text);
                }
                Message::Custom(_) => {}
                Message::BranchSummary(it) => section("Summary of another branch", &it.summary, &mut text),
                Message::CompactionSummary(it) => section("Summary", &it.summary, &mut text),
                Message::System(system) => section("System", &fenced(&system.content.text(), ""), &mut text),
                Message::Other(members) => {
                    let json = serde_json::to_string_pretty(members).expect("members are JSON");
                    section("Something else", &fenced(&json, "json"), &mut text);
                }
            },
            Entry::CustomMessage(entry) if entry.display => {
                section(&entry.custom_type, &content(&entry.content), &mut text);
            }
            Entry::Compaction(entry) => section("Summary of what came before", &entry.summary, &mut text),
            Entry::BranchSummary(entry) => section("Summary of another branch", &entry.summary, &mut text),
            Entry::CustomMessage(_)
            | Entry::ModelChange(_)
            | Entry::ThinkingLevelChange(_)
            | Entry::Custom(_)
            | Entry::Label(_)
            | Entry::SessionInfo(_)
            | Entry::Usage(_)
            | Entry::ContextEdit(_)
            | Entry::Other(_) => {}
        }
    }
    text
}

fn section(title: &str, body: &str, text: &mut String) {
    writeln!(text, "\n## {}", plain(title)).expect("text can be written");
    if !body.is_empty() {
        writeln!(text, "\n{}", body.trim_end()).expect("text can be written");
    }
}

fn tool(name: &str, aim: &str, arguments: Option<&Value>, result: Option<&ToolResultMessage>, text: &mut String) {
    let failed = if result.is_some_and(|result| result.is_error) { " failed" } else { "" };
    let aim = if aim.is_empty() { String::new() } else { format!(" {}", inline(aim)) };
    writeln!(text, "\n### {}{aim}{failed}", plain(name)).expect("text can be written");
    if let Some(arguments) = arguments {
        let json = serde_json::to_string_pretty(arguments).expect("a value is JSON");
        writeln!(text, "\n{}", fenced(&json, "json")).expect("text can be written");
    }
    match result {
        None => text.push_str("\nno result\n"),
        Some(result) => {
            if let Some(diff) = diff(result) {
                writeln!(text, "\n{}", fenced(diff, "diff")).expect("text can be written");
            }
            let shown: Vec<String> = result.content.iter().map(block_text).collect();
            writeln!(text, "\n{}", fenced(&shown.join("\n"), "")).expect("text can be written");
        }
    }
}

fn content(content: &Content) -> String {
    content.blocks().iter().map(block_text).collect::<Vec<_>>().join("\n\n")
}

fn block_text(block: &Block) -> String {
    match block {
        Block::Text(text) => text.text.clone(),
        Block::Thinking(thinking) => thinking.thinking.clone(),
        Block::Image(image) => format!("[image: {}]", plain(&image.mime_type)),
        Block::ToolCall(call) => plain(&call.name),
        Block::Other(members) => fenced(&serde_json::to_string_pretty(members).expect("members are JSON"), "json"),
    }
}

/// Text between fences that are longer than any in it.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}

fn inline(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    if longest == 0 { format!("{fence}{text}{fence}") } else { format!("{fence} {text} {fence}") }
}

/// One line of text that is no markup.
fn plain(text: &str) -> String {
    let mut written = String::new();
    for letter in text.chars() {
        match letter {
            '\n' | '\r' => written.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' => written.extend(['\\', letter]),
            letter => written.push(letter),
        }
    }
    written
}
