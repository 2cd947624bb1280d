//! What the scanner finds, and what it is not fooled by.

use pi_extc::load;
use pi_extproto::artifact::Verdict;

use super::house::House;

/// The rules and their lines that the scanner finds in one file, and the capabilities that it infers.
async fn check(source: &str, rules: &str, capabilities: &str) {
    let artifact = House::new(&[("index.ts", source)]).built().await;
    let mut found: Vec<String> = artifact
        .findings()
        .iter()
        .map(|it| format!("{}:{}", it.rule, it.place.as_ref().map_or(0, |place| place.line)))
        .collect();
    found.sort();
    // An alias is found where it is made and where it is used.
    found.dedup();
    let inferred: Vec<&str> = artifact.descriptor.capabilities.inferred.iter().map(|it| it.as_str()).collect();
    assert_eq!((found.join(" ").as_str(), inferred.join(" ").as_str()), (rules, capabilities), "{source}");
}

#[tokio::test]
async fn code_from_text_is_found_however_it_is_written() {
    for (body, rules) in [
        ("eval('1')", "code.eval:2"),
        ("(0, eval)('1')", "code.eval:2"),
        ("const e = eval; e('1')", "code.eval:2"),
        ("globalThis.eval('1')", "code.eval:2"),
        ("globalThis['ev' + 'al']('1')", "code.eval:2"),
        ("globalThis[`${'ev'}al`]('1')", "code.eval:2"),
        ("globalThis[['ev', 'al'].join('')]('1')", "code.eval:2"),
        ("const g = globalThis; const n = 'eval'; g[n]('1')", "code.eval:2"),
        ("const { eval: run } = globalThis; run('1')", "code.eval:2"),
        ("Reflect.get(globalThis, 'eval')('1')", "code.eval:2"),
        ("new Function('return 1')()", "code.function:2"),
        ("Function('return 1')()", "code.function:2"),
        ("const F = Function; new F('return 1')", "code.function:2"),
        ("[].constructor.constructor('return 1')()", "code.function:2"),
        ("(() => {}).constructor('return 1')()", "code.function:2"),
        ("const A = Object.getPrototypeOf(async function () {}).constructor; new A('1')", "code.function:2"),
        ("Reflect.construct(Function, ['return 1'])", "code.function:2"),
        ("setTimeout('x()', 1)", "code.timer-text:2"),
        ("globalThis.setInterval(`x()`, 1)", "code.timer-text:2"),
        ("globalThis[pi.name]('1')", "code.computed-global:2"),
        ("process[pi.name]", "code.computed-global:2"),
        ("process.binding('fs')", "api.process-binding:2"),
        ("process['dlopen']({}, 'x')", "api.process-binding:2"),
        ("process.exit(1)", "api.process:2"),
        ("Array.prototype.last = 1", "api.prototype:2"),
        ("Object.defineProperty(Object.prototype, 'x', {})", "api.prototype:2"),
        ("pi.say.__proto__ = {}", "api.prototype:2"),
        ("import(pi.name)", "import.dynamic:2"),
        ("require(pi.name)", "import.dynamic:2"),
        // What only looks like it.
        ("pi.eval('1'); const x = { eval: 1 }; x.eval", ""),
        ("const key = Symbol.for('x'); globalThis[key] ??= 1; globalThis[Symbol.for('y')]", ""),
        ("typeof eval; typeof Function", ""),
        ("pi instanceof Function", ""),
        ("setTimeout(() => {}, 1)", ""),
        ("const s = 'eval(1)'; pi.say(s)", ""),
        ("function f(eval2) { eval2() } f(pi)", ""),
        ("new this.constructor(1)", ""),
    ] {
        check(&format!("export default function (pi) {{\n{body}\n}}"), rules, "").await;
    }
    let long = "QUJD".repeat(400);
    check(&format!("export default (pi) => pi.say('{long}1')"), "code.encoded:1", "").await;
}

