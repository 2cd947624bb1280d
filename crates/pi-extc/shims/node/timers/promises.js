// node:timers/promises.
import * as timers from "pi:shim/node/timers";

const abortFault = (signal) => Object.assign(new Error("The operation was aborted", { cause: signal.reason }), { name: "AbortError", code: "ABORT_ERR" });

function later(start, stop, value, { signal, ref = true } = {}) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortFault(signal));
    const onAbort = () => { stop(timer); reject(abortFault(signal)); };
    const timer = start(() => { signal?.removeEventListener("abort", onAbort); resolve(value); });
    if (!ref) timer.unref();
    return signal?.addEventListener("abort", onAbort, { once: true });
  });
}

export const setTimeout = (ms, value, options) => later((done) => timers.setTimeout(done, ms), timers.clearTimeout, value, options);
export const setImmediate = (value, options) => later((done) => timers.setImmediate(done), timers.clearImmediate, value, options);

export async function* setInterval(ms, value, options) {
  for (;;) yield await setTimeout(ms, value, options);
}

export const scheduler = { wait: (ms, options) => setTimeout(ms, undefined, options), yield: () => setImmediate() };
export default { setTimeout, setImmediate, setInterval, scheduler };
