//! The language of scripted guests.
//!
//! Sections: `guest ID [PATH]`, `tool NAME [later]`, `command NAME`, `on HOOK`, `shortcut KEY`, `renderer TYPE`,
//! `provider NAME`, `flag NAME`, `channel NAME`, `shutdown`. In a tool section also `describes TEXT`, `parameters JSON`,
//! `snippet TEXT`, `guideline TEXT`, `sequential`; in a command section `describes TEXT` and `completes WORDS`; in a
//! provider section `config JSON`, and `passive` for one that does not stream itself. The steps are those of [`Step`], [`Stroke`] and [`Wish`]. Empty lines and lines that begin with `#` mean nothing.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use pi_exthost::{
    GuestId, Registration,
    guest::{CommandOffer, Flag, FlagDefault, ProviderOffer, RendererOffer, Shortcut, ToolOffer},
    port::{Control, ForkPosition, Navigation},
};
use pi_extproto::{
    Object,
    connector::{
        session::Delivery,
        tool::{CommandDefinition, ExecutionMode, ToolDefinition},
    },
    hook::{Hook, Outcome},
};
use pi_transcript::{
    AssistantMessageEvent, EntryId, ThinkingLevel,
    question::{Announcement, Asked},
};

use super::stroke::Stroke;

/// A line that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct BadScript {
    pub line: usize,
    pub problem: String,
}

/// What a guest does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// `wait MILLISECONDS`: works for so long.
    Wait(Duration),
    /// `hang`: never ends, whoever calls it off.
    Hang,
    /// `heed`: waits until it is cancelled, and stops then.
    Heed,
    /// `panic TEXT`.
    Panic(String),
    /// `throw TEXT`.
    Throw(String),
    /// `gone`: says that it does not run any more.
    Gone,
    /// `outcome JSON`: the answer to an event, of whatever family.
    Outcome(Box<Outcome>),
    /// `update TEXT`: what a tool has found so far.
    Update(String),
    /// `answer TEXT`: what a tool or a model says.
    Answer(String),
    /// `fail TEXT`: a tool says that it failed.
    Fail(String),
    /// `finish TEXT`: a tool answers, and the run is to end.
    Finish(String),
    /// `keep`: a command keeps its right to control the session beyond its end.
    Keep,
    /// `step JSON`: a model says what it has so far, in Pi's steps.
    Step(Box<AssistantMessageEvent>),
    /// `message JSON`: what a model says in the end, members of a message.
    Message(Object),
    /// `draw TEXT`: one line of what is drawn.
    Draw(String),
    /// Something that it does with a component of its own.
    Stroke(Stroke),
    /// Something that it asks of its session.
    Ask(Wish),
}

/// What a guest asks of its session.
#[derive(Debug, Clone, PartialEq)]
pub enum Wish {
    /// `ask JSON`: a question to a person; how it ends is remembered.
    Question(Asked),
    /// `announce JSON`.
    Announce(Announcement),
    /// `append TYPE [JSON]`: a custom entry.
    Append { custom_type: String, data: Option<Value> },
    /// `send TYPE DELIVERY TEXT`: a custom message.
    Send { custom_type: String, delivery: Delivery, text: String },
    /// `start TYPE DELIVERY TEXT`: a custom message that starts a run.
    Start { custom_type: String, delivery: Delivery, text: String },
    /// `say DELIVERY TEXT`: in the user's place.
    Say { delivery: Delivery, text: String },
    /// `type DELIVERY TEXT`: the same as if a person had typed it: it may call commands, templates and skills.
    Type { delivery: Delivery, text: String },
    /// `name TEXT`: names the session.
    Name(String),
    /// `label ENTRY TEXT`.
    Label { entry: EntryId, label: String },
    /// `emit CHANNEL JSON`.
    Emit { channel: String, data: Value },
    /// `activate NAMES`: the active tools.
    Activate(Vec<String>),
    /// `model PROVIDER MODEL`.
    Model { provider: String, model: String },
    /// `think LEVEL`.
    Think(ThinkingLevel),
    /// `complete TEXT`: a model call of its own; what it answers is remembered.
    Complete(String),
    /// `compact`.
    Compact,
    /// `abort`: stops the run.
    Abort,
    /// `look`: remembers how the session stands.
    Look,
    /// `control wait | new | reload | fork ENTRY | navigate ENTRY | switch PATH`.
    Control(Control),
    /// `offer NAME`: a tool that was kept for later.
    Offer(String),
    /// `quit`: ends the program.
    Quit,
    /// `commands`: remembers what can be called.
    Commands,
    /// `written`: remembers what stands in the editor.
    Written,
}

/// When a section is played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trigger {
    Tool(String),
    Command(String),
    On(String),
    Shortcut(String),
    Renderer(String),
    Provider(String),
    Shutdown,
}

#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) trigger: Trigger,
    pub(super) steps: Vec<Step>,
    completions: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Script {
    registration: Registration,
    later: Vec<ToolOffer>,
    sections: Vec<Section>,
}

