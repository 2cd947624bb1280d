import assert from "node:assert";
import { test } from "node:test";
import extension, { greeting } from "./index.ts";

test("a name is greeted, and the world without one", () => {
  assert.strictEqual(greeting(" Ada "), "Hello, Ada!");
  assert.strictEqual(greeting(""), "Hello, world!");
});

test("/hello notifies", async () => {
  const commands: Record<string, any> = {};
  extension({ registerCommand: (name: string, command: any) => (commands[name] = command) } as any);
  const shown: string[] = [];
  await commands.hello.handler("Ada", { ui: { notify: (text: string) => shown.push(text) } });
  assert.deepStrictEqual(shown, ["Hello, Ada!"]);
});
