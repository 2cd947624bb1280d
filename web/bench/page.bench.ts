/**
 * How fast the page is, in a real browser against the real server. Each figure is printed as `metric NAME NUMBER UNIT`.
 *
 * Times are taken in the page, from the event that a person causes to the frame that shows its effect.
 */
import type { Page } from "@playwright/test";
import { storeLong } from "../tests/support/long";
import { expect, test } from "../tests/support/page";
import { burst, SHAPES } from "../tests/support/shapes";

const ROUNDS = Number(process.env["PAGE_BENCH_ROUNDS"] ?? 5);
const MESSAGES = 10_000;
const DELTAS = 5000;
const KEYS = 120;

function print(name: string, number: number, unit: "ns" | "KiB"): void {
  console.log(`\nmetric ${name} ${number} ${unit}`);
}

const nanoseconds = (milliseconds: number) => Math.round(milliseconds * 1e6);

function part(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Notes long tasks from now on; the answer is the longest, in milliseconds, and 0 if there was none. */
async function watchTasks(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const watch = { longest: 0, observer: undefined as PerformanceObserver | undefined };
    const note = (entries: PerformanceEntryList) => {
      for (const entry of entries) {
        watch.longest = Math.max(watch.longest, entry.duration);
      }
    };
    watch.observer = new PerformanceObserver((list) => note(list.getEntries()));
    watch.observer.observe({ type: "longtask" });
    Object.assign(window, {
      longestTask: () => {
        note(watch.observer?.takeRecords() ?? []);
        watch.observer?.disconnect();
        return watch.longest;
      },
    });
  });
  return () => page.evaluate(() => (window as unknown as { longestTask: () => number }).longestTask());
}

test("first load", async ({ page, desk }) => {
  const paints: number[] = [];
  let bytes = 0;
  await desk.enter(page);
  for (let round = 0; round < ROUNDS; round += 1) {
    // Nothing is kept from the last time, and the model is away.
    const protocol = await page.context().newCDPSession(page);
    await protocol.send("Network.clearBrowserCache");
    await page.goto("about:blank");
    await page.goto(`${desk.server.origin}/`);
    await expect(page.locator("[data-link=live]:visible").first()).toBeVisible();
    const seen = await page.evaluate(async () => {
      // The browser tells of a paint after it has shown it: the page can be live before.
      const paint = await new Promise<number>((resolve) => {
        const observer = new PerformanceObserver((list) => {
          const [entry] = list.getEntriesByName("first-contentful-paint");
          if (entry !== undefined) {
            observer.disconnect();
            resolve(entry.startTime);
          }
        });
        observer.observe({ type: "paint", buffered: true });
      });
      const loaded = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")] as PerformanceResourceTiming[];
      return {
        bytes: loaded.reduce((sum, entry) => sum + entry.encodedBodySize, 0),
        paint,
      };
    });
    bytes = seen.bytes;
    paints.push(seen.paint);
  }
  expect(bytes).toBeGreaterThan(10_000);
  print("first_load", bytes / 1024, "KiB");
  print("first_paint", nanoseconds(part(paints, 0.5)), "ns");
});

/** From the press on the line of a stored session to the frame in which its last message is seen. */
async function open(page: Page): Promise<number> {
  const line = page.locator("[data-session][data-state=stored]").filter({ hasText: "Question number 1" });
  await expect(line).toBeVisible();
  await page.evaluate((last) => {
    const shown = new Promise<number>((resolve) => {
      addEventListener(
        "click",
        (event) => {
          const look = () => {
            const found = [...document.querySelectorAll("[data-role=assistant]")].some((node) => node.textContent?.includes(last) && node.getBoundingClientRect().top < innerHeight);
            // The frame that has it is drawn after this callback, and the one after that begins when it is.
            requestAnimationFrame(found ? () => resolve(performance.now() - event.timeStamp) : look);
          };
          requestAnimationFrame(look);
        },
        { capture: true, once: true },
      );
    });
    Object.assign(window, { shown });
  }, `Answer number ${MESSAGES}`);
  await line.locator(".open").click();
  return page.evaluate(() => (window as unknown as { shown: Promise<number> }).shown);
}

