/** The page of all commands, which is packed with the client: nothing is left out, and the server takes every example. */

import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { COMMANDS, PiError } from "pi-client";
import { connect } from "pi-client/node";
import { Server } from "./server.mjs";

/** @type {Server} */
let server;
/** @type {string} */
let page;
before(async () => {
  server = await Server.start();
  await mkdir(join(server.folder, "project"));
  const text = await readFile(new URL("../commands.md", import.meta.resolve("pi-client")), "utf8");
  page = text.replaceAll("/home/ada", server.folder); // Where the examples are at home.
});
after(() => server.stop());

/** Every command of the page: its title, what it does, its example. */
const sections = () =>
  [...page.matchAll(/^### (\w+)\n\n(.+)\n\n```json\n(.+)\n```$/gm)].map(([, name, sentence, example]) => ({
    name,
    sentence,
    example: JSON.parse(example),
  }));

test("every command has a sentence and an example, once", () => {
  assert.deepEqual(sections().map(({ name }) => name).sort(), Object.keys(COMMANDS).sort());
  for (const { name, example } of sections()) {
    assert.equal(example.type, name);
  }
});

test("additions name their feature", () => {
  for (const { name, sentence } of sections()) {
    const named = /Feature: `(\w+)`\.$/.exec(sentence)?.[1] ?? null;
    assert.equal(named, COMMANDS[name].feature, name);
  }
});

test("the server understands every example", async () => {
  const pi = await connect({ url: server.url, token: await server.token() });
  const misunderstood = [];
  for (const { name, example } of sections()) {
    try {
      await pi.request(example, { retries: 0 });
    } catch (error) {
      assert.ok(error instanceof PiError, String(error));
      if (["validation_failed", "unknown_command", "internal"].includes(error.code)) {
        misunderstood.push(`${name}: ${error.message}`);
      }
    }
  }
  assert.deepEqual(misunderstood, []);
  pi.close();
});
