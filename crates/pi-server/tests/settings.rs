//! What is said about the server in a file, in variables and in arguments, and what it means.

#![expect(clippy::disallowed_methods, reason = "a test makes the files that it wants to be read")]

use std::{fmt::Write as _, fs, path::PathBuf};

use pi_server::settings::{KEYS, Origin, Resolved, SaidInFile, Settings, resolve, said_in, said_in_file};

/// Resolves a settings file with these variables and `--set` arguments; the folder of the file is left out of what is told.
fn resolved(file: &str, variables: &[(&str, &str)], flags: &[(&str, &str)]) -> (Resolved, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("settings.json");
    fs::write(&path, file).expect("it can be written");
    let variables: Vec<_> = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let flags = flags.iter().map(|(name, value)| said_in(name, value, Origin::Flag("--set"))).collect();
    let resolved = resolve(PathBuf::from("server"), said_in_file(&path), &variables, flags);
    let at = format!("{}/", folder.path().display());
    let told = resolved.problems.iter().map(|problem| problem.to_string().replace(&at, "")).collect();
    (resolved, told)
}

/// Value and origin of a setting, the latter without the folder.
fn row(resolved: &Resolved, name: &str) -> String {
    let row = resolved.rows.iter().find(|row| row.key.name == name).expect("a setting");
    let origin = row.origin.to_string();
    format!("{} {}", row.value, origin.rsplit('/').next().unwrap_or(&origin))
}

