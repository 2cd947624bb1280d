//! Settings files of real folders, and what they mean.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "a test makes the files that it wants to be read")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use pi_session::{
    Switch,
    queue::Delivery,
    retry::RetrySettings,
    settings::{
        Files, Layer, Notice, Origin, Resolved,
        change::{self, ChangeError},
        keys, load,
        trust::Trust,
    },
};
use pi_transcript::ThinkingLevel;
use serde_json::{Value, json};

/// An agent directory and a project.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn with(user: &str, project: &str) -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        for (file, text) in [(place.user(), user), (place.project(), project)] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            if !text.is_empty() {
                fs::write(file, text).unwrap();
            }
        }
        place
    }

    fn user(&self) -> PathBuf {
        self.root.path().join("agent/settings.json")
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("work/.pi/settings.json")
    }

    fn load(&self, trust: Trust, given: Vec<Layer>) -> Resolved {
        let (agent, work) = (self.root.path().join("agent"), self.root.path().join("work"));
        load(&Files { agent: Some(&agent), project: Some(&work), trust }, given)
    }

    /// Notices without the folder, which is another one each time.
    fn told(&self, notices: &[Notice]) -> Vec<String> {
        let folder = format!("{}/", self.root.path().display());
        notices.iter().map(|notice| notice.to_string().replace(&folder, "")).collect()
    }
}

/// Key, value and origin of a row.
fn row(resolved: &Resolved, key: &str) -> (Value, Origin) {
    let row = resolved.rows.iter().find(|row| row.key == key).unwrap();
    (row.value.clone(), row.origin)
}

#[test]
fn built_in_values_are_those_of_the_list() {
    let resolved = Place::with("", "").load(Trust::Trusted, Vec::new());
    assert_eq!(resolved.notices, []);
    let listed: Vec<(&str, &Value)> =
        keys::all().iter().filter(|key| !key.unused).map(|key| (key.key, &key.default)).collect();
    let rows: Vec<(&str, &Value)> = resolved.rows.iter().map(|row| (row.key, &row.value)).collect();
    assert_eq!(rows, listed, "every key that is used has a row, and every row a key");
    assert!(resolved.rows.iter().all(|row| row.origin == Origin::BuiltIn));
    let settings = resolved.settings;
    assert_eq!((settings.compaction.reserve_tokens, settings.compaction.keep_recent_tokens), (16_384, 20_000));
    assert_eq!(settings.retry, RetrySettings::default());
    assert_eq!(settings.thinking_budgets[&ThinkingLevel::Medium], 8192);
    assert_eq!(settings.steering_mode, Delivery::OneAtATime);
}

#[test]
fn strongest_layer_counts_member_by_member() {
    let place = Place::with(
        r#"{"compaction": {"enabled": false, "reserveTokens": 1}, "theme": "light", "followUpMode": "all"}"#,
        r#"{"compaction": {"reserveTokens": 2}, "theme": "dark", "thinkingBudgets": {"low": 7}}"#,
    );
    let given = vec![Layer::given(Origin::Flag, [("theme", json!("blue"))])];
    let resolved = place.load(Trust::Trusted, given);
    assert_eq!(resolved.notices, []);
    assert_eq!(row(&resolved, "compaction.enabled"), (json!(false), Origin::User));
    assert_eq!(row(&resolved, "compaction.reserveTokens"), (json!(2), Origin::Project));
    assert_eq!(row(&resolved, "compaction.keepRecentTokens"), (json!(20_000), Origin::BuiltIn));
    assert_eq!(row(&resolved, "theme"), (json!("blue"), Origin::Flag));
    assert_eq!(row(&resolved, "thinkingBudgets.low"), (json!(7), Origin::Project));
    assert_eq!(resolved.settings.follow_up_mode, Delivery::All);
    assert_eq!(resolved.settings.thinking_budgets[&ThinkingLevel::High], 16_384);
}

