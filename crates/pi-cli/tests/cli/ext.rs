//! `pi ext`: from an empty folder to a signed artifact.

use crate::world::{self, World};

/// Runs `pi ext` with an agent directory of its own.
fn run(world: &World, arguments: &str) -> String {
    let mut command = world.command(arguments);
    let output = command.env("PI_CODING_AGENT_DIR", world.path().join("agent")).output();
    world::shown(&output.expect("pi runs"))
}

#[test]
fn new_extension_is_built_scanned_signed_and_trusted() {
    for kind in ["", " --tool"] {
        let world = World::new();
        let shown = run(&world, &format!("ext new greeter --engine js{kind}"));
        assert!(shown.starts_with("written to greeter") && shown.contains("`pi -e greeter` runs it"), "{shown}");
        let usual = format!("mv greeter {}/extensions/", world.path().join("agent").display());
        assert!(
            (shown.contains(&usual) || shown.contains("mv greeter AGENT/extensions/")) && shown.contains("/reload"),
            "{shown}"
        );
        // What is said to do next can be done.
        let called = run(&world, r#"ext run-tool greeter hello {"name":"Ada"}"#);
        assert!(shown.contains("pi ext run-tool greeter hello") && called.contains("Hello, Ada!"), "{shown}\n{called}");
        let greeted = run(&world, "ext run-command greeter hello Ada");
        assert_eq!(shown.contains("runs its command"), greeted.contains("Hello, Ada!"), "{shown}\n{greeted}");
        let shown = run(&world, "ext scan --strict greeter");
        let needs = if kind.is_empty() { "needs ui" } else { "needs nothing" };
        assert!(shown.contains("compatible  greeter") && shown.contains(needs), "{shown}");
        let shown = run(&world, "ext sign greeter");
        assert!(shown.contains("hint: `pi ext build greeter` puts an artifact into greeter/dist"), "{shown}");
        let shown = run(&world, "ext build greeter");
        assert!(shown.starts_with("built  greeter 0.1.0: 1 file") && shown.ends_with("--- exit 0"), "{shown}");
        assert!(world.read("greeter/dist/artifact.json").contains("\"pi.ext.artifact.v1\""));
        assert!(run(&world, "ext verify greeter/dist").contains("unsigned  greeter 0.1.0"));
        assert!(run(&world, "ext sign greeter/dist").starts_with("signed: greeter 0.1.0 with "));
        let shown = run(&world, "ext verify greeter/dist");
        assert!(shown.starts_with("untrusted  greeter 0.1.0") && shown.ends_with("--- exit 1"), "{shown}");
        let shown = run(&world, "ext verify greeter/dist --trust Ada");
        assert!(shown.starts_with("trusted  greeter 0.1.0, by Ada") && shown.ends_with("--- exit 0"), "{shown}");
        let shown = run(&world, "ext build greeter");
        assert!(shown.contains("note: what was there was signed, and this is not"), "{shown}");
        let described = world.read("greeter/dist/artifact.json").replace("0.1.0", "9.1.0");
        let world = world.with("greeter/dist/artifact.json", described);
        assert!(run(&world, "ext verify greeter/dist").starts_with("broken  greeter"));
    }
}

/// The compiler would be told last of all that it cannot finish.
#[cfg(unix)]
#[test]
fn missing_target_is_told_before_anything_is_compiled() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new()
        .with("own/Cargo.toml", "[package]\nname = \"own\"\nversion = \"1.2.3\"\n")
        .with("bin/rustc", "#!/bin/sh\necho /no/such/libraries\n")
        .with("bin/cargo", "#!/bin/sh\n: > ran\nexit 1\n");
    for program in ["bin/rustc", "bin/cargo"] {
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(world.path().join(program), executable).expect("it is ours");
    }
    let mut command = world.command("ext build own");
    command.env("PI_CODING_AGENT_DIR", world.path().join("agent")).env("PATH", world.path().join("bin"));
    let shown = world::shown(&command.output().expect("pi runs"));
    assert!(shown.contains("the target wasm32-wasip2 is not installed"), "{shown}");
    assert!(shown.contains("rustup target add wasm32-wasip2"), "{shown}");
    assert!(!world.path().join("ran").exists(), "{shown}");
    // One that is not built is none of another kind for that.
    let described = r#"{"name":"own","version":"1.2.3","api_version":"1.0","entry":"Cargo.toml","engine":"wasm"}"#;
    let world = world.with("own/extension.json", described);
    let listed = run(&world, "ext list -e own --json");
    assert!(listed.contains("\"tier\":\"wasm\""), "{listed}");
}

