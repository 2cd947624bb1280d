// Deep equality: loose as `assert.deepEqual`, strict as `util.isDeepStrictEqual`.

const isObject = (value) => typeof value === "object" && value !== null;
const tag = (value) => Object.prototype.toString.call(value);

export const isDeepStrictEqual = (one, other) => isEqual(one, other, true);

export function isEqual(one, other, isStrict, seen = []) {
  if (Object.is(one, other)) return true;
  if (!isObject(one) || !isObject(other)) {
    if (isObject(one) !== isObject(other) || isStrict) return false;
    // Loose: NaN was handled above, zeros are equal.
    // eslint-disable-next-line eqeqeq
    return one == other;
  }
  if (tag(one) !== tag(other)) return false;
  if (isStrict && Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  if (seen.some(([a, b]) => a === one && b === other)) return true;
  const below = [...seen, [one, other]];
  return sameInside(one, other, isStrict, below) && sameMembers(one, other, isStrict, below);
}

function sameInside(one, other, isStrict, seen) {
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  if (Array.isArray(one) || ArrayBuffer.isView(one)) {
    if (one.length !== other.length || one.byteLength !== other.byteLength) return false;
  }
  if (one instanceof Date) return Object.is(one.getTime(), other.getTime());
  if (one instanceof RegExp) return String(one) === String(other) && one.lastIndex === other.lastIndex;
  if (one instanceof Error) return one.name === other.name && one.message === other.message && isEqual(one.cause, other.cause, isStrict, seen);
  if (one instanceof Map) return sameEntries(one, other, isStrict, seen);
  if (one instanceof Set) return sameEntries(one, other, isStrict, seen);
  if (one instanceof ArrayBuffer) return isEqual(new Uint8Array(one), new Uint8Array(other), isStrict, seen);
  if (/^\[object (Number|String|Boolean|BigInt|Symbol)\]$/.test(tag(one))) return Object.is(one.valueOf(), other.valueOf());
  return true;
}

function sameEntries(one, other, isStrict, seen) {
  if (one.size !== other.size) return false;
  const left = [...other];
  for (const entry of one) {
    const at = left.findIndex((candidate) => isEqual(entry, candidate, isStrict, seen));
    if (at < 0) return false;
    left.splice(at, 1);
  }
  return true;
}

function sameMembers(one, other, isStrict, seen) {
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  if (!keys.every((key) => Object.hasOwn(other, key) && isEqual(one[key], other[key], isStrict, seen))) return false;
  if (!isStrict) return true;
  const symbols = (value) => Object.getOwnPropertySymbols(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
  const own = symbols(one);
  return own.length === symbols(other).length && own.every((key) => isEqual(one[key], other[key], isStrict, seen));
}
