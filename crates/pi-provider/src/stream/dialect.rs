//! What each dialect's frames mean, as data, and how that is combined with a manifest's own rules.
//!
//! The manifests of the standard say too little to drive tools: no ids, no usage at the start, only the first of several
//! parts. So a dialect brings rules of its own, in the same language. A manifest's rule that says the same as one of them,
//! only less completely, is replaced by it and hands over the fields that it has beyond it. One that reads the same place
//! under a condition of its own takes the place of the dialect's. Every other rule of the manifest applies in addition;
//! none is passed over.

use std::sync::LazyLock;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    CompileError,
    rule::{CompiledRule, RuleError, Terms},
};
use crate::{
    condition::{Condition, Relation},
    dialect::Dialect,
    event::Termination,
    manifest::{Streaming, streaming::Rule},
    path::{Path, rooted},
};

/// What is known of a dialect's streams.
#[derive(Debug)]
pub(super) struct DialectRules {
    /// Data that mean that the stream is over.
    pub(super) done: Vec<String>,
    /// Frames that nothing follows.
    pub(super) last: Option<Condition>,
    pub(super) finish: IndexMap<String, Termination>,
    candidate: Option<Path>,
    rules: Vec<DialectRule>,
}

#[derive(Debug, Clone)]
struct DialectRule {
    rule: CompiledRule,
    /// Where a manifest's rule may look instead to say the same.
    replaces: Vec<Path>,
    standing: Standing,
}

/// What becomes of a dialect's rule beside those of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nobody else says it.
    Usual,
    /// The manifest says the same in fewer words.
    Needed,
    /// The manifest says when, and otherwise.
    Replaced,
}

#[derive(Debug, Deserialize)]
struct File {
    #[serde(default)]
    candidate: Option<String>,
    #[serde(default)]
    done: Vec<String>,
    #[serde(default)]
    last: Option<String>,
    finish: IndexMap<String, Termination>,
    rules: Vec<FileRule>,
}

#[derive(Debug, Deserialize)]
struct FileRule {
    #[serde(rename = "match")]
    condition: String,
    emit: String,
    #[serde(default)]
    extract: IndexMap<String, Value>,
    #[serde(default)]
    replaces: Vec<String>,
}

macro_rules! rules {
    ($file:literal) => {{
        static RULES: LazyLock<DialectRules> = LazyLock::new(|| {
            let text = include_str!(concat!("../../rules/", $file, ".yaml"));
            DialectRules::read(text).expect("a test compiles the rules of every dialect")
        });
        &RULES
    }};
}

impl DialectRules {
    pub(super) fn of(dialect: Dialect) -> &'static Self {
        match dialect {
            Dialect::OpenaiChat | Dialect::Demo => rules!("openai_chat"),
            Dialect::OpenaiResponses => rules!("openai_responses"),
            Dialect::AnthropicMessages => rules!("anthropic"),
            Dialect::GeminiGenerate => rules!("gemini"),
            Dialect::CohereV2 => rules!("cohere_v2"),
        }
    }

    fn read(text: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let file: File = serde_saphyr::from_str(text)?;
        let candidate = file.candidate.as_deref().map(Path::parse).transpose()?;
        let last = file.last.as_deref().map(Condition::parse).transpose()?;
        let mut rules = Vec::with_capacity(file.rules.len());
        for (place, FileRule { condition, emit, extract, replaces }) in file.rules.into_iter().enumerate() {
            let terms = Terms { candidate: candidate.as_ref(), selected: false };
            let rule = CompiledRule::compile(place + 1, &Rule { condition, emit, extract }, terms)?;
            let replaces = replaces.iter().map(|path| Path::parse(path)).collect::<Result<_, _>>()?;
            rules.push(DialectRule { rule, replaces, standing: Standing::Usual });
        }
        Ok(Self { done: file.done, last, finish: file.finish, candidate, rules })
    }
}

/// The rules for a manifest's streams, those of its dialect first. `finish` is where the manifest's `termination` says that
/// the reason for the end is.
pub(super) fn combine(
    dialect: Option<&DialectRules>,
    streaming: Option<&Streaming>,
    finish: Option<&str>,
) -> Result<Vec<CompiledRule>, CompileError> {
    let mut rules = match streaming {
        Some(streaming) => combine_streaming(dialect, streaming)?,
        None => dialect.into_iter().flat_map(|dialect| &dialect.rules).map(|known| known.rule.clone()).collect(),
    };
    if let Some(finish) = finish {
        rules.extend(finish_rule(finish, &rules, dialect)?);
    }
    Ok(rules)
}

