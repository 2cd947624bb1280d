// node:assert. Messages name both values; they do not draw the difference line by line as Node does.
import { isEqual } from "pi:shim/node/util/equal";
import { inspect } from "pi:shim/node/util/inspect";

export class AssertionError extends Error {
  constructor({ message, actual, expected, operator } = {}) {
    super(message ?? `${inspect(actual)} ${operator} ${inspect(expected)}`);
    Object.assign(this, { name: "AssertionError", code: "ERR_ASSERTION", generatedMessage: message === undefined, actual, expected, operator });
  }
}

function fail_(message, fallback, details) {
  if (message instanceof Error) throw message;
  const fault = new AssertionError({ ...details, message: message ?? fallback });
  fault.generatedMessage = message === undefined;
  throw fault;
}

const check = (holds, operator, words) => (actual, expected, message) => {
  if (!holds(actual, expected)) fail_(message, `${words}\n\n${inspect(actual)}\n\nshould ${operator}\n\n${inspect(expected)}`, { actual, expected, operator });
};

export function ok(value, message) {
  if (!value) fail_(message, arguments.length === 0 ? "No value argument passed to `assert.ok()`" : `The expression evaluated to a falsy value: ${inspect(value)}`, { actual: value, expected: true, operator: "==" });
}
function assert(value, message) { ok(value, message); }

// eslint-disable-next-line eqeqeq
export const equal = check((a, b) => a == b || (Number.isNaN(a) && Number.isNaN(b)), "==", "Expected values to be loosely equal:");
// eslint-disable-next-line eqeqeq
export const notEqual = check((a, b) => a != b, "!=", "Expected values to be loosely unequal:");
export const strictEqual = check(Object.is, "strictEqual", "Expected values to be strictly equal:");
export const notStrictEqual = check((a, b) => !Object.is(a, b), "notStrictEqual", 'Expected "actual" to be strictly unequal to:');
export const deepEqual = check((a, b) => isEqual(a, b, false), "deepEqual", "Expected values to be loosely deep-equal:");
export const notDeepEqual = check((a, b) => !isEqual(a, b, false), "notDeepEqual", "Expected values not to be loosely deep-equal:");
export const deepStrictEqual = check((a, b) => isEqual(a, b, true), "deepStrictEqual", "Expected values to be strictly deep-equal:");
export const notDeepStrictEqual = check((a, b) => !isEqual(a, b, true), "notDeepStrictEqual", "Expected values not to be strictly deep-equal:");
export const match = check((text, pattern) => typeof text === "string" && pattern.test(text), "match", "The input did not match the regular expression:");
export const doesNotMatch = check((text, pattern) => !pattern.test(text), "doesNotMatch", "The input was expected to not match the regular expression:");

export function fail(message = "Failed") {
  if (message instanceof Error) throw message;
  throw new AssertionError({ message, operator: "fail" });
}
export function ifError(value) {
  if (value !== null && value !== undefined) throw value instanceof Error ? value : new AssertionError({ message: `ifError got unwanted exception: ${inspect(value)}`, actual: value, expected: null, operator: "ifError" });
}

function fits(fault, expected) {
  if (expected === undefined) return true;
  if (expected instanceof RegExp) return expected.test(String(fault));
  if (typeof expected === "function") {
    if (expected.prototype !== undefined && fault instanceof expected) return true;
    if (Error.isPrototypeOf(expected)) return false;
    return expected.call({}, fault) === true;
  }
  return Object.entries(expected).every(([key, value]) => (value instanceof RegExp && typeof fault[key] === "string" ? value.test(fault[key]) : isEqual(fault[key], value, true)));
}

function judge(caught, expected, message, operator) {
  if (typeof expected === "string") [message, expected] = [expected, undefined];
  if (!caught) fail_(message, `Missing expected ${operator === "rejects" ? "rejection" : "exception"}.`, { operator, expected });
  if (!fits(caught.fault, expected)) {
    if (typeof expected === "function" && Error.isPrototypeOf(expected)) throw caught.fault;
    fail_(message, `The error does not match what was expected:\n\n${inspect(caught.fault)}\n\n${inspect(expected)}`, { actual: caught.fault, expected, operator });
  }
}

export function throws(action, expected, message) {
  let caught;
  try {
    action();
  } catch (fault) {
    caught = { fault };
  }
  judge(caught, expected, message, "throws");
}
export async function rejects(action, expected, message) {
  let caught;
  try {
    await (typeof action === "function" ? action() : action);
  } catch (fault) {
    caught = { fault };
  }
  judge(caught, expected, message, "rejects");
}
export function doesNotThrow(action, message) {
  try {
    action();
  } catch (fault) {
    fail_(typeof message === "string" ? message : undefined, `Got unwanted exception.\nActual message: "${fault?.message}"`, { actual: fault, operator: "doesNotThrow" });
  }
}
export async function doesNotReject(action, message) {
  try {
    await (typeof action === "function" ? action() : action);
  } catch (fault) {
    fail_(typeof message === "string" ? message : undefined, `Got unwanted rejection.\nActual message: "${fault?.message}"`, { actual: fault, operator: "doesNotReject" });
  }
}

const common = { AssertionError, ok, fail, ifError, throws, rejects, doesNotThrow, doesNotReject, match, doesNotMatch, strictEqual, notStrictEqual, deepStrictEqual, notDeepStrictEqual };
export const strict = Object.assign((value, message) => ok(value, message), common, { equal: strictEqual, notEqual: notStrictEqual, deepEqual: deepStrictEqual, notDeepEqual: notDeepStrictEqual });
strict.strict = strict;
export default Object.assign(assert, common, { equal, notEqual, deepEqual, notDeepEqual, strict });
