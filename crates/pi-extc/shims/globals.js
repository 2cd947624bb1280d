// Puts the globals of Node and the web in place, each loaded when it is first read. It hands out shims only: nothing of
// `pi:host` can be reached from what stands here.
import host from "pi:host";

const LAZY = {
  "web/url": ["URL", "URLSearchParams"],
  "web/encoding": ["TextEncoder", "TextDecoder", "TextEncoderStream", "TextDecoderStream"],
  "web/abort": ["AbortController", "AbortSignal"],
  "web/events": ["Event", "EventTarget", "CustomEvent"],
  "web/exception": ["DOMException"],
  "web/fetch": ["fetch", "Headers", "Request", "Response"],
  "web/form": ["FormData"],
  "web/blob": ["Blob", "File"],
  "web/base64": ["atob", "btoa"],
  "web/clone": ["structuredClone"],
  "web/streams": [
    "ReadableStream", "ReadableStreamDefaultReader", "ReadableStreamDefaultController", "WritableStream", "WritableStreamDefaultWriter",
    "WritableStreamDefaultController", "TransformStream", "TransformStreamDefaultController", "ByteLengthQueuingStrategy", "CountQueuingStrategy",
  ],
  "web/crypto": ["Crypto", "CryptoKey", "SubtleCrypto"],
  "web/stubs": ["MessageChannel", "MessagePort", "BroadcastChannel"],
  "node/buffer/bytes": ["Buffer"],
  "node/timers": ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate"],
};
const DEFAULTS = { process: "node/process", console: "web/console", crypto: "web/crypto", performance: "web/performance", Intl: "web/intl" };

/** Installs what is not there yet; the engine's own stays, but for what it only half has. */
export function install(target = globalThis) {
  const put = (name, value) => Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  // One function reads and writes, whichever it is called for: there are many of them, and every guest makes them.
  const define = (name, read) => {
    const access = (...written) => {
      const value = written.length > 0 ? written[0] : read(name);
      put(name, value);
      return value;
    };
    Object.defineProperty(target, name, { get: access, set: access, configurable: true, enumerable: false });
  };
  for (const [path, names] of Object.entries(LAZY)) {
    const read = (name) => host.load(`pi:shim/${path}`)[name];
    for (const name of names) define(name, read);
  }
  const readDefault = (name) => host.load(`pi:shim/${DEFAULTS[name]}`).default;
  for (const name of Object.keys(DEFAULTS)) define(name, readDefault);
  define("global", () => target);
  if (typeof target.queueMicrotask !== "function") define("queueMicrotask", () => (callback) => { Promise.resolve().then(callback); });
  for (const name of ["dispose", "asyncDispose"]) {
    if (!Symbol[name]) Object.defineProperty(Symbol, name, { value: Symbol.for(`Symbol.${name}`) });
  }
  localise();
}

/** `toLocaleString` and its kin: the engine knows no languages. The methods load what they need when they are called. */
function localise() {
  const intl = () => host.load("pi:shim/web/intl").default;
  const method = (prototype, name, value) => Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  method(Number.prototype, "toLocaleString", function (locale, options) { return new (intl().NumberFormat)(locale, options).format(Number(this)); });
  method(BigInt.prototype, "toLocaleString", function (locale, options) { return new (intl().NumberFormat)(locale, options).format(BigInt(this)); });
  for (const [name, part] of [["toLocaleString", "all"], ["toLocaleDateString", "date"], ["toLocaleTimeString", "time"]]) {
    method(Date.prototype, name, function (locale, options) { return host.load("pi:shim/web/intl").localDate(this, locale, options, part); });
  }
  method(String.prototype, "localeCompare", function (other, locale, options) { return new (intl().Collator)(locale, options).compare(String(this), String(other)); });
}