/// A rule for the reason for the end, unless one looks there already. A bare name is a member wherever the others look for
/// it, and else one of the frame itself.
fn finish_rule(
    place: &str,
    rules: &[CompiledRule],
    dialect: Option<&DialectRules>,
) -> Result<Option<CompiledRule>, CompileError> {
    let member = "termination.source_field";
    let rule = path_rule(place, "FinalCandidate", "finish_reason");
    let terms = Terms { candidate: dialect.and_then(|dialect| dialect.candidate.as_ref()), selected: true };
    let compiled = CompiledRule::compile(0, &rule, terms);
    let rule = compiled.map_err(|RuleError { source, .. }| CompileError::Expression { member, source })?;
    let Some(path) = rule.primary_path() else { return Ok(None) };
    let is_there = |known: &Path| path.is_instance_of(known) || !place.starts_with('$') && known.ends_with(path);
    let is_read =
        |known: &CompiledRule| known.kind().is_like(rule.kind()) && known.primary_path().is_some_and(is_there);
    Ok((!rules.iter().any(is_read)).then_some(rule))
}

fn combine_streaming(dialect: Option<&DialectRules>, streaming: &Streaming) -> Result<Vec<CompiledRule>, CompileError> {
    let mut known = dialect.map(|dialect| dialect.rules.clone()).unwrap_or_default();
    let candidate = match &streaming.candidate {
        Some(candidate) if !candidate.fan_out => None,
        Some(candidate) => candidate.candidate_id_path.as_deref(),
        None => None,
    };
    let candidate = candidate.map(Path::parse).transpose().map_err(CompileError::of("candidate.candidate_id_path"))?;
    let inherited = dialect.filter(|_| streaming.candidate.is_none()).and_then(|dialect| dialect.candidate.as_ref());
    let terms = Terms { candidate: candidate.as_ref().or(inherited), selected: true };

    let mut own: Vec<CompiledRule> = Vec::new();
    for (place, rule) in streaming.event_map.iter().enumerate() {
        let mut rule = CompiledRule::compile(place + 1, rule, terms)?;
        let covering = known.iter_mut().find(|known| known.covers(&rule));
        match covering.map(|known| (known.relation_of(&rule), known)) {
            Some((Relation::Like, known)) => {
                known.standing = Standing::Needed;
                known.rule.adopt(&rule);
            }
            Some((Relation::Own, known)) => {
                known.replace_by(&mut rule);
                own.push(rule);
            }
            Some((Relation::Apart, _)) | None => own.push(rule),
        }
    }
    // Where the dialect's rule stays, one of the same kind with a narrower condition would say the same twice.
    own.retain(|rule| {
        let is_doubled = |known: &DialectRule| {
            known.standing == Standing::Needed && known.covers(rule) && known.relation_of(rule) == Relation::Own
        };
        rule.kind().is_fact() || !known.iter().any(is_doubled)
    });
    known.retain(|known| known.standing != Standing::Replaced);
    for (member, rule) in shortcuts(streaming) {
        let compiled = CompiledRule::compile(0, &rule, terms);
        let rule = compiled.map_err(|RuleError { source, .. }| CompileError::Expression { member, source })?;
        let is_covered = known.iter().any(|known| known.covers(&rule));
        if !is_covered && !own.iter().any(|own| own.kind().is_like(rule.kind())) {
            own.push(rule);
        }
    }
    Ok(known.into_iter().map(|known| known.rule).chain(own).collect())
}

impl DialectRule {
    fn relation_of(&self, rule: &CompiledRule) -> Relation {
        self.rule.relation_of(rule, &self.replaces)
    }

    /// Gives way to a manifest's rule, unless another one needs it, and leaves it the fields that it lacks where both look at
    /// the very same place. Facts are said once, so there both may stand.
    fn replace_by(&mut self, rule: &mut CompiledRule) {
        if rule.kind().is_fact() || self.standing == Standing::Needed {
            return;
        }
        self.standing = Standing::Replaced;
        if rule.primary_path() == self.rule.primary_path() {
            rule.adopt(&self.rule);
        }
    }

