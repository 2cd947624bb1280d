/** Pictures of the page for the documentation, looked at by eye. Made on demand: `PAGE_PICTURES=folder npm test pictures`. */
import { readFileSync } from "node:fs";
import { everyKind, session } from "./envelope/sample";
import { files, page as made } from "./envelope/viewer";
import { gate } from "./support/model";
import { expect, test } from "./support/page";

const FOLDER = process.env["PAGE_PICTURES"];

const ANSWER = `The parser reads a line **twice**: once in \`split\`, once in \`parse_pair\`. I moved the check to the edge.

1. \`split\` hands out a typed pair, so nothing is parsed again.
2. An empty key is refused where it is read, with the line number.

\`\`\`rust
/// One setting, as it was written.
pub fn pair(line: &str, number: usize) -> Result<Pair<'_>, Fault> {
    let (key, value) = line.split_once('=').ok_or(Fault::NoEquals { number })?;
    match key.trim() {
        "" => Err(Fault::NoKey { number }), // nobody can ask for it
        key => Ok(Pair { key, value: value.trim() }),
    }
}
\`\`\`

| case | before | now |
|---|---|--:|
| \`a = 1\` | taken | taken |
| \`= 1\` | taken, lost | line 2: no key |
`;

const BEFORE = `pub fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once('=')?;
    Some((key, value))
}
`;

// Whoever looks at pictures has read what a strip is.
test.beforeEach(({ page }) => page.addInitScript(() => localStorage.setItem("pi.known", "strip")));

for (const [name, scheme, width, height, locale] of [
  ["page-light", "light", 1280, 800, "en-US"],
  ["page-dark", "dark", 1280, 800, "en-US"],
  ["page-phone", "dark", 390, 780, "en-US"],
  ["page-chinese", "light", 1280, 800, "zh-CN"],
] as const) {
  test.describe(name, () => {
    test.use({ viewport: { width, height }, colorScheme: scheme, locale, deviceScaleFactor: 1 });

    test("picture", async ({ page, desk }) => {
      test.skip(FOLDER === undefined, "no folder for pictures was named");
      await desk.server.write("project/src/pair.rs", BEFORE);
      await desk.server.write("project/AGENTS.md", "# Rules\n\nErrors are types. Every fault names its line.\n");
      await desk.enter(page);
      if (width > 900) {
        for (const words of ["Why is the cache missed after a resume?", "Add tests for the lexer"]) {
          await desk.begin(page);
          await desk.say(page, words);
          await desk.settled(page);
          await page.goto(`${desk.server.origin}/#/`);
        }
      }
      desk.model.says(
        { thinking: "The pair is split in two places. I should look at the callers first.", text: "I look at how a line is read.", calls: [{ name: "read", arguments: { path: "src/pair.rs" } }, { name: "bash", arguments: { command: "grep -rn 'pair(' src | head" } }] },
        { calls: [{ name: "edit", arguments: { path: "src/pair.rs", edits: [{ oldText: "    let (key, value) = line.split_once('=')?;\n    Some((key, value))", newText: "    let (key, value) = line.split_once('=')?;\n    let key = key.trim();\n    (key != \"\").then_some((key, value.trim()))" }] } }] },
        { text: ANSWER },
      );
      await desk.begin(page);
      await desk.say(page, locale === "zh-CN" ? "空键应当被拒绝并给出行号。请查看 @src/pair.rs" : "Refuse empty keys with their line number, see @src/pair.rs");
      await desk.settled(page);
      if (name !== "page-dark") {
        await page.locator(".scroller").evaluate((node) => {
          node.scrollTop = 0;
        });
        await expect(page.locator("[data-tool=edit]")).toBeVisible();
      }
      // The strips are fetched when they come into sight.
      await page.waitForTimeout(1500);
      await page.screenshot({ path: `${FOLDER}/${name}.png` });
    });
  });
}

