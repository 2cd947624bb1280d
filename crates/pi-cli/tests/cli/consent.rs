//! Who an extension is, and what is decided about it: `pi ext allow`, `deny`, `forget`, and what a session makes of that.

use crate::world::{self, World};

/// Says what `fetch` gets of a program: its output, or why it may not be run.
const SPY: &str = "import { execSync } from 'node:child_process';
    export default (pi) => pi.registerCommand('fetch', { description: 'd', handler: async (args, ctx) => {
        try { ctx.ui.notify('got ' + execSync('echo mine')); } catch (fault) { ctx.ui.notify('lost: ' + fault.message); }
    } });";

const LOUD: &str = "export default (pi) => { pi.registerFlag('loud', { type: 'boolean', default: false });
    pi.registerFlag('word', { type: 'string', default: '' });
    pi.on('session_start', (event, ctx) => ctx.ui.notify(`flags ${pi.getFlag('loud')} ${pi.getFlag('word')}`));
    pi.registerTool({ name: 'bash', description: 'Fake', parameters: {}, execute: async () => 'x' });
    pi.registerTool({ name: 'bad name!', description: 'Bad', parameters: {}, execute: async () => 'x' }); };";

const TOOLY: &str = r#"{"name":"tooly","version":"1.0.0","api_version":"1.0","entry":"index.ts",
    "capability_manifest":{"schema":"pi.ext.cap.v1","capabilities":[{"capability":"ui"}]}}"#;

fn run(world: &World, arguments: &[&str]) -> String {
    let mut command = world.command("");
    command.args(arguments).env("PI_CODING_AGENT_DIR", world.path().join("agent"));
    world::shown(&command.output().expect("pi runs")).replace(&place(world), "WORLD")
}

/// The folder without links.
fn place(world: &World) -> String {
    world.path().canonicalize().expect("it is there").display().to_string()
}

#[track_caller]
fn check(world: &World, arguments: &[&str], parts: &[&str]) {
    let shown = run(world, arguments);
    for part in parts {
        assert!(shown.contains(part), "{arguments:?} does not say {part:?}:\n{shown}");
    }
}

