//! How hard a model is to think, in the provider's form.

use std::{borrow::Cow, fmt};

use indexmap::IndexMap;
use pi_transcript::ThinkingLevel;
use serde_json::{Map, Value};

use super::{
    Target,
    change::Changes,
    members::{at, merge, place, remove},
    parameters::Names,
    rules::{self, Rules},
};
use crate::{
    call::{Options, ToolChoice},
    dialect::Dialect,
    manifest::{Capability, Manifest, ModelEntry, contract::ThinkingFormat},
};

/// What stands for the level's value in a form.
const LEVEL: &str = "$level";
/// The least number of tokens that thinking is given.
const LEAST_BUDGET: u64 = 1024;
/// The least that is left for the answer itself: thinking that nothing can follow is paid for in vain.
const LEAST_ANSWER: u64 = 256;

/// What thinking does to a request beside its members.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Activation {
    /// The level in the provider's words; `None` if nothing was said about it.
    pub(super) value: Option<Value>,
    /// The model is told to think.
    pub(super) is_on: bool,
    pub(super) header: Option<(String, String)>,
    pub(super) model_suffix: Option<String>,
}

/// Puts the wanted level into `members`. Parameters that exclude thinking must be there already; `choice` is what is sent
/// about tools.
pub(super) fn activate(
    target: &Target<'_>,
    rules: &Rules,
    names: &Names<'_>,
    (options, choice): (&Options, Option<&ToolChoice>),
    members: &mut Map<String, Value>,
    changes: &mut Changes,
) -> Activation {
    let wanted = options.thinking;
    if !can_think(target) {
        if wanted != ThinkingLevel::Off {
            changes.dropped("thinking", "the model does not think");
        }
        return Activation::default();
    }
    if wanted != ThinkingLevel::Off || is_described(target) {
        merge(members, &rules.thinks);
    }
    if let Some(activation) = by_standard_field(target, wanted, members) {
        if activation.is_on {
            tell_switch(wanted, changes);
        }
        return activation;
    }
    let Some(format) = sendable(target, format_of(target, rules)) else {
        if wanted != ThinkingLevel::Off {
            changes.dropped("thinking", "models.json says that the server takes no reasoning_effort");
        }
        return Activation::default();
    };
    let format = &*format;
    if wanted == ThinkingLevel::Off && !is_described(target) {
        if options.thinking_asked && !format.silence_is_off {
            changes
                .dropped("thinking", "nobody says whether and how this model is told not to think, so it is not told");
        }
        return Activation::default();
    }
    let levels = Levels::of(target, format);
    let off = levels.value(ThinkingLevel::Off);
    let has_off = format.silence_is_off || !format.off.is_empty() || off.is_some_and(|word| !word.is_null());
    let wanted = match wanted != ThinkingLevel::Off && excludes_choice(format, choice) {
        true => {
            tell_forced_call(has_off, changes);
            ThinkingLevel::Off
        }
        false => wanted,
    };
    let nearest = levels.nearest(wanted);
    if options.thinking_asked || wanted != ThinkingLevel::Off {
        tell_misfit(&levels, nearest.as_ref().map_or(wanted, |(level, _)| *level), changes);
    }
    let Some((level, value)) = nearest else {
        merge(members, &format.off);
        if options.thinking == ThinkingLevel::Off && options.thinking_asked && !has_off {
            changes.dropped("thinking", "there is no word for off, so the model thinks as it does by itself");
        }
        return Activation::default();
    };
    let is_on = level != ThinkingLevel::Off;
    let template = if is_on || format.off.is_empty() { &format.on } else { &format.off };
    let limit = at(members, &names.place_in_body("max_tokens")).and_then(Value::as_u64);
    let limit = limit.filter(|_| format.below_max_tokens);
    let room = limit.zip(value.as_u64()).map_or(Room::Enough, |(limit, budget)| levels.room(budget, limit, level));
    let limit = limit.unwrap_or_default();
    let value = match room {
        Room::Enough => {
            tell_level(&levels, format, wanted, (level, &value), changes);
            value
        }
        Room::Less(budget) => {
            tell_level(&levels, format, wanted, (level, &value), changes);
            changes.changed("thinking", format!("{budget} tokens, to stay below max_tokens ({limit})"));
            budget.into()
        }
        Room::Least(budget) => {
            let least = format!("{budget} tokens, the least of this model, which cannot be told not to think");
            changes.changed("thinking", format!("{least}: an answer of {limit} tokens leaves no room for more"));
            budget.into()
        }
        Room::Nothing if levels.has_off() => {
            changes.dropped("thinking", format!("an answer of {limit} tokens leaves no room for it"));
            merge(members, &format.off);
            return Activation::default();
        }
        Room::Nothing => {
            let why = format!("an answer of {limit} tokens leaves no room for it");
            changes.dropped("thinking", format!("{why}, and this model cannot be told not to think"));
            return Activation::default();
        }
    };
    for (path, member) in template {
        place(members, path, filled(member, &value));
    }
    if is_on {
        remove_forbidden(format, names, members);
    }
    Activation { value: Some(value), is_on, ..Activation::default() }
}