    /// Whether a rule of a manifest says the same, perhaps of fewer places.
    fn covers(&self, rule: &CompiledRule) -> bool {
        let Some(path) = rule.primary_path() else { return false };
        let mut places = self.rule.primary_path().into_iter().chain(&self.replaces);
        self.rule.kind().is_like(rule.kind()) && places.any(|place| path.is_instance_of(place))
    }
}

/// The paths that a manifest may give beside its rules, as rules. They count where no rule says the same kind of thing.
fn shortcuts(streaming: &Streaming) -> Vec<(&'static str, Rule)> {
    let accumulated = streaming.accumulator.as_ref().filter(|accumulator| accumulator.stateful_tool_parsing);
    let accumulated = accumulated.and_then(|accumulator| accumulator.key_path.as_ref());
    let all = [
        ("content_path", &streaming.content_path, "PartialContentDelta", "content"),
        ("tool_call_path", &streaming.tool_call_path, "PartialToolCall", "tool_calls"),
        ("usage_path", &streaming.usage_path, "Metadata", "usage"),
        ("extra_metadata_path", &streaming.extra_metadata_path, "Metadata", "usage"),
        ("accumulator.key_path", &accumulated.cloned(), "PartialToolCall", "arguments"),
    ];
    let given = all.into_iter().filter_map(|(member, path, emit, field)| Some((member, path.as_deref()?, emit, field)));
    given.map(|(member, path, emit, field)| (member, path_rule(path, emit, field))).collect()
}

