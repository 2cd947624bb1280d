//! What a setting is: its name, its unit, what it may be, and where it goes.

use std::net::Ipv6Addr;

use serde_json::{Value, json};

use super::{LogForm, LogLevel, Settings, list::KEYS};
use crate::roots::is_root;

/// A setting: its name inside `server` of the settings file, what it means, and what it may be.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub meaning: &'static str,
    pub kind: Kind,
}

/// What a value may be, and which member of [`Settings`] it is.
#[derive(Debug)]
pub enum Kind {
    Number(Number),
    /// An address with a port.
    Address,
    /// Names of hosts.
    Hosts,
    /// Folders, each absolute or from the home on; `.` is that of the start.
    Folders,
    LogLevel,
    LogForm,
}

#[derive(Debug)]
pub struct Number {
    pub unit: Unit,
    pub least: u64,
    pub most: u64,
    pub(super) get: fn(&Settings) -> u64,
    pub(super) set: fn(&mut Settings, u64),
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Milliseconds,
    Bytes,
    Sessions,
    Connections,
    Commands,
    CommandsPerMinute,
    AnswersPerMinute,
    Events,
    Levels,
    Values,
}

impl Unit {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Bytes => "bytes",
            Self::Sessions => "sessions",
            Self::Connections => "connections",
            Self::Commands => "commands",
            Self::CommandsPerMinute => "commands/min",
            Self::AnswersPerMinute => "answers/min",
            Self::Events => "events",
            Self::Levels => "levels",
            Self::Values => "values",
        }
    }
}

/// The setting of this name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

impl Key {
    /// The variable that sets it: `PI_SERVER_MAX_SESSIONS`.
    pub fn variable(&self) -> String {
        let mut name = String::from("PI_SERVER_");
        for letter in self.name.chars() {
            if letter.is_ascii_uppercase() {
                name.push('_');
            }
            name.push(letter.to_ascii_uppercase());
        }
        name
    }

    pub const fn unit(&self) -> Option<Unit> {
        match &self.kind {
            Kind::Number(number) => Some(number.unit),
            Kind::Address | Kind::Hosts | Kind::Folders | Kind::LogLevel | Kind::LogForm => None,
        }
    }

    /// What it should be, as people read it.
    pub fn expected(&self) -> String {
        match &self.kind {
            Kind::Number(number) => format!("a number from {} to {}", number.least, number.most),
            Kind::Address => "an address with a port, such as 127.0.0.1:3141".to_owned(),
            Kind::Hosts => {
                "a list of names such as box.example or box.example:8443, without scheme and path".to_owned()
            }
            Kind::Folders => "a list of folders from / or ~ on; . is that of the start".to_owned(),
            Kind::LogLevel => one_of(&LogLevel::WORDS),
            Kind::LogForm => one_of(&LogForm::WORDS),
        }
    }

    pub(super) fn get(&self, settings: &Settings) -> Value {
        match &self.kind {
            Kind::Number(number) => (number.get)(settings).into(),
            Kind::Address => settings.listen.map_or(Value::Null, |at| at.to_string().into()),
            Kind::Hosts => json!(settings.hosts),
            Kind::Folders => json!(settings.roots),
            Kind::LogLevel => word(&LogLevel::WORDS, settings.log.level),
            Kind::LogForm => word(&LogForm::WORDS, settings.log.form),
        }
    }

