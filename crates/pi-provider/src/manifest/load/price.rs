//! Prices of a model: none is below zero, and those for long prompts stand in order.

use super::Report;
use crate::manifest::{
    declared::{ProviderPricing, is_dollars},
    diagnostic::Rule,
    model::{PriceTier, Pricing},
    tree::{Node, Tree},
};

/// Takes away prices that cannot be, and says why; sorts those for long prompts.
pub(super) fn check(pricing: &mut Pricing, node: &Node, path: &str, report: &mut Report<'_>) {
    let written = node.get("pricing").unwrap_or(node);
    let path = format!("{path}.pricing");
    if let Some(currency) = pricing.currency.as_ref().filter(|currency| !is_dollars(currency)) {
        tell_currency(currency, Rule::Models, written, &path, report);
        *pricing = Pricing { currency: pricing.currency.take(), ..Pricing::default() };
        return;
    }
    if pricing.off_peak_factor.is_some_and(|factor| !(0.0..=1.0).contains(&factor)) {
        let at = written.get("off_peak_factor").map_or(written.at, |factor| factor.at);
        let message = "what is asked for off-peak is a part of the price, between 0 and 1; it is left out";
        report.warning(Rule::Models, at, &format!("{path}.off_peak_factor"), message);
        pricing.off_peak_factor = None;
    }
    for (name, price) in prices(pricing) {
        drop_negative(price, Rule::Models, written, (name, &path), report);
    }
    for (index, tier) in pricing.tiers.iter_mut().enumerate() {
        let (index, place) = written_tier(written, tier.above_prompt_tokens).unwrap_or((index, written));
        let path = format!("{path}.tiers[{index}]");
        for (name, price) in tier_prices(tier) {
            drop_negative(price, Rule::Models, place, (name, &path), report);
        }
    }
    if !pricing.tiers.is_sorted_by_key(|tier| tier.above_prompt_tokens) {
        let at = written.get("tiers").map_or(written.at, |tiers| tiers.at);
        let message = "prices for longer prompts stand before those for shorter ones; they are taken in order";
        report.note(Rule::Models, at, &format!("{path}.tiers"), message);
        pricing.tiers.sort_by_key(|tier| tier.above_prompt_tokens);
    }
    let before = pricing.tiers.len();
    pricing.tiers.dedup_by_key(|tier| tier.above_prompt_tokens);
    if pricing.tiers.len() < before {
        let at = written.get("tiers").map_or(written.at, |tiers| tiers.at);
        let message = "two price lists begin at the same length; the first counts";
        report.warning(Rule::Models, at, &format!("{path}.tiers"), message);
    }
}

/// The same of the prices of a provider.
pub(super) fn check_provider(pricing: &mut ProviderPricing, written: &Node, path: &str, report: &mut Report<'_>) {
    if !is_dollars(&pricing.currency) {
        tell_currency(&pricing.currency, Rule::PricingSection, written, path, report);
    }
    let prices = [
        ("input_per_1k_tokens", &mut pricing.input_per_1k_tokens),
        ("output_per_1k_tokens", &mut pricing.output_per_1k_tokens),
    ];
    for (name, price) in prices {
        drop_negative(price, Rule::PricingSection, written, (name, path), report);
    }
}

fn tell_currency(currency: &str, rule: Rule, written: &Node, path: &str, report: &mut Report<'_>) {
    let at = written.get("currency").map_or(written.at, |currency| currency.at);
    let message = format!("prices in {currency} are not used: what a call costs is told in US dollars");
    report.warning(rule, at, &format!("{path}.currency"), message);
    report.hint("write the prices in US dollars, and currency: USD");
}

/// Where a tier stands: another one before it may have been left out.
fn written_tier(pricing: &Node, above: u64) -> Option<(usize, &Node)> {
    let begins = |tier: &Node| match tier.get("above_prompt_tokens").map(|node| &node.value) {
        Some(Tree::Number(number)) => number.as_u64() == Some(above),
        Some(_) | None => false,
    };
    pricing.get("tiers")?.as_list()?.iter().enumerate().find(|(_, tier)| begins(tier))
}

type Named<'a> = [(&'static str, &'a mut Option<f64>); 5];

fn prices(pricing: &mut Pricing) -> Named<'_> {
    [
        ("input_per_1m", &mut pricing.input_per_1m),
        ("output_per_1m", &mut pricing.output_per_1m),
        ("cache_hit_input_per_1m", &mut pricing.cache_hit_input_per_1m),
        ("cache_write_per_1m", &mut pricing.cache_write_per_1m),
        ("cache_write_1h_per_1m", &mut pricing.cache_write_1h_per_1m),
    ]
}

fn tier_prices(tier: &mut PriceTier) -> Named<'_> {
    [
        ("input_per_1m", &mut tier.input_per_1m),
        ("output_per_1m", &mut tier.output_per_1m),
        ("cache_hit_input_per_1m", &mut tier.cache_hit_input_per_1m),
        ("cache_write_per_1m", &mut tier.cache_write_per_1m),
        ("cache_write_1h_per_1m", &mut tier.cache_write_1h_per_1m),
    ]
}

/// `place` is the name of the price and the path of what it stands in.
fn drop_negative(price: &mut Option<f64>, rule: Rule, node: &Node, place: (&str, &str), report: &mut Report<'_>) {
    let (name, path) = place;
    if price.is_some_and(|price| price < 0.0) {
        let at = node.get(name).map_or(node.at, |price| price.at);
        report.warning(rule, at, &format!("{path}.{name}"), "a price below zero is left out");
        *price = None;
    }
}
