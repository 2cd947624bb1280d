// Runs the extension as pi does. `node --test` in this folder, with any Node from 18 on; PI names the program, if it is
// not `pi`.
import assert from "node:assert";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

const pi = (...words) => JSON.parse(execFileSync(process.env.PI ?? "pi", ["ext", ...words], { encoding: "utf8" }));

/** What the model reads when it calls the tool. */
const answer = (input) => pi("run-tool", ".", "hello", JSON.stringify(input)).content;

/** What `/hello` shows. */
const shown = (args) => pi("run-command", ".", "hello", args).actions.map(({ announcement }) => announcement.message);

test("it registers the tool and the command", () => {
  const { tools, commands } = pi("inspect", ".", "--json");
  assert.deepStrictEqual(tools.map(({ name }) => name), ["hello"]);
  assert.deepStrictEqual(commands, [{ name: "hello", description: "Greet somebody" }]);
});

test("the tool greets by name, and the world without one", () => {
  assert.deepStrictEqual(answer({ name: " Ada " }), [{ type: "text", text: "Hello, Ada!" }]);
  assert.deepStrictEqual(answer({ name: "" }), [{ type: "text", text: "Hello, world!" }]);
});

test("the command does the same", () => {
  assert.deepStrictEqual(shown(" Ada "), ["Hello, Ada!"]);
  assert.deepStrictEqual(shown(""), ["Hello, world!"]);
});
