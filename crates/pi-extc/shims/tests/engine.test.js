import assert from "node:assert/strict";
import test from "node:test";
import { check } from "./engine.js";
import { globSync } from "./files.js";

const result = await check();
test("every shim loads and works on the engine itself", { skip: result ? false : "QuickJS-NG is not installed in PI_SHIMS_REFERENCE" }, () => {
  assert.equal(result.count, globSync().length - 1);
  assert.deepEqual(result.seen, [
    "6162", "http://a.b/x?y=1", "/home/u", "/work", "1,234.5", 1, "function", 1, "hello", false, "ENOENT: no such file or directory, open 'no'", '{"type":"object","properties":{"a":{"type":"string"}}}', true, "hi  ", true, 1, true,
    "function", '"a" of "lost" is ', "said { a: 1 }\n",
  ]);
});
