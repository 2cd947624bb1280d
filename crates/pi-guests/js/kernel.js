// The module `pi:host`: what shims and the Pi API have of the engine, and the queues of its event loop.
//
// It runs before anything else in the runtime and keeps what it needs of the language, so that an extension that changes
// prototypes changes nothing here. Who asks is known to the native functions; nothing said here can change that.
const { freeze, defineProperty } = Object;
const { apply } = Reflect;
const NativePromise = Promise;
const uncurry = (method) => (self, ...args) => apply(method, self, args);
const then = uncurry(Promise.prototype.then);
/** `then` of promises as it was before any extension ran. Not called so: a module that exports `then` looks like a promise. */
export { then as after };
const mapGet = uncurry(Map.prototype.get);
const mapSet = uncurry(Map.prototype.set);
const mapDelete = uncurry(Map.prototype.delete);
const weakGet = uncurry(WeakMap.prototype.get);
const weakSet = uncurry(WeakMap.prototype.set);
const setAdd = uncurry(Set.prototype.add);
const setDelete = uncurry(Set.prototype.delete);
const setForEach = uncurry(Set.prototype.forEach);
const push = uncurry(Array.prototype.push);
const text = String;

let host;
let send;
export { host as default };

/** A promise for what the native function answers that `start` calls with a number. For the Pi API. */
export const request = (start) => send(start);

/** A host call that failed. */
class HostFault extends Error {
  constructor({ code, message, details }) {
    super(message);
    defineProperty(this, "name", { value: "HostFault", enumerable: false, configurable: true, writable: true });
    this.code = code;
    if (details !== undefined && details !== null) this.details = details;
  }
}

// What is thrown may be anything, and look like anything: a member that throws when it is read, an object without a text.
const attempt = (look) => {
  try {
    return look();
  } catch {
    return undefined;
  }
};
const worded = (look) => {
  const found = attempt(look);
  return typeof found === "string" ? found : undefined;
};

/** What is told of something that was thrown. */
export function describe(thrown) {
  if (thrown !== null && (typeof thrown === "object" || typeof thrown === "function")) {
    const message = worded(() => thrown.message) ?? worded(() => text(thrown)) ?? "something that cannot be told";
    return { name: worded(() => thrown.name) ?? "Error", message, stack: worded(() => thrown.stack), code: worded(() => thrown.code) };
  }
  // The engine throws null where there is no memory for an error: the host looks at the name, and at the memory.
  return { name: thrown === null ? "null" : "Error", message: text(thrown) };
}

// Stacks as Node writes them: a line that says what was thrown, then places in the sources. The engine knows frames of the bundle,
// and most of them nobody looks at, so this is done when somebody does.
function installStacks(native) {
  const { get: framesOf } = Object.getOwnPropertyDescriptor(Error.prototype, "stack");
  const capture = Error.captureStackTrace;
  const shown = new WeakMap();
  const header = (error) => {
    const name = attempt(() => (error.name === undefined ? "Error" : text(error.name))) ?? "Error";
    const message = attempt(() => (error.message === undefined ? "" : text(error.message))) ?? "";
    return name !== "" && message !== "" ? `${name}: ${message}` : name + message;
  };
  // What somebody prepared in another way is left as it is.
  const show = (error, frames) => {
    if (typeof frames !== "string") return frames;
    let stack = weakGet(shown, error);
    if (stack === undefined) {
      const placed = native.placed(frames);
      if (placed === undefined) return frames;
      stack = placed === "" ? header(error) : `${header(error)}\n${placed}`;
      weakSet(shown, error, stack);
    }
    return stack;
  };
  const put = (target, value) => defineProperty(target, "stack", { value, writable: true, enumerable: false, configurable: true });
  defineProperty(Error.prototype, "stack", {
    get() {
      return show(this, apply(framesOf, this, []));
    },
    set(value) {
      put(this, value);
    },
    enumerable: false,
    configurable: true,
  });
  const captureStackTrace = (target, above) => {
    apply(capture, Error, [target, above ?? captureStackTrace]);
    const { value: frames } = Object.getOwnPropertyDescriptor(target, "stack");
    defineProperty(target, "stack", {
      get: () => show(target, frames),
      set: (value) => put(target, value),
      enumerable: false,
      configurable: true,
    });
  };
  defineProperty(Error, "captureStackTrace", { value: captureStackTrace, writable: true, enumerable: false, configurable: true });
}

