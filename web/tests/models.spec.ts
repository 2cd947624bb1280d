/** Which models can be asked, what they cost, and what others need. */
import { expect, test } from "./support/page";

test("a model without a key is listed with the variable that it needs", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/model");
  const dialog = page.getByRole("dialog", { name: "Model" });
  await expect(dialog.getByRole("option").filter({ hasText: "scripted" })).toContainText("no price known");
  await dialog.getByRole("combobox").fill("claude anthropic");
  const claude = dialog.getByRole("option").first();
  await expect(claude).toContainText("anthropic · needs ANTHROPIC_API_KEY");
  await claude.click();
  await expect(page.locator(".notice.warning")).toContainText("the server has no ANTHROPIC_API_KEY");
  await expect(page.locator("[data-model]")).toHaveAttribute("data-model", "scripted");
});

test.describe("the model that comes with pi", () => {
  test.use({ model: "demo" });

  test("is free, and so is what it answers", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "hello");
    await desk.settled(page);
    await expect(page.locator(".cost")).toHaveText("free");
    await desk.say(page, "/model");
    await expect(page.getByRole("dialog", { name: "Model" }).getByRole("option").first()).toContainText("free");
  });
});
