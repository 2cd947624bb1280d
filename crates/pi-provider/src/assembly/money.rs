//! What an answer consumed, in tokens and in money.

use pi_transcript::{
    Cost, Usage,
    json::{Amount, Extra},
};

use crate::{event::TokenUsage, manifest::model::Pricing};

/// What a transcript keeps of the provider's counts. Without prices the money is zero. The prices are those for a prompt
/// of this length.
///
/// Where something that was used has no price, the sum is what it costs at least, and [`Cost`] says so: reading from a
/// cache costs something between nothing and the price of input, writing into one that price or more, and keeping it for an
/// hour as much as that or more. So it is where more than tokens is charged. Where the price depends on the hour, the sum is
/// that of the cheapest one, and at most that of the dearest.
pub fn usage(counted: &TokenUsage, pricing: Option<&Pricing>) -> Usage {
    let (cache_read, cache_write) = (counted.cache_read.unwrap_or(0), counted.cache_write.unwrap_or(0));
    let cached = cache_read.saturating_add(cache_write);
    let input = counted.prompt.unwrap_or(0).saturating_sub(cached);
    let output = counted.completion.unwrap_or(0);
    let charged_input = counted.billed_prompt.map_or(input, |billed| billed.min(input));
    let charged_output = counted.billed_completion.unwrap_or(output);
    let kept_long = counted.cache_write_1h.unwrap_or(0).min(cache_write);

    let prices = pricing.map(|pricing| pricing.of_prompt(counted.prompt.unwrap_or(0))).unwrap_or_default();
    let base = prices.input.unwrap_or(0.0);
    let write = prices.cache_write.unwrap_or(base);
    let price = |tokens: u64, per_million: f64| tokens as f64 * per_million;
    let written = cache_write - kept_long;
    let costs = [
        price(charged_input, base),
        price(charged_output, prices.output.unwrap_or(0.0)),
        price(cache_read, prices.cache_read.unwrap_or(0.0)),
        price(written, write) + price(kept_long, prices.cache_write_1h.unwrap_or(write)),
    ];
    let dearest: f64 = costs.iter().sum::<f64>() / 1e6;
    let factor = pricing.and_then(|pricing| pricing.off_peak_factor).unwrap_or(1.0);
    let costs = costs.map(|millionths| millionths / 1e6 * factor);
    let total: f64 = costs.iter().sum();
    // What the provider says is certain, and where nobody has a price nothing is claimed.
    let is_open =
        |tokens: u64, price: Option<f64>| tokens > 0 && price.is_none() && counted.cost.is_none() && pricing.is_some();
    // Whoever asks nothing for input asks nothing for what it keeps of it.
    let is_open_cache = |tokens: u64, price: Option<f64>| is_open(tokens, price) && prices.input != Some(0.0);
    let reads = is_open_cache(cache_read, prices.cache_read);
    let has_fees = counted.cost.is_none() && pricing.is_some_and(|pricing| pricing.extra_fees);
    let is_endless = has_fees
        || is_open(charged_input, prices.input)
        || is_open(charged_output, prices.output)
        || is_open_cache(written, prices.cache_write)
        || is_open_cache(kept_long, prices.cache_write_1h)
        || (reads && prices.input.is_none());
    let varies = factor < 1.0 && dearest > 0.0 && counted.cost.is_none();
    let at_least = reads || is_endless || varies;
    let most = dearest + if reads { price(cache_read, base) / 1e6 } else { 0.0 };
    let at_most = (at_least && !is_endless).then(|| amount(most));
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
            at_least: at_least.then_some(true),
            total_at_most: at_most,
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
    use pi_transcript::Spent;
    use serde_json::json;

    use super::*;
    use crate::manifest::model::PriceTier;

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
            ..TokenUsage::default()
        };
        let pricing = Pricing {
            input_per_1m: Some(2.0),
            output_per_1m: Some(8.0),
            cache_hit_input_per_1m: Some(0.5),
            cache_write_per_1m: Some(2.5),
            cache_write_1h_per_1m: Some(4.0),
            ..Pricing::default()
        };
        let expected = json!({
            "input": 500_000, "output": 500_000, "cacheRead": 200_000, "cacheWrite": 300_000, "cacheWrite1h": 100_000,
            "reasoning": 100, "totalTokens": 1_500_000,
            "cost": {"input": 1, "output": 4, "cacheRead": 0.1, "cacheWrite": 0.9, "total": 6, "totalFromProvider": 9.5},
        });
        assert_eq!(serde_json::to_value(usage(&counted, Some(&pricing))).unwrap(), expected);
    }

    fn counted(prompt: u64, cache_read: u64, cache_write: u64) -> TokenUsage {
        TokenUsage {
            prompt: Some(prompt),
            completion: Some(100_000),
            cache_read: Some(cache_read),
            cache_write: Some(cache_write),
            ..TokenUsage::default()
        }
    }

    fn spent(counted: &TokenUsage, pricing: &Pricing) -> Spent {
        usage(counted, Some(pricing)).cost.spent()
    }

    #[test]
    fn a_long_prompt_has_its_own_prices_for_the_whole_request() {
        let tier = |above_prompt_tokens, input, output| PriceTier {
            above_prompt_tokens,
            input_per_1m: Some(input),
            output_per_1m: Some(output),
            cache_hit_input_per_1m: Some(input / 10.0),
            cache_write_per_1m: None,
            cache_write_1h_per_1m: None,
        };
        let pricing = Pricing {
            input_per_1m: Some(1.0),
            output_per_1m: Some(10.0),
            cache_hit_input_per_1m: Some(0.1),
            tiers: vec![tier(200_000, 2.0, 15.0), tier(500_000, 4.0, 20.0)],
            ..Pricing::default()
        };
        for (prompt, cached, expected) in [
            (200_000, 0, 0.2 + 1.0),
            (200_001, 0, 0.400_002 + 1.5),
            // Tokens from a cache count for the length too.
            (300_000, 250_000, 0.1 + 0.05 + 1.5),
            (500_001, 0, 2.000_004 + 2.0),
        ] {
            let Spent::Exact(sum) = spent(&counted(prompt, cached, 0), &pricing) else { panic!("{prompt}") };
            assert!((sum - expected).abs() < 1e-9, "{prompt}: {sum} is not {expected}");
        }
    }

    #[test]
    fn unknown_prices_of_a_cache_give_a_range_or_a_lower_bound() {
        let unknown = Pricing { input_per_1m: Some(2.0), output_per_1m: Some(10.0), ..Pricing::default() };
        assert_eq!(spent(&counted(1_000_000, 0, 0), &unknown), Spent::Exact(3.0));
        assert_eq!(spent(&counted(1_000_000, 500_000, 0), &unknown), Spent::Between(2.0, 3.0));
        assert_eq!(spent(&counted(1_000_000, 0, 500_000), &unknown), Spent::AtLeast(3.0));
        assert_eq!(spent(&counted(1_000_000, 500_000, 500_000), &unknown), Spent::AtLeast(2.0));
        let known = Pricing { cache_hit_input_per_1m: Some(0.2), ..unknown.clone() };
        assert_eq!(spent(&counted(1_000_000, 500_000, 0), &known), Spent::Exact(2.1));
        let free = Pricing { input_per_1m: Some(0.0), output_per_1m: Some(0.0), ..Pricing::default() };
        assert_eq!(spent(&counted(1_000_000, 500_000, 500_000), &free), Spent::Exact(0.0));
        let told = TokenUsage { cost: Some(1.5), ..counted(1_000_000, 500_000, 500_000) };
        assert_eq!(spent(&told, &unknown), Spent::Exact(1.5), "the provider knows");
    }

    /// Half of a price list is no price of an answer.
    #[test]
    fn unknown_price_of_input_or_output_gives_a_lower_bound() {
        let only_input = Pricing { input_per_1m: Some(2.0), ..Pricing::default() };
        assert_eq!(spent(&counted(1_000_000, 0, 0), &only_input), Spent::AtLeast(2.0));
        let only_output = Pricing { output_per_1m: Some(10.0), ..Pricing::default() };
        assert_eq!(spent(&counted(1_000_000, 0, 0), &only_output), Spent::AtLeast(1.0));
        let nothing_new = TokenUsage { completion: Some(0), ..counted(1_000_000, 0, 0) };
        assert_eq!(spent(&nothing_new, &only_input), Spent::Exact(2.0), "nothing came back");
        let cached = Pricing { cache_hit_input_per_1m: Some(1.0), ..only_output };
        assert_eq!(spent(&counted(1_000_000, 1_000_000, 0), &cached), Spent::Exact(2.0), "nothing was new");
        assert_eq!(spent(&counted(0, 0, 0), &Pricing::default()), Spent::AtLeast(0.0));
    }

    #[test]
    fn what_is_kept_for_an_hour_has_the_price_that_is_written() {
        let kept = TokenUsage { cache_write_1h: Some(500_000), ..counted(1_000_000, 0, 500_000) };
        let known = Pricing {
            input_per_1m: Some(2.0),
            output_per_1m: Some(10.0),
            cache_write_per_1m: Some(2.5),
            cache_write_1h_per_1m: Some(6.0),
            ..Pricing::default()
        };
        assert_eq!(spent(&kept, &known), Spent::Exact(1.0 + 1.0 + 3.0));
        let unknown = Pricing { cache_write_1h_per_1m: None, ..known };
        assert_eq!(spent(&kept, &unknown), Spent::AtLeast(1.0 + 1.0 + 1.25));
    }

    #[test]
    fn what_is_charged_is_priced_and_what_is_counted_is_kept() {
        let pricing = Pricing { input_per_1m: Some(2.0), output_per_1m: Some(10.0), ..Pricing::default() };
        let billed =
            TokenUsage { billed_prompt: Some(500_000), billed_completion: Some(50_000), ..counted(1_000_000, 0, 0) };
        assert_eq!(spent(&billed, &pricing), Spent::Exact(1.5));
        assert_eq!(usage(&billed, Some(&pricing)).input, 1_000_000);
    }

    #[test]
    fn fees_beside_tokens_make_the_sum_the_least() {
        let pricing =
            Pricing { input_per_1m: Some(2.0), output_per_1m: Some(10.0), extra_fees: true, ..Pricing::default() };
        assert_eq!(spent(&counted(1_000_000, 0, 0), &pricing), Spent::AtLeast(3.0));
        let told = TokenUsage { cost: Some(3.25), ..counted(1_000_000, 0, 0) };
        assert_eq!(spent(&told, &pricing), Spent::Exact(3.25));
    }

    #[test]
    fn prices_that_differ_by_the_hour_give_a_range() {
        let peak = Pricing {
            input_per_1m: Some(2.0),
            output_per_1m: Some(10.0),
            off_peak_factor: Some(0.5),
            ..Pricing::default()
        };
        assert_eq!(spent(&counted(1_000_000, 0, 0), &peak), Spent::Between(1.5, 3.0));
        assert_eq!(spent(&counted(1_000_000, 500_000, 0), &peak), Spent::Between(1.0, 3.0));
        let told = TokenUsage { cost: Some(2.5), ..counted(1_000_000, 0, 0) };
        assert_eq!(spent(&told, &peak), Spent::Exact(2.5));
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
