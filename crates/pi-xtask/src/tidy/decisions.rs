//! The decision records in `docs/adr`: each has a number of its own, and the index names it.

use std::collections::BTreeMap;

use super::Finding;

/// Checks the names of the files in the folder, and that the index (if there is one) leads to each.
pub(crate) fn check(names: &[String], index: Option<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut numbers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in names.iter().filter(|name| *name != "README.md") {
        match number(name) {
            Some(number) => numbers.entry(number).or_default().push(name),
            None => findings.push(Finding::new(place(name), "has no number", "call it NNNN-short-name.md")),
        }
        if index.is_some_and(|index| !index.contains(&format!("({name})"))) {
            findings.push(Finding::new(place(name), "is not in the index", "link it from docs/adr/README.md"));
        }
    }
    for (number, names) in numbers.iter().filter(|(_, names)| names.len() > 1) {
        let problem = format!("the number {number} is taken more than once: {}", names.join(", "));
        findings.push(Finding::new("docs/adr", problem, "give the later one the next free number"));
    }
    findings
}

fn place(name: &str) -> String {
    format!("docs/adr/{name}")
}

fn number(name: &str) -> Option<&str> {
    let (number, rest) = name.split_once('-')?;
    let four = number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit());
    (four && rest.len() > ".md".len() && rest.ends_with(".md")).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_names(names: &[&str], index: Option<&str>, expected: &[&str]) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let findings = check(&names, index);
        assert_eq!(findings.iter().map(|finding| finding.problem.as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn numbers_are_unique() {
        check_names(&["0001-a.md", "0002-b.md", "README.md"], None, &[]);
        check_names(
            &["0001-a.md", "0001-b.md"],
            None,
            &["the number 0001 is taken more than once: 0001-a.md, 0001-b.md"],
        );
    }

    #[test]
    fn a_record_without_number_is_found() {
        check_names(&["a-decision.md", "12-b.md"], None, &["has no number", "has no number"]);
    }

    #[test]
    fn the_index_leads_to_every_record() {
        check_names(&["0001-a.md", "0002-b.md"], Some("- [a](0001-a.md)"), &["is not in the index"]);
    }
}