/// Says that a tool must be called, beside which the model does not think.
fn tell_forced_call(has_off: bool, changes: &mut Changes) {
    const WHY: &str = "a tool must be called and this model does not think then";
    if has_off {
        changes.changed("thinking", format!("off, because {WHY}"));
    } else {
        changes.dropped("thinking", WHY);
    }
}

/// Says where the level that is sent is another one than it seems.
fn tell_level(
    levels: &Levels<'_>,
    format: &ThinkingFormat,
    wanted: ThinkingLevel,
    (level, value): (ThinkingLevel, &Value),
    changes: &mut Changes,
) {
    if level != wanted {
        changes.changed("thinking", format!("{wanted} is not a level of this model, {level} is"));
    }
    let is_on = level != ThinkingLevel::Off;
    if is_on && !format.on.values().any(has_level) && levels.are_several() {
        tell_switch(level, changes);
    } else if is_on && let Some(same) = levels.same(level, value) {
        changes.changed("thinking", format!("{level} is sent as {value}, as {same} is"));
    }
}

/// Says where something else stands for the level than the model's own entry has.
fn tell_misfit(levels: &Levels<'_>, level: ThinkingLevel, changes: &mut Changes) {
    if let Some(Misfit { value, measure, .. }) = levels.misfits.iter().find(|misfit| misfit.level == level.as_str()) {
        changes
            .changed("thinking", format!("{level} is written as {value}, which is no {measure}, and is sent as usual"));
    }
}

/// Of a form that only turns thinking on and off.
fn tell_switch(level: ThinkingLevel, changes: &mut Changes) {
    changes.changed("thinking", format!("{level} is sent as on: it is not said how hard this model is to think"));
}

/// Takes out what a model that thinks refuses.
fn remove_forbidden(format: &ThinkingFormat, names: &Names<'_>, members: &mut Map<String, Value>) {
    for name in &format.forbids {
        // Nothing is lost where it was not there.
        let _ = remove(members, &names.place_in_body(name));
    }
    for (name, least) in &format.at_least {
        let place = names.place_in_body(name);
        if at(members, &place).and_then(Value::as_f64).is_some_and(|value| value < *least) {
            let _ = remove(members, &place);
        }
    }
}

/// Whether anybody said how this model is told to think. Where only the provider as a whole is known to have models that
/// think, nothing is sent to keep one from it: others of its models would refuse that.
fn is_described(target: &Target<'_>) -> bool {
    let mode = &target.manifest.contract.capability_contracts.generative.reasoning_mode;
    let by_model = target.entry.is_some_and(|entry| {
        entry.model_capabilities.reasoning.is_some()
            || entry.thinking_levels.is_some()
            || entry.thinking_format.is_some()
    });
    by_model || !mode.formats.is_empty()
}

/// Whether the model thinks: its own word, else the provider's.
fn can_think(target: &Target<'_>) -> bool {
    let manifest = target.manifest;
    let of_model = target.entry.and_then(|entry| {
        let by_levels = entry.thinking_levels.is_some() || entry.thinking_format.is_some();
        entry.model_capabilities.reasoning.or(by_levels.then_some(true))
    });
    let mode = &manifest.contract.capability_contracts.generative.reasoning_mode;
    of_model.or(mode.supported).unwrap_or_else(|| {
        manifest.capabilities.has(Capability::Reasoning)
            || manifest.capabilities.feature_flags.extended_thinking == Some(true)
    })
}

/// Whether the contract's plain switch counts: nobody brings a form of ours.
fn is_switched(target: &Target<'_>) -> bool {
    let mode = &target.manifest.contract.capability_contracts.generative.reasoning_mode;
    let has_form = !mode.formats.is_empty() || target.entry.is_some_and(|entry| entry.thinking_format.is_some());
    !has_form && mode.activation_method.is_some() && mode.activation_field.is_some()
}

