import { sessionFile } from "./support/long";
import { expect, test } from "./support/page";

const PAYLOADS = [
  "<script>window.hacked = 1</script>",
  "<img src=x onerror='window.hacked = 1'>",
  "<svg onload='window.hacked = 1'><script>window.hacked = 1</script></svg>",
  "[click](javascript:window.hacked=1) ![x](javascript:window.hacked=1) [d](data:text/html,<script>window.hacked=1</script>)",
  "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
  "![pixel](https://evil.example/track.png) <img src=https://evil.example/x.png>",
  "```html\n<script>window.hacked = 1</script>\n```",
  "| <b onmouseover=window.hacked=1>x</b> | y |\n|---|---|\n| <a href='javascript:1'>z</a> | w |",
  "\u202Egnp.exe\u202C \u0000\u001b[31mred\u001b[0m {{constructor.constructor('window.hacked=1')()}}",
];

test("nothing that a model, a tool, a file or a person wrote is run", async ({ page, desk }) => {
  const name = "<img src=x onerror=window.hacked=1>.txt";
  await desk.server.write(`project/${name}`, PAYLOADS.join("\n"));
  desk.model.says(
    { thinking: PAYLOADS[1] ?? "", text: PAYLOADS.join("\n\n"), calls: [{ name: "bash", arguments: { command: `cat *.txt; echo \u202e/dev/null; echo '${(PAYLOADS[2] ?? "").replaceAll("'", "")}'` } }] },
    { calls: [{ name: "<script>x</script>", arguments: { "<b>": "<i>" } }] },
    { text: "Done." },
  );
  await desk.enter(page);
  await desk.begin(page);
  // A person's message has no control characters; the server would refuse it.
  await desk.say(page, PAYLOADS.join("\n").replace(/[\u0000\u001b]/g, ""));
  await desk.settled(page);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Alt+o");
  await page.keyboard.press("Alt+t");
  await expect(page.locator("[data-tool=bash] .target")).toHaveAttribute("title", /echo \\u\{202e\}\/dev\/null/);
  await expect(page.locator("[data-tool=bash] pre").first()).toContainText("<script>window.hacked = 1</script>");
  await desk.editor(page).pressSequentially("@img");
  await expect(page.getByRole("option").first()).toContainText("onerror");
  await page.keyboard.press("Escape");
  await desk.editor(page).fill("");
  await page.getByRole("heading", { level: 1 }).getByRole("button").click();
  await page.getByRole("textbox", { name: "Name the session" }).fill("<img src=x onerror=window.hacked=1>");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("<img src=x onerror=window.hacked=1>");
  expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked)).toBeUndefined();
  expect(await page.locator("main script, main iframe, main img[src*=evil], main a[href^=javascript], main a[href^=data]").count()).toBe(0);
});

test("a giant answer and a deeply nested one leave the page alive", async ({ page, desk }) => {
  desk.model.says({ text: "x".repeat(2_000_000) }, { text: `${"> ".repeat(3000)}deep\n\n${"- ".repeat(3000)}deep` }, { text: "Still here." });
  await desk.enter(page);
  await desk.begin(page);
  for (const words of ["giant", "deep", "alive?"]) {
    await desk.say(page, words);
    await desk.settled(page);
  }
  await expect(page.getByText("Still here.")).toBeVisible();
});

test("marks in marks without an end are shown as they were written, and after a reload too", async ({ page, desk }) => {
  desk.model.says({ text: `${"[a ".repeat(500)}LINK${"](https://x.org)".repeat(500)}` }, { text: `${"*".repeat(500)}TITLE${"*".repeat(500)}` }, { text: "Still here." });
  await desk.enter(page);
  await desk.begin(page);
  for (const words of ["links", "stars", "alive?"]) {
    await desk.say(page, words);
    await desk.settled(page);
  }
  await expect(page.getByText("Still here.")).toBeVisible();
  await page.reload();
  await expect(page.getByText("Still here.")).toBeVisible();
  await expect(page.getByText("TITLE")).toBeVisible();
  await expect(page.locator("[data-undrawn]")).toHaveCount(0);
});

