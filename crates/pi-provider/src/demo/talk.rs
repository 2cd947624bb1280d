//! What the demo model says: a call that was asked for, a result in words, or a prepared answer.

use serde_json::{Value, json};

use super::{
    call::{Call, Wish, forced, steps, wish},
    knowledge::{Topic, knowledge},
    request::{Choice, Format, Request},
    schema::{Members, instance},
    words::{after, is_chinese, shortened, words},
};

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    /// What it thought, where thinking is on.
    pub thinking: Option<String>,
    pub says: Says,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Says {
    Text(String),
    Call(Call),
}

pub(super) fn reply(request: &Request) -> Reply {
    let (thinking, says) = decide(request);
    let says = match (says, &request.format) {
        (Thought::Call(call), _) => Says::Call(call),
        (Thought::Text(text), Format::Text) => Says::Text(text),
        (Thought::Text(text), Format::Json) => Says::Text(json!({ "answer": text, "model": "demo" }).to_string()),
        (Thought::Text(text), Format::Schema(schema)) => Says::Text(fitted(&text, schema).to_string()),
    };
    Reply { thinking: request.thinks.then_some(thinking), says }
}

enum Thought {
    Text(String),
    Call(Call),
}

/// What to say and why.
fn decide(request: &Request) -> (String, Thought) {
    let question = request.question();
    match &request.choice {
        Choice::Named(name) => {
            if let Some(tool) = request.tools.iter().find(|tool| tool.name == *name) {
                return (format!("I must call {name}."), Thought::Call(forced(tool, question)));
            }
        }
        Choice::Required => return required(request),
        Choice::Auto | Choice::None => {}
    }
    let results = request.results();
    let steps = steps(question);
    if request.choice == Choice::Auto {
        let next = steps.get(results.len()).map_or(Wish::Nothing, |step| wish(step, &request.tools));
        match next {
            Wish::Call(call) => {
                let why = format!("Step {} of {} asks for the tool {}.", results.len() + 1, steps.len(), call.name);
                return (why, Thought::Call(call));
            }
            Wish::Missing(names) if results.is_empty() => {
                return (
                    format!("This needs a tool such as {}, which is not declared.", names[0]),
                    Thought::Text(opened(request, &missing(request, &names))),
                );
            }
            Wish::Missing(_) | Wish::Nothing => {}
        }
    }
    if results.is_empty() {
        let (why, text) = converse(request, question);
        (why, Thought::Text(opened(request, &text)))
    } else {
        let why = match results.len() {
            1 => "There is 1 result to sum up.".to_owned(),
            count => format!("There are {count} results to sum up."),
        };
        let told = if is_chinese(question) { chinese_summary } else { summary };
        let texts: Vec<String> = results.iter().map(|(tool, result)| told(tool, result)).collect();
        (why, Thought::Text(texts.join("\n\n")))
    }
}

/// A call, whatever is asked: of the tool that fits best, else of the first.
fn required(request: &Request) -> (String, Thought) {
    let question = request.question();
    let call = match wish(question, &request.tools) {
        Wish::Call(call) => call,
        Wish::Missing(_) | Wish::Nothing => forced(&request.tools[0], question),
    };
    (format!("A tool must be called; {} fits best.", call.name), Thought::Call(call))
}

fn missing(request: &Request, names: &[String]) -> String {
    let wanted = &names[0];
    if request.tools.is_empty() {
        return format!(
            "For that I would need a tool such as `{wanted}`, and no tools are declared here. {}",
            knowledge().offer
        );
    }
    let declared: Vec<String> = request.tools.iter().map(|tool| format!("`{}`", tool.name)).collect();
    format!("There is no tool `{wanted}` here. I can call {}.", declared.join(", "))
}

/// The first answer begins with what it is that speaks.
fn opened(request: &Request, text: &str) -> String {
    match (request.is_first(), is_chinese(request.question())) {
        (true, true) => format!("{}{text}", knowledge().chinese.introduction),
        (true, false) => format!("{} {text}", knowledge().introduction),
        (false, _) => text.to_owned(),
    }
}

/// An answer from what is known, with the reason.
fn converse(request: &Request, question: &str) -> (String, String) {
    let asked = words(question);
    if let Some(text) = recalled(request, &asked) {
        return ("This is about what was said before.".to_owned(), text);
    }
    if let Some(name) = introduced(question) {
        return (
            "Somebody told their name.".to_owned(),
            format!("Nice to meet you, {name}! {}", knowledge().abilities),
        );
    }
    let topic = knowledge().topic_of(question);
    let earlier: Vec<&Topic> =
        request.earlier_questions().filter_map(|question| knowledge().topic_of(question)).collect();
    match topic {
        Some(topic) if earlier.iter().any(|known| known.id == topic.id) => (
            format!("This is about {}, as before.", topic.title),
            format!("You asked about {} before, so here is more: {}{}", topic.title, topic.more, suggestion(topic)),
        ),
        Some(topic) => (format!("This is about {}.", topic.title), format!("{}{}", topic.answer, suggestion(topic))),
        None => match earlier.last().filter(|_| follows_up(&asked)) {
            Some(topic) => (
                format!("This continues {}.", topic.title),
                format!("About {}, then: {}{}", topic.title, topic.more, suggestion(topic)),
            ),
            None if is_chinese(question) => ("No topic fits.".to_owned(), knowledge().chinese.refusal.clone()),
            None => (
                "No topic fits.".to_owned(),
                format!("{} {} {}", knowledge().refusal, knowledge().abilities, knowledge().advice),
            ),
        },
    }
}