/// The contract's plain switch, where nobody brings a form of ours.
fn by_standard_field(
    target: &Target<'_>,
    wanted: ThinkingLevel,
    members: &mut Map<String, Value>,
) -> Option<Activation> {
    if !is_switched(target) {
        return None;
    }
    let mode = &target.manifest.contract.capability_contracts.generative.reasoning_mode;
    let (method, field) = (mode.activation_method.as_deref()?, mode.activation_field.as_deref()?);
    let is_on = wanted != ThinkingLevel::Off;
    let mut activation = Activation { value: Some(Value::Bool(is_on)), is_on, header: None, model_suffix: None };
    match method {
        "parameter" => place(members, field, Value::Bool(is_on)),
        "header" => activation.header = is_on.then(|| (field.to_owned(), "true".to_owned())),
        "model_suffix" => activation.model_suffix = is_on.then(|| field.to_owned()),
        _ => return Some(Activation::default()),
    }
    Some(activation)
}

/// The form that the model names, the contract's `default`, or the dialect's.
fn format_of<'m>(target: &Target<'m>, rules: &Rules) -> &'m ThinkingFormat {
    let formats = &target.manifest.contract.capability_contracts.generative.reasoning_mode.formats;
    let named = |name: &str| formats.get(name).or_else(|| rules::thinking_format(name));
    let by_quirk = || target.quirks().and_then(|quirks| quirks.thinking_format);
    let of_model = target.entry.and_then(|entry| entry.thinking_format.as_deref()).or_else(by_quirk).and_then(named);
    let form = of_model.or_else(|| formats.get("default")).or_else(|| rules::thinking_format(&rules.thinking));
    form.expect("the form that a dialect names exists: a test checks it")
}

/// What stands for the levels of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Tokens,
    Words,
}

/// A level of a model for which something stands that its form cannot carry.
pub(crate) struct Misfit {
    pub(crate) level: String,
    pub(crate) value: Value,
    /// What its form carries.
    pub(crate) measure: Measure,
}

impl Measure {
    /// That of a form whose levels are all of one kind; `None` where anything may stand for a level.
    fn of(format: &ThinkingFormat) -> Option<Self> {
        let written = || format.levels.values().filter(|value| !value.is_null());
        written().next()?;
        if written().all(Value::is_number) {
            return Some(Self::Tokens);
        }
        written().all(Value::is_string).then_some(Self::Words)
    }

    fn carries(self, value: &Value) -> bool {
        match self {
            Self::Tokens => value.is_number() || value.is_null(),
            Self::Words => !value.is_number(),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tokens => "number of tokens",
            Self::Words => "word",
        })
    }
}

/// The levels of a model that are not sent as they are written.
pub(crate) fn misfits(manifest: &Manifest, entry: &ModelEntry) -> Vec<Misfit> {
    let target = Target { manifest, model: "", entry: Some(entry), base_url: None, lookup: &|_| None };
    let mode = &manifest.contract.capability_contracts.generative.reasoning_mode;
    let is_known = |name: &String| mode.formats.contains_key(name) || rules::thinking_format(name).is_some();
    // A contract that stands beside the manifest may bring the form that is named.
    if !can_think(&target) || is_switched(&target) || !entry.thinking_format.as_ref().is_none_or(is_known) {
        return Vec::new();
    }
    let format = format_of(&target, Rules::of(Dialect::of(manifest, Some(entry))));
    entry.thinking_levels.as_ref().map_or_else(Vec::new, |levels| unfit(levels, format))
}

fn unfit(levels: &IndexMap<String, Value>, format: &ThinkingFormat) -> Vec<Misfit> {
    let Some(measure) = Measure::of(format) else { return Vec::new() };
    let unfit = levels.iter().filter(|(_, value)| !measure.carries(value));
    unfit.map(|(level, value)| Misfit { level: level.clone(), value: value.clone(), measure }).collect()
}

/// The form as far as the server takes it; `None` if nothing is left with which the model could be told to think.
fn sendable<'m>(target: &Target<'m>, format: &'m ThinkingFormat) -> Option<Cow<'m, ThinkingFormat>> {
    const EFFORT: &str = "reasoning_effort";
    let Some(quirks) = target.quirks() else { return Some(Cow::Borrowed(format)) };
    let has_effort = format.on.contains_key(EFFORT);
    if quirks.reasoning_effort == Some(false) && has_effort {
        let mut format = format.clone();
        format.on.shift_remove(EFFORT);
        format.off.shift_remove(EFFORT);
        return (!format.on.is_empty()).then_some(Cow::Owned(format));
    }
    if quirks.effort_beside && !has_effort {
        let mut format = format.clone();
        format.on.insert(EFFORT.to_owned(), LEVEL.into());
        return Some(Cow::Owned(format));
    }
    Some(Cow::Borrowed(format))
}