    /// `None`: the value is not what is expected.
    pub(super) fn set(&self, settings: &mut Settings, value: &Value) -> Option<()> {
        match &self.kind {
            Kind::Number(number) => {
                let value = value.as_u64().filter(|value| (number.least..=number.most).contains(value))?;
                (number.set)(settings, value);
            }
            Kind::Address => settings.listen = Some(value.as_str()?.parse().ok()?),
            Kind::Hosts => {
                let name = |it: &Value| it.as_str().filter(|name| is_host(name)).map(ToOwned::to_owned);
                settings.hosts = value.as_array()?.iter().map(name).collect::<Option<_>>()?;
            }
            Kind::Folders => {
                let folder = |it: &Value| it.as_str().filter(|said| is_root(said)).map(ToOwned::to_owned);
                let folders = value.as_array()?.iter().map(folder).collect::<Option<Vec<_>>>()?;
                settings.roots = Some(folders).filter(|folders| !folders.is_empty())?;
            }
            Kind::LogLevel => settings.log.level = named(&LogLevel::WORDS, value)?,
            Kind::LogForm => settings.log.form = named(&LogForm::WORDS, value)?,
        }
        Some(())
    }

    /// What a variable or an argument says, as the file would say it.
    pub(super) fn read(&self, text: &str) -> Value {
        match &self.kind {
            Kind::Number(_) => text.trim().parse::<u64>().map_or_else(|_| text.into(), Value::from),
            Kind::Hosts => text.split(',').map(str::trim).collect(),
            // As in PATH.
            Kind::Folders => std::env::split_paths(text).map(|folder| folder.to_string_lossy().into_owned()).collect(),
            Kind::Address | Kind::LogLevel | Kind::LogForm => text.trim().into(),
        }
    }
}

/// A name or an address, maybe with a port.
fn is_host(text: &str) -> bool {
    let name = match text.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => {
            if port.parse::<u16>().is_err() {
                return false;
            }
            name
        }
        Some(_) | None => text,
    };
    match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
        }
    }
}

fn one_of<T>(words: &[(&str, T)]) -> String {
    words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
}

fn word<T: PartialEq + Copy>(words: &[(&str, T)], value: T) -> Value {
    words.iter().find(|(_, known)| *known == value).map_or(Value::Null, |(word, _)| (*word).into())
}

fn named<T: Copy>(words: &[(&str, T)], value: &Value) -> Option<T> {
    let value = value.as_str()?;
    words.iter().find(|(word, _)| *word == value).map(|(_, known)| *known)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::PathBuf};

    use super::*;

    #[test]
    fn every_number_is_kept_where_it_is_looked_for() {
        for key in &KEYS {
            let Kind::Number(number) = &key.kind else { continue };
            let mut settings = Settings::usual(PathBuf::new());
            let usual = (number.get)(&settings);
            assert!((number.least..=number.most).contains(&usual), "{}: {usual}", key.name);
            for value in [number.least, number.most] {
                assert_eq!(key.set(&mut settings, &value.into()), Some(()), "{}", key.name);
                assert_eq!(key.get(&settings), Value::from(value), "{}", key.name);
            }
            let others = KEYS.iter().filter(|other| other.name != key.name);
            let fresh = Settings::usual(PathBuf::new());
            assert!(others.into_iter().all(|other| other.get(&settings) == other.get(&fresh)), "{}", key.name);
            for value in [number.most.checked_add(1), number.least.checked_sub(1)].into_iter().flatten() {
                assert_eq!(key.set(&mut settings, &value.into()), None, "{}", key.name);
            }
        }
    }

    #[test]
    fn hosts_are_names_without_scheme_and_path() {
        for (host, expected) in [
            ("box.example", true),
            ("box_1.example:8443", true),
            ("192.0.2.1:80", true),
            ("[::1]", true),
            ("[::1]:3141", true),
            ("https://box.example", false),
            ("box.example/path", false),
            ("box.example:port", false),
            ("box.example:", false),
            ("user@box.example", false),
            ("box example", false),
            ("*", false),
            (":80", false),
            ("", false),
        ] {
            assert_eq!(is_host(host), expected, "{host:?}");
        }
    }

    #[test]
    fn every_setting_has_a_variable_of_its_own() {
        let variables: BTreeSet<String> = KEYS.iter().map(Key::variable).collect();
        assert_eq!(variables.len(), KEYS.len());
        assert!(variables.contains("PI_SERVER_COMMANDS_PER_MINUTE_PER_CLIENT"), "{variables:?}");
    }
}
