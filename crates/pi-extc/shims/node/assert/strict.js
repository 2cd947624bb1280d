// node:assert/strict.
import { strict } from "pi:shim/node/assert";

export const { AssertionError, ok, fail, ifError, throws, rejects, doesNotThrow, doesNotReject, match, doesNotMatch, equal, notEqual, deepEqual, notDeepEqual, strictEqual, notStrictEqual, deepStrictEqual, notDeepStrictEqual } = strict;
export { strict };
export default strict;