fn excludes_choice(format: &ThinkingFormat, choice: Option<&ToolChoice>) -> bool {
    let is_forced = match choice {
        Some(ToolChoice::Required | ToolChoice::Tool(_)) => true,
        Some(ToolChoice::Auto | ToolChoice::None) | None => false,
    };
    is_forced && format.forbids.iter().any(|name| name == "tool_choice")
}

/// How much of the tokens of a level the limit of the answer leaves.
enum Room {
    Enough,
    Less(u64),
    /// So much thinks a model that cannot be told not to.
    Least(u64),
    Nothing,
}

/// The levels of a model and what stands for each.
struct Levels<'a> {
    named: Cow<'a, IndexMap<String, Value>>,
    /// Those in whose place the form's own stand.
    misfits: Vec<Misfit>,
}

impl<'a> Levels<'a> {
    /// The model's own, else those of the form.
    fn of(target: &Target<'a>, format: &'a ThinkingFormat) -> Self {
        let of_model = target.entry.and_then(|entry| Some((entry.thinking_levels.as_ref()?, entry.has_usual_levels)));
        let named = match of_model {
            None => Cow::Borrowed(&format.levels),
            Some((levels, false)) => Cow::Borrowed(levels),
            Some((levels, true)) => Cow::Owned(with_usual(levels, format)),
        };
        let misfits = unfit(&named, format);
        let named = if misfits.is_empty() { named } else { Cow::Owned(fitted(&named, &misfits, format)) };
        Self { named, misfits }
    }

    /// The wanted level, or the next weaker one that exists, or the weakest stronger one, or off where there is no other,
    /// with what stands for it. `None` means that nothing stands for it: thinking is off and there is no word for that.
    fn nearest(&self, wanted: ThinkingLevel) -> Option<(ThinkingLevel, Value)> {
        let with = |level: ThinkingLevel| self.value(level).map(|value| (level, value));
        let found = match wanted {
            ThinkingLevel::Off => with(wanted),
            ThinkingLevel::Minimal
            | ThinkingLevel::Low
            | ThinkingLevel::Medium
            | ThinkingLevel::High
            | ThinkingLevel::Xhigh
            | ThinkingLevel::Max => {
                let weaker = ThinkingLevel::ALL
                    .into_iter()
                    .rev()
                    .filter(|level| (ThinkingLevel::Minimal..=wanted).contains(level));
                weaker.map(with).find(Option::is_some).flatten()
            }
        };
        let stronger =
            || ThinkingLevel::ALL.into_iter().filter(|level| *level > wanted).map(with).find(Option::is_some);
        let found = found.or_else(|| stronger().flatten()).or_else(|| with(ThinkingLevel::Off))?;
        (found != (ThinkingLevel::Off, Value::Null)).then_some(found)
    }

    /// What stands for a level. A number of tokens is never smaller than that of a weaker level, whatever is written.
    fn value(&self, level: ThinkingLevel) -> Option<Value> {
        let value = self.written(level)?;
        let weaker = self.budgets(level).max();
        Some(match (value.as_u64(), weaker) {
            (Some(budget), Some(weaker)) => budget.max(weaker).into(),
            (Some(_), None) | (None, _) => value,
        })
    }

    /// Whether the model can be told not to think.
    fn has_off(&self) -> bool {
        self.value(ThinkingLevel::Off).is_some()
    }

    /// Whether there is more than one way to think.
    fn are_several(&self) -> bool {
        let is_on = |level: &ThinkingLevel| *level != ThinkingLevel::Off && self.value(*level).is_some();
        ThinkingLevel::ALL.into_iter().filter(is_on).nth(1).is_some()
    }

    /// Another level that is sent as the same, unless this is the one that the value names.
    fn same(&self, level: ThinkingLevel, value: &Value) -> Option<ThinkingLevel> {
        let others =
            ThinkingLevel::ALL.into_iter().filter(|other| !matches!(other, ThinkingLevel::Off) && *other != level);
        let is_own = value.as_str() == Some(level.as_str());
        others.filter(|_| !is_own).find(|other| self.value(*other).as_ref() == Some(value))
    }

