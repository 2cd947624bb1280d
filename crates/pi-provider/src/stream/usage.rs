//! Counts of tokens in every provider's form.

use std::sync::LazyLock;

use indexmap::IndexMap;
use serde::Deserialize;

use crate::{
    event::TokenUsage,
    path::{
        Path,
        syntax::SyntaxError,
        tree::{Scalar, Tree},
    },
    tape::View,
};

/// Where the counts are, compiled.
#[derive(Debug, Clone)]
pub struct UsagePaths {
    places: Places<UsagePath>,
    /// The names at which the paths start, each with its bit.
    names: Vec<(Box<str>, u64)>,
}

/// A path that is followed only where its first member is there. Most members of most usages have other names, and every
/// frame of some providers has a usage.
#[derive(Debug, Clone)]
struct UsagePath {
    path: Path,
    /// The bit of its first name; none where it has no such bit.
    first: u64,
}

/// For each count the places where it may be; see `rules/usage.yaml`.
#[derive(Debug, Clone, Deserialize)]
struct Places<P> {
    prompt: Vec<P>,
    prompt_beside: Vec<P>,
    completion: Vec<P>,
    total: Vec<P>,
    reasoning_within: Vec<P>,
    reasoning_beside: Vec<P>,
    cache_read_within: Vec<P>,
    cache_read_beside: Vec<P>,
    cache_write_within: Vec<P>,
    cache_write_beside: Vec<P>,
    cache_write_1h: Vec<P>,
    billed_prompt: Vec<P>,
    billed_completion: Vec<P>,
    cost: Vec<P>,
    currency: Vec<P>,
}

/// What is counted; see `rules/usage.yaml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    Prompt,
    PromptBeside,
    Completion,
    Total,
    ReasoningWithin,
    ReasoningBeside,
    CacheReadWithin,
    CacheReadBeside,
    CacheWriteWithin,
    CacheWriteBeside,
    CacheWrite1h,
    BilledPrompt,
    BilledCompletion,
    Cost,
    Currency,
}

/// What has been counted so far, in the provider's terms. Counts of a stream never shrink, so the largest is the latest;
/// a later zero means that the provider does not repeat itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    prompt: Option<u64>,
    prompt_beside: Option<u64>,
    completion: Option<u64>,
    total: Option<u64>,
    reasoning_within: Option<u64>,
    reasoning_beside: Option<u64>,
    cache_read_within: Option<u64>,
    cache_read_beside: Option<u64>,
    cache_write_within: Option<u64>,
    cache_write_beside: Option<u64>,
    cache_write_1h: Option<u64>,
    billed_prompt: Option<u64>,
    billed_completion: Option<u64>,
    cost: Option<f64>,
    /// The cost is not in US dollars.
    is_foreign: bool,
}

static BUILT_IN: LazyLock<Places<Path>> = LazyLock::new(|| {
    let places: Places<String> =
        serde_saphyr::from_str(include_str!("../../rules/usage.yaml")).expect("rules/usage.yaml is read by a test");
    let mut compile = |path: String| Path::parse(&path).expect("paths in rules/usage.yaml are read by a test");
    places.map(&mut compile)
});

/// A path of a contract, which is written from the root of an answer or from its usage.
pub(crate) fn contract_path(path: &str) -> Result<Path, SyntaxError> {
    Path::parse(path.trim_start_matches("$.").trim_start_matches("usage.").trim_start_matches("usageMetadata."))
}

impl UsagePaths {
    /// The places that are known, with those of a contract's `token_usage_fields` before them.
    pub fn new(contract: &IndexMap<String, String>) -> Result<Self, SyntaxError> {
        let mut places = BUILT_IN.clone();
        for (name, path) in contract {
            let place = match name.as_str() {
                "prompt_tokens" | "input_tokens" => &mut places.prompt,
                "completion_tokens" | "output_tokens" => &mut places.completion,
                "total_tokens" => &mut places.total,
                "reasoning_tokens" => &mut places.reasoning_within,
                // Whether these are part of the prompt is in the built-in table; a contract does not say.
                "cache_read_tokens" if !is_listed(&places.cache_read_beside, path)? => &mut places.cache_read_within,
                "cache_creation_tokens" if !is_listed(&places.cache_write_beside, path)? => {
                    &mut places.cache_write_within
                }
                _ => continue,
            };
            place.insert(0, contract_path(path)?);
        }
        let mut names: Vec<(Box<str>, u64)> = Vec::new();
        let places = places.map(&mut |path: Path| {
            let first = path.first_name().map_or(0, |name| bit(&mut names, name));
            UsagePath { path, first }
        });
        Ok(Self { places, names })
    }