#[tokio::test]
async fn writing_what_other_programs_run_is_found() {
    for (body, rules, capabilities) in [
        ("fs.appendFileSync('.git/config', 'x')", "file.hook:3", "write"),
        ("fs.promises.writeFile(join(pi.cwd, '.git', 'hooks', 'pre-commit'), 'x')", "file.hook:3", "write"),
        ("writeFile(`${pi.cwd}/.husky/pre-commit`, 'x')", "file.hook:3", "write"),
        ("const at = '.envrc'; fs.writeFileSync(join(pi.cwd, at), 'x')", "file.hook:3", "write"),
        ("fs.renameSync('a', '.mcp.json')", "file.hook:3", "write"),
        ("pi.fs.write('.git/config', 'x')", "file.hook:3", "read write"),
        ("pi.tool('write', { path: '.vscode/tasks.json', content: 'x' })", "file.hook:3", "write"),
        // What only looks like it.
        ("fs.readFileSync('.git/config')", "", "read"),
        ("fs.writeFileSync('.gitignore', '.vscode')", "", "write"),
        ("fs.writeFileSync('.github/x.yml', 'x')", "", "write"),
        ("pi.tool('write', { path: 'a', content: '.git' })", "", "write"),
    ] {
        let head =
            "import fs from 'node:fs'; import { writeFile } from 'node:fs/promises'; import { join } from 'node:path';";
        check(&format!("{head}\nexport default function (pi) {{\n{body}\n}}"), rules, capabilities).await;
    }
}

#[tokio::test]
async fn globals_that_nobody_has_are_found_unless_they_are_asked_for() {
    for (body, rules) in [
        ("new WebSocket('wss://x')", "api.global:2"),
        ("WebAssembly.compile(pi)", "api.global:2"),
        ("new XMLHttpRequest()", "api.global:2"),
        ("document.title = 'x'", "api.global:2"),
        ("window.setTimeout(pi)", "api.global:2"),
        ("class Mine extends HTMLElement {}; new Mine()", "api.global:2"),
        ("new globalThis.Worker('x')", "api.global:2"),
        ("globalThis['localStorage'].getItem('x')", "api.global:2"),
        ("Bun.version", "api.global:2"),
        ("new MessageChannel()", "api.global:2"),
        ("nobodyDefinedThis()", "api.global:2"),
        ("try { alert(1) } catch {}", "api.global:2"),
        // Whoever asks knows.
        ("if (typeof WebSocket !== 'undefined') new WebSocket('wss://x')", ""),
        ("const has = typeof document === 'undefined' ? 0 : document.title; pi.say(has)", ""),
        ("if (globalThis.Bun) Bun.version", ""),
        ("if ('Worker' in globalThis) new Worker('x')", ""),
        ("globalThis.Deno?.exit; globalThis.indexedDB?.open('x'); globalThis.alert?.(1)", ""),
        // What is there, or is none.
        ("new URL('x'); structuredClone(pi); new AbortController(); queueMicrotask(pi); Buffer.from('x')", ""),
        ("new TextEncoder(); crypto.randomUUID(); performance.now(); setImmediate(pi); new Intl.NumberFormat()", ""),
        ("globalThis.mine = 1; mine + 1; globalThis.mine.x", ""),
        ("Object.defineProperty(globalThis, 'mine', { value: 1 }); mine", ""),
        ("function f(window) { return window.x } f(pi); arguments; undefined; NaN", ""),
        (
            "const a: Window = pi; const b = pi as HTMLElement; interface C extends Element {} let c: C; pi.say(a, b, c)",
            "",
        ),
    ] {
        check(&format!("export default function (pi) {{\n{body}\n}}"), rules, capabilities_of(body)).await;
    }
    check("declare const Bun: { version: string };\nexport default () => Bun.version;", "api.global:2", "").await;
    check("declare global { var Bun: { version: string } }\nexport default () => Bun.version;", "api.global:2", "")
        .await;
}

/// Sockets and requests are the network, whether they are there or not.
fn capabilities_of(body: &str) -> &'static str {
    if ["WebSocket", "XMLHttpRequest"].iter().any(|word| body.contains(word)) { "http" } else { "" }
}

