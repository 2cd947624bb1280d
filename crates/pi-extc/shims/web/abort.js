// AbortController and AbortSignal.
import { Event, EventTarget, handlerMember } from "pi:shim/web/events";
import { DOMException } from "pi:shim/web/exception";
import { setTimeout } from "pi:shim/node/timers";

const MAKE = Symbol("make");
let abort;

export class AbortSignal extends EventTarget {
  #isAborted = false;
  #reason;
  // Made when there are any: a signal is made for every call of a tool, and most of them nobody follows.
  #dependents;
  constructor(key) {
    if (key !== MAKE) throw Object.assign(new TypeError("Illegal constructor"), { code: "ERR_ILLEGAL_CONSTRUCTOR" });
    super();
  }
  static {
    abort = (signal, reason) => {
      if (signal.#isAborted) return;
      signal.#isAborted = true;
      signal.#reason = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
      const dependents = [...(signal.#dependents ?? [])];
      signal.dispatchEvent(new Event("abort"));
      for (const dependent of dependents) abort(dependent, signal.#reason);
    };
  }
  get aborted() { return this.#isAborted; }
  get reason() { return this.#reason; }
  throwIfAborted() { if (this.#isAborted) throw this.#reason; }

  static abort(reason) {
    const signal = new AbortSignal(MAKE);
    abort(signal, reason);
    return signal;
  }
  /** Its timer does not keep the guest awake. */
  static timeout(ms) {
    const signal = new AbortSignal(MAKE);
    setTimeout(() => abort(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms).unref();
    return signal;
  }
  static any(signals) {
    const list = [...signals];
    const signal = new AbortSignal(MAKE);
    const first = list.find((own) => own.aborted);
    if (first) abort(signal, first.reason);
    else for (const own of list) (own.#dependents ??= new Set()).add(signal);
    return signal;
  }
  get [Symbol.toStringTag]() { return "AbortSignal"; }
  [Symbol.for("nodejs.util.inspect.custom")]() { return `AbortSignal { aborted: ${this.#isAborted} }`; }
}
handlerMember(AbortSignal, "abort");

export class AbortController {
  #signal = new AbortSignal(MAKE);
  get signal() { return this.#signal; }
  abort(reason) { abort(this.#signal, reason); }
  get [Symbol.toStringTag]() { return "AbortController"; }
  [Symbol.for("nodejs.util.inspect.custom")]() { return `AbortController { signal: AbortSignal { aborted: ${this.#signal.aborted} } }`; }
}
