//! The model that stands for a provider when nobody says which one.
//!
//! Of the models that answer in words, that in the middle of the price list: the dearest would surprise people when the
//! bill comes, and the cheapest is often too small. Models that the manifest calls old or not yet ready, and those that
//! call no tools, count only where there are no others. Where no price is known it is the first that the manifest lists.

use pi_provider::{
    catalog::{Entry, Found},
    manifest::{Capability, ModelEntry},
};

use super::{answers, ending::has_ended};

/// What manifests call models that are not meant for everybody.
const UNUSUAL: [&str; 5] = ["deprecated", "legacy", "retired", "preview", "experimental"];

type Listed<'a> = (&'a String, &'a ModelEntry);

pub(super) fn usual_model(entry: &Entry) -> Option<Found<'_>> {
    let models: Vec<Listed<'_>> = entry.manifest.models.iter().collect();
    let models = narrowed(models, |model| answers(Some(model)));
    let models = narrowed(models, |model| !has_ended(model));
    let models = narrowed(models, |model| !model.status.as_deref().is_some_and(|it| UNUSUAL.contains(&it)));
    let models = narrowed(models, |model| model.model_capabilities.tool_call == Some(true));
    let (id, model) = middle(&models)?;
    Some(Found { entry, id: id.clone(), model: Some(model) })
}

/// Whether it calls tools, as is said of it or else of its provider.
pub(super) fn calls_tools(found: &Found<'_>) -> bool {
    let said = found.model.and_then(|model| model.model_capabilities.tool_call);
    said.unwrap_or_else(|| found.entry.manifest.capabilities.has(Capability::Tools))
}

/// US dollars for a million tokens in and a million out.
pub(super) fn price(model: Option<&ModelEntry>) -> Option<f64> {
    let pricing = model?.pricing.as_ref()?;
    Some(pricing.input_per_1m? + pricing.output_per_1m?)
}

/// Those of which it is true; all if it is true of none.
fn narrowed(models: Vec<Listed<'_>>, is_fit: impl Fn(&ModelEntry) -> bool) -> Vec<Listed<'_>> {
    let fit: Vec<Listed<'_>> = models.iter().copied().filter(|(_, model)| is_fit(model)).collect();
    if fit.is_empty() { models } else { fit }
}

/// The middle of the different prices, the lower of two; of several models with that price the first. So the dearest is
/// taken only where all cost the same.
fn middle<'a>(models: &[Listed<'a>]) -> Option<Listed<'a>> {
    let mut prices: Vec<f64> = models.iter().filter_map(|(_, model)| price(Some(model))).collect();
    prices.sort_by(f64::total_cmp);
    prices.dedup();
    let middle = prices.get(prices.len().saturating_sub(1) / 2).copied();
    models.iter().find(|(_, model)| price(Some(model)) == middle || middle.is_none()).copied()
}

#[cfg(test)]
mod tests {
    use pi_provider::{Catalog, catalog::Source};

    use super::*;

    #[test]
    fn usual_model_of_a_provider_is_neither_its_dearest_nor_an_old_one() {
        let catalog = Catalog::load(&[Source::built_in()]);
        let mut compared = 0;
        for entry in catalog.providers() {
            let Some(usual) = usual_model(entry) else { continue };
            let prices = entry.manifest.models.values().filter(|model| answers(Some(model)));
            let prices: Vec<f64> = prices.filter_map(|model| price(Some(model))).collect();
            let dearest = prices.iter().copied().fold(0.0, f64::max);
            let has_cheaper = prices.iter().any(|price| *price < dearest);
            let usual_price = price(usual.model).unwrap_or(0.0);
            assert!(!has_cheaper || usual_price < dearest, "{} for {usual_price}", usual.name());
            compared += usize::from(has_cheaper);
        }
        assert!(compared > 10, "only {compared} providers have several prices");
    }

    #[test]
    fn model_whose_end_is_past_is_not_usual() {
        let mut entry = Catalog::load(&[Source::built_in()]).provider("demo").expect("always there").clone();
        let old = ModelEntry { ends_on: Some("2026-01-01".to_owned()), ..model(None, None, true) };
        let listed = [("old", old), ("new", model(None, None, true))];
        entry.manifest.models = listed.map(|(id, model)| (id.to_owned(), model)).into_iter().collect();
        assert_eq!(usual_model(&entry).map(|found| found.id).as_deref(), Some("new"));
    }

    fn model(price: Option<f64>, status: Option<&str>, tools: bool) -> ModelEntry {
        let pricing = price.map(|price| pi_provider::manifest::model::Pricing {
            input_per_1m: Some(0.0),
            output_per_1m: Some(price),
            ..Default::default()
        });
        let mut model = ModelEntry { pricing, status: status.map(str::to_owned), ..ModelEntry::default() };
        model.model_capabilities.tool_call = tools.then_some(true);
        model
    }

    #[test]
    fn middle_of_the_price_list_is_usual() {
        let check = |models: &[(&str, Option<f64>, Option<&str>, bool)], expected: &str| {
            let mut entry = Catalog::load(&[Source::built_in()]).provider("demo").expect("always there").clone();
            let listed =
                models.iter().map(|(id, price, status, tools)| ((*id).to_owned(), model(*price, *status, *tools)));
            entry.manifest.models = listed.collect();
            assert_eq!(usual_model(&entry).map(|found| found.id).unwrap_or_default(), expected, "{models:?}");
        };
        check(
            &[("dear", Some(9.0), None, true), ("fair", Some(3.0), None, true), ("small", Some(1.0), None, true)],
            "fair",
        );
        check(&[("dear", Some(9.0), None, true), ("small", Some(1.0), None, true)], "small");
        check(&[("new", Some(3.0), None, true), ("old", Some(3.0), None, true)], "new");
        check(
            &[("new", Some(3.0), None, true), ("old", Some(3.0), None, true), ("small", Some(1.0), None, true)],
            "small",
        );
        check(&[("dear", Some(9.0), None, true), ("fair", Some(3.0), Some("legacy"), true)], "dear");
        check(&[("mute", Some(1.0), None, false), ("dear", Some(9.0), None, true)], "dear");
        check(&[("first", None, None, true), ("second", None, None, true)], "first");
        check(&[("unknown", None, None, true), ("known", Some(1.0), None, true)], "known");
        check(&[], "");
    }
}
