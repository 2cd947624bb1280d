// node:events. EventEmitter with the order and the errors of Node; no capture of domains, no asynchronous resources.
import host from "pi:host";

// Loaded when something is wrong: it is large.
const inspect = (value) => host.load("pi:shim/node/util/inspect").inspect(value);

const REJECTION = Symbol.for("nodejs.rejection");
const MONITOR = Symbol("events.errorMonitor");
let defaultMaxListeners = 10;

function demandListener(listener) {
  if (typeof listener === "function") return;
  const shown = listener === null || listener === undefined ? `${listener}` : typeof listener === "object" ? `an instance of ${listener.constructor?.name ?? "Object"}` : `type ${typeof listener} (${inspect(listener)})`;
  throw Object.assign(new TypeError(`The "listener" argument must be of type function. Received ${shown}`), { code: "ERR_INVALID_ARG_TYPE" });
}

export function EventEmitter(options) {
  EventEmitter.init.call(this, options);
}

EventEmitter.init = function (options) {
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
    this._events = Object.create(null);
    this._eventsCount = 0;
  }
  this._maxListeners ??= undefined;
  this._captures = options?.captureRejections ?? EventEmitter.captureRejections;
};

const listOf = (emitter, event) => {
  const found = emitter._events?.[event];
  return found === undefined ? [] : typeof found === "function" ? [found] : found;
};

function add(emitter, event, listener, isFirst) {
  demandListener(listener);
  if (emitter._events === undefined) EventEmitter.init.call(emitter);
  if (emitter._events.newListener !== undefined) emitter.emit("newListener", event, listener.listener ?? listener);
  const found = emitter._events[event];
  if (found === undefined) {
    emitter._events[event] = listener;
    emitter._eventsCount++;
    return emitter;
  }
  const list = typeof found === "function" ? [found] : found.slice();
  if (isFirst) list.unshift(listener);
  else list.push(listener);
  emitter._events[event] = list;
  return emitter;
}

function drop(emitter, event, list) {
  if (list.length > 0) emitter._events[event] = list.length === 1 ? list[0] : list;
  else if (emitter._events[event] !== undefined) {
    delete emitter._events[event];
    emitter._eventsCount--;
  }
}

function onceWrapper(emitter, event, listener) {
  demandListener(listener);
  let isDone = false;
  const wrapper = function (...args) {
    if (isDone) return undefined;
    isDone = true;
    emitter.removeListener(event, wrapper);
    return Reflect.apply(listener, emitter, args);
  };
  wrapper.listener = listener;
  return wrapper;
}

const methods = {
  emit(event, ...args) {
    const list = listOf(this, event);
    if (event === "error") {
      if (this._events?.[MONITOR] !== undefined) this.emit(MONITOR, ...args);
      if (list.length === 0) throw unhandled(args[0]);
    }
    if (list.length === 0) return false;
    for (const listener of list.slice()) {
      const result = Reflect.apply(listener, this, args);
      if (this._captures && typeof result?.then === "function") result.then(undefined, (fault) => this[REJECTION] ? this[REJECTION](fault, event, ...args) : this.emit("error", fault));
    }
    return true;
  },
  on(event, listener) { return add(this, event, listener, false); },
  prependListener(event, listener) { return add(this, event, listener, true); },
  once(event, listener) { return this.on(event, onceWrapper(this, event, listener)); },
  prependOnceListener(event, listener) { return this.prependListener(event, onceWrapper(this, event, listener)); },
  removeListener(event, listener) {
    demandListener(listener);
    const list = listOf(this, event);
    const at = list.findLastIndex((own) => own === listener || own.listener === listener);
    if (at < 0) return this;
    const [removed] = list.slice(at, at + 1);
    drop(this, event, list.toSpliced(at, 1));
    if (this._events.removeListener !== undefined) this.emit("removeListener", event, removed.listener ?? removed);
    return this;
  },
  removeAllListeners(event) {
    if (this._events === undefined) return this;
    const tells = this._events.removeListener !== undefined;
    const names = event !== undefined ? [event] : Reflect.ownKeys(this._events).filter((name) => name !== "removeListener");
    for (const name of names) {
      if (tells) for (const listener of listOf(this, name).slice().reverse()) this.removeListener(name, listener.listener ?? listener);
      drop(this, name, []);
    }
    if (event === undefined) EventEmitter.init.call(Object.assign(this, { _events: undefined }));
    return this;
  },
  listeners(event) { return listOf(this, event).map((listener) => listener.listener ?? listener); },
  rawListeners(event) { return listOf(this, event).slice(); },
  listenerCount(event, listener) {
    const list = listOf(this, event);
    return listener === undefined ? list.length : list.filter((own) => own === listener || own.listener === listener).length;
  },
  eventNames() { return this._events ? Reflect.ownKeys(this._events) : []; },
  setMaxListeners(count) {
    if (typeof count !== "number") throw Object.assign(new TypeError(`The "setMaxListeners" argument must be of type number. Received type ${typeof count} (${inspect(count)})`), { code: "ERR_INVALID_ARG_TYPE" });
    if (!(count >= 0)) throw Object.assign(new RangeError(`The value of "setMaxListeners" is out of range. It must be >= 0. Received ${inspect(count)}`), { code: "ERR_OUT_OF_RANGE" });
    this._maxListeners = count;
    return this;
  },
  getMaxListeners() { return this._maxListeners ?? defaultMaxListeners; },
};
// One function under two names, as in Node: a class that has its own of one asks for the other.
methods.addListener = methods.on;
methods.off = methods.removeListener;
for (const [name, value] of Object.entries(methods)) Object.defineProperty(EventEmitter.prototype, name, { value, writable: true, configurable: true, enumerable: true });

