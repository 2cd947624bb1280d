/** The page in a browser of another make, where there is one: it is let in, talks, and shows what the model saw. */
import { writeFile } from "node:fs/promises";
import { Firefox, FIREFOX } from "./support/firefox";
import { expect, test } from "./support/page";

const ENTER = "\uE007";

test("a first conversation in Firefox", async ({ desk }) => {
  test.skip(FIREFOX === undefined, "there is no Firefox here");
  // It shows the page of the binary.
  test.skip(process.env["PAGE_DIST"] !== undefined, "the page of a folder is shown in Chromium only");
  desk.model.says({ thinking: "Hm.", text: ["Here is **bold**:\n\n", "```rust\nfn main() {}\n```\n"], calls: [{ name: "bash", arguments: { command: "echo from a tool" } }] }, { text: "Done in Firefox." });
  const firefox = await Firefox.start();
  const count = (selector: string) => firefox.look<number>(`document.querySelectorAll(${JSON.stringify(selector)}).length`);
  const shown = (selector: string) => expect.poll(() => count(selector));
  try {
    await firefox.open(await desk.server.address());
    await shown("[data-link=live]").toBeGreaterThan(0);
    // Without a pointer it has no focus: a keyboard on the screen would cover what one came to see.
    await firefox.click(".ask textarea");
    await firefox.type(`Hello from Firefox${ENTER}`);
    await expect.poll(() => firefox.look<string>("document.body.innerText")).toContain("Done in Firefox.");
    await shown("[data-role=assistant] strong").toBe(1);
    await shown("[data-role=assistant] code .keyword").toBe(1);
    await shown("[data-tool=bash][data-status=done]").toBe(1);
    await shown(".place svg path").toBeGreaterThan(4);
    // Nothing is wider than the window, and what one writes in is in sight.
    expect(await firefox.look<boolean>("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(await firefox.look<boolean>("document.querySelector('.composer').getBoundingClientRect().bottom <= innerHeight")).toBe(true);
    await firefox.click(".place a");
    await shown("article.segment").toBeGreaterThan(4);
    await firefox.type("t");
    await shown(".treemap .item").toBeGreaterThan(4);
    await firefox.type("]d");
    await shown(".rows .row").toBeGreaterThan(0);
    if (process.env["PAGE_PICTURES"] !== undefined) {
      await writeFile(`${process.env["PAGE_PICTURES"]}/firefox.png`, await firefox.picture());
    }
    expect(firefox.faults).toEqual([]);
  } finally {
    await firefox.stop();
  }
});
