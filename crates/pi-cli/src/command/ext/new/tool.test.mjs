// Runs the extension as pi does. `node --test` in this folder, with any Node from 18 on; PI names the program, if it is
// not `pi`.
import assert from "node:assert";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

const pi = (...words) => JSON.parse(execFileSync(process.env.PI ?? "pi", ["ext", ...words], { encoding: "utf8" }));

/** What the model reads when it calls the tool. */
const answer = (input) => pi("run-tool", ".", "hello", JSON.stringify(input)).content;

test("it registers the tool", () => {
  assert.deepStrictEqual(pi("inspect", ".", "--json").tools.map(({ name }) => name), ["hello"]);
});

test("a name is greeted, and the world without one", () => {
  assert.deepStrictEqual(answer({ name: " Ada " }), [{ type: "text", text: "Hello, Ada!" }]);
  assert.deepStrictEqual(answer({ name: "" }), [{ type: "text", text: "Hello, world!" }]);
});