function unhandled(fault) {
  if (fault instanceof Error) return fault;
  const shown = typeof fault === "object" || typeof fault === "string" ? inspect(fault) : String(fault);
  return Object.assign(new Error(`Unhandled error. (${shown})`), { code: "ERR_UNHANDLED_ERROR", context: fault });
}

const abortFault = (signal) => Object.assign(new Error("The operation was aborted", { cause: signal?.reason }), { name: "AbortError", code: "ABORT_ERR" });

/** A promise of the arguments of the next event. Works with EventTarget as well. */
export function once(emitter, event, { signal } = {}) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortFault(signal));
    if (typeof emitter.addEventListener === "function") {
      emitter.addEventListener(event, (value) => resolve([value]), { once: true });
      signal?.addEventListener("abort", () => reject(abortFault(signal)), { once: true });
      return undefined;
    }
    const clean = () => {
      emitter.removeListener(event, onEvent);
      if (event !== "error") emitter.removeListener("error", onError);
      signal?.removeEventListener("abort", onAbort);
    };
    const onEvent = (...args) => { clean(); resolve(args); };
    const onError = (fault) => { clean(); reject(fault); };
    const onAbort = () => { clean(); reject(abortFault(signal)); };
    emitter.on(event, onEvent);
    if (event !== "error") emitter.once("error", onError);
    signal?.addEventListener("abort", onAbort, { once: true });
    return undefined;
  });
}

/** An endless iterator over the arguments of every event. */
export function on(emitter, event, { signal, close = [] } = {}) {
  if (signal?.aborted) throw abortFault(signal);
  const queue = [];
  const waiting = [];
  let fault;
  let isDone = false;
  const onEvent = (...args) => (waiting.length > 0 ? waiting.shift().resolve({ value: args, done: false }) : queue.push(args));
  const onError = (problem) => {
    if (waiting.length > 0) waiting.shift().reject(problem);
    else fault = problem;
    finish();
  };
  function finish() {
    isDone = true;
    emitter.removeListener(event, onEvent);
    emitter.removeListener("error", onError);
    for (const { resolve } of waiting.splice(0)) resolve({ value: undefined, done: true });
    return Promise.resolve({ value: undefined, done: true });
  }
  emitter.on(event, onEvent);
  if (event !== "error") emitter.on("error", onError);
  for (const name of close) emitter.once(name, finish);
  signal?.addEventListener("abort", () => onError(abortFault(signal)), { once: true });
  return {
    next() {
      if (queue.length > 0) return Promise.resolve({ value: queue.shift(), done: false });
      if (fault !== undefined) {
        const problem = fault;
        fault = undefined;
        return Promise.reject(problem);
      }
      return isDone ? Promise.resolve({ value: undefined, done: true }) : new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    return: finish,
    throw(problem) { onError(problem); return Promise.resolve({ value: undefined, done: true }); },
    [Symbol.asyncIterator]() { return this; },
  };
}

export const errorMonitor = MONITOR;
export const captureRejectionSymbol = REJECTION;
export const listenerCount = (emitter, event) => emitter.listenerCount(event);
export const getEventListeners = (emitter, event) => emitter.listeners?.(event) ?? [];
export const getMaxListeners = (emitter) => emitter.getMaxListeners?.() ?? defaultMaxListeners;
export function setMaxListeners(count = defaultMaxListeners, ...emitters) {
  if (emitters.length === 0) defaultMaxListeners = count;
  for (const emitter of emitters) emitter.setMaxListeners?.(count);
}
export function addAbortListener(signal, listener) {
  if (signal.aborted) queueMicrotask(() => listener());
  else signal.addEventListener("abort", listener, { once: true });
  return { [Symbol.dispose ?? Symbol.for("Symbol.dispose")]: () => signal.removeEventListener("abort", listener) };
}
export class EventEmitterAsyncResource extends EventEmitter {}

Object.defineProperty(EventEmitter, "defaultMaxListeners", { get: () => defaultMaxListeners, set: (count) => { defaultMaxListeners = count; }, enumerable: true });
export { defaultMaxListeners };
Object.assign(EventEmitter, {
  EventEmitter, EventEmitterAsyncResource, once, on, errorMonitor, captureRejectionSymbol, captureRejections: false, listenerCount,
  getEventListeners, getMaxListeners, setMaxListeners, addAbortListener,
});
Object.defineProperty(EventEmitter, "default", { get: () => EventEmitter, enumerable: false });
export default EventEmitter;