    /// Reads the usage of an answer or of a frame, and adds what it says to what was known.
    pub fn add<'a, T: Tree<'a>>(&self, usage: T, counts: &mut Counts) {
        self.each(usage, &mut |count, place| counts.add(count, place));
    }

    /// Where the counts of a usage are in every text of its shape; `None` if that depends on more than the shape.
    pub(super) fn places(&self, usage: View<'_>) -> Option<Box<[(Count, u32)]>> {
        if self.places.all().iter().any(|(_, paths)| paths.iter().any(|place| place.path.has_filter())) {
            return None;
        }
        let mut places = Vec::new();
        self.each(usage, &mut |count, view| places.push((count, view.place())));
        Some(places.into())
    }

    /// Hands on each count that is there.
    fn each<'a, T: Tree<'a>>(&self, usage: T, visit: &mut dyn FnMut(Count, T)) {
        let mut present = 0;
        usage.each_name(&mut |name| {
            let bit = self.names.iter().find(|(own, _)| **own == *name).map_or(0, |(_, bit)| *bit);
            present |= bit;
        });
        for (count, paths) in self.places.all() {
            let is_present = |path: &&UsagePath| path.first & present == path.first;
            let mut places = paths.iter().filter(is_present).filter_map(|place| place.path.first(usage));
            if let Some(place) = places.find(|place| count.is_at(*place)) {
                visit(count, place);
            }
        }
    }
}

impl Count {
    /// Whether what stands at a place can be this count.
    fn is_at<'a, T: Tree<'a>>(self, place: T) -> bool {
        match self {
            Self::Cost => money(place).is_some(),
            Self::Currency => matches!(place.scalar(), Scalar::Text(_)),
            Self::Prompt
            | Self::PromptBeside
            | Self::Completion
            | Self::Total
            | Self::ReasoningWithin
            | Self::ReasoningBeside
            | Self::CacheReadWithin
            | Self::CacheReadBeside
            | Self::CacheWriteWithin
            | Self::CacheWriteBeside
            | Self::CacheWrite1h
            | Self::BilledPrompt
            | Self::BilledCompletion => whole(place).is_some(),
        }
    }
}

impl Counts {
    /// Adds what stands at the place of a count.
    pub(super) fn add<'a, T: Tree<'a>>(&mut self, count: Count, place: T) {
        let known = match count {
            Count::Cost => {
                self.cost = money(place).or(self.cost);
                return;
            }
            Count::Currency => {
                self.is_foreign = matches!(place.scalar(), Scalar::Text(text) if !text.eq_ignore_ascii_case("USD"));
                return;
            }
            Count::Prompt => &mut self.prompt,
            Count::PromptBeside => &mut self.prompt_beside,
            Count::Completion => &mut self.completion,
            Count::Total => &mut self.total,
            Count::ReasoningWithin => &mut self.reasoning_within,
            Count::ReasoningBeside => &mut self.reasoning_beside,
            Count::CacheReadWithin => &mut self.cache_read_within,
            Count::CacheReadBeside => &mut self.cache_read_beside,
            Count::CacheWriteWithin => &mut self.cache_write_within,
            Count::CacheWriteBeside => &mut self.cache_write_beside,
            Count::CacheWrite1h => &mut self.cache_write_1h,
            Count::BilledPrompt => &mut self.billed_prompt,
            Count::BilledCompletion => &mut self.billed_completion,
        };
        raise(known, whole(place));
    }

    /// Adds counts that a rule names one by one.
    pub fn raise(&mut self, prompt: Option<u64>, completion: Option<u64>, total: Option<u64>) {
        raise(&mut self.prompt, prompt);
        raise(&mut self.completion, completion);
        raise(&mut self.total, total);
    }