impl Script {
    pub(super) fn read(text: &str) -> Result<Self, BadScript> {
        let registration = Registration::new(GuestId::from("scripted"), "scripted.ts");
        let mut script = Self { registration, later: Vec::new(), sections: Vec::new() };
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (word, rest) = split(line);
            script.line(word, rest).map_err(|problem| BadScript { line: index + 1, problem })?;
        }
        Ok(script)
    }

    pub(super) fn registration(&self) -> Registration {
        self.registration.clone()
    }

    pub(super) fn sections(&self, trigger: &Trigger) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(move |section| section.trigger == *trigger)
    }

    pub(super) fn completions(&self, command: &str) -> impl Iterator<Item = &String> {
        self.sections(&Trigger::Command(command.to_owned()))
            .flat_map(|section| &section.completions)
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// The tool of that name that was kept for later.
    pub(super) fn later(&self, name: &str) -> Option<ToolOffer> {
        self.later.iter().find(|tool| tool.definition.name == name).cloned()
    }

    fn line(&mut self, word: &str, rest: &str) -> Result<(), String> {
        match word {
            "guest" => self.identity(rest),
            "tool" => self.tool(rest),
            "command" => {
                let definition = CommandDefinition { name: rest.to_owned(), description: None };
                self.registration.commands.push(CommandOffer::from(definition));
                self.section(Trigger::Command(rest.to_owned()));
            }
            "on" => {
                let hook = Hook::find(rest).ok_or_else(|| format!("there is no hook {rest:?}"))?;
                *self.registration.hooks.entry(hook).or_default() += 1;
                self.section(Trigger::On(hook.as_str().to_owned()));
            }
            "shortcut" => {
                self.registration.shortcuts.push(Shortcut { key: rest.to_owned(), description: None });
                self.section(Trigger::Shortcut(rest.to_owned()));
            }
            "renderer" => {
                self.registration.renderers.push(RendererOffer { custom_type: rest.to_owned() });
                self.section(Trigger::Renderer(rest.to_owned()));
            }
            "provider" => {
                let (name, config) = (rest.to_owned(), Object::new());
                self.registration.providers.push(ProviderOffer { name, config, streams: true });
                self.section(Trigger::Provider(rest.to_owned()));
            }
            "flag" => {
                let default = FlagDefault::Boolean(None);
                self.registration.flags.push(Flag { name: rest.to_owned(), description: None, default });
            }
            "channel" => drop(self.registration.channels.insert(rest.to_owned())),
            "shutdown" => self.section(Trigger::Shutdown),
            "describes" | "parameters" | "snippet" | "guideline" | "sequential" | "completes" | "config"
            | "passive" => {
                self.detail(word, rest)?;
            }
            _ => {
                let step = step(word, rest)?;
                self.last()?.steps.push(step);
            }
        }
        Ok(())
    }

    fn identity(&mut self, rest: &str) {
        let (id, path) = split(rest);
        self.registration.id = GuestId::from(id);
        self.registration.name = id.to_owned();
        self.registration.path = if path.is_empty() { format!("{id}.ts") } else { path.to_owned() };
    }

    fn tool(&mut self, rest: &str) {
        let (name, when) = split(rest);
        let mut parameters = Object::new();
        parameters.insert("type".to_owned(), Value::from("object"));
        let definition = ToolDefinition {
            name: name.to_owned(),
            label: None,
            description: format!("does what the script says about {name}"),
            parameters,
            prompt_snippet: None,
            execution_mode: None,
        };
        let list = if when == "later" { &mut self.later } else { &mut self.registration.tools };
        list.push(ToolOffer::from(definition));
        self.section(Trigger::Tool(name.to_owned()));
    }

    fn section(&mut self, trigger: Trigger) {
        self.sections.push(Section { trigger, steps: Vec::new(), completions: Vec::new() });
    }

    fn last(&mut self) -> Result<&mut Section, String> {
        self.sections.last_mut().ok_or_else(|| "a step outside of any section".to_owned())
    }

    /// More about the tool or command that the last section is of.
    fn detail(&mut self, word: &str, rest: &str) -> Result<(), String> {
        let outside = || format!("{word:?} stands in no section that it could describe");
        match self.last()?.trigger.clone() {
            Trigger::Tool(name) => {
                let mut tools = self.registration.tools.iter_mut().chain(&mut self.later);
                let tool = tools.rfind(|tool| tool.definition.name == name).ok_or_else(outside)?;
                match word {
                    "describes" => rest.clone_into(&mut tool.definition.description),
                    "parameters" => tool.definition.parameters = json(rest)?,
                    "snippet" => tool.definition.prompt_snippet = Some(rest.to_owned()),
                    "guideline" => tool.prompt_guidelines.push(rest.to_owned()),
                    "sequential" => tool.definition.execution_mode = Some(ExecutionMode::Sequential),
                    _ => return Err(outside()),
                }
            }
            Trigger::Command(_) => {
                let command = self.registration.commands.last_mut().ok_or_else(outside)?;
                match word {
                    "describes" => command.definition.description = Some(rest.to_owned()),
                    "completes" => {
                        command.completes = true;
                        self.last()?.completions = words(rest);
                    }
                    _ => return Err(outside()),
                }
            }
            Trigger::Provider(_) => {
                let provider = self.registration.providers.last_mut().ok_or_else(outside)?;
                match word {
                    "config" => provider.config = json(rest)?,
                    "passive" => provider.streams = false,
                    _ => return Err(outside()),
                }
            }
            Trigger::On(_) | Trigger::Shortcut(_) | Trigger::Renderer(_) | Trigger::Shutdown => {
                return Err(outside());
            }
        }
        Ok(())
    }
}

