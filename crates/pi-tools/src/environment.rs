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
    /// Names of variables that are there and not passed on.
    withheld: Vec<String>,
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
    /// What `inherited` holds but for secrets: the named credentials, and every variable that is one by
    /// [`pi_redact::is_withheld_variable`].
    pub fn new(inherited: impl IntoIterator<Item = (OsString, OsString)>, rules: &Withheld) -> Self {
        let (withheld, variables): (BTreeMap<_, _>, BTreeMap<_, _>) =
            inherited.into_iter().partition(|(name, value)| rules.holds_back(name, value));
        Self { variables, withheld: withheld.into_keys().filter_map(|name| name.into_string().ok()).collect() }
    }

    /// The same with one more variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// The same without a variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.variables.remove(OsStr::new(name));
        self
    }

    /// Whether processes get a variable of this name.
    pub fn passes(&self, name: &str) -> bool {
        self.variables.contains_key(OsStr::new(name))
    }

    /// Nothing but what no program starts without: where programs are, and what the system itself reads.
    #[must_use]
    pub fn bare(mut self) -> Self {
        const NEEDED: [&str; 7] = ["PATH", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP"];
        let needed = if cfg!(windows) { &NEEDED[..] } else { &NEEDED[..1] };
        let is_needed = |name: &str| needed.iter().any(|needed| is_same(needed, name));
        self.variables.retain(|name, _| name.to_str().is_some_and(is_needed));
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

    /// The variables that are not passed on and that one of these texts speaks of.
    pub(crate) fn withheld_in(&self, texts: [&str; 2]) -> Vec<&str> {
        let is_in = |name: &str, text: &str| {
            let is_part = |sign: Option<char>| sign.is_some_and(|sign| sign.is_alphanumeric() || sign == '_');
            text.match_indices(name).any(|(at, _)| {
                !is_part(text[..at].chars().next_back()) && !is_part(text[at + name.len()..].chars().next())
            })
        };
        self.withheld.iter().map(String::as_str).filter(|name| texts.iter().any(|text| is_in(name, text))).collect()
    }

    /// The folders in which programs are looked for.
    pub(crate) fn search_path(&self) -> Vec<PathBuf> {
        let path = self.variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
    }
}

impl Withheld {
    /// Whether they do not get this one.
    pub fn holds_back(&self, name: &OsStr, value: &OsStr) -> bool {
        // A name that is no text is no name that anybody gives to a secret, and the rules cannot read it.
        let Some(name) = name.to_str() else { return false };
        let is_listed = |names: &[String]| names.iter().any(|listed| is_same(listed, name));
        let is_secret = || pi_redact::is_withheld_variable(name, &value.to_string_lossy());
        !is_listed(&self.passed) && (is_listed(&self.credentials) || is_secret())
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
    fn values_count_where_names_only_hint() {
        let inherited = [
            ("DATABASE_URL", "postgres://me:secret@host/db"),
            ("GH_PAT", "0123456789abcdef"),
            ("HTTPS_PROXY", "http://me:secret@proxy:3128"),
            ("SITE_URL", "https://example.com"),
            ("TLS_KEY", "/etc/ssl/key.pem"),
        ];
        let inherited = inherited.map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::new(inherited, &Withheld::default());
        let kept: Vec<&str> = environment.variables().filter_map(|(name, _)| name.to_str()).collect();
        assert_eq!(kept, ["HTTPS_PROXY", "SITE_URL", "TLS_KEY"]);
        assert_eq!(environment.withheld_in(["curl $GH_PAT", "no DATABASE_URL is set"]), ["DATABASE_URL", "GH_PAT"]);
        assert_eq!(environment.withheld_in(["echo $MY_GH_PAT GH_PATH", ""]), [""; 0]);
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
