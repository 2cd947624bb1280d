//! The pages about providers and about rules say what is true.

use pi_provider::{
    builtin,
    manifest::{
        diagnostic::Rule,
        load::{Format, load},
    },
};

const PAGE: &str = include_str!("../../../../docs/providers.md");

/// The first block of YAML behind a heading.
fn example(heading: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(heading).unwrap();
    let (_, rest) = rest.split_once("```yaml\n").unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn every_provider_stands_in_the_table_with_its_variable() {
    let rows: Vec<&str> = PAGE.lines().filter(|line| line.starts_with("| `")).collect();
    for built_in in builtin::MANIFESTS {
        let manifest = load(built_in.text, &built_in.path(), Format::Yaml).manifest.unwrap();
        let row = rows.iter().find(|row| row.starts_with(&format!("| `{}`", built_in.id)));
        let row = row.unwrap_or_else(|| panic!("{} is not in the table", built_in.id));
        let variable = match &manifest.endpoint.auth.token_env {
            Some(variable) => format!("| `{variable}` |"),
            None => "| none |".to_owned(),
        };
        assert!(row.contains(&variable), "{row}");
    }
    let ids = rows.iter().filter(|row| row.matches('|').count() == 5).count();
    assert_eq!(ids, builtin::MANIFESTS.len());
}

#[test]
fn the_example_is_a_manifest_without_a_finding() {
    let loaded = load(example("## Adding a provider"), "workshop.yaml", Format::Yaml);
    assert_eq!((loaded.diagnostics, loaded.ignored), (Vec::new(), Vec::new()));
    assert_eq!(loaded.manifest.unwrap().models.keys().collect::<Vec<_>>(), ["lathe-2"]);
}

#[test]
fn every_rule_stands_in_its_page_with_its_advice() {
    let page = include_str!("../../../../docs/manifest-rules.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let row = |rule: &Rule| format!("| `{rule}` | {} |", rule.hint().replace('|', "\\|"));
    assert_eq!(rows, Rule::ALL.iter().map(row).collect::<Vec<_>>());
}
