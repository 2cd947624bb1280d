//! `pi context`: what filled the model's context in a request, segment by segment.

use pi_envelope::{Envelope, Kind, Message, Purpose, Segment};
use pi_terminal::letter;
use serde_json::{Value, json};

use super::export::{asked_for, envelope, find};
use crate::{
    amount::{counted, grouped, percent},
    arguments::session::ContextArguments,
    console::{Console, Reader, Tone, printable},
    env::Environment,
    exit::Exit,
    failure::Failure,
    table::{self, Align, Cell, Column, Room},
};

/// How wide the bar is where nobody says how wide a line is.
const BAR: usize = 72;

const COLUMNS: [Column; 7] = [
    Column { title: "TOKENS", align: Align::Right, room: Room::Whole },
    Column { title: "SHARE", align: Align::Right, room: Room::Whole },
    Column { title: "KIND", align: Align::Left, room: Room::Whole },
    Column { title: "ROLE", align: Align::Left, room: Room::LeaveOut(3) },
    Column { title: "ORIGIN", align: Align::Left, room: Room::CutToOrLeaveOut(12, 1) },
    Column { title: "TRUST", align: Align::Left, room: Room::LeaveOut(2) },
    Column { title: "BEGINS", align: Align::Left, room: Room::CutToOrLeaveOut(16, 4) },
];

/// What is shown of a segment.
struct Row {
    kind: Kind,
    role: &'static str,
    tokens: u64,
    how: Value,
    share: f64,
    origin: String,
    trust: Value,
    begins: String,
}

pub(crate) fn run(
    arguments: &ContextArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let path = find(&arguments.session, &arguments.folder, environment, console)?;
    let envelope = envelope(&path, arguments.request.as_deref())?;
    let all = envelope.segments().map(|(_, segment)| segment.tokens().count).sum::<u64>();
    let rows: Vec<Row> = envelope.segments().map(|(message, segment)| Row::of(message, segment, all)).collect();
    match console.reader() {
        Reader::Machine => rows.iter().for_each(|row| console.line(&row.object())),
        Reader::Person => show(&envelope, &rows, all, console),
    }
    Ok(Exit::Success)
}

impl Row {
    fn of(message: &Message, segment: &Segment, all: u64) -> Self {
        let (meta, tokens) = (segment.ours(), segment.tokens());
        let origin =
            meta.and_then(|meta| meta.origin.as_ref()).map_or_else(|| "unknown".to_owned(), ToString::to_string);
        let trust = meta.and_then(|meta| meta.trust);
        // Name, description and parameters of a tool are texts of their own, and are read apart.
        let texts = segment.body.texts().join(" · ");
        let begins: String = texts.split_whitespace().take(12).collect::<Vec<_>>().join(" ").chars().take(60).collect();
        Row {
            kind: segment.body.kind(),
            role: message.role.as_str(),
            tokens: tokens.count,
            how: word(&tokens.how),
            share: if all == 0 { 0.0 } else { tokens.count as f64 / all as f64 },
            origin,
            trust: word(&trust),
            begins,
        }
    }

    fn object(&self) -> String {
        json!({
            "kind": self.kind.as_str(), "role": self.role, "tokens": self.tokens, "counted": self.how,
            "share": self.share, "origin": self.origin, "trust": self.trust, "begins": self.begins,
        })
        .to_string()
    }

    fn cells(&self) -> Vec<Cell> {
        let mark = if self.how == "estimated" { "~" } else { "" };
        let trust = self.trust.as_str().unwrap_or("unknown");
        let tone = if trust == "untrusted" { Tone::Warning } else { Tone::Quiet };
        vec![
            Cell::plain(format!("{mark}{}", grouped(self.tokens))),
            Cell::plain(percent(self.share)),
            Cell::toned(Tone::Kind(self.kind), self.kind.as_str()),
            Cell::plain(self.role),
            Cell::plain(printable(&self.origin)),
            Cell::toned(tone, trust),
            Cell::toned(Tone::Quiet, printable(&self.begins)),
        ]
    }
}

