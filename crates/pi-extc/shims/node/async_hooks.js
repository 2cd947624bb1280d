// node:async_hooks. The engine tells nothing of what follows from what, so a store stays current while the function runs and
// until the promise that it gave is settled. Two runs that wait at the same time see the store of the later one.

export class AsyncLocalStorage {
  #stack = [];
  getStore() { return this.#stack.at(-1)?.store; }
  run(store, callback, ...args) {
    const entry = { store };
    this.#stack.push(entry);
    const leave = () => { this.#stack = this.#stack.filter((own) => own !== entry); };
    let result;
    try {
      result = callback(...args);
    } catch (fault) {
      leave();
      throw fault;
    }
    if (typeof result?.then !== "function") {
      leave();
      return result;
    }
    return Promise.resolve(result).finally(leave);
  }
  exit(callback, ...args) { return this.run(undefined, callback, ...args); }
  enterWith(store) { this.#stack = [{ store }]; }
  disable() { this.#stack = []; }
  static bind(callback) { return callback; }
  static snapshot() { return (callback, ...args) => callback(...args); }
}

export class AsyncResource {
  constructor(type) { this.type = type; }
  runInAsyncScope(callback, self, ...args) { return callback.apply(self, args); }
  bind(callback) { return callback.bind(this); }
  static bind(callback) { return callback; }
  emitDestroy() { return this; }
  asyncId() { return 1; }
  triggerAsyncId() { return 0; }
}

export const createHook = () => ({ enable() { return this; }, disable() { return this; } });
export const executionAsyncId = () => 1;
export const triggerAsyncId = () => 0;
export const executionAsyncResource = () => ({});
export default { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId, triggerAsyncId, executionAsyncResource };
