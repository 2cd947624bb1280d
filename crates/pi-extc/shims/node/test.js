// node:test. Tests of an extension run outside of it.
export default { [Symbol.for("pi.remedy")]: "run tests with a test runner, not inside pi" };