#[test]
fn untrusted_project_has_no_say() {
    let place = Place::with(r#"{"shellPath": "/bin/bash"}"#, r#"{"shellPath": "./evil"}"#);
    let resolved = place.load(Trust::Untrusted, Vec::new());
    assert_eq!(row(&resolved, "shellPath"), (json!("/bin/bash"), Origin::User));
    assert_eq!(
        place.told(&resolved.notices),
        ["work/.pi/settings.json: nobody has trusted this project, so its settings are not used"]
    );
}

#[test]
fn broken_file_is_told_with_its_place_and_the_rest_counts() {
    let place = Place::with("{\n  \"theme\": \"light\",\n  \"retry\": {,}\n}", r#"{"quietStartup": true}"#);
    let resolved = place.load(Trust::Trusted, Vec::new());
    assert_eq!(
        place.told(&resolved.notices),
        ["agent/settings.json: it is not JSON: line 3, column 13: key must be a string"]
    );
    assert_eq!(row(&resolved, "theme"), (Value::Null, Origin::BuiltIn));
    assert_eq!(row(&resolved, "quietStartup"), (json!(true), Origin::Project));
}

#[test]
fn what_cannot_be_used_is_told_and_the_layer_below_counts() {
    let place = Place::with(
        r#"{"retry": {"maxRetries": 5}, "steeringMode": "all", "defaultProjectTrust": "never", "$schema": "x"}"#,
        r#"{"retry": {"maxRetries": -1, "tries": 2}, "steeringMode": "hunter2", "compactoin": {}, "images": true,
            "defaultProjectTrust": "always", "skills": "one",
            "server": {"listen": "0.0.0.0:1"}}"#,
    );
    let resolved = place.load(Trust::Trusted, Vec::new());
    let mut told = place.told(&resolved.notices);
    told.sort();
    insta::assert_snapshot!(told.join("\n"), @r"
    work/.pi/settings.json:1:12: retry.maxRetries should be a number, not -1
    work/.pi/settings.json:1:30: retry.tries is not known; did you mean retry.maxRetries?
    work/.pi/settings.json:1:43: steeringMode should be one-at-a-time or all, not this text
    work/.pi/settings.json:1:70: compactoin is not known; did you mean compaction?
    work/.pi/settings.json:1:88: images should be an object, not true
    work/.pi/settings.json:2:13: defaultProjectTrust counts only in your own settings
    work/.pi/settings.json:2:46: skills should be a list of texts, not this text
    work/.pi/settings.json:3:13: server counts only in your own settings
    ");
    assert_eq!(row(&resolved, "retry.maxRetries"), (json!(5), Origin::User));
    assert_eq!(row(&resolved, "steeringMode"), (json!("all"), Origin::User));
    assert_eq!(row(&resolved, "defaultProjectTrust"), (json!("never"), Origin::User));
}

#[test]
fn every_layer_adds_places() {
    let place = Place::with(r#"{"skills": ["~/mine", "more"]}"#, r#"{"skills": ["../shared"], "sessionDir": "kept"}"#);
    let settings = place.load(Trust::Trusted, Vec::new()).settings;
    let home = Path::new("/home/u");
    let paths: Vec<PathBuf> = settings.skills.iter().map(|location| location.path(Some(home))).collect();
    let (agent, work) = (place.root.path().join("agent"), place.root.path().join("work/.pi"));
    assert_eq!(paths, [work.join("../shared"), home.join("mine"), agent.join("more")]);
    assert_eq!(settings.session_directory(Some(home)), Some(work.join("kept")));
}

#[test]
fn tools_are_replaced_or_changed() {
    for (written, expected) in [
        (json!([]), "read bash edit write"),
        (json!(["+grep", "-bash"]), "read edit write grep"),
        (json!(["read", "ls"]), "read ls"),
        (json!(["ls", "+grep", "-ls"]), "grep"),
        (json!(["+read"]), "read bash edit write"),
    ] {
        let given = vec![Layer::given(Origin::Flag, [("defaultTools", written.clone())])];
        let settings = Place::with("", "").load(Trust::Trusted, given).settings;
        assert_eq!(settings.tools(&["read", "bash", "edit", "write"]).join(" "), expected, "{written}");
    }
}

#[test]
fn one_setting_is_written_and_the_rest_stays() {
    let place = Place::with("{\n\t\"theme\": \"light\",\n\t\"mine\": {\"kept\": 1}\n}\n", "");
    change::set(&place.user(), "compaction.enabled", &json!(false)).unwrap();
    change::set(&place.user(), "theme", &json!("dark")).unwrap();
    change::set(&place.user(), "theme", &json!("dark")).unwrap();
    let expected =
        "{\n\t\"theme\": \"dark\",\n\t\"mine\": {\"kept\": 1},\n\t\"compaction\": {\n\t  \"enabled\": false\n\t}\n}\n";
    assert_eq!(fs::read_to_string(place.user()).unwrap(), expected);
    change::set(&place.user(), "theme", &Value::Null).unwrap();
    assert_eq!(row(&place.load(Trust::Trusted, Vec::new()), "theme"), (Value::Null, Origin::BuiltIn));
    let names: Vec<_> =
        fs::read_dir(place.root.path().join("agent")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "the file and its lock, and nothing left over: {names:?}");
}

#[test]
fn change_that_cannot_be_made_leaves_the_file() {
    let place = Place::with("{ broken", "");
    let changed = change::set(&place.user(), "theme", &json!("dark"));
    assert!(matches!(changed, Err(ChangeError::NotAnObject { .. })), "{changed:?}");
    assert!(matches!(change::set(&place.user(), "thema", &json!("dark")), Err(ChangeError::UnknownKey { .. })));
    assert_eq!(fs::read_to_string(place.user()).unwrap(), "{ broken");
}

#[cfg(unix)]
#[test]
fn link_and_mode_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::with("", "");
    let real = place.root.path().join("dotfiles.json");
    fs::write(&real, "{}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&real, place.user()).unwrap();
    change::set(&place.user(), "theme", &json!("dark")).unwrap();
    assert!(place.user().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\n  \"theme\": \"dark\"\n}");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn changes_at_the_same_time_are_all_kept() {
    let place = Place::with("", "");
    let keys: Vec<&str> = keys::all().iter().map(|key| key.key).filter(|key| !key.contains('.')).collect();
    std::thread::scope(|scope| {
        for key in &keys {
            scope.spawn(|| change::set(&place.user(), key, &json!("x")).unwrap());
        }
    });
    let written: Value = serde_json::from_str(&fs::read_to_string(place.user()).unwrap()).unwrap();
    assert_eq!(written.as_object().unwrap().len(), keys.len());
}

#[test]
fn extensions_are_switched_off_by_whoever_wants_it_and_on_by_the_same() {
    let place = Place::with(r#"{"theme":"dark"}"#, r#"{"disabledExtensions":["theirs"]}"#);
    let off = |place: &Place| {
        let settings = place.load(Trust::Trusted, Vec::new()).settings;
        settings.disabled_extensions.into_iter().map(|it| (it.text, it.origin)).collect::<Vec<_>>()
    };
    change::switch_extension(&place.user(), "guard", Switch::Off).unwrap();
    change::switch_extension(&place.user(), "mcp:time", Switch::Off).unwrap();
    change::switch_extension(&place.user(), "guard", Switch::Off).unwrap();
    let theirs = ("theirs".to_owned(), Origin::Project);
    let mine = |name: &str| (name.to_owned(), Origin::User);
    assert_eq!(off(&place), [theirs.clone(), mine("mcp:time"), mine("guard")]);
    for name in ["guard", "mcp:time", "theirs"] {
        change::switch_extension(&place.user(), name, Switch::On).unwrap();
    }
    // What the project takes away a person does not bring back, and nothing is left of what was written.
    assert_eq!(off(&place), [theirs]);
    assert_eq!(
        serde_json::from_str::<Value>(&fs::read_to_string(place.user()).unwrap()).unwrap(),
        json!({"theme": "dark"})
    );
}

#[test]
fn page_of_the_settings_lists_every_key() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
    let page = fs::read_to_string(page).unwrap();
    let missing: Vec<&str> =
        keys::all().iter().map(|key| key.key).filter(|key| !page.contains(&format!("| `{key}` |"))).collect();
    assert_eq!(missing, [""; 0]);
}
