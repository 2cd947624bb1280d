//! How settings are read: what is refused, what is noted, and that the schema says the same.

use pi_policy::config::{self, Settings};
use serde_json::{Value, json};

/// Everything that is wrong (`!`) or odd (`?`) about a text, a line each.
fn complaints(text: &str) -> String {
    let (mark, problems) = match config::load(text.as_bytes()) {
        Ok(noted) => ("?", noted.notices),
        Err(invalid) => ("!", invalid.problems),
    };
    problems.iter().map(|problem| format!("{mark} {problem}")).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let expected: Vec<&str> = expected.lines().map(str::trim).collect();
    assert_eq!(complaints(text), expected.join("\n"), "{text}");
}

#[test]
fn suggested_settings_of_the_specification_are_fine() {
    let text = r#"{"extensions":{"policy":{"mode":"prompt","max_memory_mb":256,"default_caps":["read","write","http"],"deny_caps":["exec","env"]}}}"#;
    check(text, "");
    check("{}", "");
    check(r#"{"theme":"dark","extensions":{"paths":[]}}"#, "");
}

#[test]
fn problems_are_all_reported_with_their_paths() {
    check(
        r#"{"extensions":{"policy":{"mode":"lax","max_memory_mb":0,"default_caps":"read","deny_caps":[1],
            "grants":{"x":[{"scope":{}},{"capability":"read","scope":{"path":[]}},3],"y":{}},
            "denies":{"x":[{"capability":"read","expires":"2026-01-01T00:00:00Z"}]}}},
           "agent":{"policy":[]}}"#,
        r#"! extensions.policy.mode: expected "strict", "prompt" or "permissive"
           ! extensions.policy.max_memory_mb: expected a whole number above zero
           ! extensions.policy.default_caps: expected an array
           ! extensions.policy.deny_caps[0]: expected a string
           ! extensions.policy.grants["x"][0].capability: required member is missing
           ! extensions.policy.grants["x"][1].scope.path: unknown key
           ! extensions.policy.grants["x"][2]: expected an object
           ! extensions.policy.grants["y"]: expected an array
           ! extensions.policy.denies["x"][0].expires: unknown key
           ! agent.policy: expected an object"#,
    );
}

#[test]
fn patterns_dates_and_ranges_are_checked() {
    check(
        r#"{"extensions":{"policy":{"grants":{"*":[{"capability":"read"}],"x":[
              {"capability":"read","scope":{"paths":["src/**","../x"]}},
              {"capability":"read","scope":{"paths":["a["],"hosts":["a.b"]}},
              {"capability":"http","scope":{"hosts":["a.b","*"]},"expires":"soon"},
              {"capability":"env","scope":{"env":["A=B",""]},"versions":"one"},
              {"capability":"exec","scope":{"commands":["git *","git"]}},
              {"capability":"*"}]}}},
            "agent":{"policy":{"grants":[{"capability":"read","versions":"^1"}]}}}"#,
        r#"! extensions.policy.grants["*"]: '*' stands for all only in denies
           ! extensions.policy.grants["x"][0].scope.paths[1]: a pattern may not climb with ..; write an absolute pattern to reach outside the project
           ! extensions.policy.grants["x"][1].scope.hosts: read is not narrowed by hosts
           ! extensions.policy.grants["x"][1].scope.paths[0]: unclosed character class; missing ']'
           ! extensions.policy.grants["x"][2].expires: expected a date and time like 2026-12-31T00:00:00Z
           ! extensions.policy.grants["x"][2].scope.hosts[1]: '*' may only stand for the labels before a domain, as in *.example.org
           ! extensions.policy.grants["x"][3].versions: not a range of versions: unexpected character 'o' while parsing major version number
           ! extensions.policy.grants["x"][3].scope.env[0]: the name of a variable is not empty and contains neither '=' nor NUL
           ! extensions.policy.grants["x"][3].scope.env[1]: the name of a variable is not empty and contains neither '=' nor NUL
           ! extensions.policy.grants["x"][4].scope.commands[0]: a command pattern holds plain words only: no quotes, wildcards or shell operators
           ! extensions.policy.grants["x"][5].capability: '*' stands for all only in denies
           ! agent.policy.grants[0].versions: the agent has no versions"#,
    );
}

#[test]
fn odd_things_are_noted() {
    check(
        r#"{"extensions":{"policy":{"mode":"strict","deny_cap":["exec"],"default_caps":["exec","raed"],
            "grants":{"x":[{"capability":"teleport"}]}}}}"#,
        r#"? extensions.policy.deny_cap: unknown key
           ? extensions.policy.grants["x"][0].capability: teleport is not a capability that we know
           ? extensions.policy.default_caps[0]: exec stays denied: it is in the list of default denies, which comes first
           ? extensions.policy.default_caps[1]: raed is not a capability that we know
           ? extensions.policy.default_caps: strict mode has no default capabilities; this list is ignored"#,
    );
}

