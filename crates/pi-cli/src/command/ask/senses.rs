//! Whether the model can take what is attached: said before anything is sent, and with the names of models that can.

use pi_envelope::Prompt;
use pi_provider::{
    catalog::Found,
    request::{Exclusion, MediaKind, Unsendable, takes, unsendable},
};

use crate::{
    choice::{Chosen, answers},
    console::Console,
    failure::ModelFailure,
    providers::{Providers, Shown},
};

/// How many models an error names.
const NAMED: usize = 5;

/// Refuses what would be left out or replaced by a note: whoever attaches a file asks about it. `attached` are the files, in
/// the order of the prompt's media.
pub(super) async fn check(
    prompt: &Prompt,
    attached: &[String],
    chosen: &Chosen,
    providers: &mut Providers,
    console: &mut Console,
) -> Result<(), ModelFailure> {
    let Some(Unsendable { index, kind, why }) = unsendable(&chosen.target(), prompt).into_iter().next() else {
        return Ok(());
    };
    let file = attached.get(index).cloned().unwrap_or_else(|| kind.to_string());
    let model = chosen.name();
    if why != Exclusion::Kind {
        return Err(ModelFailure::Unsendable { file, model, why });
    }
    providers.look_around(console).await;
    Err(ModelFailure::CannotTake { file, model, kind, others: able(kind, chosen, providers) })
}

/// Models that take this kind and can be asked now, those of the provider that was chosen first.
fn able(kind: MediaKind, chosen: &Chosen, providers: &Providers) -> Vec<String> {
    let can = |found: &Found<'_>| {
        answers(found.model) && takes(&found.entry.manifest, found.model, kind) && {
            let shown = Shown::of(&providers.credential(found.entry, None));
            providers.is_available(found.entry, &shown)
        }
    };
    let mut able: Vec<Found<'_>> = providers.catalog.models().filter(can).collect();
    able.sort_by_key(|found| found.entry.manifest.id != chosen.entry.manifest.id);
    able.iter().take(NAMED).map(Found::name).collect()
}