// A list from whose beginning is taken.
function queue() {
  let items = [];
  let first = 0;
  return {
    get size() {
      return items.length - first;
    },
    put: (item) => push(items, item),
    take() {
      const item = items[first];
      items[first++] = undefined;
      if (first === items.length) (items = []), (first = 0);
      return item;
    },
  };
}

/** Called once, by the engine: takes its native functions and gives what the event loop calls. */
export function start(native) {
  if (host !== undefined) throw new Error("the engine runs already");
  installStacks(native);
  if (native.fraction !== undefined) defineProperty(Math, "random", { value: () => native.fraction(), writable: true, enumerable: false, configurable: true });
  const calls = new Map();
  const tokens = new WeakMap();
  const timers = new Map();
  const ticks = queue();
  const immediates = queue();
  const cancelled = new Set();
  const modules = new Map();
  let lastId = 0;

  const guarded = (work) => {
    try {
      work();
    } catch (thrown) {
      native.uncaught(describe(thrown));
    }
  };

  // A call is in the sets of its token until it is over.
  send = (start, options) =>
    new NativePromise((resolve, reject) => {
      const id = ++lastId;
      const waiting = options?.cancel === undefined ? undefined : weakGet(tokens, options.cancel);
      mapSet(calls, id, { resolve, reject, waiting });
      if (waiting) setAdd(waiting, id);
      start(id);
    });

  const loop = freeze({
    complete(id, ok, value) {
      const call = mapGet(calls, id);
      if (call === undefined) return;
      mapDelete(calls, id);
      if (call.waiting) setDelete(call.waiting, id);
      if (ok) call.resolve(value);
      else call.reject(new HostFault(value));
    },
    ticks() {
      while (ticks.size > 0) guarded(ticks.take());
    },
    immediate() {
      while (immediates.size > 0) {
        const { id, fn } = immediates.take();
        if (setDelete(cancelled, id)) continue;
        guarded(fn);
        return;
      }
    },
    timer(id) {
      const timer = mapGet(timers, id);
      if (timer === undefined) return;
      if (timer.repeat) native.setTimer(id, timer.ms);
      else mapDelete(timers, id);
      guarded(timer.fn);
    },
  });

  host = freeze({
    call: (method, params, options) => send((id) => native.call(id, method, params, options?.timeoutMs ?? -1), options),
    callSync(method, params, options) {
      const { value, fault } = native.callSync(method, params, options?.timeoutMs ?? -1);
      if (fault !== undefined) throw new HostFault(fault);
      return value;
    },
    open(method, params, options) {
      const feed = ++lastId;
      native.open(feed, method, params, options?.timeoutMs ?? -1, options?.isWritten === true, options?.isUnpacked === true);
      const cancel = () => native.closeFeed(feed);
      const waiting = options?.cancel === undefined ? undefined : weakGet(tokens, options.cancel);
      if (waiting) setAdd(waiting, cancel);
      return freeze({
        next: () => then(send((id) => native.nextOf(id, feed)), (item) => (item === undefined || item === null ? { done: true, value: undefined } : { done: false, value: item })),
        cancel,
        // To a process that was opened to be written to: one piece after the other, until the end.
        write: (bytes) => send((id) => native.writeTo(id, feed, bytes)),
        end: () => native.endInput(feed),
        // By the name of a signal, to the process itself or to its group.
        signal: (name, isGroup) => native.signalTo(feed, name, isGroup === true),
      });
    },
    cancelToken() {
      const waiting = new Set();
      const token = freeze({
        cancel: () => setForEach(waiting, (call) => (typeof call === "function" ? call() : native.cancelCall(call))),
      });
      weakSet(tokens, token, waiting);
      return token;
    },
    load(specifier) {
      let loaded = mapGet(modules, specifier);
      if (loaded === undefined) mapSet(modules, specifier, (loaded = native.load(specifier)));
      return loaded;
    },
    place: freeze({ ...native.place, versions: freeze(native.place.versions), argv: freeze(native.place.argv) }),
    now: () => native.now(),
    monotonic: () => native.monotonic(),
    setTimer(fn, ms, repeat) {
      if (typeof fn !== "function") throw new TypeError("a timer needs a function");
      const id = ++lastId;
      const wait = ms >= 1 && ms <= 2147483647 ? ms : 1;
      native.setTimer(id, wait);
      mapSet(timers, id, { fn, ms: wait, repeat: repeat === true });
      return id;
    },
    clearTimer(id) {
      if (mapDelete(timers, id)) native.clearTimer(id);
      else if (typeof id === "number" && immediates.size > 0) setAdd(cancelled, id);
    },
    // A guest ends when its session does, not when it has nothing to wait for.
    refTimer: () => undefined,
    immediate(fn) {
      if (typeof fn !== "function") throw new TypeError("an immediate needs a function");
      const id = ++lastId;
      native.wantImmediate();
      immediates.put({ id, fn });
      return id;
    },
    nextTick(fn, ...args) {
      if (typeof fn !== "function") throw new TypeError("nextTick needs a function");
      native.wantTicks();
      ticks.put(args.length === 0 ? fn : () => apply(fn, undefined, args));
    },
    random: (n) => native.random(n),
    // For names that a shim makes itself: what an extension draws must not hang on how many of them there were.
    unique: (n) => native.unique(n),
    digest: (algorithm, bytes) => native.digest(algorithm, bytes),
    hmac: (algorithm, key, bytes) => native.hmac(algorithm, key, bytes),
    // An object with `accompany`, `update` and `finish`; so many bits of its start count upwards.
    cipher: (mode, isEncrypting, key, start, bits = 128) => native.cipher(mode, isEncrypting, key, start, bits),
    pbkdf2: (algorithm, password, salt, rounds, length) => native.pbkdf2(algorithm, password, salt, rounds, length),
    scrypt: (password, salt, cost, length) => native.scrypt(password, salt, cost, length),
    sign: (kind, key, bytes) => native.sign(kind, key, bytes),
    verify: (kind, key, bytes, made) => native.verify(kind, key, bytes, made),
    publicKeyOf: (seed) => native.publicKeyOf(seed),
    ecKeyPair: (curve) => native.ecKeyPair(curve),
    deflate: (form, bytes, level) => native.deflate(form, bytes, level),
    inflate: (form, bytes, most) => native.inflate(form, bytes, most),
    utf8Encode: (string) => native.utf8Encode(text(string)),
    utf8Decode: (bytes, fatal) => native.utf8Decode(bytes, fatal === true),
    base64Encode: (bytes) => native.base64Encode(bytes),
    base64Decode: (string) => native.base64Decode(text(string)),
    textWidth: (string) => native.textWidth(text(string)),
    graphemes: (string) => native.graphemes(text(string)),
    timeZone: () => native.timeZone(),
    zoneName: (zone) => native.zoneName(text(zone)),
    zoneOffset: (zone, ms) => native.zoneOffset(text(zone), ms),
    isSummer: (zone, ms) => native.isSummer(text(zone), ms),
    // For something that goes on by itself: makes of what it throws later the failure of what is done now, if that is still open.
    failing() {
      const job = native.currentJob();
      return (thrown) => (native.isOpen(job) ? native.failed(job, describe(thrown)) : native.uncaught(describe(thrown)));
    },
    // Something of the extension does not work here as its author thinks.
    warn: (string) => native.warn(text(string)),
    write: (stream, string) => native.write(stream === "stderr" ? "stderr" : "stdout", text(string)),
    HostFault,
  });
  return loop;
}
