// Event, CustomEvent and EventTarget. There is no tree: an event has one target and one phase.
import host from "pi:host";

const INSIDE = Symbol("inside");

export class Event {
  constructor(type, init = {}) {
    this[INSIDE] = { type: String(type), bubbles: !!init.bubbles, cancelable: !!init.cancelable, composed: !!init.composed, target: null, current: null, isStopped: false, isPrevented: false, time: host.monotonic() };
    Object.defineProperty(this, INSIDE, { enumerable: false });
  }
  get type() { return this[INSIDE].type; }
  get target() { return this[INSIDE].target; }
  get srcElement() { return this[INSIDE].target; }
  get currentTarget() { return this[INSIDE].current; }
  get bubbles() { return this[INSIDE].bubbles; }
  get cancelable() { return this[INSIDE].cancelable; }
  get composed() { return this[INSIDE].composed; }
  get defaultPrevented() { return this[INSIDE].isPrevented; }
  get returnValue() { return !this[INSIDE].isPrevented; }
  get timeStamp() { return this[INSIDE].time; }
  get isTrusted() { return false; }
  get eventPhase() { return this[INSIDE].current ? 2 : 0; }
  get cancelBubble() { return false; }
  composedPath() { return this[INSIDE].current ? [this[INSIDE].current] : []; }
  preventDefault() { if (this[INSIDE].cancelable) this[INSIDE].isPrevented = true; }
  stopPropagation() {}
  stopImmediatePropagation() { this[INSIDE].isStopped = true; }
}
Object.assign(Event, { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 });

export class CustomEvent extends Event {
  #detail;
  constructor(type, init = {}) {
    super(type, init);
    this.#detail = init.detail ?? null;
  }
  get detail() { return this.#detail; }
}

export class EventTarget {
  // Made for the first of them.
  #listeners;

  addEventListener(type, callback, options) {
    if (callback === null || callback === undefined) return;
    const { once = false, capture = false, signal } = typeof options === "boolean" ? { capture: options } : (options ?? {});
    if (signal?.aborted) return;
    const list = this.#listeners?.get(type) ?? [];
    if (list.some((own) => own.callback === callback && own.capture === capture)) return;
    (this.#listeners ??= new Map()).set(type, [...list, { callback, once, capture }]);
    signal?.addEventListener("abort", () => this.removeEventListener(type, callback, options), { once: true });
  }

  removeEventListener(type, callback, options) {
    const capture = typeof options === "boolean" ? options : !!options?.capture;
    const list = this.#listeners?.get(type);
    if (list) this.#listeners.set(type, list.filter((own) => own.callback !== callback || own.capture !== capture));
  }

  /** A listener that throws does not keep the others from hearing; its error is reported to the log. */
  dispatchEvent(event) {
    const inside = event[INSIDE];
    inside.target = this;
    inside.current = this;
    inside.isStopped = false;
    for (const own of this.#listeners?.get(event.type) ?? []) {
      if (!this.#listeners.get(event.type).includes(own)) continue;
      if (own.once) this.removeEventListener(event.type, own.callback, own.capture);
      try {
        if (typeof own.callback === "function") own.callback.call(this, event);
        else own.callback.handleEvent(event);
      } catch (fault) {
        host.write("stderr", `Uncaught in a listener of "${event.type}": ${fault?.stack ?? fault}\n`);
      }
      if (inside.isStopped) break;
    }
    inside.current = null;
    return !inside.isPrevented;
  }
}

/** `onabort` and its like: a listener that is a member. */
export function handlerMember(Class, type) {
  const key = Symbol(`on${type}`);
  Object.defineProperty(Class.prototype, `on${type}`, {
    get() { return this[key]?.own ?? null; },
    set(value) {
      if (this[key]) this.removeEventListener(type, this[key].listener);
      const listener = (event) => value.call(this, event);
      Object.defineProperty(this, key, { value: typeof value === "function" ? { own: value, listener } : undefined, configurable: true, writable: true });
      if (typeof value === "function") this.addEventListener(type, listener);
    },
    enumerable: true,
    configurable: true,
  });
}
