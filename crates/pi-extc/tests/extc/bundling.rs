//! What becomes of sources: bundles, shims, stubs, and errors that show the line.

use std::time::Duration;

use pi_extc::{BuildFault, Code, SourceMap, Workshop, build, frame, read_container, write_container};

use super::house::{House, said};

/// Builds a folder whose entry is `index.ts` and runs it.
async fn check(what: &str, files: &[(&str, &str)], expected: &str) {
    let artifact = House::new(files).built().await;
    assert_eq!(said(artifact.bundle()), expected, "{what}: {}", artifact.bundle());
}

#[tokio::test]
async fn everything_that_extensions_import_becomes_one_module() {
    let pad = ("node_modules/pad/package.json", r#"{"name":"pad","version":"1.0.0","main":"./lib.js"}"#);
    for (what, files, expected) in [
        (
            "TypeScript with enums, classes and types",
            &[(
                "index.ts",
                "import type { ExtensionAPI } from '@mariozechner/pi-coding-agent';
                 enum Colour { Red = 3 } interface A { b: number }
                 class Tool<T> { constructor(private readonly it: T) {} name() { return this.constructor.name + this.it } }
                 export default (pi: ExtensionAPI) => (pi as any).say(Colour.Red, new Tool<A['b']>(1 satisfies number).name());",
            )][..],
            "3 Tool1",
        ),
        (
            "files with and without their ends",
            &[
                ("index.ts", "import { a } from './a.js'; import b from './b'; export default pi => pi.say(a, b)"),
                ("a.ts", "export const a: string = 'a'"),
                ("b/index.ts", "export default 'b'"),
            ],
            "a b",
        ),
        (
            "CommonJS of a package, by both ways",
            &[
                (
                    "index.ts",
                    "import pad, { left } from 'pad'; const again = require('pad'); export default pi => pi.say(pad(1), left, again.left)",
                ),
                pad,
                (
                    "node_modules/pad/lib.js",
                    "module.exports = n => 'pad' + n; module.exports.left = require('./left.json').word;",
                ),
                ("node_modules/pad/left.json", r#"{"word":"L"}"#),
            ],
            "pad1 L L",
        ),
        (
            "a package with conditions, for Node and for imports",
            &[
                ("index.ts", "import { who } from 'pad/deep'; export default pi => pi.say(who)"),
                (
                    "node_modules/pad/package.json",
                    r#"{"name":"pad","exports":{"./deep":{"browser":"./b.js","node":{"import":"./n.mjs"},"default":"./d.js"}}}"#,
                ),
                ("node_modules/pad/n.mjs", "export const who = 'node'"),
                ("node_modules/pad/b.js", "export const who = 'browser'"),
                ("node_modules/pad/d.js", "export const who = 'default'"),
            ],
            "node",
        ),
        (
            "JSON, Markdown, text by its end and by its attribute",
            &[
                (
                    "index.ts",
                    "import data from './d.json'; import doc from './d.md'; import txt from './d.txt';
                     import sql from './d.sql' with { type: 'text' };
                     export default pi => pi.say(data.v, doc, txt, sql)",
                ),
                ("d.json", r#"{"v":1}"#),
                ("d.md", "# m"),
                ("d.txt", "t"),
                ("d.sql", "select 1"),
            ],
            "1 # m t select 1",
        ),
        (
            "dynamic imports, also in template literals, are inside",
            &[
                ("index.ts", "export default async pi => pi.say((await import('./a')).a, (await import(`./b`)).b)"),
                ("a.ts", "export const a = 1"),
                ("b.ts", "export const b = 2"),
            ],
            "1 2",
        ),
        (
            "host modules by every spelling; a package of that name is still the host's",
            &[
                (
                    "index.ts",
                    "import fs, { readFileSync as read } from 'node:fs'; import * as path from 'path'; import { Type } from '@sinclair/typebox';
                     import { Text } from '@earendil-works/pi-tui'; const os = require('os');
                     export default pi => pi.say(fs.statSync(1), read(2), path.join('a'), Type(3), Text(4), os.cpus())",
                ),
                ("node_modules/typebox/package.json", r#"{"name":"typebox","main":"i.js"}"#),
                ("node_modules/@sinclair/typebox/package.json", r#"{"name":"@sinclair/typebox","main":"i.js"}"#),
                ("node_modules/@sinclair/typebox/i.js", "exports.Type = () => 'the package'"),
            ],
            "node/fs.statSync(1) node/fs.readFileSync(2) node/path.join(a) typebox/type.Type(3) pi/tui.Text(4) node/os.cpus()",
        ),
        (
            "an export that no shim has reaches the shim, beside a default import too",
            &[("index.ts", "import fs, { nothing } from 'fs'; export default pi => pi.say(fs.a(), nothing(1))")],
            "node/fs.a() node/fs.nothing(1)",
        ),
        (
            "a missing package is no failure until it is used",
            &[(
                "index.ts",
                "import gone, { part } from 'gone'; export default pi => { pi.say('loaded'); try { part() } catch (e) { pi.say(e.message) } gone() }",
            )],
            "failed: Error:[bundle]:2:1: missing gone",
        ),
        (
            "places are those of the sources",
            &[
                (
                    "index.ts",
                    "import { where } from './lib/where'; export default pi => pi.say(import.meta.url, __dirname, where)",
                ),
                (
                    "lib/where.ts",
                    "const here = { __filename }; export const where = here.__filename + typeof __dirname + import.meta.dirname",
                ),
            ],
            "file:///ext/index.ts /ext /ext/lib/where.tsstring/ext/lib",
        ),
        (
            "a first line for a shell, in the entry and in what it imports",
            &[
                ("index.ts", "#!/usr/bin/env node\nimport { a } from './a'; export default pi => pi.say('run', a)"),
                ("a.ts", "#!/usr/bin/env -S pi -e\nexport const a = 1"),
            ],
            "run 1",
        ),
        (
            "decorators as `experimentalDecorators` has them, of classes, members and parameters",
            &[(
                "index.ts",
                "const seen: string[] = [];
                 const mark = (word: string) => (target: any, key?: string, third?: any) => { seen.push(`${word} ${key ?? target.name} ${typeof third}`) };
                 @mark('class') class Box {
                   @mark('field') size = 3;
                   @mark('method') open(@mark('parameter') how: string) { return how + this.size }
                   @mark('static') static make() { return new Box() }
                 }
                 export default (pi: any) => pi.say(Box.make().open('o'), seen.join(', '))",
            )],
            "o3 field size undefined, parameter open number, method open object, static make object, class Box undefined",
        ),
        (
            "a decorator that replaces a method, and one that replaces a class",
            &[(
                "index.ts",
                "function twice(_: object, __: string, it: PropertyDescriptor) { const of = it.value; it.value = function (...words: any[]) { return of.apply(this, words) + of.apply(this, words) } }
                 function sealed<T extends new (...words: any[]) => object>(Of: T) { return class extends Of { sealed = true } as any }
                 export @sealed class Box { @twice say(word: string) { return word } }
                 export default (pi: any) => pi.say(new Box().say('x'), (new Box() as any).sealed)",
            )],
            "xx true",
        ),
        (
            "fields that are accessors, also private and static ones, in classes without a name and in JavaScript",
            &[
                (
                    "index.ts",
                    "import { Plain } from './plain.js';
                     class Box { accessor size = 1; static accessor count = 2; accessor #hidden = 3; grow() { this.size += this.#hidden; return this } }
                     const Other = class { accessor word = 'w' };
                     export default (pi: any) => pi.say(new Box().grow().size, Box.count, new Other().word, Object.keys(new Box()).length, new Plain().it)",
                ),
                ("plain.js", "export class Plain { accessor it = 'js' }"),
            ],
            "4 2 w 0 js",
        ),
        (
            "an optional package that is not there fails where somebody stands by for it, each time",
            &[(
                "index.ts",
                "const tried = () => { try { return require('gone') } catch (e) { return e.message } };
                 export default async pi => {
                   pi.say(tried(), tried());
                   let word; try { word = await import('gone-too') } catch (e) { word = e.message } pi.say(word);
                   pi.say(await import('gone').then(it => it.default).catch(e => e.message), await import('gone').then(() => 'there', e => e.message));
                   try { require('./native.node') } catch (e) { pi.say(e.message) }
                   try { await import('node:sqlite') } catch (e) { pi.say(e.message) }
                   try { require('./config.local') } catch (e) { pi.say(e.message) }
                 }",
            )],
            "no gone to require no gone to require\nno gone-too to import\nno gone to import no gone to import\nno ./native.node to require\nno node:sqlite to import\nno ./config.local to require",
        ),
        (
            "a package that somebody stands by for is taken if it is there",
            &[
                ("index.ts", "let it; try { it = require('pad') } catch { it = 'gone' } export default pi => pi.say(it)"),
                pad,
                ("node_modules/pad/lib.js", "module.exports = 'there'"),
            ],
            "there",
        ),
        (
            "what is not stood by for is a stub, also in a function that is only made inside of a `try`",
            &[(
                "index.ts",
                "import lost from 'lost'; let later; try { later = () => require('gone') } finally {} try { later ??= 1; var f = () => require('gone') } catch {}
                 export default pi => pi.say(typeof lost, typeof later(), typeof f())",
            )],
            "function function function",
        ),
        (
            "an extension in CommonJS",
            &[("index.js", "module.exports = function (pi) { pi.say('cjs', require('./a').a) }"), ("a.js", "exports.a = 1")],
            "cjs 1",
        ),
    ] {
        if what.starts_with("a missing") {
            let artifact = House::new(files).built().await;
            let told = said(artifact.bundle());
            assert!(told.contains("missing gone"), "{told}");
            continue;
        }
        check(what, files, expected).await;
    }
}

/// The minifier writes a zero as it is where it puts a constant into a template, and the engine reads a program up to its first.
#[tokio::test]
async fn zeros_in_templates_are_read() {
    let source = "const mark = '\\u0000', hold = n => `${mark}${n}${mark}`;
                  export default pi => pi.say(hold('u').length, hold(pi)[0] === mark, 'last');";
    let artifact = House::new(&[("index.ts", source)]).built().await;
    assert_eq!(said(artifact.bundle()), "3 true last", "{}", artifact.bundle());
    // What stands behind them is where the map says.
    let (line, text) =
        (1..).zip(artifact.bundle().lines()).find(|(_, line)| line.contains("last")).expect("it is there");
    let before = text.split("`last`").next().expect("a beginning").encode_utf16().count();
    let place = SourceMap::new(artifact.source_map().into()).find(line, u32::try_from(before).expect("a column") + 1);
    let column = source.lines().nth(1).and_then(|line| line.find("'last'")).expect("it is there");
    assert_eq!(place.map(|it| (it.line, it.column)), Some((2, u32::try_from(column).expect("a column") + 1)));
}

#[tokio::test]
async fn unused_code_is_gone_and_the_rest_is_small() {
    let house = House::new(&[
        ("index.ts", "import { used } from './lib'; export default pi => pi.say(used)"),
        (
            "lib.ts",
            "export const used = 1; export function unused() { return 'a rather long sentence that nobody reads' }",
        ),
    ]);
    let artifact = house.built().await;
    assert!(!artifact.bundle().contains("rather long"), "{}", artifact.bundle());
    assert_eq!(artifact.bundle().trim_end().lines().count(), 2, "{}", artifact.bundle());
    let map: serde_json::Value = serde_json::from_str(artifact.source_map()).expect("a map");
    let mappings = map["mappings"].as_str().expect("mappings");
    assert!(mappings.starts_with(';') && mappings.len() > 5, "{mappings}");
    assert!(
        map["sources"]
            .as_array()
            .expect("sources")
            .iter()
            .any(|it| it.as_str().is_some_and(|it| it.ends_with("index.ts")))
    );
}

#[tokio::test]
async fn faults_show_file_line_and_code() {
    for (files, expected) in [
        (
            &[("index.ts", "const a = 1;\nimport { b } from './nope';\nexport default () => b(a);")][..],
            "index.ts:2:19|import { b } from './nope';|^",
        ),
        (&[("index.ts", "export default (pi) => {\n  pi.say(;\n}")], "index.ts:2:10|  pi.say(;|^"),
        (
            &[("index.ts", "import x from '../../secret.json';\nexport default () => x")],
            "index.ts:1:15|import x from '../../secret.json';|^",
        ),
        (
            &[("index.ts", "const at = __dirname; import { b } from './nope';\nexport default () => b(at);")],
            "index.ts:1:41|     ^",
        ),
        (
            &[("index.ts", "import { a } from './a';\nexport default () => a;"), ("a.ts", "export const b = 1;")],
            "index.ts:1:10|import { a } from './a';|^",
        ),
        (
            &[("index.ts", "import x from './x.json';\nexport default () => x;"), ("x.json", "{\n  \"a\": nope\n}")],
            "x.json:2:|\"a\": nope|^",
        ),
        (
            &[("index.ts", "export default (pi) =>\n  /a(/u.test(pi.name);")],
            "this is no regular expression|index.ts:2:3|  /a(/u.test(pi.name);|^^^^^",
        ),
        (
            &[("index.js", "function log() {}\nclass A {\n  @log run() {}\n}\nexport default () => new A();")],
            "`@log` decorates in JavaScript|index.js:3:3|  @log run() {}|^^^^|help: name the file .ts",
        ),
        (
            &[(
                "index.ts",
                "function log(value: any, context: ClassMethodDecoratorContext) { return value }\nclass A {\n  @log run() {}\n}\nexport default () => new A();",
            )],
            "`@log` is a decorator of the standard|index.ts:3:3|  @log run() {}|^^^^|experimentalDecorators",
        ),
        (
            &[
                ("index.ts", "import { log } from './log';\n@log('x') class A {}\nexport default () => new A();"),
                ("log.ts", "export const log = (word: string) => (it: any, context: ClassDecoratorContext) => it;"),
            ],
            "`@log` is a decorator of the standard|index.ts:2:1|@log('x') class A {}|^^^^^^^^^",
        ),
        (
            &[("index.ts", "const log: any = 1;\nexport default () => new (@log class {});")],
            "decorates a class that is an expression|index.ts:2:27|help: declare the class",
        ),
        (
            &[("index.ts", "const log: any = 1;\nclass A { @log #run() {} }\nexport default () => new A();")],
            "decorates a private member|index.ts:2:11|help: decorate a member",
        ),
    ] {
        let house = House::new(files);
        std::fs::write(house.root().join("../../secret.json"), "{}").expect("a secret");
        let Err(BuildFault::Sources { faults }) = house.build("").await else { panic!("{files:?} is built") };
        let shown = frame(&faults[0]);
        for part in expected.split('|') {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        std::fs::remove_file(house.root().join("../../secret.json")).expect("removed");
    }
}

#[tokio::test]
async fn what_is_no_text_is_refused_where_it_is_imported() {
    for (entry, expected) in [
        ("import x from './x.bin' with { type: 'text' };\nexport default () => x", "index.ts:1:15"),
        ("export default 1;\nimport './x.js';", "index.ts:2:8"),
    ] {
        let house = House::new(&[("index.ts", entry)]);
        for file in ["x.bin", "x.js"] {
            std::fs::write(house.path(file), [0xff, 0xfe, 0x00, 0xc3]).expect("a file");
        }
        let Err(BuildFault::Sources { faults }) = house.build("").await else { panic!("{entry} is built") };
        let shown = frame(&faults[0]);
        assert!(shown.contains(expected) && shown.contains('^'), "{shown}");
    }
}

#[tokio::test]
async fn what_the_engine_cannot_read_is_shown_in_the_sources() {
    let house = House::new(&[("index.ts", "export default function (pi) {\n  pi.say('a');\n  pi.shout('b');\n}")]);
    let mut artifact = house.built().await;
    // As if the engine did not know a word of it.
    let Code::Script { bundle, .. } = &mut artifact.code else { panic!("a component") };
    *bundle = bundle.replace("shout(", "shout)").into();
    let shown = artifact.bytecode(&house.cache()).expect_err("it is no program").to_string();
    for part in ["the engine cannot read this", "--> index.ts:3:", "3 |   pi.shout('b');", "^"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[tokio::test]
async fn nothing_outside_is_read_whatever_leads_there() {
    for (what, entry) in [
        ("an absolute path", "import s from 'OUTSIDE/secret.json'; export default () => s"),
        ("dots", "import s from '../secret.json'; export default () => s"),
        ("a link", "import s from './link.json'; export default () => s"),
        ("a package that is a link", "import s from 'evil/secret.json'; export default () => s"),
        ("text", "import s from '../secret.json' with { type: 'text' }; export default () => s"),
        ("require", "export default () => require('../secret.json')"),
    ] {
        let house = House::new(&[("node_modules/ok/package.json", "{}")]);
        let outside = house.root().parent().expect("a folder").to_path_buf();
        std::fs::write(outside.join("secret.json"), r#"{"token":"swordfish"}"#).expect("a secret");
        house.write("index.ts", &entry.replace("OUTSIDE", &outside.to_string_lossy()));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outside.join("secret.json"), house.path("link.json")).expect("a link");
            std::os::unix::fs::symlink(&outside, house.path("node_modules/evil")).expect("a link");
        }
        match house.build("").await {
            Ok(artifact) => assert!(!artifact.bundle().contains("swordfish"), "{what}: {}", artifact.bundle()),
            Err(BuildFault::Sources { faults }) => assert!(!format!("{faults:?}").contains("swordfish"), "{what}"),
            Err(other) => panic!("{what}: {other}"),
        }
    }
}

/// A home folder in which somebody installed something; links and `index.ts` make an extension in it.
#[cfg(unix)]
async fn check_links(what: &str, at: &str, links: &[(&str, &str)], entry: &str, expected: Option<&str>) {
    let house = House::new(&[
        ("home/package.json", "{}"),
        ("home/letter.json", r#"{"token":"swordfish"}"#),
        ("home/.ssh/id", "swordfish"),
        ("home/.tool/package.json", "{}"),
        ("home/.tool/keys.json", r#"{"token":"swordfish"}"#),
        ("home/.pi/agent/package.json", "{}"),
        ("home/.pi/agent/auth.json", r#"{"token":"swordfish"}"#),
        ("home/.pi/agent/two/package.json", r#"{"main":"i.js"}"#),
        ("home/.pi/agent/two/i.js", "module.exports = 'two'"),
        ("home/other/package.json", r#"{"main":"i.js"}"#),
        ("home/other/i.js", "module.exports = 'other ' + require('./lib/deep')"),
        ("home/other/lib/deep.js", "module.exports = require('./../deeper.js')"),
        ("home/other/deeper.js", "module.exports = 'deeper'"),
        ("home/other/.env", "swordfish"),
        ("home/other/lib/.env", "swordfish"),
        ("home/other/bad.js", "module.exports = require('../letter.json').token"),
        ("home/own/package.json", "{}"),
        ("home/own/.env", "swordfish"),
        ("home/own/lib/.env", "swordfish"),
        ("home/own/node_modules/.pnpm/pad@1/node_modules/pad/package.json", r#"{"main":"i.js"}"#),
        ("home/own/node_modules/.pnpm/pad@1/node_modules/pad/i.js", "module.exports = 'pad ' + require('@s/left')"),
        ("home/own/node_modules/.pnpm/left@1/node_modules/@s/left/package.json", r#"{"main":"dist/i.js"}"#),
        ("home/own/node_modules/.pnpm/left@1/node_modules/@s/left/dist/package.json", "{}"),
        ("home/own/node_modules/.pnpm/left@1/node_modules/@s/left/dist/i.js", "module.exports = 'left'"),
    ]);
    for (link, target) in links {
        let link = house.path(link);
        std::fs::create_dir_all(link.parent().expect("a folder")).expect("it is made");
        std::os::unix::fs::symlink(house.path(target), link).expect("a link");
    }
    house.write(&format!("{at}/index.ts"), &format!("{entry}; export default (pi: any) => pi.say(it)"));
    let workshop = Workshop::new(house.path("home/.pi/agent/cache/extensions"));
    match (build(&house.path(&format!("{at}/index.ts")), &workshop).await, expected) {
        (Ok(artifact), Some(expected)) => assert_eq!(said(artifact.bundle()), expected, "{what}"),
        (Ok(artifact), None) => panic!("{what}: {}", artifact.bundle()),
        (Err(BuildFault::Sources { faults }), None) => {
            let shown = format!("{faults:?}");
            assert!(shown.contains("lies outside") && !shown.contains("swordfish"), "{what}: {shown}");
        }
        (Err(other), _) => panic!("{what}: {other}"),
    }
}

#[cfg(unix)]
#[tokio::test]
async fn links_lead_to_packages_and_to_nothing_else() {
    let own = "home/own";
    let text = "with { type: 'text' }";
    for (what, at, links, entry, expected) in [
        (
            "a package of a store",
            own,
            &[
                ("home/own/node_modules/pad", "home/own/node_modules/.pnpm/pad@1/node_modules/pad"),
                (
                    "home/own/node_modules/.pnpm/pad@1/node_modules/@s/left",
                    "home/own/node_modules/.pnpm/left@1/node_modules/@s/left",
                ),
            ][..],
            "import it from 'pad'",
            Some("pad left"),
        ),
        ("a neighbour", own, &[("home/own/node_modules/h", "home/other")], "import it from 'h'", Some("other deeper")),
        (
            "a neighbour in a hidden folder that both lie in",
            "home/.pi/agent/own",
            &[("home/.pi/agent/own/node_modules/h", "home/.pi/agent/two")],
            "import it from 'h'",
            Some("two"),
        ),
        (
            "what a neighbour takes from around it",
            own,
            &[("home/own/node_modules/h", "home/other")],
            "import it from 'h/bad.js'",
            None,
        ),
        (
            "what is hidden in a neighbour",
            own,
            &[("home/own/node_modules/h", "home/other")],
            &format!("import it from 'h/.env' {text}"),
            None,
        ),
        (
            "what is hidden deeper in a neighbour",
            own,
            &[("home/own/node_modules/h", "home/other")],
            &format!("import it from 'h/lib/.env' {text}"),
            None,
        ),
        (
            "keys in the home folder",
            own,
            &[("home/own/node_modules/h", "home")],
            &format!("import it from 'h/.ssh/id' {text}"),
            None,
        ),
        (
            "a letter in the home folder",
            own,
            &[("home/own/node_modules/h", "home")],
            "import { token as it } from 'h/letter.json'",
            None,
        ),
        (
            "keys of pi",
            own,
            &[("home/own/node_modules/h", "home")],
            "import { token as it } from 'h/.pi/agent/auth.json'",
            None,
        ),
        (
            "keys of pi by a link to their folder",
            own,
            &[("home/own/node_modules/h", "home/.pi/agent")],
            "import { token as it } from 'h/auth.json'",
            None,
        ),
        (
            "keys of pi, from inside of its folder",
            "home/.pi/agent/extensions/own",
            &[("home/.pi/agent/extensions/own/node_modules/h", "home/.pi/agent")],
            "import { token as it } from 'h/auth.json'",
            None,
        ),
        (
            "keys of pi, as a neighbour in a package that somebody made of its folder",
            "home/.pi/agent/extensions/own",
            &[],
            "import { token as it } from '../../auth.json'",
            None,
        ),
        (
            "a letter in the home folder, from elsewhere",
            "elsewhere",
            &[("elsewhere/node_modules/h", "home")],
            "import { token as it } from 'h/letter.json'",
            None,
        ),
        (
            "a folder of another program",
            own,
            &[("home/own/node_modules/@s/h", "home/.tool")],
            "import { token as it } from '@s/h/keys.json'",
            None,
        ),
        ("its own secrets", own, &[], &format!("import it from './.env' {text}"), None),
        ("its own secrets, deeper", own, &[], &format!("import it from './lib/.env' {text}"), None),
    ] {
        check_links(what, at, links, entry, expected).await;
    }
}

#[tokio::test]
async fn time_is_limited_and_a_dropped_build_ends() {
    let house = House::new(&[("index.ts", "export default () => {}")]);
    let workshop = Workshop { limit: Duration::ZERO, ..house.workshop() };
    assert!(matches!(build(&house.root(), &workshop).await, Err(BuildFault::TooLong { .. })));
    let whole = house.built().await;
    assert_eq!(said(whole.bundle()), "");
}

#[tokio::test]
async fn same_sources_give_the_same_artifact_and_it_reads_back() {
    let files = [
        (
            "index.ts",
            "import { readFileSync } from 'fs'; import { join } from 'path'; export default pi => pi.say(readFileSync(join(__dirname, 'templates/a.txt')), new URL('./logo.svg', import.meta.url))",
        ),
        ("templates/a.txt", "A"),
        ("logo.svg", "<svg/>"),
        ("other.txt", "not named"),
        ("package.json", r#"{"name":"Two Words","version":"1.2.3"}"#),
    ];
    let (one, other) = (House::new(&files), House::new(&files));
    let (artifact, again) = (one.built().await, other.built().await);
    let container = write_container(&artifact);
    assert_eq!(container, write_container(&again), "the place of the sources is not in it");
    let read = read_container(&container).expect("an artifact");
    assert_eq!((read.bundle(), read.hash(), &read.assets), (artifact.bundle(), artifact.hash(), &artifact.assets));
    let names: Vec<&str> = read.assets.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(names, ["logo.svg", "templates/a.txt"]);
    assert_eq!((read.descriptor.name.as_str(), read.descriptor.version.as_str()), ("two-words", "1.2.3"));
    let paths: Vec<&str> = read.descriptor.sources.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["index.ts"]);
    for at in (0..container.len()).step_by(7) {
        let mut changed = container.clone();
        changed[at] ^= 1;
        assert!(read_container(&changed).is_err(), "byte {at}");
        assert!(read_container(&container[..at]).is_err(), "cut at {at}");
    }
}