#[test]
fn text_that_is_not_json_is_refused_with_its_place() {
    check("{\n  \"a\": }", "! not JSON: expected value at line 2, column 8");
    check("", "! not JSON: EOF while parsing a value at line 1, column 0");
    check(
        r#"{"extensions":{"policy":{"deny_caps":["exec"],"deny_caps":[]}}}"#,
        r#"! not JSON: the key "deny_caps" is written twice at line 1, column 61"#,
    );
    assert!(complaints(&"[".repeat(100_000)).starts_with("! not JSON: recursion limit exceeded"));
}

#[test]
fn grants_of_a_project_are_noted_and_ignored() {
    let project = br#"{"extensions":{"policy":{"mode":"strict","default_caps":["read"],"grants":{"x":[{"capability":"exec"}]}}}}"#;
    let user = Settings::default().resolve().expect("defaults").value;
    let restricted = user.restrict_by(&config::parse(project).expect("settings").value).expect("restrictions");
    let notices: Vec<String> = restricted.notices.iter().map(ToString::to_string).collect();
    assert_eq!(notices, [r#"extensions.policy.grants["x"]: a project may restrict but not grant; this is ignored"#]);
}

#[test]
fn written_settings_are_read_again() {
    let text = r#"{"extensions":{"policy":{"mode":"prompt","max_memory_mb":64,"default_caps":["read"],"deny_caps":[],"grants":{"x":[{"capability":"http","methods":["http"],"scope":{"hosts":["a.b"]},"versions":"^1","expires":"2026-12-31T00:00:00Z"}]},"denies":{"*":[{"capability":"*"}]}}},"agent":{"policy":{"mode":"strict","denies":[{"capability":"exec"}]}}}"#;
    let settings = config::parse(text.as_bytes()).expect("settings").value;
    assert_eq!(serde_json::to_string(&settings).expect("JSON"), text);
}

/// The reader and the schema agree about shape; patterns, dates and ranges are beyond a schema.
#[test]
fn schema_and_reader_agree_about_shape() {
    let schema = serde_json::to_value(config::schema()).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let grant = json!({"capability": "read", "methods": ["tool"], "scope": {"paths": ["a"]}, "versions": "^1", "expires": "2026-12-31T00:00:00Z"});
    let whole = json!({
        "extensions": {"policy": {
            "mode": "prompt", "max_memory_mb": 1, "default_caps": ["read"], "deny_caps": ["exec"],
            "grants": {"x": [grant]}, "denies": {"*": [{"capability": "*", "methods": [], "scope": {"env": []}, "versions": "<2"}]},
        }},
        "agent": {"policy": {"mode": "strict", "default_caps": [], "deny_caps": [], "grants": [{"capability": "exec", "scope": {"commands": ["a"]}}], "denies": []}},
    });
    let mut seen = [0, 0];
    for document in mutations(&whole) {
        let read = config::parse(document.to_string().as_bytes()).is_ok();
        assert_eq!(validator.is_valid(&document), read, "{document}");
        seen[usize::from(read)] += 1;
    }
    assert!(seen[0] > 300 && seen[1] > 70, "refused and accepted: {seen:?}");
}

/// The document with each of its values replaced by others or removed, and with an unknown member in each object.
fn mutations(document: &Value) -> Vec<Value> {
    let mut pointers = vec![String::new()];
    let mut all = vec![document.clone()];
    while let Some(pointer) = pointers.pop() {
        let here = document.pointer(&pointer).expect("a place in the document");
        let children: Vec<String> = match here {
            Value::Object(object) => object.keys().map(|name| format!("{pointer}/{name}")).collect(),
            Value::Array(list) => (0..list.len()).map(|index| format!("{pointer}/{index}")).collect(),
            _ => Vec::new(),
        };
        pointers.extend(children);
        let mut put = |value: Value| {
            let mut changed = document.clone();
            *changed.pointer_mut(&pointer).expect("the same place") = value;
            all.push(changed);
        };
        for value in [
            json!(null),
            json!(true),
            json!(0),
            json!(7),
            json!(1.5),
            json!("word"),
            json!([]),
            json!({}),
            json!(["word"]),
        ] {
            put(value);
        }
        if let Value::Object(object) = here {
            let mut extended = object.clone();
            extended.insert("unheard_of".into(), json!(1));
            put(Value::Object(extended));
            for name in object.keys() {
                let mut reduced = object.clone();
                reduced.shift_remove(name);
                put(Value::Object(reduced));
            }
        }
    }
    all
}