for (const [name, scheme, width, height] of [
  ["page-home-light", "light", 1280, 800],
  ["page-changes-light", "light", 1280, 800],
  ["page-wide-dark", "dark", 1760, 960],
] as const) {
  test.describe(name, () => {
    test.use({ viewport: { width, height }, colorScheme: scheme, deviceScaleFactor: 1 });

    test("picture", async ({ page, desk }) => {
      test.skip(FOLDER === undefined, "no folder for pictures was named");
      await desk.server.write("project/src/pair.rs", BEFORE);
      await desk.server.write("project/AGENTS.md", "# Rules\n\nErrors are types. Every fault names its line.\n");
      desk.model.says(
        { text: "I look at how a line is read.", calls: [{ name: "read", arguments: { path: "src/pair.rs" } }] },
        { calls: [{ name: "edit", arguments: { path: "src/pair.rs", edits: [{ oldText: "    Some((key, value))", newText: "    let key = key.trim();\n    (key != \"\").then_some((key, value.trim()))" }] } }, { name: "write", arguments: { path: "tests/pair.rs", content: "use settings::pair;\n\n#[test]\nfn empty_key_is_refused() {\n    assert_eq!(pair(\" = 1\"), None);\n}\n" } }] },
        { text: "An empty key is refused now, and `tests/pair.rs` holds it to that." },
      );
      await desk.enter(page);
      await desk.begin(page);
      await desk.say(page, "Refuse empty keys, see @src/pair.rs");
      await desk.settled(page);
      if (name === "page-home-light") {
        await page.goto(`${desk.server.origin}/#/`);
        await expect(page.getByRole("region", { name: "Go on with" })).toBeVisible();
      } else if (name === "page-changes-light") {
        await desk.turn(page, "/changes");
        await expect(page.locator("[data-file]")).toHaveCount(2);
      } else {
        await page.getByRole("link", { name: /What the model saw: / }).last().focus();
        await page.keyboard.press("Enter");
        await expect(page.locator("article.segment").first()).toBeVisible();
      }
      await page.waitForTimeout(1500);
      await page.screenshot({ path: `${FOLDER}/${name}.png` });
    });
  });
}

test.describe("page-held-light", () => {
  test.use({ colorScheme: "light", deviceScaleFactor: 1 });

  test("picture", async ({ page, desk }) => {
    test.skip(FOLDER === undefined, "no folder for pictures was named");
    const rest = gate();
    await desk.server.write("project/src/pair.rs", BEFORE);
    desk.model.says({ text: "I look around first.", calls: [{ name: "bash", arguments: { command: "ls src" } }] }, { text: ["It reads", " settings."], hold: rest.opened });
    const ended = desk.server.run(["-p", ...desk.model.words, "What does this project do?"]);
    await expect.poll(() => desk.model.asked.length).toBe(2);
    await desk.enter(page);
    await page.locator("[data-session]").first().locator(".open").click();
    await expect(page.getByText(/The model was asked/)).toBeVisible();
    await page.waitForTimeout(1500);
    await page.screenshot({ path: `${FOLDER}/page-held-light.png` });
    rest.open();
    await ended;
  });
});

test.describe("page-working-dark", () => {
  test.use({ colorScheme: "dark", deviceScaleFactor: 1, settings: { agent: { policy: { mode: "prompt", default_caps: ["read"] } } } });

  test("picture", async ({ page, desk }) => {
    test.skip(FOLDER === undefined, "no folder for pictures was named");
    await desk.server.write("project/src/pair.rs", BEFORE);
    desk.model.says(
      { text: "I look at how a line is read.", calls: [{ name: "read", arguments: { path: "src/pair.rs" } }] },
      { text: "Before I change it, I see whether the tests pass.", calls: [{ name: "bash", arguments: { command: "cargo test --quiet pair" } }] },
    );
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "Refuse empty keys with their line number, see @src/pair.rs");
    await expect(page.getByRole("region", { name: "A question for you" })).toBeVisible();
    await desk.say(page, "Then write the release notes", "Alt+Enter");
    await expect(page.getByRole("region", { name: "Waits to be said" })).toBeVisible();
    await desk.editor(page).fill("Trim the value too");
    await page.waitForTimeout(1500);
    await page.screenshot({ path: `${FOLDER}/page-working-dark.png` });
  });
});

