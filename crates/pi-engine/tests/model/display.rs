//! Inputs and effects in one line each, for whoever reads a failure.

use pi_engine::{Change, Completion, Effect, Ending, Header, Outcome, Phase, Record, Replay, VersionMove};

use crate::reference::Event;

pub(crate) fn event(event: &Event) -> String {
    match event {
        Event::Admit(admission) => format!("admit r{} {}", admission.request.0, header(&admission.header)),
        Event::Completed { ticket, completion } => format!("completed t{} {}", ticket.0, completed(completion)),
        Event::Durable(lines) => format!("durable {}", records(lines)),
        Event::JournalFailed(lines) => format!("journal failed, lost {}", records(lines)),
        other => format!("{other:?}"),
    }
}

pub(crate) fn effects(effects: &[Effect<u64, u64>]) -> String {
    effects.iter().map(|one| format!("          -> {}\n", effect(one))).collect()
}

fn effect(effect: &Effect<u64, u64>) -> String {
    match effect {
        Effect::Persist { sequence, record: what } => format!("persist #{} {}", sequence.0, record(what)),
        Effect::Start { ticket, header, .. } => format!("start t{} {}", ticket.0, name(header)),
        Effect::Respond { request, outcome: what, replay, .. } => {
            format!("respond r{} {}{}", request.0, outcome(what), replayed(*replay))
        }
        Effect::Refuse { request, refusal, .. } => format!("refuse r{} {refusal:?}", request.0),
        Effect::Announce(announcement) => {
            let phase = match &announcement.phase {
                Phase::Accepted => "accepted".to_owned(),
                Phase::Started => "started".to_owned(),
                Phase::Finished { outcome: what, replay } => format!("finished {}{}", outcome(what), replayed(*replay)),
            };
            format!("announce {}.{} {phase}", announcement.header.client, announcement.id)
        }
        other => format!("{other:?}"),
    }
}

fn name(header: &Header) -> String {
    let id = header.id.as_ref().map_or("-", |id| id.as_str());
    format!("{}.{id} {}", header.client, header.kind)
}

fn header(header: &Header) -> String {
    let mut text = format!("{} {} {:?} variant {}", name(header), header.lane, header.order, header.fingerprint.0[1]);
    if let Some(key) = &header.key {
        text += &format!(" key {key}");
    }
    if !header.depends_on.is_empty() {
        text += &format!(" after {:?}", header.depends_on);
    }
    if let Some(version) = header.if_version {
        text += &format!(" if version {version}");
    }
    text
}

fn completed(completion: &Completion<u64>) -> String {
    let change = match &completion.change {
        Change::Usual => String::new(),
        other => format!(" {other:?}"),
    };
    format!("{}{change} size {}", ending(&completion.ending), completion.size)
}

fn ending(ending: &Ending<u64>) -> String {
    match ending {
        Ending::Succeeded(body) => format!("ok {body}"),
        Ending::Failed { body, .. } => format!("failed {body}"),
        Ending::Broken(failure) => format!("{failure:?}"),
    }
}

fn outcome(outcome: &Outcome<u64>) -> String {
    let version = outcome.version.map_or(String::new(), |version| format!(" v{version}"));
    format!("{}{version}", ending(&outcome.ending))
}

fn replayed(replay: Replay) -> &'static str {
    match replay {
        Replay::First => "",
        Replay::Replayed => " again",
    }
}

fn records(records: &[Record<u64>]) -> String {
    records.iter().map(record).collect::<Vec<_>>().join(", ")
}

fn record(record: &Record<u64>) -> String {
    let moved = |moved: &VersionMove| format!("{}={:?}", moved.session, moved.version);
    match record {
        Record::Accepted { ticket, header, .. } => format!("accepted t{} {}", ticket.0, name(header)),
        Record::Finished { ticket, at, outcome: what, size, version } => {
            let version = version.as_ref().map_or(String::new(), |version| format!(" moves {}", moved(version)));
            format!("finished t{} {} at {} size {size}{version}", ticket.0, outcome(what), at.0)
        }
        Record::Alias { ticket, header, of, .. } => format!("alias t{} of t{} {}", ticket.0, of.0, name(header)),
        Record::Version(version) => format!("version {}", moved(version)),
        Record::Reached(ticket) => format!("reached t{}", ticket.0),
    }
}