fn show(envelope: &Envelope, rows: &[Row], all: u64, console: &mut Console) {
    let model = envelope.model.as_deref().unwrap_or("no model named");
    let title = console.paint(Tone::Strong, &printable(model));
    let mut facts = vec![counted(all, "token"), counted(rows.len(), "segment")];
    if let Some(meta) = envelope.ours() {
        let purpose = meta.request.as_ref().map(|request| request.purpose).filter(|purpose| *purpose != Purpose::Turn);
        facts.extend(purpose.map(|purpose| format!("asked for: {}", asked_for(purpose))));
        facts.extend(meta.usage.as_ref().map(|usage| {
            format!("the provider counted {}", grouped(usage.input + usage.cache_read + usage.cache_write))
        }));
        facts.extend(meta.residual.map(|residual| format!("residual {residual:+}")));
    }
    console.line(&title);
    for line in table::wrap(&facts.join(", "), console.width()) {
        console.line(&line);
    }
    console.line("");
    console.line(&bar(rows, all, console));
    for line in legend(rows, all, console) {
        console.line(&line);
    }
    console.line("");
    table::show(&COLUMNS, &rows.iter().map(Row::cells).collect::<Vec<_>>(), console);
}

/// One line in which every segment has its share: in the colour of its kind, or with its letter where there are no colours.
/// Neighbours alternate, so that each can be seen.
fn bar(rows: &[Row], all: u64, console: &Console) -> String {
    let width = console.width().map_or(BAR, |width| width.min(120));
    let (mut line, mut before, mut drawn) = (String::new(), 0_u64, 0_usize);
    let mut is_odd = false;
    for row in rows {
        before += row.tokens;
        let end = cells(before, all, width);
        let length = end.saturating_sub(drawn);
        drawn = end;
        if length > 0 {
            let letter = letter(row.kind);
            let cell = match (console.has_colours(), is_odd) {
                (true, false) => '█',
                (true, true) => '▓',
                (false, false) => letter,
                (false, true) => letter.to_ascii_lowercase(),
            };
            line.push_str(&console.paint(Tone::Kind(row.kind), &cell.to_string().repeat(length)));
            is_odd = !is_odd;
        }
    }
    line
}

/// What the colours or letters of the bar mean, with the share of each kind, the largest first; as many in a line as fit.
fn legend(rows: &[Row], all: u64, console: &Console) -> Vec<String> {
    let share = |kind: Kind| rows.iter().filter(|row| row.kind == kind).map(|row| row.tokens).sum::<u64>();
    let mut kinds: Vec<(u64, Kind)> =
        Kind::ALL.into_iter().map(|kind| (share(kind), kind)).filter(|(tokens, _)| *tokens > 0).collect();
    kinds.sort_by_key(|(tokens, _)| std::cmp::Reverse(*tokens));
    let width = console.width().unwrap_or(BAR);
    let (mut lines, mut line, mut used) = (Vec::new(), String::new(), 0);
    for (tokens, kind) in kinds {
        let words = format!("{} {}", kind.as_str(), percent(tokens as f64 / all.max(1) as f64));
        let length = words.chars().count() + 2;
        if used > 0 && used + 3 + length > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push_str("   ");
            used += 3;
        }
        let mark = if console.has_colours() { '█' } else { letter(kind) };
        line.push_str(&format!("{} {words}", console.paint(Tone::Kind(kind), &mark.to_string())));
        used += length;
    }
    lines.extend(Some(line).filter(|line| !line.is_empty()));
    lines
}

/// How many cells are full after so many of all tokens.
fn cells(tokens: u64, all: u64, width: usize) -> usize {
    let full = u128::from(tokens) * width as u128 / u128::from(all.max(1));
    usize::try_from(full).unwrap_or(width)
}

/// The word under which something is written.
fn word(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
