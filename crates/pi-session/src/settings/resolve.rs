//! From layers to what they mean.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    str::FromStr,
    time::Duration,
};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::Value;

use pi_provider::likeness;
use pi_transcript::ThinkingLevel;

use super::{
    BranchSummary, Compaction, Images, Listed, Location, Resolved, Row, Settings,
    keys::{self, Key},
    layer::{Layer, Origin},
    notice::{Notice, Problem},
};
use crate::retry::RetrySettings;

/// Resolves layers, whatever their order: those of a later [`Origin`] override.
///
/// Groups are merged member by member; every other value replaces the one below it, but for the lists of places, to which
/// each layer adds.
pub fn resolve(mut layers: Vec<Layer>) -> Resolved {
    layers.sort_by_key(|layer| std::cmp::Reverse(layer.origin));
    let mut resolver = Resolver { layers: &layers, chosen: HashMap::new(), notices: strange(&layers) };
    let settings = resolver.settings();
    let Resolver { mut chosen, notices, .. } = resolver;
    let rows = keys::all().iter().filter_map(|key| chosen.remove(key.key)).collect();
    Resolved { settings, rows, notices }
}

/// A word that its type knows how to read.
struct Word<T>(T);

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(D::Error::custom)
    }
}

struct Resolver<'a> {
    /// The strongest first.
    layers: &'a [Layer],
    chosen: HashMap<&'static str, Row>,
    notices: Vec<Notice>,
}

impl Resolver<'_> {
    fn settings(&mut self) -> Settings {
        Settings {
            default_provider: self.chosen::<String>("defaultProvider").filter(|it| !it.is_empty()).map(Into::into),
            default_model: self.chosen::<String>("defaultModel").filter(|it| !it.is_empty()).map(Into::into),
            default_thinking_level: self.chosen("defaultThinkingLevel"),
            model_thinking_levels: self.value("modelThinkingLevels"),
            thinking_budgets: self.budgets(),
            hide_thinking_block: self.value("hideThinkingBlock"),
            enabled_models: self.value("enabledModels"),
            transport: self.value("transport"),
            steering_mode: self.value::<Word<_>>("steeringMode").0,
            follow_up_mode: self.value::<Word<_>>("followUpMode").0,
            compaction: Compaction {
                enabled: self.value("compaction.enabled"),
                reserve_tokens: self.value("compaction.reserveTokens"),
                keep_recent_tokens: self.value("compaction.keepRecentTokens"),
            },
            branch_summary: BranchSummary {
                reserve_tokens: self.value("branchSummary.reserveTokens"),
                skip_prompt: self.value("branchSummary.skipPrompt"),
            },
            retry: RetrySettings {
                enabled: self.value("retry.enabled"),
                most: self.value("retry.maxRetries"),
                base: Duration::from_millis(self.value("retry.baseDelayMs")),
                longest: Duration::from_millis(self.value("retry.maxDelayMs")),
            },
            shell_path: self.chosen::<String>("shellPath").map(Into::into),
            pass_environment: self.value("passEnvironment"),
            shell_command_prefix: self.chosen("shellCommandPrefix"),
            default_tools: self.value("defaultTools"),
            images: Images {
                auto_resize: self.value("images.autoResize"),
                block_images: self.value("images.blockImages"),
            },
            session_directory: self.location("sessionDir"),
            skills: self.locations("skills"),
            prompts: self.locations("prompts"),
            extensions: self.listed("extensions"),
            packages: self.listed("packages"),
            disabled_extensions: self.locations("disabledExtensions"),
            watch_extensions: self.value("watchExtensions"),
            server_wait: Duration::from_millis(self.value("mcpStartWaitMs")),
            enable_skill_commands: self.value("enableSkillCommands"),
            default_project_trust: self.value("defaultProjectTrust"),
            theme: self.chosen("theme"),
            quiet_startup: self.value("quietStartup"),
            show_images: self.value("terminal.showImages"),
            question_timeout: self.value("questionTimeoutMs"),
            http_idle_timeout: self.chosen("httpIdleTimeoutMs"),
            http_total_timeout: self.value("httpTotalTimeoutMs"),
        }
    }

    /// The value of a key that has a built-in one.
    fn value<T: DeserializeOwned>(&mut self, name: &'static str) -> T {
        self.chosen(name).unwrap_or_else(|| {
            let key = keys::find(name).expect("every key that is resolved is in keys.json");
            serde_json::from_value(key.default.clone()).expect("built-in values have their types")
        })
    }

    /// The value of the strongest layer whose value can be used.
    fn chosen<T: DeserializeOwned>(&mut self, name: &'static str) -> Option<T> {
        self.find(name).map(|(value, _)| value)
    }

    fn find<T: DeserializeOwned>(&mut self, name: &'static str) -> Option<(T, &Layer)> {
        let key = keys::find(name).expect("every key that is resolved is in keys.json");
        for layer in self.layers {
            let Some(value) = layer.get(name) else { continue };
            if key.personal && layer.origin == Origin::Project {
                self.note(layer, Problem::Personal { key: key.key });
                continue;
            }
            match T::deserialize(value) {
                Ok(read) => {
                    self.chosen.insert(key.key, row(key, value.clone(), Some(layer)));
                    return Some((read, layer));
                }
                Err(_) => self.note(layer, wrong_type(name, key.kind, value)),
            }
        }
        self.chosen.insert(key.key, row(key, key.default.clone(), None));
        None
    }

    fn note(&mut self, layer: &Layer, problem: Problem) {
        self.notices.push(Notice::within(layer, problem));
    }

    fn location(&mut self, name: &'static str) -> Option<Location> {
        let (text, layer) = self.find::<String>(name)?;
        Some(Location { text, folder: layer.folder(), origin: layer.origin })
    }

    /// The places of every layer, the strongest first.
    fn locations(&mut self, name: &'static str) -> Vec<Location> {
        let key = keys::find(name).expect("every key that is resolved is in keys.json");
        let mut locations: Vec<Location> = Vec::new();
        let mut strongest = None;
        for layer in self.layers {
            let Some(value) = layer.get(name) else { continue };
            match Vec::<String>::deserialize(value) {
                Ok(texts) => {
                    let place = |text| Location { text, folder: layer.folder(), origin: layer.origin };
                    locations.extend(texts.into_iter().map(place));
                    strongest = strongest.or(Some(layer));
                }
                Err(_) => self.note(layer, wrong_type(name, key.kind, value)),
            }
        }
        let all: Vec<&str> = locations.iter().map(|location| location.text.as_str()).collect();
        self.chosen.insert(key.key, row(key, all.into(), strongest));
        locations
    }

    /// The entries of every layer, the strongest first. An object holds the list in its member `paths`, beside what others
    /// read of it.
    fn listed(&mut self, name: &'static str) -> Vec<Listed> {
        let key = keys::find(name).expect("every key that is resolved is in keys.json");
        let mut listed: Vec<Listed> = Vec::new();
        let mut strongest = None;
        for layer in self.layers {
            let Some(value) = layer.get(name) else { continue };
            let entries = match value {
                Value::Array(entries) => Some(entries.as_slice()),
                Value::Object(members) => match members.get("paths") {
                    Some(Value::Array(entries)) => Some(entries.as_slice()),
                    Some(_) => None,
                    None => Some(&[][..]),
                },
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            };
            let is_entry = |value: &&Value| value.is_string() || value.is_object();
            match entries {
                Some(entries) if entries.iter().all(|value| is_entry(&value)) => {
                    let entry =
                        |value: &Value| Listed { value: value.clone(), folder: layer.folder(), origin: layer.origin };
                    listed.extend(entries.iter().map(entry));
                    strongest = strongest.or(Some(layer));
                }
                Some(_) | None => self.note(layer, wrong_type(name, key.kind, value)),
            }
        }
        let all: Vec<Value> = listed.iter().map(|entry| entry.value.clone()).collect();
        self.chosen.insert(key.key, row(key, all.into(), strongest));
        listed
    }

    fn budgets(&mut self) -> BTreeMap<ThinkingLevel, u64> {
        let budget = |level: ThinkingLevel| {
            let key = keys::find(&format!("thinkingBudgets.{level}"))?;
            let tokens = self.chosen(key.key).or_else(|| key.default.as_u64())?;
            Some((level, tokens))
        };
        ThinkingLevel::ALL.into_iter().filter_map(budget).collect()
    }
}

