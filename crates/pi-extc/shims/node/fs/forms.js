// The three forms of every file function: synchronous, with a callback, and as a promise.
import host from "pi:host";

/** Runs the steps of an operation to their end at once. */
export function runSync(steps) {
  let turn = steps.next();
  while (!turn.done) {
    let output;
    try {
      output = host.callSync("fs", turn.value);
    } catch (fault) {
      turn = steps.throw(fault);
      continue;
    }
    turn = steps.next(output);
  }
  return turn.value;
}

export async function run(steps) {
  let turn = steps.next();
  while (!turn.done) {
    let output;
    try {
      output = await host.call("fs", turn.value);
    } catch (fault) {
      turn = steps.throw(fault);
      continue;
    }
    turn = steps.next(output);
  }
  return turn.value;
}

const named = (name, method) => Object.defineProperty(method, "name", { value: name });

export const syncForm = (name, operation) => named(name, (...args) => runSync(operation(...args)));
export const promiseForm = (name, operation) => named(name, async (...args) => run(operation(...args)));

/** The callback is the last argument; without one it is a mistake of the caller, as in Node. */
export function callbackForm(name, operation, spread = (value) => (value === undefined ? [] : [value])) {
  return named(name, (...args) => {
    const at = args.findLastIndex((arg) => typeof arg === "function");
    if (at < 0) throw Object.assign(new TypeError('The "cb" argument must be of type function. Received undefined'), { code: "ERR_INVALID_ARG_TYPE" });
    const callback = args[at];
    run(operation(...args.slice(0, at))).then(
      (value) => host.immediate(() => callback(null, ...spread(value))),
      (fault) => host.immediate(() => callback(fault)),
    );
  });
}
