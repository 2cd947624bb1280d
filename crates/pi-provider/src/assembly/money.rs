//! What an answer consumed, in tokens and in money.

use pi_transcript::{
    Cost, Usage,
    json::{Amount, Extra},
};

use crate::{event::TokenUsage, manifest::model::Pricing};

/// What a transcript keeps of the provider's counts. Without prices the money is zero.
///
/// Where there is no price for the cache, its tokens cost as much as any others. What is kept for an hour costs twice the
/// price of input, which is what the one provider asks that has it.
pub fn usage(counted: &TokenUsage, pricing: Option<&Pricing>) -> Usage {
    let (cache_read, cache_write) = (counted.cache_read.unwrap_or(0), counted.cache_write.unwrap_or(0));
    let cached = cache_read.saturating_add(cache_write);
    let input = counted.prompt.unwrap_or(0).saturating_sub(cached);
    let output = counted.completion.unwrap_or(0);
    let kept_long = counted.cache_write_1h.unwrap_or(0).min(cache_write);

    let pricing = pricing.copied().unwrap_or_default();
    let base = pricing.input_per_1m.unwrap_or(0.0);
    let price = |tokens: u64, per_million: f64| tokens as f64 * per_million;
    let costs = [
        price(input, base),
        price(output, pricing.output_per_1m.unwrap_or(0.0)),
        price(cache_read, pricing.cache_hit_input_per_1m.unwrap_or(base)),
        price(cache_write - kept_long, pricing.cache_write_per_1m.unwrap_or(base)) + price(kept_long, 2.0 * base),
    ];
    let costs = costs.map(|millionths| millionths / 1e6);
    let total = costs.iter().sum();
    let [input_cost, output_cost, read_cost, write_cost] = costs.map(amount);
    Usage {
        input,
        output,
        cache_read,
        cache_write,
        cache_write_1h: counted.cache_write_1h,
        reasoning: counted.reasoning,
        total_tokens: Some(counted.total.unwrap_or_else(|| input.saturating_add(output).saturating_add(cached))),
        cost: Cost {
            input: input_cost,
            output: output_cost,
            cache_read: read_cost,
            cache_write: write_cost,
            total: amount(total),
            total_from_provider: counted.cost.map(amount),
            extra: Extra::new(),
        },
        extra: Extra::new(),
    }
}

/// Prices are finite; what a manifest writes beyond that is worth nothing.
fn amount(dollars: f64) -> Amount {
    Amount::try_from(dollars).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_token_has_its_price() {
        let counted = TokenUsage {
            prompt: Some(1_000_000),
            completion: Some(500_000),
            total: None,
            reasoning: Some(100),
            cache_read: Some(200_000),
            cache_write: Some(300_000),
            cache_write_1h: Some(100_000),
            cost: Some(9.5),
        };
        let pricing = Pricing {
            input_per_1m: Some(2.0),
            output_per_1m: Some(8.0),
            cache_hit_input_per_1m: Some(0.5),
            cache_write_per_1m: Some(2.5),
        };
        let expected = json!({
            "input": 500_000, "output": 500_000, "cacheRead": 200_000, "cacheWrite": 300_000, "cacheWrite1h": 100_000,
            "reasoning": 100, "totalTokens": 1_500_000,
            "cost": {"input": 1, "output": 4, "cacheRead": 0.1, "cacheWrite": 0.9, "total": 6, "totalFromProvider": 9.5},
        });
        assert_eq!(serde_json::to_value(usage(&counted, Some(&pricing))).unwrap(), expected);
    }

    #[test]
    fn without_prices_and_counts_everything_is_zero() {
        let expected = json!({
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
        });
        assert_eq!(serde_json::to_value(usage(&TokenUsage::default(), None)).unwrap(), expected);
    }
}