    fn written(&self, level: ThinkingLevel) -> Option<Value> {
        match self.named.get(level.as_str()) {
            Some(Value::Null) => None,
            Some(value) => Some(value.clone()),
            // Off exists unless it is excluded; other levels only where none is named at all.
            None if level == ThinkingLevel::Off => Some(Value::Null),
            None => self.named.is_empty().then(|| Value::String(level.as_str().to_owned())),
        }
    }

    /// The numbers of tokens of the levels below this one.
    fn budgets(&self, below: ThinkingLevel) -> impl Iterator<Item = u64> {
        let weaker = ThinkingLevel::ALL.into_iter().filter(move |level| *level < below);
        weaker.filter_map(|level| self.named.get(level.as_str()).and_then(Value::as_u64))
    }

    /// How much of a level's number of tokens fits below the limit of the answer.
    fn room(&self, budget: u64, limit: u64, level: ThinkingLevel) -> Room {
        if leaves_an_answer(budget, limit) {
            return Room::Enough;
        }
        if let Some(less) = self.budget_within(limit, level) {
            return Room::Less(less);
        }
        let numbers = self.named.values().filter_map(Value::as_u64);
        match numbers.filter(|number| *number > 0 && *number < limit).min() {
            Some(least) if !self.has_off() && least == budget => Room::Enough,
            Some(least) if !self.has_off() => Room::Least(least),
            Some(_) | None => Room::Nothing,
        }
    }

    /// A number of tokens below the limit of the answer, `None` if there is no room for thinking.
    ///
    /// Half of the answer is left for the answer itself, as far as thinking can do with less. But a level never thinks
    /// less than a weaker one whose own number of tokens fits.
    fn budget_within(&self, limit: u64, level: ThinkingLevel) -> Option<u64> {
        let half = leaves_an_answer(LEAST_BUDGET, limit).then(|| (limit / 2).max(LEAST_BUDGET));
        let weaker = self.budgets(level).filter(|budget| leaves_an_answer(*budget, limit)).max();
        half.max(weaker)
    }
}

fn leaves_an_answer(budget: u64, limit: u64) -> bool {
    budget.saturating_add(LEAST_ANSWER) <= limit
}

/// The levels of a model with those of its form that it does not name. The two strongest exist only where they are named.
fn with_usual(levels: &IndexMap<String, Value>, format: &ThinkingFormat) -> IndexMap<String, Value> {
    let mut all = levels.clone();
    for level in ThinkingLevel::ALL.into_iter().filter(|level| *level <= ThinkingLevel::High) {
        let usual = match format.levels.get(level.as_str()) {
            // A form without levels of its own has all, and off where nothing stands for it.
            None if format.levels.is_empty() && level != ThinkingLevel::Off => Some(level.as_str().into()),
            usual => usual.cloned(),
        };
        if let Some(usual) = usual.filter(|_| !all.contains_key(level.as_str())) {
            all.insert(level.as_str().to_owned(), usual);
        }
    }
    all
}

/// The levels with the form's own in the place of those that it cannot carry. One that the form does not have is none, but for
/// off, which needs no value.
fn fitted(levels: &IndexMap<String, Value>, misfits: &[Misfit], format: &ThinkingFormat) -> IndexMap<String, Value> {
    let mut fitted = levels.clone();
    for Misfit { level, .. } in misfits {
        let own = format.levels.get(level).cloned();
        match own {
            None if *level == ThinkingLevel::Off.as_str() => {
                fitted.shift_remove(level);
            }
            own => {
                fitted.insert(level.clone(), own.unwrap_or_default());
            }
        }
    }
    // Where nothing is named, every level would stand for itself.
    if fitted.is_empty() { format.levels.clone() } else { fitted }
}

/// The template with the level's value in it.
fn filled(template: &Value, level: &Value) -> Value {
    match template {
        Value::String(text) if text == LEVEL => level.clone(),
        Value::Array(items) => items.iter().map(|item| filled(item, level)).collect(),
        Value::Object(members) => members.iter().map(|(name, member)| (name.clone(), filled(member, level))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => template.clone(),
    }
}

/// Whether the level stands anywhere in a template.
fn has_level(template: &Value) -> bool {
    match template {
        Value::String(text) => text == LEVEL,
        Value::Array(items) => items.iter().any(has_level),
        Value::Object(members) => members.values().any(has_level),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
