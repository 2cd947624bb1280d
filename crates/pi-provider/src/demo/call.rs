//! When the demo model calls a tool, and with what.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    knowledge::knowledge,
    request::Tool,
    schema::{Members, instance, kind},
    words::{after, path, place, quoted, words},
};

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub name: String,
    pub arguments: Map<String, Value>,
}

/// What a question asks of tools.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wish {
    Nothing,
    Call(Call),
    /// It asks for this tool, or for one of these, and none is declared.
    Missing(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manners {
    intents: Vec<Intent>,
    names: Names,
    /// What stands before the text of a file.
    texts: Vec<String>,
    members: MemberNames,
}

/// How a tool is found by its name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    /// Words of names that say nothing about what a tool is for.
    verbs: Vec<String>,
    /// Beginnings of questions that want an explanation.
    asks: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Intent {
    verbs: Vec<String>,
    objects: Vec<String>,
    tools: Vec<String>,
    #[serde(default)]
    shell: Option<String>,
    /// What is meant where no path is named.
    #[serde(default)]
    path: Option<String>,
    /// Words behind the verb with which something else is meant: "run the tests" names no command.
    #[serde(default)]
    unless: Vec<String>,
}

/// Names of members by what they hold.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberNames {
    path: Vec<String>,
    command: Vec<String>,
    pattern: Vec<String>,
    content: Vec<String>,
    place: Vec<String>,
}

fn manners() -> &'static Manners {
    static MANNERS: LazyLock<Manners> = LazyLock::new(|| {
        serde_saphyr::from_str(include_str!("../../demo/tools.yaml"))
            .expect("the file is part of this crate and tested")
    });
    &MANNERS
}

/// The steps of a question: what is to be done first, then second.
pub(super) fn steps(question: &str) -> Vec<&str> {
    let mut steps = vec![question];
    for separator in [", then ", " and then ", "; then ", ". Then ", " after that "] {
        steps = steps.into_iter().flat_map(|step| step.split(separator)).collect();
    }
    steps
}

/// What this step asks of the tools that are declared.
pub(super) fn wish(step: &str, tools: &[Tool]) -> Wish {
    if let Some(wish) = named(step, tools) {
        return wish;
    }
    let Some(intent) = manners().intents.iter().find(|intent| intent.is_meant(step)) else {
        return fitting(step, tools)
            .map_or(Wish::Nothing, |tool| Wish::Call(Evidence { step, shell: None, path: None }.call(tool)));
    };
    let tool = intent.tools.iter().find_map(|name| tools.iter().find(|tool| same(&tool.name, name)));
    match tool {
        Some(tool) => Wish::Call(intent.call(tool, step)),
        None => Wish::Missing(intent.tools.clone()),
    }
}

/// The call of a tool that must be called, whatever the question is.
pub(super) fn forced(tool: &Tool, question: &str) -> Call {
    let intent = manners()
        .intents
        .iter()
        .find(|intent| intent.is_meant(question) && intent.tools.iter().any(|name| same(&tool.name, name)));
    match intent {
        Some(intent) => intent.call(tool, question),
        None => Evidence { step: question, shell: None, path: None }.call(tool),
    }
}

/// `use tool X …`, `call X …`.
fn named(step: &str, tools: &[Tool]) -> Option<Wish> {
    const VERBS: [&str; 5] = ["use", "call", "invoke", "try", "run"];
    let mut tokens =
        step.split_whitespace().map(|token| token.trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '-'));
    tokens.by_ref().find(|token| VERBS.contains(&token.to_lowercase().as_str()))?;
    let mut is_tool = false;
    for token in tokens.take(4) {
        if let Some(tool) = tools.iter().find(|tool| same(&tool.name, token)) {
            return Some(Wish::Call(Evidence { step, shell: None, path: None }.call(tool)));
        }
        match token.to_lowercase().as_str() {
            "tool" | "function" => is_tool = true,
            "the" | "a" | "an" | "your" | "please" | "called" | "named" | "" => {}
            _ if is_tool => return Some(Wish::Missing(vec![token.to_owned()])),
            _ => return None,
        }
    }
    None
}

