import assert from "node:assert";
import { test } from "node:test";
import extension, { greeting } from "./index.ts";

test("a name is greeted, and the world without one", () => {
  assert.strictEqual(greeting(" Ada "), "Hello, Ada!");
  assert.strictEqual(greeting(""), "Hello, world!");
});

test("the tool answers with the greeting", async () => {
  const tools: any[] = [];
  extension({ registerTool: (tool: any) => tools.push(tool) } as any);
  const result = await tools[0].execute("1", { name: "Ada" });
  assert.deepStrictEqual(result.content, [{ type: "text", text: "Hello, Ada!" }]);
});