/// Whether a question makes sense only after another one.
fn follows_up(words: &[String]) -> bool {
    const WORDS: [&str; 12] =
        ["it", "that", "more", "why", "this", "them", "else", "continue", "example", "further", "explain", "details"];
    words.len() <= 8 && words.iter().any(|word| WORDS.contains(&word.as_str()))
}

fn suggestion(topic: &Topic) -> String {
    let titles: Vec<&str> =
        topic.next.iter().filter_map(|id| knowledge().topic(id)).map(|topic| topic.title.as_str()).collect();
    match titles.as_slice() {
        [] => String::new(),
        [one] => format!(" You could also ask about {one}."),
        [first @ .., last] => format!(" You could also ask about {} or {last}.", first.join(", ")),
    }
}

/// Questions about the conversation itself.
fn recalled(request: &Request, asked: &[String]) -> Option<String> {
    let has = |all: &[&str]| all.iter().all(|word| asked.iter().any(|asked| asked == word));
    if has(&["my", "name", "what"]) {
        let name = request.earlier_questions().rev().find_map(introduced);
        return Some(match name {
            Some(name) => format!("You said that you are {name}."),
            None => "You have not told me your name.".to_owned(),
        });
    }
    let about_before =
        has(&["what", "did", "i", "ask"]) || has(&["what", "we", "talk"]) || has(&["my", "last", "question"]);
    about_before.then(|| {
        let earlier: Vec<String> =
            request.earlier_questions().map(|question| format!("\"{}\"", shortened(question, 80))).collect();
        match earlier.as_slice() {
            [] => "This is your first question.".to_owned(),
            [one] => format!("Before this you asked {one}."),
            _ => format!(
                "Before this you asked, among others, {}.",
                earlier[earlier.len().saturating_sub(3)..].join(", then ")
            ),
        }
    })
}

/// The name that somebody gives for themselves.
fn introduced(question: &str) -> Option<String> {
    let lower = question.to_lowercase();
    let rest = if lower.contains("my name is") { after(question, &["is"])? } else { return None };
    let name: String =
        rest.split_whitespace().next()?.chars().filter(|letter| letter.is_alphanumeric() || *letter == '-').collect();
    (!name.is_empty()).then_some(name)
}

/// A tool's result in words.
fn summary(tool: &str, result: &str) -> String {
    let trimmed = result.trim();
    if trimmed.is_empty() {
        return format!("The tool `{tool}` came back with nothing.");
    }
    let lower = trimmed.to_lowercase();
    if ["error", "failed", "traceback", "command exited with code"].iter().any(|word| lower.starts_with(word)) {
        return format!("The tool `{tool}` did not succeed. It says: {}", shortened(trimmed, 300));
    }
    match serde_json::from_str::<Value>(trimmed) {
        Ok(Value::Object(object)) if !object.is_empty() => {
            let members: Vec<String> = object
                .iter()
                .take(8)
                .map(|(name, value)| format!("{name} is {}", shortened(&plain(value), 60)))
                .collect();
            format!("The tool `{tool}` says: {}.", members.join(", "))
        }
        Ok(Value::Array(items)) => {
            let shown: Vec<String> = items.iter().take(5).map(|item| shortened(&plain(item), 60)).collect();
            format!("The tool `{tool}` gave {} items: {}.", items.len(), listed(&shown, items.len()))
        }
        _ => lines(tool, trimmed),
    }
}

/// The same for those who ask in Chinese.
fn chinese_summary(tool: &str, result: &str) -> String {
    let lines: Vec<&str> = result.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let shown: Vec<String> = lines.iter().take(5).map(|line| shortened(line, 80)).collect();
    match lines.len() {
        0 => format!("工具 `{tool}` 没有返回内容。"),
        1..=5 => format!("工具 `{tool}` 返回：{}", shown.join("，")),
        all => format!("工具 `{tool}` 返回 {all} 行：{} 等。", shown.join("，")),
    }
}

fn lines(tool: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if let [line] = lines.as_slice() {
        return format!("The tool `{tool}` says: {}", shortened(line.trim(), 300));
    }
    let shown: Vec<String> = lines.iter().take(5).map(|line| shortened(line.trim(), 80)).collect();
    let words = text.split_whitespace().count();
    format!("The tool `{tool}` came back with {} lines, {words} words: {}.", lines.len(), listed(&shown, lines.len()))
}

fn listed(shown: &[String], all: usize) -> String {
    let more = if all > shown.len() { format!(" and {} more", all - shown.len()) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The answer in a value that fits the schema.
fn fitted(text: &str, schema: &Value) -> Value {
    let known = |_: &str, member: &Value| {
        let free = member["enum"].is_null() && member["const"].is_null();
        (free && super::schema::kind(member) == "string").then(|| Value::String(text.to_owned()))
    };
    instance(schema, Members::All, &known)
}