/// The tool whose name tells what the step is about: `get_weather` for "weather in Rome". Tools that have intents of their
/// own are called by these only, and what the demo model can explain it does not look up.
fn fitting<'a>(step: &str, tools: &'a [Tool]) -> Option<&'a Tool> {
    let asked = words(step);
    let explains = |beginning: &String| asked.starts_with(&words(beginning));
    if manners().names.asks.iter().any(explains) || knowledge().topic_of(step).is_some() {
        return None;
    }
    let has_intent =
        |tool: &Tool| manners().intents.iter().any(|intent| intent.tools.iter().any(|name| same(&tool.name, name)));
    tools.iter().find(|tool| {
        let name = name_words(&tool.name);
        let mut telling = name.iter().filter(|word| !manners().names.verbs.contains(word)).peekable();
        telling.peek().is_some() && telling.all(|word| asked.contains(word)) && !has_intent(tool)
    })
}

/// The words of `get_weather`, `get-weather` or `getWeather`.
fn name_words(name: &str) -> Vec<String> {
    let mut spaced = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && spaced.ends_with(char::is_lowercase) {
            spaced.push(' ');
        }
        spaced.push(letter);
    }
    words(&spaced)
}

/// Whether two names mean the same tool.
fn same(left: &str, right: &str) -> bool {
    let plain = |name: &str| {
        name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect::<String>()
    };
    !plain(left).is_empty() && plain(left) == plain(right)
}

impl Intent {
    fn is_meant(&self, step: &str) -> bool {
        const POLITE: [&str; 11] =
            ["please", "can", "could", "would", "you", "now", "and", "then", "also", "just", "ok"];
        let words = words(step);
        let mut words = words.iter().map(String::as_str).skip_while(|word| POLITE.contains(word));
        let Some(first) = words.next() else { return false };
        // "How do I list files" is a question, not a wish.
        if !self.verbs.iter().any(|verb| verb == first) {
            return false;
        }
        let rest: Vec<&str> = words.collect();
        if rest.first().is_some_and(|word| self.unless.iter().any(|unless| unless == word)) && quoted(step).is_none() {
            return false;
        }
        self.objects.is_empty()
            || self.objects.iter().any(|object| match object.as_str() {
                "{path}" => path(step).is_some(),
                object => rest.contains(&object) || first == object,
            })
    }

    fn call(&self, tool: &Tool, step: &str) -> Call {
        Evidence { step, shell: self.shell.as_deref(), path: self.path.as_deref() }.call(tool)
    }
}

/// What a step tells about arguments.
struct Evidence<'a> {
    step: &'a str,
    /// The command that does the same, for a tool that takes one.
    shell: Option<&'a str>,
    path: Option<&'a str>,
}

