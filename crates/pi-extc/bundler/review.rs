//! Looks at a bundle that somebody else made. A bundle tells less than its sources do: what becomes of a module that it takes
//! from the host nobody can follow, so the module as a whole counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use rolldown::ModuleType;

use super::{
    builtin,
    plugin::PRELUDE,
    protocol::{Answer, Fault, Found, Purpose, Request, ScanRequest, Scanned},
    rule::Rule,
    scan::{self, Import},
};

/// The name under which the bundle is shown.
const BUNDLE: &str = "/bundle.js";

pub(crate) fn review(request: ScanRequest) -> Answer {
    let ScanRequest { bundle, hosts, hooks } = request;
    // Without the line that the bundler writes itself. Whoever writes another is told of what stands in it.
    let own = bundle.strip_prefix(PRELUDE).unwrap_or(&bundle);
    let file = PathBuf::from(BUNDLE);
    let request = Request {
        root: PathBuf::from("/"),
        entry: file.clone(),
        cache: PathBuf::new(),
        hosts,
        hooks,
        purpose: Purpose::Script,
    };
    let Some(scan) = scan::scan(&file, own, &ModuleType::Js, &request) else {
        let message = "the bundle is no program".to_owned();
        return Answer::Refused(vec![Fault { message, hint: None, place: None }]);
    };
    let mut capabilities: BTreeSet<&str> = scan.capabilities;
    let mut findings = scan.findings;
    findings.extend(scan.wants.missing(scan.wants.defined()).cloned());
    for import in &scan.imports {
        let names = names_of(&import.specifier, &request.hosts);
        capabilities.extend(names.iter().flat_map(|name| scan::needs_of(name)));
        if let Some(rule) = rule(import, &names) {
            findings.push(Found { rule, subject: import.specifier.clone(), place: import.place.clone() });
        }
    }
    Answer::Scanned(Scanned { findings, capabilities: capabilities.into_iter().map(str::to_owned).collect() })
}

/// The names by which extensions know a shim.
fn names_of<'h>(shim: &str, hosts: &'h BTreeMap<String, String>) -> Vec<&'h str> {
    hosts.iter().filter(|(_, own)| *own == shim).map(|(name, _)| name.as_str()).collect()
}

/// What is to be said about a module that the bundle takes from the host, or that was not there when it was made.
fn rule(import: &Import, names: &[&str]) -> Option<Rule> {
    match names.first() {
        Some(name) => builtin::rule_of_shim(name),
        None if import.specifier.ends_with(".node") => Some(Rule::Native),
        None => match builtin::rule(&import.specifier) {
            None if import.is_tried => None,
            rule => Some(rule.unwrap_or(Rule::MissingPackage)),
        },
    }
}
