//! `pi envelope validate` and `pi ext-message validate`: the same loop over files, with another judge.

use std::collections::BTreeSet;

use pi_transcript::json::Problem;

use crate::{
    amount::{counted, grouped},
    arguments::ValidateArguments,
    console::{Console, Tone, printable},
    exit::Exit,
    failure::Failure,
    input::{self, Document, Endings, Input},
    refusal::Cause,
    verdict::{Fault, Verdict},
};

/// What is looked for, and who knows.
pub(crate) struct Judge {
    check: fn(&[u8]) -> Result<(), Vec<Problem>>,
    /// The schema that says what is expected.
    schema: &'static str,
}

pub(crate) const ENVELOPES: Judge = Judge { check: pi_envelope::validate, schema: "envelope" };
pub(crate) const EXTENSION_MESSAGES: Judge =
    Judge { check: |bytes| pi_extproto::message::parse(bytes).map(drop), schema: "extension" };

/// People read the first faults of a file and run the command again.
const SHOWN_FAULTS: usize = 20;

/// What was found in one file.
struct Report {
    documents: usize,
    faults: Vec<Fault>,
    causes: BTreeSet<Cause>,
}

#[derive(Default)]
struct Tally {
    valid: usize,
    invalid: usize,
    unread: usize,
    documents: usize,
    /// What was wrong anywhere: each has an advice of its own.
    causes: BTreeSet<Cause>,
}

pub(crate) fn run(arguments: &ValidateArguments, judge: &Judge, console: &mut Console) -> Result<Exit, Failure> {
    let inputs = input::expand(arguments.input.files(), arguments.input.layout(), Endings::DOCUMENTS)?;
    let count = inputs.len();
    let mut tally = Tally::default();
    for (done, (name, input)) in inputs.into_iter().enumerate() {
        if count > 1 {
            console.progress(done, count, &name);
        }
        let report = input.and_then(|input| examine(&input, judge));
        match &report {
            Ok(report) => {
                tally.documents += report.documents;
                tally.causes.extend(&report.causes);
                *if report.faults.is_empty() { &mut tally.valid } else { &mut tally.invalid } += 1;
            }
            Err(_) => tally.unread += 1,
        }
        if arguments.json {
            console.line(&json(&name, report));
        } else {
            show(&name, report, arguments.quiet, console);
        }
    }
    if !arguments.json {
        summarise(&tally, count, judge, console);
    }
    // Nobody can vouch for a file that was not read, and one of those must not hide one that is wrong.
    Ok(if tally.invalid + tally.unread > 0 { Exit::No } else { Exit::Success })
}

fn examine(input: &Input, judge: &Judge) -> Result<Report, Failure> {
    let mut report = Report { documents: 0, faults: Vec::new(), causes: BTreeSet::new() };
    input.documents(|document: Document| {
        report.documents += 1;
        if let Err(refusal) = document.parse(judge.check) {
            report.causes.insert(refusal.cause);
            report.faults.extend(refusal.problems.into_iter().map(|problem| Fault::at(document.line, problem)));
        }
    })?;
    Ok(report)
}

fn json(file: &str, report: Result<Report, Failure>) -> String {
    let verdict = match report {
        Ok(report) => Verdict::new(file, report.faults),
        Err(failure) => Verdict::of_failure(file, None, &failure),
    };
    verdict.line()
}

fn show(name: &str, report: Result<Report, Failure>, quiet: bool, console: &mut Console) {
    let name = console.paint(Tone::Strong, &printable(name));
    match report {
        Err(failure) => _ = console.fail(&failure),
        Ok(report) if report.faults.is_empty() => {
            if !quiet {
                let mark = console.paint(Tone::Good, "valid");
                console.line(&format!("{mark}    {name}"));
            }
        }
        Ok(report) => {
            let mark = console.paint(Tone::Bad, "invalid");
            console.line(&format!("{mark}  {name}"));
            for fault in report.faults.iter().take(SHOWN_FAULTS) {
                let place = console.paint(Tone::Accent, &printable(&fault.place()));
                console.line(&format!("         {place}: {}", printable(fault.message())));
            }
            if let Some(more) = report.faults.len().checked_sub(SHOWN_FAULTS + 1) {
                let more = format!("and {} more; --json shows all", grouped(more + 1));
                let more = console.paint(Tone::Quiet, &more);
                console.line(&format!("         {more}"));
            }
        }
    }
}

fn summarise(tally: &Tally, files: usize, judge: &Judge, console: &mut Console) {
    if files > 1 || tally.documents > 1 {
        let mut parts = vec![format!("{} valid", counted(tally.valid, "file"))];
        if tally.invalid > 0 {
            parts.push(console.paint(Tone::Bad, &format!("{} invalid", grouped(tally.invalid))));
        }
        if tally.unread > 0 {
            parts.push(console.paint(Tone::Bad, &format!("{} not read", grouped(tally.unread))));
        }
        let (files, documents) = (counted(files, "file"), counted(tally.documents, "document"));
        console.line(&format!("{documents} in {files}: {}", parts.join(", ")));
    }
    for cause in &tally.causes {
        console.hint(&cause.hint(judge.schema));
    }
}
