//! What every manifest has: the name of its folder, the lints and the dependencies of the workspace, no features.

use toml::{Table, Value};

use super::Finding;

const INHERITED: &[&str] = &["version", "edition", "rust-version", "license"];
const DEPENDENCIES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

/// Checks one manifest.
pub(crate) fn check(folder: &str, name: &str, manifest: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut complain =
        |problem: String, advice: &str| findings.push(Finding::new(format!("{folder}/Cargo.toml"), problem, advice));
    let manifest: Table = match manifest.parse() {
        Ok(manifest) => manifest,
        Err(error) => {
            complain(format!("is not TOML: {error}"), "correct the manifest");
            return findings;
        }
    };
    if folder != name {
        complain(format!("the package is called {name}, its folder {folder}"), "give both the same name");
    }
    let package = manifest.get("package");
    for key in INHERITED.iter().filter(|key| !inherits(package.and_then(|package| package.get(**key)))) {
        complain(format!("does not inherit {key}"), &format!("write {key}.workspace = true"));
    }
    if package.and_then(|package| package.get("description")).is_none() {
        complain("has no description".to_owned(), "say in one line what the crate is for");
    }
    if !inherits(manifest.get("lints")) {
        complain("does not take the lints of the workspace".to_owned(), "write [lints] workspace = true");
    }
    if manifest.contains_key("features") {
        complain("has cargo features".to_owned(), "make it a setting, or a crate: one build is what we test");
    }
    for dependency in own_versions(&manifest) {
        complain(
            format!("{dependency} does not come from the workspace"),
            "move version and source to [workspace.dependencies] and write workspace = true here",
        );
    }
    findings
}

/// Dependencies, of every kind and platform, that say themselves where they come from.
fn own_versions(manifest: &Table) -> Vec<String> {
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = platforms.filter_map(|(_, platform)| platform.as_table()).chain([manifest]);
    let lists = tables.flat_map(|table| DEPENDENCIES.iter().filter_map(|kind| table.get(*kind)?.as_table()));
    lists.flatten().filter(|(_, dependency)| !inherits(Some(dependency))).map(|(name, _)| name.clone()).collect()
}

fn inherits(value: Option<&Value>) -> bool {
    value.and_then(|value| value.get("workspace")).and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        [package]
        name = "pi-a"
        description = "a"
        version.workspace = true
        edition.workspace = true
        rust-version.workspace = true
        license.workspace = true
        [lints]
        workspace = true
        [dependencies]
        serde.workspace = true
        tokio = { workspace = true, features = [
            "rt",
        ] }
        "#;

    fn check_with(change: impl Fn(&str) -> String, expected: &[&str]) {
        let findings = check("pi-a", "pi-a", &change(GOOD));
        assert_eq!(findings.iter().map(|finding| finding.problem.as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_manifest_that_inherits_everything_passes() {
        check_with(str::to_owned, &[]);
    }

    #[test]
    fn a_version_of_ones_own_fails_in_every_kind_of_list() {
        check_with(|good| format!("{good}rand = \"0.9\""), &["rand does not come from the workspace"]);
        check_with(
            |good| format!("{good}[dev-dependencies.rand]\nversion = \"0.9\""),
            &["rand does not come from the workspace"],
        );
        check_with(
            |good| format!("{good}[target.'cfg(unix)'.dependencies]\nnix = {{ path = \"../nix\" }}"),
            &["nix does not come from the workspace"],
        );
    }

    #[test]
    fn missing_lints_features_and_names_fail() {
        check_with(|good| good.replace("[lints]", "[other]"), &["does not take the lints of the workspace"]);
        check_with(|good| format!("{good}[features]\nfast = []"), &["has cargo features"]);
        check_with(
            |good| good.replace("edition.workspace = true", "edition = \"2021\""),
            &["does not inherit edition"],
        );
        check_with(|good| good.replace("description = \"a\"", ""), &["has no description"]);
        assert_eq!(check("a", "pi-a", GOOD)[0].problem, "the package is called pi-a, its folder a");
    }
}
