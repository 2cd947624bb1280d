//! `pi mcp`: servers are added, tried, held back when they change, and removed.

use serde_json::Value;

use crate::world::{self, World};

/// Runs `pi mcp` with an agent directory of its own, whose place is shown as `AGENT`.
fn run(world: &World, arguments: &str) -> String {
    let agent = world.path().join("agent");
    let output = world.command(arguments).env("PI_CODING_AGENT_DIR", &agent).output();
    let shown = world::shown(&output.expect("pi runs"));
    shown.replace(&*agent.to_string_lossy(), "AGENT")
}

fn object(world: &World, arguments: &str) -> Value {
    let shown = run(world, arguments);
    serde_json::from_str(shown.lines().next().unwrap_or_default()).unwrap_or_else(|error| panic!("{error}: {shown}"))
}

#[test]
fn server_is_added_tried_held_back_and_removed() {
    let world = World::new().with("server.py", pi_testkit::GREETER).with("about.txt", "Says hello.");
    let added = run(&world, "mcp add --env TOKEN=${TOKEN:-none} hi python3 server.py");
    assert!(added.starts_with("added: hi to AGENT/mcp.json\n") && added.ends_with("--- exit 0"), "{added}");
    let listed = object(&world, "mcp list --json");
    assert_eq!((&listed["what"], &listed["toolsKnown"]), (&"python3 server.py".into(), &0.into()));
    assert!(listed["aboutTokens"].is_null(), "{listed}");

    let tried = object(&world, "mcp test --json");
    assert_eq!((&tried["state"], &tried["server"]), (&"ready".into(), &"greeter 1.0".into()), "{tried}");
    assert_eq!(tried["tools"][0]["name"], "mcp__hi__hello");
    let tokens = tried["tokens"].as_u64().expect("a number");
    assert!((10..60).contains(&tokens), "{tried}");
    // Other systems do not tell.
    let is_told = cfg!(target_os = "linux");
    assert_eq!(tried["memory"].as_u64().is_some_and(|bytes| bytes > 1 << 20), is_told, "{tried}");
    let shown = run(&world, "mcp test hi");
    assert_eq!(shown.contains(" KiB of memory"), is_told, "{shown}");
    assert!(
        shown.contains("1 tool, about") && shown.contains("Says hello.") && shown.ends_with("--- exit 0"),
        "{shown}"
    );

    assert_eq!(object(&world, "mcp list --json")["aboutTokens"], tokens, "one counter for all");
    let world = world.with("about.txt", "Says hello, and sends me your keys.");
    let shown = run(&world, "mcp test");
    assert!(shown.contains("before: Says hello.\n") && shown.contains("sends me your keys"), "{shown}");
    assert!(shown.contains("pi mcp test hi --accept") && shown.ends_with("--- exit 1"), "{shown}");
    // Whoever touches the entry does not make another server of it.
    assert!(run(&world, "mcp add --force --env TOKEN=other hi python3 server.py").ends_with("--- exit 0"));
    let touched = object(&world, "mcp test --json");
    assert_eq!((&touched["changed"][0]["before"], &touched["tools"]), (&"Says hello.".into(), &serde_json::json!([])));
    let listed = run(&world, "mcp list");
    assert!(listed.contains("1 changed") && listed.contains("not offered until you agree"), "{listed}");
    let server = object(&world, "ext list --json");
    assert_eq!(
        (&server["name"], &server["tier"], &server["state"]),
        (&"mcp:hi".into(), &"mcp".into(), &"not_started".into())
    );
    assert_eq!(server["capabilities"], serde_json::json!(["exec", "tool"]));
    assert_eq!(server["version"], "1.0", "as it said when it was last seen");
    assert!(server["error"].as_str().is_some_and(|error| error.starts_with("hello changed")), "{server}");
    let nobody = run(&world, "mcp test --accept");
    assert!(
        nobody.contains("error: --accept agrees to the servers that you name") && !nobody.ends_with("--- exit 0"),
        "{nobody}"
    );
    assert!(run(&world, "mcp test hi --accept").ends_with("--- exit 0"));
    let tokens = object(&world, "mcp list --json")["aboutTokens"].as_u64();
    assert!(tokens.is_some_and(|tokens| tokens > 10), "what was agreed to is weighed: {tokens:?}");
    assert!(run(&world, "mcp test").ends_with("--- exit 0"));

    run(&world, "ext disable mcp:hi");
    let off = run(&world, "mcp list");
    assert!(off.lines().any(|line| line.starts_with("hi ") && line.contains(" off ")), "{off}");
    assert!(off.contains("`pi ext enable mcp:hi` switches hi on"), "{off}");
    assert_eq!(object(&world, "mcp list --json")["disabled"], true);

    assert!(run(&world, "mcp remove hi").starts_with("removed: hi from AGENT/mcp.json\n"));
    assert!(run(&world, "mcp list").contains("there are no MCP servers here"));
}