for (const [name, scheme, width, height] of [
  ["page-asked-light", "light", 1280, 900],
  ["page-asked-phone", "dark", 390, 844],
  ["page-extensions-light", "light", 1280, 800],
  ["page-extensions-dark", "dark", 1280, 800],
  ["page-extensions-phone", "light", 390, 844],
] as const) {
  test.describe(name, () => {
    const text = (file: string) => readFileSync(new URL(`extensions/${file}`, import.meta.url), "utf8");
    test.use({
      viewport: { width, height },
      colorScheme: scheme,
      deviceScaleFactor: 1,
      files: { "agent/extensions/program.ts": text("pi.ts"), "agent/extensions/survey.ts": text("survey.ts"), "agent/extensions/broken.ts": "export default 1;\n" },
      settings: { agent: { policy: { mode: "prompt", default_caps: ["read"] } } },
    });

    test("picture", async ({ page, desk }) => {
      test.skip(FOLDER === undefined, "no folder for pictures was named");
      desk.model.says({ text: "Before I change it, I see whether the tests pass.", calls: [{ name: "bash", arguments: { command: "cargo test --quiet pair" } }] });
      await desk.enter(page);
      await desk.begin(page);
      await desk.say(page, "Refuse empty keys with their line number");
      await expect(page.locator("[data-from=host]")).toBeVisible();
      await desk.say(page, "/trick");
      await expect(page.locator("[data-from=extension]")).toBeVisible();
      if (name.includes("extensions")) {
        await page.getByRole("button", { name: "More about this session" }).click();
        await page.getByRole("menuitem", { name: "Extensions" }).click();
        await expect(page.locator("[data-extension]").first()).toBeVisible();
      }
      await page.waitForTimeout(1500);
      await page.screenshot({ path: `${FOLDER}/${name}.png` });
    });
  });
}

test.describe("page-tree-light", () => {
  test.use({ colorScheme: "light", deviceScaleFactor: 1 });

  test("picture", async ({ page, desk }) => {
    test.skip(FOLDER === undefined, "no folder for pictures was named");
    desk.model.says({ text: "A recursive one: the grammar is small." }, { text: "Then a table of states, by hand." }, { text: "Two functions, and a test for each rule." });
    await desk.enter(page);
    const session = await desk.begin(page);
    for (const words of ["Which kind of parser fits here?", "Without recursion, please"]) {
      await desk.say(page, words);
      await desk.settled(page);
    }
    const tree = `${desk.server.origin}/#/s/${session}/tree`;
    await page.goto(tree);
    await page.getByRole("treeitem").filter({ hasText: "Without recursion" }).click();
    await page.getByRole("textbox", { name: "Label" }).fill("by hand");
    await page.getByRole("button", { name: "Go on from here" }).click();
    await desk.say(page, "Write the recursive one");
    await desk.settled(page);
    await page.goto(tree);
    await page.getByRole("treeitem").filter({ hasText: "Which kind" }).focus();
    await page.keyboard.press("l");
    await page.keyboard.type("the question");
    await page.keyboard.press("Enter");
    await expect(page.getByText("the question")).toBeVisible();
    await page.screenshot({ path: `${FOLDER}/page-tree-light.png` });
  });
});

for (const [name, scheme, [width, height], data, hash, key] of [
  ["envelope-kinds-light", "light", [1280, 1000], everyKind, "", "s"],
  ["envelope-kinds-dark", "dark", [1280, 1000], everyKind, "", "s"],
  ["envelope-open-light", "light", [1280, 5051], everyKind, "", "X"],
  ["envelope-open-dark", "dark", [1280, 5051], everyKind, "", "X"],
  ["envelope-phone-dark", "dark", [390, 844], session, "", "s"],
  ["envelope-treemap-light", "light", [1280, 1000], session, "", "t"],
  ["envelope-diff-light", "light", [1280, 1000], session, "#/view/r/r3", "d"],
  ["envelope-compaction-dark", "dark", [1280, 1000], session, "#/view/r/r6", "d"],
] as const) {
  test.describe(name, () => {
    test.use({ viewport: { width, height }, colorScheme: scheme, deviceScaleFactor: 1 });

    test("picture", async ({ page }) => {
      test.skip(FOLDER === undefined, "no folder for pictures was named");
      await page.goto(made(files(...[data()].flat())) + hash);
      await expect(page.locator("article.segment").first()).toBeVisible();
      await page.keyboard.press(key);
      await expect(page.locator(key === "t" ? ".treemap .item" : key === "d" ? ".rows .row" : "article.segment").first()).toBeVisible();
      await page.evaluate(() => document.fonts.ready);
      await page.screenshot({ path: `${FOLDER}/${name}.png`, animations: "disabled" });
    });
  });
}
