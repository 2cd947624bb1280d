//! The environment of the processes that we start: that of pi, without its secrets.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
};

/// Variables by name. Its debug form shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

/// Which variables processes do not get.
#[derive(Debug, Clone, Default)]
pub struct Withheld {
    /// Variables from which credentials of providers are read.
    pub credentials: Vec<String>,
    /// Variables that are passed on whatever their name says, because a person said so.
    pub passed: Vec<String>,
}

impl Environment {
    /// What `inherited` holds but for secrets: the named credentials, and every variable whose name says that it is one.
    pub fn new(inherited: impl IntoIterator<Item = (OsString, OsString)>, withheld: &Withheld) -> Self {
        let variables = inherited.into_iter().filter(|(name, _)| !withheld.holds_back(name)).collect();
        Self { variables }
    }

    /// The same with one more variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// The same with a folder in which programs are looked for first.
    #[must_use]
    pub fn with_programs_of(mut self, folder: &Path) -> Self {
        let known = self.variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let all = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&known));
        // A folder whose name holds the separator cannot be told apart from two; nothing of ours is found there.
        if let Ok(joined) = std::env::join_paths(all) {
            self.variables.insert("PATH".into(), joined);
        }
        self
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The folders in which programs are looked for.
    pub(crate) fn search_path(&self) -> Vec<PathBuf> {
        let path = self.variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
    }
}

impl Withheld {
    fn holds_back(&self, name: &OsStr) -> bool {
        // A name that is no text is no name that anybody gives to a secret, and the rules cannot read it.
        let Some(name) = name.to_str() else { return false };
        let is_listed = |names: &[String]| names.iter().any(|listed| is_same(listed, name));
        !is_listed(&self.passed) && (is_listed(&self.credentials) || pi_redact::is_secret_variable(name))
    }
}

/// Names of variables differ in case only on systems where case counts.
fn is_same(one: &str, other: &str) -> bool {
    if cfg!(windows) { one.eq_ignore_ascii_case(other) } else { one == other }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.variables.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(inherited: &[&str], withheld: &Withheld) -> Vec<String> {
        let inherited = inherited.iter().map(|name| ((*name).into(), "v".into()));
        let kept = Environment::new(inherited, withheld);
        kept.variables().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        let secret =
            ["ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "MY_PASSWORD", "NPM_TOKEN", "PGPASSWORD"];
        assert_eq!(names(&secret, &Withheld::default()), [""; 0]);
        let plain = [
            "DBUS_SESSION_BUS_ADDRESS",
            "DISPLAY",
            "HOME",
            "LANG",
            "PATH",
            "SSH_AUTH_SOCK",
            "TERM",
            "TERM_SESSION_ID",
            "XAUTHORITY",
            "XDG_SESSION_ID",
        ];
        assert_eq!(names(&plain, &Withheld::default()), plain);
    }

    #[test]
    fn names_of_the_caller_are_withheld_and_those_of_a_person_passed() {
        let withheld = Withheld { credentials: vec!["ODD".to_owned()], passed: vec!["GITHUB_TOKEN".to_owned()] };
        assert_eq!(names(&["GITHUB_TOKEN", "NPM_TOKEN", "ODD", "PLAIN"], &withheld), ["GITHUB_TOKEN", "PLAIN"]);
    }

    #[test]
    fn debug_form_shows_no_value() {
        let shown = format!("{:?}", Environment::default().with("A", "hidden"));
        assert_eq!(shown, r#"["A"]"#);
    }

    #[test]
    fn own_programs_are_found_first() {
        let folders = |environment: Environment| environment.search_path();
        let environment = Environment::default().with("PATH", "/usr/bin");
        assert_eq!(
            folders(environment.with_programs_of(Path::new("/own"))),
            [Path::new("/own"), Path::new("/usr/bin")]
        );
        assert_eq!(folders(Environment::default().with_programs_of(Path::new("/own"))), [Path::new("/own")]);
    }
}
