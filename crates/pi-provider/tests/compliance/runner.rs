//! Runs cases: each is asked, judged and reported.

mod assertion;
mod case;
mod kind;
mod report;

use std::path::Path;

use serde::Deserialize;

use self::{
    case::{Case, Folder},
    kind::{Answer, Trouble},
    report::Outcome,
};

pub(crate) use self::report::{Report, Unknowns};

/// A case that cannot be met.
#[derive(Deserialize)]
struct Contradiction {
    id: String,
    fixture: String,
    reason: String,
}

/// Runs all cases of a folder, or those whose id or suite holds one of the words.
pub(crate) fn run(folder: &Path, wanted: &[String]) -> Result<Report, String> {
    let folder = Folder::open(folder)?;
    let contradictions: Vec<Contradiction> = serde_saphyr::from_str(include_str!("contradictions.yaml"))
        .map_err(|error| format!("contradictions.yaml: {error}"))?;
    let mut report = Report::default();
    let mut cases = folder.cases()?;
    let is_wanted = |case: &Case| {
        wanted.is_empty()
            || wanted.iter().any(|word| case.id.contains(word.as_str()) || case.suite.contains(word.as_str()))
    };
    cases.retain(is_wanted);
    for case in cases {
        let outcome = judge(&folder, &case, &contradictions);
        report.add(&case, &outcome);
    }
    Ok(report)
}

fn judge(folder: &Folder, case: &Case, contradictions: &[Contradiction]) -> Outcome {
    let outcome = ask(folder, case);
    let fixture = case.text("manifest_path").unwrap_or_default();
    let known = contradictions.iter().find(|known| known.id == case.id && known.fixture == fixture);
    match (known, outcome) {
        (None, outcome) => outcome,
        (Some(known), Outcome::Failed(findings)) => {
            Outcome::Contradicted(format!("{}\n    {}", known.reason, findings.join("\n    ")))
        }
        (Some(_), Outcome::Passed) => {
            Outcome::Failed(vec!["it is listed as a contradiction, and passes: the entry has to go".to_owned()])
        }
        (Some(_), outcome @ (Outcome::Contradicted(_) | Outcome::Unknown(_))) => outcome,
    }
}

fn ask(folder: &Folder, case: &Case) -> Outcome {
    let answers = match kind::answer(folder, case) {
        Ok(answers) => answers,
        Err(Trouble::Unknown) => return Outcome::Unknown(case.kind().to_owned()),
        Err(Trouble::Case(why)) => return Outcome::Failed(vec![why]),
        Err(Trouble::Refused(why)) => vec![Answer::refused(&why)],
    };
    let findings: Vec<String> =
        answers.iter().flat_map(|answer| assertion::compare(&case.expected, &answer.0)).collect();
    if findings.is_empty() { Outcome::Passed } else { Outcome::Failed(findings) }
}
