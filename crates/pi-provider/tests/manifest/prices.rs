//! Prices of models, and what can be wrong with them.

use insta::assert_snapshot;
use pi_provider::{
    catalog::{Catalog, Origin, Source, SourceFile},
    credential::Trust,
    manifest::model::Pricing,
};

use crate::rules::{and, load, verdict};

fn pricing(written: &str) -> (String, Pricing) {
    let text = and(&format!("metadata:\n  models:\n    one:\n      pricing:\n        input_per_1m: 1\n{written}"));
    (verdict(&text), load(&text).manifest.unwrap().models["one"].pricing.clone().unwrap())
}

#[test]
fn prices_of_long_prompts_are_read_in_order() {
    let (verdict, pricing) = pricing(
        "        tiers:
          - {above_prompt_tokens: 9000, input_per_1m: 4}
          - {above_prompt_tokens: 3000, input_per_1m: 2, output_per_1m: 5}
",
    );
    assert_snapshot!(verdict, @r"
    accepted
        acme.yaml:21:11: note[ring3.models]: prices for longer prompts stand before those for shorter ones; they are taken in order (metadata.models.one.pricing.tiers)
            help: write the name of each model with an object below it, such as lathe-2: {context_window: 65536}; what is wrong in it is left out
    ");
    let input = |tokens| pricing.of_prompt(tokens).input;
    assert_eq!([input(3000), input(3001), input(9000), input(9001)], [Some(1.0), Some(2.0), Some(2.0), Some(4.0)]);
    assert_eq!(pricing.of_prompt(9001).output, None, "what a list leaves out is not known");
}

#[test]
fn what_is_wrong_with_prices_is_told_and_left_out() {
    let (verdict, pricing) = pricing(
        "        output_per_1m: -2
        cache_reading: 1
        tiers:
          - {above_prompt_tokens: many, input_per_1m: 4}
          - {above_prompt_tokens: 5, input_per_1m: -1, output_per_1m: 3}
          - {above_prompt_tokens: 5, input_per_1m: 7}
",
    );
    assert_snapshot!(verdict, @r"
    accepted
        acme.yaml:20:24: warning[ring3.models]: a price below zero is left out (metadata.models.one.pricing.output_per_1m)
            help: write the name of each model with an object below it, such as lathe-2: {context_window: 65536}; what is wrong in it is left out
        acme.yaml:23:11: warning[ring3.models]: two price lists begin at the same length; the first counts (metadata.models.one.pricing.tiers)
            help: write the name of each model with an object below it, such as lathe-2: {context_window: 65536}; what is wrong in it is left out
        acme.yaml:23:35: warning[ring3.models]: a whole number that is not negative is expected, not a text (metadata.models.one.pricing.tiers[0].above_prompt_tokens)
            help: write the name of each model with an object below it, such as lathe-2: {context_window: 65536}; what is wrong in it is left out
        acme.yaml:24:52: warning[ring3.models]: a price below zero is left out (metadata.models.one.pricing.tiers[1].input_per_1m)
            help: write the name of each model with an object below it, such as lathe-2: {context_window: 65536}; what is wrong in it is left out
        ignored 21:9 metadata.models.one.pricing.cache_reading
    ");
    assert_eq!((pricing.output_per_1m, pricing.tiers.len()), (None, 1));
    assert_eq!((pricing.tiers[0].input_per_1m, pricing.tiers[0].output_per_1m), (None, Some(3.0)));
}

#[test]
fn prices_that_cannot_be_used_are_told_where_they_stand() {
    let texts = [
        and("pricing: {input_per_1k_tokens: -1, output_per_1k_tokens: 2}\n"),
        and("pricing: {input_per_1k_tokens: 1, currency: EUR}\n"),
        and("metadata: {models: {one: {pricing: {input_per_1m: 1, output_per_1m: 2, currency: CNY}}}}\n"),
        and("metadata: {models: {one: {pricing: {input_per_1m: 1, cache_write_1h_per_1m: -1, off_peak_factor: 2}}}}\n"),
        and("metadata: {models: {one: {pricing: {input_per_1m: 1, output_per_1m: 2, currency: usd}}}}\n"),
    ];
    assert_snapshot!(crate::rules::verdicts(&texts), @r"
    accepted
        acme.yaml:15:32: warning[ring3.pricing]: a price below zero is left out (pricing.input_per_1k_tokens)
            help: write numbers for input_per_1k_tokens and output_per_1k_tokens
    accepted
        acme.yaml:15:45: warning[ring3.pricing]: prices in EUR are not used: what a call costs is told in US dollars (pricing.currency)
            help: write the prices in US dollars, and currency: USD
    accepted
        acme.yaml:15:82: warning[ring3.models]: prices in CNY are not used: what a call costs is told in US dollars (metadata.models.one.pricing.currency)
            help: write the prices in US dollars, and currency: USD
    accepted
        acme.yaml:15:77: warning[ring3.models]: a price below zero is left out (metadata.models.one.pricing.cache_write_1h_per_1m)
            help: write the name of each model with an object below it, such as lathe-2: {context_window: 65536}; what is wrong in it is left out
        acme.yaml:15:98: warning[ring3.models]: what is asked for off-peak is a part of the price, between 0 and 1; it is left out (metadata.models.one.pricing.off_peak_factor)
            help: write the name of each model with an object below it, such as lathe-2: {context_window: 65536}; what is wrong in it is left out
    accepted
    ");
    let pricing = load(&texts[2]).manifest.unwrap().models["one"].pricing.clone();
    assert_eq!(pricing, Some(Pricing { currency: Some("CNY".to_owned()), ..Pricing::default() }));
}

#[test]
fn switch_for_thinking_must_be_something_that_can_be_sent() {
    let text = |method: &str, field: &str| {
        and(&format!(
            "provider_contract:
  capability_contracts:
    generative:
      reasoning_mode:
        activation_method: {method}
        activation_field: {field:?}
"
        ))
    };
    let field = |text: &str| {
        let contract = load(text).manifest.unwrap().contract;
        contract.capability_contracts.generative.reasoning_mode.activation_field
    };
    for (method, name) in [
        ("parameter", "thinking.enabled"),
        ("header", "X-Think"),
        ("model_suffix", ":thinking"),
        ("model_suffix", "[1m]"),
    ] {
        assert_eq!(
            (verdict(&text(method, name)), field(&text(method, name)).as_deref()),
            ("accepted\n".to_owned(), Some(name))
        );
    }
    let wrong = [
        ("parameter", "thinking..on"),
        ("parameter", "$.thinking"),
        ("header", "X Think"),
        ("model_suffix", ""),
        ("magic", "on"),
    ];
    let texts: Vec<String> = wrong.iter().map(|(method, name)| text(method, name)).collect();
    assert!(texts.iter().all(|text| field(text).is_none()));
    assert_snapshot!(crate::rules::verdicts(&texts), @r#"
    accepted
        acme.yaml:20:27: warning[expression.member]: "thinking..on" has a dot without a name beside it (provider_contract.capability_contracts.generative.reasoning_mode.activation_field)
            help: write the names of members with dots between them, such as generationConfig.maxOutputTokens
    accepted
        acme.yaml:20:27: warning[expression.member]: "$.thinking" is a path for reading; members of a request are named with dots only (provider_contract.capability_contracts.generative.reasoning_mode.activation_field)
            help: write the names of members with dots between them, such as generationConfig.maxOutputTokens
    accepted
        acme.yaml:20:27: warning[ring3.contract]: "X Think" is not the name of a header (provider_contract.capability_contracts.generative.reasoning_mode.activation_field)
            help: what is wrong is left out, and the dialect's own way counts
    accepted
        acme.yaml:20:27: warning[ring3.contract]: "" is not the end of a model's name (provider_contract.capability_contracts.generative.reasoning_mode.activation_field)
            help: what is wrong is left out, and the dialect's own way counts
    accepted
        acme.yaml:19:28: warning[ring3.contract]: "magic" is not a way to switch thinking on: parameter, header or model_suffix is (provider_contract.capability_contracts.generative.reasoning_mode.activation_method)
            help: what is wrong is left out, and the dialect's own way counts
    "#);
}

#[test]
fn price_of_the_provider_is_that_of_models_without_their_own() {
    let input = |prices: &str| {
        let yuan = "yuan: {pricing: {input_per_1m: 7, currency: CNY}}";
        let models = format!(
            "metadata: {{models: {{own: {{pricing: {{input_per_1m: 7}}}}, other: {{context_window: 9}}, {yuan}}}}}"
        );
        let text = and(&format!("pricing: {{{prices}}}\n{models}\n"));
        let files = vec![SourceFile { path: "acme.yaml".to_owned(), text: Ok(text) }];
        let catalog = Catalog::load(&[Source { origin: Origin::User, trust: Trust::Trusted, files }]);
        let models = &catalog.provider("acme").unwrap().manifest.models;
        assert_eq!(models["yuan"].pricing, None, "what it costs in dollars is not known");
        ["own", "other"].map(|id| models[id].pricing.clone().map(|it| (it.input_per_1m, it.output_per_1m)))
    };
    let own = Some((Some(7.0), None));
    assert_eq!(
        input("input_per_1k_tokens: 0.5, output_per_1k_tokens: 2"),
        [own, Some((Some(500.0), Some(2000.0)))],
        "a million is a thousand thousands"
    );
    assert_eq!(input("input_per_1k_tokens: 0.5"), [own, Some((Some(500.0), None))]);
    assert_eq!(input("input_per_1k_tokens: 0.5, currency: EUR"), [own, None]);
    assert_eq!(input("last_updated: '2026-01-01'"), [own, None]);
}
