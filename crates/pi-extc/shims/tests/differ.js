// One way to compare: the same calls on ours and on theirs, value or error, as text.
import assert from "node:assert/strict";
import test from "node:test";
import util from "node:util";

const plain = (value) => util.inspect(value, { depth: 8, breakLength: Infinity, sorted: false }).replace(/^\[Object: null prototype\] /, "");
const outcome = (act) => {
  try {
    return plain(act());
  } catch (fault) {
    return `throws ${fault.name} ${fault.code ?? ""} ${fault.message}`;
  }
};

/**
 * Compares on a table of inputs.
 * @param {(subject: any, ...input: any[]) => unknown} act
 */
export function same(name, ours, theirs, inputs, act) {
  test(name, () => {
    const wrong = [];
    for (const input of inputs) {
      const [one, other] = [outcome(() => act(ours, ...input)), outcome(() => act(theirs, ...input))];
      if (one !== other) wrong.push(`${util.inspect(input)}\n  ours   ${one}\n  theirs ${other}`);
    }
    assert.equal(wrong.length, 0, `${wrong.length} of ${inputs.length} differ:\n${wrong.join("\n")}`);
  });
}
