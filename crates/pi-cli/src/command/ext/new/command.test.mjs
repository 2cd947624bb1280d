// Runs the extension as pi does. `node --test` in this folder, with any Node from 18 on; PI names the program, if it is
// not `pi`.
import assert from "node:assert";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

const pi = (...words) => JSON.parse(execFileSync(process.env.PI ?? "pi", ["ext", ...words], { encoding: "utf8" }));

/** What `/hello` shows. */
const shown = (args) => pi("run-command", ".", "hello", args).actions.map(({ announcement }) => announcement.message);

test("it registers the command", () => {
  assert.deepStrictEqual(pi("inspect", ".", "--json").commands, [{ name: "hello", description: "Greet somebody" }]);
});

test("a name is greeted, and the world without one", () => {
  assert.deepStrictEqual(shown(" Ada "), ["Hello, Ada!"]);
  assert.deepStrictEqual(shown(""), ["Hello, world!"]);
});