fn step(word: &str, rest: &str) -> Result<Step, String> {
    let text = || rest.to_owned();
    Ok(match word {
        "wait" => Step::Wait(Duration::from_millis(parse(rest)?)),
        "hang" => Step::Hang,
        "heed" => Step::Heed,
        "panic" => Step::Panic(text()),
        "throw" => Step::Throw(text()),
        "gone" => Step::Gone,
        "outcome" => Step::Outcome(json(rest)?),
        "update" => Step::Update(text()),
        "answer" => Step::Answer(text()),
        "fail" => Step::Fail(text()),
        "finish" => Step::Finish(text()),
        "keep" => Step::Keep,
        "draw" => Step::Draw(text()),
        "step" => Step::Step(json(rest)?),
        "message" => Step::Message(json(rest)?),
        _ => match Stroke::read(word, rest) {
            Some(stroke) => Step::Stroke(stroke?),
            None => Step::Ask(wish(word, rest)?),
        },
    })
}

fn wish(word: &str, rest: &str) -> Result<Wish, String> {
    let text = || rest.to_owned();
    let (first, second) = split(rest);
    Ok(match word {
        "ask" => Wish::Question(json(rest)?),
        "announce" => Wish::Announce(json(rest)?),
        "append" => {
            let data = if second.is_empty() { None } else { Some(json(second)?) };
            Wish::Append { custom_type: first.to_owned(), data }
        }
        "send" | "start" => {
            let (custom_type, (delivery, text)) = (first.to_owned(), split(second));
            let (delivery, text) = (enumerated(delivery)?, text.to_owned());
            match word {
                "send" => Wish::Send { custom_type, delivery, text },
                _ => Wish::Start { custom_type, delivery, text },
            }
        }
        "say" => Wish::Say { delivery: enumerated(first)?, text: second.to_owned() },
        "type" => Wish::Type { delivery: enumerated(first)?, text: second.to_owned() },
        "quit" => Wish::Quit,
        "commands" => Wish::Commands,
        "written" => Wish::Written,
        "name" => Wish::Name(text()),
        "label" => Wish::Label { entry: first.into(), label: second.to_owned() },
        "emit" => Wish::Emit { channel: first.to_owned(), data: json(second)? },
        "activate" => Wish::Activate(words(rest)),
        "model" => Wish::Model { provider: first.to_owned(), model: second.to_owned() },
        "think" => Wish::Think(parse(rest)?),
        "complete" => Wish::Complete(text()),
        "compact" => Wish::Compact,
        "abort" => Wish::Abort,
        "look" => Wish::Look,
        "control" => Wish::Control(control(first, second)?),
        "offer" => Wish::Offer(text()),
        other => return Err(format!("there is no step {other:?}")),
    })
}

fn control(word: &str, rest: &str) -> Result<Control, String> {
    Ok(match word {
        "wait" => Control::WaitForIdle,
        "new" => Control::NewSession { parent: None },
        "reload" => Control::Reload,
        "fork" => Control::Fork { entry: rest.into(), position: ForkPosition::Before },
        "navigate" => Control::Navigate(Navigation {
            entry: rest.into(),
            summarize: false,
            instructions: None,
            replaces_instructions: false,
            label: None,
        }),
        "switch" => Control::SwitchSession { path: rest.to_owned() },
        other => return Err(format!("nothing controls a session by {other:?}")),
    })
}

/// The first word, and what stands behind it.
fn split(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn parse<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// A variant by its name.
fn enumerated<'de, T: Deserialize<'de>>(word: &'de str) -> Result<T, String> {
    let deserializer = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(word);
    T::deserialize(deserializer).map_err(|error| error.to_string())
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) => write!(f, "tool {name}"),
            Self::Command(name) => write!(f, "command {name}"),
            Self::On(hook) => write!(f, "handler of {hook}"),
            Self::Shortcut(key) => write!(f, "shortcut {key}"),
            Self::Renderer(custom_type) => write!(f, "renderer of {custom_type}"),
            Self::Provider(name) => write!(f, "provider {name}"),
            Self::Shutdown => f.write_str("end"),
        }
    }
}
