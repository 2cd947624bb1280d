/** What a tool has written so far, put together from updates that tell each piece once. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { outputSoFar } from "pi-client";

const whole = (text) => ({ content: [{ type: "text", text }] });
const update = (partialResult, more = {}) => ({ type: "tool_execution_update", toolCallId: "c", toolName: "bash", partialResult, ...more });

test("an update without delta is the output so far", () => {
  assert.deepEqual(outputSoFar(whole("old"), update(whole("new"))), whole("new"));
});

test("a delta is added, and what was dropped is counted in code points", () => {
  const nothing = { content: [], details: { truncation: {} } };
  const first = outputSoFar(whole("a\u{1F600}b"), update(nothing, { delta: "c" }));
  assert.deepEqual(first, { ...whole("a\u{1F600}bc"), details: { truncation: {} } });
  assert.deepEqual(outputSoFar(first, update({ content: [] }, { delta: "d", dropped: 2 })), whole("bcd"));
  assert.deepEqual(outputSoFar(undefined, update({ content: [] }, { delta: "d", dropped: 2 })), whole("d"));
});
