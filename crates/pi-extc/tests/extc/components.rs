//! JavaScript that asks to run as a component, up to the program that makes one of it.

use pi_extc::{BuildFault, Compilers, Workshop, build};

use super::house::House;

const MANIFEST: &str = r#"{"name":"own","version":"1.0.0","api_version":"1.0","entry":"index.ts","engine":"wasm"}"#;
const GUEST: &str = "import fs from 'pi:extension/fs@1.0.0';\nexport const guest = { init: () => fs.list('.') };\n";
/// Stands in for the package: looks at what it is given, and makes something that is no component.
const COMPONENTIZER: &str = r#"
const { readFileSync, writeFileSync } = require("node:fs");
const given = (flag) => process.argv[process.argv.indexOf(flag) + 1];
const script = readFileSync(given("-j"), "utf8");
const wit = readFileSync(given("-w"), "utf8").includes("package pi:extension@1.0.0");
const isOne = script.includes('"pi:extension/fs@1.0.0"') && script.includes("here") && !script.includes("name.ts");
if (!wit || given("-n") !== "extension" || !isOne) { console.error(`no such thing: ${script}`); process.exit(3); }
writeFileSync(given("-o"), "no component");
"#;

async fn built(files: &[(&str, &str)], compilers: Compilers) -> Result<(), BuildFault> {
    let house = House::new(&[("extension.json", MANIFEST)]);
    files.iter().for_each(|(path, text)| house.write(path, text));
    let workshop = Workshop { compilers, ..house.workshop() };
    let done = build(&house.root(), &workshop).await.map(drop);
    let left = std::fs::read_dir(house.cache_folder().join("componentize")).map_or(0, |it| it.count());
    assert_eq!(left, 0, "folders that somebody worked in are removed");
    done
}

#[tokio::test]
async fn only_who_asks_for_it_runs_the_program() {
    let fault = built(&[("index.ts", GUEST)], Compilers::AsBuilt).await.expect_err("it was not built");
    assert!(matches!(fault, BuildFault::NotBuilt { .. }), "{fault}");
}

#[tokio::test]
async fn program_that_is_not_installed_is_named_with_what_to_do() {
    let fault = built(&[("index.ts", GUEST)], Compilers::Run).await.expect_err("there is none");
    assert!(matches!(fault, BuildFault::NoComponentizer { .. }), "{fault}");
    assert!(fault.hint().contains("npm install --save-dev componentize-qjs@"), "{}", fault.hint());
}

#[tokio::test]
async fn what_a_component_cannot_have_is_shown_with_the_code() {
    for (source, expected) in [
        (
            "import { readFileSync } from 'node:fs';\nexport const guest = { init: () => readFileSync('a') };",
            "`node:fs` is not there for a component",
        ),
        (
            "import x from 'nowhere';\nexport const guest = { init: () => x() };",
            "`nowhere` is not there for a component",
        ),
        ("export default (pi) => {};", "it exports no `guest`"),
    ] {
        let fault = built(&[("index.ts", source)], Compilers::Run).await.expect_err(source);
        let BuildFault::Sources { faults } = &fault else { panic!("{fault}") };
        assert_eq!(faults[0].message, expected);
        assert!(faults[0].hint.is_some());
    }
}

#[tokio::test]
async fn program_gets_one_script_and_the_interface() {
    if !is_there("node") {
        eprintln!("SKIPPED: Node is not installed; how componentize-qjs is called was not tried");
        return;
    }
    let program = "node_modules/componentize-qjs/bin/componentize-qjs";
    let typed = "import { name } from './name.ts';\nimport fs from 'pi:extension/fs@1.0.0';\n\
                 export const guest = { init(): string { return fs.list(name as string); } };\n";
    let files = [("index.ts", typed), ("name.ts", "export const name: string = 'here';"), (program, COMPONENTIZER)];
    let fault = built(&files, Compilers::Run).await.expect_err("it is no component");
    let BuildFault::BadComponent { .. } = &fault else { panic!("{fault}") };
    let fails = [("index.ts", "export const guest = { fail: 1 };"), (program, COMPONENTIZER)];
    let fault = built(&fails, Compilers::Run).await.expect_err("it fails");
    let BuildFault::Compiler { said, .. } = &fault else { panic!("{fault}") };
    assert!(said.starts_with("no such thing"), "{said}");
}

fn is_there(program: &str) -> bool {
    std::process::Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}