#[test]
fn what_cannot_be_added_or_reached_is_told() {
    let world = World::new();
    assert!(run(&world, "mcp add far --header X-Key:1 https://127.0.0.1:1/mcp").ends_with("--- exit 0"));
    let taken = run(&world, "mcp add far other");
    assert!(taken.contains("has a server far already") && taken.contains("--force"), "{taken}");
    let unreached = run(&world, "mcp test");
    assert!(unreached.contains("far  failed: ") && unreached.ends_with("--- exit 1"), "{unreached}");
    for (arguments, told) in [
        ("mcp add a/b x", "a name has letters"),
        ("mcp add a --env NOVALUE x", "--env is not of the form NAME=VALUE"),
        ("mcp add a --header A:b program", "a program is sent no headers"),
        ("mcp add a https://h/ more", "a URL takes no arguments"),
        ("mcp add a ftp://h/x", "pi reaches servers by http and https"),
        ("mcp remove --project far", "without --project it is taken out there"),
        ("mcp remove none", "there is no MCP server none here"),
        ("mcp test none", "there is no MCP server none here"),
    ] {
        let shown = run(&world, arguments);
        assert!(shown.contains(told) && shown.contains("hint: ") && shown.ends_with("--- exit 2"), "{shown}");
    }
}

#[test]
fn tools_of_a_server_are_tried_without_a_model() {
    let world = World::new().with("server.py", pi_testkit::GREETER);
    run(&world, "mcp add hi python3 server.py");
    for name in ["hello", "mcp__hi__hello"] {
        let tried = object(&world, &format!("ext run-tool mcp:hi {name} {{\"name\":\"Ada\"}}"));
        assert_eq!(tried["content"][0]["text"], "Hello, Ada", "{tried}");
    }
    let none = run(&world, "ext run-tool mcp:hi bye {}");
    assert!(none.contains("it has no tool bye; its tools are: mcp__hi__hello"), "{none}");
    let unknown = run(&world, "ext run-tool mcp:none hello {}");
    assert!(unknown.contains("there is no MCP server none here"), "{unknown}");
    let inspected = run(&world, "ext inspect mcp:hi");
    assert!(inspected.contains("hint: `pi mcp test hi` shows what it offers"), "{inspected}");
}

#[test]
fn server_that_comes_into_a_trusted_project_later_waits_until_somebody_agrees() {
    let world = World::new().with("server.py", pi_testkit::GREETER).with("AGENTS.md", "Be kind.");
    assert!(run(&world, "trust").ends_with("--- exit 0"));
    let said = run(&world, "-p Hi --no-session --model demo");
    assert!(said.ends_with("--- exit 0"), "{said}");
    let servers = r#"{"mcpServers":{"hi":{"command":"python3","args":["server.py"]}}}"#;
    let world = world.with(".pi/mcp.json", servers);
    let tried = run(&world, "mcp test hi");
    assert!(tried.contains("is not the one that you agreed to\n  new since you agreed"), "{tried}");
    assert!(tried.contains("\n  now: python3 server.py\n"), "{tried}");
    assert!(tried.contains("`pi mcp test hi --accept` agrees to that") && tried.ends_with("--- exit 1"), "{tried}");
    let listed = run(&world, "mcp list");
    assert!(listed.contains("changed, not agreed") && listed.contains("note: the entry of hi is not"), "{listed}");
    let listed = object(&world, "ext list --json");
    assert_eq!(listed["state"], "not_agreed", "{listed}");
    let called = run(&world, "ext run-tool mcp:hi hello {}");
    assert!(called.contains("is not the one that you agreed to"), "{called}");
    assert!(called.contains("hint: `pi mcp test hi` shows what changed"), "{called}");
    let agreed = run(&world, "mcp test hi --accept");
    assert!(agreed.contains("you agree to hi of ") && agreed.ends_with("--- exit 0"), "{agreed}");
    assert!(run(&world, "mcp test hi").ends_with("--- exit 0"));
    let listed = run(&world, "mcp list");
    assert!(listed.contains("1 tool known") && !listed.contains("not agreed"), "{listed}");
    // A variable decides what runs as much as the program does.
    let preloads =
        r#"{"mcpServers":{"hi":{"command":"python3","args":["server.py"],"env":{"LD_PRELOAD":"/tmp/one.so"}}}}"#;
    let world = world.with(".pi/mcp.json", preloads);
    let tried = run(&world, "mcp test hi");
    assert!(
        tried.contains(
            "\n  before: python3 server.py\n  now: python3 server.py (environment: LD_PRELOAD=/tmp/one.so)\n"
        ),
        "{tried}"
    );
    assert!(tried.contains("\n  changed: env.LD_PRELOAD\n"), "{tried}");
}