test("a session of many messages", async ({ page, desk }) => {
  await storeLong(desk.server, MESSAGES);
  await desk.enter(page);
  const times: number[] = [];
  let longest = 0;
  let longestScrolled = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const tasks = await watchTasks(page);
    times.push(await open(page));
    longest = Math.max(longest, await tasks());
    longestScrolled = Math.max(longestScrolled, await scroll(page));
    await desk.turn(page, "/close");
    await expect(page).toHaveURL(/#\/$/);
  }
  print("open_10000_messages", nanoseconds(part(times, 0.5)), "ns");
  print("longest_task_at_opening", nanoseconds(longest), "ns");
  print("longest_task_in_scrolling", nanoseconds(longestScrolled), "ns");
});

/** Scrolls up as a person does who looks for something, through several readings of what stands above. The answer is the longest task. */
async function scroll(page: Page): Promise<number> {
  await page.locator(".scroller").hover();
  const tasks = await watchTasks(page);
  for (let turn = 0; turn < 80; turn += 1) {
    await page.mouse.wheel(0, -1500);
    await page.waitForTimeout(40);
  }
  return tasks();
}

/**
 * Types into the editor, which has the focus, and returns what passed from each key to the frame that shows it. No role is looked for
 * meanwhile: in a large page that takes longer than what is measured.
 */
async function type(page: Page, count: number): Promise<number[]> {
  const editor = page.locator("textarea");
  await editor.evaluate((area) => {
    const typed: number[] = [];
    Object.assign(window, { typed });
    let pressed = 0;
    area.addEventListener("keydown", (event) => (pressed = event.timeStamp), { capture: true });
    area.addEventListener("input", () => {
      const since = pressed;
      requestAnimationFrame(() => {
        // A message comes after the frame was handed over.
        const channel = new MessageChannel();
        channel.port1.onmessage = () => typed.push(performance.now() - since);
        channel.port2.postMessage(undefined);
      });
    });
  });
  await page.keyboard.type("x".repeat(count), { delay: 25 });
  await expect(editor).toHaveValue("x".repeat(count));
  await expect.poll(() => page.evaluate(() => (window as unknown as { typed: number[] }).typed.length)).toBe(count);
  return page.evaluate(() => (window as unknown as { typed: number[] }).typed);
}

test("a burst of deltas", async ({ page, desk }) => {
  const pieces = Array.from({ length: DELTAS }, (_, index) => (index % 40 === 39 ? "word.\n\n" : "word "));
  // Once as fast as it goes, and once for as long as somebody types.
  desk.model.says({ text: ["Begin. ", ...pieces] }, { text: ["Once more. ", ...pieces], pauseMs: 0 });
  await desk.enter(page);
  await desk.begin(page);
  const tasks = await watchTasks(page);
  await desk.say(page, "Burst");
  await desk.settled(page);
  await desk.say(page, "Again");
  await expect(page.getByText("Once more.")).toBeVisible();
  const typed = await type(page, KEYS);
  const isWorking = await page.getByRole("button", { name: "Steer now" }).isVisible();
  await desk.editor(page).fill("");
  await desk.settled(page);
  await expect(page.locator("[data-role=assistant]").last().locator("p").last()).toHaveText(/word\.$/);
  expect(isWorking, "the burst was over before the typing was").toBe(true);
  print("typing_in_a_burst_p95", nanoseconds(part(typed, 0.95)), "ns");
  print("longest_task_in_a_burst", nanoseconds(await tasks()), "ns");
});

for (const [name, text] of Object.entries(SHAPES)) {
  test(`a burst of deltas in one open block: ${name}`, async ({ page, desk }) => {
    desk.model.says({ text: burst(text, DELTAS), pauseMs: 2 });
    await desk.enter(page);
    await desk.begin(page);
    const tasks = await watchTasks(page);
    await desk.say(page, "Burst");
    const answer = page.locator("[data-role=assistant] .prose");
    await expect.poll(() => answer.evaluate((node) => node.textContent?.length ?? 0).catch(() => 0)).toBeGreaterThan(text.length / 3);
    const typed = await type(page, KEYS);
    const isWorking = await page.locator("[data-busy=true]").isVisible();
    await expect(page.locator("[data-busy=false]")).toBeAttached({ timeout: 60_000 });
    const longest = await tasks();
    expect(isWorking, "the burst was over before the typing was").toBe(true);
    print(`typing_in_a_${name}_p95`, nanoseconds(part(typed, 0.95)), "ns");
    print(`longest_task_in_a_${name}`, nanoseconds(longest), "ns");
  });
}