#[tokio::test]
async fn global_of_one_file_is_known_in_the_others_and_packages_are_told_of_once() {
    let house = House::new(&[
        ("index.ts", "import './state'; import 'page'; export default () => [shared, other, document, document];"),
        ("state.ts", "globalThis.shared = 1; Object.assign(globalThis, { other: 2 });"),
        ("node_modules/page/package.json", r#"{"name":"page","main":"i.js"}"#),
        ("node_modules/page/i.js", "module.exports = () => [window, window, window];\nmodule.exports();"),
    ]);
    let artifact = house.built().await;
    let told = |it: &pi_extproto::artifact::Finding| {
        let place = it.place.as_ref().expect("a place");
        format!("{}:{}:{} {}", place.file, place.line, place.column, it.remedy.as_deref().unwrap_or_default())
    };
    let mut found: Vec<String> = artifact.findings().iter().map(told).collect();
    found.sort();
    let page = "there is no page here: show things with `ctx.ui`";
    let expected = [
        format!("index.ts:1:71 {page}"),
        format!("index.ts:1:81 {page}"),
        "node_modules/page/i.js:1:25 write `globalThis`; there is no page here, so show things with `ctx.ui`"
            .to_owned(),
    ];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn imports_are_found_however_they_are_written() {
    for (source, rules) in [
        ("import {\n  createContext\n} from 'vm';\nexport default () => createContext();", "import.forbidden:3"),
        ("export { Worker } from 'node:worker_threads';\nexport default () => {};", "import.forbidden:1"),
        ("export * from 'net';\nexport default () => {};", "import.forbidden:1"),
        ("export default () => import(`node:v8`);", "import.forbidden:1"),
        ("const name = 'inspector';\nexport default () => import(name);", "import.forbidden:2"),
        ("export default () => require('cluster');", "import.forbidden:1"),
        ("import host from 'pi:host';\nexport default () => host.call();", "import.forbidden:1"),
        (
            "import { DatabaseSync } from 'node:sqlite';\nexport default () => new DatabaseSync();",
            "import.unsupported:1",
        ),
        ("import a from 'a';\nexport default () => a();", "package.missing:1"),
        ("export default () => require('a');", "package.missing:1"),
        // Somebody stands by, and goes on without it.
        ("export default () => { try { return require('a') } catch { return 1 } };", ""),
        ("export default () => import('a').catch(() => 1);", ""),
        ("export default () => { try { return require('a') } finally { } };", "package.missing:1"),
        ("import a from 'data:text/javascript,export default eval';\nexport default () => a();", "import.forbidden:1"),
        ("import a from './a.node';\nexport default () => a();", "package.native:1"),
        ("import type { Context } from 'vm';\nexport default (c: Context) => {};", ""),
        ("import { Context } from 'vm';\nexport default (c: Context) => {};", ""),
        ("export const nothing = 1;", "entry.no-factory:1"),
    ] {
        check(source, rules, "").await;
    }
}

#[tokio::test]
async fn needs_are_inferred_from_what_is_used() {
    for (body, capabilities) in [
        ("await pi.exec('ls', [])", "exec"),
        ("const api = pi; await api.exec('ls', [])", "exec"),
        ("const { exec: run } = pi; await run('ls', [])", "exec"),
        ("const run = pi.exec.bind(pi); await run('ls', [])", "exec"),
        ("helper(pi); function helper(it) { it.exec('ls', []) }", "exec"),
        ("pi['exec']('ls', [])", "exec"),
        ("/a/.exec('a')", ""),
        ("require('child_process').execSync('ls')", "exec"),
        ("(await import('node:child_process')).spawn('ls')", "exec"),
        ("process.getBuiltinModule('child_process').execSync('ls')", "exec"),
        ("fs.readFileSync('a')", "read"),
        ("fs['writeFileSync']('a', '')", "write"),
        ("fs.promises.unlink('a')", "write"),
        ("const { mkdirSync, statSync } = fs; mkdirSync('a'); statSync('a')", "read write"),
        ("pi.say(fs)", "read write"),
        ("fetch('https://example.org')", "http"),
        ("globalThis.fetch('https://example.org')", "http"),
        ("process.env.HOME", "env"),
        ("const { env } = process; env[pi.name]", "env"),
        ("globalThis['process']['env'].X", "env"),
        ("pi.tool('read', {})", "read"),
        ("pi.tool('edit', {})", "write"),
        ("pi.tool('bash', {})", "exec"),
        ("pi.tool(pi.name, {})", "tool"),
        ("pi.on('session_start', (event, ctx) => ctx.ui.notify('x'))", "ui"),
        ("pi.on('session_start', (e, c) => c.sessionManager.getEntries())", "session"),
        ("pi.sendMessage({})", "session"),
        ("pi.events.emit('x')", "events"),
        ("pi.on('x', async (e, ctx) => ctx.modelRegistry.getApiKey(1))", "credentials"),
    ] {
        let source = format!("import * as fs from 'fs';\nexport default async function (pi) {{\n{body}\n}}");
        check(&source, "", capabilities).await;
    }
}

#[tokio::test]
async fn findings_have_places_excerpts_remedies_and_a_verdict() {
    let house = House::new(&[
        ("index.ts", "import { Script } from 'vm';\nexport default () => {\n  eval('1');\n  new Script();\n};"),
        ("package.json", r#"{"name":"x","version":"1.0.0"}"#),
    ]);
    let loaded = load(&house.root(), &house.workshop(), &house.cache()).await.expect("it is built").remove(0);
    let artifact = &loaded.artifact;
    assert_eq!(artifact.verdict(), Verdict::Blocked);
    let told: Vec<String> = artifact
        .findings()
        .iter()
        .map(|it| {
            let place = it.place.as_ref().expect("a place");
            format!(
                "{} {}:{}:{} {}",
                it.rule,
                place.file,
                place.line,
                place.column,
                it.excerpt.as_deref().unwrap_or("")
            )
        })
        .collect();
    assert_eq!(
        told,
        ["import.forbidden index.ts:1:24 import { Script } from 'vm';", "code.eval index.ts:3:3   eval('1');"]
    );
    assert!(artifact.findings().iter().all(|it| it.remedy.is_some()));
    let evidence = artifact.evidence(&loaded.scan);
    assert_eq!((evidence.forbidden, evidence.obfuscated), (1, 1));
}

#[tokio::test]
async fn what_was_shaken_off_is_not_held_against_it() {
    let house = House::new(&[
        ("index.ts", "import { good } from './lib'; export default pi => pi.say(good)"),
        ("lib.ts", "export { good } from './good'; export { bad } from './bad'"),
        ("good.ts", "export const good = 1"),
        ("bad.ts", "import vm from 'vm'; export const bad = () => eval('1') + vm"),
    ]);
    assert_eq!(house.built().await.findings(), []);
}

#[tokio::test]
async fn a_broken_package_is_a_warning_and_a_broken_extension_is_not() {
    let house = House::new(&[
        ("index.ts", "import pad from 'pad'; export default pi => pi.say(pad)"),
        ("node_modules/pad/package.json", r#"{"name":"pad","main":"i.js"}"#),
        (
            "node_modules/pad/i.js",
            "const gone = require('./gone'); const n = require('./build/x.node'); module.exports = 1",
        ),
    ]);
    let artifact = house.built().await;
    let mut found: Vec<&str> = artifact.findings().iter().map(|it| it.rule.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, ["package.incomplete", "package.native"]);
}

#[test]
fn page_lists_every_rule_as_it_is() {
    let page = include_str!("../../../../docs/extensions-build.md");
    for (name, meaning) in pi_extc::rules() {
        let verdict = match meaning.verdict {
            Verdict::Compatible => "compatible",
            Verdict::Warning => "warning",
            Verdict::Blocked => "blocked",
        };
        let row = format!("| `{name}` | {verdict} | {} | {} |", meaning.message.replace("{}", "…"), meaning.remedy);
        assert!(page.contains(&row), "missing in docs/extensions-build.md:\n{row}");
    }
    let rows = page.lines().filter(|line| line.contains("| warning |") || line.contains("| blocked |")).count();
    assert_eq!(rows, pi_extc::rules().count());
}