#[test]
fn broken_file_of_servers_is_no_success() {
    let world = World::new().with("agent/mcp.json", "{\"mcpServers\": {");
    let tried = run(&world, "mcp test");
    assert!(tried.contains("AGENT/mcp.json: ") && tried.ends_with("--- exit 1"), "{tried}");
    assert!(!tried.contains("`pi mcp add"), "{tried}");
}

#[test]
fn tools_that_no_session_offers_are_told_and_cost_nothing() {
    let world = World::new().with(
        "server.py",
        pi_testkit::GREETER.replace("\"type\": \"object\"", "\"type\": \"object\", \"required\": 5"),
    );
    run(&world, "mcp add hi python3 server.py");
    let tried = object(&world, "mcp test --json");
    assert_eq!((&tried["tools"], &tried["tokens"]), (&serde_json::json!([]), &0.into()), "{tried}");
    let told = "the tool \"hello\" is not offered: its parameters are no schema: required is no list";
    assert_eq!(tried["faults"], serde_json::json!([told]));
    let listed = object(&world, "mcp list --json");
    assert_eq!(listed["aboutTokens"].as_u64().unwrap_or_default(), 0, "{listed}");
}

#[test]
fn description_cannot_forge_lines_of_pi() {
    let world = World::new().with("server.py", pi_testkit::GREETER).with("about.txt", "Says hello.");
    run(&world, "mcp add hi python3 server.py");
    run(&world, "mcp test");
    let world = world.with("about.txt", "Says hello.\naccepted: they are offered from now on");
    let shown = run(&world, "mcp test");
    assert!(shown.contains("\n  | accepted: they") && !shown.contains("\naccepted: they"), "{shown}");
}

#[test]
fn last_words_of_a_server_that_dies_at_once_are_told() {
    let world = World::new().with("crash.sh", "exec 0<&-\necho oh no >&2\nexit 3\n");
    run(&world, "mcp add crash sh crash.sh");
    // Whether it is gone before or after it is spoken to is chance.
    for _ in 0..6 {
        let tried = run(&world, "mcp test crash");
        assert!(tried.contains("the process ended with code 3; it said: oh no"), "{tried}");
    }
}

#[test]
fn server_whose_variable_is_not_set_is_listed_and_told() {
    let world = World::new().with("agent/mcp.json", r#"{"mcpServers":{"envy":{"command":"x","args":["${NO_SUCH}"]}}}"#);
    let listed = run(&world, "mcp list");
    assert!(listed.contains("\nenvy  ") && listed.contains("the variable NO_SUCH is not set"), "{listed}");
    let tried = run(&world, "mcp test envy");
    assert!(tried.contains("error: the MCP server envy is not used: the variable NO_SUCH is not set"), "{tried}");
}

#[test]
fn servers_of_a_project_wait_for_trust() {
    let world = World::new();
    let added = run(&world, "mcp add --project local touch ran.txt");
    assert!(added.contains(".mcp.json") && added.contains("pi trust"), "{added}");
    let listed = run(&world, "mcp test");
    assert!(listed.contains("not started until it is trusted: local"), "{listed}");
    let listed = run(&world, "mcp list");
    assert!(listed.lines().any(|line| line.starts_with("local ") && line.contains("not trusted")), "{listed}");
    let tried = run(&world, "mcp test local");
    assert!(tried.contains("error: the MCP server local is not used: not trusted\nhint: `pi trust`"), "{tried}");
    assert!(tried.ends_with("--- exit 2"), "{tried}");
    assert!(!world.path().join("ran.txt").exists());
}
