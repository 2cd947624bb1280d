//! What no tracked file may hold: paths of the machine it was written on, and names of private package registries.

use super::Finding;

// Written in halves, so that this file passes its own rule.
const MACHINE: &[&str] =
    &[concat!("/work/", "main"), concat!("/work/", "shared"), concat!("/ro", "ot/"), concat!("/tmp/", "target")];
const PRIVATE: &[&str] = &[concat!("artifact", "ory"), concat!(".jf", "rog.")];

/// Where packages may come from, and the files that say where they come from.
const PUBLIC: &[(&str, &str, &str)] = &[
    ("Cargo.lock", "source = \"", "registry+https://github.com/rust-lang/crates.io-index"),
    ("package-lock.json", "\"resolved\": \"", "https://registry.npmjs.org/"),
];

/// Checks the text of one tracked file.
pub(crate) fn check(name: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = || format!("{name}:{}", number + 1);
        for path in MACHINE.iter().filter(|path| holds_path(line, path)) {
            let problem = format!("holds {path}, a path of one machine");
            findings.push(Finding::new(
                place(),
                problem,
                "make it relative to the checkout, or an obvious example like /home/me",
            ));
        }
        for host in PRIVATE.iter().filter(|host| line.to_ascii_lowercase().contains(**host)) {
            let problem = format!("names a private package registry ({host})");
            findings.push(Finding::new(place(), problem, "name the public registry, or none"));
        }
        if let Some(source) = foreign_source(name, line) {
            findings.push(Finding::new(
                place(),
                format!("takes a package from {source}"),
                "lock it from the public registry",
            ));
        }
    }
    findings
}

/// Whether an absolute path begins there: `a/work/b` and `../work/` are somebody's own folders.
fn holds_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && !"._-~*})/]".contains(before))
    })
}

fn foreign_source<'a>(name: &str, line: &'a str) -> Option<&'a str> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let (_, key, public) = PUBLIC.iter().find(|(lock, ..)| *lock == file)?;
    let source = line.trim().strip_prefix(key)?;
    (!source.starts_with(public)).then(|| source.trim_end_matches(['"', ',']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_line(name: &str, line: &str, expected: &[&str]) {
        let found: Vec<String> =
            check(name, line).into_iter().map(|finding| format!("{}: {}", finding.place, finding.problem)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_path_of_the_machine_is_found_with_its_line() {
        check_line(
            "a.md",
            concat!("first\nsee \"/work/", "main\" for more"),
            &[concat!("a.md:2: holds /work/", "main, a path of one machine")],
        );
        check_line("a.rs", concat!("(/ro", "ot/x)"), &[concat!("a.rs:1: holds /ro", "ot/, a path of one machine")]);
    }

    #[test]
    fn folders_that_only_end_alike_pass() {
        check_line(
            "a.md",
            concat!("/work/x, ../work/", "shared, /home/me/work/", "main, ~/work/", "main, project/root/x"),
            &[],
        );
    }

    #[test]
    fn a_private_registry_is_found() {
        check_line(
            "a.toml",
            concat!("index = \"https://Artifact", "ory.example/api\""),
            &[concat!("a.toml:1: names a private package registry (artifact", "ory)")],
        );
    }

    #[test]
    fn lock_files_take_packages_from_public_registries() {
        let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        check_line("fuzz/Cargo.lock", public, &[]);
        check_line(
            "Cargo.lock",
            "source = \"git+https://example.org/x\"",
            &["Cargo.lock:1: takes a package from git+https://example.org/x"],
        );
        check_line(
            "web/package-lock.json",
            "  \"resolved\": \"https://mirror.example/a.tgz\",",
            &["web/package-lock.json:1: takes a package from https://mirror.example/a.tgz"],
        );
    }
}
