//! A model as transcripts and clients know it.

use pi_transcript::{
    Model, ModelId,
    json::{Amount, Extra, Open},
    model::{Modality, ModelCost},
};

use super::Found;
use crate::{
    dialect::Dialect,
    manifest::{endpoint::shown_address, model::Pricing},
};

/// What is assumed of a model of which nobody knows the size; Pi assumes the same.
const CONTEXT_WINDOW: u64 = 128_000;
const MAX_TOKENS: u64 = 16_384;

impl Found<'_> {
    /// The model with defaults for what is not known: no price, text only, no thinking.
    pub fn to_model(&self) -> Model {
        let manifest = &self.entry.manifest;
        let unknown = crate::manifest::ModelEntry::default();
        let model = self.model.unwrap_or(&unknown);
        let pricing = manifest.pricing_of(self.model);
        let context_window = model.context_window.unwrap_or(CONTEXT_WINDOW);
        Model {
            id: ModelId(self.id.clone()),
            name: model.name.clone().unwrap_or_else(|| self.id.clone()),
            api: Dialect::of(manifest, self.model).api().to_owned(),
            provider: manifest.id.clone(),
            base_url: shown_address(model.base_url.as_ref().map_or(&manifest.endpoint.base_url, |own| &own.0)),
            reasoning: model.model_capabilities.reasoning.unwrap_or_else(|| {
                model.thinking_levels.as_ref().is_some_and(|levels| levels.values().any(|level| !level.is_null()))
            }),
            input: input(model),
            cost: pricing.as_ref().map_or_else(ModelCost::default, cost),
            context_window,
            max_tokens: model.max_output_tokens.unwrap_or_else(|| MAX_TOKENS.min(context_window)),
            compat: model.extra.get("compat").cloned(),
            thinking_level_map: model.thinking_levels.as_ref().map(|levels| levels.clone().into_iter().collect()),
            extra: assumed(model, pricing.as_ref()),
        }
    }
}

/// Says what of a model is assumed, so that nobody shows it as a fact.
fn assumed(model: &crate::manifest::ModelEntry, pricing: Option<&Pricing>) -> Extra {
    let is_priced = pricing.is_some_and(Pricing::is_whole);
    let parts = [("contextWindowAssumed", model.context_window.is_none()), ("costUnknown", !is_priced)];
    parts.into_iter().filter(|(_, is_so)| *is_so).map(|(name, _)| (name.to_owned(), true.into())).collect()
}

fn input(model: &crate::manifest::ModelEntry) -> Vec<Open<Modality>> {
    let listed = model.modalities.as_ref().map(|modalities| modalities.input.as_slice()).unwrap_or_default();
    let mut kinds = vec![Open::Known(Modality::Text)];
    if listed.iter().any(|kind| kind == "image" || kind == "vision") {
        kinds.push(Open::Known(Modality::Image));
    }
    let others = listed.iter().filter(|kind| !["text", "image", "vision"].contains(&kind.as_str()));
    kinds.extend(others.cloned().map(Open::Other));
    kinds
}

fn cost(pricing: &Pricing) -> ModelCost {
    let amount = |price: Option<f64>| price.and_then(|price| Amount::try_from(price).ok()).unwrap_or_default();
    ModelCost {
        input: amount(pricing.input_per_1m),
        output: amount(pricing.output_per_1m),
        cache_read: amount(pricing.cache_hit_input_per_1m),
        cache_write: amount(pricing.cache_write_per_1m),
        ..ModelCost::default()
    }
}
