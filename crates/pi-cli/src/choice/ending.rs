//! What is said of a model that ends soon, or has ended.

use pi_policy::Moment;
use pi_provider::manifest::ModelEntry;

use super::Chosen;
use crate::asking::milliseconds;

/// Whether a model is not served any more: its manifest says so, or the day of its end is past.
pub(crate) fn has_ended(model: &ModelEntry) -> bool {
    let is_past = |date: &String| date.as_str() < &*today();
    model.status.as_deref() == Some("retired") || model.ends_on.as_ref().is_some_and(is_past)
}

/// A sentence for whoever asks such a model. Models that are only old are served as before, and nothing is said of them.
pub(super) fn note(chosen: &Chosen) -> Option<String> {
    let model = chosen.known.as_ref()?;
    let on = |verb: &str| model.ends_on.as_ref().map(|date| format!(" and {verb} on {date}")).unwrap_or_default();
    let state = match model.status.as_deref() {
        _ if has_ended(model) => format!("is retired{}, so it may not answer", on("ended")),
        Some("deprecated") => format!("is deprecated{}", on("ends")),
        Some(_) | None => return None,
    };
    let successor = model.successor.as_ref().map(|id| format!("; {}/{id} replaces it", chosen.entry.manifest.id));
    Some(format!("{} {state}{}", chosen.name(), successor.unwrap_or_default()))
}

/// The day in UTC, as manifests write it: `2026-12-31`.
fn today() -> String {
    let moment = Moment::from_unix_millis(milliseconds()).to_string();
    moment.split('T').next().unwrap_or_default().to_owned()
}