#[test]
fn folder_with_an_index_is_called_after_it_whatever_builds_it() {
    let world = World::new().with("d1/index.ts", SPY).with("d2/index.ts", SPY);
    check(&world, &["ext", "list", "--json", "-e", "d1", "-e", "d2"], &[r#""name":"d1""#, r#""name":"d2""#]);
    check(&world, &["ext", "build", "d2"], &["built  d2 0.0.0"]);
    check(&world, &["ext", "deny", "d1", "exec"], &["denied: d1 exec"]);
    check(
        &world,
        &["ext", "run-command", "d1", "fetch"],
        &["lost: ", "Extension d1 wanted exec", "denied by `pi ext deny d1 exec`"],
    );
    let world = world.with("d1/index.ts", format!("{SPY}\n// one more line"));
    check(&world, &["ext", "run-command", "d1", "fetch"], &["denied by `pi ext deny d1 exec`"]);
}

#[test]
fn grant_is_given_to_the_extension_that_was_seen_and_to_no_other_of_its_name() {
    let world = World::new().with("spy.ts", SPY).with("other/spy.ts", SPY);
    check(&world, &["ext", "run-command", "spy.ts", "fetch"], &["lost: ", "Extension spy wanted exec"]);
    check(&world, &["ext", "allow", "spy", "exec"], &["allowed: spy exec, for WORLD/spy.ts"]);
    check(&world, &["ext", "run-command", "spy.ts", "fetch"], &["got mine"]);
    check(
        &world,
        &["ext", "run-command", "other/spy.ts", "fetch"],
        &[
            "the grant was given to another extension of this name, the one from WORLD/spy.ts",
            "--from WORLD/other/spy.ts",
        ],
    );
    check(&world, &["ext", "allow", "spy", "exec", "--from", "other/spy.ts"], &["for WORLD/other/spy.ts"]);
    check(&world, &["ext", "run-command", "other/spy.ts", "fetch"], &["got mine"]);
    check(&world, &["ext", "run-command", "spy.ts", "fetch"], &["got mine"]);
    check(
        &world,
        &["ext", "allow", "spy", "exec", "--from", "gone.ts"],
        &["there is no extension spy in gone.ts", "exit 2"],
    );
}

#[test]
fn name_that_two_extensions_have_must_be_told_apart() {
    let world = World::new().with("agent/extensions/spy.ts", SPY).with("other/spy.ts", SPY);
    check(&world, &["ext", "run-command", "other/spy.ts", "fetch"], &["lost:"]);
    let shown =
        ["2 extensions are called spy", "--from: WORLD/agent/extensions/spy.ts, or WORLD/other/spy.ts", "exit 2"];
    check(&world, &["ext", "allow", "spy", "exec"], &shown);
    // The one that is named for this run comes first.
    let clash = "the extension WORLD/agent/extensions/spy.ts is not loaded: WORLD/other/spy.ts is called spy too";
    check(&world, &["-p", "-m", "demo/demo", "-e", "other/spy.ts", "Hello"], &[clash, "exit 0"]);
}

#[test]
fn decisions_are_about_capabilities_and_extensions_that_there_are() {
    let world = World::new().with("agent/extensions/evil.ts", SPY);
    check(&world, &["ext", "deny", "evil", "exce"], &["exce is no capability", "did you mean exec?", "exit 2"]);
    check(
        &world,
        &["ext", "allow", "evil", "fly"],
        &["fly is no capability", "capabilities are read, write", "exit 2"],
    );
    check(&world, &["ext", "allow", "evil", "*"], &["everything cannot be allowed at once", "exit 2"]);
    check(
        &world,
        &["ext", "deny", "evlil", "*"],
        &["nobody here has seen an extension evlil", "did you mean evil?", "exit 0"],
    );
    check(&world, &["ext", "allow", "evil", "exec", "--host", "x.org"], &["exec is not narrowed by --host", "exit 2"]);
    let shown = run(&world, &["ext", "deny", "evil", "exec"]);
    assert_eq!(shown, "denied: evil exec\n--- exit 0");
}

#[test]
fn decision_can_be_taken_back() {
    let world = World::new().with("evil.ts", SPY);
    check(&world, &["ext", "deny", "evil", "exec"], &["denied: evil exec"]);
    let shown = "may not (denied by `pi ext deny evil exec`). To take that back: pi ext forget evil exec";
    check(&world, &["ext", "run-command", "evil.ts", "fetch"], &[shown]);
    check(&world, &["ext", "forget", "evil", "exec"], &["forgotten: evil exec, 1 decision", "exit 0"]);
    check(&world, &["ext", "run-command", "evil.ts", "fetch"], &["denied unless it is granted by name"]);
    check(&world, &["ext", "forget", "evil", "exec"], &["nothing was decided about evil exec", "exit 1"]);
}

#[test]
fn what_is_not_declared_is_told_with_the_file_and_the_line() {
    let world = World::new().with("tooly/extension.json", TOOLY).with("tooly/index.ts", SPY);
    let line = r#"add {\"capability\":\"exec\",\"methods\":[\"exec\"]} to capability_manifest.capabilities in WORLD/tooly/extension.json"#;
    check(&world, &["ext", "run-command", "tooly", "fetch"], &["may not (not declared)", line]);
    let note = r#"this has no effect until it does: add {"capability":"exec"} to capability_manifest.capabilities in WORLD/tooly/extension.json"#;
    check(&world, &["ext", "allow", "tooly", "exec"], &[note, "allowed: tooly exec"]);
    let declared =
        TOOLY.replace(r#"{"capability":"ui"}"#, r#"{"capability":"ui"},{"capability":"exec","methods":["exec"]}"#);
    let world = world.with("tooly/extension.json", declared);
    check(&world, &["ext", "run-command", "tooly", "fetch"], &["got mine"]);
}

#[test]
fn explanation_knows_settings_and_decisions() {
    let call = r#"{"capability":"exec","method":"exec","params":{"command":"id","args":[],"env":{},"stream":false}}"#;
    let world = World::new().with("spy.ts", SPY);
    let explain = ["policy", "explain", "--extension", "spy", "--call", call];
    check(&world, &explain, &["deny: denied unless it is granted by name"]);
    check(&world, &["ext", "run-command", "spy.ts", "fetch"], &["lost:"]);
    check(&world, &["ext", "allow", "spy", "exec", "--command", "id"], &["allowed: spy exec commands id"]);
    check(&world, &explain, &["pi ext allow spy exec: commands id matches id", "allow: exec is granted here"]);
    let world = world.with("agent/settings.json", r#"{"extensions":{"policy":{"deny_caps":["exec"]}}}"#);
    check(&world, &explain, &["deny: denied by extensions.policy.deny_caps[0]"]);
}

#[test]
fn extension_that_was_named_must_be_there_before_anything_is_said() {
    let world = World::new()
        .with("broken.ts", "export default () => {")
        .with("throws.ts", "export default () => { throw new Error('no'); }");
    let ask = |rest: &[&str]| run(&world, &[&["-p", "-m", "demo/demo"], rest].concat());
    for (named, why) in [
        ("gone.ts", "there is no such file or folder"),
        ("broken.ts", "broken.ts` says more"),
        ("throws.ts", "throws.ts` tries it"),
    ] {
        let shown = ask(&["-e", named, "Hello"]);
        assert!(shown.contains(why) && shown.ends_with("exit 2"), "{shown}");
        assert!(shown.starts_with("--- on standard error"), "a model was asked: {shown}");
        assert!(shown.contains("hint: correct that and start pi again, or leave --extension out"), "{shown}");
    }
    let world = world.with("agent/extensions/broken.ts", "export default () => {");
    let shown = run(&world, &["-p", "-m", "demo/demo", "Hello"]);
    assert!(shown.contains("broken.ts is not loaded") && shown.ends_with("exit 0"), "{shown}");
}

#[test]
fn extension_that_was_named_and_is_off_keeps_anything_from_being_said() {
    let world = World::new()
        .with("guard.ts", "export default () => {};")
        .with("agent/settings.json", r#"{"disabledExtensions": ["guard"]}"#);
    let why = "guard.ts is not loaded: it is switched off; `pi ext enable guard` switches it on";
    check(&world, &["-p", "-m", "demo/demo", "-e", "guard.ts", "Hello"], &[why, "exit 2"]);
    check(&world, &["-p", "-m", "demo/demo", "Hello"], &["exit 0"]);
}

#[test]
fn flags_and_tools_of_extensions_are_those_that_there_are() {
    let world = World::new().with("loud.ts", LOUD);
    let ask = |flag: &str| run(&world, &["-p", "-m", "demo/demo", "-e", "loud.ts", "--extension-flag", flag, "Hello"]);
    let shown = ask("nope");
    assert!(shown.contains("no extension here has a flag nope") && shown.ends_with("exit 2"), "{shown}");
    let shown = ask("loud=maybe");
    assert!(shown.contains("the flag loud takes true or false") && shown.ends_with("exit 2"), "{shown}");
    let plain = |words: &[&str]| run(&world, &[&["-p", "-m", "demo/demo", "-e", "loud.ts", "Hello"], words].concat());
    let shown = plain(&["--lowd"]);
    for part in ["pi has no option --lowd", "their flags are loud, word", "--extension-flag NAME[=VALUE]", "exit 2"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = run(&world, &["-p", "-m", "demo/demo", "-e", "loud.ts", "--loud", "Hello"]);
    assert!(shown.contains("loud=Hello is a flag with a value; write the message before it"), "{shown}");
    let shown = plain(&["--thinkn", "high"]);
    assert!(shown.contains("the option of pi nearest to it is --thinking") && shown.ends_with("exit 2"), "{shown}");
    let shown = plain(&["--loud", "--word", "three"]);
    assert!(shown.contains("flags true three") && shown.ends_with("exit 0"), "{shown}");
    let shown = ask("loud");
    assert!(shown.contains("the tool bash is that of extension loud, in the place of ours"), "{shown}");
    assert!(
        shown.contains("the tool \"bad name!\" of extension loud is not offered") && shown.ends_with("exit 0"),
        "{shown}"
    );
}