/// The value of a key and the layer that chose it, if one did.
fn row(key: &'static Key, value: Value, layer: Option<&Layer>) -> Row {
    Row {
        key: key.key,
        value,
        origin: layer.map_or(Origin::BuiltIn, |layer| layer.origin),
        file: layer.and_then(|layer| layer.file.clone()),
        place: layer.and_then(|layer| layer.place(key.key)),
    }
}

/// Keys that nobody knows, and groups that are none.
fn strange(layers: &[Layer]) -> Vec<Notice> {
    let mut notices = Vec::new();
    for layer in layers {
        let mut note = |problem| notices.push(Notice::within(layer, problem));
        for (name, value) in &layer.members {
            let known = keys::find(name).filter(|_| !name.contains('.'));
            match (known, value) {
                // Whoever reads it reads the person's own file.
                (Some(key), _) if key.unused && key.personal && layer.origin == Origin::Project => {
                    note(Problem::Personal { key: key.key });
                }
                (Some(_), _) => {}
                (None, Value::Null) if keys::is_group(name) => {}
                (None, Value::Object(group)) if keys::is_group(name) => {
                    let full = group.keys().map(|member| format!("{name}.{member}"));
                    full.filter(|key| keys::find(key).is_none()).for_each(|key| note(unknown(key)));
                }
                (None, value) if keys::is_group(name) => note(wrong_type(name, "an object", value)),
                (None, _) => note(unknown(name.clone())),
            }
        }
    }
    notices
}

/// The word that somebody probably meant.
pub fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    likeness::nearest(word, words).first().copied()
}

fn unknown(key: String) -> Problem {
    // Who misspells a group may mean the group.
    let known = keys::all().iter().flat_map(|key| [key.key, key.key.split('.').next().unwrap_or(key.key)]);
    let meant = nearest(&key, known);
    Problem::UnknownKey { key, meant }
}

fn wrong_type(key: &str, expected: &'static str, found: &Value) -> Problem {
    let found = match found {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => found.to_string(),
        // A value may be a secret that somebody put in the wrong place.
        Value::String(_) => "this text".to_owned(),
        Value::Array(_) => "this list".to_owned(),
        Value::Object(_) => "this object".to_owned(),
    };
    Problem::WrongType { key: key.to_owned(), expected, found }
}