#[test]
fn flag_counts_more_than_variable_than_file_than_what_is_built_in() {
    let file = "{\n  \"theme\": \"dark\",\n  \"server\": {\n    \"maxSessions\": 1,\n    \"maxConnections\": 2, \"drainMs\": 3,\n    \"hosts\": [\"a:1\"], \"roots\": [\"/srv\"]\n  }\n}";
    let variables = [
        ("PI_SERVER_MAX_SESSIONS", "11"),
        ("PI_SERVER_MAX_CONNECTIONS", " 12 "),
        ("PI_SERVER_HOSTS", "b:1, c:2"),
        ("PI_SERVER_ROOTS", "/srv/one:~/two:."),
        ("PI_SERVER_LISTEN", "[::1]:8080"),
        ("PI_SERVER_PORT", "4000"),
    ];
    let (resolved, told) = resolved(file, &variables, &[("maxSessions", "21"), ("logLevel", "debug")]);
    assert_eq!(told, [""; 0]);
    for (name, expected) in [
        ("maxSessions", "21 --set"),
        ("maxConnections", "12 PI_SERVER_MAX_CONNECTIONS"),
        ("drainMs", "3 settings.json:5:26"),
        ("hosts", r#"["b:1","c:2"] PI_SERVER_HOSTS"#),
        ("roots", r#"["/srv/one","~/two","."] PI_SERVER_ROOTS"#),
        ("listen", r#""[::1]:8080" PI_SERVER_LISTEN"#),
        ("logLevel", r#""debug" --set"#),
        ("pingMs", "30000 default"),
    ] {
        assert_eq!(row(&resolved, name), expected);
    }
    assert_eq!((resolved.settings.sessions, resolved.settings.connections), (21, 12));
}

#[test]
fn port_alone_is_a_port_on_this_machine() {
    let (resolved, _) = resolved("", &[("PI_SERVER_PORT", "4000")], &[]);
    assert_eq!(row(&resolved, "listen"), r#""127.0.0.1:4000" PI_SERVER_PORT"#);
}

#[test]
fn setting_that_stands_twice_is_told_and_not_guessed() {
    let (resolved, told) =
        resolved("{\n  \"server\": {\"drainMs\": 1,\n    \"pingMs\": 200, \"drainMs\": 3}\n}", &[], &[]);
    assert_eq!(told, ["settings.json:3:20: server.drainMs stands there more than once"]);
    assert!(resolved.problems.iter().all(|problem| problem.is_fatal()));
    let (_, told) = self::resolved("{\"server\": {}, \"theme\": \"dark\", \"server\": {\"drainMs\": 3}}", &[], &[]);
    assert_eq!(told, ["settings.json:1:33: server stands there more than once"]);
}

#[test]
fn what_cannot_be_used_is_told_with_its_place_and_what_was_meant() {
    let file = "{\n  \"server\": {\n    \"maxSesions\": 1,\n    \"drainMs\": \"sk-hunter2\",\n    \"pingMs\": 1,\n    \"listen\": \"localhost\"\n  }\n}";
    let variables = [
        ("PI_SERVER_MAX_PENDING_PER_CLIENTS", "1"),
        ("PI_SERVER_PORT", "tcp://10.0.0.1:80"),
        ("PI_SERVER_SERVICE_HOST", "10.0.0.1"),
        ("PI_SERVER_DRAIN_MS", "soon"),
    ];
    let flags = [("logFormat", "xml"), ("roots", "/srv:work"), ("maxFrames", "1"), ("journalMaxBytes", "1048576")];
    let (resolved, mut told) = resolved(file, &variables, &flags);
    told.sort();
    let expected = [
        "--set: server.historyBytes should not be more than server.journalMaxBytes",
        "--set: server.logFormat should be auto, text, json",
        "--set: server.maxFrames is not known",
        "--set: server.roots should be a list of folders from / or ~ on; . is that of the start",
        "PI_SERVER_DRAIN_MS: server.drainMs should be a number from 0 to 3600000",
        "PI_SERVER_MAX_PENDING_PER_CLIENTS: no setting has this variable; did you mean PI_SERVER_MAX_PENDING_PER_CLIENT?",
        "PI_SERVER_PORT: it should be a port from 1 to 65535",
        "PI_SERVER_SERVICE_HOST: no setting has this variable",
        "settings.json:3:5: server.maxSesions is not known; did you mean server.maxSessions?",
        "settings.json:4:5: server.drainMs should be a number from 0 to 3600000",
        "settings.json:5:5: server.pingMs should be a number from 100 to 3600000",
        "settings.json:6:5: server.listen should be an address with a port, such as 127.0.0.1:3141",
    ];
    assert_eq!(told, expected);
    let fatal = resolved.problems.iter().filter(|problem| problem.is_fatal()).count();
    assert_eq!(fatal, expected.len() - 2, "variables that nobody knows may be somebody else's");
}

#[test]
fn file_without_server_says_nothing_and_a_broken_one_is_told() {
    for (file, expected) in [
        ("", None),
        ("{}", None),
        (r#"{"server": null}"#, None),
        (r#"{"server": {"drainMs": null}}"#, None),
        (r#"{"theme": 1, "server": 7}"#, Some("settings.json:1:14: server should be an object")),
        (
            r#"{"maxSessions": 5, "server": {}}"#,
            Some("settings.json:1:2: maxSessions is not known here; did you mean server.maxSessions?"),
        ),
        ("[]", Some("settings.json: it is not a JSON object")),
        ("{\n,", Some("settings.json: it is not JSON: line 2, column 1: key must be a string")),
    ] {
        let (resolved, told) = resolved(file, &[], &[]);
        assert_eq!(told, expected.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>(), "{file}");
        assert!(resolved.rows.iter().all(|row| row.origin == Origin::Default));
    }
}

/// `UPDATE=1` writes the table anew.
#[test]
fn page_lists_every_setting() {
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let mut table = String::from(
        "| setting | variable | unit | what it should be | default | what it is |\n|---|---|---|---|---|---|\n",
    );
    let usual = resolve(PathBuf::new(), SaidInFile::default(), &[], Vec::new());
    for row in &usual.rows {
        let unit = row.key.unit().map(|unit| unit.word()).unwrap_or_default();
        let (name, variable, expected, meaning) =
            (row.key.name, row.key.variable(), row.key.expected(), row.key.meaning);
        writeln!(table, "| `server.{name}` | `{variable}` | {unit} | {expected} | `{}` | {meaning} |", row.value)
            .expect("memory");
    }
    let page = fs::read_to_string(PAGE).expect("the page is there");
    let start = page.find("| setting | variable |").expect("the table");
    let end = start + page[start..].find("\n\n").map_or(page.len() - start, |end| end + 1);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(PAGE, format!("{}{table}{}", &page[..start], &page[end..])).expect("it can be written");
        return;
    }
    assert_eq!(&page[start..end], table, "docs/configuration.md is out of date: UPDATE=1 writes it anew");
}

#[test]
fn usual_settings_are_those_of_the_list() {
    let resolved = resolve(PathBuf::from("server"), SaidInFile::default(), &[], Vec::new());
    assert_eq!(resolved.rows.len(), KEYS.len());
    assert_eq!(format!("{:?}", resolved.settings), format!("{:?}", Settings::usual(PathBuf::from("server"))));
}
