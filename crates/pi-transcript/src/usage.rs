//! What a model call consumed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::json::{Amount, Extra, present};

/// Tokens and money of one model call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Usage {
    /// Tokens sent that no cache held.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The part of `cache_write` that is kept for an hour.
    #[serde(rename = "cacheWrite1h")]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
    /// The part of `output` that was thinking.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// As the provider counts; the first files did not have it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    pub cost: Cost,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Money, in US dollars.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Cost {
    pub input: Amount,
    pub output: Amount,
    pub cache_read: Amount,
    pub cache_write: Amount,
    pub total: Amount,
    /// What the provider itself said the call costs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub total_from_provider: Option<Amount>,
    /// Ours: the price of some tokens is not known, and the total is what they cost at least.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub at_least: Option<bool>,
    /// Ours: what they cost at most then, where that is known.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub total_at_most: Option<Amount>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// What was spent, in US dollars, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spent {
    Exact(f64),
    Between(f64, f64),
    AtLeast(f64),
}

impl Spent {
    /// What it is at least; sums and comparisons go by it.
    pub const fn least(self) -> f64 {
        match self {
            Self::Exact(sum) | Self::Between(sum, _) | Self::AtLeast(sum) => sum,
        }
    }

    /// In words, with so many digits behind the point: `$0.12`, `$0.10–0.12` or `at least $0.10`.
    pub fn words(self, digits: usize) -> String {
        match self {
            Self::Exact(sum) => format!("${sum:.digits$}"),
            Self::Between(least, most) => format!("${least:.digits$}–{most:.digits$}"),
            Self::AtLeast(sum) => format!("at least ${sum:.digits$}"),
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let least = self.least() + other.least();
        match (self.most(), other.most()) {
            (Some(own), Some(other)) if own + other > least => Self::Between(least, own + other),
            (Some(_), Some(_)) => Self::Exact(least),
            (None, _) | (_, None) => Self::AtLeast(least),
        }
    }

    const fn most(self) -> Option<f64> {
        match self {
            Self::Exact(sum) | Self::Between(_, sum) => Some(sum),
            Self::AtLeast(_) => None,
        }
    }
}

impl Cost {
    /// The total: what the provider said, else what was computed.
    pub fn spent(&self) -> Spent {
        let total = self.best().as_f64();
        match (self.at_least, &self.total_at_most) {
            (Some(true), Some(most)) => Spent::Between(total, most.as_f64()),
            (Some(true), None) => Spent::AtLeast(total),
            (Some(false) | None, _) => Spent::Exact(total),
        }
    }

    fn best(&self) -> &Amount {
        self.total_from_provider.as_ref().unwrap_or(&self.total)
    }

    fn most(&self) -> Option<&Amount> {
        if self.at_least == Some(true) { self.total_at_most.as_ref() } else { Some(self.best()) }
    }

    fn add(&mut self, other: &Self) {
        // A call whose provider said what it costs counts with that, one beside it with what was computed.
        let is_told = self.total_from_provider.is_some() || other.total_from_provider.is_some();
        let told = is_told.then(|| self.best().plus(other.best()));
        let at_least = (self.at_least == Some(true) || other.at_least == Some(true)).then_some(true);
        let most = self.most().zip(other.most()).map(|(own, other)| own.plus(other));
        self.total_at_most = at_least.and(most);
        self.at_least = at_least;
        let pairs = [
            (&mut self.input, &other.input),
            (&mut self.output, &other.output),
            (&mut self.cache_read, &other.cache_read),
            (&mut self.cache_write, &other.cache_write),
            (&mut self.total, &other.total),
        ];
        for (own, other) in pairs {
            *own = own.plus(other);
        }
        self.total_from_provider = told;
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

impl Usage {
    /// Adds what another call consumed. Members that we do not know stay as they are.
    pub fn add(&mut self, other: &Self) {
        let total = self.total().saturating_add(other.total());
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_write_1h = sum(self.cache_write_1h, other.cache_write_1h);
        self.reasoning = sum(self.reasoning, other.reasoning);
        self.total_tokens = Some(total);
        self.cost.add(&other.cost);
    }

    /// All tokens: as the provider counted them, or else the sum of the parts.
    pub fn total(&self) -> u64 {
        let parts = [self.output, self.cache_read, self.cache_write];
        self.total_tokens.unwrap_or_else(|| parts.into_iter().fold(self.input, u64::saturating_add))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(total: f64, told: Option<f64>, most: Option<Option<f64>>) -> Cost {
        let amount = |sum| Amount::try_from(sum).unwrap();
        Cost {
            total: amount(total),
            total_from_provider: told.map(amount),
            at_least: most.is_some().then_some(true),
            total_at_most: most.flatten().map(amount),
            ..Cost::default()
        }
    }

    #[test]
    fn sums_know_what_is_not_known_and_count_each_call_once() {
        let exact = cost(2.0, None, None);
        let told = cost(7.0, Some(3.0), None);
        let range = cost(1.0, None, Some(Some(1.5)));
        let open = cost(1.0, None, Some(None));
        for (one, other, expected) in [
            (&exact, &exact, Spent::Exact(4.0)),
            (&exact, &told, Spent::Exact(5.0)),
            (&told, &exact, Spent::Exact(5.0)),
            (&exact, &range, Spent::Between(3.0, 3.5)),
            (&range, &told, Spent::Between(4.0, 4.5)),
            (&range, &open, Spent::AtLeast(2.0)),
            (&open, &exact, Spent::AtLeast(3.0)),
        ] {
            let mut sum = one.clone();
            sum.add(other);
            assert_eq!(sum.spent(), expected);
            assert_eq!(one.spent().and(other.spent()), expected);
        }
    }

    #[test]
    fn words_say_how_far_a_sum_can_be_trusted() {
        for (spent, expected) in [
            (Spent::Exact(0.25), "$0.250"),
            (Spent::Between(0.25, 0.5), "$0.250–0.500"),
            (Spent::AtLeast(1.0), "at least $1.000"),
        ] {
            assert_eq!(spent.words(3), expected);
        }
    }
}