test("a message that cannot be drawn is shown as it was written, and the others are drawn", async ({ page, desk }) => {
  desk.allow(/./);
  const id = "11111111-2222-7333-8444-777777777777";
  const timestamp = "2026-11-15T10:00:00.000Z";
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  const said = { role: "assistant", provider: "openai", model: "scripted", api: "openai-completions", usage, stopReason: "stop", timestamp: 1 };
  const lines = [
    { type: "session", version: 3, id, timestamp, cwd: `${desk.server.folder}/project` },
    { type: "message", id: "a", parentId: null, timestamp, message: { role: "user", content: "Say something", timestamp: 1 } },
    { type: "message", id: "b", parentId: "a", timestamp, message: { ...said, content: [{ type: "text", text: "The odd one" }] } },
    { type: "message", id: "c", parentId: "b", timestamp, message: { ...said, content: [{ type: "text", text: "The good one" }] } },
  ];
  await desk.server.write(sessionFile(desk.server, `2026-11-15T10-00-00-000Z_${id}`), `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  // A server that leaves out what every answer has.
  await page.routeWebSocket(/\/ws/, (client) => {
    const server = client.connectToServer();
    const cut = (_: string, value: unknown) => {
      const isOdd = typeof value === "object" && value !== null && "usage" in value && "role" in value && JSON.stringify(value).includes("odd one");
      return isOdd ? { ...value, usage: { ...usage, cost: undefined } } : value;
    };
    server.onMessage((message) => client.send(JSON.stringify(JSON.parse(String(message), cut))));
  });
  await desk.enter(page);
  await page.locator("[data-session] .open").first().click();
  await expect(page.getByText("The good one")).toBeVisible();
  await expect(page.locator("[data-undrawn]")).toContainText("The odd one");
  await expect(page.locator("[data-role=user]")).toHaveText(/Say something/);
});

test("the policy of the page stops what gets past everything else", async ({ page, desk }) => {
  desk.allow(/Content Security Policy|TrustedHTML|violates|Refused|Trusted/i);
  await desk.enter(page);
  const outcome = await page.evaluate(async () => {
    const tried: Record<string, string> = {};
    const script = document.createElement("div");
    try {
      script.innerHTML = "<img src=x onerror='window.hacked=1'>";
      document.body.append(script);
      tried["markup"] = "taken";
    } catch {
      tried["markup"] = "refused";
    }
    tried["elsewhere"] = await fetch("https://evil.example/").then(
      () => "taken",
      () => "refused",
    );
    return tried;
  });
  expect(outcome).toEqual({ markup: "refused", elsewhere: "refused" });
  const headers = (await fetch(`${desk.server.origin}/`)).headers;
  expect(headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
});

test("a session whose numbers are nonsense is shown, and none of them is told as a fact", async ({ page, desk }) => {
  const id = "11111111-2222-7333-8444-666666666666";
  const stamp = "2026-11-15T10:00:00.000Z";
  let parentId: string | null = null;
  const entry = (type: string, members: object) => {
    const line = { type, id: `${type}-${Math.random()}`, parentId, timestamp: stamp, ...members };
    parentId = line.id;
    return line;
  };
  const said = (content: string, timestamp: number) => entry("message", { message: { role: "user", content, timestamp } });
  const lines = [
    { type: "session", version: 3, id, timestamp: stamp, cwd: `${desk.server.folder}/project` },
    said("At the beginning of all times", 0),
    said("At the end of all times", Number.MAX_SAFE_INTEGER),
    entry("compaction", { summary: "What was said.", firstKeptEntryId: "nobody", tokensBefore: 0 }),
    said("Long after the end", 8_640_000_000_000_001),
    said("Last year", Date.parse("2025-03-01T10:00:00.000Z")),
  ];
  await desk.server.write(sessionFile(desk.server, `2026-11-15T10-00-00-000Z_${id}`), `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  await desk.enter(page);
  await page.locator("[data-session] .open").first().click();
  await expect(page.locator("[data-role=user]").filter({ hasText: "Last year" }).locator("time")).toContainText("2025");
  await expect(page.locator("[data-role=user]")).toHaveText([/beginning of all/, /At the end/, /Long after/, /Last year/]);
  await expect(page.locator("[data-role=user] time")).toHaveCount(1);
  await expect(page.locator("[data-role=compactionSummary] summary")).toHaveText("Earlier messages, summarised");
  await expect(page.locator("body")).not.toContainText(/Invalid Date|NaN|1970/);
});