/// A rule that applies where there is something at a path, and takes it.
fn path_rule(path: &str, emit: &str, field: &str) -> Rule {
    let path = rooted(path);
    let extract = [(field.to_owned(), json!(path))].into_iter().collect();
    Rule { condition: path, emit: emit.to_owned(), extract }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        stream::{
            rule::{Emission, Mapping, Match, Recipe, Selection},
            usage::{Counts, UsagePaths},
        },
        tape::{Tape, View},
    };

    /// Frames out of the names and words that the rules ask for, mostly where they ask for them, and a few others.
    fn any_frame() -> impl Strategy<Value = Value> {
        let word = prop::sample::select(vec![
            "text",
            "thinking",
            "text_delta",
            "content_block_delta",
            "content_block_start",
            "message",
            "error",
            "message_delta",
            "tool_use",
            "reasoning.encrypted",
            "response.output_text.delta",
            "other",
        ]);
        let name = prop::sample::select(vec![
            "type",
            "choices",
            "delta",
            "content",
            "message",
            "usage",
            "id",
            "model",
            "object",
            "error",
            "index",
            "candidates",
            "parts",
            "text",
            "thought",
            "finishReason",
            "finish_reason",
            "reasoning",
            "tool_calls",
            "content_block",
            "reasoning_details",
            "summary",
            "usageMetadata",
            "functionCall",
            "other",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u8>().prop_map(Value::from),
            word.prop_map(Value::from),
        ];
        let inside = leaf.prop_recursive(6, 80, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec((name.clone(), inner), 0..6).prop_map(|members| Value::Object(
                    members.into_iter().map(|(name, value)| (name.into(), value)).collect()
                )),
            ]
        });
        prop_oneof![
            inside.clone(),
            inside.clone().prop_map(|delta| json!({"type": "content_block_delta", "index": 0, "delta": delta})),
            inside
                .clone()
                .prop_map(|delta| json!({"id": "1", "choices": [{"index": 1, "delta": delta}, {"message": {}}]})),
            inside.clone().prop_map(|message| json!({"choices": [{"message": message, "finish_reason": "stop"}]})),
            inside.clone().prop_map(|part| json!({"candidates": [{"content": {"parts": [part, {"text": "x"}]}}]})),
        ]
    }

    static MAPPINGS: LazyLock<Vec<Mapping>> = LazyLock::new(|| {
        let compile = |dialect| Mapping::new(combine(Some(DialectRules::of(dialect)), None, None).unwrap());
        Dialect::ALL.into_iter().map(compile).collect()
    });

    proptest! {
        #[test]
        fn rules_find_in_what_is_kept_what_they_find_in_everything(frame in any_frame()) {
            let text = frame.to_string();
            for (mapping, dialect) in MAPPINGS.iter().zip(Dialect::ALL) {
                let (mut all, mut kept) = (Tape::new(), Tape::new());
                let expected = mapping.map(all.read(&text).unwrap());
                let found = mapping.map(kept.read_wanted(&text, mapping.wanted(), &[]).unwrap());
                prop_assert_eq!(found, expected, "{:?}", dialect);
            }
        }

        #[test]
        fn rules_find_in_frames_of_one_shape_what_they_find_in_each(frame in any_frame(), salts in prop::collection::vec(0..5_u64, 2..9)) {
            for (mapping, dialect) in MAPPINGS.iter().zip(Dialect::ALL) {
                let mut tape = Tape::new();
                let mut recipe = None;
                for salt in &salts {
                    let text = varied(&frame, *salt, &mut 0).to_string();
                    let found = found(mapping, tape.read_wanted(&text, mapping.wanted(), &[]).unwrap(), &mut recipe);
                    let mut fresh = Tape::new();
                    let expected =
                        self::found(mapping, fresh.read_wanted(&text, mapping.wanted(), &[]).unwrap(), &mut None);
                    prop_assert_eq!(found, expected, "{:?}", dialect);
                }
            }
        }
    }

    /// The same frame with other texts and counts in some places.
    fn varied(value: &Value, salt: u64, place: &mut u64) -> Value {
        *place += 1;
        let is_other = (*place * salt) % 3 == 1;
        match value {
            Value::String(text) if is_other => json!(format!("{text}{salt}")),
            Value::Number(number) if is_other => json!(number.as_u64().unwrap_or(0) + salt),
            Value::Array(list) => list.iter().map(|value| varied(value, salt, place)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, value)| (name.clone(), varied(value, salt, place))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    /// What the rules find, by the recipe where there is one; else one is made.
    fn found(mapping: &Mapping, frame: View<'_>, recipe: &mut Option<Recipe>) -> Vec<(Emission, u32, Counts)> {
        let usage = UsagePaths::new(&IndexMap::new()).unwrap();
        let mut found = Vec::new();
        let mut take = |event: Match<'_, '_>| {
            let mut counts = Counts::default();
            event.count(&usage, &mut counts);
            found.push((event.to_emission(), event.candidate(), counts));
        };
        match recipe.as_ref().filter(|recipe| recipe.is_for(frame.shape(), Selection::Passed)) {
            Some(recipe) => mapping.follow(recipe, frame, &mut take),
            None => {
                mapping.each(frame, Selection::Passed, &mut take);
                let shape = frame.shape();
                *recipe = shape.and_then(|shape| mapping.recipe(frame, shape, Selection::Passed, &usage));
            }
        }
        found
    }

    /// Whether frames like this one are read by a recipe from the third of them on.
    fn has_recipe(mapping: &Mapping, frame: &Value) -> bool {
        let (mut tape, mut recipe) = (Tape::new(), None);
        for salt in 1..4 {
            let text = varied(frame, salt, &mut 0).to_string();
            found(mapping, tape.read_wanted(&text, mapping.wanted(), &[]).unwrap(), &mut recipe);
        }
        recipe.is_some()
    }

    #[test]
    fn the_usual_frames_of_streams_have_recipes() {
        let frames = [
            json!({"id": "a", "choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": null}], "usage": null}),
            json!({"candidates": [{"content": {"parts": [{"text": "x"}], "role": "model"}, "index": 0}],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2}, "modelVersion": "m"}),
        ];
        for (dialect, frame) in [Dialect::OpenaiChat, Dialect::GeminiGenerate].into_iter().zip(&frames) {
            let mapping = Mapping::new(combine(Some(DialectRules::of(dialect)), None, None).unwrap());
            assert!(has_recipe(&mapping, frame), "{dialect:?}");
        }
    }

    #[test]
    fn rules_that_look_at_what_differs_have_no_recipe() {
        let frame = json!({"n": 1, "kind": "x", "list": [{"type": "a", "text": "y"}]});
        for (condition, path, expected) in [
            ("$.kind", "$.n", true),
            ("$.n != null && !$.gone", "$.list[*].text", true),
            ("$.n > 0", "$.n", false),
            ("$.kind == 'z' || $.n", "$.n", false),
            ("$.kind =~ '*'", "$.n", false),
            ("$.kind == $.list[0].text || $.n", "$.n", false),
            ("$.n", "$.list[?(@.type == 'a')].text", false),
        ] {
            let rule = json!({"match": condition, "emit": "Other", "extract": {"field": path}});
            let mapping = Mapping::compile(&[serde_json::from_value(rule).unwrap()]).unwrap();
            assert_eq!(has_recipe(&mapping, &frame), expected, "{condition} {path}");
        }
    }
}