/// The test that comes with a new extension passes, and fails when the extension says something else.
#[test]
fn test_of_a_new_extension_runs_with_any_node() {
    for kind in ["", " --tool"] {
        let world = World::new();
        run(&world, &format!("ext new greeter --engine js{kind}"));
        let (passes, shown) = node(&world);
        if shown.is_empty() {
            return;
        }
        assert!(passes, "{shown}");
        let changed = world.read("greeter/index.ts").replace("Hello, ${", "Hi, ${");
        let (passes, shown) = node(&world.with("greeter/index.ts", changed));
        assert!(!passes && shown.contains("Hi, Ada!"), "{shown}");
    }
}

/// Whether the test passes, and what it says; nothing where there is no Node, which is told.
#[expect(clippy::disallowed_methods, reason = "the test that was written is run as its author would")]
fn node(world: &World) -> (bool, String) {
    let mut command = std::process::Command::new("node");
    command.args(["--test", "--test-reporter=tap"]).current_dir(world.path().join("greeter"));
    command.env("PI", env!("CARGO_BIN_EXE_pi")).env("PI_CODING_AGENT_DIR", world.path().join("agent"));
    match command.output() {
        Ok(output) => (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()),
        #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
        Err(error) => {
            eprintln!("SKIPPED: Node cannot be run: {error}");
            (true, String::new())
        }
    }
}

#[test]
fn new_extension_is_a_component_unless_somebody_wants_another_one() {
    let world = World::new();
    let shown = run(&world, "ext new greeter");
    assert!(shown.starts_with("written to greeter: a crate in Rust"), "{shown}");
    assert!(world.read("greeter/Cargo.toml").contains("name = \"greeter\""));
    assert!(world.read("greeter/src/lib.rs").contains("register(\"greeter\", "));
    assert!(world.read("greeter/sdk/pi-extension/wit/extension.wit").contains("package pi:extension@1.0.0;"));
    // Only `pi ext build` runs a compiler.
    let shown = run(&world, "ext inspect greeter");
    assert!(shown.contains("greeter was not built yet; `pi ext build` compiles it"), "{shown}");
}

