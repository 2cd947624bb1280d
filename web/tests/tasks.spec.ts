/** Lists of tasks in what a model says. */
import { expect, test } from "./support/page";

test("a list in a task stands below the words of the task", async ({ page, desk }) => {
  desk.model.says({ text: "- [ ] outer task\n  - inner point\n    1. innermost\n- [x] done\n      - [ ] inner task\n        and its words\n- plain" });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "What is to do?");
  await desk.settled(page);
  const left = (words: string) =>
    page.getByText(words, { exact: true }).evaluate((element) => {
      const range = document.createRange();
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      range.selectNode(walker.nextNode() ?? element);
      return range.getBoundingClientRect().left;
    });
  const [outer, inner, innermost, task, plain] = [await left("outer task"), await left("inner point"), await left("innermost"), await left("inner task and its words"), await left("plain")];
  expect(inner).toBeGreaterThan(outer + 10);
  expect(innermost).toBeGreaterThan(inner + 10);
  expect(Math.abs(task - inner)).toBeLessThan(4);
  expect(Math.abs(plain - outer)).toBeLessThan(4);
  await expect(page.getByRole("checkbox")).toHaveCount(3);
});