    /// The same in standard terms.
    pub fn to_usage(&self) -> TokenUsage {
        let sum = |first: Option<u64>, others: &[Option<u64>]| {
            first.map(|first| others.iter().flatten().fold(first, |sum, other| sum.saturating_add(*other)))
        };
        let prompt = sum(self.prompt, &[self.prompt_beside, self.cache_read_beside, self.cache_write_beside]);
        let mut completion = sum(self.completion, &[self.reasoning_beside]);
        // xAI does not count thinking as part of the answer, which only its total shows.
        if let (Some(prompt), Some(answer), Some(reasoning), Some(total)) =
            (prompt, completion, self.reasoning_within, self.total)
            && reasoning > 0
            && prompt.checked_add(answer).and_then(|sum| sum.checked_add(reasoning)) == Some(total)
        {
            completion = Some(answer + reasoning);
        }
        TokenUsage {
            prompt,
            completion,
            // A total of nothing beside counts of something was not counted.
            total: self.total.filter(|total| *total > 0),
            reasoning: self.reasoning_within.or(self.reasoning_beside),
            cache_read: self.cache_read_beside.or(self.cache_read_within),
            cache_write: self.cache_write_beside.or(self.cache_write_within),
            cache_write_1h: self.cache_write_1h,
            billed_prompt: self.billed_prompt,
            billed_completion: self.billed_completion,
            cost: self.cost.filter(|_| !self.is_foreign),
        }
    }
}

impl<P> Places<P> {
    /// All of them, each with what it counts.
    fn all(&self) -> [(Count, &[P]); 15] {
        [
            (Count::Prompt, &self.prompt),
            (Count::PromptBeside, &self.prompt_beside),
            (Count::Completion, &self.completion),
            (Count::Total, &self.total),
            (Count::ReasoningWithin, &self.reasoning_within),
            (Count::ReasoningBeside, &self.reasoning_beside),
            (Count::CacheReadWithin, &self.cache_read_within),
            (Count::CacheReadBeside, &self.cache_read_beside),
            (Count::CacheWriteWithin, &self.cache_write_within),
            (Count::CacheWriteBeside, &self.cache_write_beside),
            (Count::CacheWrite1h, &self.cache_write_1h),
            (Count::BilledPrompt, &self.billed_prompt),
            (Count::BilledCompletion, &self.billed_completion),
            (Count::Cost, &self.cost),
            (Count::Currency, &self.currency),
        ]
    }

    fn map<Q>(self, change: &mut dyn FnMut(P) -> Q) -> Places<Q> {
        let mut all = |paths: Vec<P>| paths.into_iter().map(&mut *change).collect();
        Places {
            prompt: all(self.prompt),
            prompt_beside: all(self.prompt_beside),
            completion: all(self.completion),
            total: all(self.total),
            reasoning_within: all(self.reasoning_within),
            reasoning_beside: all(self.reasoning_beside),
            cache_read_within: all(self.cache_read_within),
            cache_read_beside: all(self.cache_read_beside),
            cache_write_within: all(self.cache_write_within),
            cache_write_beside: all(self.cache_write_beside),
            cache_write_1h: all(self.cache_write_1h),
            billed_prompt: all(self.billed_prompt),
            billed_completion: all(self.billed_completion),
            cost: all(self.cost),
            currency: all(self.currency),
        }
    }
}

/// The bit of a name. Names beyond those that have one get none, and their paths are always followed.
fn bit(names: &mut Vec<(Box<str>, u64)>, name: &str) -> u64 {
    if let Some((_, bit)) = names.iter().find(|(own, _)| **own == *name) {
        return *bit;
    }
    let bit = u32::try_from(names.len()).ok().and_then(|place| 1_u64.checked_shl(place)).unwrap_or_default();
    names.push((name.into(), bit));
    bit
}

fn is_listed(places: &[Path], path: &str) -> Result<bool, SyntaxError> {
    let path = contract_path(path)?;
    Ok(places.iter().any(|place| path.ends_with(place)))
}

fn raise(count: &mut Option<u64>, new: Option<u64>) {
    *count = (*count).max(new);
}

/// The count at a place, if there is one.
fn whole<'a, T: Tree<'a>>(place: T) -> Option<u64> {
    match place.scalar() {
        Scalar::Number(number) => number.as_u64().or_else(|| {
            // Cohere counts in doubles.
            let double = number.as_f64().filter(|double| double.fract() == 0.0 && (0.0..1e15).contains(double));
            double.map(|double| double as u64)
        }),
        Scalar::Null | Scalar::Bool(_) | Scalar::Text(_) | Scalar::Array | Scalar::Object => None,
    }
}

/// The money at a place, if there is some.
fn money<'a, T: Tree<'a>>(place: T) -> Option<f64> {
    match place.scalar() {
        Scalar::Number(number) => number.as_f64().filter(|cost| cost.is_finite() && *cost >= 0.0),
        Scalar::Null | Scalar::Bool(_) | Scalar::Text(_) | Scalar::Array | Scalar::Object => None,
    }
}