/// As its author does it: write it, test it, build it, call it.
#[test]
fn new_extension_in_rust_is_tested_built_and_called() {
    let world = World::new();
    run(&world, "ext new greeter");
    // With the versions that the SDK itself is tested with.
    let world = world.with("greeter/Cargo.lock", include_str!("../../../../sdk/rust/Cargo.lock"));
    #[expect(clippy::disallowed_methods, reason = "its tests are run as its author would")]
    let mut cargo = std::process::Command::new("cargo");
    let tested = compiling(cargo.arg("test").current_dir(world.path().join("greeter"))).output().expect("cargo runs");
    let shown = world::shown(&tested);
    if ["failed to download", "Could not resolve host", "no matching package"].iter().any(|it| shown.contains(it)) {
        return skipped(&shown);
    }
    assert!(shown.contains("tests::tool_greets_by_name_or_everybody ... ok"), "{shown}");
    assert!(shown.contains("tests::command_shows_the_greeting ... ok"), "{shown}");
    let mut build = world.command("ext build greeter");
    let built = compiling(build.env("PI_CODING_AGENT_DIR", world.path().join("agent"))).output().expect("pi runs");
    let shown = world::shown(&built);
    if shown.contains("the target wasm32-wasip2 is not installed") {
        return skipped(&shown);
    }
    assert!(shown.starts_with("built  greeter 0.1.0"), "{shown}");
    let shown = run(&world, r#"ext run-tool greeter hello {"name":"Ada"}"#);
    assert!(shown.contains("Hello, Ada!") && shown.ends_with("--- exit 0"), "{shown}");
    // What was built runs until it is built again, whoever used it in between.
    let code = world.read("greeter/src/lib.rs").replace("\"Hello, {}!\"", "\"Howdy, {}!\"");
    let world = world.with("greeter/src/lib.rs", &code);
    let shown = run(&world, r#"ext run-tool greeter hello {"name":"Ada"}"#);
    assert!(shown.contains("Hello, Ada!") && shown.contains("it was built from older sources"), "{shown}");
    for look in ["ext inspect greeter", "ext list -e greeter --json"] {
        let shown = run(&world, look);
        assert!(shown.contains("it was built from older sources"), "{shown}");
    }
    let mut build = world.command("ext build greeter");
    compiling(build.env("PI_CODING_AGENT_DIR", world.path().join("agent"))).output().expect("pi runs");
    let shown = run(&world, r#"ext run-tool greeter hello {"name":"Ada"}"#);
    assert!(shown.contains("Howdy, Ada!") && !shown.contains("older sources"), "{shown}");
    // A newer SDK takes the place of an older one, in a crate and nowhere else.
    let world = world.with("greeter/sdk/pi-extension/src/lib.rs", "of another day");
    assert!(run(&world, "ext sdk greeter").starts_with("written to greeter/sdk/pi-extension: 10 files"));
    assert!(world.read("greeter/sdk/pi-extension/src/lib.rs").contains("macro_rules! export"));
    let shown = run(&world, "ext sdk agent");
    assert!(shown.contains("is no crate in Rust") && shown.ends_with("--- exit 2"), "{shown}");
}

/// What compilers need of the environment, and a folder where the next round finds what this one compiled.
fn compiling(command: &mut std::process::Command) -> &mut std::process::Command {
    for name in ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("CARGO_TARGET_DIR", std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-extension"))
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn skipped(why: &str) {
    eprintln!("SKIPPED: {why}");
}

#[test]
fn events_are_fired_with_what_they_usually_say() {
    let hearing = "export default (pi: any) => pi.on('tool_call', async (event: any) => ({ block: true, reason: `${event.toolName} ${event.input.command}` }));";
    let world = World::new().with("guard.ts", hearing);
    assert!(run(&world, "ext fire guard.ts tool_call").contains("bash ls"));
    assert!(run(&world, r#"ext fire guard.ts tool_call {"toolName":"read"}"#).contains("read ls"));
    let shown = run(&world, "ext fire guard.ts tool_cal");
    assert!(shown.contains("hint: did you mean tool_call?") && shown.ends_with("--- exit 2"), "{shown}");
    let shown = run(&world, "ext fire guard.ts tool_call {bad");
    assert!(shown.contains("hint: write it in single quotes"), "{shown}");
    let shown = run(&world, r#"ext fire guard.ts turn_start {"turnIndex":"x"}"#);
    assert!(shown.contains("hint: it may say {\"turnIndex\":0"), "{shown}");
}

#[test]
fn handlers_that_are_fired_hear_what_those_before_them_changed() {
    let hearing = "export default (pi: any) => {
        pi.on('tool_call', async (event: any) => { event.input.command += ' -l'; });
        pi.on('tool_call', async (event: any) => ({ block: true, reason: event.input.command }));
        pi.on('tool_call', async () => ({ block: true, reason: 'too late' }));
    };";
    let shown = run(&World::new().with("guard.ts", hearing), "ext fire guard.ts tool_call");
    assert!(shown.contains(r#""reason":"ls -l""#) && !shown.contains("too late"), "{shown}");
}

#[test]
fn all_news_of_a_tool_are_shown() {
    let busy = "export default (pi: any) => pi.registerTool({ name: 't', description: 'd', parameters: {}, async execute(id: any, p: any, s: any, news: any) {
        for (let n = 0; n < 200; n++) news({ content: [{ type: 'text', text: `news ${n}` }] });
        return { content: [] };
    } });";
    let shown = run(&World::new().with("busy.ts", busy), "ext run-tool busy.ts t");
    assert_eq!(shown.matches("news ").count(), 200, "{shown}");
}

#[test]
fn what_an_extension_does_not_have_is_told_with_what_it_has() {
    let world = World::new().with(
        "one.ts",
        "export default (pi: any) => pi.registerCommand('hello', { description: 'd', handler: async () => {} });",
    );
    let shown = run(&world, "ext run-command one.ts hallo");
    assert!(shown.contains("error: it has no command hallo; its commands are: hello\n"), "{shown}");
    let shown = run(&world, "ext run-tool one.ts hello");
    assert!(shown.contains("error: it has no tool hello, and no other either\n"), "{shown}");
    assert!(shown.contains("hint: `pi ext inspect one.ts`") && shown.ends_with("--- exit 2"), "{shown}");
}

#[test]
fn what_is_no_component_is_refused_with_what_to_do() {
    let world = World::new().with("odd.wasm", "not WebAssembly");
    let shown = run(&world, "ext build odd.wasm");
    assert!(shown.contains("it is not WebAssembly") && shown.ends_with("--- exit 2"), "{shown}");
}

#[test]
fn what_cannot_be_an_extension_is_not_built() {
    let world = World::new().with("empty.wasm", "\0asm\u{d}\0\u{1}\0").with("hi.md", "\"hi\"");
    let shown = run(&world, "ext build empty.wasm");
    assert!(shown.contains("it does not export pi:extension/guest") && shown.ends_with("--- exit 1"), "{shown}");
    assert!(!world.path().join("dist").exists());
    let shown = run(&world, "ext scan empty.wasm");
    assert!(shown.contains("empty.wasm") && shown.ends_with("--- exit 1"), "{shown}");
    let shown = run(&world, "ext build hi.md");
    assert!(shown.contains("is neither TypeScript or JavaScript nor a component"), "{shown}");
}

#[test]
fn nothing_is_written_over_somebodys_work() {
    let world = World::new().with("greeter/index.ts", "mine");
    let shown = run(&world, "ext new greeter --engine js");
    assert!(shown.contains("cannot write greeter/index.ts") && shown.ends_with("--- exit 2"), "{shown}");
    assert_eq!(world.read("greeter/index.ts"), "mine");
    assert!(!world.path().join("greeter/extension.json").exists());
    let shown = run(&world, "ext new Not/A/Name");
    assert!(shown.contains("error: \"Not/A/Name\" is not a name for an extension\nhint: expected "), "{shown}");
}

const ODD: &str =
    "import { Script } from 'vm';\nexport default (pi) => {\n  eval('1');\n  pi.exec('ls', []);\n  new Script();\n};\n";

#[test]
fn scan_shows_findings_as_a_compiler_does() {
    let world = World::new().with("odd.ts", ODD);
    let shown = run(&world, "ext scan odd.ts");
    for part in [
        "error[import.forbidden]: `vm` is not available to extensions\n --> odd.ts:1:24\n",
        "1 | import { Script } from 'vm';\n  |                        ^^^^\n",
        "warning[code.eval]: `eval` runs text as code\n --> odd.ts:3:3\n",
        "blocked  odd  1 blocker, 1 warning, needs exec\n",
        "--- exit 1",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let line = run(&world, "ext scan --json odd.ts");
    assert!(line.contains(r#""verdict":"blocked""#) && line.contains(r#""inferred":["exec"]"#), "{line}");
    assert!(run(&world, "--color always ext scan odd.ts").contains("␛[1;31merror[import.forbidden]␛[0m"));
    let warned = World::new().with("a.ts", "export default () => eval('1')");
    assert!(run(&warned, "ext scan a.ts").ends_with("--- exit 0"));
    assert!(run(&warned, "ext scan --strict a.ts").ends_with("--- exit 1"));
}

#[test]
fn sources_that_cannot_be_built_are_shown_with_the_code() {
    let world = World::new().with("a.ts", "const a = 1;\nimport { b } from './nope';\nexport default () => b(a);\n");
    let shown = run(&world, "ext build a.ts");
    for part in ["--> a.ts:2:19\n", "2 | import { b } from './nope';\n", "--- exit 2"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(run(&world, "ext build gone.ts").ends_with("--- exit 2"));
}

#[test]
fn cache_is_listed_checked_and_pruned() {
    let world = World::new().with("a.ts", "export default () => {}");
    assert!(run(&world, "ext cache list").contains("nothing is kept yet"));
    assert!(run(&world, "ext build a.ts --json").starts_with(r#"{"schema":"pi.ext.artifact.v1","name":"a""#));
    let listed = run(&world, "ext cache list --json");
    assert!(listed.contains(r#""kind":"built""#) && listed.contains(r#""kind":"bytecode""#), "{listed}");
    assert!(run(&world, "ext cache verify").starts_with("2 sound, 0 broken"));
    assert!(run(&world, "ext cache prune --older-than 0").starts_with("removed: 2"));
    assert!(run(&world, "ext cache verify").starts_with("0 sound, 0 broken"));
}

#[test]
fn extensions_are_listed_on_every_tier_and_switched() {
    const PORTER: &str = "export default function (pi) {
        pi.registerTool({ name: 'look', description: 'd', parameters: {}, execute: async () => ({ content: [] }) }); }";
    let world = World::new()
        .with("agent/extensions/porter.ts", PORTER)
        .with("agent/extensions/torn.ts", "export default function (pi) { torn")
        .with("agent/mcp.json", r#"{"mcpServers": {"hi": {"command": "no-such-program"}}}"#);
    let rows = |world: &World| -> Vec<serde_json::Value> {
        let shown = run(world, "ext list --json");
        let rows = shown.lines().filter(|line| line.starts_with('{'));
        rows.map(|row| serde_json::from_str(row).unwrap_or_else(|error| panic!("{error}: {shown}"))).collect()
    };
    let listed = rows(&world);
    let told = |row: &serde_json::Value| format!("{} {} {}", row["name"], row["tier"], row["state"]).replace('"', "");
    let all: Vec<String> = listed.iter().map(told).collect();
    assert_eq!(all, ["porter js ready", "torn js broken", "mcp:hi mcp not_started"]);
    assert!(listed[0]["memory"].as_u64() > Some(10_000) && listed[0]["tools"] == 1, "{}", listed[0]);
    assert!(listed[1]["error"].as_str().is_some_and(|error| error.contains("torn")), "{}", listed[1]);
    assert!(listed[2]["memory"].is_null(), "nobody started it: {}", listed[2]);

    let shown = run(&world, "ext list");
    for part in
        ["EXTENSION", "CAPABILITIES", "porter     ready", "exec tool", "MCP servers are not started to be listed"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(run(&world, "ext disable porter").starts_with("off: porter, in sessions that begin from now on"));
    assert!(run(&world, "ext disable hi --json").starts_with(r#"{"name":"mcp:hi","state":"off"}"#));
    assert!(run(&world, "ext enable porte").contains("nobody here has seen an extension porte"), "a slip is told");
    let all: Vec<String> = rows(&world).iter().map(told).collect();
    assert_eq!(all, ["porter js off", "torn js broken", "mcp:hi mcp off"]);
    assert!(run(&world, "ext enable porter").starts_with("on: porter"));
    assert_eq!(told(&rows(&world)[0]), "porter js ready");
}

/// What is named may be a guard: nothing begins without it, whatever it is that keeps it from loading.
#[test]
fn named_extension_that_cannot_be_cached_ends_it() {
    let guard = "export default (pi) => { pi.on('tool_call', () => ({ block: true })); };";
    let short = World::new().with("guard.ts", guard).with("agent/cache/extensions/machine.key", "short");
    let shown = run(&short, "-p -e guard.ts /none");
    assert!(shown.contains("machine.key is not 32 bytes") && shown.ends_with("--- exit 2"), "{shown}");
    let world = World::new().with("guard.ts", guard).with("agent/cache", "a file");
    let shown = run(&world, "-p -e guard.ts /none");
    assert!(shown.contains("os error") && shown.ends_with("--- exit 2"), "with the reason: {shown}");
    let shown = run(&world, "ext inspect guard.ts");
    assert!(shown.contains("os error"), "{shown}");
}

#[test]
fn what_the_scanner_blocks_is_refused_under_strict_rules_and_told_under_others() {
    let source =
        "export default (pi) => { pi.registerCommand('c', { handler: async () => { process.binding('fs'); } }); };";
    let world = World::new().with("blocked.ts", source);
    let shown = run(&world, "-p -e blocked.ts /c");
    assert!(shown.contains("blocked uses what extensions may not, and fails where it does: "), "{shown}");
    let shown = run(&world, "ext inspect --profile strict blocked.ts");
    assert!(shown.contains("the mode is strict, and it uses what extensions may not: "), "{shown}");
    for settings in ["agent/settings.json", ".pi/settings.json"] {
        let world = World::new().with("blocked.ts", source);
        let world = world.with(settings, r#"{"extensions":{"policy":{"mode":"strict"}}}"#);
        let shown = run(&world, "-p -e blocked.ts /c");
        assert!(shown.contains("the mode is strict") && shown.ends_with("--- exit 2"), "{settings}: {shown}");
    }
}

#[test]
fn tried_tool_gets_arguments_as_in_a_session() {
    let source = "export default (pi) => pi.registerTool({ name: 'add', description: 'Adds', parameters: { type: 'object', \
                  properties: { by: { type: 'number' } }, required: ['by'] }, \
                  execute: async (id, { by }) => ({ content: [{ type: 'text', text: typeof by }], details: {} }) });";
    let world = World::new().with("adder.ts", source);
    let shown = run(&world, r#"ext run-tool adder.ts add {"by":"7"}"#);
    assert!(shown.contains(r#""text":"number""#) && shown.ends_with("--- exit 0"), "what is meant is taken: {shown}");
    let shown = run(&world, "ext run-tool adder.ts add {}");
    assert!(
        shown.contains(r#""error":"The arguments do not fit:\n- by: "#) && shown.ends_with("--- exit 1"),
        "{shown}"
    );
}

#[test]
fn tried_tool_and_command_that_throw_say_where() {
    let source = "export default (pi) => {\n  pi.registerTool({ name: 'fail', description: 'Fails', parameters: { type: 'object' },\n    \
                  execute: async () => { throw new Error('no milk'); } });\n  \
                  pi.registerCommand('fail', { handler: async () => { throw new Error('no honey'); } });\n};";
    let world = World::new().with("failing.ts", source);
    let shown = run(&world, "ext run-tool failing.ts fail {}");
    assert!(shown.contains(r#""error":"no milk ("#) && shown.contains("failing.ts:3:"), "{shown}");
    let shown = run(&world, "ext run-command failing.ts fail");
    assert!(shown.contains(r#""error":"no honey ("#) && shown.contains("failing.ts:4:"), "{shown}");
}

#[test]
fn what_is_registered_wrongly_is_told_and_the_rest_is_there() {
    let source = "export default (pi) => { pi.registerTool({ name: 'odd', parameters: 5, execute() {} }); \
                  pi.registerCommand('fine', { description: 'Fine', handler: async () => {} }); };";
    let world = World::new().with("mixed.ts", source);
    let told = "the tool \"odd\"";
    let shown = run(&world, "ext inspect mixed.ts");
    assert!(shown.contains("command   fine") && shown.contains(told) && shown.contains("are no schema"), "{shown}");
    let shown = run(&world, "-p -e mixed.ts /fine");
    let note = format!("extension mixed registers {told}, which is left out: its parameters are no schema");
    assert!(shown.contains(&note) && shown.ends_with("--- exit 0"), "{shown}");
}

#[test]
fn names_of_what_is_registered_do_not_command_the_terminal() {
    let source = r#"export default (pi) => {
        pi.registerTool({ name: "t\x1b[2J", description: "d\x1b]0;x\x07\nnext", parameters: {}, execute() {} });
        pi.registerCommand("c\x1b[3J", { description: "e\x1b[1A", handler() {} });
        pi.registerMessageRenderer("r\x1b[2J", () => undefined);
        pi.on("e\x1b[2J", () => {});
    };"#;
    let shown = run(&World::new().with("loud.ts", source), "ext inspect loud.ts");
    assert!(shown.contains("tool") && shown.ends_with("--- exit 0"), "{shown}");
    assert!(!shown.contains('␛') && shown.contains(r"\u{1b}[2J"), "{shown}");
}

#[test]
fn grant_of_all_variables_says_that_secrets_are_named() {
    let world = World::new().with("agent/extensions/spy.ts", "export default () => {};");
    let shown = run(&world, "ext allow spy env");
    assert!(shown.contains("pi ext allow spy env --env NAME"), "{shown}");
    let shown = run(&world, "ext allow spy env --env TOKEN");
    assert!(!shown.contains("--env NAME"), "{shown}");
}
