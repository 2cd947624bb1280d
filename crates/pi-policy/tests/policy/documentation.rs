//! The page `docs/policy.md` says what the code does.

use pi_extproto::capability::{Capability, Declared, Method};
use pi_policy::{
    Action, Evidence, Extension, Feature, Moment, Provenance, Request, Rule, Subject, Target, config, explain, risk,
};

const PAGE: &str = include_str!("../../../../docs/policy.md");

fn block(language: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("```{language}\n")).expect("a block of this language");
    rest.split_once("```").expect("the end of the block").0
}

#[test]
fn table_of_rules_is_the_order() {
    let rows: Vec<&str> =
        PAGE.lines().filter(|line| line.starts_with("| ") && line[2..3].parse::<u8>().is_ok()).collect();
    let found: Vec<String> =
        rows.iter().map(|row| row.split('|').skip(1).take(2).collect::<Vec<_>>().join("|")).collect();
    let expected: Vec<String> = Rule::ORDER.iter().map(|rule| format!(" {} | {rule} ", rule.index())).collect();
    assert_eq!(found, expected);
}

#[test]
fn table_of_weights_is_the_one_in_use() {
    for line in risk::WEIGHTS {
        let row = format!("| `{}` | {:.1} | {} |", line.name, line.weight, line.meaning);
        assert!(PAGE.contains(&row), "{row}");
    }
    let losses = risk::LOSSES;
    assert!(PAGE.contains(&format!("| benign | {} | {} |", losses.benign_grant, losses.benign_deny)));
    assert!(PAGE.contains(&format!("| malicious | {} | {} |", losses.malicious_grant, losses.malicious_deny)));
}

#[test]
fn example_is_what_explain_prints_for_the_settings_shown() {
    let policy = config::load(block("json").as_bytes()).expect("settings without a problem");
    assert_eq!(policy.notices, []);
    let extension = Extension::new("github", "1.4.0", Provenance::Trusted, &Declared::new(None, None));
    let subject = Subject::Extension(extension.into());
    let (capability, method, target) = (Capability::Tool, Method::Tool, Target::Tool("deploy".to_owned()));
    let evidence = Evidence::CLEAN.with(Feature::Unsigned, 0.6).with(Feature::Unscanned, 0.3);
    let action = Action { subject, capability, method, target };
    let request = Request::new(action, Moment::from_unix_millis(0)).with_evidence(evidence);
    assert_eq!(explain(&policy.value, &request).to_string(), block("text").trim_end());
}
