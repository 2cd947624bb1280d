//! Who is a member of a session, and why not: names, namesakes, and who is switched off.

use std::collections::{BTreeMap, BTreeSet};

use pi_exthost::{GuestId, port::Mode};
use pi_guests::mcp::{self, Base};
use pi_session::extensions::Phase;

use super::{
    lost::Lost,
    member::{Candidate, Member, Origin, called_too, free_name, namesake},
};
use crate::{
    asking::milliseconds,
    workshop::extensions::{Extensions, Found},
};

/// Looks at all of them. Of those with one name the first has it; the others do not run, and are listed with a number
/// behind it.
pub(super) async fn candidates(
    found: Found,
    before: &[Member],
    extensions: &Extensions,
    (base, mode): (&Base, Mode),
    lost: &mut Lost,
) -> Vec<Candidate> {
    // What was odd about the look is told by whoever looked.
    let Found { sources, servers, off, notices: _ } = found;
    let read_at = milliseconds();
    let (mut names, mut nameless, mut candidates) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (source, looked_at) in extensions.prepare(sources).await {
        let candidate = match looked_at {
            Ok(prepared) => {
                let clash = namesake(&prepared.identity.id, &source, &mut names);
                let candidate = Candidate::of(prepared, Origin::Source(source), read_at);
                match clash {
                    None => candidate,
                    Some(clash) => {
                        lost.add(&candidate.member.origin, clash.clone());
                        nameless.push(candidates.len());
                        Candidate { member: candidate.member.unbuilt(clash), prepared: None }
                    }
                }
            }
            Err(fault) => {
                let origin = Origin::Source(source.clone());
                let known = before.iter().find(|member| member.origin.is(&origin)).cloned();
                let mut member = known.unwrap_or_else(|| Member::unknown(origin, read_at));
                // What runs keeps its name, as does what is off, unless another has it now.
                let is_named = member.phase != Phase::Failed;
                if !is_named || namesake(&member.id, &source, &mut names).is_some() {
                    member.phase = Phase::Failed;
                    nameless.push(candidates.len());
                }
                lost.add(&member.origin, member.lacking(&fault));
                Candidate { member: member.unbuilt(fault.to_string()), prepared: None }
            }
        };
        candidates.push(candidate);
    }
    let mut taken: BTreeSet<String> = names.into_keys().collect();
    for place in nameless {
        if let Some(Candidate { member, .. }) = candidates.get_mut(place) {
            member.id = GuestId::from(free_name(member.id.as_str(), &mut taken));
        }
    }
    for server in servers {
        let prepared = mcp::prepare(&server, base);
        candidates.push(Candidate::of(prepared, Origin::Server(Box::new(server)), read_at));
    }
    for candidate in &mut candidates {
        let Candidate { member, prepared } = candidate;
        if off.holds(member.id.as_str()) || member.origin.is_disabled() {
            *prepared = None;
            member.phase = Phase::Off;
            member.problem = off.by_project(member.id.as_str()).or_else(|| member.origin.why_disabled());
            lost.leave_off(member, mode);
        }
    }
    candidates
}

/// Those of `members` that neither come back nor stay as they are.
pub(super) fn leaving(members: &[Member], candidates: &[Candidate]) -> Vec<GuestId> {
    let is_kept = |id: &GuestId| {
        let keeps = |Candidate { member, prepared }: &Candidate| match prepared {
            Some(_) => member.id == *id,
            None => member.is_up(id),
        };
        candidates.iter().any(keeps)
    };
    members.iter().map(|member| member.id.clone()).filter(|id| !is_kept(id)).collect()
}

/// Why the one at `place` cannot be called so: another is.
pub(super) fn clash(members: &[Member], place: usize, id: &GuestId, origin: &Origin) -> Option<String> {
    let Origin::Source(source) = origin else { return None };
    let other = members.iter().enumerate().find(|(other, member)| *other != place && member.id == *id);
    match other.map(|(_, member)| &member.origin) {
        Some(Origin::Source(first)) => Some(called_too(id, source, first)),
        Some(Origin::Server(_)) | None => None,
    }
}