impl Evidence<'_> {
    fn call(&self, tool: &Tool) -> Call {
        let object = self.object();
        let known = |name: &str, member: &Value| {
            let explicit = object.as_ref().and_then(|object| object.get(name).cloned());
            explicit.or_else(|| self.pair(name, member)).or_else(|| self.member(name, member))
        };
        let mut arguments = match instance(&tool.parameters, Members::Needed, &known) {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let names = &manners().members;
        let is = |list: &[String], name: &str| list.iter().any(|known| same(known, name));
        let has_file = arguments.keys().any(|name| is(&names.path, name));
        // Nobody should read an empty text where the question has words; but a file of which nobody says what is in it is empty.
        let is_unsaid = |name: &str, value: &Value| *value == "" && !(has_file && is(&names.content, name));
        for (_, value) in arguments.iter_mut().filter(|(name, value)| is_unsaid(name, value)) {
            *value = Value::String(self.rest().to_owned());
        }
        Call { name: tool.name.clone(), arguments }
    }

    /// A JSON object in the step.
    fn object(&self) -> Option<Map<String, Value>> {
        let start = self.step.find('{')?;
        let end = self.step.rfind('}')?;
        serde_json::from_str(self.step.get(start..=end)?).ok()
    }

    /// `name=value` or `name: value`.
    fn pair(&self, name: &str, member: &Value) -> Option<Value> {
        let at = ["=", ": "].into_iter().find_map(|mark| {
            let at = self.step.find(&format!("{name}{mark}"))?;
            let starts = !self.step[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
            starts.then_some(at + name.len() + mark.len())
        })?;
        let rest = &self.step[at..];
        let text = match rest.chars().next()? {
            '"' | '`' | '\'' => quoted(rest)?,
            _ => rest.split(|c: char| c.is_whitespace() || c == ',').next()?.trim_end_matches(['.', '?', '!', ';']),
        };
        typed(text, member)
    }

    /// By what members of this name usually hold.
    fn member(&self, name: &str, member: &Value) -> Option<Value> {
        let names = &manners().members;
        let is = |list: &[String]| list.iter().any(|known| same(known, name));
        let text = if let Some(mentioned) = self.mentioned(member) {
            return Some(mentioned);
        } else if is(&names.command) {
            self.command()
        } else if is(&names.path) {
            path(self.step).or(self.path).map(str::to_owned)
        } else if is(&names.pattern) {
            self.pattern()
        } else if is(&names.content) {
            self.content()
        } else if is(&names.place) {
            place(self.step)
        } else {
            matches!(kind(member), "integer" | "number").then(|| self.number())?
        }?;
        typed(&text, member)
    }

    /// A value of an enumeration that occurs in the step.
    fn mentioned(&self, member: &Value) -> Option<Value> {
        let words = words(self.step);
        let values = member["enum"].as_array()?.iter().filter(|value| value.is_string());
        values
            .into_iter()
            .find(|value| value.as_str().is_some_and(|text| words.contains(&text.to_lowercase())))
            .cloned()
    }

    fn command(&self) -> Option<String> {
        match self.shell {
            Some("{command}") | None => {
                quoted(self.step).or_else(|| after(self.step, &["run", "execute", "command"])).map(str::to_owned)
            }
            Some(template) => {
                let path = path(self.step).or(self.path).unwrap_or(".");
                let pattern = self.pattern().unwrap_or_default();
                Some(template.replace("{path}", &shell_word(path)).replace("{pattern}", &shell_word(&pattern)))
            }
        }
    }

    fn pattern(&self) -> Option<String> {
        let behind = || after(self.step, &["for", "named", "called", "grep", "matching"]);
        let words = quoted(self.step).or_else(behind)?;
        let end = [" in ", " inside ", " under "].into_iter().filter_map(|mark| words.find(mark)).min();
        Some(words[..end.unwrap_or(words.len())].trim().to_owned())
    }

    /// The text of a file: in marks, behind `with the text`, or between `write` and `to`.
    fn content(&self) -> Option<String> {
        let file = path(self.step);
        if let Some(text) = quoted(self.step).filter(|text| Some(*text) != file) {
            return Some(text.to_owned());
        }
        let lower = self.step.to_ascii_lowercase();
        let behind = manners().texts.iter().find_map(|mark| {
            let mark = format!(" {mark} ");
            lower.find(&mark).map(|at| self.step[at + mark.len()..].trim())
        });
        if let Some(text) = behind {
            return Some(quoted(text).unwrap_or_else(|| without_file(text)).to_owned());
        }
        let words = after(self.step, &["write", "save", "put"])?;
        let end = [" to ", " into ", " in "].into_iter().filter_map(|mark| words.rfind(mark)).max()?;
        Some(words[..end].to_owned())
    }

    fn number(&self) -> Option<String> {
        let numbers = self.step.split(|c: char| !c.is_ascii_digit() && c != '.' && c != '-');
        numbers.map(|text| text.trim_end_matches('.')).find(|text| text.parse::<f64>().is_ok()).map(str::to_owned)
    }

    /// What is left of a step behind `with`, `about` or `for`; all of it otherwise.
    fn rest(&self) -> &str {
        quoted(self.step).or_else(|| after(self.step, &["with", "about", "for", "saying"])).unwrap_or(self.step.trim())
    }
}

/// `text` without the file that it is for: `hi` of `hi in hello.txt`.
fn without_file(text: &str) -> &str {
    let plain = text.strip_suffix('.').unwrap_or(text);
    let end = [" in ", " to ", " into ", " called ", " named ", " as "]
        .into_iter()
        .filter_map(|mark| plain.rfind(mark).filter(|at| path(&plain[at + mark.len()..]).is_some()))
        .max();
    plain[..end.unwrap_or(plain.len())].trim()
}

/// `text` as a value of the member's type.
fn typed(text: &str, member: &Value) -> Option<Value> {
    match kind(member) {
        "integer" => text.parse::<i64>().ok().map(Value::from),
        "number" => text.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number),
        "boolean" => text.parse::<bool>().ok().map(Value::Bool),
        "array" => Some(text.split(',').map(|item| Value::String(item.trim().to_owned())).collect()),
        "object" => serde_json::from_str(text).ok(),
        _ => Some(Value::String(text.to_owned())),
    }
}

/// A word that a shell reads as it stands.
fn shell_word(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
