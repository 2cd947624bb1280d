// node:timers: Timeout objects over the host's timers. `unref` lets the guest go idle, as it lets Node end.
import host from "pi:host";

const DISPOSE = Symbol.dispose ?? Symbol.for("Symbol.dispose");
const byId = new Map();

class Timeout {
  #id;
  #isRef = true;
  #start;
  constructor(start) {
    this.#start = start;
    this.#arm();
  }
  #arm() {
    this.#id = this.#start(() => { byId.delete(this.#id); this.#id = undefined; });
    byId.set(this.#id, this);
    if (!this.#isRef) host.refTimer(this.#id, false);
  }
  ref() { return this.#setRef(true); }
  unref() { return this.#setRef(false); }
  hasRef() { return this.#isRef; }
  #setRef(isRef) {
    this.#isRef = isRef;
    if (this.#id !== undefined) host.refTimer(this.#id, isRef);
    return this;
  }
  refresh() {
    this.close();
    this.#arm();
    return this;
  }
  close() {
    if (this.#id === undefined) return this;
    host.clearTimer(this.#id);
    byId.delete(this.#id);
    this.#id = undefined;
    return this;
  }
  [Symbol.toPrimitive]() { return this.#id ?? 0; }
  [DISPOSE]() { this.close(); }
}

class Immediate extends Timeout {}

function demandCallback(callback) {
  if (typeof callback === "function") return;
  const shown = callback === undefined || callback === null ? `${callback}` : `type ${typeof callback}`;
  throw Object.assign(new TypeError(`The "callback" argument must be of type function. Received ${shown}`), { code: "ERR_INVALID_ARG_TYPE" });
}

const delayOf = (ms) => (ms >= 1 && ms <= 2147483647 ? Math.trunc(ms) : 1);

export function setTimeout(callback, ms, ...args) {
  demandCallback(callback);
  return new Timeout((ended) => host.setTimer(() => { ended(); callback(...args); }, delayOf(ms), false));
}

export function setInterval(callback, ms, ...args) {
  demandCallback(callback);
  return new Timeout(() => host.setTimer(() => callback(...args), delayOf(ms), true));
}

export function setImmediate(callback, ...args) {
  demandCallback(callback);
  return new Immediate((ended) => host.immediate(() => { ended(); callback(...args); }));
}

/** Takes what the setters gave, also as a number. */
export function clearTimeout(timer) {
  if (timer instanceof Timeout) timer.close();
  else if (typeof timer === "number" || typeof timer === "string") byId.get(+timer)?.close();
}
export const clearInterval = clearTimeout;
export const clearImmediate = clearTimeout;

setTimeout[Symbol.for("nodejs.util.promisify.custom")] = (ms, value, options) => host.load("pi:shim/node/timers/promises").setTimeout(ms, value, options);
setImmediate[Symbol.for("nodejs.util.promisify.custom")] = (value, options) => host.load("pi:shim/node/timers/promises").setImmediate(value, options);

export default {
  setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate,
  get promises() { return host.load("pi:shim/node/timers/promises").default; },
};
